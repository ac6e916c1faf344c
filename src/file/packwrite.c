/* packwrite.c: writes data.pack; see packfile.h for the form.
 *
 * Phase: tools/pack only, before the night.
 * (1) The file appears under its name whole and synced, or not at all.
 * (2) The header is written last: what a crash leaves of the .tmp has no magic. */
#include "file/packlayout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WRITE_BUFFER_BYTES = 1 << 20 };

/* A file being written: a buffer, the hash of what went through it, and the first error, which ends all later work. */
struct sink {
    int file;
    int error;      /* errno */
    uint64_t bytes; /* given so far, from the file's start */
    XXH64_state_t *hash;
    size_t used;
    uint8_t *buffer; /* [WRITE_BUFFER_BYTES] */
};

static void write_all(struct sink *sink, const uint8_t *data, size_t bytes)
{
    while (bytes > 0 && sink->error == 0) {
        ssize_t wrote = write(sink->file, data, bytes);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            sink->error = wrote < 0 ? errno : EIO;
            return;
        }
        data += wrote;
        bytes -= (size_t)wrote;
    }
}

static void sink_flush(struct sink *sink)
{
    XXH64_update(sink->hash, sink->buffer, sink->used);
    write_all(sink, sink->buffer, sink->used);
    sink->used = 0;
}

static void sink_put(struct sink *sink, const void *data, size_t bytes)
{
    const uint8_t *from = data;
    sink->bytes += bytes;
    while (bytes > 0) {
        size_t room = WRITE_BUFFER_BYTES - sink->used;
        size_t part = bytes < room ? bytes : room;
        memcpy(sink->buffer + sink->used, from, part);
        sink->used += part;
        from += part;
        bytes -= part;
        if (sink->used == WRITE_BUFFER_BYTES)
            sink_flush(sink);
    }
}

static void sink_zeros(struct sink *sink, uint64_t bytes)
{
    static const uint8_t zeros[256];
    for (; bytes > 0; bytes -= bytes < sizeof zeros ? bytes : sizeof zeros)
        sink_put(sink, zeros, bytes < sizeof zeros ? bytes : sizeof zeros);
}

static bool token_learned(const struct pack_document *document, uint32_t t)
{
    return t > 0 && document->learned[t] != 0;
}

/* Counts what the header says of the rows, and where the sections lie. */
static void fill_header(struct pack_header *header, const struct pack_document *documents, const uint64_t *order, const uint64_t *first,
                        uint64_t rows)
{
    memcpy(header->magic, PACK_MAGIC, sizeof header->magic);
    header->version = PACK_VERSION;
    header->rows = rows;
    header->documents = first[rows] - first[0];
    header->tokens = header->targets = 0;
    header->token_largest = 0;
    for (uint64_t i = first[0]; i < first[rows]; i++) {
        const struct pack_document *document = &documents[order[i]];
        ASSERT(document->tokens >= 1 && document->tokens <= header->sequence_tokens);
        header->tokens += document->tokens;
        for (uint32_t t = 0; t < document->tokens; t++) {
            header->targets += token_learned(document, t);
            if ((uint32_t)document->token[t] > header->token_largest)
                header->token_largest = (uint32_t)document->token[t];
        }
    }
    ASSERT(header->token_largest < header->vocabulary);
    struct sections at = sections_of(rows, header->documents, header->sequence_tokens);
    header->index_offset_bytes = at.index;
    header->documents_offset_bytes = at.documents;
    header->tokens_offset_bytes = at.tokens;
    header->learned_offset_bytes = at.learned;
    header->sources_offset_bytes = at.sources;
    header->file_bytes = at.end;
}

/* The row index and the documents' beginnings. */
static void put_index(struct sink *sink, const struct pack_header *header, const struct pack_document *documents, const uint64_t *order,
                      const uint64_t *first)
{
    for (uint64_t r = 0; r < header->rows; r++) {
        struct pack_row row = { .first_document = first[r] - first[0], .documents = (uint32_t)(first[r + 1] - first[r]) };
        for (uint64_t i = first[r]; i < first[r + 1]; i++) {
            const struct pack_document *document = &documents[order[i]];
            row.tokens += document->tokens;
            for (uint32_t t = 0; t < document->tokens; t++)
                row.targets += token_learned(document, t);
        }
        ASSERT(row.documents >= 1);
        ASSERT(row.tokens <= header->sequence_tokens);
        ASSERT(row.targets >= 1);
        sink_put(sink, &row, sizeof row);
    }
    sink_zeros(sink, header->documents_offset_bytes - sink->bytes);
    for (uint64_t r = 0; r < header->rows; r++) {
        uint32_t begin = 0;
        for (uint64_t i = first[r]; i < first[r + 1]; begin += documents[order[i]].tokens, i++)
            sink_put(sink, &begin, sizeof begin);
    }
    sink_zeros(sink, header->tokens_offset_bytes - sink->bytes);
}

/* Tokens, learned bits and sources. bits: [learned_row_bytes] scratch. */
static void put_rows(struct sink *sink, const struct pack_header *header, const struct pack_document *documents, const uint64_t *order,
                     const uint64_t *first, uint8_t *bits)
{
    for (uint64_t r = 0; r < header->rows; r++) {
        uint32_t used = 0;
        for (uint64_t i = first[r]; i < first[r + 1]; used += documents[order[i]].tokens, i++)
            sink_put(sink, documents[order[i]].token, documents[order[i]].tokens * sizeof(int32_t));
        sink_zeros(sink, (header->sequence_tokens - used) * sizeof(int32_t));
    }
    sink_zeros(sink, header->learned_offset_bytes - sink->bytes);
    for (uint64_t r = 0; r < header->rows; r++) {
        memset(bits, 0, learned_row_bytes(header->sequence_tokens));
        uint32_t used = 0;
        for (uint64_t i = first[r]; i < first[r + 1]; used += documents[order[i]].tokens, i++)
            for (uint32_t t = 0; t < documents[order[i]].tokens; t++)
                if (token_learned(&documents[order[i]], t))
                    bits[(used + t) / 8] |= (uint8_t)(1u << ((used + t) % 8));
        sink_put(sink, bits, learned_row_bytes(header->sequence_tokens));
    }
    sink_zeros(sink, header->sources_offset_bytes - sink->bytes);
    for (uint64_t i = first[0]; i < first[header->rows]; i++)
        sink_put(sink, &documents[order[i]].source, sizeof(struct pack_source));
}

/* Makes the rename of path durable: its folder is synced. */
static int sync_folder(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path), slash == NULL ? "." : path);
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return errno;
    int error = fsync(file) == 0 ? 0 : errno;
    close(file);
    return error;
}

/* Returns errno, 0 if all went well. */
static int write_file(struct sink *sink, struct pack_header *header, const struct pack_document *documents, const uint64_t *order,
                      const uint64_t *first, uint8_t *bits)
{
    uint8_t page[PACK_HEADER_BYTES] = { 0 };
    write_all(sink, page, sizeof page);
    sink->bytes = sizeof page;
    put_index(sink, header, documents, order, first);
    put_rows(sink, header, documents, order, first, bits);
    sink_flush(sink);
    ASSERT(sink->bytes == header->file_bytes);
    header->content_hash = XXH64_digest(sink->hash);
    header->header_hash = header_hash_of(header);
    memcpy(page, header, sizeof *header);
    if (sink->error == 0 && lseek(sink->file, 0, SEEK_SET) != 0)
        sink->error = errno;
    write_all(sink, page, sizeof page);
    if (sink->error == 0 && fsync(sink->file) != 0)
        sink->error = errno;
    return sink->error;
}

enum status pack_write(const char *path, struct pack_header *header, const struct pack_document *documents, const uint64_t *order,
                       const uint64_t *first, uint64_t rows)
{
    ASSERT(rows >= 1);
    char temporary[4096];
    if (snprintf(temporary, sizeof temporary, "%s.tmp", path) >= (int)sizeof temporary)
        return fail(E_READ, "%s: the path is longer than %zu bytes", path, sizeof temporary - 1);
    fill_header(header, documents, order, first, rows);
    int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return fail(E_READ, "%s: cannot be written: %s", temporary, strerror(errno));
    struct sink sink = { .file = file, .hash = XXH64_createState(), .buffer = malloc(WRITE_BUFFER_BYTES) };
    uint8_t *bits = malloc(learned_row_bytes(header->sequence_tokens));
    int error = ENOMEM;
    if (sink.hash != NULL && sink.buffer != NULL && bits != NULL) {
        XXH64_reset(sink.hash, 0);
        error = write_file(&sink, header, documents, order, first, bits);
    }
    if (close(file) != 0 && error == 0)
        error = errno;
    if (error == 0 && rename(temporary, path) != 0)
        error = errno;
    if (error == 0)
        error = sync_folder(path);
    XXH64_freeState(sink.hash);
    free(sink.buffer);
    free(bits);
    if (error == 0)
        return OK;
    unlink(temporary);
    return fail(E_READ, "%s: cannot be written: %s", path, strerror(error));
}

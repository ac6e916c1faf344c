/* packfile.c: reads data.pack; see packfile.h for the form and packwrite.c for its making.
 *
 * Phase: pack_open is boot, pack_row_read steady.
 * (1) Nothing is multiplied before it is bounded by the file's size; nothing is allocated by what the file says.
 * (2) After pack_open every fact of the file is true: pack_row_read checks nothing again. */
#include "file/packlayout.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

BOOT static enum status check_header(const char *path, const struct pack_header *header, const uint8_t *page, uint64_t file_bytes)
{
    if (memcmp(header->magic, PACK_MAGIC, sizeof header->magic) != 0)
        return fail(E_DATA, "%s: begins with \"%.8s\", a data.pack begins with \"" PACK_MAGIC "\"", path, header->magic);
    if (header->version != PACK_VERSION)
        return fail(E_DATA, "%s: pack version %" PRIu32 ", this image reads version %d: pack the data again", path, header->version,
                    PACK_VERSION);
    uint8_t rest = 0;
    for (size_t i = sizeof *header; i < PACK_HEADER_BYTES; i++)
        rest |= page[i];
    uint64_t hash = header_hash_of(header);
    if (hash != header->header_hash || rest != 0)
        return fail(E_DATA, "%s: header hash is %016" PRIx64 ", its bytes give %016" PRIx64 ": the header is damaged", path,
                    header->header_hash, hash);
    if (header->file_bytes != file_bytes)
        return fail(E_DATA, "%s: header says %" PRIu64 " bytes, the file has %" PRIu64 ": %s", path, header->file_bytes, file_bytes,
                    file_bytes < header->file_bytes ? "cut short?" : "something was appended?");
    if (header->sequence_tokens == 0 || header->sequence_tokens > file_bytes)
        return fail(E_DATA, "%s: sequence_tokens is %" PRIu32 ", which a file of %" PRIu64 " bytes cannot hold", path,
                    header->sequence_tokens, file_bytes);
    if (header->rows == 0 || header->documents == 0)
        return fail(E_DATA, "%s: no rows: there is nothing to learn from", path);
    if (header->rows > file_bytes / sizeof(struct pack_row) || header->documents > file_bytes / sizeof(struct pack_source) ||
        header->rows > file_bytes / sizeof(int32_t) / header->sequence_tokens)
        return fail(E_DATA, "%s: %" PRIu64 " rows of %" PRIu32 " tokens with %" PRIu64 " documents do not fit into %" PRIu64 " bytes", path,
                    header->rows, header->sequence_tokens, header->documents, file_bytes);
    if (header->vocabulary == 0 || header->vocabulary > INT32_MAX)
        return fail(E_DATA, "%s: vocabulary is %" PRIu32 ", right is 1 to %d", path, header->vocabulary, INT32_MAX);
    for (int i = 0; i < PACK_FILES_MOST; i++)
        if (memchr(header->files[i], '\0', PACK_NAME_BYTES) == NULL)
            return fail(E_DATA, "%s: the name of input file %d has no end", path, i);
    if (memchr(header->template_name, '\0', sizeof header->template_name) == NULL)
        return fail(E_DATA, "%s: the template's name has no end", path);
    return OK;
}

BOOT static enum status check_sections(const char *path, const struct pack_header *header)
{
    struct sections at = sections_of(header->rows, header->documents, header->sequence_tokens);
    const struct {
        const char *name;
        uint64_t seen, right;
    } field[] = {
        { "index_offset_bytes", header->index_offset_bytes, at.index },
        { "documents_offset_bytes", header->documents_offset_bytes, at.documents },
        { "tokens_offset_bytes", header->tokens_offset_bytes, at.tokens },
        { "learned_offset_bytes", header->learned_offset_bytes, at.learned },
        { "sources_offset_bytes", header->sources_offset_bytes, at.sources },
        { "file_bytes", header->file_bytes, at.end },
    };
    for (int i = 0; i < ELEMENTS_OF(field); i++)
        if (field[i].seen != field[i].right)
            return fail(E_DATA, "%s: %s is %" PRIu64 ", its counts give %" PRIu64, path, field[i].name, field[i].seen, field[i].right);
    return OK;
}

/* What one row adds to the totals of the header. */
struct totals {
    uint64_t documents, tokens, targets;
    int32_t token_largest;
};

BOOT static enum status check_row(const char *path, const struct pack *pack, uint64_t index, struct totals *totals)
{
    uint32_t sequence = pack->header->sequence_tokens;
    const struct pack_row *row = &pack->row[index];
    const int32_t *token = pack->token + index * sequence;
    const uint8_t *learned = pack->learned + index * learned_row_bytes(sequence);

    if (row->first_document != totals->documents)
        return fail(E_DATA, "%s: row %" PRIu64 ": first document is %" PRIu64 ", the rows before it have %" PRIu64, path, index,
                    row->first_document, totals->documents);
    if (row->documents == 0 || row->documents > pack->header->documents - totals->documents)
        return fail(E_DATA, "%s: row %" PRIu64 ": %" PRIu32 " documents, right is 1 to %" PRIu64, path, index, row->documents,
                    pack->header->documents - totals->documents);
    if (row->tokens == 0 || row->tokens > sequence)
        return fail(E_DATA, "%s: row %" PRIu64 ": %" PRIu32 " tokens, right is 1 to %" PRIu32, path, index, row->tokens, sequence);
    if (row->reserved != 0)
        return fail(E_DATA, "%s: row %" PRIu64 ": reserved field is %" PRIu32 ", right is 0", path, index, row->reserved);

    const uint32_t *begin = pack->document + row->first_document;
    for (uint32_t d = 0; d < row->documents; d++) {
        if (d == 0 ? begin[d] != 0 : begin[d] <= begin[d - 1])
            return fail(E_DATA, "%s: row %" PRIu64 ": document %" PRIu32 " begins at token %" PRIu32 ": boundaries begin at 0 and rise",
                        path, index, d, begin[d]);
        if (begin[d] >= row->tokens)
            return fail(E_DATA, "%s: row %" PRIu64 ": document %" PRIu32 " begins at token %" PRIu32 ", the row has %" PRIu32, path, index,
                        d, begin[d], row->tokens);
        if (learned_bit(learned, begin[d]))
            return fail(E_DATA, "%s: row %" PRIu64 ": token %" PRIu32 " begins a document and is learned: nothing predicts it", path, index,
                        begin[d]);
    }
    uint32_t targets = 0;
    for (uint32_t t = 0; t < row->tokens; t++) {
        if (token[t] < 0 || (uint32_t)token[t] >= pack->header->vocabulary)
            return fail(E_DATA, "%s: row %" PRIu64 ": token %" PRIu32 " is %" PRId32 ", the vocabulary has %" PRIu32, path, index, t,
                        token[t], pack->header->vocabulary);
        if (token[t] > totals->token_largest)
            totals->token_largest = token[t];
        targets += learned_bit(learned, t);
    }
    for (uint32_t t = row->tokens; t < sequence; t++)
        if (token[t] != 0 || learned_bit(learned, t))
            return fail(E_DATA, "%s: row %" PRIu64 ": position %" PRIu32 " lies behind the %" PRIu32 " tokens in use and is not empty",
                        path, index, t, row->tokens);
    for (uint32_t t = sequence; t < learned_row_bytes(sequence) * 8; t++)
        if (learned_bit(learned, t))
            return fail(E_DATA, "%s: row %" PRIu64 ": learned bit %" PRIu32 " lies behind the sequence", path, index, t);
    if (targets != row->targets || targets == 0)
        return fail(E_DATA, "%s: row %" PRIu64 ": says %" PRIu32 " targets, has %" PRIu32 "; right is the same number, at least 1", path,
                    index, row->targets, targets);
    totals->documents += row->documents;
    totals->tokens += row->tokens;
    totals->targets += targets;
    return OK;
}

BOOT static enum status check_content(const char *path, const struct pack *pack)
{
    const struct pack_header *header = pack->header;
    uint64_t hash = XXH64((const uint8_t *)header + PACK_HEADER_BYTES, header->file_bytes - PACK_HEADER_BYTES, 0);
    if (hash != header->content_hash)
        return fail(E_DATA, "%s: content hash is %016" PRIx64 ", its bytes give %016" PRIx64 ": the file is damaged", path,
                    header->content_hash, hash);
    struct totals totals = { 0 };
    for (uint64_t r = 0; r < header->rows; r++)
        TRY(check_row(path, pack, r, &totals));
    const struct {
        const char *name;
        uint64_t seen, right;
    } field[] = {
        { "documents", header->documents, totals.documents },
        { "tokens", header->tokens, totals.tokens },
        { "targets", header->targets, totals.targets },
        { "token_largest", header->token_largest, (uint64_t)totals.token_largest },
    };
    for (int i = 0; i < ELEMENTS_OF(field); i++)
        if (field[i].seen != field[i].right)
            return fail(E_DATA, "%s: header says %s %" PRIu64 ", the rows have %" PRIu64, path, field[i].name, field[i].seen,
                        field[i].right);
    return OK;
}

BOOT static enum status check_all(const char *path, struct pack *pack, const uint8_t *map)
{
    TRY(check_header(path, pack->header, map, (uint64_t)pack->bytes));
    TRY(check_sections(path, pack->header));
    pack->row = (const void *)(map + pack->header->index_offset_bytes);
    pack->document = (const void *)(map + pack->header->documents_offset_bytes);
    pack->token = (const void *)(map + pack->header->tokens_offset_bytes);
    pack->learned = map + pack->header->learned_offset_bytes;
    pack->source = (const void *)(map + pack->header->sources_offset_bytes);
    return check_content(path, pack);
}

BOOT enum status pack_open(struct pack *pack, const char *path)
{
    *pack = (struct pack){ 0 };
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
    if (file < 0)
        return fail(E_READ, "%s: %s", path, strerror(errno));
    struct stat about;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
        close(file);
        return fail(E_READ, "%s: not a plain file", path);
    }
    if (about.st_size < PACK_HEADER_BYTES) {
        close(file);
        return fail(E_DATA, "%s: too short: %lld bytes, the header alone has %d", path, (long long)about.st_size, PACK_HEADER_BYTES);
    }
    void *map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    int error = errno;
    close(file);
    if (map == MAP_FAILED)
        return fail(E_READ, "%s: cannot be mapped: %s", path, strerror(error));
    pack->header = map;
    pack->bytes = about.st_size;
    enum status status = check_all(path, pack, map);
    if (status != OK)
        pack_close(pack);
    return status;
}

void pack_close(struct pack *pack)
{
    if (pack->header != NULL)
        munmap((void *)(uintptr_t)pack->header, (size_t)pack->bytes);
    *pack = (struct pack){ 0 };
}

void pack_row_read(const struct pack *pack, int64_t row, int32_t *token, int32_t *target, int32_t *start, int32_t *position)
{
    ASSERT(row >= 0 && (uint64_t)row < pack->header->rows);
    uint32_t sequence = pack->header->sequence_tokens;
    const struct pack_row *entry = &pack->row[row];
    const uint32_t *begin = pack->document + entry->first_document;
    const uint8_t *learned = pack->learned + (uint64_t)row * learned_row_bytes(sequence);
    memcpy(token, pack->token + (uint64_t)row * sequence, sequence * sizeof *token);
    for (uint32_t d = 0; d < entry->documents; d++) {
        uint32_t end = d + 1 < entry->documents ? begin[d + 1] : entry->tokens;
        for (uint32_t t = begin[d]; t < end; t++) {
            target[t] = t + 1 < end && learned_bit(learned, t + 1) ? token[t + 1] : -1;
            start[t] = (int32_t)begin[d];
            position[t] = (int32_t)(t - begin[d]);
        }
    }
    for (uint32_t t = entry->tokens; t < sequence; t++) {
        target[t] = -1;
        start[t] = (int32_t)t;
        position[t] = 0;
    }
}

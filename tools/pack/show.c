/* show.c: see show.h. */
#include "tools/pack/show.h"

#include "tools/pack/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put_text(FILE *out, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)text[i];
        if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f)
            fprintf(out, "\\x%02x", byte);
        else
            putc(byte, out);
    }
}

/* Text of the first tokens, so that a piece is what the text grows by: a piece alone may decode otherwise (a leading space). */
static enum status grow(const struct tokenizer *tokenizer, const int32_t *token, uint32_t tokens, char **text, size_t *bytes)
{
    free(*text);
    *text = NULL;
    *bytes = 0;
    return tokenizer_decode(tokenizer, token, tokens, false, text, bytes);
}

/* One document's text, what is learned marked. token, target: of the document; target[t] >= 0 says that token t + 1 is learned. */
static enum status show_text(FILE *out, const struct tokenizer *tokenizer, const int32_t *token, const int32_t *target, uint32_t tokens,
                             bool colour)
{
    char *whole = NULL, *part = NULL;
    size_t whole_bytes = 0, at = 0;
    enum status status = grow(tokenizer, token, tokens, &whole, &whole_bytes);
    for (uint32_t begin = 0; begin < tokens && status == OK;) {
        bool learned = begin > 0 && target[begin - 1] >= 0;
        uint32_t end = begin + 1;
        while (end < tokens && (target[end - 1] >= 0) == learned)
            end++;
        size_t bytes = whole_bytes;
        if (end < tokens)
            status = grow(tokenizer, token, end, &part, &bytes);
        bytes = bytes < at ? at : bytes > whole_bytes ? whole_bytes : bytes;
        if (learned)
            fprintf(out, "%s" SHOW_OPEN, colour ? "\x1b[32m" : "");
        put_text(out, whole + at, bytes - at);
        if (learned)
            fprintf(out, SHOW_CLOSE "%s", colour ? "\x1b[0m" : "");
        at = bytes;
        begin = end;
    }
    free(whole);
    free(part);
    putc('\n', out);
    return status;
}

static void show_source(FILE *out, const struct pack *pack, uint64_t document)
{
    const struct pack_source *source = &pack->source[document];
    const char *name = source->file < PACK_FILES_MOST ? pack->header->files[source->file] : "";
    if (name[0] == '\0' || (source->file == PACK_FILES_MOST - 1 && strncmp(name, "and ", 4) == 0))
        fprintf(out, "file %" PRIu32, source->file);
    else
        put_text(out, name, strlen(name));
    fprintf(out, ":%" PRIu64, source->line);
}

static enum status show_row(FILE *out, const struct pack *pack, const struct tokenizer *tokenizer, int64_t r, bool colour, int32_t *scratch)
{
    uint32_t sequence = pack->header->sequence_tokens;
    const struct pack_row *row = &pack->row[r];
    int32_t *token = scratch, *target = scratch + sequence, *start = target + sequence, *position = start + sequence;
    pack_row_read(pack, r, token, target, start, position);
    fprintf(out, "==== row %" PRId64 " of %" PRIu64 ": %" PRIu32 " of %" PRIu32 " tokens, %" PRIu32 " documents, %" PRIu32 " targets\n", r,
            pack->header->rows, row->tokens, sequence, row->documents, row->targets);
    for (uint32_t d = 0; d < row->documents; d++) {
        uint32_t begin = pack->document[row->first_document + d];
        uint32_t end = d + 1 < row->documents ? pack->document[row->first_document + d + 1] : row->tokens;
        uint32_t targets = 0;
        for (uint32_t t = begin; t < end; t++)
            targets += target[t] >= 0;
        fprintf(out, "---- document %" PRIu32 ": ", d + 1);
        show_source(out, pack, row->first_document + d);
        fprintf(out, ", tokens %" PRIu32 " to %" PRIu32 ", %" PRIu32 " targets\n", begin, end - 1, targets);
        TRY(show_text(out, tokenizer, token + begin, target + begin, end - begin, colour));
    }
    return OK;
}

enum status show_rows(FILE *out, const struct pack *pack, const struct tokenizer *tokenizer, int64_t first, int64_t count, bool colour)
{
    int64_t rows = (int64_t)pack->header->rows;
    if (first >= rows)
        return fail(E_USAGE, "--row %" PRId64 ": the pack has %" PRId64 " rows", first, rows);
    int32_t *scratch = memory_take((size_t)pack->header->sequence_tokens * 4 * sizeof *scratch);
    enum status status = OK;
    fprintf(out, "template %s; what is learned stands between " SHOW_OPEN " and " SHOW_CLOSE "\n",
            pack->header->template_name[0] != '\0' ? pack->header->template_name : "none");
    for (int64_t r = first; r < rows && r - first < count && status == OK; r++)
        status = show_row(out, pack, tokenizer, r, colour, scratch);
    free(scratch);
    return status;
}

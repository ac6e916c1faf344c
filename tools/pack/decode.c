/* decode.c: ids back to text (tokenizer.h). Build host.
 *
 * (1) Bytes that are no UTF-8 become U+FFFD, one for each maximal part of a character, as the reference does. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pack/tokenizer_inside.h"

struct output {
    char *bytes;
    size_t size, reserved;
};

static void put(struct output *output, const char *bytes, size_t size)
{
    if (output->size + size + 1 > output->reserved) {
        output->reserved = 2 * (output->size + size) + 64;
        output->bytes = memory_grow(output->bytes, output->reserved);
    }
    memcpy(output->bytes + output->size, bytes, size);
    output->size += size;
    output->bytes[output->size] = '\0';
}

/* Length of the well-formed character at text, or minus the length of the maximal part of one that is not (Unicode 15, table 3-7). */
static int character(const unsigned char *text, size_t left)
{
    static const struct {
        unsigned char first, last, second_first, second_last;
        int size;
    } forms[] = {
        { 0x00, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
        { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };
    for (int64_t f = 0; f < ELEMENTS_OF(forms); f++) {
        if (text[0] < forms[f].first || text[0] > forms[f].last)
            continue;
        for (int i = 1; i < forms[f].size; i++) {
            unsigned char low = i == 1 ? forms[f].second_first : 0x80, high = i == 1 ? forms[f].second_last : 0xbf;
            if ((size_t)i >= left || text[i] < low || text[i] > high)
                return -i;
        }
        return forms[f].size;
    }
    return -1;
}

static void put_lossy(struct output *output, const char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        int length = character((const unsigned char *)bytes + at, size - at);
        if (length > 0)
            put(output, bytes + at, (size_t)length);
        else
            put(output, "\xef\xbf\xbd", 3);
        at += (size_t)abs(length);
    }
}

/* A run of byte tokens: text if it is well-formed as a whole, else one U+FFFD for each byte. */
static void put_byte_run(struct output *output, const char *bytes, size_t size)
{
    bool good = true;
    for (size_t at = 0; at < size && good;) {
        int length = character((const unsigned char *)bytes + at, size - at);
        good = length > 0;
        at += (size_t)abs(length);
    }
    if (good)
        put(output, bytes, size);
    else
        for (size_t i = 0; i < size; i++)
            put(output, "\xef\xbf\xbd", 3);
}

static const struct added *added_of(const struct tokenizer *tokenizer, int32_t id)
{
    for (int32_t i = 0; i < tokenizer->added_count; i++)
        if (tokenizer->added[i].id == id)
            return &tokenizer->added[i];
    return NULL;
}

static bool is_byte_token(const struct tokenizer *tokenizer, const struct text *token, unsigned char *byte)
{
    unsigned value;
    char text[8];
    if (!tokenizer->decode_marks || token->size != 6)
        return false;
    snprintf(text, sizeof text, "%.6s", token->bytes);
    if (sscanf(text, "<0x%2X>", &value) != 1 || text[5] != '>')
        return false;
    *byte = (unsigned char)value;
    return true;
}

/* SentencePiece: marks become spaces. */
static void put_marked(struct output *output, const char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        bool mark = size - at >= 3 && memcmp(bytes + at, MARK, 3) == 0;
        put(output, mark ? " " : bytes + at, 1);
        at += mark ? 3 : 1;
    }
}

/* Text and size of an id; false if there is no such id. */
static bool text_of(const struct tokenizer *tokenizer, int32_t id, const struct added *added, struct text *text)
{
    if (added != NULL)
        *text = (struct text){ added->content, (uint32_t)added->size };
    else if (id >= 0 && id < tokenizer->vocabulary.size && tokenizer->vocabulary.token[id].bytes != NULL)
        *text = tokenizer->vocabulary.token[id];
    else
        return false;
    return true;
}

enum status tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *id, int64_t count, bool skip_special, char **out, size_t *bytes)
{
    struct output all = { 0 }, run = { 0 };
    put(&all, "", 0);
    for (int64_t i = 0; i < count; i++) {
        const struct added *added = added_of(tokenizer, id[i]);
        struct text text;
        unsigned char byte;
        if (!text_of(tokenizer, id[i], added, &text)) {
            free(all.bytes);
            free(run.bytes);
            return fail(E_DATA, "%s: no token has id %" PRId32, tokenizer->path, id[i]);
        }
        if (added != NULL && added->special && skip_special)
            continue;
        if (is_byte_token(tokenizer, &text, &byte)) {
            put(&run, (char *)&byte, 1);
            continue;
        }
        if (run.size > 0)
            put_byte_run(&all, run.bytes, run.size);
        run.size = 0;
        if (tokenizer->decode_marks)
            put_marked(&all, text.bytes, text.size);
        else
            put(&all, text.bytes, text.size);
    }
    if (run.size > 0)
        put_byte_run(&all, run.bytes, run.size);
    size_t skip = tokenizer->decode_marks && all.size > 0 && all.bytes[0] == ' ';
    struct output result = { *out, 0, 0 };
    put(&result, "", 0);
    put_lossy(&result, all.bytes + skip, all.size - skip);
    free(all.bytes);
    free(run.bytes);
    *out = result.bytes;
    if (bytes != NULL)
        *bytes = result.size;
    return OK;
}

int32_t tokenizer_vocabulary(const struct tokenizer *tokenizer)
{
    return tokenizer->size;
}

int32_t tokenizer_id(const struct tokenizer *tokenizer, const char *text)
{
    for (int32_t i = 0; i < tokenizer->added_count; i++)
        if (strcmp(tokenizer->added[i].content, text) == 0)
            return tokenizer->added[i].id;
    return vocabulary_find(&tokenizer->vocabulary, text, strlen(text));
}

bool tokenizer_special(const struct tokenizer *tokenizer, int32_t id)
{
    const struct added *added = added_of(tokenizer, id);
    return added != NULL && added->special;
}

int32_t tokenizer_prefix(const struct tokenizer *tokenizer, int32_t prefix[4])
{
    memcpy(prefix, tokenizer->prefix, (size_t)tokenizer->prefixes * sizeof *prefix);
    return tokenizer->prefixes;
}

int32_t tokenizer_suffix(const struct tokenizer *tokenizer, int32_t suffix[4])
{
    memcpy(suffix, tokenizer->suffix, (size_t)tokenizer->suffixes * sizeof *suffix);
    return tokenizer->suffixes;
}

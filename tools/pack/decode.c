/* decode.c: ids back to text (tokenizer.h). Build host.
 *
 * A decoder is a list of steps, and a step makes of the tokens' texts others, as many or fewer; what the last one leaves is put together.
 * (1) Bytes that are no UTF-8 become U+FFFD, one for each maximal part of a character, as the reference does. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pack/tokenizer_inside.h"

/* Texts one behind another, with the byte at which each ends. */
struct texts {
    char *bytes;
    size_t size, reserved;
    size_t *end;
    int64_t count, room;
};

/* More of the text at hand, */
static void put(struct texts *texts, const char *bytes, size_t size)
{
    if (texts->size + size + 1 > texts->reserved) {
        texts->reserved = 2 * (texts->size + size) + 64;
        texts->bytes = memory_grow(texts->bytes, texts->reserved);
    }
    memcpy(texts->bytes + texts->size, bytes, size);
    texts->size += size;
    texts->bytes[texts->size] = '\0';
}

/* and its end. */
static void finish(struct texts *texts)
{
    MEMORY_ROOM(texts->end, texts->count, texts->room);
    texts->end[texts->count++] = texts->size;
}

static struct text text_at(const struct texts *texts, int64_t i)
{
    size_t begin = i == 0 ? 0 : texts->end[i - 1];
    return (struct text){ texts->bytes + begin, (uint32_t)(texts->end[i] - begin) };
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

static void put_lossy(struct texts *texts, const char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        int length = character((const unsigned char *)bytes + at, size - at);
        if (length > 0)
            put(texts, bytes + at, (size_t)length);
        else
            put(texts, "\xef\xbf\xbd", 3);
        at += (size_t)abs(length);
    }
}

/* ---- the steps ---- */

static void replace(struct texts *to, struct text from, const char *pattern, const char *content)
{
    size_t length = strlen(pattern);
    for (size_t done = 0; done < from.size;) {
        const char *at = memmem(from.bytes + done, from.size - done, pattern, length);
        size_t plain = at == NULL ? from.size - done : (size_t)(at - from.bytes) - done;
        put(to, from.bytes + done, plain);
        if (at != NULL)
            put(to, content, strlen(content));
        done += plain + (at == NULL ? 0 : length);
    }
}

/* Up to start and stop of the character at either end. */
static void strip(struct texts *to, struct text from, const struct decoding *decoding)
{
    size_t length = strlen(decoding->pattern), begin = 0, end = from.size;
    for (size_t i = 0; i < decoding->start && end - begin >= length && memcmp(from.bytes + begin, decoding->pattern, length) == 0; i++)
        begin += length;
    for (size_t i = 0; i < decoding->stop && end - begin >= length && memcmp(from.bytes + end - length, decoding->pattern, length) == 0; i++)
        end -= length;
    put(to, from.bytes + begin, end - begin);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte that "<0xNN>" stands for, or -1. */
static int byte_of_token(struct text text)
{
    if (text.size != 6 || memcmp(text.bytes, "<0x", 3) != 0 || text.bytes[5] != '>' || digit(text.bytes[3]) < 0 || digit(text.bytes[4]) < 0)
        return -1;
    return 16 * digit(text.bytes[3]) + digit(text.bytes[4]);
}

/* A run of byte tokens: one text if it is well-formed as a whole, else one U+FFFD for each byte. */
static void put_byte_run(struct texts *to, struct texts *run)
{
    bool good = true;
    for (size_t at = 0; at < run->size && good;) {
        int length = character((const unsigned char *)run->bytes + at, run->size - at);
        good = length > 0;
        at += (size_t)abs(length);
    }
    if (good)
        put(to, run->bytes, run->size);
    for (size_t i = 0; i < run->size && !good; i++) {
        put(to, "\xef\xbf\xbd", 3);
        finish(to);
    }
    if (good && run->size > 0)
        finish(to);
    run->size = 0;
}

static void byte_fallback(struct texts *to, const struct texts *from)
{
    struct texts run = { 0 };
    put(&run, "", 0);
    for (int64_t i = 0; i < from->count; i++) {
        struct text text = text_at(from, i);
        int byte = byte_of_token(text);
        if (byte >= 0) {
            put(&run, &(char){ (char)byte }, 1);
            continue;
        }
        put_byte_run(to, &run);
        put(to, text.bytes, text.size);
        finish(to);
    }
    put_byte_run(to, &run);
    free(run.bytes);
}

static void decode_step(const struct decoding *decoding, const struct texts *from, struct texts *to)
{
    switch (decoding->kind) {
    case DECODE_BYTE_LEVEL:
        put_lossy(to, from->bytes, from->size);
        finish(to);
        return;
    case DECODE_FUSE:
        put(to, from->bytes, from->size);
        finish(to);
        return;
    case DECODE_BYTE_FALLBACK:
        byte_fallback(to, from);
        return;
    default:
        break;
    }
    for (int64_t i = 0; i < from->count; i++) {
        if (decoding->kind == DECODE_STRIP)
            strip(to, text_at(from, i), decoding);
        else
            replace(to, text_at(from, i), decoding->pattern, i == 0 && decoding->kind == DECODE_METASPACE && decoding->opens ? "" : decoding->content);
        finish(to);
    }
}

/* ---- ids ---- */

/* Text and size of an id; false if there is no such id. */
static bool text_of(const struct tokenizer *tokenizer, int32_t id, const struct added *added, struct text *text)
{
    if (added != NULL)
        *text = (struct text){ added->bytes, (uint32_t)added->bytes_size };
    else if (id >= 0 && id < tokenizer->vocabulary.size && tokenizer->vocabulary.token[id].bytes != NULL)
        *text = tokenizer->vocabulary.token[id];
    else
        return false;
    return true;
}

static void texts_close(struct texts *texts)
{
    free(texts->bytes);
    free(texts->end);
}

enum status tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *id, int64_t count, bool skip_special, char **out, size_t *bytes)
{
    struct texts texts = { 0 }, next = { 0 };
    put(&texts, "", 0);
    for (int64_t i = 0; i < count; i++) {
        const struct added *added = added_of(tokenizer, id[i]);
        struct text text;
        if (!text_of(tokenizer, id[i], added, &text)) {
            texts_close(&texts);
            return fail(E_DATA, "%s: no token has id %" PRId32, tokenizer->path, id[i]);
        }
        if (added != NULL && added->special && skip_special)
            continue;
        put(&texts, text.bytes, text.size);
        finish(&texts);
    }
    for (int32_t i = 0; i < tokenizer->decodings; i++) {
        struct texts done = texts;
        next.size = 0;
        next.count = 0;
        put(&next, "", 0);
        decode_step(&tokenizer->decoding[i], &texts, &next);
        texts = next;
        next = done;
    }
    next.size = 0;
    put(&next, "", 0);
    put_lossy(&next, texts.bytes, texts.size);
    free(*out);
    *out = next.bytes;
    if (bytes != NULL)
        *bytes = next.size;
    free(next.end);
    texts_close(&texts);
    return OK;
}

int32_t tokenizer_vocabulary(const struct tokenizer *tokenizer)
{
    return tokenizer->size;
}

int32_t tokenizer_id(const struct tokenizer *tokenizer, const char *text)
{
    const struct added *added = added_named(tokenizer, text);
    if (added != NULL)
        return added->id;
    return vocabulary_find(&tokenizer->vocabulary, text, strlen(text));
}

size_t tokenizer_bytes(const struct tokenizer *tokenizer, int32_t id)
{
    const struct added *added = added_of(tokenizer, id);
    struct text text;
    if (added != NULL)
        return added->size;
    return text_of(tokenizer, id, NULL, &text) ? text.size : 0;
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

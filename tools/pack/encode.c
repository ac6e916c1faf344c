/* encode.c: the way of a text to ids: added tokens, normalizers, pre-tokenizers, model (tokenizer.h). Build host, one encoder a thread. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "tools/pack/tokenizer_inside.h"

enum { MATCH_LIMIT = 20000000, STACK_BYTES = 32 << 10, STACK_BYTES_MOST = 16 << 20 };

enum status encoder_open(struct encoder **out, const struct tokenizer *tokenizer)
{
    struct encoder *encoder = memory_take(sizeof *encoder);
    *encoder = (struct encoder){ .tokenizer = tokenizer };
    encoder->cache = calloc(CACHE_SLOTS, sizeof *encoder->cache);
    encoder->match = pcre2_match_data_create(1, NULL);
    encoder->context = pcre2_match_context_create(NULL);
    encoder->stack = pcre2_jit_stack_create(STACK_BYTES, STACK_BYTES_MOST, NULL);
    if (encoder->cache == NULL || encoder->match == NULL || encoder->context == NULL || encoder->stack == NULL)
        return fail(E_AGAIN, "tokenizer: out of memory");
    pcre2_set_match_limit(encoder->context, MATCH_LIMIT);
    pcre2_jit_stack_assign(encoder->context, NULL, encoder->stack);
    *out = encoder;
    return OK;
}

void encoder_close(struct encoder *encoder)
{
    if (encoder == NULL)
        return;
    pcre2_match_data_free(encoder->match);
    pcre2_match_context_free(encoder->context);
    pcre2_jit_stack_free(encoder->stack);
    free(encoder->piece.bytes);
    free(encoder->piece.origin);
    free(encoder->spare.bytes);
    free(encoder->spare.origin);
    free(encoder->cache);
    free(encoder->symbol);
    free(encoder->heap);
    free(encoder->id);
    free(encoder->begin);
    free(encoder);
}

static bool check_utf8(const char *text, size_t bytes, size_t *bad)
{
    for (size_t at = 0; at < bytes;) {
        if ((unsigned char)text[at] < 0x80) {
            at++;
            continue;
        }
        utf8proc_int32_t character;
        utf8proc_ssize_t size = utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(bytes - at), &character);
        if (size < 1) {
            *bad = at;
            return false;
        }
        at += (size_t)size;
    }
    return true;
}

/* ---- added tokens ---- */

static utf8proc_int32_t character_before(const char *text, size_t at, size_t *size)
{
    utf8proc_int32_t character = -1;
    size_t begin = at;
    do
        begin--;
    while (begin > 0 && ((unsigned char)text[begin] & 0xc0) == 0x80);
    utf8proc_iterate((const utf8proc_uint8_t *)text + begin, (utf8proc_ssize_t)(at - begin), &character);
    *size = at - begin;
    return character;
}

static utf8proc_int32_t character_after(const char *text, size_t at, size_t end, size_t *size)
{
    utf8proc_int32_t character = -1;
    *size = (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(end - at), &character);
    return character;
}

bool is_space(int32_t c)
{
    return (c >= 9 && c <= 13) || c == 32 || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

/* Whether one character is of a word. */
static bool is_word(struct encoder *encoder, const char *text, size_t bytes)
{
    return pcre2_match(encoder->tokenizer->word, (PCRE2_SPTR)text, bytes, 0, PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK, encoder->match, encoder->context) > 0;
}

static bool stands_alone(struct encoder *encoder, const char *text, size_t begin, size_t end, size_t bytes)
{
    size_t before = 0;
    if (begin > 0)
        character_before(text, begin, &before);
    return (begin == 0 || !is_word(encoder, text + begin - before, before)) && (end == bytes || !is_word(encoder, text + end, bytes - end));
}

/* ---- a stretch between added tokens ---- */

typedef enum status stretch(struct encoder *encoder, const char *text, size_t begin, size_t end, const uint32_t *origin, bool plain);

/* Cuts text [0, bytes) at added tokens, and calls between for what lies between them. origin NULL: a byte is its own. As with the reference the
 * leftmost token is found, of those the longest, and the search goes on behind it, also where it does not count; white space that a token swallowed
 * may be found as a token once more, unless that one swallows what is before it. */
static enum status cut_at_added(struct encoder *encoder, const char *text, size_t bytes, const uint32_t *origin, bool normalized, bool plain,
                                stretch *between)
{
    size_t done = 0, size;
    for (size_t at = 0; at < bytes;) {
        const struct added *added = added_longest(encoder->tokenizer, text + at, bytes - at, normalized);
        if (added == NULL) {
            at++;
            continue;
        }
        size_t begin = at, end = at + added->sought_size;
        at = end;
        if ((plain && added->special) || (added->single_word && !stands_alone(encoder, text, begin, end, bytes)))
            continue;
        while (added->left_strip && begin > 0 && is_space(character_before(text, begin, &size)))
            begin -= size;
        begin = added->left_strip && begin < done ? done : begin;
        while (added->right_strip && end < bytes && is_space(character_after(text, end, bytes, &size)))
            end += size;
        if (done < begin)
            TRY(between(encoder, text, done, begin, origin, plain));
        if (begin < end)
            encoder_append(encoder, added->id, origin == NULL ? (uint32_t)begin : origin[begin]);
        done = end;
    }
    return done < bytes ? between(encoder, text, done, bytes, origin, plain) : OK;
}

void load_piece(struct encoder *encoder, const char *text, size_t begin, size_t end, const uint32_t *origin)
{
    struct piece *piece = &encoder->piece;
    size_t size = end - begin;
    if (size > piece->reserved) {
        piece->reserved = 2 * size;
        piece->bytes = memory_grow(piece->bytes, piece->reserved);
        piece->origin = memory_grow(piece->origin, piece->reserved * sizeof *piece->origin);
    }
    memcpy(piece->bytes, text + begin, size);
    for (size_t i = 0; i < size; i++)
        piece->origin[i] = origin == NULL ? (uint32_t)(begin + i) : origin[begin + i];
    piece->size = size;
}

static enum status encode_normalized(struct encoder *encoder, const char *text, size_t begin, size_t end, const uint32_t *origin, bool plain)
{
    (void)plain;
    if (begin == end)
        return OK;
    load_piece(encoder, text, begin, end, origin);
    open_piece(encoder);
    return split_piece(encoder, 0, encoder->piece.size, 0);
}

static enum status encode_raw(struct encoder *encoder, const char *text, size_t begin, size_t end, const uint32_t *origin, bool plain)
{
    (void)origin;
    if (begin == end)
        return OK;
    load_piece(encoder, text, begin, end, NULL);
    normalize_piece(encoder);
    if (encoder->tokenizer->added_raw == encoder->tokenizer->added_count) {
        open_piece(encoder);
        return encoder->piece.size == 0 ? OK : split_piece(encoder, 0, encoder->piece.size, 0);
    }
    /* The words are cut from encoder->piece, so the normalized text moves to a place of its own. */
    struct piece normalized = encoder->piece;
    encoder->piece = (struct piece){ 0 };
    enum status status = cut_at_added(encoder, normalized.bytes, normalized.size, normalized.origin, true, plain, encode_normalized);
    free(encoder->piece.bytes);
    free(encoder->piece.origin);
    encoder->piece = normalized;
    return status;
}

enum status tokenizer_encode(struct encoder *encoder, const char *text, size_t bytes, bool plain, struct tokens *tokens)
{
    size_t bad;
    if (bytes > INT32_MAX / 2)
        return fail(E_DATA, "a text of %zu bytes; at most %d are encoded at once", bytes, INT32_MAX / 2);
    if (!check_utf8(text, bytes, &bad))
        return fail(E_DATA, "byte %zu of the text is no UTF-8 (0x%02x)", bad, (unsigned)(unsigned char)text[bad]);
    encoder->count = 0;
    TRY(cut_at_added(encoder, text, bytes, NULL, false, plain, encode_raw));
    *tokens = (struct tokens){ encoder->id, encoder->begin, encoder->count };
    return OK;
}

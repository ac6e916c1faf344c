/* normalize.c: the normalizers, with the origin of every byte (tokenizer_inside.h). Build host.
 *
 * (1) Unicode forms (unicode.c) are computed a run at a time: from an ASCII character before the first other one to the next two ASCII characters. A run that
 *     does not change keeps the origin of each byte. One that does is taken apart: into a character and the marks that follow it. Of those that
 *     change, every byte's origin is that character's begin. */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "tools/pack/tokenizer_inside.h"

static void put(struct piece *piece, const char *bytes, size_t size, const uint32_t *origin, uint32_t all)
{
    if (size == 0)
        return;
    if (piece->size + size > piece->reserved) {
        piece->reserved = 2 * (piece->size + size) + 256;
        piece->bytes = memory_grow(piece->bytes, piece->reserved);
        piece->origin = memory_grow(piece->origin, piece->reserved * sizeof *piece->origin);
    }
    memcpy(piece->bytes + piece->size, bytes, size);
    for (size_t i = 0; i < size; i++)
        piece->origin[piece->size + i] = origin != NULL ? origin[i] : all;
    piece->size += size;
}

static void swap(struct encoder *encoder)
{
    struct piece piece = encoder->piece;
    encoder->piece = encoder->spare;
    encoder->spare = piece;
}

static void prepend(struct encoder *encoder, const char *content)
{
    struct piece *from = &encoder->piece, *to = &encoder->spare;
    if (from->size == 0)
        return;
    to->size = 0;
    put(to, content, strlen(content), NULL, from->origin[0]);
    put(to, from->bytes, from->size, from->origin, 0);
    swap(encoder);
}

static void replace(struct encoder *encoder, const char *pattern, const char *content)
{
    struct piece *from = &encoder->piece, *to = &encoder->spare;
    size_t length = strlen(pattern), done = 0;
    to->size = 0;
    while (done < from->size) {
        char *at = memmem(from->bytes + done, from->size - done, pattern, length);
        size_t plain = at == NULL ? from->size - done : (size_t)(at - from->bytes) - done;
        put(to, from->bytes + done, plain, from->origin + done, 0);
        done += plain;
        if (at == NULL)
            break;
        put(to, content, strlen(content), NULL, from->origin[done]);
        done += length;
    }
    swap(encoder);
}

/* Character by character, as the reference does: a final sigma is not looked for. U+0130 alone becomes two. */
static void lower(struct encoder *encoder)
{
    struct piece *from = &encoder->piece, *to = &encoder->spare;
    to->size = 0;
    for (size_t at = 0; at < from->size;) {
        utf8proc_int32_t c;
        utf8proc_uint8_t bytes[4];
        size_t size = (size_t)utf8proc_iterate((const utf8proc_uint8_t *)from->bytes + at, (utf8proc_ssize_t)(from->size - at), &c);
        if (c == 0x130)
            put(to, "i\xcc\x87", 3, NULL, from->origin[at]);
        else
            put(to, (char *)bytes, (size_t)utf8proc_encode_char(utf8proc_tolower(c), bytes), NULL, from->origin[at]);
        at += size;
    }
    swap(encoder);
}

static void strip(struct encoder *encoder, bool left, bool right)
{
    struct piece *from = &encoder->piece, *to = &encoder->spare;
    size_t first = from->size, last = 0, size;
    for (size_t at = 0; at < from->size; at += size) {
        utf8proc_int32_t c;
        size = (size_t)utf8proc_iterate((const utf8proc_uint8_t *)from->bytes + at, (utf8proc_ssize_t)(from->size - at), &c);
        if (is_space(c))
            continue;
        first = at < first ? at : first;
        last = at + size;
    }
    size_t begin = left ? first : 0, end = right ? last : from->size;
    to->size = 0;
    if (begin < end)
        put(to, from->bytes + begin, end - begin, from->origin + begin, 0);
    swap(encoder);
}

static bool is_ascii(char c)
{
    return (unsigned char)c < 0x80;
}

/* False if the character may join the one before it: a mark, a vowel or final consonant of Hangul, or a halfwidth form of either. */
static bool stands_by_itself(utf8proc_int32_t c)
{
    utf8proc_category_t category = utf8proc_category(c);
    bool mark = category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_ME;
    return !mark && !(c >= 0x1160 && c <= 0x11ff) && !(c >= 0xff9e && c <= 0xffdc);
}

/* Where the character at `at` and what joins it ends. */
static size_t end_of_cluster(const struct piece *piece, size_t at, size_t end)
{
    utf8proc_int32_t c;
    at += (size_t)utf8proc_iterate((const utf8proc_uint8_t *)piece->bytes + at, (utf8proc_ssize_t)(end - at), &c);
    while (at < end) {
        utf8proc_ssize_t size = utf8proc_iterate((const utf8proc_uint8_t *)piece->bytes + at, (utf8proc_ssize_t)(end - at), &c);
        if (stands_by_itself(c))
            break;
        at += (size_t)size;
    }
    return at;
}

/* [begin, end) in the wanted form. */
static void put_form(struct piece *to, const struct piece *from, size_t begin, size_t end, utf8proc_option_t options)
{
    char *form;
    size_t size = unicode_form_of(from->bytes + begin, end - begin, options, &form);
    bool same = size == end - begin && memcmp(form, from->bytes + begin, size) == 0;
    size_t cluster = end_of_cluster(from, begin, end);
    if (same)
        put(to, from->bytes + begin, end - begin, from->origin + begin, 0);
    else if (cluster == end)
        put(to, form, size, NULL, from->origin[begin]);
    else
        for (size_t at = begin; at < end; at = cluster) {
            cluster = end_of_cluster(from, at, end);
            put_form(to, from, at, cluster, options);
        }
    free(form);
}

static void unicode_form(struct encoder *encoder, utf8proc_option_t options)
{
    struct piece *from = &encoder->piece, *to = &encoder->spare;
    size_t done = 0;
    while (done < from->size && is_ascii(from->bytes[done]))
        done++;
    if (done == from->size)
        return;
    to->size = 0;
    /* The character before may combine with a mark that follows it. */
    done = done > 0 ? done - 1 : 0;
    put(to, from->bytes, done, from->origin, 0);
    while (done < from->size) {
        size_t end = done + 1;
        while (end < from->size && !(is_ascii(from->bytes[end]) && (end + 1 == from->size || is_ascii(from->bytes[end + 1]))))
            end++;
        put_form(to, from, done, end, options);
        size_t plain = end;
        while (plain < from->size && is_ascii(from->bytes[plain]))
            plain++;
        size_t next = plain < from->size && plain > end ? plain - 1 : plain;
        put(to, from->bytes + end, next - end, from->origin + end, 0);
        done = next;
    }
    swap(encoder);
}

void normalize_piece(struct encoder *encoder)
{
    for (int32_t i = 0; i < encoder->tokenizer->normalizers; i++) {
        const struct normalizer *normalizer = &encoder->tokenizer->normalizer[i];
        switch (normalizer->kind) {
        case NORMALIZE_NFC:
            unicode_form(encoder, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
            break;
        case NORMALIZE_NFD:
            unicode_form(encoder, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
            break;
        case NORMALIZE_NFKC:
            unicode_form(encoder, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
            break;
        case NORMALIZE_NFKD:
            unicode_form(encoder, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
            break;
        case NORMALIZE_PREPEND:
            prepend(encoder, normalizer->content);
            break;
        case NORMALIZE_REPLACE:
            replace(encoder, normalizer->pattern, normalizer->content);
            break;
        case NORMALIZE_LOWER:
            lower(encoder);
            break;
        case NORMALIZE_STRIP:
            strip(encoder, normalizer->left, normalizer->right);
            break;
        }
    }
}

void open_piece(struct encoder *encoder)
{
    const struct opening *opening = &encoder->tokenizer->opening;
    struct piece *piece = &encoder->piece;
    if (opening->mark == NULL || piece->size == 0)
        return;
    if (opening->replaces)
        replace(encoder, " ", opening->mark);
    size_t size = strlen(opening->mark);
    bool begun = piece->size >= size && memcmp(piece->bytes, opening->mark, size) == 0;
    if (!begun && (opening->scheme == OPEN_ALWAYS || (opening->scheme == OPEN_FIRST && piece->origin[0] == 0)))
        prepend(encoder, opening->mark);
}

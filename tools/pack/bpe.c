/* bpe.c: byte-pair encoding of one word (tokenizer_inside.h). Build host, one encoder a thread.
 *
 * Source: Sennrich et al. 2016, arXiv:1508.07909: of all adjacent pairs the one learned first is merged, leftmost first, until none is left.
 * (1) A short word looks through its pairs; a long one keeps them in a heap, so that a megabyte of one letter takes n log n. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "tools/pack/tokenizer_inside.h"

enum { SHORT_SYMBOLS = 24 };

void encoder_append(struct encoder *encoder, int32_t id, uint32_t begin)
{
    if (encoder->count == encoder->reserved) {
        encoder->reserved = encoder->reserved == 0 ? 256 : 2 * encoder->reserved;
        encoder->id = memory_grow(encoder->id, (size_t)encoder->reserved * sizeof *encoder->id);
        encoder->begin = memory_grow(encoder->begin, (size_t)encoder->reserved * sizeof *encoder->begin);
    }
    encoder->id[encoder->count] = id;
    encoder->begin[encoder->count++] = begin;
}

static size_t character_bytes(char first)
{
    unsigned char c = (unsigned char)first;
    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* Appends one symbol to the word, from the left. */
static void push(struct encoder *encoder, int64_t *count, int32_t id, size_t begin)
{
    if (*count == encoder->symbols_reserved) {
        encoder->symbols_reserved = encoder->symbols_reserved == 0 ? 256 : 2 * encoder->symbols_reserved;
        encoder->symbol = memory_grow(encoder->symbol, (size_t)encoder->symbols_reserved * sizeof *encoder->symbol);
    }
    encoder->symbol[(*count)++] = (struct symbol){ .id = id, .begin = (uint32_t)begin };
}

/* A character that is no token: its bytes' tokens, if all are there; else the unknown token, fused with one before it; else nothing. */
static void push_unknown(struct encoder *encoder, int64_t *count, size_t at, size_t size)
{
    const struct tokenizer *tokenizer = encoder->tokenizer;
    const unsigned char *bytes = (const unsigned char *)encoder->piece.bytes + at;
    bool all = tokenizer->byte_fallback;
    for (size_t i = 0; i < size && all; i++)
        all = tokenizer->byte_token[bytes[i]] >= 0;
    if (all) {
        for (size_t i = 0; i < size; i++)
            push(encoder, count, tokenizer->byte_token[bytes[i]], at + i);
        return;
    }
    bool fuses = tokenizer->fuse_unknown && *count > 0 && encoder->symbol[*count - 1].id == tokenizer->unknown;
    if (tokenizer->unknown >= 0 && !fuses)
        push(encoder, count, tokenizer->unknown, at);
}

static int64_t push_symbols(struct encoder *encoder, size_t begin, size_t end)
{
    const struct tokenizer *tokenizer = encoder->tokenizer;
    int64_t count = 0;
    for (size_t at = begin; at < end;) {
        size_t size = tokenizer->byte_level ? 1 : character_bytes(encoder->piece.bytes[at]);
        int32_t id = tokenizer->byte_level ? tokenizer->byte_token[(unsigned char)encoder->piece.bytes[at]]
                                           : vocabulary_find(&tokenizer->vocabulary, encoder->piece.bytes + at, size);
        if (id >= 0)
            push(encoder, &count, id, at);
        else
            push_unknown(encoder, &count, at, size);
        at += size;
    }
    return count;
}

static int32_t rank_of(const struct tokenizer *tokenizer, int32_t left, int32_t right)
{
    const struct merge *merge = merges_find(&tokenizer->merges, left, right);
    return merge == NULL ? INT32_MAX : merge->rank;
}

static int64_t merge_short(struct encoder *encoder, int64_t count)
{
    const struct tokenizer *tokenizer = encoder->tokenizer;
    struct symbol *symbol = encoder->symbol;
    for (int64_t i = 0; i + 1 < count; i++)
        symbol[i].rank = rank_of(tokenizer, symbol[i].id, symbol[i + 1].id);
    for (;;) {
        int64_t best = -1;
        int32_t rank = INT32_MAX;
        for (int64_t i = 0; i + 1 < count; i++)
            if (symbol[i].rank < rank) {
                rank = symbol[i].rank;
                best = i;
            }
        if (best < 0)
            return count;
        symbol[best].id = merges_find(&tokenizer->merges, symbol[best].id, symbol[best + 1].id)->id;
        memmove(&symbol[best + 1], &symbol[best + 2], (size_t)(count - best - 2) * sizeof *symbol);
        count--;
        if (best + 1 < count)
            symbol[best].rank = rank_of(tokenizer, symbol[best].id, symbol[best + 1].id);
        if (best > 0)
            symbol[best - 1].rank = rank_of(tokenizer, symbol[best - 1].id, symbol[best].id);
    }
}

/* ---- the heap: lowest rank first, then leftmost ---- */

static bool before(const struct candidate *a, const struct candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void heap_push(struct encoder *encoder, int32_t at)
{
    struct symbol *left = &encoder->symbol[at];
    if (left->next < 0)
        return;
    struct symbol *right = &encoder->symbol[left->next];
    int32_t rank = rank_of(encoder->tokenizer, left->id, right->id);
    if (rank == INT32_MAX)
        return;
    if (encoder->heap_count == encoder->heap_reserved) {
        encoder->heap_reserved = encoder->heap_reserved == 0 ? 256 : 2 * encoder->heap_reserved;
        encoder->heap = memory_grow(encoder->heap, (size_t)encoder->heap_reserved * sizeof *encoder->heap);
    }
    struct candidate candidate = { rank, at, left->id, right->id };
    int64_t i = encoder->heap_count++;
    for (; i > 0 && before(&candidate, &encoder->heap[(i - 1) / 2]); i = (i - 1) / 2)
        encoder->heap[i] = encoder->heap[(i - 1) / 2];
    encoder->heap[i] = candidate;
}

static struct candidate heap_pop(struct encoder *encoder)
{
    struct candidate top = encoder->heap[0], last = encoder->heap[--encoder->heap_count];
    int64_t i = 0;
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= encoder->heap_count)
            break;
        if (child + 1 < encoder->heap_count && before(&encoder->heap[child + 1], &encoder->heap[child]))
            child++;
        if (!before(&encoder->heap[child], &last))
            break;
        encoder->heap[i] = encoder->heap[child];
        i = child;
    }
    encoder->heap[i] = last;
    return top;
}

static int64_t merge_long(struct encoder *encoder, int64_t count)
{
    struct symbol *symbol = encoder->symbol;
    encoder->heap_count = 0;
    for (int64_t i = 0; i < count; i++) {
        symbol[i].previous = (int32_t)i - 1;
        symbol[i].next = i + 1 < count ? (int32_t)i + 1 : -1;
    }
    for (int64_t i = 0; i + 1 < count; i++)
        heap_push(encoder, (int32_t)i);
    while (encoder->heap_count > 0) {
        struct candidate c = heap_pop(encoder);
        struct symbol *left = &symbol[c.at];
        /* Out of date where either side was merged since. A symbol that is gone has id -1. */
        if (left->id != c.left || left->next < 0 || symbol[left->next].id != c.right)
            continue;
        struct symbol *right = &symbol[left->next];
        left->id = merges_find(&encoder->tokenizer->merges, c.left, c.right)->id;
        left->next = right->next;
        right->id = -1;
        if (left->next >= 0)
            symbol[left->next].previous = c.at;
        heap_push(encoder, c.at);
        if (left->previous >= 0)
            heap_push(encoder, left->previous);
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++)
        if (symbol[i].id >= 0)
            symbol[kept++] = symbol[i];
    return kept;
}

/* ---- words ---- */

static void emit_cached(struct encoder *encoder, const struct cached *cached, size_t begin)
{
    for (int i = 0; i < cached->count; i++)
        encoder_append(encoder, cached->id[i], encoder->piece.origin[begin + cached->begin[i]]);
}

static void keep(struct cached *cached, uint64_t hash, const struct encoder *encoder, size_t begin, size_t size, int64_t count)
{
    if (count > CACHED_TOKENS)
        return;
    *cached = (struct cached){ .hash = hash, .size = (uint8_t)size, .count = (uint8_t)count };
    memcpy(cached->bytes, encoder->piece.bytes + begin, size);
    for (int64_t i = 0; i < count && i < CACHED_TOKENS; i++) {
        cached->id[i] = encoder->symbol[i].id;
        cached->begin[i] = (uint8_t)(encoder->symbol[i].begin - begin);
    }
}

static void encode_word(struct encoder *encoder, size_t begin, size_t end)
{
    size_t size = end - begin;
    const char *bytes = encoder->piece.bytes + begin;
    uint64_t hash = 0;
    struct cached *cached = NULL;
    if (size <= CACHED_BYTES) {
        hash = XXH3_64bits(bytes, size);
        cached = &encoder->cache[hash % CACHE_SLOTS];
        if (cached->hash == hash && cached->size == size && memcmp(cached->bytes, bytes, size) == 0) {
            emit_cached(encoder, cached, begin);
            return;
        }
    }
    if (encoder->tokenizer->ignore_merges) {
        int32_t id = vocabulary_find(&encoder->tokenizer->vocabulary, bytes, size);
        if (id >= 0) {
            encoder_append(encoder, id, encoder->piece.origin[begin]);
            return;
        }
    }
    int64_t count = push_symbols(encoder, begin, end);
    count = count <= SHORT_SYMBOLS ? merge_short(encoder, count) : merge_long(encoder, count);
    for (int64_t i = 0; i < count; i++)
        encoder_append(encoder, encoder->symbol[i].id, encoder->piece.origin[encoder->symbol[i].begin]);
    if (cached != NULL)
        keep(cached, hash, encoder, begin, size, count);
}

/* Where the space mark stands in the way of every merge, the text falls into words that can be cached. Unknown characters are fused across
 * words, so they must not meet there: the mark itself is a token, or this is not used. Neither is it where a whole word may be a token without merges. */
void bpe_word(struct encoder *encoder, size_t begin, size_t end)
{
    if (!encoder->tokenizer->words_begin_at_mark || encoder->tokenizer->ignore_merges) {
        encode_word(encoder, begin, end);
        return;
    }
    const char *bytes = encoder->piece.bytes;
    bool after_mark = true;
    size_t word = begin;
    for (size_t at = begin; at < end;) {
        bool mark = end - at >= 3 && memcmp(bytes + at, MARK, 3) == 0;
        if (mark && !after_mark) {
            encode_word(encoder, word, at);
            word = at;
        }
        after_mark = mark;
        at += character_bytes(bytes[at]);
    }
    if (word < end)
        encode_word(encoder, word, end);
}

/* vocabulary.c: tokens by text, merges by pair (tokenizer_inside.h). Build host; read only once filled. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "tools/pack/tokenizer_inside.h"

/* A power of two that keeps a table at most half full. */
static uint64_t slots_for(size_t count)
{
    uint64_t slots = 16;
    while (slots < 2 * (uint64_t)count)
        slots *= 2;
    return slots;
}

void vocabulary_open(struct vocabulary *vocabulary, int32_t size, size_t bytes)
{
    *vocabulary = (struct vocabulary){ .size = size, .slots = slots_for((size_t)size) };
    vocabulary->token = memory_take((size_t)size * sizeof *vocabulary->token);
    memset(vocabulary->token, 0, (size_t)size * sizeof *vocabulary->token);
    vocabulary->pool = memory_take(bytes);
    vocabulary->slot = memory_take(vocabulary->slots * sizeof *vocabulary->slot);
    memset(vocabulary->slot, 0xff, vocabulary->slots * sizeof *vocabulary->slot);
}

void vocabulary_close(struct vocabulary *vocabulary)
{
    free(vocabulary->token);
    free(vocabulary->pool);
    free(vocabulary->slot);
}

void vocabulary_add(struct vocabulary *vocabulary, int32_t id, const char *bytes, size_t size, bool findable, size_t *pool_at)
{
    char *at = vocabulary->pool + *pool_at;
    memcpy(at, bytes, size);
    *pool_at += size;
    vocabulary->token[id] = (struct text){ at, (uint32_t)size };
    if (!findable)
        return;
    uint64_t slot = XXH3_64bits(bytes, size) & (vocabulary->slots - 1);
    while (vocabulary->slot[slot] >= 0)
        slot = (slot + 1) & (vocabulary->slots - 1);
    vocabulary->slot[slot] = id;
}

int32_t vocabulary_find(const struct vocabulary *vocabulary, const char *bytes, size_t size)
{
    for (uint64_t slot = XXH3_64bits(bytes, size) & (vocabulary->slots - 1);; slot = (slot + 1) & (vocabulary->slots - 1)) {
        int32_t id = vocabulary->slot[slot];
        if (id < 0)
            return -1;
        const struct text *token = &vocabulary->token[id];
        if (token->size == size && memcmp(token->bytes, bytes, size) == 0)
            return id;
    }
}

void merges_open(struct merges *merges, size_t count)
{
    merges->slots = slots_for(count);
    merges->slot = memory_take(merges->slots * sizeof *merges->slot);
    memset(merges->slot, 0xff, merges->slots * sizeof *merges->slot);
}

void merges_close(struct merges *merges)
{
    free(merges->slot);
}

static uint64_t pair_of(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* Fibonacci hashing: the high bits of a product with 2^64 over the golden ratio. */
static uint64_t place_of(const struct merges *merges, uint64_t pair)
{
    return (pair ^ pair >> 29) * 0x9e3779b97f4a7c15u >> 20 & (merges->slots - 1);
}

void merges_add(struct merges *merges, int32_t left, int32_t right, int32_t rank, int32_t id)
{
    uint64_t pair = pair_of(left, right), slot = place_of(merges, pair);
    while (merges->slot[slot].pair != UINT64_MAX && merges->slot[slot].pair != pair)
        slot = (slot + 1) & (merges->slots - 1);
    merges->slot[slot] = (struct merge){ pair, rank, id };
}

const struct merge *merges_find(const struct merges *merges, int32_t left, int32_t right)
{
    uint64_t pair = pair_of(left, right);
    for (uint64_t slot = place_of(merges, pair);; slot = (slot + 1) & (merges->slots - 1)) {
        if (merges->slot[slot].pair == pair)
            return &merges->slot[slot];
        if (merges->slot[slot].pair == UINT64_MAX)
            return NULL;
    }
}

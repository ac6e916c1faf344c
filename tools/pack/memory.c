/* memory.c: see memory.h. */
#include "tools/pack/memory.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 << 10, CHUNK_HEADER_BYTES = 32, PIECE_ALIGN_BYTES = 16 };

struct pool_chunk {
    struct pool_chunk *older;
    size_t used, room; /* bytes behind the header */
};

_Static_assert(sizeof(struct pool_chunk) <= CHUNK_HEADER_BYTES, "the chunk's header has outgrown its place");

static _Noreturn void out_of_memory(size_t bytes)
{
    exit(fail(E_AGAIN, "out of memory: %zu bytes more were needed", bytes));
}

void *memory_take(size_t bytes)
{
    void *piece = malloc(bytes > 0 ? bytes : 1);
    if (piece == NULL)
        out_of_memory(bytes);
    return piece;
}

void *memory_grow(void *old, size_t bytes)
{
    void *piece = realloc(old, bytes > 0 ? bytes : 1);
    if (piece == NULL)
        out_of_memory(bytes);
    return piece;
}

void *pool_take(struct pool *pool, size_t bytes)
{
    bytes = (bytes + PIECE_ALIGN_BYTES - 1) / PIECE_ALIGN_BYTES * PIECE_ALIGN_BYTES;
    if (pool->limit_bytes > 0 && bytes > pool->limit_bytes - pool->used_bytes)
        pool->full(pool->argument);
    pool->used_bytes += bytes;
    struct pool_chunk *chunk = pool->chunk;
    if (chunk == NULL || bytes > chunk->room - chunk->used) {
        size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        chunk = memory_take(CHUNK_HEADER_BYTES + room);
        *chunk = (struct pool_chunk){ .older = pool->chunk, .room = room };
        pool->chunk = chunk;
    }
    void *piece = (char *)chunk + CHUNK_HEADER_BYTES + chunk->used;
    chunk->used += bytes;
    memset(piece, 0, bytes);
    return piece;
}

char *pool_copy(struct pool *pool, const char *text, size_t length)
{
    char *copy = pool_take(pool, length + 1);
    memcpy(copy, text, length);
    return copy;
}

void pool_reset(struct pool *pool)
{
    struct pool_chunk *kept = NULL;
    while (pool->chunk != NULL) {
        struct pool_chunk *chunk = pool->chunk;
        pool->chunk = chunk->older;
        if (kept == NULL && chunk->room == CHUNK_BYTES)
            kept = chunk;
        else
            free(chunk);
    }
    if (kept != NULL)
        *kept = (struct pool_chunk){ .room = CHUNK_BYTES };
    pool->chunk = kept;
    pool->used_bytes = 0;
}

void pool_close(struct pool *pool)
{
    while (pool->chunk != NULL) {
        struct pool_chunk *older = pool->chunk->older;
        free(pool->chunk);
        pool->chunk = older;
    }
    pool->used_bytes = 0;
}

/* memory.h: memory of the packing tool. Build host; each pool belongs to one thread.
 *
 * (1) Running out of memory ends the program with E_AGAIN and a line: nothing is half written, since a pack appears whole or not at all.
 * (2) A pool may have a limit, so that a hostile template or row cannot take the machine. */
#ifndef TOOLS_PACK_MEMORY_H
#define TOOLS_PACK_MEMORY_H

#include "platform/status.h"

/* malloc and realloc that do not fail. Freed with free. memory_grow with old NULL takes new memory. */
void *memory_take(size_t bytes) __attribute__((malloc, returns_nonnull));
void *memory_grow(void *old, size_t bytes) __attribute__((returns_nonnull));

/* Room for one more element of an array: doubles *room when count has reached it. */
#define MEMORY_ROOM(array, count, room)                                                                                                    \
    do {                                                                                                                                   \
        if ((count) == (room)) {                                                                                                           \
            (room) = (room) == 0 ? 16 : (room)*2;                                                                                          \
            (array) = memory_grow((array), (size_t)(room) * sizeof *(array));                                                              \
        }                                                                                                                                  \
    } while (0)

struct pool_chunk;

/* Many small pieces that are given back together. All zero is an empty pool without a limit. */
struct pool {
    struct pool_chunk *chunk;
    size_t used_bytes;
    size_t limit_bytes;           /* 0: none */
    void (*full)(void *argument); /* called when the limit is passed; does not return */
    void *argument;
};

/* bytes of zeroed memory, aligned to 16. */
void *pool_take(struct pool *pool, size_t bytes) __attribute__((returns_nonnull));
/* length bytes of text and a NUL behind them. */
char *pool_copy(struct pool *pool, const char *text, size_t length) __attribute__((returns_nonnull));
/* Forgets all pieces; keeps one chunk for the next use. */
void pool_reset(struct pool *pool);
void pool_close(struct pool *pool);

#endif

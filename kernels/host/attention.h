/* attention.h: what the forward and the backward half of attention share: where things lie, and what is seen. Steady.
 *
 * Query i of a row sees the keys [low, i], low from its document's start and the window. start is non-decreasing along a row, so low is too: what
 * a run of queries sees together is [low of the first, the last]. */
#ifndef KERNELS_HOST_ATTENTION_H
#define KERNELS_HOST_ATTENTION_H

#include "kernels/kernels.h"

enum { ATTENTION_BLOCK = 64, ATTENTION_HEAD_SIZE_MOST = 512 };

/* Scores are kept in units of ln 2: their exponentials are powers of 2. */
#define ATTENTION_LOG2_E 1.44269504088896341
#define ATTENTION_LN_2   0.693147180559945309

static inline void attention_check(const struct attention *n)
{
    ASSERT(n->batch >= 1 && n->tokens >= 1 && n->tokens < INT32_MAX && n->heads >= 1 && n->kv_heads >= 1 && n->window >= 0);
    ASSERT(n->heads % n->kv_heads == 0);
    ASSERT(n->head_size >= 1 && n->head_size <= ATTENTION_HEAD_SIZE_MOST);
}

static inline int64_t attention_blocks(const struct attention *n)
{
    return (n->tokens + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
}

/* Elements of a token in qkv. */
static inline int64_t attention_row(const struct attention *n)
{
    return (n->heads + 2 * n->kv_heads) * n->head_size;
}

/* Element at which head `head` (queries, then keys, then values) of a token lies in qkv. */
static inline int64_t attention_at(const struct attention *n, int64_t b, int64_t token, int64_t head)
{
    return (b * n->tokens + token) * attention_row(n) + head * n->head_size;
}

/* The first key that query i sees; start is the row's. */
static inline int64_t attention_low(const struct attention *n, const int32_t *start, int64_t i)
{
    int64_t edge = n->window > 0 ? i - n->window + 1 : 0;
    return start[i] > edge ? start[i] : edge;
}

static inline int64_t attention_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t attention_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif

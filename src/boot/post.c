/* post.c: see post.h. Phase: boot. */
#include "boot/post.h"

#include <inttypes.h>
#include <string.h>

#include "config.h"

enum { N = 24, O = 40, I = 56, PATTERN_BYTES_MOST = 16 << 20 };

/* Small whole numbers: every sum is exact in fp32, in any order. */
BOOT static float operand(int64_t i, int64_t j)
{
    return (float)((i * 3 + j * 5) % 7 - 3);
}

BOOT static enum status wrong(int32_t rank, const char *product, int64_t i, int64_t j, float seen, int64_t right)
{
    return fail(E_AGAIN, "rank %d: self-test: %s gives %g at [%" PRId64 ", %" PRId64 "], right is %" PRId64 ": processor or BLAS is broken", rank, product,
                (double)seen, i, j, right);
}

/* The three products of training: forward, gradient of the input, gradient of the weight. */
BOOT static enum status products(struct rank *rank)
{
    struct block { float x[N * I], w[O * I], y[N * O], dx[N * I], dw[O * I]; };
    static struct block blocks[RANKS];
    struct block *b = &blocks[rank->index];
    for (int64_t i = 0; i < N * I; i++)
        b->x[i] = operand(i / I, i % I);
    for (int64_t i = 0; i < O * I; i++)
        b->w[i] = operand(i % I, i / I);
    memset(b->dw, 0, sizeof b->dw);
    matmul_forward(&rank->queue, b->y, b->x, b->w, NULL, N, O, I, false);
    matmul_backward_input(&rank->queue, b->dx, b->y, b->w, N, O, I, false);
    matmul_backward_weight(&rank->queue, b->dw, NULL, b->y, b->x, N, O, I);
    for (int64_t n = 0; n < N; n++) {
        for (int64_t o = 0; o < O; o++) {
            int64_t right = 0;
            for (int64_t i = 0; i < I; i++)
                right += (int64_t)operand(n, i) * (int64_t)operand(i, o);
            if (b->y[n * O + o] != (float)right)
                return wrong(rank->index, "forward product", n, o, b->y[n * O + o], right);
        }
    }
    for (int64_t n = 0; n < N; n++) {
        for (int64_t i = 0; i < I; i++) {
            int64_t right = 0;
            for (int64_t o = 0; o < O; o++)
                right += (int64_t)b->y[n * O + o] * (int64_t)operand(i, o);
            if (b->dx[n * I + i] != (float)right)
                return wrong(rank->index, "input gradient", n, i, b->dx[n * I + i], right);
        }
    }
    for (int64_t o = 0; o < O; o++) {
        for (int64_t i = 0; i < I; i++) {
            int64_t right = 0;
            for (int64_t n = 0; n < N; n++)
                right += (int64_t)b->y[n * O + o] * (int64_t)operand(n, i);
            if (b->dw[o * I + i] != (float)right)
                return wrong(rank->index, "weight gradient", o, i, b->dw[o * I + i], right);
        }
    }
    return OK;
}

/* A word that depends on its place, so that crossed address lines show. */
BOOT static uint64_t pattern(int64_t i)
{
    return ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
}

BOOT static enum status memory(const struct rank *rank, struct post_facts *facts)
{
    int64_t half = rank->arena.bytes / 2 < PATTERN_BYTES_MOST ? rank->arena.bytes / 2 : PATTERN_BYTES_MOST;
    half -= half % ARENA_ALIGN_BYTES;
    uint64_t *from = (uint64_t *)(void *)rank->arena.base, *to = (uint64_t *)(void *)(rank->arena.base + half);
    int64_t words = half / (int64_t)sizeof *from;
    for (int64_t i = 0; i < words; i++)
        from[i] = pattern(i);
    int64_t begin = clock_ns();
    memcpy(to, from, (size_t)half);
    int64_t copy_ns = clock_ns() - begin;
    facts->copy_bytes_per_second = copy_ns > 0 ? 2.0 * (double)half * 1e9 / (double)copy_ns : 0;
    facts->pattern_bytes = 2 * half;
    for (int64_t i = 0; i < words; i++)
        if (from[i] != pattern(i) || to[i] != pattern(i))
            return fail(E_AGAIN, "rank %d: self-test: memory does not keep what is written, word %" PRId64 " of %" PRId64, rank->index, i, words);
    memset(rank->arena.base, 0, 2 * (size_t)half);
    return OK;
}

BOOT enum status post(struct rank *rank, struct post_facts *facts)
{
    matmul_open(&rank->queue);
    TRY(products(rank));
    return memory(rank, facts);
}

/* attention.c: softmax attention by blocks, forward and backward (kernels.h). Steady.
 *
 * Forward and the gradient of the queries work on a block of queries, with scores turned over: [key, query], so that eight queries lie in a vector
 * and a row of the softmax needs no sum across lanes. The gradients of keys and values work on a block of keys. Scores are computed anew
 * in each of the two backward parts (seven products in place of five), which buys tasks that are independent, even in size and many.
 * (1) A pair that is not seen contributes exactly 0. (2) Blocks without a seen pair are skipped. (3) start is non-decreasing along a row. */
#include <math.h>
#include <string.h>

#include "kernels/host/tile.h"
#include "kernels/kernels.h"

enum { BLOCK = 64, HEAD_SIZE_MOST = 256 };

/* Finite, so that differences of two stay numbers; e to its difference from any real score is 0. */
#define UNSEEN -1e30f

struct call {
    struct attention n;
    const float *qkv, *o_in, *do_, *lse_in;
    const int32_t *start;
    float *o, *lse, *dqkv, *delta;
    int64_t row;                /* (H+2K)*D: elements of a token in qkv */
};

/* Scratch of one task; 64-byte multiples. [64] blocks at HEAD_SIZE_MOST take 290 KiB of TEAM_SCRATCH_BYTES. */
struct scratch {
    float turned[HEAD_SIZE_MOST * BLOCK], turned_gradient[HEAD_SIZE_MOST * BLOCK];
    float score[BLOCK * BLOCK], gradient[BLOCK * BLOCK];
    float out[BLOCK * HEAD_SIZE_MOST];
    float max[BLOCK], sum[BLOCK], factor[BLOCK];
};
_Static_assert(sizeof(struct scratch) <= TEAM_SCRATCH_BYTES, "attention's scratch exceeds TEAM_SCRATCH_BYTES");

/* A block of one row: first position and length; and whether every pair of two blocks is seen. */
struct block {
    int64_t first, count;
};

static int64_t blocks_of(const struct call *c)
{
    return (c->n.tokens + BLOCK - 1) / BLOCK;
}

static struct block block_at(const struct call *c, int64_t index)
{
    int64_t first = index * BLOCK;
    return (struct block){ first, c->n.tokens - first < BLOCK ? c->n.tokens - first : BLOCK };
}

/* start of the row's documents; query i sees key j if start[i] <= j <= i and i - j < window. */
static bool none_seen(const struct call *c, const int32_t *start, struct block q, struct block k)
{
    int64_t q_last = q.first + q.count - 1, k_last = k.first + k.count - 1;
    return k.first > q_last || k_last < start[q.first] || (c->n.window > 0 && q.first - k_last >= c->n.window);
}

static bool all_seen(const struct call *c, const int32_t *start, struct block q, struct block k)
{
    int64_t q_last = q.first + q.count - 1, k_last = k.first + k.count - 1;
    return k_last <= q.first && k.first >= start[q_last] && (c->n.window == 0 || q_last - k.first < c->n.window);
}

static bool seen(const struct call *c, const int32_t *start, int64_t i, int64_t j)
{
    return j >= start[i] && j <= i && (c->n.window == 0 || i - j < c->n.window);
}

static const float *query(const struct call *c, int64_t b, int64_t h, int64_t position)
{
    return c->qkv + (b * c->n.tokens + position) * c->row + h * c->n.head_size;
}

static const float *key(const struct call *c, int64_t b, int64_t kv, int64_t position)
{
    return query(c, b, c->n.heads + kv, position);
}

static const float *value(const struct call *c, int64_t b, int64_t kv, int64_t position)
{
    return query(c, b, c->n.heads + c->n.kv_heads + kv, position);
}

/* score[j, i] = key j . (scaled) query i, in rows of BLOCK; UNSEEN where not seen. */
static void scores_by_key(const struct call *c, struct scratch *s, const int32_t *start, int64_t b, int64_t kv, struct block q, struct block k)
{
    struct operand keys = { key(c, b, kv, k.first), c->row, 1 };
    tile_product(s->score, BLOCK, keys, s->turned, BLOCK, k.count, q.count, c->n.head_size, false);
    if (all_seen(c, start, q, k))
        return;
    for (int64_t j = 0; j < k.count; j++)
        for (int64_t i = 0; i < q.count; i++)
            if (!seen(c, start, q.first + i, k.first + j))
                s->score[j * BLOCK + i] = UNSEEN;
}

/* Scores become e^(score - max), max and sum are brought up to date, and factor says what the earlier output must be multiplied with. */
static void soften(struct scratch *s, int64_t keys, int64_t queries)
{
    for (int64_t i = 0; i < queries; i += LANES) {
        __m256 old = _mm256_loadu_ps(s->max + i), max = old, sum = _mm256_setzero_ps();
        for (int64_t j = 0; j < keys; j++)
            max = _mm256_max_ps(max, _mm256_loadu_ps(s->score + j * BLOCK + i));
        __m256 factor = simd_exp(_mm256_sub_ps(old, max));
        for (int64_t j = 0; j < keys; j++) {
            __m256 p = simd_exp(_mm256_sub_ps(_mm256_loadu_ps(s->score + j * BLOCK + i), max));
            _mm256_storeu_ps(s->score + j * BLOCK + i, p);
            sum = _mm256_add_ps(sum, p);
        }
        _mm256_storeu_ps(s->max + i, max);
        _mm256_storeu_ps(s->factor + i, factor);
        _mm256_storeu_ps(s->sum + i, _mm256_fmadd_ps(_mm256_loadu_ps(s->sum + i), factor, sum));
    }
}

static void forward_task(void *argument, int64_t index)
{
    const struct call *c = argument;
    struct scratch *s = team_scratch();
    int64_t blocks = blocks_of(c), d = c->n.head_size, b = index / (blocks * c->n.heads), h = index / blocks % c->n.heads;
    int64_t kv = h / (c->n.heads / c->n.kv_heads), block = blocks - 1 - index % blocks;       /* the longest tasks first */
    const int32_t *start = c->start + b * c->n.tokens;
    struct block q = block_at(c, block);
    memset(s->score, 0, sizeof s->score);
    memset(s->out, 0, (size_t)(q.count * d) * sizeof *s->out);
    for (int64_t i = 0; i < BLOCK; i++) {
        s->max[i] = UNSEEN;
        s->sum[i] = 0.0f;
    }
    tile_transpose(s->turned, BLOCK, query(c, b, h, q.first), c->row, q.count, d, c->n.scale);
    for (int64_t kb = 0; kb <= block; kb++) {
        struct block k = block_at(c, kb);
        if (none_seen(c, start, q, k))
            continue;
        scores_by_key(c, s, start, b, kv, q, k);
        soften(s, k.count, q.count);
        for (int64_t i = 0; i < q.count; i++)
            for (int64_t e = 0; e < d; e++)
                s->out[i * d + e] *= s->factor[i];
        struct operand weights = { s->score, 1, BLOCK };
        tile_product(s->out, d, weights, value(c, b, kv, k.first), c->row, q.count, d, k.count, true);
    }
    for (int64_t i = 0; i < q.count; i++) {
        float *o = c->o + ((b * c->n.tokens + q.first + i) * c->n.heads + h) * d, inverse = 1.0f / s->sum[i];
        for (int64_t e = 0; e < d; e++)
            o[e] = s->out[i * d + e] * inverse;
        c->lse[(b * c->n.heads + h) * c->n.tokens + q.first + i] = s->max[i] + logf(s->sum[i]);
    }
}

static void check(const struct attention *n)
{
    ASSERT(n->batch >= 1 && n->tokens >= 1 && n->heads >= 1 && n->kv_heads >= 1);
    ASSERT(n->heads % n->kv_heads == 0);
    ASSERT(n->head_size >= 1 && n->head_size <= HEAD_SIZE_MOST);
}

void attention_forward(struct queue *queue, real *o, float *lse, const real *qkv, const int32_t *start, struct attention n)
{
    check(&n);
    int64_t begin = queue_begin(queue);
    struct call c = { .n = n, .qkv = qkv, .start = start, .o = o, .lse = lse, .row = (n.heads + 2 * n.kv_heads) * n.head_size };
    team_run(queue->team, n.batch * n.heads * blocks_of(&c), forward_task, &c);
    queue_end(queue, TIME_KERNEL, begin);
}

/* ---- backward ---- */

/* delta[i] = do_i . o_i for the queries of the block: algorithm 2, line 4. */
static void compute_delta(const struct call *c, int64_t b, int64_t h, struct block q)
{
    for (int64_t i = 0; i < q.count; i++) {
        int64_t at = ((b * c->n.tokens + q.first + i) * c->n.heads + h) * c->n.head_size;
        float sum = 0.0f;
        for (int64_t e = 0; e < c->n.head_size; e++)
            sum += c->do_[at + e] * c->o_in[at + e];
        c->delta[(b * c->n.heads + h) * c->n.tokens + q.first + i] = sum;
    }
}

/* gradient[j, i] = P (dP - delta) from score (S) and gradient (dP), both [key, query]. */
static void slope_by_key(struct scratch *s, const float *lse, const float *delta, int64_t keys, int64_t queries)
{
    for (int64_t i = 0; i < queries; i += LANES) {
        __m256i mask = simd_first(queries - i < LANES ? queries - i : LANES);
        __m256 l = _mm256_maskload_ps(lse + i, mask), d = _mm256_maskload_ps(delta + i, mask);
        for (int64_t j = 0; j < keys; j++) {
            float *at = s->gradient + j * BLOCK + i;
            __m256 p = simd_exp(_mm256_sub_ps(_mm256_loadu_ps(s->score + j * BLOCK + i), l));
            _mm256_storeu_ps(at, _mm256_mul_ps(p, _mm256_sub_ps(_mm256_loadu_ps(at), d)));
        }
    }
}

/* The gradient of a block of queries, and their delta. */
static void query_task(void *argument, int64_t index)
{
    const struct call *c = argument;
    struct scratch *s = team_scratch();
    int64_t blocks = blocks_of(c), d = c->n.head_size, b = index / (blocks * c->n.heads), h = index / blocks % c->n.heads;
    int64_t kv = h / (c->n.heads / c->n.kv_heads), block = blocks - 1 - index % blocks, width = c->n.heads * d;
    const int32_t *start = c->start + b * c->n.tokens;
    struct block q = block_at(c, block);
    const float *dout = c->do_ + (b * c->n.tokens + q.first) * width + h * d;
    float *dq = c->dqkv + (b * c->n.tokens + q.first) * c->row + h * d;
    int64_t at = (b * c->n.heads + h) * c->n.tokens + q.first;
    bool first = true;
    compute_delta(c, b, h, q);
    memset(s->score, 0, sizeof s->score);
    memset(s->gradient, 0, sizeof s->gradient);
    tile_transpose(s->turned, BLOCK, query(c, b, h, q.first), c->row, q.count, d, c->n.scale);
    tile_transpose(s->turned_gradient, BLOCK, dout, width, q.count, d, 1.0f);
    for (int64_t kb = 0; kb <= block; kb++) {
        struct block k = block_at(c, kb);
        if (none_seen(c, start, q, k))
            continue;
        scores_by_key(c, s, start, b, kv, q, k);
        struct operand values = { value(c, b, kv, k.first), c->row, 1 };
        tile_product(s->gradient, BLOCK, values, s->turned_gradient, BLOCK, k.count, q.count, d, false);
        slope_by_key(s, c->lse_in + at, c->delta + at, k.count, q.count);
        struct operand slope = { s->gradient, 1, BLOCK };
        tile_product(dq, c->row, slope, key(c, b, kv, k.first), c->row, q.count, d, k.count, !first);
        first = false;
    }
    for (int64_t i = 0; i < q.count; i++)
        for (int64_t e = 0; e < d; e++)
            dq[i * c->row + e] *= c->n.scale;
}

/* score[i, j] becomes P, gradient[i, j] becomes P (dP - delta), both [query, key] in rows of BLOCK. */
static void slope_by_query(struct scratch *s, const float *lse, const float *delta, int64_t queries, int64_t keys)
{
    for (int64_t i = 0; i < queries; i++) {
        __m256 l = _mm256_set1_ps(lse[i]), d = _mm256_set1_ps(delta[i]);
        for (int64_t j = 0; j < keys; j += LANES) {
            float *score = s->score + i * BLOCK + j, *gradient = s->gradient + i * BLOCK + j;
            __m256 p = simd_exp(_mm256_sub_ps(_mm256_loadu_ps(score), l));
            _mm256_storeu_ps(score, p);
            _mm256_storeu_ps(gradient, _mm256_mul_ps(p, _mm256_sub_ps(_mm256_loadu_ps(gradient), d)));
        }
    }
}

/* The gradients of a block of keys and values, over all query heads that read them. */
static void key_task(void *argument, int64_t index)
{
    const struct call *c = argument;
    struct scratch *s = team_scratch();
    int64_t blocks = blocks_of(c), d = c->n.head_size, b = index / (blocks * c->n.kv_heads), kv = index / blocks % c->n.kv_heads;
    int64_t group = c->n.heads / c->n.kv_heads, block = index % blocks, width = c->n.heads * d;
    const int32_t *start = c->start + b * c->n.tokens;
    struct block k = block_at(c, block);
    float *dk = c->dqkv + (b * c->n.tokens + k.first) * c->row + (c->n.heads + kv) * d, *dv = dk + c->n.kv_heads * d;
    bool first = true;
    memset(s->score, 0, sizeof s->score);
    memset(s->gradient, 0, sizeof s->gradient);
    tile_transpose(s->turned, BLOCK, key(c, b, kv, k.first), c->row, k.count, d, c->n.scale);
    tile_transpose(s->turned_gradient, BLOCK, value(c, b, kv, k.first), c->row, k.count, d, 1.0f);
    for (int64_t h = kv * group; h < (kv + 1) * group; h++)
        for (int64_t qb = block; qb < blocks; qb++) {
            struct block q = block_at(c, qb);
            if (none_seen(c, start, q, k))
                continue;
            struct operand queries = { query(c, b, h, q.first), c->row, 1 };
            const float *dout = c->do_ + (b * c->n.tokens + q.first) * width + h * d;
            int64_t at = (b * c->n.heads + h) * c->n.tokens + q.first;
            tile_product(s->score, BLOCK, queries, s->turned, BLOCK, q.count, k.count, d, false);
            if (!all_seen(c, start, q, k))
                for (int64_t i = 0; i < q.count; i++)
                    for (int64_t j = 0; j < k.count; j++)
                        if (!seen(c, start, q.first + i, k.first + j))
                            s->score[i * BLOCK + j] = UNSEEN;
            tile_product(s->gradient, BLOCK, (struct operand){ dout, width, 1 }, s->turned_gradient, BLOCK, q.count, k.count, d, false);
            slope_by_query(s, c->lse_in + at, c->delta + at, q.count, k.count);
            tile_product(dv, c->row, (struct operand){ s->score, 1, BLOCK }, dout, width, k.count, d, q.count, !first);
            tile_product(dk, c->row, (struct operand){ s->gradient, 1, BLOCK }, queries.at, c->row, k.count, d, q.count, !first);
            first = false;
        }
    for (int64_t j = 0; j < k.count; j++)
        for (int64_t e = 0; e < d; e++)
            dk[j * c->row + e] *= c->n.scale;
}

void attention_backward(struct queue *queue, real *dqkv, float *delta, const real *do_, const real *qkv, const real *o, const float *lse,
                        const int32_t *start, struct attention n)
{
    check(&n);
    int64_t begin = queue_begin(queue);
    struct call c = { .n = n, .qkv = qkv, .o_in = o, .do_ = do_, .lse_in = lse, .start = start, .dqkv = dqkv, .delta = delta,
                      .row = (n.heads + 2 * n.kv_heads) * n.head_size };
    team_run(queue->team, n.batch * n.heads * blocks_of(&c), query_task, &c);
    team_run(queue->team, n.batch * n.kv_heads * blocks_of(&c), key_task, &c);
    queue_end(queue, TIME_KERNEL, begin);
}

/* attention_backward.c: the gradient of attention by blocks (kernels.h). Steady.
 *
 * A task is one block of 64 queries against one block of 64 keys, for all heads that share the key-value head: scores and their gradients anew,
 * [query, key], then the block's part of all three gradients: five products. Tasks go in rounds: round r has the pairs (query block a, key block
 * a - r). Within a round no two tasks write to the same block of a gradient, and a block's parts are added round by round: the order of sums is
 * fixed, the tasks of a round are independent and equally long, and nothing is computed twice or kept for later.
 * (1) A pair that is not seen contributes exactly 0, and runs of keys or queries that see nothing of each other are left out. (2) Round 0, in which
 * every query sees at least itself, writes the gradients; the others add. */
#include "kernels/host/attention.h"

#include "kernels/host/tile.h"

enum { BLOCK = ATTENTION_BLOCK, STRIP = TILE_COLUMNS };

struct backward {
    struct attention n;
    const float *qkv, *o, *do_, *lse;
    const int32_t *start;
    float *dqkv, *delta;
    int64_t round;
};

struct scratch {
    float keys[ATTENTION_HEAD_SIZE_MOST * BLOCK], values[ATTENTION_HEAD_SIZE_MOST * BLOCK];     /* [D, key], turned over */
    float weight[BLOCK * BLOCK], slope[BLOCK * BLOCK];      /* [query, key]: P, and the gradient of the score times scale */
};
_Static_assert(sizeof(struct scratch) <= TEAM_SCRATCH_BYTES, "attention's scratch exceeds TEAM_SCRATCH_BYTES");

/* A block of queries against a block of keys. */
struct pair {
    int64_t b, kv;
    int64_t query, queries, key, keys;                /* first positions and counts */
    int64_t from[BLOCK], to[BLOCK];                   /* query i sees the keys [from, to) of the block; both non-decreasing */
    bool whole;                                       /* every query sees every key */
};

/* False if no pair is seen. */
static bool look(const struct backward *a, struct pair *p)
{
    const int32_t *start = a->start + p->b * a->n.tokens;
    if (attention_low(&a->n, start, p->query) >= p->key + p->keys)
        return false;
    for (int64_t i = 0; i < p->queries; i++) {
        int64_t from = attention_low(&a->n, start, p->query + i) - p->key, to = p->query + i + 1 - p->key;
        p->from[i] = attention_least(attention_most(from, 0), p->keys);
        p->to[i] = attention_least(to, p->keys);
    }
    p->whole = p->from[p->queries - 1] == 0 && p->to[0] == p->keys;
    return true;
}

/* The queries [*begin, *end) that see any of the keys [key, key + count) of the block. */
static void watchers(const struct pair *p, int64_t key, int64_t count, int64_t *begin, int64_t *end)
{
    int64_t i = 0;
    while (i < p->queries && p->to[i] <= key)
        i++;
    *begin = i;
    while (i < p->queries && p->from[i] < key + count)
        i++;
    *end = i;
}

/* delta[i] = do_i . o_i: algorithm 2, line 4. */
static void compute_delta(const struct backward *a, const struct pair *p, int64_t head)
{
    for (int64_t i = 0; i < p->queries; i++) {
        int64_t at = ((p->b * a->n.tokens + p->query + i) * a->n.heads + head) * a->n.head_size;
        __m256 sum = _mm256_setzero_ps();
        for (int64_t e = 0; e < a->n.head_size; e += LANES) {
            __m256i mask = simd_first(attention_least(a->n.head_size - e, LANES));
            sum = _mm256_fmadd_ps(_mm256_maskload_ps(a->do_ + at + e, mask), _mm256_maskload_ps(a->o + at + e, mask), sum);
        }
        a->delta[(p->b * a->n.heads + head) * a->n.tokens + p->query + i] = simd_sum(sum);
    }
}

/* From scores (in weight) and the weights' gradients (in slope): weight = P = 2^(score - lse), slope = scale P (dP - delta); both 0 where a key is
 * not seen, whatever the products left there. */
static void soften(const struct backward *a, const struct pair *p, struct scratch *s, int64_t head)
{
    int64_t at = (p->b * a->n.heads + head) * a->n.tokens + p->query;
    const __m256 scale = _mm256_set1_ps(a->n.scale), zero = _mm256_setzero_ps();
    for (int64_t i = 0; i < p->queries; i++) {
        const __m256 lse = _mm256_set1_ps((float)ATTENTION_LOG2_E * a->lse[at + i]), delta = _mm256_set1_ps(a->delta[at + i]);
        for (int64_t j = 0; j < p->keys; j += LANES) {
            float *weight = s->weight + i * BLOCK + j, *slope = s->slope + i * BLOCK + j;
            if (j + LANES <= p->from[i] || j >= p->to[i]) {
                _mm256_storeu_ps(weight, zero);
                _mm256_storeu_ps(slope, zero);
                continue;
            }
            __m256 x = simd_exp2(_mm256_sub_ps(_mm256_loadu_ps(weight), lse));
            __m256 y = _mm256_mul_ps(_mm256_mul_ps(x, scale), _mm256_sub_ps(_mm256_loadu_ps(slope), delta));
            if (j < p->from[i] || j + LANES > p->to[i]) {
                __m256i hidden = _mm256_or_si256(_mm256_cmpeq_epi32(simd_first(p->to[i] - j), _mm256_setzero_si256()), simd_first(p->from[i] - j));
                x = _mm256_andnot_ps(_mm256_castsi256_ps(hidden), x);
                y = _mm256_andnot_ps(_mm256_castsi256_ps(hidden), y);
            }
            _mm256_storeu_ps(weight, x);
            _mm256_storeu_ps(slope, y);
        }
    }
}

static void one_head(const struct backward *a, const struct pair *p, struct scratch *s, int64_t head, bool first)
{
    int64_t d = a->n.head_size, row = attention_row(&a->n), out_row = a->n.heads * d;
    int64_t key_at = attention_at(&a->n, p->b, p->key, a->n.heads + p->kv), query_at = attention_at(&a->n, p->b, p->query, head);
    const float *query = a->qkv + query_at, *key = a->qkv + key_at, *dout = a->do_ + ((p->b * a->n.tokens + p->query) * a->n.heads + head) * d;
    float *dquery = a->dqkv + query_at, *dkey = a->dqkv + key_at, *dvalue = dkey + a->n.kv_heads * d;
    if (a->round == 0)
        compute_delta(a, p, head);
    for (int64_t j = 0; j < p->keys; j += STRIP) {
        int64_t begin, end;
        watchers(p, j, STRIP, &begin, &end);
        tile_strip(BY_ROWS, true, s->weight + begin * BLOCK + j, BLOCK, query + begin * row, row, s->keys + j, BLOCK, end - begin, STRIP, d, false);
        tile_strip(BY_ROWS, true, s->slope + begin * BLOCK + j, BLOCK, dout + begin * out_row, out_row, s->values + j, BLOCK, end - begin, STRIP, d,
                   false);
    }
    soften(a, p, s, head);
    /* Where all is seen, the whole block at once; else by strips, each as deep as it sees. */
    int64_t step = p->whole ? BLOCK : STRIP;
    for (int64_t j = 0; j < p->keys; j += step) {
        int64_t begin, end, count = attention_least(p->keys - j, step);
        watchers(p, j, count, &begin, &end);
        if (begin == end)
            continue;
        tile_product(BY_COLUMNS, dvalue + j * row, row, s->weight + begin * BLOCK + j, BLOCK, dout + begin * out_row, out_row, count, d, end - begin,
                     a->round > 0 || !first);
        tile_product(BY_COLUMNS, dkey + j * row, row, s->slope + begin * BLOCK + j, BLOCK, query + begin * row, row, count, d, end - begin,
                     a->round > 0 || !first);
    }
    for (int64_t i = 0; i < p->queries; i += step) {
        int64_t count = attention_least(p->queries - i, step), from = p->from[i], to = p->to[i + count - 1];
        if (from < to)
            tile_product(BY_ROWS, dquery + i * row, row, s->slope + i * BLOCK + from, BLOCK, key + from * row, row, count, d, to - from, a->round > 0);
    }
}

static void backward_task(void *argument, int64_t index)
{
    const struct backward *a = argument;
    struct scratch *s = team_scratch();
    int64_t d = a->n.head_size, row = attention_row(&a->n), group = a->n.heads / a->n.kv_heads, blocks = attention_blocks(&a->n) - a->round;
    int64_t block = a->round + index % blocks;
    struct pair p = { .b = index / blocks / a->n.kv_heads, .kv = index / blocks % a->n.kv_heads, .query = block * BLOCK,
                      .key = (block - a->round) * BLOCK };
    p.queries = attention_least(a->n.tokens - p.query, BLOCK);
    p.keys = attention_least(a->n.tokens - p.key, BLOCK);
    if (!look(a, &p))
        return;
    int64_t key_at = attention_at(&a->n, p.b, p.key, a->n.heads + p.kv);
    tile_turn(s->keys, BLOCK, a->qkv + key_at, row, p.keys, d, (float)((double)a->n.scale * ATTENTION_LOG2_E));
    tile_turn(s->values, BLOCK, a->qkv + key_at + a->n.kv_heads * d, row, p.keys, d, 1.0f);
    for (int64_t g = 0; g < group; g++)
        one_head(a, &p, s, p.kv * group + g, g == 0);
}

void attention_backward(struct queue *queue, real *dqkv, float *delta, const real *do_, const real *qkv, const real *o, const float *lse,
                        const int32_t *start, struct attention n)
{
    attention_check(&n);
    int64_t begin = queue_begin(queue);
    struct backward a = { .n = n, .qkv = qkv, .o = o, .do_ = do_, .lse = lse, .start = start, .dqkv = dqkv, .delta = delta };
    for (a.round = 0; a.round < attention_blocks(&n); a.round++)
        team_run(queue->team, n.batch * n.kv_heads * (attention_blocks(&n) - a.round), backward_task, &a);
    queue_end(queue, TIME_KERNEL, begin);
}

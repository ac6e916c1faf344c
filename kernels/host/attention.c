/* attention.c: softmax attention by blocks, forward (kernels.h). Steady.
 *
 * A task is a block of 64 queries of the heads that share a key-value head, cut into tiles of sixteen queries of one head. It walks over blocks of
 * 64 keys, which are copied once for all its tiles. Scores are turned over, [key, query]: a query has a lane of its own, so that the running
 * maximum and sum of its softmax need nothing from other lanes, and keys and values are read as they lie.
 * (1) A pair that is not seen contributes exactly 0, and a run of keys that no query of the tile sees is left out. (2) The blocks of keys lie on a
 * grid of the row, so a query's bits do not depend on the others in its tile. */
#include "kernels/host/attention.h"

#include <math.h>
#include <string.h>

#include "kernels/host/tile.h"

enum { WIDTH = TILE_COLUMNS, TILES = ATTENTION_BLOCK / WIDTH, HEADS_A_TASK = 8 };

/* Finite, so that differences of two stay numbers. */
#define UNSEEN -1e30f

struct forward {
    struct attention n;
    const float *qkv;
    const int32_t *start;
    float *o, *lse;
    int64_t parts;              /* tasks that a group of heads is cut into */
};

/* Sixteen queries of one head. */
struct tile {
    float max[WIDTH], sum[WIDTH];
    int32_t low[WIDTH], query[WIDTH];       /* the keys that each sees: [low, query] */
    int64_t first, count;                   /* positions */
    int64_t head;
    float *turned, *out;                    /* [D, WIDTH] */
};

struct scratch {
    struct tile tile[HEADS_A_TASK * TILES];
    float score[ATTENTION_BLOCK * WIDTH];
    float keys[ATTENTION_BLOCK * ATTENTION_HEAD_SIZE_MOST], values[ATTENTION_BLOCK * ATTENTION_HEAD_SIZE_MOST];
    float turned[HEADS_A_TASK * TILES * WIDTH * ATTENTION_HEAD_SIZE_MOST], out[HEADS_A_TASK * TILES * WIDTH * ATTENTION_HEAD_SIZE_MOST];
};
_Static_assert(sizeof(struct scratch) <= TEAM_SCRATCH_BYTES, "attention's scratch exceeds TEAM_SCRATCH_BYTES");

/* Lanes without a query repeat the last one's bounds with a query of zeros; they are not written. */
static void begin_tile(const struct forward *f, struct tile *t, int64_t b, int64_t head, int64_t first, int64_t count)
{
    int64_t d = f->n.head_size;
    const int32_t *start = f->start + b * f->n.tokens;
    t->head = head;
    t->first = first;
    t->count = count;
    for (int64_t i = 0; i < WIDTH; i++) {
        t->query[i] = (int32_t)(first + attention_least(i, count - 1));
        t->low[i] = (int32_t)attention_low(&f->n, start, t->query[i]);
        t->max[i] = UNSEEN;
        t->sum[i] = 0.0f;
    }
    memset(t->out, 0, (size_t)(d * WIDTH) * sizeof *t->out);
    if (count < WIDTH)
        memset(t->turned, 0, (size_t)(d * WIDTH) * sizeof *t->turned);
    tile_turn(t->turned, WIDTH, f->qkv + attention_at(&f->n, b, first, head), attention_row(&f->n), count, d,
              (float)((double)f->n.scale * ATTENTION_LOG2_E));
}

/* Scores of the keys [first, first + keys) that a query does not see become UNSEEN. */
static void hide(const struct tile *t, float *score, int64_t first, int64_t keys)
{
    for (int64_t i = 0; i < WIDTH; i += LANES) {
        __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)(t->low + i));
        __m256i query = _mm256_loadu_si256((const __m256i *)(const void *)(t->query + i));
        for (int64_t j = 0; j < keys; j++) {
            __m256i key = _mm256_set1_epi32((int)(first + j));
            __m256i hidden = _mm256_or_si256(_mm256_cmpgt_epi32(low, key), _mm256_cmpgt_epi32(key, query));
            float *at = score + j * WIDTH + i;
            _mm256_storeu_ps(at, _mm256_blendv_ps(_mm256_loadu_ps(at), _mm256_set1_ps(UNSEEN), _mm256_castsi256_ps(hidden)));
        }
    }
}

/* Scores become 2^(score - max), 0 where UNSEEN; max and sum are brought up to date, and what is in out is put on the new maximum. */
static void soften(struct tile *t, float *score, int64_t keys, int64_t head_size)
{
    const __m256 unseen = _mm256_set1_ps(UNSEEN), one = _mm256_set1_ps(1.0f);
    for (int64_t i = 0; i < WIDTH; i += LANES) {
        __m256 old = _mm256_loadu_ps(t->max + i), max = old, sum = _mm256_setzero_ps();
        for (int64_t j = 0; j < keys; j++)
            max = _mm256_max_ps(max, _mm256_loadu_ps(score + j * WIDTH + i));
        for (int64_t j = 0; j < keys; j++) {
            __m256 s = _mm256_loadu_ps(score + j * WIDTH + i);
            __m256 p = _mm256_and_ps(simd_exp2(_mm256_sub_ps(s, max)), _mm256_cmp_ps(s, unseen, _CMP_NEQ_UQ));
            _mm256_storeu_ps(score + j * WIDTH + i, p);
            sum = _mm256_add_ps(sum, p);
        }
        __m256 factor = simd_exp2(_mm256_sub_ps(old, max));
        _mm256_storeu_ps(t->max + i, max);
        _mm256_storeu_ps(t->sum + i, _mm256_fmadd_ps(_mm256_loadu_ps(t->sum + i), factor, sum));
        if (_mm256_movemask_ps(_mm256_cmp_ps(factor, one, _CMP_NEQ_UQ)) == 0)
            continue;
        for (int64_t e = 0; e < head_size; e++)
            _mm256_storeu_ps(t->out + e * WIDTH + i, _mm256_mul_ps(_mm256_loadu_ps(t->out + e * WIDTH + i), factor));
    }
}

/* The keys of the block [first, first + count), copied to the scratch, as far as the tile sees them. */
static void visit(const struct forward *f, struct scratch *s, struct tile *t, int64_t first, int64_t count)
{
    int64_t d = f->n.head_size, from = attention_most(t->low[0] - first, 0), to = attention_least(t->query[WIDTH - 1] + 1 - first, count);
    if (from >= to)
        return;
    const float *keys = s->keys + from * d, *values = s->values + from * d;
    tile_product(BY_ROWS, s->score, WIDTH, keys, d, t->turned, WIDTH, to - from, WIDTH, d, false);
    if (first + from < t->low[WIDTH - 1] || first + to - 1 > t->query[0])
        hide(t, s->score, first + from, to - from);
    soften(t, s->score, to - from, d);
    tile_product(BY_COLUMNS, t->out, WIDTH, values, d, s->score, WIDTH, d, WIDTH, to - from, true);
}

static void end_tile(const struct forward *f, struct tile *t, int64_t b)
{
    int64_t d = f->n.head_size;
    for (int64_t i = 0; i < WIDTH; i += LANES) {
        __m256 inverse = _mm256_div_ps(_mm256_set1_ps(1.0f), _mm256_loadu_ps(t->sum + i));
        for (int64_t e = 0; e < d; e++)
            _mm256_storeu_ps(t->out + e * WIDTH + i, _mm256_mul_ps(_mm256_loadu_ps(t->out + e * WIDTH + i), inverse));
    }
    tile_turn(f->o + ((b * f->n.tokens + t->first) * f->n.heads + t->head) * d, f->n.heads * d, t->out, WIDTH, d, t->count, 1.0f);
    for (int64_t i = 0; i < t->count; i++)
        f->lse[(b * f->n.heads + t->head) * f->n.tokens + t->first + i] = (float)ATTENTION_LN_2 * t->max[i] + logf(t->sum[i]);
}

/* Tasks are numbered from the last block of queries, the longest, to the first. */
static void forward_task(void *argument, int64_t index)
{
    const struct forward *f = argument;
    struct scratch *s = team_scratch();
    int64_t a_block = f->n.batch * f->n.kv_heads * f->parts, d = f->n.head_size, group = f->n.heads / f->n.kv_heads;
    int64_t block = attention_blocks(&f->n) - 1 - index / a_block, part = index % f->parts;
    int64_t kv = index / f->parts % f->n.kv_heads, b = index % a_block / f->parts / f->n.kv_heads;
    int64_t tiles = 0, begin = block * ATTENTION_BLOCK, end = attention_least(begin + ATTENTION_BLOCK, f->n.tokens);
    for (int64_t g = part * HEADS_A_TASK; g < attention_least((part + 1) * HEADS_A_TASK, group); g++)
        for (int64_t first = begin; first < end; first += WIDTH, tiles++) {
            struct tile *t = &s->tile[tiles];
            t->turned = s->turned + tiles * WIDTH * d;
            t->out = s->out + tiles * WIDTH * d;
            begin_tile(f, t, b, kv * group + g, first, attention_least(end - first, WIDTH));
        }
    for (int64_t key = s->tile[0].low[0] / ATTENTION_BLOCK * ATTENTION_BLOCK; key < end; key += ATTENTION_BLOCK) {
        int64_t count = attention_least(f->n.tokens - key, ATTENTION_BLOCK);
        for (int64_t j = 0; j < count; j++) {
            memcpy(s->keys + j * d, f->qkv + attention_at(&f->n, b, key + j, f->n.heads + kv), (size_t)d * sizeof(float));
            memcpy(s->values + j * d, f->qkv + attention_at(&f->n, b, key + j, f->n.heads + f->n.kv_heads + kv), (size_t)d * sizeof(float));
        }
        for (int64_t t = 0; t < tiles; t++)
            visit(f, s, &s->tile[t], key, count);
    }
    for (int64_t t = 0; t < tiles; t++)
        end_tile(f, &s->tile[t], b);
}

void attention_forward(struct queue *queue, real *o, float *lse, const real *qkv, const int32_t *start, struct attention n)
{
    attention_check(&n);
    int64_t begin = queue_begin(queue), group = n.heads / n.kv_heads;
    struct forward f = { .n = n, .qkv = qkv, .start = start, .o = o, .lse = lse, .parts = (group + HEADS_A_TASK - 1) / HEADS_A_TASK };
    team_run(queue->team, n.batch * n.kv_heads * f.parts * attention_blocks(&n), forward_task, &f);
    queue_end(queue, TIME_KERNEL, begin);
}

/* qknorm.c: RMSNorm of every query and key head, and its gradient (kernels.h). Steady. */
#include <math.h>
#include <string.h>

#include "kernels/host/simd.h"
#include "kernels/kernels.h"

enum { TOKENS_A_TASK = 16 };

struct headnorm {
    float *qkv, *raw_out, *rstd_out, *dgain_q, *dgain_k;
    const float *raw, *rstd, *gain_q, *gain_k;
    int64_t tokens, heads, kv_heads, head_size;
    float epsilon;
};

static void forward_tokens(void *argument, int64_t index)
{
    const struct headnorm *a = argument;
    int64_t end = (index + 1) * TOKENS_A_TASK < a->tokens ? (index + 1) * TOKENS_A_TASK : a->tokens, size = a->head_size;
    for (int64_t n = index * TOKENS_A_TASK; n < end; n++)
        for (int64_t h = 0; h < a->heads + a->kv_heads; h++) {
            float *x = a->qkv + (n * (a->heads + 2 * a->kv_heads) + h) * size;
            const float *gain = h < a->heads ? a->gain_q : a->gain_k;
            memcpy(a->raw_out + (n * (a->heads + a->kv_heads) + h) * size, x, (size_t)size * sizeof *x);
            float rstd = 1.0f / sqrtf(simd_dot(x, x, size) / (float)size + a->epsilon);
            a->rstd_out[n * (a->heads + a->kv_heads) + h] = rstd;
            for (int64_t d = 0; d < size; d++)
                x[d] = gain[d] * (x[d] * rstd);
        }
}

void qknorm_forward(struct queue *queue, real *qkv, real *raw, float *rstd, const real *gain_q, const real *gain_k, int64_t tokens,
                    int64_t heads, int64_t kv_heads, int64_t head_size, float epsilon)
{
    ASSERT(tokens >= 1 && heads >= 1 && kv_heads >= 1 && head_size >= 1);
    int64_t begin = queue_begin(queue);
    struct headnorm a = { .qkv = qkv, .raw_out = raw, .rstd_out = rstd, .gain_q = gain_q, .gain_k = gain_k, .tokens = tokens, .heads = heads,
                          .kv_heads = kv_heads, .head_size = head_size, .epsilon = epsilon };
    team_run(queue->team, (tokens + TOKENS_A_TASK - 1) / TOKENS_A_TASK, forward_tokens, &a);
    queue_end(queue, TIME_KERNEL, begin);
}

/* Partial sums of the gains' gradients, by part of the tokens: the parts and their order follow from the shape. */
enum { PARTS = 16, COLUMNS = 128 };

struct gains {
    const struct headnorm *a;
    int64_t column, columns;        /* of the head */
    float q[PARTS][COLUMNS], k[PARTS][COLUMNS];
};

static void sum_part(void *argument, int64_t index)
{
    struct gains *g = argument;
    const struct headnorm *a = g->a;
    int64_t begin, end;
    simd_part(a->tokens, 1, PARTS, index, &begin, &end);
    memset(g->q[index], 0, sizeof g->q[index]);
    memset(g->k[index], 0, sizeof g->k[index]);
    for (int64_t n = begin; n < end; n++)
        for (int64_t h = 0; h < a->heads + a->kv_heads; h++) {
            const float *dy = a->qkv + (n * (a->heads + 2 * a->kv_heads) + h) * a->head_size + g->column;
            const float *x = a->raw + (n * (a->heads + a->kv_heads) + h) * a->head_size + g->column;
            float *restrict sum = h < a->heads ? g->q[index] : g->k[index], rstd = a->rstd[n * (a->heads + a->kv_heads) + h];
            for (int64_t d = 0; d < g->columns; d++)
                sum[d] += dy[d] * (x[d] * rstd);
        }
}

/* Before backward_tokens, which overwrites the gradient behind the norm. */
static void sum_gains(struct queue *queue, const struct headnorm *a)
{
    struct gains g = { .a = a };
    for (g.column = 0; g.column < a->head_size; g.column += COLUMNS) {
        g.columns = a->head_size - g.column < COLUMNS ? a->head_size - g.column : COLUMNS;
        team_run(queue->team, PARTS, sum_part, &g);
        for (int64_t part = 0; part < PARTS; part++)
            for (int64_t d = 0; d < g.columns; d++) {
                a->dgain_q[g.column + d] += g.q[part][d];
                a->dgain_k[g.column + d] += g.k[part][d];
            }
    }
}

/* sum of dy * gain * x */
static float projection(const float *dy, const float *gain, const float *x, int64_t count)
{
    __m256 sum = _mm256_setzero_ps();
    for (int64_t d = 0; d < count; d += LANES) {
        __m256i mask = simd_first(count - d);
        __m256 product = _mm256_mul_ps(_mm256_maskload_ps(dy + d, mask), _mm256_maskload_ps(gain + d, mask));
        sum = _mm256_fmadd_ps(product, _mm256_maskload_ps(x + d, mask), sum);
    }
    return simd_sum(sum);
}

static void backward_tokens(void *argument, int64_t index)
{
    const struct headnorm *a = argument;
    int64_t end = (index + 1) * TOKENS_A_TASK < a->tokens ? (index + 1) * TOKENS_A_TASK : a->tokens, size = a->head_size;
    for (int64_t n = index * TOKENS_A_TASK; n < end; n++)
        for (int64_t h = 0; h < a->heads + a->kv_heads; h++) {
            float *dy = a->qkv + (n * (a->heads + 2 * a->kv_heads) + h) * size;
            const float *x = a->raw + (n * (a->heads + a->kv_heads) + h) * size, *gain = h < a->heads ? a->gain_q : a->gain_k;
            float rstd = a->rstd[n * (a->heads + a->kv_heads) + h], mean = projection(dy, gain, x, size) * rstd * rstd / (float)size;
            for (int64_t d = 0; d < size; d++)
                dy[d] = rstd * (gain[d] * dy[d] - x[d] * mean);
        }
}

void qknorm_backward(struct queue *queue, real *dqkv, float *dgain_q, float *dgain_k, const real *raw, const float *rstd,
                     const real *gain_q, const real *gain_k, int64_t tokens, int64_t heads, int64_t kv_heads, int64_t head_size)
{
    ASSERT(tokens >= 1 && heads >= 1 && kv_heads >= 1 && head_size >= 1);
    int64_t begin = queue_begin(queue);
    struct headnorm a = { .qkv = dqkv, .dgain_q = dgain_q, .dgain_k = dgain_k, .raw = raw, .rstd = rstd, .gain_q = gain_q, .gain_k = gain_k,
                          .tokens = tokens, .heads = heads, .kv_heads = kv_heads, .head_size = head_size };
    sum_gains(queue, &a);
    team_run(queue->team, (tokens + TOKENS_A_TASK - 1) / TOKENS_A_TASK, backward_tokens, &a);
    queue_end(queue, TIME_KERNEL, begin);
}

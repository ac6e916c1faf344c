/* qknorm.c: RMSNorm of every query and key head, and its gradient (kernels.h). Steady. */
#include <math.h>
#include <string.h>

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
            float *x = a->qkv + (n * (a->heads + 2 * a->kv_heads) + h) * size, sum = 0.0f;
            const float *gain = h < a->heads ? a->gain_q : a->gain_k;
            memcpy(a->raw_out + (n * (a->heads + a->kv_heads) + h) * size, x, (size_t)size * sizeof *x);
            for (int64_t d = 0; d < size; d++)
                sum += x[d] * x[d];
            float rstd = 1.0f / sqrtf(sum / (float)size + a->epsilon);
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

/* The gains' gradients first, from the gradient behind the norm: one task, since all tokens and heads add to the same few numbers. */
static void sum_gains(const struct headnorm *a)
{
    for (int64_t n = 0; n < a->tokens; n++)
        for (int64_t h = 0; h < a->heads + a->kv_heads; h++) {
            const float *dy = a->qkv + (n * (a->heads + 2 * a->kv_heads) + h) * a->head_size;
            const float *x = a->raw + (n * (a->heads + a->kv_heads) + h) * a->head_size;
            float *dgain = h < a->heads ? a->dgain_q : a->dgain_k, rstd = a->rstd[n * (a->heads + a->kv_heads) + h];
            for (int64_t d = 0; d < a->head_size; d++)
                dgain[d] += dy[d] * (x[d] * rstd);
        }
}

static void backward_tokens(void *argument, int64_t index)
{
    const struct headnorm *a = argument;
    int64_t end = (index + 1) * TOKENS_A_TASK < a->tokens ? (index + 1) * TOKENS_A_TASK : a->tokens, size = a->head_size;
    for (int64_t n = index * TOKENS_A_TASK; n < end; n++)
        for (int64_t h = 0; h < a->heads + a->kv_heads; h++) {
            float *dy = a->qkv + (n * (a->heads + 2 * a->kv_heads) + h) * size, mean = 0.0f;
            const float *x = a->raw + (n * (a->heads + a->kv_heads) + h) * size, *gain = h < a->heads ? a->gain_q : a->gain_k;
            float rstd = a->rstd[n * (a->heads + a->kv_heads) + h];
            for (int64_t d = 0; d < size; d++)
                mean += dy[d] * gain[d] * x[d];
            mean *= rstd * rstd / (float)size;
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
    sum_gains(&a);
    team_run(queue->team, (tokens + TOKENS_A_TASK - 1) / TOKENS_A_TASK, backward_tokens, &a);
    queue_end(queue, TIME_KERNEL, begin);
}

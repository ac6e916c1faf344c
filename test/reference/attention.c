/* attention.c: see attention.h. */
#include "test/reference/attention.h"

#include <math.h>
#include <stdlib.h>

static bool seen(const struct attention *n, const int32_t *start, int64_t i, int64_t j)
{
    return start[i] <= j && j <= i && (n->window == 0 || i - j < n->window);
}

static int64_t row_of(const struct attention *n)
{
    return (n->heads + 2 * n->kv_heads) * n->head_size;
}

/* Of row b, query head h: where token t's query, key, value lie in qkv, and its output in o. */
static int64_t q_at(const struct attention *n, int64_t b, int64_t h, int64_t t)
{
    return (b * n->tokens + t) * row_of(n) + h * n->head_size;
}

static int64_t k_at(const struct attention *n, int64_t b, int64_t h, int64_t t)
{
    return q_at(n, b, n->heads + h / (n->heads / n->kv_heads), t);
}

static int64_t v_at(const struct attention *n, int64_t b, int64_t h, int64_t t)
{
    return k_at(n, b, h, t) + n->kv_heads * n->head_size;
}

static int64_t o_at(const struct attention *n, int64_t b, int64_t h, int64_t t)
{
    return ((b * n->tokens + t) * n->heads + h) * n->head_size;
}

static double dot(const double *x, const double *y, int64_t count)
{
    double sum = 0.0;
    for (int64_t d = 0; d < count; d++)
        sum += x[d] * y[d];
    return sum;
}

static double dot_size(const double *x, const double *y, int64_t count)
{
    double sum = 0.0;
    for (int64_t d = 0; d < count; d++)
        sum += fabs(x[d] * y[d]);
    return sum;
}

void reference_attention_forward(double *o, double *o_size, double *lse, double *score_size, const double *qkv, const int32_t *start,
                                 struct attention n)
{
    for (int64_t b = 0; b < n.batch; b++)
        for (int64_t h = 0; h < n.heads; h++)
            for (int64_t i = 0; i < n.tokens; i++) {
                double *out = o + o_at(&n, b, h, i), *size = o_size + o_at(&n, b, h, i), sum = 0.0;
                const double *q = qkv + q_at(&n, b, h, i);
                int64_t at = (b * n.heads + h) * n.tokens + i;
                for (int64_t d = 0; d < n.head_size; d++)
                    out[d] = size[d] = 0.0;
                score_size[at] = 0.0;
                for (int64_t j = 0; j < n.tokens; j++) {
                    if (!seen(&n, start + b * n.tokens, i, j))
                        continue;
                    const double *k = qkv + k_at(&n, b, h, j), *v = qkv + v_at(&n, b, h, j);
                    double weight = exp((double)n.scale * dot(q, k, n.head_size));
                    sum += weight;
                    score_size[at] = fmax(score_size[at], (double)n.scale * dot_size(q, k, n.head_size));
                    for (int64_t d = 0; d < n.head_size; d++) {
                        out[d] += weight * v[d];
                        size[d] += weight * fabs(v[d]);
                    }
                }
                for (int64_t d = 0; d < n.head_size; d++) {
                    out[d] /= sum;
                    size[d] /= sum;
                }
                lse[at] = log(sum);
            }
}

/* With S the scaled scores and P their softmax: dV_j = sum_i P_ij dO_i; dS_ij = P_ij (dO_i . V_j - dO_i . O_i); dQ_i = scale sum_j dS_ij K_j;
 * dK_j = scale sum_i dS_ij Q_i. */
void reference_attention_backward(double *dqkv, double *dqkv_size, const double *do_, const double *qkv, const int32_t *start, struct attention n)
{
    int64_t outs = n.batch * n.tokens * n.heads * n.head_size, rows = n.batch * n.heads * n.tokens;
    double *o = calloc((size_t)outs, sizeof *o), *o_size = calloc((size_t)outs, sizeof *o), *lse = calloc((size_t)rows, sizeof *o);
    double *score_size = calloc((size_t)rows, sizeof *o);
    reference_attention_forward(o, o_size, lse, score_size, qkv, start, n);
    for (int64_t i = 0; i < n.batch * n.tokens * row_of(&n); i++)
        dqkv[i] = dqkv_size[i] = 0.0;
    for (int64_t b = 0; b < n.batch; b++)
        for (int64_t h = 0; h < n.heads; h++)
            for (int64_t i = 0; i < n.tokens; i++)
                for (int64_t j = 0; j < n.tokens; j++) {
                    if (!seen(&n, start + b * n.tokens, i, j))
                        continue;
                    int64_t q = q_at(&n, b, h, i), k = k_at(&n, b, h, j), v = v_at(&n, b, h, j), out = o_at(&n, b, h, i);
                    double p = exp((double)n.scale * dot(qkv + q, qkv + k, n.head_size) - lse[(b * n.heads + h) * n.tokens + i]);
                    double ds = p * (dot(do_ + out, qkv + v, n.head_size) - dot(do_ + out, o + out, n.head_size)) * (double)n.scale;
                    double size = p * (dot_size(do_ + out, qkv + v, n.head_size) + dot_size(do_ + out, o_size + out, n.head_size)) * (double)n.scale;
                    for (int64_t d = 0; d < n.head_size; d++) {
                        dqkv[q + d] += ds * qkv[k + d];
                        dqkv[k + d] += ds * qkv[q + d];
                        dqkv[v + d] += p * do_[out + d];
                        dqkv_size[q + d] += size * fabs(qkv[k + d]);
                        dqkv_size[k + d] += size * fabs(qkv[q + d]);
                        dqkv_size[v + d] += p * fabs(do_[out + d]);
                    }
                }
    free(o);
    free(o_size);
    free(lse);
    free(score_size);
}

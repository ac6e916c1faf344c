/* kernels.h: every operation of the arithmetic once; host/ and cuda/ have the same names.
 *
 * Letters: B rows of a micro-batch, T tokens a row, N = B*T tokens, C hidden, H query heads, K key-value heads, D head size,
 * F intermediate, V vocabulary; H K F V here are the rank's own share under tensor parallelism.
 * All arrays are row-major and dense. real is the activation and parameter type: float on the host.
 * (1) Every sum has a fixed order: the same inputs give the same bits for any number of threads.
 * (2) What a row, head or element gets depends on its own inputs alone, never on its neighbours' position in a tile, except where a sum
 *     runs over rows (weight gradients), whose order is fixed by shape.
 * (3) No function allocates or fails; shapes are asserted at launch. Any size from 1 up is right; multiples of 8 are fast.
 * (4) Gradients named d... of parameters are accumulated (+=); gradients of activations are written unless said otherwise.
 * (5) Pointers do not alias unless said. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "platform/platform.h"

typedef float real;

/* ---- matmul: OpenBLAS tiles on a grid fixed by shape ---- */

/* Reserves what the library beneath needs, for each thread of the queue's team. BOOT, before the queue's first product. */
void matmul_open(struct queue *queue);

/* y[n,o] = sum_c x[n,c] * w[o,c] + bias[o]. y [N,O] out, x [N,I], w [O,I], bias [O] or NULL. accumulate: y += instead of y =. */
void matmul_forward(struct queue *queue, real *y, const real *x, const real *w, const real *bias, int64_t rows, int64_t out, int64_t in,
                    bool accumulate);
/* dx[n,c] = sum_o dy[n,o] * w[o,c]. dx [N,I] out, dy [N,O], w [O,I]. accumulate: dx +=. */
void matmul_backward_input(struct queue *queue, real *dx, const real *dy, const real *w, int64_t rows, int64_t out, int64_t in,
                           bool accumulate);
/* dw[o,c] += sum_n dy[n,o] * x[n,c]; dbias[o] += sum_n dy[n,o] (n in index order; dbias may be NULL). dw [O,I] fp32. */
void matmul_backward_weight(struct queue *queue, float *dw, float *dbias, const real *dy, const real *x, int64_t rows, int64_t out,
                            int64_t in);

/* ---- embedding ---- */

/* y[n,:] = table[token[n] - first,:], or 0 where the token is not in [first, first + rows). y [N,C] out, table [rows,C], token [N].
 * Under tensor parallelism the ranks' y are summed. */
void embedding_forward(struct queue *queue, real *y, const real *table, const int32_t *token, int64_t first, int64_t rows, int64_t tokens,
                       int64_t hidden);
/* dtable[token[n] - first,:] += dy[n,:], n in index order. dtable [rows,C] fp32. */
void embedding_backward(struct queue *queue, float *dtable, const real *dy, const int32_t *token, int64_t first, int64_t rows,
                        int64_t tokens, int64_t hidden);

/* ---- rmsnorm, with the residual addition fused ---- */

/* sum[n,:] = x[n,:] + delta[n,:] (skipped if delta is NULL; then sum is not written);
 * y[n,:] = gain * s / sqrt(mean(s^2) + epsilon), s the sum (or x). sum may be x. rstd [N] out, 1/sqrt(...), for the backward pass.
 * Source: Zhang and Sennrich 2019, arXiv:1910.07467, equation 4. */
void rmsnorm_forward(struct queue *queue, real *y, float *rstd, real *sum, const real *x, const real *delta, const real *gain, int64_t rows,
                     int64_t hidden, float epsilon);
/* dx[n,:] += d(y)/d(x)^T dy (dx carries the residual's gradient and is added to); dgain += sum_n dy * x * rstd. x is the summed input.
 * dx [N,C] inout, dgain [C] inout fp32. */
void rmsnorm_backward(struct queue *queue, real *dx, float *dgain, const real *dy, const real *x, const real *gain, const float *rstd,
                      int64_t rows, int64_t hidden);
/* y[n,:] = gain * x[n,:] * rstd[n]: the forward result again, for weight gradients. */
void rmsnorm_again(struct queue *queue, real *y, const real *x, const real *gain, const float *rstd, int64_t rows, int64_t hidden);
/* x[i] += y[i] */
void add(struct queue *queue, real *x, const real *y, int64_t elements);
/* x[i] = y[i]; they do not overlap */
void copy_elements(struct queue *queue, real *x, const real *y, int64_t elements);

/* ---- rotary positions and QK-norm: in place on the fused product qkv [N, (H+2K)*D], heads q then k then v ---- */

enum rope_scaling { ROPE_NONE, ROPE_LINEAR, ROPE_LLAMA3, ROPE_YARN };
struct rope {
    double theta;
    enum rope_scaling scaling;
    double factor, low_frequency_factor, high_frequency_factor;     /* llama3 */
    double original_positions;                                      /* llama3, yarn */
    double beta_fast, beta_slow, attention_factor;                  /* yarn; attention_factor 0: 0.1 ln(factor) + 1, at least 1 */
    bool truncate;                                                  /* yarn: correction range rounded to whole dimensions */
};
/* table [positions, D/2, 2] fp32 out: cos and sin of position * frequency(d), times the attention factor. BOOT; fp64 inside.
 * Sources: Su et al. 2021, arXiv:2104.09864; Llama 3.1's frequency bands; Peng et al. 2023, arXiv:2309.00071 (YaRN). */
void rope_table(float *table, const struct rope *rope, int64_t positions, int64_t head_size);
/* Rotates the first H + K heads of every token, as Hugging Face pairs them (d with d + D/2); position[n] indexes the table. backward
 * rotates by minus the angle (the gradient). */
void rope_apply(struct queue *queue, real *qkv, const float *table, const int32_t *position, int64_t tokens, int64_t heads,
                int64_t kv_heads, int64_t head_size, bool backward);
/* RMSNorm of each q and k head over D, in place, before the rotation (Qwen3). raw [N, (H+K)*D] out: the heads before, for backward.
 * rstd [N, H+K] out. gains [D]. */
void qknorm_forward(struct queue *queue, real *qkv, real *raw, float *rstd, const real *gain_q, const real *gain_k, int64_t tokens,
                    int64_t heads, int64_t kv_heads, int64_t head_size, float epsilon);
/* dqkv in place: in the gradient after the norm, out before it. dgain_q, dgain_k [D] += fp32. */
void qknorm_backward(struct queue *queue, real *dqkv, float *dgain_q, float *dgain_k, const real *raw, const float *rstd,
                     const real *gain_q, const real *gain_k, int64_t tokens, int64_t heads, int64_t kv_heads, int64_t head_size);

/* ---- attention: never T x T ---- */

struct attention {
    int64_t batch, tokens;             /* B, T */
    int64_t heads, kv_heads;           /* H, K; H % K == 0 */
    int64_t head_size;                 /* D */
    int64_t window;                    /* 0: none; else key j is seen by query i only if i - j < window */
    float scale;                       /* 1/sqrt(D) */
};
/* Key j of row b is seen by query i if start[b,i] <= j <= i (and the window allows).
 *   o      [N, H*D]        out
 *   lse    [B,H,T]         out  fp32 log-sum-exp, for backward
 *   qkv    [N, (H+2K)*D]   in
 *   start  [B,T]           in   the position in the row at which i's document begins
 * Query head h reads key-value head h / (H/K). Source: Dao 2023, arXiv:2307.08691, algorithms 1 and 2. */
void attention_forward(struct queue *queue, real *o, float *lse, const real *qkv, const int32_t *start, struct attention n);
/* dqkv [N, (H+2K)*D] out (all written). delta [B,H,T] work. */
void attention_backward(struct queue *queue, real *dqkv, float *delta, const real *do_, const real *qkv, const real *o, const float *lse,
                        const int32_t *start, struct attention n);

/* ---- swiglu: gate_up [N, 2F], gate then up ---- */

/* act[n,f] = silu(gate) * up. act [N,F] out. Source: Shazeer 2020, arXiv:2002.05202, equation 6. */
void swiglu_forward(struct queue *queue, real *act, const real *gate_up, int64_t rows, int64_t intermediate);
/* dgate_up [N,2F] out; dact [N,F] in; act [N,F] out: the forward result again (NULL: not wanted). act may be dact. */
void swiglu_backward(struct queue *queue, real *dgate_up, real *act, const real *dact, const real *gate_up, int64_t rows,
                     int64_t intermediate);

/* ---- cross-entropy over a vocabulary shard, a block of rows at a time ----
 * logits [R,V] hold the shard [first, first + V) of the vocabulary; columns from valid on are padding: minus infinity, no gradient.
 * Between the two calls the caller takes the maximum of max, then the sum of sum and picked, over the TP group. */

/* max [R] out: the largest valid logit of the row. */
void crossentropy_max(struct queue *queue, float *max, const float *logits, int64_t rows, int64_t columns, int64_t valid);
/* logits become exp(logit - max), 0 in padded columns. sum [R] out: their sum. picked [R] out: logit of the target less max, or 0 if the
 * target (-1: none) is not in this shard. */
void crossentropy_exponentials(struct queue *queue, float *logits, float *sum, float *picked, const float *max, const int32_t *target,
                               int64_t first, int64_t rows, int64_t columns, int64_t valid);
/* Per row with a target: loss[r] = log(sum) - picked; hit[r] = 1 if the target's logit is the maximum (picked == 0), else 0. Rows
 * without: both 0. */
void crossentropy_loss(struct queue *queue, float *loss, float *hit, const float *sum, const float *picked, const int32_t *target,
                       int64_t rows);
/* logits, as crossentropy_exponentials left them, become their gradient: (exp / sum - [v is target]) * scale; 0 in rows without target.
 * Source: Milakov and Gimelshein 2018, arXiv:1805.02867, for the two passes. */
void crossentropy_backward(struct queue *queue, float *logits, const float *sum, const int32_t *target, float scale, int64_t first,
                           int64_t rows, int64_t columns, int64_t valid);

/* ---- optimizer ---- */

/* A sum of squares that has no order: each block of 64 elements is summed in a fixed order in fp32 pairs widened to fp64, then added as
 * a whole number of 2^-70 into 128 bits. Adding such numbers is exact, so any split over threads, stages and ranks gives the same bits.
 * A block above 2^46, NaN or infinity counts as bad. */
struct exact_sum {
    uint64_t low, high;     /* high:low, in units of 2^-70 */
    uint64_t bad;           /* blocks that are no finite number, or too large */
};
enum { EXACT_SUM_BLOCK_ELEMENTS = 64 };
void sum_of_squares(struct queue *queue, struct exact_sum *sum, const float *x, int64_t elements);
void exact_sum_add(struct exact_sum *sum, const struct exact_sum *other);
double exact_sum_value(const struct exact_sum *sum);     /* NaN if bad */

struct adamw {
    double learning_rate, beta1, beta2, epsilon, weight_decay;     /* weight_decay 0 for norms and biases */
    double gradient_scale;           /* multiplies the gradient first: clipping */
    double correction1, correction2; /* 1 - beta1^t, 1 - beta2^t */
};
/* m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; w -= lr (m/c1 / (sqrt(v/c2) + eps) + wd w). All [elements] fp32; factors
 * of the formula are computed in fp64 and rounded once.
 * Source: Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2, as PyTorch's AdamW orders it (decay first). */
void adamw_update(struct queue *queue, float *w, float *m, float *v, const float *g, int64_t elements, struct adamw a);

void fill_zero(struct queue *queue, void *x, int64_t bytes);

/* ---- casts and random numbers ---- */

/* From storage types to fp32; x need not be aligned. Any phase. */
enum storage { STORAGE_F32, STORAGE_BF16, STORAGE_F16 };
void cast_to_float(float *y, const void *x, enum storage from, int64_t elements);
void cast_from_float(void *y, const float *x, enum storage to, int64_t elements);     /* nearest, ties to even */

/* Philox4x32-10 (Salmon et al. 2011): four 32-bit numbers of a 128-bit counter and a 64-bit key. */
struct philox { uint32_t word[4]; };
struct philox philox(uint64_t key, uint64_t counter_high, uint64_t counter_low);
/* y[i] = mean + scale * (u - 0.5) with u in [0,1) of 24 bits: word (first+i)%4 of philox(seed, purpose, (first+i)/4) >> 8, times 2^-24.
 * One fp32 rounding a step, so that any language can compute the same bits. */
void random_uniform(float *y, uint64_t seed, uint64_t purpose, int64_t first, int64_t elements, float mean, float scale);

#endif

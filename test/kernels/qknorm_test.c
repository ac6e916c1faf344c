/* qknorm_test.c: the norm of each query and key head is the norm of rmsnorm_test.c, head by head. */
#include "test/reference/rmsnorm.h"
#include "test/reference/arrays.h"
#include "test/test.h"

static const struct shape {
    int64_t tokens, heads, kv_heads, head_size;
} shapes[] = { { 1, 1, 1, 1 }, { 3, 2, 1, 4 }, { 17, 8, 4, 16 }, { 70, 2, 2, 8 }, { 19, 4, 2, 128 }, { 40, 3, 1, 43 }, { 9, 2, 1, 200 } };
static const float epsilon = 1e-6f;

struct result {
    float *qkv, *raw, *rstd, *dqkv, *dgain_q, *dgain_k;
};

static struct result compute(struct queue *queue, struct shape s, const float *qkv, const float *gain_q, const float *gain_k, const float *dqkv,
                             const float *old)
{
    int64_t heads = s.heads + s.kv_heads, n = s.tokens * (heads + s.kv_heads) * s.head_size;
    struct result r = { array_copy(qkv, n), array_new(s.tokens * heads * s.head_size), array_new(s.tokens * heads), array_copy(dqkv, n),
                        array_copy(old, s.head_size), array_copy(old, s.head_size) };
    qknorm_forward(queue, r.qkv, r.raw, r.rstd, gain_q, gain_k, s.tokens, s.heads, s.kv_heads, s.head_size, epsilon);
    qknorm_backward(queue, r.dqkv, r.dgain_q, r.dgain_k, r.raw, r.rstd, gain_q, gain_k, s.tokens, s.heads, s.kv_heads, s.head_size);
    return r;
}

static void result_free(struct result r)
{
    float *all[] = { r.qkv, r.raw, r.rstd, r.dqkv, r.dgain_q, r.dgain_k };
    for (int i = 0; i < ELEMENTS_OF(all); i++)
        array_free(all[i]);
}

/* As in rmsnorm_test.c. */
static double forward_factor(int64_t size)
{
    return ((double)size / 2.0 + 8.0) * ROUNDING;
}

/* One head after the other: heads [from, to) of every token have gain and dgain. */
static void check_heads(struct shape s, const struct result *r, const float *qkv, const float *dqkv, const double *gain, const float *dgain,
                        const float *old, int64_t from, int64_t to)
{
    int64_t size = s.head_size, all = s.heads + 2 * s.kv_heads, normed = s.heads + s.kv_heads;
    double *right = wide_new(size), *dx = wide_new(size), *dx_size = wide_new(size), *part = wide_new(size), *part_size = wide_new(size);
    double *sum = wide_of(old, size), *sum_size = wide_absolute(sum, size);
    for (int64_t n = 0; n < s.tokens; n++)
        for (int64_t h = from; h < to; h++) {
            int64_t at = (n * all + h) * size;
            double *x = wide_of(qkv + at, size), *dy = wide_of(dqkv + at, size), rstd;
            reference_rmsnorm_forward(right, &rstd, x, gain, 1, size, (double)epsilon);
            double *magnitude = wide_absolute(right, size);
            expect_near("qkv", r->qkv + at, right, magnitude, forward_factor(size), size);
            EXPECT_NEAR(r->rstd[n * normed + h], rstd, rstd * forward_factor(size));
            expect_same_bits("raw", r->raw + (n * normed + h) * size, qkv + at, size);
            reference_rmsnorm_backward(dx, dx_size, part, part_size, dy, x, gain, 1, size, (double)epsilon);
            expect_near("dqkv", r->dqkv + at, dx, dx_size, 3.0 * forward_factor(size) + ((double)size + 9.0) * ROUNDING, size);
            for (int64_t d = 0; d < size; d++) {
                sum[d] += part[d];
                sum_size[d] += part_size[d];
            }
            free(x);
            free(dy);
            free(magnitude);
        }
    /* The sum of T * H terms rounds as many times. */
    expect_near("dgain", dgain, sum, sum_size, forward_factor(size) + ((double)(s.tokens * (to - from)) + 4.0) * ROUNDING, size);
    double *wide[] = { right, dx, dx_size, part, part_size, sum, sum_size };
    for (int i = 0; i < ELEMENTS_OF(wide); i++)
        free(wide[i]);
}

TEST(heads_equal_rows_of_rmsnorm_on_any_team)
{
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(shapes); i++) {
        struct shape s = shapes[i];
        int64_t row = (s.heads + 2 * s.kv_heads) * s.head_size, n = s.tokens * row;
        float *qkv = array_random(n, &state), *dqkv = array_random(n, &state), *old = array_random(s.head_size, &state);
        float *gain_q = array_random(s.head_size, &state), *gain_k = array_random(s.head_size, &state);
        double *wide_q = wide_of(gain_q, s.head_size), *wide_k = wide_of(gain_k, s.head_size);
        struct result r = compute(queue_of(1), s, qkv, gain_q, gain_k, dqkv, old);
        check_heads(s, &r, qkv, dqkv, wide_q, r.dgain_q, old, 0, s.heads);
        check_heads(s, &r, qkv, dqkv, wide_k, r.dgain_k, old, s.heads, s.heads + s.kv_heads);
        for (int64_t token = 0; token < s.tokens; token++) {
            int64_t values = (token + 1) * row - s.kv_heads * s.head_size;
            expect_same_bits("values", r.qkv + values, qkv + values, s.kv_heads * s.head_size);
            expect_same_bits("dvalues", r.dqkv + values, dqkv + values, s.kv_heads * s.head_size);
        }
        for (int t = 1; t < TEAMS; t++) {
            struct result other = compute(queue_of(team_sizes[t]), s, qkv, gain_q, gain_k, dqkv, old);
            expect_same_bits("qkv", other.qkv, r.qkv, n);
            expect_same_bits("dqkv", other.dqkv, r.dqkv, n);
            expect_same_bits("dgain_q", other.dgain_q, r.dgain_q, s.head_size);
            expect_same_bits("dgain_k", other.dgain_k, r.dgain_k, s.head_size);
            result_free(other);
        }
        result_free(r);
        float *narrow[] = { qkv, dqkv, old, gain_q, gain_k };
        for (int j = 0; j < ELEMENTS_OF(narrow); j++)
            array_free(narrow[j]);
        free(wide_q);
        free(wide_k);
        test_stop_if_failed();
    }
}

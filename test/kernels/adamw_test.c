/* adamw_test.c: AdamW against fp64, over lengths, steps and options. */
#include "test/reference/adamw.h"
#include "test/reference/arrays.h"
#include "test/test.h"

static const int64_t lengths[] = { 1, 7, 8, 9, 100, 16384, 16385, 40001 };
static const struct reference_adamw options[] = {
    /* rate  beta1 beta2  epsilon  decay  scale step */
    { 1e-3,  0.9,  0.95,  1e-8,    0.1,   1.0,  1 },
    { 1e-5,  0.9,  0.95,  1e-8,    0.0,   0.37, 2 },
    { 3e-4,  0.9,  0.999, 1e-8,    0.01,  1.0,  1000 },
    { 0.1,   0.0,  0.5,   1e-3,    0.5,   2e-3, 5 },
};

static struct adamw as_kernel(const struct reference_adamw *o)
{
    return (struct adamw){ .learning_rate = o->learning_rate, .beta1 = o->beta1, .beta2 = o->beta2, .epsilon = o->epsilon,
                           .weight_decay = o->weight_decay, .gradient_scale = o->gradient_scale,
                           .correction1 = 1.0 - pow(o->beta1, o->step), .correction2 = 1.0 - pow(o->beta2, o->step) };
}

static float *squares(int64_t elements, uint64_t *state)
{
    float *v = array_random(elements, state);
    for (int64_t i = 0; i < elements; i++)
        v[i] *= v[i];
    return v;
}

/* Roundings. m: the scaled gradient, the difference to m, the factor 1 - beta1 and the two of the product and sum: 5 of |m| + |g|. v: scaled
 * gradient twice, its square, two factors, two products, one sum: 8 of v. The step: m's 5, half of v's 8 through the root, the root itself,
 * two factors and a product, epsilon, quotient, product, sum: 17 of its size; the decay: its factor, a product and the sum, 3 of |w|. */
static void check_options(int64_t n, const struct reference_adamw *o, uint64_t *state)
{
    float *w = array_random(n, state), *m = array_random(n, state), *v = squares(n, state), *g = array_random(n, state);
    double *rw = wide_of(w, n), *rm = wide_of(m, n), *rv = wide_of(v, n), *w_size = wide_new(n), *m_size = wide_new(n);
    for (int64_t i = 0; i < n; i++) {
        double gradient = (double)g[i] * o->gradient_scale;
        reference_adamw(&rw[i], &rm[i], &rv[i], (double)g[i], o);
        m_size[i] = fabs((double)m[i]) + fabs(gradient);
        double v_hat = rv[i] / (1.0 - pow(o->beta2, o->step));
        w_size[i] = 3.0 * fabs((double)w[i]) + 17.0 * o->learning_rate / (1.0 - pow(o->beta1, o->step)) * m_size[i] / (sqrt(v_hat) + o->epsilon);
    }
    float *first = NULL;
    for (int t = 0; t < TEAMS; t++) {
        float *w1 = array_copy(w, n), *m1 = array_copy(m, n), *v1 = array_copy(v, n);
        adamw_update(queue_of(team_sizes[t]), w1, m1, v1, g, n, as_kernel(o));
        expect_near("m", m1, rm, m_size, 5.0 * ROUNDING, n);
        expect_near("v", v1, rv, rv, 8.0 * ROUNDING, n);
        expect_near("w", w1, rw, w_size, ROUNDING, n);
        if (first != NULL)
            expect_same_bits("w", w1, first, n);
        else
            first = array_copy(w1, n);
        array_free(w1);
        array_free(m1);
        array_free(v1);
    }
    double *wide[] = { rw, rm, rv, w_size, m_size };
    for (int i = 0; i < ELEMENTS_OF(wide); i++)
        free(wide[i]);
    float *narrow[] = { w, m, v, g, first };
    for (int i = 0; i < ELEMENTS_OF(narrow); i++)
        array_free(narrow[i]);
}

TEST(update_equals_fp64_on_any_team)
{
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(lengths); i++)
        for (int j = 0; j < ELEMENTS_OF(options); j++) {
            check_options(lengths[i], &options[j], &state);
            test_stop_if_failed();
        }
}

/* The slice of a bucket that a rank owns may be cut anywhere. */
TEST(an_element_does_not_depend_on_its_place)
{
    enum { N = 333 };
    uint64_t state = test_seed();
    float *w = array_random(N, &state), *m = array_random(N, &state), *v = squares(N, &state), *g = array_random(N, &state);
    float *w1 = array_copy(w, N), *m1 = array_copy(m, N), *v1 = array_copy(v, N);
    adamw_update(queue_of(1), w, m, v, g, N, as_kernel(&options[0]));
    for (int64_t cut = 0; cut < N;) {
        int64_t length = 1 + (int64_t)(test_random(&state) % 40);
        length = length < N - cut ? length : N - cut;
        adamw_update(queue_of(1), w1 + cut, m1 + cut, v1 + cut, g + cut, length, as_kernel(&options[0]));
        cut += length;
    }
    expect_same_bits("w", w1, w, N);
    expect_same_bits("m", m1, m, N);
    expect_same_bits("v", v1, v, N);
    float *all[] = { w, m, v, g, w1, m1, v1 };
    for (int i = 0; i < ELEMENTS_OF(all); i++)
        array_free(all[i]);
}

/* Three steps of PyTorch's torch.optim.AdamW, worked by hand: w 1, gradient 0.5 each time, lr 0.1, betas 0.9 and 0.999, decay 0.1. Every
 * corrected step is lr * 0.5 / (0.5 + 1e-8) = 0.1 less 2e-9: w becomes 0.99 w - 0.1. */
TEST(a_constant_gradient_moves_by_the_learning_rate)
{
    struct reference_adamw o = { .learning_rate = 0.1, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1, .gradient_scale = 1.0 };
    float *w = array_zero(1), *m = array_zero(1), *v = array_zero(1), *g = array_zero(1);
    double right = 1.0;
    w[0] = 1.0f;
    g[0] = 0.5f;
    for (o.step = 1; o.step <= 3; o.step++) {
        adamw_update(queue_of(1), w, m, v, g, 1, as_kernel(&o));
        right = 0.99 * right - 0.1;
        /* 20 roundings of numbers below 1 a step; 1 - beta2 rounded from an fp32 beta2 would be wrong by 13 parts in a million. */
        EXPECT_NEAR(w[0], right, 20.0 * ROUNDING * (double)o.step);
        EXPECT_NEAR(v[0] / (0.25f * (1.0f - powf(0.999f, (float)o.step))), 1.0, 1e-4);
    }
    EXPECT_NEAR((double)v[0] / (0.25 * (1.0 - pow(0.999, 3))), 1.0, 30.0 * ROUNDING);
    float *all[] = { w, m, v, g };
    for (int i = 0; i < ELEMENTS_OF(all); i++)
        array_free(all[i]);
}

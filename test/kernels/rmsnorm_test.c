/* rmsnorm_test.c: the norm with its residual addition against fp64, forward, backward and again. */
#include "test/reference/rmsnorm.h"
#include "test/reference/arrays.h"
#include "test/test.h"

static const struct shape {
    int64_t rows, hidden;
} shapes[] = { { 1, 1 }, { 2, 3 }, { 5, 8 }, { 17, 43 }, { 16, 64 }, { 33, 65 }, { 3, 172 }, { 40, 576 } };
static const float epsilon = 1e-5f;

struct result {
    float *y, *rstd, *sum, *plain, *plain_rstd, *again, *dx, *dgain;
};

static struct result compute(struct queue *queue, struct shape s, const float *x, const float *delta, const float *gain, const float *dy,
                             const float *old)
{
    int64_t n = s.rows * s.hidden;
    struct result r = { array_new(n), array_new(s.rows), array_new(n), array_new(n), array_new(s.rows), array_new(n), array_copy(old, n),
                        array_copy(old, s.hidden) };
    rmsnorm_forward(queue, r.plain, r.plain_rstd, NULL, x, NULL, gain, s.rows, s.hidden, epsilon);
    rmsnorm_forward(queue, r.y, r.rstd, r.sum, x, delta, gain, s.rows, s.hidden, epsilon);
    rmsnorm_again(queue, r.again, r.sum, gain, r.rstd, s.rows, s.hidden);
    rmsnorm_backward(queue, r.dx, r.dgain, dy, r.sum, gain, r.rstd, s.rows, s.hidden);
    return r;
}

static void result_free(struct result r)
{
    float *all[] = { r.y, r.rstd, r.sum, r.plain, r.plain_rstd, r.again, r.dx, r.dgain };
    for (int i = 0; i < ELEMENTS_OF(all); i++)
        array_free(all[i]);
}

/* Roundings: the sum of squares at most C + 1 a term, of which the root halves the effect; mean, epsilon, root and quotient 4 more; and 3 for
 * the products and the sum's own. */
static double forward_factor(int64_t hidden)
{
    return ((double)hidden / 2.0 + 8.0) * ROUNDING;
}

static void check_forward(const char *what, const float *y, const float *rstd, const double *x, const double *gain, struct shape s)
{
    double *right = wide_new(s.rows * s.hidden), *right_rstd = wide_new(s.rows);
    reference_rmsnorm_forward(right, right_rstd, x, gain, s.rows, s.hidden, (double)epsilon);
    double *size = wide_absolute(right, s.rows * s.hidden);
    expect_near(what, y, right, size, forward_factor(s.hidden), s.rows * s.hidden);
    expect_near("rstd", rstd, right_rstd, right_rstd, forward_factor(s.hidden), s.rows);
    free(right);
    free(right_rstd);
    free(size);
}

static void check_shape(struct shape s, uint64_t *state)
{
    int64_t n = s.rows * s.hidden;
    float *x = array_random(n, state), *delta = array_random(n, state), *gain = array_random(s.hidden, state), *dy = array_random(n, state);
    float *old = array_random(n, state);
    struct result r = compute(queue_of(1), s, x, delta, gain, dy, old);
    for (int64_t i = 0; i < n; i++)
        EXPECT(r.sum[i] == x[i] + delta[i]);

    double *wx = wide_of(x, n), *wsum = wide_of(r.sum, n), *wgain = wide_of(gain, s.hidden), *wdy = wide_of(dy, n);
    check_forward("plain", r.plain, r.plain_rstd, wx, wgain, s);
    check_forward("y", r.y, r.rstd, wsum, wgain, s);
    expect_same_bits("again", r.again, r.y, n);

    double *dx = wide_new(n), *dx_size = wide_new(n), *dgain = wide_new(s.hidden), *dgain_size = wide_new(s.hidden);
    reference_rmsnorm_backward(dx, dx_size, dgain, dgain_size, wdy, wsum, wgain, s.rows, s.hidden, (double)epsilon);
    for (int64_t i = 0; i < n; i++) {
        dx[i] += (double)old[i];
        dx_size[i] += fabs((double)old[i]);
    }
    for (int64_t c = 0; c < s.hidden; c++) {
        dgain[c] += (double)old[c];
        dgain_size[c] += fabs((double)old[c]);
    }
    /* rstd brings its error three times; the sum over C at most C + 2 roundings a term; 6 products and the addition. */
    expect_near("dx", r.dx, dx, dx_size, 3.0 * forward_factor(s.hidden) + ((double)s.hidden + 9.0) * ROUNDING, n);
    expect_near("dgain", r.dgain, dgain, dgain_size, forward_factor(s.hidden) + ((double)s.rows + 3.0) * ROUNDING, s.hidden);

    for (int t = 1; t < TEAMS; t++) {
        struct result other = compute(queue_of(team_sizes[t]), s, x, delta, gain, dy, old);
        expect_same_bits("y", other.y, r.y, n);
        expect_same_bits("rstd", other.rstd, r.rstd, s.rows);
        expect_same_bits("dx", other.dx, r.dx, n);
        expect_same_bits("dgain", other.dgain, r.dgain, s.hidden);
        result_free(other);
    }
    result_free(r);
    double *wide[] = { wx, wsum, wgain, wdy, dx, dx_size, dgain, dgain_size };
    for (int i = 0; i < ELEMENTS_OF(wide); i++)
        free(wide[i]);
    float *narrow[] = { x, delta, gain, dy, old };
    for (int i = 0; i < ELEMENTS_OF(narrow); i++)
        array_free(narrow[i]);
}

TEST(norm_and_gradients_equal_fp64_on_any_team)
{
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(shapes); i++) {
        check_shape(shapes[i], &state);
        test_stop_if_failed();
    }
}

TEST(sum_may_be_x)
{
    enum { ROWS = 20, HIDDEN = 43 };
    uint64_t state = test_seed();
    float *x = array_random(ROWS * HIDDEN, &state), *delta = array_random(ROWS * HIDDEN, &state), *gain = array_random(HIDDEN, &state);
    float *y = array_new(ROWS * HIDDEN), *sum = array_new(ROWS * HIDDEN), *rstd = array_new(ROWS), *z = array_new(ROWS * HIDDEN);
    rmsnorm_forward(queue_of(2), y, rstd, sum, x, delta, gain, ROWS, HIDDEN, epsilon);
    rmsnorm_forward(queue_of(2), z, rstd, x, x, delta, gain, ROWS, HIDDEN, epsilon);
    expect_same_bits("sum", x, sum, ROWS * HIDDEN);
    expect_same_bits("y", z, y, ROWS * HIDDEN);
    float *all[] = { x, delta, gain, y, sum, rstd, z };
    for (int i = 0; i < ELEMENTS_OF(all); i++)
        array_free(all[i]);
}

/* A row's bits are its own, wherever it stands. */
TEST(a_row_does_not_depend_on_its_place)
{
    enum { ROWS = 19, HIDDEN = 77 };
    uint64_t state = test_seed();
    float *x = array_random(ROWS * HIDDEN, &state), *gain = array_random(HIDDEN, &state), *y = array_new(ROWS * HIDDEN), *one = array_new(HIDDEN);
    float *rstd = array_new(ROWS);
    rmsnorm_forward(queue_of(1), y, rstd, NULL, x, NULL, gain, ROWS, HIDDEN, epsilon);
    for (int64_t row = 0; row < ROWS; row++) {
        rmsnorm_forward(queue_of(1), one, rstd, NULL, x + row * HIDDEN, NULL, gain, 1, HIDDEN, epsilon);
        expect_same_bits("y", one, y + row * HIDDEN, HIDDEN);
    }
    float *all[] = { x, gain, y, one, rstd };
    for (int i = 0; i < ELEMENTS_OF(all); i++)
        array_free(all[i]);
}

enum { SLOPE_ROWS = 3, SLOPE_HIDDEN = 5 };
static struct {
    double x[SLOPE_ROWS * SLOPE_HIDDEN], gain[SLOPE_HIDDEN], dy[SLOPE_ROWS * SLOPE_HIDDEN];
} slope;

static double objective(void *context)
{
    (void)context;
    double y[SLOPE_ROWS * SLOPE_HIDDEN], rstd[SLOPE_ROWS];
    reference_rmsnorm_forward(y, rstd, slope.x, slope.gain, SLOPE_ROWS, SLOPE_HIDDEN, 0.1);
    return weighted_sum(slope.dy, y, SLOPE_ROWS * SLOPE_HIDDEN);
}

TEST(gradients_are_slopes)
{
    enum { N = SLOPE_ROWS * SLOPE_HIDDEN };
    uint64_t state = test_seed();
    double dx[N], dgain[SLOPE_HIDDEN], size[N];
    for (int i = 0; i < N; i++) {
        slope.x[i] = (double)test_uniform(&state);
        slope.dy[i] = (double)test_uniform(&state);
    }
    for (int i = 0; i < SLOPE_HIDDEN; i++)
        slope.gain[i] = (double)test_uniform(&state);
    double gain_size[SLOPE_HIDDEN];
    reference_rmsnorm_backward(dx, size, dgain, gain_size, slope.dy, slope.x, slope.gain, SLOPE_ROWS, SLOPE_HIDDEN, 0.1);
    expect_slope("x", objective, NULL, slope.x, dx, N);
    expect_slope("gain", objective, NULL, slope.gain, dgain, SLOPE_HIDDEN);
}

/* matmul_test.c: the three products against their definition in fp64, for shapes at and beside the edges of tiles. */
#include "test/reference/matmul.h"
#include "test/reference/arrays.h"
#include "test/test.h"

static const struct shape {
    int64_t rows, out, in;
} shapes[] = {
    { 1, 1, 1 }, { 1, 7, 3 }, { 3, 1, 5 }, { 2, 5, 1 }, { 16, 16, 16 }, { 17, 33, 15 }, { 64, 96, 32 }, { 63, 65, 172 }, { 128, 43, 64 },
    { 130, 259, 32 }, { 100, 129, 128 }, { 5, 1537, 40 }, { 520, 130, 24 }, { 257, 24, 90 }, { 32, 200, 1600 },
};

/* One operand set, and what the three products gave on a team. */
struct result {
    float *y, *with_bias, *added, *dx, *dx_added, *dw, *dbias, *dw_only;
};

static struct result compute(struct queue *queue, struct shape s, const float *x, const float *w, const float *bias, const float *dy,
                             const float *old)
{
    struct result r = { array_new(s.rows * s.out), array_new(s.rows * s.out), array_copy(old, s.rows * s.out), array_new(s.rows * s.in),
                        array_copy(old, s.rows * s.in), array_copy(old, s.out * s.in), array_copy(old, s.out), array_copy(old, s.out * s.in) };
    matmul_forward(queue, r.y, x, w, NULL, s.rows, s.out, s.in, false);
    matmul_forward(queue, r.with_bias, x, w, bias, s.rows, s.out, s.in, false);
    matmul_forward(queue, r.added, x, w, bias, s.rows, s.out, s.in, true);
    matmul_backward_input(queue, r.dx, dy, w, s.rows, s.out, s.in, false);
    matmul_backward_input(queue, r.dx_added, dy, w, s.rows, s.out, s.in, true);
    matmul_backward_weight(queue, r.dw, r.dbias, dy, x, s.rows, s.out, s.in);
    matmul_backward_weight(queue, r.dw_only, NULL, dy, x, s.rows, s.out, s.in);
    return r;
}

static void result_free(struct result r)
{
    float *all[] = { r.y, r.with_bias, r.added, r.dx, r.dx_added, r.dw, r.dbias, r.dw_only };
    for (int i = 0; i < ELEMENTS_OF(all); i++)
        array_free(all[i]);
}

/* seen = old * (added ? 1 : 0) + the sum whose terms have that magnitude. A sum of n terms rounds at most 2n + 2 times, each at most
 * ROUNDING of the terms' magnitudes: n products (none where they are fused), n additions, and the two with what was there. */
static void check(const char *what, const float *seen, const double *right, const double *magnitude, const float *old, int64_t terms, int64_t elements)
{
    double *sum = wide_new(elements), *size = wide_new(elements);
    for (int64_t i = 0; i < elements; i++) {
        sum[i] = right[i] + (old != NULL ? (double)old[i] : 0.0);
        size[i] = magnitude[i] + (old != NULL ? fabs((double)old[i]) : 0.0);
    }
    expect_near(what, seen, sum, size, (2.0 * (double)terms + 2.0) * ROUNDING, elements);
    free(sum);
    free(size);
}

static void check_shape(struct shape s, uint64_t *state)
{
    int64_t nx = s.rows * s.in, nw = s.out * s.in, ny = s.rows * s.out, most = nx > nw ? nx : nw;
    float *x = array_random(nx, state), *w = array_random(nw, state), *bias = array_random(s.out, state), *dy = array_random(ny, state);
    float *old = array_random(most > ny ? most : ny, state);
    struct result r = compute(queue_of(1), s, x, w, bias, dy, old);

    double *wx = wide_of(x, nx), *ww = wide_of(w, nw), *wbias = wide_of(bias, s.out), *wdy = wide_of(dy, ny);
    double *ax = wide_absolute(wx, nx), *aw = wide_absolute(ww, nw), *abias = wide_absolute(wbias, s.out), *ady = wide_absolute(wdy, ny);
    double *right = wide_new(most > ny ? most : ny), *size = wide_new(most > ny ? most : ny), *dbias = wide_new(s.out), *abs_dbias = wide_new(s.out);

    reference_matmul_forward(right, wx, ww, NULL, s.rows, s.out, s.in);
    reference_matmul_forward(size, ax, aw, NULL, s.rows, s.out, s.in);
    check("y", r.y, right, size, NULL, s.in, ny);
    reference_matmul_forward(right, wx, ww, wbias, s.rows, s.out, s.in);
    reference_matmul_forward(size, ax, aw, abias, s.rows, s.out, s.in);
    check("y with bias", r.with_bias, right, size, NULL, s.in + 1, ny);
    check("y added", r.added, right, size, old, s.in + 1, ny);
    reference_matmul_backward_input(right, wdy, ww, s.rows, s.out, s.in);
    reference_matmul_backward_input(size, ady, aw, s.rows, s.out, s.in);
    check("dx", r.dx, right, size, NULL, s.out, nx);
    check("dx added", r.dx_added, right, size, old, s.out, nx);
    reference_matmul_backward_weight(right, dbias, wdy, wx, s.rows, s.out, s.in);
    reference_matmul_backward_weight(size, abs_dbias, ady, ax, s.rows, s.out, s.in);
    check("dw", r.dw, right, size, old, s.rows, nw);
    check("dbias", r.dbias, dbias, abs_dbias, old, s.rows, s.out);
    expect_same_bits("dw without dbias", r.dw_only, r.dw, nw);

    for (int t = 1; t < TEAMS; t++) {
        struct result other = compute(queue_of(team_sizes[t]), s, x, w, bias, dy, old);
        expect_same_bits("y", other.y, r.y, ny);
        expect_same_bits("y with bias", other.with_bias, r.with_bias, ny);
        expect_same_bits("y added", other.added, r.added, ny);
        expect_same_bits("dx", other.dx, r.dx, nx);
        expect_same_bits("dx added", other.dx_added, r.dx_added, nx);
        expect_same_bits("dw", other.dw, r.dw, nw);
        expect_same_bits("dbias", other.dbias, r.dbias, s.out);
        result_free(other);
    }
    result_free(r);
    double *wide[] = { wx, ww, wbias, wdy, ax, aw, abias, ady, right, size, dbias, abs_dbias };
    for (int i = 0; i < ELEMENTS_OF(wide); i++)
        free(wide[i]);
    float *narrow[] = { x, w, bias, dy, old };
    for (int i = 0; i < ELEMENTS_OF(narrow); i++)
        array_free(narrow[i]);
}

TEST(products_equal_their_definition_on_any_team)
{
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(shapes); i++) {
        check_shape(shapes[i], &state);
        test_stop_if_failed();
    }
}

enum { RANKS = 8, ROUNDS = 300 };

struct together {
    const float *x, *w, *right[3];
    struct shape s;
    _Atomic int wrong;
};

static enum status multiply_again_and_again(int32_t rank, void *argument)
{
    (void)rank;
    struct together *a = argument;
    struct shape s = a->s;
    struct queue queue = { 0 };
    TRY(team_open(&queue.team, 1));
    matmul_open(&queue);
    float *y = array_new(s.rows * s.out), *dx = array_new(s.rows * s.in), *dw = array_new(s.out * s.in);
    for (int round = 0; round < ROUNDS; round++) {
        memset(dw, 0, (size_t)(s.out * s.in) * sizeof *dw);
        matmul_forward(&queue, y, a->x, a->w, NULL, s.rows, s.out, s.in, false);
        matmul_backward_input(&queue, dx, a->right[0], a->w, s.rows, s.out, s.in, false);
        matmul_backward_weight(&queue, dw, NULL, a->right[0], a->x, s.rows, s.out, s.in);
        a->wrong += memcmp(y, a->right[0], (size_t)(s.rows * s.out) * sizeof *y) != 0;
        a->wrong += memcmp(dx, a->right[1], (size_t)(s.rows * s.in) * sizeof *dx) != 0;
        a->wrong += memcmp(dw, a->right[2], (size_t)(s.out * s.in) * sizeof *dw) != 0;
    }
    team_close(queue.team);
    array_free(y);
    array_free(dx);
    array_free(dw);
    return OK;
}

/* With OpenBLAS's own pool of memory a few products in a hundred are wrong here. */
TEST(products_of_many_ranks_at_once_are_right)
{
    static const struct shape large[] = { { 128, 96, 96 }, { 110, 100, 100 } };      /* tiles that go to OpenBLAS */
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(large); i++) {
        struct shape s = large[i];
        float *x = array_random(s.rows * s.in, &state), *w = array_random(s.out * s.in, &state);
        float *y = array_new(s.rows * s.out), *dx = array_new(s.rows * s.in), *dw = array_zero(s.out * s.in);
        matmul_forward(queue_of(1), y, x, w, NULL, s.rows, s.out, s.in, false);
        matmul_backward_input(queue_of(1), dx, y, w, s.rows, s.out, s.in, false);
        matmul_backward_weight(queue_of(1), dw, NULL, y, x, s.rows, s.out, s.in);
        struct together all = { .x = x, .w = w, .right = { y, dx, dw }, .s = s };
        EXPECT_EQ(ranks_run(RANKS, multiply_again_and_again, &all), OK);
        EXPECT_EQ(all.wrong, 0);
        float *arrays[] = { x, w, y, dx, dw };
        for (int j = 0; j < ELEMENTS_OF(arrays); j++)
            array_free(arrays[j]);
    }
}

/* objective: sum of dy * y */
static struct {
    double *x, *w, *bias, *dy, *y;
    struct shape s;
} slope;

static double objective(void *context)
{
    (void)context;
    reference_matmul_forward(slope.y, slope.x, slope.w, slope.bias, slope.s.rows, slope.s.out, slope.s.in);
    return weighted_sum(slope.dy, slope.y, slope.s.rows * slope.s.out);
}

TEST(gradients_are_slopes)
{
    enum { ROWS = 4, OUT = 5, IN = 3 };
    uint64_t state = test_seed();
    double x[ROWS * IN], w[OUT * IN], bias[OUT], dy[ROWS * OUT], y[ROWS * OUT], dx[ROWS * IN], dw[OUT * IN], dbias[OUT];
    for (int i = 0; i < ROWS * OUT; i++)
        dy[i] = (double)test_uniform(&state);
    for (int i = 0; i < ROWS * IN; i++)
        x[i] = (double)test_uniform(&state);
    for (int i = 0; i < OUT * IN; i++)
        w[i] = (double)test_uniform(&state);
    for (int i = 0; i < OUT; i++)
        bias[i] = (double)test_uniform(&state);
    slope.x = x, slope.w = w, slope.bias = bias, slope.dy = dy, slope.y = y, slope.s = (struct shape){ ROWS, OUT, IN };
    reference_matmul_backward_input(dx, dy, w, ROWS, OUT, IN);
    reference_matmul_backward_weight(dw, dbias, dy, x, ROWS, OUT, IN);
    expect_slope("x", objective, NULL, x, dx, ROWS * IN);
    expect_slope("w", objective, NULL, w, dw, OUT * IN);
    expect_slope("bias", objective, NULL, bias, dbias, OUT);
}

TEST(operations_are_counted)
{
    uint64_t state = test_seed();
    struct queue *queue = queue_of(2);
    float *x = array_random(10 * 30, &state), *w = array_random(20 * 30, &state), *y = array_new(10 * 20);
    int64_t before = queue->matmul_operations, matmul_ns = queue->time_ns[TIME_MATMUL];
    matmul_forward(queue, y, x, w, NULL, 10, 20, 30, false);
    EXPECT_EQ(queue->matmul_operations - before, 2 * 10 * 20 * 30);
    matmul_backward_input(queue, x, y, w, 10, 20, 30, false);
    matmul_backward_weight(queue, w, NULL, y, x, 10, 20, 30);
    EXPECT_EQ(queue->matmul_operations - before, 3 * 2 * 10 * 20 * 30);
    EXPECT(queue->time_ns[TIME_MATMUL] > matmul_ns);
    array_free(x);
    array_free(w);
    array_free(y);
}

char *openblas_get_corename(void);

/* OpenBLAS of 2022 does not know the processors of today by their numbers, and would take kernels of 2004 for them. */
TEST(openblas_takes_kernels_of_this_processor)
{
    __builtin_cpu_init();
    if (getenv("OPENBLAS_CORETYPE") != NULL || !__builtin_cpu_supports("avx2"))
        return;
    const char *core = openblas_get_corename();
    EXPECT(strcasecmp(core, "Haswell") == 0 || strcasecmp(core, "Zen") == 0 || strcasecmp(core, "SkylakeX") == 0 || strcasecmp(core, "Cooperlake") == 0);
}

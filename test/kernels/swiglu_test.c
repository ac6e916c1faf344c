/* swiglu_test.c: the gated activation and its gradient against fp64. */
#include "test/reference/swiglu.h"
#include "test/reference/arrays.h"
#include "test/test.h"

static const struct shape {
    int64_t rows, intermediate;
} shapes[] = { { 1, 1 }, { 3, 7 }, { 9, 8 }, { 17, 43 }, { 8, 172 }, { 65, 96 }, { 5, 1000 } };

static float *gates(struct shape s, float reach, uint64_t *state)
{
    float *x = array_random(s.rows * 2 * s.intermediate, state);
    for (int64_t i = 0; i < s.rows * 2 * s.intermediate; i++)
        x[i] *= reach;
    return x;
}

/* The sigmoid's exponential has 2 ulp and the negated argument is exact: with the addition, the quotient and 4 products no more than 12 roundings.
 * The gradient holds 1 - s, whose rounding counts against s, which is at most 1: its terms are measured with the sum of their sizes. */
enum { ROUNDINGS = 12 };

/* Beyond a gate of -87 the sigmoid may be anything from 0 to e^-87 = 1.6e-38, which gate, up and one of both more multiply by up to 120 each. */
#define END (1.6e-38 * 120 * 120 * 120 / (ROUNDINGS * ROUNDING))

static void check_shape(struct shape s, float reach, uint64_t *state)
{
    int64_t n = s.rows * s.intermediate;
    float *x = gates(s, reach, state), *dact = array_random(n, state);
    double *wx = wide_of(x, 2 * n), *wdact = wide_of(dact, n), *right = wide_new(n), *gradient = wide_new(2 * n), *size = wide_new(2 * n);
    reference_swiglu_forward(right, wx, s.rows, s.intermediate);
    reference_swiglu_backward(gradient, wdact, wx, s.rows, s.intermediate);
    double *act_size = wide_absolute(right, n);
    for (int64_t row = 0; row < s.rows; row++)
        for (int64_t f = 0; f < s.intermediate; f++) {
            int64_t gate = row * 2 * s.intermediate + f, up = gate + s.intermediate;
            double sigma = 1.0 / (1.0 + exp(-wx[gate])), d = fabs(wdact[row * s.intermediate + f]);
            size[gate] = d * fabs(wx[up]) * sigma * (1.0 + fabs(wx[gate]));
            size[up] = d * fabs(wx[gate]) * sigma;
            act_size[row * s.intermediate + f] += END;
            size[gate] += END;
            size[up] += END;
        }
    float *first = NULL;
    for (int t = 0; t < TEAMS; t++) {
        struct queue *queue = queue_of(team_sizes[t]);
        float *act = array_new(n), *again = array_new(n), *dgate_up = array_new(2 * n), *in_place = array_copy(dact, n), *other = array_new(2 * n);
        swiglu_forward(queue, act, x, s.rows, s.intermediate);
        expect_near("act", act, right, act_size, ROUNDINGS * ROUNDING, n);
        swiglu_backward(queue, dgate_up, again, dact, x, s.rows, s.intermediate);
        expect_near("dgate_up", dgate_up, gradient, size, ROUNDINGS * ROUNDING, 2 * n);
        expect_same_bits("act again", again, act, n);
        swiglu_backward(queue, other, in_place, in_place, x, s.rows, s.intermediate);
        expect_same_bits("act in place of dact", in_place, act, n);
        expect_same_bits("dgate_up with act in place", other, dgate_up, 2 * n);
        swiglu_backward(queue, other, NULL, dact, x, s.rows, s.intermediate);
        expect_same_bits("dgate_up without act", other, dgate_up, 2 * n);
        if (first != NULL)
            expect_same_bits("dgate_up", dgate_up, first, 2 * n);
        else
            first = array_copy(dgate_up, 2 * n);
        float *all[] = { act, again, dgate_up, in_place, other };
        for (int i = 0; i < ELEMENTS_OF(all); i++)
            array_free(all[i]);
    }
    double *wide[] = { wx, wdact, right, gradient, size, act_size };
    for (int i = 0; i < ELEMENTS_OF(wide); i++)
        free(wide[i]);
    array_free(x);
    array_free(dact);
    array_free(first);
}

TEST(activation_and_gradient_equal_fp64_on_any_team)
{
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(shapes); i++) {
        check_shape(shapes[i], 3.0f, &state);
        check_shape(shapes[i], 120.0f, &state);     /* where the exponential ends */
        test_stop_if_failed();
    }
}

enum { SLOPE_ROWS = 3, SLOPE_WIDTH = 5 };
static struct {
    double gate_up[SLOPE_ROWS * 2 * SLOPE_WIDTH], dact[SLOPE_ROWS * SLOPE_WIDTH];
} slope;

static double objective(void *context)
{
    (void)context;
    double act[SLOPE_ROWS * SLOPE_WIDTH];
    reference_swiglu_forward(act, slope.gate_up, SLOPE_ROWS, SLOPE_WIDTH);
    return weighted_sum(slope.dact, act, SLOPE_ROWS * SLOPE_WIDTH);
}

TEST(gradients_are_slopes)
{
    uint64_t state = test_seed();
    double gradient[SLOPE_ROWS * 2 * SLOPE_WIDTH];
    for (int i = 0; i < SLOPE_ROWS * 2 * SLOPE_WIDTH; i++)
        slope.gate_up[i] = 2.0 * (double)test_uniform(&state);
    for (int i = 0; i < SLOPE_ROWS * SLOPE_WIDTH; i++)
        slope.dact[i] = (double)test_uniform(&state);
    reference_swiglu_backward(gradient, slope.dact, slope.gate_up, SLOPE_ROWS, SLOPE_WIDTH);
    expect_slope("gate_up", objective, NULL, slope.gate_up, gradient, SLOPE_ROWS * 2 * SLOPE_WIDTH);
}

/* crossentropy_test.c: loss and gradient over shards of the vocabulary, with padding, against whole rows in fp64. */
#include "test/reference/crossentropy.h"
#include "test/reference/arrays.h"
#include "test/test.h"

static const struct shape {
    int64_t rows, vocabulary, shards;
} shapes[] = { { 1, 1, 1 }, { 3, 7, 1 }, { 5, 65, 1 }, { 9, 65, 4 }, { 4, 259, 2 }, { 6, 259, 8 }, { 2, 3, 4 }, { 17, 1000, 2 }, { 3, 49152, 2 } };
static const float scale = 1.0f / 37.0f;

struct result {
    float *loss, *hit, *dlogits;        /* dlogits [rows, vocabulary], put together from the shards */
};

/* The protocol of kernels.h, with the caller's maximum and sums over the shards; a shard has ceil(vocabulary / shards) columns, padded with NaN. */
static struct result compute(struct queue *queue, struct shape s, const float *logits, const int32_t *target)
{
    int64_t columns = (s.vocabulary + s.shards - 1) / s.shards;
    struct result r = { array_new(s.rows), array_new(s.rows), array_new(s.rows * s.vocabulary) };
    float *max = array_new(s.rows), *sum = array_zero(s.rows), *picked = array_zero(s.rows), *part = array_new(s.rows), *part2 = array_new(s.rows);
    float *shard[8];
    for (int64_t row = 0; row < s.rows; row++)
        max[row] = -INFINITY;
    for (int64_t i = 0; i < s.shards; i++) {
        int64_t first = i * columns, valid = s.vocabulary - first < 0 ? 0 : s.vocabulary - first < columns ? s.vocabulary - first : columns;
        shard[i] = array_new(s.rows * columns);
        for (int64_t row = 0; row < s.rows; row++)
            for (int64_t v = 0; v < valid; v++)
                shard[i][row * columns + v] = logits[row * s.vocabulary + first + v];
        crossentropy_max(queue, part, shard[i], s.rows, columns, valid);
        for (int64_t row = 0; row < s.rows; row++)
            max[row] = part[row] > max[row] ? part[row] : max[row];
    }
    for (int64_t i = 0; i < s.shards; i++) {
        int64_t first = i * columns, valid = s.vocabulary - first < 0 ? 0 : s.vocabulary - first < columns ? s.vocabulary - first : columns;
        crossentropy_exponentials(queue, shard[i], part, part2, max, target, first, s.rows, columns, valid);
        for (int64_t row = 0; row < s.rows; row++) {
            sum[row] += part[row];
            picked[row] += part2[row];
        }
    }
    crossentropy_loss(queue, r.loss, r.hit, sum, picked, target, s.rows);
    for (int64_t i = 0; i < s.shards; i++) {
        int64_t first = i * columns, valid = s.vocabulary - first < 0 ? 0 : s.vocabulary - first < columns ? s.vocabulary - first : columns;
        crossentropy_backward(queue, shard[i], sum, target, scale, first, s.rows, columns, valid);
        for (int64_t row = 0; row < s.rows; row++)
            for (int64_t v = 0; v < columns; v++)
                if (v < valid)
                    r.dlogits[row * s.vocabulary + first + v] = shard[i][row * columns + v];
                else
                    EXPECT(shard[i][row * columns + v] == 0.0f);
        array_free(shard[i]);
    }
    float *all[] = { max, sum, picked, part, part2 };
    for (int i = 0; i < ELEMENTS_OF(all); i++)
        array_free(all[i]);
    return r;
}

static void result_free(struct result r)
{
    array_free(r.loss);
    array_free(r.hit);
    array_free(r.dlogits);
}

static void check_shape(struct shape s, uint64_t *state)
{
    int64_t n = s.rows * s.vocabulary;
    float *logits = array_random(n, state);
    int32_t target[32];
    for (int64_t i = 0; i < n; i++)
        logits[i] *= 12.0f;
    for (int64_t row = 0; row < s.rows; row++)
        target[row] = row % 4 == 1 ? -1 : (int32_t)(test_random(state) % (uint64_t)s.vocabulary);
    target[0] = (int32_t)s.vocabulary - 1;
    logits[s.vocabulary - 1] = 12.5f;       /* row 0 is a hit, in the last valid column */

    double *wide = wide_of(logits, n), *loss = wide_new(s.rows), *hit = wide_new(s.rows), *dlogits = wide_new(n), *size = wide_new(n);
    reference_crossentropy(loss, hit, dlogits, wide, target, (double)scale, s.rows, s.vocabulary);
    /* logit - max is at most 25 and rounds once, which changes its exponential by 25 roundings, to which come 4 for its 2 ulp; a sum of n
     * positive terms changes by at most n more, but is kept in fp64 beyond 64 terms a lane. */
    double exponential = 29.0 * ROUNDING, sum = exponential + ((s.vocabulary < 64 ? (double)s.vocabulary : 64.0) + (double)s.shards + 8.0) * ROUNDING;
    for (int64_t row = 0; row < s.rows; row++)
        for (int64_t v = 0; v < s.vocabulary; v++)
            size[row * s.vocabulary + v] = fabs(dlogits[row * s.vocabulary + v]) + (v == target[row] ? 2.0 * (double)scale : 0.0);

    struct result r = compute(queue_of(1), s, logits, target);
    for (int64_t row = 0; row < s.rows; row++) {
        EXPECT_NEAR(r.loss[row], loss[row], sum + (25.0 + 2.0 * (25.0 + log((double)s.vocabulary))) * ROUNDING);
        EXPECT(r.hit[row] == (float)hit[row]);
    }
    expect_near("dlogits", r.dlogits, dlogits, size, sum + exponential + 4.0 * ROUNDING, n);
    EXPECT(r.hit[0] == 1.0f);
    for (int t = 1; t < TEAMS; t++) {
        struct result other = compute(queue_of(team_sizes[t]), s, logits, target);
        expect_same_bits("loss", other.loss, r.loss, s.rows);
        expect_same_bits("hit", other.hit, r.hit, s.rows);
        expect_same_bits("dlogits", other.dlogits, r.dlogits, n);
        result_free(other);
    }
    result_free(r);
    double *all[] = { wide, loss, hit, dlogits, size };
    for (int i = 0; i < ELEMENTS_OF(all); i++)
        free(all[i]);
    array_free(logits);
}

TEST(loss_and_gradient_of_shards_equal_whole_rows_on_any_team)
{
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(shapes); i++) {
        check_shape(shapes[i], &state);
        test_stop_if_failed();
    }
}

/* A logit that is no number must reach the loss, wherever it stands: the guard of the run looks there. */
TEST(a_bad_logit_reaches_the_loss)
{
    const struct shape s = { 1, 43, 1 };
    const float bad[] = { NAN, INFINITY };
    const int32_t target[1] = { 20 };
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(bad); i++)
        for (int64_t at = 0; at < s.vocabulary; at++) {
            float *logits = array_random(s.vocabulary, &state);
            logits[at] = bad[i];
            struct result r = compute(queue_of(1), s, logits, target);
            EXPECT(!isfinite(r.loss[0]));
            result_free(r);
            array_free(logits);
        }
}

enum { SLOPE_ROWS = 3, SLOPE_VOCABULARY = 6 };
static struct {
    double logits[SLOPE_ROWS * SLOPE_VOCABULARY];
} slope;
static const int32_t slope_target[SLOPE_ROWS] = { 2, -1, 5 };

static double objective(void *context)
{
    (void)context;
    double loss[SLOPE_ROWS], hit[SLOPE_ROWS], gradient[SLOPE_ROWS * SLOPE_VOCABULARY], sum = 0.0;
    reference_crossentropy(loss, hit, gradient, slope.logits, slope_target, 0.25, SLOPE_ROWS, SLOPE_VOCABULARY);
    for (int row = 0; row < SLOPE_ROWS; row++)
        sum += 0.25 * loss[row];
    return sum;
}

TEST(gradients_are_slopes)
{
    uint64_t state = test_seed();
    double loss[SLOPE_ROWS], hit[SLOPE_ROWS], gradient[SLOPE_ROWS * SLOPE_VOCABULARY];
    for (int i = 0; i < SLOPE_ROWS * SLOPE_VOCABULARY; i++)
        slope.logits[i] = 3.0 * (double)test_uniform(&state);
    reference_crossentropy(loss, hit, gradient, slope.logits, slope_target, 0.25, SLOPE_ROWS, SLOPE_VOCABULARY);
    expect_slope("logits", objective, NULL, slope.logits, gradient, SLOPE_ROWS * SLOPE_VOCABULARY);
}

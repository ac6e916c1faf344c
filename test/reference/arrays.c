/* arrays.c: see arrays.h. */
#include "test/reference/arrays.h"

#include "test/test.h"

enum { GUARD = 16 };    /* elements on each side: two vectors */

static const float guard_value = 0x1.badp77f;

/* What stands in front of an array's first guard. */
struct header {
    int64_t elements;
    int64_t unused[7];
};

const int32_t team_sizes[TEAMS] = { 1, 2, 3, 8 };

struct queue *queue_of(int32_t threads)
{
    static struct queue queues[TEAM_THREADS_MOST + 1];
    struct queue *queue = &queues[threads];
    if (queue->team == NULL) {
        if (team_open(&queue->team, threads) != OK)
            abort();
        matmul_open(queue);
    }
    return queue;
}

static float *guards_of(float *x, int side, int64_t elements)
{
    return side == 0 ? x - GUARD : x + elements;
}

float *array_new(int64_t elements)
{
    struct header *header = malloc(sizeof *header + (size_t)(elements + 2 * GUARD) * sizeof(float));
    header->elements = elements;
    float *x = (float *)(header + 1) + GUARD;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < GUARD; i++)
            guards_of(x, side, elements)[i] = guard_value;
    for (int64_t i = 0; i < elements; i++)
        x[i] = NAN;
    return x;
}

float *array_zero(int64_t elements)
{
    float *x = array_new(elements);
    memset(x, 0, (size_t)elements * sizeof *x);
    return x;
}

float *array_random(int64_t elements, uint64_t *state)
{
    float *x = array_new(elements);
    for (int64_t i = 0; i < elements; i++)
        x[i] = test_uniform(state);
    return x;
}

float *array_copy(const float *x, int64_t elements)
{
    float *y = array_new(elements);
    memcpy(y, x, (size_t)elements * sizeof *y);
    return y;
}

void array_free(float *x)
{
    struct header *header = (struct header *)(void *)(x - GUARD) - 1;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < GUARD; i++)
            if (guards_of(x, side, header->elements)[i] != guard_value)
                test_fail(__FILE__, __LINE__, "element %d %s an array of %" PRId64 " was overwritten", i, side == 0 ? "before" : "behind",
                          header->elements);
    free(header);
}

double *wide_new(int64_t elements)
{
    return calloc((size_t)elements, sizeof(double));
}

double *wide_of(const float *x, int64_t elements)
{
    double *y = wide_new(elements);
    for (int64_t i = 0; i < elements; i++)
        y[i] = (double)x[i];
    return y;
}

double *wide_absolute(const double *x, int64_t elements)
{
    double *y = wide_new(elements);
    for (int64_t i = 0; i < elements; i++)
        y[i] = fabs(x[i]);
    return y;
}

void expect_near(const char *what, const float *seen, const double *right, const double *magnitude, double factor, int64_t elements)
{
    for (int64_t i = 0; i < elements; i++) {
        double tolerance = factor * (magnitude != NULL ? magnitude[i] : 1.0);
        if (!(fabs((double)seen[i] - right[i]) <= tolerance))
            test_fail(__FILE__, __LINE__, "%s[%" PRId64 "] is %.9g, right is %.9g within %.3g", what, i, (double)seen[i], right[i], tolerance);
    }
}

void expect_same_bits(const char *what, const float *seen, const float *right, int64_t elements)
{
    for (int64_t i = 0; i < elements; i++)
        if (memcmp(&seen[i], &right[i], sizeof *seen) != 0)
            test_fail(__FILE__, __LINE__, "%s[%" PRId64 "] is %a, right are the bits of %a", what, i, (double)seen[i], (double)right[i]);
}

void expect_slope(const char *what, double (*objective)(void *context), void *context, double *x, const double *gradient, int64_t elements)
{
    const double h = 1e-4;
    for (int64_t i = 0; i < elements; i++) {
        double keep = x[i];
        x[i] = keep + h;
        double above = objective(context);
        x[i] = keep - h;
        double below = objective(context);
        x[i] = keep;
        double slope = (above - below) / (2.0 * h);
        if (!(fabs(slope - gradient[i]) <= 1e-6 * (1.0 + fabs(gradient[i]))))
            test_fail(__FILE__, __LINE__, "%s: gradient[%" PRId64 "] is %.9g, the slope is %.9g", what, i, gradient[i], slope);
    }
}

double weighted_sum(const double *weight, const double *y, int64_t elements)
{
    double sum = 0.0;
    for (int64_t i = 0; i < elements; i++)
        sum += weight[i] * y[i];
    return sum;
}

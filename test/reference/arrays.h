/* arrays.h: what the tests of kernels share: arrays with guards, queues with teams of several sizes, comparisons, finite differences.
 *
 * (1) An array has guards on both sides; array_free fails the test if one was overwritten. (2) Output arrays start as NaN, so that an element
 * that a kernel forgets shows. */
#ifndef TEST_REFERENCE_ARRAYS_H
#define TEST_REFERENCE_ARRAYS_H

#include "kernels/kernels.h"

/* Half a unit in the last place of fp32, relative: the most that one rounding changes a number. */
#define ROUNDING 0x1p-24

/* The teams that each kernel must give the same bits for. */
enum { TEAMS = 4 };
extern const int32_t team_sizes[TEAMS];

/* A queue with a team of that many threads; kept open until the program ends, so that many tests share it. */
struct queue *queue_of(int32_t threads);

float *array_new(int64_t elements);                               /* NaN */
float *array_zero(int64_t elements);
float *array_random(int64_t elements, uint64_t *state);           /* uniform in [-1, 1) */
float *array_copy(const float *x, int64_t elements);
void array_free(float *x);

double *wide_new(int64_t elements);                               /* zero; freed with free */
double *wide_of(const float *x, int64_t elements);
double *wide_absolute(const double *x, int64_t elements);

/* Fails the test unless |seen[i] - right[i]| <= factor * magnitude[i] for all i; magnitude NULL: all 1. */
void expect_near(const char *what, const float *seen, const double *right, const double *magnitude, double factor, int64_t elements);
void expect_same_bits(const char *what, const float *seen, const float *right, int64_t elements);

/* Fails the test unless gradient[i] is the slope of objective(context) in x[i], by central differences of fp64: with h = 1e-4 their error
 * is about h^2 for the curvature plus 2^-53 / h = 1e-12 for the roundings; 1e-6 of (1 + |gradient|) covers third derivatives up to 100. */
void expect_slope(const char *what, double (*objective)(void *context), void *context, double *x, const double *gradient, int64_t elements);

double weighted_sum(const double *weight, const double *y, int64_t elements);

#endif

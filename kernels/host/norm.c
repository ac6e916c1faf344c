/* norm.c: the sum of squares that has no order (struct exact_sum in kernels.h). Steady.
 *
 * (1) A block of 64 elements becomes one fp64 number in a fixed order; from there on only whole numbers are added. */
#include <math.h>
#include <string.h>

#include "kernels/host/simd.h"
#include "kernels/kernels.h"

enum { BLOCKS_A_TASK = 512, TASKS_AT_ONCE = 1024 };

#define UNIT  0x1p70     /* units of 2^-70 in one */
enum { UNIT_EXPONENT = 70 };
#define LARGE 0x1p46     /* a block above this is beyond any gradient worth a step; 2^12 such blocks fit into 128 bits */

typedef unsigned __int128 whole;

struct squares {
    const float *x;
    int64_t elements, first_block;
    struct exact_sum part[TASKS_AT_ONCE];
};

/* Products are exact in fp64; sixteen sums, each in index order, then in pairs. */
static double whole_block(const float *x)
{
    __m256d sum[4] = { _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd() };
    for (int i = 0; i < EXACT_SUM_BLOCK_ELEMENTS; i += 16)
        for (int k = 0; k < 4; k++) {
            __m256d four = _mm256_cvtps_pd(_mm_loadu_ps(x + i + 4 * k));
            sum[k] = _mm256_fmadd_pd(four, four, sum[k]);
        }
    __m256d all = _mm256_add_pd(_mm256_add_pd(sum[0], sum[1]), _mm256_add_pd(sum[2], sum[3]));
    __m128d two = _mm_add_pd(_mm256_castpd256_pd128(all), _mm256_extractf128_pd(all, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

static double block_of(const float *x, int64_t count)
{
    if (count == EXACT_SUM_BLOCK_ELEMENTS)
        return whole_block(x);
    float padded[EXACT_SUM_BLOCK_ELEMENTS] = { 0 };
    memcpy(padded, x, (size_t)count * sizeof *x);
    return whole_block(padded);
}

/* x from 0 to LARGE as a whole number of units, what is below one cut off: the mantissa, shifted. */
static whole units_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int shift = (int)(bits >> 52) - 1023 - 52 + UNIT_EXPONENT;
    uint64_t mantissa = (bits & ((1ull << 52) - 1)) | 1ull << 52;
    if (shift >= 0)
        return (whole)mantissa << shift;
    return shift > -64 ? mantissa >> -shift : 0;
}

static void add_whole(struct exact_sum *sum, whole value)
{
    whole total = ((whole)sum->high << 64 | sum->low) + value;
    sum->low = (uint64_t)total;
    sum->high = (uint64_t)(total >> 64);
}

static void sum_part(void *argument, int64_t index)
{
    struct squares *s = argument;
    struct exact_sum part = { 0 };
    for (int64_t b = 0; b < BLOCKS_A_TASK; b++) {
        int64_t at = (s->first_block + index * BLOCKS_A_TASK + b) * EXACT_SUM_BLOCK_ELEMENTS;
        if (at >= s->elements)
            break;
        int64_t count = s->elements - at < EXACT_SUM_BLOCK_ELEMENTS ? s->elements - at : EXACT_SUM_BLOCK_ELEMENTS;
        double block = block_of(s->x + at, count);
        if (block <= LARGE)
            add_whole(&part, units_of(block));
        else
            part.bad++;         /* NaN too: it compares false */
    }
    s->part[index] = part;
}

void sum_of_squares(struct queue *queue, struct exact_sum *sum, const float *x, int64_t elements)
{
    ASSERT(elements >= 1);
    int64_t begin = queue_begin(queue), blocks = (elements + EXACT_SUM_BLOCK_ELEMENTS - 1) / EXACT_SUM_BLOCK_ELEMENTS;
    struct squares s = { .x = x, .elements = elements };
    for (s.first_block = 0; s.first_block < blocks; s.first_block += (int64_t)TASKS_AT_ONCE * BLOCKS_A_TASK) {
        int64_t tasks = (blocks - s.first_block + BLOCKS_A_TASK - 1) / BLOCKS_A_TASK;
        tasks = tasks < TASKS_AT_ONCE ? tasks : TASKS_AT_ONCE;
        team_run(queue->team, tasks, sum_part, &s);
        for (int64_t task = 0; task < tasks; task++)
            exact_sum_add(sum, &s.part[task]);
    }
    queue_end(queue, TIME_KERNEL, begin);
}

void exact_sum_add(struct exact_sum *sum, const struct exact_sum *other)
{
    whole before = (whole)sum->high << 64 | sum->low;
    add_whole(sum, (whole)other->high << 64 | other->low);
    sum->bad += other->bad + (((whole)sum->high << 64 | sum->low) < before);
}

double exact_sum_value(const struct exact_sum *sum)
{
    return sum->bad > 0 ? NAN : ((double)sum->high * 0x1p64 + (double)sum->low) / UNIT;
}

/* norm.c: the sum of squares that has no order (struct exact_sum in kernels.h). Steady.
 *
 * (1) A block of 64 elements becomes one fp64 number in a fixed order; from there on only whole numbers are added. */
#include <math.h>

#include "kernels/host/simd.h"
#include "kernels/kernels.h"

enum { BLOCKS_A_TASK = 512, TASKS_AT_ONCE = 1024 };

#define UNIT  0x1p70     /* units of 2^-70 in one */
#define LARGE 0x1p46     /* a block above this is beyond any gradient worth a step; 2^12 such blocks fit into 128 bits */

typedef unsigned __int128 whole;

struct squares {
    const float *x;
    int64_t elements, first_block;
    struct exact_sum part[TASKS_AT_ONCE];
};

/* Products are exact in fp64; four lanes, each in index order, then the lanes in pairs. */
static double block_of(const float *x, int64_t count)
{
    __m256d sum = _mm256_setzero_pd();
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        __m256d four = _mm256_cvtps_pd(_mm_loadu_ps(x + i));
        sum = _mm256_fmadd_pd(four, four, sum);
    }
    double lane[4];
    _mm256_storeu_pd(lane, sum);
    double total = (lane[0] + lane[2]) + (lane[1] + lane[3]);
    for (; i < count; i++)
        total += (double)x[i] * x[i];
    return total;
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
            add_whole(&part, (whole)(block * UNIT));
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

/* crossentropy.c: loss and gradient over a vocabulary shard, a block of rows at a time (kernels.h). Steady.
 *
 * (1) A task owns whole rows: a row's sum has one order, eight lanes in index order, in fp32 over PART elements and in fp64 over those parts,
 *     then the lanes in order. (2) A logit that is no number makes the row's sum one: NaN, or infinity less itself. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/host/simd.h"
#include "kernels/kernels.h"

enum { ROWS_A_TASK = 4, PART = 64 * LANES };

struct entropy {
    float *logits, *max, *sum, *picked, *loss, *hit;
    const float *max_in, *sum_in, *picked_in;
    const int32_t *target;
    float scale;
    int64_t first, rows, columns, valid;
};

struct job {
    const struct entropy *e;
    void (*row)(const struct entropy *e, int64_t row);
};

static void rows_of_task(void *argument, int64_t index)
{
    const struct job *job = argument;
    int64_t end = (index + 1) * ROWS_A_TASK < job->e->rows ? (index + 1) * ROWS_A_TASK : job->e->rows;
    for (int64_t row = index * ROWS_A_TASK; row < end; row++)
        job->row(job->e, row);
}

static void run(struct queue *queue, struct entropy *e, void (*row)(const struct entropy *e, int64_t row))
{
    ASSERT(e->rows >= 1 && e->valid >= 0 && e->valid <= e->columns);
    int64_t begin = queue_begin(queue);
    struct job job = { e, row };
    team_run(queue->team, (e->rows + ROWS_A_TASK - 1) / ROWS_A_TASK, rows_of_task, &job);
    queue_end(queue, TIME_KERNEL, begin);
}

/* A shard of padding only has the lowest finite number: it loses against any logit and keeps differences finite. */
static void max_row(const struct entropy *e, int64_t row)
{
    const float *x = e->logits + row * e->columns;
    __m256 lanes = _mm256_set1_ps(-FLT_MAX);
    int64_t v = 0;
    for (; v + LANES <= e->valid; v += LANES)
        lanes = _mm256_max_ps(lanes, _mm256_loadu_ps(x + v));
    float lane[LANES], max = -FLT_MAX;
    _mm256_storeu_ps(lane, lanes);
    for (int i = 0; i < LANES; i++)
        max = lane[i] > max ? lane[i] : max;
    for (; v < e->valid; v++)
        max = x[v] > max ? x[v] : max;
    e->max[row] = max;
}

void crossentropy_max(struct queue *queue, float *max, const float *logits, int64_t rows, int64_t columns, int64_t valid)
{
    struct entropy e = { .logits = (float *)(uintptr_t)logits, .max = max, .rows = rows, .columns = columns, .valid = valid };
    run(queue, &e, max_row);
}

/* count elements of x, at most PART, become e^(x - most); returns their sums by lane. */
static __m256 exponentials_part(float *x, int64_t count, __m256 most)
{
    __m256 sum = _mm256_setzero_ps();
    int64_t v = 0;
    for (; v + LANES <= count; v += LANES) {
        __m256 y = simd_exp(_mm256_sub_ps(_mm256_loadu_ps(x + v), most));
        _mm256_storeu_ps(x + v, y);
        sum = _mm256_add_ps(sum, y);
    }
    if (v < count) {
        __m256i mask = simd_first(count - v);
        __m256 y = _mm256_and_ps(simd_exp(_mm256_sub_ps(_mm256_maskload_ps(x + v, mask), most)), _mm256_castsi256_ps(mask));
        _mm256_maskstore_ps(x + v, mask, y);
        sum = _mm256_add_ps(sum, y);
    }
    return sum;
}

static void exponentials_row(const struct entropy *e, int64_t row)
{
    float *x = e->logits + row * e->columns, max = e->max_in[row];
    int64_t place = e->target[row] < 0 ? -1 : e->target[row] - e->first;
    e->picked[row] = place >= 0 && place < e->valid ? x[place] - max : 0.0f;
    __m256d low = _mm256_setzero_pd(), high = low;
    for (int64_t v = 0; v < e->valid; v += PART) {
        __m256 sum = exponentials_part(x + v, e->valid - v < PART ? e->valid - v : PART, _mm256_set1_ps(max));
        low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(sum)));
        high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(sum, 1)));
    }
    for (int64_t v = e->valid; v < e->columns; v++)
        x[v] = 0.0f;
    double lane[4];
    _mm256_storeu_pd(lane, _mm256_add_pd(low, high));
    e->sum[row] = (float)((lane[0] + lane[1]) + (lane[2] + lane[3]));
}

void crossentropy_exponentials(struct queue *queue, float *logits, float *sum, float *picked, const float *max, const int32_t *target,
                               int64_t first, int64_t rows, int64_t columns, int64_t valid)
{
    struct entropy e = { .logits = logits, .sum = sum, .picked = picked, .max_in = max, .target = target, .first = first, .rows = rows,
                         .columns = columns, .valid = valid };
    run(queue, &e, exponentials_row);
}

static void loss_row(const struct entropy *e, int64_t row)
{
    bool learned = e->target[row] >= 0;
    e->loss[row] = learned ? logf(e->sum_in[row]) - e->picked_in[row] : 0.0f;
    e->hit[row] = learned && e->picked_in[row] == 0.0f ? 1.0f : 0.0f;
}

void crossentropy_loss(struct queue *queue, float *loss, float *hit, const float *sum, const float *picked, const int32_t *target,
                       int64_t rows)
{
    struct entropy e = { .loss = loss, .hit = hit, .sum_in = sum, .picked_in = picked, .target = target, .rows = rows };
    run(queue, &e, loss_row);
}

static void backward_row(const struct entropy *e, int64_t row)
{
    float *x = e->logits + row * e->columns;
    if (e->target[row] < 0) {
        memset(x, 0, (size_t)e->columns * sizeof *x);
        return;
    }
    float factor = e->scale / e->sum_in[row];
    for (int64_t v = 0; v < e->columns; v++)
        x[v] *= factor;
    int64_t place = e->target[row] - e->first;
    if (place >= 0 && place < e->valid)
        x[place] -= e->scale;
}

void crossentropy_backward(struct queue *queue, float *logits, const float *sum, const int32_t *target, float scale, int64_t first,
                           int64_t rows, int64_t columns, int64_t valid)
{
    struct entropy e = { .logits = logits, .sum_in = sum, .target = target, .scale = scale, .first = first, .rows = rows, .columns = columns,
                         .valid = valid };
    run(queue, &e, backward_row);
}

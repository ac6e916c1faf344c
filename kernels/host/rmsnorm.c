/* rmsnorm.c: root-mean-square norm with the residual addition, and its gradient (kernels.h). Steady.
 *
 * (1) A row is summed by lanes in an order that follows from its length: its bits depend on that row alone. */
#include <math.h>

#include "kernels/host/simd.h"
#include "kernels/kernels.h"

enum { ROWS_A_TASK = 16, COLUMNS_A_TASK = 64 };

struct norm {
    float *y, *rstd, *sum, *dx, *dgain;
    const float *x, *delta, *gain, *dy, *rstd_in;
    int64_t rows, hidden;
    float epsilon;
};

static void forward_rows(void *argument, int64_t index)
{
    const struct norm *n = argument;
    int64_t end = (index + 1) * ROWS_A_TASK < n->rows ? (index + 1) * ROWS_A_TASK : n->rows;
    for (int64_t row = index * ROWS_A_TASK; row < end; row++) {
        const float *s = n->x + row * n->hidden;
        float *y = n->y + row * n->hidden;
        if (n->delta != NULL) {
            float *sum = n->sum + row * n->hidden;
            const float *delta = n->delta + row * n->hidden;
            for (int64_t c = 0; c < n->hidden; c++)
                sum[c] = s[c] + delta[c];
            s = sum;
        }
        float rstd = 1.0f / sqrtf(simd_dot(s, s, n->hidden) / (float)n->hidden + n->epsilon);
        n->rstd[row] = rstd;
        for (int64_t c = 0; c < n->hidden; c++)
            y[c] = n->gain[c] * (s[c] * rstd);
    }
}

void rmsnorm_forward(struct queue *queue, real *y, float *rstd, real *sum, const real *x, const real *delta, const real *gain, int64_t rows,
                     int64_t hidden, float epsilon)
{
    ASSERT(rows >= 1 && hidden >= 1 && (delta == NULL || sum != NULL));
    int64_t begin = queue_begin(queue);
    struct norm n = { .y = y, .rstd = rstd, .sum = sum, .x = x, .delta = delta, .gain = gain, .rows = rows, .hidden = hidden, .epsilon = epsilon };
    team_run(queue->team, (rows + ROWS_A_TASK - 1) / ROWS_A_TASK, forward_rows, &n);
    queue_end(queue, TIME_KERNEL, begin);
}

/* d x = rstd * (gain dy - x rstd^2 mean(gain dy x)) */
static void backward_rows(void *argument, int64_t index)
{
    const struct norm *n = argument;
    int64_t end = (index + 1) * ROWS_A_TASK < n->rows ? (index + 1) * ROWS_A_TASK : n->rows;
    for (int64_t row = index * ROWS_A_TASK; row < end; row++) {
        const float *x = n->x + row * n->hidden, *dy = n->dy + row * n->hidden;
        float *dx = n->dx + row * n->hidden, rstd = n->rstd_in[row];
        __m256 sum = _mm256_setzero_ps();
        for (int64_t c = 0; c < n->hidden; c += LANES) {
            __m256i mask = simd_first(n->hidden - c < LANES ? n->hidden - c : LANES);
            __m256 product = _mm256_mul_ps(_mm256_maskload_ps(dy + c, mask), _mm256_maskload_ps(n->gain + c, mask));
            sum = _mm256_fmadd_ps(product, _mm256_maskload_ps(x + c, mask), sum);
        }
        float mean = simd_sum(sum) * rstd * rstd / (float)n->hidden;
        for (int64_t c = 0; c < n->hidden; c++)
            dx[c] += rstd * (n->gain[c] * dy[c] - x[c] * mean);
    }
}

static void backward_gain(void *argument, int64_t index)
{
    const struct norm *n = argument;
    int64_t begin = index * COLUMNS_A_TASK, end = begin + COLUMNS_A_TASK < n->hidden ? begin + COLUMNS_A_TASK : n->hidden;
    for (int64_t row = 0; row < n->rows; row++) {
        const float *x = n->x + row * n->hidden, *dy = n->dy + row * n->hidden;
        float rstd = n->rstd_in[row];
        for (int64_t c = begin; c < end; c++)
            n->dgain[c] += dy[c] * (x[c] * rstd);
    }
}

void rmsnorm_backward(struct queue *queue, real *dx, float *dgain, const real *dy, const real *x, const real *gain, const float *rstd,
                      int64_t rows, int64_t hidden)
{
    ASSERT(rows >= 1 && hidden >= 1);
    int64_t begin = queue_begin(queue);
    struct norm n = { .dx = dx, .dgain = dgain, .dy = dy, .x = x, .gain = gain, .rstd_in = rstd, .rows = rows, .hidden = hidden };
    team_run(queue->team, (rows + ROWS_A_TASK - 1) / ROWS_A_TASK, backward_rows, &n);
    team_run(queue->team, (hidden + COLUMNS_A_TASK - 1) / COLUMNS_A_TASK, backward_gain, &n);
    queue_end(queue, TIME_KERNEL, begin);
}

static void again_rows(void *argument, int64_t index)
{
    const struct norm *n = argument;
    int64_t end = (index + 1) * ROWS_A_TASK < n->rows ? (index + 1) * ROWS_A_TASK : n->rows;
    for (int64_t row = index * ROWS_A_TASK; row < end; row++)
        for (int64_t c = 0; c < n->hidden; c++)
            n->y[row * n->hidden + c] = n->gain[c] * (n->x[row * n->hidden + c] * n->rstd_in[row]);
}

void rmsnorm_again(struct queue *queue, real *y, const real *x, const real *gain, const float *rstd, int64_t rows, int64_t hidden)
{
    ASSERT(rows >= 1 && hidden >= 1);
    int64_t begin = queue_begin(queue);
    struct norm n = { .y = y, .x = x, .gain = gain, .rstd_in = rstd, .rows = rows, .hidden = hidden };
    team_run(queue->team, (rows + ROWS_A_TASK - 1) / ROWS_A_TASK, again_rows, &n);
    queue_end(queue, TIME_KERNEL, begin);
}

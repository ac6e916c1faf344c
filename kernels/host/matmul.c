/* matmul.c: matrix products, cut into tiles that OpenBLAS computes, one call a tile (kernels.h). Steady.
 *
 * (1) The grid of tiles follows from the shape alone. (2) The inner dimension is never cut, so an element is one sum in OpenBLAS's own order.
 * (3) Tiles are large: OpenBLAS packs both operands anew in each call. Measured for 512 rows of a 135M-parameter model, in processor time of
 *     the whole against the parts: 2 tiles 0.97 to 0.98, 4 tiles 0.95 to 0.98, 8 tiles 0.90 to 0.95, 16 tiles 0.75 to 0.93. The result's columns are
 *     cut rather than rows of activations, and rows of a weight's gradient rather than its columns: the other operand of those is read once.
 * (4) Small tiles never reach OpenBLAS: on processors with AVX-512 it has kernels for them that call malloc, and whose results varied between
 *     runs. Its limit is 10^6 multiplications. */
#include <cblas.h>

#include "kernels/host/tile.h"
#include "kernels/kernels.h"

#undef I      /* complex.h, through cblas.h */

enum { TILE = 288, TILE_LEAST = 64, LONG_TILE = 768, LONG = 8 * LONG_TILE, ROWS_MOST = 512, GRAIN = 16, SUM_COLUMNS = 256, SMALL_MULTIPLICATIONS = 1000000 };
_Static_assert(SMALL_MULTIPLICATIONS * sizeof(float) <= TEAM_SCRATCH_BYTES, "a turned operand of a small product fits into the scratch");

enum form { FORWARD, BACKWARD_INPUT, BACKWARD_WEIGHT };

/* One product and its grid of tiles over the result. */
struct product {
    enum form form;
    float *x, *y, *w;               /* x [N,I], y [N,O], w [O,I]: the operand that is the result is written */
    const float *bias;
    int64_t rows, out, in;
    int64_t tiles_down, tiles_across;
    float beta;
};

/* Into how many tiles the side of the result that is cut finely goes: an even number, so that two threads share evenly, of about TILE each, or
 * LONG_TILE where there are many anyway. */
static int64_t fine(int64_t count)
{
    int64_t most = count < LONG ? TILE : LONG_TILE, pairs = (count + most) / (2 * most);
    return count < 2 * TILE_LEAST ? 1 : pairs < 1 ? 2 : 2 * pairs;
}

/* And the other side. */
static int64_t coarse(int64_t count, int64_t most)
{
    return (count + most - 1) / most;
}

/* The tile of y before its product: the bias, on top of what is there if beta is 1. OpenBLAS would otherwise write zeros there. */
static void start_at_bias(const struct product *p, int64_t row_begin, int64_t row_end, int64_t begin, int64_t end)
{
    for (int64_t row = row_begin; row < row_end; row++) {
        float *restrict y = p->y + row * p->out;
        const float *restrict bias = p->bias;
        if (p->beta != 0.0f)
            for (int64_t o = begin; o < end; o++)
                y[o] += bias[o];
        else
            for (int64_t o = begin; o < end; o++)
                y[o] = bias[o];
    }
}

static void compute_large(const struct product *p, int64_t top, int64_t bottom, int64_t left, int64_t right)
{
    int m = (int)(bottom - top), n = (int)(right - left), rows = (int)p->rows, out = (int)p->out, in = (int)p->in;
    float beta = p->bias != NULL ? 1.0f : p->beta;
    switch (p->form) {
    case FORWARD:
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, in, 1.0f, p->x + top * in, in, p->w + left * in, in, beta,
                    p->y + top * out + left, out);
        break;
    case BACKWARD_INPUT:
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, out, 1.0f, p->y + top * out, out, p->w + left, in, beta,
                    p->x + top * in + left, in);
        break;
    case BACKWARD_WEIGHT:
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, n, rows, 1.0f, p->y + top, out, p->x + left, in, beta,
                    p->w + top * in + left, in);
        break;
    }
}

static void compute_small(const struct product *p, int64_t top, int64_t bottom, int64_t left, int64_t right)
{
    bool accumulate = p->bias != NULL || p->beta != 0.0f;
    int64_t m = bottom - top, n = right - left;
    float *turned = team_scratch();
    switch (p->form) {
    case FORWARD:
        tile_turn(turned, n, p->w + left * p->in, p->in, n, p->in, 1.0f);
        tile_product(BY_ROWS, p->y + top * p->out + left, p->out, p->x + top * p->in, p->in, turned, n, m, n, p->in, accumulate);
        break;
    case BACKWARD_INPUT:
        tile_product(BY_ROWS, p->x + top * p->in + left, p->in, p->y + top * p->out, p->out, p->w + left, p->in, m, n, p->out, accumulate);
        break;
    case BACKWARD_WEIGHT:
        tile_product(BY_COLUMNS, p->w + top * p->in + left, p->in, p->y + top, p->out, p->x + left, p->in, m, n, p->rows, accumulate);
        break;
    }
}

static void compute_tile(void *argument, int64_t index)
{
    const struct product *p = argument;
    int64_t height = p->form == BACKWARD_WEIGHT ? p->out : p->rows, width = p->form == FORWARD ? p->out : p->in;
    int64_t top, bottom, left, right;
    simd_part(height, GRAIN, p->tiles_down, index / p->tiles_across, &top, &bottom);
    simd_part(width, GRAIN, p->tiles_across, index % p->tiles_across, &left, &right);
    if (top >= bottom || left >= right)
        return;
    if (p->form == FORWARD && p->bias != NULL)
        start_at_bias(p, top, bottom, left, right);
    int64_t inner = p->form == FORWARD ? p->in : p->form == BACKWARD_INPUT ? p->out : p->rows;
    if ((bottom - top) * (right - left) * inner <= SMALL_MULTIPLICATIONS)
        compute_small(p, top, bottom, left, right);
    else
        compute_large(p, top, bottom, left, right);
}

static void run(struct queue *queue, struct product *p)
{
    ASSERT(p->rows >= 1 && p->out >= 1 && p->in >= 1);
    ASSERT(p->rows <= INT32_MAX && p->out <= INT32_MAX && p->in <= INT32_MAX);
    int64_t begin = queue_begin(queue);
    team_run(queue->team, p->tiles_down * p->tiles_across, compute_tile, p);
    queue->matmul_operations += 2 * p->rows * p->out * p->in;
    queue_end(queue, TIME_MATMUL, begin);
}

void matmul_forward(struct queue *queue, real *y, const real *x, const real *w, const real *bias, int64_t rows, int64_t out, int64_t in,
                    bool accumulate)
{
    struct product p = { .form = FORWARD, .x = (float *)(uintptr_t)x, .y = y, .w = (float *)(uintptr_t)w, .bias = bias,
                         .rows = rows, .out = out, .in = in, .tiles_down = coarse(rows, ROWS_MOST), .tiles_across = fine(out),
                         .beta = accumulate ? 1.0f : 0.0f };
    run(queue, &p);
}

void matmul_backward_input(struct queue *queue, real *dx, const real *dy, const real *w, int64_t rows, int64_t out, int64_t in,
                           bool accumulate)
{
    struct product p = { .form = BACKWARD_INPUT, .x = dx, .y = (float *)(uintptr_t)dy, .w = (float *)(uintptr_t)w, .rows = rows, .out = out,
                         .in = in, .tiles_down = coarse(rows, ROWS_MOST), .tiles_across = fine(in), .beta = accumulate ? 1.0f : 0.0f };
    run(queue, &p);
}

struct column_sum {
    float *sum;
    const float *x;
    int64_t rows, columns;
};

static void sum_columns(void *argument, int64_t index)
{
    const struct column_sum *s = argument;
    int64_t begin = index * SUM_COLUMNS, end = begin + SUM_COLUMNS < s->columns ? begin + SUM_COLUMNS : s->columns;
    for (int64_t row = 0; row < s->rows; row++)
        for (int64_t c = begin; c < end; c++)
            s->sum[c] += s->x[row * s->columns + c];
}

void matmul_backward_weight(struct queue *queue, float *dw, float *dbias, const real *dy, const real *x, int64_t rows, int64_t out,
                            int64_t in)
{
    struct product p = { .form = BACKWARD_WEIGHT, .x = (float *)(uintptr_t)x, .y = (float *)(uintptr_t)dy, .w = dw, .rows = rows, .out = out,
                         .in = in, .tiles_down = fine(out), .tiles_across = coarse(in, LONG_TILE), .beta = 1.0f };
    run(queue, &p);
    if (dbias == NULL)
        return;
    int64_t begin = queue_begin(queue);
    struct column_sum sum = { dbias, dy, rows, out };
    team_run(queue->team, (out + SUM_COLUMNS - 1) / SUM_COLUMNS, sum_columns, &sum);
    queue_end(queue, TIME_KERNEL, begin);
}

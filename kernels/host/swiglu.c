/* swiglu.c: the gated activation of the MLP, and its gradient (kernels.h). Steady. */
#include "kernels/host/simd.h"
#include "kernels/kernels.h"

enum { ROWS_A_TASK = 8 };

struct gate {
    float *act, *dgate_up;
    const float *dact, *gate_up;
    int64_t rows, intermediate;
};

static __m256 sigmoid(__m256 x)
{
    const __m256 one = _mm256_set1_ps(1.0f);
    return _mm256_div_ps(one, _mm256_add_ps(one, simd_exp(_mm256_sub_ps(_mm256_setzero_ps(), x))));
}

static void forward_rows(void *argument, int64_t index)
{
    const struct gate *g = argument;
    int64_t end = (index + 1) * ROWS_A_TASK < g->rows ? (index + 1) * ROWS_A_TASK : g->rows;
    for (int64_t row = index * ROWS_A_TASK; row < end; row++) {
        const float *gate = g->gate_up + row * 2 * g->intermediate, *up = gate + g->intermediate;
        float *act = g->act + row * g->intermediate;
        for (int64_t f = 0; f < g->intermediate; f += LANES) {
            __m256i mask = simd_first(g->intermediate - f < LANES ? g->intermediate - f : LANES);
            __m256 x = _mm256_maskload_ps(gate + f, mask);
            __m256 y = _mm256_mul_ps(_mm256_mul_ps(x, sigmoid(x)), _mm256_maskload_ps(up + f, mask));
            _mm256_maskstore_ps(act + f, mask, y);
        }
    }
}

void swiglu_forward(struct queue *queue, real *act, const real *gate_up, int64_t rows, int64_t intermediate)
{
    ASSERT(rows >= 1 && intermediate >= 1);
    int64_t begin = queue_begin(queue);
    struct gate g = { .act = act, .gate_up = gate_up, .rows = rows, .intermediate = intermediate };
    team_run(queue->team, (rows + ROWS_A_TASK - 1) / ROWS_A_TASK, forward_rows, &g);
    queue_end(queue, TIME_KERNEL, begin);
}

/* With s the sigmoid of the gate: d gate = d up s (1 + gate (1 - s)); d up = d gate s. */
static void backward_rows(void *argument, int64_t index)
{
    const struct gate *g = argument;
    const __m256 one = _mm256_set1_ps(1.0f);
    int64_t end = (index + 1) * ROWS_A_TASK < g->rows ? (index + 1) * ROWS_A_TASK : g->rows;
    for (int64_t row = index * ROWS_A_TASK; row < end; row++) {
        const float *gate = g->gate_up + row * 2 * g->intermediate, *up = gate + g->intermediate, *dact = g->dact + row * g->intermediate;
        float *dgate = g->dgate_up + row * 2 * g->intermediate, *dup = dgate + g->intermediate;
        float *act = g->act != NULL ? g->act + row * g->intermediate : NULL;
        for (int64_t f = 0; f < g->intermediate; f += LANES) {
            __m256i mask = simd_first(g->intermediate - f < LANES ? g->intermediate - f : LANES);
            __m256 x = _mm256_maskload_ps(gate + f, mask), u = _mm256_maskload_ps(up + f, mask), d = _mm256_maskload_ps(dact + f, mask);
            __m256 s = sigmoid(x), silu = _mm256_mul_ps(x, s);
            __m256 slope = _mm256_mul_ps(s, _mm256_fmadd_ps(x, _mm256_sub_ps(one, s), one));
            _mm256_maskstore_ps(dgate + f, mask, _mm256_mul_ps(_mm256_mul_ps(d, u), slope));
            _mm256_maskstore_ps(dup + f, mask, _mm256_mul_ps(d, silu));
            if (act != NULL)
                _mm256_maskstore_ps(act + f, mask, _mm256_mul_ps(silu, u));
        }
    }
}

void swiglu_backward(struct queue *queue, real *dgate_up, real *act, const real *dact, const real *gate_up, int64_t rows,
                     int64_t intermediate)
{
    ASSERT(rows >= 1 && intermediate >= 1);
    int64_t begin = queue_begin(queue);
    struct gate g = { .act = act, .dgate_up = dgate_up, .dact = dact, .gate_up = gate_up, .rows = rows, .intermediate = intermediate };
    team_run(queue->team, (rows + ROWS_A_TASK - 1) / ROWS_A_TASK, backward_rows, &g);
    queue_end(queue, TIME_KERNEL, begin);
}

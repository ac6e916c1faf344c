/* swiglu.c: the gated activation of the MLP, and its gradient (kernels.h). Steady. */
#include "kernels/host/simd.h"
#include "kernels/kernels.h"

enum { ROWS_A_TASK = 8 };

struct gate {
    float *act, *dgate_up;
    const float *dact, *gate_up;
    int64_t rows, intermediate;
};

static inline __m256 sigmoid(__m256 x)
{
    const __m256 one = _mm256_set1_ps(1.0f);
    return _mm256_div_ps(one, _mm256_add_ps(one, simd_exp(_mm256_sub_ps(_mm256_setzero_ps(), x))));
}

static inline __m256 gated(__m256 gate, __m256 up)
{
    return _mm256_mul_ps(_mm256_mul_ps(gate, sigmoid(gate)), up);
}

static void forward_rows(void *argument, int64_t index)
{
    const struct gate *g = argument;
    int64_t end = (index + 1) * ROWS_A_TASK < g->rows ? (index + 1) * ROWS_A_TASK : g->rows;
    for (int64_t row = index * ROWS_A_TASK; row < end; row++) {
        const float *gate = g->gate_up + row * 2 * g->intermediate, *up = gate + g->intermediate;
        float *act = g->act + row * g->intermediate;
        int64_t f = 0;
        for (; f + LANES <= g->intermediate; f += LANES)
            _mm256_storeu_ps(act + f, gated(_mm256_loadu_ps(gate + f), _mm256_loadu_ps(up + f)));
        if (f < g->intermediate) {
            __m256i rest = simd_first(g->intermediate - f);
            _mm256_maskstore_ps(act + f, rest, gated(_mm256_maskload_ps(gate + f, rest), _mm256_maskload_ps(up + f, rest)));
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

/* With s the sigmoid of the gate: dgate = d up s (1 + gate (1 - s)); dup = d gate s. */
struct slopes {
    __m256 dgate, dup, act;
};

static inline struct slopes slopes_of(__m256 gate, __m256 up, __m256 d)
{
    const __m256 one = _mm256_set1_ps(1.0f);
    __m256 s = sigmoid(gate), silu = _mm256_mul_ps(gate, s), slope = _mm256_mul_ps(s, _mm256_fmadd_ps(gate, _mm256_sub_ps(one, s), one));
    return (struct slopes){ _mm256_mul_ps(_mm256_mul_ps(d, up), slope), _mm256_mul_ps(d, silu), _mm256_mul_ps(silu, up) };
}

static void backward_rows(void *argument, int64_t index)
{
    const struct gate *g = argument;
    int64_t end = (index + 1) * ROWS_A_TASK < g->rows ? (index + 1) * ROWS_A_TASK : g->rows;
    for (int64_t row = index * ROWS_A_TASK; row < end; row++) {
        const float *gate = g->gate_up + row * 2 * g->intermediate, *up = gate + g->intermediate, *dact = g->dact + row * g->intermediate;
        float *dgate = g->dgate_up + row * 2 * g->intermediate, *dup = dgate + g->intermediate;
        float *act = g->act != NULL ? g->act + row * g->intermediate : NULL;
        int64_t f = 0;
        for (; f + LANES <= g->intermediate; f += LANES) {
            struct slopes y = slopes_of(_mm256_loadu_ps(gate + f), _mm256_loadu_ps(up + f), _mm256_loadu_ps(dact + f));
            _mm256_storeu_ps(dgate + f, y.dgate);
            _mm256_storeu_ps(dup + f, y.dup);
            if (act != NULL)
                _mm256_storeu_ps(act + f, y.act);
        }
        if (f < g->intermediate) {
            __m256i rest = simd_first(g->intermediate - f);
            struct slopes y = slopes_of(_mm256_maskload_ps(gate + f, rest), _mm256_maskload_ps(up + f, rest), _mm256_maskload_ps(dact + f, rest));
            _mm256_maskstore_ps(dgate + f, rest, y.dgate);
            _mm256_maskstore_ps(dup + f, rest, y.dup);
            if (act != NULL)
                _mm256_maskstore_ps(act + f, rest, y.act);
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

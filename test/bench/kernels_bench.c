/* kernels_bench.c: how near the host's kernels come to what the machine can do. Not a test: it prints ratios.
 *
 * usage: kernels_bench [THREADS [ROWS]]     rows of 512 tokens in a micro-batch; 2 threads and 1 row unless said
 * Shapes of SmolLM2-135M. Products: matmul_* on a team against plain sgemm calls, whole, one on each thread at the same time. Other kernels: bytes that
 * must move a second, against a triad over arrays that no cache holds. Measures are interleaved and each is the median of its repeats, because the
 * speed of a shared machine drifts. Last, a step's kernels by their counts in the model. */
#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

#undef I

enum { LAYERS = 30, HIDDEN = 576, HEADS = 9, KV_HEADS = 3, SIZE = 64, QKV = (HEADS + 2 * KV_HEADS) * SIZE, FEED = 1536, VOCABULARY = 49152 };
enum { TOKENS_A_ROW = 512, LOGIT_ROWS = 128, PARAMETERS = 134515008, REPEATS = 7, THREADS_MOST = 16, TRIAD_ELEMENTS = 1 << 24 };

static int64_t rows = 1, tokens;
static struct queue queue;
static int32_t threads = 2;

static float *array(int64_t elements)
{
    struct arena arena;
    if (arena_reserve(&arena, (elements * (int64_t)sizeof(float) + 255) / 256 * 256) != OK)
        exit(E_AGAIN);
    float *x = (float *)(void *)arena.base;
    random_uniform(x, 1, 2, 0, elements, 0.0f, 0.1f);
    return x;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x)
{
    qsort(x, REPEATS, sizeof *x, compare);
    return x[REPEATS / 2];
}

/* ---- products ---- */

enum form { FORWARD, INPUT, WEIGHT };
static const struct product {
    const char *name;
    int64_t out, in, rows, count;      /* rows 0: all tokens; count in a forward pass, 0: tokens / rows */
} products[] = {
    { "qkv", QKV, HIDDEN, 0, LAYERS },           { "o", HIDDEN, HEADS * SIZE, 0, LAYERS }, { "gate_up", 2 * FEED, HIDDEN, 0, LAYERS },
    { "down", HIDDEN, FEED, 0, LAYERS },         { "head", VOCABULARY, HIDDEN, LOGIT_ROWS, 0 },
};
static const char *const form_names[] = { "forward", "input", "weight" };

struct operands {
    float *x, *w, *y;
};

static void plain(enum form form, int64_t n, int64_t out, int64_t in, struct operands a)
{
    if (form == FORWARD)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)out, (int)in, 1, a.x, (int)in, a.w, (int)in, 0, a.y, (int)out);
    else if (form == INPUT)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)in, (int)out, 1, a.y, (int)out, a.w, (int)in, 0, a.x, (int)in);
    else
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)out, (int)in, (int)n, 1, a.y, (int)out, a.x, (int)in, 1, a.w, (int)in);
}

static void ours(enum form form, int64_t n, int64_t out, int64_t in, struct operands a)
{
    if (form == FORWARD)
        matmul_forward(&queue, a.y, a.x, a.w, NULL, n, out, in, false);
    else if (form == INPUT)
        matmul_backward_input(&queue, a.x, a.y, a.w, n, out, in, false);
    else
        matmul_backward_weight(&queue, a.w, NULL, a.y, a.x, n, out, in);
}

struct whole {
    enum form form;
    int64_t n, out, in;
    struct operands a[THREADS_MOST];
};

static void whole_task(void *argument, int64_t index)
{
    const struct whole *w = argument;
    plain(w->form, w->n, w->out, w->in, w->a[index]);
}

/* Seconds of all products of a step: ours, and the ceiling's. */
static void measure_products(double *step_ours, double *step_ceiling)
{
    struct operands a[THREADS_MOST];
    for (int32_t t = 0; t < threads; t++)
        a[t] = (struct operands){ array(tokens * 2 * FEED), array((int64_t)VOCABULARY * HIDDEN), array(tokens * 2 * FEED > (int64_t)LOGIT_ROWS * VOCABULARY ? tokens * 2 * FEED : (int64_t)LOGIT_ROWS * VOCABULARY) };
    printf("%-10s %-8s %8s %8s %6s\n", "product", "", "ours", "sgemm", "ratio");
    for (int p = 0; p < (int)ELEMENTS_OF(products); p++)
        for (enum form form = FORWARD; form <= WEIGHT; form++) {
            const struct product *s = &products[p];
            int64_t n = s->rows == 0 ? tokens : s->rows, count = s->count == 0 ? tokens / n : s->count;
            struct whole whole = { form, n, s->out, s->in, { { 0 } } };
            memcpy(whole.a, a, sizeof a);
            double own[REPEATS], ceiling[REPEATS], operations = 2.0 * (double)n * (double)s->out * (double)s->in;
            int inner = (int)(4e8 / operations) + 1;
            for (int r = 0; r < REPEATS; r++) {
                int64_t t0 = clock_ns();
                for (int i = 0; i < inner; i++)
                    ours(form, n, s->out, s->in, a[0]);
                int64_t t1 = clock_ns();
                for (int i = 0; i < inner; i++)
                    team_run(queue.team, threads, whole_task, &whole);
                own[r] = (double)(t1 - t0) * 1e-9 / inner;
                ceiling[r] = (double)(clock_ns() - t1) * 1e-9 / inner / threads;
                memset(a[0].w, 0, (size_t)(s->out * s->in) * sizeof(float));
            }
            double seconds = median(own), best = median(ceiling);
            printf("%-10s %-8s %8.1f %8.1f %6.2f\n", s->name, form_names[form], operations / seconds * 1e-9, operations / best * 1e-9, best / seconds);
            *step_ours += (double)count * seconds;
            *step_ceiling += (double)count * best;
        }
}

/* ---- the rest ---- */

static struct {
    float *big[4], *x, *y, *gate_up, *qkv, *dqkv, *o, *lse, *delta, *rope, *logits, *statistics, *gain;
    int32_t *start, *position, *target;
} m;

static struct attention shape(void)
{
    return (struct attention){ .batch = rows, .tokens = TOKENS_A_ROW, .heads = HEADS, .kv_heads = KV_HEADS, .head_size = SIZE, .scale = 0.125f };
}

static void triad_task(void *argument, int64_t index)
{
    (void)argument;
    int64_t part = TRIAD_ELEMENTS / 64;
    float *restrict a = m.big[0] + index * part;
    const float *restrict b = m.big[1] + index * part, *restrict c = m.big[2] + index * part;
    for (int64_t i = 0; i < part; i++)
        a[i] = b[i] + 3.0f * c[i];
}

static void run_triad(void) { team_run(queue.team, 64, triad_task, NULL); }
static void run_norm(void) { rmsnorm_forward(&queue, m.y, m.statistics, m.x, m.x, m.o, m.gain, tokens, HIDDEN, 1e-5f); }
static void run_norm_backward(void) { rmsnorm_backward(&queue, m.x, m.gain + HIDDEN, m.y, m.o, m.gain, m.statistics, tokens, HIDDEN); }
static void run_norm_again(void) { rmsnorm_again(&queue, m.y, m.x, m.gain, m.statistics, tokens, HIDDEN); }
static void run_add(void) { add(&queue, m.x, m.y, tokens * HIDDEN); }
static void run_swiglu(void) { swiglu_forward(&queue, m.o, m.gate_up, tokens, FEED); }
static void run_swiglu_backward(void) { swiglu_backward(&queue, m.qkv, m.o, m.o, m.gate_up, tokens, FEED); }
static void run_rope(void) { rope_apply(&queue, m.qkv, m.rope, m.position, tokens, HEADS, KV_HEADS, SIZE, false); }
static void run_attention(void) { attention_forward(&queue, m.o, m.lse, m.qkv, m.start, shape()); }
static void run_attention_backward(void) { attention_backward(&queue, m.dqkv, m.delta, m.y, m.qkv, m.o, m.lse, m.start, shape()); }
static void run_max(void) { crossentropy_max(&queue, m.statistics, m.logits, LOGIT_ROWS, VOCABULARY, VOCABULARY); }
static void run_exponentials(void)
{
    crossentropy_exponentials(&queue, m.logits, m.statistics + LOGIT_ROWS, m.statistics + 2 * LOGIT_ROWS, m.statistics, m.target, 0, LOGIT_ROWS, VOCABULARY, VOCABULARY);
}
static void run_entropy_backward(void)
{
    crossentropy_backward(&queue, m.logits, m.statistics + LOGIT_ROWS, m.target, 0.01f, 0, LOGIT_ROWS, VOCABULARY, VOCABULARY);
}
static void run_embedding(void) { embedding_forward(&queue, m.x, m.big[0], m.target, 0, VOCABULARY, tokens, HIDDEN); }
static void run_embedding_backward(void) { embedding_backward(&queue, m.big[0], m.x, m.target, 0, VOCABULARY, tokens, HIDDEN); }
static void run_zero(void) { fill_zero(&queue, m.big[0], (int64_t)PARAMETERS * 4); }
static void run_squares(void)
{
    struct exact_sum sum = { 0 };
    sum_of_squares(&queue, &sum, m.big[3], PARAMETERS);
}
static void run_adamw(void)
{
    struct adamw a = { .learning_rate = 1e-5, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1, .gradient_scale = 1.0,
                       .correction1 = 0.1, .correction2 = 0.05 };
    adamw_update(&queue, m.big[0], m.big[1], m.big[2], m.big[3], PARAMETERS, a);
}

static void reserve(void)
{
    for (int i = 0; i < 4; i++)
        m.big[i] = array(PARAMETERS);
    memset(m.big[2], 0, (size_t)PARAMETERS * 4);
    m.x = array(tokens * HIDDEN);
    m.y = array(tokens * FEED);
    m.gate_up = array(tokens * 2 * FEED);
    m.qkv = array(tokens * 2 * FEED);
    m.dqkv = array(tokens * QKV);
    m.o = array(tokens * FEED);
    m.lse = array(tokens * HEADS);
    m.delta = array(tokens * HEADS);
    m.rope = array(TOKENS_A_ROW * SIZE);
    m.logits = array((int64_t)LOGIT_ROWS * VOCABULARY);
    m.statistics = array(tokens > 4 * LOGIT_ROWS ? tokens : 4 * LOGIT_ROWS);
    m.gain = array(2 * HIDDEN);
    m.start = (int32_t *)(void *)array(tokens);
    m.position = (int32_t *)(void *)array(tokens);
    m.target = (int32_t *)(void *)array(tokens);
    for (int64_t i = 0; i < tokens; i++) {
        m.start[i] = 0;
        m.position[i] = (int32_t)(i % TOKENS_A_ROW);
        m.target[i] = (int32_t)(i * 7919 % VOCABULARY);
    }
}

int main(int argc, char **argv)
{
    status_program("kernels_bench");
    if (argc > 1)
        threads = atoi(argv[1]);
    if (argc > 2)
        rows = atoi(argv[2]);
    if (argc > 3 || threads < 1 || threads > THREADS_MOST || rows < 1)
        return fail(E_USAGE, "usage: kernels_bench [THREADS [ROWS]]");
    tokens = rows * TOKENS_A_ROW;
    TRY(team_open(&queue.team, threads));
    matmul_open(&queue);
    reserve();
    double products_ours = 0.0, products_ceiling = 0.0;
    measure_products(&products_ours, &products_ceiling);

    /* Bytes that must move, and operations of attention: two products forward, five backward, over half the matrix. */
    int64_t nc = tokens * HIDDEN * 4, nf = tokens * FEED * 4, blocks = tokens / LOGIT_ROWS, logits = (int64_t)LOGIT_ROWS * VOCABULARY * 4;
    double pairs = 2.0 * HEADS * SIZE * (double)rows * TOKENS_A_ROW * (TOKENS_A_ROW + 1) / 2.0;
    const struct kernel {
        const char *name;
        void (*run)(void);
        int64_t bytes, count;
        double operations;
    } kernels[] = {
        { "triad", run_triad, 12LL * TRIAD_ELEMENTS, 0, 0 },
        { "rmsnorm", run_norm, 4 * nc, 2 * LAYERS + 1, 0 },
        { "  backward", run_norm_backward, 4 * nc, 2 * LAYERS + 1, 0 },
        { "  again", run_norm_again, 2 * nc, 2 * LAYERS, 0 },
        { "add", run_add, 3 * nc, LAYERS, 0 },
        { "swiglu", run_swiglu, 3 * nf, LAYERS, 0 },
        { "  backward", run_swiglu_backward, 6 * nf, LAYERS, 0 },
        { "rope", run_rope, 2 * tokens * (HEADS + KV_HEADS) * SIZE * 4, 2 * LAYERS, 0 },
        { "attention", run_attention, 0, LAYERS, 2.0 * pairs },
        { "  backward", run_attention_backward, 0, LAYERS, 5.0 * pairs },
        { "entropy max", run_max, logits, blocks, 0 },
        { "  exponent.", run_exponentials, 2 * logits, blocks, 0 },
        { "  backward", run_entropy_backward, 2 * logits, blocks, 0 },
        { "embedding", run_embedding, 2 * nc, 1, 0 },
        { "  backward", run_embedding_backward, 3 * nc, 1, 0 },
        { "fill_zero", run_zero, (int64_t)PARAMETERS * 4, 1, 0 },
        { "squares", run_squares, (int64_t)PARAMETERS * 4, 1, 0 },
        { "adamw", run_adamw, (int64_t)PARAMETERS * 28, 1, 0 },
    };
    enum { KERNELS = sizeof kernels / sizeof kernels[0] };
    static double seconds[KERNELS][REPEATS];
    for (int r = 0; r < REPEATS; r++)
        for (int k = 0; k < KERNELS; k++) {
            int inner = kernels[k].bytes < (64 << 20) ? 4 : 1;
            int64_t begin = clock_ns();
            for (int i = 0; i < inner; i++)
                kernels[k].run();
            seconds[k][r] = (double)(clock_ns() - begin) * 1e-9 / inner;
        }
    double sum = 0.0, attention = 0.0, triad = 0.0;
    printf("\n%-12s %10s %12s %8s\n", "kernel", "a step, ms", "", "of triad");
    for (int k = 0; k < KERNELS; k++) {
        double s = median(seconds[k]), rate = (double)kernels[k].bytes / s * 1e-9;
        triad = k == 0 ? rate : triad;
        sum += s * (double)kernels[k].count;
        attention += kernels[k].operations > 0 ? s * (double)kernels[k].count : 0.0;
        if (kernels[k].operations > 0)
            printf("%-12s %10.2f %6.1f GFLOP/s\n", kernels[k].name, s * (double)kernels[k].count * 1e3, kernels[k].operations / s * 1e-9);
        else
            printf("%-12s %10.2f %9.1f GB/s %8.2f\n", kernels[k].name, s * (double)kernels[k].count * 1e3, rate, rate / triad);
    }
    double step = products_ours + sum;
    printf("\nproducts %.3f s, %.2f of the sgemm ceiling; other kernels %.3f s; attention %.1f %% of the step's %.3f s: %.0f tokens/s; step %.2f of the ceiling\n",
           products_ours, products_ceiling / products_ours, sum, 100.0 * attention / step, step, (double)tokens / step, products_ceiling / step);
    return 0;
}

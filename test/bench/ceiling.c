/* ceiling.c: what OpenBLAS's sgemm alone reaches at a model's own shapes, as the ceiling that a training step is held against.
 *
 * usage: ceiling HIDDEN LAYERS QKV ATTENTION INTERMEDIATE VOCABULARY TOKENS THREADS
 * Every product of one forward and backward pass (forward, input gradient, weight gradient), whole, each thread its own copy. Shapes that
 * recur in every layer are timed once and counted LAYERS times. Prints the rate of the whole pass over all threads, in GFLOP/s. */
#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "platform/platform.h"

struct product {
    int64_t out, in, count;
};
enum { PRODUCTS_MOST = 8, REPEATS = 3 };

static struct product product[PRODUCTS_MOST];
static int64_t products, tokens;
static pthread_barrier_t together;

/* Fastest of REPEATS for one product in the given form, with all threads at work. */
static double best_ns(int form, int64_t out, int64_t in, float *x, float *w, float *y)
{
    double best = 1e30;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        pthread_barrier_wait(&together);
        int64_t begin = clock_ns();
        if (form == 0)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)tokens, (int)out, (int)in, 1, x, (int)in, w, (int)in, 0, y, (int)out);
        else if (form == 1)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)tokens, (int)in, (int)out, 1, y, (int)out, w, (int)in, 0, x, (int)in);
        else
            cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)out, (int)in, (int)tokens, 1, y, (int)out, x, (int)in, 1, w, (int)in);
        double ns = (double)(clock_ns() - begin);
        best = ns < best ? ns : best;
    }
    return best;
}

static void *measure(void *argument)
{
    double *total_ns = argument;
    for (int64_t p = 0; p < products; p++) {
        int64_t out = product[p].out, in = product[p].in;
        float *x = malloc((size_t)(tokens * in) * sizeof *x), *w = malloc((size_t)(out * in) * sizeof *w);
        float *y = malloc((size_t)(tokens * out) * sizeof *y);
        /* Small numbers of both signs, so that repeated accumulation neither overflows nor becomes denormal. */
        for (int64_t i = 0; i < tokens * in; i++)
            x[i] = (float)(i % 7 - 3) * 0.01f;
        for (int64_t i = 0; i < out * in; i++)
            w[i] = (float)(i % 5 - 2) * 0.01f;
        for (int64_t i = 0; i < tokens * out; i++)
            y[i] = (float)(i % 3 - 1) * 0.01f;
        for (int form = 0; form < 3; form++)
            *total_ns += (double)product[p].count * best_ns(form, out, in, x, w, y);
        free(x);
        free(w);
        free(y);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    status_program("ceiling");
    if (argc != 9)
        return fail(E_USAGE, "usage: ceiling HIDDEN LAYERS QKV ATTENTION INTERMEDIATE VOCABULARY TOKENS THREADS");
    int64_t n[9];
    for (int i = 1; i < 9; i++)
        n[i] = atoll(argv[i]);
    struct product all[] = { { n[3], n[1], n[2] }, { n[1], n[4], n[2] }, { 2 * n[5], n[1], n[2] }, { n[1], n[5], n[2] }, { n[6], n[1], 1 } };
    double operations = 0.0, slowest = 0.0, ns[64] = { 0 };
    tokens = n[7];
    products = ELEMENTS_OF(all);
    for (int64_t p = 0; p < products; p++) {
        product[p] = all[p];
        operations += 3.0 * 2.0 * (double)all[p].count * (double)tokens * (double)all[p].out * (double)all[p].in;
    }
    int threads = (int)n[8];
    pthread_t thread[64];
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (int t = 0; t < threads; t++)
        pthread_create(&thread[t], NULL, measure, &ns[t]);
    for (int t = 0; t < threads; t++) {
        pthread_join(thread[t], NULL);
        slowest = ns[t] > slowest ? ns[t] : slowest;
    }
    printf("%.1f\n", operations * threads / slowest);
    return 0;
}

/* matmul.c: see matmul.h. */
#include "test/reference/matmul.h"

#include <stddef.h>

void reference_matmul_forward(double *y, const double *x, const double *w, const double *bias, int64_t rows, int64_t out, int64_t in)
{
    for (int64_t n = 0; n < rows; n++)
        for (int64_t o = 0; o < out; o++) {
            double sum = bias != NULL ? bias[o] : 0.0;
            for (int64_t c = 0; c < in; c++)
                sum += x[n * in + c] * w[o * in + c];
            y[n * out + o] = sum;
        }
}

void reference_matmul_backward_input(double *dx, const double *dy, const double *w, int64_t rows, int64_t out, int64_t in)
{
    for (int64_t n = 0; n < rows; n++)
        for (int64_t c = 0; c < in; c++) {
            double sum = 0.0;
            for (int64_t o = 0; o < out; o++)
                sum += dy[n * out + o] * w[o * in + c];
            dx[n * in + c] = sum;
        }
}

void reference_matmul_backward_weight(double *dw, double *dbias, const double *dy, const double *x, int64_t rows, int64_t out, int64_t in)
{
    for (int64_t o = 0; o < out; o++) {
        for (int64_t c = 0; c < in; c++) {
            double sum = 0.0;
            for (int64_t n = 0; n < rows; n++)
                sum += dy[n * out + o] * x[n * in + c];
            dw[o * in + c] = sum;
        }
        double sum = 0.0;
        for (int64_t n = 0; n < rows; n++)
            sum += dy[n * out + o];
        dbias[o] = sum;
    }
}

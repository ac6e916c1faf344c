/* matmul.h: the three products of kernels.h in fp64, by their definition. Outputs are written, not added to. Magnitudes of the sums' terms: call
 * them with absolute values. */
#ifndef TEST_REFERENCE_MATMUL_H
#define TEST_REFERENCE_MATMUL_H

#include <stdint.h>

void reference_matmul_forward(double *y, const double *x, const double *w, const double *bias, int64_t rows, int64_t out, int64_t in);
void reference_matmul_backward_input(double *dx, const double *dy, const double *w, int64_t rows, int64_t out, int64_t in);
void reference_matmul_backward_weight(double *dw, double *dbias, const double *dy, const double *x, int64_t rows, int64_t out, int64_t in);

#endif

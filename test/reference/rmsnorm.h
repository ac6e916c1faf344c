/* rmsnorm.h: root-mean-square norm in fp64 (Zhang and Sennrich 2019, equation 4), and its gradient. */
#ifndef TEST_REFERENCE_RMSNORM_H
#define TEST_REFERENCE_RMSNORM_H

#include <stdint.h>

void reference_rmsnorm_forward(double *y, double *rstd, const double *x, const double *gain, int64_t rows, int64_t hidden, double epsilon);

/* dx and dgain are written; the magnitudes are the sums of their terms' absolute values. */
void reference_rmsnorm_backward(double *dx, double *dx_magnitude, double *dgain, double *dgain_magnitude, const double *dy, const double *x,
                                const double *gain, int64_t rows, int64_t hidden, double epsilon);

#endif

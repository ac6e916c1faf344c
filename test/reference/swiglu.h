/* swiglu.h: the gated activation in fp64 (Shazeer 2020, equation 6), and its gradient. */
#ifndef TEST_REFERENCE_SWIGLU_H
#define TEST_REFERENCE_SWIGLU_H

#include <stdint.h>

void reference_swiglu_forward(double *act, const double *gate_up, int64_t rows, int64_t intermediate);
void reference_swiglu_backward(double *dgate_up, const double *dact, const double *gate_up, int64_t rows, int64_t intermediate);

#endif

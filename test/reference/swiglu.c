/* swiglu.c: see swiglu.h. */
#include "test/reference/swiglu.h"

#include <math.h>

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

void reference_swiglu_forward(double *act, const double *gate_up, int64_t rows, int64_t intermediate)
{
    for (int64_t n = 0; n < rows; n++)
        for (int64_t f = 0; f < intermediate; f++) {
            double gate = gate_up[n * 2 * intermediate + f], up = gate_up[n * 2 * intermediate + intermediate + f];
            act[n * intermediate + f] = gate * sigmoid(gate) * up;
        }
}

void reference_swiglu_backward(double *dgate_up, const double *dact, const double *gate_up, int64_t rows, int64_t intermediate)
{
    for (int64_t n = 0; n < rows; n++)
        for (int64_t f = 0; f < intermediate; f++) {
            double gate = gate_up[n * 2 * intermediate + f], up = gate_up[n * 2 * intermediate + intermediate + f];
            double d = dact[n * intermediate + f], s = sigmoid(gate);
            dgate_up[n * 2 * intermediate + f] = d * up * (s + gate * s * (1.0 - s));
            dgate_up[n * 2 * intermediate + intermediate + f] = d * gate * s;
        }
}

/* rmsnorm.c: see rmsnorm.h. */
#include "test/reference/rmsnorm.h"

#include <math.h>

static double rstd_of(const double *x, int64_t hidden, double epsilon)
{
    double squares = 0.0;
    for (int64_t c = 0; c < hidden; c++)
        squares += x[c] * x[c];
    return 1.0 / sqrt(squares / (double)hidden + epsilon);
}

void reference_rmsnorm_forward(double *y, double *rstd, const double *x, const double *gain, int64_t rows, int64_t hidden, double epsilon)
{
    for (int64_t n = 0; n < rows; n++) {
        rstd[n] = rstd_of(x + n * hidden, hidden, epsilon);
        for (int64_t c = 0; c < hidden; c++)
            y[n * hidden + c] = gain[c] * x[n * hidden + c] * rstd[n];
    }
}

/* y_c = g_c x_c r with r = (mean x^2 + e)^(-1/2), so dr/dx_k = -r^3 x_k / C, and
 * dx_k = g_k dy_k r - r^3 x_k / C * sum_c g_c dy_c x_c. */
void reference_rmsnorm_backward(double *dx, double *dx_magnitude, double *dgain, double *dgain_magnitude, const double *dy, const double *x,
                                const double *gain, int64_t rows, int64_t hidden, double epsilon)
{
    for (int64_t c = 0; c < hidden; c++)
        dgain[c] = dgain_magnitude[c] = 0.0;
    for (int64_t n = 0; n < rows; n++, dx += hidden, dx_magnitude += hidden, dy += hidden, x += hidden) {
        double r = rstd_of(x, hidden, epsilon), sum = 0.0, magnitude = 0.0;
        for (int64_t c = 0; c < hidden; c++) {
            sum += gain[c] * dy[c] * x[c];
            magnitude += fabs(gain[c] * dy[c] * x[c]);
        }
        for (int64_t k = 0; k < hidden; k++) {
            dx[k] = gain[k] * dy[k] * r - r * r * r * x[k] / (double)hidden * sum;
            dx_magnitude[k] = fabs(gain[k] * dy[k] * r) + fabs(r * r * r * x[k] / (double)hidden * magnitude);
            dgain[k] += dy[k] * x[k] * r;
            dgain_magnitude[k] += fabs(dy[k] * x[k] * r);
        }
    }
}

/* rope.c: see rope.h. */
#include "test/reference/rope.h"

#include <complex.h>

void reference_rope_apply(double *qkv, const double *frequency, double factor, const int32_t *position, int64_t tokens, int64_t heads,
                          int64_t values, int64_t head_size, double sign)
{
    for (int64_t n = 0; n < tokens; n++)
        for (int64_t h = 0; h < heads; h++)
            for (int64_t d = 0; d < head_size / 2; d++) {
                double *x = qkv + (n * (heads + values) + h) * head_size + d, *y = x + head_size / 2;
                double angle = sign * position[n] * frequency[d];
                double complex turned = (*x + *y * I) * factor * cexp(angle * I);
                *x = creal(turned);
                *y = cimag(turned);
            }
}

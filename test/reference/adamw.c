/* adamw.c: see adamw.h. */
#include "test/reference/adamw.h"

#include <math.h>

void reference_adamw(double *w, double *m, double *v, double g, const struct reference_adamw *a)
{
    g *= a->gradient_scale;
    *w -= a->learning_rate * a->weight_decay * *w;
    *m = a->beta1 * *m + (1.0 - a->beta1) * g;
    *v = a->beta2 * *v + (1.0 - a->beta2) * g * g;
    double m_hat = *m / (1.0 - pow(a->beta1, a->step)), v_hat = *v / (1.0 - pow(a->beta2, a->step));
    *w -= a->learning_rate * m_hat / (sqrt(v_hat) + a->epsilon);
}

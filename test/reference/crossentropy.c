/* crossentropy.c: see crossentropy.h. */
#include "test/reference/crossentropy.h"

#include <math.h>

void reference_crossentropy(double *loss, double *hit, double *dlogits, const double *logits, const int32_t *target, double scale, int64_t rows,
                            int64_t vocabulary)
{
    for (int64_t r = 0; r < rows; r++, logits += vocabulary, dlogits += vocabulary) {
        double max = -INFINITY, sum = 0.0;
        for (int64_t v = 0; v < vocabulary; v++)
            max = fmax(max, logits[v]);
        for (int64_t v = 0; v < vocabulary; v++)
            sum += exp(logits[v] - max);
        loss[r] = hit[r] = 0.0;
        for (int64_t v = 0; v < vocabulary; v++)
            dlogits[v] = target[r] < 0 ? 0.0 : exp(logits[v] - max) / sum * scale;
        if (target[r] < 0)
            continue;
        loss[r] = log(sum) + max - logits[target[r]];
        hit[r] = logits[target[r]] == max ? 1.0 : 0.0;
        dlogits[target[r]] -= scale;
    }
}

/* crossentropy.h: loss of whole rows of logits in fp64, and the gradient; no shards, no two passes. */
#ifndef TEST_REFERENCE_CROSSENTROPY_H
#define TEST_REFERENCE_CROSSENTROPY_H

#include <stdint.h>

/* loss, hit [rows]; dlogits [rows, vocabulary] is the gradient of scale * (sum of the losses). target -1: no loss. */
void reference_crossentropy(double *loss, double *hit, double *dlogits, const double *logits, const int32_t *target, double scale, int64_t rows,
                            int64_t vocabulary);

#endif

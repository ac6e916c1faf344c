/* embedding.h: table look-up and its gradient, by their definition. */
#ifndef TEST_REFERENCE_EMBEDDING_H
#define TEST_REFERENCE_EMBEDDING_H

#include <stdint.h>

void reference_embedding_forward(double *y, const double *table, const int32_t *token, int64_t first, int64_t rows, int64_t tokens,
                                 int64_t hidden);
/* dtable is written. */
void reference_embedding_backward(double *dtable, const double *dy, const int32_t *token, int64_t first, int64_t rows, int64_t tokens,
                                  int64_t hidden);

#endif

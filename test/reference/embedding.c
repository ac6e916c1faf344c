/* embedding.c: see embedding.h. */
#include "test/reference/embedding.h"

void reference_embedding_forward(double *y, const double *table, const int32_t *token, int64_t first, int64_t rows, int64_t tokens,
                                 int64_t hidden)
{
    for (int64_t n = 0; n < tokens; n++)
        for (int64_t c = 0; c < hidden; c++) {
            y[n * hidden + c] = 0.0;
            for (int64_t row = 0; row < rows; row++)
                if (first + row == token[n])
                    y[n * hidden + c] = table[row * hidden + c];
        }
}

void reference_embedding_backward(double *dtable, const double *dy, const int32_t *token, int64_t first, int64_t rows, int64_t tokens,
                                  int64_t hidden)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < hidden; c++) {
            dtable[row * hidden + c] = 0.0;
            for (int64_t n = 0; n < tokens; n++)
                if (first + row == token[n])
                    dtable[row * hidden + c] += dy[n * hidden + c];
        }
}

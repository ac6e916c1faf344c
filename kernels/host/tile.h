/* tile.h: small matrix products for attention, on operands that lie in the cache. Steady.
 *
 * c[i,j] (+)= sum_k a(i,k) * b[k,j]: a by two strides, so that it may be transposed; rows of b and c are contiguous. OpenBLAS packs operands in
 * each call, which costs as much as the product itself at 64 x 64 x 64. (1) The sum runs over k in index order for every element, wherever it
 * lies in a tile. */
#ifndef KERNELS_HOST_TILE_H
#define KERNELS_HOST_TILE_H

#include "kernels/host/simd.h"

struct operand {
    const float *at;
    int64_t row, column;      /* strides, in elements */
};

/* Rows (a constant, at most 6) by 16 columns, of which the first `columns` are real. */
__attribute__((always_inline)) static inline void tile_rows(const int rows, float *c, int64_t c_row, struct operand a, const float *b, int64_t b_row,
                                                            int64_t columns, int64_t depth, bool accumulate)
{
    __m256 left[6], right[6];
    __m256i mask_left = simd_first(columns < LANES ? columns : LANES), mask_right = simd_first(columns - LANES);
    bool whole = columns == 2 * LANES;
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        left[i] = accumulate ? _mm256_maskload_ps(c + i * c_row, mask_left) : _mm256_setzero_ps();
        right[i] = accumulate ? _mm256_maskload_ps(c + i * c_row + LANES, mask_right) : _mm256_setzero_ps();
    }
    for (int64_t k = 0; k < depth; k++) {
        __m256 b_left = whole ? _mm256_loadu_ps(b + k * b_row) : _mm256_maskload_ps(b + k * b_row, mask_left);
        __m256 b_right = whole ? _mm256_loadu_ps(b + k * b_row + LANES) : _mm256_maskload_ps(b + k * b_row + LANES, mask_right);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            __m256 x = _mm256_broadcast_ss(a.at + i * a.row + k * a.column);
            left[i] = _mm256_fmadd_ps(x, b_left, left[i]);
            right[i] = _mm256_fmadd_ps(x, b_right, right[i]);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        _mm256_maskstore_ps(c + i * c_row, mask_left, left[i]);
        _mm256_maskstore_ps(c + i * c_row + LANES, mask_right, right[i]);
    }
}

/* c [rows, columns] with row stride c_row; b [depth, columns] with row stride b_row. */
static inline void tile_product(float *c, int64_t c_row, struct operand a, const float *b, int64_t b_row, int64_t rows, int64_t columns,
                                int64_t depth, bool accumulate)
{
    for (int64_t j = 0; j < columns; j += 2 * LANES) {
        int64_t width = columns - j < 2 * LANES ? columns - j : 2 * LANES;
        for (int64_t i = 0; i < rows; i += 6) {
            struct operand part = { a.at + i * a.row, a.row, a.column };
            float *to = c + i * c_row + j;
            switch (rows - i < 6 ? rows - i : 6) {
            case 1: tile_rows(1, to, c_row, part, b + j, b_row, width, depth, accumulate); break;
            case 2: tile_rows(2, to, c_row, part, b + j, b_row, width, depth, accumulate); break;
            case 3: tile_rows(3, to, c_row, part, b + j, b_row, width, depth, accumulate); break;
            case 4: tile_rows(4, to, c_row, part, b + j, b_row, width, depth, accumulate); break;
            case 5: tile_rows(5, to, c_row, part, b + j, b_row, width, depth, accumulate); break;
            default: tile_rows(6, to, c_row, part, b + j, b_row, width, depth, accumulate); break;
            }
        }
    }
}

/* to [columns, rows] with row stride to_row = from [rows, columns] with row stride from_row, turned over and multiplied by factor. */
static inline void tile_transpose(float *to, int64_t to_row, const float *from, int64_t from_row, int64_t rows, int64_t columns, float factor)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[j * to_row + i] = from[i * from_row + j] * factor;
}

#endif

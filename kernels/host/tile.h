/* tile.h: small matrix products for attention, on operands that lie in the cache. Steady.
 *
 * c[i,j] (+)= sum_k a(i,k) * b[k,j]; rows of b and c are contiguous. Six rows by sixteen columns are kept in twelve registers: per step of k two
 * loads of b and six broadcasts of a feed twelve multiply-adds, so that the multipliers are the limit. OpenBLAS packs operands in each call, which
 * costs as much as the product itself at 64 x 64 x 64.
 * (1) The sum runs over k in index order for every element, wherever it lies in a tile. */
#ifndef KERNELS_HOST_TILE_H
#define KERNELS_HOST_TILE_H

#include "kernels/host/simd.h"

enum { TILE_ROWS = 6, TILE_COLUMNS = 2 * LANES };

/* a(i,k) is at[i * stride + k], or at[k * stride + i]. */
enum tile_side { BY_ROWS, BY_COLUMNS };

/* rows (a constant, at most 6) by 16 columns, of which the first `columns` are real where the tile is not whole. */
__attribute__((always_inline)) static inline void tile_part(const int rows, const enum tile_side side, const bool whole, float *c, int64_t c_row,
                                                            const float *a, int64_t a_stride, const float *b, int64_t b_row, int64_t columns,
                                                            int64_t depth, bool accumulate)
{
    __m256 left[TILE_ROWS], right[TILE_ROWS];
    const __m256i mask_left = simd_first(columns < LANES ? columns : LANES), mask_right = simd_first(columns - LANES);
    if (accumulate) {
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            left[i] = whole ? _mm256_loadu_ps(c + i * c_row) : _mm256_maskload_ps(c + i * c_row, mask_left);
            right[i] = whole ? _mm256_loadu_ps(c + i * c_row + LANES) : _mm256_maskload_ps(c + i * c_row + LANES, mask_right);
        }
    } else {
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++)
            left[i] = right[i] = _mm256_setzero_ps();
    }
    /* Two pointers with one stride reach six rows by the processor's scaled addresses. */
    const float *a0 = a, *a3 = a + 3 * a_stride;
#pragma GCC unroll 2
    for (int64_t k = 0; k < depth; k++) {
        __m256 b_left = whole ? _mm256_loadu_ps(b) : _mm256_maskload_ps(b, mask_left);
        __m256 b_right = whole ? _mm256_loadu_ps(b + LANES) : _mm256_maskload_ps(b + LANES, mask_right);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            const float *at = side == BY_COLUMNS ? a0 + i : i < 3 ? a0 + i * a_stride : a3 + (i - 3) * a_stride;
            __m256 x = _mm256_broadcast_ss(at);
            left[i] = _mm256_fmadd_ps(x, b_left, left[i]);
            right[i] = _mm256_fmadd_ps(x, b_right, right[i]);
        }
        b += b_row;
        a0 += side == BY_COLUMNS ? a_stride : 1;
        a3 += 1;
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        if (whole) {
            _mm256_storeu_ps(c + i * c_row, left[i]);
            _mm256_storeu_ps(c + i * c_row + LANES, right[i]);
        } else {
            _mm256_maskstore_ps(c + i * c_row, mask_left, left[i]);
            _mm256_maskstore_ps(c + i * c_row + LANES, mask_right, right[i]);
        }
    }
}

/* How many of the rows that are left the next tile takes: six, but no tile of one to three behind one of six. */
static inline int64_t tile_rows_next(int64_t left)
{
    return left >= 10 || left == 6 ? 6 : left >= 7 ? (left + 1) / 2 : left;
}

__attribute__((always_inline)) static inline void tile_strip(const enum tile_side side, const bool whole, float *c, int64_t c_row, const float *a,
                                                             int64_t a_stride, const float *b, int64_t b_row, int64_t rows, int64_t columns,
                                                             int64_t depth, bool accumulate)
{
    for (int64_t i = 0, next; i < rows; i += next) {
        next = tile_rows_next(rows - i);
        float *to = c + i * c_row;
        const float *from = side == BY_ROWS ? a + i * a_stride : a + i;
        switch (next) {
        case 1: tile_part(1, side, whole, to, c_row, from, a_stride, b, b_row, columns, depth, accumulate); break;
        case 2: tile_part(2, side, whole, to, c_row, from, a_stride, b, b_row, columns, depth, accumulate); break;
        case 3: tile_part(3, side, whole, to, c_row, from, a_stride, b, b_row, columns, depth, accumulate); break;
        case 4: tile_part(4, side, whole, to, c_row, from, a_stride, b, b_row, columns, depth, accumulate); break;
        case 5: tile_part(5, side, whole, to, c_row, from, a_stride, b, b_row, columns, depth, accumulate); break;
        default: tile_part(6, side, whole, to, c_row, from, a_stride, b, b_row, columns, depth, accumulate); break;
        }
    }
}

/* c [rows, columns] (+)= a [rows, depth] * b [depth, columns], in strips of sixteen columns. */
static inline void tile_product(const enum tile_side side, float *c, int64_t c_row, const float *a, int64_t a_stride, const float *b, int64_t b_row,
                                int64_t rows, int64_t columns, int64_t depth, bool accumulate)
{
    int64_t j = 0;
    for (; j + TILE_COLUMNS <= columns; j += TILE_COLUMNS)
        tile_strip(side, true, c + j, c_row, a, a_stride, b + j, b_row, rows, TILE_COLUMNS, depth, accumulate);
    if (j < columns)
        tile_strip(side, false, c + j, c_row, a, a_stride, b + j, b_row, rows, columns - j, depth, accumulate);
}

/* One block of at most 8 x 8 of tile_turn; masked stores are slow, so a whole block does without. */
static inline void tile_turn_block(float *to, int64_t to_row, const float *from, int64_t from_row, int64_t rows, int64_t columns, __m256 factor)
{
    __m256 block[LANES];
    if (rows == LANES && columns == LANES) {
        for (int64_t k = 0; k < LANES; k++)
            block[k] = _mm256_mul_ps(factor, _mm256_loadu_ps(from + k * from_row));
        simd_transpose(block);
        for (int64_t k = 0; k < LANES; k++)
            _mm256_storeu_ps(to + k * to_row, block[k]);
        return;
    }
    for (int64_t k = 0; k < LANES; k++)
        block[k] = k < rows ? _mm256_mul_ps(factor, _mm256_maskload_ps(from + k * from_row, simd_first(columns))) : _mm256_setzero_ps();
    simd_transpose(block);
    for (int64_t k = 0; k < columns; k++)
        _mm256_maskstore_ps(to + k * to_row, simd_first(rows), block[k]);
}

/* to [columns, rows] with row stride to_row = from [rows, columns] with row stride from_row, turned over and multiplied by factor. */
static inline void tile_turn(float *to, int64_t to_row, const float *from, int64_t from_row, int64_t rows, int64_t columns, float factor)
{
    const __m256 f = _mm256_set1_ps(factor);
    for (int64_t i = 0; i < rows; i += LANES)
        for (int64_t j = 0; j < columns; j += LANES)
            tile_turn_block(to + j * to_row + i, to_row, from + i * from_row + j, from_row, rows - i < LANES ? rows - i : LANES,
                            columns - j < LANES ? columns - j : LANES, f);
}

#endif

/* simd.h: the pieces that several host kernels share: eight fp32 lanes of AVX2. Any phase. */
#ifndef KERNELS_HOST_SIMD_H
#define KERNELS_HOST_SIMD_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

enum { LANES = 8 };

/* Mask of the first `count` lanes (below 0: none; above 8: all), for _mm256_maskload_ps and its kin. Masked stores are slow on AMD's processors:
 * for tails only. */
static inline __m256i simd_first(int64_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* Sum of the lanes, pairs first: a fixed order. */
static inline float simd_sum(__m256 x)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/* sum of a[i] * b[i]: four vectors of sums, added in pairs, so that additions need not wait for each other. */
static inline float simd_dot(const float *a, const float *b, int64_t count)
{
    __m256 sum[4] = { _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps() };
    int64_t i = 0;
    for (; i + 4 * LANES <= count; i += 4 * LANES)
        for (int k = 0; k < 4; k++)
            sum[k] = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + k * LANES), _mm256_loadu_ps(b + i + k * LANES), sum[k]);
    for (; i + LANES <= count; i += LANES)
        sum[0] = _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), sum[0]);
    if (i < count) {
        __m256i rest = simd_first(count - i);
        sum[1] = _mm256_fmadd_ps(_mm256_maskload_ps(a + i, rest), _mm256_maskload_ps(b + i, rest), sum[1]);
    }
    return simd_sum(_mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3])));
}

/* e^x; 0 below -87.3, where the result would be no normal number, and at most e^88; NaN stays NaN (of two operands, one NaN, max and min
 * give the second).
 * x = n ln 2 + r with |r| <= ln 2 / 2; ln 2 in two parts, so that r keeps its bits; e^r by its Taylor series to r^7, whose rest is below
 * 0.347^8 / 8! = 5e-9: the error is that of the roundings, about 1 ulp. */
static inline __m256 simd_exp(__m256 x)
{
    const __m256 lowest = _mm256_set1_ps(-87.3f);
    __m256 normal = _mm256_cmp_ps(x, lowest, _CMP_NLT_UQ);
    x = _mm256_min_ps(_mm256_set1_ps(88.0f), _mm256_max_ps(lowest, x));
    __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(0x1.715476p0f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0x1.62ep-1f), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0x1.0bfbe8p-15f), r);
    __m256 e = _mm256_set1_ps(1.0f / 5040);
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0f / 720));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0f / 120));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0f / 24));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0f / 6));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(0.5f));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0f));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0f));
    __m256i scale = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_and_ps(_mm256_mul_ps(e, _mm256_castsi256_ps(scale)), normal);
}

/* 2^x; about 1e-38 below -126, and at most 2^127; NaN stays NaN. For scores that were multiplied by log2(e) beforehand.
 * x = n + r with |r| <= 1/2: adding 1.5 * 2^23 + 127 rounds to a whole number and leaves n + 127 in the low bits. 2^r by the Taylor series of e^(r ln 2) to
 * r^7, whose rest is below 5e-9: the error is that of the roundings, about 1 ulp. */
static inline __m256 simd_exp2(__m256 x)
{
    const __m256 shift = _mm256_set1_ps(0x1.8p23f + 127.0f);
    x = _mm256_min_ps(_mm256_set1_ps(127.0f), _mm256_max_ps(_mm256_set1_ps(-126.0f), x));
    __m256 n = _mm256_add_ps(x, shift), r = _mm256_sub_ps(x, _mm256_sub_ps(n, shift));
    __m256 e = _mm256_set1_ps(0x1.ffcbfcp-17f);                             /* ln(2)^7 / 5040 */
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(0x1.430912p-13f));             /* ln(2)^6 / 720 */
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(0x1.5d87fep-10f));             /* ln(2)^5 / 120 */
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(0x1.3b2ab6p-7f));              /* ln(2)^4 / 24 */
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(0x1.c6b08ep-5f));              /* ln(2)^3 / 6 */
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(0x1.ebfbep-3f));               /* ln(2)^2 / 2 */
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(0x1.62e43p-1f));               /* ln(2) */
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0f));
    return _mm256_mul_ps(e, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(n), 23)));
}

/* Eight vectors as the rows of a matrix, turned over. */
static inline void simd_transpose(__m256 row[LANES])
{
    __m256 pair[LANES], four[LANES];
    for (int i = 0; i < LANES; i += 2) {
        pair[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
        pair[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4)
        for (int j = 0; j < 2; j++) {
            four[i + 2 * j] = _mm256_shuffle_ps(pair[i + j], pair[i + 2 + j], 0x44);
            four[i + 2 * j + 1] = _mm256_shuffle_ps(pair[i + j], pair[i + 2 + j], 0xee);
        }
    for (int i = 0; i < 4; i++) {
        row[i] = _mm256_permute2f128_ps(four[i], four[i + 4], 0x20);
        row[i + 4] = _mm256_permute2f128_ps(four[i], four[i + 4], 0x31);
    }
}

/* The part [*begin, *end) of [0, count) that task index of `tasks` owns, in whole multiples of `grain` but for the last. */
static inline void simd_part(int64_t count, int64_t grain, int64_t tasks, int64_t index, int64_t *begin, int64_t *end)
{
    int64_t grains = (count + grain - 1) / grain;
    *begin = grains * index / tasks * grain;
    *end = grains * (index + 1) / tasks * grain;
    *end = *end < count ? *end : count;
}

#endif

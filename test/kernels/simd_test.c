/* simd_test.c: the exponential that softmax, cross-entropy and SwiGLU share. */
#include "kernels/host/simd.h"
#include "test/test.h"

static float exp_of(float x)
{
    float lane[LANES];
    _mm256_storeu_ps(lane, simd_exp(_mm256_set1_ps(x)));
    for (int i = 1; i < LANES; i++)
        EXPECT(memcmp(&lane[i], &lane[0], sizeof lane[0]) == 0);
    return lane[0];
}

TEST(exp_is_within_two_units_in_the_last_place)
{   /* Every 61st fp32 number from 88 down to -87.3, through both signs: about 35 million steps would be all. */
    double worst = 0.0;
    for (uint32_t bits = 0; bits < 0x42b00000; bits += 61) {
        float x;
        memcpy(&x, &bits, sizeof x);
        for (int sign = 0; sign < 2; sign++, x = -x) {
            if (x < -87.3f)
                continue;
            double right = exp((double)x), ulp = ldexp(1.0, ilogb(right) - 23);
            float lane[LANES];
            _mm256_storeu_ps(lane, simd_exp(_mm256_set1_ps(x)));
            double error = fabs((double)lane[0] - right) / ulp;
            worst = error > worst ? error : worst;
        }
    }
    EXPECT_NEAR(worst, 0.0, 2.0);
}

TEST(exp_keeps_the_edges)
{
    EXPECT(exp_of(0.0f) == 1.0f);
    EXPECT(exp_of(-0.0f) == 1.0f);
    EXPECT(exp_of(-87.31f) == 0.0f);
    EXPECT(exp_of(-1e30f) == 0.0f);
    EXPECT(exp_of(-INFINITY) == 0.0f);
    EXPECT(isnan(exp_of(NAN)));
    EXPECT(isnan(exp_of(-NAN)));
    EXPECT_NEAR(exp_of(1e30f) / expf(88.0f), 1.0, 1e-6);
    EXPECT_NEAR(exp_of(INFINITY) / expf(88.0f), 1.0, 1e-6);
}

TEST(exp2_is_within_two_units_in_the_last_place)
{
    double worst = 0.0;
    for (uint32_t bits = 0; bits < 0x42fc0000; bits += 61) {      /* below 126 */
        float x;
        memcpy(&x, &bits, sizeof x);
        for (int sign = 0; sign < 2; sign++, x = -x) {
            double right = exp2((double)x), ulp = ldexp(1.0, ilogb(right) - 23);
            float lane[LANES];
            _mm256_storeu_ps(lane, simd_exp2(_mm256_set1_ps(x)));
            double error = fabs((double)lane[0] - right) / ulp;
            worst = error > worst ? error : worst;
        }
    }
    EXPECT_NEAR(worst, 0.0, 2.0);
}

TEST(exp2_keeps_the_edges)
{
    static const float x[LANES] = { 0.0f, -126.0f, -1e30f, -INFINITY, NAN, 127.0f, 1e30f, -3.0f };
    float y[LANES];
    _mm256_storeu_ps(y, simd_exp2(_mm256_loadu_ps(x)));
    EXPECT(y[0] == 1.0f && y[1] == 0x1p-126f && y[2] == 0x1p-126f && y[3] == 0x1p-126f);
    EXPECT(isnan(y[4]) && y[5] == 0x1p127f && y[6] == 0x1p127f && y[7] == 0.125f);
}

TEST(eight_rows_are_turned_over)
{
    float x[LANES][LANES], y[LANES][LANES];
    __m256 row[LANES];
    for (int i = 0; i < LANES; i++) {
        for (int j = 0; j < LANES; j++)
            x[i][j] = (float)(i * LANES + j);
        row[i] = _mm256_loadu_ps(x[i]);
    }
    simd_transpose(row);
    for (int i = 0; i < LANES; i++)
        _mm256_storeu_ps(y[i], row[i]);
    for (int i = 0; i < LANES; i++)
        for (int j = 0; j < LANES; j++)
            EXPECT(y[i][j] == x[j][i]);
}

TEST(masks_cover_the_first_lanes)
{
    for (int count = 0; count <= LANES; count++) {
        int32_t lane[LANES];
        _mm256_storeu_si256((__m256i *)(void *)lane, simd_first(count));
        for (int i = 0; i < LANES; i++)
            EXPECT_EQ(lane[i], i < count ? -1 : 0);
    }
}

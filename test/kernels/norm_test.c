/* norm_test.c: the sum of squares that has no order. */
#include "test/reference/arrays.h"
#include "test/test.h"

static bool same(struct exact_sum a, struct exact_sum b)
{
    return a.low == b.low && a.high == b.high && a.bad == b.bad;
}

static struct exact_sum sum_by(struct queue *queue, const float *x, int64_t elements)
{
    struct exact_sum sum = { 0 };
    sum_of_squares(queue, &sum, x, elements);
    return sum;
}

/* A block's fp64 sum rounds at most 64 times, relative 2^-53 each; turning it into a whole number of 2^-70 cuts less than 2^-70 a block; the
 * last conversion rounds twice. */
TEST(sum_equals_fp64_at_any_length)
{
    static const int64_t lengths[] = { 1, 2, 3, 63, 64, 65, 127, 1000, 32768, 32769, 100003 };
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(lengths); i++) {
        float *x = array_random(lengths[i], &state);
        long double right = 0.0L;
        for (int64_t j = 0; j < lengths[i]; j++) {
            x[j] = ldexpf(x[j], (int)(test_random(&state) % 40) - 20);
            right += (long double)x[j] * x[j];
        }
        struct exact_sum sum = sum_by(queue_of(1), x, lengths[i]);
        double blocks = (double)(lengths[i] + 63) / 64;
        EXPECT_NEAR(exact_sum_value(&sum), (double)right, (double)right * 68.0 * 0x1p-53 + blocks * 0x1p-70);
        array_free(x);
    }
}

TEST(any_split_at_blocks_on_any_team_gives_the_same_bits)
{
    enum { N = 70 * 1000 + 17 };
    uint64_t state = test_seed();
    float *x = array_random(N, &state);
    struct exact_sum whole = sum_by(queue_of(1), x, N);
    for (int t = 1; t < TEAMS; t++)
        EXPECT(same(sum_by(queue_of(team_sizes[t]), x, N), whole));
    for (int round = 0; round < 20; round++) {
        /* Parts of random length, summed from the last to the first, half of them into one sum and half through exact_sum_add. */
        struct exact_sum total = { 0 };
        int64_t end = N;
        while (end > 0) {
            int64_t blocks = 1 + (int64_t)(test_random(&state) % 400), begin = (end - 1) / 64 * 64 - (blocks - 1) * 64;
            begin = begin > 0 ? begin : 0;
            if (test_random(&state) % 2 == 0) {
                sum_of_squares(queue_of(2), &total, x + begin, end - begin);
            } else {
                struct exact_sum part = sum_by(queue_of(2), x + begin, end - begin);
                exact_sum_add(&total, &part);
            }
            end = begin;
        }
        EXPECT(same(total, whole));
    }
    array_free(x);
}

TEST(known_sums_are_exact)
{
    float x[128] = { 3.0f, 4.0f };
    x[64] = 0x1p-30f;
    struct exact_sum sum = sum_by(queue_of(1), x, 128);
    EXPECT_EQ(sum.low, 1u << 10);                   /* 2^-60 is 2^10 units */
    EXPECT_EQ(sum.high, 25u << 6);                  /* 25 is 25 * 2^70 units */
    EXPECT(exact_sum_value(&sum) == 25.0 + 0x1p-60);
    struct exact_sum nothing = { 0 };
    EXPECT(exact_sum_value(&nothing) == 0.0);
}

TEST(what_is_no_number_or_too_large_is_bad)
{
    static const float bad[] = { NAN, INFINITY, -INFINITY, 0x1p23f * 1.1f, 3e38f };
    for (int i = 0; i < ELEMENTS_OF(bad); i++)
        for (int64_t at = 0; at < 67; at += 11) {
            float x[67] = { 1.0f };
            x[at] = bad[i];
            struct exact_sum sum = sum_by(queue_of(1), x, 67);
            EXPECT_EQ(sum.bad, 1);
            EXPECT(isnan(exact_sum_value(&sum)));
        }
    float most[64] = { 0x1p23f };     /* its square is 2^46: still good */
    struct exact_sum sum = sum_by(queue_of(1), most, 64);
    EXPECT_EQ(sum.bad, 0);
    EXPECT(exact_sum_value(&sum) == 0x1p46);
}

/* 2^128 units are 2^58: 2^12 blocks of 2^46. The sum that passes it must not come round to a small one. */
TEST(a_sum_beyond_128_bits_is_bad)
{
    enum { BLOCKS = 4096 };
    float *x = array_zero(BLOCKS * 64);
    for (int64_t b = 0; b < BLOCKS; b++)
        x[b * 64] = 0x1p23f;
    struct exact_sum below = sum_by(queue_of(2), x, (BLOCKS - 1) * 64), at = sum_by(queue_of(2), x, BLOCKS * 64);
    EXPECT(exact_sum_value(&below) == 4095.0 * 0x1p46);
    EXPECT(at.bad > 0);
    array_free(x);
}

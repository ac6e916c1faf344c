/* random_test.c: Philox against its authors' known answers; uniform numbers by counter. */
#include "test/reference/arrays.h"
#include "test/test.h"

/* Random123's kat_vectors, philox4x32 with 10 rounds: counter, key, answer; words from the lowest on. */
static const struct {
    uint32_t counter[4], key[2], answer[4];
} known[] = {
    { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
    { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff }, { 0xffffffff, 0xffffffff }, { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
    { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 }, { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
};

TEST(philox_gives_its_authors_answers)
{
    for (int i = 0; i < ELEMENTS_OF(known); i++) {
        const uint32_t *c = known[i].counter;
        struct philox seen = philox((uint64_t)known[i].key[1] << 32 | known[i].key[0], (uint64_t)c[3] << 32 | c[2], (uint64_t)c[1] << 32 | c[0]);
        for (int w = 0; w < 4; w++)
            EXPECT_EQ(seen.word[w], known[i].answer[w]);
    }
}

TEST(a_number_depends_on_its_place_alone)
{
    enum { N = 101 };
    float *whole = array_new(N), *part = array_new(N);
    random_uniform(whole, 42, 7, 1000, N, 0.5f, 0.25f);
    for (int64_t cut = 0; cut <= N; cut++) {
        random_uniform(part, 42, 7, 1000, cut, 0.5f, 0.25f);
        random_uniform(part + cut, 42, 7, 1000 + cut, N - cut, 0.5f, 0.25f);
        expect_same_bits("y", part, whole, N);
    }
    for (int64_t i = 0; i < N; i++) {
        struct philox four = philox(42, 7, (uint64_t)(1000 + i) / 4);
        float u = (float)(four.word[(1000 + i) % 4] >> 8) * 0x1p-24f, centred = u - 0.5f, scaled = 0.25f * centred, right = 0.5f + scaled;
        EXPECT(whole[i] == right);
    }
    array_free(whole);
    array_free(part);
}

/* Mean and variance of n uniform numbers: within 5 standard deviations, sqrt(1/12/n) and sqrt(1/180/n). */
TEST(numbers_are_uniform)
{
    enum { N = 1 << 20 };
    float *y = array_new(N);
    double sum = 0.0, squares = 0.0;
    random_uniform(y, test_seed(), 1, 0, N, 0.0f, 1.0f);
    for (int64_t i = 0; i < N; i++) {
        EXPECT(y[i] >= -0.5f && y[i] < 0.5f);
        sum += (double)y[i];
        squares += (double)y[i] * (double)y[i];
    }
    EXPECT_NEAR(sum / N, 0.0, 5.0 * sqrt(1.0 / 12.0 / N));
    EXPECT_NEAR(squares / N, 1.0 / 12.0, 5.0 * sqrt(1.0 / 180.0 / N));
    array_free(y);
}

TEST(seed_and_purpose_choose_other_numbers)
{
    float a[8], b[8], c[8];
    random_uniform(a, 1, 1, 0, 8, 0.0f, 1.0f);
    random_uniform(b, 2, 1, 0, 8, 0.0f, 1.0f);
    random_uniform(c, 1, 2, 0, 8, 0.0f, 1.0f);
    for (int i = 0; i < 8; i++)
        EXPECT(a[i] != b[i] && a[i] != c[i] && b[i] != c[i]);
}

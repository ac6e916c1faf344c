/* The order of rows is a permutation, a pure function of (seed, epoch), and differs between epochs and seeds. */
#include "run/order.h"
#include "test/test.h"

static bool is_permutation(uint64_t seed, int64_t epoch, int64_t rows)
{
    uint8_t *seen = calloc(1, (size_t)rows);
    bool good = true;
    for (int64_t position = 0; position < rows; position++) {
        int64_t row = order_row(seed, epoch, position, rows);
        good = good && row >= 0 && row < rows && !seen[row]++;
    }
    free(seen);
    return good;
}

TEST(every_row_comes_once_an_epoch)
{
    for (int64_t rows = 1; rows <= 70; rows++)
        EXPECT(is_permutation(42, rows % 3, rows));
    EXPECT(is_permutation(7, 1, 65536));
    EXPECT(is_permutation(7, 1, 65537));
}

static int64_t agreements(uint64_t seed_a, int64_t epoch_a, uint64_t seed_b, int64_t epoch_b, int64_t rows)
{
    int64_t same = 0;
    for (int64_t position = 0; position < rows; position++)
        same += order_row(seed_a, epoch_a, position, rows) == order_row(seed_b, epoch_b, position, rows);
    return same;
}

TEST(epochs_and_seeds_differ)
{
    /* Two random permutations agree in one place on average, in ten or more with a chance of about 1e-7 (Poisson). */
    EXPECT(agreements(42, 0, 42, 1, 1000) < 10);
    EXPECT(agreements(42, 0, 43, 0, 1000) < 10);
    EXPECT_EQ(agreements(42, 5, 42, 5, 1000), 1000);
}

TEST(neighbours_do_not_stay_together)
{
    int64_t rows = 1000, adjacent = 0;
    for (int64_t position = 1; position < rows; position++)
        adjacent += llabs(order_row(1, 0, position, rows) - order_row(1, 0, position - 1, rows)) == 1;
    /* Expected 2; ten or more with a chance of about 5e-5 for a fair shuffle, and the seed is fixed. */
    EXPECT(adjacent < 10);
}

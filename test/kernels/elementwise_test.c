/* elementwise_test.c: additions and zeros, at lengths beside the tasks' edges. */
#include "test/reference/arrays.h"
#include "test/test.h"

static const int64_t lengths[] = { 1, 7, 8, 9, 1000, 16383, 16385, 65536, 65537, 200001 };

TEST(add_adds_every_element_once)
{
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(lengths); i++)
        for (int t = 0; t < TEAMS; t++) {
            float *x = array_random(lengths[i], &state), *y = array_random(lengths[i], &state), *sum = array_copy(x, lengths[i]);
            add(queue_of(team_sizes[t]), sum, y, lengths[i]);
            for (int64_t j = 0; j < lengths[i]; j++)
                EXPECT(sum[j] == x[j] + y[j]);
            array_free(x);
            array_free(y);
            array_free(sum);
        }
}

TEST(fill_zero_clears_whole_and_broken_words)
{
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(lengths); i++)
        for (int t = 0; t < TEAMS; t++) {
            float *x = array_random(lengths[i], &state);
            uint8_t *bytes = (uint8_t *)x, last = 0xff;
            memset(x, last, (size_t)lengths[i] * sizeof *x);
            fill_zero(queue_of(team_sizes[t]), x, lengths[i] * 4 - 3);
            for (int64_t j = 0; j < lengths[i] * 4; j++)
                EXPECT(bytes[j] == (j < lengths[i] * 4 - 3 ? 0 : last));
            array_free(x);
        }
}

/* embedding_test.c: rows of a table by token, over shards of the vocabulary, and their gradient. */
#include "test/reference/embedding.h"
#include "test/reference/arrays.h"
#include "test/test.h"

static const struct shape {
    int64_t first, rows, tokens, hidden;
} shapes[] = { { 0, 5, 1, 1 }, { 0, 9, 40, 32 }, { 3, 4, 100, 65 }, { 8, 3, 64, 43 }, { 0, 12, 65, 130 }, { 12, 4, 33, 8 } };
enum { VOCABULARY = 12 };

TEST(rows_and_gradients_equal_their_definition_on_any_team)
{
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(shapes); i++) {
        struct shape s = shapes[i];
        float *table = array_random(s.rows * s.hidden, &state), *dy = array_random(s.tokens * s.hidden, &state);
        float *old = array_random(s.rows * s.hidden, &state);
        int32_t token[128];
        for (int64_t n = 0; n < s.tokens; n++)
            token[n] = (int32_t)(test_random(&state) % VOCABULARY);    /* few rows: each is met several times */
        double *wide_table = wide_of(table, s.rows * s.hidden), *wide_dy = wide_of(dy, s.tokens * s.hidden);
        double *y = wide_new(s.tokens * s.hidden), *dtable = wide_new(s.rows * s.hidden);
        reference_embedding_forward(y, wide_table, token, s.first, s.rows, s.tokens, s.hidden);
        reference_embedding_backward(dtable, wide_dy, token, s.first, s.rows, s.tokens, s.hidden);
        for (int64_t j = 0; j < s.rows * s.hidden; j++)
            dtable[j] += (double)old[j];
        float *first = NULL;
        for (int t = 0; t < TEAMS; t++) {
            float *seen = array_new(s.tokens * s.hidden), *gradient = array_copy(old, s.rows * s.hidden);
            embedding_forward(queue_of(team_sizes[t]), seen, table, token, s.first, s.rows, s.tokens, s.hidden);
            expect_near("y", seen, y, NULL, 0.0, s.tokens * s.hidden);
            embedding_backward(queue_of(team_sizes[t]), gradient, dy, token, s.first, s.rows, s.tokens, s.hidden);
            /* At most `tokens` terms of at most 1 and what was there: each addition rounds a sum of at most tokens + 1. */
            expect_near("dtable", gradient, dtable, NULL, (double)(s.tokens * (s.tokens + 1)) * ROUNDING, s.rows * s.hidden);
            if (first != NULL) {
                expect_same_bits("dtable", gradient, first, s.rows * s.hidden);
                array_free(gradient);
            } else {
                first = gradient;
            }
            array_free(seen);
        }
        double *wide[] = { wide_table, wide_dy, y, dtable };
        for (int j = 0; j < ELEMENTS_OF(wide); j++)
            free(wide[j]);
        float *narrow[] = { table, dy, old, first };
        for (int j = 0; j < ELEMENTS_OF(narrow); j++)
            array_free(narrow[j]);
        test_stop_if_failed();
    }
}

/* The order is that of the tokens: 1 + 2^-24 + 2^-24 in fp32 is 1 from the left and more than 1 from the right. */
TEST(gradients_are_added_in_the_order_of_tokens)
{
    const int32_t token[3] = { 0, 0, 0 };
    const float dy[3] = { 1.0f, 0x1p-24f, 0x1p-24f }, reversed[3] = { 0x1p-24f, 0x1p-24f, 1.0f };
    float *dtable = array_zero(1);
    embedding_backward(queue_of(2), dtable, dy, token, 0, 1, 3, 1);
    EXPECT(dtable[0] == 1.0f);
    dtable[0] = 0.0f;
    embedding_backward(queue_of(2), dtable, reversed, token, 0, 1, 3, 1);
    EXPECT(dtable[0] == 1.0f + 0x1p-23f);
    array_free(dtable);
}

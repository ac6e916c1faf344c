/* fill_test.c: rows of the pack hold each document once, never too much, and are well filled. */
#include "test/test.h"
#include "tools/pack/fill.h"

/* The rows as lists of documents: "0 2|1 3". */
static char *filled(const uint32_t *tokens, uint64_t documents, uint32_t sequence, enum order_policy policy)
{
    struct filling filling;
    char *out = calloc(1, 4096);
    fill_rows(&filling, tokens, documents, sequence, policy);
    for (uint64_t r = 0; r < filling.rows; r++)
        for (uint64_t i = filling.first[r]; i < filling.first[r + 1]; i++)
            sprintf(out + strlen(out), "%s%d", i > filling.first[r] ? " " : r > 0 ? "|" : "", (int)filling.order[i]);
    filling_close(&filling);
    return out;
}

TEST(documents_go_where_the_policy_says)
{
    static const uint32_t tokens[] = { 6, 3, 5, 4, 2, 10, 1 };
    static const struct {
        enum order_policy policy;
        const char *right;
    } cases[] = {
        { ORDER_FILL, "0 3|1 2 4|5|6" }, /* by hand: 10; 6; 5; 4 to 6; 3 to 5; 2 to 5+3; 1 alone */
        { ORDER_FILE, "0 1|2 3|4|5|6" },
        { ORDER_ALONE, "0|1|2|3|4|5|6" },
    };
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        char *seen = filled(tokens, ELEMENTS_OF(tokens), 10, cases[i].policy);
        EXPECT_TEXT(seen, cases[i].right);
        free(seen);
    }
}

TEST(every_document_is_there_once_and_no_row_is_too_long)
{
    static const uint32_t sequences[] = { 8, 63, 64, 65, 512, 4096 };
    uint64_t state = test_seed();
    for (int s = 0; s < ELEMENTS_OF(sequences); s++)
        for (int policy = ORDER_FILL; policy <= ORDER_ALONE; policy++) {
            enum { DOCUMENTS = 3000 };
            static uint32_t tokens[DOCUMENTS];
            static uint8_t seen[DOCUMENTS];
            memset(seen, 0, sizeof seen);
            uint64_t total = 0, great = 0;
            for (int d = 0; d < DOCUMENTS; d++) {
                uint64_t most = test_random(&state) % 4 == 0 ? sequences[s] : sequences[s] / 4 + 1;
                total += tokens[d] = (uint32_t)(1 + test_random(&state) % most);
                great += tokens[d] > sequences[s] / 2;
            }
            struct filling filling;
            fill_rows(&filling, tokens, DOCUMENTS, sequences[s], (enum order_policy)policy);
            uint64_t earliest = 0;
            for (uint64_t r = 0; r < filling.rows; r++) {
                uint64_t used = 0;
                EXPECT(filling.first[r] < filling.first[r + 1]);
                EXPECT(r == 0 || filling.order[filling.first[r]] > earliest);
                earliest = filling.order[filling.first[r]];
                for (uint64_t i = filling.first[r]; i < filling.first[r + 1]; i++) {
                    EXPECT(i == filling.first[r] || filling.order[i] > filling.order[i - 1]);
                    used += tokens[filling.order[i]];
                    seen[filling.order[i]]++;
                }
                EXPECT(used <= sequences[s]);
            }
            for (int d = 0; d < DOCUMENTS; d++)
                EXPECT_EQ(seen[d], 1);
            /* Best fit, longest first, needs at most 11/9 of the best number of rows, plus 4 (Johnson 1973). The best is no less than the tokens
             * need, nor than there are documents of which no two share a row. */
            uint64_t least = (total + sequences[s] - 1) / sequences[s];
            if (policy == ORDER_FILL)
                EXPECT(filling.rows <= (least > great ? least : great) * 11 / 9 + 4);
            filling_close(&filling);
        }
}

/* select_test.c: what is held out hangs on words and seed alone; shares come back in order. */
#include "test/test.h"
#include "tools/pack/select.h"

enum { ROWS = 1000 };

/* Rows of one document each; identity[r] is the row's hash. What came out is a list of line numbers. */
struct made {
    struct rows rows;
    struct outcomes outcomes;
    struct selection learn, held;
    int64_t shared;
};

static struct made *make(int files, const bool *held_file, int64_t rows_each, const uint64_t *identity, const uint32_t *uses, double ratio)
{
    static const int32_t token[] = { 1, 2 };
    static const uint8_t learned[] = { 0, 1 };
    struct made *made = calloc(1, sizeof *made);
    int64_t count = files * rows_each;
    made->rows.file = calloc((size_t)files, sizeof *made->rows.file);
    made->rows.row = calloc((size_t)count, sizeof *made->rows.row);
    made->rows.files = files;
    made->rows.count = made->outcomes.count = count;
    made->outcomes.outcome = calloc((size_t)count, sizeof *made->outcomes.outcome);
    for (int f = 0; f < files; f++)
        made->rows.file[f] = (struct file){ .held = held_file[f], .first = f * rows_each, .rows = rows_each };
    for (int64_t r = 0; r < count; r++) {
        made->rows.row[r] = (struct row){ .file = (uint32_t)(r / rows_each), .uses = uses != NULL ? uses[r] : 1 };
        struct outcome *outcome = &made->outcomes.outcome[r];
        outcome->reason = REASON_NONE;
        outcome->identity = identity[r];
        outcome->document = calloc(1, sizeof *outcome->document);
        outcome->documents = 1;
        outcome->document[0] = (struct pack_document){ .token = token, .learned = learned, .tokens = 2, .source.line = (uint64_t)r };
    }
    select_documents(&made->rows, &made->outcomes, ratio, &made->learn, &made->held, &made->shared);
    return made;
}

static void unmake(struct made *made)
{
    for (int64_t r = 0; r < made->outcomes.count; r++)
        free(made->outcomes.outcome[r].document);
    free(made->outcomes.outcome);
    free(made->rows.file);
    free(made->rows.row);
    selection_close(&made->learn);
    selection_close(&made->held);
    free(made);
}

TEST(a_row_is_held_out_by_its_hash_alone)
{
    static uint64_t identity[ROWS], backwards[ROWS];
    static const bool no[1];
    uint64_t state = test_seed();
    for (int r = 0; r < ROWS; r++)
        identity[r] = backwards[ROWS - 1 - r] = test_random(&state);
    struct made *one = make(1, no, ROWS, identity, NULL, 0.1), *two = make(1, no, ROWS, backwards, NULL, 0.1);
    EXPECT_EQ(one->learn.documents + one->held.documents, ROWS);
    EXPECT_EQ(one->held.documents, two->held.documents);
    /* 1000 draws of 0.1: mean 100, standard deviation 9.5; five of them either way. */
    EXPECT(one->held.documents > 52 && one->held.documents < 148);
    for (uint64_t d = 0; d < one->held.documents; d++) {
        EXPECT(identity[one->held.document[d].source.line] < (uint64_t)(0.1 * 0x1p64));
        EXPECT_EQ(two->held.document[two->held.documents - 1 - d].source.line, ROWS - 1 - one->held.document[d].source.line);
    }
    unmake(one);
    unmake(two);
}

TEST(equal_rows_are_on_one_side_and_a_share_holds_out_at_least_one)
{
    static const uint64_t identity[] = { 1ull << 63, 3ull << 62, 1ull << 63, UINT64_MAX };
    static const bool no[1];
    struct made *made = make(1, no, 4, identity, NULL, 0.01);
    EXPECT_EQ(made->held.documents, 2);
    EXPECT_EQ(made->held.document[0].source.line, 0);
    EXPECT_EQ(made->held.document[1].source.line, 2);
    EXPECT_EQ(made->learn.documents, 2);
    EXPECT_EQ(made->learn.targets, 2);
    unmake(made);
    made = make(1, no, 4, identity, NULL, 0.0);
    EXPECT_EQ(made->held.documents, 0);
    unmake(made);
}

TEST(a_held_out_file_goes_there_whole_and_what_it_shares_is_counted)
{
    static const uint64_t identity[] = { 10, 20, 30, 20, 40, 20 };
    static const bool held[] = { false, true };
    struct made *made = make(2, held, 3, identity, NULL, 0.0);
    EXPECT_EQ(made->learn.documents, 3);
    EXPECT_EQ(made->held.documents, 3);
    EXPECT_EQ(made->shared, 1);
    unmake(made);
}

TEST(rows_taken_more_than_once_come_back_after_the_whole_file)
{
    static const uint64_t identity[] = { 1ull << 63, 2, 3ull << 62, 5ull << 61 };
    static const uint32_t uses[] = { 3, 2, 0, 2 };
    static const bool no[1];
    static const uint64_t right[] = { 0, 3, 0, 3, 0 };
    struct made *made = make(1, no, 4, identity, uses, 0.001);
    EXPECT_EQ(made->learn.documents, 5);
    for (uint64_t d = 0; d < 5 && d < made->learn.documents; d++)
        EXPECT_EQ(made->learn.document[d].source.line, right[d]);
    EXPECT_EQ(made->learn.rows, 2);
    EXPECT_EQ(made->held.documents, 1); /* held out once, however often it is taken */
    EXPECT_EQ(made->held.document[0].source.line, 1);
    unmake(made);
}

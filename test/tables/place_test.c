/* place_test.c: the quick ways to place buffers and to prove them apart say what the slow and obvious ones say. */
#include "test/tables/samples.h"
#include "tools/layoutc/shelf.h"

static bool live_together(const struct buffer *a, const struct buffer *b)
{
    return a->first_step <= b->last_step && b->first_step <= a->last_step;
}

static bool lie_apart(const struct buffer *a, const struct buffer *b)
{
    return a->offset_bytes + a->bytes <= b->offset_bytes || b->offset_bytes + b->bytes <= a->offset_bytes;
}

/* The lowest place for buffer[count] beside those before it is 0 or the end of one of them: tries each. */
static int64_t lowest_place(const struct buffer *buffer, int32_t count)
{
    int64_t lowest = INT64_MAX;
    for (int32_t end_of = -1; end_of < count; end_of++) {
        struct buffer here = buffer[count];
        here.offset_bytes = end_of < 0 ? 0 : buffer[end_of].offset_bytes + buffer[end_of].bytes;
        bool free = here.offset_bytes < lowest;
        for (int32_t i = 0; i < count && free; i++)
            free = lie_apart(&buffer[i], &here) || !live_together(&buffer[i], &here);
        if (free)
            lowest = here.offset_bytes;
    }
    return lowest;
}

TEST(a_gap_on_the_shelf_is_the_lowest_there_is)
{ /* Short lives and long ones, few sizes, in any order of birth: several spans, and buffers that lie in more than one. */
    enum { BUFFERS = 120, STEPS = 200, ROUNDS = 20 };
    uint64_t state = test_seed();
    for (int round = 0; round < ROUNDS; round++) {
        struct draft draft = { 0 };
        struct buffer buffer[BUFFERS];
        for (int i = 0; i < BUFFERS; i++) {
            int32_t life = (int32_t)(test_random(&state) % (i % 8 == 0 ? STEPS : 9));
            int32_t first = (int32_t)(test_random(&state) % (uint64_t)(STEPS - life));
            buffer[i] = (struct buffer){ .first_step = first, .last_step = first + life, .bytes = 256 * (1 + (int64_t)(test_random(&state) % 5)) };
        }
        struct shelf shelf = shelf_make(&draft, buffer, BUFFERS, STEPS);
        for (int again = 0; again < 2; again++) {
            shelf_clear(&shelf);
            for (int i = 0; i < BUFFERS; i++) {
                buffer[i].offset_bytes = shelf_gap(&shelf, &buffer[i]);
                EXPECT_EQ(buffer[i].offset_bytes, lowest_place(buffer, i));
                shelf_put(&shelf, &buffer[i]);
            }
        }
        blocks_free(&draft.blocks);
    }
}

/* Whether some two of the stage's buffers that live at one time lie over each other; their rows' lives are right. */
static bool any_two_overlap(const struct stage *stage)
{
    int32_t evaluation = stage->evaluate.step[0].batch;
    for (int32_t i = 0; i < stage->buffers; i++)
        for (int32_t j = 0; j < i; j++) {
            const struct buffer *a = &stage->buffer[i], *b = &stage->buffer[j];
            bool one_program = (i < evaluation) == (j < evaluation) || b->last_step == INT32_MAX;
            if (one_program && live_together(a, b) && !lie_apart(a, b))
                return true;
        }
    return false;
}

TEST(a_buffer_moved_anywhere_is_judged_as_pair_by_pair)
{
    enum { MOVES = 200 };
    uint64_t state = test_seed();
    int64_t over = 0, apart = 0;
    bool quiet = status_quiet(true);
    for (int n = 0; sample(n) != NULL; n++) {
        struct draft draft;
        struct copy copy;
        EXPECT_EQ(draft_make(&draft, sample(n)), OK);
        copy_make(&copy, &draft);
        for (int move = 0; move < MOVES; move++) {
            int32_t s = (int32_t)(test_random(&state) % (uint64_t)copy.facts.pp);
            const struct stage *stage = &copy.stage[s];
            struct buffer *buffer = &copy.buffer[s][test_random(&state) % (uint64_t)stage->buffers], before = *buffer;
            if (buffer->kind < BUFFER_BATCH) /* the channels' slots would have to move with theirs */
                continue;
            buffer->offset_bytes = (int64_t)(test_random(&state) % (uint64_t)((stage->arena_bytes - buffer->bytes) / 256 + 1)) * 256;
            bool right = any_two_overlap(stage), seen = prove_no_overlap(&copy.tables, &copy.facts) != OK;
            if (seen != right)
                test_fail(__FILE__, __LINE__, "%s, stage %d, buffer %d at %lld: overlap is %d, the proof says %d", sample(n)->layout.name, (int)s,
                          (int)(buffer - copy.buffer[s]), (long long)buffer->offset_bytes, right, seen);
            over += right;
            apart += !right;
            *buffer = before;
        }
        copy_free(&copy);
        draft_free(&draft);
    }
    status_quiet(quiet);
    printf("      %lld moves over another buffer, %lld apart\n", (long long)over, (long long)apart);
    EXPECT(over > 0 && apart > 0);
}

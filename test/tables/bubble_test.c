/* bubble_test.c: a pipeline's idle share is what the papers say, for forward passes and both halves of backward passes of equal length. */
#include "test/test.h"
#include "tools/layoutc/order.h"

enum { STAGES_MOST = 8, MICRO_BATCHES_MOST = 24, CELLS_MOST = 3 * MICRO_BATCHES_MOST };

struct stage_play {
    struct cell cell[CELLS_MOST];
    int64_t cells, next, end, begin, idle; /* end: of the last cell done; idle: between the first cell and the last */
};

struct play {
    struct stage_play stage[STAGES_MOST];
    int64_t done[2][STAGES_MOST][MICRO_BATCHES_MOST];  /* end of the forward pass, and of the inputs' half; NONE yet */
    int64_t begun[2][STAGES_MOST][MICRO_BATCHES_MOST]; /* when it took its message */
};

enum { NEVER = -1, SLOTS = 1 }; /* a channel has one slot: tools/layoutc/groups.c */

/* When the next cell of stage s can begin: its message is there, and the slot that its own message goes into is free; NEVER: not known yet. */
static int64_t ready(const struct play *p, const struct layout_input *l, int32_t s)
{
    const struct stage_play *stage = &p->stage[s];
    struct cell cell = stage->cell[stage->next];
    int64_t at = stage->end;
    if (cell.kind == CELL_WEIGHT)
        return at;
    bool forward = cell.kind == CELL_FORWARD, first = forward ? s == 0 : s == l->pp - 1;
    int32_t from = forward ? s - 1 : s + 1;
    if (!first) {
        int64_t there = p->done[!forward][from][cell.micro];
        if (there == NEVER)
            return NEVER;
        at = there > at ? there : at;
    }
    /* The message of an earlier cell holds the stage until its slot is free: asked here, before the next cell. */
    for (int32_t back = 1; back <= stage->next; back++) {
        struct cell before = stage->cell[stage->next - back];
        if (before.kind == CELL_WEIGHT)
            continue;
        bool was_forward = before.kind == CELL_FORWARD;
        int32_t receiver = was_forward ? s + 1 : s - 1;
        if (receiver < 0 || receiver >= l->pp || before.micro < SLOTS)
            continue;
        int64_t taken = p->begun[!was_forward][receiver][before.micro - SLOTS];
        if (taken == NEVER)
            return NEVER;
        at = taken > at ? taken : at;
    }
    return at;
}

/* Plays all stages; a whole backward pass takes two units, every other cell one. Returns false where nobody can go on. */
static bool play_all(struct play *p, const struct layout_input *l)
{
    memset(p->done, 0xff, sizeof p->done);
    memset(p->begun, 0xff, sizeof p->begun);
    for (int32_t s = 0; s < l->pp; s++)
        p->stage[s] = (struct stage_play){ .cells = 0 };
    for (int32_t s = 0; s < l->pp; s++)
        p->stage[s].cells = order_cells(p->stage[s].cell, l, s);
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t s = 0; s < l->pp; s++) {
            struct stage_play *stage = &p->stage[s];
            int64_t at = stage->next == stage->cells ? NEVER : ready(p, l, s);
            if (at == NEVER)
                continue;
            struct cell cell = stage->cell[stage->next];
            if (stage->next++ == 0)
                stage->begin = at;
            else
                stage->idle += at - stage->end;
            stage->end = at + (cell.kind == CELL_BACKWARD ? 2 : 1);
            if (cell.kind != CELL_WEIGHT) {
                p->begun[cell.kind != CELL_FORWARD][s][cell.micro] = at;
                p->done[cell.kind != CELL_FORWARD][s][cell.micro] = stage->end;
            }
            moved = true;
        }
    }
    for (int32_t s = 0; s < l->pp; s++)
        if (p->stage[s].next < p->stage[s].cells)
            return false;
    return true;
}

/* The most micro-batches whose forward pass is done and whose weights have not all their gradients. */
static int64_t in_flight(const struct stage_play *stage)
{
    int64_t live = 0, most = 0;
    for (int64_t c = 0; c < stage->cells; c++) {
        live += stage->cell[c].kind == CELL_FORWARD;
        most = live > most ? live : most;
        live -= stage->cell[c].kind == CELL_WEIGHT || stage->cell[c].kind == CELL_BACKWARD;
    }
    return most;
}

static int64_t length_of(const struct play *p, const struct layout_input *l)
{
    int64_t end = 0;
    for (int32_t s = 0; s < l->pp; s++)
        end = p->stage[s].end > end ? p->stage[s].end : end;
    return end;
}

TEST(every_schedule_comes_to_its_end)
{
    static struct play p;
    for (int schedule = ORDER_UNKNOWN + 1; schedule < ORDER_TABLE; schedule++)
        for (int pp = 1; pp <= STAGES_MOST; pp++)
            for (int m = 1; m <= MICRO_BATCHES_MOST; m++) {
                struct layout_input l = { .pp = pp, .schedule = (enum schedule)schedule, .micro_batches = m };
                if (!play_all(&p, &l))
                    test_fail(__FILE__, __LINE__, "%s, %d stages, %d micro-batches: nobody can go on", order_name(l.schedule), pp, m);
            }
}

TEST(bubble_of_1f1b_and_gpipe_is_p_minus_1_over_m_plus_p_minus_1)
{ /* Narayanan et al. 2021, section 2.2.1: (p-1) forward and backward passes of idle time beside m of work. */
    static struct play p;
    for (int pp = 1; pp <= STAGES_MOST; pp++)
        for (int m = 1; m <= MICRO_BATCHES_MOST; m++)
            for (int schedule = ORDER_GPIPE; schedule <= ORDER_1F1B; schedule++) {
                struct layout_input l = { .pp = pp, .schedule = (enum schedule)schedule, .micro_batches = m };
                EXPECT(play_all(&p, &l));
                EXPECT_EQ(length_of(&p, &l), 3 * (m + pp - 1));
            }
}

TEST(bubble_of_zb_h1_is_a_third_at_the_memory_of_1f1b)
{ /* Qi et al. 2023, table 2: (p-1)(T_F + T_B - T_W), for p micro-batches and more; p micro-batches in flight. */
    static struct play p;
    for (int pp = 1; pp <= STAGES_MOST; pp++)
        for (int m = pp; m <= MICRO_BATCHES_MOST; m++) {
            struct layout_input l = { .pp = pp, .schedule = ORDER_ZB_H1, .micro_batches = m };
            EXPECT(play_all(&p, &l));
            EXPECT_EQ(length_of(&p, &l), 3 * m + pp - 1);
            for (int s = 0; s < pp; s++)
                EXPECT_EQ(in_flight(&p.stage[s]), pp);
        }
}

TEST(zb_h2_has_no_bubble_at_its_memory)
{ /* Qi et al. 2023, table 2: (p-1)(T_F + T_B - 2 T_W) = 0, for 2p-1 micro-batches and more; 2p-1 micro-batches in flight. A stage's cells follow each
   * other without a gap; stage s begins s later than the first. */
    static struct play p;
    for (int pp = 1; pp <= STAGES_MOST; pp++)
        for (int m = 2 * pp - 1; m <= MICRO_BATCHES_MOST; m++) {
            struct layout_input l = { .pp = pp, .schedule = ORDER_ZB_H2, .micro_batches = m };
            EXPECT(play_all(&p, &l));
            for (int s = 0; s < pp; s++) {
                EXPECT_EQ(p.stage[s].idle, 0);
                EXPECT_EQ(in_flight(&p.stage[s]), 2 * pp - 1);
            }
        }
}

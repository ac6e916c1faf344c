/* bubble_test.c: a pipeline's idle share is what the papers say, for forward passes and both halves of backward passes of equal length. */
#include "test/test.h"
#include "tools/layoutc/chunks.h"
#include "tools/layoutc/order.h"

enum { STAGES_MOST = 8, MICRO_BATCHES_MOST = 24, CHUNKS_TRIED_MOST = 4, CELLS_MOST = 3 * MICRO_BATCHES_MOST * CHUNKS_TRIED_MOST };

struct stage_play {
    struct cell cell[CELLS_MOST];
    int64_t cells, next, end, begin, idle; /* end: of the last cell done; idle: between the first cell and the last */
};

struct play {
    struct stage_play stage[STAGES_MOST];
    int64_t done[2][STAGES_MOST * CHUNKS_TRIED_MOST][MICRO_BATCHES_MOST];  /* by virtual stage: end of the forward pass, and of the inputs' half; NEVER yet */
    int64_t begun[2][STAGES_MOST * CHUNKS_TRIED_MOST][MICRO_BATCHES_MOST]; /* when it took its message */
    int64_t before[2][STAGES_MOST * CHUNKS_TRIED_MOST][MICRO_BATCHES_MOST]; /* the micro-batch whose message went through the same channel before; NEVER */
};

enum { NEVER = -1 }; /* a channel has one slot: tools/layoutc/groups.c */

/* The virtual stage of a cell. */
static int64_t place_of(const struct layout_input *l, int32_t s, int32_t chunk)
{
    for (int64_t v = 0; v < l->pp * l->chunks; v++)
        if (chunk_at(l, v).pp == s && chunk_at(l, v).chunk == chunk)
            return v;
    return NEVER;
}

/* Whether the cell's message goes to another stage; to: the virtual stage that takes it. */
static bool sends(const struct layout_input *l, int32_t s, struct cell cell, int64_t *to)
{
    *to = place_of(l, s, cell.chunk) + (cell.kind == CELL_FORWARD ? 1 : -1);
    return cell.kind != CELL_WEIGHT && *to >= 0 && *to < l->pp * l->chunks && chunk_at(l, *to).pp != s;
}

/* When the next cell of stage s can begin: its message is there, and the slots that the stage's own messages go into are free; NEVER: not known yet. */
static int64_t ready(const struct play *p, const struct layout_input *l, int32_t s)
{
    const struct stage_play *stage = &p->stage[s];
    struct cell cell = stage->cell[stage->next];
    int64_t at = stage->end, to;
    if (cell.kind != CELL_WEIGHT) {
        bool forward = cell.kind == CELL_FORWARD;
        int64_t from = place_of(l, s, cell.chunk) + (forward ? -1 : 1);
        if (from >= 0 && from < l->pp * l->chunks) {
            int64_t there = p->done[!forward][from][cell.micro];
            if (there == NEVER)
                return NEVER;
            at = there > at ? there : at;
        }
    }
    /* The message of the cell before holds the stage until its slot is free. */
    if (stage->next == 0 || !sends(l, s, stage->cell[stage->next - 1], &to))
        return at;
    struct cell last = stage->cell[stage->next - 1];
    int64_t held = p->before[last.kind != CELL_FORWARD][to][last.micro];
    if (held != NEVER) {
        int64_t taken = p->begun[last.kind != CELL_FORWARD][to][held];
        if (taken == NEVER)
            return NEVER;
        at = taken > at ? taken : at;
    }
    return at;
}

/* Writes down whose message is before each one's in its channel. */
static void find_slots(struct play *p, const struct layout_input *l, int32_t s)
{
    int64_t last[2][STAGES_MOST * CHUNKS_TRIED_MOST];
    memset(last, 0xff, sizeof last);
    for (int64_t c = 0; c < p->stage[s].cells; c++) {
        struct cell cell = p->stage[s].cell[c];
        int64_t to;
        if (!sends(l, s, cell, &to))
            continue;
        bool back = cell.kind != CELL_FORWARD;
        p->before[back][to][cell.micro] = last[back][to];
        last[back][to] = cell.micro;
    }
}

/* Plays all stages; a whole backward pass takes two units, every other cell one. Returns false where nobody can go on. */
static bool play_all(struct play *p, const struct layout_input *l)
{
    memset(p->done, 0xff, sizeof p->done);
    memset(p->begun, 0xff, sizeof p->begun);
    memset(p->before, 0xff, sizeof p->before);
    for (int32_t s = 0; s < l->pp; s++)
        p->stage[s] = (struct stage_play){ .cells = 0 };
    for (int32_t s = 0; s < l->pp; s++)
        p->stage[s].cells = order_cells(p->stage[s].cell, l, s);
    for (int32_t s = 0; s < l->pp; s++)
        find_slots(p, l, s);
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
                p->begun[cell.kind != CELL_FORWARD][place_of(l, s, cell.chunk)][cell.micro] = at;
                p->done[cell.kind != CELL_FORWARD][place_of(l, s, cell.chunk)][cell.micro] = stage->end;
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

static struct layout_input layout_of(enum schedule schedule, int pp, int chunks, int micro_batches)
{
    return (struct layout_input){ .pp = pp, .chunks = chunks, .schedule = schedule, .folded = schedule == ORDER_ZB_V, .micro_batches = micro_batches };
}

TEST(every_schedule_comes_to_its_end)
{
    static struct play p;
    for (int schedule = ORDER_UNKNOWN + 1; schedule < ORDER_TABLE; schedule++)
        for (int chunks = 1; chunks <= CHUNKS_TRIED_MOST; chunks++)
            for (int pp = chunks > 1 ? 2 : 1; pp <= STAGES_MOST; pp++)
                for (int m = 1; m <= MICRO_BATCHES_MOST; m++) {
                    bool fits = schedule == ORDER_INTERLEAVED ? chunks > 1 : schedule == ORDER_ZB_V ? chunks == 2 : chunks == 1;
                    struct layout_input l = layout_of((enum schedule)schedule, pp, chunks, m);
                    if (fits && !play_all(&p, &l))
                        test_fail(__FILE__, __LINE__, "%s, %d stages, %d micro-batches: nobody can go on", order_name(l.schedule), pp, m);
                }
}

TEST(bubble_of_1f1b_and_gpipe_is_p_minus_1_over_m_plus_p_minus_1)
{ /* Narayanan et al. 2021, section 2.2.1: (p-1) forward and backward passes of idle time beside m of work. */
    static struct play p;
    for (int pp = 1; pp <= STAGES_MOST; pp++)
        for (int m = 1; m <= MICRO_BATCHES_MOST; m++)
            for (int schedule = ORDER_GPIPE; schedule <= ORDER_1F1B; schedule++) {
                struct layout_input l = { .pp = pp, .chunks = 1, .schedule = (enum schedule)schedule, .micro_batches = m };
                EXPECT(play_all(&p, &l));
                EXPECT_EQ(length_of(&p, &l), 3 * (m + pp - 1));
            }
}

TEST(bubble_of_zb_h1_is_a_third_at_the_memory_of_1f1b)
{ /* Qi et al. 2023, table 2: (p-1)(T_F + T_B - T_W), for p micro-batches and more; p micro-batches in flight. */
    static struct play p;
    for (int pp = 1; pp <= STAGES_MOST; pp++)
        for (int m = pp; m <= MICRO_BATCHES_MOST; m++) {
            struct layout_input l = { .pp = pp, .chunks = 1, .schedule = ORDER_ZB_H1, .micro_batches = m };
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
            struct layout_input l = { .pp = pp, .chunks = 1, .schedule = ORDER_ZB_H2, .micro_batches = m };
            EXPECT(play_all(&p, &l));
            for (int s = 0; s < pp; s++) {
                EXPECT_EQ(p.stage[s].idle, 0);
                EXPECT_EQ(in_flight(&p.stage[s]), 2 * pp - 1);
            }
        }
}

TEST(bubble_of_interleaved_1f1b_is_divided_by_the_chunks)
{ /* Narayanan et al. 2021, section 2.2.2: (p-1)(T_F + T_B) / v of idle time, for micro-batches that divide by p. A cell here is a pass through a
   * chunk, so m of work are 3 m v units, and the idle time is 3 (p-1). */
    static struct play p;
    for (int chunks = 2; chunks <= CHUNKS_TRIED_MOST; chunks++)
        for (int pp = 2; pp <= STAGES_MOST; pp++)
            for (int m = pp; m <= MICRO_BATCHES_MOST; m += pp) {
                struct layout_input l = layout_of(ORDER_INTERLEAVED, pp, chunks, m);
                EXPECT(play_all(&p, &l));
                EXPECT_EQ(length_of(&p, &l), 3 * (m * chunks + pp - 1));
            }
}

TEST(zb_v_has_no_bubble_at_the_memory_of_1f1b)
{ /* Qi et al. 2024, section 3.2: no wait between a stage's first cell and its last for 2p-1 micro-batches and more, with p micro-batches in flight on
   * each stage, which are 2p passes through a chunk. */
    static struct play p;
    for (int pp = 2; pp <= STAGES_MOST; pp++)
        for (int m = 2 * pp - 1; m <= MICRO_BATCHES_MOST; m++) {
            struct layout_input l = layout_of(ORDER_ZB_V, pp, 2, m);
            EXPECT(play_all(&p, &l));
            for (int s = 0; s < pp; s++) {
                EXPECT_EQ(p.stage[s].idle, 0);
                EXPECT_EQ(in_flight(&p.stage[s]), 2 * pp);
            }
        }
}

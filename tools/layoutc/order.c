/* order.c: see order.h. Build host.
 *
 * GPipe: all forward passes, then all backward passes in the order of the forward ones (Huang et al. 2019, arXiv:1811.06965, figure 2).
 * 1F1B: stage s starts with PP - s - 1 forward passes, then takes one forward and one backward by turns, then the backward passes that are left;
 * at most PP - s micro-batches are in flight (Narayanan et al. 2021, arXiv:2104.04473, section 2.2.1).
 * ZB-H1: 1F1B with each backward pass cut in two; stage s does the weights' half s cells late, so that it fills the wait for the next gradient at
 * the end, and as many micro-batches are in flight on every stage as on the first (Qi et al. 2023, arXiv:2401.10241, section 2.3).
 * ZB-H2: the same with twice the forward passes before the first backward pass and halves that are twice as late, 2 PP - 1 micro-batches in flight:
 * with cells of equal length no stage waits between its first cell and its last (section 2.4).
 * Interleaved 1F1B: 1F1B over chunks; a stage takes PP micro-batches through each of its chunks in turn, before the next PP (Narayanan et al. 2021,
 * section 2.2.2). Micro-batches that do not divide by PP are scheduled as if they did, and the cells of those that are not there left out.
 * ZB-V: two chunks a stage, there and back; a micro-batch's backward pass begins on the stage where its forward pass began, so that the memory of
 * 1F1B is enough for no wait between a stage's first cell and its last (Qi et al. 2024, arXiv:2405.15362, section 3 and figure 3). Fewer than
 * 2 PP - 1 micro-batches are scheduled as if they were as many.
 * (1) Backward passes of a chunk run in the order 0, 1, 2, ... in every schedule, so that gradients are added in one order and a pipeline changes no bit. */
#include "tools/layoutc/order.h"

const char *order_name(enum schedule schedule)
{
    static const char *const names[ORDER_KINDS] = { "unknown", "GPipe", "1F1B", "ZB-H1", "ZB-H2", "interleaved 1F1B", "ZB-V", "table" };
    return names[schedule];
}

/* A stage's cells so far. */
struct list {
    struct cell *cell;
    int64_t cells;
    int32_t micro_batches;
    int32_t next[CELL_KINDS][CHUNKS_MOST]; /* the micro-batch that is next for that kind of cell in that chunk */
};

static void put(struct list *list, enum cell_kind kind, int32_t chunk)
{
    int32_t micro = list->next[kind][chunk]++;
    if (micro < list->micro_batches)
        list->cell[list->cells++] = (struct cell){ kind, chunk, micro };
}

static void put_straight(struct list *list, const struct layout_input *layout, int32_t pp)
{
    int32_t times = layout->schedule == ORDER_ZB_H2 ? 2 : 1, late = times * pp;
    bool halves = layout->schedule == ORDER_ZB_H1 || layout->schedule == ORDER_ZB_H2;
    int32_t lead = layout->schedule == ORDER_GPIPE ? list->micro_batches : times * ((int32_t)layout->pp - pp - 1);
    for (int32_t i = 0; i < lead; i++)
        put(list, CELL_FORWARD, 0);
    for (int32_t i = 0; i < list->micro_batches + late; i++) {
        put(list, CELL_FORWARD, 0);
        put(list, halves ? CELL_INPUT : CELL_BACKWARD, 0);
        if (halves && i >= late)
            put(list, CELL_WEIGHT, 0);
    }
}

static void put_looped(struct list *list, const struct layout_input *layout, int32_t pp)
{
    int32_t depth = (int32_t)layout->pp, chunks = (int32_t)layout->chunks, turn = depth * chunks;
    int32_t all = (list->micro_batches + depth - 1) / depth * turn;
    int32_t lead = 2 * (depth - pp - 1) + (chunks - 1) * depth;
    for (int32_t i = 0; i < all + lead; i++) {
        if (i < all)
            put(list, CELL_FORWARD, i % turn / depth);
        if (i >= lead)
            put(list, CELL_BACKWARD, chunks - 1 - (i - lead) % turn / depth);
    }
}

static void put_folded(struct list *list, const struct layout_input *layout, int32_t pp)
{
    int32_t depth = (int32_t)layout->pp, least = 2 * depth - 1;
    int32_t all = list->micro_batches > least ? list->micro_batches : least;
    for (int32_t i = 0; i < 2 * (depth - pp) - 1; i++)
        put(list, CELL_FORWARD, 0);
    for (int32_t i = 0; i < pp; i++) {
        put(list, CELL_FORWARD, 1);
        put(list, CELL_FORWARD, 0);
    }
    for (int32_t i = 0; i < all; i++) { /* the way back: chunk 0 follows where the first micro-batch has come down to it */
        if (i >= depth - pp && i < all - pp) {
            put(list, CELL_FORWARD, 0);
            put(list, CELL_INPUT, 0);
            put(list, CELL_WEIGHT, 0);
        }
        if (i >= all - pp)
            put(list, CELL_INPUT, 0);
        put(list, CELL_FORWARD, 1);
        put(list, CELL_INPUT, 1);
        if (i < all - pp)
            put(list, CELL_WEIGHT, 1);
    }
    for (int32_t i = 0; i < depth - pp; i++) {
        put(list, CELL_INPUT, 0);
        put(list, CELL_WEIGHT, 0);
    }
    for (int32_t chunk = 1; chunk >= 0; chunk--)
        for (int32_t i = 0; i < pp; i++)
            put(list, CELL_WEIGHT, chunk);
}

int64_t order_cells(struct cell *cell, const struct layout_input *layout, int32_t pp)
{
    struct list list = { .cell = cell, .micro_batches = (int32_t)layout->micro_batches };
    if (layout->schedule == ORDER_INTERLEAVED)
        put_looped(&list, layout, pp);
    else if (layout->schedule == ORDER_ZB_V)
        put_folded(&list, layout, pp);
    else
        put_straight(&list, layout, pp);
    ASSERT(list.cells <= (int64_t)CELLS_A_MICRO_BATCH_MOST * layout->micro_batches * layout->chunks);
    return list.cells;
}

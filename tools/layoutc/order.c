/* order.c: see order.h. Build host.
 *
 * GPipe: all forward passes, then all backward passes in the order of the forward ones (Huang et al. 2019, arXiv:1811.06965, figure 2).
 * 1F1B: stage s starts with PP - s - 1 forward passes, then takes one forward and one backward by turns, then the backward passes that are left;
 * at most PP - s micro-batches are in flight (Narayanan et al. 2021, arXiv:2104.04473, section 2.2.1).
 * ZB-H1: 1F1B with each backward pass cut in two; stage s does the weights' half s cells late, so that it fills the wait for the next gradient at
 * the end, and as many micro-batches are in flight on every stage as on the first (Qi et al. 2023, arXiv:2401.10241, section 2.3).
 * ZB-H2: the same with twice the forward passes before the first backward pass and halves that are twice as late, 2 PP - 1 micro-batches in flight:
 * with cells of equal length no stage waits between its first cell and its last (section 2.4).
 * (1) Backward passes run in the order 0, 1, 2, ... in every schedule, so that gradients are added in one order and a pipeline changes no bit. */
#include "tools/layoutc/order.h"

const char *order_name(enum schedule schedule)
{
    static const char *const names[ORDER_KINDS] = { "unknown", "GPipe", "1F1B", "ZB-H1", "ZB-H2", "table" };
    return names[schedule];
}

int64_t order_cells(struct cell *cell, const struct layout_input *layout, int32_t pp)
{
    int32_t micro_batches = (int32_t)layout->micro_batches, forward = 0, backward = 0, weight = 0;
    const struct cell *first = cell;
    int32_t times = layout->schedule == ORDER_ZB_H2 ? 2 : 1, late = times * pp;
    bool halves = layout->schedule == ORDER_ZB_H1 || layout->schedule == ORDER_ZB_H2;
    int32_t lead = layout->schedule == ORDER_GPIPE ? micro_batches : times * ((int32_t)layout->pp - pp - 1);
    if (lead > micro_batches)
        lead = micro_batches;
    while (forward < lead)
        *cell++ = (struct cell){ CELL_FORWARD, forward++ };
    while (backward < micro_batches) {
        if (forward < micro_batches)
            *cell++ = (struct cell){ CELL_FORWARD, forward++ };
        *cell++ = (struct cell){ halves ? CELL_INPUT : CELL_BACKWARD, backward++ };
        if (halves && backward > late)
            *cell++ = (struct cell){ CELL_WEIGHT, weight++ };
    }
    while (halves && weight < micro_batches)
        *cell++ = (struct cell){ CELL_WEIGHT, weight++ };
    return cell - first;
}

/* order.h: the schedules: in which order a stage does the forward and backward passes of its micro-batches.
 *
 * A backward pass is one cell, or two: the gradients of inputs, which the stage before waits for, and those of weights (Qi et al. 2023). */
#ifndef TOOLS_LAYOUTC_ORDER_H
#define TOOLS_LAYOUTC_ORDER_H

#include "src/tables.h"
#include "tools/layoutc/input.h"

enum cell_kind { CELL_FORWARD, CELL_BACKWARD, CELL_INPUT, CELL_WEIGHT, CELL_KINDS };
enum { CELLS_A_MICRO_BATCH_MOST = 3 /* of one chunk */ };
struct cell {
    enum cell_kind kind;
    int32_t chunk, micro;
};

/* The word of a schedule for people: "1F1B". */
const char *order_name(enum schedule schedule);

/* Fills cell [CELLS_A_MICRO_BATCH_MOST * micro_batches * chunks] for stage pp and returns how many cells there are. Any number of micro-batches from 1.
 * Not for ORDER_TABLE, whose cells table.h reads. */
int64_t order_cells(struct cell *cell, const struct layout_input *layout, int32_t pp);

#endif

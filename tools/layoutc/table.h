/* table.h: a schedule given as a table in a file (SCHEDULE_TABLE, LAYOUT_SCHEDULE_FILE).
 *
 * One line a stage, from the first; cells separated by commas, an empty one is a wait and says nothing. A cell is a letter and a micro-batch:
 * F0 forward, B0 the whole backward pass, I0 and W0 its halves; a stage's number may stand before it (2F0), as PyTorch's and torchtitan's
 * tables have it. Empty lines and lines that begin with # are left out.
 * (1) Each stage has each micro-batch's forward pass once and then its backward pass, whole or in halves, once.
 * (2) Backward passes, and weights' halves, follow the micro-batches' order, so that no schedule changes a bit. */
#ifndef TOOLS_LAYOUTC_TABLE_H
#define TOOLS_LAYOUTC_TABLE_H

#include "tools/layoutc/draft.h"
#include "tools/layoutc/order.h"

/* Fills draft->table where the layout's schedule is one; the memory is the draft's. Returns OK; E_READ if the file cannot be read; E_USAGE with
 * file, line, cell and what is allowed. Whether the stages' tables go together is the verifier's to say. */
MUST_USE enum status table_read(struct draft *draft);

#endif

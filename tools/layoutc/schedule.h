/* schedule.h: each stage's program: the constant list of steps of one optimizer step, and of one evaluation; and the buffers that its
 * steps use, each with its first and last use. */
#ifndef TOOLS_LAYOUTC_SCHEDULE_H
#define TOOLS_LAYOUTC_SCHEDULE_H

#include "tools/layoutc/draft.h"

/* Fills train, evaluate and buffers of every stage (but for offsets in the arena), and the fields of saved and work buffers. */
void schedule_make(struct draft *draft);

#endif

/* place.h: where every buffer lies in the arena, by its first and last use. */
#ifndef TOOLS_LAYOUTC_PLACE_H
#define TOOLS_LAYOUTC_PLACE_H

#include "tools/layoutc/draft.h"

/* Fills the buffers' offsets, arena_bytes and arena_bound_bytes of every stage, the channels' slots_offset_bytes, and the fullest stage. */
void place_make(struct draft *draft);

#endif

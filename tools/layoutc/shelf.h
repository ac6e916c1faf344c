/* shelf.h: buffers that have their place, found again by the steps that they live in.
 *
 * The steps are cut into spans as long as a mean life, and each span knows the buffers that live in it, lowest first: whoever seeks a gap looks
 * at the spans of one life, not at all buffers. So n buffers of which few live at one time are placed in about n looks of that few. */
#ifndef TOOLS_LAYOUTC_SHELF_H
#define TOOLS_LAYOUTC_SHELF_H

#include "tools/layoutc/draft.h"

struct span;
struct shelf {
    struct span *span; /* [spans] */
    int32_t spans, span_steps;
};

/* An empty shelf with room for these buffers; the memory is the draft's. */
struct shelf shelf_make(struct draft *draft, const struct buffer *buffer, int32_t count, int32_t steps);

void shelf_clear(struct shelf *shelf);

/* The lowest offset at which the buffer lies apart from all on the shelf that live when it does. */
int64_t shelf_gap(const struct shelf *shelf, const struct buffer *buffer);

/* Puts the buffer there, at its offset; the shelf keeps the pointer. */
void shelf_put(struct shelf *shelf, const struct buffer *buffer);

#endif

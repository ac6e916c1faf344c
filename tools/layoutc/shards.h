/* shards.h: which layers a stage has, and which rank holds which part of which parameter, and where. */
#ifndef TOOLS_LAYOUTC_SHARDS_H
#define TOOLS_LAYOUTC_SHARDS_H

#include "tools/layoutc/draft.h"

enum { BUCKET_ALIGN_ELEMENTS = 64 };

/* Fills the layers, shards, buckets and sizes of every stage, parameter_offset and parameters.
 *
 * Where the layers do not divide, the stages that have one more are, in this order: the middle ones from the last to the first (a later
 * stage has fewer micro-batches in flight), then the first, then the last, whose head costs more than the first's embedding. */
void shards_make(struct draft *draft);

#endif

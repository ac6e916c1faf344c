/* chunks.h: which layers a stage holds, in one chunk or several. First of the passes. */
#ifndef TOOLS_LAYOUTC_CHUNKS_H
#define TOOLS_LAYOUTC_CHUNKS_H

#include "tools/layoutc/draft.h"

struct chunk_at {
    int32_t pp, chunk;
};

/* The virtual stages, in the order in which a micro-batch passes them, from 0 to PP * chunks - 1. Looped: over and over from the first stage to
 * the last (Narayanan et al. 2021, section 2.2.2). Folded: there and back (the V of Qi et al. 2024, arXiv:2405.15362). */
struct chunk_at chunk_at(const struct layout_input *layout, int64_t virtual_stage);

/* Whether the stage holds the virtual stage's two ends: the embedding and the head of one model. */
bool chunks_end_on_one_stage(const struct layout_input *layout);

/* Fills draft->stage[].chunk, chunks, layers, embeds and heads: by hand (LAYOUT_STAGE_LAYERS, one number a virtual stage), else so that the
 * slowest virtual stage is as fast as it can be. */
void chunks_make(struct draft *draft);

/* Seconds a token of the forward pass on one rank: what the balance weighs. Embedding: its bytes at the memory's rate; a layer and the head:
 * their products at the board's arithmetic rate. A backward pass takes twice as long of each, and changes no proportion. */
struct pass_cost {
    double embedding, layer, head;
};
struct pass_cost pass_cost_of(const struct input *input, const struct share *share);

#endif

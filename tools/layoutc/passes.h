/* passes.h: a micro-batch's passes through the builder's chunk, as steps. */
#ifndef TOOLS_LAYOUTC_PASSES_H
#define TOOLS_LAYOUTC_PASSES_H

#include "tools/layoutc/builder.h"

void forward_pass(struct builder *b, int32_t micro);
/* kind: STEP_HEAD or STEP_HEAD_EVALUATE. */
void head_pass(struct builder *b, int32_t micro, enum step_kind kind);
/* halves: without the gradients of the layers' matrices, which weights_pass gives. */
void backward_pass(struct builder *b, int32_t micro, bool halves);
void weights_pass(struct builder *b, int32_t micro);

#endif

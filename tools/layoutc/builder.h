/* builder.h: a stage's program in the making: its buffers with their lives, and its steps. Shared by passes.c, update.c and schedule.c.
 *
 * (1) A buffer's life begins with the step that makes it and ends with the last step that names it: use_...() names it for the step that is about
 *     to be added. */
#ifndef TOOLS_LAYOUTC_BUILDER_H
#define TOOLS_LAYOUTC_BUILDER_H

#include "tools/layoutc/draft.h"

struct builder {
    struct draft *draft;
    struct stage *stage;
    int32_t pp;
    struct buffer *buffer;
    int32_t buffers, buffers_most;
    struct step *step; /* of the program being built */
    int32_t steps, steps_most;
    /* Index of the buffer, NONE before it is made. */
    int32_t *batch;              /* [micro] */
    int32_t *residual;           /* [micro][layers + chunks]: each chunk's inputs of layers and output */
    int32_t *gradient;           /* [micro][chunks] */
    int32_t *saved, *core, *kept; /* [micro][layers] */
    int32_t work;
    /* What is whole for a while, from ZeRO 2 on. */
    int32_t *weights;        /* [buckets] */
    int32_t *gradients;      /* [micro][buckets] */
    int32_t head_gradients;
    const struct chunk *chunk;   /* of the cell being built */
    int32_t c;                   /* its number */
};

extern const struct step NOTHING; /* a step that names nothing */

/* Whether the layer, by its row among the stage's, is made again in its backward pass. */
bool layer_comes_again(const struct layout_input *layout, int32_t row);

/* A layer's row among the stage's, and its global number, from its row in the builder's chunk. */
int32_t stage_row(const struct builder *b, int32_t row);
int16_t global_layer(const struct builder *b, int32_t row);

/* A row for the buffer, its bytes rounded up. Returns its index. */
int32_t add_buffer(struct builder *b, struct buffer buffer);
void add_whole_program_buffers(struct builder *b);
int32_t use_batch(struct builder *b, int32_t micro);
/* row: a layer's in the chunk; behind the last, the chunk's output. A joined chunk's first input is the output of the chunk before it. */
int32_t use_residual(struct builder *b, int32_t micro, int32_t row);
int32_t use_saved(struct builder *b, int32_t micro, int32_t row);
int32_t use_core(struct builder *b, int32_t micro, int32_t row);
int32_t use_kept(struct builder *b, int32_t micro, int32_t row);
/* What the layer's forward pass left is not kept; the next use makes a buffer of its own. */
void forget_what_comes_again(struct builder *b, int32_t micro, int32_t row);
/* Chunks that are joined pass one gradient through. */
int32_t use_gradient(struct builder *b, int32_t micro);
/* bytes_of: enum of draft.h, a kind of step that uses scratch. */
int32_t use_work(struct builder *b, int bytes_of);

void add_step(struct builder *b, enum step_kind kind, struct step step);
struct step step_of(const struct builder *b, int32_t micro);
void add_bucket_step(struct builder *b, enum step_kind kind, int32_t bucket);

/* ---- buckets that are whole for a while ---- */

/* The bucket of a layer, by its row in the chunk; of the embedding; of the head. */
int32_t layer_bucket(const struct builder *b, int32_t row);
int32_t head_bucket(const struct builder *b);

/* The bucket's gathered parameters, for micro's pass; gathered now if they are not there. NONE where the rank holds all (below ZeRO 3). */
int32_t use_weights(struct builder *b, int32_t micro, int32_t bucket);
/* Behind the pass's last step that reads them. */
void release_weights(struct builder *b, int32_t bucket);

/* The bucket's gradients of one micro-batch, cleared now if they are not there; of_head: BUFFER_HEAD_GRADIENT. NONE below ZeRO 2. */
int32_t use_gradients(struct builder *b, int32_t micro, int32_t bucket, bool of_head);
/* Behind the pass's last step that adds to them: sums over copies and replicas, into the own slice. */
void reduce_gradients(struct builder *b, int32_t micro, int32_t bucket, bool of_head);
/* Whether the ranks of a TP group sum gradients of the bucket. */
bool sums_copies(const struct stage *stage, const struct bucket *bucket);

#endif

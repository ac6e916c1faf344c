/* schedule.c: see schedule.h. Build host.
 *
 * A schedule is first an order of cells (forward or backward of a micro-batch, order.c); this file turns cells into steps, and writes down which
 * buffer each step makes, reads and last needs.
 * (1) A buffer's life begins with the step that makes it and ends with the last step that names it.
 * (2) The last stage's head is the start of a backward cell: loss and its gradient are one step. */
#include "tools/layoutc/schedule.h"

#include <stdlib.h>

#include "tools/layoutc/fields.h"
#include "tools/layoutc/order.h"

enum { BATCH_FIELDS = 6, WHOLE_PROGRAM = INT32_MAX };

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
    const struct chunk *chunk;   /* of the cell being built */
    int32_t c;                   /* its number */
};

static bool layer_comes_again(const struct layout_input *l, int32_t row)
{
    return l->recompute == AGAIN_FULL || (l->recompute == AGAIN_LAYERS && row < l->recompute_layers);
}

/* ---- buffers ---- */

static int32_t add_buffer(struct builder *b, struct buffer buffer)
{
    ASSERT(b->buffers < b->buffers_most && buffer.bytes > 0);
    buffer.bytes = round_up(buffer.bytes, ARENA_ALIGN_BYTES);
    b->buffer[b->buffers] = buffer;
    return b->buffers++;
}

static void add_whole(struct builder *b, enum buffer_kind kind, int64_t bytes)
{
    if (bytes > 0)
        add_buffer(b, (struct buffer){ .kind = kind, .micro = NONE, .layer = NONE, .last_step = WHOLE_PROGRAM, .bytes = bytes });
}

static void add_whole_program_buffers(struct builder *b)
{
    const struct input *input = b->draft->input;
    int64_t incoming = 0;
    for (int32_t c = 0; c < b->stage->chunks; c++) {
        bool joined = chunk_joined(b->stage, c), next_joined = chunk_joined(b->stage, c + 1);
        incoming += !b->stage->chunk[c].embeds && !joined;
        incoming += !b->stage->chunk[c].heads && !next_joined;
    }
    add_whole(b, BUFFER_PARAMETERS, b->stage->parameter_elements * input->board.real_bytes);
    add_whole(b, BUFFER_GRADIENTS, b->stage->gradient_elements * F32_BYTES);
    add_whole(b, BUFFER_MOMENT_1, b->stage->state_elements * F32_BYTES);
    add_whole(b, BUFFER_MOMENT_2, b->stage->state_elements * F32_BYTES);
    if (input->board.real_bytes < F32_BYTES)
        add_whole(b, BUFFER_MASTER, b->stage->state_elements * F32_BYTES);
    add_whole(b, BUFFER_ROPE, input->layout.sequence_tokens * input->model.head_dim * F32_BYTES);
    add_whole(b, BUFFER_SLOTS, incoming * b->draft->slot_bytes);
}

/* The buffer in *index, made now where there is none yet; its life reaches to the step that is about to be added. */
static int32_t use(struct builder *b, int32_t *index, struct buffer buffer)
{
    if (*index == NONE) {
        buffer.first_step = b->steps;
        *index = add_buffer(b, buffer);
    }
    b->buffer[*index].last_step = b->steps;
    return *index;
}

static int32_t use_batch(struct builder *b, int32_t micro)
{
    return use(
        b, &b->batch[micro],
        (struct buffer){
            .kind = BUFFER_BATCH, .micro = (int16_t)micro, .layer = NONE, .bytes = BATCH_FIELDS * b->draft->share.tokens * F32_BYTES });
}

static int64_t residual_bytes(const struct builder *b)
{
    return b->draft->share.residual_rows * b->draft->input->model.hidden * b->draft->input->board.real_bytes;
}

/* A layer's row among the stage's, from its row in the chunk. */
static int32_t stage_row(const struct builder *b, int32_t row)
{
    return b->chunk->first_row + row;
}

static int16_t global_layer(const struct builder *b, int32_t row)
{
    return (int16_t)(b->chunk->first_layer + row);
}

/* row: a layer's in the chunk; behind the last, the chunk's output. A joined chunk's first input is the output of the chunk before it. */
static int32_t use_residual(struct builder *b, int32_t micro, int32_t row)
{
    int32_t taken_over = row == 0 && chunk_joined(b->stage, b->c) ? 1 : 0;
    int32_t at = stage_row(b, row) + b->c - taken_over;
    return use(b, &b->residual[micro * (b->stage->layers + b->stage->chunks) + at],
               (struct buffer){ .kind = BUFFER_RESIDUAL, .micro = (int16_t)micro, .layer = global_layer(b, row), .bytes = residual_bytes(b) });
}

static int32_t use_of_layer(struct builder *b, int32_t *index, enum buffer_kind kind, int32_t micro, int32_t row, int64_t bytes)
{
    return use(b, &index[micro * b->stage->layers + stage_row(b, row)],
               (struct buffer){ .kind = kind, .micro = (int16_t)micro, .layer = global_layer(b, row), .bytes = bytes });
}

static int32_t use_saved(struct builder *b, int32_t micro, int32_t row)
{
    return use_of_layer(b, b->saved, BUFFER_SAVED, micro, row, b->draft->saved_bytes);
}

static int32_t use_core(struct builder *b, int32_t micro, int32_t row)
{
    return use_of_layer(b, b->core, BUFFER_CORE, micro, row, b->draft->core_bytes);
}

static int32_t use_kept(struct builder *b, int32_t micro, int32_t row)
{
    return use_of_layer(b, b->kept, BUFFER_KEPT, micro, row, b->draft->kept_bytes);
}

/* What the layer's forward pass left is not kept; the next use makes a buffer of its own. */
static void forget_what_comes_again(struct builder *b, int32_t micro, int32_t row)
{
    const struct layout_input *l = &b->draft->input->layout;
    int32_t i = micro * b->stage->layers + stage_row(b, row);
    bool whole = layer_comes_again(l, stage_row(b, row));
    if (whole)
        b->saved[i] = NONE;
    if (whole || l->recompute == AGAIN_SELECTIVE)
        b->core[i] = NONE;
}

/* Chunks that are joined pass one gradient through. */
static int32_t use_gradient(struct builder *b, int32_t micro)
{
    int32_t last = b->c;
    while (chunk_joined(b->stage, last + 1))
        last++;
    return use(b, &b->gradient[micro * b->stage->chunks + last],
               (struct buffer){ .kind = BUFFER_RESIDUAL_GRADIENT, .micro = (int16_t)micro, .layer = NONE, .bytes = residual_bytes(b) });
}

/* One scratch buffer serves a program's steps, as large as the largest of them needs: the fullest moments are steps of that kind. */
static int32_t use_work(struct builder *b, int bytes_of)
{
    int64_t bytes = round_up(b->draft->work_bytes[bytes_of], ARENA_ALIGN_BYTES);
    int32_t work = use(b, &b->work, (struct buffer){ .kind = BUFFER_WORK, .micro = NONE, .layer = NONE, .bytes = bytes });
    if (b->buffer[work].bytes < bytes)
        b->buffer[work].bytes = bytes;
    return work;
}

/* ---- steps ---- */

static const struct step NOTHING = {
    .micro = NONE, .layer = NONE, .bucket = NONE, .batch = NONE, .in = NONE, .out = NONE, .saved = NONE, .core = NONE, .kept = NONE, .work = NONE
};

static void add_step(struct builder *b, enum step_kind kind, struct step step)
{
    ASSERT(b->steps < b->steps_most);
    step.kind = (uint8_t)kind;
    b->step[b->steps++] = step;
}

static struct step step_of(const struct builder *b, int32_t micro)
{
    struct step step = NOTHING;
    step.chunk = (uint8_t)b->c;
    step.micro = (int16_t)micro;
    return step;
}

static void use_for_embedding(struct builder *b, int32_t micro, struct step *step)
{
    step->batch = use_batch(b, micro);
    if (b->draft->share.sequence_parallel)
        step->work = use_work(b, WORK_EMBED);
}

static void forward(struct builder *b, int32_t micro)
{
    struct step step = step_of(b, micro);
    if (b->c == 0) { /* no chunk runs before the stage's first */
        step.batch = use_batch(b, micro);
        add_step(b, STEP_FEED, step);
    }
    if (!chunk_joined(b->stage, b->c)) {
        step = step_of(b, micro);
        step.out = use_residual(b, micro, 0);
        if (b->chunk->embeds)
            use_for_embedding(b, micro, &step);
        add_step(b, b->chunk->embeds ? STEP_EMBED : STEP_RECEIVE_FORWARD, step);
    }
    for (int32_t i = 0; i < b->chunk->layers; i++) {
        step = step_of(b, micro);
        step.layer = global_layer(b, i);
        step.batch = use_batch(b, micro);
        step.in = use_residual(b, micro, i);
        step.out = use_residual(b, micro, i + 1);
        step.saved = use_saved(b, micro, i);
        step.core = use_core(b, micro, i);
        step.work = use_work(b, WORK_LAYER);
        add_step(b, STEP_LAYER, step);
        forget_what_comes_again(b, micro, i);
    }
    if (!b->chunk->heads && !chunk_joined(b->stage, b->c + 1)) {
        step = step_of(b, micro);
        step.in = use_residual(b, micro, b->chunk->layers);
        add_step(b, STEP_SEND_FORWARD, step);
    }
}

static void head(struct builder *b, int32_t micro, enum step_kind kind)
{
    struct step step = step_of(b, micro);
    step.batch = use_batch(b, micro);
    step.in = use_residual(b, micro, b->chunk->layers);
    if (kind == STEP_HEAD)
        step.out = use_gradient(b, micro);
    step.work = use_work(b, WORK_HEAD);
    add_step(b, kind, step);
}

/* Makes again what the forward pass of the layer did not keep. */
static void again(struct builder *b, int32_t micro, int32_t row)
{
    const struct layout_input *l = &b->draft->input->layout;
    struct step step = step_of(b, micro);
    bool whole = layer_comes_again(l, stage_row(b, row));
    if (!whole && l->recompute != AGAIN_SELECTIVE)
        return;
    step.layer = global_layer(b, row);
    step.batch = use_batch(b, micro);
    step.saved = use_saved(b, micro, row);
    step.core = use_core(b, micro, row);
    if (whole) {
        step.in = use_residual(b, micro, row);
        step.work = use_work(b, WORK_LAYER);
    }
    add_step(b, whole ? STEP_LAYER_AGAIN : STEP_CORE_AGAIN, step);
}

static void backward(struct builder *b, int32_t micro, bool halves)
{
    struct step step = step_of(b, micro);
    if (b->chunk->heads) {
        head(b, micro, STEP_HEAD);
    } else if (!chunk_joined(b->stage, b->c + 1)) {
        step.out = use_gradient(b, micro);
        add_step(b, STEP_RECEIVE_BACKWARD, step);
    }
    for (int32_t i = b->chunk->layers - 1; i >= 0; i--) {
        again(b, micro, i);
        step = step_of(b, micro);
        step.layer = global_layer(b, i);
        step.batch = use_batch(b, micro);
        step.in = use_residual(b, micro, i);
        step.out = use_gradient(b, micro);
        step.saved = use_saved(b, micro, i);
        step.core = use_core(b, micro, i);
        if (halves)
            step.kept = use_kept(b, micro, i);
        step.work = use_work(b, WORK_LAYER_BACKWARD);
        add_step(b, halves ? STEP_LAYER_INPUT : STEP_LAYER_BACKWARD, step);
    }
    if (chunk_joined(b->stage, b->c))
        return;
    step = step_of(b, micro);
    step.in = use_gradient(b, micro);
    if (b->chunk->embeds)
        use_for_embedding(b, micro, &step);
    add_step(b, b->chunk->embeds ? STEP_EMBED_BACKWARD : STEP_SEND_BACKWARD, step);
}

static void weights(struct builder *b, int32_t micro)
{
    for (int32_t i = b->chunk->layers - 1; i >= 0; i--) {
        struct step step = step_of(b, micro);
        step.layer = global_layer(b, i);
        step.in = use_residual(b, micro, i);
        step.saved = use_saved(b, micro, i);
        step.core = use_core(b, micro, i);
        step.kept = use_kept(b, micro, i);
        step.batch = use_batch(b, micro);
        step.work = use_work(b, WORK_LAYER);
        add_step(b, STEP_LAYER_WEIGHT, step);
    }
}

static void add_bucket_step(struct builder *b, enum step_kind kind, int32_t bucket)
{
    struct step step = NOTHING;
    step.bucket = (int16_t)bucket;
    add_step(b, kind, step);
}

static bool sums_copies(const struct stage *stage, const struct bucket *bucket)
{
    for (int32_t s = 0; s < bucket->shards; s++)
        if (stage->shard[bucket->first_shard + s].copies_sum != COPIES_EQUAL)
            return true;
    return false;
}

/* From the last gradient to the new parameters. The order of the sums: copies within TP, the tied pair, then DP. */
static void optimize(struct builder *b)
{
    const struct stage *stage = b->stage;
    const struct layout_input *l = &b->draft->input->layout;
    for (int32_t i = 0; i < stage->buckets; i++)
        if (sums_copies(stage, &stage->bucket[i]))
            add_bucket_step(b, STEP_COPIES, i);
    if (b->draft->input->model.tied && (stage->embeds || stage->heads))
        add_step(b, STEP_TIED, NOTHING);
    if (l->dp > 1)
        for (int32_t i = 0; i < stage->buckets; i++)
            add_bucket_step(b, STEP_REDUCE, i);
    add_step(b, STEP_NORM, NOTHING);
    for (int32_t i = 0; i < stage->buckets; i++)
        add_bucket_step(b, STEP_UPDATE, i);
    if (l->dp > 1)
        for (int32_t i = 0; i < stage->buckets; i++)
            add_bucket_step(b, STEP_GATHER, i);
}

/* ---- programs ---- */

static void begin_program(struct builder *b, int64_t micro_batches, int64_t steps_most)
{
    int64_t layers = micro_batches * b->stage->layers, chunks = micro_batches * b->stage->chunks;
    struct blocks *blocks = &b->draft->blocks;
    b->step = blocks_take(blocks, steps_most, sizeof *b->step);
    b->steps_most = (int32_t)steps_most;
    b->steps = 0;
    b->batch = blocks_take(blocks, micro_batches, sizeof *b->batch);
    b->gradient = blocks_take(blocks, chunks, sizeof *b->gradient);
    b->residual = blocks_take(blocks, layers + chunks, sizeof *b->residual);
    b->saved = blocks_take(blocks, layers, sizeof *b->saved);
    b->core = blocks_take(blocks, layers, sizeof *b->core);
    b->kept = blocks_take(blocks, layers, sizeof *b->kept);
    for (int64_t i = 0; i < micro_batches; i++)
        b->batch[i] = NONE;
    for (int64_t i = 0; i < chunks; i++)
        b->gradient[i] = NONE;
    for (int64_t i = 0; i < layers + chunks; i++)
        b->residual[i] = NONE;
    for (int64_t i = 0; i < layers; i++)
        b->saved[i] = b->core[i] = b->kept[i] = NONE;
    b->work = NONE;
}

static void begin_cell(struct builder *b, int32_t chunk)
{
    b->c = chunk;
    b->chunk = &b->stage->chunk[chunk];
}

static void build_training(struct builder *b)
{
    const struct layout_input *l = &b->draft->input->layout;
    struct cell *cell = blocks_take(&b->draft->blocks, CELLS_A_MICRO_BATCH_MOST * l->micro_batches * l->chunks, sizeof *cell);
    int64_t cells;
    if (l->schedule == ORDER_TABLE) {
        cell = b->draft->table[b->pp].cell;
        cells = b->draft->table[b->pp].cells;
    } else {
        cells = order_cells(cell, l, b->pp);
    }
    begin_program(b, l->micro_batches, l->micro_batches * (4LL * b->stage->layers + 5LL * b->stage->chunks) + 5LL * b->stage->buckets + 2);
    for (int32_t i = 0; i < b->stage->buckets; i++)
        add_bucket_step(b, STEP_CLEAR, i);
    for (int64_t i = 0; i < cells; i++) {
        begin_cell(b, cell[i].chunk);
        if (cell[i].kind == CELL_FORWARD)
            forward(b, cell[i].micro);
        else if (cell[i].kind == CELL_WEIGHT)
            weights(b, cell[i].micro);
        else
            backward(b, cell[i].micro, cell[i].kind == CELL_INPUT);
    }
    optimize(b);
    b->stage->train = (struct program){ .step = b->step, .steps = b->steps };
}

static void build_evaluation(struct builder *b)
{
    begin_program(b, 1, b->stage->layers + 4LL * b->stage->chunks);
    for (int32_t c = 0; c < b->stage->chunks; c++) {
        begin_cell(b, c);
        forward(b, 0);
    }
    if (b->chunk->heads)
        head(b, 0, STEP_HEAD_EVALUATE);
    b->stage->evaluate = (struct program){ .step = b->step, .steps = b->steps };
}

void schedule_make(struct draft *draft)
{
    const struct input *input = draft->input;
    fields_make(draft);
    draft->slot_bytes = round_up(draft->share.residual_rows * input->model.hidden * input->board.real_bytes, ARENA_ALIGN_BYTES);
    for (int32_t c = 0; c < draft->channels; c++)
        draft->channel[c].slot_bytes = draft->slot_bytes;
    for (int32_t s = 0; s < input->layout.pp; s++) {
        struct stage *stage = &draft->stage[s];
        int64_t most = 7 + (input->layout.micro_batches + 1) * (6LL * stage->layers + 3LL * stage->chunks) + 2;
        struct builder b = { .draft = draft, .stage = stage, .pp = s, .buffers_most = (int32_t)most };
        b.buffer = draft->buffer[s] = blocks_take(&draft->blocks, most, sizeof *b.buffer);
        add_whole_program_buffers(&b);
        build_training(&b);
        build_evaluation(&b);
        stage->buffer = b.buffer;
        stage->buffers = b.buffers;
    }
}

/* schedule.c: see schedule.h. Build host.
 *
 * A schedule is first an order of cells (forward or backward of a micro-batch, order.c); passes.c turns each into steps, and writes down which
 * buffer each step makes, reads and last needs.
 * (1) The last stage's head is the start of a backward cell: loss and its gradient are one step. */
#include "tools/layoutc/schedule.h"

#include "tools/layoutc/fields.h"
#include "tools/layoutc/order.h"
#include "tools/layoutc/passes.h"

/* From the last gradient to the new parameters. The order of the sums: copies within TP, the tied pair, then DP; from ZeRO 2 on each
 * micro-batch's gradients are summed within TP and over DP already, and the tied pair comes last. */
static void optimize(struct builder *b)
{
    const struct stage *stage = b->stage;
    const struct layout_input *l = &b->draft->input->layout;
    for (int32_t i = 0; i < stage->buckets && l->zero < 2; i++)
        if (sums_copies(stage, &stage->bucket[i]))
            add_bucket_step(b, STEP_COPIES, i);
    if (b->draft->input->model.tied && (stage->embeds || stage->heads))
        add_step(b, STEP_TIED, NOTHING);
    if (l->dp > 1 && l->zero < 2)
        for (int32_t i = 0; i < stage->buckets; i++)
            add_bucket_step(b, STEP_REDUCE, i);
    add_step(b, STEP_NORM, NOTHING);
    for (int32_t i = 0; i < stage->buckets; i++)
        add_bucket_step(b, STEP_UPDATE, i);
    if (l->dp > 1 && (l->zero == 1 || l->zero == 2))
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
    b->weights = blocks_take(blocks, b->stage->buckets, sizeof *b->weights);
    b->gradients = blocks_take(blocks, micro_batches * b->stage->buckets, sizeof *b->gradients);
    for (int32_t i = 0; i < b->stage->buckets; i++)
        b->weights[i] = NONE;
    for (int64_t i = 0; i < micro_batches * b->stage->buckets; i++)
        b->gradients[i] = NONE;
    b->work = b->head_gradients = NONE;
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
    begin_program(b, l->micro_batches, l->micro_batches * (4LL * b->stage->layers + 5LL * b->stage->chunks + 6LL * (b->stage->buckets + 1)) + 5LL * b->stage->buckets + 2);
    for (int32_t i = 0; i < b->stage->buckets; i++)
        add_bucket_step(b, STEP_CLEAR, i);
    for (int64_t i = 0; i < cells; i++) {
        begin_cell(b, cell[i].chunk);
        if (cell[i].kind == CELL_FORWARD)
            forward_pass(b, cell[i].micro);
        else if (cell[i].kind == CELL_WEIGHT)
            weights_pass(b, cell[i].micro);
        else
            backward_pass(b, cell[i].micro, cell[i].kind == CELL_INPUT);
    }
    optimize(b);
    b->stage->train = (struct program){ .step = b->step, .steps = b->steps };
}

static void build_evaluation(struct builder *b)
{
    begin_program(b, 1, b->stage->layers + 4LL * b->stage->chunks + b->stage->buckets + 1);
    for (int32_t c = 0; c < b->stage->chunks; c++) {
        begin_cell(b, c);
        forward_pass(b, 0);
    }
    if (b->chunk->heads)
        head_pass(b, 0, STEP_HEAD_EVALUATE);
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
        int64_t most = 7 + (input->layout.micro_batches + 1) * (6LL * stage->layers + 3LL * stage->chunks + 4LL * (stage->buckets + 1)) + 2;
        struct builder b = { .draft = draft, .stage = stage, .pp = s, .buffers_most = (int32_t)most };
        b.buffer = draft->buffer[s] = blocks_take(&draft->blocks, most, sizeof *b.buffer);
        add_whole_program_buffers(&b);
        build_training(&b);
        build_evaluation(&b);
        stage->buffer = b.buffer;
        stage->buffers = b.buffers;
    }
}

/* builder.c: see builder.h. Build host. */
#include "tools/layoutc/builder.h"

enum { BATCH_FIELDS = 6, WHOLE_PROGRAM = INT32_MAX };

bool layer_comes_again(const struct layout_input *l, int32_t row)
{
    return l->recompute == AGAIN_FULL || (l->recompute == AGAIN_LAYERS && row < l->recompute_layers);
}

/* ---- buffers ---- */

int32_t add_buffer(struct builder *b, struct buffer buffer)
{
    ASSERT(b->buffers < b->buffers_most && buffer.bytes > 0);
    buffer.bytes = round_up(buffer.bytes, ARENA_ALIGN_BYTES);
    b->buffer[b->buffers] = buffer;
    return b->buffers++;
}

static void add_whole(struct builder *b, enum buffer_kind kind, int64_t bytes)
{
    if (bytes > 0)
        add_buffer(b, (struct buffer){ .kind = kind, .micro = NONE, .layer = NONE, .bucket = NONE, .last_step = WHOLE_PROGRAM, .bytes = bytes });
}

void add_whole_program_buffers(struct builder *b)
{
    const struct input *input = b->draft->input;
    int64_t incoming = 0;
    for (int32_t c = 0; c < b->stage->chunks; c++) {
        bool joined = chunk_joined(b->stage, c), next_joined = chunk_joined(b->stage, c + 1);
        incoming += !b->stage->chunk[c].embeds && !joined;
        incoming += !b->stage->chunk[c].heads && !next_joined;
    }
    add_whole(b, BUFFER_PARAMETERS, b->stage->held_elements * input->board.real_bytes);
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

int32_t use_batch(struct builder *b, int32_t micro)
{
    return use(
        b, &b->batch[micro],
        (struct buffer){
            .kind = BUFFER_BATCH, .micro = (int16_t)micro, .layer = NONE, .bucket = NONE, .bytes = BATCH_FIELDS * b->draft->share.tokens * F32_BYTES });
}

static int64_t residual_bytes(const struct builder *b)
{
    return b->draft->share.residual_rows * b->draft->input->model.hidden * b->draft->input->board.real_bytes;
}

int32_t stage_row(const struct builder *b, int32_t row)
{
    return b->chunk->first_row + row;
}

int16_t global_layer(const struct builder *b, int32_t row)
{
    return (int16_t)(b->chunk->first_layer + row);
}

int32_t use_residual(struct builder *b, int32_t micro, int32_t row)
{
    int32_t taken_over = row == 0 && chunk_joined(b->stage, b->c) ? 1 : 0;
    int32_t at = stage_row(b, row) + b->c - taken_over;
    return use(b, &b->residual[micro * (b->stage->layers + b->stage->chunks) + at],
               (struct buffer){ .kind = BUFFER_RESIDUAL, .micro = (int16_t)micro, .layer = global_layer(b, row), .bucket = NONE, .bytes = residual_bytes(b) });
}

static int32_t use_of_layer(struct builder *b, int32_t *index, enum buffer_kind kind, int32_t micro, int32_t row, int64_t bytes)
{
    return use(b, &index[micro * b->stage->layers + stage_row(b, row)],
               (struct buffer){ .kind = kind, .micro = (int16_t)micro, .layer = global_layer(b, row), .bucket = NONE, .bytes = bytes });
}

int32_t use_saved(struct builder *b, int32_t micro, int32_t row)
{
    return use_of_layer(b, b->saved, BUFFER_SAVED, micro, row, b->draft->saved_bytes);
}

int32_t use_core(struct builder *b, int32_t micro, int32_t row)
{
    return use_of_layer(b, b->core, BUFFER_CORE, micro, row, b->draft->core_bytes);
}

int32_t use_kept(struct builder *b, int32_t micro, int32_t row)
{
    return use_of_layer(b, b->kept, BUFFER_KEPT, micro, row, b->draft->kept_bytes);
}

void forget_what_comes_again(struct builder *b, int32_t micro, int32_t row)
{
    const struct layout_input *l = &b->draft->input->layout;
    int32_t i = micro * b->stage->layers + stage_row(b, row);
    bool whole = layer_comes_again(l, stage_row(b, row));
    if (whole)
        b->saved[i] = NONE;
    if (whole || l->recompute == AGAIN_SELECTIVE)
        b->core[i] = NONE;
}

int32_t use_gradient(struct builder *b, int32_t micro)
{
    int32_t last = b->c;
    while (chunk_joined(b->stage, last + 1))
        last++;
    return use(b, &b->gradient[micro * b->stage->chunks + last],
               (struct buffer){ .kind = BUFFER_RESIDUAL_GRADIENT, .micro = (int16_t)micro, .layer = NONE, .bucket = NONE, .bytes = residual_bytes(b) });
}

/* One scratch buffer serves a program's steps, as large as the largest of them needs: the fullest moments are steps of that kind. */
int32_t use_work(struct builder *b, int bytes_of)
{
    int64_t bytes = round_up(b->draft->work_bytes[bytes_of], ARENA_ALIGN_BYTES);
    int32_t work = use(b, &b->work, (struct buffer){ .kind = BUFFER_WORK, .micro = NONE, .layer = NONE, .bucket = NONE, .bytes = bytes });
    if (b->buffer[work].bytes < bytes)
        b->buffer[work].bytes = bytes;
    return work;
}

/* ---- steps ---- */

const struct step NOTHING = {
    .micro = NONE, .layer = NONE, .bucket = NONE, .batch = NONE, .in = NONE, .out = NONE, .saved = NONE, .core = NONE, .kept = NONE, .work = NONE,
    .weights = NONE, .gradients = NONE
};

void add_step(struct builder *b, enum step_kind kind, struct step step)
{
    ASSERT(b->steps < b->steps_most);
    step.kind = (uint8_t)kind;
    b->step[b->steps++] = step;
}

struct step step_of(const struct builder *b, int32_t micro)
{
    struct step step = NOTHING;
    step.chunk = (uint8_t)b->c;
    step.micro = (int16_t)micro;
    return step;
}

void add_bucket_step(struct builder *b, enum step_kind kind, int32_t bucket)
{
    struct step step = NOTHING;
    step.bucket = (int16_t)bucket;
    add_step(b, kind, step);
}

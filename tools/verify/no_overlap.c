/* no_overlap.c: buffers that live at one time lie apart, fields that one step needs lie apart, and each is as long as its step needs. See verify.h.
 *
 * Lives are taken from the programs, not from the buffers' rows; the rows must say the same. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/verify/verify.h"

enum { F32 = 4, ALIGN_BYTES = 256, FIELD_ALIGN_BYTES = 64, BATCH_FIELDS = 6 };

/* ---- lives ---- */

enum life_kind { UNUSED, TRAINING, EVALUATION, WHOLE };
struct life {
    enum life_kind kind;
    int32_t first, last;
};

enum { OPERANDS = 9 };
static void operands(const struct step *step, int32_t named[OPERANDS])
{
    const int32_t all[] = { step->batch, step->in, step->out, step->saved, step->core, step->kept, step->work, step->weights, step->gradients };
    _Static_assert(sizeof all == OPERANDS * sizeof *all, "each operand is one of OPERANDS");
    memcpy(named, all, sizeof all);
}

static bool of_whole_program(enum buffer_kind kind)
{
    return kind < BUFFER_BATCH;
}

static enum status live_at(struct life *life, int s, int32_t buffer, enum life_kind kind, int32_t step)
{
    if (life->kind == UNUSED)
        *life = (struct life){ kind, step, step };
    if (life->kind != kind)
        return fail(E_SOFTWARE, "no_overlap: stage %d: buffer %d is named by both programs", s, (int)buffer);
    life->last = step;
    return OK;
}

static enum status lives_of_program(const struct stage *stage, int s, const struct program *program, enum life_kind kind, struct life *life)
{
    for (int32_t i = 0; i < program->steps; i++) {
        const struct step *step = &program->step[i];
        int32_t named[OPERANDS];
        operands(step, named);
        for (int n = 0; n < OPERANDS; n++) {
            if (named[n] == NONE)
                continue;
            if (of_whole_program(stage->buffer[named[n]].kind))
                return fail(E_SOFTWARE, "no_overlap: stage %d, step %d (%s) names buffer %d, which is the whole program's", s, (int)i,
                            step_name(step), (int)named[n]);
            TRY(live_at(&life[named[n]], s, named[n], kind, i));
        }
    }
    return OK;
}

static enum status lives_of_stage(const struct stage *stage, int s, struct life *life)
{
    for (int32_t i = 0; i < stage->buffers; i++)
        if (of_whole_program(stage->buffer[i].kind))
            life[i] = (struct life){ WHOLE, 0, INT32_MAX };
    TRY(lives_of_program(stage, s, &stage->train, TRAINING, life));
    TRY(lives_of_program(stage, s, &stage->evaluate, EVALUATION, life));
    for (int32_t i = 0; i < stage->buffers; i++) {
        const struct buffer *b = &stage->buffer[i];
        if (life[i].kind == UNUSED)
            return fail(E_SOFTWARE, "no_overlap: stage %d: no step names buffer %d", s, (int)i);
        if (b->first_step != life[i].first || b->last_step != life[i].last)
            return fail(E_SOFTWARE, "no_overlap: stage %d: buffer %d lives from step %d to %d, its row says %d to %d", s, (int)i,
                        (int)life[i].first, (int)life[i].last, (int)b->first_step, (int)b->last_step);
    }
    return OK;
}

/* The buffers that live at one step of a program being played, lowest first. None lies over another, so a new one need only be held against its
 * two neighbours. */
struct living {
    const struct stage *stage;
    int s;
    int32_t *buffer; /* [stage->buffers] */
    int32_t count;
};

/* Where in the row a buffer of that offset stands, or would. */
static int32_t position(const struct living *living, int64_t offset_bytes)
{
    int32_t low = 0, high = living->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (living->stage->buffer[living->buffer[middle]].offset_bytes < offset_bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum status is_born(struct living *living, int32_t buffer, enum life_kind kind, int32_t step)
{
    const struct buffer *all = living->stage->buffer, *born = &all[buffer];
    int32_t *row = living->buffer, at = position(living, born->offset_bytes), over = NONE;
    if (at < living->count && row[at] == buffer)
        return OK; /* the step names it twice */
    if (at < living->count && all[row[at]].offset_bytes < born->offset_bytes + born->bytes)
        over = row[at];
    else if (at > 0 && all[row[at - 1]].offset_bytes + all[row[at - 1]].bytes > born->offset_bytes)
        over = row[at - 1];
    if (over != NONE)
        return fail(E_SOFTWARE, "no_overlap: stage %d: buffers %d and %d lie over each other and both live at step %d of %s", living->s,
                    (int)(over < buffer ? over : buffer), (int)(over < buffer ? buffer : over), (int)step,
                    kind == EVALUATION ? "evaluation" : "training");
    memmove(&row[at + 1], &row[at], (size_t)(living->count++ - at) * sizeof *row);
    row[at] = buffer;
    return OK;
}

static void dies(struct living *living, int32_t buffer)
{
    int32_t *row = living->buffer, at = position(living, living->stage->buffer[buffer].offset_bytes);
    if (at < living->count && row[at] == buffer) /* else the step names it twice */
        memmove(&row[at], &row[at + 1], (size_t)(--living->count - at) * sizeof *row);
}

/* Lives include their first step and their last: what a step makes and what it needs for the last time lie apart. */
static enum status check_program_places(struct living *living, const struct program *program, enum life_kind kind, const struct life *life)
{
    living->count = 0;
    for (int32_t i = 0; i < living->stage->buffers; i++)
        if (life[i].kind == WHOLE)
            TRY(is_born(living, i, kind, 0));
    for (int32_t i = 0; i < program->steps; i++) {
        int32_t named[OPERANDS];
        operands(&program->step[i], named);
        for (int n = 0; n < OPERANDS; n++)
            if (named[n] != NONE && life[named[n]].first == i)
                TRY(is_born(living, named[n], kind, i));
        for (int n = 0; n < OPERANDS; n++)
            if (named[n] != NONE && life[named[n]].last == i)
                dies(living, named[n]);
    }
    return OK;
}

static enum status check_places(const struct stage *stage, int s, const struct life *life)
{
    for (int32_t i = 0; i < stage->buffers; i++) {
        const struct buffer *b = &stage->buffer[i];
        if (b->offset_bytes % ALIGN_BYTES != 0 || b->offset_bytes + b->bytes > stage->arena_bytes)
            return fail(E_SOFTWARE,
                        "no_overlap: stage %d: buffer %d lies at %" PRId64 " to %" PRId64 "; it is aligned to %d and ends within %" PRId64,
                        s, (int)i, b->offset_bytes, b->offset_bytes + b->bytes, ALIGN_BYTES, stage->arena_bytes);
    }
    struct living living = { .stage = stage, .s = s, .buffer = calloc((size_t)stage->buffers, sizeof *living.buffer) };
    if (living.buffer == NULL)
        return fail(E_AGAIN, "no memory for %d buffers", (int)stage->buffers);
    enum status status = check_program_places(&living, &stage->train, TRAINING, life);
    if (status == OK)
        status = check_program_places(&living, &stage->evaluate, EVALUATION, life);
    free(living.buffer);
    return status;
}

/* ---- fields ---- */

struct field {
    int index;
    int64_t bytes; /* 0: the model has none */
};

/* The fields lie apart and within bytes. */
static enum status check_fields(const char *what, const int64_t *offset, const struct field *field, int fields, int64_t bytes)
{
    for (int i = 0; i < fields; i++) {
        int64_t begin = offset[field[i].index];
        if (field[i].bytes == 0) {
            if (begin != NONE)
                return fail(E_SOFTWARE, "no_overlap: %s field %d has a place, but the model has none", what, field[i].index);
            continue;
        }
        if (begin < 0 || begin % FIELD_ALIGN_BYTES != 0 || begin + field[i].bytes > bytes)
            return fail(E_SOFTWARE,
                        "no_overlap: %s field %d lies at %" PRId64 " to %" PRId64 "; it is aligned to %d and ends within %" PRId64, what,
                        field[i].index, begin, begin + field[i].bytes, FIELD_ALIGN_BYTES, bytes);
        for (int j = 0; j < i; j++) {
            int64_t other = offset[field[j].index];
            if (field[j].bytes > 0 && begin < other + field[j].bytes && other < begin + field[i].bytes)
                return fail(E_SOFTWARE, "no_overlap: %s fields %d and %d lie over each other", what, field[j].index, field[i].index);
        }
    }
    return OK;
}

static enum status check_saved(const struct tables *t, const struct facts *f, int64_t bytes)
{
    int64_t n = f->tokens, real = f->real_bytes, normed_heads = f->qk_norm ? f->heads_local + f->kv_heads_local : 0;
    const struct field fields[] = {
        { SAVED_RSTD_ATTENTION, f->residual_rows * F32 },
        { SAVED_QKV, n * f->qkv_columns * real },
        { SAVED_QK_RAW, n * normed_heads * f->head_dim * real },
        { SAVED_QK_RSTD, n * normed_heads * F32 },
        { SAVED_RESIDUAL_MIDDLE, f->residual_rows * f->hidden * real },
        { SAVED_RSTD_MLP, f->residual_rows * F32 },
        { SAVED_GATE_UP, n * 2 * f->intermediate_local * real },
    };
    return check_fields("saved", t->saved_offset, fields, (int)ELEMENTS_OF(fields), bytes);
}

static enum status check_core(const struct tables *t, const struct facts *f, int64_t bytes)
{
    const struct field fields[] = {
        { CORE_ATTENTION, f->tokens * f->attention_columns * f->real_bytes },
        { CORE_LSE, f->tokens * f->heads_local * F32 },
    };
    return check_fields("core", t->core_offset, fields, (int)ELEMENTS_OF(fields), bytes);
}

static enum status check_kept(const struct tables *t, const struct facts *f, int64_t bytes)
{
    int64_t n = f->tokens, real = f->real_bytes;
    const struct field fields[] = {
        { KEPT_OUT_GRADIENT, n * f->hidden * real },
        { KEPT_MIDDLE_GRADIENT, n * f->hidden * real },
        { KEPT_GATE_UP_GRADIENT, n * 2 * f->intermediate_local * real },
        { KEPT_QKV_GRADIENT, n * f->qkv_columns * real },
    };
    return check_fields("kept", t->kept_offset, fields, (int)ELEMENTS_OF(fields), bytes);
}

/* What a step of that kind has in its scratch at one time: a layer's backward pass first that of the MLP, then that of attention. */
static enum status check_work(const struct tables *t, const struct facts *f, enum step_kind kind, int64_t bytes)
{
    int64_t n = f->tokens, real = f->real_bytes;
    const struct field normed = { WORK_NORMED, n * f->hidden * real }, partial = { WORK_PARTIAL, n * f->hidden * real };
    const struct field activated = { WORK_ACTIVATED, n * f->intermediate_local * real };
    const struct field gathered = { WORK_GATHERED, f->sequence_parallel ? n * f->hidden * real : 0 };
    const struct field embed[] = { normed, partial, gathered };
    const struct field forward[] = { normed, partial, activated };
    const struct field mlp[] = { normed, partial, gathered, activated, { WORK_GATE_UP_GRADIENT, n * 2 * f->intermediate_local * real } };
    const struct field attention[] = {
        normed,
        partial,
        gathered,
        { WORK_ATTENTION_GRADIENT, n * f->attention_columns * real },
        { WORK_QKV_GRADIENT, n * f->qkv_columns * real },
        { WORK_DELTA, n * f->heads_local * F32 },
    };
    const struct field head[] = {
        normed,
        partial,
        { WORK_RSTD, f->residual_rows * F32 },
        { WORK_LOGITS, f->logit_rows * f->vocabulary_local * F32 },
        { WORK_LOGIT_STATISTICS, 3 * f->logit_rows * F32 },
    };
    switch (kind) {
    case STEP_EMBED:
    case STEP_EMBED_BACKWARD:
        return check_fields("work", t->work_offset, embed, (int)ELEMENTS_OF(embed), bytes);
    case STEP_LAYER:
    case STEP_LAYER_AGAIN:
    case STEP_LAYER_WEIGHT:
        return check_fields("work", t->work_offset, forward, (int)ELEMENTS_OF(forward), bytes);
    case STEP_LAYER_BACKWARD:
    case STEP_LAYER_INPUT:
        TRY(check_fields("work", t->work_offset, mlp, (int)ELEMENTS_OF(mlp), bytes));
        return check_fields("work", t->work_offset, attention, (int)ELEMENTS_OF(attention), bytes);
    default:
        return check_fields("work", t->work_offset, head, (int)ELEMENTS_OF(head), bytes);
    }
}

/* ---- sizes ---- */

/* Each chunk has a message coming in on either side where another stage is. */
static int64_t slots_bytes(const struct stage *stage, int64_t message)
{
    int64_t incoming = 0;
    for (int32_t c = 0; c < stage->chunks; c++) {
        incoming += !stage->chunk[c].embeds && !chunk_joined(stage, c);
        incoming += !stage->chunk[c].heads && !chunk_joined(stage, c + 1);
    }
    return incoming * message;
}

/* The least that a buffer of that kind must have; saved and work are checked by their fields. */
static int64_t least_bytes(const struct facts *f, const struct stage *stage, enum buffer_kind kind, int32_t bucket)
{
    int64_t residual = f->residual_rows * f->hidden * f->real_bytes;
    switch (kind) {
    case BUFFER_PARAMETERS:
        return stage->held_elements * f->real_bytes;
    case BUFFER_GRADIENTS:
        return stage->gradient_elements * F32;
    case BUFFER_MOMENT_1:
    case BUFFER_MOMENT_2:
        return stage->state_elements * F32;
    case BUFFER_MASTER:
        return f->real_bytes < F32 ? stage->state_elements * F32 : 0;
    case BUFFER_ROPE:
        return f->sequence_tokens * f->head_dim * F32;
    case BUFFER_SLOTS:
        return slots_bytes(stage, residual);
    case BUFFER_BATCH:
        return BATCH_FIELDS * f->tokens * F32;
    case BUFFER_RESIDUAL:
    case BUFFER_RESIDUAL_GRADIENT:
        return residual;
    case BUFFER_BUCKET:
        return stage->bucket[bucket].elements * f->real_bytes;
    case BUFFER_BUCKET_GRADIENT:
    case BUFFER_HEAD_GRADIENT:
        return stage->bucket[bucket].elements * F32;
    default:
        return 0;
    }
}

static enum status check_sizes(const struct facts *f, const struct stage *stage, int s)
{
    int64_t count[BUFFER_KINDS] = { 0 };
    for (int32_t i = 0; i < stage->buffers; i++) {
        const struct buffer *b = &stage->buffer[i];
        int64_t least = least_bytes(f, stage, b->kind, b->bucket);
        count[b->kind]++;
        if (b->bytes < least)
            return fail(E_SOFTWARE, "no_overlap: stage %d: buffer %d has %" PRId64 " bytes, it needs %" PRId64, s, (int)i, b->bytes, least);
    }
    for (int kind = 0; kind < BUFFER_STAGING; kind++)
        if (count[kind] != (least_bytes(f, stage, (enum buffer_kind)kind, NONE) > 0))
            return fail(E_SOFTWARE, "no_overlap: stage %d has %d buffers of kind %d", s, (int)count[kind], kind);
    return OK;
}

static enum status check_parts(const struct tables *t, const struct facts *f, const struct stage *stage, const struct program *program)
{
    for (int32_t i = 0; i < program->steps; i++) {
        const struct step *step = &program->step[i];
        if (step->saved != NONE)
            TRY(check_saved(t, f, stage->buffer[step->saved].bytes));
        if (step->core != NONE)
            TRY(check_core(t, f, stage->buffer[step->core].bytes));
        if (step->kept != NONE)
            TRY(check_kept(t, f, stage->buffer[step->kept].bytes));
        if (step->work != NONE)
            TRY(check_work(t, f, (enum step_kind)step->kind, stage->buffer[step->work].bytes));
    }
    return OK;
}

/* ---- message slots: what comes in lies apart, within the receiver's BUFFER_SLOTS ---- */

static enum status check_slots(const struct tables *t, int64_t rank)
{
    const struct rank_row *row = &t->rank[rank];
    const struct stage *stage = &t->stage[row->pp];
    const struct comm_channel *in[2 * CHUNKS_MOST];
    int count = 0;
    for (int32_t c = 0; c < stage->chunks; c++)
        for (int d = 0; d < CHANNEL_DIRECTIONS; d++)
            if ((d == CHANNEL_FORWARD_IN || d == CHANNEL_BACKWARD_IN) && row->channel[c][d] != NONE)
                in[count++] = &t->channel[row->channel[c][d]];
    const struct buffer *slots = NULL;
    for (int32_t i = 0; i < stage->buffers && slots == NULL; i++)
        if (stage->buffer[i].kind == BUFFER_SLOTS)
            slots = &stage->buffer[i];
    for (int c = 0; c < count; c++) {
        int64_t begin = in[c]->slots_offset_bytes, end = begin + in[c]->slots * in[c]->slot_bytes;
        if (slots == NULL || begin % FIELD_ALIGN_BYTES != 0 || begin < slots->offset_bytes || end > slots->offset_bytes + slots->bytes)
            return fail(E_SOFTWARE, "no_overlap: channel %d: its slots lie at %" PRId64 " to %" PRId64 ", outside rank %lld's slots",
                        (int)in[c]->id, begin, end, (long long)rank);
        for (int other = 0; other < c; other++)
            if (begin < in[other]->slots_offset_bytes + in[other]->slots * in[other]->slot_bytes && in[other]->slots_offset_bytes < end)
                return fail(E_SOFTWARE, "no_overlap: the slots of channels %d and %d lie over each other on rank %lld", (int)in[other]->id,
                            (int)in[c]->id, (long long)rank);
    }
    return OK;
}

static enum status check_stage(const struct tables *t, const struct facts *f, int s)
{
    const struct stage *stage = &t->stage[s];
    struct life *life = calloc((size_t)stage->buffers, sizeof *life);
    if (life == NULL)
        return fail(E_AGAIN, "no memory for %d buffers", (int)stage->buffers);
    enum status status = lives_of_stage(stage, s, life);
    if (status == OK)
        status = check_places(stage, s, life);
    free(life);
    TRY(status);
    TRY(check_sizes(f, stage, s));
    TRY(check_parts(t, f, stage, &stage->train));
    return check_parts(t, f, stage, &stage->evaluate);
}

enum status prove_no_overlap(const struct tables *t, const struct facts *f)
{
    for (int s = 0; s < f->pp; s++)
        TRY(check_stage(t, f, s));
    for (int64_t rank = 0; rank < f->ranks; rank++)
        TRY(check_slots(t, rank));
    return OK;
}

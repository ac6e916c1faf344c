/* written.c: no read before the write that it means. See verify.h.
 *
 * Each buffer carries a tag, what was last written into it; each step asks for tags and leaves others. That no other buffer's bytes lie over it
 * meanwhile is no_overlap.c's part. */
#include <stdlib.h>

#include "tools/verify/verify.h"

struct content {
    enum buffer_kind kind;
    int32_t micro, layer; /* layer: whose input (or gradient of the input); last + 1 is the stage's output */
    bool there;
};

struct reader {
    const struct stage *stage;
    const struct facts *f;
    int s;
    int32_t at;
    const struct step *step;
    struct content *content; /* [buffers] */
};

static enum status wrong(const struct reader *r, const char *operand, const char *what)
{
    return fail(E_SOFTWARE, "written: stage %d, step %d (%s of micro-batch %d, layer %d): %s %s", r->s, (int)r->at, step_name(r->step),
                r->step->micro, r->step->layer, operand, what);
}

static enum status named(const struct reader *r, const char *operand, int32_t buffer, enum buffer_kind kind)
{
    if (buffer == NONE)
        return wrong(r, operand, "is not named");
    return r->stage->buffer[buffer].kind == kind ? OK : wrong(r, operand, "is a buffer of another kind");
}

static enum status reads(const struct reader *r, const char *operand, int32_t buffer, enum buffer_kind kind, int32_t layer)
{
    TRY(named(r, operand, buffer, kind));
    const struct content *c = &r->content[buffer];
    if (!c->there)
        return wrong(r, operand, "is read before anything is written there");
    return c->micro == r->step->micro && c->layer == layer ? OK : wrong(r, operand, "holds something else");
}

static enum status writes(const struct reader *r, const char *operand, int32_t buffer, enum buffer_kind kind, int32_t layer)
{
    TRY(named(r, operand, buffer, kind));
    const struct buffer *b = &r->stage->buffer[buffer];
    /* A gradient moves through the layers in one buffer, so that buffer's row names none. */
    if (b->micro != r->step->micro || (kind != BUFFER_RESIDUAL_GRADIENT && b->layer != layer))
        return wrong(r, operand, "is the buffer of another micro-batch or layer");
    r->content[buffer] = (struct content){ .kind = kind, .micro = r->step->micro, .layer = layer, .there = true };
    return OK;
}

static enum status no_others(const struct reader *r, bool batch, bool in, bool out, bool saved, bool core, bool kept, bool work)
{
    const struct step *s = r->step;
    if ((s->batch != NONE) != batch || (s->in != NONE) != in || (s->out != NONE) != out || (s->saved != NONE) != saved ||
        (s->core != NONE) != core || (s->kept != NONE) != kept ||
        (s->work != NONE) != work)
        return wrong(r, "an operand", "is missing or too much");
    return OK;
}

static enum status play_layer(const struct reader *r)
{
    const struct step *s = r->step;
    bool again = s->kind == STEP_LAYER_AGAIN;
    if (s->kind == STEP_CORE_AGAIN) {
        TRY(no_others(r, true, false, false, true, true, false, false));
        TRY(reads(r, "batch", s->batch, BUFFER_BATCH, NONE));
        TRY(reads(r, "saved", s->saved, BUFFER_SAVED, s->layer));
        return writes(r, "core", s->core, BUFFER_CORE, s->layer);
    }
    bool input = s->kind == STEP_LAYER_INPUT, weight = s->kind == STEP_LAYER_WEIGHT;
    TRY(no_others(r, true, true, !again && !weight, true, true, input || weight, true));
    TRY(reads(r, "batch", s->batch, BUFFER_BATCH, NONE));
    TRY(reads(r, "in", s->in, BUFFER_RESIDUAL, s->layer));
    TRY(named(r, "work", s->work, BUFFER_WORK));
    if (s->kind == STEP_LAYER || again) {
        TRY(writes(r, "saved", s->saved, BUFFER_SAVED, s->layer));
        TRY(writes(r, "core", s->core, BUFFER_CORE, s->layer));
        return again ? OK : writes(r, "out", s->out, BUFFER_RESIDUAL, s->layer + 1);
    }
    TRY(reads(r, "saved", s->saved, BUFFER_SAVED, s->layer));
    TRY(reads(r, "core", s->core, BUFFER_CORE, s->layer));
    if (weight)
        return reads(r, "kept", s->kept, BUFFER_KEPT, s->layer);
    if (input)
        TRY(writes(r, "kept", s->kept, BUFFER_KEPT, s->layer));
    TRY(reads(r, "out", s->out, BUFFER_RESIDUAL_GRADIENT, s->layer + 1));
    return writes(r, "out", s->out, BUFFER_RESIDUAL_GRADIENT, s->layer);
}

/* The bucket that holds a step's parameters, and their gradients. */
static int32_t bucket_of(const struct reader *r)
{
    const struct stage *stage = r->stage;
    const struct step *s = r->step;
    if (s->bucket != NONE)
        return s->bucket;
    if (s->layer == NONE) /* the embedding's is the first, the head's the last: a tied head on the embedding's stage has none of its own */
        return (s->kind == STEP_HEAD || s->kind == STEP_HEAD_EVALUATE) && !(r->f->tied && stage->embeds) ? stage->buckets - 1 : 0;
    int32_t bucket = stage->embeds, most = (int32_t)r->f->bucket_layers;
    for (int32_t c = 0; c < s->chunk; c++)
        bucket += (stage->chunk[c].layers + most - 1) / most;
    return bucket + (s->layer - stage->chunk[s->chunk].first_layer) / most;
}

static enum status whole_bucket(const struct reader *r, const char *operand, int32_t buffer, bool needed, enum buffer_kind kind, bool write)
{
    if ((buffer != NONE) != needed)
        return wrong(r, operand, needed ? "are not named" : "are too much");
    if (!needed)
        return OK;
    const struct buffer *b = &r->stage->buffer[buffer];
    if (b->kind != kind || b->bucket != bucket_of(r) || (kind != BUFFER_BUCKET && b->micro != r->step->micro))
        return wrong(r, operand, "are of another kind, bucket or micro-batch");
    if (write)
        r->content[buffer].there = true;
    return r->content[buffer].there ? OK : wrong(r, operand, "are used before they are gathered or cleared");
}

/* From ZeRO 2 on a step names the gradients that it adds to, with ZeRO 3 the parameters that it reads; GATHER and CLEAR make them. */
static enum status play_buckets(const struct reader *r)
{
    const struct step *s = r->step;
    bool head = s->kind == STEP_HEAD || s->kind == STEP_HEAD_EVALUATE, tied_here = r->f->tied && r->stage->embeds && r->stage->heads;
    bool layer = s->kind == STEP_LAYER || s->kind == STEP_LAYER_AGAIN || (s->kind >= STEP_LAYER_BACKWARD && s->kind <= STEP_LAYER_WEIGHT);
    bool reads = layer || head || s->kind == STEP_EMBED, gather = s->kind == STEP_GATHER;
    bool adds = s->kind == STEP_HEAD || (s->kind >= STEP_LAYER_BACKWARD && s->kind <= STEP_LAYER_WEIGHT) || s->kind == STEP_EMBED_BACKWARD;
    bool sums = (s->kind == STEP_CLEAR && s->micro != NONE) || s->kind == STEP_COPIES || s->kind == STEP_REDUCE;
    bool of_head = s->kind == STEP_HEAD || (sums && s->gradients != NONE && r->stage->buffer[s->gradients].kind == BUFFER_HEAD_GRADIENT);
    TRY(whole_bucket(r, "weights", s->weights, r->f->zero >= 3 && (reads || gather), BUFFER_BUCKET, gather));
    return whole_bucket(r, "gradients", s->gradients, r->f->zero >= 2 && (adds || sums),
                        of_head && tied_here ? BUFFER_HEAD_GRADIENT : BUFFER_BUCKET_GRADIENT, s->kind == STEP_CLEAR);
}

static enum status play_step(const struct reader *r)
{
    const struct step *s = r->step;
    TRY(play_buckets(r));
    int32_t first = r->stage->chunk[s->chunk].first_layer, last = first + r->stage->chunk[s->chunk].layers;
    switch ((enum step_kind)s->kind) {
    case STEP_FEED:
        TRY(no_others(r, true, false, false, false, false, false, false));
        return writes(r, "batch", s->batch, BUFFER_BATCH, NONE);
    case STEP_EMBED:
        TRY(no_others(r, true, false, true, false, false, false, r->f->sequence_parallel));
        TRY(reads(r, "batch", s->batch, BUFFER_BATCH, NONE));
        return writes(r, "out", s->out, BUFFER_RESIDUAL, first);
    case STEP_RECEIVE_FORWARD:
        TRY(no_others(r, false, false, true, false, false, false, false));
        return writes(r, "out", s->out, BUFFER_RESIDUAL, first);
    case STEP_LAYER:
    case STEP_LAYER_AGAIN:
    case STEP_CORE_AGAIN:
    case STEP_LAYER_BACKWARD:
    case STEP_LAYER_INPUT:
    case STEP_LAYER_WEIGHT:
        return play_layer(r);
    case STEP_SEND_FORWARD:
        TRY(no_others(r, false, true, false, false, false, false, false));
        return reads(r, "in", s->in, BUFFER_RESIDUAL, last);
    case STEP_HEAD:
    case STEP_HEAD_EVALUATE:
        TRY(no_others(r, true, true, s->kind == STEP_HEAD, false, false, false, true));
        TRY(reads(r, "batch", s->batch, BUFFER_BATCH, NONE));
        TRY(reads(r, "in", s->in, BUFFER_RESIDUAL, last));
        TRY(named(r, "work", s->work, BUFFER_WORK));
        return s->kind == STEP_HEAD ? writes(r, "out", s->out, BUFFER_RESIDUAL_GRADIENT, last) : OK;
    case STEP_RECEIVE_BACKWARD:
        TRY(no_others(r, false, false, true, false, false, false, false));
        return writes(r, "out", s->out, BUFFER_RESIDUAL_GRADIENT, last);
    case STEP_SEND_BACKWARD:
        TRY(no_others(r, false, true, false, false, false, false, false));
        return reads(r, "in", s->in, BUFFER_RESIDUAL_GRADIENT, first);
    case STEP_EMBED_BACKWARD:
        TRY(no_others(r, true, true, false, false, false, false, r->f->sequence_parallel));
        TRY(reads(r, "batch", s->batch, BUFFER_BATCH, NONE));
        return reads(r, "in", s->in, BUFFER_RESIDUAL_GRADIENT, first);
    default:
        return no_others(r, false, false, false, false, false, false, false);
    }
}

static enum status play_program(const struct facts *f, const struct stage *stage, int s, const struct program *program)
{
    struct reader reader = { .stage = stage, .f = f, .s = s, .content = calloc((size_t)stage->buffers, sizeof *reader.content) };
    if (reader.content == NULL)
        return fail(E_AGAIN, "no memory for %d buffers", (int)stage->buffers);
    enum status status = OK;
    for (reader.at = 0; reader.at < program->steps && status == OK; reader.at++) {
        reader.step = &program->step[reader.at];
        status = play_step(&reader);
    }
    free(reader.content);
    return status;
}

enum status prove_written(const struct tables *t, const struct facts *f)
{
    for (int s = 0; s < f->pp; s++) {
        TRY(play_program(f, &t->stage[s], s, &t->stage[s].train));
        TRY(play_program(f, &t->stage[s], s, &t->stage[s].evaluate));
    }
    return OK;
}

/* once.c: each micro-batch through each layer once; each gradient cleared, summed, reduced and used once, in that order. See verify.h. */
#include <stdlib.h>

#include "tools/verify/verify.h"

/* A step of a program, as messages name it. */
struct at {
    int stage;
    int32_t step;
};

static enum status wrong(struct at at, const struct step *step, const char *what)
{
    return fail(E_SOFTWARE, "once: stage %d, step %d (%s%s): %s", at.stage, (int)at.step, step_name(step),
                step->bucket != NONE ? " of a bucket" : "", what);
}

/* ---- micro-batches ---- */

/* How far a micro-batch has come in a chunk. Forward: entered, then layers done. Backward the same way back. */
struct progress {
    bool entered, left, begun_back, out;
    int32_t forward, backward, weight; /* layers done; weight: those whose matrices have their gradients */
    bool halves;                       /* some layer has had the inputs' half of its backward pass */
    bool again;                        /* the layer whose backward pass is next was made again */
};

/* All micro-batches of a stage, and which of them came last to each gradient: all schedules add in the order of micro-batches, and so give the
 * same bits. */
struct passes {
    const struct stage *stage;
    bool evaluate;
    int64_t micro_batches;
    bool *fed;                 /* [micro_batches] */
    struct progress *progress; /* [chunks][micro_batches] */
    int32_t *input, *weight;   /* [layers + 2]: of a layer's norms, of its matrices; behind them of the embedding, of the head; -1 none yet */
};

static struct progress *progress_of(const struct passes *p, int32_t chunk, int32_t micro)
{
    return &p->progress[chunk * p->micro_batches + micro];
}

/* A chunk that is joined begins where the one before it has ended, and that one's way back where this one's has. */
static bool is_in(const struct passes *p, const struct step *step)
{
    if (!chunk_joined(p->stage, step->chunk))
        return progress_of(p, step->chunk, step->micro)->entered;
    return progress_of(p, step->chunk - 1, step->micro)->forward == p->stage->chunk[step->chunk - 1].layers;
}

static bool is_on_its_way_back(const struct passes *p, const struct step *step)
{
    if (!chunk_joined(p->stage, step->chunk + 1))
        return progress_of(p, step->chunk, step->micro)->begun_back;
    return progress_of(p, step->chunk + 1, step->micro)->backward == p->stage->chunk[step->chunk + 1].layers;
}

static enum status in_order(int32_t *last, const struct step *step, struct at at)
{
    if (step->micro <= *last)
        return wrong(at, step, "gradients are added in the order of micro-batches");
    *last = step->micro;
    return OK;
}

static enum status advance_backward(const struct passes *p, struct progress *m, const struct step *step, struct at at)
{
    const struct chunk *chunk = &p->stage->chunk[step->chunk];
    int32_t local = step->layer - chunk->first_layer, row = chunk->first_row + local;
    if (step->kind == STEP_LAYER_WEIGHT) {
        if (m->weight >= m->backward || chunk->layers - 1 - m->weight != local)
            return wrong(at, step, "its inputs' half is not done, or its weights' half was");
        m->weight++;
        return in_order(&p->weight[row], step, at);
    }
    if (!is_on_its_way_back(p, step) || chunk->layers - 1 - m->backward != local)
        return wrong(at, step, "another layer's backward pass is next for this micro-batch");
    if (m->backward > 0 && m->halves != (step->kind == STEP_LAYER_INPUT))
        return wrong(at, step, "the micro-batch's other layers have theirs another way, in halves or whole");
    m->halves = step->kind == STEP_LAYER_INPUT;
    m->weight += !m->halves;
    m->backward++;
    m->again = false;
    TRY(in_order(&p->input[row], step, at));
    return m->halves ? OK : in_order(&p->weight[row], step, at);
}

static enum status advance(const struct passes *p, const struct step *step, struct at at)
{
    const struct chunk *chunk = &p->stage->chunk[step->chunk];
    struct progress *m = progress_of(p, step->chunk, step->micro);
    bool joined = chunk_joined(p->stage, step->chunk), next_joined = chunk_joined(p->stage, step->chunk + 1);
    bool all_forward = m->forward == chunk->layers;
    int32_t local = step->layer == NONE ? 0 : step->layer - chunk->first_layer;
    switch ((enum step_kind)step->kind) {
    case STEP_FEED:
        if (p->fed[step->micro])
            return wrong(at, step, "the micro-batch was fed before");
        p->fed[step->micro] = true;
        return OK;
    case STEP_EMBED:
    case STEP_RECEIVE_FORWARD:
        if (!p->fed[step->micro] || m->entered || joined || (step->kind == STEP_EMBED) != chunk->embeds)
            return wrong(at, step, "the micro-batch is not fed, is in already, or enters another way");
        m->entered = true;
        return OK;
    case STEP_LAYER:
        if (!is_in(p, step) || m->forward != local)
            return wrong(at, step, "another layer is next for this micro-batch");
        m->forward++;
        return OK;
    case STEP_SEND_FORWARD:
        if (!all_forward || m->left || chunk->heads || next_joined)
            return wrong(at, step, "the micro-batch is not through, or has left");
        m->left = true;
        return OK;
    case STEP_HEAD_EVALUATE:
        if (!p->evaluate || !all_forward || m->left || !chunk->heads)
            return wrong(at, step, "the micro-batch is not through, or was there before");
        m->left = true;
        return OK;
    case STEP_HEAD:
    case STEP_RECEIVE_BACKWARD:
        if (p->evaluate || m->begun_back || next_joined || (step->kind == STEP_HEAD) != chunk->heads || !all_forward || (!chunk->heads && !m->left))
            return wrong(at, step, "the micro-batch is not through, or is on its way back already");
        m->left = m->begun_back = true;
        return chunk->heads ? in_order(&p->input[p->stage->layers + 1], step, at) : OK;
    case STEP_LAYER_AGAIN:
    case STEP_CORE_AGAIN:
        if (!is_on_its_way_back(p, step) || chunk->layers - 1 - m->backward != local || m->again)
            return wrong(at, step, "it is made again twice, or for a backward pass that is not next");
        m->again = true;
        return OK;
    case STEP_LAYER_WEIGHT:
    case STEP_LAYER_INPUT:
    case STEP_LAYER_BACKWARD:
        return advance_backward(p, m, step, at);
    case STEP_EMBED_BACKWARD:
    case STEP_SEND_BACKWARD:
        if (m->backward != chunk->layers || m->out || joined || (step->kind == STEP_EMBED_BACKWARD) != chunk->embeds)
            return wrong(at, step, "the micro-batch's backward pass is not done, or was done before");
        m->out = true;
        return chunk->embeds ? in_order(&p->input[p->stage->layers], step, at) : OK;
    default:
        return wrong(at, step, "has no micro-batch");
    }
}

static bool finished(const struct passes *p, int32_t c, int64_t micro)
{
    const struct progress *m = progress_of(p, c, (int32_t)micro);
    int32_t layers = p->stage->chunk[c].layers;
    if (p->evaluate)
        return m->forward == layers && (m->left || chunk_joined(p->stage, c + 1));
    return m->backward == layers && m->weight == layers && (m->out || chunk_joined(p->stage, c));
}

static enum status play_passes(const struct passes *p, int s, const struct program *program)
{
    for (int32_t i = 0; i < p->stage->layers + 2; i++)
        p->input[i] = p->weight[i] = -1;
    for (int32_t i = 0; i < program->steps; i++)
        if (program->step[i].kind <= STEP_EMBED_BACKWARD)
            TRY(advance(p, &program->step[i], (struct at){ s, i }));
    for (int32_t c = 0; c < p->stage->chunks; c++)
        for (int64_t m = 0; m < p->micro_batches; m++)
            if (!finished(p, c, m))
                return fail(E_SOFTWARE, "once: stage %d, chunk %d: micro-batch %lld is not finished at the end of %s", s, (int)c, (long long)m,
                            p->evaluate ? "evaluation" : "training");
    return OK;
}

static enum status check_micro_batches(const struct stage *stage, int s, const struct program *program, int64_t micro_batches, bool evaluate)
{
    size_t rows = (size_t)stage->layers + 2;
    struct passes p = {
        .stage = stage,
        .evaluate = evaluate,
        .micro_batches = micro_batches,
        .fed = calloc((size_t)micro_batches, sizeof *p.fed),
        .progress = calloc((size_t)(stage->chunks * micro_batches), sizeof *p.progress),
        .input = calloc(rows, sizeof *p.input),
        .weight = calloc(rows, sizeof *p.weight),
    };
    enum status status = p.fed == NULL || p.progress == NULL || p.input == NULL || p.weight == NULL
                             ? fail(E_AGAIN, "no memory for %lld micro-batches", (long long)micro_batches)
                             : play_passes(&p, s, program);
    free(p.fed);
    free(p.progress);
    free(p.input);
    free(p.weight);
    return status;
}

/* ---- buckets ---- */

enum bucket_state { BEFORE, CLEARED, COPIES_SUMMED, TIED_SUMMED, REDUCED, NORMED, UPDATED, GATHERED };

struct buckets {
    const struct stage *stage;
    const struct facts *f;
    int s;
    enum bucket_state *state; /* [buckets] */
    enum bucket_state *whole; /* [buffers]: from ZeRO 2 on, of one micro-batch's gradients */
};

static bool needs_copies(const struct stage *stage, const struct bucket *bucket)
{
    for (int32_t i = bucket->first_shard; i < bucket->first_shard + bucket->shards; i++)
        if (stage->shard[i].copies_sum != COPIES_EQUAL)
            return true;
    return false;
}

/* Whether the bucket holds a gradient that STEP_TIED sums. */
static bool needs_tied(const struct facts *f, const struct stage *stage, const struct bucket *bucket)
{
    if (!f->tied)
        return false;
    for (int32_t i = bucket->first_shard; i < bucket->first_shard + bucket->shards; i++)
        if (stage->shard[i].parameter == PARAMETER_EMBEDDING || stage->shard[i].parameter == PARAMETER_HEAD)
            return true;
    return false;
}

/* The state that a bucket must be in before the norm is taken, or (below ZeRO 2) before it may be reduced: the last of the sums that it needs. */
static enum bucket_state ready(const struct buckets *b, int32_t i)
{
    const struct bucket *bucket = &b->stage->bucket[i];
    bool copies = b->f->zero < 2 && needs_copies(b->stage, bucket);
    return needs_tied(b->f, b->stage, bucket) ? TIED_SUMMED : copies ? COPIES_SUMMED : CLEARED;
}

static bool reduced_at_the_end(const struct buckets *b)
{
    return b->f->zero < 2 && b->f->dp > 1;
}

static bool gathered_at_the_end(const struct buckets *b)
{
    return (b->f->zero == 1 || b->f->zero == 2) && b->f->dp > 1;
}

/* What each micro-batch's passes left in whole buckets is reduced into the slices. */
static enum status all_whole_are_reduced(const struct buckets *b, struct at at, const struct step *step)
{
    for (int32_t i = 0; i < b->stage->buffers; i++)
        if (b->whole[i] != BEFORE && b->whole[i] != REDUCED)
            return wrong(at, step, "a micro-batch's gradients are not reduced yet");
    return OK;
}

static enum status all_are(const struct buckets *b, struct at at, const struct step *step, enum bucket_state from, const char *what)
{
    for (int32_t i = 0; i < b->stage->buckets; i++)
        if (b->state[i] != (from == REDUCED && !reduced_at_the_end(b) ? ready(b, i) : from))
            return wrong(at, step, what);
    return OK;
}

/* CLEAR, COPIES and REDUCE of one micro-batch's gradients. */
static enum status one_whole(const struct buckets *b, struct at at, const struct step *step)
{
    enum bucket_state *state = &b->whole[step->gradients], before = *state;
    if (b->state[step->bucket] != CLEARED)
        return wrong(at, step, "the slices that it is for are not cleared, or are summed already");
    switch ((enum step_kind)step->kind) {
    case STEP_CLEAR:
        *state = CLEARED;
        return before == BEFORE ? OK : wrong(at, step, "the micro-batch's gradients were cleared before");
    case STEP_COPIES:
        *state = COPIES_SUMMED;
        return before == CLEARED && needs_copies(b->stage, &b->stage->bucket[step->bucket]) ? OK : wrong(at, step, "its copies need no sum, or have it");
    case STEP_REDUCE:
        *state = REDUCED;
        return before == (needs_copies(b->stage, &b->stage->bucket[step->bucket]) ? COPIES_SUMMED : CLEARED)
                   ? OK
                   : wrong(at, step, "the micro-batch's gradients are not summed yet, or were reduced before");
    default:
        return wrong(at, step, "is of no micro-batch");
    }
}

/* The bucket that holds a parameter's gradient. The final norm lies with its head; a tied head's own gradient is cleared with the bucket. */
static int32_t bucket_of(const struct facts *f, const struct stage *stage, const struct step *step)
{
    int32_t bucket = stage->embeds, most = (int32_t)f->bucket_layers;
    if (step->kind == STEP_EMBED_BACKWARD)
        return 0;
    if (step->kind == STEP_HEAD)
        return f->tied && stage->embeds ? 0 : stage->buckets - 1;
    for (int32_t c = 0; c < step->chunk; c++)
        bucket += (stage->chunk[c].layers + most - 1) / most;
    return bucket + (step->layer - stage->chunk[step->chunk].first_layer) / most;
}

static enum status one_bucket(const struct buckets *b, struct at at, const struct step *step)
{
    if (step->gradients != NONE)
        return one_whole(b, at, step);
    if (step->weights != NONE) /* a gather of one pass: written.c asks for it */
        return b->state[step->bucket] < UPDATED ? OK : wrong(at, step, "it gathers behind the update");
    enum bucket_state *state = &b->state[step->bucket], before = *state;
    const struct bucket *bucket = &b->stage->bucket[step->bucket];
    switch ((enum step_kind)step->kind) {
    case STEP_CLEAR:
        *state = CLEARED;
        return before == BEFORE ? OK : wrong(at, step, "its gradients were cleared before");
    case STEP_COPIES:
        *state = COPIES_SUMMED;
        return before == CLEARED && needs_copies(b->stage, bucket) ? OK : wrong(at, step, "its copies need no sum, or have it");
    case STEP_REDUCE:
        *state = REDUCED;
        return before == ready(b, step->bucket) && reduced_at_the_end(b)
                   ? OK
                   : wrong(at, step, "its gradients are not summed yet, or were reduced before");
    case STEP_UPDATE:
        *state = UPDATED;
        return before == NORMED ? OK : wrong(at, step, "the norm is not known, or it was updated before");
    case STEP_GATHER:
        *state = GATHERED;
        return before == UPDATED && gathered_at_the_end(b) ? OK : wrong(at, step, "it is not updated, or was gathered before");
    default:
        return wrong(at, step, "has no bucket");
    }
}

static enum status all_buckets(const struct buckets *b, struct at at, const struct step *step)
{
    const struct stage *stage = b->stage;
    if (step->kind == STEP_TIED) {
        if (!b->f->tied || !(stage->embeds || stage->heads))
            return wrong(at, step, "nothing is tied here");
        TRY(all_whole_are_reduced(b, at, step));
        for (int32_t i = 0; i < stage->buckets; i++) {
            if (!needs_tied(b->f, stage, &stage->bucket[i]))
                continue;
            if (b->state[i] != (b->f->zero < 2 && needs_copies(stage, &stage->bucket[i]) ? COPIES_SUMMED : CLEARED))
                return wrong(at, step, "the tied gradient was summed before, or is reduced already");
            b->state[i] = TIED_SUMMED;
        }
        return OK;
    }
    TRY(all_whole_are_reduced(b, at, step));
    TRY(all_are(b, at, step, REDUCED, "not every bucket's gradients are reduced"));
    for (int32_t i = 0; i < stage->buckets; i++)
        b->state[i] = NORMED;
    return OK;
}

static enum status check_buckets(const struct stage *stage, const struct facts *f, int s)
{
    const struct program *program = &stage->train;
    struct buckets b = { .stage = stage, .f = f, .s = s, .state = calloc((size_t)stage->buckets, sizeof *b.state),
                         .whole = calloc((size_t)stage->buffers, sizeof *b.whole) };
    enum status status = b.state != NULL && b.whole != NULL ? OK : fail(E_AGAIN, "no memory for %d buckets", (int)stage->buckets);
    for (int32_t i = 0; i < program->steps && status == OK; i++) {
        const struct step *step = &program->step[i];
        struct at at = { s, i };
        if (step->kind == STEP_HEAD || (step->kind >= STEP_LAYER_BACKWARD && step->kind <= STEP_LAYER_WEIGHT) || step->kind == STEP_EMBED_BACKWARD) {
            bool whole = step->gradients != NONE;
            if (b.state[bucket_of(f, stage, step)] != CLEARED || (whole && b.whole[step->gradients] != CLEARED))
                status = wrong(at, step, "it adds to gradients that are not cleared, or already summed over ranks");
        } else if (step->kind == STEP_LAYER || step->kind == STEP_LAYER_AGAIN || step->kind == STEP_EMBED) {
            if (b.state[0] >= UPDATED)
                status = wrong(at, step, "it runs behind the update");
        } else if (step->bucket != NONE) {
            status = one_bucket(&b, at, step);
        } else if (step->kind == STEP_TIED || step->kind == STEP_NORM) {
            status = all_buckets(&b, at, step);
        }
    }
    for (int32_t i = 0; i < stage->buckets && status == OK; i++)
        if (b.state[i] != (gathered_at_the_end(&b) ? GATHERED : UPDATED))
            status = fail(E_SOFTWARE, "once: stage %d: bucket %s is not %s at the end", s, stage->bucket[i].name,
                          gathered_at_the_end(&b) ? "gathered" : "updated");
    for (int32_t i = 0; i < stage->buffers && status == OK; i++)
        if (b.whole[i] != BEFORE && b.whole[i] != REDUCED)
            status = fail(E_SOFTWARE, "once: stage %d: the gradients of micro-batch %d and bucket %s are not reduced at the end", s,
                          stage->buffer[i].micro, stage->bucket[stage->buffer[i].bucket].name);
    free(b.whole);
    free(b.state);
    return status;
}

/* Evaluation leaves parameters and gradients alone. */
static enum status check_evaluation(const struct stage *stage, int s)
{
    for (int32_t i = 0; i < stage->evaluate.steps; i++)
        if (stage->evaluate.step[i].kind > STEP_EMBED_BACKWARD &&
            (stage->evaluate.step[i].kind != STEP_GATHER || stage->evaluate.step[i].weights == NONE))
            return wrong((struct at){ s, i }, &stage->evaluate.step[i], "does not belong into evaluation");
    return OK;
}

enum status prove_once(const struct tables *t, const struct facts *f)
{
    for (int s = 0; s < f->pp; s++) {
        const struct stage *stage = &t->stage[s];
        TRY(check_micro_batches(stage, s, &stage->train, f->micro_batches, false));
        TRY(check_micro_batches(stage, s, &stage->evaluate, 1, true));
        TRY(check_buckets(stage, f, s));
        TRY(check_evaluation(stage, s));
    }
    return OK;
}

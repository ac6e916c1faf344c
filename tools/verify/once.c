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

/* How far a micro-batch has come on a stage. Forward: fed, entered, then layers done. Backward the same way back. */
struct progress {
    bool fed, entered, left, begun_back, out;
    int32_t forward, backward, weight; /* layers done; weight: those whose matrices have their gradients */
    bool halves;               /* some layer has had the inputs' half of its backward pass */
    bool again;                /* the layer whose backward pass is next was made again */
};

static enum status advance(const struct stage *stage, struct progress *m, const struct step *step, struct at at, bool evaluate)
{
    int32_t local = step->layer == NONE ? 0 : step->layer - stage->first_layer;
    bool all_forward = m->forward == stage->layers;
    switch ((enum step_kind)step->kind) {
    case STEP_FEED:
        if (m->fed)
            return wrong(at, step, "the micro-batch was fed before");
        m->fed = true;
        return OK;
    case STEP_EMBED:
    case STEP_RECEIVE_FORWARD:
        if (!m->fed || m->entered || (step->kind == STEP_EMBED) != stage->embeds)
            return wrong(at, step, "the micro-batch is not fed, is in already, or enters another way");
        m->entered = true;
        return OK;
    case STEP_LAYER:
        if (!m->entered || m->forward != local)
            return wrong(at, step, "another layer is next for this micro-batch");
        m->forward++;
        return OK;
    case STEP_SEND_FORWARD:
        if (!all_forward || m->left || stage->heads)
            return wrong(at, step, "the micro-batch is not through, or has left");
        m->left = true;
        return OK;
    case STEP_HEAD_EVALUATE:
        if (!evaluate || !all_forward || m->left || !stage->heads)
            return wrong(at, step, "the micro-batch is not through, or was there before");
        m->left = true;
        return OK;
    case STEP_HEAD:
    case STEP_RECEIVE_BACKWARD:
        if (evaluate || m->begun_back || (step->kind == STEP_HEAD) != stage->heads || !all_forward || (!stage->heads && !m->left))
            return wrong(at, step, "the micro-batch is not through, or is on its way back already");
        m->left = m->begun_back = true;
        return OK;
    case STEP_LAYER_AGAIN:
    case STEP_CORE_AGAIN:
        if (!m->begun_back || stage->layers - 1 - m->backward != local || m->again)
            return wrong(at, step, "it is made again twice, or for a backward pass that is not next");
        m->again = true;
        return OK;
    case STEP_LAYER_WEIGHT:
        if (m->weight >= m->backward || stage->layers - 1 - m->weight != local)
            return wrong(at, step, "its inputs' half is not done, or its weights' half was");
        m->weight++;
        return OK;
    case STEP_LAYER_INPUT:
    case STEP_LAYER_BACKWARD:
        if (!m->begun_back || stage->layers - 1 - m->backward != local)
            return wrong(at, step, "another layer's backward pass is next for this micro-batch");
        if (m->backward > 0 && m->halves != (step->kind == STEP_LAYER_INPUT))
            return wrong(at, step, "the micro-batch's other layers have theirs another way, in halves or whole");
        m->halves = step->kind == STEP_LAYER_INPUT;
        m->weight += !m->halves;
        m->backward++;
        m->again = false;
        return OK;
    case STEP_EMBED_BACKWARD:
    case STEP_SEND_BACKWARD:
        if (m->backward != stage->layers || m->out || (step->kind == STEP_EMBED_BACKWARD) != stage->embeds)
            return wrong(at, step, "the micro-batch's backward pass is not done, or was done before");
        m->out = true;
        return OK;
    default:
        return wrong(at, step, "has no micro-batch");
    }
}

static enum status check_micro_batches(const struct stage *stage, int s, const struct program *program, int64_t micro_batches,
                                       bool evaluate)
{
    struct progress *progress = calloc((size_t)micro_batches, sizeof *progress);
    if (progress == NULL)
        return fail(E_AGAIN, "no memory for %lld micro-batches", (long long)micro_batches);
    enum status status = OK;
    int32_t back = NONE, weight = NONE; /* gradients are added in the order of micro-batches: every schedule gives the same bits */
    for (int32_t i = 0; i < program->steps && status == OK; i++) {
        const struct step *step = &program->step[i];
        if (step->kind > STEP_EMBED_BACKWARD)
            continue;
        status = advance(stage, &progress[step->micro], step, (struct at){ s, i }, evaluate);
        if (status == OK && (step->kind == STEP_HEAD || step->kind == STEP_RECEIVE_BACKWARD)) {
            if (step->micro <= back)
                status = wrong((struct at){ s, i }, step, "backward passes follow the micro-batches' order");
            back = step->micro;
        }
        if (status == OK && step->kind == STEP_LAYER_WEIGHT) {
            if (step->micro < weight)
                status = wrong((struct at){ s, i }, step, "weights' halves follow the micro-batches' order");
            weight = step->micro;
        }
    }
    for (int64_t m = 0; m < micro_batches && status == OK; m++)
        if (evaluate ? !progress[m].left : !progress[m].out || progress[m].weight < stage->layers)
            status = fail(E_SOFTWARE, "once: stage %d: micro-batch %lld is not finished at the end of %s", s, (long long)m,
                          evaluate ? "evaluation" : "training");
    free(progress);
    return status;
}

/* ---- buckets ---- */

enum bucket_state { BEFORE, CLEARED, COPIES_SUMMED, TIED_SUMMED, REDUCED, NORMED, UPDATED, GATHERED };

struct buckets {
    const struct stage *stage;
    const struct facts *f;
    int s;
    enum bucket_state *state; /* [buckets] */
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

/* The state that a bucket must be in before it may be reduced: the last of the sums that it needs. */
static enum bucket_state ready(const struct buckets *b, int32_t i)
{
    const struct bucket *bucket = &b->stage->bucket[i];
    return needs_tied(b->f, b->stage, bucket) ? TIED_SUMMED : needs_copies(b->stage, bucket) ? COPIES_SUMMED : CLEARED;
}

static enum status all_are(const struct buckets *b, struct at at, const struct step *step, enum bucket_state from, const char *what)
{
    for (int32_t i = 0; i < b->stage->buckets; i++)
        if (b->state[i] != (from == REDUCED && b->f->dp == 1 ? ready(b, i) : from))
            return wrong(at, step, what);
    return OK;
}

/* The bucket that holds a parameter's gradient. Parameters of a layer lie in one bucket, the final norm with its head in another. */
static int32_t bucket_of(const struct stage *stage, const struct step *step)
{
    if (step->kind == STEP_EMBED_BACKWARD)
        return 0;
    if (step->kind == STEP_HEAD)
        return stage->buckets - 1;
    return step->layer - stage->first_layer + stage->embeds;
}

static enum status one_bucket(const struct buckets *b, struct at at, const struct step *step)
{
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
        return before == ready(b, step->bucket) && b->f->dp > 1
                   ? OK
                   : wrong(at, step, "its gradients are not summed yet, or were reduced before");
    case STEP_UPDATE:
        *state = UPDATED;
        return before == NORMED ? OK : wrong(at, step, "the norm is not known, or it was updated before");
    case STEP_GATHER:
        *state = GATHERED;
        return before == UPDATED && b->f->dp > 1 ? OK : wrong(at, step, "it is not updated, or was gathered before");
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
        for (int32_t i = 0; i < stage->buckets; i++) {
            if (!needs_tied(b->f, stage, &stage->bucket[i]))
                continue;
            if (b->state[i] != (needs_copies(stage, &stage->bucket[i]) ? COPIES_SUMMED : CLEARED))
                return wrong(at, step, "the tied gradient was summed before, or is reduced already");
            b->state[i] = TIED_SUMMED;
        }
        return OK;
    }
    TRY(all_are(b, at, step, REDUCED, "not every bucket's gradients are reduced"));
    for (int32_t i = 0; i < stage->buckets; i++)
        b->state[i] = NORMED;
    return OK;
}

static enum status check_buckets(const struct stage *stage, const struct facts *f, int s)
{
    const struct program *program = &stage->train;
    struct buckets b = { .stage = stage, .f = f, .s = s, .state = calloc((size_t)stage->buckets, sizeof *b.state) };
    if (b.state == NULL)
        return fail(E_AGAIN, "no memory for %d buckets", (int)stage->buckets);
    enum status status = OK;
    for (int32_t i = 0; i < program->steps && status == OK; i++) {
        const struct step *step = &program->step[i];
        struct at at = { s, i };
        if (step->kind == STEP_HEAD || (step->kind >= STEP_LAYER_BACKWARD && step->kind <= STEP_LAYER_WEIGHT) || step->kind == STEP_EMBED_BACKWARD) {
            bool tied_here = step->kind == STEP_HEAD && stage->head_gradient != NONE; /* lies behind the buckets, cleared with the first */
            if (b.state[bucket_of(stage, step)] != CLEARED || (tied_here && b.state[0] != CLEARED))
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
        if (b.state[i] != (f->dp > 1 ? GATHERED : UPDATED))
            status = fail(E_SOFTWARE, "once: stage %d: bucket %s is not %s at the end", s, stage->bucket[i].name,
                          f->dp > 1 ? "gathered" : "updated");
    free(b.state);
    return status;
}

/* Evaluation leaves parameters and gradients alone. */
static enum status check_evaluation(const struct stage *stage, int s)
{
    for (int32_t i = 0; i < stage->evaluate.steps; i++)
        if (stage->evaluate.step[i].kind > STEP_EMBED_BACKWARD)
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

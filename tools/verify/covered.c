/* covered.c: shards cover every element of every parameter, once a replica. See verify.h.
 *
 * The family's parameters are listed here a second time (layoutc/shards.c has its own list): a parameter that layoutc forgot is in no table. */
#include "tools/verify/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 128, LINE_ELEMENTS = 64 };

enum part { WHOLE, QUERY_ROWS, KV_ROWS, FEED_ROWS, VOCABULARY_ROWS, QUERY_COLUMNS, FEED_COLUMNS }; /* how TP cuts it */
enum when { ALWAYS, WITH_BIAS, WITH_QK_NORM };

struct expected {
    enum parameter parameter;
    const char *tail;
    enum part part;
    enum when when;
    bool matrix;             /* else a vector */
    bool gap_before_allowed; /* else it follows the parameter before it without a gap */
};

static const struct expected layer_parameters[] = {
    { PARAMETER_ATTENTION_NORM, "input_layernorm.weight", WHOLE, ALWAYS, false, true },
    { PARAMETER_Q, "self_attn.q_proj.weight", QUERY_ROWS, ALWAYS, true, true },
    { PARAMETER_K, "self_attn.k_proj.weight", KV_ROWS, ALWAYS, true, false },
    { PARAMETER_V, "self_attn.v_proj.weight", KV_ROWS, ALWAYS, true, false },
    { PARAMETER_Q_BIAS, "self_attn.q_proj.bias", QUERY_ROWS, WITH_BIAS, false, true },
    { PARAMETER_K_BIAS, "self_attn.k_proj.bias", KV_ROWS, WITH_BIAS, false, false },
    { PARAMETER_V_BIAS, "self_attn.v_proj.bias", KV_ROWS, WITH_BIAS, false, false },
    { PARAMETER_Q_NORM, "self_attn.q_norm.weight", WHOLE, WITH_QK_NORM, false, true },
    { PARAMETER_K_NORM, "self_attn.k_norm.weight", WHOLE, WITH_QK_NORM, false, true },
    { PARAMETER_O, "self_attn.o_proj.weight", QUERY_COLUMNS, ALWAYS, true, true },
    { PARAMETER_MLP_NORM, "post_attention_layernorm.weight", WHOLE, ALWAYS, false, true },
    { PARAMETER_GATE, "mlp.gate_proj.weight", FEED_ROWS, ALWAYS, true, true },
    { PARAMETER_UP, "mlp.up_proj.weight", FEED_ROWS, ALWAYS, true, false },
    { PARAMETER_DOWN, "mlp.down_proj.weight", FEED_COLUMNS, ALWAYS, true, true },
};
static const struct expected embedding = { PARAMETER_EMBEDDING, "model.embed_tokens.weight", VOCABULARY_ROWS, ALWAYS, true, true };
static const struct expected final_norm = { PARAMETER_FINAL_NORM, "model.norm.weight", WHOLE, ALWAYS, false, true };
static const struct expected head = { PARAMETER_HEAD, "lm_head.weight", VOCABULARY_ROWS, ALWAYS, true, true };

/* Rows or columns along the cut: of the whole parameter, and of each piece; pieces is how many different ones there are. */
struct dealt {
    int64_t whole, piece, pieces;
};

static struct dealt deal(const struct facts *f, enum part part, int64_t length)
{
    int64_t d = f->head_dim;
    switch (part) {
    case QUERY_ROWS:
    case QUERY_COLUMNS:
        return (struct dealt){ f->heads * d, f->heads * d / f->tp, f->tp };
    case KV_ROWS:
        return f->tp > f->kv_heads ? (struct dealt){ f->kv_heads * d, d, f->kv_heads }
                                   : (struct dealt){ f->kv_heads * d, f->kv_heads * d / f->tp, f->tp };
    case FEED_ROWS:
    case FEED_COLUMNS:
        return (struct dealt){ f->intermediate, f->intermediate / f->tp, f->tp };
    case VOCABULARY_ROWS:
        return (struct dealt){ f->vocabulary, (f->vocabulary + f->tp - 1) / f->tp, f->tp };
    case WHOLE:
        break;
    }
    return (struct dealt){ length, length, 1 };
}

static int64_t vector_length(const struct facts *f, const struct expected *e)
{
    return e->parameter == PARAMETER_Q_NORM || e->parameter == PARAMETER_K_NORM ? f->head_dim : f->hidden;
}

/* Who sums the copies' gradients: KV heads held by several ranks see other queries each; a QK-norm's gain sees the rank's own heads. */
static enum copies_sum sum_of(const struct facts *f, const struct expected *e)
{
    if (e->part == KV_ROWS && f->tp > f->kv_heads)
        return COPIES_SUM_KV;
    if ((e->parameter == PARAMETER_Q_NORM || e->parameter == PARAMETER_K_NORM) && f->tp > 1)
        return COPIES_SUM_TP;
    if (e->part == WHOLE && f->sequence_parallel) /* a norm between the regions sees the rank's own rows */
        return COPIES_SUM_TP;
    return COPIES_EQUAL;
}

/* Adds up what the table says all pieces cover, element by element along the cut. */
static bool covers(const struct facts *f, const struct shard *s, int64_t whole, int64_t local)
{
    int64_t next = 0;
    for (int64_t tp = 0; tp < f->tp; tp++) {
        int64_t begin = tp / s->copies * local;
        if (tp % s->copies != 0) {
            if (begin != next - local)
                return false;
            continue;
        }
        if (begin != next)
            return false;
        next += local;
    }
    return next >= whole && f->tp % s->copies == 0;
}

static enum status check_shard(const struct tables *t, const struct facts *f, int stage, const struct shard *s, const struct expected *e,
                               int32_t layer, bool second_copy)
{
    char name[NAME_BYTES];
    struct dealt cut = deal(f, e->part, vector_length(f, e));
    bool columns_cut = e->part == QUERY_COLUMNS || e->part == FEED_COLUMNS;
    int64_t rows = columns_cut ? f->hidden : cut.whole, columns = columns_cut ? cut.whole : e->matrix ? f->hidden : 1;
    int64_t local_rows = columns_cut ? f->hidden : cut.piece, local_columns = columns_cut ? cut.piece : columns;
    enum cut kind = e->part == WHOLE ? CUT_NONE : columns_cut ? CUT_COLUMNS : CUT_ROWS;
    if (layer == NONE)
        snprintf(name, sizeof name, "%s", second_copy ? embedding.tail : e->tail);
    else
        snprintf(name, sizeof name, "model.layers.%d.%s", (int)layer, e->tail);
    if (s->parameter != e->parameter || s->layer != layer || strcmp(s->name, name) != 0)
        return fail(E_SOFTWARE, "covered: stage %d: %s is where %s should be", stage, s->name, name);
    if (s->rows != rows || s->columns != columns || s->cut != kind)
        return fail(E_SOFTWARE,
                    "covered: stage %d: %s is %" PRId64 " x %" PRId64 ", cut %d; the model has %" PRId64 " x %" PRId64 ", cut %d", stage,
                    name, s->rows, s->columns, s->cut, rows, columns, kind);
    if (s->local_rows != local_rows || s->local_columns != local_columns)
        return fail(E_SOFTWARE, "covered: stage %d: %s: a rank holds %" PRId64 " x %" PRId64 ", it should hold %" PRId64 " x %" PRId64,
                    stage, name, s->local_rows, s->local_columns, local_rows, local_columns);
    if (s->copies != f->tp / cut.pieces || (kind != CUT_NONE && !covers(f, s, cut.whole, cut.piece)))
        return fail(E_SOFTWARE, "covered: stage %d: %s: %d copies of a piece; the pieces do not cover it exactly", stage, name,
                    (int)s->copies);
    if (s->decays != e->matrix)
        return fail(E_SOFTWARE, "covered: stage %d: %s %s", stage, name,
                    s->decays ? "decays, a norm or bias does not" : "does not decay, a matrix does");
    if (s->copies_sum != sum_of(f, e))
        return fail(E_SOFTWARE, "covered: stage %d: %s: the copies' gradients are summed by rule %d, not %d", stage, name, s->copies_sum,
                    sum_of(f, e));
    if (s->counts == second_copy)
        return fail(E_SOFTWARE, "covered: stage %d: %s %s", stage, name,
                    second_copy ? "counts twice in the norm" : "does not count in the norm");
    int32_t row = layer == NONE ? 0 : layer_row(&t->stage[stage], layer);
    if (t->parameter_offset[stage][row * PARAMETER_KINDS + e->parameter] != s->offset)
        return fail(E_SOFTWARE, "covered: stage %d: %s lies at %" PRId64 ", parameter_offset says %" PRId64, stage, name, s->offset,
                    t->parameter_offset[stage][row * PARAMETER_KINDS + e->parameter]);
    return OK;
}

/* Walks a stage's shards and buckets in order. */
struct walk {
    const struct tables *t;
    const struct facts *f;
    int stage;
    int32_t shard, bucket;
    int64_t end; /* elements covered so far */
    int64_t parameters;
};

static enum status next_shard(struct walk *w, const struct expected *e, int32_t layer, bool second_copy)
{
    const struct stage *stage = &w->t->stage[w->stage];
    if (w->shard >= stage->shards)
        return fail(E_SOFTWARE, "covered: stage %d: %s of layer %d is missing", w->stage, e->tail, (int)layer);
    const struct shard *s = &stage->shard[w->shard++];
    TRY(check_shard(w->t, w->f, w->stage, s, e, layer, second_copy));
    if (s->offset < w->end || (!e->gap_before_allowed && s->offset != w->end))
        return fail(E_SOFTWARE, "covered: stage %d: %s lies at %" PRId64 "; what is before it ends at %" PRId64 "%s", w->stage, s->name,
                    s->offset, w->end, e->gap_before_allowed ? "" : " and belongs to the same product");
    w->end = s->offset + s->local_rows * s->local_columns;
    if (!second_copy)
        w->parameters += s->rows * s->columns;
    return OK;
}

static enum status begin_bucket(struct walk *w)
{
    const struct stage *stage = &w->t->stage[w->stage];
    if (w->bucket >= stage->buckets || stage->bucket[w->bucket].first_shard != w->shard)
        return fail(E_SOFTWARE, "covered: stage %d: no bucket begins with shard %d", w->stage, (int)w->shard);
    const struct bucket *b = &stage->bucket[w->bucket];
    int64_t before = w->bucket == 0 ? 0 : b[-1].offset + b[-1].elements;
    if (b->offset != before || b->offset % LINE_ELEMENTS != 0 || b->elements % (LINE_ELEMENTS * w->f->dp) != 0 || b->elements < 1)
        return fail(E_SOFTWARE,
                    "covered: stage %d: bucket %s has %" PRId64 " elements from %" PRId64 "; it begins at %" PRId64
                    " and is a multiple of %" PRId64,
                    w->stage, b->name, b->elements, b->offset, before, LINE_ELEMENTS * w->f->dp);
    w->end = b->offset;
    return OK;
}

static enum status end_bucket(struct walk *w)
{
    const struct bucket *b = &w->t->stage[w->stage].bucket[w->bucket++];
    if (b->first_shard + b->shards != w->shard || w->end > b->offset + b->elements)
        return fail(E_SOFTWARE, "covered: stage %d: bucket %s does not end behind its last parameter", w->stage, b->name);
    return OK;
}

static bool present(const struct facts *f, const struct expected *e)
{
    return e->when == ALWAYS || (e->when == WITH_BIAS && f->qkv_bias) || (e->when == WITH_QK_NORM && f->qk_norm);
}

/* A bucket is a run of bucket_layers layers of the chunk, the last perhaps shorter. */
static enum status walk_chunk(struct walk *w, const struct chunk *chunk)
{
    for (int32_t i = 0; i < chunk->layers; i++) {
        if (i % w->f->bucket_layers == 0)
            TRY(begin_bucket(w));
        for (int p = 0; p < ELEMENTS_OF(layer_parameters); p++)
            if (present(w->f, &layer_parameters[p]))
                TRY(next_shard(w, &layer_parameters[p], chunk->first_layer + i, false));
        if ((i + 1) % w->f->bucket_layers == 0 || i + 1 == chunk->layers)
            TRY(end_bucket(w));
    }
    return OK;
}

/* How many elements a rank holds of the flat buffers: all, or its slices. */
static enum status check_held(const struct walk *w, bool tied_here)
{
    const struct stage *stage = &w->t->stage[w->stage];
    const struct facts *f = w->f;
    int64_t all = stage->bucket[stage->buckets - 1].offset + stage->bucket[stage->buckets - 1].elements, slices = all / f->dp;
    int64_t state = f->zero >= 1 ? slices : all, held = f->zero >= 3 ? slices : all, gradients = f->zero >= 2 ? slices : all;
    int64_t of_head = !tied_here ? 0 : f->zero >= 2 ? stage->bucket[0].elements / f->dp : f->vocabulary_local * f->hidden;
    if (stage->parameter_elements != all || stage->state_elements != state || stage->held_elements != held ||
        stage->gradient_elements < gradients + of_head || stage->head_gradient != (tied_here ? gradients : NONE))
        return fail(E_SOFTWARE,
                    "covered: stage %d: %" PRId64 " parameters, of which a rank holds %" PRId64 ", %" PRId64 " gradients and %" PRId64
                    " of each moment, head's gradient at %" PRId64 "; the buckets have %" PRId64 ", with ZeRO %d over %d",
                    w->stage, stage->parameter_elements, stage->held_elements, stage->gradient_elements, stage->state_elements, stage->head_gradient, all,
                    (int)f->zero, (int)f->dp);
    return OK;
}

static enum status walk_stage(struct walk *w)
{
    const struct stage *stage = &w->t->stage[w->stage];
    const struct facts *f = w->f;
    bool tied_here = f->tied && stage->embeds && stage->heads;
    if (stage->embeds) {
        TRY(begin_bucket(w));
        TRY(next_shard(w, &embedding, NONE, false));
        if (tied_here)
            TRY(next_shard(w, &final_norm, NONE, false));
        TRY(end_bucket(w));
    }
    for (int32_t c = 0; c < stage->chunks; c++)
        TRY(walk_chunk(w, &stage->chunk[c]));
    if (stage->heads && !tied_here) {
        TRY(begin_bucket(w));
        TRY(next_shard(w, &head, NONE, f->tied));
        TRY(next_shard(w, &final_norm, NONE, false));
        TRY(end_bucket(w));
    }
    if (w->shard != stage->shards || w->bucket != stage->buckets)
        return fail(E_SOFTWARE, "covered: stage %d: %d shards and %d buckets are of no parameter", w->stage,
                    (int)(stage->shards - w->shard), (int)(stage->buckets - w->bucket));
    return check_held(w, tied_here);
}

/* The buckets of a tied pair on two stages have one size: their slices are summed with each other. */
static enum status check_pair(const struct tables *t, const struct facts *f)
{
    const struct stage *first = NULL, *last = NULL;
    for (int s = 0; s < f->pp; s++) {
        first = t->stage[s].embeds ? &t->stage[s] : first;
        last = t->stage[s].heads ? &t->stage[s] : last;
    }
    if (!f->tied || first == last || first->bucket[0].elements == last->bucket[last->buckets - 1].elements)
        return OK;
    return fail(E_SOFTWARE, "covered: the tied embedding's bucket has %" PRId64 " elements, the head's %" PRId64 "; their slices are summed with each other",
                first->bucket[0].elements, last->bucket[last->buckets - 1].elements);
}

enum status prove_covered(const struct tables *t, const struct facts *f)
{
    int64_t parameters = 0;
    for (int s = 0; s < f->pp; s++) {
        struct walk walk = { .t = t, .f = f, .stage = s };
        TRY(walk_stage(&walk));
        parameters += walk.parameters;
    }
    TRY(check_pair(t, f));
    if (parameters != t->model_parameters)
        return fail(E_SOFTWARE, "covered: model_parameters is %" PRId64 ", the shards have %" PRId64, t->model_parameters, parameters);
    return OK;
}

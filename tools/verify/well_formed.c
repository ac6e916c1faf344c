/* well_formed.c: what all other proofs take for granted. See verify.h. */
#include "tools/verify/verify.h"

static bool within(int64_t value, int64_t from, int64_t below)
{
    return value >= from && value < below;
}

static bool within_or_none(int64_t value, int64_t from, int64_t below)
{
    return value == NONE || within(value, from, below);
}

/* A stage's chunks stand in the order of their layers and number its rows without a gap. */
static enum status check_chunks(const struct stage *stage, const struct facts *f, int s)
{
    int32_t row = 0, end = 0;
    bool embeds = false, heads = false;
    if (!within(stage->chunks, 1, CHUNKS_MOST + 1))
        return fail(E_SOFTWARE, "well_formed: stage %d has %d chunks; 1 to %d are possible", s, (int)stage->chunks, CHUNKS_MOST);
    for (int32_t c = 0; c < stage->chunks; c++) {
        const struct chunk *chunk = &stage->chunk[c];
        if (chunk->layers < 1 || chunk->first_layer < end || chunk->layers > f->layers - chunk->first_layer || chunk->first_row != row)
            return fail(E_SOFTWARE, "well_formed: stage %d, chunk %d has %d layers from %d in row %d; row %d is next, the model has %lld layers", s,
                        (int)c, (int)chunk->layers, (int)chunk->first_layer, (int)chunk->first_row, (int)row, (long long)f->layers);
        row += chunk->layers;
        end = chunk->first_layer + chunk->layers;
        if (chunk->embeds != (chunk->first_layer == 0) || chunk->heads != (end == f->layers))
            return fail(E_SOFTWARE, "well_formed: stage %d, chunk %d: the embedding belongs to the first layer's chunk, the head to the last's", s, (int)c);
        embeds |= chunk->embeds;
        heads |= chunk->heads;
    }
    if (stage->layers != row || stage->embeds != embeds || stage->heads != heads)
        return fail(E_SOFTWARE, "well_formed: stage %d has %d layers%s%s; its chunks have %d%s%s", s, (int)stage->layers, stage->embeds ? ", embedding" : "",
                    stage->heads ? ", head" : "", (int)row, embeds ? ", embedding" : "", heads ? ", head" : "");
    return OK;
}

/* The chunks of all stages follow each other from the model's first layer to its last; each is met once. */
static enum status check_chain(const struct tables *t, const struct facts *f)
{
    int32_t chunks = 0, layers = 0, met = 0, next = 0;
    for (int32_t s = 0; s < f->pp; s++) {
        chunks += t->stage[s].chunks;
        layers += t->stage[s].layers;
    }
    for (bool found = true; found && next < f->layers; met += found) {
        found = false;
        for (int32_t s = 0; s < f->pp && !found; s++) {
            int32_t row = layer_row(&t->stage[s], next);
            for (int32_t c = 0; c < t->stage[s].chunks && row != NONE && !found; c++)
                if (t->stage[s].chunk[c].first_layer == next) {
                    next += t->stage[s].chunk[c].layers;
                    found = true;
                }
        }
    }
    if (next != f->layers || met != chunks || layers != f->layers)
        return fail(E_SOFTWARE, "well_formed: the stages' %d chunks have %d layers; %d of them follow each other up to layer %d of the model's %lld", (int)chunks,
                    (int)layers, (int)met, (int)next, (long long)f->layers);
    return OK;
}

static enum status check_stage(const struct tables *t, const struct facts *f, int s)
{
    const struct stage *stage = &t->stage[s];
    TRY(check_chunks(stage, f, s));
    if (stage->shards < 1 || stage->buckets < 1 || stage->buffers < 1 || stage->train.steps < 1 || stage->evaluate.steps < 1)
        return fail(E_SOFTWARE, "well_formed: stage %d has an empty table", s);
    int32_t next = 0;
    for (int32_t i = 0; i < stage->buckets; i++) {
        const struct bucket *b = &stage->bucket[i];
        if (b->first_shard != next || b->shards < 1 || b->shards > stage->shards - next)
            return fail(E_SOFTWARE, "well_formed: stage %d: bucket %s has shards %d to %d; shard %d is next of %d", s, b->name,
                        (int)b->first_shard, (int)(b->first_shard + b->shards - 1), (int)next, (int)stage->shards);
        next += b->shards;
    }
    if (next != stage->shards)
        return fail(E_SOFTWARE, "well_formed: stage %d: %d shards are in no bucket", s, (int)(stage->shards - next));
    for (int32_t i = 0; i < stage->shards; i++) {
        const struct shard *shard = &stage->shard[i];
        if (!within(shard->parameter, 0, PARAMETER_KINDS) || (shard->layer != NONE && layer_row(stage, shard->layer) == NONE) ||
            shard->name == NULL || shard->copies < 1 || shard->rows < 1 || shard->columns < 1 || shard->local_rows < 1 ||
            shard->local_columns < 1)
            return fail(E_SOFTWARE, "well_formed: stage %d: shard %d is of no parameter, of another stage's layer or empty", s, (int)i);
    }
    for (int32_t i = 0; i < stage->buffers; i++) {
        const struct buffer *b = &stage->buffer[i];
        bool whole = b->kind == BUFFER_BUCKET || b->kind == BUFFER_BUCKET_GRADIENT || b->kind == BUFFER_HEAD_GRADIENT;
        if (!within(b->kind, 0, BUFFER_KINDS) || (whole ? !within(b->bucket, 0, stage->buckets) : b->bucket != NONE) || b->bytes < 1 || b->offset_bytes < 0 || b->first_step < 0 || b->first_step > b->last_step)
            return fail(E_SOFTWARE, "well_formed: stage %d: buffer %d is of no kind or bucket, empty, or ends before it begins", s, (int)i);
    }
    return OK;
}

static bool of_chunk(const struct chunk *chunk, int32_t layer)
{
    return within(layer, chunk->first_layer, chunk->first_layer + chunk->layers);
}

static enum status check_program(const struct stage *stage, int s, const struct program *program, int64_t micro_batches)
{
    for (int32_t i = 0; i < program->steps; i++) {
        const struct step *step = &program->step[i];
        if (!within(step->kind, 0, STEP_KINDS) || !within_or_none(step->micro, 0, micro_batches) ||
            !within_or_none(step->bucket, 0, stage->buckets) ||
            !within(step->chunk, 0, stage->chunks) || (step->layer != NONE && !of_chunk(&stage->chunk[step->chunk], step->layer)) ||
            (step->chunk != 0 && (step->micro == NONE || step->kind == STEP_FEED)))
            return fail(E_SOFTWARE, "well_formed: stage %d, step %d (%s): chunk %d, micro-batch %d, layer %d or bucket %d is not of this stage", s,
                        (int)i, step_name(step), step->chunk, step->micro, step->layer, step->bucket);
        const int32_t named[] = { step->batch, step->in, step->out, step->saved, step->core, step->kept, step->work, step->weights, step->gradients };
        for (int n = 0; n < ELEMENTS_OF(named); n++)
            if (!within_or_none(named[n], 0, stage->buffers))
                return fail(E_SOFTWARE, "well_formed: stage %d, step %d (%s): there is no buffer %d", s, (int)i, step_name(step),
                            (int)named[n]);
        bool of_micro = step->kind <= STEP_EMBED_BACKWARD, of_layer = step->kind == STEP_LAYER || (step->kind >= STEP_LAYER_AGAIN && step->kind <= STEP_LAYER_WEIGHT);
        bool of_bucket = step->kind == STEP_CLEAR || step->kind == STEP_COPIES || step->kind == STEP_REDUCE || step->kind == STEP_UPDATE ||
                         step->kind == STEP_GATHER;
        /* From ZeRO 2 on what is whole for a while belongs to a micro-batch's pass. */
        of_micro |= of_bucket && (step->weights != NONE || step->gradients != NONE);
        if (of_micro != (step->micro != NONE) || of_layer != (step->layer != NONE) || of_bucket != (step->bucket != NONE))
            return fail(E_SOFTWARE, "well_formed: stage %d, step %d (%s): a micro-batch, layer or bucket is missing or too much", s, (int)i,
                        step_name(step));
    }
    return OK;
}

static enum status check_rank(const struct tables *t, const struct facts *f, int64_t r)
{
    const struct rank_row *row = &t->rank[r];
    int64_t right = ((row->pp * f->dp + row->dp) * f->cp + row->cp) * f->tp + row->tp;
    if (!within(row->pp, 0, f->pp) || !within(row->dp, 0, f->dp) || !within(row->cp, 0, f->cp) || !within(row->tp, 0, f->tp) || right != r)
        return fail(E_SOFTWARE, "well_formed: rank %lld sits at pp %d, dp %d, cp %d, tp %d, which is rank %lld", (long long)r, row->pp,
                    row->dp, row->cp, row->tp, (long long)right);
    for (int kind = 0; kind < GROUP_KINDS; kind++)
        if (!within_or_none(row->group[kind], 0, t->groups))
            return fail(E_SOFTWARE, "well_formed: rank %lld: there is no group %d", (long long)r, (int)row->group[kind]);
    for (int32_t c = 0; c < t->stage[row->pp].chunks; c++)
        for (int direction = 0; direction < CHANNEL_DIRECTIONS; direction++)
            if (!within_or_none(row->channel[c][direction], 0, t->channels))
                return fail(E_SOFTWARE, "well_formed: rank %lld, chunk %d: there is no channel %d", (long long)r, (int)c, (int)row->channel[c][direction]);
    return OK;
}

enum status prove_well_formed(const struct tables *t, const struct facts *f)
{
    for (int s = 0; s < f->pp; s++) {
        TRY(check_stage(t, f, s));
        TRY(check_program(&t->stage[s], s, &t->stage[s].train, f->micro_batches));
        TRY(check_program(&t->stage[s], s, &t->stage[s].evaluate, 1));
    }
    TRY(check_chain(t, f));
    for (int64_t r = 0; r < f->ranks; r++)
        TRY(check_rank(t, f, r));
    for (int32_t g = 0; g < t->groups; g++) {
        const struct comm_group *group = &t->group[g];
        if (group->id != g || !within(group->size, 1, f->ranks + 1))
            return fail(E_SOFTWARE, "well_formed: group %d has id %d and %d members", (int)g, (int)group->id, (int)group->size);
        for (int32_t i = 0; i < group->size; i++)
            if (!within(group->members[i], 0, f->ranks))
                return fail(E_SOFTWARE, "well_formed: group %d: there is no rank %d", (int)g, (int)group->members[i]);
    }
    for (int32_t c = 0; c < t->channels; c++) {
        const struct comm_channel *channel = &t->channel[c];
        if (channel->id != c || !within(channel->from, 0, f->ranks) || !within(channel->to, 0, f->ranks) || channel->slots < 1)
            return fail(E_SOFTWARE, "well_formed: channel %d has id %d, goes from rank %d to %d, and has %d slots", (int)c,
                        (int)channel->id, (int)channel->from, (int)channel->to, (int)channel->slots);
    }
    return OK;
}

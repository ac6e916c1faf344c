/* breaks.h: ways to break good tables, one kind each, and the proof that must say it. Included by verify_test.c alone. */
#ifndef TEST_TABLES_BREAKS_H
#define TEST_TABLES_BREAKS_H

#include "test/tables/samples.h"

/* ---- finding something to break ---- */

static uint64_t state;

static int64_t pick(int64_t below)
{
    return (int64_t)(test_random(&state) % (uint64_t)below);
}

static int32_t pick_stage(const struct copy *c)
{
    return (int32_t)pick(c->facts.pp);
}

/* A step of that kind in a stage's training program, from a random one on; NONE. */
static int32_t find_step(const struct copy *c, int32_t s, enum step_kind kind)
{
    int32_t steps = c->stage[s].train.steps, from = (int32_t)pick(steps);
    for (int32_t i = 0; i < steps; i++)
        if (c->train[s][(from + i) % steps].kind == kind)
            return (from + i) % steps;
    return NONE;
}

/* The first step of that kind after `after`; NONE. */
static int32_t next_step(const struct copy *c, int32_t s, enum step_kind kind, int32_t after)
{
    for (int32_t i = after + 1; i < c->stage[s].train.steps; i++)
        if (c->train[s][i].kind == kind)
            return i;
    return NONE;
}

static void drop_step(struct copy *c, int32_t s, int32_t i)
{
    memmove(&c->train[s][i], &c->train[s][i + 1], (size_t)(c->stage[s].train.steps - i - 1) * sizeof(struct step));
    c->stage[s].train.steps--;
}

static void double_step(struct copy *c, int32_t s, int32_t i)
{
    memmove(&c->train[s][i + 1], &c->train[s][i], (size_t)(c->stage[s].train.steps - i) * sizeof(struct step));
    c->stage[s].train.steps++;
}

static void swap_steps(struct copy *c, int32_t s, int32_t i, int32_t j)
{
    struct step step = c->train[s][i];
    c->train[s][i] = c->train[s][j];
    c->train[s][j] = step;
}

/* Moves step i to where j is. */
static void move_step(struct copy *c, int32_t s, int32_t i, int32_t j)
{
    struct step step = c->train[s][i];
    for (; i < j; i++)
        c->train[s][i] = c->train[s][i + 1];
    for (; i > j; i--)
        c->train[s][i] = c->train[s][i - 1];
    c->train[s][j] = step;
}

static bool drop_kind(struct copy *c, enum step_kind kind)
{
    int32_t s = pick_stage(c), i = find_step(c, s, kind);
    if (i == NONE)
        return false;
    drop_step(c, s, i);
    return true;
}

static bool double_kind(struct copy *c, enum step_kind kind)
{
    int32_t s = pick_stage(c), i = find_step(c, s, kind);
    if (i == NONE)
        return false;
    double_step(c, s, i);
    return true;
}

static struct shard *find_shard(struct copy *c, enum parameter parameter)
{
    for (int64_t s = 0; s < c->facts.pp; s++)
        for (int32_t i = 0; i < c->stage[s].shards; i++)
            if (c->shard[s][i].parameter == parameter)
                return &c->shard[s][i];
    return NULL;
}

static struct shard *any_shard(struct copy *c)
{
    int32_t s = pick_stage(c);
    return &c->shard[s][pick(c->stage[s].shards)];
}

static struct buffer *any_buffer(struct copy *c)
{
    int32_t s = pick_stage(c);
    return &c->buffer[s][pick(c->stage[s].buffers)];
}

/* Another buffer of the same kind, of another micro-batch or layer, in place of *index. */
static bool rename_operand(struct copy *c, int32_t s, int32_t *index)
{
    for (int32_t i = 0; i < c->stage[s].buffers; i++)
        if (c->buffer[s][i].kind == c->buffer[s][*index].kind &&
            (c->buffer[s][i].micro != c->buffer[s][*index].micro || c->buffer[s][i].layer != c->buffer[s][*index].layer)) {
            *index = i;
            return true;
        }
    return false;
}

/* How a layer's backward pass is called in these tables: whole, or its first half. */
static enum step_kind backward_kind(const struct copy *c)
{
    return next_step(c, 0, STEP_LAYER_INPUT, 0) == NONE ? STEP_LAYER_BACKWARD : STEP_LAYER_INPUT;
}

/* ---- one way to break each; false: this layout has nothing of the kind ---- */

#define BREAK(name) static bool name(struct copy *c)

BREAK(stage_has_one_layer_more) { c->stage[pick_stage(c)].layers++; return true; }
BREAK(bucket_has_one_shard_less) { int32_t s = pick_stage(c); c->bucket[s][pick(c->stage[s].buckets)].shards--; return true; }
BREAK(step_names_no_buffer) { int32_t s = pick_stage(c); c->train[s][find_step(c, s, STEP_LAYER)].in = c->stage[s].buffers; return true; }
BREAK(step_of_another_layer) { int32_t s = pick_stage(c); c->train[s][find_step(c, s, STEP_LAYER)].layer = (int16_t)(c->stage[s].chunk[0].first_layer + c->stage[s].chunk[0].layers); return true; }
BREAK(rank_sits_elsewhere) { if (c->facts.tp == 1) return false; c->rank[pick(c->facts.ranks)].tp ^= 1; return true; }
BREAK(channel_has_no_slot) { if (c->tables.channels == 0) return false; c->channel[pick(c->tables.channels)].slots = 0; return true; }
BREAK(layers_leave_a_gap) { if (c->facts.pp == 1) return false; c->stage[1].chunk[0].first_layer++; return true; }

BREAK(chunks_rows_leave_a_gap) { int32_t s = pick_stage(c); c->stage[s].chunk[c->stage[s].chunks - 1].first_row++; return true; }
BREAK(chunk_has_no_layer) { int32_t s = pick_stage(c); c->stage[s].chunk[pick(c->stage[s].chunks)].layers = 0; return true; }
BREAK(chunks_change_places)
{
    int32_t s = pick_stage(c);
    if (c->stage[s].chunks == 1)
        return false;
    struct chunk chunk = c->stage[s].chunk[0];
    c->stage[s].chunk[0] = c->stage[s].chunk[1];
    c->stage[s].chunk[1] = chunk;
    return true;
}
BREAK(chunk_embeds_twice) { int32_t s = pick_stage(c); struct chunk *chunk = &c->stage[s].chunk[c->stage[s].chunks - 1]; chunk->embeds ^= true; return true; }
BREAK(step_of_another_chunk)
{
    int32_t s = pick_stage(c);
    if (c->stage[s].chunks == 1)
        return false;
    c->train[s][find_step(c, s, STEP_LAYER)].chunk ^= 1;
    return true;
}
BREAK(chunk_does_not_exist) { int32_t s = pick_stage(c); c->train[s][find_step(c, s, STEP_LAYER)].chunk = CHUNKS_MOST; return true; }

BREAK(shard_is_moved) { any_shard(c)->offset += 64; return true; }
BREAK(shard_is_shorter) { struct shard *s = find_shard(c, PARAMETER_UP); s->local_rows--; return true; }
BREAK(shard_is_longer) { struct shard *s = find_shard(c, PARAMETER_DOWN); s->local_columns++; return true; }
BREAK(shard_has_more_copies) { any_shard(c)->copies *= 2; return true; }
BREAK(shard_has_another_name) { any_shard(c)->name = "model.layers.0.mlp.gate.weight"; return true; }
BREAK(shards_change_places)
{
    struct shard *k = find_shard(c, PARAMETER_K), copy = *k;
    k[0] = k[1];
    k[1] = copy;
    return true;
}
BREAK(shard_is_there_twice) { struct shard *k = find_shard(c, PARAMETER_K); k[1] = k[0]; return true; }
BREAK(shard_decays_wrongly) { struct shard *s = any_shard(c); s->decays = !s->decays; return true; }
BREAK(shard_counts_wrongly) { struct shard *s = any_shard(c); s->counts = !s->counts; return true; }
BREAK(copies_are_summed_wrongly) { struct shard *s = any_shard(c); s->copies_sum = (enum copies_sum)((s->copies_sum + 1) % 3); return true; }
BREAK(shard_is_cut_another_way) { struct shard *s = any_shard(c); s->cut = (enum cut)((s->cut + 1) % 3); return true; }
BREAK(shard_has_another_shape) { any_shard(c)->rows++; return true; }
BREAK(bucket_is_moved) { int32_t s = pick_stage(c); c->bucket[s][pick(c->stage[s].buckets)].offset += 64; return true; }
BREAK(bucket_is_shorter) { int32_t s = pick_stage(c); c->bucket[s][pick(c->stage[s].buckets)].elements -= 64 * c->facts.dp; return true; }
BREAK(bucket_does_not_divide) { int32_t s = pick_stage(c); c->bucket[s][c->stage[s].buckets - 1].elements += 32; return true; }
BREAK(offset_table_differs)
{
    struct shard *s = find_shard(c, PARAMETER_GATE);
    c->parameter_offset[0][layer_row(&c->stage[0], s->layer) * PARAMETER_KINDS + PARAMETER_GATE] += 64;
    return true;
}
BREAK(parameters_miscounted) { c->tables.model_parameters++; return true; }
BREAK(tied_head_gradient_is_lost) { if (c->stage[0].head_gradient == NONE) return false; c->stage[0].head_gradient = NONE; return true; }
BREAK(moments_are_shorter) { c->stage[pick_stage(c)].state_elements -= 64; return true; }

static struct comm_group *large_group(struct copy *c)
{
    int32_t from = (int32_t)pick(c->tables.groups);
    for (int32_t i = 0; i < c->tables.groups; i++)
        if (c->group[(from + i) % c->tables.groups].size > 1)
            return &c->group[(from + i) % c->tables.groups];
    return NULL;
}

static int32_t *members_of(struct copy *c, const struct comm_group *group)
{
    return c->member + (group->members - c->member);
}

BREAK(members_change_places)
{
    struct comm_group *g = large_group(c);
    if (g == NULL)
        return false;
    int32_t *m = members_of(c, g), first = m[0];
    m[0] = m[1];
    m[1] = first;
    return true;
}
BREAK(member_is_there_twice)
{
    struct comm_group *g = large_group(c);
    if (g == NULL)
        return false;
    members_of(c, g)[1] = members_of(c, g)[0];
    return true;
}
BREAK(member_is_lost) { struct comm_group *g = large_group(c); if (g == NULL) return false; g->size--; return true; }
BREAK(rank_is_in_another_group)
{
    if (c->facts.ranks == 1)
        return false;
    struct rank_row *row = &c->rank[pick(c->facts.ranks)];
    row->group[GROUP_TP] = (row->group[GROUP_TP] + 1) % c->tables.groups;
    return true;
}
BREAK(rank_has_no_group) { c->rank[pick(c->facts.ranks)].group[pick(GROUP_TIED)] = NONE; return true; }

BREAK(norm_is_missing_on_one_stage) { return c->facts.pp > 1 && drop_kind(c, STEP_NORM); }
/* The embedding and its copy as head lie on two stages. */
static bool tied_apart(const struct copy *c)
{
    return c->rank[0].group[GROUP_TIED] != NONE;
}
BREAK(tied_sum_is_missing_on_one_stage) { return tied_apart(c) && drop_kind(c, STEP_TIED); }
BREAK(tied_sum_is_there_twice_on_one_stage) { return tied_apart(c) && double_kind(c, STEP_TIED); }

BREAK(channel_goes_backward)
{
    if (c->tables.channels == 0)
        return false;
    struct comm_channel *channel = &c->channel[pick(c->tables.channels)];
    int32_t from = channel->from;
    channel->from = channel->to;
    channel->to = from;
    return true;
}
BREAK(channel_is_missing)
{
    if (c->tables.channels == 0)
        return false;
    c->rank[0].channel[0][CHANNEL_FORWARD_OUT] = NONE;
    return true;
}
/* A rank's own two: what comes for one chunk is taken for the other. */
BREAK(channels_of_two_chunks_change_places)
{
    if (c->stage[0].chunks == 1)
        return false;
    int32_t *a = &c->rank[0].channel[0][CHANNEL_BACKWARD_IN], *b = &c->rank[0].channel[1][CHANNEL_BACKWARD_IN], id = *a;
    *a = *b;
    *b = id;
    return true;
}
BREAK(message_is_of_another_chunk)
{
    int32_t s = pick_stage(c), i = find_step(c, s, STEP_SEND_FORWARD);
    if (c->stage[s].chunks == 1 || i == NONE)
        return false;
    c->train[s][i].chunk ^= 1;
    return true;
}
BREAK(slot_is_shorter) { if (c->tables.channels == 0) return false; c->channel[pick(c->tables.channels)].slot_bytes /= 2; return true; }
BREAK(send_is_missing) { return drop_kind(c, STEP_SEND_FORWARD); }
BREAK(send_is_there_twice) { return double_kind(c, STEP_SEND_BACKWARD); }
BREAK(receive_is_missing) { return drop_kind(c, STEP_RECEIVE_BACKWARD); }
BREAK(receive_is_there_twice) { return double_kind(c, STEP_RECEIVE_FORWARD); }
BREAK(sends_change_places)
{
    int32_t i = next_step(c, 0, STEP_SEND_FORWARD, 0), j = i == NONE ? NONE : next_step(c, 0, STEP_SEND_FORWARD, i);
    if (j == NONE)
        return false;
    swap_steps(c, 0, i, j);
    return true;
}

/* The stage wants an answer to what it has not sent yet. */
BREAK(receive_is_before_the_send)
{
    int32_t i = next_step(c, 0, STEP_SEND_FORWARD, 0), j = i == NONE ? NONE : next_step(c, 0, STEP_RECEIVE_BACKWARD, 0);
    if (j == NONE)
        return false;
    move_step(c, 0, j, i);
    return true;
}
/* One stage sums the tied pair before the norm, the other behind it. */
BREAK(tied_sum_is_behind_the_norm)
{
    int32_t i = tied_apart(c) ? next_step(c, 0, STEP_TIED, 0) : NONE;
    if (i == NONE)
        return false;
    move_step(c, 0, i, next_step(c, 0, STEP_NORM, 0));
    return true;
}

BREAK(layer_is_missing) { return drop_kind(c, STEP_LAYER); }
BREAK(layer_is_there_twice) { return double_kind(c, STEP_LAYER); }
BREAK(layer_backward_is_missing) { return drop_kind(c, STEP_LAYER_BACKWARD); }
BREAK(layer_backward_is_there_twice) { return double_kind(c, STEP_LAYER_BACKWARD); }
BREAK(layer_again_is_missing) { return drop_kind(c, STEP_LAYER_AGAIN); }
BREAK(layer_again_is_there_twice) { return double_kind(c, STEP_LAYER_AGAIN); }
BREAK(core_again_is_missing) { return drop_kind(c, STEP_CORE_AGAIN); }
BREAK(core_again_is_there_twice) { return double_kind(c, STEP_CORE_AGAIN); }
BREAK(layer_again_is_of_another_layer)
{
    int32_t s = pick_stage(c), i = next_step(c, s, STEP_LAYER_AGAIN, 0), j = i == NONE ? NONE : next_step(c, s, STEP_LAYER_AGAIN, i);
    if (j == NONE)
        return false;
    swap_steps(c, s, i, j);
    return true;
}
BREAK(layer_again_writes_elsewhere)
{
    int32_t s = pick_stage(c), i = find_step(c, s, STEP_LAYER_AGAIN);
    if (i == NONE)
        return false;
    for (int32_t n = 0; n < c->stage[s].buffers; n++)
        if (n != c->train[s][i].saved && c->buffer[s][n].kind == BUFFER_SAVED && c->buffer[s][n].micro == c->train[s][i].micro &&
            c->buffer[s][n].layer == c->train[s][i].layer) {
            c->train[s][i].saved = n;
            return true;
        }
    return false;
}
BREAK(backward_reads_the_core_of_another) { int32_t s = pick_stage(c); return rename_operand(c, s, &c->train[s][find_step(c, s, backward_kind(c))].core); }
BREAK(weight_half_is_missing) { return drop_kind(c, STEP_LAYER_WEIGHT); }
BREAK(weight_half_is_there_twice) { return double_kind(c, STEP_LAYER_WEIGHT); }
BREAK(input_half_is_missing) { return drop_kind(c, STEP_LAYER_INPUT); }
BREAK(weight_half_is_before_the_input_half)
{
    int32_t s = pick_stage(c), i = next_step(c, s, STEP_LAYER_WEIGHT, 0);
    if (i == NONE)
        return false;
    move_step(c, s, i, next_step(c, s, STEP_LAYER_INPUT, 0));
    return true;
}
BREAK(weight_half_is_behind_the_reduction)
{
    int32_t s = pick_stage(c), i = find_step(c, s, STEP_LAYER_WEIGHT);
    if (i == NONE)
        return false;
    move_step(c, s, i, next_step(c, s, STEP_NORM, 0));
    return true;
}
BREAK(weight_half_reads_what_another_kept)
{
    int32_t s = pick_stage(c), i = find_step(c, s, STEP_LAYER_WEIGHT);
    return i != NONE && rename_operand(c, s, &c->train[s][i].kept);
}
BREAK(kept_fields_lie_over_each_other)
{
    if (find_step(c, 0, STEP_LAYER_WEIGHT) == NONE)
        return false;
    c->kept_offset[KEPT_QKV_GRADIENT] = c->kept_offset[KEPT_MIDDLE_GRADIENT];
    return true;
}
BREAK(head_is_missing) { return drop_kind(c, STEP_HEAD); }
BREAK(embedding_backward_is_there_twice) { return double_kind(c, STEP_EMBED_BACKWARD); }
BREAK(embedding_backward_is_missing) { return drop_kind(c, STEP_EMBED_BACKWARD); }
BREAK(feed_is_missing) { return drop_kind(c, STEP_FEED); }
BREAK(clear_is_missing) { return drop_kind(c, STEP_CLEAR); }
BREAK(clear_is_in_the_middle)
{
    int32_t s = pick_stage(c), j = next_step(c, s, backward_kind(c), 0);
    const struct bucket *bucket = c->stage[s].bucket;
    int32_t i = 0; /* the CLEAR of the bucket that holds the layer */
    while (c->train[s][j].layer != c->shard[s][bucket[c->train[s][i].bucket].first_shard].layer && i + 1 < c->stage[s].buckets)
        i++;
    if (c->facts.bucket_layers > 1)
        i = c->train[s][j].layer == c->stage[s].chunk[0].first_layer + c->stage[s].chunk[0].layers - 1 ? i : NONE;
    if (i == NONE)
        return false;
    move_step(c, s, i, j);
    return true;
}
BREAK(copies_sum_is_missing) { return drop_kind(c, STEP_COPIES); }
BREAK(copies_sum_is_there_twice) { return double_kind(c, STEP_COPIES); }
BREAK(reduce_is_missing) { return drop_kind(c, STEP_REDUCE); }
BREAK(reduce_is_there_twice) { return double_kind(c, STEP_REDUCE); }
BREAK(reduce_is_too_early)
{
    int32_t s = pick_stage(c), i = next_step(c, s, STEP_REDUCE, 0);
    if (i == NONE || c->facts.zero >= 2)
        return false;
    move_step(c, s, i, next_step(c, s, backward_kind(c), 0));
    return true;
}
/* A step of that kind that works on gradients or parameters that are whole for a while; NONE. */
static int32_t find_whole(const struct copy *c, int32_t s, enum step_kind kind)
{
    int32_t i = find_step(c, s, kind), steps = c->stage[s].train.steps;
    for (int32_t n = 0; i != NONE && n < steps; n++, i = (i + 1) % steps)
        if (c->train[s][i].kind == kind && (c->train[s][i].weights != NONE || c->train[s][i].gradients != NONE))
            return i;
    return NONE;
}
BREAK(one_micro_batchs_gradients_are_not_reduced)
{
    int32_t s = pick_stage(c), i = find_whole(c, s, STEP_REDUCE);
    if (i != NONE)
        drop_step(c, s, i);
    return i != NONE;
}
BREAK(one_micro_batchs_gradients_are_reduced_twice)
{
    int32_t s = pick_stage(c), i = find_whole(c, s, STEP_REDUCE);
    if (i != NONE)
        double_step(c, s, i);
    return i != NONE;
}
BREAK(one_micro_batchs_gradients_are_reduced_early)
{
    int32_t s = pick_stage(c), i = find_whole(c, s, STEP_REDUCE), j = i;
    if (i == NONE)
        return false;
    while (c->train[s][j].kind == STEP_REDUCE || c->train[s][j].kind == STEP_COPIES)
        j--;
    move_step(c, s, i, j);
    return true;
}
BREAK(one_micro_batchs_gradients_are_not_cleared)
{
    int32_t s = pick_stage(c), i = find_whole(c, s, STEP_CLEAR);
    if (i != NONE)
        drop_step(c, s, i);
    return i != NONE;
}
BREAK(one_micro_batchs_gradients_are_cleared_twice)
{
    int32_t s = pick_stage(c), i = find_whole(c, s, STEP_CLEAR);
    if (i != NONE)
        double_step(c, s, i);
    return i != NONE;
}
BREAK(one_micro_batchs_gradients_are_reduced_behind_the_norm)
{
    int32_t s = pick_stage(c), i = find_whole(c, s, STEP_REDUCE);
    if (i != NONE)
        move_step(c, s, i, next_step(c, s, STEP_NORM, 0));
    return i != NONE;
}
BREAK(gradients_of_another_micro_batch)
{
    int32_t s = pick_stage(c), i = find_whole(c, s, STEP_LAYER_BACKWARD);
    if (i == NONE)
        return false;
    int32_t *gradients = &c->train[s][i].gradients, bucket = c->buffer[s][*gradients].bucket;
    for (int32_t b = 0; b < c->stage[s].buffers; b++)
        if (c->buffer[s][b].kind == BUFFER_BUCKET_GRADIENT && c->buffer[s][b].bucket == bucket && b != *gradients) {
            *gradients = b;
            return true;
        }
    return false;
}
BREAK(parameters_are_not_gathered)
{
    int32_t s = pick_stage(c), i = find_whole(c, s, STEP_GATHER);
    if (i != NONE)
        drop_step(c, s, i);
    return i != NONE;
}
BREAK(parameters_of_another_bucket)
{
    int32_t s = pick_stage(c), i = find_whole(c, s, STEP_LAYER), b = 0;
    if (i == NONE || c->train[s][i].weights == NONE)
        return false;
    while (c->buffer[s][b].kind != BUFFER_BUCKET || c->buffer[s][b].bucket == c->buffer[s][c->train[s][i].weights].bucket)
        if (++b == c->stage[s].buffers)
            return false;
    c->train[s][i].weights = b;
    return true;
}
BREAK(gathered_into_another_bucket)
{
    int32_t s = pick_stage(c), i = find_whole(c, s, STEP_GATHER);
    if (i == NONE)
        return false;
    c->train[s][i].bucket = (int16_t)((c->train[s][i].bucket + 1) % c->stage[s].buckets);
    return c->stage[s].buckets > 1;
}
BREAK(parameters_named_without_need)
{
    int32_t s = pick_stage(c), i = find_step(c, s, STEP_LAYER);
    if (c->facts.zero == 3)
        return false;
    c->train[s][i].weights = c->train[s][i].saved;
    return true;
}
BREAK(slices_held_are_larger) { c->stage[pick_stage(c)].held_elements += 64; return true; }
BREAK(whole_bucket_is_shorter)
{
    int32_t s = pick_stage(c);
    for (int32_t b = 0; b < c->stage[s].buffers; b++)
        if (c->buffer[s][b].kind == BUFFER_BUCKET_GRADIENT) {
            c->buffer[s][b].bytes -= 256;
            return true;
        }
    return false;
}
BREAK(update_is_missing) { return drop_kind(c, STEP_UPDATE); }
BREAK(update_is_before_the_norm)
{
    int32_t s = pick_stage(c);
    move_step(c, s, find_step(c, s, STEP_UPDATE), next_step(c, s, STEP_NORM, 0));
    return true;
}
BREAK(gather_is_missing) { return c->facts.zero < 3 && drop_kind(c, STEP_GATHER); }
BREAK(gather_is_before_the_update)
{
    int32_t s = pick_stage(c), i = next_step(c, s, STEP_GATHER, 0);
    if (i == NONE || c->facts.zero == 3)
        return false;
    move_step(c, s, i, next_step(c, s, STEP_UPDATE, 0));
    return true;
}
BREAK(micro_batch_is_another)
{
    if (c->facts.micro_batches == 1)
        return false;
    int32_t s = pick_stage(c), i = find_step(c, s, STEP_LAYER);
    c->train[s][i].micro = (int16_t)((c->train[s][i].micro + 1) % c->facts.micro_batches);
    return true;
}
BREAK(tied_sum_is_missing) { return !tied_apart(c) && drop_kind(c, STEP_TIED); }


BREAK(layer_reads_another_input) { int32_t s = pick_stage(c); return rename_operand(c, s, &c->train[s][find_step(c, s, STEP_LAYER)].in); }
BREAK(layer_writes_another_output) { int32_t s = pick_stage(c); return rename_operand(c, s, &c->train[s][find_step(c, s, STEP_LAYER)].out); }
BREAK(layer_saves_elsewhere) { int32_t s = pick_stage(c); return rename_operand(c, s, &c->train[s][find_step(c, s, STEP_LAYER)].saved); }
BREAK(backward_reads_what_another_saved) { int32_t s = pick_stage(c); return rename_operand(c, s, &c->train[s][find_step(c, s, backward_kind(c))].saved); }
BREAK(backward_has_another_gradient) { int32_t s = pick_stage(c); return rename_operand(c, s, &c->train[s][find_step(c, s, backward_kind(c))].out); }
BREAK(layer_has_another_batch) { int32_t s = pick_stage(c); return rename_operand(c, s, &c->train[s][find_step(c, s, STEP_LAYER)].batch); }
BREAK(layer_has_no_scratch) { int32_t s = pick_stage(c); c->train[s][find_step(c, s, backward_kind(c))].work = NONE; return true; }
BREAK(send_takes_another_buffer)
{
    int32_t i = find_step(c, 0, STEP_SEND_FORWARD);
    return i != NONE && rename_operand(c, 0, &c->train[0][i].in);
}
BREAK(evaluation_reads_another_input)
{
    int32_t s = pick_stage(c);
    return rename_operand(c, s, &c->evaluate[s][2].in);
}

/* Puts a buffer of one program over another that lives at the same time. */
BREAK(buffers_lie_over_each_other)
{
    int32_t s = pick_stage(c), from = (int32_t)pick(c->stage[s].buffers);
    for (int32_t n = 0; n < c->stage[s].buffers; n++) {
        struct buffer *a = &c->buffer[s][(from + n) % c->stage[s].buffers];
        if (a->kind != BUFFER_SAVED)
            continue;
        for (int32_t j = 0; j < c->stage[s].buffers; j++) {
            struct buffer *b = &c->buffer[s][j];
            /* The same step names both: whatever the rest, they live together. */
            if (b->kind == BUFFER_RESIDUAL && b->micro == a->micro && b->layer == a->layer && b->first_step <= a->first_step && a->last_step <= b->last_step) {
                b->offset_bytes = a->offset_bytes;
                return true;
            }
        }
    }
    return false;
}
BREAK(buffer_lies_over_parameters)
{
    int32_t s = pick_stage(c);
    c->buffer[s][c->stage[s].buffers - 1].offset_bytes = 0;
    return true;
}
BREAK(buffer_is_shorter) { struct buffer *b = any_buffer(c); b->bytes /= 2; return true; }
BREAK(buffer_is_misaligned) { any_buffer(c)->offset_bytes += 4; return true; }
BREAK(buffer_leaves_the_arena) { int32_t s = pick_stage(c); c->buffer[s][pick(c->stage[s].buffers)].offset_bytes = c->stage[s].arena_bytes; return true; }
BREAK(row_says_a_shorter_life)
{
    int32_t s = pick_stage(c);
    for (int32_t i = 0; i < c->stage[s].buffers; i++)
        if (c->buffer[s][i].kind == BUFFER_SAVED && c->buffer[s][i].last_step > c->buffer[s][i].first_step) {
            c->buffer[s][i].last_step--;
            return true;
        }
    return false;
}
BREAK(row_says_a_later_birth)
{
    int32_t s = pick_stage(c);
    for (int32_t i = 0; i < c->stage[s].buffers; i++)
        if (c->buffer[s][i].kind == BUFFER_RESIDUAL && c->buffer[s][i].last_step > c->buffer[s][i].first_step) {
            c->buffer[s][i].first_step++;
            return true;
        }
    return false;
}
BREAK(saved_fields_lie_over_each_other) { c->saved_offset[SAVED_GATE_UP] = c->saved_offset[SAVED_QKV]; return true; }
BREAK(saved_field_leaves_its_buffer) { c->saved_offset[SAVED_GATE_UP] += 4096; return true; }
BREAK(work_fields_lie_over_each_other) { c->work_offset[WORK_PARTIAL] = c->work_offset[WORK_NORMED]; return true; }
BREAK(work_field_leaves_its_buffer) { c->work_offset[WORK_LOGITS] += 1 << 20; return true; }
BREAK(field_has_no_place) { c->core_offset[CORE_LSE] = NONE; return true; }
BREAK(core_fields_lie_over_each_other) { c->core_offset[CORE_LSE] = c->core_offset[CORE_ATTENTION]; return true; }
BREAK(field_the_model_has_not) { if (c->facts.qk_norm) return false; c->saved_offset[SAVED_QK_RAW] = 0; return true; }
BREAK(slots_lie_elsewhere) { if (c->tables.channels == 0) return false; c->channel[pick(c->tables.channels)].slots_offset_bytes = 0; return true; }
BREAK(slots_of_two_channels_are_one)
{
    if (c->facts.pp < 3)
        return false;
    const struct rank_row *row = &c->rank[c->facts.ranks / c->facts.pp];
    c->channel[row->channel[0][CHANNEL_BACKWARD_IN]].slots_offset_bytes = c->channel[row->channel[0][CHANNEL_FORWARD_IN]].slots_offset_bytes;
    return true;
}
BREAK(more_slots_than_room) { if (c->tables.channels == 0) return false; c->channel[pick(c->tables.channels)].slots = 4; return true; }
BREAK(moments_are_missing)
{
    int32_t s = pick_stage(c);
    for (int32_t i = 0; i < c->stage[s].buffers; i++)
        if (c->buffer[s][i].kind == BUFFER_MOMENT_2)
            c->buffer[s][i].kind = BUFFER_MOMENT_1;
    return true;
}

BREAK(arena_is_too_small) { c->tables.arena_bytes -= 256; return true; }
BREAK(device_is_too_small) { c->facts.device_memory_bytes = c->tables.arena_bytes - 1; return true; }
BREAK(bound_is_above_the_arena) { int32_t s = pick_stage(c); c->stage[s].arena_bound_bytes = c->stage[s].arena_bytes + 1; return true; }

/* ---- the table: each way to break, and the proof that names it ---- */

static const struct {
    const char *name;
    bool (*change)(struct copy *c);
    const char *proof_name;
} breaks[] = {
#define ROW(function, proof_name) { #function, function, proof_name }
    ROW(stage_has_one_layer_more, "well_formed"),
    ROW(bucket_has_one_shard_less, "well_formed"),
    ROW(step_names_no_buffer, "well_formed"),
    ROW(step_of_another_layer, "well_formed"),
    ROW(rank_sits_elsewhere, "well_formed"),
    ROW(channel_has_no_slot, "well_formed"),
    ROW(layers_leave_a_gap, "well_formed"),
    ROW(chunks_rows_leave_a_gap, "well_formed"),
    ROW(chunk_has_no_layer, "well_formed"),
    ROW(chunks_change_places, "well_formed"),
    ROW(chunk_embeds_twice, "well_formed"),
    ROW(step_of_another_chunk, "well_formed"),
    ROW(chunk_does_not_exist, "well_formed"),
    ROW(channels_of_two_chunks_change_places, "matched"),
    ROW(message_is_of_another_chunk, "matched"),
    ROW(shard_is_moved, "covered"),
    ROW(shard_is_shorter, "covered"),
    ROW(shard_is_longer, "covered"),
    ROW(shard_has_more_copies, "covered"),
    ROW(shard_has_another_name, "covered"),
    ROW(shards_change_places, "covered"),
    ROW(shard_is_there_twice, "covered"),
    ROW(shard_decays_wrongly, "covered"),
    ROW(shard_counts_wrongly, "covered"),
    ROW(copies_are_summed_wrongly, "covered"),
    ROW(shard_is_cut_another_way, "covered"),
    ROW(shard_has_another_shape, "covered"),
    ROW(bucket_is_moved, "covered"),
    ROW(bucket_is_shorter, "covered"),
    ROW(bucket_does_not_divide, "covered"),
    ROW(offset_table_differs, "covered"),
    ROW(parameters_miscounted, "covered"),
    ROW(tied_head_gradient_is_lost, "covered"),
    ROW(moments_are_shorter, "covered"),
    ROW(members_change_places, "groups"),
    ROW(member_is_there_twice, "groups"),
    ROW(member_is_lost, "groups"),
    ROW(rank_is_in_another_group, "groups"),
    ROW(rank_has_no_group, "groups"),
    ROW(norm_is_missing_on_one_stage, "same_order"),
    ROW(tied_sum_is_missing_on_one_stage, "same_order"),
    ROW(tied_sum_is_there_twice_on_one_stage, "same_order"),
    ROW(channel_goes_backward, "matched"),
    ROW(channel_is_missing, "matched"),
    ROW(slot_is_shorter, "matched"),
    ROW(send_is_missing, "matched"),
    ROW(send_is_there_twice, "matched"),
    ROW(receive_is_missing, "matched"),
    ROW(receive_is_there_twice, "matched"),
    ROW(sends_change_places, "matched"),
    ROW(receive_is_before_the_send, "no_circle"),
    ROW(tied_sum_is_behind_the_norm, "no_circle"),
    ROW(layer_is_missing, "once"),
    ROW(layer_is_there_twice, "once"),
    ROW(layer_backward_is_missing, "once"),
    ROW(layer_backward_is_there_twice, "once"),
    ROW(layer_again_is_missing, "written"),
    ROW(layer_again_is_there_twice, "once"),
    ROW(core_again_is_missing, "written"),
    ROW(core_again_is_there_twice, "once"),
    ROW(layer_again_is_of_another_layer, "once"),
    ROW(layer_again_writes_elsewhere, "written"),
    ROW(backward_reads_the_core_of_another, "written"),
    ROW(weight_half_is_missing, "once"),
    ROW(weight_half_is_there_twice, "once"),
    ROW(input_half_is_missing, "once"),
    ROW(weight_half_is_before_the_input_half, "once"),
    ROW(weight_half_is_behind_the_reduction, "once"),
    ROW(weight_half_reads_what_another_kept, "written"),
    ROW(kept_fields_lie_over_each_other, "no_overlap"),
    ROW(head_is_missing, "once"),
    ROW(embedding_backward_is_there_twice, "once"),
    ROW(embedding_backward_is_missing, "once"),
    ROW(feed_is_missing, "once"),
    ROW(clear_is_missing, "once"),
    ROW(clear_is_in_the_middle, "once"),
    ROW(copies_sum_is_missing, "once"),
    ROW(copies_sum_is_there_twice, "once"),
    ROW(reduce_is_missing, "once"),
    ROW(reduce_is_there_twice, "once"),
    ROW(reduce_is_too_early, "once"),
    ROW(one_micro_batchs_gradients_are_not_reduced, "once"),
    ROW(one_micro_batchs_gradients_are_reduced_twice, "once"),
    ROW(one_micro_batchs_gradients_are_reduced_early, "once"),
    ROW(one_micro_batchs_gradients_are_not_cleared, "once"),
    ROW(one_micro_batchs_gradients_are_cleared_twice, "once"),
    ROW(one_micro_batchs_gradients_are_reduced_behind_the_norm, "once"),
    ROW(gradients_of_another_micro_batch, "once"),
    ROW(parameters_are_not_gathered, "written"),
    ROW(parameters_of_another_bucket, "written"),
    ROW(gathered_into_another_bucket, "written"),
    ROW(parameters_named_without_need, "written"),
    ROW(slices_held_are_larger, "covered"),
    ROW(whole_bucket_is_shorter, "no_overlap"),
    ROW(update_is_missing, "once"),
    ROW(update_is_before_the_norm, "once"),
    ROW(gather_is_missing, "once"),
    ROW(gather_is_before_the_update, "once"),
    ROW(micro_batch_is_another, "once"),
    ROW(tied_sum_is_missing, "once"),
    ROW(layer_reads_another_input, "written"),
    ROW(layer_writes_another_output, "written"),
    ROW(layer_saves_elsewhere, "written"),
    ROW(backward_reads_what_another_saved, "written"),
    ROW(backward_has_another_gradient, "written"),
    ROW(layer_has_another_batch, "written"),
    ROW(layer_has_no_scratch, "written"),
    ROW(send_takes_another_buffer, "written"),
    ROW(evaluation_reads_another_input, "written"),
    ROW(buffers_lie_over_each_other, "no_overlap"),
    ROW(buffer_lies_over_parameters, "no_overlap"),
    ROW(buffer_is_shorter, "no_overlap"),
    ROW(buffer_is_misaligned, "no_overlap"),
    ROW(buffer_leaves_the_arena, "no_overlap"),
    ROW(row_says_a_shorter_life, "no_overlap"),
    ROW(row_says_a_later_birth, "no_overlap"),
    ROW(saved_fields_lie_over_each_other, "no_overlap"),
    ROW(saved_field_leaves_its_buffer, "no_overlap"),
    ROW(work_fields_lie_over_each_other, "no_overlap"),
    ROW(work_field_leaves_its_buffer, "no_overlap"),
    ROW(field_has_no_place, "no_overlap"),
    ROW(core_fields_lie_over_each_other, "no_overlap"),
    ROW(field_the_model_has_not, "no_overlap"),
    ROW(slots_lie_elsewhere, "no_overlap"),
    ROW(slots_of_two_channels_are_one, "no_overlap"),
    ROW(more_slots_than_room, "no_overlap"),
    ROW(moments_are_missing, "no_overlap"),
    ROW(arena_is_too_small, "fits"),
    ROW(device_is_too_small, "fits"),
    ROW(bound_is_above_the_arena, "fits"),
};

#endif

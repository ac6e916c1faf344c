/* play.c: see play.h. Steady; allocates nothing, cannot fail. */
#include "run/play.h"

#include "config.h"
#include "run/feed.h"
#include "run/model.h"
#include "run/optimizer.h"

enum { RESIDUAL_BYTES = RESIDUAL_ROWS * MODEL_HIDDEN * (int64_t)sizeof(real) };

static void send(struct player *player, const struct step *step, enum direction direction)
{
    comm_send(player->rank->comm, &player->rank->queue, player->row->channel[step->chunk][direction],
              buffer_at(player, step->in), RESIDUAL_BYTES);
}

static void receive(struct player *player, const struct step *step, enum direction direction)
{
    comm_receive(player->rank->comm, &player->rank->queue, player->row->channel[step->chunk][direction],
                 buffer_at(player, step->out), RESIDUAL_BYTES);
}

/* Elements of a bucket that one replica owns, and where they lie among its slices. */
static int64_t slice_elements(const struct bucket *bucket)
{
    return bucket->elements / DP;
}

static int64_t slice_offset(const struct bucket *bucket)
{
    return bucket->offset / DP;
}

static void clear(struct player *player, const struct step *step, const struct bucket *bucket)
{
    const struct stage *stage = player->stage;
    struct queue *queue = &player->rank->queue;
    if (step->gradients != NONE) {
        fill_zero(queue, buffer_at(player, step->gradients), bucket->elements * (int64_t)sizeof(float));
        return;
    }
    fill_zero(queue, player->gradients + (ZERO >= 2 ? slice_offset(bucket) : bucket->offset),
              (ZERO >= 2 ? slice_elements(bucket) : bucket->elements) * (int64_t)sizeof(float));
    if (bucket == stage->bucket && stage->head_gradient != NONE)
        fill_zero(queue, player->gradients + stage->head_gradient, (stage->gradient_elements - stage->head_gradient) * (int64_t)sizeof(float));
}

/* The two gradients of a tied embedding become one sum, embedding's first and head's second, on every rank that holds a copy. */
static void sum_tied(struct player *player)
{
    const struct stage *stage = player->stage;
    const struct bucket *bucket = stage->embeds ? &stage->bucket[0] : &stage->bucket[stage->buckets - 1];
    int64_t offset = player->offset[0][stage->embeds ? PARAMETER_EMBEDDING : PARAMETER_HEAD], elements = (int64_t)VOCABULARY_LOCAL * MODEL_HIDDEN;
    if (ZERO >= 2) {
        offset = slice_offset(bucket);
        elements = slice_elements(bucket);
    }
    float *gradient = player->gradients + offset;
    if (stage->head_gradient != NONE)
        add(&player->rank->queue, gradient, player->gradients + stage->head_gradient, elements);
    else
        comm_all_reduce(player->rank->comm, &player->rank->queue, player->row->group[GROUP_TIED], gradient, elements, COMM_SUM);
}

/* Copies of a parameter that each saw a part of the heads or of the rows: their gradients are summed over the ranks that hold them. */
static void sum_copies(struct player *player, const struct step *step, const struct bucket *bucket)
{
    float *gradients = flat_at(player, step->gradients, player->gradients);
    for (int32_t s = 0; s < bucket->shards; s++) {
        const struct shard *shard = &player->stage->shard[bucket->first_shard + s];
        if (shard->copies_sum == COPIES_EQUAL)
            continue;
        enum group_kind group = shard->copies_sum == COPIES_SUM_TP ? GROUP_TP : GROUP_KV_COPIES;
        comm_all_reduce(player->rank->comm, &player->rank->queue, player->row->group[group], gradients + shard->offset,
                        shard->local_rows * shard->local_columns, COMM_SUM);
    }
}

static void reduce(struct player *player, const struct step *step, const struct bucket *bucket)
{
    struct comm *comm = player->rank->comm;
    struct queue *queue = &player->rank->queue;
    int32_t group = player->row->group[GROUP_DP];
    int64_t slice = slice_elements(bucket);
    if (step->gradients == NONE) {
        float *gradients = player->gradients + bucket->offset;
        if (ZERO == 0)
            comm_all_reduce(comm, queue, group, gradients, bucket->elements, COMM_SUM);
        else
            comm_reduce_scatter(comm, queue, group, gradients, slice);
        return;
    }
    bool of_head = player->stage->buffer[step->gradients].kind == BUFFER_HEAD_GRADIENT;
    float *whole = buffer_at(player, step->gradients);
    comm_reduce_scatter(comm, queue, group, whole, slice);
    add(queue, player->gradients + (of_head ? player->stage->head_gradient : slice_offset(bucket)), whole + player->row->dp * slice, slice);
}

static void gather(struct player *player, const struct step *step, const struct bucket *bucket)
{
    float *whole = player->parameters + bucket->offset;
    int64_t slice = slice_elements(bucket);
    if (step->weights != NONE) {
        whole = buffer_at(player, step->weights);
        copy_elements(&player->rank->queue, whole + player->row->dp * slice, player->parameters + slice_offset(bucket), slice);
    }
    comm_all_gather(player->rank->comm, &player->rank->queue, player->row->group[GROUP_DP], whole, slice);
}

void play(struct player *player, const struct program *program)
{
    for (int32_t i = 0; i < program->steps; i++) {
        const struct step *step = &program->step[i];
        const struct bucket *bucket = step->bucket == NONE ? NULL : &player->stage->bucket[step->bucket];
        switch ((enum step_kind)step->kind) {
        case STEP_FEED:             feed_micro_batch(player, step->micro, step->batch); break;
        case STEP_EMBED:            model_embed(player, step); break;
        case STEP_RECEIVE_FORWARD:  receive(player, step, CHANNEL_FORWARD_IN); break;
        case STEP_LAYER:            model_layer(player, step); break;
        case STEP_SEND_FORWARD:     send(player, step, CHANNEL_FORWARD_OUT); break;
        case STEP_HEAD:             model_head(player, step, true); break;
        case STEP_HEAD_EVALUATE:    model_head(player, step, false); break;
        case STEP_RECEIVE_BACKWARD: receive(player, step, CHANNEL_BACKWARD_IN); break;
        case STEP_LAYER_AGAIN:      model_layer_again(player, step); break;
        case STEP_CORE_AGAIN:       model_core_again(player, step); break;
        case STEP_LAYER_BACKWARD:   model_layer_backward(player, step); break;
        case STEP_LAYER_INPUT:      model_layer_backward(player, step); break;
        case STEP_LAYER_WEIGHT:     model_layer_weight(player, step); break;
        case STEP_SEND_BACKWARD:    send(player, step, CHANNEL_BACKWARD_OUT); break;
        case STEP_EMBED_BACKWARD:   model_embed_backward(player, step); break;
        case STEP_CLEAR:            clear(player, step, bucket); break;
        case STEP_TIED:             sum_tied(player); break;
        case STEP_COPIES:           sum_copies(player, step, bucket); break;
        case STEP_REDUCE:           reduce(player, step, bucket); break;
        case STEP_NORM:
            optimizer_norm(player);
            if (player->bad)
                return;         /* the same on all ranks: none of them updates, the executive ends the run */
            break;
        case STEP_UPDATE:           optimizer_update(player, bucket); break;
        case STEP_GATHER:           gather(player, step, bucket); break;
        case STEP_KINDS:            ASSERT(step->kind < STEP_KINDS); break;
        }
    }
}

const float *play_bucket(struct player *player, int32_t bucket)
{
    const struct step whole = { .kind = STEP_GATHER, .weights = bucket_buffer(player->stage, bucket) };
    if (whole.weights == NONE)
        return player->parameters + player->stage->bucket[bucket].offset;
    gather(player, &whole, &player->stage->bucket[bucket]);
    return buffer_at(player, whole.weights);
}

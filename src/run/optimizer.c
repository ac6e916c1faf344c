/* optimizer.c: see optimizer.h. Steady; allocates nothing, cannot fail. */
#include "run/optimizer.h"

#include <math.h>

#include "config.h"

/* A part of a shard: where it lies in the flat buffers, and in what this rank holds of each (tables.h, rule 6). */
struct segment {
    int64_t elements;             /* <= 0: nothing */
    int64_t parameters, gradients, state;
};

/* What of the shard lies in part `part` of its bucket's `parts`. */
static struct segment segment_of(const struct bucket *bucket, const struct shard *shard, int64_t part, int64_t parts)
{
    int64_t length = bucket->elements / parts, begin = bucket->offset + part * length, end = begin + length;
    int64_t from = shard->offset, to = shard->offset + shard->local_rows * shard->local_columns;
    if (from < begin)
        from = begin;
    if (to > end)
        to = end;
    int64_t in_slices = bucket->offset / DP + (from - begin);
    return (struct segment){
        .elements = to - from, .parameters = ZERO >= 3 ? in_slices : from, .gradients = ZERO >= 2 ? in_slices : from,
        .state = ZERO >= 1 ? in_slices : from,
    };
}

struct record {
    struct exact_sum squares;
    double loss;
    int64_t hits;
};

/* Adds the ranks' records in rank order. Stages other than the last, and tensor-parallel ranks other than the first, add exact zeros to the
 * loss, so the order of its non-zero terms is that of the data-parallel ranks whatever the pipeline. */
static struct exact_sum exchange(struct player *player, struct exact_sum squares)
{
    struct record all[RANKS], mine = { .squares = squares };
    if (player->stage->heads && player->row->tp == 0) {
        mine.loss = player->loss;
        mine.hits = player->hits;
    }
    comm_gather_records(player->rank->comm, &player->rank->queue, player->row->group[GROUP_WORLD], all, &mine, sizeof mine);
    struct exact_sum total = { 0 };
    player->global_loss = 0.0;
    player->global_hits = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        exact_sum_add(&total, &all[rank].squares);
        player->global_loss += all[rank].loss;
        player->global_hits += all[rank].hits;
    }
    return total;
}

void optimizer_norm(struct player *player)
{
    struct exact_sum squares = { 0 };
    for (int32_t b = 0; b < player->stage->buckets; b++) {
        const struct bucket *bucket = &player->stage->bucket[b];
        for (int32_t s = 0; s < bucket->shards; s++) {
            const struct shard *shard = &player->stage->shard[bucket->first_shard + s];
            struct segment segment = segment_of(bucket, shard, player->row->dp, DP); /* each replica counts its slice, whatever it holds */
            if (shard->counts && player->row->tp % shard->copies == 0 && segment.elements > 0)
                sum_of_squares(&player->rank->queue, &squares, player->gradients + segment.gradients, segment.elements);
        }
    }
    struct exact_sum total = exchange(player, squares);
    double clip = player->night->job.clip;
    player->norm = sqrt(exact_sum_value(&total));
    player->bad = !isfinite(player->norm) || !isfinite(player->global_loss);
    /* The small term keeps the bits that PyTorch's clip_grad_norm_ gives. */
    double factor = clip > 0.0 ? clip / (player->norm + 1e-6) : 1.0;
    player->clip_factor = factor < 1.0 ? factor : 1.0;
}

void optimizer_sum_losses(struct player *player)
{
    (void)exchange(player, (struct exact_sum){ 0 });
}

void optimizer_update(struct player *player, const struct bucket *bucket)
{
    const struct job *job = &player->night->job;
    struct adamw a = {
        .learning_rate = player->learning_rate,
        .beta1 = job->beta1, .beta2 = job->beta2, .epsilon = job->epsilon,
        .gradient_scale = player->clip_factor,
        .correction1 = 1.0 - pow(job->beta1, (double)player->step),
        .correction2 = 1.0 - pow(job->beta2, (double)player->step),
    };
    for (int32_t s = 0; s < bucket->shards; s++) {
        const struct shard *shard = &player->stage->shard[bucket->first_shard + s];
        struct segment segment = ZERO == 0 ? segment_of(bucket, shard, 0, 1) : segment_of(bucket, shard, player->row->dp, DP);
        if (segment.elements <= 0)
            continue;
        a.weight_decay = shard->decays ? job->weight_decay : 0.0;
        adamw_update(&player->rank->queue, player->parameters + segment.parameters, player->moment1 + segment.state,
                     player->moment2 + segment.state, player->gradients + segment.gradients, segment.elements, a);
    }
}

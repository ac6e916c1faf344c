/* samples.h: inputs over the corners of what layoutc takes, and copies of their tables that a test may break. */
#ifndef TEST_TABLES_SAMPLES_H
#define TEST_TABLES_SAMPLES_H

#include "test/test.h"
#include "tools/layoutc/draft.h"
#include "tools/verify/verify.h"

/* An input for each corner: what differs from the plain one, which is one rank under 1F1B. index from 0; NULL behind the last. */
static inline const struct input *sample(int index)
{
    static const int32_t by_hand[] = { 3, 6 };
    static const struct {
        const char *name;
        int tp, pp, dp, chunks, micro_batches;
        enum schedule schedule;
        bool tied, qkv_bias, qk_norm, bf16, stages_by_hand;
        enum recompute recompute;
        bool whole_rows;
        int zero_plus_1, bucket_layers;
    } corners[] = {
        { .name = "single", .micro_batches = 4 },
        { .name = "single-tied", .micro_batches = 4, .tied = true, .qk_norm = true },
        { .name = "tp8-copies", .tp = 8, .micro_batches = 4, .qkv_bias = true, .qk_norm = true },
        { .name = "pp4", .pp = 4, .micro_batches = 4 },
        { .name = "pp4-gpipe-tied-few", .pp = 4, .micro_batches = 3, .schedule = ORDER_GPIPE, .tied = true },
        { .name = "tp2pp2dp2-tied", .tp = 2, .pp = 2, .dp = 2, .micro_batches = 4, .tied = true, .qkv_bias = true },
        { .name = "dp4", .dp = 4, .micro_batches = 1 },
        { .name = "pp8-few", .pp = 8, .micro_batches = 2 },
        { .name = "tp4pp2dp2-bf16", .tp = 4, .pp = 2, .dp = 2, .micro_batches = 4, .tied = true, .bf16 = true, .stages_by_hand = true },
        { .name = "tp4pp2-whole-rows", .tp = 4, .pp = 2, .micro_batches = 3, .qk_norm = true, .whole_rows = true },
        { .name = "pp4-zb-h1", .pp = 4, .micro_batches = 6, .schedule = ORDER_ZB_H1, .tied = true },
        { .name = "pp4-zb-h2", .pp = 4, .micro_batches = 9, .schedule = ORDER_ZB_H2, .qkv_bias = true },
        { .name = "pp2-interleaved-tied", .pp = 2, .chunks = 3, .micro_batches = 4, .schedule = ORDER_INTERLEAVED, .tied = true },
        { .name = "tp2pp4-zb-v", .tp = 2, .pp = 4, .chunks = 2, .micro_batches = 7, .schedule = ORDER_ZB_V, .tied = true, .qk_norm = true },
        { .name = "tp2pp2-zb-h1-full", .tp = 2, .pp = 2, .micro_batches = 3, .schedule = ORDER_ZB_H1, .qk_norm = true, .recompute = AGAIN_FULL },
        { .name = "tp2dp2-zero-0", .tp = 2, .dp = 2, .micro_batches = 2, .tied = true, .zero_plus_1 = 1, .bucket_layers = 4 },
        { .name = "dp4-zero-2-tied", .dp = 4, .micro_batches = 2, .tied = true, .qk_norm = true, .zero_plus_1 = 3, .bucket_layers = 2 },
        { .name = "tp2pp2dp2-zero-3-tied", .tp = 2, .pp = 2, .dp = 2, .micro_batches = 3, .tied = true, .qkv_bias = true, .zero_plus_1 = 4, .bucket_layers = 3 },
        { .name = "pp2dp2-zero-3-v", .pp = 2, .dp = 2, .chunks = 2, .micro_batches = 3, .schedule = ORDER_ZB_V, .bf16 = true, .recompute = AGAIN_FULL, .zero_plus_1 = 4 },
        { .name = "pp2-full", .pp = 2, .micro_batches = 4, .tied = true, .recompute = AGAIN_FULL },
        { .name = "tp2dp2-selective", .tp = 2, .dp = 2, .micro_batches = 2, .qk_norm = true, .recompute = AGAIN_SELECTIVE },
        { .name = "pp2-layers", .pp = 2, .micro_batches = 3, .schedule = ORDER_GPIPE, .qkv_bias = true, .bf16 = true, .recompute = AGAIN_LAYERS },
    };
    static struct input samples[ELEMENTS_OF(corners)];
    if (index < 0 || index >= ELEMENTS_OF(corners))
        return NULL;
    struct input *s = &samples[index];
    int tp = corners[index].tp > 0 ? corners[index].tp : 1, pp = corners[index].pp > 0 ? corners[index].pp : 1,
        dp = corners[index].dp > 0 ? corners[index].dp : 1;
    int devices = tp * pp * dp;
    *s = (struct input){
        .board = { .name = "sample",
                   .header = "boards/sample/board.h",
                   .nodes = 1,
                   .devices_per_node = devices,
                   .link_group_devices = devices,
                   .device_memory_bytes = 1LL << 30,
                   .memory_bytes_per_second = 100000000000,
                   .flops_per_second = 1000000000000,
                   .real_bytes = corners[index].bf16 ? 2 : 4 },
        .layout = { .name = corners[index].name,
                    .header = "layouts/sample.h",
                    .tp = tp,
                    .pp = pp,
                    .dp = dp,
                    .cp = 1,
                    .chunks = corners[index].chunks > 0 ? corners[index].chunks : 1,
                    .folded = corners[index].schedule == ORDER_ZB_V,
                    .folded_value = corners[index].schedule == ORDER_ZB_V,
                    .schedule = corners[index].schedule == ORDER_UNKNOWN ? ORDER_1F1B : corners[index].schedule,
                    .micro_batches = corners[index].micro_batches,
                    .micro_batch_rows = 2,
                    .sequence_tokens = 48,
                    .zero = corners[index].zero_plus_1 > 0 ? corners[index].zero_plus_1 - 1 : 1,
                    .bucket_layers = corners[index].bucket_layers > 0 ? corners[index].bucket_layers : 1,
                    .sequence_parallel = !corners[index].whole_rows,
                    .recompute = corners[index].recompute == AGAIN_UNKNOWN ? AGAIN_NONE : corners[index].recompute,
                    .recompute_layers = corners[index].recompute == AGAIN_LAYERS ? 2 : 0 },
        .model = { .name = "sample",
                   .header = "layouts/models/sample.h",
                   .hidden = 32,
                   .layers = 9,
                   .heads = 8,
                   .kv_heads = 2,
                   .head_dim = 8,
                   .intermediate = 96,
                   .vocabulary = 259,
                   .positions = 256,
                   .tied = corners[index].tied,
                   .qkv_bias = corners[index].qkv_bias,
                   .qk_norm = corners[index].qk_norm },
        .method = "full",
        .method_header = "layouts/methods/full.h",
    };
    if (corners[index].stages_by_hand) {
        s->layout.stage_layers = by_hand;
        s->layout.stage_layers_count = (int32_t)ELEMENTS_OF(by_hand);
    }
    return s;
}

/* What verify is told of an input. */
static inline struct facts facts_of(const struct input *in)
{
    struct share s = share_of(in);
    const struct layout_input *l = &in->layout;
    const struct model_input *m = &in->model;
    return (struct facts){
        .ranks = s.ranks,
        .tp = l->tp,
        .pp = l->pp,
        .dp = l->dp,
        .cp = l->cp,
        .zero = l->zero,
        .bucket_layers = l->bucket_layers,
        .micro_batches = l->micro_batches,
        .micro_batch_rows = l->micro_batch_rows,
        .sequence_tokens = l->sequence_tokens,
        .tokens = s.tokens,
        .residual_rows = s.residual_rows,
        .sequence_parallel = s.sequence_parallel,
        .hidden = m->hidden,
        .layers = m->layers,
        .heads = m->heads,
        .kv_heads = m->kv_heads,
        .head_dim = m->head_dim,
        .intermediate = m->intermediate,
        .vocabulary = m->vocabulary,
        .tied = m->tied,
        .qkv_bias = m->qkv_bias,
        .qk_norm = m->qk_norm,
        .heads_local = s.heads,
        .kv_heads_local = s.kv_heads,
        .kv_copies = s.kv_copies,
        .qkv_columns = s.qkv_columns,
        .attention_columns = s.attention_columns,
        .intermediate_local = s.intermediate,
        .vocabulary_local = s.vocabulary,
        .logit_rows = s.logit_rows,
        .real_bytes = in->board.real_bytes,
        .device_memory_bytes = in->board.device_memory_bytes,
    };
}

/* Tables of a draft that may be written. */
struct copy {
    struct facts facts;
    struct tables tables;
    struct stage *stage;
    struct shard **shard;
    struct bucket **bucket;
    struct buffer **buffer;
    struct step **train, **evaluate;
    struct rank_row *rank;
    struct comm_group *group;
    int32_t *member;
    struct comm_channel *channel;
    int64_t **parameter_offset;
    int64_t saved_offset[SAVED_FIELDS], core_offset[CORE_FIELDS], kept_offset[KEPT_FIELDS], work_offset[WORK_FIELDS];
    struct blocks blocks;
};

static inline void *copied(struct copy *c, const void *from, int64_t count, int64_t bytes)
{
    void *to = blocks_take(&c->blocks, count + 1, bytes); /* room for one more: some breaks add a row */
    memcpy(to, from, (size_t)(count * bytes));
    return to;
}

static inline void copy_make(struct copy *c, const struct draft *d)
{
    int64_t pp = d->input->layout.pp;
    *c = (struct copy){ .facts = facts_of(d->input) };
    c->stage = copied(c, d->stage, pp, sizeof *c->stage);
    c->shard = blocks_take(&c->blocks, pp, sizeof *c->shard);
    c->bucket = blocks_take(&c->blocks, pp, sizeof *c->bucket);
    c->buffer = blocks_take(&c->blocks, pp, sizeof *c->buffer);
    c->train = blocks_take(&c->blocks, pp, sizeof *c->train);
    c->evaluate = blocks_take(&c->blocks, pp, sizeof *c->evaluate);
    c->parameter_offset = blocks_take(&c->blocks, pp, sizeof *c->parameter_offset);
    for (int64_t s = 0; s < pp; s++) {
        struct stage *stage = &c->stage[s];
        stage->shard = c->shard[s] = copied(c, stage->shard, stage->shards, sizeof *stage->shard);
        stage->bucket = c->bucket[s] = copied(c, stage->bucket, stage->buckets, sizeof *stage->bucket);
        stage->buffer = c->buffer[s] = copied(c, stage->buffer, stage->buffers, sizeof *stage->buffer);
        stage->train.step = c->train[s] = copied(c, stage->train.step, stage->train.steps, sizeof *stage->train.step);
        stage->evaluate.step = c->evaluate[s] = copied(c, stage->evaluate.step, stage->evaluate.steps, sizeof *stage->evaluate.step);
        c->parameter_offset[s] = copied(c, d->parameter_offset[s], (int64_t)stage->layers * PARAMETER_KINDS, sizeof(int64_t));
    }
    c->rank = copied(c, d->row, c->facts.ranks, sizeof *c->rank);
    c->member = copied(c, d->member, d->members, sizeof *c->member);
    c->group = copied(c, d->group, d->groups, sizeof *c->group);
    for (int32_t g = 0; g < d->groups; g++)
        c->group[g].members = c->member + (d->group[g].members - d->member);
    c->channel = copied(c, d->channel, d->channels, sizeof *c->channel);
    memcpy(c->saved_offset, d->saved_offset, sizeof c->saved_offset);
    memcpy(c->core_offset, d->core_offset, sizeof c->core_offset);
    memcpy(c->kept_offset, d->kept_offset, sizeof c->kept_offset);
    memcpy(c->work_offset, d->work_offset, sizeof c->work_offset);
    c->tables = (struct tables){
        .stage = c->stage,
        .rank = c->rank,
        .group = c->group,
        .groups = d->groups,
        .channel = c->channel,
        .channels = d->channels,
        .parameter_offset = (const int64_t *const *)c->parameter_offset,
        .saved_offset = c->saved_offset,
        .core_offset = c->core_offset,
        .kept_offset = c->kept_offset,
        .work_offset = c->work_offset,
        .arena_bytes = d->arena_bytes,
        .model_parameters = d->parameters,
    };
}

static inline void copy_free(struct copy *c)
{
    blocks_free(&c->blocks);
}

#endif

/* groups.c: see groups.h. Build host. */
#include "tools/layoutc/groups.h"

#include "tools/layoutc/chunks.h"

enum { SLOTS = 1 }; /* verify plays all programs with it: a sender waits until its last message was taken, and no circle comes of it */

int32_t rank_at(const struct layout_input *layout, struct place place)
{
    return (int32_t)(((place.pp * layout->dp + place.dp) * layout->cp + place.cp) * layout->tp + place.tp);
}

static struct place place_of(const struct layout_input *l, int64_t rank)
{
    return (struct place){
        .pp = rank / l->tp / l->cp / l->dp, .dp = rank / l->tp / l->cp % l->dp, .cp = rank / l->tp % l->cp, .tp = rank % l->tp
    };
}

static void begin_group(struct draft *draft)
{
    struct comm_group *group = &draft->group[draft->groups];
    *group = (struct comm_group){ .id = draft->groups, .members = draft->member + draft->members };
}

static void join_group(struct draft *draft, int32_t rank, enum group_kind kind)
{
    draft->member[draft->members++] = rank;
    draft->group[draft->groups].size++;
    draft->row[rank].group[kind] = draft->groups;
}

static void end_group(struct draft *draft)
{
    draft->groups++;
}

static void make_tp(struct draft *draft, struct place at)
{
    const struct layout_input *l = &draft->input->layout;
    begin_group(draft);
    for (at.tp = 0; at.tp < l->tp; at.tp++)
        join_group(draft, rank_at(l, at), GROUP_TP);
    end_group(draft);
}

static void make_kv_copies(struct draft *draft, struct place at)
{
    const struct layout_input *l = &draft->input->layout;
    for (int64_t first = 0; first < l->tp; first += draft->share.kv_copies) {
        begin_group(draft);
        for (at.tp = first; at.tp < first + draft->share.kv_copies; at.tp++)
            join_group(draft, rank_at(l, at), GROUP_KV_COPIES);
        end_group(draft);
    }
}

static void make_dp(struct draft *draft, struct place at)
{
    const struct layout_input *l = &draft->input->layout;
    begin_group(draft);
    for (at.dp = 0; at.dp < l->dp; at.dp++)
        join_group(draft, rank_at(l, at), GROUP_DP);
    end_group(draft);
}

static void make_tied(struct draft *draft, struct place at)
{
    const struct layout_input *l = &draft->input->layout;
    begin_group(draft);
    at.pp = 0;
    join_group(draft, rank_at(l, at), GROUP_TIED);
    at.pp = chunk_at(l, l->pp * l->chunks - 1).pp;
    join_group(draft, rank_at(l, at), GROUP_TIED);
    end_group(draft);
}

static void make_groups(struct draft *draft)
{
    const struct layout_input *l = &draft->input->layout;
    struct place at = { 0 };
    begin_group(draft);
    for (int32_t rank = 0; rank < draft->share.ranks; rank++)
        join_group(draft, rank, GROUP_WORLD);
    end_group(draft);
    for (at.pp = 0; at.pp < l->pp; at.pp++)
        for (at.dp = 0; at.dp < l->dp; at.dp++)
            for (at.cp = 0; at.cp < l->cp; at.cp++)
                make_tp(draft, at);
    for (at.pp = 0; at.pp < l->pp; at.pp++)
        for (at.cp = 0; at.cp < l->cp; at.cp++)
            for (at.tp = 0; at.tp < l->tp; at.tp++)
                make_dp(draft, at);
    if (draft->input->model.tied && !chunks_end_on_one_stage(l))
        for (at.dp = 0; at.dp < l->dp; at.dp++)
            for (at.cp = 0; at.cp < l->cp; at.cp++)
                for (at.tp = 0; at.tp < l->tp; at.tp++)
                    make_tied(draft, at);
    if (draft->share.kv_copies > 1)
        for (at.pp = 0; at.pp < l->pp; at.pp++)
            for (at.dp = 0; at.dp < l->dp; at.dp++)
                for (at.cp = 0; at.cp < l->cp; at.cp++)
                    make_kv_copies(draft, at);
}

static void make_channel(struct draft *draft, int32_t *from, int32_t *to, int32_t from_rank, int32_t to_rank)
{
    int32_t id = draft->channels++;
    draft->channel[id] = (struct comm_channel){ .id = id, .from = from_rank, .to = to_rank, .slots = SLOTS };
    *from = *to = id;
}

/* Two between a virtual stage and the next, for each rank of theirs; none where one stage holds both. */
static void make_channels(struct draft *draft)
{
    const struct layout_input *l = &draft->input->layout;
    int32_t stage_ranks = (int32_t)(draft->share.ranks / l->pp);
    for (int64_t v = 0; v + 1 < l->pp * l->chunks; v++) {
        struct chunk_at at = chunk_at(l, v), next = chunk_at(l, v + 1);
        for (int32_t i = 0; i < stage_ranks && at.pp != next.pp; i++) {
            int32_t rank = at.pp * stage_ranks + i, next_rank = next.pp * stage_ranks + i;
            int32_t *own = draft->row[rank].channel[at.chunk], *its = draft->row[next_rank].channel[next.chunk];
            make_channel(draft, &own[CHANNEL_FORWARD_OUT], &its[CHANNEL_FORWARD_IN], rank, next_rank);
            make_channel(draft, &its[CHANNEL_BACKWARD_OUT], &own[CHANNEL_BACKWARD_IN], next_rank, rank);
        }
    }
}

void groups_make(struct draft *draft)
{
    const struct layout_input *l = &draft->input->layout;
    int64_t ranks = draft->share.ranks;
    draft->row = blocks_take(&draft->blocks, ranks, sizeof *draft->row);
    draft->group = blocks_take(&draft->blocks, 1 + 4 * ranks, sizeof *draft->group);
    draft->member = blocks_take(&draft->blocks, 5 * ranks, sizeof *draft->member);
    draft->channel = blocks_take(&draft->blocks, 2 * ranks * l->chunks, sizeof *draft->channel);
    for (int64_t rank = 0; rank < ranks; rank++) {
        struct rank_row *row = &draft->row[rank];
        struct place at = place_of(l, rank);
        *row = (struct rank_row){ .pp = (int16_t)at.pp, .dp = (int16_t)at.dp, .cp = (int16_t)at.cp, .tp = (int16_t)at.tp };
        for (int kind = 0; kind < GROUP_KINDS; kind++)
            row->group[kind] = NONE;
        for (int chunk = 0; chunk < CHUNKS_MOST; chunk++)
            for (int direction = 0; direction < CHANNEL_DIRECTIONS; direction++)
                row->channel[chunk][direction] = NONE;
    }
    make_groups(draft);
    make_channels(draft);
}

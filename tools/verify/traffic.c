/* traffic.c: see traffic.h. Build host. */
#include "tools/verify/traffic.h"

static bool collective(struct event *event, int32_t i, enum group_kind group, int64_t elements)
{
    *event = (struct event){ .kind = EVENT_COLLECTIVE, .group = group, .elements = elements, .micro = NONE };
    return i == 0;
}

static bool message(const struct facts *f, struct event *event, int32_t i, enum event_kind kind, enum direction direction,
                    const struct step *step)
{
    *event = (struct event){ .kind = kind, .direction = direction, .elements = f->residual_rows * f->hidden * f->real_bytes, .chunk = step->chunk,
                              .micro = step->micro };
    return i == 0;
}

/* The i-th of the bucket's shards whose copies are summed. */
static bool copies(const struct stage *stage, const struct bucket *bucket, int32_t i, struct event *event)
{
    for (int32_t s = bucket->first_shard; s < bucket->first_shard + bucket->shards; s++) {
        const struct shard *shard = &stage->shard[s];
        if (shard->copies_sum == COPIES_EQUAL || i-- > 0)
            continue;
        return collective(event, 0, shard->copies_sum == COPIES_SUM_TP ? GROUP_TP : GROUP_KV_COPIES,
                          shard->local_rows * shard->local_columns);
    }
    return false;
}

/* From ZeRO 2 on the slices of the two buckets, which have one size; else the gradients themselves. */
static int64_t tied_elements(const struct facts *f, const struct stage *stage)
{
    const struct bucket *bucket = stage->embeds ? &stage->bucket[0] : &stage->bucket[stage->buckets - 1];
    return f->zero >= 2 ? bucket->elements / f->dp : f->vocabulary_local * f->hidden;
}

bool traffic_at(const struct facts *f, const struct stage *stage, const struct step *step, int32_t i, struct event *event)
{
    const struct bucket *bucket = step->bucket == NONE ? NULL : &stage->bucket[step->bucket];
    switch ((enum step_kind)step->kind) {
    case STEP_EMBED_BACKWARD:
    case STEP_LAYER_WEIGHT:
        return f->sequence_parallel && collective(event, i, GROUP_TP, f->tokens * f->hidden);
    case STEP_EMBED:
    case STEP_LAYER:
    case STEP_LAYER_AGAIN:
    case STEP_LAYER_BACKWARD:
    case STEP_LAYER_INPUT:
        return collective(event, i, GROUP_TP, f->tokens * f->hidden);
    case STEP_HEAD:
        return collective(event, i, GROUP_TP, f->tokens * f->hidden);
    case STEP_HEAD_EVALUATE:
        return collective(event, i, GROUP_TP, f->logit_rows);
    case STEP_SEND_FORWARD:
        return message(f, event, i, EVENT_SEND, CHANNEL_FORWARD_OUT, step);
    case STEP_SEND_BACKWARD:
        return message(f, event, i, EVENT_SEND, CHANNEL_BACKWARD_OUT, step);
    case STEP_RECEIVE_FORWARD:
        return message(f, event, i, EVENT_RECEIVE, CHANNEL_FORWARD_IN, step);
    case STEP_RECEIVE_BACKWARD:
        return message(f, event, i, EVENT_RECEIVE, CHANNEL_BACKWARD_IN, step);
    case STEP_COPIES:
        return copies(stage, bucket, i, event);
    case STEP_TIED:
        return stage->embeds != stage->heads && collective(event, i, GROUP_TIED, tied_elements(f, stage));
    case STEP_REDUCE:
        return collective(event, i, GROUP_DP, f->zero == 0 ? bucket->elements : bucket->elements / f->dp);
    case STEP_GATHER:
        return collective(event, i, GROUP_DP, bucket->elements / f->dp);
    case STEP_NORM:
        return collective(event, i, GROUP_WORLD, 0);
    case STEP_FEED:
    case STEP_CORE_AGAIN:
    case STEP_CLEAR:
    case STEP_UPDATE:
    case STEP_KINDS:
        break;
    }
    return false;
}

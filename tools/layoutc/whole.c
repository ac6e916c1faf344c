/* whole.c: buckets that are whole for a while: gathered parameters and one micro-batch's gradients. See builder.h. Build host.
 *
 * (1) Parameters are gathered anew in each pass over the bucket, forward and backward, and released behind its last layer.
 * (2) Gradients of one micro-batch are reduced as soon as the bucket's last layer has added to them; the sums of micro-batches are taken on slices. */
#include "tools/layoutc/builder.h"

int32_t layer_bucket(const struct builder *b, int32_t row)
{
    int32_t most = (int32_t)b->draft->input->layout.bucket_layers, bucket = b->stage->embeds;
    for (int32_t c = 0; c < b->c; c++)
        bucket += (b->stage->chunk[c].layers + most - 1) / most;
    return bucket + row / most;
}

int32_t head_bucket(const struct builder *b)
{
    return b->draft->input->model.tied && b->stage->embeds ? 0 : b->stage->buckets - 1;
}

static struct step step_of_bucket(int32_t micro, int32_t bucket)
{
    struct step step = NOTHING;
    step.micro = (int16_t)micro;
    step.bucket = (int16_t)bucket;
    return step;
}

static int32_t add_whole_bucket(struct builder *b, enum buffer_kind kind, int32_t micro, int32_t bucket, int64_t element_bytes)
{
    return add_buffer(b, (struct buffer){ .kind = kind,
                                          .micro = (int16_t)micro,
                                          .layer = NONE,
                                          .bucket = (int16_t)bucket,
                                          .first_step = b->steps,
                                          .last_step = b->steps,
                                          .bytes = b->stage->bucket[bucket].elements * element_bytes });
}

int32_t use_weights(struct builder *b, int32_t micro, int32_t bucket)
{
    if (b->draft->input->layout.zero < 3)
        return NONE;
    if (b->weights[bucket] == NONE) {
        struct step step = step_of_bucket(micro, bucket);
        step.weights = b->weights[bucket] = add_whole_bucket(b, BUFFER_BUCKET, NONE, bucket, b->draft->input->board.real_bytes);
        add_step(b, STEP_GATHER, step);
    }
    b->buffer[b->weights[bucket]].last_step = b->steps;
    return b->weights[bucket];
}

void release_weights(struct builder *b, int32_t bucket)
{
    b->weights[bucket] = NONE;
}

static int32_t *gradients_of(struct builder *b, int32_t micro, int32_t bucket, bool of_head)
{
    return of_head ? &b->head_gradients : &b->gradients[micro * b->stage->buckets + bucket];
}

int32_t use_gradients(struct builder *b, int32_t micro, int32_t bucket, bool of_head)
{
    int32_t *at = gradients_of(b, micro, bucket, of_head);
    if (b->draft->input->layout.zero < 2)
        return NONE;
    if (*at == NONE) {
        struct step step = step_of_bucket(micro, bucket);
        step.gradients = *at = add_whole_bucket(b, of_head ? BUFFER_HEAD_GRADIENT : BUFFER_BUCKET_GRADIENT, micro, bucket, F32_BYTES);
        add_step(b, STEP_CLEAR, step);
    }
    b->buffer[*at].last_step = b->steps;
    return *at;
}

bool sums_copies(const struct stage *stage, const struct bucket *bucket)
{
    for (int32_t s = 0; s < bucket->shards; s++)
        if (stage->shard[bucket->first_shard + s].copies_sum != COPIES_EQUAL)
            return true;
    return false;
}

void reduce_gradients(struct builder *b, int32_t micro, int32_t bucket, bool of_head)
{
    int32_t *at = gradients_of(b, micro, bucket, of_head);
    struct step step = step_of_bucket(micro, bucket);
    if (b->draft->input->layout.zero < 2)
        return;
    step.gradients = *at;
    if (sums_copies(b->stage, &b->stage->bucket[bucket])) {
        b->buffer[*at].last_step = b->steps;
        add_step(b, STEP_COPIES, step);
    }
    b->buffer[*at].last_step = b->steps;
    add_step(b, STEP_REDUCE, step);
    *at = NONE;
}

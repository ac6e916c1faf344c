/* passes.c: see passes.h. Build host. */
#include "tools/layoutc/passes.h"

static void use_for_embedding(struct builder *b, int32_t micro, struct step *step)
{
    step->batch = use_batch(b, micro);
    if (b->draft->share.sequence_parallel)
        step->work = use_work(b, WORK_EMBED);
}

void forward_pass(struct builder *b, int32_t micro)
{
    struct step step = step_of(b, micro);
    if (b->c == 0) { /* no chunk runs before the stage's first */
        step.batch = use_batch(b, micro);
        add_step(b, STEP_FEED, step);
    }
    if (!chunk_joined(b->stage, b->c)) {
        step = step_of(b, micro);
        if (b->chunk->embeds)
            step.weights = use_weights(b, micro, 0);
        step.out = use_residual(b, micro, 0);
        if (b->chunk->embeds)
            use_for_embedding(b, micro, &step);
        add_step(b, b->chunk->embeds ? STEP_EMBED : STEP_RECEIVE_FORWARD, step);
        if (b->chunk->embeds)
            release_weights(b, 0);
    }
    for (int32_t i = 0; i < b->chunk->layers; i++) {
        step = step_of(b, micro);
        step.weights = use_weights(b, micro, layer_bucket(b, i));
        step.layer = global_layer(b, i);
        step.batch = use_batch(b, micro);
        step.in = use_residual(b, micro, i);
        step.out = use_residual(b, micro, i + 1);
        step.saved = use_saved(b, micro, i);
        step.core = use_core(b, micro, i);
        step.work = use_work(b, WORK_LAYER);
        add_step(b, STEP_LAYER, step);
        forget_what_comes_again(b, micro, i);
        if (i + 1 == b->chunk->layers || layer_bucket(b, i + 1) != layer_bucket(b, i))
            release_weights(b, layer_bucket(b, i));
    }
    if (!b->chunk->heads && !chunk_joined(b->stage, b->c + 1)) {
        step = step_of(b, micro);
        step.in = use_residual(b, micro, b->chunk->layers);
        add_step(b, STEP_SEND_FORWARD, step);
    }
}

void head_pass(struct builder *b, int32_t micro, enum step_kind kind)
{
    struct step step = step_of(b, micro);
    int32_t bucket = head_bucket(b);
    bool of_head = bucket == 0 && b->stage->embeds;
    if (kind == STEP_HEAD)
        step.gradients = use_gradients(b, micro, bucket, of_head);
    step.weights = use_weights(b, micro, bucket);
    step.batch = use_batch(b, micro);
    step.in = use_residual(b, micro, b->chunk->layers);
    if (kind == STEP_HEAD)
        step.out = use_gradient(b, micro);
    step.work = use_work(b, WORK_HEAD);
    add_step(b, kind, step);
    release_weights(b, bucket);
    if (kind == STEP_HEAD)
        reduce_gradients(b, micro, bucket, of_head);
}

/* Makes again what the forward pass of the layer did not keep. */
static void again(struct builder *b, int32_t micro, int32_t row)
{
    const struct layout_input *l = &b->draft->input->layout;
    struct step step = step_of(b, micro);
    bool whole = layer_comes_again(l, stage_row(b, row));
    if (!whole && l->recompute != AGAIN_SELECTIVE)
        return;
    if (whole)
        step.weights = use_weights(b, micro, layer_bucket(b, row));
    step.layer = global_layer(b, row);
    step.batch = use_batch(b, micro);
    step.saved = use_saved(b, micro, row);
    step.core = use_core(b, micro, row);
    if (whole) {
        step.in = use_residual(b, micro, row);
        step.work = use_work(b, WORK_LAYER);
    }
    add_step(b, whole ? STEP_LAYER_AGAIN : STEP_CORE_AGAIN, step);
}

void backward_pass(struct builder *b, int32_t micro, bool halves)
{
    struct step step = step_of(b, micro);
    if (b->chunk->heads) {
        head_pass(b, micro, STEP_HEAD);
    } else if (!chunk_joined(b->stage, b->c + 1)) {
        step.out = use_gradient(b, micro);
        add_step(b, STEP_RECEIVE_BACKWARD, step);
    }
    for (int32_t i = b->chunk->layers - 1; i >= 0; i--) {
        int32_t bucket = layer_bucket(b, i);
        use_weights(b, micro, bucket);
        again(b, micro, i);
        step = step_of(b, micro);
        step.gradients = use_gradients(b, micro, bucket, false);
        step.weights = use_weights(b, micro, bucket);
        step.layer = global_layer(b, i);
        step.batch = use_batch(b, micro);
        step.in = use_residual(b, micro, i);
        step.out = use_gradient(b, micro);
        step.saved = use_saved(b, micro, i);
        step.core = use_core(b, micro, i);
        if (halves)
            step.kept = use_kept(b, micro, i);
        step.work = use_work(b, WORK_LAYER_BACKWARD);
        add_step(b, halves ? STEP_LAYER_INPUT : STEP_LAYER_BACKWARD, step);
        if (i == 0 || layer_bucket(b, i - 1) != bucket) {
            release_weights(b, bucket);
            if (!halves)
                reduce_gradients(b, micro, bucket, false);
        }
    }
    if (chunk_joined(b->stage, b->c))
        return;
    step = step_of(b, micro);
    if (b->chunk->embeds)
        step.gradients = use_gradients(b, micro, 0, false);
    step.in = use_gradient(b, micro);
    if (b->chunk->embeds)
        use_for_embedding(b, micro, &step);
    add_step(b, b->chunk->embeds ? STEP_EMBED_BACKWARD : STEP_SEND_BACKWARD, step);
    if (b->chunk->embeds)
        reduce_gradients(b, micro, 0, false);
}

void weights_pass(struct builder *b, int32_t micro)
{
    for (int32_t i = b->chunk->layers - 1; i >= 0; i--) {
        struct step step = step_of(b, micro);
        int32_t bucket = layer_bucket(b, i);
        step.gradients = use_gradients(b, micro, bucket, false);
        step.weights = use_weights(b, micro, bucket);
        step.layer = global_layer(b, i);
        step.in = use_residual(b, micro, i);
        step.saved = use_saved(b, micro, i);
        step.core = use_core(b, micro, i);
        step.kept = use_kept(b, micro, i);
        step.batch = use_batch(b, micro);
        step.work = use_work(b, WORK_LAYER);
        add_step(b, STEP_LAYER_WEIGHT, step);
        if (i == 0 || layer_bucket(b, i - 1) != bucket) {
            release_weights(b, bucket);
            reduce_gradients(b, micro, bucket, false);
        }
    }
}


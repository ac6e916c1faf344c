/* model.c: see model.h. Steady; allocates nothing, cannot fail.
 *
 * Names of the pieces follow Vaswani et al. 2017 and Touvron et al. 2023 (LLaMA); the tensor-parallel cuts follow Shoeybi et al. 2019
 * (Megatron-LM), section 3: columns of the first product, rows of the second, one sum over the group behind each pair. */
#include "run/model.h"

#include "config.h"
#include "run/feed.h"

#define N MICRO_BATCH_TOKENS
#define R RESIDUAL_ROWS

/* Where in the flat buffers a parameter lies: of the step's layer, or outside layers. */
static int64_t offset_of(const struct player *player, const struct step *step, enum parameter kind)
{
    int64_t offset = player->offset[step->layer == NONE ? 0 : layer_row(player->stage, step->layer)][kind];
    ASSERT(offset != NONE);
    return offset;
}

static float *parameter(const struct player *player, const struct step *step, enum parameter kind)
{
    return flat_at(player, step->weights, player->parameters) + offset_of(player, step, kind);
}

static float *gradient(const struct player *player, const struct step *step, enum parameter kind)
{
    return flat_at(player, step->gradients, player->gradients) + offset_of(player, step, kind);
}

static void *saved(const struct player *player, const struct step *step, enum saved_field field)
{
    return (uint8_t *)buffer_at(player, step->saved) + saved_offset_bytes[field];
}

static void *core(const struct player *player, const struct step *step, enum core_field field)
{
    return (uint8_t *)buffer_at(player, step->core) + core_offset_bytes[field];
}

static void *kept(const struct player *player, const struct step *step, enum kept_field field)
{
    return (uint8_t *)buffer_at(player, step->kept) + kept_offset_bytes[field];
}

static void *work(const struct player *player, const struct step *step, enum work_field field)
{
    return (uint8_t *)buffer_at(player, step->work) + work_offset_bytes[field];
}

static void sum_over_tp(struct player *player, real *x, int64_t elements)
{
    comm_all_reduce(player->rank->comm, &player->rank->queue, player->row->group[GROUP_TP], x, elements, COMM_SUM);
}

/* This rank's rows of a [N,C] buffer. */
static real *own_rows(const struct player *player, real *full)
{
    return SEQUENCE_PARALLEL ? full + player->row->tp * R * MODEL_HIDDEN : full;
}

/* full [N,C]: the own rows are there, the others' come. */
static void gather_rows(struct player *player, real *full)
{
    if (SEQUENCE_PARALLEL)
        comm_all_gather(player->rank->comm, &player->rank->queue, player->row->group[GROUP_TP], full, R * MODEL_HIDDEN);
}

/* partial [N,C]: the ranks' parts are summed, in rank order either way; with sequence parallelism each rank gets the sum of its own rows. */
static void sum_rows(struct player *player, real *partial)
{
    if (SEQUENCE_PARALLEL)
        comm_reduce_scatter(player->rank->comm, &player->rank->queue, player->row->group[GROUP_TP], partial, R * MODEL_HIDDEN);
    else
        sum_over_tp(player, partial, N * MODEL_HIDDEN);
}

/* The residual gradient d [R,C] of all rows: d itself, or gathered into the step's scratch; in what the step keeps where it keeps something. */
static const real *all_rows(struct player *player, const struct step *step, const real *d, enum kept_field keep)
{
    if (!SEQUENCE_PARALLEL && step->kept == NONE)
        return d;
    real *full = step->kept != NONE ? kept(player, step, keep) : work(player, step, WORK_GATHERED);
    copy_elements(&player->rank->queue, own_rows(player, full), d, R * MODEL_HIDDEN);
    gather_rows(player, full);
    return full;
}

static struct attention attention_shape(int32_t layer)
{
    return (struct attention){
        .batch = MICRO_BATCH_ROWS, .tokens = SEQUENCE_TOKENS,
        .heads = HEADS_LOCAL, .kv_heads = KV_HEADS_LOCAL, .head_size = MODEL_HEAD_DIM,
        .window = layer >= MODEL_WINDOW_FIRST_LAYER ? MODEL_WINDOW_TOKENS : 0,
        .scale = ATTENTION_SCALE,
    };
}

/* ---- embedding ---- */

void model_embed(struct player *player, const struct step *step)
{
    struct batch batch = batch_at(player, step->batch);
    real *out = buffer_at(player, step->out), *x = SEQUENCE_PARALLEL ? work(player, step, WORK_PARTIAL) : out;
    embedding_forward(&player->rank->queue, x, parameter(player, step, PARAMETER_EMBEDDING), batch.token,
                      (int64_t)player->row->tp * VOCABULARY_LOCAL, VOCABULARY_LOCAL, N, MODEL_HIDDEN);
    sum_rows(player, x);
    if (SEQUENCE_PARALLEL)
        copy_elements(&player->rank->queue, out, own_rows(player, x), R * MODEL_HIDDEN);
}

void model_embed_backward(struct player *player, const struct step *step)
{
    struct batch batch = batch_at(player, step->batch);
    embedding_backward(&player->rank->queue, gradient(player, step, PARAMETER_EMBEDDING),
                       all_rows(player, step, buffer_at(player, step->in), KEPT_OUT_GRADIENT), batch.token,
                       (int64_t)player->row->tp * VOCABULARY_LOCAL, VOCABULARY_LOCAL, N, MODEL_HIDDEN);
}

/* ---- layer ---- */

void model_layer_again(struct player *player, const struct step *step)
{
    struct queue *queue = &player->rank->queue;
    struct batch batch = batch_at(player, step->batch);
    int32_t layer = step->layer;
    const real *x = buffer_at(player, step->in);
    real *normed = work(player, step, WORK_NORMED), *partial = work(player, step, WORK_PARTIAL);
    real *qkv = saved(player, step, SAVED_QKV), *attended = core(player, step, CORE_ATTENTION);
    real *middle = saved(player, step, SAVED_RESIDUAL_MIDDLE), *gate_up = saved(player, step, SAVED_GATE_UP);

    rmsnorm_forward(queue, own_rows(player, normed), saved(player, step, SAVED_RSTD_ATTENTION), NULL, x, NULL,
                    parameter(player, step, PARAMETER_ATTENTION_NORM), R, MODEL_HIDDEN, MODEL_NORM_EPSILON);
    gather_rows(player, normed);
    matmul_forward(queue, qkv, normed, parameter(player, step, PARAMETER_Q),
                   MODEL_QKV_BIAS ? parameter(player, step, PARAMETER_Q_BIAS) : NULL, N, QKV_COLUMNS_LOCAL, MODEL_HIDDEN, false);
    if (MODEL_QK_NORM)
        qknorm_forward(queue, qkv, saved(player, step, SAVED_QK_RAW), saved(player, step, SAVED_QK_RSTD),
                       parameter(player, step, PARAMETER_Q_NORM), parameter(player, step, PARAMETER_K_NORM), N, HEADS_LOCAL,
                       KV_HEADS_LOCAL, MODEL_HEAD_DIM, MODEL_NORM_EPSILON);
    rope_apply(queue, qkv, player->rope, batch.position, N, HEADS_LOCAL, KV_HEADS_LOCAL, MODEL_HEAD_DIM, false);
    attention_forward(queue, attended, core(player, step, CORE_LSE), qkv, batch.start, attention_shape(layer));
    matmul_forward(queue, partial, attended, parameter(player, step, PARAMETER_O), NULL, N, MODEL_HIDDEN, ATTENTION_COLUMNS_LOCAL,
                   false);
    sum_rows(player, partial);

    rmsnorm_forward(queue, own_rows(player, normed), saved(player, step, SAVED_RSTD_MLP), middle, x, own_rows(player, partial),
                    parameter(player, step, PARAMETER_MLP_NORM), R, MODEL_HIDDEN, MODEL_NORM_EPSILON);
    gather_rows(player, normed);
    matmul_forward(queue, gate_up, normed, parameter(player, step, PARAMETER_GATE), NULL, N, 2 * INTERMEDIATE_LOCAL, MODEL_HIDDEN,
                   false);
}

void model_layer(struct player *player, const struct step *step)
{
    struct queue *queue = &player->rank->queue;
    real *y = buffer_at(player, step->out), *activated = work(player, step, WORK_ACTIVATED);
    real *sum = SEQUENCE_PARALLEL ? work(player, step, WORK_PARTIAL) : y;
    const real *middle = saved(player, step, SAVED_RESIDUAL_MIDDLE), *gate_up = saved(player, step, SAVED_GATE_UP);

    model_layer_again(player, step);
    swiglu_forward(queue, activated, gate_up, N, INTERMEDIATE_LOCAL);
    matmul_forward(queue, sum, activated, parameter(player, step, PARAMETER_DOWN), NULL, N, MODEL_HIDDEN, INTERMEDIATE_LOCAL,
                   false);
    sum_rows(player, sum);
    if (SEQUENCE_PARALLEL)
        copy_elements(queue, y, own_rows(player, sum), R * MODEL_HIDDEN);
    add(queue, y, middle, R * MODEL_HIDDEN);
}

void model_core_again(struct player *player, const struct step *step)
{
    attention_forward(&player->rank->queue, core(player, step, CORE_ATTENTION), core(player, step, CORE_LSE), saved(player, step, SAVED_QKV),
                      batch_at(player, step->batch).start, attention_shape(step->layer));
}

/* Gradients of gate, up and down. d_all [N,C]: gradient of the layer's output; activated [N,F], dgate_up [N,2F]. */
static void mlp_weights(struct player *player, const struct step *step, const real *d_all, const real *activated, const real *dgate_up)
{
    struct queue *queue = &player->rank->queue;
    real *normed = work(player, step, WORK_NORMED);
    matmul_backward_weight(queue, gradient(player, step, PARAMETER_DOWN), NULL, d_all, activated, N, MODEL_HIDDEN, INTERMEDIATE_LOCAL);
    rmsnorm_again(queue, own_rows(player, normed), saved(player, step, SAVED_RESIDUAL_MIDDLE),
                  parameter(player, step, PARAMETER_MLP_NORM), saved(player, step, SAVED_RSTD_MLP), R, MODEL_HIDDEN);
    gather_rows(player, normed);
    matmul_backward_weight(queue, gradient(player, step, PARAMETER_GATE), NULL, dgate_up, normed, N, 2 * INTERMEDIATE_LOCAL, MODEL_HIDDEN);
}

/* Gradients of q, k, v (and their biases) and o. d_all [N,C]: gradient of the layer's middle; dqkv [N, QKV_COLUMNS_LOCAL]. */
static void attention_weights(struct player *player, const struct step *step, const real *d_all, const real *dqkv)
{
    struct queue *queue = &player->rank->queue;
    real *normed = work(player, step, WORK_NORMED);
    matmul_backward_weight(queue, gradient(player, step, PARAMETER_O), NULL, d_all, core(player, step, CORE_ATTENTION), N, MODEL_HIDDEN,
                           ATTENTION_COLUMNS_LOCAL);
    rmsnorm_again(queue, own_rows(player, normed), buffer_at(player, step->in), parameter(player, step, PARAMETER_ATTENTION_NORM),
                  saved(player, step, SAVED_RSTD_ATTENTION), R, MODEL_HIDDEN);
    gather_rows(player, normed);
    matmul_backward_weight(queue, gradient(player, step, PARAMETER_Q),
                           MODEL_QKV_BIAS ? gradient(player, step, PARAMETER_Q_BIAS) : NULL, dqkv, normed, N, QKV_COLUMNS_LOCAL,
                           MODEL_HIDDEN);
}

/* d is the gradient of the layer's output on entry, of its middle after the first half, of its input on return. A step that keeps something
 * leaves the matrices' gradients to STEP_LAYER_WEIGHT. */
static void mlp_backward(struct player *player, const struct step *step, real *d)
{
    struct queue *queue = &player->rank->queue;
    bool halves = step->kept != NONE;
    const real *middle = saved(player, step, SAVED_RESIDUAL_MIDDLE), *gate_up = saved(player, step, SAVED_GATE_UP);
    real *dnormed = work(player, step, WORK_PARTIAL), *activated = work(player, step, WORK_ACTIVATED);
    real *dgate_up = halves ? kept(player, step, KEPT_GATE_UP_GRADIENT) : work(player, step, WORK_GATE_UP_GRADIENT);
    const real *d_all = all_rows(player, step, d, KEPT_OUT_GRADIENT);

    matmul_backward_input(queue, activated, d_all, parameter(player, step, PARAMETER_DOWN), N, MODEL_HIDDEN, INTERMEDIATE_LOCAL, false);
    swiglu_backward(queue, dgate_up, activated, activated, gate_up, N, INTERMEDIATE_LOCAL);
    matmul_backward_input(queue, dnormed, dgate_up, parameter(player, step, PARAMETER_GATE), N, 2 * INTERMEDIATE_LOCAL, MODEL_HIDDEN,
                          false);
    if (!halves)
        mlp_weights(player, step, d_all, activated, dgate_up);
    sum_rows(player, dnormed);
    rmsnorm_backward(queue, d, gradient(player, step, PARAMETER_MLP_NORM), own_rows(player, dnormed), middle,
                     parameter(player, step, PARAMETER_MLP_NORM), saved(player, step, SAVED_RSTD_MLP), R, MODEL_HIDDEN);
}

static void attention_half_backward(struct player *player, const struct step *step, real *d)
{
    struct queue *queue = &player->rank->queue;
    struct batch batch = batch_at(player, step->batch);
    int32_t layer = step->layer;
    bool halves = step->kept != NONE;
    const real *x = buffer_at(player, step->in), *qkv = saved(player, step, SAVED_QKV);
    real *dnormed = work(player, step, WORK_PARTIAL), *dattended = work(player, step, WORK_ATTENTION_GRADIENT);
    real *dqkv = halves ? kept(player, step, KEPT_QKV_GRADIENT) : work(player, step, WORK_QKV_GRADIENT);
    const real *d_all = all_rows(player, step, d, KEPT_MIDDLE_GRADIENT);

    matmul_backward_input(queue, dattended, d_all, parameter(player, step, PARAMETER_O), N, MODEL_HIDDEN, ATTENTION_COLUMNS_LOCAL, false);
    attention_backward(queue, dqkv, work(player, step, WORK_DELTA), dattended, qkv, core(player, step, CORE_ATTENTION),
                       core(player, step, CORE_LSE), batch.start, attention_shape(layer));
    rope_apply(queue, dqkv, player->rope, batch.position, N, HEADS_LOCAL, KV_HEADS_LOCAL, MODEL_HEAD_DIM, true);
    if (MODEL_QK_NORM)
        qknorm_backward(queue, dqkv, gradient(player, step, PARAMETER_Q_NORM), gradient(player, step, PARAMETER_K_NORM),
                        saved(player, step, SAVED_QK_RAW), saved(player, step, SAVED_QK_RSTD), parameter(player, step, PARAMETER_Q_NORM),
                        parameter(player, step, PARAMETER_K_NORM), N, HEADS_LOCAL, KV_HEADS_LOCAL, MODEL_HEAD_DIM);
    matmul_backward_input(queue, dnormed, dqkv, parameter(player, step, PARAMETER_Q), N, QKV_COLUMNS_LOCAL, MODEL_HIDDEN, false);
    if (!halves)
        attention_weights(player, step, d_all, dqkv);
    sum_rows(player, dnormed);
    rmsnorm_backward(queue, d, gradient(player, step, PARAMETER_ATTENTION_NORM), own_rows(player, dnormed), x,
                     parameter(player, step, PARAMETER_ATTENTION_NORM), saved(player, step, SAVED_RSTD_ATTENTION), R, MODEL_HIDDEN);
}

void model_layer_backward(struct player *player, const struct step *step)
{
    real *d = buffer_at(player, step->out);
    mlp_backward(player, step, d);
    attention_half_backward(player, step, d);
}

void model_layer_weight(struct player *player, const struct step *step)
{
    real *activated = work(player, step, WORK_ACTIVATED);
    swiglu_forward(&player->rank->queue, activated, saved(player, step, SAVED_GATE_UP), N, INTERMEDIATE_LOCAL);
    mlp_weights(player, step, kept(player, step, KEPT_OUT_GRADIENT), activated, kept(player, step, KEPT_GATE_UP_GRADIENT));
    attention_weights(player, step, kept(player, step, KEPT_MIDDLE_GRADIENT), kept(player, step, KEPT_QKV_GRADIENT));
}

/* ---- head ---- */

/* Where the head's weights and their gradient lie: with tied embeddings on one stage the weights are the embedding's, and the gradient
 * has a place of its own, which STEP_TIED adds to the embedding's (tables.h, rule 3). */
static const float *head_weight(const struct player *player, const struct step *step)
{
    bool shared = MODEL_TIED && player->stage->embeds;
    return parameter(player, step, shared ? PARAMETER_EMBEDDING : PARAMETER_HEAD);
}

static float *head_gradient(const struct player *player, const struct step *step)
{
    if (player->stage->head_gradient == NONE)
        return gradient(player, step, PARAMETER_HEAD);
    return step->gradients != NONE ? gradient(player, step, PARAMETER_EMBEDDING) : player->gradients + player->stage->head_gradient;
}

void model_head(struct player *player, const struct step *step, bool gradients)
{
    struct queue *queue = &player->rank->queue;
    struct batch batch = batch_at(player, step->batch);
    const real *x = buffer_at(player, step->in);
    const float *gain = parameter(player, step, PARAMETER_FINAL_NORM), *weight = head_weight(player, step);
    real *normed = work(player, step, WORK_NORMED), *dnormed = work(player, step, WORK_PARTIAL);
    float *rstd = work(player, step, WORK_RSTD), *logits = work(player, step, WORK_LOGITS);
    float *statistics = work(player, step, WORK_LOGIT_STATISTICS);
    int64_t first = (int64_t)player->row->tp * VOCABULARY_LOCAL;
    int64_t real_columns = MODEL_VOCABULARY - first;
    int64_t valid = real_columns < 0 ? 0 : real_columns < VOCABULARY_LOCAL ? real_columns : VOCABULARY_LOCAL;
    float scale = (float)(1.0 / (double)player->batch_targets);

    rmsnorm_forward(queue, own_rows(player, normed), rstd, NULL, x, NULL, gain, R, MODEL_HIDDEN, MODEL_NORM_EPSILON);
    gather_rows(player, normed);
    for (int64_t row = 0; row < N; row += LOGIT_ROWS) {
        int64_t rows = N - row < LOGIT_ROWS ? N - row : LOGIT_ROWS;
        const int32_t *target = batch.target + row;
        float *max = statistics, *sum = statistics + rows, *picked = statistics + 2 * rows;
        matmul_forward(queue, logits, normed + row * MODEL_HIDDEN, weight, NULL, rows, VOCABULARY_LOCAL, MODEL_HIDDEN, false);
        crossentropy_max(queue, max, logits, rows, VOCABULARY_LOCAL, valid);
        comm_all_reduce(player->rank->comm, queue, player->row->group[GROUP_TP], max, rows, COMM_MAX);
        crossentropy_exponentials(queue, logits, sum, picked, max, target, first, rows, VOCABULARY_LOCAL, valid);
        sum_over_tp(player, sum, 2 * rows);
        crossentropy_loss(queue, batch.loss + row, batch.hit + row, sum, picked, target, rows);
        if (!gradients)
            continue;
        crossentropy_backward(queue, logits, sum, target, scale, first, rows, VOCABULARY_LOCAL, valid);
        matmul_backward_input(queue, dnormed + row * MODEL_HIDDEN, logits, weight, rows, VOCABULARY_LOCAL, MODEL_HIDDEN, false);
        matmul_backward_weight(queue, head_gradient(player, step), NULL, logits, normed + row * MODEL_HIDDEN, rows, VOCABULARY_LOCAL,
                               MODEL_HIDDEN);
    }
    for (int64_t n = 0; n < N; n++) {
        player->loss += (double)batch.loss[n];
        player->hits += batch.hit[n] != 0.0f;
    }
    if (!gradients)
        return;
    real *d = buffer_at(player, step->out);
    sum_rows(player, dnormed);
    fill_zero(queue, d, R * MODEL_HIDDEN * (int64_t)sizeof *d);
    rmsnorm_backward(queue, d, gradient(player, step, PARAMETER_FINAL_NORM), own_rows(player, dnormed), x, gain, rstd, R, MODEL_HIDDEN);
}

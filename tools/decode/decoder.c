/* decoder.c: see decoder.h. Build host; allocates at open only. */
#include "tools/decode/decoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/hfconfig.h"
#include "file/safetensors.h"
#include "kernels/kernels.h"

struct layer {
    float *attention_norm, *qkv, *qkv_bias, *q_norm, *k_norm, *o, *mlp_norm, *gate_up, *down;
    float *key, *value;      /* caches [positions, K*D] */
    int64_t window;
};

struct decoder {
    struct hfconfig config;
    struct tensors tensors;
    struct queue *queue;
    int64_t positions;
    struct layer *layer;
    float *embedding, *head, *final_norm, *rope;
    /* Scratch for up to `positions` tokens. */
    float *x, *normed, *partial, *qkv, *raw, *rstd, *attended, *gate_up, *activated, *logits;
    int32_t *position;
};

static float *reserve(int64_t elements)
{
    float *x = calloc((size_t)elements, sizeof *x);
    ASSERT(x != NULL);
    return x;
}

/* Reads the named tensor to y; elements is what the configuration says it must have. */
static enum status read_tensor(const struct decoder *decoder, const char *folder, const char *name, float *y, int64_t elements)
{
    const struct tensor *tensor = tensors_find(&decoder->tensors, name);
    if (tensor == NULL)
        return fail(E_DATA, "%s: tensor %s is missing", folder, name);
    if (tensor->elements != elements)
        return fail(E_DATA, "%s: tensor %s has %lld elements, the configuration asks for %lld", folder, name, (long long)tensor->elements,
                    (long long)elements);
    return tensor_read(tensor, y, 0, elements);
}

static enum status read_layer_tensor(const struct decoder *decoder, const char *folder, int64_t layer, const char *part, float *y,
                                     int64_t elements)
{
    char name[128];
    snprintf(name, sizeof name, "model.layers.%lld.%s", (long long)layer, part);
    return read_tensor(decoder, folder, name, y, elements);
}

static enum status read_layer(struct decoder *decoder, const char *folder, int64_t index)
{
    const struct model_shape *s = &decoder->config.shape;
    struct layer *layer = &decoder->layer[index];
    int64_t c = s->hidden, f = s->intermediate, d = s->head_dim, q = s->heads * d, kv = s->kv_heads * d;
    *layer = (struct layer){
        .attention_norm = reserve(c), .qkv = reserve((q + 2 * kv) * c), .o = reserve(c * q), .mlp_norm = reserve(c),
        .gate_up = reserve(2 * f * c), .down = reserve(c * f),
        .key = reserve(decoder->positions * kv), .value = reserve(decoder->positions * kv),
        .window = index >= s->window_first_layer ? s->window_tokens : 0,
    };
    TRY(read_layer_tensor(decoder, folder, index, "input_layernorm.weight", layer->attention_norm, c));
    TRY(read_layer_tensor(decoder, folder, index, "self_attn.q_proj.weight", layer->qkv, q * c));
    TRY(read_layer_tensor(decoder, folder, index, "self_attn.k_proj.weight", layer->qkv + q * c, kv * c));
    TRY(read_layer_tensor(decoder, folder, index, "self_attn.v_proj.weight", layer->qkv + (q + kv) * c, kv * c));
    if (s->qkv_bias) {
        layer->qkv_bias = reserve(q + 2 * kv);
        TRY(read_layer_tensor(decoder, folder, index, "self_attn.q_proj.bias", layer->qkv_bias, q));
        TRY(read_layer_tensor(decoder, folder, index, "self_attn.k_proj.bias", layer->qkv_bias + q, kv));
        TRY(read_layer_tensor(decoder, folder, index, "self_attn.v_proj.bias", layer->qkv_bias + q + kv, kv));
    }
    if (s->qk_norm) {
        layer->q_norm = reserve(d);
        layer->k_norm = reserve(d);
        TRY(read_layer_tensor(decoder, folder, index, "self_attn.q_norm.weight", layer->q_norm, d));
        TRY(read_layer_tensor(decoder, folder, index, "self_attn.k_norm.weight", layer->k_norm, d));
    }
    TRY(read_layer_tensor(decoder, folder, index, "self_attn.o_proj.weight", layer->o, c * q));
    TRY(read_layer_tensor(decoder, folder, index, "post_attention_layernorm.weight", layer->mlp_norm, c));
    TRY(read_layer_tensor(decoder, folder, index, "mlp.gate_proj.weight", layer->gate_up, f * c));
    TRY(read_layer_tensor(decoder, folder, index, "mlp.up_proj.weight", layer->gate_up + f * c, f * c));
    return read_layer_tensor(decoder, folder, index, "mlp.down_proj.weight", layer->down, c * f);
}

/* The shapes of file/ and kernels/ count the kinds of scaling alike; src/boot/model.c asserts it. */
static struct rope rope_of(const struct model_shape *s)
{
    return (struct rope){
        .theta = s->rope_theta, .scaling = (enum rope_scaling)s->rope, .factor = s->rope_factor,
        .low_frequency_factor = s->rope_low_frequency_factor, .high_frequency_factor = s->rope_high_frequency_factor,
        .original_positions = s->rope_original_positions, .beta_fast = s->rope_beta_fast, .beta_slow = s->rope_beta_slow,
        .attention_factor = s->rope_attention_factor, .truncate = s->rope_truncate,
    };
}

enum status decoder_open(struct decoder **out, const char *folder, int64_t positions, struct queue *queue)
{
    struct decoder *decoder = calloc(1, sizeof *decoder);
    ASSERT(decoder != NULL);
    *out = decoder;
    TRY(hfconfig_read(&decoder->config, folder, true));
    TRY(tensors_open(&decoder->tensors, folder));
    const struct model_shape *s = &decoder->config.shape;
    int64_t c = s->hidden, columns = (s->heads + 2 * s->kv_heads) * s->head_dim;
    decoder->queue = queue;
    decoder->positions = positions;
    decoder->layer = calloc((size_t)s->layers, sizeof *decoder->layer);
    ASSERT(decoder->layer != NULL);
    for (int64_t index = 0; index < s->layers; index++)
        TRY(read_layer(decoder, folder, index));
    decoder->embedding = reserve(s->vocabulary * c);
    TRY(read_tensor(decoder, folder, "model.embed_tokens.weight", decoder->embedding, s->vocabulary * c));
    decoder->head = decoder->embedding;
    if (!s->tied) {
        decoder->head = reserve(s->vocabulary * c);
        TRY(read_tensor(decoder, folder, "lm_head.weight", decoder->head, s->vocabulary * c));
    }
    decoder->final_norm = reserve(c);
    TRY(read_tensor(decoder, folder, "model.norm.weight", decoder->final_norm, c));
    decoder->rope = reserve(positions * s->head_dim);
    struct rope rope = rope_of(s);
    rope_table(decoder->rope, &rope, positions, s->head_dim);
    decoder->x = reserve(positions * c);
    decoder->normed = reserve(positions * c);
    decoder->partial = reserve(positions * c);
    decoder->qkv = reserve(positions * columns);
    decoder->raw = reserve(positions * columns);
    decoder->rstd = reserve(positions * (s->heads + s->kv_heads));
    decoder->attended = reserve(positions * s->heads * s->head_dim);
    decoder->gate_up = reserve(positions * 2 * s->intermediate);
    decoder->activated = reserve(positions * s->intermediate);
    decoder->logits = reserve(s->vocabulary);
    decoder->position = calloc((size_t)positions, sizeof *decoder->position);
    ASSERT(decoder->position != NULL);
    return OK;
}

void decoder_close(struct decoder *decoder)
{
    for (int64_t index = 0; index < decoder->config.shape.layers; index++) {
        struct layer *l = &decoder->layer[index];
        float *all[] = { l->attention_norm, l->qkv, l->qkv_bias, l->q_norm, l->k_norm, l->o, l->mlp_norm, l->gate_up, l->down, l->key, l->value };
        for (int64_t i = 0; i < ELEMENTS_OF(all); i++)
            free(all[i]);
    }
    if (decoder->head != decoder->embedding)
        free(decoder->head);
    float *all[] = { decoder->embedding, decoder->final_norm, decoder->rope, decoder->x, decoder->normed, decoder->partial, decoder->qkv,
                     decoder->raw, decoder->rstd, decoder->attended, decoder->gate_up, decoder->activated, decoder->logits };
    for (int64_t i = 0; i < ELEMENTS_OF(all); i++)
        free(all[i]);
    free(decoder->position);
    free(decoder->layer);
    tensors_close(&decoder->tensors);
    free(decoder);
}

/* One query head against the cache: softmax(q k^T) v over the positions it may see. */
static void attend_head(const struct decoder *decoder, const struct layer *layer, int64_t n, int64_t position, int64_t head)
{
    const struct model_shape *s = &decoder->config.shape;
    int64_t d = s->head_dim, kv_columns = s->kv_heads * d, kv = head / (s->heads / s->kv_heads);
    const float *q = decoder->qkv + n * (s->heads + 2 * s->kv_heads) * d + head * d;
    float *o = decoder->attended + (n * s->heads + head) * d, max = -INFINITY, sum = 0.0f, scale = 1.0f / sqrtf((float)d);
    float *weight = team_scratch();
    int64_t first = layer->window > 0 && position - layer->window + 1 > 0 ? position - layer->window + 1 : 0;
    ASSERT(decoder->positions * (int64_t)sizeof *weight <= TEAM_SCRATCH_BYTES);
    for (int64_t j = first; j <= position; j++) {
        const float *k = layer->key + j * kv_columns + kv * d;
        float dot = 0.0f;
        for (int64_t i = 0; i < d; i++)
            dot += q[i] * k[i];
        weight[j] = dot * scale;
        max = fmaxf(max, weight[j]);
    }
    memset(o, 0, (size_t)d * sizeof *o);
    for (int64_t j = first; j <= position; j++) {
        const float *v = layer->value + j * kv_columns + kv * d;
        float p = expf(weight[j] - max);
        sum += p;
        for (int64_t i = 0; i < d; i++)
            o[i] += p * v[i];
    }
    for (int64_t i = 0; i < d; i++)
        o[i] /= sum;
}

struct attend {
    const struct decoder *decoder;
    const struct layer *layer;
    int64_t begin;
};

static void attend_task(void *argument, int64_t index)
{
    const struct attend *a = argument;
    int64_t heads = a->decoder->config.shape.heads, n = index / heads;
    attend_head(a->decoder, a->layer, n, a->begin + n, index % heads);
}

static void forward_layer(struct decoder *decoder, struct layer *layer, int64_t begin, int64_t count)
{
    const struct model_shape *s = &decoder->config.shape;
    struct queue *queue = decoder->queue;
    int64_t c = s->hidden, d = s->head_dim, q = s->heads * d, kv = s->kv_heads * d, columns = q + 2 * kv;
    rmsnorm_forward(queue, decoder->normed, decoder->rstd, NULL, decoder->x, NULL, layer->attention_norm, count, c, (float)s->norm_epsilon);
    matmul_forward(queue, decoder->qkv, decoder->normed, layer->qkv, layer->qkv_bias, count, columns, c, false);
    if (s->qk_norm)
        qknorm_forward(queue, decoder->qkv, decoder->raw, decoder->rstd, layer->q_norm, layer->k_norm, count, s->heads, s->kv_heads, d,
                       (float)s->norm_epsilon);
    rope_apply(queue, decoder->qkv, decoder->rope, decoder->position, count, s->heads, s->kv_heads, d, false);
    for (int64_t n = 0; n < count; n++) {
        memcpy(layer->key + (begin + n) * kv, decoder->qkv + n * columns + q, (size_t)kv * sizeof(float));
        memcpy(layer->value + (begin + n) * kv, decoder->qkv + n * columns + q + kv, (size_t)kv * sizeof(float));
    }
    struct attend attend = { decoder, layer, begin };
    team_run(queue->team, count * s->heads, attend_task, &attend);
    matmul_forward(queue, decoder->partial, decoder->attended, layer->o, NULL, count, c, q, false);
    rmsnorm_forward(queue, decoder->normed, decoder->rstd, decoder->x, decoder->x, decoder->partial, layer->mlp_norm, count, c,
                    (float)s->norm_epsilon);
    matmul_forward(queue, decoder->gate_up, decoder->normed, layer->gate_up, NULL, count, 2 * s->intermediate, c, false);
    swiglu_forward(queue, decoder->activated, decoder->gate_up, count, s->intermediate);
    matmul_forward(queue, decoder->partial, decoder->activated, layer->down, NULL, count, c, s->intermediate, false);
    add(queue, decoder->x, decoder->partial, count * c);
}

/* Runs count tokens that stand at positions begin.. through the model; returns the most likely next id. */
static int32_t forward(struct decoder *decoder, const int32_t *token, int64_t begin, int64_t count)
{
    const struct model_shape *s = &decoder->config.shape;
    int64_t c = s->hidden;
    for (int64_t n = 0; n < count; n++)
        decoder->position[n] = (int32_t)(begin + n);
    embedding_forward(decoder->queue, decoder->x, decoder->embedding, token, 0, s->vocabulary, count, c);
    for (int64_t index = 0; index < s->layers; index++)
        forward_layer(decoder, &decoder->layer[index], begin, count);
    rmsnorm_forward(decoder->queue, decoder->normed, decoder->rstd, NULL, decoder->x + (count - 1) * c, NULL, decoder->final_norm, 1, c,
                    (float)s->norm_epsilon);
    matmul_forward(decoder->queue, decoder->logits, decoder->normed, decoder->head, NULL, 1, s->vocabulary, c, false);
    int32_t best = 0;
    for (int32_t id = 1; id < s->vocabulary; id++)
        if (decoder->logits[id] > decoder->logits[best])
            best = id;
    return best;
}

int64_t decoder_greedy(struct decoder *decoder, const int32_t *prompt, int64_t count, int32_t *out, int64_t most,
                       bool (*stop)(void *argument, int32_t id), void *argument)
{
    ASSERT(count >= 1);
    if (count > decoder->positions)
        return 0;
    int64_t written = 0, at = count;
    int32_t next = forward(decoder, prompt, 0, count);
    while (written < most && !stop(argument, next)) {
        out[written++] = next;
        if (at == decoder->positions)
            break;
        next = forward(decoder, &next, at++, 1);
    }
    return written;
}

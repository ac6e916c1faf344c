/* model.c: see model.h. Phase: boot.
 *
 * (1) Each constant of the model's header that decides a number stands here once. */
#include "boot/model.h"

#include "config.h"
#include "file/hfconfig.h"

_Static_assert((int)HFCONFIG_ROPE_NONE == (int)ROPE_NONE && (int)HFCONFIG_ROPE_LINEAR == (int)ROPE_LINEAR &&
               (int)HFCONFIG_ROPE_LLAMA3 == (int)ROPE_LLAMA3 && (int)HFCONFIG_ROPE_YARN == (int)ROPE_YARN,
               "file and kernels count the kinds of rotary scaling alike");

BOOT enum status model_check(const struct job *job)
{
    static const struct model_shape built = {
        .hidden = MODEL_HIDDEN, .layers = MODEL_LAYERS, .heads = MODEL_HEADS, .kv_heads = MODEL_KV_HEADS, .head_dim = MODEL_HEAD_DIM,
        .intermediate = MODEL_INTERMEDIATE, .vocabulary = MODEL_VOCABULARY, .positions = MODEL_POSITIONS, .tied = MODEL_TIED,
        .qkv_bias = MODEL_QKV_BIAS, .qk_norm = MODEL_QK_NORM, .window_tokens = MODEL_WINDOW_TOKENS,
        .window_first_layer = MODEL_WINDOW_FIRST_LAYER, .norm_epsilon = MODEL_NORM_EPSILON, .rope_theta = MODEL_ROPE_THETA,
        .initializer_range = MODEL_INITIALIZER_RANGE, .rope = (enum hfconfig_rope)MODEL_ROPE_SCALING, .rope_factor = MODEL_ROPE_FACTOR,
        .rope_low_frequency_factor = MODEL_ROPE_LOW_FREQUENCY_FACTOR, .rope_high_frequency_factor = MODEL_ROPE_HIGH_FREQUENCY_FACTOR,
        .rope_original_positions = MODEL_ROPE_ORIGINAL_POSITIONS, .rope_beta_fast = MODEL_ROPE_BETA_FAST,
        .rope_beta_slow = MODEL_ROPE_BETA_SLOW, .rope_attention_factor = MODEL_ROPE_ATTENTION_FACTOR, .rope_truncate = MODEL_ROPE_TRUNCATE,
    };
    struct hfconfig config;
    if (job->model[0] == '\0')
        return OK;
    TRY(hfconfig_read(&config, job->model, false));
    const char *difference = hfconfig_difference(&config.shape, &built);
    if (difference != NULL)
        return fail(E_DATA, "%s/config.json: %s: this image is for %s; build one for this model with tools/mkmodel", job->model, difference, MODEL_NAME);
    return OK;
}

BOOT void model_rope(float *table)
{
    static const struct rope rope = {
        .theta = MODEL_ROPE_THETA, .scaling = MODEL_ROPE_SCALING, .factor = MODEL_ROPE_FACTOR,
        .low_frequency_factor = MODEL_ROPE_LOW_FREQUENCY_FACTOR, .high_frequency_factor = MODEL_ROPE_HIGH_FREQUENCY_FACTOR,
        .original_positions = MODEL_ROPE_ORIGINAL_POSITIONS, .beta_fast = MODEL_ROPE_BETA_FAST, .beta_slow = MODEL_ROPE_BETA_SLOW,
        .attention_factor = MODEL_ROPE_ATTENTION_FACTOR, .truncate = MODEL_ROPE_TRUNCATE,
    };
    rope_table(table, &rope, SEQUENCE_TOKENS, MODEL_HEAD_DIM);
}

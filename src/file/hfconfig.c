/* hfconfig.c: see hfconfig.h. Build host and boot.
 *
 * Defaults and meanings are those of transformers' configuration classes. (1) A field that would change the arithmetic is used or refused. */
#include "file/hfconfig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "file/hfreading.h"
#include "file/jsontext.h"

enum { CONFIG_BYTES_MOST = 4 << 20, PATH_BYTES = 4096, WINDOW_DEFAULT = 4096, WINDOW_FIRST_LAYER_DEFAULT = 28, QWEN3_HEAD_DIM = 128 };

/* What the families do not state alike. */
struct family {
    const char *type, *architecture;
    bool qkv_bias, qk_norm;
    enum { WINDOW_NONE, WINDOW_ALWAYS, WINDOW_BY_SWITCH } window;      /* by switch: with use_sliding_window, from max_window_layers on */
    int64_t head_dim;            /* where the file states none; 0: hidden_size / num_attention_heads */
};
static const struct family families[] = {
    { "llama", "LlamaForCausalLM", false, false, WINDOW_NONE, 0 },
    { "mistral", "MistralForCausalLM", false, false, WINDOW_ALWAYS, 0 },
    { "qwen2", "Qwen2ForCausalLM", true, false, WINDOW_BY_SWITCH, 0 },
    { "qwen3", "Qwen3ForCausalLM", false, true, WINDOW_BY_SWITCH, QWEN3_HEAD_DIM },
};

/* Keys that change the arithmetic in ways that are not built, and the value that asks for nothing. */
static void refuse_unsupported(struct reading *reading)
{
    static const struct {
        const char *key, *harmless;
    } keys[] = {
        { "hidden_act", "\"silu\"" },      { "mlp_bias", "false" },           { "attention_dropout", "0.0" },      { "hidden_dropout", "0.0" },
        { "resid_pdrop", "0.0" },          { "embd_pdrop", "0.0" },           { "quantization_config", "null" },   { "partial_rotary_factor", "1.0" },
        { "rope_interleaved", "false" },   { "no_rope_layers", "null" },      { "attention_chunk_size", "null" },  { "attn_logit_softcapping", "null" },
        { "final_logit_softcapping", "null" }, { "logits_scaling", "1.0" },   { "logit_scale", "1.0" },            { "residual_multiplier", "1.0" },
        { "embedding_multiplier", "1.0" }, { "attention_multiplier", "null" }, { "query_pre_attn_scalar", "null" }, { "kv_lora_rank", "null" },
        { "num_experts", "0" },            { "num_local_experts", "0" },      { "n_routed_experts", "0" },         { "n_shared_experts", "0" },
        { "num_experts_per_tok", "0" },    { "moe_intermediate_size", "0" },  { "is_causal", "true" },             { "use_bidirectional_attention", "false" },
        { "vision_config", "null" },       { "text_config", "null" },         { "is_encoder_decoder", "false" },   { "add_cross_attention", "false" },
    };
    for (int64_t i = 0; i < ELEMENTS_OF(keys); i++)
        reading_unsupported(reading, reading->root, keys[i].key, keys[i].harmless);
}

static const struct family *family_of(struct reading *reading, struct hfconfig *config)
{
    json_t *type = reading_value(reading->root, "model_type"), *architectures = reading_value(reading->root, "architectures");
    const char *name = json_string_value(json_array_get(architectures, 0));
    char right[96];
    for (int64_t i = 0; i < ELEMENTS_OF(families); i++) {
        const struct family *family = &families[i];
        if (!json_is_string(type) || strcmp(json_string_value(type), family->type) != 0)
            continue;
        snprintf(right, sizeof right, "[\"%s\"] is supported for this model_type", family->architecture);
        if (architectures != NULL && (name == NULL || json_array_size(architectures) != 1 || strcmp(name, family->architecture) != 0))
            reading_refuse(reading, "architectures", architectures, right);
        snprintf(config->family, sizeof config->family, "%s", family->type);
        snprintf(config->architecture, sizeof config->architecture, "%s", family->architecture);
        return family;
    }
    reading_refuse(reading, "model_type", type, "\"llama\", \"mistral\", \"qwen2\" and \"qwen3\" are supported");
    return &families[0];
}

static void read_heads(struct reading *reading, const struct family *family, struct model_shape *shape)
{
    json_t *stated = json_object_get(reading->root, "head_dim"), *heads = json_object_get(reading->root, "num_attention_heads");
    char text[40];
    shape->heads = reading_count(reading, "num_attention_heads", 1, -1);
    shape->kv_heads = reading_count(reading, "num_key_value_heads", 1, shape->heads);
    snprintf(text, sizeof text, "%lld", (long long)shape->heads);
    if (reading_value(reading->root, "num_key_value_heads") == NULL)
        reading_default(reading, "num_key_value_heads", text);
    if (shape->heads % shape->kv_heads != 0)
        reading_refuse(reading, "num_key_value_heads", json_object_get(reading->root, "num_key_value_heads"), "a divisor of num_attention_heads is right");

    /* A null asks for the quotient in every family. */
    int64_t fallback = stated == NULL && family->head_dim > 0 ? family->head_dim : shape->hidden / shape->heads;
    shape->head_dim = reading_count(reading, "head_dim", 1, fallback > 0 ? fallback : 1);
    snprintf(text, sizeof text, "%lld", (long long)fallback);
    if (stated == NULL && family->head_dim > 0)
        reading_default(reading, "head_dim", text);
    else if (reading_value(reading->root, "head_dim") == NULL && shape->hidden % shape->heads != 0)
        reading_refuse(reading, "num_attention_heads", heads, "a divisor of hidden_size is right, or head_dim is stated");
    if (shape->head_dim % 2 != 0)
        reading_refuse(reading, "head_dim", stated, "an even number is right: positions rotate pairs");
}

/* layer_types, where it is stated: full attention up to some layer and the window from there on. Gives that layer. */
static int64_t read_layer_types(struct reading *reading, json_t *types, int64_t layers)
{
    int64_t first = 0;
    if (!json_is_array(types) || (int64_t)json_array_size(types) != layers) {
        reading_refuse(reading, "layer_types", types, "one type a layer is right");
        return layers;
    }
    for (int64_t layer = 0; layer < layers; layer++) {
        const char *name = json_string_value(json_array_get(types, (size_t)layer));
        if (name != NULL && strcmp(name, "full_attention") == 0 && first == layer)
            first = layer + 1;
        else if (name == NULL || strcmp(name, "sliding_attention") != 0)
            reading_refuse(reading, "layer_types", json_array_get(types, (size_t)layer),
                           "\"full_attention\" up to some layer and \"sliding_attention\" from there on are supported");
    }
    return first;
}

static void read_window(struct reading *reading, const struct family *family, struct model_shape *shape)
{
    json_t *stated = json_object_get(reading->root, "sliding_window"), *types = reading_value(reading->root, "layer_types");
    bool used = family->window == WINDOW_ALWAYS || (family->window == WINDOW_BY_SWITCH && reading_truth(reading, reading->root, "use_sliding_window", false));
    if (family->window == WINDOW_NONE && reading_value(reading->root, "sliding_window") != NULL)
        reading_refuse(reading, "sliding_window", stated, "this family has none");
    if (used && stated == NULL)
        reading_default(reading, "sliding_window", "4096");
    if (used && !json_is_null(stated))
        shape->window_tokens = reading_count(reading, "sliding_window", 1, WINDOW_DEFAULT);
    if (used && family->window == WINDOW_BY_SWITCH)
        shape->window_first_layer = reading_count(reading, "max_window_layers", 0, WINDOW_FIRST_LAYER_DEFAULT);

    int64_t first = types == NULL ? shape->layers : read_layer_types(reading, types, shape->layers);
    bool by_types = types != NULL && family->window == WINDOW_BY_SWITCH;      /* there, and only there, the list decides */
    if (by_types && first < shape->layers && shape->window_tokens == 0)
        reading_refuse(reading, "layer_types", types, "sliding_attention is right only where sliding_window is in use");
    if (types != NULL && !by_types && first != (shape->window_tokens > 0 ? 0 : shape->layers))
        reading_refuse(reading, "layer_types", types, "this family has the window in all layers or in none");
    if (by_types)
        shape->window_first_layer = first;
    if (shape->window_tokens == 0 || shape->window_first_layer >= shape->layers)
        shape->window_tokens = shape->window_first_layer = 0;
}

static void read_shape(struct reading *reading, struct hfconfig *config)
{
    struct model_shape *shape = &config->shape;
    const struct family *family = family_of(reading, config);
    refuse_unsupported(reading);
    if (reading_truth(reading, reading->root, "attention_bias", family->qkv_bias) != family->qkv_bias)
        reading_refuse(reading, "attention_bias", reading_value(reading->root, "attention_bias"), "that is not supported for this family");
    shape->hidden = reading_count(reading, "hidden_size", 1, -1);
    shape->layers = reading_count(reading, "num_hidden_layers", 1, -1);
    shape->intermediate = reading_count(reading, "intermediate_size", 1, -1);
    shape->vocabulary = reading_count(reading, "vocab_size", 1, -1);
    shape->positions = reading_count(reading, "max_position_embeddings", 1, -1);
    read_heads(reading, family, shape);
    shape->qkv_bias = family->qkv_bias;
    shape->qk_norm = family->qk_norm;
    if (reading_value(reading->root, "tie_word_embeddings") == NULL)
        reading_default(reading, "tie_word_embeddings", "false");
    shape->tied = reading_truth(reading, reading->root, "tie_word_embeddings", false);
    if (reading_value(reading->root, "rms_norm_eps") == NULL)
        reading_default(reading, "rms_norm_eps", "1e-06");
    shape->norm_epsilon = reading_number(reading, reading->root, "rms_norm_eps", 1e-6);
    shape->initializer_range = reading_number(reading, reading->root, "initializer_range", 0.02);
    reading_rope(reading, shape);
    read_window(reading, family, shape);
}

enum status hfconfig_read(struct hfconfig *config, const char *path, bool quiet)
{
    char whole[PATH_BYTES];
    struct stat found;
    memset(config, 0, sizeof *config);
    if (stat(path, &found) != 0)
        return fail(E_READ, "%s: %s", path, strerror(errno));
    int bytes = snprintf(whole, sizeof whole, S_ISDIR(found.st_mode) ? "%s/config.json" : "%s", path);
    if (bytes >= PATH_BYTES)
        return fail(E_READ, "%.200s...: the path is longer than %d bytes", path, PATH_BYTES - 1);
    struct reading reading = { .path = whole, .quiet = true };
    TRY(jsontext_read(&reading.root, whole, CONFIG_BYTES_MOST));
    if (!json_is_object(reading.root))
        reading.status = fail(E_DATA, "%s: no JSON object", whole);
    else
        read_shape(&reading, config);
    /* Defaults are said only of a file that is accepted: a refusal is one line. */
    reading.quiet = quiet;
    if (reading.status == OK && !quiet)
        read_shape(&reading, config);
    json_decref(reading.root);
    return reading.status;
}

const char *hfconfig_difference(const struct model_shape *a, const struct model_shape *b)
{
    static char text[128];
    const struct {
        const char *name;
        double a, b;
    } field[] = {
#define FIELD(key, member) { key, (double)a->member, (double)b->member }
        FIELD("hidden_size", hidden), FIELD("num_hidden_layers", layers), FIELD("num_attention_heads", heads),
        FIELD("num_key_value_heads", kv_heads), FIELD("head_dim", head_dim), FIELD("intermediate_size", intermediate),
        FIELD("vocab_size", vocabulary), FIELD("max_position_embeddings", positions), FIELD("tie_word_embeddings", tied),
        FIELD("attention_bias", qkv_bias), FIELD("QK-norm", qk_norm), FIELD("sliding_window", window_tokens),
        FIELD("max_window_layers", window_first_layer), FIELD("rms_norm_eps", norm_epsilon), FIELD("rope_theta", rope_theta),
        FIELD("rope_scaling type", rope), FIELD("rope_scaling factor", rope_factor), FIELD("low_freq_factor", rope_low_frequency_factor),
        FIELD("high_freq_factor", rope_high_frequency_factor), FIELD("original_max_position_embeddings", rope_original_positions),
        FIELD("beta_fast", rope_beta_fast), FIELD("beta_slow", rope_beta_slow), FIELD("attention_factor", rope_attention_factor),
        FIELD("truncate", rope_truncate),
#undef FIELD
    };
    for (int64_t i = 0; i < ELEMENTS_OF(field); i++)
        if (field[i].a != field[i].b) {
            snprintf(text, sizeof text, "%s is %.9g, not %.9g", field[i].name, field[i].a, field[i].b);
            return text;
        }
    return NULL;
}

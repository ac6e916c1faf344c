/* hfconfig.c: see hfconfig.h. Build host and boot. */
#include "file/hfconfig.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CONFIG_BYTES_MOST = 4 << 20, COUNT_MOST = 1 << 30 };

/* One file being read: every accessor takes it, and after the first failure status is no longer OK. */
struct reading {
    const char *path;
    json_t *root;
    bool quiet;
    enum status status;
};

/* What the families do not state alike. */
struct family {
    const char *type, *architecture;
    bool qkv_bias, qk_norm;
    bool window_by_switch;       /* the window counts only with use_sliding_window */
    bool has_window;
    bool tied;                   /* default of tie_word_embeddings in transformers */
};
static const struct family families[] = {
    { "llama", "LlamaForCausalLM", false, false, false, false, false },
    { "mistral", "MistralForCausalLM", false, false, false, true, false },
    { "qwen2", "Qwen2ForCausalLM", true, false, true, true, false },
    { "qwen3", "Qwen3ForCausalLM", false, true, true, true, false },
};

static void refuse(struct reading *reading, const char *key, const char *seen, const char *right)
{
    if (reading->status == OK)
        reading->status = fail(E_DATA, "%s: \"%s\" is %s; %s", reading->path, key, seen, right);
}

/* A value as short text for messages. */
static const char *text_of(const json_t *value)
{
    static char text[80];
    char *dump = value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    snprintf(text, sizeof text, "%.70s", dump == NULL ? "absent" : dump);
    free(dump);
    return text;
}

/* A value that is absent or null is not there. */
static json_t *value_of(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

/* A whole number from 1 to 2^30; fallback -1: the key must be there. */
static int64_t count_of(struct reading *reading, const char *key, int64_t fallback)
{
    json_t *value = value_of(reading->root, key);
    if (value == NULL && fallback >= 0)
        return fallback;
    if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > COUNT_MOST) {
        refuse(reading, key, text_of(value), "a whole number from 1 to 2^30 is right");
        return 1;
    }
    return json_integer_value(value);
}

/* A finite number above `above`. */
static double number_of(struct reading *reading, const json_t *object, const char *key, double fallback, double above)
{
    json_t *value = value_of(object, key);
    if (value == NULL && !isnan(fallback))
        return fallback;
    double number = json_is_number(value) ? json_number_value(value) : NAN;
    if (!isfinite(number) || !(number > above)) {
        char right[64];
        snprintf(right, sizeof right, "a number above %g is right", above);
        refuse(reading, key, text_of(value), right);
        return 1.0;
    }
    return number;
}

static bool truth_of(struct reading *reading, const json_t *object, const char *key, bool fallback)
{
    json_t *value = value_of(object, key);
    if (value == NULL)
        return fallback;
    if (!json_is_boolean(value))
        refuse(reading, key, text_of(value), "true or false is right");
    return json_is_true(value);
}

/* Keys that change the arithmetic in ways that are not built. */
static void refuse_unsupported(struct reading *reading)
{
    static const struct {
        const char *key;
        const char *harmless;      /* JSON text of the value that asks for nothing */
    } keys[] = {
        { "mlp_bias", "false" },        { "quantization_config", "null" }, { "partial_rotary_factor", "1.0" }, { "num_experts", "0" },
        { "num_local_experts", "0" },   { "n_routed_experts", "0" },       { "attn_logit_softcapping", "null" }, { "final_logit_softcapping", "null" },
        { "logits_scaling", "1.0" },    { "residual_multiplier", "1.0" },  { "embedding_multiplier", "1.0" },    { "attention_multiplier", "null" },
        { "attention_chunk_size", "null" }, { "no_rope_layers", "null" },  { "rope_interleaved", "false" },      { "kv_lora_rank", "null" },
    };
    for (int64_t i = 0; i < ELEMENTS_OF(keys); i++) {
        json_t *value = value_of(reading->root, keys[i].key);
        if (value == NULL)
            continue;
        json_t *harmless = json_loads(keys[i].harmless, JSON_DECODE_ANY, NULL);
        bool same = json_equal(value, harmless) ||
                    (json_is_number(value) && json_is_number(harmless) && json_number_value(value) == json_number_value(harmless));
        json_decref(harmless);
        if (!same) {
            char right[96];
            snprintf(right, sizeof right, "that is not supported; %s is", keys[i].harmless);
            refuse(reading, keys[i].key, text_of(value), right);
        }
    }
    json_t *activation = value_of(reading->root, "hidden_act");
    if (activation != NULL && (!json_is_string(activation) || strcmp(json_string_value(activation), "silu") != 0))
        refuse(reading, "hidden_act", text_of(activation), "that is not supported; \"silu\" is");
}

static const struct family *family_of(struct reading *reading, struct hfconfig *config)
{
    json_t *type = value_of(reading->root, "model_type"), *architectures = value_of(reading->root, "architectures");
    const char *name = json_string_value(json_array_get(architectures, 0));
    for (int64_t i = 0; i < ELEMENTS_OF(families); i++) {
        if (!json_is_string(type) || strcmp(json_string_value(type), families[i].type) != 0)
            continue;
        if (architectures != NULL && (name == NULL || strcmp(name, families[i].architecture) != 0)) {
            refuse(reading, "architectures", text_of(architectures), families[i].architecture);
            return &families[i];
        }
        snprintf(config->family, sizeof config->family, "%s", families[i].type);
        snprintf(config->architecture, sizeof config->architecture, "%s", families[i].architecture);
        return &families[i];
    }
    refuse(reading, "model_type", text_of(type), "supported are \"llama\", \"mistral\", \"qwen2\", \"qwen3\"");
    return &families[0];
}

/* rope_theta may stand at the top, in rope_parameters (newer files), or in both if they agree. */
static void read_theta(struct reading *reading, const json_t *parameters, struct model_shape *shape)
{
    json_t *top = value_of(reading->root, "rope_theta"), *nested = value_of(parameters, "rope_theta");
    if (top != NULL && nested != NULL && json_number_value(top) != json_number_value(nested))
        refuse(reading, "rope_theta", text_of(top), "rope_parameters has another value; one of the two is wrong");
    if (top == NULL && nested == NULL && !reading->quiet)
        note("%s: no \"rope_theta\": the family's default, 10000, is taken", reading->path);
    shape->rope_theta = number_of(reading, nested != NULL ? parameters : reading->root, "rope_theta", 10000.0, 0.0);
}

static void read_scaling(struct reading *reading, const json_t *scaling, struct model_shape *shape)
{
    json_t *type = value_of(scaling, "rope_type");
    if (type == NULL)
        type = value_of(scaling, "type");
    const char *name = type == NULL ? "default" : json_string_value(type);
    shape->rope_factor = 1.0;
    shape->rope_low_frequency_factor = shape->rope_high_frequency_factor = 1.0;
    shape->rope_original_positions = (double)shape->positions;
    shape->rope_beta_fast = 32.0;
    shape->rope_beta_slow = 1.0;
    shape->rope_truncate = true;
    if (name != NULL && strcmp(name, "default") == 0)
        return;
    if (name == NULL || (strcmp(name, "linear") != 0 && strcmp(name, "llama3") != 0 && strcmp(name, "yarn") != 0)) {
        refuse(reading, "rope_scaling", text_of(scaling), "supported types are \"default\", \"linear\", \"llama3\", \"yarn\"");
        return;
    }
    shape->rope = strcmp(name, "linear") == 0 ? HFCONFIG_ROPE_LINEAR : strcmp(name, "llama3") == 0 ? HFCONFIG_ROPE_LLAMA3 : HFCONFIG_ROPE_YARN;
    shape->rope_factor = number_of(reading, scaling, "factor", NAN, 0.0);
    if (shape->rope_factor < 1.0)
        refuse(reading, "rope_scaling", text_of(scaling), "factor is at least 1");
    if (shape->rope == HFCONFIG_ROPE_LINEAR)
        return;
    bool llama3 = shape->rope == HFCONFIG_ROPE_LLAMA3;
    shape->rope_original_positions =
        number_of(reading, scaling, "original_max_position_embeddings", llama3 ? NAN : (double)shape->positions, 0.0);
    if (llama3) {
        shape->rope_low_frequency_factor = number_of(reading, scaling, "low_freq_factor", NAN, 0.0);
        shape->rope_high_frequency_factor = number_of(reading, scaling, "high_freq_factor", NAN, 0.0);
        if (shape->rope_high_frequency_factor <= shape->rope_low_frequency_factor)
            refuse(reading, "rope_scaling", text_of(scaling), "high_freq_factor is above low_freq_factor");
        return;
    }
    if (value_of(scaling, "mscale") != NULL || value_of(scaling, "mscale_all_dim") != NULL)
        refuse(reading, "rope_scaling", text_of(scaling), "mscale is not supported");
    shape->rope_beta_fast = number_of(reading, scaling, "beta_fast", 32.0, 0.0);
    shape->rope_beta_slow = number_of(reading, scaling, "beta_slow", 1.0, 0.0);
    shape->rope_attention_factor = number_of(reading, scaling, "attention_factor", 0.0, 0.0);
    shape->rope_truncate = truth_of(reading, scaling, "truncate", true);
}

static void read_rope(struct reading *reading, struct model_shape *shape)
{
    json_t *parameters = value_of(reading->root, "rope_parameters"), *scaling = value_of(reading->root, "rope_scaling");
    if (parameters != NULL && !json_is_object(parameters))
        refuse(reading, "rope_parameters", text_of(parameters), "an object is right");
    if (scaling != NULL && !json_is_object(scaling))
        refuse(reading, "rope_scaling", text_of(scaling), "an object or null is right");
    read_theta(reading, parameters, shape);
    read_scaling(reading, scaling != NULL ? scaling : parameters, shape);
}

/* layer_types, where it is stated, must be full attention up to some layer and the window from there on. */
static void check_layer_types(struct reading *reading, const struct model_shape *shape)
{
    json_t *types = value_of(reading->root, "layer_types"), *type;
    size_t layer;
    if (types == NULL)
        return;
    if ((int64_t)json_array_size(types) != shape->layers)
        refuse(reading, "layer_types", text_of(types), "one type a layer is right");
    json_array_foreach(types, layer, type) {
        const char *name = json_string_value(type);
        bool window = shape->window_tokens > 0 && (int64_t)layer >= shape->window_first_layer;
        if (name == NULL || strcmp(name, window ? "sliding_attention" : "full_attention") != 0)
            refuse(reading, "layer_types", text_of(type), "supported is full attention, or the window from \"max_window_layers\" on");
    }
}

static void read_window(struct reading *reading, const struct family *family, struct model_shape *shape)
{
    json_t *window = value_of(reading->root, "sliding_window");
    bool used = window != NULL && (!family->window_by_switch || truth_of(reading, reading->root, "use_sliding_window", false));
    if (used && !family->has_window)
        refuse(reading, "sliding_window", text_of(window), "this family has none");
    if (used && family->has_window) {
        shape->window_tokens = count_of(reading, "sliding_window", -1);
        if (family->window_by_switch)
            shape->window_first_layer = count_of(reading, "max_window_layers", 28);
        if (shape->window_first_layer >= shape->layers)
            shape->window_tokens = shape->window_first_layer = 0;
    }
    check_layer_types(reading, shape);
}

static void read_shape(struct reading *reading, struct hfconfig *config)
{
    struct model_shape *shape = &config->shape;
    const struct family *family = family_of(reading, config);
    refuse_unsupported(reading);
    if (truth_of(reading, reading->root, "attention_bias", family->qkv_bias) != family->qkv_bias)
        refuse(reading, "attention_bias", text_of(value_of(reading->root, "attention_bias")), "that is not supported for this family");
    shape->hidden = count_of(reading, "hidden_size", -1);
    shape->layers = count_of(reading, "num_hidden_layers", -1);
    shape->heads = count_of(reading, "num_attention_heads", -1);
    shape->kv_heads = count_of(reading, "num_key_value_heads", shape->heads);
    shape->intermediate = count_of(reading, "intermediate_size", -1);
    shape->vocabulary = count_of(reading, "vocab_size", -1);
    shape->positions = count_of(reading, "max_position_embeddings", -1);
    bool states_head = value_of(reading->root, "head_dim") != NULL;
    if (!states_head && shape->hidden % shape->heads != 0)
        refuse(reading, "num_attention_heads", text_of(value_of(reading->root, "num_attention_heads")), "it divides hidden_size, or head_dim is stated");
    shape->head_dim = states_head ? count_of(reading, "head_dim", -1) : shape->hidden / shape->heads;
    if (shape->heads % shape->kv_heads != 0)
        refuse(reading, "num_key_value_heads", text_of(value_of(reading->root, "num_key_value_heads")), "it divides num_attention_heads");
    if (shape->head_dim % 2 != 0)
        refuse(reading, "head_dim", text_of(value_of(reading->root, "head_dim")), "an even number is right: positions rotate pairs");
    shape->qkv_bias = family->qkv_bias;
    shape->qk_norm = family->qk_norm;
    if (value_of(reading->root, "tie_word_embeddings") == NULL && !reading->quiet)
        note("%s: no \"tie_word_embeddings\": the family's default, false, is taken", reading->path);
    shape->tied = truth_of(reading, reading->root, "tie_word_embeddings", family->tied);
    shape->norm_epsilon = number_of(reading, reading->root, "rms_norm_eps", 1e-6, 0.0);
    shape->initializer_range = number_of(reading, reading->root, "initializer_range", 0.02, 0.0);
    read_rope(reading, shape);
    read_window(reading, family, shape);
}

enum status hfconfig_read(struct hfconfig *config, const char *path, bool quiet)
{
    char whole[4096];
    struct stat found;
    memset(config, 0, sizeof *config);
    if (stat(path, &found) != 0)
        return fail(E_READ, "%s: %s", path, strerror(errno));
    snprintf(whole, sizeof whole, S_ISDIR(found.st_mode) ? "%s/config.json" : "%s", path);
    if (stat(whole, &found) != 0)
        return fail(E_READ, "%s: %s", whole, strerror(errno));
    if (!S_ISREG(found.st_mode))
        return fail(E_READ, "%s: not a regular file", whole);
    if (found.st_size > CONFIG_BYTES_MOST)
        return fail(E_DATA, "%s: %lld bytes; a config.json has at most %d", whole, (long long)found.st_size, CONFIG_BYTES_MOST);
    json_error_t error;
    FILE *file = fopen(whole, "rb");
    if (file == NULL)
        return fail(E_READ, "%s: %s", whole, strerror(errno));
    struct reading reading = { .path = whole, .quiet = quiet };
    reading.root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    fclose(file);
    if (reading.root == NULL)
        return fail(E_DATA, "%s:%d:%d: %s", whole, error.line, error.column, error.text);
    if (json_is_object(reading.root))
        read_shape(&reading, config);
    else
        refuse(&reading, "(whole file)", "no object", "a JSON object is right");
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

/* config.c: config.json and generation_config.json from a GGUF file's values (gguf2hf.h). Build host. */
#include "tools/gguf2hf/gguf2hf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/hfconfig.h"

enum { KEY_BYTES = 128 };

/* After the first refusal status is not OK. */
struct reading {
    const struct gguf *gguf;
    char architecture[16];
    enum status status;
};

static const char *key_of(const struct reading *reading, const char *end, char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "%s.%s", reading->architecture, end);
    return key;
}

static bool has(const struct reading *reading, const char *end)
{
    char key[KEY_BYTES];
    return gguf_find(reading->gguf, key_of(reading, end, key)) != NULL;
}

/* fallback -1: the key must be there. */
static int64_t whole(struct reading *reading, const char *end, int64_t fallback)
{
    char key[KEY_BYTES];
    int64_t number = fallback;
    key_of(reading, end, key);
    bool stated = gguf_find(reading->gguf, key) != NULL;
    if ((stated || fallback < 0) && !gguf_whole(reading->gguf, key, &number) && reading->status == OK)
        reading->status = fail(E_DATA, "%s: %s is %s; a whole number is right", reading->gguf->path, key, stated ? "something else" : "missing");
    return number;
}

/* The shortest decimal that is the stored float: 1e-05, where the float itself is 9.99999974e-06. */
static double real(struct reading *reading, const char *end, double fallback)
{
    char key[KEY_BYTES], text[40];
    double number = fallback;
    key_of(reading, end, key);
    bool stated = gguf_find(reading->gguf, key) != NULL;
    if ((stated || fallback < 0) && !gguf_real(reading->gguf, key, &number) && reading->status == OK)
        reading->status = fail(E_DATA, "%s: %s is %s; a real number is right", reading->gguf->path, key, stated ? "something else" : "missing");
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtof(text, NULL) == (float)number)
            break;
    }
    return strtod(text, NULL);
}

static const struct gguf_tensor *tensor_named(const struct gguf *gguf, const char *name)
{
    for (int64_t i = 0; i < gguf->tensors; i++)
        if (gguf_is(gguf->tensor[i].name, name))
            return &gguf->tensor[i];
    return NULL;
}

static void set(json_t *root, const char *key, json_t *value)
{
    int failed = json_object_set_new(root, key, value);
    ASSERT(failed == 0);
}

static void set_token(const struct reading *reading, json_t *root, const char *key, const char *name)
{
    int64_t id;
    if (gguf_whole(reading->gguf, name, &id))
        set(root, key, json_integer(id));
}

static void set_tokens(const struct reading *reading, json_t *root)
{
    set_token(reading, root, "bos_token_id", "tokenizer.ggml.bos_token_id");
    set_token(reading, root, "eos_token_id", "tokenizer.ggml.eos_token_id");
    set_token(reading, root, "pad_token_id", "tokenizer.ggml.padding_token_id");
}

static void set_scaling(struct reading *reading, json_t *root)
{
    char key[KEY_BYTES];
    struct gguf_text type = gguf_text(reading->gguf, key_of(reading, "rope.scaling.type", key));
    bool yarn = gguf_is(type, "yarn");
    if (tensor_named(reading->gguf, "rope_freqs.weight") != NULL && reading->status == OK)
        reading->status = fail(E_DATA, "%s: tensor rope_freqs.weight holds a rotary scaling that config.json cannot state; take the model's own config.json",
                               reading->gguf->path);
    if (type.data == NULL || gguf_is(type, "none"))
        return;
    if (!yarn && !gguf_is(type, "linear") && reading->status == OK)
        reading->status = fail(E_DATA, "%s: %s is \"%.*s\"; none, linear and yarn are known", reading->gguf->path, key, type.bytes < 40 ? (int)type.bytes : 40,
                               type.data);
    json_t *scaling = json_object();
    set(scaling, "rope_type", json_string(yarn ? "yarn" : "linear"));
    set(scaling, "factor", json_real(real(reading, "rope.scaling.factor", -1.0)));
    if (yarn)
        set(scaling, "original_max_position_embeddings", json_integer(whole(reading, "rope.scaling.original_context_length", -1)));
    set(root, "rope_scaling", scaling);
}

/* Heads of the same size for q, k and v, rotated whole. */
static void set_heads(struct reading *reading, json_t *root, int64_t hidden)
{
    int64_t heads = whole(reading, "attention.head_count", -1), kv_heads = whole(reading, "attention.head_count_kv", heads);
    int64_t head_dim = whole(reading, "attention.key_length", heads > 0 ? hidden / heads : 0);
    if ((whole(reading, "attention.value_length", head_dim) != head_dim || whole(reading, "rope.dimension_count", head_dim) != head_dim) &&
        reading->status == OK)
        reading->status = fail(E_DATA, "%s: attention.value_length and rope.dimension_count are not both %lld, the size of a head", reading->gguf->path,
                               (long long)head_dim);
    set(root, "num_attention_heads", json_integer(heads));
    set(root, "num_key_value_heads", json_integer(kv_heads));
    set(root, "head_dim", json_integer(head_dim));
}

static void set_all(struct reading *reading, json_t *root, enum tensor_type type)
{
    static const struct {
        const char *architecture, *type, *class;
    } families[] = { { "llama", "llama", "LlamaForCausalLM" }, { "qwen2", "qwen2", "Qwen2ForCausalLM" }, { "qwen3", "qwen3", "Qwen3ForCausalLM" } };
    const struct gguf_tensor *embedding = tensor_named(reading->gguf, "token_embd.weight");
    const char *model_type = NULL, *class = NULL;
    for (int64_t i = 0; i < ELEMENTS_OF(families); i++)
        if (strcmp(families[i].architecture, reading->architecture) == 0) {
            model_type = families[i].type;
            class = families[i].class;
        }
    if (model_type == NULL || embedding == NULL || embedding->dimensions != 2 || has(reading, "expert_count")) {
        reading->status = model_type == NULL   ? fail(E_DATA, "%s: general.architecture is none of llama, qwen2, qwen3", reading->gguf->path)
                          : embedding == NULL  ? fail(E_DATA, "%s: tensor token_embd.weight is missing", reading->gguf->path)
                          : has(reading, "expert_count")
                              ? fail(E_DATA, "%s: %s.expert_count: a mixture of experts is not supported", reading->gguf->path, reading->architecture)
                              : fail(E_DATA, "%s: tensor token_embd.weight has %d dimensions, 2 are right", reading->gguf->path, embedding->dimensions);
        return;
    }
    bool window = strcmp(model_type, "llama") == 0 && has(reading, "attention.sliding_window");      /* Mistral goes by the name of llama there */
    set(root, "architectures", json_pack("[s]", window ? "MistralForCausalLM" : class));
    set(root, "attention_dropout", json_real(0.0));
    set_tokens(reading, root);
    set(root, "hidden_act", json_string("silu"));
    int64_t hidden = whole(reading, "embedding_length", -1);
    set(root, "hidden_size", json_integer(hidden));
    set(root, "intermediate_size", json_integer(whole(reading, "feed_forward_length", -1)));
    set(root, "max_position_embeddings", json_integer(whole(reading, "context_length", -1)));
    set(root, "model_type", json_string(window ? "mistral" : model_type));
    set(root, "num_hidden_layers", json_integer(whole(reading, "block_count", -1)));
    set_heads(reading, root, hidden);
    set(root, "rms_norm_eps", json_real(real(reading, "attention.layer_norm_rms_epsilon", -1.0)));
    set(root, "rope_theta", json_real(real(reading, "rope.freq_base", 10000.0)));
    set_scaling(reading, root);
    if (window)
        set(root, "sliding_window", json_integer(whole(reading, "attention.sliding_window", -1)));
    set(root, "tie_word_embeddings", json_boolean(tensor_named(reading->gguf, "output.weight") == NULL));
    set(root, "torch_dtype", json_string(type == TENSOR_F32 ? "float32" : "bfloat16"));
    set(root, "vocab_size", json_integer(embedding->shape[0]));
}

enum status gguf2hf_config(const struct gguf *gguf, const char *folder, enum tensor_type type)
{
    struct reading reading = { .gguf = gguf };
    struct gguf_text architecture = gguf_text(gguf, "general.architecture");
    struct hfconfig config;
    if (architecture.data != NULL && architecture.bytes < (int64_t)sizeof reading.architecture)
        memcpy(reading.architecture, architecture.data, (size_t)architecture.bytes);
    json_t *root = json_object(), *generation = json_object();
    set_all(&reading, root, type);
    set(generation, "_from_model_config", json_true());
    set_tokens(&reading, generation);
    enum status status = reading.status;
    if (status == OK)
        status = gguf2hf_write(folder, "config.json", json_incref(root));
    if (status == OK)
        status = gguf2hf_write(folder, "generation_config.json", json_incref(generation));
    json_decref(root);
    json_decref(generation);
    return status != OK ? status : hfconfig_read(&config, folder, true);      /* what was written must be what is supported */
}

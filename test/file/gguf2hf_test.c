/* gguf2hf_test.c: a GGUF file becomes a Hugging Face folder whose parts say the same, or is refused. */
#include "tools/gguf2hf/gguf2hf.h"

#include <sys/stat.h>
#include <unistd.h>

#include "file/convert.h"
#include "file/hfconfig.h"
#include "file/tensors.h"
#include "test/file/hostile.h"

enum { HIDDEN = 32, VOCABULARY = 8, VALUES_MOST = 40 };

/* ---- a file as a list of values; a case replaces one of them, or takes it away ---- */

struct value {
    const char *key;
    enum gguf_type type;         /* GGUF_TYPES: left out */
    uint64_t number;             /* whole, truth; real: thousandths */
    const char *text;
    const char *const *texts;    /* an array, NULL at its end; of numbers where type is GGUF_I32 */
};

static const char *const tokens[] = { "a", "b", "ab", "\xc4\xa0", "<|x|>", "<u>", "[PAD]", "ac", NULL }, *const merges[] = { "a b", NULL };
static const char *const types[] = { "1", "1", "1", "1", "3", "4", "5", "1", NULL };

static const struct value good[] = {
    { .key = "general.architecture", .type = GGUF_TEXT, .text = "llama" },
    { .key = "llama.block_count", .type = GGUF_U32, .number = 1 },
    { .key = "llama.context_length", .type = GGUF_U32, .number = 64 },
    { .key = "llama.embedding_length", .type = GGUF_U32, .number = HIDDEN },
    { .key = "llama.feed_forward_length", .type = GGUF_U64, .number = 48 },
    { .key = "llama.attention.head_count", .type = GGUF_U32, .number = 4 },
    { .key = "llama.attention.head_count_kv", .type = GGUF_U16, .number = 2 },
    { .key = "llama.rope.dimension_count", .type = GGUF_U32, .number = 8 },
    { .key = "llama.rope.freq_base", .type = GGUF_F32, .number = 123456000 },
    { .key = "llama.attention.layer_norm_rms_epsilon", .type = GGUF_F32, .number = 1 },
    { .key = "tokenizer.ggml.model", .type = GGUF_TEXT, .text = "gpt2" },
    { .key = "tokenizer.ggml.pre", .type = GGUF_TEXT, .text = "smollm" },
    { .key = "tokenizer.ggml.tokens", .type = GGUF_TEXT, .texts = tokens },
    { .key = "tokenizer.ggml.token_type", .type = GGUF_I32, .texts = types },
    { .key = "tokenizer.ggml.merges", .type = GGUF_TEXT, .texts = merges },
    { .key = "tokenizer.ggml.bos_token_id", .type = GGUF_U32, .number = 4 },
    { .key = "tokenizer.ggml.eos_token_id", .type = GGUF_U32, .number = 5 },
    { .key = "tokenizer.chat_template", .type = GGUF_TEXT, .text = "{{ messages }}" },
};

static void put_value(struct bytes *bytes, const struct value *value)
{
    uint64_t count = 0;
    float real = (float)value->number / 1000.0f;
    bytes_counted_text(bytes, value->key);
    if (value->texts == NULL) {
        bytes_number(bytes, value->type, 4);
        if (value->type == GGUF_TEXT)
            bytes_counted_text(bytes, value->text);
        else if (value->type == GGUF_F32)
            bytes_add(bytes, &real, sizeof real);
        else
            bytes_number(bytes, value->number, value->type == GGUF_U64 ? 8 : value->type == GGUF_U32 ? 4 : value->type == GGUF_U16 ? 2 : 1);
        return;
    }
    while (value->texts[count] != NULL)
        count++;
    bytes_number(bytes, GGUF_ARRAY, 4);
    bytes_number(bytes, value->type, 4);
    bytes_number(bytes, count, 8);
    for (uint64_t i = 0; i < count; i++)
        if (value->type == GGUF_TEXT)
            bytes_counted_text(bytes, value->texts[i]);
        else
            bytes_number(bytes, (uint64_t)atoi(value->texts[i]), 4);
}

static float embedding[VOCABULARY * HIDDEN];

/* with: a value that is put over one of the same key, or added; NULL: none. name: of the second tensor, a vector; NULL: output_norm.weight. */
static const char *made(const char *folder, const struct value *with, const char *name)
{
    struct bytes bytes = { 0 }, values = { 0 };
    uint64_t count = 0;
    bool put = with == NULL;
    for (int64_t i = 0; i < ELEMENTS_OF(good); i++) {
        bool same = with != NULL && strcmp(with->key, good[i].key) == 0;
        put = put || same;
        if (same && with->type == GGUF_TYPES)
            continue;
        put_value(&values, same ? with : &good[i]);
        count++;
    }
    if (!put) {
        put_value(&values, with);
        count++;
    }
    bytes_text(&bytes, "GGUF");
    bytes_number(&bytes, 3, 4);
    bytes_number(&bytes, 2, 8);
    bytes_number(&bytes, count, 8);
    bytes_add(&bytes, values.data, values.count);
    free(values.data);
    bytes_counted_text(&bytes, "token_embd.weight");
    bytes_number(&bytes, 2, 4);
    bytes_number(&bytes, HIDDEN, 8);
    bytes_number(&bytes, VOCABULARY, 8);
    bytes_number(&bytes, 0, 4);
    bytes_number(&bytes, 0, 8);
    bytes_counted_text(&bytes, name == NULL ? "output_norm.weight" : name);
    bytes_number(&bytes, 1, 4);
    bytes_number(&bytes, HIDDEN, 8);
    bytes_number(&bytes, 0, 4);
    bytes_number(&bytes, sizeof embedding, 8);
    bytes_zeros(&bytes, (32 - bytes.count % 32) % 32);
    bytes_add(&bytes, embedding, sizeof embedding);
    bytes_add(&bytes, embedding, HIDDEN * sizeof embedding[0]);
    return bytes_write(&bytes, folder, "t.gguf");
}

static json_t *read_json(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    if (root == NULL)
        test_fail(__FILE__, __LINE__, "%s is no JSON", path);
    test_stop_if_failed();
    return root;
}

static void expect_json(json_t *seen, const char *right)
{
    json_t *wanted = json_loads(right, JSON_DECODE_ANY, NULL);
    char *text = seen == NULL ? NULL : json_dumps(seen, JSON_ENCODE_ANY | JSON_COMPACT);
    if (wanted == NULL || !json_equal(seen, wanted))
        test_fail(__FILE__, __LINE__, "%s is not %s", text == NULL ? "nothing" : text, right);
    free(text);
    json_decref(wanted);
}

TEST(a_folder_says_what_the_file_says)
{
    const char *folder = test_folder(), *path;
    char out[512];
    uint64_t state = test_seed();
    for (int i = 0; i < VOCABULARY * HIDDEN; i++)
        embedding[i] = test_uniform(&state);
    path = made(folder, NULL, NULL);
    for (int f32 = 0; f32 < 2; f32++) {
        snprintf(out, sizeof out, "%s/%d", folder, f32);
        EXPECT_EQ(gguf2hf(path, out, f32 ? TENSOR_F32 : TENSOR_BF16), OK);
        test_stop_if_failed();

        struct hfconfig config;
        EXPECT_EQ(hfconfig_read(&config, out, false), OK);
        const struct model_shape *s = &config.shape;
        EXPECT(s->hidden == HIDDEN && s->layers == 1 && s->heads == 4 && s->kv_heads == 2 && s->head_dim == 8 && s->intermediate == 48);
        EXPECT(s->vocabulary == VOCABULARY && s->positions == 64 && s->tied && s->norm_epsilon == 1e-3 && s->rope_theta == 123456.0);

        struct tensors tensors;
        float seen[VOCABULARY * HIDDEN];
        EXPECT_EQ(tensors_open(&tensors, out), OK);
        const struct tensor *table = tensors_find(&tensors, "model.embed_tokens.weight");
        EXPECT(tensors.count == 2 && table != NULL && table->type == (f32 ? TENSOR_F32 : TENSOR_BF16));
        EXPECT(table->shape[0] == VOCABULARY && tensor_read(table, seen, 0, VOCABULARY * HIDDEN) == OK);
        for (int i = 0; i < VOCABULARY * HIDDEN; i++)
            EXPECT(seen[i] == (f32 ? embedding[i] : convert_from_bf16(convert_to_bf16(embedding[i]))));
        tensors_close(&tensors);
    }
    json_t *root = read_json(out, "tokenizer.json"), *model = json_object_get(root, "model");
    expect_json(json_object_get(model, "vocab"), "{\"a\":0,\"b\":1,\"ab\":2,\"\xc4\xa0\":3,\"<|x|>\":4,\"<u>\":5,\"ac\":7}");
    expect_json(json_object_get(model, "merges"), "[\"a b\"]");
    expect_json(json_object_get(root, "added_tokens"),
                "[{\"id\":4,\"content\":\"<|x|>\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":true},"
                "{\"id\":5,\"content\":\"<u>\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":false}]");
    expect_json(json_object_get(root, "post_processor"), "null");
    json_decref(root);
    root = read_json(out, "tokenizer_config.json");
    expect_json(json_object_get(root, "bos_token"), "\"<|x|>\"");
    expect_json(json_object_get(root, "eos_token"), "\"<u>\"");
    expect_json(json_object_get(root, "pad_token"), "null");
    expect_json(json_object_get(root, "chat_template"), "\"{{ messages }}\"");
    expect_json(json_object_get(root, "model_max_length"), "64");
    json_decref(root);
    root = read_json(out, "generation_config.json");
    expect_json(json_object_get(root, "eos_token_id"), "5");
    json_decref(root);
    status_quiet(true);
    EXPECT_EQ(gguf2hf(path, out, TENSOR_BF16), E_USAGE);      /* there is a model already */
    EXPECT_HOLDS(status_message(), "there is a model already");
    status_quiet(false);
}

TEST(a_begin_token_is_put_before_a_text_where_the_file_asks_for_it)
{
    const struct value begins = { .key = "tokenizer.ggml.add_bos_token", .type = GGUF_BOOL, .number = 1 };
    char out[512];
    const char *folder = test_folder();
    snprintf(out, sizeof out, "%s/out", folder);
    EXPECT_EQ(gguf2hf(made(folder, &begins, NULL), out, TENSOR_F32), OK);
    test_stop_if_failed();
    json_t *root = read_json(out, "tokenizer.json"), *processor = json_object_get(root, "post_processor");
    expect_json(json_object_get(processor, "single"), "[{\"SpecialToken\":{\"id\":\"<|x|>\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}]");
    expect_json(json_object_get(processor, "special_tokens"), "{\"<|x|>\":{\"id\":\"<|x|>\",\"ids\":[4],\"tokens\":[\"<|x|>\"]}}");
    json_decref(root);
}

TEST(a_window_makes_it_a_Mistral_and_scalings_are_kept)
{
    static const struct value values[] = {
        { .key = "llama.attention.sliding_window", .type = GGUF_U32, .number = 16 },
        { .key = "llama.attention.key_length", .type = GGUF_U32, .number = 8 },
    };
    char out[512];
    struct hfconfig config;
    const char *folder = test_folder();
    for (int i = 0; i < 2; i++) {
        snprintf(out, sizeof out, "%s/%d", folder, i);
        EXPECT_EQ(gguf2hf(made(folder, &values[i], NULL), out, TENSOR_F32), OK);
        EXPECT_EQ(hfconfig_read(&config, out, true), OK);
        EXPECT_TEXT(config.family, i == 0 ? "mistral" : "llama");
        EXPECT_EQ(config.shape.window_tokens, i == 0 ? 16 : 0);
    }
}

static enum status convert(const char *path)
{
    char out[1024];
    snprintf(out, sizeof out, "%s.out", path);
    return gguf2hf(path, out, TENSOR_BF16);
}

static const char *const token_twice[] = { "a", "b", "ab", "a", "<|x|>", "<u>", "[PAD]", "ac", NULL }, *const few_types[] = { "1", "1", NULL };
static const char *const bad_utf8[] = { "a", "b", "ab", "\xff", "<|x|>", "<u>", "[PAD]", "ac", NULL }, *const empty_token[] = { "a", "b", "ab", "", "x", "y", "z", "u", NULL };
static const char *const merge_unknown[] = { "a c", NULL }, *const merge_product[] = { "b a", NULL }, *const merge_one[] = { "ab", NULL };
static const char *const merge_empty[] = { " a", NULL };

static const struct {
    const char *id;
    struct value with;
    const char *tensor, *part;
} refusals[] = {
    { "no block_count", { .key = "llama.block_count", .type = GGUF_TYPES }, NULL, "llama.block_count is missing" },
    { "block_count real", { .key = "llama.block_count", .type = GGUF_F32, .number = 1000 }, NULL, "llama.block_count is something else" },
    { "block_count 0", { .key = "llama.block_count", .type = GGUF_U32, .number = 0 }, NULL, "\"num_hidden_layers\" is 0" },
    { "heads do not divide", { .key = "llama.attention.head_count_kv", .type = GGUF_U32, .number = 3 }, NULL, "\"num_key_value_heads\" is 3" },
    { "no epsilon", { .key = "llama.attention.layer_norm_rms_epsilon", .type = GGUF_TYPES }, NULL, "layer_norm_rms_epsilon is missing" },
    { "half rotated", { .key = "llama.rope.dimension_count", .type = GGUF_U32, .number = 4 }, NULL, "rope.dimension_count are not both 8" },
    { "other value size", { .key = "llama.attention.value_length", .type = GGUF_U32, .number = 4 }, NULL, "attention.value_length" },
    { "experts", { .key = "llama.expert_count", .type = GGUF_U32, .number = 8 }, NULL, "llama.expert_count: a mixture of experts" },
    { "scaling", { .key = "llama.rope.scaling.type", .type = GGUF_TEXT, .text = "longrope" }, NULL, "llama.rope.scaling.type is \"longrope\"" },
    { "scaling without factor", { .key = "llama.rope.scaling.type", .type = GGUF_TEXT, .text = "linear" }, NULL, "llama.rope.scaling.factor is missing" },
    { "rope_freqs", { .key = "x", .type = GGUF_U32 }, "rope_freqs.weight", "tensor rope_freqs.weight holds a rotary scaling" },
    { "unknown tensor", { .key = "x", .type = GGUF_U32 }, "blk.0.ssm_a", "tensor blk.0.ssm_a has no name in a Hugging Face model" },
    { "architecture", { .key = "general.architecture", .type = GGUF_TEXT, .text = "gemma2" }, NULL, "general.architecture is none of" },
    { "SentencePiece", { .key = "tokenizer.ggml.model", .type = GGUF_TEXT, .text = "llama" }, NULL, "tokenizer.ggml.model is \"llama\"" },
    { "unknown words", { .key = "tokenizer.ggml.pre", .type = GGUF_TEXT, .text = "tekken" }, NULL, "tokenizer.ggml.pre is \"tekken\"" },
    { "no tokens", { .key = "tokenizer.ggml.tokens", .type = GGUF_TYPES }, NULL, "tokenizer.ggml.tokens is missing" },
    { "tokens are numbers", { .key = "tokenizer.ggml.tokens", .type = GGUF_I32, .texts = types }, NULL, "tokenizer.ggml.tokens is missing, or no list" },
    { "few types", { .key = "tokenizer.ggml.token_type", .type = GGUF_I32, .texts = few_types }, NULL, "tokenizer.ggml.token_type has 2 elements" },
    { "token twice", { .key = "tokenizer.ggml.tokens", .type = GGUF_TEXT, .texts = token_twice }, NULL, "token 3, \"a\", is there twice" },
    { "token no UTF-8", { .key = "tokenizer.ggml.tokens", .type = GGUF_TEXT, .texts = bad_utf8 }, NULL, "token 3 is empty, holds a NUL or is no UTF-8" },
    { "token empty", { .key = "tokenizer.ggml.tokens", .type = GGUF_TEXT, .texts = empty_token }, NULL, "token 3 is empty" },
    { "merge of no token", { .key = "tokenizer.ggml.merges", .type = GGUF_TEXT, .texts = merge_unknown }, NULL, "merge 0, \"a c\"" },
    { "merge to no token", { .key = "tokenizer.ggml.merges", .type = GGUF_TEXT, .texts = merge_product }, NULL, "merge 0, \"b a\"" },
    { "merge of one", { .key = "tokenizer.ggml.merges", .type = GGUF_TEXT, .texts = merge_one }, NULL, "merge 0, \"ab\"" },
    { "merge of nothing", { .key = "tokenizer.ggml.merges", .type = GGUF_TEXT, .texts = merge_empty }, NULL, "merge 0, \" a\"" },
};

TEST(what_cannot_be_turned_is_refused_and_named)
{
    for (int64_t i = 0; i < ELEMENTS_OF(refusals); i++) {
        const char *folder = test_folder();
        char weights[512];
        hostile_expect(refusals[i].id, convert, made(folder, &refusals[i].with, refusals[i].tensor), E_DATA, refusals[i].part);
        snprintf(weights, sizeof weights, "%s/t.gguf.out/model.safetensors", folder);
        EXPECT(access(weights, F_OK) != 0);
        strcat(weights, ".tmp");
        EXPECT(access(weights, F_OK) != 0);
    }
    hostile_expect("good", convert, made(test_folder(), NULL, NULL), OK, NULL);
    hostile_expect("absent", convert, "/nowhere/t.gguf", E_READ, "No such file");
}

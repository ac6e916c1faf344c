/* hfconfig_test.c: config.json as shapes, and what it may not ask for. Ids I8 to I15, X40, X44: a good file with one change. */
#include "file/hfconfig.h"

#include <jansson.h>
#include <unistd.h>

#include "test/file/hostile.h"

/* hidden 64, 4 heads: as X40 has it, where head_dim is stated. */
static const char good[] =
    "{\"architectures\":[\"LlamaForCausalLM\"],\"model_type\":\"llama\",\"hidden_act\":\"silu\",\"hidden_size\":64,\"intermediate_size\":96,"
    "\"num_hidden_layers\":3,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"vocab_size\":259,\"max_position_embeddings\":256,"
    "\"rms_norm_eps\":1e-5,\"rope_theta\":10000.0,\"tie_word_embeddings\":false,\"attention_bias\":false,\"mlp_bias\":false}";

/* good with the keys of change (a JSON object) put over it; a key whose value is "-" is taken away. */
static const char *changed(const char *change)
{
    static const char *folder;
    json_t *config = json_loads(good, 0, NULL), *over = json_loads(change, 0, NULL), *value;
    const char *key;
    if (folder == NULL)
        folder = test_folder();
    if (over == NULL)
        test_fail(__FILE__, __LINE__, "no JSON: %s", change);
    json_object_foreach(over, key, value) {
        if (json_is_string(value) && strcmp(json_string_value(value), "-") == 0)
            json_object_del(config, key);
        else
            json_object_set(config, key, value);
    }
    char *text = json_dumps(config, 0);
    const char *path = hostile_file(folder, "config.json", text);
    free(text);
    json_decref(config);
    json_decref(over);
    return path;
}

static enum status open_config(const char *path)
{
    struct hfconfig config;
    return hfconfig_read(&config, path, false);
}

static struct model_shape shape_of(const char *change)
{
    struct hfconfig config;
    EXPECT_EQ(hfconfig_read(&config, changed(change), true), OK);
    test_stop_if_failed();
    return config.shape;
}

#define QWEN2 "\"model_type\":\"qwen2\",\"architectures\":[\"Qwen2ForCausalLM\"],\"attention_bias\":\"-\""
#define QWEN3 "\"model_type\":\"qwen3\",\"architectures\":[\"Qwen3ForCausalLM\"],\"head_dim\":16"
#define MISTRAL "\"model_type\":\"mistral\",\"architectures\":[\"MistralForCausalLM\"]"
#define FULL "\"full_attention\""
#define SLIDING "\"sliding_attention\""

static const struct {
    const char *id, *change;
    enum status right;
    const char *part;
} cases[] = {
    { "good", "{}", OK, NULL },
    { "I8 0", "{\"hidden_size\":0}", E_DATA, "\"hidden_size\" is 0; a whole number from 1" },
    { "I8 -64", "{\"hidden_size\":-64}", E_DATA, "\"hidden_size\" is -64" },
    { "I8 1e3", "{\"hidden_size\":1e3}", E_DATA, "\"hidden_size\" is 1000.0" },
    { "I8 text", "{\"hidden_size\":\"64\"}", E_DATA, "\"hidden_size\" is \"64\"" },
    { "I8 2^31", "{\"hidden_size\":2147483648}", E_DATA, "\"hidden_size\" is 2147483648" },
    { "I8 null", "{\"hidden_size\":null}", E_DATA, "\"hidden_size\" is null" },
    { "I8 absent", "{\"hidden_size\":\"-\"}", E_DATA, "\"hidden_size\" is absent" },
    { "I8 true", "{\"intermediate_size\":true}", E_DATA, "\"intermediate_size\" is true" },
    { "I8 vocab", "{\"vocab_size\":[259]}", E_DATA, "\"vocab_size\" is [259]" },
    { "I8 positions", "{\"max_position_embeddings\":0}", E_DATA, "\"max_position_embeddings\" is 0" },
    { "I9 heads 0", "{\"num_attention_heads\":0}", E_DATA, "\"num_attention_heads\" is 0" },
    { "I9 kv 0", "{\"num_key_value_heads\":0}", E_DATA, "\"num_key_value_heads\" is 0" },
    { "I9 heads % kv", "{\"num_key_value_heads\":3}", E_DATA, "\"num_key_value_heads\" is 3; a divisor of num_attention_heads" },
    { "I9 kv > heads", "{\"num_key_value_heads\":8}", E_DATA, "\"num_key_value_heads\" is 8" },
    { "I9 layers 0", "{\"num_hidden_layers\":0}", E_DATA, "\"num_hidden_layers\" is 0" },
    { "I9 hidden % heads", "{\"num_attention_heads\":6}", E_DATA, "\"num_attention_heads\" is 6; a divisor of hidden_size" },
    { "I9 heads > hidden", "{\"num_attention_heads\":128}", E_DATA, "\"num_attention_heads\" is 128" },
    { "I10 kv absent", "{\"num_key_value_heads\":\"-\"}", OK, "no \"num_key_value_heads\": the family's default, 4" },
    { "I10 kv null", "{\"num_key_value_heads\":null}", OK, "no \"num_key_value_heads\"" },
    { "I10 head_dim null", "{\"head_dim\":null}", OK, NULL },
    { "I10 head_dim 32", "{\"head_dim\":32}", OK, NULL },
    { "I10 head_dim 0", "{\"head_dim\":0}", E_DATA, "\"head_dim\" is 0" },
    { "I10 head_dim odd", "{\"head_dim\":7}", E_DATA, "\"head_dim\" is 7; an even number" },
    { "I10 quotient odd", "{\"hidden_size\":60}", E_DATA, "\"head_dim\" is absent; an even number" },
    { "I11 top", "{\"rope_theta\":1000000}", OK, NULL },
    { "I11 nested", "{\"rope_theta\":\"-\",\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":1e6}}", OK, NULL },
    { "I11 both differ", "{\"rope_parameters\":{\"rope_theta\":1e6}}", E_DATA, "\"rope_theta\" is 10000.0; the rotary scaling has another value" },
    { "I11 both agree", "{\"rope_parameters\":{\"rope_theta\":10000}}", OK, NULL },
    { "I11 nowhere", "{\"rope_theta\":\"-\"}", OK, "no \"rope_theta\": the family's default, 10000, is taken" },
    { "I11 0", "{\"rope_theta\":0}", E_DATA, "\"rope_theta\" is 0" },
    { "I11 text", "{\"rope_theta\":\"1e6\"}", E_DATA, "\"rope_theta\" is \"1e6\"" },
    { "I11 by layer", "{\"rope_parameters\":{\"full_attention\":{\"rope_theta\":1e6}}}", E_DATA, "\"full_attention\"" },
    { "I12 type", "{\"rope_scaling\":{\"type\":\"linear\",\"factor\":2.0}}", OK, NULL },
    { "I12 rope_type", "{\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":2}}", OK, NULL },
    { "I12 both differ", "{\"rope_scaling\":{\"rope_type\":\"linear\",\"type\":\"yarn\",\"factor\":2}}", E_DATA, "\"rope_type\" is \"linear\"; \"type\" says otherwise" },
    { "I12 unknown", "{\"rope_scaling\":{\"rope_type\":\"longrope\",\"factor\":2}}", E_DATA, "\"rope_type\" is \"longrope\"" },
    { "I12 dynamic", "{\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":2}}", E_DATA, "\"type\" is \"dynamic\"" },
    { "I12 factor 0", "{\"rope_scaling\":{\"type\":\"linear\",\"factor\":0}}", E_DATA, "\"factor\" is 0" },
    { "I12 factor -1", "{\"rope_scaling\":{\"type\":\"linear\",\"factor\":-1}}", E_DATA, "\"factor\" is -1" },
    { "I12 factor 1/2", "{\"rope_scaling\":{\"type\":\"linear\",\"factor\":0.5}}", E_DATA, "\"factor\" is 0.5; at least 1" },
    { "I12 no factor", "{\"rope_scaling\":{\"type\":\"yarn\"}}", E_DATA, "\"factor\" is absent" },
    { "I12 list", "{\"rope_scaling\":[2.0]}", E_DATA, "\"rope_scaling\" is [2.0]" },
    { "I12 unknown key", "{\"rope_scaling\":{\"type\":\"linear\",\"factor\":2,\"mrope_section\":[1]}}", E_DATA, "\"mrope_section\" is [1]" },
    { "I12 contradiction", "{\"rope_scaling\":{\"type\":\"linear\",\"factor\":2},\"rope_parameters\":{\"rope_type\":\"default\"}}", E_DATA, "rope_parameters says otherwise" },
    { "I12 llama3", "{\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,\"original_max_position_embeddings\":64}}", OK, NULL },
    { "I12 llama3 half", "{\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8}}", E_DATA, "\"low_freq_factor\" is absent" },
    { "I12 llama3 equal", "{\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,\"high_freq_factor\":4}}", E_DATA, "\"high_freq_factor\" is 4; more than" },
    { "I12 yarn", "{\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4,\"original_max_position_embeddings\":64}}", OK, NULL },
    { "I12 yarn mscale", "{\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4,\"mscale\":0.7}}", E_DATA, "\"mscale\" is" },
    { "I12 yarn default length", "{\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4}}", OK, "no \"original_max_position_embeddings\"" },
    { "I13 absent", "{\"tie_word_embeddings\":\"-\"}", OK, "no \"tie_word_embeddings\": the family's default, false" },
    { "I13 text", "{\"tie_word_embeddings\":\"true\"}", E_DATA, "\"tie_word_embeddings\" is \"true\"" },
    { "I13 number", "{\"tie_word_embeddings\":1}", E_DATA, "\"tie_word_embeddings\" is 1; true or false" },
    { "I14 gelu", "{\"hidden_act\":\"gelu\"}", E_DATA, "\"hidden_act\" is \"gelu\"; that is not supported; \"silu\" is" },
    { "I14 mlp_bias", "{\"mlp_bias\":true}", E_DATA, "\"mlp_bias\" is true; that is not supported" },
    { "I14 quantization", "{\"quantization_config\":{\"bits\":4}}", E_DATA, "\"quantization_config\" is {\"bits\":4}; that is not supported" },
    { "I14 quantization null", "{\"quantization_config\":null}", OK, NULL },
    { "I14 partial", "{\"partial_rotary_factor\":0.5}", E_DATA, "\"partial_rotary_factor\" is 0.5; that is not supported" },
    { "I14 partial 1", "{\"partial_rotary_factor\":1}", OK, NULL },
    { "I14 partial nested", "{\"rope_parameters\":{\"rope_theta\":1e4,\"partial_rotary_factor\":0.5}}", E_DATA, "\"partial_rotary_factor\" is 0.5" },
    { "I14 attention_bias", "{\"attention_bias\":true}", E_DATA, "\"attention_bias\" is true; that is not supported for this family" },
    { "I14 experts", "{\"num_local_experts\":8}", E_DATA, "\"num_local_experts\" is 8; that is not supported" },
    { "I14 dropout", "{\"attention_dropout\":0.1}", E_DATA, "\"attention_dropout\" is" },
    { "I14 model_type", "{\"model_type\":\"gemma2\"}", E_DATA, "\"model_type\" is \"gemma2\"; \"llama\", \"mistral\", \"qwen2\" and \"qwen3\"" },
    { "I14 no model_type", "{\"model_type\":\"-\"}", E_DATA, "\"model_type\" is absent" },
    { "I14 architecture", "{\"architectures\":[\"LlamaForSequenceClassification\"]}", E_DATA, "\"architectures\" is [\"LlamaForSequenceClassification\"]" },
    { "I14 two architectures", "{\"architectures\":[\"LlamaForCausalLM\",\"X\"]}", E_DATA, "\"architectures\" is [\"LlamaForCausalLM\",\"X\"]" },
    { "I14 no architecture", "{\"architectures\":\"-\"}", OK, NULL },
    { "I14 llama window", "{\"sliding_window\":128}", E_DATA, "\"sliding_window\" is 128; this family has none" },
    { "I14 rms_norm_eps", "{\"rms_norm_eps\":\"-\"}", OK, "no \"rms_norm_eps\": the family's default, 1e-06" },
    { "I14 rms_norm_eps 0", "{\"rms_norm_eps\":0.0}", E_DATA, "\"rms_norm_eps\" is 0.0" },
    { "I14 qwen2 bias", "{" QWEN2 "}", OK, NULL },
    { "I14 qwen3 bias", "{" QWEN3 ",\"attention_bias\":true}", E_DATA, "\"attention_bias\" is true" },
    { "I16", "{\"vocab_size\":151936}", OK, NULL },
    { "mistral window absent", "{" MISTRAL "}", OK, "no \"sliding_window\": the family's default, 4096" },
    { "mistral window 0", "{" MISTRAL ",\"sliding_window\":0}", E_DATA, "\"sliding_window\" is 0" },
    { "mistral types", "{" MISTRAL ",\"sliding_window\":8,\"layer_types\":[" SLIDING "," FULL "," SLIDING "]}", E_DATA, "\"layer_types\"" },
    { "mistral types say full", "{" MISTRAL ",\"sliding_window\":8,\"layer_types\":[" FULL "," FULL "," FULL "]}", E_DATA, "\"layer_types\"" },
    { "qwen types alternate", "{" QWEN3 ",\"use_sliding_window\":true,\"sliding_window\":8,\"layer_types\":[" SLIDING "," FULL "," SLIDING "]}", E_DATA, "\"layer_types\" is \"full_attention\"" },
    { "qwen types without window", "{" QWEN3 ",\"layer_types\":[" FULL "," FULL "," SLIDING "]}", E_DATA, "only where sliding_window is in use" },
    { "qwen types short", "{" QWEN3 ",\"layer_types\":[" FULL "]}", E_DATA, "one type a layer" },
    { "qwen types linear", "{" QWEN3 ",\"layer_types\":[" FULL "," FULL ",\"linear_attention\"]}", E_DATA, "\"linear_attention\"" },
    { "qwen window absent", "{" QWEN2 ",\"use_sliding_window\":true,\"max_window_layers\":1}", OK, "no \"sliding_window\": the family's default, 4096" },
};

TEST(every_change_has_its_right_outcome)
{
    for (int64_t i = 0; i < ELEMENTS_OF(cases); i++)
        hostile_expect(cases[i].id, open_config, changed(cases[i].change), cases[i].right, cases[i].part);
}

TEST(what_is_no_JSON_is_refused_with_line_and_byte)
{
    static const struct {
        const char *id, *text;
    } texts[] = {
        { "I15 NaN", "{\"rope_theta\": NaN}" },   { "I15 Infinity", "{\"rope_theta\": Infinity}" }, { "I15 comment", "{\n// no\n}" },
        { "I15 BOM", "\xef\xbb\xbf{}" },          { "I15 comma", "{\"a\":1,}" },                    { "I15 twice", "{\"a\":1,\"a\":1}" },
        { "I15 1e999", "{\"rope_theta\":1e999}" }, { "I15 cut", "{\"rope_theta\":" },               { "I15 two", "{}{}" },
    };
    const char *folder = test_folder();
    for (int64_t i = 0; i < ELEMENTS_OF(texts); i++)
        hostile_expect(texts[i].id, open_config, hostile_file(folder, "config.json", texts[i].text), E_DATA, "config.json: line ");
    hostile_expect("I15 list", open_config, hostile_file(folder, "config.json", "[]"), E_DATA, "no JSON object");
    hostile_expect("I15 empty", open_config, hostile_file(folder, "config.json", ""), E_DATA, "0 bytes");
    EXPECT(truncate(hostile_file(folder, "config.json", "{"), 5 << 20) == 0);
    hostile_expect("I15 5 MiB", open_config, folder, E_DATA, "5242880 bytes; 1 to 4194304");
    hostile_expect("absent", open_config, "/nowhere/at/all", E_READ, "No such file");
    hostile_expect("no config", open_config, test_folder(), E_READ, "config.json: No such file");
}

TEST(fields_and_defaults_come_out)
{
    struct hfconfig config;
    EXPECT_EQ(hfconfig_read(&config, changed("{}"), true), OK);
    EXPECT_TEXT(config.family, "llama");
    EXPECT_TEXT(config.architecture, "LlamaForCausalLM");
    const struct model_shape *s = &config.shape;
    EXPECT(s->hidden == 64 && s->intermediate == 96 && s->layers == 3 && s->heads == 4 && s->kv_heads == 2 && s->head_dim == 16);
    EXPECT(s->vocabulary == 259 && s->positions == 256 && !s->tied && !s->qkv_bias && !s->qk_norm && s->window_tokens == 0);
    EXPECT(s->norm_epsilon == 1e-5 && s->rope_theta == 1e4 && s->initializer_range == 0.02 && s->rope == HFCONFIG_ROPE_NONE && s->rope_factor == 1.0);

    EXPECT_EQ(shape_of("{\"head_dim\":32}").head_dim, 32);      /* X40 */
    EXPECT_EQ(shape_of("{\"head_dim\":null}").head_dim, 16);
    EXPECT_EQ(shape_of("{" QWEN3 ",\"head_dim\":\"-\"}").head_dim, 128);
    EXPECT_EQ(shape_of("{" QWEN3 ",\"head_dim\":null}").head_dim, 16);
    EXPECT_EQ(shape_of("{\"num_key_value_heads\":null}").kv_heads, 4);
    EXPECT(shape_of("{" QWEN2 "}").qkv_bias && !shape_of("{" QWEN2 "}").qk_norm);
    EXPECT(!shape_of("{" QWEN3 "}").qkv_bias && shape_of("{" QWEN3 "}").qk_norm);
    EXPECT(shape_of("{\"tie_word_embeddings\":true}").tied);
    EXPECT_EQ(shape_of("{\"vocab_size\":151936}").vocabulary, 151936);      /* I16 */
}

TEST(theta_is_found_wherever_it_stands)
{   /* X44 */
    EXPECT(shape_of("{\"rope_theta\":1000000}").rope_theta == 1e6);
    EXPECT(shape_of("{\"rope_theta\":\"-\",\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":1000000.0}}").rope_theta == 1e6);
    EXPECT(shape_of("{\"rope_theta\":\"-\",\"rope_scaling\":{\"type\":\"linear\",\"factor\":2,\"rope_theta\":1e6}}").rope_theta == 1e6);
    EXPECT(shape_of("{\"rope_theta\":\"-\"}").rope_theta == 1e4);
    EXPECT(shape_of("{\"rope_theta\":null,\"rope_parameters\":{\"rope_theta\":5e5}}").rope_theta == 5e5);
}

TEST(scalings_come_out)
{
    struct model_shape s = shape_of("{\"rope_scaling\":{\"type\":\"linear\",\"factor\":2.5}}");
    EXPECT(s.rope == HFCONFIG_ROPE_LINEAR && s.rope_factor == 2.5);
    s = shape_of("{\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,\"original_max_position_embeddings\":64}}");
    EXPECT(s.rope == HFCONFIG_ROPE_LLAMA3 && s.rope_factor == 8 && s.rope_low_frequency_factor == 1 && s.rope_high_frequency_factor == 4);
    EXPECT(s.rope_original_positions == 64);
    s = shape_of("{\"rope_parameters\":{\"rope_type\":\"yarn\",\"factor\":4,\"beta_fast\":16,\"beta_slow\":2,\"attention_factor\":0.9,\"truncate\":false}}");
    EXPECT(s.rope == HFCONFIG_ROPE_YARN && s.rope_factor == 4 && s.rope_beta_fast == 16 && s.rope_beta_slow == 2 && s.rope_attention_factor == 0.9);
    EXPECT(!s.rope_truncate && s.rope_original_positions == 256);
    s = shape_of("{\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"original_max_position_embeddings\":64}}");
    EXPECT(s.rope_beta_fast == 32 && s.rope_beta_slow == 1 && s.rope_attention_factor == 0 && s.rope_truncate && s.rope_original_positions == 64);
    s = shape_of("{\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4},\"original_max_position_embeddings\":32}");
    EXPECT(s.rope_original_positions == 32);
    EXPECT(shape_of("{\"rope_scaling\":{\"type\":\"default\"}}").rope == HFCONFIG_ROPE_NONE);
    EXPECT(shape_of("{\"rope_scaling\":{}}").rope == HFCONFIG_ROPE_NONE);
}

TEST(windows_begin_where_the_family_lets_them)
{
    static const struct {
        const char *change;
        int64_t tokens, first_layer;
    } windows[] = {
        { "{" MISTRAL ",\"sliding_window\":8}", 8, 0 },
        { "{" MISTRAL ",\"sliding_window\":null}", 0, 0 },
        { "{" MISTRAL "}", 4096, 0 },
        { "{" MISTRAL ",\"sliding_window\":8,\"layer_types\":[" SLIDING "," SLIDING "," SLIDING "]}", 8, 0 },
        { "{" QWEN2 ",\"sliding_window\":8,\"max_window_layers\":1}", 0, 0 },
        { "{" QWEN2 ",\"sliding_window\":8,\"use_sliding_window\":false,\"max_window_layers\":1}", 0, 0 },
        { "{" QWEN2 ",\"sliding_window\":8,\"use_sliding_window\":true,\"max_window_layers\":1}", 8, 1 },
        { "{" QWEN2 ",\"sliding_window\":8,\"use_sliding_window\":true,\"max_window_layers\":0}", 8, 0 },
        { "{" QWEN2 ",\"sliding_window\":8,\"use_sliding_window\":true,\"max_window_layers\":3}", 0, 0 },
        { "{" QWEN2 ",\"sliding_window\":8,\"use_sliding_window\":true}", 0, 0 },      /* from layer 28 on, and there are 3 */
        { "{" QWEN2 ",\"use_sliding_window\":true,\"max_window_layers\":1}", 4096, 1 },
        { "{" QWEN3 ",\"sliding_window\":null,\"use_sliding_window\":true,\"max_window_layers\":1}", 0, 0 },
        { "{" QWEN3 ",\"sliding_window\":8,\"use_sliding_window\":true,\"max_window_layers\":1,\"layer_types\":[" FULL "," FULL "," SLIDING "]}", 8, 2 },
        { "{" QWEN3 ",\"sliding_window\":8,\"use_sliding_window\":true,\"max_window_layers\":1,\"layer_types\":[" FULL "," FULL "," FULL "]}", 0, 0 },
        { "{" QWEN3 ",\"layer_types\":[" FULL "," FULL "," FULL "]}", 0, 0 },
        { "{\"layer_types\":[" FULL "," FULL "," FULL "]}", 0, 0 },
    };
    for (int64_t i = 0; i < ELEMENTS_OF(windows); i++) {
        struct model_shape s = shape_of(windows[i].change);
        if (s.window_tokens != windows[i].tokens || s.window_first_layer != windows[i].first_layer)
            test_fail(__FILE__, __LINE__, "%s: window %lld from layer %lld", windows[i].change, (long long)s.window_tokens, (long long)s.window_first_layer);
    }
}

TEST(the_first_difference_is_named)
{
    static const struct {
        const char *change, *part;
    } differences[] = {
        { "{\"hidden_size\":128}", "hidden_size is 128, not 64" },          { "{\"num_hidden_layers\":4}", "num_hidden_layers is 4, not 3" },
        { "{\"num_key_value_heads\":1}", "num_key_value_heads is 1, not 2" }, { "{\"head_dim\":8}", "head_dim is 8, not 16" },
        { "{\"vocab_size\":260}", "vocab_size is 260, not 259" },           { "{\"tie_word_embeddings\":true}", "tie_word_embeddings is 1, not 0" },
        { "{\"rms_norm_eps\":1e-6}", "rms_norm_eps is 1e-06, not 1e-05" },  { "{\"rope_theta\":1e6}", "rope_theta is 1000000, not 10000" },
        { "{\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}}", "rope_scaling" }, { "{" QWEN2 "}", "attention_bias" },
        { "{" QWEN3 "}", "QK-norm" },                                       { "{" MISTRAL ",\"sliding_window\":8}", "sliding_window is 8, not 0" },
        { "{\"max_position_embeddings\":512}", "max_position_embeddings" }, { "{\"intermediate_size\":128}", "intermediate_size" },
    };
    struct model_shape right = shape_of("{}"), same = shape_of("{\"initializer_range\":0.5}");
    EXPECT(hfconfig_difference(&same, &right) == NULL);      /* it decides nothing once there are weights */
    for (int64_t i = 0; i < ELEMENTS_OF(differences); i++) {
        struct model_shape seen = shape_of(differences[i].change);
        const char *difference = hfconfig_difference(&seen, &right);
        EXPECT_HOLDS(difference == NULL ? "none" : difference, differences[i].part);
    }
}

TEST(published_configurations_are_read)
{
    static const struct {
        const char *path;
        int64_t hidden, layers, heads, kv_heads, head_dim, window;
        bool tied, bias, qk_norm;
        enum hfconfig_rope rope;
    } published[] = {
        { "data/configs/Llama-3.1-8B-Instruct.json", 4096, 32, 32, 8, 128, 0, false, false, false, HFCONFIG_ROPE_LLAMA3 },
        { "data/configs/Llama-3.2-1B-Instruct.json", 2048, 16, 32, 8, 64, 0, true, false, false, HFCONFIG_ROPE_LLAMA3 },
        { "data/configs/Mistral-7B-v0.1.json", 4096, 32, 32, 8, 128, 4096, false, false, false, HFCONFIG_ROPE_NONE },
        { "data/configs/Qwen2.5-0.5B-Instruct.json", 896, 24, 14, 2, 64, 0, true, true, false, HFCONFIG_ROPE_NONE },
        { "data/configs/Qwen2.5-7B-Instruct.json", 3584, 28, 28, 4, 128, 0, false, true, false, HFCONFIG_ROPE_NONE },
        { "data/configs/Qwen3-0.6B.json", 1024, 28, 16, 8, 128, 0, true, false, true, HFCONFIG_ROPE_NONE },
        { "data/configs/Qwen3-8B.json", 4096, 36, 32, 8, 128, 0, false, false, true, HFCONFIG_ROPE_NONE },
        { "data/configs/SmolLM2-135M-Instruct.json", 576, 30, 9, 3, 64, 0, true, false, false, HFCONFIG_ROPE_NONE },
        { "data/models/stories260K", 64, 5, 8, 4, 8, 0, true, false, false, HFCONFIG_ROPE_NONE },
    };
    for (int64_t i = 0; i < ELEMENTS_OF(published); i++) {
        const char *path = test_shared(published[i].path);
        EXPECT_EQ(hostile_try(path, open_config, path).notes, 0);
        struct hfconfig config;
        EXPECT_EQ(hfconfig_read(&config, path, false), OK);
        const struct model_shape *s = &config.shape;
        EXPECT(s->hidden == published[i].hidden && s->layers == published[i].layers && s->heads == published[i].heads);
        EXPECT(s->kv_heads == published[i].kv_heads && s->head_dim == published[i].head_dim && s->window_tokens == published[i].window);
        EXPECT(s->tied == published[i].tied && s->qkv_bias == published[i].bias && s->qk_norm == published[i].qk_norm && s->rope == published[i].rope);
    }
}

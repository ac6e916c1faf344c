/* template_test.c: which template a model has, and that each renders to the byte what transformers renders. */
#include "test/test.h"
#include "tools/pack/chat.h"
#include "tools/pack/families.h"

/* ---- self-contained: where a template comes from ---- */

static void put_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    fputs(text, file);
    fclose(file);
}

/* One user's message rendered by the chat, or what was wrong. */
static char *rendered(const struct chat *chat, bool tools)
{
    struct pool pool = { 0 };
    struct text text;
    struct jinja_error error;
    json_t *messages = json_loads("[{\"role\":\"user\",\"content\":\"hi\"}]", 0, NULL),
           *list = tools ? json_loads("[{\"name\":\"f\"}]", 0, NULL) : NULL;
    bool good = chat_render(chat, &pool, messages, list, true, &text, &error);
    char *out = good ? strndup(text.bytes, text.length) : strdup(error.text);
    json_decref(messages);
    json_decref(list);
    pool_close(&pool);
    return out;
}

static const char *const named =
    "{\"bos_token\":{\"content\":\"<b>\"},\"eos_token\":\"<e>\",\"pad_token\":null,\"model_max_length\":1000000000000000019884624838656,"
    "\"chat_template\":[{\"name\":\"default\",\"template\":\"D {{ bos_token }}{{ messages[0].content }}\"},"
    "{\"name\":\"tool_use\",\"template\":\"T {{ messages[0].content }}\"},{\"name\":\"rag\",\"template\":\"R {{ eos_token }}\"}]}";

TEST(a_template_is_found_by_the_documented_order)
{
    struct chat *chat;
    const char *folder = test_folder();
    char path[512];
    EXPECT_EQ(chat_open(&chat, folder, NULL, NULL, 0), OK);
    EXPECT(chat_name(chat) == NULL);
    EXPECT_EQ(chat_hash(chat), 0);
    chat_close(chat);

    put_file(folder, "tokenizer_config.json", "{\"chat_template\":\"own {{ messages[0].content }}\"}");
    EXPECT_EQ(chat_open(&chat, folder, NULL, NULL, 0), OK);
    char *text = rendered(chat, false);
    EXPECT_TEXT(text, "own hi");
    EXPECT_TEXT(chat_name(chat), "own");
    EXPECT(chat_hash(chat) != 0);
    free(text);
    chat_close(chat);

    put_file(folder, "tokenizer_config.json", named);
    EXPECT_EQ(chat_open(&chat, folder, NULL, NULL, 0), OK);
    text = rendered(chat, false);
    EXPECT_TEXT(text, "D <b>hi");
    free(text);
    text = rendered(chat, true);
    EXPECT_TEXT(text, "T hi");
    free(text);
    EXPECT_TEXT(chat_eos(chat), "<e>");
    chat_close(chat);

    EXPECT_EQ(chat_open(&chat, folder, "rag", NULL, 0), OK);
    text = rendered(chat, false);
    EXPECT_TEXT(text, "R <e>");
    free(text);
    chat_close(chat);

    put_file(folder, "chat_template.jinja", "beside {{ extra }}");
    const char *settings[] = { "extra=[1, 2]" };
    EXPECT_EQ(chat_open(&chat, folder, NULL, settings, 1), OK);
    text = rendered(chat, false);
    EXPECT_TEXT(text, "beside [1, 2]");
    free(text);
    chat_close(chat);

    EXPECT_EQ(chat_open(&chat, folder, "chatml", NULL, 0), OK);
    text = rendered(chat, false);
    EXPECT_TEXT(text, "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
    EXPECT_TEXT(chat_name(chat), "chatml");
    free(text);
    chat_close(chat);

    put_file(folder, "mine.jinja", "mine {{ date_string }}");
    snprintf(path, sizeof path, "%s/mine.jinja", folder);
    EXPECT_EQ(chat_open(&chat, folder, path, NULL, 0), OK);
    text = rendered(chat, false);
    EXPECT_TEXT(text, "mine 26 Jul 2024");
    EXPECT_TEXT(chat_name(chat), "mine.jinja");
    free(text);
    chat_close(chat);
}

TEST(a_template_that_cannot_be_is_refused)
{
    static const struct {
        const char *config, *which, *says;
        enum status status;
    } cases[] = {
        { "{\"chat_template\":\"a\\n{{ messages|nofilter }}\"}", NULL, "line 2: the filter \"nofilter\" is not known", E_DATA },
        { "{\"chat_template\":[{\"name\":\"rag\",\"template\":\"x\"}]}", NULL, "without one named \"default\"", E_DATA },
        { "{\"chat_template\":5}", NULL, "neither a text nor a list", E_DATA },
        { "[]", NULL, "an object is expected", E_DATA },
        { "{\"a\":1,\"a\":2}", NULL, "duplicate", E_DATA },
        { "{", NULL, "tokenizer_config.json line 1", E_DATA },
        { "{}", "no-such", "there are qwen2.5, qwen3", E_USAGE },
        { "{}", "/dev/zero", "not a plain file", E_READ },
    };
    status_quiet(true);
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        struct chat *chat;
        const char *folder = test_folder();
        put_file(folder, "tokenizer_config.json", cases[i].config);
        EXPECT_EQ(chat_open(&chat, folder, cases[i].which, NULL, 0), cases[i].status);
        EXPECT_HOLDS(status_message(), cases[i].says);
    }
    struct chat *chat;
    const char *settings[] = { "novalue" };
    EXPECT_EQ(chat_open(&chat, test_folder(), NULL, settings, 1), E_USAGE);
}

/* ---- the shared vectors ---- */

/* The chat of one line of chat.jsonl, opened once. by_name: the family of that name instead of the template's own text. */
static struct chat *chat_of(const char *tokenizer, const char *template, bool by_name)
{
    static const char *const names[][2] = {
        { "llama3-instruct", "llama3" },
        { "llama3.2-instruct", "llama3.2" },
        { "llama2-chat", "llama2" },
        { "mistral-instruct-v0.1", "mistral-v0.1" },
        { "mistral-instruct-v0.2", "mistral-v0.2" },
        { "phi3-mini", "phi3" },
    };
    static struct {
        char key[128];
        struct chat *chat;
    } opened[32];
    char key[128], folder[256], path[256];
    snprintf(key, sizeof key, "%s %s %d", tokenizer, template, by_name);
    int at = 0;
    while (opened[at].chat != NULL && strcmp(opened[at].key, key) != 0)
        at++;
    if (opened[at].chat != NULL)
        return opened[at].chat;
    bool nothink = strcmp(template, "qwen3-nothink") == 0;
    const char *which = template, *settings[] = { "enable_thinking=false" };
    for (int i = 0; i < ELEMENTS_OF(names); i++)
        if (strcmp(names[i][0], template) == 0)
            which = names[i][1];
    snprintf(folder, sizeof folder, "%s/%s", test_shared("data/tokenizers"), tokenizer);
    snprintf(path, sizeof path, "%s/%s.jinja", test_shared("data/vectors/chat/templates"), nothink ? "qwen3" : template);
    EXPECT_EQ(chat_open(&opened[at].chat, folder, by_name ? which : path, settings, !by_name && nothink), OK);
    test_stop_if_failed();
    snprintf(opened[at].key, sizeof opened[at].key, "%s", key);
    return opened[at].chat;
}

/* Renders every line of chat.jsonl and compares. */
static void check_vectors(bool by_name)
{
    FILE *file = fopen(test_shared("data/vectors/chat/chat.jsonl"), "r");
    char *line = NULL;
    size_t room = 0;
    int lines = 0;
    struct pool pool = { 0 };
    while (getline(&line, &room, file) > 0) {
        json_t *vector = json_loads(line, JSON_ALLOW_NUL, NULL);
        const char *template = json_string_value(json_object_get(vector, "template")),
                   *id = json_string_value(json_object_get(vector, "id"));
        const char *error = json_string_value(json_object_get(vector, "error"));
        const json_t *right = json_object_get(vector, "rendered");
        const struct chat *chat = chat_of(json_string_value(json_object_get(vector, "tokenizer")), template, by_name);
        struct text text;
        struct jinja_error seen;
        bool good = chat_render(chat, &pool, json_object_get(vector, "messages"), NULL,
                                json_is_true(json_object_get(vector, "add_generation_prompt")), &text, &seen);
        if (good == (error != NULL))
            test_fail(__FILE__, __LINE__, "%s %s: %s", template, id, good ? "an error is missing" : seen.text);
        else if (!good && !by_name && strstr(seen.text, error) == NULL)
            test_fail(__FILE__, __LINE__, "%s %s: says \"%s\", right is \"%s\"", template, id, seen.text, error);
        else if (good && (text.length != json_string_length(right) || memcmp(text.bytes, json_string_value(right), text.length) != 0))
            test_fail(__FILE__, __LINE__, "%s %s: renders \"%.*s\"", template, id, (int)text.length, text.bytes);
        pool_reset(&pool);
        json_decref(vector);
        lines++;
    }
    EXPECT_EQ(lines, 1298);
    pool_close(&pool);
    free(line);
    fclose(file);
}

TEST(published_templates_render_every_vector_to_the_byte)
{
    check_vectors(false);
}

TEST(the_families_of_our_own_render_every_vector_to_the_byte)
{
    check_vectors(true);
}

TEST(a_models_own_template_is_recognised)
{
    static const char *const right[][2] = {
        { "qwen2.5", "qwen2.5" }, { "qwen3", "qwen3" },          { "smollm2", "smollm2" }, { "llama3.2", "llama3.2" },
        { "llama2", "llama2" },   { "mistral", "mistral-v0.2" }, { "phi3-mini", "phi3" },  { "gpt2", NULL },
    };
    for (int i = 0; i < ELEMENTS_OF(right); i++) {
        char folder[256];
        struct chat *chat;
        snprintf(folder, sizeof folder, "%s/%s", test_shared("data/tokenizers"), right[i][0]);
        EXPECT_EQ(chat_open(&chat, folder, NULL, NULL, 0), OK);
        test_stop_if_failed();
        if (right[i][1] == NULL)
            EXPECT(chat_name(chat) == NULL);
        else
            EXPECT_TEXT(chat_name(chat), right[i][1]);
        chat_close(chat);
    }
}

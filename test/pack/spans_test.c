/* spans_test.c: what the assistant says in every shared conversation, in bytes and in tokens. */
#include "test/test.h"
#include "tools/pack/chat.h"
#include "tools/pack/document.h"

struct model {
    char key[128];
    struct chat *chat;
    struct tokenizer *tokenizer;
    struct encoder *encoder;
};

/* The model of one line of chat.jsonl, opened once. */
static struct model *model_of(const char *tokenizer, const char *template)
{
    static struct model opened[32];
    char key[128], folder[256], path[256], json[300];
    struct model *model = opened;
    snprintf(key, sizeof key, "%s %s", tokenizer, template);
    while (model->chat != NULL && strcmp(model->key, key) != 0)
        model++;
    if (model->chat != NULL)
        return model;
    bool nothink = strcmp(template, "qwen3-nothink") == 0;
    const char *settings[] = { "enable_thinking=false" };
    snprintf(folder, sizeof folder, "%s/%s", test_shared("data/tokenizers"), tokenizer);
    snprintf(json, sizeof json, "%s/tokenizer.json", folder);
    snprintf(path, sizeof path, "%s/%s.jinja", test_shared("data/vectors/chat/templates"), nothink ? "qwen3" : template);
    EXPECT_EQ(chat_open(&model->chat, folder, path, settings, nothink), OK);
    for (struct model *other = opened; other != model; other++)
        if (strncmp(other->key, key, strlen(tokenizer) + 1) == 0)
            model->tokenizer = other->tokenizer;
    if (model->tokenizer == NULL)
        EXPECT_EQ(tokenizer_open(&model->tokenizer, json), OK);
    test_stop_if_failed();
    EXPECT_EQ(encoder_open(&model->encoder, model->tokenizer), OK);
    snprintf(model->key, sizeof model->key, "%s", key);
    return model;
}

/* "3-8 11-20": the ranges of a list of pairs. */
static void write_pairs(char *out, const json_t *pairs)
{
    for (size_t i = 0; i < json_array_size(pairs); i++)
        sprintf(out + strlen(out), "%d-%d ", (int)json_integer_value(json_array_get(json_array_get(pairs, i), 0)),
                (int)json_integer_value(json_array_get(json_array_get(pairs, i), 1)));
}

/* What of a conversation is learned, as tokens: runs of tokens that begin in a span. */
static void write_tokens(char *out, const struct tokens *tokens, const struct span *span, int spans)
{
    for (int s = 0; s < spans; s++) {
        int64_t begin = 0, end;
        while (begin < tokens->count && tokens->begin[begin] < span[s].begin)
            begin++;
        for (end = begin; end < tokens->count && tokens->begin[end] < span[s].end;)
            end++;
        sprintf(out + strlen(out), "%d-%d ", (int)begin, (int)end);
    }
}

static void check(const json_t *vector, struct pool *pool, int *with_targets, int *left_out)
{
    const char *template = json_string_value(json_object_get(vector, "template")), *id = json_string_value(json_object_get(vector, "id"));
    const json_t *messages = json_object_get(vector, "messages"), *ids = json_object_get(vector, "ids"),
                 *targets = json_object_get(vector, "targets");
    struct model *model = model_of(json_string_value(json_object_get(vector, "tokenizer")), template);
    struct text text;
    struct jinja_error error;
    struct tokens tokens;
    struct span *span;
    int spans;
    if (!chat_render(model->chat, pool, messages, NULL, json_is_true(json_object_get(vector, "add_generation_prompt")), &text, &error))
        return;
    EXPECT_EQ(tokenizer_encode(model->encoder, text.bytes, text.length, false, &tokens), OK);
    bool same = tokens.count == (int64_t)json_array_size(ids);
    for (int64_t t = 0; t < tokens.count && same; t++)
        same = tokens.id[t] == json_integer_value(json_array_get(ids, (size_t)t));
    if (!same)
        test_fail(__FILE__, __LINE__, "%s %s: other ids", template, id);
    bool told = chat_spans(model->chat, pool, &text, messages, false, &span, &spans, &error);
    if (!told) {
        /* Nobody but a system speaks, and the template shows a system message only with the first question. */
        EXPECT_HOLDS(error.text, "leaves out the content of a message of role system");
        EXPECT_EQ(json_array_size(targets), 0);
        (*left_out)++;
        return;
    }
    if (targets == NULL)
        return;
    char seen[4096] = "", right[4096] = "", seen_tokens[4096] = "", right_tokens[4096] = "";
    for (int s = 0; s < spans; s++) {
        span_close(model->chat, model->tokenizer, &text, &tokens, &span[s]);
        sprintf(seen + strlen(seen), "%u-%u ", span[s].begin, span[s].end);
    }
    write_pairs(right, targets);
    write_tokens(seen_tokens, &tokens, span, spans);
    write_pairs(right_tokens, json_object_get(vector, "target_tokens"));
    if (strcmp(seen, right) != 0)
        test_fail(__FILE__, __LINE__, "%s %s: bytes %s, right is %s", template, id, seen, right);
    if (strcmp(seen_tokens, right_tokens) != 0)
        test_fail(__FILE__, __LINE__, "%s %s: tokens %s, right is %s", template, id, seen_tokens, right_tokens);
    (*with_targets)++;
}

TEST(every_vector_has_its_ids_and_its_targets)
{
    FILE *file = fopen(test_shared("data/vectors/chat/chat.jsonl"), "r");
    char *line = NULL;
    size_t room = 0;
    int with_targets = 0, left_out = 0;
    struct pool pool = { 0 };
    while (getline(&line, &room, file) > 0) {
        json_t *vector = json_loads(line, JSON_ALLOW_NUL, NULL);
        check(vector, &pool, &with_targets, &left_out);
        json_decref(vector);
        pool_reset(&pool);
    }
    EXPECT_EQ(with_targets, 1140);
    EXPECT_EQ(left_out, 4);
    pool_close(&pool);
    free(line);
    fclose(file);
}

/* tokenizer.c: tokenizer.json and tokenizer_config.json from a GGUF file's values (gguf2hf.h). Build host.
 *
 * GGUF names the way a text is cut into words by one word (tokenizer.ggml.pre); what it stands for is in the table below, as the models' own
 * tokenizer.json have it. */
#include "tools/gguf2hf/gguf2hf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS_MOST = 1 << 20, MERGES_MOST = 1 << 21, TYPE_CONTROL = 3, TYPE_USER = 4, TYPE_UNUSED = 5, SHOWN = 60 };

#define BYTE_LEVEL(regex) "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":" regex "}"
#define SPLIT(digits)                                                                                                            \
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|" digits    \
    "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"},\"behavior\":\"Isolated\",\"invert\":false}"
#define SEQUENCE(first, second) "{\"type\":\"Sequence\",\"pretokenizers\":[" first "," second "]}"

static const struct words {
    const char *pre, *normalizer, *pre_tokenizer;
    bool ignore_merges;      /* a word that is a token is taken whole */
    bool begins;             /* the default of add_bos_token */
} kinds[] = {
    { "smollm", "null", SEQUENCE("{\"type\":\"Digits\",\"individual_digits\":true}", BYTE_LEVEL("true")), false, false },
    { "gpt-2", "null", BYTE_LEVEL("true"), false, false },
    { "qwen2", "{\"type\":\"NFC\"}", SEQUENCE(SPLIT("\\\\p{N}"), BYTE_LEVEL("false")), false, false },
    { "llama-bpe", "null", SEQUENCE(SPLIT("\\\\p{N}{1,3}"), BYTE_LEVEL("false")), true, true },
};

/* One vocabulary being turned; all values point into the file. */
struct vocabulary {
    const struct gguf *gguf;
    const struct words *words;
    const struct gguf_value *tokens, *types, *merges;
    struct gguf_text *token;      /* [tokens->count] */
};

static json_t *parsed(const char *text)
{
    json_t *root = json_loads(text, JSON_DECODE_ANY, NULL);
    ASSERT(root != NULL);
    return root;
}

static void set(json_t *root, const char *key, json_t *value)
{
    int failed = json_object_set_new(root, key, value);
    ASSERT(failed == 0);
}

static enum status find_list(const struct gguf *gguf, const char *key, enum gguf_type type, int64_t most, const struct gguf_value **list)
{
    *list = gguf_find(gguf, key);
    if (*list == NULL || !(*list)->array || (*list)->type != type || (*list)->count > most)
        return fail(E_DATA, "%s: %s is missing, or no list of the right kind with at most %" PRId64 " elements", gguf->path, key, most);
    return OK;
}

static enum status find_words(const struct gguf *gguf, const struct words **words)
{
    struct gguf_text model = gguf_text(gguf, "tokenizer.ggml.model"), pre = gguf_text(gguf, "tokenizer.ggml.pre");
    if (!gguf_is(model, "gpt2"))
        return fail(E_DATA, "%s: tokenizer.ggml.model is \"%.*s\"; \"gpt2\" is turned; take the model's own tokenizer.json", gguf->path,
                    model.bytes < SHOWN ? (int)model.bytes : SHOWN, model.data == NULL ? "" : model.data);
    for (int64_t i = 0; i < ELEMENTS_OF(kinds); i++)
        if (gguf_is(pre, kinds[i].pre)) {
            *words = &kinds[i];
            return OK;
        }
    return fail(E_DATA, "%s: tokenizer.ggml.pre is \"%.*s\"; smollm, gpt-2, qwen2 and llama-bpe are known; take the model's own tokenizer.json", gguf->path,
                pre.bytes < SHOWN ? (int)pre.bytes : SHOWN, pre.data == NULL ? "" : pre.data);
}

static int64_t type_of(const struct vocabulary *vocabulary, int64_t id)
{
    return vocabulary->types == NULL ? 1 : gguf_element(vocabulary->types, id);
}

static json_t *text_json(struct gguf_text text)
{
    return json_stringn(text.data, (size_t)text.bytes);      /* NULL where it is no UTF-8 */
}

static enum status add_tokens(const struct vocabulary *vocabulary, json_t *vocab, json_t *added)
{
    for (int64_t id = 0; id < vocabulary->tokens->count; id++) {
        struct gguf_text text = vocabulary->token[id];
        int64_t type = type_of(vocabulary, id);
        json_t *content = text_json(text);
        if (content == NULL || text.bytes == 0 || memchr(text.data, '\0', (size_t)text.bytes) != NULL) {
            json_decref(content);
            return fail(E_DATA, "%s: tokenizer.ggml.tokens: token %" PRId64 " is empty, holds a NUL or is no UTF-8", vocabulary->gguf->path, id);
        }
        bool is_added = type == TYPE_CONTROL || type == TYPE_USER;
        if (is_added)
            json_array_append_new(added, json_pack("{sI sO sb sb sb sb sb}", "id", (json_int_t)id, "content", content, "single_word", 0, "lstrip", 0,
                                                   "rstrip", 0, "normalized", 0, "special", type == TYPE_CONTROL));
        const char *key = json_string_value(content);
        bool twice = type != TYPE_UNUSED && json_object_get(vocab, key) != NULL;
        if (type != TYPE_UNUSED && !twice)
            set(vocab, key, json_integer(id));
        enum status status = twice ? fail(E_DATA, "%s: tokenizer.ggml.tokens: token %" PRId64 ", \"%.*s\", is there twice", vocabulary->gguf->path, id, SHOWN, key) : OK;
        json_decref(content);
        TRY(status);
    }
    return OK;
}

/* A merge is "left right"; both, and what they make, are tokens. */
static bool merge_is_right(const json_t *vocab, struct gguf_text merge)
{
    const char *space = memchr(merge.data, ' ', (size_t)merge.bytes);
    if (space == NULL)
        return false;
    size_t left = (size_t)(space - merge.data), right = (size_t)merge.bytes - left - 1;
    char *whole = malloc((size_t)merge.bytes + 1);
    ASSERT(whole != NULL);
    memcpy(whole, merge.data, left);
    memcpy(whole + left, space + 1, right);
    bool good = left > 0 && right > 0 && json_object_getn(vocab, whole, left) != NULL && json_object_getn(vocab, whole + left, right) != NULL &&
                json_object_getn(vocab, whole, left + right) != NULL;
    free(whole);
    return good;
}

static enum status add_merges(const struct vocabulary *vocabulary, const json_t *vocab, json_t *merges)
{
    const uint8_t *at = vocabulary->merges->data;
    for (int64_t i = 0; i < vocabulary->merges->count; i++) {
        struct gguf_text merge = gguf_next_text(&at);
        json_t *text = text_json(merge);
        if (text == NULL || !merge_is_right(vocab, merge)) {
            json_decref(text);
            return fail(E_DATA, "%s: tokenizer.ggml.merges: merge %" PRId64 ", \"%.*s\", is not two tokens that make a third", vocabulary->gguf->path, i,
                        merge.bytes < SHOWN ? (int)merge.bytes : SHOWN, merge.data);
        }
        json_array_append_new(merges, text);
    }
    return OK;
}

/* The text of the token whose id stands under key; NULL: none does. */
static json_t *named_token(const struct vocabulary *vocabulary, const char *key)
{
    int64_t id;
    return gguf_whole(vocabulary->gguf, key, &id) && id < vocabulary->tokens->count ? text_json(vocabulary->token[id]) : NULL;
}

/* Puts the begin token before a text, where the file asks for it. */
static json_t *post_processor(const struct vocabulary *vocabulary)
{
    bool begins = vocabulary->words->begins;
    int64_t id = 0;
    gguf_truth(vocabulary->gguf, "tokenizer.ggml.add_bos_token", &begins);
    json_t *token = begins ? named_token(vocabulary, "tokenizer.ggml.bos_token_id") : NULL;
    if (token == NULL || !gguf_whole(vocabulary->gguf, "tokenizer.ggml.bos_token_id", &id))
        return json_null();
    json_t *special = json_object(), *first = json_pack("{s{sO si}}", "SpecialToken", "id", token, "type_id", 0);
    set(special, json_string_value(token), json_pack("{sO s[I] s[O]}", "id", token, "ids", (json_int_t)id, "tokens", token));
    json_t *processor = json_pack("{ss s[O {s{ss si}}] s[O {s{ss si}} {s{ss si}}] so}", "type", "TemplateProcessing", "single", first, "Sequence", "id", "A",
                                  "type_id", 0, "pair", first, "Sequence", "id", "A", "type_id", 0, "Sequence", "id", "B", "type_id", 1, "special_tokens",
                                  special);
    json_decref(first);
    json_decref(token);
    return processor;
}

static enum status write_tokenizer(const struct vocabulary *vocabulary, const char *folder, json_t *added)
{
    json_t *vocab = json_object(), *merges = json_array();
    enum status status = add_tokens(vocabulary, vocab, added);
    if (status == OK)
        status = add_merges(vocabulary, vocab, merges);
    json_t *root = json_object();
    set(root, "version", json_string("1.0"));
    set(root, "truncation", json_null());
    set(root, "padding", json_null());
    set(root, "added_tokens", json_incref(added));
    set(root, "normalizer", parsed(vocabulary->words->normalizer));
    set(root, "pre_tokenizer", parsed(vocabulary->words->pre_tokenizer));
    set(root, "post_processor", post_processor(vocabulary));
    set(root, "decoder", parsed("{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true}"));
    set(root, "model", json_pack("{ss sn sn sn sn sb sb sb so so}", "type", "BPE", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                                 "fuse_unk", 0, "byte_fallback", 0, "ignore_merges", (int)vocabulary->words->ignore_merges, "vocab", vocab, "merges", merges));
    if (status == OK)
        return gguf2hf_write(folder, "tokenizer.json", root);
    json_decref(root);
    return status;
}

static enum status write_config(const struct vocabulary *vocabulary, const char *folder, json_t *added)
{
    static const char *const names[][2] = {
        { "bos_token", "tokenizer.ggml.bos_token_id" }, { "eos_token", "tokenizer.ggml.eos_token_id" },
        { "pad_token", "tokenizer.ggml.padding_token_id" }, { "unk_token", "tokenizer.ggml.unknown_token_id" },
    };
    json_t *root = json_object(), *decoder = json_object(), *entry;
    struct gguf_text chat = gguf_text(vocabulary->gguf, "tokenizer.chat_template"), architecture = gguf_text(vocabulary->gguf, "general.architecture");
    char key[64];
    int64_t positions;
    size_t i;
    json_array_foreach(added, i, entry) {
        json_t *copy = json_copy(entry);
        snprintf(key, sizeof key, "%lld", (long long)json_integer_value(json_object_get(entry, "id")));
        json_object_del(copy, "id");
        set(decoder, key, copy);
    }
    set(root, "added_tokens_decoder", decoder);
    for (int64_t n = 0; n < ELEMENTS_OF(names); n++) {
        json_t *token = named_token(vocabulary, names[n][1]);
        set(root, names[n][0], token == NULL ? json_null() : token);
    }
    json_t *template = chat.data == NULL ? NULL : text_json(chat);
    if (template == NULL)
        note("%s: tokenizer.chat_template is missing or no UTF-8: tokenizer_config.json has none", vocabulary->gguf->path);
    else
        set(root, "chat_template", template);
    set(root, "clean_up_tokenization_spaces", json_false());
    snprintf(key, sizeof key, "%.*s.context_length", architecture.bytes < 16 ? (int)architecture.bytes : 16, architecture.data == NULL ? "" : architecture.data);
    if (gguf_whole(vocabulary->gguf, key, &positions))
        set(root, "model_max_length", json_integer(positions));
    set(root, "tokenizer_class", json_string("PreTrainedTokenizerFast"));
    return gguf2hf_write(folder, "tokenizer_config.json", root);
}

enum status gguf2hf_tokenizer(const struct gguf *gguf, const char *folder)
{
    struct vocabulary vocabulary = { .gguf = gguf };
    TRY(find_words(gguf, &vocabulary.words));
    TRY(find_list(gguf, "tokenizer.ggml.tokens", GGUF_TEXT, TOKENS_MOST, &vocabulary.tokens));
    TRY(find_list(gguf, "tokenizer.ggml.merges", GGUF_TEXT, MERGES_MOST, &vocabulary.merges));
    TRY(find_list(gguf, "tokenizer.ggml.token_type", GGUF_I32, TOKENS_MOST, &vocabulary.types));
    if (vocabulary.types->count != vocabulary.tokens->count)
        return fail(E_DATA, "%s: tokenizer.ggml.token_type has %" PRId64 " elements, tokenizer.ggml.tokens %" PRId64, gguf->path, vocabulary.types->count,
                    vocabulary.tokens->count);
    vocabulary.token = calloc((size_t)vocabulary.tokens->count + 1, sizeof *vocabulary.token);
    json_t *added = json_array();
    ASSERT(vocabulary.token != NULL && added != NULL);
    const uint8_t *at = vocabulary.tokens->data;
    for (int64_t id = 0; id < vocabulary.tokens->count; id++)
        vocabulary.token[id] = gguf_next_text(&at);
    enum status status = write_tokenizer(&vocabulary, folder, added);
    if (status == OK)
        status = write_config(&vocabulary, folder, added);
    json_decref(added);
    free(vocabulary.token);
    return status;
}

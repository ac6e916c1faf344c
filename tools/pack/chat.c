/* chat.c: finds a model's template and renders conversations with it; see chat.h. */
#include "tools/pack/chat_inside.h"

#include "tools/pack/families.h"
#include "tools/pack/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

enum { CONFIG_BYTES_MOST = 64 << 20, TEMPLATE_FILE_BYTES_MOST = 1 << 20 };

/* ---- the model's own files ---- */

static enum status read_json(const char *folder, const char *name, json_t **json)
{
    char path[4096];
    struct source source;
    *json = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(path, F_OK) != 0)
        return OK;
    TRY(source_open(&source, path, CONFIG_BYTES_MOST));
    json_error_t error;
    *json = json_loadb(source.bytes > 0 ? source.data : "", source.bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    source_close(&source);
    if (*json == NULL)
        return fail(E_DATA, "%s line %d: %s", path, error.line, error.text);
    if (json_is_object(*json))
        return OK;
    json_decref(*json);
    *json = NULL;
    return fail(E_DATA, "%s: an object is expected", path);
}

/* A special token is a text or an object with its text as content. */
static const json_t *token_text(const json_t *token)
{
    return json_is_object(token) ? json_object_get(token, "content") : token;
}

static void take_tokens(json_t *variables, const json_t *config)
{
    static const char *const names[] = { "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token" };
    for (int i = 0; i < ELEMENTS_OF(names); i++) {
        const json_t *text = token_text(json_object_get(config, names[i]));
        if (json_is_string(text) && json_object_get(variables, names[i]) == NULL)
            json_object_set(variables, names[i], (json_t *)(uintptr_t)text);
    }
}

static enum status take_settings(json_t *variables, const char *const *settings, int count)
{
    for (int i = 0; i < count; i++) {
        const char *equals = strchr(settings[i], '=');
        if (equals == NULL || equals == settings[i])
            return fail(E_USAGE, "--template-set %s: right is name=value", settings[i]);
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)(equals - settings[i]), settings[i]);
        json_t *value = json_loads(equals + 1, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
        if (value == NULL)
            value = json_string(equals + 1);
        if (value == NULL)
            return fail(E_USAGE, "--template-set %s: the value is no valid UTF-8", settings[i]);
        json_object_set_new(variables, name, value);
    }
    return OK;
}

/* ---- which template ---- */

/* What was found: bytes are malloc'd. */
struct found {
    char *bytes, *tools_bytes;
    size_t length, tools_length;
    char name[64];
    const char *settings;
};

static char *copy_bytes(const char *bytes, size_t length)
{
    char *copy = memory_take(length + 1);
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

static enum status found_file(struct found *found, const char *path)
{
    struct source source;
    const char *slash = strrchr(path, '/');
    TRY(source_open(&source, path, TEMPLATE_FILE_BYTES_MOST));
    found->bytes = copy_bytes(source.data != NULL ? source.data : "", source.bytes);
    found->length = source.bytes;
    snprintf(found->name, sizeof found->name, "%s", slash != NULL ? slash + 1 : path);
    source_close(&source);
    return OK;
}

static bool found_text(char **bytes, size_t *length, const json_t *text)
{
    if (!json_is_string(text))
        return false;
    *bytes = copy_bytes(json_string_value(text), json_string_length(text));
    *length = json_string_length(text);
    return true;
}

/* Among the model's own named templates; false if there is none of that name. */
static bool found_named(char **bytes, size_t *length, const json_t *templates, const char *name)
{
    for (size_t i = 0; json_is_array(templates) && i < json_array_size(templates); i++) {
        const json_t *entry = json_array_get(templates, i), *entry_name = json_object_get(entry, "name");
        if (json_is_string(entry_name) && strcmp(json_string_value(entry_name), name) == 0)
            return found_text(bytes, length, json_object_get(entry, "template"));
    }
    return false;
}

static enum status find_asked(struct found *found, const json_t *templates, const char *which)
{
    const struct family *family = family_find(which);
    if (found_named(&found->bytes, &found->length, templates, which)) {
        snprintf(found->name, sizeof found->name, "%s", which);
        return OK;
    }
    if (family != NULL) {
        found->bytes = copy_bytes(family->source, strlen(family->source));
        found->length = strlen(family->source);
        found->settings = family->settings;
        snprintf(found->name, sizeof found->name, "%s", family->name);
        return OK;
    }
    if (access(which, F_OK) == 0)
        return found_file(found, which);
    char known[256] = "";
    for (int i = 0; family_at(i) != NULL; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i > 0 ? ", " : "", family_at(i)->name);
    return fail(E_USAGE, "--template %s: no such file and no such template; there are %s, and those the model names", which, known);
}

static enum status find_own(struct found *found, const char *folder, const json_t *templates)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/chat_template.jinja", folder);
    if (access(path, F_OK) == 0) {
        TRY(found_file(found, path));
        found->name[0] = '\0';
        return OK;
    }
    if (templates == NULL || json_is_null(templates) || found_text(&found->bytes, &found->length, templates))
        return OK;
    if (!json_is_array(templates))
        return fail(E_DATA, "%s/tokenizer_config.json: chat_template is neither a text nor a list of named ones", folder);
    found_named(&found->tools_bytes, &found->tools_length, templates, "tool_use");
    if (found_named(&found->bytes, &found->length, templates, "default"))
        return OK;
    return fail(E_DATA, "%s/tokenizer_config.json: chat_template is a list without one named \"default\": say which with --template",
                folder);
}

/* ---- rendering ---- */

bool chat_render(const struct chat *chat, struct pool *pool, const json_t *messages, const json_t *tools, bool prompt, struct text *text,
                 struct jinja_error *error)
{
    struct jinja_scope scope;
    const struct jinja *jinja = tools != NULL && chat->tools_jinja != NULL ? chat->tools_jinja : chat->jinja;
    jinja_scope_open(&scope, pool);
    const char *name;
    json_t *value;
    json_object_foreach(chat->variables, name, value) jinja_set(&scope, name, value, ORIGIN_TEMPLATE, false);
    const json_t *date = json_object_get(chat->variables, "date_string");
    if (json_is_string(date))
        scope.date = json_string_value(date);
    jinja_set(&scope, "messages", messages, ORIGIN_TEMPLATE, true);
    jinja_set(&scope, "tools", tools != NULL ? tools : json_null(), ORIGIN(0, ORIGIN_TOOLS), false);
    jinja_set(&scope, "documents", json_null(), ORIGIN_TEMPLATE, false);
    jinja_set(&scope, "add_generation_prompt", prompt ? json_true() : json_false(), ORIGIN_TEMPLATE, false);
    return jinja_render(jinja, &scope, text, error);
}

/* What add_generation_prompt adds behind a question; "" if nothing. malloc'd. */
static char *find_prompt(const struct chat *chat)
{
    static const char *const questions[] = {
        "[{\"role\":\"user\",\"content\":\"q\"}]",
        "[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"q\"}]",
    };
    struct pool pool = { 0 };
    char *prompt = NULL;
    for (int i = 0; i < ELEMENTS_OF(questions) && prompt == NULL; i++) {
        struct text without, with;
        struct jinja_error error;
        json_t *messages = json_loads(questions[i], 0, NULL);
        if (chat_render(chat, &pool, messages, NULL, false, &without, &error) &&
            chat_render(chat, &pool, messages, NULL, true, &with, &error)) {
            uint32_t same = 0;
            while (same < with.length && same < without.length && with.bytes[same] == without.bytes[same])
                same++;
            prompt = copy_bytes(with.bytes + same, with.length - same);
        }
        json_decref(messages);
    }
    pool_close(&pool);
    return prompt != NULL ? prompt : copy_bytes("", 0);
}

/* The assistant's header: the generation prompt with and without the settings, as far as both agree. What a setting puts behind it (an
 * empty <think> block) is said by the assistant: it stands in the text as if it had been. */
static void find_header(struct chat *chat, json_t *plain)
{
    json_t *settings = chat->variables;
    chat->header = find_prompt(chat);
    chat->variables = plain;
    char *other = find_prompt(chat);
    chat->variables = settings;
    size_t same = 0;
    while (chat->header[same] != '\0' && chat->header[same] == other[same])
        same++;
    chat->header_bytes = (uint32_t)(same > 0 ? same : strlen(chat->header));
    free(other);
}

/* ---- what family it is ---- */

static bool renders_like(const struct chat *a, const struct chat *b)
{
    static const char *const probes[] = {
        ("[{\"role\":\"user\",\"content\":\" a\"},{\"role\":\"assistant\",\"content\":\"b \"},{\"role\":\"user\",\"content\":\"c\"},"
         "{\"role\":\"assistant\",\"content\":\"d\"}]"),
        "[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"a\"}]",
        "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\"}]",
    };
    struct pool pool = { 0 };
    bool like = true;
    for (int i = 0; i < ELEMENTS_OF(probes) * 2 && like; i++) {
        struct text text_a, text_b;
        struct jinja_error error;
        json_t *messages = json_loads(probes[i / 2], 0, NULL);
        bool done_a = chat_render(a, &pool, messages, NULL, i % 2 == 1, &text_a, &error);
        bool done_b = chat_render(b, &pool, messages, NULL, i % 2 == 1, &text_b, &error);
        like = done_a == done_b && (!done_a || (text_a.length == text_b.length && memcmp(text_a.bytes, text_b.bytes, text_a.length) == 0));
        json_decref(messages);
    }
    pool_close(&pool);
    return like;
}

static enum status name_family(struct chat *chat)
{
    snprintf(chat->name, sizeof chat->name, "own");
    for (int i = 0; family_at(i) != NULL; i++) {
        const struct family *family = family_at(i);
        struct chat other = { .variables = json_copy(chat->variables) };
        TRY(take_settings(other.variables, &family->settings, family->settings != NULL));
        TRY(jinja_open(&other.jinja, family->name, family->source, strlen(family->source)));
        bool like = renders_like(chat, &other);
        jinja_close(other.jinja);
        json_decref(other.variables);
        if (like) {
            snprintf(chat->name, sizeof chat->name, "%s", family->name);
            break;
        }
    }
    return OK;
}

/* ---- opening ---- */

static enum status open_found(struct chat *chat, const struct found *found, json_t *plain)
{
    snprintf(chat->name, sizeof chat->name, "%s", found->name[0] != '\0' ? found->name : "chat_template");
    if (found->settings != NULL)
        TRY(take_settings(chat->variables, &found->settings, 1));
    TRY(jinja_open(&chat->jinja, chat->name, found->bytes, found->length));
    if (found->tools_bytes != NULL)
        TRY(jinja_open(&chat->tools_jinja, "chat_template tool_use", found->tools_bytes, found->tools_length));
    chat->hash = XXH64(found->bytes, found->length, 0);
    chat->marks_generation = jinja_marks_generation(chat->jinja);
    chat->knows_reasoning = jinja_names(chat->jinja, "reasoning_content");
    find_header(chat, plain);
    return found->name[0] == '\0' ? name_family(chat) : OK;
}

static enum status open_chat(struct chat *chat, const char *folder, const char *which, const char *const *settings, int settings_count,
                             json_t **config, json_t **map, struct found *found)
{
    TRY(read_json(folder, "tokenizer_config.json", config));
    TRY(read_json(folder, "special_tokens_map.json", map));
    take_tokens(chat->variables, *config);
    take_tokens(chat->variables, *map);
    json_object_set_new(chat->variables, "date_string", json_string("26 Jul 2024"));
    const json_t *eos = json_object_get(chat->variables, "eos_token");
    if (eos != NULL)
        chat->eos = copy_bytes(json_string_value(eos), json_string_length(eos));
    const json_t *templates = json_object_get(*config, "chat_template");
    TRY(which != NULL ? find_asked(found, templates, which) : find_own(found, folder, templates));
    json_t *plain = json_copy(chat->variables);
    enum status status = take_settings(chat->variables, settings, settings_count);
    if (status == OK && found->bytes != NULL)
        status = open_found(chat, found, plain);
    json_decref(plain);
    return status;
}

enum status chat_open(struct chat **opened, const char *folder, const char *which, const char *const *settings, int settings_count)
{
    struct chat *chat = memory_take(sizeof *chat);
    *chat = (struct chat){ .variables = json_object() };
    json_t *config = NULL, *map = NULL;
    struct found found = { 0 };
    enum status status = open_chat(chat, folder, which, settings, settings_count, &config, &map, &found);
    json_decref(config);
    json_decref(map);
    free(found.bytes);
    free(found.tools_bytes);
    *opened = chat;
    if (status != OK) {
        chat_close(chat);
        *opened = NULL;
    }
    return status;
}

void chat_close(struct chat *chat)
{
    if (chat == NULL)
        return;
    jinja_close(chat->jinja);
    jinja_close(chat->tools_jinja);
    json_decref(chat->variables);
    free(chat->eos);
    free(chat->header);
    free(chat);
}

const char *chat_name(const struct chat *chat)
{
    return chat->jinja != NULL ? chat->name : NULL;
}

uint64_t chat_hash(const struct chat *chat)
{
    return chat->hash;
}

const char *chat_eos(const struct chat *chat)
{
    return chat->eos;
}

bool chat_knows_reasoning(const struct chat *chat)
{
    return chat->knows_reasoning;
}

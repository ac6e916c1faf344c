/* form_message.c: what a message says, whatever its file calls the parts of it. */
#include "tools/pack/form_inside.h"

#include "tools/pack/memory.h"

#include <stdlib.h>
#include <string.h>

static const char *const role_fields[] = { "role", "from", "speaker", NULL };
static const char *const content_fields[] = { "content", "value", "text", NULL };
static const char *const thought_fields[] = { "reasoning_content", "reasoning", "thinking", NULL };

json_t *field_find(const json_t *object, const char *const *names, const char **name)
{
    for (; *names != NULL; names++) {
        json_t *field = json_object_get(object, *names);
        if (field == NULL || json_is_null(field))
            continue;
        if (name != NULL)
            *name = *names;
        return field;
    }
    return NULL;
}

/* A field of a message: the one --map says, if it does. */
static json_t *message_field(const struct talk *talk, const json_t *message, const char *ours, const char *const *names)
{
    for (int i = 0; i < talk->options->maps; i++)
        if (strcmp(talk->options->map[i].left, ours) == 0)
            return json_object_get(message, talk->options->map[i].right);
    return field_find(message, names, NULL);
}

/* ---- texts ---- */

struct letters {
    char *bytes;
    size_t length, room;
};

static void letters_put(struct letters *letters, const char *bytes, size_t length)
{
    if (letters->length + length + 1 > letters->room) {
        letters->room = (letters->length + length + 1) * 2;
        letters->bytes = memory_grow(letters->bytes, letters->room);
    }
    memcpy(letters->bytes + letters->length, bytes, length);
    letters->length += length;
}

static json_t *letters_json(struct letters *letters)
{
    json_t *text = json_stringn_nocheck(letters->bytes != NULL ? letters->bytes : "", letters->length);
    free(letters->bytes);
    *letters = (struct letters){ 0 };
    return text;
}

/* Puts text with each {{left}} of the fills replaced. */
static void put_filled(struct letters *letters, const struct form_options *options, const json_t *text)
{
    const char *at = json_string_value(text), *end = at + json_string_length(text);
    while (at < end) {
        const char *open = options->fills > 0 ? memmem(at, (size_t)(end - at), "{{", 2) : NULL;
        const char *close = open != NULL ? memmem(open, (size_t)(end - open), "}}", 2) : NULL;
        if (close == NULL)
            break;
        const struct pairing *fill = NULL;
        for (int i = 0; i < options->fills && fill == NULL; i++)
            if (strlen(options->fill[i].left) == (size_t)(close - open - 2) &&
                memcmp(options->fill[i].left, open + 2, (size_t)(close - open - 2)) == 0)
                fill = &options->fill[i];
        const char *copied = fill != NULL ? open : open + 2;
        letters_put(letters, at, (size_t)(copied - at));
        if (fill != NULL)
            letters_put(letters, fill->right, strlen(fill->right));
        at = fill != NULL ? close + 2 : copied;
    }
    letters_put(letters, at, (size_t)(end - at));
}

/* ---- roles ---- */

enum role { ROLE_UNKNOWN, ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL, ROLE_CALL };
static const char *const role_names[] = { "", "system", "user", "assistant", "tool", "assistant" };

static enum role role_find(const struct form_options *options, const char *name)
{
    static const struct {
        const char *name;
        enum role role;
    } roles[] = {
        { "system", ROLE_SYSTEM },     { "developer", ROLE_SYSTEM },   { "user", ROLE_USER },
        { "human", ROLE_USER },        { "prompter", ROLE_USER },      { "assistant", ROLE_ASSISTANT },
        { "gpt", ROLE_ASSISTANT },     { "bot", ROLE_ASSISTANT },      { "model", ROLE_ASSISTANT },
        { "chatgpt", ROLE_ASSISTANT }, { "tool", ROLE_TOOL },          { "observation", ROLE_TOOL },
        { "function", ROLE_TOOL },     { "tool_response", ROLE_TOOL }, { "function_response", ROLE_TOOL },
        { "ipython", ROLE_TOOL },      { "function_call", ROLE_CALL }, { "tool_call", ROLE_CALL },
    };
    for (int i = 0; i < options->roles; i++)
        if (strcmp(options->role[i].right, name) == 0)
            name = options->role[i].left;
    for (int i = 0; i < ELEMENTS_OF(roles); i++)
        if (strcmp(roles[i].name, name) == 0)
            return roles[i].role;
    return ROLE_UNKNOWN;
}

/* ---- tool calls ---- */

static json_t *parse_inside(const json_t *text)
{
    return json_loadb(json_string_value(text), json_string_length(text), JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
}

/* One call, {name, arguments} or {function: {name, arguments}}, arguments an object or JSON in a string, as OpenAI's form has it. */
static bool put_call(struct talk *talk, json_t *calls, const json_t *call)
{
    const json_t *function = json_object_get(call, "function") != NULL ? json_object_get(call, "function") : call;
    const json_t *name = json_object_get(function, "name"), *arguments = json_object_get(function, "arguments");
    if (arguments == NULL)
        arguments = json_object_get(function, "parameters");
    if (!json_is_string(name) || arguments == NULL)
        return refuse(talk->refusal, BROKEN_FIELD, "a tool call without name and arguments");
    json_t *parsed = json_is_string(arguments) ? parse_inside(arguments) : NULL;
    if (parsed == NULL)
        parsed = json_incref((json_t *)(uintptr_t)arguments);
    json_t *made = json_object(), *made_function = json_object();
    json_object_set(made_function, "name", (json_t *)(uintptr_t)name);
    json_object_set_new(made_function, "arguments", parsed);
    const json_t *id = json_object_get(call, "id");
    if (id != NULL)
        json_object_set(made, "id", (json_t *)(uintptr_t)id);
    json_object_set_new(made, "type", json_string("function"));
    json_object_set_new(made, "function", made_function);
    json_array_append_new(calls, made);
    talk->has_calls = true;
    return true;
}

/* A call, a list of them, or either as JSON in a string. */
static bool put_calls(struct talk *talk, json_t *calls, const json_t *given)
{
    json_t *parsed = json_is_string(given) ? parse_inside(given) : json_incref((json_t *)(uintptr_t)given);
    if (parsed == NULL)
        return refuse(talk->refusal, BROKEN_FIELD, "a function call that is not JSON");
    bool good = json_is_object(parsed) || json_is_array(parsed);
    if (!good)
        refuse(talk->refusal, BROKEN_FIELD, "a function call that is neither an object nor a list");
    if (json_is_object(parsed))
        good = put_call(talk, calls, parsed);
    for (size_t i = 0; good && json_is_array(parsed) && i < json_array_size(parsed); i++)
        good = put_call(talk, calls, json_array_get(parsed, i));
    json_decref(parsed);
    return good;
}

bool talk_tools(struct talk *talk, const json_t *tools, json_t **list)
{
    *list = NULL;
    if (tools == NULL || json_is_null(tools) || (json_is_string(tools) && json_string_length(tools) == 0))
        return true;
    json_t *parsed = json_is_string(tools) ? parse_inside(tools) : json_incref((json_t *)(uintptr_t)tools);
    if (!json_is_array(parsed)) {
        json_decref(parsed);
        return refuse(talk->refusal, BROKEN_FIELD, "tools is neither a list nor a list as JSON in a string");
    }
    json_t *made = json_array();
    for (size_t i = 0; i < json_array_size(parsed); i++) {
        json_t *tool = json_array_get(parsed, i);
        if (json_object_get(tool, "function") != NULL) {
            json_array_append(made, tool);
            continue;
        }
        json_t *wrapped = json_object();
        json_object_set_new(wrapped, "type", json_string("function"));
        json_object_set(wrapped, "function", tool);
        json_array_append_new(made, wrapped);
    }
    json_decref(parsed);
    if (json_array_size(made) > 0) {
        *list = made;
        talk->has_calls = true;
    } else {
        json_decref(made);
    }
    return true;
}

/* ---- content ---- */

/* What a message says, gathered from its fields and from the typed parts of its content. */
struct saying {
    struct letters content, thought;
    json_t *calls;
};

static bool put_part(struct talk *talk, struct saying *saying, const json_t *part)
{
    if (json_is_string(part)) {
        put_filled(&saying->content, talk->options, part);
        return true;
    }
    static const char *const text_fields[] = { "text", "value", "content", "reasoning", "thinking", NULL };
    const char *type = json_string_value(json_object_get(part, "type"));
    const json_t *text = field_find(part, text_fields, NULL);
    if (type == NULL)
        return refuse(talk->refusal, BROKEN_FIELD, "a part of content without a type");
    if (strcmp(type, "tool_call") == 0 || strcmp(type, "function_call") == 0)
        return put_calls(talk, saying->calls, text != NULL ? text : part);
    bool thought = strcmp(type, "reasoning") == 0 || strcmp(type, "thinking") == 0;
    if (!thought && strcmp(type, "text") != 0)
        return refuse(talk->refusal, BROKEN_FIELD, "a part of content of type \"%.40s\" is no text", type);
    if (!json_is_string(text))
        return refuse(talk->refusal, BROKEN_FIELD, "a part of content of type \"%.40s\" without its text", type);
    put_filled(thought ? &saying->thought : &saying->content, talk->options, text);
    return true;
}

static bool gather(struct talk *talk, struct saying *saying, const json_t *message, enum role role)
{
    const json_t *content = message_field(talk, message, "content", content_fields), *thought = field_find(message, thought_fields, NULL);
    const json_t *calls = json_object_get(message, "tool_calls"), *call = json_object_get(message, "function_call");
    if (role == ROLE_CALL)
        return content != NULL ? put_calls(talk, saying->calls, content)
                               : refuse(talk->refusal, BROKEN_FIELD, "a function call without content");
    if (calls != NULL && !json_is_null(calls) && !put_calls(talk, saying->calls, calls))
        return false;
    if (call != NULL && !json_is_null(call) && !put_calls(talk, saying->calls, call))
        return false;
    if (json_is_string(thought))
        put_filled(&saying->thought, talk->options, thought);
    else if (thought != NULL)
        return refuse(talk->refusal, BROKEN_FIELD, "reasoning that is no text");
    if (json_is_string(content)) {
        put_filled(&saying->content, talk->options, content);
        return true;
    }
    if (content == NULL && json_array_size(saying->calls) > 0)
        return true;
    if (content == NULL)
        return refuse(talk->refusal, BROKEN_FIELD, "a message of role %s without content", role_names[role]);
    if (!json_is_array(content))
        return refuse(talk->refusal, BROKEN_FIELD, "content of role %s is neither a text nor a list of parts", role_names[role]);
    for (size_t i = 0; i < json_array_size(content); i++)
        if (!put_part(talk, saying, json_array_get(content, i)))
            return false;
    return true;
}

/* ---- messages ---- */

static void put_message(struct talk *talk, json_t *message, int loss)
{
    int count = (int)json_array_size(talk->messages);
    MEMORY_ROOM(talk->loss, count, talk->room);
    talk->loss[count] = (signed char)loss;
    json_array_append_new(talk->messages, message);
}

static void put_said(struct talk *talk, enum role role, struct saying *saying, const json_t *message, int loss)
{
    static const char *const kept[] = { "name", "tool_call_id" };
    json_t *made = json_object();
    json_object_set_new(made, "role", json_string(role_names[role]));
    if (saying->thought.length > 0 && !talk->options->knows_reasoning) {
        struct letters both = { 0 };
        letters_put(&both, "<think>\n", 8);
        letters_put(&both, saying->thought.bytes, saying->thought.length);
        letters_put(&both, "\n</think>\n\n", 11);
        if (saying->content.length > 0)
            letters_put(&both, saying->content.bytes, saying->content.length);
        free(saying->content.bytes);
        free(saying->thought.bytes);
        saying->content = both;
        saying->thought = (struct letters){ 0 };
    }
    json_object_set_new(made, "content", letters_json(&saying->content));
    if (saying->thought.length > 0)
        json_object_set_new(made, "reasoning_content", letters_json(&saying->thought));
    if (json_array_size(saying->calls) > 0)
        json_object_set(made, "tool_calls", saying->calls);
    for (int i = 0; i < ELEMENTS_OF(kept); i++)
        if (json_is_string(json_object_get(message, kept[i])))
            json_object_set(made, kept[i], json_object_get(message, kept[i]));
    put_message(talk, made, loss);
}

/* loss, loss_weight, weight or train of a message: 0 or 1. */
static bool read_loss(struct talk *talk, const json_t *message, enum role role, int *loss)
{
    static const char *const fields[] = { "loss", "loss_weight", "weight", "train", NULL };
    const char *name;
    const json_t *field = field_find(message, fields, &name);
    if (field == NULL)
        return true;
    double weight = json_is_boolean(field) ? json_is_true(field) : json_is_number(field) ? json_number_value(field) : -1.0;
    if (weight != 0.0 && weight != 1.0)
        return refuse(talk->refusal, BROKEN_LOSS, "%s of a message is neither 0 nor 1", name);
    bool assistant = role == ROLE_ASSISTANT || role == ROLE_CALL;
    if (weight == 1.0 && !assistant)
        return refuse(talk->refusal, BROKEN_LOSS, "%s of a message of role %s is 1: only what the assistant says is learned", name,
                      role_names[role]);
    *loss = weight == 1.0 ? LOSS_YES : LOSS_NO;
    return true;
}

/* {"human": "...", "assistant": "..."} */
static bool put_pair(struct talk *talk, const json_t *pair, int loss)
{
    static const char *const asks[] = { "human", "user", "question", NULL }, *const answers[] = { "assistant", "gpt", "bot", "answer",
                                                                                                  NULL };
    const json_t *ask = field_find(pair, asks, NULL), *answer = field_find(pair, answers, NULL);
    if (ask == NULL || answer == NULL)
        return refuse(talk->refusal, BROKEN_FIELD, "a message without a role");
    return talk_add(talk, "user", ask, LOSS_UNSAID) && talk_add(talk, "assistant", answer, loss);
}

bool talk_add(struct talk *talk, const char *role, const json_t *content, int loss)
{
    struct saying saying = { 0 };
    enum role known = role_find(talk->options, role);
    ASSERT(known != ROLE_UNKNOWN);
    if (!json_is_string(content))
        return refuse(talk->refusal, BROKEN_FIELD, "what the %s says is no text", role);
    put_filled(&saying.content, talk->options, content);
    put_said(talk, known, &saying, NULL, loss);
    return true;
}

bool talk_begin(struct talk *talk, const json_t *content)
{
    if (!talk_add(talk, "system", content, LOSS_UNSAID))
        return false;
    size_t last = json_array_size(talk->messages) - 1;
    json_t *message = json_incref(json_array_get(talk->messages, last));
    json_array_remove(talk->messages, last);
    json_array_insert_new(talk->messages, 0, message);
    memmove(talk->loss + 1, talk->loss, last);
    talk->loss[0] = LOSS_UNSAID;
    return true;
}

bool talk_message(struct talk *talk, const json_t *message, int loss)
{
    const json_t *name = message_field(talk, message, "role", role_fields);
    if (!json_is_object(message))
        return refuse(talk->refusal, BROKEN_FIELD, "a message that is no object");
    if (name == NULL)
        return put_pair(talk, message, loss);
    if (!json_is_string(name))
        return refuse(talk->refusal, BROKEN_ROLE, "a role that is no text");
    enum role role = role_find(talk->options, json_string_value(name));
    if (role == ROLE_UNKNOWN)
        return refuse(talk->refusal, BROKEN_ROLE, "the role \"%.60s\" is not known; --role assistant=... says what it is",
                      json_string_value(name));
    struct saying saying = { .calls = json_array() };
    bool good = gather(talk, &saying, message, role) && read_loss(talk, message, role, &loss);
    if (good)
        put_said(talk, role, &saying, message, loss);
    free(saying.content.bytes);
    free(saying.thought.bytes);
    json_decref(saying.calls);
    return good;
}

bool talk_messages(struct talk *talk, const json_t *list, const char *what, int loss)
{
    if (!json_is_array(list))
        return refuse(talk->refusal, BROKEN_FIELD, "%s is no list of messages", what);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!talk_message(talk, json_array_get(list, i), loss))
            return false;
    return true;
}

void talk_close(struct talk *talk)
{
    json_decref(talk->messages);
    free(talk->loss);
    talk->messages = NULL;
    talk->loss = NULL;
}

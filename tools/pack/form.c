/* form.c: which form a row has; see form.h. */
#include "tools/pack/form_inside.h"

#include "tools/pack/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { ROW_FLAGS = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY };

static const char *const list_fields[] = { "messages", "conversations", "conversation", "dialogue", NULL };
static const char *const ask_fields[] = { "instruction", "query", "prompt", "question", "problem", NULL };
static const char *const answer_fields[] = { "output", "response", "completion", "answer", "solution", NULL };
static const char *const text_fields[] = { "text", "content", "document", NULL };
static const char *const system_fields[] = { "system", "system_prompt", NULL };
static const char *const tools_fields[] = { "tools", "functions", NULL };
static const char *const label_fields[] = { "label", "kto_tag", NULL };

static struct example *example_put(struct examples *examples, enum example_kind kind)
{
    MEMORY_ROOM(examples->example, examples->count, examples->room);
    struct example *example = &examples->example[examples->count++];
    *example = (struct example){ .kind = kind };
    return example;
}

void examples_close(struct examples *examples)
{
    for (int i = 0; i < examples->count; i++) {
        struct example *example = &examples->example[i];
        json_decref(example->messages);
        json_decref(example->tools);
        json_decref(example->text);
        json_decref(example->ids);
        json_decref(example->labels);
        free(example->loss);
    }
    free(examples->example);
    *examples = (struct examples){ 0 };
}

/* ---- conversations ---- */

/* The row's system message, or the option's, goes before the rest unless that begins with one. */
static bool put_system(struct talk *talk, const json_t *row)
{
    const json_t *role = json_object_get(json_array_get(talk->messages, 0), "role"), *system = field_find(row, system_fields, NULL);
    if (system != NULL && !json_is_string(system))
        return refuse(talk->refusal, BROKEN_FIELD, "system is no text");
    if (role == NULL || strcmp(json_string_value(role), "system") == 0)
        return true;
    if (system != NULL && json_string_length(system) > 0)
        return talk_begin(talk, system);
    if (talk->options->system == NULL)
        return true;
    json_t *option = json_string_nocheck(talk->options->system);
    bool good = talk_begin(talk, option);
    json_decref(option);
    return good;
}

/* Hands what was said over to a new example. */
static bool put_talk(struct talk *talk, const json_t *row, struct examples *examples, bool chosen)
{
    json_t *tools;
    if (!put_system(talk, row))
        return false;
    if (!talk_tools(talk, field_find(row, tools_fields, NULL), &tools))
        return false;
    if (talk->has_calls && talk->as_reals) {
        json_decref(tools);
        return refuse(talk->refusal, BROKEN_JSON, "a whole number beyond 64 bits, in a row with tools");
    }
    struct example *example = example_put(examples, EXAMPLE_CHAT);
    example->messages = talk->messages;
    example->loss = talk->loss;
    example->tools = tools;
    example->chosen = chosen;
    talk->messages = NULL;
    talk->loss = NULL;
    return true;
}

/* The better answer: a message, a list of them (the end of the conversation, or all of it), or a text. */
static bool put_chosen(struct talk *talk, const json_t *chosen)
{
    if (json_is_string(chosen))
        return talk_add(talk, "assistant", chosen, LOSS_UNSAID);
    if (json_is_object(chosen))
        return talk_message(talk, chosen, LOSS_UNSAID);
    return talk_messages(talk, chosen, "chosen", LOSS_UNSAID);
}

static bool read_list(struct talk *talk, const json_t *row, const json_t *list, const char *what, struct examples *examples)
{
    static const char *const rejected_fields[] = { "rejected", "rejected_response", NULL };
    const json_t *chosen = json_object_get(row, "chosen");
    if (!json_is_array(list))
        return refuse(talk->refusal, BROKEN_FIELD, "%s is no list of messages", what);
    if (json_array_size(list) == 0)
        return refuse(talk->refusal, DROPPED_EMPTY, "%s is an empty list", what);
    if (!talk_messages(talk, list, what, LOSS_UNSAID))
        return false;
    if (chosen != NULL && !json_is_null(chosen) && !put_chosen(talk, chosen))
        return false;
    return put_talk(talk, row, examples, field_find(row, rejected_fields, NULL) != NULL);
}

/* prompt and completion, both lists: what was said before is not learned. */
static bool read_prompt_list(struct talk *talk, const json_t *row, const json_t *prompt, const json_t *completion, bool chosen,
                             struct examples *examples)
{
    return talk_messages(talk, prompt, "prompt", LOSS_NO) && talk_messages(talk, completion, chosen ? "chosen" : "completion", LOSS_YES) &&
           put_talk(talk, row, examples, chosen);
}

static bool read_history(struct talk *talk, const json_t *history)
{
    if (history == NULL || json_is_null(history))
        return true;
    if (!json_is_array(history))
        return refuse(talk->refusal, BROKEN_FIELD, "history is no list of pairs");
    for (size_t i = 0; i < json_array_size(history); i++) {
        const json_t *pair = json_array_get(history, i);
        if (!json_is_array(pair) || json_array_size(pair) != 2)
            return refuse(talk->refusal, BROKEN_FIELD, "history has an entry that is no pair");
        if (!talk_add(talk, "user", json_array_get(pair, 0), LOSS_UNSAID) ||
            !talk_add(talk, "assistant", json_array_get(pair, 1), LOSS_UNSAID))
            return false;
    }
    return true;
}

/* One question, its input on a line of its own behind it, one answer. */
static bool put_pair(struct talk *talk, const json_t *ask, const json_t *input, const json_t *answer)
{
    if (!json_is_string(ask))
        return refuse(talk->refusal, BROKEN_FIELD, "the question is no text");
    if (input != NULL && !json_is_null(input) && !json_is_string(input))
        return refuse(talk->refusal, BROKEN_FIELD, "input is no text");
    json_t *both;
    if (json_string_length(input) == 0)
        both = json_incref((json_t *)(uintptr_t)ask);
    else if (json_string_length(ask) == 0)
        both = json_incref((json_t *)(uintptr_t)input);
    else {
        size_t length = json_string_length(ask) + 1 + json_string_length(input);
        char *bytes = memory_take(length);
        memcpy(bytes, json_string_value(ask), json_string_length(ask));
        bytes[json_string_length(ask)] = '\n';
        memcpy(bytes + json_string_length(ask) + 1, json_string_value(input), json_string_length(input));
        both = json_stringn_nocheck(bytes, length);
        free(bytes);
    }
    bool good = talk_add(talk, "user", both, LOSS_UNSAID) && talk_add(talk, "assistant", answer, LOSS_UNSAID);
    json_decref(both);
    return good;
}

static bool read_pair(struct talk *talk, const json_t *row, const json_t *ask, const json_t *answer, bool chosen, struct examples *examples)
{
    const json_t *input = json_object_get(row, "input");
    if (!read_history(talk, json_object_get(row, "history")))
        return false;
    return put_pair(talk, ask, ask == input ? NULL : input, answer) && put_talk(talk, row, examples, chosen);
}

static bool read_instances(struct talk *talk, const json_t *row, const json_t *instances, struct examples *examples)
{
    const json_t *ask = json_object_get(row, "instruction");
    if (!json_is_array(instances) || json_array_size(instances) == 0)
        return refuse(talk->refusal, BROKEN_FIELD, "instances is no list with something in it");
    for (size_t i = 0; i < json_array_size(instances); i++) {
        const json_t *instance = json_array_get(instances, i), *answer = json_object_get(instance, "output");
        talk->messages = talk->messages != NULL ? talk->messages : json_array();
        if (i > 0)
            talk->room = 0;
        if (answer == NULL)
            return refuse(talk->refusal, BROKEN_FIELD, "an instance without output");
        if (!put_pair(talk, ask, json_object_get(instance, "input"), answer) || !put_talk(talk, row, examples, false))
            return false;
    }
    return true;
}

/* ---- rows ---- */

static bool refuse_form(const json_t *row, struct refusal *refusal)
{
    char names[140] = "";
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)row, name, value)
    {
        size_t used = strlen(names);
        if (used < sizeof names - 4)
            snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", name);
    }
    return refuse(refusal, BROKEN_FORM, "its fields are: %s; --map says what they are", names[0] != '\0' ? names : "none");
}

static bool read_tokens(const json_t *row, struct examples *examples, struct refusal *refusal)
{
    json_t *ids = json_object_get(row, "input_ids"), *labels = json_object_get(row, "labels");
    if (!json_is_array(ids) || (labels != NULL && !json_is_null(labels) && !json_is_array(labels)))
        return refuse(refusal, BROKEN_TOKENS, "input_ids or labels is no list");
    struct example *example = example_put(examples, EXAMPLE_TOKENS);
    example->ids = json_incref(ids);
    example->labels = json_is_array(labels) ? json_incref(labels) : NULL;
    return true;
}

static bool read_text(json_t *text, struct examples *examples, struct refusal *refusal)
{
    if (!json_is_string(text))
        return refuse(refusal, BROKEN_FIELD, "the text is no text");
    example_put(examples, EXAMPLE_TEXT)->text = json_incref(text);
    return true;
}

static bool read_row(struct talk *talk, const json_t *row, struct examples *examples)
{
    const char *what = "", *ask_name = "";
    const json_t *list = field_find(row, list_fields, &what), *instances = json_object_get(row, "instances");
    const json_t *ask = field_find(row, ask_fields, &ask_name), *answer = field_find(row, answer_fields, NULL);
    const json_t *chosen = json_object_get(row, "chosen"), *label = field_find(row, label_fields, NULL);
    if (json_object_get(row, "input_ids") != NULL)
        return read_tokens(row, examples, talk->refusal);
    json_t *text = field_find(row, text_fields, NULL);
    bool talks = list != NULL || (ask != NULL && (answer != NULL || chosen != NULL));
    if (talks && json_is_false(label))
        return refuse(talk->refusal, DROPPED_UNWANTED, "its label is false");
    if (list != NULL)
        return read_list(talk, row, list, what, examples);
    for (const char *const *name = list_fields; *name != NULL; name++)
        if (json_object_get(row, *name) != NULL && text == NULL && ask == NULL)
            return refuse(talk->refusal, BROKEN_FIELD, "%s is null", *name);
    if (json_is_array(ask) && strcmp(ask_name, "prompt") == 0 && (json_is_array(answer) || json_is_array(chosen)))
        return read_prompt_list(talk, row, ask, json_is_array(answer) ? answer : chosen, !json_is_array(answer), examples);
    if (json_is_array(chosen) && ask == NULL)
        return talk_messages(talk, chosen, "chosen", LOSS_UNSAID) && put_talk(talk, row, examples, true);
    if (instances != NULL && ask != NULL)
        return read_instances(talk, row, instances, examples);
    if (ask == NULL && answer != NULL && json_object_get(row, "input") != NULL)
        ask = json_object_get(row, "input");
    if (ask != NULL && answer != NULL)
        return read_pair(talk, row, ask, answer, false, examples);
    if (ask != NULL && json_is_string(chosen))
        return read_pair(talk, row, ask, chosen, true, examples);
    if (text != NULL)
        return read_text(text, examples, talk->refusal);
    json_t *response = json_object_get(row, "response");
    if (ask == NULL && response != NULL && !json_is_null(response))
        return read_text(response, examples, talk->refusal);
    if (ask != NULL)
        return refuse(talk->refusal, BROKEN_FORM, "a question (%s) without an answer", ask_name);
    return refuse_form(row, talk->refusal);
}

/* Only the fields that --map names, under our names. */
static json_t *mapped(const struct form_options *options, const json_t *row)
{
    json_t *made = json_object();
    for (int i = 0; i < options->maps; i++) {
        json_t *field = json_object_get(row, options->map[i].right);
        if (field != NULL)
            json_object_set(made, options->map[i].left, field);
    }
    return made;
}

static bool refuse_json(struct refusal *refusal, const json_error_t *error)
{
    refusal->line = error->line;
    refusal->column = error->column;
    bool unicode = strstr(error->text, "unable to decode") != NULL || strstr(error->text, "Unicode") != NULL;
    return refuse(refusal, unicode ? BROKEN_UNICODE : BROKEN_JSON, "%s", error->text);
}

bool form_read(const struct form_options *options, const char *data, size_t bytes, struct examples *examples, struct refusal *refusal)
{
    json_error_t error;
    struct talk talk = { .options = options, .refusal = refusal };
    json_t *row = json_loadb(data, bytes, ROW_FLAGS, &error);
    if (row == NULL && json_error_code(&error) == json_error_numeric_overflow) {
        talk.as_reals = true;
        row = json_loadb(data, bytes, ROW_FLAGS | JSON_DECODE_INT_AS_REAL, &error);
    }
    if (row == NULL)
        return refuse_json(refusal, &error);
    bool good;
    if (!json_is_object(row)) {
        good = refuse(refusal, BROKEN_OBJECT, "a row is an object with fields");
    } else {
        json_t *read = options->maps > 0 ? mapped(options, row) : json_incref(row);
        talk.messages = json_array();
        good = options->maps > 0 && json_object_size(read) == 0 ? refuse_form(row, refusal) : read_row(&talk, read, examples);
        json_decref(read);
    }
    talk_close(&talk);
    json_decref(row);
    return good;
}

bool form_read_text(const char *data, size_t bytes, struct examples *examples, struct refusal *refusal)
{
    int32_t character;
    for (size_t at = 0; at < bytes;) {
        utf8proc_ssize_t length = utf8proc_iterate((const uint8_t *)data + at, (utf8proc_ssize_t)(bytes - at), &character);
        if (length <= 0) {
            refusal->line = 1;
            refusal->column = (int)(at + 1);
            return refuse(refusal, BROKEN_UNICODE, "byte 0x%02x cannot stand there", (unsigned char)data[at]);
        }
        at += (size_t)length;
    }
    example_put(examples, EXAMPLE_TEXT)->text = json_stringn_nocheck(data, bytes);
    return true;
}

/* jinja_given.c: the variables that a rendering begins with, from JSON; here every text gets its origin. */
#include "tools/pack/jinja_value.h"

static struct value from_json(struct pool *pool, const json_t *json, uint32_t origin)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT: {
        struct dict *dict = dict_new(pool);
        const char *key;
        json_t *item;
        json_object_foreach((json_t *)(uintptr_t)json, key, item)
            dict_set(pool, dict, value_text(pool, key, strlen(key)), from_json(pool, item, origin));
        return value_dict(dict);
    }
    case JSON_ARRAY: {
        struct list *list = list_new(pool, (int64_t)json_array_size(json));
        for (int64_t i = 0; i < list->count; i++)
            list->item[i] = from_json(pool, json_array_get(json, (size_t)i), origin);
        return value_list(list);
    }
    case JSON_STRING: {
        struct text *text = pool_take(pool, sizeof *text);
        text->length = (uint32_t)json_string_length(json);
        text->bytes = pool_copy(pool, json_string_value(json), text->length);
        if (origin != ORIGIN_TEMPLATE) {
            struct run *run = pool_take(pool, sizeof *run);
            *run = (struct run){ 0, origin };
            text->run = run;
            text->runs = 1;
        }
        return value_of_text(text);
    }
    case JSON_INTEGER:
        return value_int(json_integer_value(json));
    case JSON_REAL:
        return value_float(json_real_value(json));
    case JSON_TRUE:
    case JSON_FALSE:
        return value_bool(json_is_true(json));
    case JSON_NULL:
        break;
    }
    return value_none();
}

/* What a message says is in three fields; its role and all others only describe it. */
static enum origin_part part_of(const char *field)
{
    if (strcmp(field, "content") == 0)
        return ORIGIN_CONTENT;
    if (strcmp(field, "reasoning_content") == 0)
        return ORIGIN_THOUGHT;
    return strcmp(field, "tool_calls") == 0 ? ORIGIN_CALL : ORIGIN_ROLE;
}

static struct value message_from_json(struct pool *pool, const json_t *json, uint32_t message)
{
    struct dict *dict = dict_new(pool);
    const char *key;
    json_t *item;
    json_object_foreach((json_t *)(uintptr_t)json, key, item)
    {
        uint32_t origin = ORIGIN(message, part_of(key));
        dict_set(pool, dict, value_text(pool, key, strlen(key)), from_json(pool, item, origin));
    }
    dict->message = message;
    return value_dict(dict);
}

void jinja_set(struct jinja_scope *scope, const char *name, const json_t *json, uint32_t origin, bool messages)
{
    struct value value;
    if (messages) {
        struct list *list = list_new(scope->pool, (int64_t)json_array_size(json));
        for (int64_t i = 0; i < list->count; i++)
            list->item[i] = message_from_json(scope->pool, json_array_get(json, (size_t)i), (uint32_t)i + 1);
        value = value_list(list);
    } else {
        value = from_json(scope->pool, json, origin);
    }
    dict_set(scope->pool, scope->variables, value_text(scope->pool, name, strlen(name)), value);
}

/* known.c: see known.h. Build host. */
#include "tools/pack/known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 80 };

const char *json_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

bool json_truth(const json_t *object, const char *key, bool fallback)
{
    json_t *value = json_object_get(object, key);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

bool json_is_character(const char *text)
{
    int characters = 0;
    for (; *text != '\0' && characters < 2; text++)
        characters += ((unsigned char)*text & 0xc0) != 0x80;
    return characters == 1;
}

static int type_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        return KNOWN_TEXT;
    case JSON_TRUE:
    case JSON_FALSE:
        return KNOWN_TRUTH;
    case JSON_INTEGER:
        return KNOWN_WHOLE;
    case JSON_REAL:
        return KNOWN_REAL;
    case JSON_ARRAY:
        return KNOWN_ARRAY;
    case JSON_OBJECT:
        return KNOWN_OBJECT;
    default:
        return KNOWN_NULL;
    }
}

/* The types as words: "true or false, or null". */
static const char *types_text(int types, char *text, size_t room)
{
    static const char *const names[] = { "a text", "true or false", "a whole number", "a number", "an array", "an object", "null" };
    size_t at = 0;
    for (int64_t i = 0; i < ELEMENTS_OF(names) && at < room; i++)
        if ((types & 1 << i) != 0)
            at += (size_t)snprintf(text + at, room - at, "%s%s", at > 0 ? ", or " : "", names[i]);
    return text;
}

/* A value as the file writes it, for messages. */
static char *shown(const json_t *value)
{
    char *text = value == NULL ? strdup("missing") : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    return text == NULL ? strdup("?") : text;
}

static enum status not_an_object(const char *path, const char *where, const json_t *value)
{
    char *seen = shown(value);
    enum status status = fail(E_DATA, "%s: %s is %.*s; right is an object", path, where, SHOWN, seen);
    free(seen);
    return status;
}

/* Whether objects of this type have the key. A name begins the list or stands behind a space: Replace is not in "MyReplace ". */
static bool has_key(const struct known *known, const char *type)
{
    size_t size = strlen(type);
    for (const char *at = known->of; at != NULL && *at != '\0'; at = strchr(at, ' ') + 1)
        if (strncmp(at, type, size) == 0 && at[size] == ' ')
            return true;
    return known->of == NULL;
}

/* The names of the keys: "type, prepend". */
static const char *keys_text(const struct known *known, int64_t count, const char *type, char *text, size_t room)
{
    size_t at = 0;
    for (int64_t i = 0; i < count && at < room; i++)
        if (has_key(&known[i], type))
            at += (size_t)snprintf(text + at, room - at, "%s%s", at > 0 ? ", " : "", known[i].key);
    return text;
}

enum status known_keys(const char *path, const char *where, const json_t *object, const struct known *known, int64_t count)
{
    const char *key;
    json_t *value;
    char right[400];
    const char *type = json_text(object, "type");
    type = type == NULL ? "" : type;
    if (!json_is_object(object))
        return not_an_object(path, where, object);
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        int64_t i = 0;
        while (i < count && (strcmp(known[i].key, key) != 0 || !has_key(&known[i], type)))
            i++;
        if (i < count && (known[i].types & type_of(value)) != 0)
            continue;
        char *seen = shown(value);
        enum status status = i == count ? fail(E_DATA, "%s: %s.%.*s is %.*s: a key that is not known%s%.*s may change the ids; known are %s", path,
                                               where, SHOWN, key, SHOWN, seen, type[0] == '\0' ? "" : " for ", SHOWN, type,
                                               keys_text(known, count, type, right, sizeof right))
                                        : fail(E_DATA, "%s: %s.%s is %.*s; right is %s", path, where, key, SHOWN, seen,
                                               types_text(known[i].types, right, sizeof right));
        free(seen);
        return status;
    }
    for (int64_t i = 0; i < count; i++)
        if ((known[i].types & KNOWN_NEEDED) != 0 && has_key(&known[i], type) && json_object_get(object, known[i].key) == NULL)
            return fail(E_DATA, "%s: %s.%s is missing; right is %s", path, where, known[i].key, types_text(known[i].types, right, sizeof right));
    return OK;
}

enum status known_type(const char *path, const char *where, const json_t *object, const char *types, const char **type)
{
    if (!json_is_object(object))
        return not_an_object(path, where, object);
    *type = json_text(object, "type");
    size_t size = *type == NULL ? 0 : strlen(*type);
    for (const char *at = types; size > 0 && at != NULL; at = strstr(at, ", "), at = at == NULL ? NULL : at + 2)
        if (strncmp(at, *type, size) == 0 && (at[size] == ',' || at[size] == '\0'))
            return OK;
    char *seen = shown(json_object_get(object, "type"));
    enum status status = fail(E_DATA, "%s: %s.type is %.*s; supported are %s", path, where, SHOWN, seen, types);
    free(seen);
    return status;
}

void known_part(char part[WHERE_BYTES], const char *where, const char *list, size_t index)
{
    snprintf(part, WHERE_BYTES, "%.200s.%s[%zu]", where, list, index);
}

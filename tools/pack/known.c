/* known.c: see known.h. Build host. */
#include "tools/pack/known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 80 };

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
    const char *type = json_string_value(json_object_get(object, "type"));
    type = type == NULL ? "" : type;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        int64_t i = 0;
        while (i < count && (strcmp(known[i].key, key) != 0 || !has_key(&known[i], type)))
            i++;
        if (i < count && (known[i].types & type_of(value)) != 0)
            continue;
        char *seen = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        enum status status = i == count ? fail(E_DATA, "%s: %s.%.*s is %.*s: a key that is not known%s%.*s may change the ids; known are %s", path,
                                               where, SHOWN, key, SHOWN, seen == NULL ? "?" : seen, type[0] == '\0' ? "" : " for ", SHOWN, type,
                                               keys_text(known, count, type, right, sizeof right))
                                        : fail(E_DATA, "%s: %s.%s is %.*s; right is %s", path, where, key, SHOWN, seen == NULL ? "?" : seen,
                                               types_text(known[i].types, right, sizeof right));
        free(seen);
        return status;
    }
    return OK;
}

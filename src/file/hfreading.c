/* hfreading.c: see hfreading.h. Build host and boot. */
#include "file/hfreading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MOST = 1 << 30, SHOWN = 70 };

void reading_refuse(struct reading *reading, const char *key, const json_t *value, const char *right)
{
    if (reading->status != OK)
        return;
    char *text = value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    reading->status = fail(E_DATA, "%s: \"%s\" is %.*s; %s", reading->path, key, SHOWN, text == NULL ? "absent" : text, right);
    free(text);
}

void reading_default(const struct reading *reading, const char *key, const char *default_text)
{
    if (!reading->quiet)
        note("%s: no \"%s\": the family's default, %s, is taken", reading->path, key, default_text);
}

json_t *reading_value(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

int64_t reading_count(struct reading *reading, const char *key, int64_t least, int64_t fallback)
{
    json_t *value = reading_value(reading->root, key);
    if (value == NULL && fallback >= 0)
        return fallback;
    if (!json_is_integer(value) || json_integer_value(value) < least || json_integer_value(value) > COUNT_MOST) {
        reading_refuse(reading, key, json_object_get(reading->root, key),
                       least > 0 ? "a whole number from 1 to 2^30 is right" : "a whole number from 0 to 2^30 is right");
        return 1;
    }
    return json_integer_value(value);
}

double reading_number(struct reading *reading, const json_t *object, const char *key, double fallback)
{
    json_t *value = reading_value(object, key);
    if (value == NULL && !isnan(fallback))
        return fallback;
    double number = json_is_number(value) ? json_number_value(value) : NAN;
    if (!isfinite(number) || !(number > 0.0)) {
        reading_refuse(reading, key, json_object_get(object, key), "a number above 0 is right");
        return 1.0;
    }
    return number;
}

bool reading_truth(struct reading *reading, const json_t *object, const char *key, bool fallback)
{
    json_t *value = reading_value(object, key);
    if (value == NULL)
        return fallback;
    if (!json_is_boolean(value))
        reading_refuse(reading, key, value, "true or false is right");
    return json_is_true(value);
}

void reading_unsupported(struct reading *reading, const json_t *object, const char *key, const char *harmless)
{
    json_t *value = reading_value(object, key), *right = json_loads(harmless, JSON_DECODE_ANY, NULL);
    char text[96];
    ASSERT(right != NULL);
    bool same = value == NULL || json_equal(value, right) ||
                (json_is_number(value) && json_is_number(right) && json_number_value(value) == json_number_value(right));
    json_decref(right);
    snprintf(text, sizeof text, "that is not supported; %s is", harmless);
    if (!same)
        reading_refuse(reading, key, value, text);
}

/* hfrope.c: rotary positions of config.json (hfreading.h). Build host and boot.
 *
 * Older files have rope_theta at the top and the scaling in rope_scaling; newer ones have both in rope_parameters. transformers takes rope_scaling
 * before rope_parameters, what is nested before the top, and "rope_type" before "type". (1) Where two places state one thing differently the file is
 * refused: its author meant one of them. */
#include "file/hfreading.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The keys that a scaling may have; one that is not here may change the arithmetic. */
static const char *const known[] = {
    "rope_type", "type", "rope_theta", "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings", "attention_factor",
    "beta_fast", "beta_slow", "truncate", "mscale", "mscale_all_dim", "partial_rotary_factor",
};

static bool is_known(const char *key)
{
    for (int64_t i = 0; i < ELEMENTS_OF(known); i++)
        if (strcmp(key, known[i]) == 0)
            return true;
    return false;
}

/* The object that states the scaling; NULL: none does. */
static json_t *find_scaling(struct reading *reading)
{
    json_t *scaling = reading_value(reading->root, "rope_scaling"), *parameters = reading_value(reading->root, "rope_parameters"), *value;
    const char *key;
    if (scaling != NULL && !json_is_object(scaling))
        reading_refuse(reading, "rope_scaling", scaling, "an object or null is right");
    if (parameters != NULL && !json_is_object(parameters))
        reading_refuse(reading, "rope_parameters", parameters, "an object is right");
    bool both = json_object_size(scaling) > 0 && json_object_size(parameters) > 0;
    if (both && !json_equal(scaling, parameters))
        reading_refuse(reading, "rope_scaling", scaling, "rope_parameters says otherwise; one of the two is wrong");
    json_t *stated = json_object_size(scaling) > 0 ? scaling : parameters;
    json_object_foreach(stated, key, value)
        if (!json_is_null(value) && !is_known(key))
            reading_refuse(reading, key, value, "a rotary scaling with that key is not supported");
    reading_unsupported(reading, stated, "partial_rotary_factor", "1.0");
    return stated;
}

static enum hfconfig_rope kind_of(struct reading *reading, const json_t *scaling)
{
    static const char *const names[HFCONFIG_ROPE_KINDS] = { "default", "linear", "llama3", "yarn" };
    json_t *newer = reading_value(scaling, "rope_type"), *older = reading_value(scaling, "type"), *type = newer != NULL ? newer : older;
    if (newer != NULL && older != NULL && !json_equal(newer, older))
        reading_refuse(reading, "rope_type", newer, "\"type\" says otherwise; one of the two is wrong");
    if (type == NULL)
        return HFCONFIG_ROPE_NONE;
    for (int i = 0; i < HFCONFIG_ROPE_KINDS; i++)
        if (json_is_string(type) && strcmp(json_string_value(type), names[i]) == 0)
            return (enum hfconfig_rope)i;
    reading_refuse(reading, newer != NULL ? "rope_type" : "type", type, "\"default\", \"linear\", \"llama3\" and \"yarn\" are supported");
    return HFCONFIG_ROPE_NONE;
}

/* What may stand at the top or in the scaling. */
static double number_of_two(struct reading *reading, const json_t *scaling, const char *key, double fallback)
{
    json_t *top = reading_value(reading->root, key), *nested = reading_value(scaling, key);
    double number = reading_number(reading, nested != NULL ? scaling : reading->root, key, fallback);
    if (top != NULL && nested != NULL && json_number_value(top) != json_number_value(nested))
        reading_refuse(reading, key, top, "the rotary scaling has another value; one of the two is wrong");
    if (top == NULL && nested == NULL) {
        char text[40];
        snprintf(text, sizeof text, "%.9g", fallback);
        reading_default(reading, key, text);
    }
    return number;
}

void reading_rope(struct reading *reading, struct model_shape *shape)
{
    json_t *scaling = find_scaling(reading);
    shape->rope = kind_of(reading, scaling);
    shape->rope_theta = number_of_two(reading, scaling, "rope_theta", 10000.0);
    shape->rope_factor = shape->rope_low_frequency_factor = shape->rope_high_frequency_factor = 1.0;
    shape->rope_original_positions = (double)shape->positions;
    shape->rope_beta_fast = 32.0;
    shape->rope_beta_slow = 1.0;
    shape->rope_truncate = true;
    if (shape->rope == HFCONFIG_ROPE_NONE)
        return;
    shape->rope_factor = reading_number(reading, scaling, "factor", NAN);
    if (shape->rope_factor < 1.0)
        reading_refuse(reading, "factor", reading_value(scaling, "factor"), "at least 1 is right");
    if (shape->rope == HFCONFIG_ROPE_LINEAR)
        return;
    shape->rope_original_positions = number_of_two(reading, scaling, "original_max_position_embeddings", (double)shape->positions);
    if (shape->rope == HFCONFIG_ROPE_LLAMA3) {
        shape->rope_low_frequency_factor = reading_number(reading, scaling, "low_freq_factor", NAN);
        shape->rope_high_frequency_factor = reading_number(reading, scaling, "high_freq_factor", NAN);
        if (shape->rope_high_frequency_factor <= shape->rope_low_frequency_factor)
            reading_refuse(reading, "high_freq_factor", reading_value(scaling, "high_freq_factor"), "more than low_freq_factor is right");
        return;
    }
    reading_unsupported(reading, scaling, "mscale", "null");
    reading_unsupported(reading, scaling, "mscale_all_dim", "null");
    shape->rope_beta_fast = reading_number(reading, scaling, "beta_fast", 32.0);
    shape->rope_beta_slow = reading_number(reading, scaling, "beta_slow", 1.0);
    if (shape->rope_beta_fast < shape->rope_beta_slow)
        reading_refuse(reading, "beta_fast", reading_value(scaling, "beta_fast"), "at least beta_slow is right");
    shape->rope_attention_factor = reading_number(reading, scaling, "attention_factor", 0.0);
    shape->rope_truncate = reading_truth(reading, scaling, "truncate", true);
}

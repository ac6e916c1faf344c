/* job.c: see job.h. Phase: boot.
 *
 * (1) One table says name, kind and range of every key; nothing else knows them. (2) Every refusal names file, line and key. */
#include "boot/job.h"

#include <inttypes.h>
#include <libconfig.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot/jobtext.h"

enum kind { PATH, REAL, WHOLE_64, WHOLE_32, FLAG, SCHEDULE, STORED_AS };
enum { WORDS_MOST = 4, KEYS_MOST = 32 };

struct key {
    const char *name;
    enum kind kind;
    size_t offset;                      /* in struct job */
    double least, most;
    bool above;                         /* least itself is not allowed */
    const char *words[WORDS_MOST];
};

#define AT(field) offsetof(struct job, field)
static const struct key keys[] = {
    { "model",          PATH,      AT(model),                0,     0,         false, { NULL } },
    { "data",           PATH,      AT(data),                 0,     0,         false, { NULL } },
    { "held_out",       PATH,      AT(held_out),             0,     0,         false, { NULL } },
    { "output",         PATH,      AT(output),               0,     0,         false, { NULL } },
    { "start",          FLAG,      AT(start_random),         0,     0,         false, { "checkpoint", "random" } },
    { "epochs",         REAL,      AT(epochs),               0,     1e6,       true,  { NULL } },
    { "steps",          WHOLE_64,  AT(steps),                1,     1e12,      false, { NULL } },
    { "learning_rate",  REAL,      AT(learning_rate),        0,     10,        true,  { NULL } },
    { "schedule",       SCHEDULE,  AT(schedule),             0,     0,         false, { "constant", "linear", "cosine", "wsd" } },
    { "floor",          REAL,      AT(floor),                0,     1,         false, { NULL } },
    { "warmup_ratio",   REAL,      AT(warmup_ratio),         0,     1,         false, { NULL } },
    { "warmup_steps",   WHOLE_64,  AT(warmup_steps),         0,     1e12,      false, { NULL } },
    { "decay_ratio",    REAL,      AT(decay_ratio),          0,     1,         true,  { NULL } },
    { "beta1",          REAL,      AT(beta1),                0,     0.9999999, false, { NULL } },     /* below 1 in fp32 as well */
    { "beta2",          REAL,      AT(beta2),                0,     0.9999999, false, { NULL } },
    { "epsilon",        REAL,      AT(epsilon),              1e-30, 1,         false, { NULL } },     /* above 0 in fp32 as well */
    { "weight_decay",   REAL,      AT(weight_decay),         0,     10,        false, { NULL } },
    { "clip",           REAL,      AT(clip),                 0,     1e6,       false, { NULL } },
    { "seed",           WHOLE_64,  AT(seed),                 0,     0x1p63,    false, { NULL } },
    { "log_every",      WHOLE_64,  AT(log_every),            1,     1e9,       false, { NULL } },
    { "evaluate_every", WHOLE_64,  AT(evaluate_every),       0,     1e9,       false, { NULL } },
    { "threads",        WHOLE_32,  AT(threads),              0,     TEAM_THREADS_MOST, false, { NULL } },
    { "output_type",    STORED_AS, AT(output_type),          0,     0,         false, { "as_loaded", "float32", "bfloat16", "float16" } },
    { "unused_tensors", FLAG,      AT(allow_unused_tensors), 0,     0,         false, { "refuse", "accept" } },
    { "bad_weights",    FLAG,      AT(allow_bad_weights),    0,     0,         false, { "refuse", "accept" } },
};
_Static_assert(sizeof keys / sizeof keys[0] <= KEYS_MOST, "KEYS_MOST is too small");

static const struct job defaults = {
    .epochs = 1, .learning_rate = 1e-5, .schedule = RATE_COSINE, .floor = 0.1, .warmup_ratio = 0.05, .warmup_steps = -1,
    .decay_ratio = 0.1, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1, .clip = 1.0, .seed = 42, .log_every = 5,
    .output_type_as_loaded = true,
};

/* Where a value stands, for messages. */
struct place {
    const char *path;
    int line;
    const struct key *key;
};

/* Letters to insert, delete, exchange or swap with a neighbour to come from a to b (restricted Damerau-Levenshtein). */
enum { WORD_MOST = 48 };
BOOT static int distance(const char *a, const char *b)
{
    int rows = (int)strlen(a), columns = (int)strlen(b), d[WORD_MOST + 1][WORD_MOST + 1];
    if (rows > WORD_MOST || columns > WORD_MOST)
        return WORD_MOST + 1;
    for (int i = 0; i <= rows; i++) {
        for (int j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            int least = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            least = d[i - 1][j] + 1 < least ? d[i - 1][j] + 1 : least;
            least = d[i][j - 1] + 1 < least ? d[i][j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < least)
                least = d[i - 2][j - 2] + 1;
            d[i][j] = least;
        }
    }
    return d[rows][columns];
}

/* The known name nearest to a word, by the number of letters to change, or NULL if none is near. */
BOOT static const char *nearest_name(const char *word, const char *const *names, int32_t count)
{
    const char *nearest = NULL;
    int least = (int)strlen(word) / 2 + 1;     /* half of it changed is another word */
    for (int32_t i = 0; i < count; i++) {
        int changes = distance(word, names[i]);
        if (changes < least) {
            least = changes;
            nearest = names[i];
        }
    }
    return nearest;
}

BOOT static enum status wrong_type(struct place place, const char *right)
{
    return fail(E_USAGE, "%s:%d: %s must be %s", place.path, place.line, place.key->name, right);
}

BOOT static enum status in_range(struct place place, double value)
{
    const struct key *key = place.key;
    if (isfinite(value) && value <= key->most && (key->above ? value > key->least : value >= key->least))
        return OK;
    return fail(E_USAGE, "%s:%d: %s is %g; it must be %s %g and at most %g", place.path, place.line, key->name, value,
                key->above ? "above" : "at least", key->least, key->most);
}

/* text relative to the job file's folder. */
BOOT static enum status set_path(struct place place, const config_setting_t *value, char *path)
{
    const char *text = config_setting_get_string(value), *slash = strrchr(place.path, '/');
    if (text == NULL)
        return wrong_type(place, "a path in quotes");
    if (text[0] == '\0')
        return wrong_type(place, "a path; it is empty");
    int folder = text[0] == '/' || slash == NULL ? 0 : (int)(slash - place.path) + 1;
    if (strlen(text) + (size_t)folder >= JOB_PATH_BYTES)
        return fail(E_USAGE, "%s:%d: %s has %zu bytes with its folder; at most %d", place.path, place.line, place.key->name,
                    strlen(text) + (size_t)folder, JOB_PATH_BYTES - 1);
    memcpy(path, place.path, (size_t)folder);
    memcpy(path + folder, text, strlen(text) + 1);
    return OK;
}

BOOT static enum status set_real(struct place place, const config_setting_t *value, double *number)
{
    switch (config_setting_type(value)) {
    case CONFIG_TYPE_FLOAT: *number = config_setting_get_float(value); break;
    case CONFIG_TYPE_INT64: *number = (double)config_setting_get_int64(value); break;
    default: return wrong_type(place, "a number, without quotes");
    }
    return in_range(place, *number);
}

BOOT static enum status set_whole(struct place place, const config_setting_t *value, void *number, bool wide)
{
    if (config_setting_type(value) != CONFIG_TYPE_INT64)
        return wrong_type(place, "a whole number, without quotes, point or exponent");
    int64_t whole = config_setting_get_int64(value);
    TRY(in_range(place, (double)whole));
    if (wide)
        memcpy(number, &whole, sizeof whole);
    else
        *(int32_t *)number = (int32_t)whole;
    return OK;
}

/* index: which of the key's words it is. */
BOOT static enum status read_word(struct place place, const config_setting_t *value, int32_t *index)
{
    const char *text = config_setting_get_string(value);
    char allowed[160] = "";
    int32_t count = 0;
    for (; count < WORDS_MOST && place.key->words[count] != NULL; count++) {
        const char *known = place.key->words[count];
        if (text != NULL && strcmp(text, known) == 0) {
            *index = count;
            return OK;
        }
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s\"%s\"", count == 0 ? "" : ", ", known);
    }
    if (text == NULL)
        return fail(E_USAGE, "%s:%d: %s must be one of %s, in quotes", place.path, place.line, place.key->name, allowed);
    return fail(E_USAGE, "%s:%d: %s is \"%s\"; it must be one of %s", place.path, place.line, place.key->name, text, allowed);
}

BOOT static enum status set(struct place place, const config_setting_t *value, struct job *job)
{
    char *field = (char *)job + place.key->offset;
    int32_t index = 0;
    switch (place.key->kind) {
    case PATH:     return set_path(place, value, field);
    case REAL:     return set_real(place, value, (double *)(void *)field);
    case WHOLE_64: return set_whole(place, value, field, true);
    case WHOLE_32: return set_whole(place, value, field, false);
    default: break;
    }
    TRY(read_word(place, value, &index));
    switch (place.key->kind) {
    case FLAG:     *(bool *)field = index == 1; break;
    case SCHEDULE: job->schedule = (enum rate_schedule)index; break;      /* in the order of the enum */
    default:
        job->output_type_as_loaded = index == 0;
        static const enum storage types[] = { STORAGE_F32, STORAGE_F32, STORAGE_BF16, STORAGE_F16 };
        job->output_type = types[index];
        break;
    }
    return OK;
}

BOOT static const struct key *find(const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

BOOT static enum status unknown_key(const char *path, const config_setting_t *value)
{
    const char *names[KEYS_MOST], *name = config_setting_name(value);
    for (int32_t i = 0; i < (int32_t)ELEMENTS_OF(keys); i++)
        names[i] = keys[i].name;
    const char *nearest = nearest_name(name, names, (int32_t)ELEMENTS_OF(keys));
    if (nearest != NULL)
        return fail(E_USAGE, "%s:%u: unknown key %.80s; did you mean %s?", path, config_setting_source_line(value), name, nearest);
    return fail(E_USAGE, "%s:%u: unknown key %.80s; the known ones are listed in README.md, Keys of the job file", path,
                config_setting_source_line(value), name);
}

/* What only several keys together can break. */
BOOT static enum status check_together(const char *path, const config_t *config, const struct job *job)
{
    static const char *const exclusive[][2] = { { "epochs", "steps" }, { "warmup_ratio", "warmup_steps" } };
    for (size_t i = 0; i < sizeof exclusive / sizeof exclusive[0]; i++) {
        const config_setting_t *second = config_lookup(config, exclusive[i][1]);
        if (config_lookup(config, exclusive[i][0]) != NULL && second != NULL)
            return fail(E_USAGE, "%s:%u: %s and %s are both given; one of them decides", path, config_setting_source_line(second),
                        exclusive[i][0], exclusive[i][1]);
    }
    struct { const char *name, *value; bool needed; } needed[] = {
        { "model", job->model, !job->start_random }, { "data", job->data, true }, { "output", job->output, true },
    };
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (needed[i].needed && needed[i].value[0] == '\0')
            return fail(E_USAGE, "%s: the key %s is missing", path, needed[i].name);
    if (job->evaluate_every > 0 && job->held_out[0] == '\0')
        return fail(E_USAGE, "%s:%u: evaluate_every is %" PRId64 ", but there is no held_out to evaluate", path,
                    config_setting_source_line(config_lookup(config, "evaluate_every")), job->evaluate_every);
    if (job->steps > 0 && job->warmup_steps > job->steps)
        return fail(E_USAGE, "%s:%u: warmup_steps is %" PRId64 ", more than the %" PRId64 " steps", path,
                    config_setting_source_line(config_lookup(config, "warmup_steps")), job->warmup_steps, job->steps);
    return OK;
}

BOOT static enum status read_keys(const char *path, const char *text, config_t *config, struct job *job)
{
    if (config_read_string(config, text) != CONFIG_TRUE)
        return fail(E_USAGE, "%s:%d: %s", path, config_error_line(config), config_error_text(config));
    const config_setting_t *root = config_root_setting(config);
    for (int i = 0; i < config_setting_length(root); i++) {
        const config_setting_t *value = config_setting_get_elem(root, (unsigned)i);
        struct place place = { path, (int)config_setting_source_line(value), find(config_setting_name(value)) };
        if (place.key == NULL)
            return unknown_key(path, value);
        TRY(set(place, value, job));
    }
    return check_together(path, config, job);
}

BOOT enum status job_read(const char *path, struct job *job)
{
    char *text = NULL;
    *job = defaults;
    TRY(jobtext_read(path, &text));
    config_t config;
    config_init(&config);
    enum status status = read_keys(path, text, &config, job);
    config_destroy(&config);
    free(text);
    return status;
}

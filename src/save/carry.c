/* carry.c: see carry.h. */
#include "save/carry.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {
    "config.json",      "generation_config.json", "tokenizer.json",     "tokenizer_config.json", "special_tokens_map.json", "vocab.json",
    "merges.txt",       "added_tokens.json",      "chat_template.jinja", "chat_template.json",   "tokenizer.model",
};
enum { NAMES = sizeof names / sizeof names[0], CARRY_PATH_BYTES = JOB_PATH_BYTES + 64 };

static const char *folder;              /* job.output */
static bool carried[NAMES];

static void carry_path(char *path, const char *in, const char *name, const char *suffix)
{
    snprintf(path, CARRY_PATH_BYTES, "%s/%s%s", in, name, suffix);
}

BOOT static enum status copy_file(const char *from, const char *to)
{
    static char block[1 << 16];
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK), out = -1;
    if (in < 0)
        return fail(E_READ, "%s: %s", from, strerror(errno));
    out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ssize_t got = 0, put = 0;
    while (out >= 0 && put == got && (got = read(in, block, sizeof block)) > 0)
        put = write(out, block, (size_t)got);
    enum status status = OK;
    if (got < 0)
        status = fail(E_READ, "%s: %s", from, strerror(errno));
    else if (out < 0 || (got > 0 && put != got))
        status = fail(E_READ, "%s: cannot be written: %s", to, out < 0 || put < 0 ? strerror(errno) : "the disk is full");
    close(in);
    if (out >= 0 && close(out) != 0 && status == OK)
        status = fail(E_READ, "%s: cannot be written: %s", to, strerror(errno));
    return status;
}

/* The shortest digits that give every number of the document back. */
BOOT static bool write_json(const json_t *json, const char *path)
{
    for (int digits = 15; digits <= 17; digits++) {
        size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(digits);
        char *text = json_dumps(json, flags);
        json_t *again = text == NULL ? NULL : json_loads(text, 0, NULL);
        bool equal = again != NULL && json_equal(json, again);
        json_decref(again);
        free(text);
        if (equal)
            return json_dump_file(json, path, flags) == 0;
    }
    return false;
}

/* Copies config.json; changed is whether it had to say another type. */
BOOT static enum status copy_config(const char *from, const char *to, enum storage type)
{
    static const char *const words[] = { [STORAGE_F32] = "float32", [STORAGE_BF16] = "bfloat16", [STORAGE_F16] = "float16" };
    static const char *const keys[] = { "torch_dtype", "dtype" };     /* the old and the new name */
    json_error_t error;
    json_t *config = json_load_file(from, 0, &error);
    if (!json_is_object(config)) {
        json_decref(config);
        return fail(E_DATA, "%s:%d: %s", from, error.line, config == NULL ? error.text : "must be an object");
    }
    bool said = false, changed = false;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *word = json_string_value(json_object_get(config, keys[i]));
        if (json_object_get(config, keys[i]) == NULL)
            continue;
        said = true;
        if (word != NULL && strcmp(word, words[type]) == 0)
            continue;
        changed = true;
        json_object_set_new(config, keys[i], json_string(words[type]));
    }
    if (!said)
        json_object_set_new(config, keys[0], json_string(words[type]));
    enum status status = OK;
    if (!said || changed)
        status = write_json(config, to) ? OK : fail(E_READ, "%s: cannot be written: %s", to, strerror(errno));
    json_decref(config);
    return !said || changed || status != OK ? status : copy_file(from, to);
}

BOOT enum status carry_copy(const char *model, const char *output, enum storage type)
{
    folder = output;
    memset(carried, 0, sizeof carried);
    for (size_t i = 0; i < NAMES && model[0] != '\0'; i++) {
        char from[CARRY_PATH_BYTES], to[CARRY_PATH_BYTES];
        struct stat state;
        carry_path(from, model, names[i], "");
        carry_path(to, output, names[i], ".tmp");
        if (stat(from, &state) != 0 || !S_ISREG(state.st_mode))
            continue;
        carried[i] = true;
        TRY(strcmp(names[i], "config.json") == 0 ? copy_config(from, to, type) : copy_file(from, to));
    }
    return OK;
}

BOOT int64_t carry_bytes(const char *model)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < NAMES && model[0] != '\0'; i++) {
        char path[CARRY_PATH_BYTES];
        struct stat state;
        carry_path(path, model, names[i], "");
        if (stat(path, &state) == 0 && S_ISREG(state.st_mode))
            bytes += state.st_size;
    }
    return bytes;
}

enum status carry_publish(void)
{
    for (size_t i = 0; i < NAMES; i++) {
        char from[CARRY_PATH_BYTES], to[CARRY_PATH_BYTES];
        if (!carried[i])
            continue;
        carry_path(from, folder, names[i], ".tmp");
        carry_path(to, folder, names[i], "");
        int file = open(from, O_RDONLY | O_CLOEXEC);
        bool done = file >= 0 && fsync(file) == 0 && rename(from, to) == 0;
        int cause = errno;
        if (file >= 0)
            close(file);
        if (!done)
            return fail(E_AGAIN, "%s: cannot be saved: %s", to, strerror(cause));
        carried[i] = false;
    }
    return OK;
}

void carry_discard(void)
{
    for (size_t i = 0; i < NAMES; i++) {
        char path[CARRY_PATH_BYTES];
        if (!carried[i])
            continue;
        carry_path(path, folder, names[i], ".tmp");
        unlink(path);
        carried[i] = false;
    }
}

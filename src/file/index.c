/* index.c: model.safetensors.index.json, and the shards it names. Boot and build host.
 *
 * (1) The index decides: a tensor that a shard holds and the index does not name there is left out, with a note. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/tensors.h"

enum { INDEX_BYTES_MOST = 64 << 20, PATH_BYTES = 4096, SHOWN = 120 };

/* A plain name in the same folder. */
static bool is_plain(const char *name)
{
    return name != NULL && name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strlen(name) < 256;
}

static int64_t tensors_named(const json_t *map, const char *shard)
{
    int64_t count = 0;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)map, name, value)
        count += json_is_string(value) && strcmp(json_string_value(value), shard) == 0;
    return count;
}

/* Reads one shard and keeps of it what the map sends there. */
static enum status read_shard(struct tensors *tensors, const char *folder, const char *index, json_t *map, const char *shard)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, shard);
    int64_t first = tensors->count, kept = first, named = tensors_named(map, shard);
    enum status status = safetensors_read(tensors, tensors_keep(tensors, path));
    if (status == E_READ)
        return fail(E_READ, "%s: names shard %s, which cannot be read; it would hold %" PRId64 " tensors", index, shard, named);
    TRY(status);
    for (int64_t i = first; i < tensors->count; i++) {
        const char *place = json_string_value(json_object_get(map, tensors->tensor[i].name));
        if (place != NULL && strcmp(place, shard) == 0)
            tensors->tensor[kept++] = tensors->tensor[i];
        else
            note("%s: tensor %.*s is not sent there by the index: left out", path, SHOWN, tensors->tensor[i].name);
    }
    tensors->count = kept;
    if (kept - first == named)
        return OK;
    const char *name;
    json_t *value;
    json_object_foreach(map, name, value) {
        bool there = strcmp(json_string_value(value), shard) != 0;
        for (int64_t i = first; i < kept && !there; i++)
            there = strcmp(tensors->tensor[i].name, name) == 0;
        if (!there)
            return fail(E_DATA, "%s: sends tensor %.*s to %s, which lacks it", index, SHOWN, name, shard);
    }
    return OK;
}

static enum status read_shards(struct tensors *tensors, const char *folder, const char *index, json_t *map)
{
    json_t *done = json_object(), *value;
    const char *name;
    enum status status = OK;
    json_object_foreach(map, name, value) {
        const char *shard = json_string_value(value);
        if (status == OK && !is_plain(shard))
            status = fail(E_DATA, "%s: tensor %.*s: its shard \"%.40s\" is no plain file name of the same folder", index, SHOWN, name,
                          shard == NULL ? "(no text)" : shard);
    }
    json_object_foreach(map, name, value) {
        const char *shard = json_string_value(value);
        if (status != OK || json_object_get(done, shard) != NULL)
            continue;
        json_object_set_new(done, shard, json_true());
        status = read_shard(tensors, folder, index, map, shard);
    }
    json_decref(done);
    return status;
}

/* total_size is information only: it is held against the shards, never used. */
static void check_total(const struct tensors *tensors, const char *index, const json_t *root)
{
    json_t *total = json_object_get(json_object_get(root, "metadata"), "total_size");
    int64_t bytes = 0;
    for (int64_t i = 0; i < tensors->count; i++)
        bytes += tensors->tensor[i].bytes;
    if (!json_is_integer(total) || json_integer_value(total) != bytes)
        note("%s: metadata.total_size is not the %" PRId64 " bytes that its tensors have; it is not used", index, bytes);
}

enum status safetensors_index_read(struct tensors *tensors, const char *folder, const char *path)
{
    struct mapped file;
    json_error_t error;
    TRY(tensors_map(tensors, path, &file));
    if (file.bytes == 0 || file.bytes > INDEX_BYTES_MOST)
        return fail(E_DATA, "%s: %" PRId64 " bytes; an index has 1 to %d", path, file.bytes, INDEX_BYTES_MOST);
    json_t *root = json_loadb((const char *)file.data, (size_t)file.bytes, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        return fail(E_DATA, "%s:%d:%d: %s", path, error.line, error.column, error.text);
    json_t *map = json_object_get(root, "weight_map");
    enum status status = json_is_object(map) && json_object_size(map) > 0
                             ? read_shards(tensors, folder, path, map)
                             : fail(E_DATA, "%s: weight_map is missing, empty or no object", path);
    if (status == OK)
        check_total(tensors, path, root);
    json_decref(root);
    return status;
}

/* index.c: model.safetensors.index.json, and the shards it names. Boot and build host.
 *
 * (1) The index decides: a tensor that a shard holds and the index does not name there is left out, with a note. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file/jsontext.h"
#include "file/tensors.h"

enum { INDEX_BYTES_MOST = 64 << 20, PATH_BYTES = 4096, SHOWN = 120 };

/* A plain name in the same folder. */
static bool is_plain(const char *name)
{
    return name != NULL && name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strlen(name) < 256;
}

static bool sends(const json_t *map, const char *name, const char *shard)
{
    const char *place = json_string_value(json_object_get(map, name));
    return place != NULL && strcmp(place, shard) == 0;
}

static int64_t tensors_named(json_t *map, const char *shard)
{
    int64_t count = 0;
    const char *name;
    json_t *value;
    json_object_foreach(map, name, value)
        count += strcmp(json_string_value(value), shard) == 0;
    return count;
}

/* Names a tensor that the index sends to the shard and that is not among tensors [first, count). */
static enum status say_lacking(const struct tensors *tensors, int64_t first, const char *index, json_t *map, const char *shard)
{
    json_t *held = json_object(), *value;
    const char *name, *lacking = "";
    for (int64_t i = first; i < tensors->count; i++)
        json_object_set_new(held, tensors->tensor[i].name, json_true());
    json_object_foreach(map, name, value)
        if (strcmp(json_string_value(value), shard) == 0 && json_object_get(held, name) == NULL) {
            lacking = name;
            break;
        }
    json_decref(held);
    return fail(E_DATA, "%s: sends tensor %.*s to %s, which lacks it", index, SHOWN, lacking, shard);
}

/* Reads one shard and keeps of it what the map sends there. */
static enum status read_shard(struct tensors *tensors, const char *folder, const char *index, json_t *map, const char *shard)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, shard);
    int64_t first = tensors->count, kept = first, named = tensors_named(map, shard), others = 0;
    if (access(path, R_OK) != 0)
        return fail(E_READ, "%s: names shard %s, which cannot be read; it would hold %" PRId64 " tensors", index, shard, named);
    TRY(safetensors_read(tensors, tensors_keep(tensors, path)));
    const char *other = "";
    for (int64_t i = first; i < tensors->count; i++) {
        if (sends(map, tensors->tensor[i].name, shard)) {
            tensors->tensor[kept++] = tensors->tensor[i];
        } else {
            other = tensors->tensor[i].name;
            others++;
        }
    }
    tensors->count = kept;
    if (others > 0)
        note("%s: %" PRId64 " tensors that the index does not send there are left out: %.*s%s", path, others, SHOWN, other, others > 1 ? ", ..." : "");
    return kept - first == named ? OK : say_lacking(tensors, first, index, map, shard);
}

static enum status check_names(const char *index, json_t *map)
{
    const char *name;
    json_t *value;
    json_object_foreach(map, name, value) {
        const char *shard = json_string_value(value);
        if (!is_plain(shard))
            return fail(E_DATA, "%s: tensor %.*s: its shard %s%.40s%s is no plain file name of the same folder", index, SHOWN, name,
                        shard == NULL ? "" : "\"", shard == NULL ? "(no text)" : shard, shard == NULL ? "" : "\"");
    }
    return OK;
}

static enum status read_shards(struct tensors *tensors, const char *folder, const char *index, json_t *map)
{
    json_t *done = json_object(), *value;
    const char *name;
    enum status status = check_names(index, map);
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
    json_t *root;
    TRY(jsontext_read(&root, path, INDEX_BYTES_MOST));
    json_t *map = json_object_get(root, "weight_map");
    enum status status = json_is_object(map) && json_object_size(map) > 0
                             ? read_shards(tensors, folder, path, map)
                             : fail(E_DATA, "%s: weight_map is missing, empty or no object", path);
    if (status == OK)
        check_total(tensors, path, root);
    json_decref(root);
    return status;
}

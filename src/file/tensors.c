/* tensors.c: a checkpoint folder as one set of tensors (safetensors.h), whatever files it comes in. Boot and build host. */
#include "file/tensors.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file/convert.h"
#include "file/ggufblock.h"

enum { PATH_BYTES = 4096 };

static struct tensor_maps *maps_of(struct tensors *tensors)
{
    if (tensors->maps == NULL)
        tensors->maps = calloc(1, sizeof(struct tensor_maps));
    return tensors->maps;
}

/* A row longer by one; the old rows keep their content. Memory for names and entries is bounded by the file that holds them. */
static void *longer(void *rows, int64_t count, size_t row_bytes)
{
    if ((count & (count - 1)) != 0)
        return rows;
    size_t room = count == 0 ? 1 : 2 * (size_t)count;
    void *more = realloc(rows, room * row_bytes);
    ASSERT(more != NULL);
    return more;
}

void tensors_own(struct tensors *tensors, struct mapped *mapped)
{
    struct tensor_maps *maps = maps_of(tensors);
    ASSERT(maps != NULL);
    maps->mapped = longer(maps->mapped, maps->maps, sizeof *maps->mapped);
    maps->mapped[maps->maps++] = *mapped;
    *mapped = (struct mapped){ 0 };
}

enum status tensors_map(struct tensors *tensors, const char *path, struct mapped *mapped)
{
    struct mapped own;
    TRY(mapped_open(mapped, path));
    own = *mapped;
    tensors_own(tensors, &own);
    return OK;
}

const char *tensors_keep(struct tensors *tensors, const char *text)
{
    struct tensor_maps *maps = maps_of(tensors);
    ASSERT(maps != NULL);
    char *copy = strdup(text);
    ASSERT(copy != NULL);
    maps->text = longer(maps->text, maps->texts, sizeof *maps->text);
    return maps->text[maps->texts++] = copy;
}

struct tensor *tensors_add(struct tensors *tensors, const char *file)
{
    tensors->tensor = longer(tensors->tensor, tensors->count, sizeof *tensors->tensor);
    struct tensor *tensor = &tensors->tensor[tensors->count++];
    *tensor = (struct tensor){ .file = file };
    return tensor;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tensor *)a)->name, ((const struct tensor *)b)->name);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* The one *.gguf of a folder into path; false if there is none or more than one. */
static bool find_gguf(const char *folder, char path[PATH_BYTES])
{
    DIR *directory = opendir(folder);
    int found = 0;
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        if (ends_with(entry->d_name, ".gguf")) {
            found++;
            snprintf(path, PATH_BYTES, "%s/%s", folder, entry->d_name);
        }
    if (directory != NULL)
        closedir(directory);
    return found == 1;
}

static bool exists(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0;
}

static enum status read_folder(struct tensors *tensors, const char *folder)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (exists(path))
        return safetensors_read(tensors, tensors_keep(tensors, path));
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    if (exists(path))
        return safetensors_index_read(tensors, folder, tensors_keep(tensors, path));
    if (find_gguf(folder, path))
        return gguf_read(tensors, tensors_keep(tensors, path));
    return fail(E_READ, "%s: no model.safetensors, no model.safetensors.index.json, and not exactly one *.gguf in it", folder);
}

enum status tensors_open(struct tensors *tensors, const char *path)
{
    struct stat found;
    *tensors = (struct tensors){ 0 };
    if (stat(path, &found) != 0)
        return fail(E_READ, "%s: %s", path, strerror(errno));
    enum status status;
    if (S_ISDIR(found.st_mode))
        status = read_folder(tensors, path);
    else if (ends_with(path, ".gguf"))
        status = gguf_read(tensors, tensors_keep(tensors, path));
    else
        status = safetensors_read(tensors, tensors_keep(tensors, path));
    if (status == OK && tensors->count > 0)
        qsort(tensors->tensor, (size_t)tensors->count, sizeof *tensors->tensor, by_name);
    for (int64_t i = 1; status == OK && i < tensors->count; i++)
        if (strcmp(tensors->tensor[i - 1].name, tensors->tensor[i].name) == 0)
            status = fail(E_DATA, "%s: tensor %.120s is there twice", tensors->tensor[i].file, tensors->tensor[i].name);
    if (status != OK)
        tensors_close(tensors);
    return status;
}

void tensors_close(struct tensors *tensors)
{
    struct tensor_maps *maps = tensors->maps;
    for (int64_t i = 0; maps != NULL && i < maps->maps; i++)
        mapped_close(&maps->mapped[i]);
    for (int64_t i = 0; maps != NULL && i < maps->texts; i++)
        free(maps->text[i]);
    if (maps != NULL) {
        free(maps->mapped);
        free(maps->text);
        free(maps);
    }
    free(tensors->tensor);
    *tensors = (struct tensors){ 0 };
}

const struct tensor *tensors_find(const struct tensors *tensors, const char *name)
{
    struct tensor key = { .name = name };
    return tensors->count == 0 ? NULL : bsearch(&key, tensors->tensor, (size_t)tensors->count, sizeof key, by_name);
}

static enum status read_stored(const struct tensor *tensor, float *y, int64_t first, int64_t count)
{
    switch (tensor->type) {
    case TENSOR_F32:
        convert_read_f32(y, tensor->data + 4 * first, count);
        return OK;
    case TENSOR_BF16:
        convert_read_bf16(y, tensor->data + 2 * first, count);
        return OK;
    case TENSOR_F16:
        convert_read_f16(y, tensor->data + 2 * first, count);
        return OK;
    case TENSOR_OTHER:
        return fail(E_DATA, "%s: tensor %.120s is %s; F32, BF16 and F16 can be trained", tensor->file, tensor->name, tensor->type_name);
    default:
        ggufblock_read(tensor->type, y, tensor->data, first, count);
        return OK;
    }
}

/* Interleaved rotary order holds row 2i of a head at i and row 2i+1 at i + D/2 of Hugging Face's order. */
static int64_t stored_row(const struct tensor *tensor, int64_t row)
{
    int64_t head_rows = tensor->shape[0] / tensor->permuted_heads, head = row / head_rows, d = row % head_rows, half = head_rows / 2;
    return head * head_rows + (d < half ? 2 * d : 2 * (d - half) + 1);
}

enum status tensor_read(const struct tensor *tensor, float *y, int64_t first, int64_t count)
{
    ASSERT(first >= 0 && count >= 0 && first <= tensor->elements - count);
    if (!tensor->permuted)
        return read_stored(tensor, y, first, count);
    int64_t columns = tensor->elements / tensor->shape[0];
    while (count > 0) {
        int64_t row = first / columns, column = first % columns, part = columns - column < count ? columns - column : count;
        TRY(read_stored(tensor, y, stored_row(tensor, row) * columns + column, part));
        y += part;
        first += part;
        count -= part;
    }
    return OK;
}

/* safetensors.c: one safetensors file, read and written (safetensors.h). Reading: boot and build host. Writing allocates nothing.
 *
 * (1) Nothing is read past the map: the header's length is compared with what the file has, never added to it first.
 * (2) The tensors' bytes tile the data exactly: no hole, no overlap, nothing behind the last. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "file/jsontext.h"
#include "file/tensors.h"

enum { HEADER_BYTES_MOST = 100000000, LENGTH_BYTES = 8, SHOWN = 120 };

static const struct {
    const char *name;
    enum tensor_type type;
    int bits;
} types[] = {
    { "F32", TENSOR_F32, 32 },        { "BF16", TENSOR_BF16, 16 },      { "F16", TENSOR_F16, 16 },     { "F64", TENSOR_OTHER, 64 },
    { "I64", TENSOR_OTHER, 64 },      { "U64", TENSOR_OTHER, 64 },      { "C64", TENSOR_OTHER, 64 },   { "I32", TENSOR_OTHER, 32 },
    { "U32", TENSOR_OTHER, 32 },      { "I16", TENSOR_OTHER, 16 },      { "U16", TENSOR_OTHER, 16 },   { "I8", TENSOR_OTHER, 8 },
    { "U8", TENSOR_OTHER, 8 },        { "BOOL", TENSOR_OTHER, 8 },      { "F8_E4M3", TENSOR_OTHER, 8 }, { "F8_E5M2", TENSOR_OTHER, 8 },
    { "F8_E8M0", TENSOR_OTHER, 8 },   { "F6_E2M3", TENSOR_OTHER, 6 },   { "F6_E3M2", TENSOR_OTHER, 6 }, { "F4", TENSOR_OTHER, 4 },
    { "F8_E4M3FNUZ", TENSOR_OTHER, 8 }, { "F8_E5M2FNUZ", TENSOR_OTHER, 8 },
};

/* What a file that is no safetensors looks like, from its first bytes; "" if they say nothing. Asked only where the header is already refused: a
 * good file's first bytes are a length, and may be any of these. */
static const char *likeness(const struct mapped *file)
{
    static const struct {
        const char *bytes, *what;
    } known[] = {
        { "version https://git-lfs", ": it looks like a Git-LFS pointer; fetch the real file" },
        { "<!doctype", ": it looks like an HTML page" },
        { "<html", ": it looks like an HTML page" },
        { "PK\x03\x04", ": it looks like a zip archive, perhaps a PyTorch checkpoint" },
        { "\x1f\x8b", ": it looks like gzip" },
        { "\x80\x02", ": it looks like a Python pickle" },
        { "\x80\x03", ": it looks like a Python pickle" },
        { "\x80\x04", ": it looks like a Python pickle" },
        { "\x80\x05", ": it looks like a Python pickle" },
        { "GGUF", ": it looks like GGUF; name it *.gguf" },
        { "{", ": it looks like JSON" },
    };
    for (int64_t i = 0; i < ELEMENTS_OF(known); i++)
        if (file->bytes >= (int64_t)strlen(known[i].bytes) && strncasecmp((const char *)file->data, known[i].bytes, strlen(known[i].bytes)) == 0)
            return known[i].what;
    return "";
}

static uint64_t little_endian(const uint8_t *x)
{
    uint64_t value = 0;
    for (int i = LENGTH_BYTES; i-- > 0;)
        value = value << 8 | x[i];
    return value;
}

static enum status read_type(struct tensor *tensor, json_t *dtype)
{
    const char *name = json_string_value(dtype);
    for (int64_t i = 0; name != NULL && i < ELEMENTS_OF(types); i++)
        if (strcmp(types[i].name, name) == 0) {
            tensor->type = types[i].type;
            tensor->type_name = types[i].name;
            return OK;
        }
    if (name == NULL)
        return fail(E_DATA, "%s: tensor %.*s: dtype is %s", tensor->file, SHOWN, tensor->name, dtype == NULL ? "missing" : "no text");
    return fail(E_DATA, "%s: tensor %.*s: dtype is \"%.20s\"; safetensors has no such type", tensor->file, SHOWN, tensor->name, name);
}

static enum status read_dimensions(struct tensor *tensor, json_t *shape)
{
    json_t *dimension;
    size_t i;
    if (!json_is_array(shape))
        return fail(E_DATA, "%s: tensor %.*s: shape is %s", tensor->file, SHOWN, tensor->name, shape == NULL ? "missing" : "no array");
    if (json_array_size(shape) > TENSOR_DIMENSIONS_MOST)
        return fail(E_DATA, "%s: tensor %.*s has %zu dimensions; at most %d are read", tensor->file, SHOWN, tensor->name, json_array_size(shape),
                    TENSOR_DIMENSIONS_MOST);
    tensor->elements = 1;
    json_array_foreach(shape, i, dimension) {
        if (!json_is_integer(dimension) || json_integer_value(dimension) < 0)
            return fail(E_DATA, "%s: tensor %.*s: dimension %zu is no whole number from 0 up", tensor->file, SHOWN, tensor->name, i + 1);
        tensor->shape[tensor->dimensions++] = json_integer_value(dimension);
        if (__builtin_mul_overflow(tensor->elements, tensor->shape[i], &tensor->elements))
            return fail(E_DATA, "%s: tensor %.*s: its dimensions multiply beyond 2^63", tensor->file, SHOWN, tensor->name);
    }
    return OK;
}

static int bits_of(const struct tensor *tensor)
{
    for (int64_t i = 0; i < ELEMENTS_OF(types); i++)
        if (strcmp(types[i].name, tensor->type_name) == 0)
            return types[i].bits;
    return 0;
}

static enum status read_offsets(struct tensor *tensor, json_t *offsets, const uint8_t *data, int64_t data_bytes, int64_t file_bytes)
{
    json_t *begin_value = json_array_get(offsets, 0), *end_value = json_array_get(offsets, 1);
    if (offsets == NULL)
        return fail(E_DATA, "%s: tensor %.*s: data_offsets is missing", tensor->file, SHOWN, tensor->name);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin_value) || !json_is_integer(end_value))
        return fail(E_DATA, "%s: tensor %.*s: data_offsets are not two whole numbers", tensor->file, SHOWN, tensor->name);
    int64_t begin = json_integer_value(begin_value), end = json_integer_value(end_value), bits, bytes;
    if (begin < 0 || end < begin)
        return fail(E_DATA, "%s: tensor %.*s: data_offsets [%" PRId64 ", %" PRId64 "] do not rise from 0", tensor->file, SHOWN, tensor->name, begin, end);
    if (end > data_bytes)
        return fail(E_DATA, "%s: tensor %.*s ends at byte %" PRId64 " of the data; the file has %" PRId64 " (%" PRId64 " in all): cut short?", tensor->file,
                    SHOWN, tensor->name, end, data_bytes, file_bytes);
    if (__builtin_mul_overflow(tensor->elements, (int64_t)bits_of(tensor), &bits))
        return fail(E_DATA, "%s: tensor %.*s: its size is beyond 2^63", tensor->file, SHOWN, tensor->name);
    bytes = bits / 8;
    if (bits % 8 != 0 || bytes != end - begin)
        return fail(E_DATA, "%s: tensor %.*s spans %" PRId64 " bytes; its shape and %s need %" PRId64, tensor->file, SHOWN, tensor->name, end - begin,
                    tensor->type_name, bytes);
    tensor->data = data + begin;
    tensor->bytes = bytes;
    return OK;
}

static enum status read_metadata(const char *path, json_t *metadata)
{
    const char *key;
    json_t *value;
    if (json_is_null(metadata))
        return OK;
    if (!json_is_object(metadata))
        return fail(E_DATA, "%s: __metadata__ is no object", path);
    json_object_foreach(metadata, key, value)
        if (!json_is_string(value))
            return fail(E_DATA, "%s: __metadata__: \"%.*s\" is no text", path, SHOWN, key);
    return OK;
}

/* By place in the file; tensors without bytes before the one that begins where they lie. */
static int by_place(const void *a, const void *b)
{
    const struct tensor *const *x = a, *const *y = b;
    if ((*x)->data != (*y)->data)
        return (*x)->data < (*y)->data ? -1 : 1;
    return ((*x)->bytes > (*y)->bytes) - ((*x)->bytes < (*y)->bytes);
}

static enum status check_tiling(const struct tensors *tensors, int64_t first, const char *path, const uint8_t *data, int64_t data_bytes)
{
    int64_t count = tensors->count - first, at = 0;
    const struct tensor **order = calloc((size_t)count + 1, sizeof *order);
    enum status status = order == NULL ? fail(E_AGAIN, "%s: out of memory", path) : OK;
    for (int64_t i = 0; status == OK && i < count; i++)
        order[i] = &tensors->tensor[first + i];
    if (status == OK)
        qsort(order, (size_t)count, sizeof *order, by_place);
    for (int64_t i = 0; status == OK && i < count; i++) {
        int64_t begin = order[i]->data - data;
        if (begin != at)
            status = fail(E_DATA, "%s: tensor %.*s begins at byte %" PRId64 " of the data, the one before ends at %" PRId64 ": %s", path, SHOWN,
                          order[i]->name, begin, at, begin > at ? "a hole" : "an overlap");
        at = begin + order[i]->bytes;
    }
    if (status == OK && at != data_bytes)
        status = fail(E_DATA, "%s: %" PRId64 " bytes lie behind the last tensor", path, data_bytes - at);
    free(order);
    return status;
}

static enum status read_entries(struct tensors *tensors, const char *path, json_t *root, const uint8_t *data, int64_t data_bytes, int64_t file_bytes)
{
    const char *name;
    json_t *entry;
    int64_t first = tensors->count;
    if (json_object_size(root) > TENSORS_MOST)
        return fail(E_DATA, "%s: %zu tensors; at most %d are read from one file", path, json_object_size(root), TENSORS_MOST);
    json_object_foreach(root, name, entry) {
        if (strcmp(name, "__metadata__") == 0) {
            TRY(read_metadata(path, entry));
            continue;
        }
        if (!json_is_object(entry))
            return fail(E_DATA, "%s: tensor %.*s: its entry is no object", path, SHOWN, name);
        struct tensor *tensor = tensors_add(tensors, path);
        tensor->name = tensors_keep(tensors, name);
        TRY(read_type(tensor, json_object_get(entry, "dtype")));
        TRY(read_dimensions(tensor, json_object_get(entry, "shape")));
        TRY(read_offsets(tensor, json_object_get(entry, "data_offsets"), data, data_bytes, file_bytes));
    }
    return check_tiling(tensors, first, path, data, data_bytes);
}

enum status safetensors_read(struct tensors *tensors, const char *path)
{
    struct mapped file;
    TRY(tensors_map(tensors, path, &file));
    if (file.bytes < LENGTH_BYTES + 2)
        return fail(E_DATA, "%s: too short: %" PRId64 " bytes; a safetensors file has at least %d", path, file.bytes, LENGTH_BYTES + 2);
    uint64_t header_bytes = little_endian(file.data);
    if (header_bytes > (uint64_t)file.bytes - LENGTH_BYTES)
        return fail(E_DATA, "%s: header says %" PRIu64 " bytes, the file has %" PRId64 " after it%s", path, header_bytes, file.bytes - LENGTH_BYTES,
                    likeness(&file)[0] != '\0' ? likeness(&file) : ": cut short?");
    if (header_bytes > HEADER_BYTES_MOST)
        return fail(E_DATA, "%s: header says %" PRIu64 " bytes; at most %d are read%s", path, header_bytes, HEADER_BYTES_MOST, likeness(&file));
    const char *header = (const char *)file.data + LENGTH_BYTES;
    if (header_bytes < 2 || header[0] != '{')
        return fail(E_DATA, "%s: the header (%" PRIu64 " bytes) does not begin with '{'%s", path, header_bytes, likeness(&file));
    json_t *root;
    TRY(jsontext_parse(&root, path, "header, ", header, (int64_t)header_bytes));
    const uint8_t *data = (const uint8_t *)header + header_bytes;
    enum status status = read_entries(tensors, path, root, data, file.bytes - LENGTH_BYTES - (int64_t)header_bytes, file.bytes);
    json_decref(root);
    return status;
}

/* ---- writing ---- */

/* Appends formatted text; at is past room once it does not fit. */
static int64_t append(char *header, int64_t room, int64_t at, const char *format, ...) PRINTF(4, 5);
static int64_t append(char *header, int64_t room, int64_t at, const char *format, ...)
{
    va_list arguments;
    if (at >= room)
        return room + 1;
    va_start(arguments, format);
    int written = vsnprintf(header + at, (size_t)(room - at), format, arguments);
    va_end(arguments);
    return written < 0 || at + written >= room ? room + 1 : at + written;
}

int64_t safetensors_header(char *header, int64_t room, struct tensor_plan *plan, int64_t count, int64_t *file_bytes)
{
    int64_t at = append(header, room, LENGTH_BYTES, "{\"__metadata__\":{\"format\":\"pt\"}"), data = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t bytes = plan[i].shape[0] * (plan[i].dimensions == 2 ? plan[i].shape[1] : 1) * (plan[i].type == TENSOR_F32 ? 4 : 2);
        const char *type = plan[i].type == TENSOR_F32 ? "F32" : plan[i].type == TENSOR_BF16 ? "BF16" : "F16";
        at = append(header, room, at, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%" PRId64, plan[i].name, type, plan[i].shape[0]);
        if (plan[i].dimensions == 2)
            at = append(header, room, at, ",%" PRId64, plan[i].shape[1]);
        at = append(header, room, at, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", data, data + bytes);
        plan[i].offset_bytes = data;
        data += bytes;
    }
    at = append(header, room, at, "}");
    while (at <= room && at % 64 != 0)
        at = append(header, room, at, " ");
    if (at > room)
        return -1;
    for (int i = 0; i < LENGTH_BYTES; i++)
        header[i] = (char)((uint64_t)(at - LENGTH_BYTES) >> (8 * i));
    for (int64_t i = 0; i < count; i++)
        plan[i].offset_bytes += at;
    *file_bytes = at + data;
    return at;
}

/* gguf.c: see gguf.h. Build host and boot. */
#include "file/gguf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_BYTES = 24, ALIGN_DEFAULT_BYTES = 32, ALIGN_MOST_BYTES = 1 << 16, VALUES_MOST = 65536, TENSORS_MOST = 32768,
    VALUE_BYTES_LEAST = 8 + 4 + 1, TENSOR_BYTES_LEAST = 8 + 4 + 8 + 4 + 8, SHOWN = 120
};

static const int type_bytes[GGUF_TYPES] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };      /* 0: its length is in the file */

/* ---- the file from its begin to its end; at never passes bytes. After a refusal all reads give 0 ---- */

struct cursor {
    const char *path;
    const uint8_t *data;
    int64_t bytes, at;
    struct gguf_text reading;      /* the key or tensor that a refusal names */
    enum status status;
};

static uint64_t little_endian(const uint8_t *data, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | data[i];
    return value;
}

static void refuse(struct cursor *cursor, const char *what)
{
    int shown = cursor->reading.bytes < SHOWN ? (int)cursor->reading.bytes : SHOWN;
    if (cursor->status == OK)
        cursor->status = fail(E_DATA, "%s: byte %" PRId64 "%s%.*s: %s", cursor->path, cursor->at, shown > 0 ? ", in " : "", shown,
                              shown > 0 ? cursor->reading.data : "", what);
}

static uint64_t number(struct cursor *cursor, int bytes)
{
    if (cursor->status != OK || cursor->bytes - cursor->at < bytes) {
        refuse(cursor, "the file ends here: cut short?");
        return 0;
    }
    uint64_t value = little_endian(cursor->data + cursor->at, bytes);
    cursor->at += bytes;
    return value;
}

/* Data of count elements, width bytes each. */
static const uint8_t *skip(struct cursor *cursor, uint64_t count, uint64_t width)
{
    const uint8_t *data = cursor->data + cursor->at;
    uint64_t left = (uint64_t)(cursor->bytes - cursor->at);
    if (cursor->status == OK && count > left / width)
        refuse(cursor, "a length beyond the end of the file");
    if (cursor->status == OK)
        cursor->at += (int64_t)(count * width);
    return data;
}

static struct gguf_text text(struct cursor *cursor)
{
    uint64_t bytes = number(cursor, 8);
    const char *data = (const char *)skip(cursor, bytes, 1);
    return cursor->status == OK ? (struct gguf_text){ data, (int64_t)bytes } : (struct gguf_text){ NULL, 0 };
}

/* ---- values ---- */

static void read_value(struct cursor *cursor, struct gguf_value *value)
{
    cursor->reading = value->key = text(cursor);
    uint64_t type = number(cursor, 4);
    value->array = type == GGUF_ARRAY;
    value->count = 1;
    if (value->array) {
        type = number(cursor, 4);
        uint64_t count = number(cursor, 8);
        if (count > (uint64_t)cursor->bytes)
            refuse(cursor, "an array longer than the file");
        value->count = cursor->status == OK ? (int64_t)count : 0;
    }
    if (type >= GGUF_TYPES || type == GGUF_ARRAY)
        refuse(cursor, type == GGUF_ARRAY ? "an array of arrays" : "an unknown type of value");
    if (cursor->status != OK)
        return;
    value->type = (enum gguf_type)type;
    value->data = cursor->data + cursor->at;
    if (type != GGUF_TEXT)
        skip(cursor, (uint64_t)value->count, (uint64_t)type_bytes[type]);
    else
        for (int64_t i = 0; i < value->count && cursor->status == OK; i++)
            text(cursor);
}

static int compare(struct gguf_text a, struct gguf_text b)
{
    int64_t common = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, (size_t)common);
    return order != 0 ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static int by_key(const void *a, const void *b)
{
    return compare(((const struct gguf_value *)a)->key, ((const struct gguf_value *)b)->key);
}

static void read_values(struct cursor *cursor, struct gguf *gguf)
{
    for (int64_t i = 0; i < gguf->values && cursor->status == OK; i++)
        read_value(cursor, &gguf->value[i]);
    cursor->reading = (struct gguf_text){ NULL, 0 };
    if (cursor->status != OK)
        return;
    qsort(gguf->value, (size_t)gguf->values, sizeof *gguf->value, by_key);
    for (int64_t i = 1; i < gguf->values; i++)
        if (by_key(&gguf->value[i - 1], &gguf->value[i]) == 0) {
            cursor->reading = gguf->value[i].key;
            refuse(cursor, "the key is there twice");
        }
}

/* ---- tensors ---- */

/* Its offset from the start of the data, which is known only behind the last entry, is kept in bytes until place(). */
static void read_tensor(struct cursor *cursor, struct gguf_tensor *tensor, int64_t align)
{
    cursor->reading = tensor->name = text(cursor);
    uint64_t dimensions = number(cursor, 4);
    if (cursor->status == OK && (dimensions < 1 || dimensions > GGUF_DIMENSIONS_MOST))
        refuse(cursor, "a tensor has 1 to 4 dimensions");
    if (cursor->status != OK)
        return;
    tensor->dimensions = (int32_t)dimensions;
    tensor->elements = 1;
    for (uint64_t i = dimensions; i-- > 0;) {
        uint64_t size = number(cursor, 8);
        if (cursor->status == OK && (size < 1 || size > INT64_MAX || __builtin_mul_overflow(tensor->elements, (int64_t)size, &tensor->elements)))
            refuse(cursor, "its dimensions are 0 or multiply beyond 2^63");
        tensor->shape[i] = (int64_t)size;
    }
    uint64_t id = number(cursor, 4), offset = number(cursor, 8);
    if (cursor->status != OK)
        return;
    tensor->block = ggufblock_of((uint32_t)id);
    if (tensor->block == NULL)
        refuse(cursor, "a type of tensor that is not read; F32, F16, BF16, Q4_0, Q4_1, Q8_0 and Q6_K are");
    else if (tensor->shape[dimensions - 1] % tensor->block->elements != 0)
        refuse(cursor, "a row is no whole number of blocks");
    else if (offset % (uint64_t)align != 0 || offset > (uint64_t)cursor->bytes)
        refuse(cursor, "its offset is not aligned, or beyond the file");
    tensor->bytes = (int64_t)offset;
}

static int by_place(const void *a, const void *b)
{
    const struct gguf_tensor *x = a, *y = b;
    return (x->data > y->data) - (x->data < y->data);
}

/* Turns offsets into places and sizes, and checks that none passes the end or reaches into the next. */
static void place(struct cursor *cursor, struct gguf *gguf, int64_t align)
{
    int64_t begin = (cursor->at + align - 1) / align * align;
    for (int64_t i = 0; i < gguf->tensors && cursor->status == OK; i++) {
        struct gguf_tensor *tensor = &gguf->tensor[i];
        int64_t offset = tensor->bytes, bytes;
        cursor->reading = tensor->name;
        if (__builtin_mul_overflow(tensor->elements / tensor->block->elements, tensor->block->bytes, &bytes) || begin > cursor->bytes ||
            bytes > cursor->bytes - begin || offset > cursor->bytes - begin - bytes) {
            cursor->at = cursor->bytes;
            refuse(cursor, "the tensor passes the end of the file: cut short?");
            return;
        }
        tensor->data = cursor->data + begin + offset;
        tensor->bytes = bytes;
    }
    if (cursor->status != OK)
        return;
    qsort(gguf->tensor, (size_t)gguf->tensors, sizeof *gguf->tensor, by_place);
    for (int64_t i = 1; i < gguf->tensors; i++)
        if (gguf->tensor[i].data < gguf->tensor[i - 1].data + gguf->tensor[i - 1].bytes) {
            cursor->at = gguf->tensor[i].data - cursor->data;
            cursor->reading = gguf->tensor[i].name;
            refuse(cursor, "the tensor overlaps the one before it");
        }
}

/* ---- open, close ---- */

static enum status read_file(struct gguf *gguf, struct cursor *cursor)
{
    if (cursor->bytes < HEADER_BYTES || memcmp(cursor->data, "GGUF", 4) != 0)
        return fail(E_DATA, "%s: %" PRId64 " bytes; no GGUF file: it does not begin with GGUF and a header of %d bytes", gguf->path, cursor->bytes,
                    HEADER_BYTES);
    cursor->at = 4;
    uint64_t version = number(cursor, 4), tensors = number(cursor, 8), values = number(cursor, 8);
    if (version != 2 && version != 3)
        return fail(E_DATA, "%s: GGUF version %" PRIu64 "; 2 and 3, little-endian, are read", gguf->path, version);
    uint64_t left = (uint64_t)(cursor->bytes - HEADER_BYTES);
    if (tensors > TENSORS_MOST || values > VALUES_MOST || tensors > left / TENSOR_BYTES_LEAST || values > left / VALUE_BYTES_LEAST)
        return fail(E_DATA, "%s: says %" PRIu64 " tensors and %" PRIu64 " values; a file of %" PRId64 " bytes has no room for them, or they are more than "
                    "%d and %d", gguf->path, tensors, values, cursor->bytes, TENSORS_MOST, VALUES_MOST);
    gguf->tensor = calloc(tensors + 1, sizeof *gguf->tensor);
    gguf->value = calloc(values + 1, sizeof *gguf->value);
    if (gguf->tensor == NULL || gguf->value == NULL)
        return fail(E_AGAIN, "%s: out of memory", gguf->path);
    gguf->tensors = (int64_t)tensors;
    gguf->values = (int64_t)values;
    read_values(cursor, gguf);
    if (cursor->status != OK)
        return cursor->status;
    int64_t align = ALIGN_DEFAULT_BYTES;
    bool stated = gguf_find(gguf, "general.alignment") != NULL, whole = gguf_whole(gguf, "general.alignment", &align);
    if (stated && (!whole || align < 8 || align > ALIGN_MOST_BYTES || (align & (align - 1)) != 0))
        return fail(E_DATA, "%s: general.alignment is no power of two from 8 to %d", gguf->path, ALIGN_MOST_BYTES);
    for (int64_t i = 0; i < gguf->tensors && cursor->status == OK; i++)
        read_tensor(cursor, &gguf->tensor[i], align);
    place(cursor, gguf, align);
    return cursor->status;
}

enum status gguf_open(struct gguf *gguf, const char *path)
{
    *gguf = (struct gguf){ .path = path };
    TRY(mapped_open(&gguf->file, path));
    struct cursor cursor = { .path = path, .data = gguf->file.data, .bytes = gguf->file.bytes };
    enum status status = read_file(gguf, &cursor);
    if (status != OK)
        gguf_close(gguf);
    return status;
}

void gguf_close(struct gguf *gguf)
{
    mapped_close(&gguf->file);
    free(gguf->value);
    free(gguf->tensor);
    *gguf = (struct gguf){ 0 };
}

/* ---- reading values ---- */

const struct gguf_value *gguf_find(const struct gguf *gguf, const char *key)
{
    struct gguf_value wanted = { .key = { key, (int64_t)strlen(key) } };
    return bsearch(&wanted, gguf->value, (size_t)gguf->values, sizeof wanted, by_key);
}

bool gguf_is(struct gguf_text seen, const char *other)
{
    return seen.data != NULL && compare(seen, (struct gguf_text){ other, (int64_t)strlen(other) }) == 0;
}

int64_t gguf_element(const struct gguf_value *value, int64_t i)
{
    ASSERT(i >= 0 && i < value->count && type_bytes[value->type] > 0);
    int bytes = type_bytes[value->type];
    uint64_t bits = little_endian(value->data + i * bytes, bytes);
    bool is_signed = value->type == GGUF_I8 || value->type == GGUF_I16 || value->type == GGUF_I32;
    return is_signed && (bits >> (8 * bytes - 1) & 1) != 0 ? (int64_t)(bits | ~UINT64_C(0) << (8 * bytes - 1)) : (int64_t)bits;
}

static const struct gguf_value *find_scalar(const struct gguf *gguf, const char *key)
{
    const struct gguf_value *value = gguf_find(gguf, key);
    return value == NULL || value->array ? NULL : value;
}

bool gguf_whole(const struct gguf *gguf, const char *key, int64_t *number_out)
{
    const struct gguf_value *value = find_scalar(gguf, key);
    if (value == NULL || value->type == GGUF_F32 || value->type == GGUF_F64 || value->type == GGUF_BOOL || value->type == GGUF_TEXT)
        return false;
    int64_t seen = gguf_element(value, 0);
    if (seen >= 0)
        *number_out = seen;
    return seen >= 0;
}

bool gguf_real(const struct gguf *gguf, const char *key, double *number_out)
{
    const struct gguf_value *value = find_scalar(gguf, key);
    float narrow;
    if (value == NULL || (value->type != GGUF_F32 && value->type != GGUF_F64))
        return false;
    if (value->type == GGUF_F64) {
        memcpy(number_out, value->data, sizeof *number_out);
        return true;
    }
    memcpy(&narrow, value->data, sizeof narrow);
    *number_out = (double)narrow;
    return true;
}

bool gguf_truth(const struct gguf *gguf, const char *key, bool *truth)
{
    const struct gguf_value *value = find_scalar(gguf, key);
    if (value == NULL || value->type != GGUF_BOOL)
        return false;
    *truth = value->data[0] != 0;
    return true;
}

struct gguf_text gguf_next_text(const uint8_t **at)
{
    struct gguf_text next = { (const char *)*at + 8, (int64_t)little_endian(*at, 8) };
    *at += 8 + next.bytes;
    return next;
}

struct gguf_text gguf_text(const struct gguf *gguf, const char *key)
{
    const struct gguf_value *value = find_scalar(gguf, key);
    if (value == NULL || value->type != GGUF_TEXT)
        return (struct gguf_text){ NULL, 0 };
    const uint8_t *at = value->data;
    return gguf_next_text(&at);
}

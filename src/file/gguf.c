/* gguf.c: one GGUF file of a Llama-like model, as tensors with Hugging Face names (safetensors.h). Boot and build host.
 *
 * (1) Every length is compared with what the file still has before it is used; no allocation follows a number of the file.
 * (2) Dimensions are reversed, so that the last varies fastest; q and k of architecture llama are marked as permuted.
 * Source: the format's own description (ggml, docs/gguf.md) and ggml's block layouts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/convert.h"
#include "file/tensors.h"

enum { NAME_BYTES_MOST = 64, KEY_BYTES_MOST = 256, DIMENSIONS_MOST = 4, ALIGN_DEFAULT_BYTES = 32, VALUE_STRING = 8, VALUE_ARRAY = 9, SHOWN = 120 };

/* The file being read: at never passes bytes. */
struct cursor {
    const char *path;
    const uint8_t *data;
    int64_t bytes, at;
    enum status status;
    char architecture[32];
    int64_t heads, kv_heads, align;
};

static const struct block {
    uint32_t id;
    enum tensor_type type;
    const char *name;
    int64_t elements, bytes;
} blocks[] = {
    { 0, TENSOR_F32, "F32", 1, 4 },     { 1, TENSOR_F16, "F16", 1, 2 },     { 30, TENSOR_BF16, "BF16", 1, 2 },  { 2, TENSOR_Q4_0, "Q4_0", 32, 18 },
    { 3, TENSOR_Q4_1, "Q4_1", 32, 20 }, { 8, TENSOR_Q8_0, "Q8_0", 32, 34 }, { 14, TENSOR_Q6_K, "Q6_K", 256, 210 },
};

static void refuse(struct cursor *cursor, const char *what)
{
    if (cursor->status == OK)
        cursor->status = fail(E_DATA, "%s: byte %" PRId64 ": %s", cursor->path, cursor->at, what);
}

static uint64_t number(struct cursor *cursor, int bytes)
{
    if (cursor->status != OK || cursor->bytes - cursor->at < bytes) {
        refuse(cursor, "the file ends here: cut short?");
        return 0;
    }
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | cursor->data[cursor->at + i];
    cursor->at += bytes;
    return value;
}

static void skip(struct cursor *cursor, uint64_t bytes)
{
    if (cursor->status == OK && bytes > (uint64_t)(cursor->bytes - cursor->at))
        refuse(cursor, "a length beyond the end of the file");
    if (cursor->status == OK)
        cursor->at += (int64_t)bytes;
}

/* A text of at most room - 1 bytes into out; longer ones, and such with NUL, are refused. */
static void text(struct cursor *cursor, char *out, uint64_t room)
{
    uint64_t bytes = number(cursor, 8);
    const uint8_t *from = cursor->data + cursor->at;
    out[0] = '\0';
    skip(cursor, bytes);
    if (cursor->status != OK)
        return;
    if (bytes >= room || memchr(from, '\0', bytes) != NULL) {
        refuse(cursor, "a name is too long or holds a NUL");
        return;
    }
    memcpy(out, from, bytes);
    out[bytes] = '\0';
}

static int width_of(uint32_t type)
{
    static const int widths[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
    return type < ELEMENTS_OF(widths) ? widths[type] : 0;
}

static void skip_value(struct cursor *cursor, uint32_t type)
{
    if (type == VALUE_STRING) {
        skip(cursor, number(cursor, 8));
        return;
    }
    if (type != VALUE_ARRAY) {
        if (width_of(type) == 0)
            refuse(cursor, "an unknown type of value");
        skip(cursor, (uint64_t)width_of(type));
        return;
    }
    uint32_t element = (uint32_t)number(cursor, 4);
    uint64_t count = number(cursor, 8), width = (uint64_t)width_of(element), left = (uint64_t)(cursor->bytes - cursor->at);
    if (element != VALUE_STRING && width == 0)
        refuse(cursor, "an array of arrays or of an unknown type");
    else if (count > left / (element == VALUE_STRING ? 8 : width))
        refuse(cursor, "an array longer than the file");
    else if (element != VALUE_STRING)
        skip(cursor, count * width);
    else
        for (uint64_t i = 0; i < count && cursor->status == OK; i++)
            skip(cursor, number(cursor, 8));
}

static bool is_key(const struct cursor *cursor, const char *key, const char *end)
{
    char whole[KEY_BYTES_MOST];
    snprintf(whole, sizeof whole, "%s.%s", cursor->architecture, end);
    return strcmp(key, whole) == 0;
}

static void read_value(struct cursor *cursor)
{
    char key[KEY_BYTES_MOST];
    text(cursor, key, sizeof key);
    uint32_t type = (uint32_t)number(cursor, 4);
    if (strcmp(key, "general.architecture") == 0 && type == VALUE_STRING)
        text(cursor, cursor->architecture, sizeof cursor->architecture);
    else if (strcmp(key, "general.alignment") == 0 && type == 4)
        cursor->align = (int64_t)number(cursor, 4);
    else if (type == 4 && is_key(cursor, key, "attention.head_count"))
        cursor->heads = (int64_t)number(cursor, 4);
    else if (type == 4 && is_key(cursor, key, "attention.head_count_kv"))
        cursor->kv_heads = (int64_t)number(cursor, 4);
    else
        skip_value(cursor, type);
}

/* blk.3.attn_q.weight is model.layers.3.self_attn.q_proj.weight; unknown names stay as they are. */
static const char *translate(struct tensors *tensors, const char *name)
{
    static const char *const parts[][2] = {
        { "attn_norm.weight", "input_layernorm.weight" },   { "attn_q.weight", "self_attn.q_proj.weight" },
        { "attn_k.weight", "self_attn.k_proj.weight" },     { "attn_v.weight", "self_attn.v_proj.weight" },
        { "attn_q.bias", "self_attn.q_proj.bias" },         { "attn_k.bias", "self_attn.k_proj.bias" },
        { "attn_v.bias", "self_attn.v_proj.bias" },         { "attn_q_norm.weight", "self_attn.q_norm.weight" },
        { "attn_k_norm.weight", "self_attn.k_norm.weight" }, { "attn_output.weight", "self_attn.o_proj.weight" },
        { "ffn_norm.weight", "post_attention_layernorm.weight" }, { "ffn_gate.weight", "mlp.gate_proj.weight" },
        { "ffn_up.weight", "mlp.up_proj.weight" },          { "ffn_down.weight", "mlp.down_proj.weight" },
    };
    static const char *const whole[][2] = {
        { "token_embd.weight", "model.embed_tokens.weight" }, { "output_norm.weight", "model.norm.weight" }, { "output.weight", "lm_head.weight" },
    };
    char translated[2 * NAME_BYTES_MOST + 32];
    int layer, used = 0;
    for (int64_t i = 0; i < ELEMENTS_OF(whole); i++)
        if (strcmp(name, whole[i][0]) == 0)
            return tensors_keep(tensors, whole[i][1]);
    if (sscanf(name, "blk.%d.%n", &layer, &used) == 1 && used > 0)
        for (int64_t i = 0; i < ELEMENTS_OF(parts); i++)
            if (strcmp(name + used, parts[i][0]) == 0) {
                snprintf(translated, sizeof translated, "model.layers.%d.%s", layer, parts[i][1]);
                return tensors_keep(tensors, translated);
            }
    return tensors_keep(tensors, name);
}

static const struct block *block_of(uint32_t id)
{
    for (int64_t i = 0; i < ELEMENTS_OF(blocks); i++)
        if (blocks[i].id == id)
            return &blocks[i];
    return NULL;
}

static void mark_permuted(const struct cursor *cursor, struct tensor *tensor, const char *name)
{
    bool q = strstr(name, ".attn_q.weight") != NULL, k = strstr(name, ".attn_k.weight") != NULL;
    if (strcmp(cursor->architecture, "llama") != 0 || (!q && !k) || tensor->dimensions != 2)
        return;
    int64_t heads = q ? cursor->heads : cursor->kv_heads > 0 ? cursor->kv_heads : cursor->heads;
    tensor->permuted = heads > 0;
    tensor->permuted_heads = (int32_t)heads;
}

/* An entry: name, dimensions, type, offset from the start of the data, which is known only behind the last entry: kept in bytes. */
static void read_entry(struct cursor *cursor, struct tensors *tensors)
{
    char name[NAME_BYTES_MOST + 1];
    text(cursor, name, sizeof name);
    uint32_t dimensions = (uint32_t)number(cursor, 4);
    if (cursor->status == OK && (dimensions < 1 || dimensions > DIMENSIONS_MOST))
        refuse(cursor, "a tensor has 1 to 4 dimensions");
    if (cursor->status != OK)
        return;
    struct tensor *tensor = tensors_add(tensors, cursor->path);
    tensor->dimensions = (int32_t)dimensions;
    tensor->elements = 1;
    for (uint32_t i = dimensions; i-- > 0;) {
        uint64_t size = number(cursor, 8);
        tensor->shape[i] = (int64_t)size;
        if (size < 1 || size > INT64_MAX || __builtin_mul_overflow(tensor->elements, (int64_t)size, &tensor->elements))
            refuse(cursor, "a tensor's dimensions are 0 or multiply beyond 2^63");
    }
    uint32_t id = (uint32_t)number(cursor, 4);
    uint64_t offset = number(cursor, 8);
    const struct block *block = block_of(id);
    if (cursor->status != OK)
        return;
    tensor->name = translate(tensors, name);
    if (block == NULL) {
        cursor->status = fail(E_DATA, "%s: tensor %.*s has GGUF type %" PRIu32 "; F32, F16, BF16, Q4_0, Q4_1, Q8_0 and Q6_K are read", cursor->path, SHOWN,
                              tensor->name, id);
        return;
    }
    tensor->type = block->type;
    tensor->type_name = block->name;
    if (tensor->shape[tensor->dimensions - 1] % block->elements != 0)
        refuse(cursor, "a row is no whole number of blocks");
    if (offset % (uint64_t)cursor->align != 0 || offset > (uint64_t)cursor->bytes)
        refuse(cursor, "a tensor's offset is not aligned or beyond the file");
    tensor->bytes = (int64_t)offset;
    mark_permuted(cursor, tensor, name);
    if (tensor->permuted && tensor->shape[0] % (2 * tensor->permuted_heads) != 0)
        refuse(cursor, "the heads do not divide the rows of q or k");
}

static int by_offset(const void *a, const void *b)
{
    const struct tensor *x = a, *y = b;
    return (x->data > y->data) - (x->data < y->data);
}

/* Turns offsets into places and sizes, and checks that none passes the end or reaches into the next. */
static void place(struct cursor *cursor, struct tensors *tensors, int64_t first)
{
    int64_t begin = (cursor->at + cursor->align - 1) / cursor->align * cursor->align;
    for (int64_t i = first; i < tensors->count && cursor->status == OK; i++) {
        struct tensor *tensor = &tensors->tensor[i];
        const struct block *block = blocks;
        while (block->type != tensor->type)
            block++;
        int64_t offset = tensor->bytes, bytes;
        if (__builtin_mul_overflow(tensor->elements / block->elements, block->bytes, &bytes) || begin > cursor->bytes ||
            bytes > cursor->bytes - begin || offset > cursor->bytes - begin - bytes) {
            cursor->status = fail(E_DATA, "%s: tensor %.*s at %" PRId64 " of the data passes the end of the file (%" PRId64 " bytes): cut short?",
                                  cursor->path, SHOWN, tensor->name, offset, cursor->bytes);
            return;
        }
        tensor->data = cursor->data + begin + offset;
        tensor->bytes = bytes;
    }
    if (cursor->status != OK)
        return;
    qsort(tensors->tensor + first, (size_t)(tensors->count - first), sizeof *tensors->tensor, by_offset);
    for (int64_t i = first + 1; i < tensors->count; i++)
        if (tensors->tensor[i].data < tensors->tensor[i - 1].data + tensors->tensor[i - 1].bytes) {
            cursor->status = fail(E_DATA, "%s: tensors %.*s and %.*s overlap", cursor->path, SHOWN, tensors->tensor[i - 1].name, SHOWN,
                                  tensors->tensor[i].name);
            return;
        }
}

enum status gguf_read(struct tensors *tensors, const char *path)
{
    struct mapped file;
    TRY(tensors_map(tensors, path, &file));
    if (file.bytes < 24 || memcmp(file.data, "GGUF", 4) != 0)
        return fail(E_DATA, "%s: no GGUF file: it does not begin with GGUF and a header of 24 bytes", path);
    struct cursor cursor = { .path = path, .data = file.data, .bytes = file.bytes, .at = 4, .align = ALIGN_DEFAULT_BYTES };
    uint64_t version = number(&cursor, 4), count = number(&cursor, 8), values = number(&cursor, 8);
    if (version != 2 && version != 3)
        return fail(E_DATA, "%s: GGUF version %" PRIu64 "; 2 and 3, little-endian, are read", path, version);
    /* An entry has at least 8 + 4 + 8 + 4 + 8 bytes, a value at least 8 + 4 + 1. */
    if (count < 1 || count > (uint64_t)file.bytes / 32 || values > (uint64_t)file.bytes / 13)
        return fail(E_DATA, "%s: says %" PRIu64 " tensors and %" PRIu64 " values; a file of %" PRId64 " bytes has no room for them", path, count, values,
                    file.bytes);
    for (uint64_t i = 0; i < values && cursor.status == OK; i++)
        read_value(&cursor);
    if (cursor.status == OK && (cursor.align < 8 || cursor.align > 1 << 16 || (cursor.align & (cursor.align - 1)) != 0))
        return fail(E_DATA, "%s: general.alignment is %" PRId64 "; a power of two from 8 to 65536 is right", path, cursor.align);
    int64_t first = tensors->count;
    for (uint64_t i = 0; i < count && cursor.status == OK; i++)
        read_entry(&cursor, tensors);
    place(&cursor, tensors, first);
    return cursor.status;
}

/* ---- blocks ---- */

static uint16_t half_at(const uint8_t *x)
{
    return (uint16_t)(x[0] | x[1] << 8);
}

/* 32 numbers: scale, [minimum,] 16 bytes whose low halves are the first 16 and high halves the last 16. */
static void expand_q4(const uint8_t *block, float *y, bool has_minimum)
{
    float scale = convert_from_f16(half_at(block)), minimum = has_minimum ? convert_from_f16(half_at(block + 2)) : -8.0f * scale;
    const uint8_t *nibbles = block + (has_minimum ? 4 : 2);
    for (int i = 0; i < 16; i++) {
        y[i] = (float)(nibbles[i] & 15) * scale + minimum;
        y[i + 16] = (float)(nibbles[i] >> 4) * scale + minimum;
    }
}

static void expand_q8(const uint8_t *block, float *y)
{
    float scale = convert_from_f16(half_at(block));
    for (int i = 0; i < 32; i++)
        y[i] = (float)(int8_t)block[2 + i] * scale;
}

/* 256 numbers: 128 bytes of low four bits, 64 of high two bits, 16 signed scales, one scale of scales. */
static void expand_q6_k(const uint8_t *block, float *y)
{
    const uint8_t *low = block, *high = block + 128, *scales = block + 192;
    float scale = convert_from_f16(half_at(block + 208));
    for (int half = 0; half < 2; half++, low += 64, high += 32, scales += 8, y += 128)
        for (int i = 0; i < 32; i++) {
            const int quad[4] = {
                (low[i] & 15) | (high[i] & 3) << 4, (low[i + 32] & 15) | (high[i] >> 2 & 3) << 4,
                (low[i] >> 4) | (high[i] >> 4 & 3) << 4, (low[i + 32] >> 4) | (high[i] >> 6 & 3) << 4,
            };
            for (int q = 0; q < 4; q++)
                y[i + 32 * q] = scale * (float)(int8_t)scales[2 * q + i / 16] * (float)(quad[q] - 32);
        }
}

enum status gguf_expand(const struct tensor *tensor, float *y, int64_t first, int64_t count)
{
    float expanded[256];
    const struct block *block = blocks;
    while (block->type != tensor->type)
        block++;
    while (count > 0) {
        int64_t index = first / block->elements, begin = first % block->elements;
        int64_t part = block->elements - begin < count ? block->elements - begin : count;
        const uint8_t *at = tensor->data + index * block->bytes;
        if (tensor->type == TENSOR_Q6_K)
            expand_q6_k(at, expanded);
        else if (tensor->type == TENSOR_Q8_0)
            expand_q8(at, expanded);
        else
            expand_q4(at, expanded, tensor->type == TENSOR_Q4_1);
        memcpy(y, expanded + begin, (size_t)part * sizeof *y);
        y += part;
        first += part;
        count -= part;
    }
    return OK;
}

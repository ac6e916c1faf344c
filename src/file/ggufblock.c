/* ggufblock.c: see ggufblock.h.
 *
 * (1) Products of a scale (11 bits) and a quantum (at most 8) are exact in fp32: only the sum with a minimum is rounded, once.
 * Source: ggml's block layouts, ggml-common.h. */
#include "file/ggufblock.h"

#include <string.h>

#include "file/convert.h"

enum { BLOCK_ELEMENTS_MOST = 256 };

static const struct ggufblock blocks[] = {
    { 0, TENSOR_F32, "F32", 1, 4 },     { 1, TENSOR_F16, "F16", 1, 2 },     { 30, TENSOR_BF16, "BF16", 1, 2 },  { 2, TENSOR_Q4_0, "Q4_0", 32, 18 },
    { 3, TENSOR_Q4_1, "Q4_1", 32, 20 }, { 8, TENSOR_Q8_0, "Q8_0", 32, 34 }, { 14, TENSOR_Q6_K, "Q6_K", 256, 210 },
};

const struct ggufblock *ggufblock_of(uint32_t id)
{
    for (int64_t i = 0; i < ELEMENTS_OF(blocks); i++)
        if (blocks[i].id == id)
            return &blocks[i];
    return NULL;
}

static float half_at(const uint8_t *x)
{
    return convert_from_f16((uint16_t)(x[0] | x[1] << 8));
}

/* 32 numbers in 16 bytes: the low halves are the first 16, the high halves the last 16. */
static void expand_nibbles(float *y, const uint8_t *nibbles, float scale, float minimum)
{
    for (int i = 0; i < 16; i++) {
        y[i] = (float)(nibbles[i] & 15) * scale + minimum;
        y[i + 16] = (float)(nibbles[i] >> 4) * scale + minimum;
    }
}

static void expand_q8_0(float *y, const uint8_t *block)
{
    float scale = half_at(block);
    for (int i = 0; i < 32; i++)
        y[i] = (float)(int8_t)block[2 + i] * scale;
}

/* 256 numbers of 6 bits less 32: 128 bytes of low four bits, 64 of high two bits, a signed scale for each 16 numbers, one scale of scales. Each half of
 * 128 numbers takes its low bits from 64 bytes, first their low halves, then their high ones, and its high bits from 32 bytes, two at a time. */
static void expand_q6_k(float *y, const uint8_t *block)
{
    const int8_t *scales = (const int8_t *)block + 192;
    float scale = half_at(block + 208);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, quarter = i % 128 / 32, column = i % 32;
        const uint8_t *low = block + 64 * half + 32 * (quarter % 2) + column, *high = block + 128 + 32 * half + column;
        int quantum = (quarter < 2 ? *low & 15 : *low >> 4) | (*high >> 2 * quarter & 3) << 4;
        y[i] = scale * (float)scales[i / 16] * (float)(quantum - 32);
    }
}

static void expand(enum tensor_type type, float *y, const uint8_t *block)
{
    switch (type) {
    case TENSOR_Q4_0:
        expand_nibbles(y, block + 2, half_at(block), -8.0f * half_at(block));
        break;
    case TENSOR_Q4_1:
        expand_nibbles(y, block + 4, half_at(block), half_at(block + 2));
        break;
    case TENSOR_Q8_0:
        expand_q8_0(y, block);
        break;
    default:
        ASSERT(type == TENSOR_Q6_K);
        expand_q6_k(y, block);
        break;
    }
}

void ggufblock_read(enum tensor_type type, float *y, const uint8_t *data, int64_t first, int64_t count)
{
    float expanded[BLOCK_ELEMENTS_MOST];
    const struct ggufblock *block = blocks;
    while (block->type != type)
        block++;
    while (count > 0) {
        int64_t begin = first % block->elements, part = block->elements - begin < count ? block->elements - begin : count;
        expand(type, expanded, data + first / block->elements * block->bytes);
        memcpy(y, expanded + begin, (size_t)part * sizeof *y);
        y += part;
        first += part;
        count -= part;
    }
}

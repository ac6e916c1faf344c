/* convert.c: see convert.h. Any phase.
 *
 * (1) No branch on a number's class, and no subnormal fp32 number as an intermediate: loops are vectorised, and flush-to-zero modes change nothing. */
#include "file/convert.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "stored numbers are taken as they lie in memory");

static inline float as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t as_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float from_bf16(uint16_t x)
{
    return as_float((uint32_t)x << 16);
}

/* Moves the exponent from bias 15 to bias 127. A subnormal m * 2^-24 gets the exponent of 2^-14, which makes it 2^-14 + m * 2^-24; that much is taken
 * off again. */
static inline float from_f16(uint16_t x)
{
    uint32_t sign = (uint32_t)(x & 0x8000) << 16, magnitude = (uint32_t)(x & 0x7fff) << 13, exponent = magnitude & 0x0f800000;
    uint32_t moved = magnitude + (exponent == 0x0f800000 ? 224u << 23 : exponent == 0 ? 113u << 23 : 112u << 23);
    float offset = exponent == 0 ? 0x1p-14f : 0.0f;
    return as_float(as_bits(as_float(moved) - offset) | sign);
}

static inline uint16_t to_bf16(float x)
{
    uint32_t bits = as_bits(x), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded);
}

/* Below 2^-14 the spacing of fp16 is 2^-24, which is that of fp32 from 1/2 to 1: adding 1/2 rounds there, and leaves m in the low bits. Above, the lowest
 * 13 bits are rounded off; a carry into the exponent is right, up to infinity. */
static inline uint16_t to_f16(float x)
{
    uint32_t bits = as_bits(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    uint32_t small = as_bits(as_float(magnitude < 0x38800000 ? magnitude : 0) + 0.5f) - 0x3f000000;
    uint32_t large = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
    uint32_t finite = magnitude < 0x38800000 ? small : magnitude < 0x47800000 ? large : 0x7c00;
    uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    return (uint16_t)(sign | (magnitude > 0x7f800000 ? nan : finite));
}

float convert_from_bf16(uint16_t x)
{
    return from_bf16(x);
}

float convert_from_f16(uint16_t x)
{
    return from_f16(x);
}

uint16_t convert_to_bf16(float x)
{
    return to_bf16(x);
}

uint16_t convert_to_f16(float x)
{
    return to_f16(x);
}

void convert_read_f32(float *restrict y, const uint8_t *restrict x, int64_t elements)
{
    memcpy(y, x, (size_t)elements * sizeof *y);
}

void convert_write_f32(uint8_t *restrict y, const float *restrict x, int64_t elements)
{
    memcpy(y, x, (size_t)elements * sizeof *x);
}

#define READ_LOOP(from)                                                                                                          \
    for (int64_t i = 0; i < elements; i++) {                                                                                     \
        uint16_t stored;                                                                                                         \
        memcpy(&stored, x + 2 * i, sizeof stored);                                                                               \
        y[i] = from(stored);                                                                                                     \
    }
#define WRITE_LOOP(to)                                                                                                           \
    for (int64_t i = 0; i < elements; i++) {                                                                                     \
        uint16_t stored = to(x[i]);                                                                                              \
        memcpy(y + 2 * i, &stored, sizeof stored);                                                                               \
    }

void convert_read_bf16(float *restrict y, const uint8_t *restrict x, int64_t elements)
{
    READ_LOOP(from_bf16)
}

void convert_read_f16(float *restrict y, const uint8_t *restrict x, int64_t elements)
{
    READ_LOOP(from_f16)
}

void convert_write_bf16(uint8_t *restrict y, const float *restrict x, int64_t elements)
{
    WRITE_LOOP(to_bf16)
}

void convert_write_f16(uint8_t *restrict y, const float *restrict x, int64_t elements)
{
    WRITE_LOOP(to_f16)
}

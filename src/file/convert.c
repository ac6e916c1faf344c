/* convert.c: see convert.h. Any phase; no state. */
#include "file/convert.h"

#include <string.h>

float convert_from_bf16(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

float convert_from_f16(uint16_t x)
{
    uint32_t sign = (uint32_t)(x & 0x8000) << 16, exponent = x >> 10 & 31, mantissa = x & 1023, bits;
    if (exponent == 0) {
        /* Zero and subnormals: mantissa * 2^-24, exact in fp32. */
        float y = (float)mantissa * 0x1p-24f;
        return sign != 0 ? -y : y;
    }
    bits = exponent == 31 ? sign | 0x7f800000 | mantissa << 13 : sign | (exponent + 112) << 23 | mantissa << 13;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

void convert_f32(float *y, const uint8_t *x, int64_t elements)
{
    memcpy(y, x, (size_t)elements * sizeof *y);
}

void convert_bf16(float *y, const uint8_t *x, int64_t elements)
{
    for (int64_t i = 0; i < elements; i++)
        y[i] = convert_from_bf16((uint16_t)(x[2 * i] | x[2 * i + 1] << 8));
}

void convert_f16(float *y, const uint8_t *x, int64_t elements)
{
    for (int64_t i = 0; i < elements; i++)
        y[i] = convert_from_f16((uint16_t)(x[2 * i] | x[2 * i + 1] << 8));
}

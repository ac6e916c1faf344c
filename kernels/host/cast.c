/* cast.c: storage types to and from fp32 (kernels.h). Any phase. */
#include <string.h>

#include "kernels/host/simd.h"
#include "kernels/kernels.h"

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float from_bf16(const uint8_t *x)
{
    uint32_t bits = (uint32_t)(x[0] | x[1] << 8) << 16;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

void cast_to_float(float *y, const void *x, enum storage from, int64_t elements)
{
    const uint8_t *bytes = x;
    switch (from) {
    case STORAGE_F32:
        memcpy(y, x, (size_t)elements * sizeof *y);
        break;
    case STORAGE_BF16:
        for (int64_t i = 0; i < elements; i++)
            y[i] = from_bf16(bytes + 2 * i);
        break;
    case STORAGE_F16:
        for (int64_t i = 0; i < elements; i++)
            y[i] = _cvtsh_ss((unsigned short)(bytes[2 * i] | bytes[2 * i + 1] << 8));
        break;
    }
}

/* Nearest, ties to even; a NaN stays one although its low bits are cut. */
static uint16_t to_bf16(float x)
{
    uint32_t bits = bits_of(x);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void cast_from_float(void *y, const float *x, enum storage to, int64_t elements)
{
    uint8_t *bytes = y;
    if (to == STORAGE_F32) {
        memcpy(y, x, (size_t)elements * sizeof *x);
        return;
    }
    for (int64_t i = 0; i < elements; i++) {
        uint16_t half = to == STORAGE_BF16 ? to_bf16(x[i]) : _cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
        memcpy(bytes + 2 * i, &half, sizeof half);
    }
}

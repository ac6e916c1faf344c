/* convert_test.c: storage types to and from fp32, against the definition of the formats and the processor's own conversion. */
#include "file/convert.h"
#include "kernels/kernels.h"
#include "test/test.h"

enum { PATTERNS = 1 << 16, RANDOM_NUMBERS = 1 << 20 };

/* sign, exponent and mantissa as IEEE 754 defines them, in double: bits of mantissa, bias of the exponent. */
static double by_definition(uint32_t x, int mantissa_bits, int exponent_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1, exponent = (int)(x >> mantissa_bits) & ((1 << exponent_bits) - 1);
    double mantissa = (double)(x & ((1u << mantissa_bits) - 1)), sign = x >> (mantissa_bits + exponent_bits) & 1 ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1)
        return mantissa == 0 ? sign * (double)INFINITY : (double)NAN;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * ldexp(mantissa + ldexp(1.0, mantissa_bits), exponent - bias - mantissa_bits);
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

TEST(every_stored_number_is_what_its_bits_say)
{
    static uint8_t stored[2 * PATTERNS + 1];
    static float bf16[PATTERNS], f16[PATTERNS];
    uint8_t *at = stored + 1;      /* an odd address */
    for (uint32_t i = 0; i < PATTERNS; i++) {
        at[2 * i] = (uint8_t)i;
        at[2 * i + 1] = (uint8_t)(i >> 8);
    }
    convert_read_bf16(bf16, at, PATTERNS);
    convert_read_f16(f16, at, PATTERNS);
    for (uint32_t i = 0; i < PATTERNS; i++) {
        EXPECT(same((double)bf16[i], by_definition(i, 7, 8)));
        EXPECT(same((double)f16[i], by_definition(i, 10, 5)));
        EXPECT(same((double)convert_from_bf16((uint16_t)i), (double)bf16[i]));
        EXPECT(same((double)convert_from_f16((uint16_t)i), (double)f16[i]));
    }
}

TEST(a_stored_number_survives_both_ways)
{
    for (uint32_t i = 0; i < PATTERNS; i++) {
        uint16_t bits = (uint16_t)i;
        float bf16 = convert_from_bf16(bits), f16 = convert_from_f16(bits);
        EXPECT(isnan(bf16) ? isnan(convert_from_bf16(convert_to_bf16(bf16))) : convert_to_bf16(bf16) == bits);
        EXPECT(isnan(f16) ? isnan(convert_from_f16(convert_to_f16(f16))) : convert_to_f16(f16) == bits);
    }
}

/* The nearest of the two neighbours, by distance in double; a tie goes to the even one. */
static bool is_nearest(float x, uint16_t seen, int mantissa_bits, int exponent_bits)
{
    double y = by_definition(seen, mantissa_bits, exponent_bits), below = by_definition((uint16_t)(seen - 1), mantissa_bits, exponent_bits);
    double above = by_definition((uint16_t)(seen + 1), mantissa_bits, exponent_bits), distance = fabs(y - (double)x);
    bool edge = (seen & 0x7fff) == 0;      /* the neighbour of zero on the other side is never nearer */
    double other = edge ? fabs(above - (double)x) : fmin(fabs(below - (double)x), fabs(above - (double)x));
    return distance < other || (distance == other && seen % 2 == 0);
}

TEST(a_float_becomes_the_nearest_and_ties_go_to_even)
{
    uint64_t state = test_seed();
    for (int i = 0; i < RANDOM_NUMBERS; i++) {
        uint32_t bits = (uint32_t)test_random(&state);
        float x;
        if (i % 4 == 0)
            bits &= 0xfffff000;        /* many exact ties of fp16 */
        if (i % 4 == 1)
            bits = (bits & 0x9fffffff) | 0x30000000;      /* fp16's range, subnormals with it */
        memcpy(&x, &bits, sizeof x);
        if (fabsf(x) < 3.0e38f)
            EXPECT(is_nearest(x, convert_to_bf16(x), 7, 8));
        if (fabsf(x) < 65504.0f)
            EXPECT(is_nearest(x, convert_to_f16(x), 10, 5));
    }
}

TEST(what_is_too_great_becomes_infinite_and_nan_stays_nan)
{
    static const struct {
        float x;
        uint16_t bf16, f16;
    } cases[] = {
        { 65504.0f, 0x4780, 0x7bff },     { 65519.99f, 0x4780, 0x7bff },  { 65520.0f, 0x4780, 0x7c00 },  { -65520.0f, 0xc780, 0xfc00 },
        { 3.38953139e38f, 0x7f7f, 0x7c00 }, { 3.4e38f, 0x7f80, 0x7c00 },  { 0x1p-24f, 0x3380, 0x0001 },  { 0x1p-25f, 0x3300, 0x0000 },
        { 0x1.000002p-25f, 0x3300, 0x0001 }, { 0x1.8p-24f, 0x33c0, 0x0002 }, { -0.0f, 0x8000, 0x8000 },  { 1.00390625f, 0x3f80, 0x3c04 },
        { 1.01171875f, 0x3f82, 0x3c0c },  { 0x1.ff8p-15f, 0x3880, 0x03ff }, { 0x1.ffcp-15f, 0x3880, 0x0400 },
    };
    for (int64_t i = 0; i < (int64_t)(sizeof cases / sizeof cases[0]); i++) {
        EXPECT_EQ(convert_to_bf16(cases[i].x), cases[i].bf16);
        EXPECT_EQ(convert_to_f16(cases[i].x), cases[i].f16);
    }
    uint32_t low = 0x7f800001;      /* a NaN whose set bit is cut off */
    float nan;
    memcpy(&nan, &low, sizeof nan);
    EXPECT(isnan(convert_from_bf16(convert_to_bf16(nan))));
    EXPECT(isnan(convert_from_f16(convert_to_f16(nan))));
}

TEST(reader_and_kernels_agree_to_the_bit)
{   /* The reader fills the parameters and the kernels' cast writes the checkpoint: they must be each other's inverse. */
    static float x[PATTERNS];
    static uint8_t ours[2 * PATTERNS];
    static uint16_t theirs[PATTERNS];
    static const enum storage types[] = { STORAGE_BF16, STORAGE_F16 };
    uint64_t state = test_seed() + 1;
    for (int round = 0; round < 8; round++)
        for (int type = 0; type < 2; type++) {
            for (int i = 0; i < PATTERNS; i++) {
                uint32_t bits = (uint32_t)test_random(&state);
                memcpy(&x[i], &bits, sizeof bits);
                if (isnan(x[i]))
                    x[i] = 0.0f;
            }
            (type == 0 ? convert_write_bf16 : convert_write_f16)(ours, x, PATTERNS);
            cast_from_float(theirs, x, types[type], PATTERNS);
            EXPECT(memcmp(ours, theirs, sizeof theirs) == 0);
        }
}

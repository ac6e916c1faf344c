/* cast_test.c: storage types to fp32 and back. */
#include "test/reference/arrays.h"
#include "test/test.h"

/* A number of sign, exponent and mantissa by its definition; infinities and NaNs as the format has them. */
static double value_of(uint32_t bits, int exponent_bits, int mantissa_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1, exponent = (int)(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    double mantissa = (double)(bits & ((1u << mantissa_bits) - 1)) / (double)(1 << mantissa_bits);
    double sign = bits >> (mantissa_bits + exponent_bits) ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1)
        return mantissa == 0.0 ? sign * INFINITY : NAN;
    return exponent == 0 ? sign * ldexp(mantissa, 1 - bias) : sign * ldexp(1.0 + mantissa, exponent - bias);
}

static const struct format {
    enum storage storage;
    int exponent_bits, mantissa_bits;
} formats[] = { { STORAGE_BF16, 8, 7 }, { STORAGE_F16, 5, 10 } };

TEST(every_short_number_is_read_exactly_at_any_address)
{
    enum { ALL = 1 << 16 };
    uint8_t *bytes = malloc(2 * ALL + 1);
    float *y = array_new(ALL);
    for (int f = 0; f < ELEMENTS_OF(formats); f++)
        for (int shift = 0; shift < 2; shift++) {
            for (int i = 0; i < ALL; i++) {
                bytes[2 * i + shift] = (uint8_t)i;
                bytes[2 * i + 1 + shift] = (uint8_t)(i >> 8);
            }
            cast_to_float(y, bytes + shift, formats[f].storage, ALL);
            for (uint32_t i = 0; i < ALL; i++) {
                double right = value_of(i, formats[f].exponent_bits, formats[f].mantissa_bits);
                EXPECT(isnan(right) ? isnan(y[i]) : (double)y[i] == right && (signbit(y[i]) != 0) == (signbit(right) != 0));
            }
        }
    free(bytes);
    array_free(y);
}

TEST(fp32_is_copied_to_the_bit)
{
    const uint32_t bits[] = { 0, 0x80000000, 0x7f800001, 0xffc12345, 0x00000001, 0x3f800000 };
    uint8_t bytes[sizeof bits + 1], back[sizeof bits];
    float x[6];
    memcpy(bytes + 1, bits, sizeof bits);
    cast_to_float(x, bytes + 1, STORAGE_F32, 6);
    cast_from_float(back, x, STORAGE_F32, 6);
    EXPECT(memcmp(back, bits, sizeof bits) == 0);
}

/* The nearest of all short numbers, by looking at the one below and the one above; of two equally near the even one. */
static void check_nearest(const struct format *format, float x)
{
    uint16_t seen;
    cast_from_float(&seen, &x, format->storage, 1);
    uint32_t infinity = ((1u << format->exponent_bits) - 1) << format->mantissa_bits, sign = signbit(x) ? 0x8000 : 0;
    double size = fabs((double)x);
    uint32_t low = 0, high = infinity;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (value_of(middle, format->exponent_bits, format->mantissa_bits) <= size)
            low = middle;
        else
            high = middle;
    }
    /* Beyond the largest number, infinity stands where the next number would be. */
    double below = value_of(low, format->exponent_bits, format->mantissa_bits);
    double above = high == infinity ? below + (below - value_of(low - 1, format->exponent_bits, format->mantissa_bits))
                                    : value_of(high, format->exponent_bits, format->mantissa_bits);
    uint32_t right = size - below < above - size ? low : size - below > above - size ? high : low % 2 == 0 ? low : high;
    if (isinf(x))
        right = infinity;
    EXPECT_EQ(seen, sign | right);
}

TEST(fp32_is_rounded_to_the_nearest_even)
{
    uint64_t state = test_seed();
    for (int f = 0; f < ELEMENTS_OF(formats); f++) {
        int cut = 23 - formats[f].mantissa_bits;
        for (int i = 0; i < 100000; i++) {
            uint32_t bits = (uint32_t)test_random(&state);
            if (i % 4 == 0)
                bits = bits >> cut << cut | 1u << (cut - 1);      /* a tie */
            if (i % 2 == 0)
                bits = (bits & 0x807fffff) | (uint32_t)(127 - 30 + (int)(test_random(&state) % 60)) << 23;      /* within fp16's reach, mostly */
            float x;
            memcpy(&x, &bits, sizeof x);
            if (!isnan(x))
                check_nearest(&formats[f], x);
        }
        check_nearest(&formats[f], INFINITY);
        check_nearest(&formats[f], -0.0f);
        check_nearest(&formats[f], 3.4e38f);
        const uint32_t nans[] = { 0x7f800001, 0xff800001, 0x7fffffff, 0x7fc00000 };
        for (int i = 0; i < ELEMENTS_OF(nans); i++) {
            uint16_t seen;
            cast_from_float(&seen, (const float *)(const void *)&nans[i], formats[f].storage, 1);
            EXPECT(isnan(value_of(seen, formats[f].exponent_bits, formats[f].mantissa_bits)));
        }
    }
}

TEST(tails_are_cast)
{
    uint64_t state = test_seed();
    for (int f = 0; f < ELEMENTS_OF(formats); f++)
        for (int64_t n = 1; n < 40; n++) {
            float *x = array_random(n, &state), *back = array_new(n);
            uint16_t many[64], one;
            memset(many, 0xab, sizeof many);
            cast_from_float(many, x, formats[f].storage, n);
            EXPECT_EQ(many[n], 0xabab);
            for (int64_t i = 0; i < n; i++) {
                cast_from_float(&one, x + i, formats[f].storage, 1);
                EXPECT_EQ(many[i], one);
            }
            cast_to_float(back, many, formats[f].storage, n);
            for (int64_t i = 0; i < n; i++)
                EXPECT((double)back[i] == value_of(many[i], formats[f].exponent_bits, formats[f].mantissa_bits));
            array_free(x);
            array_free(back);
        }
}

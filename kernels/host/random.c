/* random.c: random numbers by counter: a number depends on its key and place alone (kernels.h). Any phase. */
#include "kernels/kernels.h"

enum { ROUNDS = 10 };

/* Multipliers and Weyl constants of Salmon et al. 2011, table 2 and section 4.3. */
static const uint32_t multiplier[2] = { 0xd2511f53, 0xcd9e8d57 }, weyl[2] = { 0x9e3779b9, 0xbb67ae85 };

struct philox philox(uint64_t key, uint64_t counter_high, uint64_t counter_low)
{
    uint32_t k[2] = { (uint32_t)key, (uint32_t)(key >> 32) };
    uint32_t c[4] = { (uint32_t)counter_low, (uint32_t)(counter_low >> 32), (uint32_t)counter_high, (uint32_t)(counter_high >> 32) };
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t a = (uint64_t)multiplier[0] * c[0], b = (uint64_t)multiplier[1] * c[2];
        uint32_t next[4] = { (uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k[1], (uint32_t)a };
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        k[0] += weyl[0];
        k[1] += weyl[1];
    }
    return (struct philox){ { c[0], c[1], c[2], c[3] } };
}

void random_uniform(float *y, uint64_t seed, uint64_t purpose, int64_t first, int64_t elements, float mean, float scale)
{
    struct philox four = { { 0 } };
    for (int64_t i = 0; i < elements; i++) {
        uint64_t place = (uint64_t)(first + i);
        if (i == 0 || place % 4 == 0)
            four = philox(seed, purpose, place / 4);
        float uniform = (float)(four.word[place % 4] >> 8) * 0x1p-24f;
        y[i] = mean + scale * (uniform - 0.5f);
    }
}

/* order.c: see order.h. Steady; no state. */
#include "run/order.h"

#include "kernels/kernels.h"

enum { ROUNDS = 6, PURPOSE_ORDER = 1 };

int64_t order_row(uint64_t seed, int64_t epoch, int64_t position, int64_t rows)
{
    ASSERT(position >= 0 && position < rows);
    int half_bits = 1;
    while (((int64_t)1 << (2 * half_bits)) < rows)
        half_bits++;
    uint64_t mask = ((uint64_t)1 << half_bits) - 1, value = (uint64_t)position;
    do {
        uint64_t left = value >> half_bits, right = value & mask;
        for (int round = 0; round < ROUNDS; round++) {
            uint64_t mixed = philox(seed, (uint64_t)PURPOSE_ORDER << 56 | (uint64_t)epoch << 8 | (uint64_t)round, right).word[0];
            uint64_t next = (left ^ mixed) & mask;
            left = right;
            right = next;
        }
        value = left << half_bits | right;
    } while (value >= (uint64_t)rows);
    return (int64_t)value;
}

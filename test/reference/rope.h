/* rope.h: rotary positions in fp64: each pair (d, d + D/2) of a head as a complex number, turned by position * frequency (Su et al. 2021, section
 * 3.4.2, with the pairs of Hugging Face). */
#ifndef TEST_REFERENCE_ROPE_H
#define TEST_REFERENCE_ROPE_H

#include <stdint.h>

/* heads counts queries and keys; a token has heads + values heads in qkv. frequency [head_size / 2]. factor: the attention factor. sign -1 turns
 * back. */
void reference_rope_apply(double *qkv, const double *frequency, double factor, const int32_t *position, int64_t tokens, int64_t heads,
                          int64_t values, int64_t head_size, double sign);

#endif

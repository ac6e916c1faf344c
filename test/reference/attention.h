/* attention.h: softmax attention in fp64, the whole T x T matrix, pair by pair. With bounds for what fp32 may differ. */
#ifndef TEST_REFERENCE_ATTENTION_H
#define TEST_REFERENCE_ATTENTION_H

#include "kernels/kernels.h"

/* o, o_size [N, H*D]; lse, score_size [B,H,T]. o_size: sum of P |v|. score_size: the largest scale * sum of |q| |k| over the keys that are seen. */
void reference_attention_forward(double *o, double *o_size, double *lse, double *score_size, const double *qkv, const int32_t *start,
                                 struct attention n);

/* dqkv [N, (H+2K)*D] is written. dqkv_size: the same sums over absolute values, with P (sum |do| |v| + sum |do| o_size) for the score's gradient. */
void reference_attention_backward(double *dqkv, double *dqkv_size, const double *do_, const double *qkv, const int32_t *start, struct attention n);

#endif

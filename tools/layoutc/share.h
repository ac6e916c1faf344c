/* share.h: what one rank holds under tensor parallelism, and the sizes that follow. The run-time twin of src/config.h's derived
 * constants; tables.c asserts that both agree. */
#ifndef TOOLS_LAYOUTC_SHARE_H
#define TOOLS_LAYOUTC_SHARE_H

#include "tools/layoutc/input.h"

enum { F32_BYTES = 4 };

struct share {
    int64_t ranks;
    int64_t heads, kv_heads, kv_copies; /* of one rank; kv_copies: ranks that hold the same KV heads */
    int64_t qkv_columns, attention_columns, intermediate, vocabulary;
    int64_t tokens;     /* of a micro-batch on one rank */
    bool sequence_parallel;
    int64_t residual_rows; /* of them, those whose residual the rank holds */
    int64_t logit_rows; /* rows of logits that exist at one time */
};

/* Needs an input that diagnose_input has passed. */
struct share share_of(const struct input *input);

static inline int64_t round_up(int64_t value, int64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

#endif

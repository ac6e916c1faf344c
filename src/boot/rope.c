/* rope.c: see rope.h. Phase: boot. */
#include "boot/rope.h"

#include "config.h"

BOOT void rope_fill(float *table)
{
    static const struct rope rope = {
        .theta = MODEL_ROPE_THETA,
        .scaling = MODEL_ROPE_SCALING,
        .factor = MODEL_ROPE_FACTOR,
        .low_frequency_factor = MODEL_ROPE_LOW_FREQUENCY_FACTOR,
        .high_frequency_factor = MODEL_ROPE_HIGH_FREQUENCY_FACTOR,
        .original_positions = MODEL_ROPE_ORIGINAL_POSITIONS,
        .beta_fast = MODEL_ROPE_BETA_FAST,
        .beta_slow = MODEL_ROPE_BETA_SLOW,
        .attention_factor = MODEL_ROPE_ATTENTION_FACTOR,
        .truncate = MODEL_ROPE_TRUNCATE,
    };
    rope_table(table, &rope, SEQUENCE_TOKENS, MODEL_HEAD_DIM);
}

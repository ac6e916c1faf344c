/* feed.h: hands the executive the rows of its next micro-batch.
 *
 * Phase: steady. Allocates nothing, opens nothing, cannot fail: boot mapped, hashed and counted data.pack.
 * (1) The order of rows is one permutation keyed by (seed, epoch), never by rank: every layout sees the same global batch.
 * (2) A global batch that the data cannot fill is filled with rows of weight zero; no rank skips a call. */
#ifndef SRC_RUN_FEED_H
#define SRC_RUN_FEED_H

#include "run/player.h"

/* BUFFER_BATCH: [MICRO_BATCH_ROWS * SEQUENCE_TOKENS] each. */
struct batch {
    int32_t *token, *target, *start, *position;
    float *loss, *hit;
};
struct batch batch_at(const struct player *player, int32_t buffer);

/* Which rows make the global batch of optimizer step `step` (from 1): row [GLOBAL_BATCH_ROWS] out, NONE past the epoch's end. Each epoch ends
 * with a short batch rather than one that reaches into the next. Returns the number of targets in the batch. */
int64_t feed_training_rows(const struct night *night, int64_t step, int64_t *row);

/* Rows of pass `pass` over the held-out data, in file order: row [DP * MICRO_BATCH_ROWS] out. Returns the number of targets. */
int64_t feed_evaluation_rows(const struct pack *pack, int64_t pass, int64_t *row);

/* Fills the batch buffer for micro-batch `micro` of this rank: row (micro*DP + dp)*MICRO_BATCH_ROWS + b of the global batch. */
void feed_micro_batch(const struct player *player, int32_t micro, int32_t buffer);

#endif

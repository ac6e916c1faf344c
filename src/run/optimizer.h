/* optimizer.h: gradient norm, clipping, AdamW on the rank's own slice of every bucket (ZeRO-1).
 *
 * Phase: steady. (1) The norm counts each parameter once: not the second copy of a tied embedding, and of the copies under tensor
 * parallelism the first. (2) It is a sum of whole numbers (struct exact_sum), so stages and threads change no bit of it. */
#ifndef SRC_RUN_OPTIMIZER_H
#define SRC_RUN_OPTIMIZER_H

#include "run/player.h"

/* STEP_NORM: exchanges sums of squares and losses of all ranks; sets norm, clip_factor, global_loss, global_hits and bad. */
void optimizer_norm(struct player *player);

/* STEP_UPDATE: one AdamW update of the own slice of the bucket. */
void optimizer_update(struct player *player, const struct bucket *bucket);

/* The sums of losses and hits over all ranks, for an evaluation: sets global_loss, global_hits. */
void optimizer_sum_losses(struct player *player);

#endif

/* play.h: one program, once through: the one switch, one case a kind of step. */
#ifndef SRC_RUN_PLAY_H
#define SRC_RUN_PLAY_H

#include "run/player.h"

/* Phase: steady. All ranks play their programs of the same name at the same time. */
void play(struct player *player, const struct program *program);

/* All parameters of a bucket, laid out as the bucket is: where they lie, or with ZeRO 3 gathered from the replicas, until the next call. Every
 * rank of the stage calls it for the same buckets in the same order. */
const float *play_bucket(struct player *player, int32_t bucket);

#endif

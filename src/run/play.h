/* play.h: one program, once through: the one switch, one case a kind of step. */
#ifndef SRC_RUN_PLAY_H
#define SRC_RUN_PLAY_H

#include "run/player.h"

/* Phase: steady. All ranks play their programs of the same name at the same time. */
void play(struct player *player, const struct program *program);

#endif

/* evaluate.h: held-out loss and token accuracy.
 *
 * Phase: steady. (1) Every held-out row counts once; the last pass is filled with rows of weight zero. */
#ifndef SRC_RUN_EVALUATE_H
#define SRC_RUN_EVALUATE_H

#include "run/player.h"

/* All ranks call it together and receive the same result, bit for bit. */
struct evaluation_result evaluate(struct player *player, int64_t steps_done);

#endif

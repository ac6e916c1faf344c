/* rope.h: the rotary positions of this image's model.
 *
 * Phase: boot. */
#ifndef SRC_BOOT_ROPE_H
#define SRC_BOOT_ROPE_H

#include "kernels/kernels.h"

/* Fills table [SEQUENCE_TOKENS, D/2, 2] from the constants of the model's header. BOOT. */
void rope_fill(float *table);

#endif

/* model.h: the model that this image was built for: what config.json must say, and its rotary positions.
 *
 * Phase: boot. */
#ifndef SRC_BOOT_MODEL_H
#define SRC_BOOT_MODEL_H

#include "night.h"

/* config.json of job.model says the shapes of the image; prints what it had to take as the family's default. Nothing is read where job.model is "".
 * Returns OK; E_READ; E_DATA, naming the first field that differs. BOOT. */
MUST_USE enum status model_check(const struct job *job);

/* Fills table [SEQUENCE_TOKENS, D/2, 2] from the constants of the model's header. BOOT. */
void model_rope(float *table);

#endif

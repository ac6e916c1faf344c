/* carry.h: the files that go unchanged from the model's folder to the output, so that other software loads it as it stands.
 *
 * Phase: boot; carry_publish and carry_discard are steady. */
#ifndef SRC_SAVE_CARRY_H
#define SRC_SAVE_CARRY_H

#include "night.h"

/* Copies those of the known files that the model's folder has to output/<name>.tmp. config.json gets its torch_dtype (or dtype) set to type
 * where it says another. model "" copies nothing. BOOT. Returns OK; E_READ if one cannot be read or written; E_DATA if config.json is no JSON. */
MUST_USE enum status carry_copy(const char *model, const char *output, enum storage type);

/* Bytes that carry_copy will write. BOOT. */
int64_t carry_bytes(const char *model);

/* Syncs each copy and gives it its name. Returns OK or E_AGAIN. */
MUST_USE enum status carry_publish(void);
void carry_discard(void);

#endif

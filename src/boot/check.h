/* check.h: whether the night can end: model, data, steps, disk and memory, before anything is reserved or written.
 *
 * Phase: boot, main thread. `nocturne check` is these functions and nothing else.
 * (1) No function here writes a file. (2) Each refusal is one line that names file and key, what was seen and what is right. */
#ifndef SRC_BOOT_CHECK_H
#define SRC_BOOT_CHECK_H

#include "night.h"

/* Opens data and held-out: sequence length, vocabulary and tokenizer are the image's and the model's. */
MUST_USE enum status check_data(struct night *night);

/* The arithmetic of the night: fills job.steps, batches_an_epoch, tokens_a_step; prints it. */
MUST_USE enum status check_steps(struct night *night);

/* The output folder can be written and holds what the night will write; fills disk_bytes. type: of the output. */
MUST_USE enum status check_disk(struct night *night, enum storage type);

/* The machine has what the ranks' arenas need. threads: a rank. */
MUST_USE enum status check_memory(int32_t threads);

#endif

/* load.h: the parameters of the night: from the checkpoint, shard by shard, each rank its own bytes; or random.
 *
 * Phase: boot. load_open and load_close run on the main thread or on one rank; load_rank on every rank's own thread.
 * (1) What a parameter becomes depends on its name and its place in the whole tensor, never on the rank: every layout starts alike.
 * (2) Padding of the vocabulary and moments are zero.
 * (3) A weight that is no finite number of the output type is found here, not as a loss that is no number. */
#ifndef SRC_BOOT_LOAD_H
#define SRC_BOOT_LOAD_H

#include "night.h"

struct load_facts {
    int64_t tensors, unused;              /* in the checkpoint */
    int64_t by_type[3];                   /* tensors used that are stored as F32, BF16, F16 */
    int64_t quantized;                    /* tensors used that are stored in blocks of GGUF */
    const char *source;                   /* a file or the folder, for the line on screen */
    bool head_equal;                      /* a tied model's checkpoint has lm_head.weight too, and it is the embedding */
};

/* Opens the checkpoint of job.model and checks it against the tables: every tensor there, of the right shape and a type that can be trained;
 * what is left over refused unless the job accepts it. Nothing is opened with job.start_random. Returns OK; E_READ; E_DATA, naming
 * file and tensor. */
MUST_USE enum status load_open(const struct job *job, struct load_facts *facts);

/* The type "as loaded" means: the one that all used tensors share; float32 where they differ, are quantized, or start = "random". */
enum storage load_type(const struct load_facts *facts);

/* Fills the rank's parameter buffer; the arena is zero before. type is the output's. Returns OK or, without a message, E_DATA: load_verdict
 * words it. */
MUST_USE enum status load_rank(const struct job *job, struct rank *rank, float *parameters, enum storage type);

/* After all ranks' load_rank, on one of them: says once, for all of them, which weight is bad: the first by name and place. Returns OK or E_DATA. */
MUST_USE enum status load_verdict(const struct job *job, enum storage type);

/* The same for `nocturne check`, without arenas: reads every weight once and says which is bad. Main thread. */
MUST_USE enum status load_scan(const struct job *job, enum storage type);

void load_close(void);

#endif

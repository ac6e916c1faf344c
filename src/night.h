/* night.h: what boot hands to run and save. Filled before SEAL, read after it.
 *
 * Two parts: struct job is job.cfg after every key was checked; struct night is that and what boot opened and counted.
 * One struct rank each for the ranks of this process. No functions: this file only says what the three rooms share. */
#ifndef SRC_NIGHT_H
#define SRC_NIGHT_H

#include "file/packfile.h"
#include "kernels/kernels.h"
#include "platform/comm.h"
#include "tables.h"

enum { JOB_PATH_BYTES = 1024 };

enum rate_schedule { RATE_CONSTANT, RATE_LINEAR, RATE_COSINE, RATE_WSD };

struct job {
    char model[JOB_PATH_BYTES];         /* folder: config.json, *.safetensors or *.gguf; "" with start = "random" */
    char data[JOB_PATH_BYTES];          /* data.pack */
    char held_out[JOB_PATH_BYTES];      /* held-out pack, or "" */
    char output[JOB_PATH_BYTES];        /* folder for the result */
    bool start_random;                  /* start = "random": weights from the seed, the model folder gives config and tokenizer only */
    bool allow_unused_tensors;          /* unused_tensors = "accept" */
    bool allow_bad_weights;             /* bad_weights = "accept": NaN or infinity in the checkpoint */
    double epochs;                      /* used if steps is 0 */
    int64_t steps;                      /* optimizer steps of the whole job; boot turns epochs into it */
    double learning_rate;
    enum rate_schedule schedule;
    double floor;                       /* share of learning_rate that the schedule ends at */
    double warmup_ratio;                /* used if warmup_steps is -1 */
    int64_t warmup_steps;
    double decay_ratio;                 /* WSD: share of the steps in the last, falling part */
    double beta1, beta2, epsilon, weight_decay, clip;   /* clip 0: none */
    uint64_t seed;
    int64_t log_every, evaluate_every;  /* steps; evaluate_every 0: before the first step and at the end only */
    int32_t threads;                    /* a rank; 0: cores / ranks, at least 1 */
    enum storage output_type;           /* output_type = "float32", "bfloat16", "float16"; default as the checkpoint's */
    bool output_type_as_loaded;
};

/* What one optimizer step, or one evaluation, came to. The same on all ranks. */
struct step_result {
    int64_t step;                       /* from 1 */
    double loss;                        /* mean over targets */
    int64_t targets, tokens, rows;      /* rows: real ones, without those of weight zero */
    double norm;                        /* before clipping */
    double clip_factor;                 /* what the gradient was multiplied with: min(1, clip / norm) */
    double learning_rate;
    int64_t time_ns;
};
struct evaluation_result {
    int64_t step;                       /* optimizer steps done */
    double loss, accuracy;              /* accuracy: share of targets whose logit was the largest */
    int64_t targets, rows;
    int64_t time_ns;
};

struct rank {
    int32_t index;                      /* rank number */
    const struct rank_row *row;
    const struct stage *stage;
    struct arena arena;
    struct queue queue;
    struct comm *comm;
};

struct night {
    struct job job;
    struct pack data, held_out;         /* held_out.header NULL if there is none */
    int64_t batches_an_epoch;           /* ceil(rows / GLOBAL_BATCH_ROWS) */
    int64_t tokens_a_step, disk_bytes;
    int64_t boot_begin_ns;              /* clock when the process started */
    struct rank rank[];                 /* [RANKS] */
};

#endif

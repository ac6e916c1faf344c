/* job.h: reads job.cfg, a libconfig file of single values, and checks every key before anything starts.
 *
 * Phase: boot. Relative paths are relative to the folder of the job file. Numbers: a whole number is taken where a float is wanted.
 *
 *   key             value                                   default      meaning
 *   model           path                                    must be      folder with config.json, weights, tokenizer; may lack if start = "random"
 *   data            path                                    must be      what pack wrote
 *   held_out        path                                    none         pack file for evaluation
 *   output          path                                    must be      folder for the result; made if absent
 *   start           "checkpoint", "random"                  "checkpoint"
 *   epochs          above 0, at most 1e6                    1            not together with steps
 *   steps           1 .. 1e12                               -            optimizer steps
 *   learning_rate   above 0, at most 10                     1e-5
 *   schedule        "constant", "linear", "cosine", "wsd"   "cosine"
 *   floor           0 .. 1                                  0.1          share of learning_rate that the schedule ends at
 *   warmup_ratio    0 .. 1                                  0.05         share of the steps; not together with warmup_steps
 *   warmup_steps    0 .. steps                              -
 *   decay_ratio     above 0, at most 1                      0.1          wsd: share of the steps in the falling part
 *   beta1, beta2    0 .. 0.9999999                          0.9, 0.95
 *   epsilon         1e-30 .. 1                              1e-8
 *   weight_decay    0 .. 10                                 0.1
 *   clip            0 .. 1e6                                1            0: none
 *   seed            0 .. 2^63-1                             42
 *   log_every       1 .. 1e9                                5            steps
 *   evaluate_every  0 .. 1e9                                0            steps; 0: before the first step and after the last
 *   threads         0 .. 64                                 0            a rank; 0: cores / ranks, at least 1
 *   output_type     "as_loaded", "float32", "bfloat16", "float16"   "as_loaded"
 *   unused_tensors  "refuse", "accept"                      "refuse"
 *   bad_weights     "refuse", "accept"                      "refuse"     NaN or infinity in the checkpoint
 *
 * (1) An unknown key is an error that names the nearest known one; a key that stands twice is an error.
 * (2) What libconfig lets pass is refused before it sees the text: a comment or string without end, a number that does not fit, a point
 *     without digits, a NUL, a byte-order mark, @include, groups and lists, more than JOB_FILE_BYTES. A missing ; is allowed, as libconfig
 *     allows it. */
#ifndef SRC_BOOT_JOB_H
#define SRC_BOOT_JOB_H

#include "night.h"

enum { JOB_FILE_BYTES = 1 << 20 };

/* Returns OK; E_READ if path is no readable file; E_USAGE, naming file, line and key, if it is not a right job. BOOT. */
MUST_USE enum status job_read(const char *path, struct job *job);

#endif

/* telemetry.h: what the run says while it runs: a progress line on a terminal, plain lines elsewhere, metrics.jsonl in the output folder.
 *
 * (1) Called by one rank only (rank 0). (2) Never stops the run: a full disk or a closed pipe is counted and training goes on.
 * (3) Allocates nothing after telemetry_open; a line is formatted into a fixed buffer and written with one write(2). NaN is null. */
#ifndef SRC_SAVE_TELEMETRY_H
#define SRC_SAVE_TELEMETRY_H

#include "night.h"

MUST_USE enum status telemetry_open(const struct night *night);     /* BOOT; E_READ if metrics.jsonl cannot be opened */
void telemetry_step(const struct step_result *result);              /* every step; prints every job.log_every and the last */
void telemetry_evaluation(const struct evaluation_result *result);
void telemetry_close(void);

#endif

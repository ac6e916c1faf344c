/* telemetry.h: what the run says while it runs: a progress line on a terminal, plain lines elsewhere, metrics.jsonl in the output folder.
 *
 * (1) Called by one rank only (rank 0). (2) Never stops the run: a full disk, a closed pipe or a reader that does not read is counted and
 * training goes on. (3) Allocates nothing after telemetry_open; a line is formatted into a fixed buffer and written with one write(2).
 * (4) metrics.jsonl holds whole lines only; NaN and infinity are null. It is emptied by the first line, not by telemetry_open, so that a
 * boot that fails later keeps last night's file. */
#ifndef SRC_SAVE_TELEMETRY_H
#define SRC_SAVE_TELEMETRY_H

#include "night.h"

/* Opens metrics.jsonl in job.output, which exists. From here on SIGPIPE and SIGXFSZ are ignored. BOOT. Returns OK or E_READ. */
MUST_USE enum status telemetry_open(const struct night *night);

/* One object in metrics.jsonl for every step: {"event":"step", ...}. On a terminal the progress line is drawn anew, at most ten times a
 * second; elsewhere a line is printed every job.log_every steps, the first and the last. */
void telemetry_step(const struct step_result *result);

/* {"event":"evaluation", ...} and a line of its own. */
void telemetry_evaluation(const struct evaluation_result *result);

void telemetry_close(void);

/* One line on standard output, without waiting for a reader that does not read. The newline is added. For the closing summary. */
void telemetry_line(const char *format, ...) PRINTF(1, 2);

/* Lines that could not be written, to metrics.jsonl and to standard output. */
struct telemetry_lost {
    int64_t metrics, screen;
};
struct telemetry_lost telemetry_lost(void);

#endif

/* summary.h: the closing summary, on screen and as summary.json in the output folder. */
#ifndef SRC_SAVE_SUMMARY_H
#define SRC_SAVE_SUMMARY_H

#include "night.h"

struct summary {
    struct evaluation_result before, after;     /* targets 0: there was no held-out file */
    struct step_result first, last;
    int64_t steps, tokens, targets;             /* tokens: positions computed, padding included */
    int64_t boot_ns;                            /* process start to the beginning of the first step */
    int64_t run_ns;                             /* all steps, without evaluation and saving */
    int64_t time_ns[TIME_KINDS];                /* summed over ranks, in run_ns */
    int64_t matmul_operations;                  /* summed over ranks */
    int64_t peak_bytes;                         /* resident, of the process */
};
/* Removes an earlier run's summary.json from job.output, so that one is there only where the last run came to its end; *removed says whether
 * there was one. BOOT, when everything else is ready. Returns OK or E_READ. */
MUST_USE enum status summary_clear(const struct night *night, bool *removed);

/* MFU: numerator 6 * parameters * tokens + attention, denominator the board's peak rate; both are written. Returns OK or E_READ. */
MUST_USE enum status summary_write(const struct night *night, const struct summary *summary);

#endif

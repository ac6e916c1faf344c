/* executive.h: the loop that plays a rank's program, as the cyclic executive of flight software does.
 *
 * Phase: steady. (1) Every rank plays the constant list of its stage, step after step; nothing is decided on the way.
 * (2) Whatever may end the run early is agreed by all ranks first, so that none waits for one that left. */
#ifndef SRC_RUN_EXECUTIVE_H
#define SRC_RUN_EXECUTIVE_H

#include "night.h"

/* Runs the night on this rank: evaluation, job.steps optimizer steps with evaluations between, evaluation, checkpoint, summary.
 * Called after SEAL on every rank's own thread. Returns OK; E_DATA if loss or gradients are not finite (nothing is saved); E_AGAIN or
 * E_READ if the result could not be written. All ranks return the same. */
MUST_USE enum status executive_run(const struct night *night, struct rank *rank);

#endif

/* rate.h: the learning rate of a step. A pure function of the job and the step; ranks and layout are no inputs. */
#ifndef SRC_RUN_RATE_H
#define SRC_RUN_RATE_H

#include "night.h"

/* Learning rate of optimizer step `step` of `job->steps`, both from 1. Warm-up rises linearly to the full rate at its last step; then
 * constant, linear, cosine (Loshchilov and Hutter 2017, arXiv:1608.03983, equation 5) or WSD (Hu et al. 2024, arXiv:2404.06395: flat, then
 * linear over the last decay_ratio of the steps) down to floor * rate, which is reached at the last step. Any phase; cannot fail. */
double rate_at(const struct job *job, int64_t step);

#endif

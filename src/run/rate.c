/* rate.c: see rate.h. Any phase; no state. */
#include "run/rate.h"

#include <math.h>

double rate_at(const struct job *job, int64_t step)
{
    int64_t warmup = job->warmup_steps >= 0 ? job->warmup_steps : (int64_t)ceil(job->warmup_ratio * (double)job->steps);
    if (step <= warmup)
        return job->learning_rate * (double)step / (double)warmup;
    double progress = (double)(step - warmup) / (double)(job->steps - warmup), share = 1.0;
    switch (job->schedule) {
    case RATE_CONSTANT:
        break;
    case RATE_LINEAR:
        share = job->floor + (1.0 - job->floor) * (1.0 - progress);
        break;
    case RATE_COSINE:
        share = job->floor + (1.0 - job->floor) * 0.5 * (1.0 + cos(M_PI * progress));
        break;
    case RATE_WSD: {
        int64_t decay = (int64_t)ceil(job->decay_ratio * (double)job->steps);
        int64_t left = job->steps - step;
        if (left < decay)
            share = job->floor + (1.0 - job->floor) * (double)left / (double)decay;
        break;
    }
    }
    return job->learning_rate * share;
}

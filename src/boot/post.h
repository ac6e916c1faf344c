/* post.h: power-on self-test: each rank computes products whose answers are known, and moves memory.
 *
 * Phase: boot, every rank's own thread, before anything lies in the arena. */
#ifndef SRC_BOOT_POST_H
#define SRC_BOOT_POST_H

#include "night.h"

struct post_facts {
    double copy_bytes_per_second;     /* read and written, of this rank while the others do the same */
    int64_t pattern_bytes;            /* that came back as they were written */
};

/* Returns OK, or E_AGAIN: this machine computes or remembers wrongly; the message says what. The arena is zero afterwards, as before. */
MUST_USE enum status post(struct rank *rank, struct post_facts *facts);

#endif

/* wait.h: waiting for another thread without burning the core: spin a little, then yield, then sleep. Any phase; allocates nothing.
 *
 * usage: struct waiter waiter = { 0 }; while (!condition) wait_once(&waiter); */
#ifndef PLATFORM_HOST_WAIT_H
#define PLATFORM_HOST_WAIT_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

enum { WAIT_SPINS = 200, WAIT_YIELDS = 20000, WAIT_SLEEP_NS = 50000 };

struct waiter {
    uint32_t rounds;
};

/* Ranks may outnumber cores, so the spin is short: about a microsecond. The sleep begins after some 10 ms of yielding, when what is waited for
 * is long in any case. */
static inline void wait_once(struct waiter *waiter)
{
    uint32_t round = waiter->rounds++;
    if (round < WAIT_SPINS) {
        __builtin_ia32_pause();
        return;
    }
    if (round < WAIT_SPINS + WAIT_YIELDS) {
        sched_yield();
        return;
    }
    struct timespec pause = { .tv_nsec = WAIT_SLEEP_NS };
    nanosleep(&pause, NULL);
}

#endif

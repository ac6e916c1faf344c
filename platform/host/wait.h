/* wait.h: waiting for another thread: spin while cores suffice, else give the core away and sleep until woken. Any phase; allocates nothing.
 *
 * (1) A signal only rises. (2) Where threads outnumber cores a waiter spins for about a microsecond and then sleeps: yielding instead leaves the
 *     core to another waiter as often as to one with work. Where they do not, it spins long enough for what a neighbour does in between. */
#ifndef PLATFORM_HOST_WAIT_H
#define PLATFORM_HOST_WAIT_H

#include <stdatomic.h>
#include <stdint.h>

struct signal {
    _Alignas(64) _Atomic uint32_t value;
    _Atomic uint32_t sleepers;
};

/* Waits until the signal has reached value (compared modulo 2^32, so a count may wrap). What the raiser wrote before is seen afterwards. Returns
 * what the signal has risen to. */
uint32_t signal_wait(struct signal *signal, uint32_t value);
void signal_raise(struct signal *signal, uint32_t value);

/* Counts threads of this process that wait with signals: called as they start, and with a negative count when they have ended. */
void wait_add_threads(int32_t threads);

#endif

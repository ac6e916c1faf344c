/* wait.c: see wait.h. Any phase; allocates nothing. */
#include "platform/host/wait.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS_CROWDED = 20, SPINS = 4000 };

static _Atomic int32_t threads;
static _Atomic int32_t spins = SPINS;

void wait_add_threads(int32_t count)
{
    cpu_set_t cores;
    int32_t all = atomic_fetch_add(&threads, count) + count;
    int32_t available = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    atomic_store(&spins, all > available ? SPINS_CROWDED : SPINS);
}

/* Compared modulo 2^32. */
static bool reached(uint32_t seen, uint32_t value)
{
    return (int32_t)(seen - value) >= 0;
}

uint32_t signal_wait(struct signal *signal, uint32_t value)
{
    uint32_t seen;
    for (int32_t spin = atomic_load_explicit(&spins, memory_order_relaxed); spin > 0; spin--) {
        if (reached(seen = atomic_load_explicit(&signal->value, memory_order_acquire), value))
            return seen;
        __builtin_ia32_pause();
    }
    /* A raiser looks for sleepers after it has written the value, a sleeper for the value after it has counted itself: one of the two sees the
     * other, and the kernel compares the value once more before it sleeps. */
    atomic_fetch_add(&signal->sleepers, 1);
    while (!reached(seen = atomic_load(&signal->value), value))
        syscall(SYS_futex, &signal->value, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    atomic_fetch_sub(&signal->sleepers, 1);
    return seen;
}

void signal_raise(struct signal *signal, uint32_t value)
{
    atomic_store(&signal->value, value);
    if (atomic_load(&signal->sleepers) != 0)
        syscall(SYS_futex, &signal->value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

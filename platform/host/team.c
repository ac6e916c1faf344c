/* team.c: the threads of one rank (platform.h). Opened at boot; runs in the steady state.
 *
 * (1) The thread that opened the team takes tasks too. (2) A run is announced by a generation number; tasks are taken from one counter.
 * (3) Which thread runs which task is left open: tasks are independent, and their number and extent never depend on threads. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "platform/host/wait.h"
#include "platform/platform.h"

struct team {
    int32_t threads;
    pthread_t thread[TEAM_THREADS_MOST];
    void (*task)(void *argument, int64_t index);
    void *argument;
    int64_t tasks;
    /* Each counter that several threads write has a cache line of its own. */
    struct signal generation;                         /* raised by one a run */
    struct signal done;                               /* raised to the generation by the helper that finishes it last */
    _Alignas(64) atomic_int_fast64_t next;
    _Alignas(64) atomic_int_fast32_t busy;            /* helpers that have not finished this run */
    uint32_t run;                                     /* the opener's copy of generation */
    bool closing;
};

static _Thread_local void *scratch;

/* Mapped, not malloc'd: it is as large as a cache and lives as long as the thread. */
static bool scratch_reserve(void)
{
    if (scratch != NULL)
        return true;
    void *map = mmap(NULL, TEAM_SCRATCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    scratch = map == MAP_FAILED ? NULL : map;
    return scratch != NULL;
}

static void take_tasks(struct team *team)
{
    for (;;) {
        int64_t index = atomic_fetch_add_explicit(&team->next, 1, memory_order_relaxed);
        if (index >= team->tasks)
            return;
        team->task(team->argument, index);
    }
}

static void *help(void *argument)
{
    struct team *team = argument;
    bool ready = scratch_reserve();
    ASSERT(ready);
    for (uint32_t run = 1;; run++) {
        signal_wait(&team->generation, run);
        if (team->closing)
            return NULL;
        take_tasks(team);
        if (atomic_fetch_sub(&team->busy, 1) == 1)
            signal_raise(&team->done, run);
    }
}

BOOT enum status team_open(struct team **team, int32_t threads)
{
    ASSERT(threads >= 1 && threads <= TEAM_THREADS_MOST);
    struct team *t = aligned_alloc(64, (sizeof *t + 63) / 64 * 64);
    if (t == NULL || !scratch_reserve())
        return fail(E_AGAIN, "team of %d threads: out of memory", threads);
    memset(t, 0, sizeof *t);
    t->threads = threads;
    for (int32_t i = 1; i < threads; i++) {
        int error = pthread_create(&t->thread[i], NULL, help, t);
        if (error != 0)
            return fail(E_AGAIN, "team: thread %d of %d: %s", i + 1, threads, strerror(error));
    }
    wait_add_threads(threads - 1);
    *team = t;
    return OK;
}

void team_close(struct team *team)
{
    team->closing = true;
    signal_raise(&team->generation, team->run + 1);
    for (int32_t i = 1; i < team->threads; i++)
        pthread_join(team->thread[i], NULL);
    free(team);
}

int32_t team_threads(const struct team *team)
{
    return team->threads;
}

void team_run(struct team *team, int64_t tasks, void (*task)(void *argument, int64_t index), void *argument)
{
    if (team->threads == 1 || tasks <= 1) {
        for (int64_t index = 0; index < tasks; index++)
            task(argument, index);
        return;
    }
    team->task = task;
    team->argument = argument;
    team->tasks = tasks;
    atomic_store_explicit(&team->next, 0, memory_order_relaxed);
    atomic_store_explicit(&team->busy, team->threads - 1, memory_order_relaxed);
    signal_raise(&team->generation, ++team->run);
    take_tasks(team);
    signal_wait(&team->done, team->run);
}

void *team_scratch(void)
{
    ASSERT(scratch != NULL);
    return scratch;
}

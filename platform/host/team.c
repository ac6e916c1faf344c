/* team.c: the threads of one rank (platform.h). Opened at boot; runs in the steady state.
 *
 * (1) The thread that opened the team takes tasks too, and a run ends when its tasks are done: a helper that the kernel has not woken yet is not
 *     waited for, it finds nothing left or a task of a later run.
 * (2) While a thread has a task that it has not reported, the run cannot end: what the run's opener wrote stays as it is.
 * (3) Which thread runs which task is left open: tasks are independent, and their number and extent never depend on threads. */
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
    atomic_bool closing;
    /* Of the current run; written by the opener while no task is out (2). */
    void (*task)(void *argument, int64_t index);
    void *argument;
    int64_t tasks;
    uint32_t run;
    bool running;
    /* Each that several threads write has cache lines of its own. */
    struct signal begun;                           /* raised to the run's number when it begins */
    struct signal ended;                           /* raised to it by the helper that reports the last task */
    _Alignas(64) atomic_int_fast64_t untaken;      /* tasks that nobody has taken; below zero when threads found none */
    _Alignas(64) atomic_int_fast64_t reported;     /* tasks done and reported */
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

/* Runs tasks until none is left untaken. Returns how many. The first pins the run (2): all are of the same run. */
static int64_t take_tasks(struct team *team)
{
    int64_t did = 0, untaken;
    while ((untaken = atomic_fetch_sub_explicit(&team->untaken, 1, memory_order_acquire)) > 0) {
        team->task(team->argument, team->tasks - untaken);
        did++;
    }
    return did;
}

/* True for the one thread whose report is the run's last; a thread without a task has nothing to report. */
static bool report(struct team *team, int64_t did)
{
    if (did == 0)
        return false;
    int64_t tasks = team->tasks;
    return atomic_fetch_add_explicit(&team->reported, did, memory_order_acq_rel) + did == tasks;
}

static void *help(void *argument)
{
    struct team *team = argument;
    bool ready = scratch_reserve();
    ASSERT(ready);
    for (uint32_t seen = 0;;) {
        seen = signal_wait(&team->begun, seen + 1);
        if (atomic_load(&team->closing))
            break;
        int64_t did = take_tasks(team);
        uint32_t run = did > 0 ? team->run : 0;
        if (report(team, did))
            signal_raise(&team->ended, run);
    }
    munmap(scratch, TEAM_SCRATCH_BYTES);
    return NULL;
}

BOOT enum status team_open(struct team **team, int32_t threads)
{
    ASSERT(threads >= 1 && threads <= TEAM_THREADS_MOST);
    struct team *t = aligned_alloc(64, sizeof *t);
    if (t == NULL || !scratch_reserve())
        return fail(E_AGAIN, "team of %d threads: out of memory", threads);
    memset(t, 0, sizeof *t);
    t->threads = threads;
    wait_add_threads(threads - 1);
    for (int32_t i = 1; i < threads; i++) {
        int error = pthread_create(&t->thread[i], NULL, help, t);
        if (error != 0)
            return fail(E_AGAIN, "team: thread %d of %d: %s", i + 1, threads, strerror(error));
    }
    *team = t;
    return OK;
}

void team_close(struct team *team)
{
    ASSERT(!team->running);
    atomic_store(&team->closing, true);
    signal_raise(&team->begun, team->run + 1);
    for (int32_t i = 1; i < team->threads; i++)
        pthread_join(team->thread[i], NULL);
    wait_add_threads(1 - team->threads);
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
    ASSERT(!team->running);    /* a task that starts a run of its own team would wait for itself */
    team->running = true;
    team->task = task;
    team->argument = argument;
    team->tasks = tasks;
    team->run++;
    atomic_store_explicit(&team->reported, 0, memory_order_relaxed);
    atomic_store_explicit(&team->untaken, tasks, memory_order_release);
    signal_raise(&team->begun, team->run);
    if (!report(team, take_tasks(team)))
        signal_wait(&team->ended, team->run);
    team->running = false;
}

void *team_scratch(void)
{
    ASSERT(scratch != NULL);
    return scratch;
}

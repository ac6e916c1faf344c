/* platform.h: what a machine gives to one rank: memory, a queue to run on, threads, a clock, and the end of boot.
 *
 * Two contracts make a platform, this one and comm.h. A folder below (host/, cuda/) keeps both; the linker chooses.
 * (1) Everything is reserved at boot. After seal() nothing here allocates, opens or starts anything.
 * (2) Work put on one queue is done in order. On the host it is done before the call returns.
 * (3) No result depends on the number of threads of a team: work is cut into tasks first, threads take tasks. */
#ifndef PLATFORM_PLATFORM_H
#define PLATFORM_PLATFORM_H

#include "platform/status.h"

/* ---- arena: the one memory reservation of a rank ---- */

enum { ARENA_ALIGN_BYTES = 256 };    /* every buffer starts at a multiple of it */

struct arena {
    uint8_t *base;
    int64_t bytes;
};

/* Reserves bytes of device memory for a rank: touched, zeroed, huge pages advised, with an unmapped guard page behind it.
 * BOOT. Returns OK, or E_AGAIN if the machine does not have it (says how much it has). Freed at process end. */
MUST_USE enum status arena_reserve(struct arena *arena, int64_t bytes);

/* ---- clock ---- */

int64_t clock_ns(void);             /* monotonic */

/* ---- thread team: the threads of one rank ---- */

struct team;

enum { TEAM_THREADS_MOST = 64, TEAM_SCRATCH_BYTES = 4 << 20 };

/* Starts a team of threads (the caller is one of them). BOOT. Returns OK, E_AGAIN if threads cannot be had. */
MUST_USE enum status team_open(struct team **team, int32_t threads);
void team_close(struct team *team);
int32_t team_threads(const struct team *team);

/* Runs task(argument, index) for every index in [0, tasks), each once, on any thread in any order; returns when all are done.
 * Tasks of one call do not depend on each other. Steady; allocates nothing. Called only by the thread that opened the team. */
void team_run(struct team *team, int64_t tasks, void (*task)(void *argument, int64_t index), void *argument);

/* TEAM_SCRATCH_BYTES that belong to the calling thread until its task ends; 64-byte aligned, content undefined. */
void *team_scratch(void);

/* ---- queue: where a rank's work goes (host: its team; CUDA: a stream) ---- */

/* Where a rank's time goes. On the host each call adds its own duration; nested calls do not count twice. */
enum queue_time { TIME_MATMUL, TIME_KERNEL, TIME_COMM, TIME_WAIT, TIME_KINDS };

struct queue {
    struct team *team;
    int64_t time_ns[TIME_KINDS];
    int64_t matmul_operations;      /* 2*M*N*K summed over all products */
};

/* Kernels bracket themselves with these: int64_t t = queue_begin(queue); ... queue_end(queue, TIME_KERNEL, t); */
int64_t queue_begin(struct queue *queue);
void queue_end(struct queue *queue, enum queue_time kind, int64_t begin);

/* ---- ranks of this process ---- */

/* Starts one thread a rank and runs body(rank, argument) on each; returns when all have returned, with the first status that
 * is not OK, by rank. BOOT for its start; the bodies call seal themselves, and it is opened again when the last has returned. */
MUST_USE enum status ranks_run(int32_t ranks, enum status (*body)(int32_t rank, void *argument), void *argument);

/* ---- seal: the end of boot ---- */

/* Closes the heap of this process: from now on malloc, calloc, realloc, free and their kin end the process with E_SOFTWARE and a
 * line that names the call. Makes boot_text inaccessible. Called once, when all ranks have booted. */
void seal(void);
bool sealed(void);

/* Opens it again for tear-down after the last result is on disk. */
void unseal(void);

/* Allocations attempted after SEAL. While the seal ends the process this is 0, and telemetry shows it. */
int64_t seal_allocations(void);

#endif

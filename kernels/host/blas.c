/* blas.c: the memory in which OpenBLAS packs its operands: one piece a thread, in place of OpenBLAS's own pool. Boot and steady.
 *
 * Debian's serial archive (0.3.21) looks for a free piece of its pool after it has let go of the pool's lock, so that two threads may get the
 * same one and compute wrong products: seen in up to 5 % of small products on eight threads. The linker sends OpenBLAS's calls here (--wrap in
 * the Makefile). A piece for each thread needs no lock at all, and lets huge pages be asked for.
 * (1) A thread holds its piece at most once: sgemm asks for one and gives it back before it returns. (2) After SEAL no piece is made. */
#include <stdatomic.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/kernels.h"

/* As long as the pieces of OpenBLAS's pool, of which it knows that all its blocks fit. Only the pages that are touched take memory: the blocks
 * of both operands, below 4 MiB for tiles of matmul.c's size. */
enum { PIECE_BYTES = 0x8001000, TOUCHED_BYTES = 4 << 20, HUGE_PAGE_BYTES = 2 << 20 };

static _Thread_local void *piece;
static _Thread_local bool held;

void *__wrap_blas_memory_alloc(int kind);
void __wrap_blas_memory_free(void *memory);

static void reserve(void)
{
    ASSERT(!sealed());
    uint8_t *map = mmap(NULL, PIECE_BYTES + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT(map != MAP_FAILED);
    map += (HUGE_PAGE_BYTES - (uintptr_t)map % HUGE_PAGE_BYTES) % HUGE_PAGE_BYTES;
    (void)madvise(map, TOUCHED_BYTES, MADV_HUGEPAGE);       /* a wish: without it the pages are small */
    memset(map, 0, TOUCHED_BYTES);
    piece = map;
}

void *__wrap_blas_memory_alloc(int kind)
{
    (void)kind;
    if (piece == NULL)
        reserve();
    ASSERT(!held);
    held = true;
    return piece;
}

void __wrap_blas_memory_free(void *memory)
{
    ASSERT(held && memory == piece);
    held = false;
}

struct arrival {
    atomic_int_fast32_t arrived;
    int32_t threads;
};

/* Waits for the others, so that every thread of the team takes one of these tasks. */
static void reserve_here(void *argument, int64_t index)
{
    (void)index;
    struct arrival *all = argument;
    if (piece == NULL)
        reserve();
    atomic_fetch_add(&all->arrived, 1);
    while (atomic_load(&all->arrived) < all->threads)
        sched_yield();
}

BOOT void matmul_open(struct queue *queue)
{
    struct arrival all = { .threads = team_threads(queue->team) };
    team_run(queue->team, all.threads, reserve_here, &all);
}

/* arena.c: the one memory reservation of a rank (platform.h). Boot.
 *
 * (1) A rank gets only what neither the machine nor the ranks before it need (memory.h).
 * (2) Pages are touched here, so that running out of memory is a boot error and not a kill in the night.
 * (3) Behind the last page lies one that cannot be touched. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platform/host/memory.h"
#include "platform/platform.h"

enum { HUGE_PAGE_BYTES = 2 << 20 };

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static struct memory_ledger ledger;

BOOT static enum status promise(int64_t bytes)
{
    pthread_mutex_lock(&counting);
    int64_t others = ledger.promised, left = memory_promise(&ledger, memory_available(""), bytes);
    pthread_mutex_unlock(&counting);
    if (bytes > left)
        return fail(E_AGAIN, "arena: a rank needs %.1f MiB; the machine has %.1f MiB left beside the %.1f MiB promised to other ranks",
                    (double)bytes / 0x1p20, (double)left / 0x1p20, (double)others / 0x1p20);
    return OK;
}

static int64_t rounded_up(int64_t bytes, int64_t multiple)
{
    return (bytes + multiple - 1) / multiple * multiple;
}

BOOT enum status arena_reserve(struct arena *arena, int64_t bytes)
{
    ASSERT(bytes > 0 && bytes <= INT64_MAX / 2);
    TRY(promise(bytes));
    int64_t page = sysconf(_SC_PAGESIZE), usable = rounded_up(bytes, page);
    uint8_t *map = mmap(NULL, (size_t)(usable + HUGE_PAGE_BYTES + page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return fail(E_AGAIN, "arena: %.1f MiB of address space: %s", (double)usable / 0x1p20, strerror(errno));
    uint8_t *base = (uint8_t *)rounded_up((int64_t)(uintptr_t)map, HUGE_PAGE_BYTES);
    if (mprotect(base, (size_t)usable, PROT_READ | PROT_WRITE) != 0)
        return fail(E_AGAIN, "arena: %.1f MiB of memory: %s", (double)usable / 0x1p20, strerror(errno));
    /* Advice only: without huge pages the first touch takes four times as long, nothing else changes. */
    (void)madvise(base, (size_t)usable, MADV_HUGEPAGE);
    /* The kernel gives zeroed pages; they are made ours in one call, or one write each where the kernel is older than 5.14. */
    if (madvise(base, (size_t)usable, MADV_POPULATE_WRITE) != 0)
        for (int64_t at = 0; at < usable; at += page)
            *(volatile uint8_t *)(base + at) = 0;
    *arena = (struct arena){ .base = base, .bytes = bytes };
    return OK;
}

/* arena.c: the one memory reservation of a rank (platform.h). Boot.
 *
 * (1) Pages are touched here, so that running out of memory is a boot error and not a kill in the night.
 * (2) An unmapped page lies behind the arena. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platform/platform.h"

enum { HUGE_PAGE_BYTES = 2 << 20 };

/* MemAvailable of /proc/meminfo in bytes, or -1. */
BOOT static int64_t memory_available(void)
{
    char line[256];
    long long kib = -1;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib < 0 ? -1 : (int64_t)kib * 1024;
}

BOOT enum status arena_reserve(struct arena *arena, int64_t bytes)
{
    ASSERT(bytes > 0);
    int64_t available = memory_available();
    if (available >= 0 && available < bytes)
        return fail(E_AGAIN, "arena: this rank needs %.1f MiB, the machine has %.1f MiB left", (double)bytes / 0x1p20,
                    (double)available / 0x1p20);
    int64_t page = sysconf(_SC_PAGESIZE);
    int64_t rounded = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    uint8_t *map = mmap(NULL, (size_t)(rounded + HUGE_PAGE_BYTES + page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return fail(E_AGAIN, "arena: %lld bytes of address space: %s", (long long)rounded, strerror(errno));
    uint8_t *base = (uint8_t *)(((uintptr_t)map + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES);
    if (mprotect(base, (size_t)rounded, PROT_READ | PROT_WRITE) != 0)
        return fail(E_AGAIN, "arena: %lld bytes: %s", (long long)rounded, strerror(errno));
    /* Advice only: without huge pages the first touch takes four times as long, nothing else changes. */
    (void)madvise(base, (size_t)rounded, MADV_HUGEPAGE);
    memset(base, 0, (size_t)bytes);
    *arena = (struct arena){ .base = base, .bytes = bytes };
    return OK;
}

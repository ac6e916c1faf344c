/* seal.c: the end of boot (platform.h). The linker sends every call of the heap's functions, the C library's own among them, to the wrappers
 * below (--wrap in the Makefile); after SEAL one such call ends the process.
 *
 * (1) Before SEAL and after unseal the wrappers only pass on. (2) boot_text has pages of its own (boot.ld) that nobody can read or run after SEAL.
 *     In a program linked without boot.ld only the pages that hold nothing else are closed.
 * (3) What is said on the way out is written without the heap, from any thread. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platform/platform.h"

static atomic_bool closed;
static atomic_int_fast64_t attempts;
static struct sigaction before;    /* what a fault did before SEAL */

/* Bounds of the section that BOOT names; absent in a program without one. */
extern char __start_boot_text[] __attribute__((weak));
extern char __stop_boot_text[] __attribute__((weak));

static void write_all(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}

static _Noreturn void bite(const char *call)
{
    char line[128];
    atomic_fetch_add(&attempts, 1);
    snprintf(line, sizeof line, "nocturne: bug: %s after SEAL: the heap is closed\n", call);
    write_all(line);
    _exit(E_SOFTWARE);
}

static void check(const char *call)
{
    if (__builtin_expect(atomic_load_explicit(&closed, memory_order_relaxed), 0))
        bite(call);
}

/* A fault inside boot_text is a late call of a boot function. Any other goes back to what a fault did before, and happens again: the core dump
 * then shows the place itself. One that another process sent does not happen again by itself. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    const char *at = info->si_addr;
    if (info->si_code > 0 && at >= __start_boot_text && at < __stop_boot_text) {
        write_all("nocturne: bug: a boot function was called after SEAL\n");
        _exit(E_SOFTWARE);
    }
    sigaction(number, &before, NULL);
    if (info->si_code <= 0)
        raise(number);
}

/* Returns 0, or errno. */
static int protect_boot(int protection)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)__start_boot_text + page - 1) / page * page, end = (uintptr_t)__stop_boot_text / page * page;
    return begin < end && mprotect((void *)begin, end - begin, protection) != 0 ? errno : 0;
}

void seal(void)
{
    ASSERT(!sealed());
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
    sigaction(SIGSEGV, &action, &before);
    int error = protect_boot(PROT_NONE);
    ASSERT(error == 0);
    atomic_store(&closed, true);
}

bool sealed(void)
{
    return atomic_load(&closed);
}

void unseal(void)
{
    if (!atomic_exchange(&closed, false))
        return;
    int error = protect_boot(PROT_READ | PROT_EXEC);
    ASSERT(error == 0);
    sigaction(SIGSEGV, &before, NULL);
}

int64_t seal_allocations(void)
{
    return atomic_load(&attempts);
}

/* ---- the wrappers: real is the C library's, wrap what every caller gets ---- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void __real_free(void *old);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__real_memalign(size_t alignment, size_t bytes);
int __real_posix_memalign(void **out, size_t alignment, size_t bytes);
void *__real_valloc(size_t bytes);
void *__real_pvalloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void __wrap_free(void *old);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_memalign(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes);
void *__wrap_valloc(size_t bytes);
void *__wrap_pvalloc(size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    check("malloc");
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    check("calloc");
    return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    check("realloc");
    return __real_realloc(old, bytes);
}

/* free(NULL) gives nothing back: the C library does it on paths that are otherwise silent. */
void __wrap_free(void *old)
{
    if (old != NULL)
        check("free");
    __real_free(old);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    check("aligned_alloc");
    return __real_aligned_alloc(alignment, bytes);
}

void *__wrap_memalign(size_t alignment, size_t bytes)
{
    check("memalign");
    return __real_memalign(alignment, bytes);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes)
{
    check("posix_memalign");
    return __real_posix_memalign(out, alignment, bytes);
}

void *__wrap_valloc(size_t bytes)
{
    check("valloc");
    return __real_valloc(bytes);
}

void *__wrap_pvalloc(size_t bytes)
{
    check("pvalloc");
    return __real_pvalloc(bytes);
}

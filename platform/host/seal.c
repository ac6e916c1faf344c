/* seal.c: the end of boot (platform.h). The linker sends every call of the heap's functions, also libc's own, to the wrappers below
 * (--wrap in the Makefile); after SEAL one such call ends the process.
 *
 * (1) Before SEAL and after unseal the wrappers only pass on. (2) boot_text cannot be run after SEAL, where its pages are its own. */
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

/* Bounds of the section that BOOT names, made by the linker; absent in a program without one. */
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
    if (atomic_load_explicit(&closed, memory_order_relaxed))
        bite(call);
}

/* A fault inside boot_text is a late call of a boot function; any other keeps its usual end. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    const char *at = info->si_addr;
    if (at >= __start_boot_text && at < __stop_boot_text) {
        write_all("nocturne: bug: a boot function was called after SEAL\n");
        _exit(E_SOFTWARE);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void protect_boot(int protection)
{
    if (__start_boot_text == NULL)
        return;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)__start_boot_text + page - 1) / page * page, end = (uintptr_t)__stop_boot_text / page * page;
    if (begin < end && mprotect((void *)begin, end - begin, protection) != 0)
        fail(E_SOFTWARE, "seal: pages of boot_text: %s", strerror(errno));
}

void seal(void)
{
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
    sigaction(SIGSEGV, &action, NULL);
    protect_boot(PROT_NONE);
    atomic_store(&closed, true);
}

bool sealed(void)
{
    return atomic_load(&closed);
}

void unseal(void)
{
    atomic_store(&closed, false);
    protect_boot(PROT_READ | PROT_EXEC);
}

int64_t seal_allocations(void)
{
    return atomic_load(&attempts);
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void __real_free(void *old);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__real_memalign(size_t alignment, size_t bytes);
int __real_posix_memalign(void **out, size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void __wrap_free(void *old);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_memalign(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes);

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

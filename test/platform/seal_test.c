/* seal_test.c: after SEAL the heap and the functions of boot are closed, also to the C library itself. */
#include "platform/platform.h"
#include "test/platform/child.h"
#include "test/test.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>

extern char __start_boot_text[], __stop_boot_text[];

static void *block;
static void *volatile kept;    /* so that no call is optimised away */

static void call_malloc(void) { kept = malloc(1); }
static void call_calloc(void) { kept = calloc(1, 1); }
static void call_realloc(void) { kept = realloc(block, 2); }
static void call_free(void) { free(block); }
static void call_aligned_alloc(void) { kept = aligned_alloc(64, 64); }
static void call_memalign(void) { kept = memalign(64, 64); }
static void call_valloc(void) { kept = valloc(64); }
static void call_pvalloc(void) { kept = pvalloc(64); }
static void call_posix_memalign(void)
{
    void *out;
    if (posix_memalign(&out, 64, 64) == 0)
        kept = out;
}
static void call_fopen(void) { kept = fopen("/dev/null", "r"); }
static void call_strdup(void) { kept = strdup("night"); }
static void call_asprintf(void)
{
    char *out;
    if (asprintf(&out, "%d", 1) > 0)
        kept = out;
}
static void call_free_of_null(void)
{
    kept = NULL;
    free(kept);
}
static void call_nothing(void) {}

BOOT static void call_boot(void) { kept = NULL; }

static void seal_and(void *argument)
{
    void (*const *call)(void) = argument;
    block = malloc(1);
    seal();
    (*call)();
}

static const struct biting {
    const char *name;
    void (*call)(void);
    const char *line;    /* NULL: the call is allowed */
    bool by_libc;        /* the C library calls the heap: seen only where it is linked statically, as in the image */
} biting[] = {
    { "malloc", call_malloc, "bug: malloc after SEAL: the heap is closed", false },
    { "calloc", call_calloc, "bug: calloc after SEAL: the heap is closed", false },
    { "realloc", call_realloc, "bug: realloc after SEAL: the heap is closed", false },
    { "free", call_free, "bug: free after SEAL: the heap is closed", false },
    { "aligned_alloc", call_aligned_alloc, "bug: aligned_alloc after SEAL: the heap is closed", false },
    { "memalign", call_memalign, "bug: memalign after SEAL: the heap is closed", false },
    { "posix_memalign", call_posix_memalign, "bug: posix_memalign after SEAL: the heap is closed", false },
    { "valloc", call_valloc, "bug: valloc after SEAL: the heap is closed", false },
    { "pvalloc", call_pvalloc, "bug: pvalloc after SEAL: the heap is closed", false },
    { "fopen", call_fopen, "bug: malloc after SEAL: the heap is closed", true },
    { "strdup", call_strdup, "bug: malloc after SEAL: the heap is closed", true },
    { "asprintf", call_asprintf, "bug: malloc after SEAL: the heap is closed", true },
    { "a boot function", call_boot, "bug: a boot function was called after SEAL", false },
    { "free of nothing", call_free_of_null, NULL, false },
    { "no call", call_nothing, NULL, false },
};

TEST(the_seal_bites)
{
    bool linked_statically = getauxval(AT_BASE) == 0;    /* no dynamic loader */
    for (int i = 0; i < ELEMENTS_OF(biting); i++) {
        if (biting[i].by_libc && !linked_statically)
            continue;
        void (*call)(void) = biting[i].call;
        struct child child = child_run(seal_and, &call);
        int right = biting[i].line != NULL ? E_SOFTWARE : 0;
        if (child.status != right)
            test_fail(__FILE__, __LINE__, "%s after seal: status %d, right is %d", biting[i].name, child.status, right);
        if (biting[i].line != NULL)
            EXPECT_HOLDS(child.said, biting[i].line);
        else
            EXPECT_TEXT(child.said, "");
    }
}

/* Functions that boot_text begins and ends with are closed too: the section has its pages to itself. */
TEST(boot_functions_have_pages_of_their_own)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    EXPECT_EQ((uintptr_t)__start_boot_text % page, 0);
    EXPECT_EQ((uintptr_t)__stop_boot_text % page, 0);
    EXPECT((uintptr_t)__start_boot_text < (uintptr_t)__stop_boot_text);
}

static void segfault_after_seal(void *argument)
{
    seal();
    *(volatile int *)argument = 1;
}
static void be_shot_after_seal(void *argument)
{
    (void)argument;
    seal();
    raise(SIGSEGV);
}

TEST(a_fault_elsewhere_keeps_its_usual_end)
{
    signal(SIGSEGV, SIG_DFL);
    void *fence = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(fence != MAP_FAILED);
    struct child child = child_run(segfault_after_seal, fence);
    EXPECT_EQ(child.status, 128 + SIGSEGV);
    EXPECT_TEXT(child.said, "");
    EXPECT_EQ(child_run(be_shot_after_seal, NULL).status, 128 + SIGSEGV);
    munmap(fence, 1);
}

static void seal_unseal_and_go_on(void *argument)
{
    (void)argument;
    signal(SIGSEGV, SIG_IGN);    /* what a fault did before is what it does afterwards */
    EXPECT(!sealed());
    seal();
    bool closed = sealed();
    int64_t allocations = seal_allocations();
    unseal();
    unseal();    /* opening what is open is nothing */
    call_malloc();
    call_fopen();
    call_boot();
    struct sigaction action;
    sigaction(SIGSEGV, NULL, &action);
    _exit(closed && !sealed() && allocations == 0 && kept == NULL && action.sa_handler == SIG_IGN ? 0 : 1);
}

TEST(unseal_opens_it_again)
{
    struct child child = child_run(seal_unseal_and_go_on, NULL);
    EXPECT_EQ(child.status, 0);
    EXPECT_TEXT(child.said, "");
}

enum { RANKS_THAT_SEAL = 8 };

/* As boot does: one rank seals when all have started. */
static enum status seal_on_rank_0(int32_t rank, void *argument)
{
    pthread_barrier_t *started = argument;
    pthread_barrier_wait(started);
    if (rank == 0)
        seal();
    return OK;
}
static void run_sealed_ranks(void *argument)
{
    (void)argument;
    pthread_barrier_t started;
    pthread_barrier_init(&started, NULL, RANKS_THAT_SEAL);
    enum status status = ranks_run(RANKS_THAT_SEAL, seal_on_rank_0, &started);
    _exit(status == OK && !sealed() ? 0 : 1);
}

TEST(ranks_may_end_sealed)
{
    struct child child = child_run(run_sealed_ranks, NULL);
    EXPECT_EQ(child.status, 0);
    EXPECT_TEXT(child.said, "");
}

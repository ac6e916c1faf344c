/* arena_test.c: a rank's memory is its own, zeroed, fenced, and refused rather than killed for. */
#include "platform/host/memory.h"
#include "platform/platform.h"
#include "test/platform/child.h"
#include "test/test.h"

#include <signal.h>
#include <sys/stat.h>

TEST(memory_is_aligned_and_zeroed)
{
    int64_t sizes[] = { 1, 255, 4096, 4097, (2 << 20) - 1, (2 << 20) + 1, 5 << 20 };
    for (int i = 0; i < ELEMENTS_OF(sizes); i++) {
        struct arena arena;
        EXPECT_EQ(arena_reserve(&arena, sizes[i]), OK);
        test_stop_if_failed();
        EXPECT_EQ(arena.bytes, sizes[i]);
        EXPECT_EQ((uintptr_t)arena.base % ARENA_ALIGN_BYTES, 0);
        int64_t set = 0;
        for (int64_t at = 0; at < sizes[i]; at++)
            set += arena.base[at] != 0;
        EXPECT_EQ(set, 0);
        memset(arena.base, 0xff, (size_t)sizes[i]);
    }
}

static void write_behind(void *argument)
{
    const struct arena *arena = argument;
    signal(SIGSEGV, SIG_DFL);
    int64_t page = sysconf(_SC_PAGESIZE);
    *(volatile uint8_t *)(arena->base + (arena->bytes + page - 1) / page * page) = 1;
}

TEST(a_write_behind_the_last_page_faults)
{
    int64_t sizes[] = { 1, 4096, 3 << 20, 4 << 20 };
    for (int i = 0; i < ELEMENTS_OF(sizes); i++) {
        struct arena arena;
        EXPECT_EQ(arena_reserve(&arena, sizes[i]), OK);
        test_stop_if_failed();
        EXPECT_EQ(child_run(write_behind, &arena).status, 128 + SIGSEGV);
    }
}

TEST(more_than_the_machine_has_is_refused_with_both_sizes)
{
    status_quiet(true);
    struct arena arena;
    EXPECT_EQ(arena_reserve(&arena, INT64_C(1) << 50), E_AGAIN);
    status_quiet(false);
    EXPECT_HOLDS(status_message(), "a rank needs 1073741824.0 MiB; the machine has");
    EXPECT_HOLDS(status_message(), "promised to other ranks");
}

TEST(ranks_that_ask_at_once_are_not_promised_the_same_memory)
{
    enum { MIB = 1 << 20 };
    struct memory_ledger ledger = { 0 };
    int64_t available = INT64_C(1000) * MIB;     /* never falls: nobody has touched anything yet */
    for (int rank = 0; rank < 3; rank++)
        EXPECT_EQ(memory_promise(&ledger, available, 300 * MIB), available - MEMORY_SPARE_BYTES - rank * INT64_C(300) * MIB);
    EXPECT_EQ(memory_promise(&ledger, available, 300 * MIB), 36 * MIB);
    EXPECT_EQ(ledger.promised, 900 * MIB);       /* the fourth got none */
    EXPECT_EQ(memory_promise(&ledger, available, 36 * MIB), 36 * MIB);
    EXPECT_EQ(ledger.promised, 936 * MIB);
}

TEST(memory_that_another_program_took_since_is_not_promised)
{
    enum { MIB = 1 << 20 };
    struct memory_ledger ledger = { 0 };
    EXPECT_EQ(memory_promise(&ledger, INT64_C(1000) * MIB, 100 * MIB), 936 * MIB);
    EXPECT_EQ(memory_promise(&ledger, INT64_C(164) * MIB, 101 * MIB), 100 * MIB);
    EXPECT_EQ(memory_promise(&ledger, INT64_C(10) * MIB, 1), 0);
    EXPECT_EQ(ledger.promised, 100 * MIB);
}

/* Writes root/path with the folders above it. */
static void put(const char *root, const char *path, const char *content)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *slash = strchr(whole + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    if (file == NULL) {
        test_fail(__FILE__, __LINE__, "cannot write %s", whole);
        return;
    }
    fputs(content, file);
    fclose(file);
}

static const char meminfo[] = "MemTotal:       1000 kB\nMemFree:         10 kB\nMemAvailable:   500 kB\nMemAvailableMore: 7 kB\n";

TEST(what_is_available_is_what_the_kernel_says)
{
    const char *root = test_folder();
    EXPECT_EQ(memory_available(root), INT64_MAX);
    put(root, "proc/meminfo", meminfo);
    EXPECT_EQ(memory_available(root), 500 * 1024);
    EXPECT(memory_available("") > 0 && memory_available("") < INT64_MAX);
}

TEST(a_control_group_of_version_2_limits_it_or_one_above_does)
{
    const char *root = test_folder();
    put(root, "proc/meminfo", meminfo);
    put(root, "proc/self/cgroup", "0::/night/job\n");
    put(root, "sys/fs/cgroup/night/job/memory.max", "max\n");
    put(root, "sys/fs/cgroup/night/job/memory.current", "1000\n");
    EXPECT_EQ(memory_available(root), 500 * 1024);
    put(root, "sys/fs/cgroup/night/memory.max", "100000\n");
    put(root, "sys/fs/cgroup/night/memory.current", "60000\n");
    EXPECT_EQ(memory_available(root), 40000);
    put(root, "sys/fs/cgroup/night/memory.stat", "anon 1\ninactive_file_more 9\ninactive_file 2000\nactive_file 300\n");
    EXPECT_EQ(memory_available(root), 42300);
    put(root, "sys/fs/cgroup/memory.max", "5\n");        /* the root of a container's own view */
    put(root, "sys/fs/cgroup/memory.current", "9\n");
    EXPECT_EQ(memory_available(root), 0);
}

TEST(a_control_group_of_version_1_limits_it)
{
    const char *root = test_folder();
    put(root, "proc/meminfo", meminfo);
    put(root, "proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a/b\n0::/\n");
    put(root, "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    put(root, "sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "7\n");
    EXPECT_EQ(memory_available(root), 500 * 1024);
    put(root, "sys/fs/cgroup/memory/a/b/memory.stat", "total_inactive_file 9000\ntotal_active_file 1\n");    /* more than used: counted at another time */
    EXPECT_EQ(memory_available(root), 500 * 1024);
    put(root, "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "5000\n");
    put(root, "sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "4500\n");
    put(root, "sys/fs/cgroup/memory/a/b/memory.stat", "inactive_file 1\ntotal_inactive_file 20\ntotal_active_file 3\n");
    EXPECT_EQ(memory_available(root), 523);
}

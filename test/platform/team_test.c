/* team_test.c: threads take tasks, each once; where time goes; ranks start and end. */
#include "platform/host/wait.h"
#include "platform/platform.h"
#include "test/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

static const int32_t team_sizes[] = { 1, 2, 3, 8 };
enum { TASKS_MOST = 1000 };

struct counts {
    _Atomic int32_t times[TASKS_MOST];
    int64_t tasks;
    _Atomic int64_t outside;    /* indices that are none */
};

static void count(void *argument, int64_t index)
{
    struct counts *counts = argument;
    if (index < 0 || index >= counts->tasks)
        atomic_fetch_add(&counts->outside, 1);
    else
        atomic_fetch_add(&counts->times[index], 1);
    if (index % 7 == 3)
        sched_yield();
}

TEST(each_index_runs_once)
{
    int64_t tasks[] = { 0, 1, 2, 3, 7, 8, 9, 64, TASKS_MOST };
    for (int s = 0; s < ELEMENTS_OF(team_sizes); s++) {
        struct team *team;
        EXPECT_EQ(team_open(&team, team_sizes[s]), OK);
        test_stop_if_failed();
        EXPECT_EQ(team_threads(team), team_sizes[s]);
        for (int repeat = 0; repeat < 50; repeat++)
            for (int i = 0; i < ELEMENTS_OF(tasks); i++) {
                static struct counts counts;
                memset(&counts, 0, sizeof counts);
                counts.tasks = tasks[i];
                team_run(team, tasks[i], count, &counts);
                int64_t wrong = counts.outside;
                for (int64_t t = 0; t < TASKS_MOST; t++)
                    wrong += counts.times[t] != (t < tasks[i]);
                EXPECT_EQ(wrong, 0);
            }
        team_close(team);
    }
}

static void add_plain(void *argument, int64_t index)
{
    int64_t *cell = argument;
    cell[8 * index]++;    /* no atomics: the team itself must order the runs */
}

TEST(what_a_run_wrote_is_seen_by_the_next)
{
    enum { CELLS = 5, RUNS = 20000 };
    for (int s = 0; s < ELEMENTS_OF(team_sizes); s++) {
        struct team *team;
        EXPECT_EQ(team_open(&team, team_sizes[s]), OK);
        test_stop_if_failed();
        int64_t cell[8 * CELLS] = { 0 };
        int64_t runs = team_sizes[s] > 3 ? RUNS / 10 : RUNS;
        for (int64_t run = 0; run < runs; run++) {
            team_run(team, CELLS, add_plain, cell);
            if (cell[0] != run + 1) {
                EXPECT_EQ(cell[0], run + 1);
                break;
            }
        }
        for (int i = 0; i < CELLS; i++)
            EXPECT_EQ(cell[8 * i], runs);
        team_close(team);
    }
}

struct crossing {
    pthread_t opener;
    _Atomic int32_t helping;
    int32_t done[8];
};

/* The opener keeps its first task until a helper has one, and the helper's takes longer than all that the opener has left. */
static void cross(void *argument, int64_t index)
{
    struct crossing *crossing = argument;
    if (!pthread_equal(pthread_self(), crossing->opener)) {
        atomic_store(&crossing->helping, 1);
        usleep(2000);
    }
    while (!atomic_load(&crossing->helping))
        sched_yield();
    crossing->done[index] = 1;
}

TEST(a_run_ends_when_its_last_task_is_done)
{
    for (int s = 1; s < ELEMENTS_OF(team_sizes); s++) {
        struct team *team;
        EXPECT_EQ(team_open(&team, team_sizes[s]), OK);
        test_stop_if_failed();
        for (int repeat = 0; repeat < 10; repeat++) {
            struct crossing crossing = { .opener = pthread_self() };
            int64_t tasks = 2 + repeat % 7, done = 0;
            team_run(team, tasks, cross, &crossing);
            for (int64_t t = 0; t < tasks; t++)
                done += crossing.done[t];
            EXPECT_EQ(done, tasks);
        }
        team_close(team);
    }
}

struct marks {
    _Atomic int64_t spoiled, unaligned;
};

static void mark_scratch(void *argument, int64_t index)
{
    struct marks *marks = argument;
    int64_t *scratch = team_scratch();
    int64_t last = TEAM_SCRATCH_BYTES / (int64_t)sizeof *scratch - 1;
    if ((uintptr_t)scratch % 64 != 0)
        atomic_fetch_add(&marks->unaligned, 1);
    scratch[0] = scratch[last] = index;
    sched_yield();
    if (scratch[0] != index || scratch[last] != index)
        atomic_fetch_add(&marks->spoiled, 1);
}

TEST(scratch_belongs_to_its_thread)
{
    for (int s = 0; s < ELEMENTS_OF(team_sizes); s++) {
        struct team *team;
        EXPECT_EQ(team_open(&team, team_sizes[s]), OK);
        test_stop_if_failed();
        struct marks marks = { 0 };
        team_run(team, 500, mark_scratch, &marks);
        EXPECT_EQ(marks.spoiled, 0);
        EXPECT_EQ(marks.unaligned, 0);
        team_close(team);
    }
}

static void work_for(int64_t ns)
{
    int64_t begin = clock_ns();
    while (clock_ns() - begin < ns)
        continue;
}

/* All bounds below are sums of what was worked for; a machine that is busy elsewhere can only lengthen both sides alike, since the whole is measured
 * too. */
TEST(time_is_counted_once_and_for_the_innermost_kind)
{
    enum { MATMUL_NS = 3000000, KERNEL_NS = 2000000, COMM_NS = 1000000 };
    struct queue queue = { 0 };
    int64_t whole = clock_ns();
    int64_t kernel = queue_begin(&queue);
    work_for(KERNEL_NS);
    for (int i = 0; i < 2; i++) {
        int64_t matmul = queue_begin(&queue);
        work_for(MATMUL_NS);
        int64_t comm = queue_begin(&queue);
        work_for(COMM_NS);
        queue_end(&queue, TIME_COMM, comm);
        queue_end(&queue, TIME_MATMUL, matmul);
    }
    queue_end(&queue, TIME_KERNEL, kernel);
    whole = clock_ns() - whole;
    int64_t sum = 0;
    for (int kind = 0; kind < TIME_KINDS; kind++)
        sum += queue.time_ns[kind];
    EXPECT(queue.time_ns[TIME_KERNEL] >= KERNEL_NS);
    EXPECT(queue.time_ns[TIME_MATMUL] >= 2 * MATMUL_NS);
    EXPECT(queue.time_ns[TIME_COMM] >= 2 * COMM_NS);
    EXPECT_EQ(queue.time_ns[TIME_WAIT], 0);
    EXPECT(sum <= whole);
    EXPECT(whole - queue.time_ns[TIME_MATMUL] - queue.time_ns[TIME_COMM] >= queue.time_ns[TIME_KERNEL]);
}

static enum status return_by_rank(int32_t rank, void *argument)
{
    _Atomic int32_t *ran = argument;
    atomic_fetch_add(ran, 1 << (4 * rank));
    return rank == 2 ? E_DATA : rank == 5 ? E_READ : OK;
}

TEST(each_rank_runs_once_and_the_first_bad_status_by_rank_is_returned)
{
    _Atomic int32_t ran = 0;
    EXPECT_EQ(ranks_run(7, return_by_rank, &ran), E_DATA);
    EXPECT_EQ(ran, 0x1111111);
    ran = 0;
    EXPECT_EQ(ranks_run(2, return_by_rank, &ran), OK);
    EXPECT_EQ(ran, 0x11);
}

enum { ROUNDS = 3000 };
static struct signal ping, pong;

static enum status answer(int32_t rank, void *argument)
{
    int64_t *seen = argument;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t value = round + UINT32_MAX - ROUNDS / 2;    /* passes 2^32 on the way */
        if (rank == 0) {
            seen[0] = round;
            signal_raise(&ping, value);
            signal_wait(&pong, value);
            if (seen[8] != round)
                test_fail(__FILE__, __LINE__, "round %u: the answer is %lld", round, (long long)seen[8]);
        } else {
            signal_wait(&ping, value);
            seen[8] = seen[0];
            signal_raise(&pong, value);
        }
        if (round % 64 == 0)
            usleep(100);    /* long enough that the other one sleeps */
    }
    return OK;
}

TEST(a_signal_wakes_its_waiter_and_counts_past_2_to_the_32)
{
    int64_t seen[16] = { 0 };
    ping.value = pong.value = UINT32_MAX - ROUNDS / 2 - 1;
    EXPECT_EQ(ranks_run(2, answer, seen), OK);
}

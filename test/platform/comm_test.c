/* comm_test.c: collectives and messages against naive computations, bit for bit, with ranks that come late at random. */
#include "platform/comm.h"
#include "test/platform/child.h"
#include "test/test.h"

#include <sched.h>
#include <stdatomic.h>

enum { RANKS_MOST = 8, ARENA_BYTES = 1 << 16 };

/* ---- a world of ranks ---- */

struct world {
    int32_t ranks, threads;              /* threads: of each rank's team */
    const struct comm_group *groups;
    int32_t groups_count;
    const struct comm_channel *channels;
    int32_t channels_count;
    void (*play)(struct world *world, int32_t rank, struct comm *comm, struct queue *queue);
    int64_t elements;                    /* for play */
    _Atomic int32_t flag;                /* for play */
};

static _Alignas(256) uint8_t arena_of[RANKS_MOST][ARENA_BYTES];
static const int32_t everyone[RANKS_MOST] = { 0, 1, 2, 3, 4, 5, 6, 7 };

static enum status live(int32_t rank, void *argument)
{
    struct world *world = argument;
    struct arena arena = { .base = arena_of[rank], .bytes = ARENA_BYTES };
    struct queue queue = { 0 };
    struct comm *comm;
    TRY(team_open(&queue.team, world->threads));
    TRY(comm_open(&comm, rank, world->ranks, world->groups, world->groups_count, world->channels, world->channels_count, arena));
    world->play(world, rank, comm, &queue);
    comm_close(comm);
    team_close(queue.team);
    return OK;
}

static void run(struct world world)
{
    if (world.threads == 0)
        world.threads = 1;
    EXPECT_EQ(ranks_run(world.ranks, live, &world), OK);
}

/* Comes late in one of several ways, or not at all. */
static void dawdle(uint64_t *state)
{
    uint64_t how = test_random(state) % 64;
    if (how < 8)
        sched_yield();
    else if (how == 8)
        usleep((useconds_t)(test_random(state) % 300));
    else if (how < 16)
        for (volatile int i = 0; i < 2000; i++)
            continue;
}

/* What a member brings to round: 24-bit numbers times 2^-12 to 2^11, so that the order of a sum shows in its bits. */
static float brings(int32_t member, int64_t round, int64_t element)
{
    uint64_t state = test_seed() * 1000003 + (uint64_t)round * 4096 + (uint64_t)member;
    state = state * 0x100000001b3 ^ (uint64_t)element;
    float x = test_uniform(&state);
    return ldexpf(x, (int)(test_random(&state) % 24) - 12);
}

static float naive_sum(const int32_t *members, int32_t size, int64_t round, int64_t element)
{
    float sum = brings(members[0], round, element);
    for (int32_t m = 1; m < size; m++)
        sum += brings(members[m], round, element);
    return sum;
}

static float naive_max(const int32_t *members, int32_t size, int64_t round, int64_t element)
{
    float max = brings(members[0], round, element);
    for (int32_t m = 1; m < size; m++)
        max = fmaxf(max, brings(members[m], round, element));
    return max;
}

static bool same_bits(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* Counts wrong elements of buffer[begin, end) and fails once for them. */
#define EXPECT_ELEMENTS(what, buffer, begin, end, right)                                                                         \
    do {                                                                                                                         \
        int64_t wrong = 0, first = -1;                                                                                           \
        for (int64_t e = (begin); e < (end); e++)                                                                                \
            if (!same_bits((buffer)[e], (right))) {                                                                              \
                first = wrong++ == 0 ? e : first;                                                                                \
            }                                                                                                                    \
        if (wrong > 0)                                                                                                           \
            test_fail(__FILE__, __LINE__, "%s: group of %d, rank %d, %lld elements: %lld wrong from %lld on", what, size,        \
                      rank, (long long)elements, (long long)wrong, (long long)first);                                            \
    } while (0)

/* ---- collectives ---- */

static void play_collectives(struct world *world, int32_t rank, struct comm *comm, struct queue *queue)
{
    int64_t elements = world->elements;
    int32_t size = world->ranks;
    float *x = malloc(sizeof *x * (size_t)(size * elements + 1));
    uint64_t state = test_seed() + (uint64_t)rank;
    int64_t repeats = elements > 10000 ? 2 : 12;
    for (int64_t round = 0; round < repeats; round++) {
        for (int64_t e = 0; e < elements; e++)
            x[e] = brings(rank, round, e);
        dawdle(&state);
        comm_all_reduce(comm, queue, 0, x, elements, COMM_SUM);
        EXPECT_ELEMENTS("sum", x, 0, elements, naive_sum(everyone, size, round, e));

        for (int64_t e = 0; e < elements; e++)
            x[e] = brings(rank, round, e);
        dawdle(&state);
        comm_all_reduce(comm, queue, 0, x, elements, COMM_MAX);
        EXPECT_ELEMENTS("max", x, 0, elements, naive_max(everyone, size, round, e));

        for (int64_t e = 0; e < size * elements; e++)
            x[e] = brings(rank, round, e);
        dawdle(&state);
        comm_reduce_scatter(comm, queue, 0, x, elements);
        EXPECT_ELEMENTS("scattered sum", x, rank * elements, (rank + 1) * elements, naive_sum(everyone, size, round, e));

        for (int64_t e = 0; e < size * elements; e++)
            x[e] = e / elements == rank ? brings(rank, round, e) : -7;
        dawdle(&state);
        comm_all_gather(comm, queue, 0, x, elements);
        EXPECT_ELEMENTS("gathered", x, 0, size * elements, brings((int32_t)(e / elements), round, e));
    }
    free(x);
}

TEST(collectives_equal_the_naive_computation_in_member_order)
{
    int32_t sizes[] = { 1, 2, 3, 4, 8 };
    /* around a cache line, around what is small (4096 elements), around a chunk, and beyond one task (65536) */
    int64_t elements[] = { 0, 1, 3, 15, 16, 17, 509, 512, 513, 4095, 4096, 4097, 8200, 20011, 70001 };
    for (int s = 0; s < ELEMENTS_OF(sizes); s++)
        for (int i = 0; i < ELEMENTS_OF(elements); i++) {
            struct comm_group group = { .id = 0, .size = sizes[s], .members = everyone };
            run((struct world){ .ranks = sizes[s], .groups = &group, .groups_count = 1, .play = play_collectives, .elements = elements[i] });
        }
}

TEST(threads_of_a_team_change_no_bit)
{
    for (int32_t threads = 2; threads <= 3; threads++) {
        struct comm_group group = { .id = 0, .size = 3, .members = everyone };
        run((struct world){ .ranks = 3, .threads = threads, .groups = &group, .groups_count = 1, .play = play_collectives, .elements = 200003 });
    }
}

/* The sums above would prove nothing about their order if any order gave the same bits. */
TEST(the_numbers_of_this_test_show_the_order_of_a_sum)
{
    int64_t differ = 0;
    for (int64_t e = 0; e < 1000; e++) {
        float backwards = brings(3, 0, e);
        for (int32_t m = 2; m >= 0; m--)
            backwards += brings(m, 0, e);
        differ += !same_bits(backwards, naive_sum(everyone, 4, 0, e));
    }
    EXPECT(differ > 100);
}

static void play_records(struct world *world, int32_t rank, struct comm *comm, struct queue *queue)
{
    for (int64_t bytes = 1; bytes <= COMM_RECORD_BYTES; bytes += bytes < 16 ? 1 : 48) {
        uint8_t all[RANKS_MOST * COMM_RECORD_BYTES], mine[COMM_RECORD_BYTES];
        for (int alias = 0; alias < 2; alias++) {
            uint8_t *from = alias ? all + rank * bytes : mine;    /* mine may lie at its place in all */
            memset(all, 0xee, sizeof all);
            memset(from, (int)(16 * rank + bytes % 16), (size_t)bytes);
            comm_gather_records(comm, queue, 0, all, from, bytes);
            int64_t wrong = 0;
            for (int64_t b = 0; b < world->ranks * bytes; b++)
                wrong += all[b] != (uint8_t)(16 * (b / bytes) + bytes % 16);
            wrong += world->ranks < RANKS_MOST && all[world->ranks * bytes] != 0xee;
            EXPECT_EQ(wrong, 0);
        }
    }
}

TEST(records_arrive_whole_and_in_member_order)
{
    for (int32_t ranks = 1; ranks <= RANKS_MOST; ranks++) {
        struct comm_group group = { .id = 0, .size = ranks, .members = everyone };
        run((struct world){ .ranks = ranks, .groups = &group, .groups_count = 1, .play = play_records });
    }
}

/* ---- overlapping groups: eight ranks, each in a pair by TP, one by PP, one by DP, in the world and in a group of one ---- */

static const int32_t pairs[12][2] = { { 0, 1 }, { 2, 3 }, { 4, 5 }, { 6, 7 }, { 0, 4 }, { 1, 5 }, { 2, 6 }, { 3, 7 }, { 0, 2 }, { 1, 3 }, { 4, 6 }, { 5, 7 } };
static const int32_t middle[3] = { 2, 3, 5 };
enum { GROUP_WORLD = 12, GROUP_MIDDLE = 13, GROUP_ALONE = 14, GROUPS = 14 + RANKS_MOST };

static void play_overlap(struct world *world, int32_t rank, struct comm *comm, struct queue *queue)
{
    static const int64_t sizes[] = { 1, 5, 64, 1000, 5000, 9000 };
    uint64_t order = test_seed(), state = test_seed() + 1 + (uint64_t)rank;    /* order is the same on all ranks */
    static float buffers[RANKS_MOST][RANKS_MOST * 9000];
    float *x = buffers[rank];
    for (int64_t round = 0; round < 1500; round++) {
        int kind = (int)(test_random(&order) % 6), what = (int)(test_random(&order) % 3);
        int64_t elements = sizes[test_random(&order) % ELEMENTS_OF(sizes)];
        for (int32_t g = 0; g < world->groups_count; g++) {
            if (g < 12 ? g / 4 != kind : g == GROUP_WORLD ? kind != 3 : g == GROUP_MIDDLE ? kind != 4 : kind != 5)
                continue;
            int32_t size = world->groups[g].size, index = -1;
            const int32_t *members = world->groups[g].members;
            for (int32_t m = 0; m < size; m++)
                index = members[m] == rank ? m : index;
            if (index < 0)
                continue;
            dawdle(&state);
            if (what == 0) {
                for (int64_t e = 0; e < elements; e++)
                    x[e] = brings(rank, round, e);
                comm_all_reduce(comm, queue, g, x, elements, COMM_SUM);
                EXPECT_ELEMENTS("sum", x, 0, elements, naive_sum(members, size, round, e));
            } else if (what == 1) {
                for (int64_t e = 0; e < elements; e++)
                    x[index * elements + e] = brings(rank, round, e);
                comm_all_gather(comm, queue, g, x, elements);
                EXPECT_ELEMENTS("gathered", x, 0, size * elements, brings(members[e / elements], round, e % elements));
            } else {
                comm_barrier(comm, queue, g);
            }
        }
    }
}

TEST(a_rank_may_be_in_many_groups)
{
    struct comm_group groups[GROUPS];
    for (int32_t g = 0; g < GROUPS; g++) {
        groups[g] = (struct comm_group){ .id = g, .size = 1, .members = &everyone[g - GROUP_ALONE < 0 ? 0 : g - GROUP_ALONE] };
        if (g < 12)
            groups[g] = (struct comm_group){ .id = g, .size = 2, .members = pairs[g] };
    }
    groups[GROUP_WORLD] = (struct comm_group){ .id = GROUP_WORLD, .size = RANKS_MOST, .members = everyone };
    groups[GROUP_MIDDLE] = (struct comm_group){ .id = GROUP_MIDDLE, .size = 3, .members = middle };
    run((struct world){ .ranks = RANKS_MOST, .groups = groups, .groups_count = GROUPS, .play = play_overlap });
}

static void play_barrier(struct world *world, int32_t rank, struct comm *comm, struct queue *queue)
{
    uint64_t state = test_seed() + (uint64_t)rank;
    for (int32_t round = 1; round <= 300; round++) {
        dawdle(&state);
        atomic_fetch_add(&world->flag, 1);
        comm_barrier(comm, queue, 0);
        int32_t come = world->flag;
        if (come < round * world->ranks || come > round * world->ranks + world->ranks - 1)
            test_fail(__FILE__, __LINE__, "rank %d passed barrier %d when %d had come", rank, round, come);
    }
}

TEST(nobody_passes_a_barrier_before_all_have_come)
{
    struct comm_group group = { .id = 0, .size = RANKS_MOST, .members = everyone };
    run((struct world){ .ranks = RANKS_MOST, .groups = &group, .groups_count = 1, .play = play_barrier });
}

/* ---- messages ---- */

enum { SLOT_BYTES = 4096, MESSAGES = 400 };

static int64_t message_bytes(int64_t message)
{
    static const int64_t sizes[] = { SLOT_BYTES, 0, 1, 100, SLOT_BYTES - 1 };
    return sizes[message % ELEMENTS_OF(sizes)];
}

static uint8_t message_byte(int32_t channel, int64_t message, int64_t at)
{
    return (uint8_t)(31 * channel + 7 * message + at);
}

static void send_message(struct comm *comm, struct queue *queue, int32_t channel, int64_t message)
{
    uint8_t content[SLOT_BYTES];
    for (int64_t at = 0; at < SLOT_BYTES; at++)
        content[at] = message_byte(channel, message, at);
    comm_send(comm, queue, channel, content, message_bytes(message));
    memset(content, 0, sizeof content);    /* the buffer may be reused at once */
}

static void receive_message(struct comm *comm, struct queue *queue, int32_t channel, int64_t message)
{
    uint8_t content[SLOT_BYTES];
    memset(content, 0xaa, sizeof content);
    comm_receive(comm, queue, channel, content, message_bytes(message));
    int64_t wrong = 0;
    for (int64_t at = 0; at < SLOT_BYTES; at++)
        wrong += content[at] != (at < message_bytes(message) ? message_byte(channel, message, at) : 0xaa);
    if (wrong > 0)
        test_fail(__FILE__, __LINE__, "channel %d, message %lld: %lld bytes wrong", channel, (long long)message, (long long)wrong);
}

/* Both ranks are as far ahead with sending as the slots let them be, then receive; so each direction is both full and empty many times. */
static void play_messages(struct world *world, int32_t rank, struct comm *comm, struct queue *queue)
{
    uint64_t order = test_seed(), state = test_seed() + 1 + (uint64_t)rank;
    int64_t sent = 0, received = 0;
    while (received < MESSAGES) {
        int64_t ahead = 1 + (int64_t)(test_random(&order) % (uint64_t)world->channels[0].slots);
        for (; sent < MESSAGES && sent - received < ahead; sent++) {
            dawdle(&state);
            send_message(comm, queue, rank, sent);
        }
        dawdle(&state);
        receive_message(comm, queue, 1 - rank, received++);
    }
}

/* One way only: the sender is stopped by full slots, the receiver by empty ones. */
static void play_one_way(struct world *world, int32_t rank, struct comm *comm, struct queue *queue)
{
    uint64_t state = test_seed() + (uint64_t)rank;
    (void)world;
    for (int64_t message = 0; message < MESSAGES; message++) {
        dawdle(&state);
        if (rank == 0)
            send_message(comm, queue, 0, message);
        else
            receive_message(comm, queue, 0, message);
    }
}

/* Channel c goes from rank c to the other one. Slots lie apart in the receiver's arena. */
static void run_channels(int32_t slots, void (*play)(struct world *, int32_t, struct comm *, struct queue *))
{
    struct comm_channel channels[2];
    for (int32_t c = 0; c < 2; c++)
        channels[c] = (struct comm_channel){ .id = c, .from = c, .to = 1 - c, .slots = slots, .slot_bytes = SLOT_BYTES, .slots_offset_bytes = 512 };
    run((struct world){ .ranks = 2, .channels = channels, .channels_count = 2, .play = play });
}

TEST(messages_arrive_in_order_and_whole_in_both_directions)
{
    for (int32_t slots = 1; slots <= 3; slots++) {
        run_channels(slots, play_messages);
        run_channels(slots, play_one_way);
    }
}

static void play_full(struct world *world, int32_t rank, struct comm *comm, struct queue *queue)
{
    int32_t slots = world->channels[0].slots;
    if (rank == 0) {
        for (int64_t message = 0; message < slots; message++)
            send_message(comm, queue, 0, message);    /* returns although nobody receives */
        atomic_store(&world->flag, 1);
        send_message(comm, queue, 0, slots);          /* waits for the receiver */
        EXPECT_EQ(atomic_load(&world->flag), 2);
    } else {
        while (atomic_load(&world->flag) != 1)
            sched_yield();
        usleep(20000);
        atomic_store(&world->flag, 2);
        for (int64_t message = 0; message <= slots; message++)
            receive_message(comm, queue, 0, message);
    }
}

TEST(a_send_waits_only_while_all_slots_are_full)
{
    for (int32_t slots = 1; slots <= 3; slots++)
        run_channels(slots, play_full);
}

/* ---- accounting ---- */

static void play_late(struct world *world, int32_t rank, struct comm *comm, struct queue *queue)
{
    (void)world;
    enum { LATE_US = 50000 };
    float x[4] = { 0 };
    if (rank == 1)
        usleep(LATE_US);
    int64_t begin = clock_ns();
    comm_all_reduce(comm, queue, 0, x, 4, COMM_SUM);
    int64_t whole = clock_ns() - begin;
    if (rank == 0)    /* rank 0 may itself have begun late on a busy machine: it waited for what was left */
        EXPECT(queue->time_ns[TIME_WAIT] >= whole * 9 / 10);
    EXPECT(queue->time_ns[TIME_WAIT] + queue->time_ns[TIME_COMM] <= whole);
    EXPECT(queue->time_ns[TIME_COMM] > 0);
    EXPECT_EQ(queue->time_ns[TIME_KERNEL] + queue->time_ns[TIME_MATMUL], 0);
}

TEST(waiting_for_a_peer_is_told_from_communication)
{
    struct comm_group group = { .id = 0, .size = 2, .members = everyone };
    run((struct world){ .ranks = 2, .groups = &group, .groups_count = 1, .play = play_late });
}

/* ---- what only a bug can do ---- */

static void play_another_size(struct world *world, int32_t rank, struct comm *comm, struct queue *queue)
{
    float x[8192] = { 0 };
    comm_all_reduce(comm, queue, 0, x, world->elements + (rank == 1), COMM_SUM);
}
static void play_another_operation(struct world *world, int32_t rank, struct comm *comm, struct queue *queue)
{
    float x[8192] = { 0 };
    comm_all_reduce(comm, queue, 0, x, world->elements, rank == 1 ? COMM_MAX : COMM_SUM);
}
static void play_another_group(struct world *world, int32_t rank, struct comm *comm, struct queue *queue)
{
    (void)world;
    comm_barrier(comm, queue, 1 - rank);
}
static void play_another_message(struct world *world, int32_t rank, struct comm *comm, struct queue *queue)
{
    uint8_t x[SLOT_BYTES] = { 0 };
    (void)world;
    if (rank == 0)
        comm_send(comm, queue, 0, x, 8);
    else
        comm_receive(comm, queue, 0, x, 9);
}
static void play_too_long(struct world *world, int32_t rank, struct comm *comm, struct queue *queue)
{
    uint8_t x[SLOT_BYTES + 1] = { 0 };
    (void)world;
    if (rank == 0)
        comm_send(comm, queue, 0, x, SLOT_BYTES + 1);
}
static void play_wrong_way(struct world *world, int32_t rank, struct comm *comm, struct queue *queue)
{
    uint8_t x[8] = { 0 };
    (void)world;
    if (rank == 1)
        comm_send(comm, queue, 0, x, 8);
}

static const struct bug {
    void (*play)(struct world *world, int32_t rank, struct comm *comm, struct queue *queue);
    int64_t elements;
    const char *line;
} bugs[] = {
    { play_another_size, 5, "bytes == bytes" },
    { play_another_size, 8000, "bytes == bytes" },
    { play_another_operation, 5, "operation == operation" },
    { play_another_operation, 8000, "operation == operation" },
    { play_another_group, 0, "index >= 0" },
    { play_another_message, 0, "slot_bytes[slot] == bytes" },
    { play_too_long, 0, "bytes <= comm->channels[channel].slot_bytes" },
    { play_wrong_way, 0, "shape->from == comm->rank" },
};

static void commit(void *argument)
{
    const struct bug *bug = argument;
    static const int32_t one[1] = { 1 };
    struct comm_group groups[2] = { { .id = 0, .size = 2, .members = everyone }, { .id = 1, .size = 1, .members = one } };
    struct comm_channel channel = { .id = 0, .from = 0, .to = 1, .slots = 1, .slot_bytes = SLOT_BYTES };
    run((struct world){ .ranks = 2, .groups = groups, .groups_count = 2, .channels = &channel, .channels_count = 1, .play = bug->play,
                        .elements = bug->elements });
}

TEST(members_that_disagree_end_the_process)
{
    for (int i = 0; i < ELEMENTS_OF(bugs); i++) {
        struct bug bug = bugs[i];
        struct child child = child_run(commit, &bug);
        EXPECT_EQ(child.status, E_SOFTWARE);
        EXPECT_HOLDS(child.said, bug.line);
    }
}

/* comm_shm.c: collectives between the ranks of one process (comm.h): they read each other's buffers in place.
 *
 * Opened at boot; steady after that.
 * (1) A large collective has two meetings: all have shown their buffer; all are done with the others'. Between them a member writes only the part
 *     that it owns, of whoever's buffer, or parts of its own that nobody reads.
 * (2) A small one (SMALL_BYTES) is shown as a copy and has the first meeting only. A member has two places for copies and takes turns: whoever
 *     writes one for the second time has met all others in the visit between, so they have left the first.
 * (3) A sum is taken in member order: of a large one by the member that owns the part, of a small one by each member for itself.
 * (4) Every member shows what it is about to do, and asserts that the others do the same. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "platform/host/comm_inside.h"

enum {
    SMALL_BYTES = 16 << 10,
    PART_ELEMENTS = 16,            /* a member's part begins on a cache line */
    TASK_ELEMENTS = 64 << 10,      /* what one thread of the team reduces at a time */
    CHUNK_ELEMENTS = 4096,         /* a sum that stays in the first-level cache while the members are added */
};

enum operation { ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE_SUM, ALL_REDUCE_MAX, GATHER_RECORDS, BARRIER };

/* What a member shows of itself in one visit. */
struct shown {
    _Alignas(CACHE_LINE_BYTES) void *data;
    int64_t bytes;
    enum operation operation;
    _Alignas(CACHE_LINE_BYTES) uint8_t small[SMALL_BYTES];
};
/* A meeting point: the last to come raises the signal for all. */
struct meeting {
    _Alignas(CACHE_LINE_BYTES) _Atomic uint32_t come;
    struct signal all;
};
struct group {
    struct meeting shown, done;
    struct shown member[][2];      /* [size], by the parity of the visit (2) */
};

/* A rank's own knowledge of one of its groups. */
struct visits {
    int32_t index;                 /* its place among the members, or -1 */
    uint32_t begun, large;         /* visits so far, and those that had the second meeting; modulo 2^32 */
};

/* ---- opening and closing: what the ranks of the process share ---- */

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_in = PTHREAD_COND_INITIALIZER;
static struct group **groups_shared;
static struct channel *channels_shared;
static int32_t come, gone;        /* ranks that have opened and closed since the last closed */
static int32_t groups_made, channels_made;
static bool lacking;               /* memory, for one of the ranks */

static void unmake(void)
{
    for (int32_t g = 0; g < groups_made; g++)
        free(groups_shared[g]);
    for (int32_t c = 0; c < channels_made; c++)
        free(channels_shared[c].slot_bytes);
    free(groups_shared);
    free(channels_shared);
    groups_shared = NULL;
    channels_shared = NULL;
    groups_made = channels_made = come = gone = 0;
    lacking = false;
}

static void *zeroed(size_t bytes)
{
    size_t lines = (bytes + CACHE_LINE_BYTES) / CACHE_LINE_BYTES;
    void *memory = aligned_alloc(CACHE_LINE_BYTES, lines * CACHE_LINE_BYTES);
    if (memory != NULL)
        memset(memory, 0, bytes);
    return memory;
}

BOOT static bool make(const struct comm_group *groups, int32_t groups_count, const struct comm_channel *channels, int32_t channels_count)
{
    groups_shared = zeroed((size_t)groups_count * sizeof(struct group *));
    channels_shared = zeroed((size_t)channels_count * sizeof(struct channel));
    if (groups_shared == NULL || channels_shared == NULL)
        return false;
    for (int32_t g = 0; g < groups_count; g++, groups_made++) {
        groups_shared[g] = zeroed(sizeof(struct group) + (size_t)groups[g].size * sizeof(struct shown[2]));
        if (groups_shared[g] == NULL)
            return false;
    }
    for (int32_t c = 0; c < channels_count; c++, channels_made++) {
        ASSERT(channels[c].id == c);
        ASSERT(channels[c].slots >= 1 && channels[c].slot_bytes >= 0);
        channels_shared[c].slot_bytes = zeroed((size_t)channels[c].slots * sizeof(int64_t));
        if (channels_shared[c].slot_bytes == NULL)
            return false;
    }
    return true;
}

/* The rank's own part: its place in each group, its slots. */
BOOT static struct comm *own(int32_t rank, const struct comm_group *groups, int32_t groups_count, const struct comm_channel *channels,
                             int32_t channels_count, struct arena arena)
{
    struct comm *comm = zeroed(sizeof *comm);
    struct visits *visits = zeroed((size_t)groups_count * sizeof *visits);
    int64_t *messages = zeroed((size_t)channels_count * sizeof *messages);
    if (comm == NULL || visits == NULL || messages == NULL) {
        free(comm);
        free(visits);
        free(messages);
        return NULL;
    }
    *comm = (struct comm){ .rank = rank, .groups = groups, .channels = channels, .groups_count = groups_count, .channels_count = channels_count,
                           .group = groups_shared, .channel = channels_shared, .visits = visits, .messages = messages };
    for (int32_t g = 0; g < groups_count; g++) {
        ASSERT(groups[g].id == g);
        visits[g].index = -1;
        for (int32_t m = 0; m < groups[g].size; m++) {
            ASSERT(m == 0 || groups[g].members[m - 1] < groups[g].members[m]);
            if (groups[g].members[m] == rank)
                visits[g].index = m;
        }
    }
    for (int32_t c = 0; c < channels_count; c++)
        if (channels[c].to == rank) {
            ASSERT(channels[c].from != rank);
            ASSERT(channels[c].slots_offset_bytes >= 0 && channels[c].slots_offset_bytes + channels[c].slots * channels[c].slot_bytes <= arena.bytes);
            channels_shared[c].slot = arena.base + channels[c].slots_offset_bytes;
        }
    return comm;
}

BOOT enum status comm_open(struct comm **out, int32_t rank, int32_t ranks, const struct comm_group *groups, int32_t groups_count,
                           const struct comm_channel *channels, int32_t channels_count, struct arena arena)
{
    ASSERT(rank >= 0 && rank < ranks);
    pthread_mutex_lock(&door);
    ASSERT(come < ranks);
    if (come == 0)
        lacking = !make(groups, groups_count, channels, channels_count);
    struct comm *comm = lacking ? NULL : own(rank, groups, groups_count, channels, channels_count, arena);
    lacking = lacking || comm == NULL;
    come++;
    pthread_cond_broadcast(&all_in);
    while (come < ranks)
        pthread_cond_wait(&all_in, &door);
    bool lacked = lacking;
    pthread_mutex_unlock(&door);
    if (lacked)
        return fail(E_AGAIN, "comm: rank %d: out of memory for %d groups and %d channels", rank, groups_count, channels_count);
    *out = comm;
    return OK;
}

void comm_close(struct comm *comm)
{
    free(comm->visits);
    free(comm->messages);
    free(comm);
    pthread_mutex_lock(&door);
    if (++gone == come)
        unmake();
    pthread_mutex_unlock(&door);
}

/* ---- visits: a rank inside a collective ---- */

struct visit {
    struct group *group;
    int32_t size, index;
    uint32_t parity;
    bool small;
    int64_t begin;
    enum operation operation;
};

/* Returns when all members of the group have come for the turn-th time. */
static void meet(struct queue *queue, struct meeting *meeting, int32_t size, uint32_t turn)
{
    int64_t begin = queue_begin(queue);
    if (atomic_fetch_add(&meeting->come, 1) + 1 == (uint32_t)size * turn)
        signal_raise(&meeting->all, turn);
    else
        signal_wait(&meeting->all, turn);
    queue_end(queue, TIME_WAIT, begin);
}

/* Shows bytes of data and waits until all have shown theirs. */
static struct visit enter(struct comm *comm, struct queue *queue, int32_t group, enum operation operation, void *data, int64_t bytes)
{
    struct visits *visits = &comm->visits[group];
    struct visit visit = { .group = comm->group[group], .size = comm->groups[group].size, .index = visits->index, .parity = ++visits->begun & 1,
                           .small = bytes <= SMALL_BYTES, .begin = queue_begin(queue), .operation = operation };
    struct shown *mine = &visit.group->member[visit.index][visit.parity];
    mine->data = data;
    if (visit.small && bytes > 0)
        mine->data = memcpy(mine->small, data, (size_t)bytes);
    mine->bytes = bytes;
    mine->operation = operation;
    meet(queue, &visit.group->shown, visit.size, visits->begun);
    for (int32_t m = 0; m < visit.size; m++) {
        ASSERT(visit.group->member[m][visit.parity].operation == operation);
        ASSERT(visit.group->member[m][visit.parity].bytes == bytes);
    }
    return visit;
}

/* Of a large visit: waits until nobody needs this rank's buffer any more. */
static void leave(struct comm *comm, struct queue *queue, int32_t group, const struct visit *visit)
{
    if (!visit->small)
        meet(queue, &visit->group->done, visit->size, ++comm->visits[group].large);
    queue_end(queue, TIME_COMM, visit->begin);
}

/* True if the group is this rank alone, and there is nobody to talk to. */
static bool alone(const struct comm *comm, int32_t group)
{
    ASSERT(group >= 0 && group < comm->groups_count);
    ASSERT(comm->visits[group].index >= 0);
    return comm->groups[group].size == 1;
}

static void *shown_by(const struct visit *visit, int32_t member)
{
    return visit->group->member[member][visit->parity].data;
}

/* ---- sums ---- */

/* Elements [begin, end) of what all members show, combined; written to the same elements of each buffer in `to`. */
struct reduction {
    const struct visit *visit;
    int64_t begin, end;
    float *const *to;
    int32_t writes;
};

static void combine(float *restrict sum, const float *restrict x, int64_t count, enum operation operation)
{
    if (operation == ALL_REDUCE_MAX)
        for (int64_t i = 0; i < count; i++)
            sum[i] = x[i] > sum[i] ? x[i] : sum[i];
    else
        for (int64_t i = 0; i < count; i++)
            sum[i] += x[i];
}

static void reduce_task(void *argument, int64_t index)
{
    const struct reduction *r = argument;
    float sum[CHUNK_ELEMENTS];
    int64_t begin = r->begin + index * TASK_ELEMENTS, end = begin + TASK_ELEMENTS < r->end ? begin + TASK_ELEMENTS : r->end;
    for (int64_t at = begin; at < end; at += CHUNK_ELEMENTS) {
        int64_t count = end - at < CHUNK_ELEMENTS ? end - at : CHUNK_ELEMENTS;
        size_t bytes = (size_t)count * sizeof(float);
        memcpy(sum, (const float *)shown_by(r->visit, 0) + at, bytes);
        for (int32_t m = 1; m < r->visit->size; m++)
            combine(sum, (const float *)shown_by(r->visit, m) + at, count, r->visit->operation);
        for (int32_t w = 0; w < r->writes; w++)
            memcpy(r->to[w] + at, sum, bytes);
    }
}

static void reduce(struct queue *queue, struct reduction r)
{
    team_run(queue->team, (r.end - r.begin + TASK_ELEMENTS - 1) / TASK_ELEMENTS, reduce_task, &r);
}

/* The part of [0, elements) that a member owns: whole cache lines. */
static void part_of(int64_t elements, int32_t size, int32_t index, int64_t *begin, int64_t *end)
{
    int64_t lines = (elements + PART_ELEMENTS - 1) / PART_ELEMENTS;
    *begin = lines * index / size * PART_ELEMENTS;
    *end = lines * (index + 1) / size * PART_ELEMENTS;
    *begin = *begin < elements ? *begin : elements;
    *end = *end < elements ? *end : elements;
}

/* ---- the collectives ---- */

void comm_all_reduce(struct comm *comm, struct queue *queue, int32_t group, float *buffer, int64_t elements, enum comm_op op)
{
    ASSERT(elements >= 0);
    if (alone(comm, group))
        return;
    struct visit visit = enter(comm, queue, group, op == COMM_SUM ? ALL_REDUCE_SUM : ALL_REDUCE_MAX, buffer, elements * (int64_t)sizeof(float));
    if (visit.small) {
        reduce(queue, (struct reduction){ .visit = &visit, .begin = 0, .end = elements, .to = &buffer, .writes = 1 });
    } else {
        float *to[visit.size];
        for (int32_t m = 0; m < visit.size; m++)
            to[m] = shown_by(&visit, m);
        struct reduction r = { .visit = &visit, .to = to, .writes = visit.size };
        part_of(elements, visit.size, visit.index, &r.begin, &r.end);
        reduce(queue, r);
    }
    leave(comm, queue, group, &visit);
}

void comm_reduce_scatter(struct comm *comm, struct queue *queue, int32_t group, float *buffer, int64_t elements)
{
    ASSERT(elements >= 0);
    if (alone(comm, group))
        return;
    int32_t size = comm->groups[group].size;
    struct visit visit = enter(comm, queue, group, REDUCE_SCATTER, buffer, size * elements * (int64_t)sizeof(float));
    reduce(queue, (struct reduction){ .visit = &visit, .begin = visit.index * elements, .end = (visit.index + 1) * elements, .to = &buffer, .writes = 1 });
    leave(comm, queue, group, &visit);
}

void comm_all_gather(struct comm *comm, struct queue *queue, int32_t group, float *buffer, int64_t elements)
{
    ASSERT(elements >= 0);
    if (alone(comm, group))
        return;
    int64_t bytes = elements * (int64_t)sizeof(float);
    struct visit visit = enter(comm, queue, group, ALL_GATHER, buffer + comm->visits[group].index * elements, bytes);
    for (int32_t m = 0; m < visit.size; m++)
        if (m != visit.index)
            comm_copy(queue, buffer + m * elements, shown_by(&visit, m), bytes);
    leave(comm, queue, group, &visit);
}

void comm_gather_records(struct comm *comm, struct queue *queue, int32_t group, void *all, const void *mine, int64_t bytes)
{
    ASSERT(bytes > 0 && bytes <= COMM_RECORD_BYTES);
    _Static_assert((int)COMM_RECORD_BYTES <= (int)SMALL_BYTES, "records are shown as copies");
    if (alone(comm, group)) {
        memmove(all, mine, (size_t)bytes);
        return;
    }
    uint8_t copy[COMM_RECORD_BYTES];       /* mine may lie in all */
    memcpy(copy, mine, (size_t)bytes);
    struct visit visit = enter(comm, queue, group, GATHER_RECORDS, copy, bytes);
    for (int32_t m = 0; m < visit.size; m++)
        memcpy((uint8_t *)all + m * bytes, shown_by(&visit, m), (size_t)bytes);
    leave(comm, queue, group, &visit);
}

void comm_barrier(struct comm *comm, struct queue *queue, int32_t group)
{
    if (alone(comm, group))
        return;
    struct visit visit = enter(comm, queue, group, BARRIER, NULL, 0);
    leave(comm, queue, group, &visit);
}

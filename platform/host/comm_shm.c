/* comm_shm.c: traffic between the ranks of one process (comm.h): they read each other's buffers in place.
 *
 * Opened at boot; steady after that. (1) A collective has two meetings: all have shown their buffer; all are done with the others'. Between them a
 * member writes only its own part, of whoever's buffer. (2) A sum is taken in member order, by the one member that owns the part.
 * (3) Every member shows what it is about to do, and asserts that the others do the same. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "platform/comm.h"
#include "platform/host/wait.h"

enum { CACHE_LINE_BYTES = 64, PART_ELEMENTS = 16, CHUNK_ELEMENTS = 4096 };

enum operation { ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE_SUM, ALL_REDUCE_MAX, GATHER_RECORDS, BARRIER };

/* What a member shows of itself, on a cache line of its own. */
struct member {
    _Alignas(CACHE_LINE_BYTES) void *buffer;
    int64_t size;
    enum operation operation;
};
/* A meeting point of a group: the last to come raises the signal for all. */
struct meeting {
    _Alignas(CACHE_LINE_BYTES) _Atomic uint32_t come;
    struct signal all;
};
struct group {
    struct meeting shown, done;
    struct member member[];
};
struct channel {
    struct signal sent, received;
    uint8_t *slot;
};

struct comm {
    int32_t rank;
    const struct comm_group *groups;
    const struct comm_channel *channels;
    int32_t channels_count;
    int32_t *index;        /* this rank's index in each group, or -1: [groups] */
    uint32_t *turn;        /* collectives entered so far, modulo 2^32: [groups] */
};

/* Shared by all ranks of the process; made by the first that comes. */
static struct group **shared;
static struct channel *slots;
static atomic_int making, joined;
static struct signal made, all_joined;

BOOT static enum status make(const struct comm_group *groups, int32_t groups_count, int32_t channels_count)
{
    shared = calloc((size_t)groups_count, sizeof *shared);
    slots = aligned_alloc(CACHE_LINE_BYTES, (size_t)(channels_count + 1) * sizeof *slots);
    if (shared == NULL || slots == NULL)
        return fail(E_AGAIN, "comm: out of memory");
    memset(slots, 0, (size_t)(channels_count + 1) * sizeof *slots);
    for (int32_t g = 0; g < groups_count; g++) {
        size_t bytes = sizeof(struct group) + (size_t)groups[g].size * sizeof(struct member);
        shared[g] = aligned_alloc(CACHE_LINE_BYTES, bytes);
        if (shared[g] == NULL)
            return fail(E_AGAIN, "comm: out of memory");
        memset(shared[g], 0, bytes);
    }
    return OK;
}

/* Returns when all members of the group have come for the turn-th time. */
static void meet(struct meeting *meeting, int32_t size, uint32_t turn)
{
    if (atomic_fetch_add(&meeting->come, 1) + 1 == (uint32_t)size * turn)
        signal_raise(&meeting->all, turn);
    else
        signal_wait(&meeting->all, turn);
}

BOOT enum status comm_open(struct comm **out, int32_t rank, int32_t ranks, const struct comm_group *groups, int32_t groups_count,
                           const struct comm_channel *channels, int32_t channels_count, struct arena arena)
{
    if (atomic_fetch_add(&making, 1) == 0) {
        TRY(make(groups, groups_count, channels_count));
        signal_raise(&made, 1);
    }
    signal_wait(&made, 1);
    struct comm *comm = calloc(1, sizeof *comm);
    int32_t *index = calloc((size_t)groups_count, sizeof *index);
    uint32_t *turn = calloc((size_t)groups_count, sizeof *turn);
    if (comm == NULL || index == NULL || turn == NULL)
        return fail(E_AGAIN, "comm: out of memory");
    *comm = (struct comm){ .rank = rank, .groups = groups, .channels = channels, .channels_count = channels_count, .index = index, .turn = turn };
    for (int32_t g = 0; g < groups_count; g++) {
        ASSERT(groups[g].id == g);
        comm->index[g] = -1;
        for (int32_t m = 0; m < groups[g].size; m++)
            if (groups[g].members[m] == rank)
                comm->index[g] = m;
    }
    for (int32_t c = 0; c < channels_count; c++)
        if (channels[c].to == rank) {
            ASSERT(channels[c].id == c);
            ASSERT(channels[c].slots >= 1 && (channels[c].slots & (channels[c].slots - 1)) == 0);     /* counts wrap at 2^32 */
            ASSERT(channels[c].slots_offset_bytes + channels[c].slots * channels[c].slot_bytes <= arena.bytes);
            slots[c].slot = arena.base + channels[c].slots_offset_bytes;
        }
    if (atomic_fetch_add(&joined, 1) + 1 == ranks)
        signal_raise(&all_joined, 1);
    signal_wait(&all_joined, 1);
    *out = comm;
    return OK;
}

void comm_close(struct comm *comm)
{
    free(comm->index);
    free(comm->turn);
    free(comm);
}

/* A rank inside a collective. */
struct visit {
    struct group *group;
    struct member *member;     /* [size] */
    int32_t size, index;
    uint32_t turn;
    int64_t begin;
};

/* Shows the buffer and waits until all have shown theirs. */
static struct visit enter(struct comm *comm, struct queue *queue, int32_t group, enum operation operation, void *buffer, int64_t size)
{
    ASSERT(group >= 0 && comm->index[group] >= 0);
    struct visit visit = {
        .group = shared[group], .member = shared[group]->member, .size = comm->groups[group].size, .index = comm->index[group], .turn = ++comm->turn[group],
        .begin = queue_begin(queue),
    };
    struct member *mine = &visit.member[visit.index];
    mine->buffer = buffer;
    mine->size = size;
    mine->operation = operation;
    int64_t wait = queue_begin(queue);
    meet(&visit.group->shown, visit.size, visit.turn);
    queue_end(queue, TIME_WAIT, wait);
    for (int32_t m = 0; m < visit.size; m++) {
        ASSERT(visit.member[m].operation == operation);
        ASSERT(visit.member[m].size == size);
    }
    return visit;
}

/* Waits until nobody needs this rank's buffer any more. */
static void leave(struct queue *queue, struct visit *visit)
{
    int64_t wait = queue_begin(queue);
    meet(&visit->group->done, visit->size, visit->turn);
    queue_end(queue, TIME_WAIT, wait);
    queue_end(queue, TIME_COMM, visit->begin);
}

static bool alone(const struct comm *comm, int32_t group)
{
    ASSERT(group >= 0);
    return comm->groups[group].size == 1;
}

/* The part of [0, elements) that a member reduces: whole cache lines. */
static void part_of(int64_t elements, int32_t size, int32_t index, int64_t *begin, int64_t *end)
{
    int64_t lines = (elements + PART_ELEMENTS - 1) / PART_ELEMENTS;
    *begin = lines * index / size * PART_ELEMENTS;
    *end = lines * (index + 1) / size * PART_ELEMENTS;
    if (*end > elements)
        *end = elements;
}

static void combine(float *restrict sum, const float *restrict x, int64_t count, enum operation operation)
{
    if (operation == ALL_REDUCE_MAX)
        for (int64_t i = 0; i < count; i++)
            sum[i] = x[i] > sum[i] ? x[i] : sum[i];
    else
        for (int64_t i = 0; i < count; i++)
            sum[i] += x[i];
}

/* Combines elements [begin, end) of all members in member order and writes them to the first `writes` members from `to` on. */
static void reduce(const struct visit *visit, int64_t begin, int64_t end, enum operation operation, int32_t to, int32_t writes)
{
    float sum[CHUNK_ELEMENTS];
    for (int64_t at = begin; at < end; at += CHUNK_ELEMENTS) {
        int64_t count = end - at < CHUNK_ELEMENTS ? end - at : CHUNK_ELEMENTS;
        size_t bytes = (size_t)count * sizeof(float);
        memcpy(sum, (const float *)visit->member[0].buffer + at, bytes);
        for (int32_t m = 1; m < visit->size; m++)
            combine(sum, (const float *)visit->member[m].buffer + at, count, operation);
        for (int32_t m = to; m < to + writes; m++)
            memcpy((float *)visit->member[m].buffer + at, sum, bytes);
    }
}

void comm_all_reduce(struct comm *comm, struct queue *queue, int32_t group, float *buffer, int64_t elements, enum comm_op op)
{
    if (alone(comm, group))
        return;
    enum operation operation = op == COMM_SUM ? ALL_REDUCE_SUM : ALL_REDUCE_MAX;
    struct visit visit = enter(comm, queue, group, operation, buffer, elements);
    int64_t begin, end;
    part_of(elements, visit.size, visit.index, &begin, &end);
    reduce(&visit, begin, end, operation, 0, visit.size);
    leave(queue, &visit);
}

void comm_reduce_scatter(struct comm *comm, struct queue *queue, int32_t group, float *buffer, int64_t elements)
{
    if (alone(comm, group))
        return;
    struct visit visit = enter(comm, queue, group, REDUCE_SCATTER, buffer, elements);
    reduce(&visit, visit.index * elements, (visit.index + 1) * elements, REDUCE_SCATTER, visit.index, 1);
    leave(queue, &visit);
}

void comm_all_gather(struct comm *comm, struct queue *queue, int32_t group, float *buffer, int64_t elements)
{
    if (alone(comm, group))
        return;
    struct visit visit = enter(comm, queue, group, ALL_GATHER, buffer, elements);
    for (int32_t m = 0; m < visit.size; m++)
        if (m != visit.index)
            memcpy(buffer + m * elements, (const float *)visit.member[m].buffer + m * elements, (size_t)elements * sizeof(float));
    leave(queue, &visit);
}

void comm_gather_records(struct comm *comm, struct queue *queue, int32_t group, void *all, const void *mine, int64_t bytes)
{
    ASSERT(bytes > 0 && bytes <= COMM_RECORD_BYTES);
    uint8_t copy[COMM_RECORD_BYTES];       /* shown to the others, so it must be writable in type only */
    memcpy(copy, mine, (size_t)bytes);
    struct visit visit = enter(comm, queue, group, GATHER_RECORDS, copy, bytes);
    for (int32_t m = 0; m < visit.size; m++)
        memcpy((uint8_t *)all + m * bytes, visit.member[m].buffer, (size_t)bytes);
    leave(queue, &visit);
}

void comm_barrier(struct comm *comm, struct queue *queue, int32_t group)
{
    if (alone(comm, group))
        return;
    struct visit visit = enter(comm, queue, group, BARRIER, NULL, 0);
    leave(queue, &visit);
}

static struct channel *channel_at(const struct comm *comm, int32_t channel, int64_t bytes)
{
    ASSERT(channel >= 0 && channel < comm->channels_count);
    ASSERT(bytes >= 0 && bytes <= comm->channels[channel].slot_bytes);
    ASSERT(slots[channel].slot != NULL);
    return &slots[channel];
}

void comm_send(struct comm *comm, struct queue *queue, int32_t channel, const void *buffer, int64_t bytes)
{
    struct channel *to = channel_at(comm, channel, bytes);
    const struct comm_channel *shape = &comm->channels[channel];
    ASSERT(shape->from == comm->rank);
    int64_t begin = queue_begin(queue), wait = queue_begin(queue);
    uint32_t message = atomic_load_explicit(&to->sent.value, memory_order_relaxed);
    signal_wait(&to->received, message - (uint32_t)shape->slots + 1);
    queue_end(queue, TIME_WAIT, wait);
    memcpy(to->slot + (int64_t)(message % (uint32_t)shape->slots) * shape->slot_bytes, buffer, (size_t)bytes);
    signal_raise(&to->sent, message + 1);
    queue_end(queue, TIME_COMM, begin);
}

void comm_receive(struct comm *comm, struct queue *queue, int32_t channel, void *buffer, int64_t bytes)
{
    struct channel *from = channel_at(comm, channel, bytes);
    const struct comm_channel *shape = &comm->channels[channel];
    ASSERT(shape->to == comm->rank);
    int64_t begin = queue_begin(queue), wait = queue_begin(queue);
    uint32_t message = atomic_load_explicit(&from->received.value, memory_order_relaxed);
    signal_wait(&from->sent, message + 1);
    queue_end(queue, TIME_WAIT, wait);
    memcpy(buffer, from->slot + (int64_t)(message % (uint32_t)shape->slots) * shape->slot_bytes, (size_t)bytes);
    signal_raise(&from->received, message + 1);
    queue_end(queue, TIME_COMM, begin);
}

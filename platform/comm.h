/* comm.h: traffic between ranks: collectives over groups, messages between pairs.
 *
 * Rules of order, kept by tools/layoutc and asserted here:
 * (1) All members of a group enter its collectives in the same order with the same sizes.
 * (2) A sum is taken in member order, (((m0 + m1) + m2) + ...), whoever computes it: its bits do not depend on timing, and all
 *     members receive the same bits.
 * (3) Messages of one channel arrive in the order they were sent. A send returns when its buffer may be reused; it waits only while
 *     the channel's slots are all full.
 * (4) Nothing allocates after comm_open.
 * Waiting gives the core away: spin a little, yield, then sleep, because ranks may outnumber cores. */
#ifndef PLATFORM_COMM_H
#define PLATFORM_COMM_H

#include "platform/platform.h"

struct comm_group {
    int32_t id;                    /* index into the image's table of groups */
    int32_t size;
    const int32_t *members;        /* ranks, ascending: [size] */
};

/* A one-way path between two ranks. Its slots lie in the receiver's arena. */
struct comm_channel {
    int32_t id;                    /* index into the image's table of channels */
    int32_t from, to;              /* ranks */
    int32_t slots;
    int64_t slot_bytes;
    int64_t slots_offset_bytes;    /* in the receiver's arena; slots * slot_bytes long */
};

enum comm_op { COMM_SUM, COMM_MAX };

struct comm;                       /* one a rank */

/* Joins the rank to all groups and channels it is in. BOOT; every rank of the process calls it, and it returns when all have.
 *   groups, channels  the image's constant tables, the same on all ranks; kept
 *   arena             the rank's own; receives slots
 * Returns OK, or E_AGAIN. */
MUST_USE enum status comm_open(struct comm **comm, int32_t rank, int32_t ranks, const struct comm_group *groups, int32_t groups_count,
                               const struct comm_channel *channels, int32_t channels_count, struct arena arena);
void comm_close(struct comm *comm);

/* buffer [size * elements] fp32, in place: member i's part lies at i * elements before, all parts everywhere after. */
void comm_all_gather(struct comm *comm, struct queue *queue, int32_t group, float *buffer, int64_t elements);

/* buffer [size * elements] fp32, in place: afterwards member i's part, at i * elements, holds the sum of all members' parts i; the other
 * parts are undefined. */
void comm_reduce_scatter(struct comm *comm, struct queue *queue, int32_t group, float *buffer, int64_t elements);

/* buffer [elements] fp32, in place. */
void comm_all_reduce(struct comm *comm, struct queue *queue, int32_t group, float *buffer, int64_t elements, enum comm_op op);

/* Each member gives bytes (at most COMM_RECORD_BYTES) and receives all members' records, [size][bytes] in member order. For counts
 * and flags, which must not be rounded. */
enum { COMM_RECORD_BYTES = 256 };
void comm_gather_records(struct comm *comm, struct queue *queue, int32_t group, void *all, const void *mine, int64_t bytes);

/* bytes is at most the channel's slot_bytes. */
void comm_send(struct comm *comm, struct queue *queue, int32_t channel, const void *buffer, int64_t bytes);
void comm_receive(struct comm *comm, struct queue *queue, int32_t channel, void *buffer, int64_t bytes);

void comm_barrier(struct comm *comm, struct queue *queue, int32_t group);

#endif

/* comm_inside.h: what comm_shm.c and comm_channel.c share: the ranks' common ground, made by comm_open.
 *
 * (1) What several ranks write lies on cache lines of its own. */
#ifndef PLATFORM_HOST_COMM_INSIDE_H
#define PLATFORM_HOST_COMM_INSIDE_H

#include "platform/comm.h"
#include "platform/host/wait.h"

enum { CACHE_LINE_BYTES = 64 };

/* One way between two ranks. Each end keeps its own count of messages in struct comm; the signals carry it modulo 2^32. */
struct channel {
    struct signal sent, received;
    uint8_t *slot;                 /* in the receiver's arena */
    int64_t *slot_bytes;           /* of the message in each slot: the receiver asserts that it expects as many */
};

struct group;                      /* comm_shm.c */

struct comm {
    int32_t rank;
    const struct comm_group *groups;
    const struct comm_channel *channels;
    int32_t groups_count, channels_count;
    struct group **group;          /* shared by the ranks: [groups] */
    struct channel *channel;       /* shared by the ranks: [channels] */
    struct visits *visits;         /* this rank's: [groups] */
    int64_t *messages;             /* sent or received by this rank so far: [channels] */
};

/* Copies in pieces that the rank's team shares, small enough that the C library does not write past the caches. */
void comm_copy(struct queue *queue, void *to, const void *from, int64_t bytes);

#endif

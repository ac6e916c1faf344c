/* comm_channel.c: messages between two ranks of one process (comm.h), through slots in the receiver's arena. Steady; comm_shm.c opens.
 *
 * (1) The sender writes slot m % slots after message m - slots was received, the receiver reads it after message m was sent. */
#include <string.h>

#include "platform/host/comm_inside.h"

enum { COPY_BYTES = 256 << 10 };    /* a piece of a copy: inside the second-level cache */

struct copy {
    uint8_t *to;
    const uint8_t *from;
    int64_t bytes;
};

static void copy_piece(void *argument, int64_t index)
{
    const struct copy *copy = argument;
    int64_t at = index * COPY_BYTES, left = copy->bytes - at;
    memcpy(copy->to + at, copy->from + at, (size_t)(left < COPY_BYTES ? left : COPY_BYTES));
}

void comm_copy(struct queue *queue, void *to, const void *from, int64_t bytes)
{
    struct copy copy = { .to = to, .from = from, .bytes = bytes };
    team_run(queue->team, (bytes + COPY_BYTES - 1) / COPY_BYTES, copy_piece, &copy);
}

static struct channel *channel_at(const struct comm *comm, int32_t channel, int64_t bytes)
{
    ASSERT(channel >= 0 && channel < comm->channels_count);
    ASSERT(bytes >= 0 && bytes <= comm->channels[channel].slot_bytes);
    return &comm->channel[channel];
}

void comm_send(struct comm *comm, struct queue *queue, int32_t channel, const void *buffer, int64_t bytes)
{
    struct channel *to = channel_at(comm, channel, bytes);
    const struct comm_channel *shape = &comm->channels[channel];
    ASSERT(shape->from == comm->rank);
    int64_t begin = queue_begin(queue), message = comm->messages[channel]++;
    if (message >= shape->slots)
        signal_wait(&to->received, (uint32_t)(message - shape->slots + 1));
    queue_end(queue, TIME_WAIT, begin);

    begin = queue_begin(queue);
    int64_t slot = message % shape->slots;
    comm_copy(queue, to->slot + slot * shape->slot_bytes, buffer, bytes);
    to->slot_bytes[slot] = bytes;
    signal_raise(&to->sent, (uint32_t)(message + 1));
    queue_end(queue, TIME_COMM, begin);
}

void comm_receive(struct comm *comm, struct queue *queue, int32_t channel, void *buffer, int64_t bytes)
{
    struct channel *from = channel_at(comm, channel, bytes);
    const struct comm_channel *shape = &comm->channels[channel];
    ASSERT(shape->to == comm->rank);
    int64_t begin = queue_begin(queue), message = comm->messages[channel]++;
    signal_wait(&from->sent, (uint32_t)(message + 1));
    queue_end(queue, TIME_WAIT, begin);

    begin = queue_begin(queue);
    int64_t slot = message % shape->slots;
    ASSERT(from->slot_bytes[slot] == bytes);
    comm_copy(queue, buffer, from->slot + slot * shape->slot_bytes, bytes);
    signal_raise(&from->received, (uint32_t)(message + 1));
    queue_end(queue, TIME_COMM, begin);
}

/* clock.c: monotonic time, and where a rank's time goes (platform.h). Any phase. */
#include <time.h>

#include "platform/platform.h"

int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The begin mark is the clock less the time already counted, so that what an inner call counts is not counted again by the outer one. */
static int64_t counted(const struct queue *queue)
{
    int64_t sum = 0;
    for (int kind = 0; kind < TIME_KINDS; kind++)
        sum += queue->time_ns[kind];
    return sum;
}

int64_t queue_begin(struct queue *queue)
{
    return clock_ns() - counted(queue);
}

void queue_end(struct queue *queue, enum queue_time kind, int64_t begin)
{
    queue->time_ns[kind] += clock_ns() - counted(queue) - begin;
}

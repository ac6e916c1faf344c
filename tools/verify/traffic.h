/* traffic.h: what a step says to other ranks, in the order in which it says it. */
#ifndef TOOLS_VERIFY_TRAFFIC_H
#define TOOLS_VERIFY_TRAFFIC_H

#include "tools/verify/verify.h"

enum event_kind { EVENT_COLLECTIVE, EVENT_SEND, EVENT_RECEIVE };

/* Several collectives of one step over one group, one behind the other, are one event: who enters the first enters all. */
struct event {
    enum event_kind kind;
    enum group_kind group;    /* collectives */
    enum direction direction; /* messages */
    int64_t elements;         /* of one collective; bytes of a message */
    int32_t chunk, micro;     /* of messages; micro: NONE outside micro-batches */
};

/* Event number i of a step, counted from 0. Returns false where the step has no such event. */
bool traffic_at(const struct facts *f, const struct stage *stage, const struct step *step, int32_t i, struct event *event);

#endif

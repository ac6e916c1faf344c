/* no_circle.c: all ranks' programs, played together, come to their end with the message slots there are. See verify.h.
 *
 * A rank goes on until it has to wait: a collective waits for the whole group, a send for a free slot, a receive for a message. Waiting is the only
 * thing that happens here, and no rank can take another's turn, so one order of play stands for all. */
#include <stdio.h>
#include <stdlib.h>

#include "tools/verify/traffic.h"

struct player {
    int32_t step, event;
    bool arrived; /* counted in the group of its event, which is not complete yet */
    bool queued;
};

struct play {
    const struct tables *t;
    const struct facts *f;
    bool evaluate;
    struct player *player; /* [ranks] */
    int32_t *arrived;      /* [groups] */
    int32_t *filled;       /* [channels]: messages in slots */
    int32_t *queue;        /* ranks to look at: a stack of at most all */
    int32_t queued;
};

static const struct program *program_of(const struct play *p, int32_t rank)
{
    const struct stage *stage = &p->t->stage[p->t->rank[rank].pp];
    return p->evaluate ? &stage->evaluate : &stage->train;
}

static void look_at(struct play *p, int32_t rank)
{
    if (p->player[rank].queued)
        return;
    p->player[rank].queued = true;
    p->queue[p->queued++] = rank;
}

/* The rank's next event; false at the program's end. */
static bool next_event(const struct play *p, int32_t rank, struct event *event)
{
    struct player *player = &p->player[rank];
    const struct program *program = program_of(p, rank);
    const struct stage *stage = &p->t->stage[p->t->rank[rank].pp];
    for (; player->step < program->steps; player->step++, player->event = 0)
        if (traffic_at(p->f, stage, &program->step[player->step], player->event, event))
            return true;
    return false;
}

/* Takes part in the event if it can happen now. Returns false where the rank has to wait. */
static bool take(struct play *p, int32_t rank, const struct event *event)
{
    const struct rank_row *row = &p->t->rank[rank];
    struct player *player = &p->player[rank];
    if (event->kind == EVENT_COLLECTIVE) {
        const struct comm_group *group = &p->t->group[row->group[event->group]];
        if (player->arrived)
            return false;
        if (++p->arrived[group->id] < group->size) {
            player->arrived = true;
            return false;
        }
        p->arrived[group->id] = 0;
        for (int32_t i = 0; i < group->size; i++) {
            int32_t member = group->members[i];
            if (member == rank)
                continue;
            p->player[member].arrived = false;
            p->player[member].event++;
            look_at(p, member);
        }
        return true;
    }
    const struct comm_channel *channel = &p->t->channel[row->channel[event->chunk][event->direction]];
    bool send = event->kind == EVENT_SEND;
    if (send ? p->filled[channel->id] == channel->slots : p->filled[channel->id] == 0)
        return false;
    p->filled[channel->id] += send ? 1 : -1;
    look_at(p, send ? channel->to : channel->from);
    return true;
}

static void go(struct play *p, int32_t rank)
{
    struct event event;
    while (next_event(p, rank, &event) && take(p, rank, &event))
        p->player[rank].event++;
}

/* The rank that a waiting one waits for: the first member not arrived, or the other end. */
static int32_t waits_for(struct play *p, int32_t rank)
{
    struct event event;
    if (!next_event(p, rank, &event))
        return NONE;
    const struct rank_row *row = &p->t->rank[rank];
    if (event.kind != EVENT_COLLECTIVE) {
        const struct comm_channel *channel = &p->t->channel[row->channel[event.chunk][event.direction]];
        return event.kind == EVENT_SEND ? channel->to : channel->from;
    }
    const struct comm_group *group = &p->t->group[row->group[event.group]];
    for (int32_t i = 0; i < group->size; i++) {
        struct event other;
        int32_t member = group->members[i];
        bool there = next_event(p, member, &other) && other.kind == EVENT_COLLECTIVE && p->t->rank[member].group[other.group] == group->id;
        if (!there)
            return member;
    }
    return NONE;
}

/* Follows who waits for whom from a waiting rank, and words it. */
static enum status tell_circle(struct play *p, int32_t rank)
{
    char text[512];
    size_t used = 0;
    for (int hop = 0; hop < 6 && rank != NONE && used < sizeof text - 96; hop++) {
        const struct program *program = program_of(p, rank);
        int32_t at = p->player[rank].step;
        if (at == program->steps) {
            used += (size_t)snprintf(text + used, sizeof text - used, "rank %d, which has ended; ", (int)rank);
            break;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "rank %d at step %d (%s), which waits for ", (int)rank, (int)at,
                                 step_name(&program->step[at]));
        rank = waits_for(p, rank);
    }
    return fail(E_SOFTWARE, "no_circle: %s ends with everybody waiting: %s...", p->evaluate ? "evaluation" : "training", text);
}

static enum status finish(struct play *p)
{
    for (int32_t rank = 0; rank < p->f->ranks; rank++)
        if (p->player[rank].step < program_of(p, rank)->steps)
            return tell_circle(p, rank);
    for (int32_t c = 0; c < p->t->channels; c++)
        if (p->filled[c] != 0)
            return fail(E_SOFTWARE, "no_circle: %d messages are left in channel %d at the end", (int)p->filled[c], (int)c);
    return OK;
}

static enum status play(const struct tables *t, const struct facts *f, bool evaluate)
{
    struct play p = {
        .t = t,
        .f = f,
        .evaluate = evaluate,
        .player = calloc((size_t)f->ranks, sizeof *p.player),
        .arrived = calloc((size_t)t->groups + 1, sizeof(int32_t)),
        .filled = calloc((size_t)t->channels + 1, sizeof(int32_t)),
        .queue = calloc((size_t)f->ranks, sizeof(int32_t)),
    };
    enum status status = OK;
    if (p.player == NULL || p.arrived == NULL || p.filled == NULL || p.queue == NULL)
        status = fail(E_AGAIN, "no memory for %lld ranks", (long long)f->ranks);
    for (int32_t rank = (int32_t)f->ranks - 1; rank >= 0 && status == OK; rank--)
        look_at(&p, rank);
    while (status == OK && p.queued > 0) {
        int32_t rank = p.queue[--p.queued];
        p.player[rank].queued = false;
        go(&p, rank);
    }
    if (status == OK)
        status = finish(&p);
    free(p.player);
    free(p.arrived);
    free(p.filled);
    free(p.queue);
    return status;
}

enum status prove_no_circle(const struct tables *t, const struct facts *f)
{
    TRY(play(t, f, false));
    return play(t, f, true);
}

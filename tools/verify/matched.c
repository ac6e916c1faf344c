/* matched.c: every send meets its receive, in order, and a message fits its slot. See verify.h. */
#include "tools/verify/traffic.h"

static const char *const direction_names[CHANNEL_DIRECTIONS] = { "forward in", "forward out", "backward in", "backward out" };

static bool outgoing(int direction)
{
    return direction == CHANNEL_FORWARD_OUT || direction == CHANNEL_BACKWARD_OUT;
}

/* The rank's neighbour in that direction of the pipeline; NONE at its ends. */
static int64_t neighbour(const struct facts *f, const struct rank_row *row, int64_t rank, int direction)
{
    bool next = direction == CHANNEL_FORWARD_OUT || direction == CHANNEL_BACKWARD_IN;
    if (next ? row->pp == f->pp - 1 : row->pp == 0)
        return NONE;
    int64_t stage_ranks = f->ranks / f->pp;
    return next ? rank + stage_ranks : rank - stage_ranks;
}

static enum status check_rank(const struct tables *t, const struct facts *f, int64_t rank)
{
    const struct rank_row *row = &t->rank[rank];
    for (int d = 0; d < CHANNEL_DIRECTIONS; d++) {
        int64_t peer = neighbour(f, row, rank, d);
        if (peer == NONE && row->channel[d] == NONE)
            continue;
        if (peer == NONE || row->channel[d] == NONE)
            return fail(E_SOFTWARE, "matched: rank %lld, %s: %s", (long long)rank, direction_names[d],
                        peer == NONE ? "a channel to nobody" : "the channel is missing");
        const struct comm_channel *channel = &t->channel[row->channel[d]];
        int64_t from = outgoing(d) ? rank : peer, to = outgoing(d) ? peer : rank;
        int there = d ^ 1; /* in and out of the same kind are neighbours in enum direction */
        if (channel->from != from || channel->to != to || t->rank[peer].channel[there] != channel->id)
            return fail(
                E_SOFTWARE,
                "matched: rank %lld, %s: channel %d goes from rank %d to %d, it should go from %lld to %lld and both should name it",
                (long long)rank, direction_names[d], (int)channel->id, (int)channel->from, (int)channel->to, (long long)from,
                (long long)to);
        if (channel->slot_bytes < f->residual_rows * f->hidden * f->real_bytes)
            return fail(E_SOFTWARE, "matched: channel %d has slots of %lld bytes, a message has %lld", (int)channel->id,
                        (long long)channel->slot_bytes, (long long)(f->residual_rows * f->hidden * f->real_bytes));
    }
    return OK;
}

/* Step of the n-th event of that kind and direction, from `from` on; the program's length where there is none. */
static int32_t next_message(const struct facts *f, const struct stage *stage, const struct program *program, int32_t from,
                            enum event_kind kind, enum direction direction)
{
    for (; from < program->steps; from++) {
        struct event event;
        for (int32_t i = 0; traffic_at(f, stage, &program->step[from], i, &event); i++)
            if (event.kind == kind && event.direction == direction)
                return from;
    }
    return from;
}

/* What stage a sends in one direction is what stage b receives, micro-batch by micro-batch. */
static enum status check_pair(const struct tables *t, const struct facts *f, int a, int b, enum direction out, enum direction in,
                              bool evaluate)
{
    const struct stage *from = &t->stage[a], *to = &t->stage[b];
    const struct program *sends = evaluate ? &from->evaluate : &from->train, *receives = evaluate ? &to->evaluate : &to->train;
    int32_t s = 0, r = 0, n = 0;
    for (;; s++, r++, n++) {
        s = next_message(f, from, sends, s, EVENT_SEND, out);
        r = next_message(f, to, receives, r, EVENT_RECEIVE, in);
        if (s == sends->steps && r == receives->steps)
            return OK;
        if (s == sends->steps)
            return fail(E_SOFTWARE, "matched: stage %d, step %d (%s of micro-batch %d) waits for message %d from stage %d, which sends %d",
                        b, (int)r, step_name(&receives->step[r]), receives->step[r].micro, (int)n, a, (int)n);
        if (r == receives->steps)
            return fail(E_SOFTWARE, "matched: stage %d, step %d (%s of micro-batch %d): stage %d never receives it", a, (int)s,
                        step_name(&sends->step[s]), sends->step[s].micro, b);
        if (sends->step[s].micro != receives->step[r].micro)
            return fail(E_SOFTWARE, "matched: stage %d, step %d sends micro-batch %d; stage %d, step %d takes it for %d", a, (int)s,
                        sends->step[s].micro, b, (int)r, receives->step[r].micro);
    }
}

/* The first stage receives nothing forward and sends nothing backward; the last the other way round. */
static enum status check_ends(const struct tables *t, const struct facts *f, int s, const struct program *program)
{
    const struct stage *stage = &t->stage[s];
    for (int d = 0; d < CHANNEL_DIRECTIONS; d++) {
        bool next = d == CHANNEL_FORWARD_OUT || d == CHANNEL_BACKWARD_IN;
        if (next ? s < f->pp - 1 : s > 0)
            continue;
        int32_t step = next_message(f, stage, program, 0, outgoing(d) ? EVENT_SEND : EVENT_RECEIVE, (enum direction)d);
        if (step < program->steps)
            return fail(E_SOFTWARE, "matched: stage %d, step %d (%s): there is no stage on that side", s, (int)step,
                        step_name(&program->step[step]));
    }
    return OK;
}

enum status prove_matched(const struct tables *t, const struct facts *f)
{
    for (int64_t rank = 0; rank < f->ranks; rank++)
        TRY(check_rank(t, f, rank));
    for (int s = 0; s < f->pp; s++) {
        TRY(check_ends(t, f, s, &t->stage[s].train));
        TRY(check_ends(t, f, s, &t->stage[s].evaluate));
    }
    for (int s = 0; s + 1 < f->pp; s++)
        for (int evaluate = 0; evaluate < 2; evaluate++) {
            TRY(check_pair(t, f, s, s + 1, CHANNEL_FORWARD_OUT, CHANNEL_FORWARD_IN, evaluate));
            TRY(check_pair(t, f, s + 1, s, CHANNEL_BACKWARD_OUT, CHANNEL_BACKWARD_IN, evaluate));
        }
    return OK;
}

/* matched.c: every send meets its receive, in order, and a message fits its slot. See verify.h. */
#include "tools/verify/traffic.h"

static const char *const direction_names[CHANNEL_DIRECTIONS] = { "forward in", "forward out", "backward in", "backward out" };

static bool outgoing(int direction)
{
    return direction == CHANNEL_FORWARD_OUT || direction == CHANNEL_BACKWARD_OUT;
}

/* The chunk at the other end of that direction; pp is NONE at the pipeline's ends and where the stage itself holds it. */
static struct neighbour neighbour(const struct tables *t, const struct facts *f, int32_t pp, int32_t chunk, int direction)
{
    bool behind = direction == CHANNEL_FORWARD_OUT || direction == CHANNEL_BACKWARD_IN;
    struct neighbour n = behind ? chunk_behind(t, f, pp, chunk) : chunk_before(t, f, pp, chunk);
    return n.pp == pp ? (struct neighbour){ NONE, NONE } : n;
}

static enum status check_channel(const struct tables *t, const struct facts *f, int64_t rank, int32_t chunk, int d)
{
    const struct rank_row *row = &t->rank[rank];
    int32_t id = row->channel[chunk][d];
    struct neighbour n = neighbour(t, f, row->pp, chunk, d);
    if (n.pp == NONE && id == NONE)
        return OK;
    if (n.pp == NONE || id == NONE)
        return fail(E_SOFTWARE, "matched: rank %lld, chunk %d, %s: %s", (long long)rank, (int)chunk, direction_names[d],
                    n.pp == NONE ? "a channel to nobody" : "the channel is missing");
    int64_t stage_ranks = f->ranks / f->pp, peer = n.pp * stage_ranks + rank % stage_ranks;
    const struct comm_channel *channel = &t->channel[id];
    int64_t from = outgoing(d) ? rank : peer, to = outgoing(d) ? peer : rank;
    int there = d ^ 1; /* in and out of the same kind are neighbours in enum direction */
    if (channel->from != from || channel->to != to || t->rank[peer].channel[n.chunk][there] != channel->id)
        return fail(E_SOFTWARE,
                    "matched: rank %lld, chunk %d, %s: channel %d goes from rank %d to %d, it should go from %lld to %lld and both should name it",
                    (long long)rank, (int)chunk, direction_names[d], (int)channel->id, (int)channel->from, (int)channel->to, (long long)from, (long long)to);
    if (channel->slot_bytes < f->residual_rows * f->hidden * f->real_bytes)
        return fail(E_SOFTWARE, "matched: channel %d has slots of %lld bytes, a message has %lld", (int)channel->id, (long long)channel->slot_bytes,
                    (long long)(f->residual_rows * f->hidden * f->real_bytes));
    return OK;
}

/* Each channel is one chunk's alone. */
static enum status check_rank(const struct tables *t, const struct facts *f, int64_t rank)
{
    for (int32_t c = 0; c < t->stage[t->rank[rank].pp].chunks; c++)
        for (int d = 0; d < CHANNEL_DIRECTIONS; d++)
            TRY(check_channel(t, f, rank, c, d));
    return OK;
}

/* One end of messages: a stage's chunk, in one direction. */
struct end {
    int32_t pp, chunk;
    enum event_kind kind;
    enum direction direction;
};

/* Step of the first such message from `from` on; the program's length where there is none. */
static int32_t next_message(const struct tables *t, const struct facts *f, const struct program *program, int32_t from, struct end end)
{
    for (; from < program->steps; from++) {
        struct event event;
        for (int32_t i = 0; traffic_at(f, &t->stage[end.pp], &program->step[from], i, &event); i++)
            if (event.kind == end.kind && event.direction == end.direction && event.chunk == end.chunk)
                return from;
    }
    return from;
}

static const struct program *program_of(const struct tables *t, int32_t pp, bool evaluate)
{
    return evaluate ? &t->stage[pp].evaluate : &t->stage[pp].train;
}

/* What is sent at one end is what is received at the other, micro-batch by micro-batch. */
static enum status check_pair(const struct tables *t, const struct facts *f, struct end a, struct end b, bool evaluate)
{
    const struct program *sends = program_of(t, a.pp, evaluate), *receives = program_of(t, b.pp, evaluate);
    int32_t s = 0, r = 0, n = 0;
    for (;; s++, r++, n++) {
        s = next_message(t, f, sends, s, a);
        r = next_message(t, f, receives, r, b);
        if (s == sends->steps && r == receives->steps)
            return OK;
        if (s == sends->steps)
            return fail(E_SOFTWARE, "matched: stage %d, step %d (%s of micro-batch %d) waits for message %d from stage %d, which sends %d",
                        (int)b.pp, (int)r, step_name(&receives->step[r]), receives->step[r].micro, (int)n, (int)a.pp, (int)n);
        if (r == receives->steps)
            return fail(E_SOFTWARE, "matched: stage %d, step %d (%s of micro-batch %d): stage %d never receives it", (int)a.pp, (int)s,
                        step_name(&sends->step[s]), sends->step[s].micro, (int)b.pp);
        if (sends->step[s].micro != receives->step[r].micro)
            return fail(E_SOFTWARE, "matched: stage %d, step %d sends micro-batch %d; stage %d, step %d takes it for %d", (int)a.pp, (int)s,
                        sends->step[s].micro, (int)b.pp, (int)r, receives->step[r].micro);
    }
}

/* Nothing is sent to nobody. */
static enum status check_no_end(const struct tables *t, const struct facts *f, struct end end, bool evaluate)
{
    const struct program *program = program_of(t, end.pp, evaluate);
    int32_t step = next_message(t, f, program, 0, end);
    if (step < program->steps)
        return fail(E_SOFTWARE, "matched: stage %d, chunk %d, step %d (%s): there is no stage on that side", (int)end.pp, (int)end.chunk, (int)step,
                    step_name(&program->step[step]));
    return OK;
}

static enum status check_chunk(const struct tables *t, const struct facts *f, int32_t pp, int32_t chunk, bool evaluate)
{
    for (int d = 0; d < CHANNEL_DIRECTIONS; d++) {
        struct end own = { pp, chunk, outgoing(d) ? EVENT_SEND : EVENT_RECEIVE, (enum direction)d };
        struct neighbour n = neighbour(t, f, pp, chunk, d);
        if (n.pp == NONE)
            TRY(check_no_end(t, f, own, evaluate));
        else if (outgoing(d))
            TRY(check_pair(t, f, own, (struct end){ n.pp, n.chunk, EVENT_RECEIVE, (enum direction)(d ^ 1) }, evaluate));
    }
    return OK;
}

enum status prove_matched(const struct tables *t, const struct facts *f)
{
    for (int64_t rank = 0; rank < f->ranks; rank++)
        TRY(check_rank(t, f, rank));
    for (int32_t s = 0; s < f->pp; s++)
        for (int32_t c = 0; c < t->stage[s].chunks; c++)
            for (int evaluate = 0; evaluate < 2; evaluate++)
                TRY(check_chunk(t, f, s, c, evaluate));
    return OK;
}

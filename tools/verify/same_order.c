/* same_order.c: all members of a group enter the same collectives in the same order, of equal size. See verify.h.
 *
 * Ranks of a stage play one program, so what a stage says to its group of a kind is written down once, as a list; groups whose members are of
 * several stages compare the lists of those stages. */
#include "tools/verify/traffic.h"

#include <stdlib.h>

struct call {
    uint8_t step_kind;
    int32_t step; /* for messages */
    int32_t micro, layer, bucket;
    int64_t elements;
};
struct calls {
    struct call *call;
    int32_t count;
};

/* The collectives of a program over groups of one kind. Freed by the caller. */
static struct calls calls_of(const struct facts *f, const struct stage *stage, const struct program *program, enum group_kind kind)
{
    struct calls calls = { 0 };
    int32_t room = 0;
    for (int32_t s = 0; s < program->steps; s++) {
        const struct step *step = &program->step[s];
        struct event event;
        for (int32_t i = 0; traffic_at(f, stage, step, i, &event); i++) {
            if (event.kind != EVENT_COLLECTIVE || event.group != kind)
                continue;
            if (calls.count == room) {
                room = room == 0 ? 64 : 2 * room;
                calls.call = realloc(calls.call, (size_t)room * sizeof *calls.call);
                if (calls.call == NULL)
                    exit(fail(E_AGAIN, "no memory for %d calls", (int)room));
            }
            calls.call[calls.count++] = (struct call){ step->kind, s, step->micro, step->layer, step->bucket, event.elements };
        }
    }
    return calls;
}

/* Buckets have numbers of their own on each stage, so across stages only what the step does and how much are compared. */
static bool alike(const struct call *a, const struct call *b)
{
    return a->step_kind == b->step_kind && a->micro == b->micro && a->elements == b->elements;
}

static enum status compare(const struct calls *a, const struct calls *b, int stage_a, int stage_b, const char *program)
{
    for (int32_t i = 0; i < a->count && i < b->count; i++)
        if (!alike(&a->call[i], &b->call[i]))
            return fail(
                E_SOFTWARE,
                "same_order: %s: collective %d of a group is step %d of stage %d (%lld elements) and step %d of stage %d (%lld elements)",
                program, (int)i, (int)a->call[i].step, stage_a, (long long)a->call[i].elements, (int)b->call[i].step, stage_b,
                (long long)b->call[i].elements);
    if (a->count != b->count)
        return fail(E_SOFTWARE, "same_order: %s: stage %d enters %d collectives of a group, stage %d enters %d", program, stage_a,
                    (int)a->count, stage_b, (int)b->count);
    return OK;
}

static enum status check_program(const struct tables *t, const struct facts *f, bool evaluate)
{
    const char *name = evaluate ? "evaluation" : "training";
    enum status status = OK;
    for (int kind = 0; kind < GROUP_KINDS && status == OK; kind++) {
        struct calls *calls = calloc((size_t)f->pp, sizeof *calls);
        if (calls == NULL)
            return fail(E_AGAIN, "no memory for %lld stages", (long long)f->pp);
        for (int s = 0; s < f->pp; s++)
            calls[s] = calls_of(f, &t->stage[s], evaluate ? &t->stage[s].evaluate : &t->stage[s].train, (enum group_kind)kind);
        for (int64_t r = 0; r < f->ranks && status == OK; r++) {
            const struct rank_row *row = &t->rank[r];
            if (row->group[kind] == NONE) {
                if (calls[row->pp].count > 0)
                    status = fail(E_SOFTWARE, "same_order: %s: step %d of stage %d needs a group that rank %lld does not have", name,
                                  (int)calls[row->pp].call[0].step, (int)row->pp, (long long)r);
                continue;
            }
            int first = t->rank[t->group[row->group[kind]].members[0]].pp;
            if (first != row->pp)
                status = compare(&calls[first], &calls[row->pp], first, row->pp, name);
        }
        for (int s = 0; s < f->pp; s++)
            free(calls[s].call);
        free(calls);
    }
    return status;
}

enum status prove_same_order(const struct tables *t, const struct facts *f)
{
    TRY(check_program(t, f, false));
    return check_program(t, f, true);
}

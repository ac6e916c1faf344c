/* groups.c: every communicator has the members that its kind means. See verify.h. */
#include "tools/verify/verify.h"

static const char *const kind_names[GROUP_KINDS] = { "world", "TP", "DP", "tied", "KV copies" };

/* The embedding or the head, not both. */
static bool holds_one_end(const struct stage *stage)
{
    return stage->embeds != stage->heads;
}

/* Whether two ranks belong into one group of that kind. */
static bool together(const struct tables *t, const struct facts *f, const struct rank_row *a, const struct rank_row *b, enum group_kind kind)
{
    bool ends = holds_one_end(&t->stage[a->pp]) && holds_one_end(&t->stage[b->pp]);
    switch (kind) {
    case GROUP_WORLD:
        return true;
    case GROUP_TP:
        return a->pp == b->pp && a->dp == b->dp && a->cp == b->cp;
    case GROUP_DP:
        return a->pp == b->pp && a->cp == b->cp && a->tp == b->tp;
    case GROUP_TIED:
        return ends && a->dp == b->dp && a->cp == b->cp && a->tp == b->tp;
    case GROUP_KV_COPIES:
        return a->pp == b->pp && a->dp == b->dp && a->cp == b->cp && a->tp / f->kv_copies == b->tp / f->kv_copies;
    case GROUP_KINDS:
        break;
    }
    return false;
}

static int64_t size_of(const struct facts *f, enum group_kind kind)
{
    switch (kind) {
    case GROUP_WORLD:
        return f->ranks;
    case GROUP_TP:
        return f->tp;
    case GROUP_DP:
        return f->dp;
    case GROUP_TIED:
        return 2;
    case GROUP_KV_COPIES:
        return f->kv_copies;
    case GROUP_KINDS:
        break;
    }
    return 0;
}

/* Whether a rank needs a group of that kind at all. */
static bool needed(const struct tables *t, const struct facts *f, const struct rank_row *row, enum group_kind kind)
{
    if (kind == GROUP_TIED)
        return f->tied && holds_one_end(&t->stage[row->pp]);
    return kind != GROUP_KV_COPIES || f->kv_copies > 1;
}

/* A group is looked at by its first member alone; the others only need to name the same one. */
static enum status check(const struct tables *t, const struct facts *f, int64_t rank, enum group_kind kind)
{
    const struct rank_row *row = &t->rank[rank];
    if ((row->group[kind] != NONE) != needed(t, f, row, kind))
        return fail(E_SOFTWARE, "groups: rank %lld %s a %s group", (long long)rank, row->group[kind] == NONE ? "lacks" : "has no use for",
                    kind_names[kind]);
    if (row->group[kind] == NONE)
        return OK;
    const struct comm_group *group = &t->group[row->group[kind]];
    if (group->size != size_of(f, kind))
        return fail(E_SOFTWARE, "groups: %s group %d has %d members, not %lld", kind_names[kind], (int)group->id, (int)group->size,
                    (long long)size_of(f, kind));
    if (!together(t, f, row, &t->rank[group->members[0]], kind) || t->rank[group->members[0]].group[kind] != group->id)
        return fail(E_SOFTWARE, "groups: rank %lld does not belong into %s group %d", (long long)rank, kind_names[kind], (int)group->id);
    if (group->members[0] != rank)
        return OK;
    for (int32_t i = 0; i < group->size; i++) {
        int32_t member = group->members[i];
        if (i > 0 && member <= group->members[i - 1])
            return fail(E_SOFTWARE, "groups: %s group %d: member %d follows %d; they ascend", kind_names[kind], (int)group->id, (int)member,
                        (int)group->members[i - 1]);
        if (t->rank[member].group[kind] != group->id)
            return fail(E_SOFTWARE, "groups: %s group %d has rank %d, which names group %d", kind_names[kind], (int)group->id, (int)member,
                        (int)t->rank[member].group[kind]);
    }
    return OK;
}

enum status prove_groups(const struct tables *t, const struct facts *f)
{
    for (int64_t rank = 0; rank < f->ranks; rank++)
        for (int kind = 0; kind < GROUP_KINDS; kind++)
            TRY(check(t, f, rank, (enum group_kind)kind));
    return OK;
}

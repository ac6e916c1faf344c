/* groups.h: who talks to whom: every rank's place, its communicators, its channels to the neighbouring stages. */
#ifndef TOOLS_LAYOUTC_GROUPS_H
#define TOOLS_LAYOUTC_GROUPS_H

#include "tools/layoutc/draft.h"

struct place {
    int64_t pp, dp, cp, tp; /* where a rank sits; tp varies fastest */
};

int32_t rank_at(const struct layout_input *layout, struct place place);

/* Fills row, group, member and channel (but for the slots' offsets, which place.c knows). Groups in this order: the world; TP by (pp, dp, cp);
 * DP by (pp, cp, tp); tied by (dp, cp, tp); copies of KV heads by (pp, dp, cp, piece). TP and DP groups exist for every rank, of
 * size 1 too. */
void groups_make(struct draft *draft);

#endif

/* verify.c: the list of proofs, in order. See verify.h. */
#include "tools/verify/verify.h"

#include <stdio.h>

const struct named_proof proofs[PROOFS] = {
    { "well_formed", prove_well_formed }, { "covered", prove_covered },     { "groups", prove_groups }, { "same_order", prove_same_order },
    { "matched", prove_matched },         { "no_circle", prove_no_circle }, { "once", prove_once },     { "written", prove_written },
    { "no_overlap", prove_no_overlap },   { "fits", prove_fits },
};

enum status verify(const struct tables *tables, const struct facts *facts)
{
    for (int i = 0; i < PROOFS; i++)
        TRY(proofs[i].prove(tables, facts));
    return OK;
}

const char *step_name(const struct step *step)
{
    static const char *const names[STEP_KINDS] = {
        "feed",
        "embed",
        "receive forward",
        "layer",
        "send forward",
        "head",
        "head of evaluation",
        "receive backward",
        "layer again",
        "attention again",
        "layer backward",
        "layer backward, inputs",
        "layer backward, weights",
        "send backward",
        "embed backward",
        "clear",
        "tied",
        "copies",
        "reduce",
        "norm",
        "update",
        "gather",
    };
    return step->kind < STEP_KINDS ? names[step->kind] : "unknown step";
}

static int32_t end_of(const struct chunk *chunk)
{
    return chunk->first_layer + chunk->layers;
}

struct neighbour chunk_behind(const struct tables *tables, const struct facts *facts, int32_t pp, int32_t chunk)
{
    int32_t end = end_of(&tables->stage[pp].chunk[chunk]);
    for (int32_t s = 0; s < facts->pp; s++)
        for (int32_t c = 0; c < tables->stage[s].chunks; c++)
            if (tables->stage[s].chunk[c].first_layer == end)
                return (struct neighbour){ s, c };
    return (struct neighbour){ NONE, NONE };
}

struct neighbour chunk_before(const struct tables *tables, const struct facts *facts, int32_t pp, int32_t chunk)
{
    int32_t first = tables->stage[pp].chunk[chunk].first_layer;
    for (int32_t s = 0; s < facts->pp; s++)
        for (int32_t c = 0; c < tables->stage[s].chunks; c++)
            if (end_of(&tables->stage[s].chunk[c]) == first)
                return (struct neighbour){ s, c };
    return (struct neighbour){ NONE, NONE };
}

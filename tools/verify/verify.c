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

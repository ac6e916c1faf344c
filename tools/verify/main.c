/* main.c: proves the tables that it is linked with. Build host, before each link. Exit status 0, or 70 with one line. */
#include <stdio.h>

#include "tools/verify/facts.h"

int main(void)
{
    struct facts facts = facts_of_image();
    struct tables tables = {
        .stage = stages,
        .rank = rank_rows,
        .group = groups,
        .groups = groups_count,
        .channel = channels,
        .channels = channels_count,
        .parameter_offset = parameter_offset,
        .saved_offset = saved_offset_bytes,
        .core_offset = core_offset_bytes,
        .kept_offset = kept_offset_bytes,
        .work_offset = work_offset_bytes,
        .arena_bytes = arena_bytes,
        .model_parameters = model_parameters,
    };
    status_program("verify");
    TRY(verify(&tables, &facts));
    int64_t steps = 0;
    for (int64_t s = 0; s < facts.pp; s++)
        steps += stages[s].train.steps + stages[s].evaluate.steps;
    printf("verify: %s: %lld ranks, %lld steps:", image_name, (long long)facts.ranks, (long long)steps);
    for (int i = 0; i < PROOFS; i++)
        printf(" %s", proofs[i].name);
    printf("\n");
    return 0;
}

/* evaluate.c: see evaluate.h. Steady; allocates nothing, cannot fail. */
#include "run/evaluate.h"

#include "config.h"
#include "run/feed.h"
#include "run/optimizer.h"
#include "run/play.h"

struct evaluation_result evaluate(struct player *player, int64_t steps_done)
{
    int64_t begin = clock_ns(), row[DP * MICRO_BATCH_ROWS];
    const struct pack *held_out = &player->night->held_out;
    int64_t rows = (int64_t)held_out->header->rows, passes = (rows + ELEMENTS_OF(row) - 1) / ELEMENTS_OF(row), targets = 0;
    player->pack = held_out;
    player->batch_row = row;
    player->loss = 0.0;
    player->hits = 0;
    for (int64_t pass = 0; pass < passes; pass++) {
        player->batch_targets = feed_evaluation_rows(held_out, pass, row);
        targets += player->batch_targets;
        play(player, &player->stage->evaluate);
    }
    optimizer_sum_losses(player);
    return (struct evaluation_result){
        .step = steps_done, .loss = player->global_loss / (double)targets, .accuracy = (double)player->global_hits / (double)targets,
        .targets = targets, .rows = rows, .time_ns = clock_ns() - begin,
    };
}

/* feed.c: see feed.h. Steady; allocates nothing, cannot fail. */
#include "run/feed.h"

#include "config.h"
#include "run/order.h"

struct batch batch_at(const struct player *player, int32_t buffer)
{
    int32_t *base = buffer_at(player, buffer);
    ASSERT(player->stage->buffer[buffer].kind == BUFFER_BATCH);
    int64_t n = MICRO_BATCH_TOKENS;
    return (struct batch){
        .token = base, .target = base + n, .start = base + 2 * n, .position = base + 3 * n,
        .loss = (float *)(base + 4 * n), .hit = (float *)(base + 5 * n),
    };
}

int64_t feed_training_rows(const struct night *night, int64_t step, int64_t *row)
{
    int64_t rows = (int64_t)night->data.header->rows, targets = 0;
    int64_t epoch = (step - 1) / night->batches_an_epoch, batch = (step - 1) % night->batches_an_epoch;
    for (int64_t i = 0; i < GLOBAL_BATCH_ROWS; i++) {
        int64_t position = batch * GLOBAL_BATCH_ROWS + i;
        row[i] = position < rows ? order_row(night->job.seed, epoch, position, rows) : NONE;
        if (row[i] != NONE)
            targets += night->data.row[row[i]].targets;
    }
    return targets;
}

int64_t feed_evaluation_rows(const struct pack *pack, int64_t pass, int64_t *row)
{
    int64_t rows = (int64_t)pack->header->rows, targets = 0;
    for (int64_t i = 0; i < (int64_t)DP * MICRO_BATCH_ROWS; i++) {
        int64_t position = pass * DP * MICRO_BATCH_ROWS + i;
        row[i] = position < rows ? position : NONE;
        if (row[i] != NONE)
            targets += pack->row[row[i]].targets;
    }
    return targets;
}

/* A row of weight zero: no target, and every token a document of its own, so that attention has one key to see. */
static void fill_empty(int32_t *token, int32_t *target, int32_t *start, int32_t *position)
{
    for (int32_t t = 0; t < SEQUENCE_TOKENS; t++) {
        token[t] = 0;
        target[t] = NONE;
        start[t] = t;
        position[t] = 0;
    }
}

void feed_micro_batch(const struct player *player, int32_t micro, int32_t buffer)
{
    struct batch batch = batch_at(player, buffer);
    for (int64_t b = 0; b < MICRO_BATCH_ROWS; b++) {
        int64_t row = player->batch_row[((int64_t)micro * DP + player->row->dp) * MICRO_BATCH_ROWS + b];
        int64_t at = b * SEQUENCE_TOKENS;
        if (row == NONE)
            fill_empty(batch.token + at, batch.target + at, batch.start + at, batch.position + at);
        else
            pack_row_read(player->pack, row, batch.token + at, batch.target + at, batch.start + at, batch.position + at);
    }
}

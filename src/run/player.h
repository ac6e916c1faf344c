/* player.h: what one rank holds while it plays its program. Filled by executive.c, read by the other files of run/.
 *
 * Phase: steady. (1) No pointer here owns memory: all of it lies in the rank's arena or in tables.c. */
#ifndef SRC_RUN_PLAYER_H
#define SRC_RUN_PLAYER_H

#include "night.h"

struct player {
    const struct night *night;
    struct rank *rank;
    const struct rank_row *row;
    const struct stage *stage;
    const int64_t (*offset)[PARAMETER_KINDS];     /* of a parameter in the flat buffer: [layer_row][parameter] */
    float *parameters, *gradients, *moment1, *moment2;
    const float *rope;

    /* Of the optimizer step or evaluation that is being played. */
    int64_t step;                                 /* from 1 */
    const int64_t *batch_row;                     /* rows of the pack in the global batch, NONE: weight zero */
    const struct pack *pack;
    int64_t batch_targets;                        /* of the whole global batch; known before it starts */
    double loss;                                  /* this rank's sum over its targets, nats */
    int64_t hits;
    double norm, clip_factor, learning_rate;
    double global_loss;                           /* sums over all ranks */
    int64_t global_hits;
    bool bad;                                     /* loss or gradients are not finite */
};

static inline void *buffer_at(const struct player *player, int32_t index)
{
    ASSERT(index >= 0 && index < player->stage->buffers);
    return player->rank->arena.base + player->stage->buffer[index].offset_bytes;
}

/* Where element 0 of a flat buffer would lie: in the flat buffer itself (buffer is NONE), or as seen from a bucket that is whole for a while. */
static inline float *flat_at(const struct player *player, int32_t buffer, float *flat)
{
    if (buffer == NONE)
        return flat;
    return (float *)buffer_at(player, buffer) - player->stage->bucket[player->stage->buffer[buffer].bucket].offset;
}

#endif

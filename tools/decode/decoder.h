/* decoder.h: greedy answers of a Hugging Face folder, for showing what a model does before and after a night. Build host.
 *
 * Plain and small rather than fast: one sequence at a time, keys and values cached, the image's own kernels for everything but the
 * attention of a few tokens against the cache. */
#ifndef TOOLS_DECODE_DECODER_H
#define TOOLS_DECODE_DECODER_H

#include "platform/platform.h"

struct decoder;

/* Opens folder (config.json and weights), reserves caches for `positions` tokens. Returns OK, E_READ or E_DATA. Owned by the caller: decoder_close. */
MUST_USE enum status decoder_open(struct decoder **decoder, const char *folder, int64_t positions, struct queue *queue);
void decoder_close(struct decoder *decoder);

/* Continues prompt [count] greedily: at most `most` new ids into out, ending before the first id for which stop(argument, id) is true. Ties go
 * to the lower id. Returns how many were written; the prompt and the answer together are cut at `positions`. */
int64_t decoder_greedy(struct decoder *decoder, const int32_t *prompt, int64_t count, int32_t *out, int64_t most,
                       bool (*stop)(void *argument, int32_t id), void *argument);

#endif

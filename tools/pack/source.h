/* source.h: input files, read whole or mapped; refuses what is no plain file without blocking on it. */
#ifndef TOOLS_PACK_SOURCE_H
#define TOOLS_PACK_SOURCE_H

#include "platform/status.h"

/* A mapped file. bytes may be 0, then data is NULL. Owns the map. */
struct source {
    const char *path; /* kept, not copied */
    const char *data;
    size_t bytes;
};
/* Returns OK; E_READ if it cannot be read or is no plain file; E_DATA if it is longer than bytes_most (0: any length). */
MUST_USE enum status source_open(struct source *source, const char *path, size_t bytes_most);
void source_close(struct source *source);

/* What a file looks like by its first bytes where that is surely no text, as "a gzip archive"; else NULL. */
const char *source_looks_like(const struct source *source);

#endif

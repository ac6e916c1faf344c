/* packlayout.h: where things lie in data.pack; shared by its reader, packfile.c, and its writer, packwrite.c, and by nobody else.
 *
 * (1) The sections lie in one order, each at the next multiple of SECTION_ALIGN_BYTES: offsets that say otherwise are damage, so no two
 *     sections can overlap and none can leave the file. */
#ifndef SRC_FILE_PACKLAYOUT_H
#define SRC_FILE_PACKLAYOUT_H

#include "file/packfile.h"

#include <string.h>
#include <xxhash.h>

enum { SECTION_ALIGN_BYTES = 64 };

_Static_assert(sizeof(struct pack_header) <= PACK_HEADER_BYTES, "the header has outgrown its place");
_Static_assert(sizeof(struct pack_row) == 24 && sizeof(struct pack_source) == 16, "the file's records have no holes");

/* Where each section begins, and where the file ends, for these counts. */
struct sections {
    uint64_t index, documents, tokens, learned, sources, end;
};

static inline uint64_t aligned(uint64_t bytes)
{
    return (bytes + SECTION_ALIGN_BYTES - 1) / SECTION_ALIGN_BYTES * SECTION_ALIGN_BYTES;
}

static inline uint64_t learned_row_bytes(uint32_t sequence_tokens)
{
    return ((uint64_t)sequence_tokens + 7) / 8;
}

static inline struct sections sections_of(uint64_t rows, uint64_t documents, uint32_t sequence_tokens)
{
    struct sections at;
    at.index = PACK_HEADER_BYTES;
    at.documents = aligned(at.index + rows * sizeof(struct pack_row));
    at.tokens = aligned(at.documents + documents * sizeof(uint32_t));
    at.learned = aligned(at.tokens + rows * sequence_tokens * sizeof(int32_t));
    at.sources = aligned(at.learned + rows * learned_row_bytes(sequence_tokens));
    at.end = at.sources + documents * sizeof(struct pack_source);
    return at;
}

static inline bool learned_bit(const uint8_t *learned, uint32_t t)
{
    return (learned[t / 8] >> (t % 8) & 1) != 0;
}

/* The hash of the header's whole place in the file, with header_hash as zero. */
static inline uint64_t header_hash_of(const struct pack_header *header)
{
    uint8_t page[PACK_HEADER_BYTES] = { 0 };
    struct pack_header copy = *header;
    copy.header_hash = 0;
    memcpy(page, &copy, sizeof copy);
    return XXH64(page, sizeof page, 0);
}

#endif

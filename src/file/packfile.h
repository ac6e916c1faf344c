/* packfile.h: data.pack, the training data as the image maps it. Written by tools/pack, read by boot and feed.
 *
 * One file, little-endian, mapped whole:
 *   struct pack_header                                     (4096 bytes, zero-padded)
 *   row index   rows      x struct pack_row                (at index_offset_bytes)
 *   documents   documents x uint32 first token in the row  (at documents_offset_bytes; ascending within a row, first is 0)
 *   tokens      rows x sequence_tokens x int32             (at tokens_offset_bytes; unused tail of a row is 0)
 *   learned     rows x ceil(sequence_tokens / 8) bytes     (at learned_offset_bytes; bit t%8 of byte t/8: token t is a target)
 *   sources     documents x struct pack_source             (at sources_offset_bytes: where each document came from)
 * (1) The target of position t is token t+1 if both lie in one document and token t+1 is learned; else none.
 * (2) The first token of a document is never learned (nothing predicts it), nor is the unused tail.
 * (3) content_hash covers every byte behind the header; header_hash the header with header_hash itself as zero. XXH64, seed 0,
 *     from libxxhash.
 * (4) Same inputs and options give the same bytes, for any number of threads. No date, no path but what the user gave. */
#ifndef SRC_FILE_PACKFILE_H
#define SRC_FILE_PACKFILE_H

#include "platform/status.h"

enum { PACK_HEADER_BYTES = 4096, PACK_NAME_BYTES = 256, PACK_FILES_MOST = 8 };
#define PACK_MAGIC "NOCTPACK"
enum { PACK_VERSION = 1 };

struct pack_header {
    char magic[8];
    uint32_t version;
    uint32_t sequence_tokens;
    uint64_t rows, documents;
    uint64_t tokens;                 /* in documents, without the unused tails */
    uint64_t targets;                /* positions with a target */
    uint32_t vocabulary;             /* tokenizer's: every id is below it */
    uint32_t token_largest;
    uint64_t tokenizer_hash;         /* of tokenizer.json's bytes */
    uint64_t template_hash;          /* of the template's bytes; 0: none */
    uint64_t index_offset_bytes, documents_offset_bytes, tokens_offset_bytes, learned_offset_bytes, sources_offset_bytes;
    uint64_t file_bytes;
    uint64_t content_hash;
    uint64_t header_hash;
    char template_name[64];
    char files[PACK_FILES_MOST][PACK_NAME_BYTES];     /* as given; more files: the last entry says "and n more" */
};

struct pack_row {
    uint64_t first_document;         /* index into documents */
    uint32_t documents;
    uint32_t tokens;                 /* used */
    uint32_t targets;                /* positions with a target, at least 1 */
    uint32_t reserved;
};

struct pack_source {
    uint32_t file;                   /* index into the input files as given */
    uint32_t reserved;
    uint64_t line;                   /* from 1; for a JSON array: element, from 1 */
};

/* A mapped pack file. Owns the map; close with pack_close. */
struct pack {
    const struct pack_header *header;
    const struct pack_row *row;
    const uint32_t *document;
    const int32_t *token;
    const uint8_t *learned;
    const struct pack_source *source;
    int64_t bytes;
};

/* Maps and checks everything: magic, version, sizes, offsets, hashes, every token below vocabulary, boundaries rising, target counts
 * true. BOOT. Returns OK; E_READ if it cannot be opened; E_DATA, naming what is wrong, if it is damaged. */
MUST_USE enum status pack_open(struct pack *pack, const char *path);
void pack_close(struct pack *pack);

/* Unpacks row (in [0, rows)) into token, target (-1: none), start (position where the document begins) and position (t - start), each
 * [sequence_tokens]. The unused tail: token 0, target -1, each position a document of its own. Steady; allocates nothing. */
void pack_row_read(const struct pack *pack, int64_t row, int32_t *token, int32_t *target, int32_t *start, int32_t *position);

/* ---- writing (tools/pack) ---- */

struct pack_document {
    const int32_t *token;            /* [tokens] */
    const uint8_t *learned;          /* [tokens], 0 or 1; learned[0] is taken as 0 */
    uint32_t tokens;                 /* 1 .. sequence_tokens */
    struct pack_source source;
};
/* Writes rows of documents: row r holds document indices order[first[r]] .. order[first[r+1]-1]. header carries sequence_tokens,
 * vocabulary, hashes, names; the rest is filled here. Writes path.tmp, syncs, renames. Returns OK or E_READ. */
MUST_USE enum status pack_write(const char *path, struct pack_header *header, const struct pack_document *documents, const uint64_t *order,
                                const uint64_t *first, uint64_t rows);

#endif

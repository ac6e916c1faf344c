/* draft.h: the tables in the making, handed from pass to pass, and the memory that they lie in.
 *
 * (1) All memory belongs to the draft and lives until draft_free.
 * (2) Passes run in the order of draft.c; each fills fields that no other writes. */
#ifndef TOOLS_LAYOUTC_DRAFT_H
#define TOOLS_LAYOUTC_DRAFT_H

#include "src/tables.h"
#include "tools/layoutc/input.h"
#include "tools/layoutc/share.h"

struct block;
struct blocks {
    struct block *last;
};

/* count * bytes of zeroed memory; ends the program with E_AGAIN where there is none. */
void *blocks_take(struct blocks *blocks, int64_t count, int64_t bytes);
char *blocks_text(struct blocks *blocks, const char *format, ...) PRINTF(2, 3);
void blocks_free(struct blocks *blocks);

enum { WORK_EMBED, WORK_LAYER, WORK_LAYER_BACKWARD, WORK_HEAD, WORK_USES }; /* kinds of step that use BUFFER_WORK */

/* The cells of one stage, as a table in a file gave them. */
struct stage_table {
    struct cell *cell; /* order.h */
    int64_t cells;
};

struct draft {
    const struct input *input;
    struct share share;
    struct blocks blocks;

    struct stage_table *table; /* table.c; [PP], NULL where the schedule is none */

    /* groups.c */
    struct rank_row *row; /* [share.ranks] */
    struct comm_group *group;
    struct comm_channel *channel;
    int32_t *member; /* the groups' members, one group after another */
    int32_t groups, channels;
    int64_t members;

    /* chunks.c, shards.c, schedule.c; [PP] */
    struct stage *stage;
    int64_t **parameter_offset; /* [PP] -> [layers * PARAMETER_KINDS] */
    struct buffer **buffer;     /* [PP]: the same arrays as stage[].buffer, writable */
    int64_t parameters;         /* of the whole model, each once */

    /* schedule.c */
    int64_t saved_offset[SAVED_FIELDS], core_offset[CORE_FIELDS], kept_offset[KEPT_FIELDS], work_offset[WORK_FIELDS];
    int64_t saved_bytes, core_bytes, kept_bytes, work_bytes[WORK_USES];
    int64_t slot_bytes;

    /* place.c */
    int64_t arena_bytes; /* of the fullest stage */
    int32_t fullest;     /* that stage */
};

/* All passes but the writing ones. Returns OK, or E_USAGE with the one line that says what is wrong; draft_free either way. */
MUST_USE enum status draft_make(struct draft *draft, const struct input *input);

/* The same without asking whether it fits the device: for whoever tries several. */
MUST_USE enum status draft_make_any_size(struct draft *draft, const struct input *input);
void draft_free(struct draft *draft);

#endif

/* reasons.h: why a row is not in the pack as it stands: every way, by name. The closing table counts them.
 *
 * (1) Broken: the file is not what it should be. More of these than --bad-rows allows, and nothing is written.
 * (2) Dropped: a stated rule leaves the row out.
 * (3) Noted: the row is kept, and something was done to it that its owner should know. */
#ifndef TOOLS_PACK_REASONS_H
#define TOOLS_PACK_REASONS_H

#include "platform/status.h"

enum reason {
    /* broken */
    BROKEN_JSON,
    BROKEN_UNICODE,
    BROKEN_LENGTH,
    BROKEN_FILE,
    BROKEN_OBJECT,
    BROKEN_FORM,
    BROKEN_FIELD,
    BROKEN_ROLE,
    BROKEN_LOSS,
    BROKEN_TOKENS,
    BROKEN_TEMPLATE,
    BROKEN_NO_TEMPLATE,
    BROKEN_ENCODE,
    BROKEN_CONTROL,
    /* dropped */
    DROPPED_SHARE,
    DROPPED_EMPTY,
    DROPPED_NO_TARGET,
    DROPPED_LONG,
    DROPPED_CUT,
    DROPPED_LEFT_OUT,
    DROPPED_UNWANTED,
    /* noted */
    NOTED_CUT,
    NOTED_CONTINUED,
    NOTED_LAST_TURN,
    NOTED_CONTROL,
    NOTED_CHOSEN,
    NOTED_PLACEHOLDER,
    NOTED_REPEATED,
    REASONS,
    REASON_NONE = -1
};
#define REASON_IS_BROKEN(reason) ((reason) >= 0 && (reason) < DROPPED_SHARE)

/* A few words for the table. */
const char *reason_text(enum reason reason);

/* Why one row was refused. */
struct refusal {
    enum reason reason; /* REASON_NONE: it was not */
    int line, column;   /* within the row, from 1; 0: the row as a whole */
    char detail[200];
};
/* Fills refusal and returns false, so that `return refuse(...)` reads well. */
bool refuse(struct refusal *refusal, enum reason reason, const char *format, ...) PRINTF(3, 4);

#endif

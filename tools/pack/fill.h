/* fill.h: which documents share a row of the pack. Build host.
 *
 *   ORDER_FILL   best fit, longest first: each document goes where it leaves the least room, of equals to the row opened first; rows are then
 *                sorted by their earliest document, and documents within a row by their own order
 *   ORDER_FILE   documents keep their order: one that no longer fits opens the next row
 *   ORDER_ALONE  one document a row
 * (1) The same lengths give the same rows: nothing else is looked at. */
#ifndef TOOLS_PACK_FILL_H
#define TOOLS_PACK_FILL_H

#include "platform/status.h"

enum order_policy { ORDER_FILL, ORDER_FILE, ORDER_ALONE };

struct filling {
    uint64_t *order; /* [documents] indices of documents, row by row */
    uint64_t *first; /* [rows + 1] where each row begins in order */
    uint64_t rows;
};
/* tokens[i] is the length of document i, 1 to sequence_tokens. */
void fill_rows(struct filling *filling, const uint32_t *tokens, uint64_t documents, uint32_t sequence_tokens, enum order_policy policy);
void filling_close(struct filling *filling);

#endif

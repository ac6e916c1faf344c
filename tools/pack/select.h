/* select.h: which documents go into the pack and which are held out. Build host.
 *
 * (1) A row is held out by a hash of the seed and of what it says, whatever its file, its place, the tokenizer and the template: rows that say
 *     the same are on one side, and a row that comes again another night is on the side it was on.
 * (2) If a share is asked for and no row falls to it, the row with the smallest hash is held out.
 * (3) Documents keep the order of files and rows; a row that its file's share takes several times comes back only after the whole file. */
#ifndef TOOLS_PACK_SELECT_H
#define TOOLS_PACK_SELECT_H

#include "tools/pack/work.h"

struct selection {
    struct pack_document *document; /* copies; what they point to belongs to the outcomes */
    uint64_t documents, room;
    int64_t rows; /* kept rows, each once */
    int64_t tokens, targets;
};
/* Whether the documents, each as often as its share takes it, have room in the machine's memory. Returns OK or E_USAGE. */
MUST_USE enum status select_check(const struct rows *rows, const struct outcomes *outcomes);
/* Fills learn and held. shared gets the number of rows of learn that say the same as a row of a held-out file. */
void select_documents(const struct rows *rows, const struct outcomes *outcomes, double held_ratio, struct selection *learn,
                      struct selection *held, int64_t *shared);
void selection_close(struct selection *selection);

#endif

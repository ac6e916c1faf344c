/* work.h: all rows become documents, on every core. Build host.
 *
 * (1) Threads take rows in blocks; a row's outcome goes to the row's own place: who made it and when leaves no trace. */
#ifndef TOOLS_PACK_WORK_H
#define TOOLS_PACK_WORK_H

#include "tools/pack/document.h"
#include "tools/pack/rows.h"

enum { THREADS_MOST = 256 };

struct outcomes {
    struct outcome *outcome; /* [rows] */
    int64_t count;
};
/* Reads, renders and tokenizes each row that its share takes. Returns OK, E_AGAIN if no thread can be had. */
MUST_USE enum status work_run(const struct rows *rows, const struct form_options *form, const struct document_options *document,
                              int threads, struct outcomes *outcomes);
void outcomes_close(struct outcomes *outcomes);

#endif

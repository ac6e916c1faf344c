/* diagnose.h: what cannot be, in the words of the headers: file, constant, value, what is allowed, one change that would fit. */
#ifndef TOOLS_LAYOUTC_DIAGNOSE_H
#define TOOLS_LAYOUTC_DIAGNOSE_H

#include "tools/layoutc/draft.h"

/* Whether the headers go together, before anything is made of them. Returns OK or E_USAGE with one line. */
MUST_USE enum status diagnose_input(const struct input *input);

/* Whether every rank fits its device. Returns OK, or E_USAGE with one line: by how many bytes it does not, the largest buffers, and one
 * change that would fit (each is tried by making its tables). */
MUST_USE enum status diagnose_memory(const struct draft *draft);

#endif

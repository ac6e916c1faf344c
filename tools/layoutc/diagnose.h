/* diagnose.h: what cannot be, in the words of the headers: file, constant, value, what is allowed, one change that would fit. */
#ifndef TOOLS_LAYOUTC_DIAGNOSE_H
#define TOOLS_LAYOUTC_DIAGNOSE_H

#include "tools/layoutc/draft.h"

/* Whether the headers go together, before anything is made of them. Returns OK or E_USAGE with one line. */
MUST_USE enum status diagnose_input(const struct input *input);

/* Whether every rank fits its device. Returns OK, or E_USAGE with one line: by how many bytes it does not, the largest buffers, and one
 * change that would fit (each is tried by making its tables). */
MUST_USE enum status diagnose_memory(struct draft *draft);

/* "2.61 GiB", "38.4 MiB", "512 bytes" into text. */
enum { BYTES_TEXT_BYTES = 32 };
const char *bytes_text(char text[BYTES_TEXT_BYTES], int64_t bytes);

#endif

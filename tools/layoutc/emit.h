/* emit.h: writes tables.c. */
#ifndef TOOLS_LAYOUTC_EMIT_H
#define TOOLS_LAYOUTC_EMIT_H

#include <stdio.h>

#include "tools/layoutc/draft.h"

/* The same draft gives the same bytes: no date, no path of this machine. */
void emit_tables(FILE *file, const struct draft *draft);

#endif

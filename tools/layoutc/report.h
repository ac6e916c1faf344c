/* report.h: what the layout compiler tells people. */
#ifndef TOOLS_LAYOUTC_REPORT_H
#define TOOLS_LAYOUTC_REPORT_H

#include <stdio.h>

#include "tools/layoutc/draft.h"

/* make size: the memory map of each stage as a linker map shows it, the fullest first named, and the sum over the cluster. */
void report_size(FILE *file, const struct draft *draft);

#endif

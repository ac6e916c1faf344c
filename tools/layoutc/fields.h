/* fields.h: what lies where within a layer's saved buffer and within a step's scratch. */
#ifndef TOOLS_LAYOUTC_FIELDS_H
#define TOOLS_LAYOUTC_FIELDS_H

#include "tools/layoutc/draft.h"

/* Fills saved_offset, saved_bytes, work_offset, work_bytes. */
void fields_make(struct draft *draft);

#endif

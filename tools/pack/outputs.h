/* outputs.h: whether what is to be written may be, before the long work. Build host.
 *
 * (1) A pack is renamed to its place: what was there goes. So only a plain file or nothing may be there, and no file that is read, nor may the two
 *     packs be one; the same of their drafts, which have ".tmp" behind the name. */
#ifndef TOOLS_PACK_OUTPUTS_H
#define TOOLS_PACK_OUTPUTS_H

#include "tools/pack/options.h"
#include "tools/pack/rows.h"

/* rows are open. Returns OK; E_USAGE, naming the option and the input, if an input would be lost; E_READ if something else than a plain file is
 * there. */
MUST_USE enum status outputs_check(const struct options *options, const struct rows *rows);

#endif

/* show.h: prints packed rows as a person would check them. Build host.
 *
 * What is learned stands between the marks of SHOW_OPEN and SHOW_CLOSE, and in colour on a terminal; each document begins with a line that says
 * where it came from. Control characters are shown as \xNN, so that the text cannot drive the terminal; line feeds stay. */
#ifndef TOOLS_PACK_SHOW_H
#define TOOLS_PACK_SHOW_H

#include "file/packfile.h"
#include "tools/pack/tokenizer.h"

#include <stdio.h>

#define SHOW_OPEN  "\xe2\x9f\xa6" /* U+27E6 and U+27E7: white square brackets */
#define SHOW_CLOSE "\xe2\x9f\xa7"

/* Prints rows [first, first + count), as many as there are, to out. colour: with escape sequences. Returns OK, E_USAGE if first is past the
 * last row, E_DATA if a token cannot be shown. */
MUST_USE enum status show_rows(FILE *out, const struct pack *pack, const struct tokenizer *tokenizer, int64_t first, int64_t count,
                               bool colour);

#endif

/* jsontext.h: JSON of a file that anyone may have made. Build host and boot.
 *
 * jansson parses it strictly (UTF-8, number forms, depth 2048, no NUL, no key twice), but builds whatever it is told to: a text of two bytes an
 * element costs sixteen times its size. So (1) the text is counted before it is parsed, and what would need more than about 64 MiB is refused. */
#ifndef SRC_FILE_JSONTEXT_H
#define SRC_FILE_JSONTEXT_H

#include <jansson.h>

#include "platform/status.h"

/* Parses text, bytes long, of file path; part says which part of it, as "header, ", or "". The caller owns *root. Returns OK, or E_DATA with line and
 * byte. */
MUST_USE enum status jsontext_parse(json_t **root, const char *path, const char *part, const char *text, int64_t bytes);
/* The same for a whole file of at most bytes_most. Returns E_READ as well. */
MUST_USE enum status jsontext_read(json_t **root, const char *path, int64_t bytes_most);

#endif

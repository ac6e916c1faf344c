/* jobtext.h: the job file's text, cleaned for libconfig, which takes more than it should: it wraps numbers that do not fit and lets comments
 * end with the file.
 *
 * Phase: boot. */
#ifndef SRC_BOOT_JOBTEXT_H
#define SRC_BOOT_JOBTEXT_H

#include "platform/status.h"

/* Reads the file and checks its text. text gets a NUL-terminated copy (free it) in which every whole number carries libconfig's suffix L, so
 * that none is cut to 32 bits; lines keep their numbers. Returns OK, E_READ, or E_USAGE with file and line. BOOT. */
MUST_USE enum status jobtext_read(const char *path, char **text);

#endif

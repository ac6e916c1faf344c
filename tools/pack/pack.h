/* pack.h: the whole of the packing tool as one call, so that a test can make it. */
#ifndef TOOLS_PACK_PACK_H
#define TOOLS_PACK_PACK_H

#include "platform/status.h"

/* What `pack argv[1]...` does; prints to standard output. Returns the exit code. */
MUST_USE enum status pack_main(int argc, char **argv);

#endif

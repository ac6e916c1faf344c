/* mapped.h: a regular file, mapped for reading. Boot and build host. */
#ifndef SRC_FILE_MAPPED_H
#define SRC_FILE_MAPPED_H

#include "platform/status.h"

struct mapped {
    const uint8_t *data;
    int64_t bytes;
};

/* Maps path whole. A folder, FIFO, device or broken link is refused without blocking. An empty file has data NULL. Returns OK or E_READ. */
MUST_USE enum status mapped_open(struct mapped *mapped, const char *path);
void mapped_close(struct mapped *mapped);

#endif

/* boot.h: everything before the first step: read, check, reserve, test, join, load, seal.
 *
 * Phase: boot. Anything wrong with an input is found here, said in one line, and ends the process with its exit code.
 * (1) boot_night runs on the main thread, then boot_rank on each rank's own thread. (2) All ranks leave boot_rank with the same status: either all
 * are sealed, or none runs. */
#ifndef SRC_BOOT_BOOT_H
#define SRC_BOOT_BOOT_H

#include "night.h"

/* Reads and checks the job in full: model, data, steps, disk, memory. check_only: nothing is written, and *night stays NULL. BOOT.
 * Returns OK, or what is wrong: E_USAGE (job), E_DATA (model or data), E_READ (a file or folder), E_AGAIN (memory). */
MUST_USE enum status boot_night(const char *job_path, bool check_only, struct night **night);

/* The rank's part: arena, threads, self-test, joining the others, loading; then SEAL, which is closed when it returns OK. Not in the boot
 * section itself, since it returns after that has been closed. */
MUST_USE enum status boot_rank(struct night *night, int32_t rank);

/* `nocturne info`: what this image is. BOOT. */
MUST_USE enum status boot_info(void);

#endif

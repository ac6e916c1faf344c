/* memory.h: how much memory this process may still have, so that a refusal at boot and never the kernel's killer is the answer. Boot. */
#ifndef PLATFORM_HOST_MEMORY_H
#define PLATFORM_HOST_MEMORY_H

#include <stdint.h>

/* What the machine has left, or the control group of this process (versions 1 and 2) if that is less. Page cache counts as left: it gives way.
 *   root  "" for the machine; a folder that holds proc/ and sys/ for tests
 * Returns bytes, or INT64_MAX if the kernel does not say. */
int64_t memory_available(const char *root);

/* What has been promised to the ranks of one process. Zeroed is empty. */
struct memory_ledger {
    int64_t at_first;     /* available when the first promise was asked for */
    int64_t promised;     /* bytes, of all promises so far */
};

/* Promises bytes if they are left, keeping MEMORY_SPARE_BYTES for stacks, scratch and whoever else runs here. What is left is counted twice and
 * the less of the two holds: what is available now, and what was at first less all promises, since ranks ask before others have touched theirs.
 * Returns what was left: the promise is given if that is at least bytes. The caller keeps others out. */
enum { MEMORY_SPARE_BYTES = 64 << 20 };
int64_t memory_promise(struct memory_ledger *ledger, int64_t available, int64_t bytes);

#endif

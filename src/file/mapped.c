/* mapped.c: see mapped.h. Boot and build host. */
#include "file/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum status mapped_open(struct mapped *mapped, const char *path)
{
    struct stat found;
    *mapped = (struct mapped){ 0 };
    /* Non-blocking, so that a FIFO without a writer does not hold the boot up. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return fail(E_READ, "%s: %s", path, strerror(errno));
    if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
        close(file);
        return fail(E_READ, "%s: not a regular file", path);
    }
    if (found.st_size > 0) {
        void *map = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (map == MAP_FAILED) {
            close(file);
            return fail(E_READ, "%s: %s", path, strerror(errno));
        }
        *mapped = (struct mapped){ .data = map, .bytes = found.st_size };
    }
    close(file);
    return OK;
}

void mapped_close(struct mapped *mapped)
{
    if (mapped->data != NULL)
        munmap((void *)(uintptr_t)mapped->data, (size_t)mapped->bytes);
    *mapped = (struct mapped){ 0 };
}

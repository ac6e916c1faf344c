/* source.c: see source.h. */
#include "tools/pack/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum status source_open(struct source *source, const char *path, size_t bytes_most)
{
    *source = (struct source){ .path = path };
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
    if (file < 0)
        return fail(E_READ, "%s: %s", path, strerror(errno));
    struct stat about;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
        close(file);
        return fail(E_READ, "%s: not a plain file", path);
    }
    size_t bytes = (size_t)about.st_size;
    if (bytes_most > 0 && bytes > bytes_most) {
        close(file);
        return fail(E_DATA, "%s: %zu bytes, at most %zu are read", path, bytes, bytes_most);
    }
    void *map = bytes > 0 ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0) : NULL;
    int error = errno;
    close(file);
    if (map == MAP_FAILED)
        return fail(E_READ, "%s: cannot be mapped: %s", path, strerror(error));
    if (bytes > 0)
        madvise(map, bytes, MADV_SEQUENTIAL);
    source->data = map;
    source->bytes = bytes;
    return OK;
}

void source_close(struct source *source)
{
    if (source->data != NULL)
        munmap((void *)(uintptr_t)source->data, source->bytes);
    *source = (struct source){ 0 };
}

const char *source_looks_like(const struct source *source)
{
    static const struct {
        const char *begins, *is;
        size_t bytes;
    } kinds[] = {
        { "\x1f\x8b", "a gzip archive", 2 },
        { "PK\x03\x04", "a zip archive", 4 },
        { "\x28\xb5\x2f\xfd", "a zstd archive", 4 },
        { "PAR1", "a Parquet file", 4 },
        { "ARROW1", "an Arrow file", 6 },
        { "version https://git-lfs", "a Git LFS pointer: fetch the file itself", 23 },
        { "<!DOCTYPE", "an HTML page", 9 },
        { "<html", "an HTML page", 5 },
        { "NOCTPACK", "a data.pack", 8 },
        { "\xff\xfe", "UTF-16 text", 2 },
        { "\xfe\xff", "UTF-16 text", 2 },
    };
    for (int i = 0; i < ELEMENTS_OF(kinds); i++)
        if (source->bytes >= kinds[i].bytes && memcmp(source->data, kinds[i].begins, kinds[i].bytes) == 0)
            return kinds[i].is;
    return NULL;
}

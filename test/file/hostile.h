/* hostile.h: small files made from good ones by changing one thing, and what a reader says of them. */
#ifndef TEST_FILE_HOSTILE_H
#define TEST_FILE_HOSTILE_H

#include "platform/status.h"
#include "test/test.h"

/* Bytes that grow; a file of them. */
struct bytes {
    uint8_t *data;
    size_t count;
};
void bytes_add(struct bytes *bytes, const void *data, size_t count);
void bytes_text(struct bytes *bytes, const char *text);
void bytes_number(struct bytes *bytes, uint64_t number, int width);      /* little-endian */
void bytes_counted_text(struct bytes *bytes, const char *text);           /* eight bytes of length before it, as GGUF has it */
void bytes_zeros(struct bytes *bytes, size_t count);
/* Writes them to folder/name and frees them; the path lives until the program ends. */
const char *bytes_write(struct bytes *bytes, const char *folder, const char *name);
/* A file with that text. */
const char *hostile_file(const char *folder, const char *name, const char *text);

struct verdict {
    int status;                /* what open() returned; -1: the process died */
    int errors, notes;         /* lines on standard error */
    char text[8192];           /* those lines */
};
/* Runs open(path) in a process of its own, which is ended after 20 seconds, and holds it to what every reader must keep: it does not die, a refusal is one
 * line that names name and ends within printable text, and peak memory is at most the file and 64 MiB more. Fails the test, under id, where one is broken. */
struct verdict hostile_try(const char *id, enum status (*open)(const char *path), const char *path);

/* hostile_try, and the status must be right and the lines hold part (may be NULL). */
void hostile_expect(const char *id, enum status (*open)(const char *path), const char *path, enum status right, const char *part);

#endif

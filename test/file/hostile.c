/* hostile.c: see hostile.h. */
#include "test/file/hostile.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEMORY_MORE_BYTES = 64 << 20, SECONDS_MOST = 20 };

/* A sanitizer's own memory says nothing about the reader's. */
#if defined(__SANITIZE_ADDRESS__)
#define MEMORY_IS_MEASURED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEMORY_IS_MEASURED 0
#endif
#endif
#ifndef MEMORY_IS_MEASURED
#define MEMORY_IS_MEASURED 1
#endif

void bytes_add(struct bytes *bytes, const void *data, size_t count)
{
    bytes->data = realloc(bytes->data, bytes->count + count + 1);
    if (count > 0)
        memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
}

void bytes_text(struct bytes *bytes, const char *text)
{
    bytes_add(bytes, text, strlen(text));
}

void bytes_number(struct bytes *bytes, uint64_t number, int width)
{
    for (int i = 0; i < width; i++) {
        uint8_t byte = (uint8_t)(number >> (8 * i));
        bytes_add(bytes, &byte, 1);
    }
}

void bytes_counted_text(struct bytes *bytes, const char *text)
{
    bytes_number(bytes, strlen(text), 8);
    bytes_text(bytes, text);
}

void bytes_zeros(struct bytes *bytes, size_t count)
{
    void *zeros = calloc(1, count + 1);
    bytes_add(bytes, zeros, count);
    free(zeros);
}

const char *bytes_write(struct bytes *bytes, const char *folder, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        abort();
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes->data, 1, bytes->count, file) != bytes->count || fclose(file) != 0)
        test_fail(__FILE__, __LINE__, "cannot write %s", path);
    free(bytes->data);
    *bytes = (struct bytes){ 0 };
    return path;
}

const char *hostile_file(const char *folder, const char *name, const char *text)
{
    struct bytes bytes = { 0 };
    bytes_text(&bytes, text);
    return bytes_write(&bytes, folder, name);
}

/* The other end of the child's standard error, to its end. */
static void read_lines(int from, struct verdict *verdict)
{
    size_t used = 0;
    char rest[4096];
    for (ssize_t got; (got = read(from, rest, sizeof rest)) > 0;) {
        size_t room = sizeof verdict->text - 1 - used, part = (size_t)got < room ? (size_t)got : room;
        memcpy(verdict->text + used, rest, part);
        used += part;
        for (ssize_t i = 0; i < got; i++)
            verdict->errors += rest[i] == '\n';
    }
    verdict->text[used] = '\0';
    for (const char *at = verdict->text; (at = strstr(at, ": note: ")) != NULL; at++)
        verdict->notes++;
    verdict->errors -= verdict->notes;
}

struct verdict hostile_try(const char *id, enum status (*open)(const char *path), const char *path)
{
    struct verdict verdict = { .status = -1 };
    struct stat found = { 0 };
    struct rusage used;
    int ends[2], ended = 0;
    fflush(stdout);
    if (pipe(ends) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        alarm(SECONDS_MOST);
        _exit((int)open(path));
    }
    close(ends[1]);
    read_lines(ends[0], &verdict);
    close(ends[0]);
    if (child < 0 || wait4(child, &ended, 0, &used) != child || !WIFEXITED(ended)) {
        test_fail(__FILE__, __LINE__, "%s: the reader died of signal %d: %s", id, WTERMSIG(ended), verdict.text);
        return verdict;
    }
    verdict.status = WEXITSTATUS(ended);
    if (verdict.status != OK && verdict.status != E_DATA && verdict.status != E_READ && verdict.status != E_USAGE)
        test_fail(__FILE__, __LINE__, "%s: ended with %d: %s", id, verdict.status, verdict.text);
    if (verdict.errors != (verdict.status == OK ? 0 : 1))
        test_fail(__FILE__, __LINE__, "%s: a refusal is one line, not %d: %s", id, verdict.errors, verdict.text);
    for (const char *at = verdict.text; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 && *at != '\n')
            test_fail(__FILE__, __LINE__, "%s: a control character 0x%02x in a message", id, (unsigned char)*at);
    int64_t file_bytes = stat(path, &found) == 0 && S_ISREG(found.st_mode) ? found.st_size : 0, peak = (int64_t)used.ru_maxrss << 10;
    if (MEMORY_IS_MEASURED && peak > file_bytes + MEMORY_MORE_BYTES)
        test_fail(__FILE__, __LINE__, "%s: peak memory is %lld KiB for a file of %lld", id, (long long)peak >> 10, (long long)file_bytes >> 10);
    return verdict;
}

void hostile_expect(const char *id, enum status (*open)(const char *path), const char *path, enum status right, const char *part)
{
    struct verdict verdict = hostile_try(id, open, path);
    if (verdict.status != (int)right)
        test_fail(__FILE__, __LINE__, "%s: status is %d, right is %d: %s", id, verdict.status, (int)right, verdict.text);
    else if (part != NULL && strstr(verdict.text, part) == NULL)
        test_fail(__FILE__, __LINE__, "%s: \"%s\" does not hold \"%s\"", id, verdict.text, part);
}

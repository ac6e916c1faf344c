/* jobtext.c: see jobtext.h. Phase: boot.
 *
 * One pass over the bytes. (1) A string or comment is copied as it stands. (2) The output is at most twice the input. */
#include "boot/jobtext.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot/job.h"

struct text {
    const char *path;
    const char *in, *end;
    char *out;
    int line;
};

BOOT static void copy(struct text *text, const char *to)
{
    for (; text->in < to; text->in++) {
        text->line += *text->in == '\n';
        *text->out++ = *text->in;
    }
}

BOOT static enum status comment(struct text *text)
{
    const char *at = text->in;
    if (at[0] == '/' && at[1] == '*') {
        const char *close = strstr(at + 2, "*/");
        if (close == NULL)
            return fail(E_USAGE, "%s:%d: the comment that begins here has no */", text->path, text->line);
        copy(text, close + 2);
        return OK;
    }
    const char *newline = memchr(at, '\n', (size_t)(text->end - at));
    copy(text, newline == NULL ? text->end : newline);
    return OK;
}

BOOT static enum status string(struct text *text)
{
    const char *at = text->in + 1;
    for (; at < text->end && *at != '"'; at++) {
        if (*at == '\n' || *at == '\r')
            break;
        if (*at != '\\')
            continue;
        at++;
        if (*at == 'x' && at[1] == '0' && at[2] == '0')
            return fail(E_USAGE, "%s:%d: a string holds \\x00; text cannot hold a NUL", text->path, text->line);
        if (strchr("\"\\fnrtx", *at) == NULL || *at == '\0')
            return fail(E_USAGE, "%s:%d: a string holds \\%c; known are \\\" \\\\ \\f \\n \\r \\t \\xNN", text->path, text->line,
                        *at == '\0' ? '0' : *at);
    }
    if (at >= text->end || *at != '"')
        return fail(E_USAGE, "%s:%d: the string that begins here has no closing \" on its line", text->path, text->line);
    copy(text, at + 1);
    return OK;
}

/* A number as libconfig knows them: decimal or 0x whole numbers, floats; here also: it fits, and it has digits. */
BOOT static enum status number(struct text *text)
{
    const char *begin = text->in, *end = begin;
    while (end < text->end && (isalnum((unsigned char)*end) || strchr("+-.", *end) != NULL))
        end++;
    int bytes = (int)(end - begin);
    char word[64], *rest;
    if (bytes >= (int)sizeof word)
        return fail(E_USAGE, "%s:%d: a number of %d characters", text->path, text->line, bytes);
    memcpy(word, begin, (size_t)bytes);
    word[bytes] = '\0';
    const char *digits = word + (word[0] == '+' || word[0] == '-');
    bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');

    errno = 0;
    strtoll(word, &rest, hexadecimal ? 16 : 10);
    bool whole = rest != digits && (*rest == '\0' || strcmp(rest, "L") == 0 || strcmp(rest, "LL") == 0);
    if (whole && errno == ERANGE)
        return fail(E_USAGE, "%s:%d: %s does not fit; the largest whole number is %" PRId64, text->path, text->line, word, INT64_MAX);
    if (whole) {
        bool suffixed = *rest == 'L';
        copy(text, end);
        if (!suffixed)
            *text->out++ = 'L';
        return OK;
    }
    double value = strtod(word, &rest);
    bool point = !hexadecimal && rest != word && *rest == '\0' && strpbrk(word, "nNiI") == NULL;
    if (!point)
        return fail(E_USAGE, "%s:%d: \"%s\" is no number; right would be 10, 0.5 or 1e-5", text->path, text->line, word);
    if (value > 1.7e308 || value < -1.7e308)
        return fail(E_USAGE, "%s:%d: %s is too large for a number", text->path, text->line, word);
    copy(text, end);
    return OK;
}

/* Words outside strings: keys, true and false; copied as they stand. */
BOOT static void word(struct text *text)
{
    const char *end = text->in;
    while (end < text->end && (isalnum((unsigned char)*end) || strchr("_-*", *end) != NULL))
        end++;
    copy(text, end);
}

BOOT static enum status clean(struct text *text)
{
    while (text->in < text->end) {
        char c = *text->in;
        if (c == '#' || (c == '/' && (text->in[1] == '/' || text->in[1] == '*')))
            TRY(comment(text));
        else if (c == '"')
            TRY(string(text));
        else if (isdigit((unsigned char)c) || (c != '\0' && strchr("+-.", c) != NULL))
            TRY(number(text));
        else if (isalpha((unsigned char)c) || c == '*' || c == '_')
            word(text);
        else if (c == '@')
            return fail(E_USAGE, "%s:%d: @include: a job is one file", text->path, text->line);
        else if (c != '\0' && strchr("{}[]()", c) != NULL)
            return fail(E_USAGE, "%s:%d: \"%c\": a job has single values, no groups or lists", text->path, text->line, c);
        else if (c != '\0' && strchr(" \t\r\n=:;,", c) != NULL)
            copy(text, text->in + 1);
        else
            return fail(E_USAGE, "%s:%d: byte 0x%02x outside a string", text->path, text->line, (unsigned char)c);
    }
    *text->out++ = '\n';     /* libconfig wants the last comment to end with a line */
    *text->out = '\0';
    return OK;
}

BOOT static enum status read_all(const char *path, int file, char **bytes, size_t *count)
{
    struct stat state;
    if (fstat(file, &state) != 0 || !S_ISREG(state.st_mode))
        return fail(E_READ, "%s: is no regular file", path);
    if (state.st_size > JOB_FILE_BYTES)
        return fail(E_USAGE, "%s: has %lld bytes; a job file has at most %d", path, (long long)state.st_size, JOB_FILE_BYTES);
    char *text = malloc((size_t)state.st_size + 3);
    if (text == NULL)
        return fail(E_AGAIN, "%s: no memory for its %lld bytes", path, (long long)state.st_size);
    size_t used = 0;
    for (;;) {
        ssize_t got = read(file, text + used, (size_t)state.st_size - used);
        if (got < 0) {
            free(text);
            return fail(E_READ, "%s: %s", path, strerror(errno));
        }
        if (got == 0)
            break;
        used += (size_t)got;
    }
    memset(text + used, 0, 3);     /* the scanner may look two bytes ahead */
    *bytes = text;
    *count = used;
    return OK;
}

BOOT enum status jobtext_read(const char *path, char **out)
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);     /* a FIFO must not block */
    if (file < 0)
        return fail(E_READ, "%s: %s", path, strerror(errno));
    char *bytes = NULL;
    size_t count = 0;
    enum status status = read_all(path, file, &bytes, &count);
    close(file);
    TRY(status);
    if (count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        status = fail(E_USAGE, "%s:1: begins with a byte-order mark; save it as UTF-8 without one", path);
    *out = malloc(2 * count + 2);
    if (status == OK && *out == NULL)
        status = fail(E_AGAIN, "%s: no memory for its %zu bytes", path, count);
    if (status == OK) {
        struct text text = { .path = path, .in = bytes, .end = bytes + count, .out = *out, .line = 1 };
        status = clean(&text);
    }
    free(bytes);
    if (status != OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

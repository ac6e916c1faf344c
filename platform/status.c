/* status.c: see status.h. Any phase, any thread; allocates nothing. */
#include "platform/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *program = "nocturne";
static bool silent;
static _Thread_local char message[STATUS_MESSAGE_BYTES];

/* Copies text into line with control characters as \xNN, so that a hostile name cannot drive the terminal. */
static size_t escape(char *line, size_t room, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;
    for (; *text != '\0' && used + 5 < room; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte >= 0x20 && byte != 0x7f) {
            line[used++] = (char)byte;
            continue;
        }
        line[used++] = '\\';
        line[used++] = 'x';
        line[used++] = digits[byte >> 4];
        line[used++] = digits[byte & 15];
    }
    line[used] = '\0';
    return used;
}

/* One write, so that lines of several threads do not mix. A closed or full standard error is not an error of the run. */
static void print(const char *kind, const char *text)
{
    char line[2 * STATUS_MESSAGE_BYTES];
    int used = snprintf(line, sizeof line, "%s: %s%s\n", program, kind, text);
    size_t bytes = used < (int)sizeof line ? (size_t)used : sizeof line - 1;
    if (write(STDERR_FILENO, line, bytes) < 0)
        return;
}

enum status fail(enum status code, const char *format, ...)
{
    char raw[STATUS_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    escape(message, sizeof message, raw);
    if (!silent)
        print("", message);
    return code;
}

void note(const char *format, ...)
{
    char raw[STATUS_MESSAGE_BYTES], text[STATUS_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    escape(text, sizeof text, raw);
    if (!silent)
        print("note: ", text);
}

const char *status_message(void)
{
    return message;
}

void status_program(const char *name)
{
    program = name;
}

bool status_quiet(bool quiet)
{
    bool before = silent;
    silent = quiet;
    return before;
}

void assert_failed(const char *condition, const char *file, int line)
{
    char text[STATUS_MESSAGE_BYTES];
    snprintf(text, sizeof text, "bug: %s:%d: what must hold does not: %s", file, line, condition);
    print("", text);
    _exit(E_SOFTWARE);
}

/* status.h: error and exit codes, and the one function that words an error. Lowest of all: every other file may include it.
 *
 * (1) A function that can meet an error of the world returns enum status and is MUST_USE.
 * (2) Whoever knows the facts says them once, with fail(); callers only pass the code on, with TRY.
 * (3) fail() allocates nothing and may be called in every phase and from every thread. */
#ifndef PLATFORM_STATUS_H
#define PLATFORM_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers are sysexits.h's; they are the process's exit codes and are listed in README.md. */
enum status {
    OK = 0,
    E_USAGE = 64,    /* bad usage: the command line, the job file, or a layout that cannot be */
    E_DATA = 65,     /* bad data: a file's content is damaged or not what the image needs */
    E_READ = 66,     /* a file or folder cannot be read or written, or the disk is too small */
    E_SOFTWARE = 70, /* a bug: an assert, or an allocation after SEAL */
    E_AGAIN = 75,    /* try again: the cause is outside and may pass; a supervisor restarts the program */
};

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF(text, first) __attribute__((format(printf, text, first)))

/* Functions of the boot phase lie in a section of their own, which seal() makes inaccessible. */
#define BOOT __attribute__((section("boot_text"), noinline, cold))

#define TRY(call)                                                                                                                \
    do {                                                                                                                         \
        enum status try_status = (call);                                                                                         \
        if (try_status != OK)                                                                                                    \
            return try_status;                                                                                                   \
    } while (0)

/* What only a bug can break. Stays on in every build; ends the process with E_SOFTWARE. */
#define ASSERT(condition)                                                                                                        \
    do {                                                                                                                         \
        if (__builtin_expect(!(condition), 0))                                                                                   \
            assert_failed(#condition, __FILE__, __LINE__);                                                                       \
    } while (0)

#define ELEMENTS_OF(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

/* Says one error: a line "<program>: <message>" on standard error, kept for status_message. Control characters in the
 * message are written as \xNN, and it is cut at STATUS_MESSAGE_BYTES. Returns code, so that `return fail(E_DATA, ...)`
 * reads well. */
#define STATUS_MESSAGE_BYTES 1024
enum status fail(enum status code, const char *format, ...) PRINTF(2, 3);

/* A line "<program>: note: <message>" on standard error: something the user should know that is no error. */
void note(const char *format, ...) PRINTF(1, 2);

/* The last message of fail() on this thread; "" before the first. Owned by status.c, valid until the thread's next fail(). */
const char *status_message(void);

/* Names the program in messages; name must outlive the program. */
void status_program(const char *name);

/* Quiet: fail() and note() keep their message for status_message but print nothing. For tests of refusals, and for whoever tries what may
 * be refused. Returns what it was before. */
bool status_quiet(bool quiet);

_Noreturn void assert_failed(const char *condition, const char *file, int line);

#endif

/* test.h: the harness. A test file is a program; its tests are named by the sentence that must be true.
 *
 * Each test prints one line: "ok    file.name", "FAIL  file.name: where: what" or "skip  file.name: why". The exit status is 0
 * only if no test failed. An argument "file.name" runs that test alone; "file.name:seed=41" also sets test_seed(). */
#ifndef TEST_TEST_H
#define TEST_TEST_H

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test {
    const char *file, *name;
    void (*run)(void);
    struct test *next;
};

void test_register(struct test *test);
void test_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Ends the running test as skipped, with the reason; counted and printed. */
_Noreturn void test_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the running test at once if it has failed: for checks after which nothing else makes sense. */
void test_stop_if_failed(void);

/* The seed of this run: what the id says, else 1. */
uint64_t test_seed(void);

/* ../shared/<path>, or the test skips where it is absent. The string lives until the program ends. */
const char *test_shared(const char *path);

/* A fresh empty folder for this test, removed when the program ends without a failure. */
const char *test_folder(void);

/* The whole file in memory (malloc, one NUL behind it); bytes may be NULL. Fails the test and returns NULL if it cannot. */
char *test_read(const char *path, size_t *bytes);

/* A random number generator for tests: splitmix64. */
uint64_t test_random(uint64_t *state);
float test_uniform(uint64_t *state);     /* in [-1, 1) */

#define TEST(function)                                                                                                           \
    static void function(void);                                                                                                  \
    __attribute__((constructor)) static void function##_register(void)                                                           \
    {                                                                                                                            \
        static struct test test = { __FILE__, #function, function, NULL };                                                       \
        test_register(&test);                                                                                                    \
    }                                                                                                                            \
    static void function(void)

#define EXPECT(condition)                                                                                                        \
    do {                                                                                                                         \
        if (!(condition))                                                                                                        \
            test_fail(__FILE__, __LINE__, "expected %s", #condition);                                                            \
    } while (0)

#define EXPECT_EQ(seen, right)                                                                                                   \
    do {                                                                                                                         \
        long long expect_seen = (long long)(seen), expect_right = (long long)(right);                                            \
        if (expect_seen != expect_right)                                                                                         \
            test_fail(__FILE__, __LINE__, "%s is %lld, right is %lld", #seen, expect_seen, expect_right);                        \
    } while (0)

#define EXPECT_NEAR(seen, right, tolerance)                                                                                      \
    do {                                                                                                                         \
        double expect_seen = (seen), expect_right = (right);                                                                     \
        if (!(fabs(expect_seen - expect_right) <= (tolerance)))                                                                  \
            test_fail(__FILE__, __LINE__, "%s is %.9g, right is %.9g within %.3g", #seen, expect_seen, expect_right,             \
                      (double)(tolerance));                                                                                      \
    } while (0)

#define EXPECT_TEXT(seen, right)                                                                                                 \
    do {                                                                                                                         \
        const char *expect_seen = (seen), *expect_right = (right);                                                               \
        if (strcmp(expect_seen, expect_right) != 0)                                                                              \
            test_fail(__FILE__, __LINE__, "%s is \"%s\", right is \"%s\"", #seen, expect_seen, expect_right);                    \
    } while (0)

/* The text holds the part: for messages. */
#define EXPECT_HOLDS(text, part)                                                                                                 \
    do {                                                                                                                         \
        const char *expect_text = (text), *expect_part = (part);                                                                 \
        if (strstr(expect_text, expect_part) == NULL)                                                                            \
            test_fail(__FILE__, __LINE__, "\"%s\" does not hold \"%s\"", expect_text, expect_part);                              \
    } while (0)

#endif

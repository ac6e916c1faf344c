/* test.c: see test.h. */
#include "test/test.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

static struct test *tests;
static const struct test *running;
static jmp_buf leave;
static bool failed, skipped;
static int failures;
static uint64_t seed = 1;
static char *folders[4096]; /* given by test_folder, removed at the end */
static int folders_given;

enum { REPORTED_MOST = 10 }; /* lines a test prints before it only counts */

void test_register(struct test *test)
{
    struct test **end = &tests;
    while (*end != NULL)
        end = &(*end)->next;
    *end = test;
}

/* test/kernels/rmsnorm_test.c is "rmsnorm". */
static const char *short_name(const char *path)
{
    static char name[128];
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof name, "%s", slash != NULL ? slash + 1 : path);
    char *end = strstr(name, "_test.c");
    if (end != NULL)
        *end = '\0';
    return name;
}

void test_fail(const char *file, int line, const char *format, ...)
{
    static int reported;
    if (!failed)
        reported = 0;
    failed = true;
    if (reported++ >= REPORTED_MOST)
        return;
    printf("FAIL  %s.%s: %s:%d: ", short_name(running->file), running->name, file, line);
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

void test_skip(const char *format, ...)
{
    printf("skip  %s.%s: ", short_name(running->file), running->name);
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    skipped = true;
    longjmp(leave, 1);
}

void test_stop_if_failed(void)
{
    if (failed)
        longjmp(leave, 1);
}

uint64_t test_seed(void)
{
    return seed;
}

const char *test_shared(const char *path)
{
    char *whole = NULL;
    if (asprintf(&whole, "../shared/%s", path) < 0)
        abort();
    if (access(whole, R_OK) != 0)
        test_skip("%s is absent", whole);
    return whole;
}

const char *test_folder(void)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s/nocturne-test-XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    if (mkdtemp(folder) == NULL)
        test_fail(__FILE__, __LINE__, "no folder %s", folder);
    test_stop_if_failed();
    char *kept = strdup(folder);
    if (folders_given < (int)(sizeof folders / sizeof folders[0]))
        folders[folders_given++] = kept;
    return kept;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *walk)
{
    (void)about, (void)kind, (void)walk;
    remove(path);
    return 0;
}

/* What failed is left to be looked at. */
static void remove_folders(void)
{
    for (int i = 0; i < folders_given; i++)
        nftw(folders[i], remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

char *test_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        test_fail(__FILE__, __LINE__, "cannot read %s", path);
        return NULL;
    }
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *content = malloc(size + 1);
    size_t got = fread(content, 1, size, file);
    fclose(file);
    content[got] = '\0';
    if (bytes != NULL)
        *bytes = got;
    return content;
}

uint64_t test_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

float test_uniform(uint64_t *state)
{
    return (float)(int64_t)(test_random(state) >> 40) * 0x1p-23f - 1.0f;
}

/* True if the id on the command line, "file.name" or "file" with ":seed=n" behind it, means this test. */
static bool chosen(const struct test *test, const char *id)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s.%s", short_name(test->file), test->name);
    size_t length = strcspn(id, ":");
    return (strlen(whole) == length && strncmp(whole, id, length) == 0) ||
           (strlen(short_name(test->file)) == length && strncmp(whole, id, length) == 0);
}

/* In a function of its own: setjmp's caller keeps no variable that a longjmp could lose. */
static void run(const struct test *test)
{
    running = test;
    failed = skipped = false;
    if (setjmp(leave) == 0)
        test->run();
    if (failed)
        failures++;
    else if (!skipped)
        printf("ok    %s.%s\n", short_name(running->file), running->name);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *id = argc > 1 ? argv[1] : NULL;
    const char *at = id != NULL ? strstr(id, ":seed=") : NULL;
    if (at != NULL)
        seed = strtoull(at + strlen(":seed="), NULL, 10);
    int ran = 0;
    for (const struct test *test = tests; test != NULL; test = test->next) {
        if (id != NULL && !chosen(test, id))
            continue;
        ran++;
        run(test);
    }
    if (ran == 0) {
        printf("FAIL  %s: no such test in this program\n", id != NULL ? id : "(none)");
        return 1;
    }
    if (failures == 0)
        remove_folders();
    return failures > 0 ? 1 : 0;
}

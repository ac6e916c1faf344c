/* memory.c: see memory.h. Boot.
 *
 * (1) What cannot be read is no limit: a machine without control groups has none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/host/memory.h"
#include "platform/status.h"

enum { PATH_BYTES = 4096 + 256 };

/* Where a version of control groups keeps its figures. */
struct version {
    const char *mount, *limit, *used, *inactive, *active;
};
static const struct version version_1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
                                          "total_active_file" };
static const struct version version_2 = { "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", "active_file" };

/* The number that stands in path after key and white space ("" for a file that holds one number), or -1. */
BOOT static int64_t number_after(const char *path, const char *key)
{
    char line[256];
    long long number = -1;
    size_t length = strlen(key);
    FILE *file = fopen(path, "re");
    while (file != NULL && number < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, length) != 0 || sscanf(line + length, "%lld", &number) != 1)
            number = -1;    /* another line, or one whose key goes on */
    if (file != NULL)
        fclose(file);
    return number;
}

BOOT static int64_t figure(const char *root, const struct version *version, const char *group, const char *name, const char *key)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s%s%s/%s", root, version->mount, group, name);
    return length < (int)sizeof path ? number_after(path, key) : -1;
}

/* The least that group and those above it have left. group is cut at its slashes on the way up. */
BOOT static int64_t left_in_groups(const char *root, const struct version *version, char *group)
{
    int64_t least = INT64_MAX;
    for (;;) {
        int64_t limit = figure(root, version, group, version->limit, ""), used = figure(root, version, group, version->used, "");
        if (limit >= 0 && used >= 0) {
            int64_t inactive = figure(root, version, group, "memory.stat", version->inactive);
            int64_t active = figure(root, version, group, "memory.stat", version->active);
            int64_t needed = used - (inactive > 0 ? inactive : 0) - (active > 0 ? active : 0);      /* the counters are of different moments */
            int64_t left = limit - (needed > 0 ? needed : 0);
            least = left < least ? left : least;
        }
        char *slash = strrchr(group, '/');
        if (slash == NULL)
            return least < 0 ? 0 : least;
        *slash = '\0';
    }
}

BOOT int64_t memory_available(const char *root)
{
    char path[PATH_BYTES], line[PATH_BYTES];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    int64_t kib = number_after(path, "MemAvailable:");
    int64_t least = kib < 0 ? INT64_MAX : kib * 1024;

    /* Lines are "number:controllers:path"; version 2 has number 0 and no controllers. */
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (group == NULL)
            continue;
        *group++ = '\0';
        bool second = controllers[1] == '\0', first = strcmp(controllers + 1, "memory") == 0;
        if (!first && !second)
            continue;
        int64_t left = left_in_groups(root, second ? &version_2 : &version_1, group);
        least = left < least ? left : least;
    }
    if (file != NULL)
        fclose(file);
    return least;
}

BOOT int64_t memory_promise(struct memory_ledger *ledger, int64_t available, int64_t bytes)
{
    if (ledger->promised == 0)
        ledger->at_first = available;
    int64_t left = ledger->at_first - ledger->promised;
    left = (available < left ? available : left) - MEMORY_SPARE_BYTES;
    left = left < 0 ? 0 : left;
    if (bytes <= left)
        ledger->promised += bytes;
    return left;
}

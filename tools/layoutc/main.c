/* main.c: layoutc, one program an image: its headers are compiled in, its answer is tables.c.
 *
 * Build host, in the project's top folder. Exit status: 0; 64 with one line where the layout cannot be. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/layoutc/draft.h"
#include "tools/layoutc/emit.h"
#include "tools/layoutc/report.h"

static const char usage[] = "usage: layoutc TABLES.C    writes the tables\n"
                            "       layoutc --size      shows the memory map";

static enum status write_tables(const char *path, const struct draft *draft)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return fail(E_READ, "%s: cannot be written: %s", path, strerror(errno));
    emit_tables(file, draft);
    bool bad = ferror(file) != 0;
    return fclose(file) != 0 || bad ? fail(E_READ, "%s: cannot be written: %s", path, strerror(errno)) : OK;
}

/* For make, beside the tables: the file that they come from and no compiler saw. */
static enum status write_dependency(const char *path, const char *schedule_file)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.d", path);
    FILE *file = fopen(name, "w");
    if (file == NULL)
        return fail(E_READ, "%s: cannot be written: %s", name, strerror(errno));
    fprintf(file, "%s: %s\n%s:\n", path, schedule_file, schedule_file);
    return fclose(file) != 0 ? fail(E_READ, "%s: cannot be written: %s", name, strerror(errno)) : OK;
}

int main(int argc, char **argv)
{
    struct input input;
    struct draft draft;
    status_program("layoutc");
    if (argc != 2)
        return fail(E_USAGE, "%s", usage);
    TRY(input_read(&input));
    enum status status = draft_make(&draft, &input);
    if (status == OK && strcmp(argv[1], "--size") == 0)
        report_size(stdout, &draft);
    else if (status == OK)
        status = write_tables(argv[1], &draft);
    if (status == OK && input.layout.schedule == ORDER_TABLE && strcmp(argv[1], "--size") != 0)
        status = write_dependency(argv[1], input.layout.schedule_file);
    draft_free(&draft);
    return status;
}

/* outputs.c: see outputs.h. Files are compared by device and inode, so that links and other ways to write a path do not matter. */
#include "tools/pack/outputs.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096 };

struct output {
    const char *option;
    char path[PATH_BYTES];
};

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static enum status check_input(const struct output *output, const struct stat *there, const char *input)
{
    struct stat about;
    if (stat(input, &about) == 0 && same_file(&about, there))
        return fail(E_USAGE, "%s: %s would write over the input %s", output->option, output->path, input);
    return OK;
}

static enum status check_output(const struct output *output, const struct options *options, const struct rows *rows)
{
    static const char *const model[] = { "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja" };
    struct stat there;
    if (stat(output->path, &there) != 0)
        return OK;
    if (!S_ISREG(there.st_mode))
        return fail(E_READ, "%s: %s is there and is no plain file; it is not written over", output->option, output->path);
    for (int i = 0; i < rows->files; i++)
        TRY(check_input(output, &there, rows->file[i].path));
    for (int64_t i = 0; i < ELEMENTS_OF(model); i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s/%s", options->tokenizer, model[i]);
        TRY(check_input(output, &there, path));
    }
    return options->template_name != NULL ? check_input(output, &there, options->template_name) : OK;
}

/* Whether two paths name one file, which need not be there yet. */
static bool same_place(const char *a, const char *b)
{
    const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
    char folder_a[PATH_BYTES], folder_b[PATH_BYTES];
    struct stat about_a, about_b;
    if (stat(a, &about_a) == 0 && stat(b, &about_b) == 0 && same_file(&about_a, &about_b))
        return true;
    snprintf(folder_a, sizeof folder_a, "%.*s", slash_a == NULL ? 1 : (int)(slash_a - a) + 1, slash_a == NULL ? "." : a);
    snprintf(folder_b, sizeof folder_b, "%.*s", slash_b == NULL ? 1 : (int)(slash_b - b) + 1, slash_b == NULL ? "." : b);
    return strcmp(slash_a == NULL ? a : slash_a + 1, slash_b == NULL ? b : slash_b + 1) == 0 && stat(folder_a, &about_a) == 0 &&
           stat(folder_b, &about_b) == 0 && same_file(&about_a, &about_b);
}

enum status outputs_check(const struct options *options, const struct rows *rows)
{
    bool held = options->held_ratio > 0 || options->held_files.count > 0;
    struct output output[4] = { { "--out", "" }, { "--out", "" }, { "--held", "" }, { "--held", "" } };
    for (int i = 0; i < 4; i++)
        if (snprintf(output[i].path, PATH_BYTES, "%s%s", i < 2 ? options->out : options->held_path, i % 2 == 1 ? ".tmp" : "") >= PATH_BYTES)
            return fail(E_USAGE, "%s: the path is longer than %d bytes", output[i].option, PATH_BYTES - 5);
    for (int i = 0; i < (held ? 4 : 2); i++)
        TRY(check_output(&output[i], options, rows));
    for (int a = 0; a < 2; a++)
        for (int b = 2; held && b < 4; b++)
            if (same_place(output[a].path, output[b].path))
                return fail(E_USAGE, "--out %s and --held %s are one file", output[a].path, output[b].path);
    return OK;
}

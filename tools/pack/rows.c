/* rows.c: see rows.h. */
#include "tools/pack/rows.h"

#include "tools/pack/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static void put_row(struct rows *rows, size_t offset, size_t bytes, uint64_t number, uint64_t line, const char *fault)
{
    MEMORY_ROOM(rows->row, rows->count, rows->room);
    if (bytes > LINE_BYTES_MOST && fault == NULL)
        fault = ROW_TOO_LONG;
    rows->row[rows->count++] = (struct row){ .offset = offset,
                                             .bytes = bytes > LINE_BYTES_MOST ? 0 : (uint32_t)bytes,
                                             .file = (uint32_t)rows->files,
                                             .number = number,
                                             .line = line,
                                             .fault = fault,
                                             .uses = 1 };
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void find_lines(struct rows *rows, const struct source *source, size_t at)
{
    uint64_t line = 1;
    while (at < source->bytes) {
        const char *begin = source->data + at, *feed = memchr(begin, '\n', source->bytes - at);
        size_t bytes = feed != NULL ? (size_t)(feed - begin) : source->bytes - at, blank = 0;
        size_t next = at + bytes + 1;
        if (bytes > 0 && begin[bytes - 1] == '\r')
            bytes--;
        while (blank < bytes && is_space(begin[blank]))
            blank++;
        if (blank < bytes)
            put_row(rows, at, bytes, line, line, NULL);
        line++;
        at = next;
    }
}

/* A walk over a JSON array that knows strings and brackets and nothing else: elements are parsed later. */
struct walk {
    const char *data;
    size_t bytes, at;
    uint64_t line;
};

static void walk_space(struct walk *walk)
{
    for (; walk->at < walk->bytes && is_space(walk->data[walk->at]); walk->at++)
        walk->line += walk->data[walk->at] == '\n';
}

/* To the comma or bracket behind the element at hand, or to the end of the file. */
static void walk_element(struct walk *walk)
{
    int64_t depth = 0;
    bool quoted = false;
    for (; walk->at < walk->bytes; walk->at++) {
        char c = walk->data[walk->at];
        walk->line += c == '\n';
        if (quoted) {
            if (c == '\\' && walk->at + 1 < walk->bytes)
                walk->at++;
            else if (c == '"')
                quoted = false;
            continue;
        }
        if (c == '"')
            quoted = true;
        else if (c == '[' || c == '{')
            depth++;
        else if ((c == ']' || c == '}') && depth-- == 0)
            return;
        else if (c == ',' && depth == 0)
            return;
    }
}

static void find_elements(struct rows *rows, const struct source *source, size_t at)
{
    struct walk walk = { .data = source->data, .bytes = source->bytes, .at = at, .line = 1 };
    uint64_t number = 0;
    walk_space(&walk);
    walk.at++; /* the bracket */
    for (;;) {
        walk_space(&walk);
        size_t begin = walk.at;
        uint64_t line = walk.line;
        walk_element(&walk);
        size_t end = walk.at;
        while (end > begin && is_space(walk.data[end - 1]))
            end--;
        char behind = walk.at < walk.bytes ? walk.data[walk.at] : '\0';
        bool last = behind == ']';
        if (end > begin)
            put_row(rows, begin, end - begin, ++number, line, NULL);
        else if (!last || number > 0)
            put_row(rows, begin, 0, number + 1, line, "an element of the array is missing");
        if (behind != ',' && !last) {
            put_row(rows, walk.at, 0, number + 1, walk.line, "the array has no end: cut short?");
            return;
        }
        walk.at++;
        if (last)
            break;
    }
    walk_space(&walk);
    if (walk.at < walk.bytes)
        put_row(rows, walk.at, 0, number + 1, walk.line, "something follows the array's end");
}

/* Marks what the share takes: see rule (2) of rows.h. */
struct draw {
    uint64_t key;
    int64_t row;
};

static int by_key(const void *a, const void *b)
{
    const struct draw *one = a, *two = b;
    if (one->key != two->key)
        return one->key < two->key ? -1 : 1;
    return (one->row > two->row) - (one->row < two->row);
}

static void take_share(struct rows *rows, const struct file *file, uint64_t seed)
{
    uint32_t times = (uint32_t)(file->share / file->rows);
    int64_t rest = file->share % file->rows;
    struct draw *draw = memory_take((size_t)file->rows * sizeof *draw);
    for (int64_t i = 0; i < file->rows; i++) {
        draw[i] = (struct draw){ XXH64(&i, sizeof i, seed + (uint64_t)rows->files), i };
        rows->row[file->first + i].uses = times;
    }
    qsort(draw, (size_t)file->rows, sizeof *draw, by_key);
    for (int64_t i = 0; i < rest; i++)
        rows->row[file->first + draw[i].row].uses++;
    free(draw);
}

/* Parts name into path and share. */
static enum status read_name(struct file *file, const char *name)
{
    const char *mark = strrchr(name, '#');
    file->name = name;
    file->share = -1;
    file->path = memory_take(strlen(name) + 1);
    strcpy(file->path, name);
    if (mark == NULL || mark == name || access(name, F_OK) == 0) /* a "#" may be part of a real name */
        return OK;
    char *end;
    long long share = strtoll(mark + 1, &end, 10);
    if (mark[1] < '0' || mark[1] > '9' || *end != '\0' || share < 1 || share > 1000000000)
        return fail(E_USAGE, "%s: the share behind \"#\" is a number of rows, 1 to 1000000000", name);
    file->share = share;
    file->path[mark - name] = '\0';
    return OK;
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), part = strlen(end);
    return length >= part && strcmp(text + length - part, end) == 0;
}

static enum status find_rows(struct rows *rows, struct file *file, uint64_t seed)
{
    TRY(source_open(&file->source, file->path, 0));
    const struct source *source = &file->source;
    const char *other = source_looks_like(source);
    if (other != NULL)
        return fail(E_DATA, "%s: this looks like %s, not like text", file->path, other);
    size_t at = 0;
    if (source->bytes >= 3 && memcmp(source->data, "\xef\xbb\xbf", 3) == 0) {
        note("%s: begins with a byte order mark, which is skipped", file->path);
        at = 3;
    }
    size_t first = at;
    while (first < source->bytes && is_space(source->data[first]))
        first++;
    file->form = ends_in(file->path, ".txt") ? FILE_TEXT : first < source->bytes && source->data[first] == '[' ? FILE_ARRAY : FILE_LINES;
    file->first = rows->count;
    if (file->form == FILE_ARRAY)
        find_elements(rows, source, at);
    else
        find_lines(rows, source, at);
    file->rows = rows->count - file->first;
    if (file->rows == 0)
        return fail(E_DATA, "%s: no rows: %s", file->path,
                    source->bytes == 0       ? "the file is empty"
                    : first == source->bytes ? "the file is empty but for white space"
                                             : "the file is empty but for [ ]");
    if (file->share >= 0)
        take_share(rows, file, seed);
    return OK;
}

enum status rows_add(struct rows *rows, const char *name, bool held, uint64_t seed)
{
    struct file file = { .held = held };
    enum status status = read_name(&file, name);
    if (status == OK)
        status = find_rows(rows, &file, seed);
    rows->file = memory_grow(rows->file, (size_t)(rows->files + 1) * sizeof *rows->file);
    rows->file[rows->files++] = file;
    return status;
}

void rows_close(struct rows *rows)
{
    for (int i = 0; i < rows->files; i++) {
        source_close(&rows->file[i].source);
        free(rows->file[i].path);
    }
    free(rows->file);
    free(rows->row);
    *rows = (struct rows){ 0 };
}

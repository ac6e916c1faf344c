/* rows.h: where the rows of the input files begin and end; which of them are taken.
 *
 * A file is read by its content: one whose name ends in .txt holds a document a line; else, if its first character is "[", it is a JSON array
 * and each element a row; else each line that is not blank is a row in JSON. A byte order mark at the start is skipped and said.
 * (1) Nothing of a row is kept but its place: a file of any size costs 48 bytes a row, and blank lines nothing.
 * (2) A share "#n" behind a name takes n rows: each as often as n goes over their number, and of the rest a sample without repetition that
 *     hangs on the seed and on the file's place among the files alone; in the file's order. */
#ifndef TOOLS_PACK_ROWS_H
#define TOOLS_PACK_ROWS_H

#include "tools/pack/source.h"

enum { LINE_BYTES_MOST = 64 << 20 };
#define ROW_TOO_LONG "longer than 64 MiB" /* a row's fault */

enum file_form { FILE_LINES, FILE_ARRAY, FILE_TEXT };

struct file {
    const char *name; /* as given, with its share */
    char *path;
    struct source source;
    enum file_form form;
    int64_t share;       /* -1: all */
    bool held;           /* of --held-out-file */
    int64_t first, rows; /* its rows */
};
struct row {
    uint64_t offset;
    uint32_t bytes;
    uint32_t file;
    uint64_t number;   /* line, or element of an array, from 1 */
    uint64_t line;     /* where it begins, from 1 */
    const char *fault; /* not NULL: the file is damaged here, and how */
    uint32_t uses;     /* how often the share takes it; 0: not */
};
struct rows {
    struct file *file;
    int files;
    struct row *row;
    int64_t count, room;
};

/* Opens one more file and finds its rows. name may end in "#n". Returns OK; E_USAGE (share), E_READ, E_DATA (no rows, or no text at all). */
MUST_USE enum status rows_add(struct rows *rows, const char *name, bool held, uint64_t seed);
void rows_close(struct rows *rows);

/* The row's bytes. */
static inline const char *row_data(const struct rows *rows, const struct row *row)
{
    return rows->file[row->file].source.data + row->offset;
}

#endif

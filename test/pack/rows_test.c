/* rows_test.c: rows of every kind of file are found, damage is named, shares are drawn as stated (cases J1 to J10). */
#include "test/test.h"
#include "tools/pack/rows.h"

#include <unistd.h>

static const char *put_bytes(const char *name, const char *bytes, size_t length)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "wb");
    fwrite(bytes, 1, length, file);
    fclose(file);
    return strdup(path);
}

static const char *put(const char *name, const char *text)
{
    return put_bytes(name, text, strlen(text));
}

/* The rows as "number@line:bytes" or "number!fault", with commas between. */
static char *listed(const char *path)
{
    struct rows rows = { 0 };
    char *out = calloc(1, 4096);
    enum status status = rows_add(&rows, path, false, 1);
    if (status != OK) {
        snprintf(out, 4096, "%d %s", status, strrchr(status_message(), '/'));
    }
    for (int64_t r = 0; r < rows.count && status == OK; r++) {
        const struct row *row = &rows.row[r];
        size_t used = strlen(out);
        if (row->fault != NULL)
            snprintf(out + used, 4096 - used, "%s%d!%s", r > 0 ? "," : "", (int)row->number, row->fault);
        else
            snprintf(out + used, 4096 - used, "%s%d@%d:%.*s", r > 0 ? "," : "", (int)row->number, (int)row->line, (int)row->bytes,
                     row_data(&rows, row));
    }
    rows_close(&rows);
    return out;
}

TEST(rows_are_found_in_lines_arrays_and_texts)
{
    static const struct {
        const char *name, *text, *right;
    } cases[] = {
        { "a.jsonl", "{}\n{1}\n", "1@1:{},2@2:{1}" },
        { "a.jsonl", "{}", "1@1:{}" },                             /* J2: no line feed at the end */
        { "a.jsonl", "{}\r\n\r\n \t\n{1}\r\n", "1@1:{},4@4:{1}" }, /* J2: CRLF, blank lines */
        { "a.jsonl", "\xef\xbb\xbf{}\n", "1@1:{}" },               /* J4 */
        { "a.json", "[\n {\"a\":\n \"]\\\"},\"},\n{}\n]\n", "1@2:{\"a\":\n \"]\\\"},\"},2@4:{}" },
        { "a.jsonl", " [1,[2,3],{\"b\":[]}] ", "1@1:1,2@1:[2,3],3@1:{\"b\":[]}" }, /* J5: the array's rule */
        { "a.json", "[{},]", "1@1:{},2!an element of the array is missing" },
        { "a.json", "[{},,{}]", "1@1:{},2!an element of the array is missing,2@1:{}" },
        { "a.json", "[{}", "1@1:{},2!the array has no end: cut short?" },
        { "a.json", "[{},", "1@1:{},2!an element of the array is missing,2!the array has no end: cut short?" },
        { "a.json", "[{}] x", "1@1:{},2!something follows the array's end" },
        { "a.json", "[{}}]", "1@1:{},2!the array has no end: cut short?" },
        { "a.txt", "one\n\n[two\r\n", "1@1:one,3@3:[two" },
        { "a.jsonl", "", "65 /a.jsonl: no rows: the file is empty" }, /* J1 */
        { "a.jsonl", "\n \n\r\n", "65 /a.jsonl: no rows: the file is empty but for white space" },
        { "a.jsonl", "\xef\xbb\xbf", "65 /a.jsonl: no rows: the file is empty but for white space" },
        { "a.json", "[ ]", "65 /a.json: no rows: the file is empty but for [ ]" },
        { "a.jsonl", "PK\003\004", "65 /a.jsonl: this looks like a zip archive, not like text" },
        { "a.jsonl", "\xff\xfe{\0", "65 /a.jsonl: this looks like UTF-16 text, not like text" },
    };
    status_quiet(true);
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        char *seen = listed(put(cases[i].name, cases[i].text));
        EXPECT_TEXT(seen, cases[i].right);
        free(seen);
    }
}

TEST(what_cannot_be_read_is_said)
{
    struct rows rows = { 0 };
    status_quiet(true);
    EXPECT_EQ(rows_add(&rows, "/nowhere/a.jsonl", false, 1), E_READ);
    EXPECT_EQ(rows_add(&rows, "/dev/zero", false, 1), E_READ);
    EXPECT_EQ(rows_add(&rows, test_folder(), false, 1), E_READ);
    EXPECT_EQ(rows_add(&rows, "a.jsonl#0", false, 1), E_USAGE);
    EXPECT_EQ(rows_add(&rows, "a.jsonl#10k", false, 1), E_USAGE);
    EXPECT_EQ(rows_add(&rows, "a.jsonl#", false, 1), E_USAGE);
    rows_close(&rows);
}

TEST(a_line_of_a_gibibyte_is_refused_without_reading_it)
{
    const char *path = put("a.jsonl", "{\"text\": \"");
    EXPECT(truncate(path, (1LL << 30) + 1) == 0); /* J10: a hole in the file */
    FILE *file = fopen(path, "ab");
    fputs("\n{}\n", file);
    fclose(file);
    char *seen = listed(path);
    EXPECT_TEXT(seen, "1!longer than 64 MiB,2@2:{}");
    free(seen);
}

TEST(blank_lines_cost_nothing)
{
    enum { LINES = 10000000 }; /* J10 */
    char *text = malloc(LINES + 2);
    memset(text, '\n', LINES);
    memcpy(text + LINES, "{}", 2);
    struct rows rows = { 0 };
    EXPECT_EQ(rows_add(&rows, put_bytes("a.jsonl", text, LINES + 2), false, 1), OK);
    EXPECT_EQ(rows.count, 1);
    EXPECT_EQ(rows.room, 16);
    EXPECT_EQ(rows.row[0].line, LINES + 1);
    rows_close(&rows);
    free(text);
}

/* How often the share of a file of rows lines takes each, as digits. */
static char *drawn(const char *path, int share, uint64_t seed, int before)
{
    struct rows rows = { 0 };
    char name[600];
    for (int i = 0; i < before; i++)
        EXPECT_EQ(rows_add(&rows, path, false, seed), OK);
    snprintf(name, sizeof name, "%s#%d", path, share);
    EXPECT_EQ(rows_add(&rows, name, false, seed), OK);
    const struct file *file = &rows.file[before];
    char *out = calloc(1, (size_t)file->rows + 1);
    for (int64_t r = 0; r < file->rows; r++)
        out[r] = (char)('0' + rows.row[file->first + r].uses);
    rows_close(&rows);
    return out;
}

TEST(a_share_is_a_sample_by_the_seed_and_more_than_all_comes_again)
{
    const char *one = put("a.jsonl", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"), *two = put("b.jsonl", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
    char *few = drawn(one, 4, 1, 0), *same = drawn(two, 4, 1, 0), *other = drawn(one, 4, 2, 0), *later = drawn(one, 4, 1, 1);
    char *all = drawn(one, 10, 1, 0), *more = drawn(one, 24, 1, 0);
    int taken = 0, sum = 0;
    for (int r = 0; r < 10; r++) {
        taken += few[r] - '0';
        EXPECT(few[r] == '0' || few[r] == '1');
        EXPECT(more[r] == '2' || more[r] == '3');
        EXPECT_EQ(more[r] - '2', few[r] - '0'); /* the rest of 24 is drawn as 4 are */
        sum += more[r] - '0';
    }
    EXPECT_EQ(taken, 4);
    EXPECT_EQ(sum, 24);
    EXPECT_TEXT(all, "1111111111");
    EXPECT_TEXT(same, few);
    EXPECT(strcmp(other, few) != 0);
    EXPECT(strcmp(later, few) != 0);
    free(few), free(same), free(other), free(later), free(all), free(more);
}

TEST(a_mark_in_a_real_name_is_no_share)
{
    struct rows rows = { 0 };
    EXPECT_EQ(rows_add(&rows, put("a#3", "1\n2\n3\n4\n"), false, 1), OK);
    EXPECT_EQ(rows.file[0].share, -1);
    rows_close(&rows);
}

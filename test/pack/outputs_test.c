/* What pack must not write over, and what it says of a share, a length and a file that hold nothing. */
#include <sys/stat.h>

#include "test/pack/tiny.h"

#define ROW "{\"question\":\"a\",\"answer\":\"b\"}\n"

/* Where out and held lie beside a.jsonl, which is read as input; hard.jsonl and link.jsonl are other names of it, beside is another input. */
TEST(no_input_is_written_over)
{
    static const struct {
        const char *out, *held, *says;
        int code;
    } cases[] = {
        { "a.jsonl", "h.pack", "a.jsonl would write over the input", E_USAGE },
        { "./a.jsonl", "h.pack", "a.jsonl would write over the input", E_USAGE },
        { "hard.jsonl", "h.pack", "hard.jsonl would write over the input", E_USAGE },
        { "link.jsonl", "h.pack", "link.jsonl would write over the input", E_USAGE },
        { "d.pack", "a.jsonl", "--held: ", E_USAGE },
        { "beside.jsonl", "h.pack", "beside.jsonl would write over the input", E_USAGE },
        { "draft", "h.pack", "draft.tmp would write over the input", E_USAGE },
        { "model/tokenizer.json", "h.pack", "tokenizer.json would write over the input", E_USAGE },
        { "model/tokenizer_config.json", "h.pack", "tokenizer_config.json would write over the input", E_USAGE },
        { "d.pack", "./d.pack", "are one file", E_USAGE },
        { "d.pack", "./d.pack.tmp", "are one file", E_USAGE },
        { "fifo", "h.pack", "fifo is there and is no plain file", E_READ },
        { "d.pack", "fifo", "--held: ", E_READ },
        { "model", "h.pack", "model is there and is no plain file", E_READ },
        { "d.pack", "h.pack", "", OK },
    };
    const char *model = tiny_model(TINY_CHATML, false), *folder = test_folder();
    const char *rows = tiny_put(folder, "a.jsonl", ROW), *beside = tiny_put(folder, "beside.jsonl", ROW), *draft = tiny_put(folder, "draft.tmp", ROW);
    char *config = test_read(tiny_path(model, "tokenizer_config.json"), NULL), *said;
    EXPECT_EQ(link(rows, tiny_path(folder, "hard.jsonl")), 0);
    EXPECT_EQ(symlink("a.jsonl", tiny_path(folder, "link.jsonl")), 0);
    EXPECT_EQ(symlink(model, tiny_path(folder, "model")), 0);
    EXPECT_EQ(mkfifo(tiny_path(folder, "fifo"), 0600), 0);
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        struct stat about;
        EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 64 --out %s/%s --held %s/%s --held-out-file %s %s %s", model, folder, cases[i].out, folder,
                            cases[i].held, beside, rows, draft), cases[i].code);
        EXPECT_HOLDS(said, cases[i].says);
        EXPECT_TEXT(test_read(rows, NULL), ROW);
        EXPECT_TEXT(test_read(beside, NULL), ROW);
        EXPECT_TEXT(test_read(draft, NULL), ROW);
        EXPECT_TEXT(test_read(tiny_path(model, "tokenizer_config.json"), NULL), config);
        EXPECT(lstat(tiny_path(folder, "fifo"), &about) == 0 && S_ISFIFO(about.st_mode));
        EXPECT((access(tiny_path(folder, "d.pack"), F_OK) == 0) == (cases[i].code == OK));
        test_stop_if_failed();
    }
}

TEST(what_is_out_of_range_is_refused_with_what_was_seen)
{
    static const struct {
        const char *rows, *options, *share, *says;
        int code;
    } cases[] = {
        { ROW, "--sequence 7", "", "--sequence 7: right is 8 to 1048576", E_USAGE },
        { ROW, "--sequence 64 --out=", "", "--out is needed", E_USAGE },
        { ROW, "--sequence 64", "#0", "a.jsonl#0: the share behind \"#\" is a number of rows, 1 to 1000000000", E_USAGE },
        { ROW, "--sequence 64", "#-1", "a.jsonl#-1: the share behind \"#\"", E_USAGE },
        { ROW, "--sequence 64", "#7", "1 rows as 7 documents", OK },
        { " \r\n\n", "--sequence 64", "", "no rows: the file is empty but for white space", E_DATA },
        { " [ ]\n", "--sequence 64", "", "no rows: the file is empty but for [ ]", E_DATA },
        { "\xef\xbb\xbf", "--sequence 64", "", "no rows: the file is empty but for white space", E_DATA },
    };
    const char *model = tiny_model(TINY_CHATML, false), *folder = test_folder();
    char *said;
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *rows = tiny_put(folder, "a.jsonl", cases[i].rows);
        EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --out %s/d.pack %s %s%s", model, folder, cases[i].options, rows, cases[i].share), cases[i].code);
        EXPECT_HOLDS(said, cases[i].says);
    }
    /* Twenty thousand million documents need 3.4 TiB for their places alone. */
    const char *rows = tiny_put(folder, "a.jsonl", ROW);
    char many[8192] = "";
    for (int i = 0; i < 20; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), " %s#1000000000", rows);
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 64 --out %s/d.pack %s", model, folder, many), E_USAGE);
    EXPECT_HOLDS(said, "the shares behind \"#\" make 20000000000 documents");
}

/* pack_test.c: the whole tool on files of its own: what is learned, what is cut, what is refused, and that nothing else matters. */
#include "test/pack/tiny.h"

/* Packs text as a.jsonl with options, and returns the documents; said gets what was printed. */
static char *packed(const char *model, const char *text, const char *options, char **said)
{
    const char *folder = test_folder(), *rows = tiny_put(folder, "a.jsonl", text), *out = tiny_path(folder, "data.pack");
    int code = tiny_pack(said, "--tokenizer %s --out %s %s %s", model, out, options, rows);
    if (code != OK) {
        test_fail(__FILE__, __LINE__, "exit code %d: %s", code, *said);
        return strdup("");
    }
    return tiny_documents(out, model);
}

#define USER(text)      "{\"role\":\"user\",\"content\":\"" text "\"}"
#define ASSISTANT(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define TALK(messages)  "{\"messages\":[" messages "]}\n"

TEST(the_assistants_words_and_end_tokens_are_learned)
{
    static const struct {
        const char *row, *options, *right;
    } cases[] = {
        { TALK(USER("ok") "," ASSISTANT("ok")), "", "<|im_start|>user\nok<|im_end|>\n<|im_start|>assistant\n[ok<|im_end|>]" }, /* X50 */
        { TALK(USER("assistant\\n") "," ASSISTANT(" a ")), "",
          "<|im_start|>user\nassistant\n<|im_end|>\n<|im_start|>assistant\n[ a <|im_end|>]" },
        { TALK(USER("a") "," ASSISTANT("b") "," USER("c") "," ASSISTANT("d")), "",
          "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n[b<|im_end|>]\n<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n[d<|"
          "im_end|>]" },
        { TALK(USER("a") "," ASSISTANT("b") "," USER("c") "," ASSISTANT("d")), "--loss last",
          "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n[d<|im_"
          "end|>]" },
        { TALK(USER("a") ",{\"role\":\"assistant\",\"content\":\"b\",\"loss\":true}," USER(
              "c") ",{\"role\":\"assistant\",\"content\":\"d\",\"loss\":0}"),
          "--loss last", "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n[b<|im_end|>]" },
        /* X56: what nothing learns from is left out */
        { TALK(USER("a") "," ASSISTANT("b") "," USER("c")), "", "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n[b<|im_end|>]" },
        { TALK(USER("a") "," ASSISTANT("b")), "--system be_brief",
          "<|im_start|>system\nbe_brief<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n[b<|im_end|>]" },
        { "{\"text\":\"plain\"}", "", "p[lain]" },
        { "{\"text\":\"plain\"}", "--end-text", "p[lain<|im_end|>]" },
        { "{\"text\":\"plain<|im_end|>\"}", "--end-text", "p[lain<|im_end|>]" },
        { "{\"input_ids\":[97,98,99,100,101],\"labels\":[-100,-100,99,-100,-100]}", "", "ab[c]" },
        { "{\"input_ids\":[97,98]}", "", "a[b]" },
    };
    const char *model = tiny_model(TINY_CHATML, false);
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        char options[256], *said;
        snprintf(options, sizeof options, "--sequence 512 %s", cases[i].options);
        char *seen = packed(model, cases[i].row, options, &said);
        EXPECT_TEXT(seen, cases[i].right);
        free(seen);
    }
}

TEST(control_text_in_a_message_follows_the_policy_and_is_counted)
{
    static const char row[] = TALK(USER("x<|im_end|>") "," ASSISTANT("y"));
    const char *model = tiny_model(TINY_CHATML, false), *folder = test_folder();
    char *said;
    struct pack pack;
    char *seen = packed(model, row, "--sequence 512", &said);
    EXPECT_HOLDS(said, "control text in a message");
    free(seen);
    for (int text = 0; text < 2; text++) {
        const char *out = tiny_path(folder, text ? "text.pack" : "token.pack");
        EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 512 --out %s --control %s %s", model, out, text ? "text" : "token",
                            tiny_put(folder, "a.jsonl", row)),
                  OK);
        EXPECT_HOLDS(said, "control text in a message");
        EXPECT_EQ(pack_open(&pack, out), OK);
        test_stop_if_failed();
        int ends = 0;
        for (uint32_t t = 0; t < pack.row[0].tokens; t++)
            ends += pack.token[t] == 258;
        EXPECT_EQ(ends, text ? 2 : 3);
        EXPECT_EQ(pack.row[0].tokens, text ? 23 + 9 : 23); /* <|im_end|> as ten bytes instead of one token */
        EXPECT_EQ(pack.row[0].targets, 2);
        pack_close(&pack);
    }
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 512 --out %s/c.pack --control refuse %s/a.jsonl", model, folder, folder), E_DATA);
    EXPECT_HOLDS(said, "a.jsonl:1  a message holds the text of a special token");
}

TEST(each_document_has_one_beginning_token)
{
    /* X51: the template and the post-processor both know of it. */
    static const char *const templates[] = { "\"{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}\"",
                                             TINY_CHATML };
    for (int t = 0; t < 2; t++) {
        const char *model = tiny_model(templates[t], true);
        char *said;
        char *seen = packed(model, TALK(USER("a") "," ASSISTANT("b")) "{\"text\":\"c\"}\n{\"text\":\"<s>d\"}\n",
                            "--sequence 512 --order file", &said);
        EXPECT_TEXT(seen, t == 0 ? "<s>a<|im_end|>[b<|im_end|>]|<s>[c]|<s>[d]"
                                 : "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n[b<|im_end|>]|<s>[c]|<s>[d]");
        free(seen);
    }
}

TEST(a_template_may_mark_what_is_learned)
{
    const char *model =
        tiny_model("\"{% for m in messages %}{{ m.role[0] ~ ':' }}{% if m.role == 'assistant' %}{% generation %}"
                   "{{ m.content ~ '.' }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}{{ '\\\\n' }}{% endfor %}\"",
                   false);
    char *said, *seen = packed(model, TALK(USER("a") "," ASSISTANT("b") "," USER("c") "," ASSISTANT("d")), "--sequence 512", &said);
    EXPECT_TEXT(seen, "u:a\na:[b.]\nu:c\na:[d.]");
    free(seen);
}

TEST(the_header_of_the_next_turn_is_no_end)
{
    const char *model = tiny_model("\"{% for m in messages %}{{ '<|im_start|>' ~ m.role ~ ':' ~ m.content ~ '\\\\n' }}{% endfor %}"
                                   "{% if add_generation_prompt %}<|im_start|>assistant:{% endif %}\"",
                                   false);
    char *said, *seen = packed(model, TALK(USER("a") "," ASSISTANT("b") "," USER("c") "," ASSISTANT("d")), "--sequence 512", &said);
    EXPECT_TEXT(seen, "<|im_start|>user:a\n<|im_start|>assistant:[b]\n<|im_start|>user:c\n<|im_start|>assistant:[d]");
    free(seen);
}

TEST(a_cut_learns_no_end_that_is_not_there)
{
    /* X48: 20 tokens of question and header, then "answer", then the end. */
    static const char row[] = TALK(USER("q") "," ASSISTANT("answer") "," USER("r") "," ASSISTANT("more"));
    static const char head[] = "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n";
    static const struct {
        int sequence;
        const char *right;
    } cases[] = {
        { 21, "[a]" },
        { 25, "[answe]" },
        { 26, "[answer]" },
        { 27, "[answer<|im_end|>]" },
        { 33, "[answer<|im_end|>]" },
        { 45, "[answer<|im_end|>]" }, /* in the middle of the next header */
    };
    const char *model = tiny_model(TINY_CHATML, false);
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        char options[64], right[256], *said;
        snprintf(options, sizeof options, "--sequence %d", cases[i].sequence);
        snprintf(right, sizeof right, "%s%s", head, cases[i].right);
        char *seen = packed(model, row, options, &said);
        EXPECT_TEXT(seen, right);
        EXPECT_HOLDS(said, "cut at the sequence's length                          1");
        free(seen);
    }
    char *said;
    const char *folder = test_folder(), *rows = tiny_put(folder, "a.jsonl", row);
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 20 --out %s/d.pack %s", model, folder, rows), E_DATA);
    EXPECT_HOLDS(said, "nothing to learn before the cut");
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 40 --long drop --out %s/d.pack %s", model, folder, rows), E_DATA);
    EXPECT_HOLDS(said, "longer than the sequence");
    EXPECT(access(tiny_path(folder, "d.pack"), F_OK) != 0);
}

TEST(an_end_of_several_tokens_is_not_learned_by_half)
{
    const char *model = tiny_model("\"{% for m in messages %}{{ '#' ~ m.role ~ ':' ~ m.content ~ '##END' }}{% endfor %}"
                                   "{% if add_generation_prompt %}#assistant:{% endif %}\"",
                                   false);
    static const char row[] = TALK(USER("q") "," ASSISTANT("answer"));
    static const struct {
        int sequence;
        const char *right;
    } cases[] = {
        { 64, "#user:q##END#assistant:[answer##END]" }, { 34, "#user:q##END#assistant:[answer##END]" },
        { 33, "#user:q##END#assistant:[answer]" },      { 30, "#user:q##END#assistant:[answer]" },
        { 28, "#user:q##END#assistant:[answe]" },
    };
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        char options[64], *said;
        snprintf(options, sizeof options, "--sequence %d", cases[i].sequence);
        char *seen = packed(model, row, options, &said);
        EXPECT_TEXT(seen, cases[i].right);
        free(seen);
    }
}

TEST(a_long_text_goes_on_and_each_token_is_learned_once)
{
    const char *plain = tiny_model(NULL, false), *bos = tiny_model(NULL, true);
    char *said, *seen = packed(plain, "{\"text\":\"abcdefghijklmnopqrstuvwxyz\"}", "--sequence 10", &said);
    EXPECT_TEXT(seen, "a[bcdefghij]||j[klmnopqrs]||s[tuvwxyz]"); /* X55 */
    EXPECT_HOLDS(said, "text continued in further documents");
    free(seen);
    seen = packed(bos, "{\"text\":\"abcdefghijklmnopqrstuvwxyz\"}", "--sequence 10", &said);
    EXPECT_TEXT(seen, "<s>[abcdefghi]||<s>[jklmnopqr]||<s>[stuvwxyz]");
    free(seen);
    /* Two bytes a letter: no cut goes through one. */
    seen = packed(bos, "{\"text\":\"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\"}", "--sequence 8", &said);
    EXPECT_TEXT(seen, "<s>[\xc3\xa4\xc3\xb6\xc3\xbc]||<s>[\xc3\xa4\xc3\xb6\xc3\xbc]");
    free(seen);
}

TEST(broken_rows_are_refused_above_the_limit_and_nothing_is_written)
{
    static const char rows[] =
        TALK(USER("a") "," ASSISTANT("b")) "{\"text\":\"cut\n" TALK(USER("c") "," ASSISTANT("d")) "{\"text\":\"\xff\"}\n";
    const char *model = tiny_model(TINY_CHATML, false), *folder = test_folder(), *file = tiny_put(folder, "a.jsonl", rows);
    char *said;
    tiny_put(folder, "data.pack", "the old one");
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 64 --out %s/data.pack %s", model, folder, file), E_DATA);
    EXPECT_HOLDS(said, "a.jsonl:2:12  premature end of input");
    EXPECT_HOLDS(said, "a.jsonl:4:9  unable to decode byte 0xff");
    EXPECT_HOLDS(said, "2 of 4 rows are broken, 0 are allowed");
    EXPECT_TEXT(test_read(tiny_path(folder, "data.pack"), NULL), "the old one");
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 64 --bad-rows 1 --out %s/data.pack %s", model, folder, file), E_DATA);
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 64 --bad-rows 49%% --out %s/data.pack %s", model, folder, file), E_DATA);
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 64 --bad-rows 2 --out %s/data.pack %s", model, folder, file), OK);
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 64 --bad-rows 50%% --out %s/data.pack %s", model, folder, file), OK);
    char *seen = tiny_documents(tiny_path(folder, "data.pack"), model);
    EXPECT_HOLDS(seen, "[b<|im_end|>]|<|im_start|>");
    free(seen);
}

TEST(what_cannot_be_packed_says_why_and_how_it_ends)
{
    static const struct {
        const char *rows, *options, *says;
        int code;
    } cases[] = {
        { "", "--sequence 64", "no rows: the file is empty", E_DATA },
        { TALK(USER("a")), "--sequence 64", "no message of the assistant", E_DATA }, /* complaint 30 */
        { TALK(USER("a") "," ASSISTANT("")), "--sequence 64", "the assistant's answer is empty", E_DATA },
        { TALK(""), "--sequence 64", "messages is an empty list", E_DATA },
        { "{\"text\":\"a\"}", "--sequence 64", "nothing to learn", E_DATA },
        { "{\"text\":\"\"}", "--sequence 64", "an empty text", E_DATA },
        { "{\"input_ids\":[1,260]}", "--sequence 64", "input_ids[1] is no id: right is 0 to 259", E_DATA },
        { "{\"input_ids\":[1,-1]}", "--sequence 64", "input_ids[1] is no id", E_DATA },
        { "{\"input_ids\":[1,2],\"labels\":[1]}", "--sequence 64", "2 input_ids and 1 labels", E_DATA },
        { "{\"input_ids\":[1,2],\"labels\":[1,3]}", "--sequence 64", "labels[1] is neither -100 nor the token", E_DATA },
        { TALK(USER("a") ",{\"role\":\"tool\",\"content\":\"t\"}," ASSISTANT("b")), "--sequence 512 --template phi3",
          "the template leaves out the content of a message of role tool", E_DATA },
        { TALK(USER("a") "," USER("b") "," ASSISTANT("c")), "--sequence 512 --template llama2", "roles must alternate", E_DATA },
        { "{\"messages\":[" USER("a") "," ASSISTANT("b") "],\"tools\":[{\"name\":\"f\"}]}", "--sequence 512", "leaves out the tools",
          E_DATA },
        { "{\"messages\":[" USER("a") ",{\"role\":\"assistant\",\"content\":\"b\",\"tool_calls\":[{\"name\":\"f\",\"arguments\":{}}]}]}",
          "--sequence 512", "leaves out the tool calls", E_DATA },
        { TALK(USER("a") "," ASSISTANT("b")), "--sequence 64 --template nowhere", "no such file and no such template", E_USAGE },
        { TALK(USER("a") "," ASSISTANT("b")), "", "--sequence is needed", E_USAGE },
        { TALK(USER("a") "," ASSISTANT("b")), "--sequence 64 --treads 2", "the nearest is --threads", E_USAGE },
        { TALK(USER("a") "," ASSISTANT("b")), "--sequence 64 --held-out 1.5", "right is a number from 0 to below 1", E_USAGE },
        { TALK(USER("a") "," ASSISTANT("b")), "--sequence 64 /nowhere/b.jsonl", "/nowhere/b.jsonl: No such file", E_READ },
        { TALK(USER("a") "," ASSISTANT("b")), "--sequence 64 --held-out-file /nowhere/b.jsonl", "/nowhere/b.jsonl: No such file", E_READ },
        { TALK(USER("a") "," ASSISTANT("b")), "--sequence 64 --out /nowhere/d.pack", "/nowhere/d.pack.tmp: cannot be written", E_READ },
    };
    const char *model = tiny_model(TINY_CHATML, false), *none = tiny_model(NULL, false), *folder = test_folder();
    char *said;
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *file = tiny_put(folder, "a.jsonl", cases[i].rows);
        EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --out %s/d.pack %s %s", model, folder, cases[i].options, file), cases[i].code);
        EXPECT_HOLDS(said, cases[i].says);
    }
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 64 --out %s/d.pack %s/a.jsonl", none, folder, folder), E_DATA); /* K13 */
    EXPECT_HOLDS(said, "the model brings no chat template: --template says which to take");
    EXPECT_EQ(tiny_pack(&said, "--tokenizer /nowhere --sequence 64 --out %s/d.pack %s/a.jsonl", folder, folder), E_READ);
    EXPECT_HOLDS(said, "/nowhere/tokenizer.json");
}

/* A file of rows of many lengths, from a seed. */
static const char *many_rows(const char *folder, int rows)
{
    FILE *file = fopen(tiny_path(folder, "many.jsonl"), "wb");
    uint64_t state = test_seed();
    for (int r = 0; r < rows; r++) {
        fprintf(file, "{\"question\":\"row %d\",\"answer\":\"", r);
        for (uint64_t n = test_random(&state) % 60; n > 0; n--)
            fputc('a' + (int)(test_random(&state) % 26), file);
        fputs("!\"}\n", file);
    }
    fclose(file);
    return tiny_path(folder, "many.jsonl");
}

TEST(the_bytes_do_not_depend_on_threads_folder_or_surroundings)
{
    const char *model = tiny_model(TINY_CHATML, false), *folder = test_folder(), *elsewhere = test_folder();
    many_rows(folder, 500);
    many_rows(elsewhere, 500);
    char *said, *first = NULL, *home = getcwd(NULL, 0);
    size_t first_bytes = 0;
    for (int run = 0; run < 4; run++) {
        EXPECT(chdir(run < 3 ? folder : elsewhere) == 0);
        if (run == 3)
            setenv("LC_ALL", "tr_TR.UTF-8", 1);
        EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 128 --held-out 0.1 --threads %d --out data.pack many.jsonl#700", model,
                            run % 3 + 1),
                  OK);
        size_t bytes, held_bytes;
        char *data = test_read("data.pack", &bytes), *held = test_read("held.pack", &held_bytes);
        data = realloc(data, bytes + held_bytes);
        memcpy(data + bytes, held, held_bytes);
        if (run == 0) {
            first = data;
            first_bytes = bytes + held_bytes;
        } else {
            EXPECT(bytes + held_bytes == first_bytes && memcmp(data, first, first_bytes) == 0);
        }
    }
    EXPECT(chdir(home) == 0);
}

TEST(a_row_stays_on_its_side_whatever_comes_before_it)
{
    const char *model = tiny_model(TINY_CHATML, false), *folder = test_folder();
    const char *file = many_rows(folder, 200), *more = tiny_put(folder, "more.jsonl", TALK(USER("new") "," ASSISTANT("one")));
    char *said;
    EXPECT_EQ(
        tiny_pack(&said, "--tokenizer %s --sequence 128 --held-out 0.1 --out %s/a.pack --held %s/b.pack %s", model, folder, folder, file),
        OK);
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 256 --held-out 0.1 --order file --out %s/c.pack --held %s/d.pack %s %s", model,
                        folder, folder, more, file),
              OK);
    struct pack one, two;
    EXPECT_EQ(pack_open(&one, tiny_path(folder, "b.pack")), OK);
    EXPECT_EQ(pack_open(&two, tiny_path(folder, "d.pack")), OK);
    test_stop_if_failed();
    bool in_one[201] = { false }, in_two[201] = { false };
    for (uint64_t d = 0; d < one.header->documents; d++)
        in_one[one.source[d].line] = true;
    for (uint64_t d = 0; d < two.header->documents; d++)
        if (two.source[d].file == 1)
            in_two[two.source[d].line] = true;
    EXPECT(memcmp(in_one, in_two, sizeof in_one) == 0);
    EXPECT(one.header->documents >= 5);
    pack_close(&one);
    pack_close(&two);
}

TEST(the_header_says_what_was_packed_with_what)
{
    const char *model = tiny_model(TINY_CHATML, false), *other = tiny_model(TINY_CHATML, true), *folder = test_folder();
    const char *rows = tiny_put(folder, "a.jsonl", TALK(USER("a") "," ASSISTANT("b")));
    char *said;
    struct pack one, two;
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 64 --out %s/a.pack %s", model, folder, rows), OK);
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 256 --template smollm2 --out %s/b.pack %s#1", other, folder, rows), OK);
    EXPECT_EQ(pack_open(&one, tiny_path(folder, "a.pack")), OK);
    EXPECT_EQ(pack_open(&two, tiny_path(folder, "b.pack")), OK);
    test_stop_if_failed();
    EXPECT(one.header->tokenizer_hash != two.header->tokenizer_hash); /* X54 */
    EXPECT(one.header->template_hash != two.header->template_hash);
    EXPECT_TEXT(one.header->template_name, "chatml");
    EXPECT_TEXT(two.header->template_name, "smollm2");
    EXPECT_EQ(one.header->vocabulary, 260);
    EXPECT_EQ(one.header->sequence_tokens, 64);
    EXPECT_HOLDS(two.header->files[0], "a.jsonl#1");
    pack_close(&one);
    pack_close(&two);
}

TEST(show_marks_what_is_learned_and_where_it_came_from)
{
    const char *model = tiny_model(TINY_CHATML, false), *other = tiny_model(TINY_CHATML, true), *folder = test_folder();
    const char *rows = tiny_put(folder, "a.jsonl", TALK(USER("a") "," ASSISTANT("b")) "{\"text\":\"c\\u001b[2Jd\"}\n");
    char *said, line[600];
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s --sequence 64 --out %s/a.pack --order file --show 1 %s", model, folder, rows), OK);
    EXPECT_HOLDS(said, "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n\xe2\x9f\xa6"
                       "b<|im_end|>\xe2\x9f\xa7\n");
    snprintf(line, sizeof line, "---- document 2: %s:2, tokens 22 to 27, 5 targets\nc\xe2\x9f\xa6\\x1b[2Jd\xe2\x9f\xa7\n", rows);
    EXPECT_HOLDS(said, line);
    EXPECT_EQ(tiny_pack(&said, "--show --tokenizer %s %s/a.pack", model, folder), OK);
    EXPECT_HOLDS(said, line);
    EXPECT_HOLDS(said, "==== row 0 of 1: 28 of 64 tokens, 2 documents, 7 targets");
    EXPECT_EQ(tiny_pack(&said, "--show --tokenizer %s %s/a.pack", other, folder), E_DATA);
    EXPECT_HOLDS(said, "packed with another tokenizer");
    EXPECT_EQ(tiny_pack(&said, "--show --row 1 --tokenizer %s %s/a.pack", model, folder), E_USAGE);
    EXPECT_HOLDS(said, "the pack has 1 rows");
}

TEST(help_names_every_option_and_template)
{
    static const char *const words[] = { "--tokenizer", "--sequence", "--held-out-file", "--control",
                                         "--bad-rows",  "--show",     "mistral-v0.2",    "64 bad usage" };
    char *said;
    EXPECT_EQ(tiny_pack(&said, "--help"), OK);
    for (int i = 0; i < ELEMENTS_OF(words); i++)
        EXPECT_HOLDS(said, words[i]);
}

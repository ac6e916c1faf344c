/* The reference's vectors (../shared/data/README.md), and a small tokenizer of the test's own for what must be refused. */
#include <jansson.h>
#include <sys/stat.h>
#include <time.h>

#include "test/pack/handmade.h"

enum { WRONG_MOST = 5 };

static struct session open_shared(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, strcmp(name, "stories260K") == 0 ? "data/models/%s/tokenizer.json" : "data/tokenizers/%s/tokenizer.json", name);
    return open_session(test_shared(path));
}

static bool same_ids(const struct tokens *tokens, const json_t *ids)
{
    bool same = tokens->count == (int64_t)json_array_size(ids);
    for (int64_t i = 0; same && i < tokens->count; i++)
        same = tokens->id[i] == json_integer_value(json_array_get(ids, (size_t)i));
    return same;
}

/* Letters of Unicode 16, which PCRE2's tables may not know: the data's README calls these four doubtful. */
static bool is_doubtful(const char *id)
{
    static const char *const doubtful[] = { "fuzz-unicode-004", "fuzz-unicode-005", "fuzz-unicode-028", "fuzz-unicode-036" };
    for (int64_t i = 0; i < ELEMENTS_OF(doubtful); i++)
        if (strcmp(id, doubtful[i]) == 0)
            return true;
    return false;
}

static void check_row(struct session session, const json_t *row, int *wrong)
{
    json_t *text = json_object_get(row, "text"), *right = json_object_get(row, "ids"), *decoded = json_object_get(row, "decoded");
    const char *id = json_string_value(json_object_get(row, "id"));
    struct tokens tokens;
    char *back = NULL;
    size_t bytes = 0;
    if (tokenizer_encode(session.encoder, json_string_value(text), json_string_length(text), false, &tokens) != OK || !same_ids(&tokens, right)) {
        if (!is_doubtful(id) && ++*wrong <= WRONG_MOST)
            test_fail(__FILE__, __LINE__, "%s: ids differ", id);
        return;
    }
    for (int64_t i = 0; i < tokens.count; i++)
        if (tokens.begin[i] > json_string_length(text) || (i > 0 && tokens.begin[i] < tokens.begin[i - 1])) {
            test_fail(__FILE__, __LINE__, "%s: begin of token %lld does not rise within the text", id, (long long)i);
            break;
        }
    if (decoded == NULL)
        decoded = text;
    EXPECT_EQ(tokenizer_decode(session.tokenizer, tokens.id, tokens.count, false, &back, &bytes), OK);
    if ((bytes != json_string_length(decoded) || memcmp(back, json_string_value(decoded), bytes) != 0) && ++*wrong <= WRONG_MOST)
        test_fail(__FILE__, __LINE__, "%s: decoded text differs", id);
    free(back);
}

static void check_vectors(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "data/vectors/encode/%s.jsonl", name);
    FILE *file = fopen(test_shared(path), "r");
    struct session session = open_shared(name);
    char *line = NULL;
    size_t room = 0;
    int rows = 0, wrong = 0;
    while (getline(&line, &room, file) > 0) {
        json_t *row = json_loads(line, JSON_ALLOW_NUL, NULL);
        EXPECT(row != NULL);
        check_row(session, row, &wrong);
        json_decref(row);
        rows++;
    }
    EXPECT_EQ(rows, 416);
    EXPECT_EQ(wrong, 0);
    free(line);
    fclose(file);
    close_session(session);
}

static uint32_t crc32_of(const int32_t *id, int64_t count)
{
    uint32_t crc = ~0u;
    const uint8_t *bytes = (const uint8_t *)id;
    for (int64_t i = 0; i < 4 * count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

/* Lines "file <tab> line <tab> ids <tab> CRC-32", in the order of the files. */
static void check_lines(const char *name)
{
    char path[256], data_path[512], current[256] = "", *text = NULL;
    snprintf(path, sizeof path, "data/vectors/lines/%s.tsv", name);
    FILE *file = fopen(test_shared(path), "r"), *data = NULL;
    const char *root = test_shared("data/datasets/..");
    struct session session = open_shared(name);
    size_t room = 0;
    long line, at = 0, count, lines = 0;
    int wrong = 0;
    unsigned crc;
    while (fscanf(file, "%255[^\t]\t%ld\t%ld\t%x\n", path, &line, &count, &crc) == 4) {
        struct tokens tokens;
        if (strcmp(path, current) != 0) {
            snprintf(data_path, sizeof data_path, "%s/%s", root, path);
            strcpy(current, path);
            if (data != NULL)
                fclose(data);
            data = fopen(data_path, "r");
            at = 0;
        }
        EXPECT(data != NULL);
        test_stop_if_failed();
        ssize_t size = 0;
        for (; at < line; at++)
            size = getline(&text, &room, data);
        if (size > 0 && text[size - 1] == '\n')
            size--;
        enum status status = tokenizer_encode(session.encoder, text, (size_t)(size < 0 ? 0 : size), false, &tokens);
        if ((status != OK || tokens.count != count || crc32_of(tokens.id, tokens.count) != crc) && ++wrong <= WRONG_MOST)
            test_fail(__FILE__, __LINE__, "%s:%ld: %lld ids, right are %ld", path, line, (long long)tokens.count, count);
        lines++;
    }
    EXPECT_EQ(lines, 5339);
    EXPECT_EQ(wrong, 0);
    fclose(file);
    free(text);
    close_session(session);
}

TEST(gpt2_has_the_ids_of_the_reference) { check_vectors("gpt2"); }
TEST(llama2_has_the_ids_of_the_reference) { check_vectors("llama2"); }
TEST(llama3_2_has_the_ids_of_the_reference) { check_vectors("llama3.2"); }
TEST(mistral_has_the_ids_of_the_reference) { check_vectors("mistral"); }
TEST(phi3_mini_has_the_ids_of_the_reference) { check_vectors("phi3-mini"); }
TEST(qwen2_5_has_the_ids_of_the_reference) { check_vectors("qwen2.5"); }
TEST(qwen3_has_the_ids_of_the_reference) { check_vectors("qwen3"); }
TEST(smollm2_has_the_ids_of_the_reference) { check_vectors("smollm2"); }
TEST(stories260k_has_the_ids_of_the_reference) { check_vectors("stories260K"); }
TEST(gpt2_has_the_ids_of_the_reference_on_real_lines) { check_lines("gpt2"); }
TEST(llama2_has_the_ids_of_the_reference_on_real_lines) { check_lines("llama2"); }
TEST(llama3_2_has_the_ids_of_the_reference_on_real_lines) { check_lines("llama3.2"); }
TEST(mistral_has_the_ids_of_the_reference_on_real_lines) { check_lines("mistral"); }
TEST(phi3_mini_has_the_ids_of_the_reference_on_real_lines) { check_lines("phi3-mini"); }
TEST(qwen2_5_has_the_ids_of_the_reference_on_real_lines) { check_lines("qwen2.5"); }
TEST(qwen3_has_the_ids_of_the_reference_on_real_lines) { check_lines("qwen3"); }
TEST(smollm2_has_the_ids_of_the_reference_on_real_lines) { check_lines("smollm2"); }
TEST(stories260k_has_the_ids_of_the_reference_on_real_lines) { check_lines("stories260K"); }

TEST(texts_of_a_mebibyte_take_time_about_linear)
{
    static const char *const units[] = { "a", " ", "\xf0\x9f\x91\xa8\xe2\x80\x8d", "\xe2\x96\x81" };
    static const char *const names[] = { "qwen2.5", "llama2" };
    for (int n = 0; n < 2; n++) {
        struct session session = open_shared(names[n]);
        for (int64_t u = 0; u < ELEMENTS_OF(units); u++) {
            size_t unit = strlen(units[u]), most = ((size_t)1 << 20) / unit * unit;
            char *text = malloc(most);
            double seconds[2];
            for (size_t at = 0; at < most; at += unit)
                memcpy(text + at, units[u], unit);
            for (int large = 0; large < 2; large++) {
                struct tokens tokens;
                clock_t begin = clock();
                EXPECT_EQ(tokenizer_encode(session.encoder, text, large ? most : most / 8 / unit * unit, false, &tokens), OK);
                seconds[large] = (double)(clock() - begin) / CLOCKS_PER_SEC;
            }
            /* Eight times the text: n log n is 9.4 times the work, a square 64; 30 leaves room for a machine that slows down in between. */
            if (seconds[1] > 0.2)
                EXPECT(seconds[1] < 30 * seconds[0]);
            free(text);
        }
        close_session(session);
    }
}

TEST(tokens_behind_a_composed_letter_begin_where_they_stand)
{
    /* Three ideographs, e with a mark of its own, three ideographs: 9 + 3 + 9 bytes. NFC makes one letter of the middle. */
    static const char text[] = "\xe4\xbd\xa0\xe5\xa5\xbd\xe5\x90\x97" "e\xcc\x81" "\xe4\xb8\x96\xe7\x95\x8c\xe5\x90\x97";
    static const uint32_t starts[] = { 0, 3, 6, 9, 12, 15, 18 };
    struct session session = open_shared("qwen2.5");
    struct tokens tokens;
    EXPECT_EQ(tokenizer_encode(session.encoder, text, sizeof text - 1, false, &tokens), OK);
    bool behind = false;
    for (int64_t i = 0; i < tokens.count; i++) {
        bool at_a_character = false;
        for (int64_t s = 0; s < ELEMENTS_OF(starts); s++)
            at_a_character = at_a_character || tokens.begin[i] == starts[s];
        EXPECT(at_a_character);
        behind = behind || tokens.begin[i] >= 12;
    }
    EXPECT(tokens.begin[0] == 0);
    EXPECT(behind);
    close_session(session);
}

/* ---- a tokenizer of the test's own ---- */

TEST(merges_in_both_forms_give_equal_ids)
{
    const int32_t right[] = { 4, 6, 2 };
    expect_ids(HEAD PRE TAIL MODEL("[\"a b\",\"ab c\",\"\\u0120 a\"]"), "abc ac", false, right, 3);
    expect_ids(HEAD PRE TAIL MODEL("[[\"a\",\"b\"],[\"ab\",\"c\"],[\"\\u0120\",\"a\"]]"), "abc ac", false, right, 3);
}

TEST(a_merge_listed_twice_keeps_its_last_rank)
{
    const int32_t right[] = { 0, 7 };
    expect_ids(HEAD PRE TAIL "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"bc\":7},\"merges\":[\"a b\",\"b c\",\"a b\"]}}", "abc",
               false, right, 2);
}

TEST(the_longest_added_token_is_found_first)
{
    const int32_t right[] = { 0, 10, 1 }, plain[] = { 0, 10, 1 }, special[] = { 0, 9, 1 };
    expect_ids(HEAD PRE TAIL MODEL("[]"), "a<|end|>>b", false, right, 3);
    expect_ids(HEAD PRE TAIL MODEL("[]"), "a<|end|>>b", true, plain, 3);
    expect_ids(HEAD PRE TAIL MODEL("[]"), "a<|end|>b", false, special, 3);
}

TEST(plain_text_does_not_become_a_special_token)
{
    const int32_t right[] = { 0, 1 };        /* the other characters have no token and vanish */
    expect_ids(HEAD PRE TAIL MODEL("[]"), "a<|end|>b", true, right, 2);
}

TEST(what_is_not_known_is_refused_by_name)
{
    expect_refusal(HEAD PRE TAIL MODEL("[\"a x\"]"), "the second is not in the vocabulary");
    expect_refusal(HEAD PRE TAIL MODEL("[\"b c\"]"), "their result is not in the vocabulary");
    expect_refusal(HEAD PRE TAIL MODEL("[\"abc\"]"), "merge 1");
    expect_refusal(HEAD "\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}," TAIL MODEL("[]"), "UnicodeScripts");
    expect_refusal(HEAD PRE "\"post_processor\":{\"type\":\"BertProcessing\"}," MODEL("[]"), "BertProcessing");
    expect_refusal(HEAD PRE TAIL "\"model\":{\"type\":\"WordPiece\"," VOCAB ",\"merges\":[]}}", "WordPiece");
    expect_refusal(HEAD PRE TAIL "\"model\":{\"type\":\"BPE\",\"byte_fallback\":true," VOCAB ",\"merges\":[]}}", "byte_fallback");
    expect_refusal("{\"normalizer\":{\"type\":\"Precompiled\"}," PRE TAIL MODEL("[]"), "Precompiled");
    expect_refusal(HEAD "\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a\"},\"behavior\":\"Isolated\"}," TAIL MODEL("[]"), "pattern");
    expect_refusal(HEAD "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"last\"}," TAIL MODEL("[]"), "last");
    expect_refusal(HEAD "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\"},{\"type\":\"ByteLevel\"}]}," TAIL MODEL("[]"), "as the first");
    expect_refusal(HEAD PRE "\"decoder\":{\"type\":\"Metaspace\",\"replacement\":\"_\"}," MODEL("[]"), "decoder.type is \"Metaspace\"");
    expect_refusal("{\"a\":1,\"a\":2}", "duplicate");
    expect_refusal("[]", "no JSON object");
    expect_refusal("{", "tokenizer.json:1");
}

/* Text of count marks of ten classes on one letter; their order is by class, then as they stood. */
TEST(marks_on_one_letter_are_ordered_in_time_about_linear)
{
    static const char *const marks[] = { "\xcc\x81", "\xcc\xa3", "\xcc\xb4", "\xcd\x85", "\xcc\x80", "\xd6\xb0", "\xcc\xa7", "\xcc\x95", "\xd9\x8b", "\xe0\xb9\x88" };
    enum { COUNT = 180000 };
    struct session session = open_shared("qwen2.5");
    struct tokens tokens;
    char *text = malloc(3 * COUNT + 2);
    size_t at = 0;
    text[at++] = 'q';
    uint32_t state = 1;
    for (int64_t i = 0; i < COUNT; i++) {
        state = state * 1664525 + 1013904223;
        const char *mark = marks[(state >> 16) % 10];
        memcpy(text + at, mark, strlen(mark));
        at += strlen(mark);
    }
    clock_t begin = clock();
    EXPECT_EQ(tokenizer_encode(session.encoder, text, at, false, &tokens), OK);
    /* Linear work takes 0.02 s here, a square more than a minute. */
    EXPECT((double)(clock() - begin) / CLOCKS_PER_SEC < 5);
    /* The reference's ids for this text. */
    EXPECT_EQ(tokens.count, 288175);
    EXPECT_EQ(crc32_of(tokens.id, tokens.count), 0x42aeb789);
    free(text);
    close_session(session);
}

/* The vocabulary of the reference's ids below: a model of marks, with fused unknown characters. */
#define MARKS_MODEL "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,\"vocab\":{\"<unk>\":0,\"\u2581\":1,\"a\":2,\"b\":3,\"c\":4,\"y\":5,"  \
                    "\"\u2581a\":6,\"ab\":7,\"\u2581b\":8,\"d\":9},\"merges\":[\"\u2581 a\",\"a b\",\"\u2581 b\"]}}"
#define MARKS_NORMALIZER "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"\u2581\"},"   \
                         "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\u2581\"}]},"
#define NORMALIZED(content) "{\"added_tokens\":[{\"id\":10,\"content\":\"" content "\",\"normalized\":true}],"
#define IDS(...) (const int32_t[]){ __VA_ARGS__ }, (int64_t)(sizeof (const int32_t[]){ __VA_ARGS__ } / 4)

TEST(a_normalized_added_token_is_sought_in_its_normalized_form)
{
    expect_ids(NORMALIZED("xx") MARKS_NORMALIZER MARKS_MODEL, "a xx b", false, IDS(6, 10, 8));
    expect_ids(NORMALIZED("xx") MARKS_NORMALIZER MARKS_MODEL, "xxb", false, IDS(10, 3));
    expect_ids(NORMALIZED("xx") MARKS_NORMALIZER MARKS_MODEL, "bxx a", false, IDS(8, 0, 6));
    expect_ids(NORMALIZED("xx") MARKS_NORMALIZER MARKS_MODEL, "b xx xx", false, IDS(8, 10, 10));
    expect_ids(NORMALIZED("x y") MARKS_NORMALIZER MARKS_MODEL, "ab x y", false, IDS(6, 3, 10));
    expect_ids(NORMALIZED("x y") MARKS_NORMALIZER MARKS_MODEL, " x y", false, IDS(1, 10));
    expect_ids(NORMALIZED("x y") MARKS_NORMALIZER MARKS_MODEL, "bx y x y", false, IDS(8, 0, 1, 5, 10));
    expect_ids(NORMALIZED("e\u0301") "\"normalizer\":{\"type\":\"NFC\"}," MARKS_MODEL, "\xc3\xa9" "a", false, IDS(10, 2));
    expect_ids(NORMALIZED("e\u0301") "\"normalizer\":{\"type\":\"NFC\"}," MARKS_MODEL, "e\xcc\x81", false, IDS(10));
}

#define VOCAB_MODEL(more) "\"model\":{\"type\":\"BPE\"," more "," VOCAB ",\"merges\":[\"a b\"]}}"
#define ADDED(id, content) "{\"added_tokens\":[{\"id\":8,\"content\":\"<x>\"},{\"id\":" id ",\"content\":\"" content "\"}],"

TEST(every_key_that_can_change_ids_is_known_and_of_its_type)
{
    expect_refusal(HEAD PRE TAIL VOCAB_MODEL("\"ignore_merges\":\"yes\""), "model.ignore_merges is \"yes\"; right is true or false");
    expect_refusal(HEAD PRE TAIL VOCAB_MODEL("\"fuse_unk\":1"), "model.fuse_unk is 1");
    expect_refusal(HEAD PRE TAIL VOCAB_MODEL("\"unk_token\":3"), "model.unk_token is 3");
    expect_refusal(HEAD PRE TAIL VOCAB_MODEL("\"max_input_chars\":[100]"), "model.max_input_chars is [100]");
    expect_refusal(HEAD PRE TAIL VOCAB_MODEL("\"dropout\":0.1"), "model.dropout is 0.1");
    expect_refusal(HEAD PRE TAIL VOCAB_MODEL("\"continuing_subword_prefix\":\"##\""), "model.continuing_subword_prefix is \"##\"");
    expect_refusal(HEAD PRE TAIL VOCAB_MODEL("\"end_of_word_suffix\":\"</w>\""), "model.end_of_word_suffix is \"</w>\"");
    expect_refusal(HEAD PRE TAIL "\"surprise\":1," MODEL("[]"), "the file.surprise is 1");
    expect_refusal(HEAD "\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":\"Isolated\",\"invert\":\"x\"}," TAIL MODEL("[]"),
                   "pre_tokenizer.invert is \"x\"");
    expect_refusal("{\"normalizer\":{\"type\":\"NFC\",\"prepend\":1}," PRE TAIL MODEL("[]"), "normalizer.prepend is 1");
    expect_refusal(HEAD "\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":\"Isolated\",\"add_prefix_space\":true}," TAIL MODEL("[]"),
                   "pre_tokenizer.add_prefix_space is true: a key that is not known for Split may change the ids; known are type, pattern, behavior, invert");
    expect_refusal(HEAD PRE "\"post_processor\":{\"type\":\"ByteLevel\",\"single\":[]}," MODEL("[]"), "post_processor.single is []: a key that is not known for ByteLevel");
    expect_refusal(HEAD PRE "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":\"$A\"}," MODEL("[]"), "post_processor.single is \"$A\"; right is an array");
    expect_refusal("{\"normalizer\":{\"type\":\"NFC\",\"strip_left\":true}," PRE TAIL MODEL("[]"), "normalizer.strip_left is true: a key that is not known for NFC");
    expect_refusal("{\"added_tokens\":[{\"id\":9,\"content\":\"x\",\"special\":\"yes\"}]," PRE TAIL MODEL("[]"), "added_tokens[].special is \"yes\"");
    const int32_t right[] = { 3 };
    expect_ids(HEAD PRE TAIL VOCAB_MODEL("\"dropout\":0.0,\"continuing_subword_prefix\":\"\",\"end_of_word_suffix\":null,\"fuse_unk\":true"), "ab", false, right, 1);
}

TEST(an_added_token_has_an_id_of_its_own)
{
    struct tokenizer *tokenizer = NULL;
    expect_refusal(ADDED("8", "<y>") PRE TAIL MODEL("[]"), "right is one token an id");
    expect_refusal(ADDED("9", "<x>") PRE TAIL MODEL("[]"), "each once");
    expect_refusal(ADDED("3", "<y>") PRE TAIL MODEL("[]"), "added token \"<y>\" has id 3, which is \"ab\" in model.vocab");
    expect_refusal(ADDED("9", "ab") PRE TAIL MODEL("[]"), "added token \"ab\" has id 9, in model.vocab it has 3");
    EXPECT_EQ(open_text(ADDED("3", "ab") PRE TAIL MODEL("[]"), &tokenizer), OK);
    tokenizer_close(tokenizer);
}

TEST(added_tokens_are_compared_in_time_about_linear)
{
    enum { COUNT = 60000 };
    struct tokenizer *tokenizer = NULL;
    char *text = malloc(64 * COUNT + 1024);
    int at = sprintf(text, "{\"added_tokens\":[{\"id\":10,\"content\":\"<x>\"}");
    for (int i = 1; i < COUNT; i++)
        at += sprintf(text + at, ",{\"id\":%d,\"content\":\"<extra_%d>\"}", 10 + i, i);
    strcpy(text + at, "]," PRE TAIL MODEL("[]"));
    clock_t begin = clock();
    EXPECT_EQ(open_text(text, &tokenizer), OK);
    /* Linear work takes 0.1 s here, each with each more than 4 s. */
    EXPECT((double)(clock() - begin) / CLOCKS_PER_SEC < 1.5);
    tokenizer_close(tokenizer);
    free(text);
}

TEST(an_id_does_not_run_away_from_the_number_of_tokens)
{
    struct tokenizer *tokenizer = NULL;
    expect_refusal(HEAD PRE TAIL "\"model\":{\"vocab\":{\"a\":0,\"b\":16000000},\"merges\":[]}}", "\"b\" has no id from 0 to 1015");
    expect_refusal(ADDED("16000000", "<y>") PRE TAIL MODEL("[]"), "added_tokens[1] lacks content or an id from 0 to 1035");
    expect_refusal(ADDED("1036", "<y>") PRE TAIL MODEL("[]"), "added_tokens[1]");
    EXPECT_EQ(open_text(ADDED("1035", "<y>") PRE TAIL MODEL("[]"), &tokenizer), OK);
    tokenizer_close(tokenizer);
}

TEST(what_is_no_regular_file_is_refused_at_once)
{
    struct tokenizer *tokenizer;
    char fifo[512];
    snprintf(fifo, sizeof fifo, "%s/fifo", test_folder());
    EXPECT_EQ(mkfifo(fifo, 0600), 0);
    const char *const paths[] = { fifo, test_folder(), "/dev/zero", "/dev/null" };
    status_quiet(true);
    for (int64_t i = 0; i < ELEMENTS_OF(paths); i++) {
        EXPECT_EQ(tokenizer_open(&tokenizer, paths[i]), E_READ);
        EXPECT_HOLDS(status_message(), "not a plain file");
    }
    status_quiet(false);
}

TEST(a_pattern_that_backtracks_without_end_is_an_error)
{
    struct session session = { 0 };
    struct tokens tokens;
    char text[64];
    memset(text, 'a', sizeof text);
    EXPECT_EQ(open_text(HEAD "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a+a+)+[bc]\"},"
                             "\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\",\"add_prefix_space\":false}]}," TAIL MODEL("[]"), &session.tokenizer), OK);
    test_stop_if_failed();
    EXPECT_EQ(encoder_open(&session.encoder, session.tokenizer), OK);
    status_quiet(true);
    EXPECT_EQ(tokenizer_encode(session.encoder, text, sizeof text, false, &tokens), E_DATA);
    status_quiet(false);
    EXPECT_HOLDS(status_message(), "limit");
    close_session(session);
}

TEST(bad_utf8_is_refused_with_its_byte)
{
    struct session session = { 0 };
    struct tokens tokens;
    EXPECT_EQ(open_text(HEAD PRE TAIL MODEL("[]"), &session.tokenizer), OK);
    test_stop_if_failed();
    EXPECT_EQ(encoder_open(&session.encoder, session.tokenizer), OK);
    status_quiet(true);
    EXPECT_EQ(tokenizer_encode(session.encoder, "ab\xff", 3, false, &tokens), E_DATA);
    EXPECT_HOLDS(status_message(), "byte 2");
    EXPECT_EQ(tokenizer_encode(session.encoder, "ab\xed\xa0\x80", 5, false, &tokens), E_DATA);
    status_quiet(false);
    close_session(session);
}

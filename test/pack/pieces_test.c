/* What pre-tokenizers and normalizers do to text: ids of the reference (tokenizers 0.23) for a small model made for it. */
#include "platform/status.h"
#include "test/test.h"
#include "tools/pack/tokenizer.h"

/* Tokens and merges that show where a word ends: "a." and ".a", two marks, a letter behind its space. */
static const char model[] = "{\"type\":\"BPE\",\"vocab\":{\"<unk>\":0,\"_\":1,\"a\":2,\"b\":3,\"c\":4,\"y\":5,\"_a\":6,\"ab\":7,\"_b\":8,\"\\u0120\":9,\"\\u0120a\":10,\"1\":11,\".\":1"
    "2,\"..\":13,\"a.\":14,\"b1\":15,\" \":16,\".a\":17,\"__\":18,\"aa\":19,\"2\":20,\"12\":21,\"\\u00e9\":22,\"i\":23,\"\\u0307\":24},\"merges\":[\"_ a\","
    "\"a b\",\"_ b\",\"\\u0120 a\",\"1 2\",\". .\",\"a .\",\"b 1\",\". a\",\"_ _\",\"a a\"],\"unk_token\":null}";

static const struct row {
    const char *pre_tokenizer, *normalizer, *text;
    int32_t count, id[12];
} rows[] = {
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\",\"split\":true}", "null", "ab ab", 4, { 6, 3, 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\",\"split\":true}", "null", "  ab b ", 5, { 1, 6, 3, 8, 1 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\",\"split\":true}", "null", " ab<s>ab", 5, { 6, 3, 40, 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\",\"split\":true}", "null", "<s>ab", 3, { 40, 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\",\"split\":true}", "null", "_ab", 2, { 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\",\"split\":false}", "null", "ab ab", 4, { 6, 3, 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\",\"split\":false}", "null", "  ab b ", 5, { 1, 6, 3, 8, 1 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\",\"split\":false}", "null", " ab<s>ab", 5, { 6, 3, 40, 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\",\"split\":false}", "null", "<s>ab", 3, { 40, 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\",\"split\":false}", "null", "_ab", 2, { 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\",\"split\":true}", "null", "ab ab", 4, { 6, 3, 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\",\"split\":true}", "null", "  ab b ", 5, { 1, 6, 3, 8, 1 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\",\"split\":true}", "null", " ab<s>ab", 4, { 6, 3, 40, 7 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\",\"split\":true}", "null", "<s>ab", 2, { 40, 7 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\",\"split\":true}", "null", "_ab", 2, { 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\",\"split\":false}", "null", "ab ab", 4, { 6, 3, 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\",\"split\":false}", "null", "  ab b ", 5, { 1, 6, 3, 8, 1 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\",\"split\":false}", "null", " ab<s>ab", 4, { 6, 3, 40, 7 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\",\"split\":false}", "null", "<s>ab", 2, { 40, 7 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\",\"split\":false}", "null", "_ab", 2, { 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"never\",\"split\":true}", "null", "ab ab", 3, { 7, 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"never\",\"split\":true}", "null", "  ab b ", 5, { 1, 6, 3, 8, 1 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"never\",\"split\":true}", "null", " ab<s>ab", 4, { 6, 3, 40, 7 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"never\",\"split\":true}", "null", "<s>ab", 2, { 40, 7 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"never\",\"split\":true}", "null", "_ab", 2, { 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"never\",\"split\":false}", "null", "ab ab", 3, { 7, 6, 3 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"never\",\"split\":false}", "null", "  ab b ", 5, { 1, 6, 3, 8, 1 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"never\",\"split\":false}", "null", " ab<s>ab", 4, { 6, 3, 40, 7 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"never\",\"split\":false}", "null", "<s>ab", 2, { 40, 7 } },
    { "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"never\",\"split\":false}", "null", "_ab", 2, { 6, 3 } },
    { "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true}", "null", "ab a", 3, { 9, 7, 10 } },
    { "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true}", "null", " ab", 2, { 9, 7 } },
    { "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true}", "null", "a<s>a", 3, { 10, 40, 10 } },
    { "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true}", "null", "<s> a", 2, { 40, 10 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"Isolated\",\"invert\":false}", "null", "a..a.a", 6, { 2, 12, 12, 2, 12, 2 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"Isolated\",\"invert\":false}", "null", "..a", 3, { 12, 12, 2 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"Isolated\",\"invert\":false}", "null", "a..", 3, { 2, 12, 12 } },
    { "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"Isolated\",\"invert\":true}", "null", "a..a.a", 5, { 2, 13, 2, 12, 2 } },
    { "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"Isolated\",\"invert\":true}", "null", "aa..aab", 6, { 2, 2, 13, 2, 2, 3 } },
    { "{\"type\":\"Punctuation\",\"behavior\":\"Isolated\"}", "null", "a..a.a", 6, { 2, 12, 12, 2, 12, 2 } },
    { "{\"type\":\"Punctuation\",\"behavior\":\"Isolated\"}", "null", "a_b12", 4, { 2, 1, 3, 21 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"Removed\",\"invert\":false}", "null", "a..a.a", 3, { 2, 2, 2 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"Removed\",\"invert\":false}", "null", "..a", 1, { 2 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"Removed\",\"invert\":false}", "null", "a..", 1, { 2 } },
    { "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"Removed\",\"invert\":true}", "null", "a..a.a", 3, { 2, 2, 2 } },
    { "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"Removed\",\"invert\":true}", "null", "aa..aab", 4, { 2, 2, 2, 2 } },
    { "{\"type\":\"Punctuation\",\"behavior\":\"Removed\"}", "null", "a..a.a", 3, { 2, 2, 2 } },
    { "{\"type\":\"Punctuation\",\"behavior\":\"Removed\"}", "null", "a_b12", 3, { 2, 3, 21 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"MergedWithPrevious\",\"invert\":false}", "null", "a..a.a", 4, { 14, 12, 14, 2 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"MergedWithPrevious\",\"invert\":false}", "null", "..a", 3, { 12, 12, 2 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"MergedWithPrevious\",\"invert\":false}", "null", "a..", 2, { 14, 12 } },
    { "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"MergedWithPrevious\",\"invert\":true}", "null", "a..a.a", 4, { 2, 13, 14, 2 } },
    { "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"MergedWithPrevious\",\"invert\":true}", "null", "aa..aab", 5, { 2, 2, 13, 2, 7 } },
    { "{\"type\":\"Punctuation\",\"behavior\":\"MergedWithPrevious\"}", "null", "a..a.a", 4, { 14, 12, 14, 2 } },
    { "{\"type\":\"Punctuation\",\"behavior\":\"MergedWithPrevious\"}", "null", "a_b12", 4, { 2, 1, 3, 21 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"MergedWithNext\",\"invert\":false}", "null", "a..a.a", 4, { 2, 12, 17, 17 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"MergedWithNext\",\"invert\":false}", "null", "..a", 2, { 12, 17 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"MergedWithNext\",\"invert\":false}", "null", "a..", 3, { 2, 12, 12 } },
    { "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"MergedWithNext\",\"invert\":true}", "null", "a..a.a", 4, { 2, 13, 2, 17 } },
    { "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"MergedWithNext\",\"invert\":true}", "null", "aa..aab", 6, { 2, 2, 13, 2, 2, 3 } },
    { "{\"type\":\"Punctuation\",\"behavior\":\"MergedWithNext\"}", "null", "a..a.a", 4, { 2, 12, 17, 17 } },
    { "{\"type\":\"Punctuation\",\"behavior\":\"MergedWithNext\"}", "null", "a_b12", 3, { 2, 8, 21 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"Contiguous\",\"invert\":false}", "null", "a..a.a", 5, { 2, 13, 2, 12, 2 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"Contiguous\",\"invert\":false}", "null", "..a", 2, { 13, 2 } },
    { "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"Contiguous\",\"invert\":false}", "null", "a..", 2, { 2, 13 } },
    { "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"Contiguous\",\"invert\":true}", "null", "a..a.a", 5, { 2, 13, 2, 12, 2 } },
    { "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"Contiguous\",\"invert\":true}", "null", "aa..aab", 4, { 19, 13, 19, 3 } },
    { "{\"type\":\"Punctuation\",\"behavior\":\"Contiguous\"}", "null", "a..a.a", 5, { 2, 13, 2, 12, 2 } },
    { "{\"type\":\"Punctuation\",\"behavior\":\"Contiguous\"}", "null", "a_b12", 4, { 2, 1, 3, 21 } },
    { "{\"type\":\"WhitespaceSplit\"}", "null", "ab  a.", 2, { 7, 14 } },
    { "{\"type\":\"WhitespaceSplit\"}", "null", "a.a b", 3, { 14, 2, 3 } },
    { "{\"type\":\"WhitespaceSplit\"}", "null", "b12 .. a", 4, { 3, 21, 13, 2 } },
    { "{\"type\":\"WhitespaceSplit\"}", "null", " a ", 1, { 2 } },
    { "{\"type\":\"WhitespaceSplit\"}", "null", "a\xe2\x80\x8d\xcc\x81.\xe2\x92\xb6.a", 3, { 2, 13, 2 } },
    { "{\"type\":\"Whitespace\"}", "null", "ab  a.", 3, { 7, 2, 12 } },
    { "{\"type\":\"Whitespace\"}", "null", "a.a b", 4, { 2, 12, 2, 3 } },
    { "{\"type\":\"Whitespace\"}", "null", "b12 .. a", 4, { 3, 21, 13, 2 } },
    { "{\"type\":\"Whitespace\"}", "null", " a ", 1, { 2 } },
    { "{\"type\":\"Whitespace\"}", "null", "a\xe2\x80\x8d\xcc\x81.\xe2\x92\xb6.a", 4, { 2, 12, 12, 2 } },
    { "null", "{\"type\":\"Lowercase\"}", "AB\xc4\xb0 a\xc4\xb0", 7, { 7, 23, 24, 16, 2, 23, 24 } },
    { "null", "{\"type\":\"Lowercase\"}", "\xc3\x89", 1, { 22 } },
    { "null", "{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}", "  a b \xe3\x80\x80", 3, { 2, 16, 3 } },
    { "null", "{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}", "  ", 0, { 0 } },
    { "null", "{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":false}", "  a b \xe3\x80\x80", 4, { 2, 16, 3, 16 } },
    { "null", "{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":false}", "  ", 0, { 0 } },
    { "null", "{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":true}", "  a b \xe3\x80\x80", 5, { 16, 16, 2, 16, 3 } },
    { "null", "{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":true}", "  ", 0, { 0 } },
    { "null", "{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":false}", "  a b \xe3\x80\x80", 6, { 16, 16, 2, 16, 3, 16 } },
    { "null", "{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":false}", "  ", 2, { 16, 16 } },
    { "null", "{\"type\":\"NFD\"}", "\xc3\xa9", 0, { 0 } },
    { "null", "{\"type\":\"NFD\"}", "e\xcc\x81", 0, { 0 } },
    { "null", "{\"type\":\"NFD\"}", "\xef\xbd\x81\xe2\x91\xa0", 0, { 0 } },
    { "null", "{\"type\":\"NFKC\"}", "\xc3\xa9", 1, { 22 } },
    { "null", "{\"type\":\"NFKC\"}", "e\xcc\x81", 1, { 22 } },
    { "null", "{\"type\":\"NFKC\"}", "\xef\xbd\x81\xe2\x91\xa0", 2, { 2, 11 } },
    { "null", "{\"type\":\"NFKD\"}", "\xc3\xa9", 0, { 0 } },
    { "null", "{\"type\":\"NFKD\"}", "e\xcc\x81", 0, { 0 } },
    { "null", "{\"type\":\"NFKD\"}", "\xef\xbd\x81\xe2\x91\xa0", 2, { 2, 11 } },
};

TEST(every_piece_has_the_ids_of_the_reference)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tokenizer.json", test_folder());
    for (int64_t i = 0; i < ELEMENTS_OF(rows); i++) {
        const struct row *row = &rows[i];
        struct tokenizer *tokenizer;
        struct encoder *encoder;
        struct tokens tokens;
        FILE *file = fopen(path, "w");
        fprintf(file, "{\"added_tokens\":[{\"id\":40,\"content\":\"<s>\",\"special\":true}],\"pre_tokenizer\":%s,\"normalizer\":%s,\"model\":%s}",
                row->pre_tokenizer, row->normalizer, model);
        fclose(file);
        EXPECT_EQ(tokenizer_open(&tokenizer, path), OK);
        test_stop_if_failed();
        EXPECT_EQ(encoder_open(&encoder, tokenizer), OK);
        EXPECT_EQ(tokenizer_encode(encoder, row->text, strlen(row->text), false, &tokens), OK);
        bool same = tokens.count == row->count;
        for (int32_t k = 0; same && k < row->count; k++)
            same = tokens.id[k] == row->id[k];
        if (!same)
            test_fail(__FILE__, __LINE__, "%s, %s: ids of \"%s\" differ", row->pre_tokenizer, row->normalizer, row->text);
        encoder_close(encoder);
        tokenizer_close(tokenizer);
    }
}

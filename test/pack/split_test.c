/* Patterns of pre-tokenizers: Oniguruma's, which PCRE2 is to read as the reference does. The ids are the reference's. */
#include "test/pack/handmade.h"

#define IDS(...) { __VA_ARGS__ }, (int64_t)(sizeof (const int32_t[]){ __VA_ARGS__ } / 4)
#define LETTERS "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"x\":3,\" \":4,\"\\n\":5,\"\u00b2\":6,\"1\":7,\"ab\":8,\"abc\":9,\"\\u000b\":10,\"h\":11},"  \
                "\"merges\":[\"a b\",\"ab c\"]}}"
#define SPLIT   "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"%s\"},\"behavior\":\"%s\",\"invert\":%s}," LETTERS

TEST(a_pattern_cuts_where_the_reference_cuts)
{
    /* An empty match cuts as well; ^ and $ are of lines, "." is of a line unless (?m), \h is a hexadecimal digit. */
    static const struct {
        const char *pattern, *behaviour, *invert, *text;
        int32_t right[8];
        int64_t count;
    } cases[] = {
        { "", "Isolated", "false", "abc", IDS(0, 1, 2) },
        { "x*", "Isolated", "false", "abcxxab", IDS(0, 1, 2, 3, 3, 0, 1) },
        { "x*", "Removed", "false", "abcxxab", IDS(0, 1, 2, 0, 1) },
        { "x*", "MergedWithPrevious", "false", "abcxxab", IDS(0, 1, 2, 3, 3, 0, 1) },
        { "x*", "MergedWithNext", "false", "abcxxab", IDS(0, 1, 2, 3, 3, 0, 1) },
        { "x*", "Contiguous", "false", "abcxxab", IDS(0, 1, 2, 3, 3, 0, 1) },
        { "(?=b)", "Isolated", "false", "abcab", IDS(0, 1, 2, 0, 1) },
        { "$", "Isolated", "false", "ab\nab", IDS(8, 5, 8) },
        { "^a", "Removed", "false", "abc\nabcab", IDS(1, 2, 5, 1, 2, 8) },
        { "b$", "Removed", "false", "xb\nab", IDS(3, 5, 0) },
        { "a.", "Removed", "false", "a\nac", IDS(0, 5) },
        { "(?m:a.)", "Removed", "false", "a\nacx", IDS(3) },
        { "\\\\w", "Removed", "false", "a\u00b2 x", IDS(4) },
        { "[\\\\w]", "Removed", "false", "a\u00b2 x", IDS(6, 4) },
        { "\\\\W", "Removed", "false", "a\u00b2 x", IDS(0, 6, 3) },
        { "\\\\b", "Isolated", "false", "abc ab", IDS(9, 4, 8) },
        { "\\\\Bb", "Removed", "false", "abc b", IDS(0, 2, 4, 1) },
        { "\\\\h", "Removed", "false", "a1x h", IDS(3, 4, 11) },
        { "[\\\\h ]", "Removed", "false", "a1x h", IDS(3, 11) },
        { "\\\\v", "Removed", "false", "a\v\nb", IDS(0, 5, 1) },
        { "[]a]", "Removed", "false", "abx", IDS(1, 3) },
        { "\\\\p{Lu}?a++", "Removed", "true", "abaa", IDS(0, 0, 0) },
    };
    for (int64_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char json[1024];
        snprintf(json, sizeof json, SPLIT, cases[i].pattern, cases[i].behaviour, cases[i].invert);
        expect_ids(json, cases[i].text, false, cases[i].right, cases[i].count);
    }
}

TEST(a_pattern_that_has_no_equal_is_refused_with_its_place)
{
    static const struct {
        const char *pattern, *part;
    } cases[] = {
        { "a[\\\\S]", "\"\\S\" at byte 2 is not supported" },      { "a[b[c]]", "\"[c\" at byte 3 is not supported" },
        { "[a-z&&[^b]]", "\"&&\" at byte 4 is not supported" },      { "[[:alpha:]]", "\"[:\" at byte 1 is not supported" },
        { "ba{1,2}+", "\"{1,2}+\" at byte 2 is not supported" },     { "\\\\X", "\"\\X\" at byte 0 is not supported" },
    };
    for (int64_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char json[1024];
        snprintf(json, sizeof json, SPLIT, cases[i].pattern, "Isolated", "false");
        expect_refusal(json, cases[i].part);
    }
}

TEST(a_word_that_needs_no_merges_is_a_whole_one)
{
    /* With ignore_merges "ab" alone is a token; behind a mark, in one word, it is not. */
    static const char json[] = "{\"model\":{\"type\":\"BPE\",\"ignore_merges\":true,\"vocab\":{\"a\":0,\"b\":1,\"\u2581\":2,\"ab\":3},\"merges\":[]}}";
    expect_ids(json, "ab", false, (const int32_t[]){ 3 }, 1);
    expect_ids(json, "ab\u2581" "ab", false, (const int32_t[]){ 0, 1, 2, 0, 1 }, 5);
}

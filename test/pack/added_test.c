/* Added tokens: which of them is found where, as the reference finds them, and in what time. */
#include <time.h>

#include "test/pack/handmade.h"

#define TOKEN(number, content, more) "{\"id\":" #number ",\"content\":\"" content "\"" more "}"
#define LOWER "{\"type\":\"Lowercase\"}"
#define ADDED_MODEL(tokens, normalizer) "{\"added_tokens\":[" tokens "],\"normalizer\":" normalizer ",\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"c\":2,"  \
    "\"x\":3,\" \":4,\"\\n\":5,\"\u00b2\":6,\"\u24b6\":7,\"\u200d\":8,\"<\":9,\">\":10,\"r\":11},\"merges\":[]}}"
#define IDS(...) { __VA_ARGS__ }, (int64_t)(sizeof (const int32_t[]){ __VA_ARGS__ } / 4)

TEST(added_tokens_are_found_where_the_reference_finds_them)
{
    /* The longest of the leftmost, whether it then counts or not; those sought in normalized text after all others; white
     * space that one token swallowed is another token still. */
    static const struct {
        const char *json, *text;
        int32_t right[8];
        int64_t count;
    } cases[] = {
        { ADDED_MODEL(TOKEN(12, "ab", ",\"single_word\":true") "," TOKEN(13, "bc", ""), "null"), "abc", IDS(0, 1, 2) },
        { ADDED_MODEL(TOKEN(12, "ab", ",\"single_word\":true") "," TOKEN(13, "bc", ""), "null"), "ab", IDS(12) },
        { ADDED_MODEL(TOKEN(12, "ab", ",\"single_word\":true") "," TOKEN(13, "bc", ""), "null"), "xab", IDS(3, 0, 1) },
        { ADDED_MODEL(TOKEN(12, "ab", ",\"single_word\":true") "," TOKEN(13, "bc", ""), "null"), "ab\u00b2", IDS(12, 6) },
        { ADDED_MODEL(TOKEN(12, "ab", ",\"single_word\":true") "," TOKEN(13, "bc", ""), "null"), "ab\u24b6", IDS(0, 1, 7) },
        { ADDED_MODEL(TOKEN(12, "ab", ",\"single_word\":true") "," TOKEN(13, "bc", ""), "null"), "ab\u200d", IDS(0, 1, 8) },
        { ADDED_MODEL(TOKEN(12, "ab", ",\"single_word\":true") "," TOKEN(13, "bc", ""), "null"), "ab ab", IDS(12, 4, 12) },
        { ADDED_MODEL(TOKEN(12, "ab", ",\"single_word\":true") "," TOKEN(13, "bc", ""), "null"), "<ab>", IDS(9, 12, 10) },
        { ADDED_MODEL(TOKEN(12, "ab", ",\"single_word\":true") "," TOKEN(13, "bc", ""), "null"), "\u24b6ab", IDS(7, 0, 1) },
        { ADDED_MODEL(TOKEN(12, "<r>", ",\"rstrip\":true") "," TOKEN(13, "  ", "") "," TOKEN(14, "\\t", ",\"lstrip\":true"),
          "null"), "x<r>  \t x", IDS(3, 12, 13, 14, 4, 3) },
        { ADDED_MODEL(TOKEN(12, "<r>", ",\"rstrip\":true") "," TOKEN(13, "  ", "") "," TOKEN(14, "\\t", ",\"lstrip\":true"),
          "null"), "<r>  x", IDS(12, 13, 3) },
        { ADDED_MODEL(TOKEN(12, "<r>", ",\"rstrip\":true") "," TOKEN(13, "  ", "") "," TOKEN(14, "\\t", ",\"lstrip\":true"),
          "null"), "a  \tb", IDS(0, 13, 14, 1) },
        { ADDED_MODEL(TOKEN(12, "<r>", ",\"rstrip\":true") "," TOKEN(13, "  ", "") "," TOKEN(14, "\\t", ",\"lstrip\":true"),
          "null"), "a \t \tb", IDS(0, 14, 14, 1) },
        { ADDED_MODEL(TOKEN(12, "\\t\\t", ",\"lstrip\":true,\"rstrip\":true"), "null"), "a\t\t\t\tb", IDS(0, 12, 1) },
        { ADDED_MODEL(TOKEN(12, "AB", ",\"normalized\":true") "," TOKEN(13, "aB", ",\"normalized\":true"), LOWER), "xabx", IDS(3, 12, 3) }, /* the reference takes either of these two, by chance */
        { ADDED_MODEL(TOKEN(12, "xa", ",\"normalized\":true") "," TOKEN(13, "abc", ""), "null"), "xabcx", IDS(3, 13, 3) },
        { ADDED_MODEL(TOKEN(12, "xa", ",\"normalized\":true") "," TOKEN(13, "abc", ""), "null"), "xab", IDS(12, 1) },
        { ADDED_MODEL(TOKEN(12, "ab", "") "," TOKEN(13, "abcx", "") "," TOKEN(14, "abc", "") "," TOKEN(15, "bb", ""),
          "null"), "abcabcxabbc", IDS(14, 13, 12, 1, 2) },
        { ADDED_MODEL(TOKEN(12, "ab", "") "," TOKEN(13, "abcx", "") "," TOKEN(14, "abc", "") "," TOKEN(15, "bb", ""),
          "null"), "abcab", IDS(14, 12) },
    };
    for (int64_t i = 0; i < ELEMENTS_OF(cases); i++)
        expect_ids(cases[i].json, cases[i].text, false, cases[i].right, cases[i].count);
}

TEST(a_normalized_added_token_decodes_to_what_it_was_found_as)
{
    struct tokenizer *tokenizer = NULL;
    char *text = NULL;
    EXPECT_EQ(open_text(ADDED_MODEL(TOKEN(12, "Xy", ",\"normalized\":true") "," TOKEN(13, "Xz", ""), "{\"type\":\"Prepend\",\"prepend\":\"ab\"}"), &tokenizer), OK);
    test_stop_if_failed();
    EXPECT_EQ(tokenizer_decode(tokenizer, (const int32_t[]){ 12, 13, 0 }, 3, false, &text, NULL), OK);
    EXPECT_TEXT(text, "abXyXza");
    free(text);
    tokenizer_close(tokenizer);
    expect_refusal(ADDED_MODEL(TOKEN(12, "\\t", ",\"normalized\":true"), "{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}"),
                   "added_tokens[0].content is \"\\x09\": the normalizer leaves nothing of it");
}

TEST(added_tokens_are_found_in_time_that_does_not_grow_with_their_number)
{
    enum { COUNT = 100000, SOUGHT = 20000 };
    struct session session = { 0 };
    struct tokens tokens;
    char *text = malloc(64 * COUNT + 1024), *back = NULL, name[32];
    int at = sprintf(text, "{\"added_tokens\":[");
    for (int i = 0; i < COUNT; i++)
        at += sprintf(text + at, "%s{\"id\":%d,\"content\":\"<extra_%d>\",\"special\":%s}", i > 0 ? "," : "", 10 + i, i, i % 2 == 0 ? "true" : "false");
    strcpy(text + at, "]," PRE TAIL MODEL("[]"));
    EXPECT_EQ(open_text(text, &session.tokenizer), OK);
    test_stop_if_failed();
    EXPECT_EQ(encoder_open(&session.encoder, session.tokenizer), OK);
    for (int i = at = 0; i < SOUGHT; i++)
        at += sprintf(text + at, "a<extra_%d>", (int)(i * 7919LL % COUNT));
    clock_t begin = clock();
    EXPECT_EQ(tokenizer_encode(session.encoder, text, (size_t)at, false, &tokens), OK);
    EXPECT_EQ(tokens.count, 2 * SOUGHT);
    EXPECT_EQ(tokenizer_decode(session.tokenizer, tokens.id, tokens.count, false, &back, NULL), OK);
    EXPECT(strcmp(back, text) == 0);
    for (int i = 0; i < SOUGHT; i++) {
        sprintf(name, "<extra_%d>", (int)(i * 7919LL % COUNT));
        EXPECT_EQ(tokens.id[2 * i + 1], tokenizer_id(session.tokenizer, name));
        EXPECT_EQ(tokenizer_special(session.tokenizer, tokens.id[2 * i + 1]), i * 7919LL % COUNT % 2 == 0);
    }
    /* Takes 0.01 s here; one walk over all tokens for each that is sought takes 3 s, for the text, the ids or the names alone. */
    EXPECT((double)(clock() - begin) / CLOCKS_PER_SEC < 0.5);
    free(back);
    free(text);
    close_session(session);
}

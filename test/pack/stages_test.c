/* What stands before and behind the model in tokenizer.json: read as the reference reads it, or refused with its key. */
#include "test/pack/handmade.h"

#define NORMALIZER(parts) "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" parts "]}," PRE TAIL MODEL("[]")
#define PRE_TOKENIZER(parts) HEAD "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[" parts "]}," TAIL MODEL("[]")
#define NFC "{\"type\":\"NFC\"}"

TEST(a_part_of_a_sequence_is_named_by_its_index)
{
    static const struct {
        const char *json, *part;
    } cases[] = {
        { NORMALIZER(NFC "," NFC ",{\"type\":\"Precompiled\"}"), "normalizer.normalizers[2].type is \"Precompiled\"; supported are NFC, " },
        { NORMALIZER(NFC ",{}"), "normalizer.normalizers[1].type is missing" },
        { NORMALIZER(NFC ",null"), "normalizer.normalizers[1] is null; right is an object" },
        { NORMALIZER("{\"type\":\"Sequence\",\"normalizers\":[" NFC ",{\"type\":\"NF\"}]}"), "normalizer.normalizers[0].normalizers[1].type is \"NF\"" },
        { NORMALIZER("{\"type\":\"Strip\",\"strip_left\":true}"), "normalizer.normalizers[0].strip_right is missing; right is true or false" },
        { NORMALIZER("{\"type\":\"Prepend\",\"prepend\":1}"), "normalizer.normalizers[0].prepend is 1; right is a text" },
        { NORMALIZER("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a+\"},\"content\":\"\"}"), "normalizer.normalizers[0].pattern.Regex is \"a+\"; supported is String" },
        { NORMALIZER("{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"\"}"), "normalizer.normalizers[0].pattern has an empty string" },
        { NORMALIZER("{\"type\":\"Replace\",\"pattern\":{},\"content\":\"\"}"), "normalizer.normalizers[0].pattern has neither String nor Regex" },
        { "{\"normalizer\":{\"type\":\"Sequence\"}," PRE TAIL MODEL("[]"), "normalizer.normalizers is missing; right is an array" },
        { PRE_TOKENIZER("{\"type\":\"Digits\"},{\"type\":\"Split\",\"pattern\":{\"String\":\"a\",\"Regex\":\"b\"},\"behavior\":\"Isolated\"}"),
          "pre_tokenizer.pretokenizers[1].pattern has both" },
        { PRE_TOKENIZER("{\"type\":\"Digits\"},{\"type\":\"Split\",\"pattern\":{\"Regex\":\"b\"},\"behavior\":\"Mixed\"}"),
          "pre_tokenizer.pretokenizers[1].behavior is \"Mixed\"; supported are Isolated, " },
        { PRE_TOKENIZER("{\"type\":\"Metaspace\",\"replacement\":\"__\"}"), "pre_tokenizer.pretokenizers[0]: replacement is \"__\"" },
        { PRE_TOKENIZER("{\"type\":\"ByteLevel\",\"add_prefix_space\":false},{\"type\":\"Digits\"}"),
          "pre_tokenizer.pretokenizers[1].type is \"Digits\", behind ByteLevel; supported is ByteLevel as the last" },
        { PRE_TOKENIZER("7"), "pre_tokenizer.pretokenizers[0] is 7; right is an object" },
        { HEAD PRE "\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\"},{\"type\":\"Bert\"}]}," MODEL("[]"),
          "post_processor.processors[1].type is \"Bert\"" },
        { HEAD PRE "\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"ByteLevel\"},{\"type\":\"CTC\"}]}," MODEL("[]"), "decoder.decoders[1].type is \"CTC\"" },
    };
    for (int64_t i = 0; i < ELEMENTS_OF(cases); i++)
        expect_refusal(cases[i].json, cases[i].part);
}

/* ---- post-processor ---- */

#define SPECIAL(id)  "{\"SpecialToken\":{\"id\":\"" id "\",\"type_id\":0}}"
#define SEQUENCE(id) "{\"Sequence\":{\"id\":\"" id "\",\"type_id\":0}}"
#define TEMPLATE(single, pair, special) "{\"type\":\"TemplateProcessing\",\"single\":[" single "],\"pair\":[" pair "],\"special_tokens\":{" special "}}"
#define ENTRY(name, id, ids, tokens) "\"" name "\":{\"id\":\"" id "\",\"ids\":[" ids "],\"tokens\":[" tokens "]}"
#define END ENTRY("<|end|>", "<|end|>", "9", "\"<|end|>\"")
#define PROCESSOR(value) HEAD PRE "\"post_processor\":" value "," MODEL("[]")

TEST(a_template_that_contradicts_the_vocabulary_is_refused)
{
    static const struct {
        const char *json, *part;
    } cases[] = {
        { PROCESSOR(TEMPLATE(SPECIAL("<|end|>") "," SEQUENCE("A"), "", ENTRY("<|end|>", "<|end|>", "8", "\"<|end|>\""))),
          "post_processor.special_tokens.<|end|>.ids[0] is 8; right is 9, the id of \"<|end|>\"" },
        { PROCESSOR(TEMPLATE(SPECIAL("<s>") "," SEQUENCE("A"), "", ENTRY("<s>", "<s>", "1", "\"<s>\""))),
          "post_processor.special_tokens.<s>.tokens[0] is \"<s>\", which is no token of this file" },
        { PROCESSOR(TEMPLATE(SEQUENCE("A"), "", ENTRY("<|end|>", "<|end|>", "9,9", "\"<|end|>\""))), "has 2 ids and 1 tokens" },
        { PROCESSOR(TEMPLATE(SEQUENCE("A"), "", ENTRY("<|end|>", "<s>", "9", "\"<|end|>\""))), "post_processor.special_tokens.<|end|>.id is \"<s>\"; right is its own name" },
        { PROCESSOR(TEMPLATE(SEQUENCE("A"), "", ENTRY("<|end|>", "<|end|>", "\"9\"", "\"<|end|>\""))), "special_tokens.<|end|>.ids[0] is not a whole number" },
        { PROCESSOR(TEMPLATE(SEQUENCE("A"), "", ENTRY("<|end|>", "<|end|>", "9", "9"))), "special_tokens.<|end|>.tokens[0] is not a text" },
        { PROCESSOR(TEMPLATE(SEQUENCE("A"), "", "\"<|end|>\":9")), "post_processor.special_tokens.<|end|> is 9; right is an object" },
        { PROCESSOR(TEMPLATE(SEQUENCE("A"), "", "\"<|end|>\":{\"id\":\"<|end|>\",\"ids\":[9]}")), "special_tokens.<|end|>.tokens is missing; right is an array" },
        { PROCESSOR(TEMPLATE(SPECIAL("<s>") "," SEQUENCE("A"), "", END)), "post_processor.single[0].SpecialToken.id is \"<s>\", which special_tokens lacks" },
        { PROCESSOR(TEMPLATE(SEQUENCE("A"), SPECIAL("<s>"), END)), "post_processor.pair[0].SpecialToken.id is \"<s>\", which special_tokens lacks" },
        { PROCESSOR(TEMPLATE(SEQUENCE("A") "," SEQUENCE("B"), "", "")), "post_processor.single[1].Sequence.id is \"B\"; right is A" },
        { PROCESSOR(TEMPLATE(SEQUENCE("A"), SEQUENCE("C"), "")), "post_processor.pair[0].Sequence.id is \"C\"; right is A or B" },
        { PROCESSOR(TEMPLATE(SEQUENCE("A") "," SEQUENCE("A"), "", "")), "post_processor.single has the text 2 times; right is one Sequence A" },
        { PROCESSOR(TEMPLATE(SPECIAL("<|end|>"), "", END)), "post_processor.single has the text 0 times" },
        { PROCESSOR(TEMPLATE("\"$A\"", "", "")), "post_processor.single[0] is \"$A\"; right is an object" },
        { PROCESSOR(TEMPLATE("{}", "", "")), "post_processor.single[0] has 0 keys; right is SpecialToken or Sequence" },
        { PROCESSOR(TEMPLATE("{\"Sequence\":{\"id\":\"A\"}}", "", "")), "post_processor.single[0].Sequence.type_id is missing; right is a whole number" },
        { PROCESSOR("{\"type\":\"TemplateProcessing\",\"single\":[]}"), "post_processor.special_tokens is missing; right is an object" },
        { PROCESSOR("{\"type\":\"Sequence\",\"processors\":[" TEMPLATE(SPECIAL("<|end|>") "," SEQUENCE("A"), "", END) "," TEMPLATE(SEQUENCE("A"), "", "") "]}"),
          "post_processor.processors[1] is one more TemplateProcessing" },
    };
    for (int64_t i = 0; i < ELEMENTS_OF(cases); i++)
        expect_refusal(cases[i].json, cases[i].part);
    struct session session = { 0 };
    int32_t ids[4];
    EXPECT_EQ(open_text(PROCESSOR(TEMPLATE(SPECIAL("<|end|>") "," SEQUENCE("A") "," SPECIAL("x"), SEQUENCE("B"), END "," ENTRY("x", "x", "9,4", "\"<|end|>\",\"abc\""))),
                        &session.tokenizer), OK);
    test_stop_if_failed();
    EXPECT_EQ(tokenizer_prefix(session.tokenizer, ids), 1);
    EXPECT_EQ(ids[0], 9);
    EXPECT_EQ(tokenizer_suffix(session.tokenizer, ids), 2);
    EXPECT_EQ(ids[1], 4);
    close_session(session);
}

/* ---- decoder ---- */

#define DECODED(value) "{\"added_tokens\":[{\"id\":0,\"content\":\"<unk>\",\"special\":true},{\"id\":13,\"content\":\"\u2581<x>\"}],\"decoder\":" value ","  \
                       "\"model\":{\"type\":\"BPE\",\"vocab\":{\"<unk>\":0,\"\u2581\":1,\"a\":2,\"\u2581a\":3,\"\u2581\u2581\":4,\"b\u2581c\":5,\"<0x41>\":6,"  \
                       "\"<0xC3>\":7,\"<0xA9>\":8,\"<0xff>\":9,\" \":10,\" a\":11,\"a \":12},\"merges\":[]}}"
#define STEPS(parts) "{\"type\":\"Sequence\",\"decoders\":[" parts "]}"
#define UNMARK       "{\"type\":\"Replace\",\"pattern\":{\"String\":\"\u2581\"},\"content\":\" \"}"
#define BYTES        "{\"type\":\"ByteFallback\"}"
#define FUSE         "{\"type\":\"Fuse\"}"
#define STRIP(content, start, stop) "{\"type\":\"Strip\",\"content\":\"" content "\",\"start\":" #start ",\"stop\":" #stop "}"
#define METASPACE(mark, scheme)     "{\"type\":\"Metaspace\",\"replacement\":\"" mark "\",\"prepend_scheme\":\"" scheme "\"}"
#define BAD          "\ufffd"

TEST(every_decoder_gives_the_text_of_the_reference)
{
    enum { LISTS = 8 };
    static const struct {
        int32_t id[6];
        int64_t count;
    } lists[LISTS] = { { { 3, 5, 4 }, 3 }, { { 4, 3, 2 }, 3 }, { { 7, 8, 2 }, 3 }, { { 7, 2, 8 }, 3 }, { { 3, 7, 8, 9, 8, 3 }, 6 }, { { 1, 6, 13 }, 3 }, { { 12, 11, 12 }, 3 },
                       { { 13, 13, 0, 3 }, 4 } };
    static const struct {
        const char *json, *right[LISTS];
    } cases[] = {
        { DECODED(STEPS(UNMARK "," BYTES "," FUSE "," STRIP(" ", 1, 0))),
          { "ab c  ", "  aa", "\u00e9" "a", BAD "a" BAD, "a" BAD BAD BAD BAD " a", "A <x>", "a  aa ", "<x> <x><unk> a" } },
        { DECODED(STEPS(UNMARK "," BYTES "," FUSE)),
          { " ab c  ", "   aa", "\u00e9" "a", BAD "a" BAD, " a" BAD BAD BAD BAD " a", " A <x>", "a  aa ", " <x> <x><unk> a" } },
        { DECODED(STEPS(UNMARK "," STRIP(" ", 1, 0) "," FUSE)),
          { "ab c ", " aa", "<0xC3><0xA9>a", "<0xC3>a<0xA9>", "a<0xC3><0xA9><0xff><0xA9>a", "<0x41><x>", "a aa ", "<x><x><unk>a" } },
        { DECODED(STEPS(UNMARK "," FUSE "," STRIP(" ", 2, 1))),
          { "ab c ", " aa", "<0xC3><0xA9>a", "<0xC3>a<0xA9>", "a<0xC3><0xA9><0xff><0xA9> a", "<0x41> <x>", "a  aa", "<x> <x><unk> a" } },
        { DECODED(FUSE), { "\u2581ab\u2581c\u2581\u2581", "\u2581\u2581\u2581" "aa", "<0xC3><0xA9>a", "<0xC3>a<0xA9>", "\u2581" "a<0xC3><0xA9><0xff><0xA9>\u2581" "a",
                           "\u2581<0x41>\u2581<x>", "a  aa ", "\u2581<x>\u2581<x><unk>\u2581" "a" } },
        { DECODED(BYTES), { "\u2581ab\u2581c\u2581\u2581", "\u2581\u2581\u2581" "aa", "\u00e9" "a", BAD "a" BAD, "\u2581" "a" BAD BAD BAD BAD "\u2581" "a", "\u2581" "A\u2581<x>",
                            "a  aa ", "\u2581<x>\u2581<x><unk>\u2581" "a" } },
        { DECODED(METASPACE("\u2581", "always")),
          { "ab c  ", " aa", "<0xC3><0xA9>a", "<0xC3>a<0xA9>", "a<0xC3><0xA9><0xff><0xA9> a", "<0x41> <x>", "a  aa ", "<x> <x><unk> a" } },
        { DECODED(METASPACE("\u2581", "never")),
          { " ab c  ", "   aa", "<0xC3><0xA9>a", "<0xC3>a<0xA9>", " a<0xC3><0xA9><0xff><0xA9> a", " <0x41> <x>", "a  aa ", " <x> <x><unk> a" } },
        { DECODED(METASPACE("a", "first")),
          { "\u2581" "b\u2581" "c\u2581\u2581", "\u2581\u2581\u2581  ", "<0xC3><0xA9> ", "<0xC3> <0xA9>", "\u2581<0xC3><0xA9><0xff><0xA9>\u2581 ", "\u2581<0x41>\u2581<x>", "     ",
            "\u2581<x>\u2581<x><unk>\u2581 " } },
        { DECODED(STEPS("{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"xyz\"}," STRIP("z", 0, 1))),
          { "\u2581xyb\u2581" "c\u2581\u2581", "\u2581\u2581\u2581xyxy", "<0xC3><0xA9>xy", "<0xC3>xy<0xA9>", "\u2581xy<0xC3><0xA9><0xff><0xA9>\u2581xy", "\u2581<0x41>\u2581<x>",
            "xyz  xyxyz ", "\u2581<x>\u2581<x><unk>\u2581xy" } },
    };
    for (int64_t i = 0; i < ELEMENTS_OF(cases); i++) {
        struct tokenizer *tokenizer = NULL;
        char *text = NULL;
        EXPECT_EQ(open_text(cases[i].json, &tokenizer), OK);
        test_stop_if_failed();
        for (int64_t list = 0; list < LISTS; list++) {
            EXPECT_EQ(tokenizer_decode(tokenizer, lists[list].id, lists[list].count, false, &text, NULL), OK);
            EXPECT_TEXT(text, cases[i].right[list]);
        }
        free(text);
        tokenizer_close(tokenizer);
    }
}

TEST(a_decoder_that_would_be_misread_is_refused)
{
    static const struct {
        const char *json, *part;
    } cases[] = {
        { DECODED("{\"type\":\"WordPiece\"}"), "decoder.type is \"WordPiece\"; supported are ByteLevel, " },
        { DECODED("{\"type\":\"Fuse\",\"content\":\"\"}"), "decoder.content is \"\": a key that is not known for Fuse" },
        { DECODED(STEPS(UNMARK ",{\"type\":\"Strip\",\"content\":\" \",\"start\":1}")), "decoder.decoders[1].stop is missing; right is a whole number" },
        { DECODED(STRIP("  ", 1, 0)), "decoder.content is \"  \"; right is one character" },
        { DECODED(STRIP(" ", -1, 0)), "decoder.start is -1; right is 0 to 2147483647" },
        { DECODED("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a\"},\"content\":\"\"}"), "decoder.pattern is not {\"String\": a text}" },
        { DECODED(METASPACE("__", "always")), "decoder.replacement is \"__\"; right is one character" },
        { DECODED(METASPACE("_", "last")), "decoder.prepend_scheme is \"last\"; right are always, first and never" },
        { DECODED("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"add_prefix_space\":false}"), "decoder.add_prefix_space is false" },
        { DECODED("{\"type\":\"ByteLevel\"}"), "decoder.type is \"ByteLevel\"; supported without a pre_tokenizer ByteLevel are the others" },
        { HEAD PRE "\"decoder\":" FUSE "," MODEL("[]"), "decoder.type is \"Fuse\"; right is ByteLevel, as the pre_tokenizer is" },
        { HEAD PRE "\"decoder\":" STEPS("{\"type\":\"ByteLevel\"},{\"type\":\"ByteLevel\"}") "," MODEL("[]"), "decoder.decoders[1].type is \"ByteLevel\"; supported is one" },
        { HEAD PRE "\"decoder\":" STEPS("") "," MODEL("[]"), "decoder.decoders is []; right is ByteLevel" },
        { HEAD PRE "\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":1}," MODEL("[]"), "decoder.add_prefix_space is 1; right is true or false" },
        { DECODED(STEPS(FUSE "," FUSE "," FUSE "," FUSE "," FUSE "," FUSE "," FUSE "," FUSE "," FUSE)), "decoder.decoders[8]: more than 8 decoders" },
        { "{\"added_tokens\":[{\"id\":9,\"content\":\"x\\u0000y\"}]," PRE TAIL MODEL("[]"), "\\u0000 is not allowed" },
    };
    for (int64_t i = 0; i < ELEMENTS_OF(cases); i++)
        expect_refusal(cases[i].json, cases[i].part);
}

TEST(an_added_token_of_a_byte_level_model_decodes_to_the_bytes_it_stands_for)
{
    /* With the reference as well: where every character is a stand-in it is read as one; the byte 0xe9 alone is no UTF-8. */
    struct tokenizer *tokenizer = NULL;
    char *text = NULL;
    EXPECT_EQ(open_text("{\"added_tokens\":[{\"id\":9,\"content\":\"\u00e9\"},{\"id\":10,\"content\":\"\u00e9\u4e2d\"}]," PRE TAIL MODEL("[]"), &tokenizer), OK);
    test_stop_if_failed();
    EXPECT_EQ(tokenizer_decode(tokenizer, (const int32_t[]){ 0, 9, 10, 6 }, 4, false, &text, NULL), OK);
    EXPECT_TEXT(text, "a" BAD "\u00e9\u4e2d a");
    free(text);
    tokenizer_close(tokenizer);
}

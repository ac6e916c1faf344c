/* form_test.c: every usual form of a row says what it says, and what is wrong with a row is named (cases J5 to J9). */
#include "test/test.h"
#include "tools/pack/form.h"

static const struct form_options plain = { 0 };

/* The examples in short: "user:hi|assistant:ho" with ! before a message that is not learned, + before one that is; "T:text"; "I:ids". Or
 * "reason line:column detail". */
static char *read_row(const struct form_options *options, const char *row)
{
    struct examples examples = { 0 };
    struct refusal refusal = { .reason = REASON_NONE };
    char *out = calloc(1, 8192);
    if (!form_read(options, row, strlen(row), &examples, &refusal))
        snprintf(out, 8192, "%s %d:%d %s", reason_text(refusal.reason), refusal.line, refusal.column, refusal.detail);
    for (int i = 0; i < examples.count && out[0] != 'n'; i++) {
        const struct example *example = &examples.example[i];
        strcat(out, i > 0 ? "; " : "");
        if (example->kind == EXAMPLE_TEXT)
            sprintf(out + strlen(out), "T:%s", json_string_value(example->text));
        if (example->kind == EXAMPLE_TOKENS)
            sprintf(out + strlen(out), "I:%d,%d", (int)json_array_size(example->ids), (int)json_array_size(example->labels));
        for (size_t m = 0; m < json_array_size(example->messages); m++) {
            const json_t *message = json_array_get(example->messages, m);
            const json_t *calls = json_object_get(message, "tool_calls"), *thought = json_object_get(message, "reasoning_content");
            sprintf(out + strlen(out), "%s%s%s:%s", m > 0 ? "|" : "",
                    example->loss[m] == LOSS_NO    ? "!"
                    : example->loss[m] == LOSS_YES ? "+"
                                                   : "",
                    json_string_value(json_object_get(message, "role")), json_string_value(json_object_get(message, "content")));
            if (thought != NULL)
                sprintf(out + strlen(out), " thinks %s", json_string_value(thought));
            for (size_t c = 0; c < json_array_size(calls); c++) {
                const json_t *function = json_object_get(json_array_get(calls, c), "function");
                char *arguments = json_dumps(json_object_get(function, "arguments"), JSON_COMPACT | JSON_ENCODE_ANY);
                sprintf(out + strlen(out), " calls %s%s", json_string_value(json_object_get(function, "name")), arguments);
                free(arguments);
            }
        }
        if (example->tools != NULL) {
            char *tools = json_dumps(example->tools, JSON_COMPACT);
            sprintf(out + strlen(out), " tools %s", tools);
            free(tools);
        }
        strcat(out, example->chosen ? " (chosen)" : "");
    }
    examples_close(&examples);
    return out;
}

static const struct {
    const char *row, *right;
} rows[] = {
    /* alpaca */
    { "{\"instruction\":\"a\",\"input\":\"b\",\"output\":\"c\",\"history\":[[\"d\",\"e\"]],\"system\":\"s\"}",
      "system:s|user:d|assistant:e|user:a\nb|assistant:c" },
    { "{\"instruction\":\"a\",\"input\":\"\",\"output\":\"c\",\"system\":\"\"}", "user:a|assistant:c" },
    { "{\"instruction\":\"a\",\"input\":null,\"output\":\"c\",\"history\":null}", "user:a|assistant:c" },
    { "{\"instruction\":\"\",\"input\":\"b\",\"output\":\"c\"}", "user:b|assistant:c" },
    { "{\"input\":\"b\",\"output\":\"c\"}", "user:b|assistant:c" },
    { "{\"instruction\":\"a\",\"instances\":[{\"input\":\"\",\"output\":\"b\"},{\"input\":\"c\",\"output\":\"d\"}]}",
      "user:a|assistant:b; user:a\nc|assistant:d" },
    /* one question, one answer */
    { "{\"query\":\"a\",\"response\":\"b\",\"history\":[]}", "user:a|assistant:b" },
    { "{\"prompt\":\"a\",\"completion\":\"b\"}", "user:a|assistant:b" },
    { "{\"question\":\"a\",\"answer\":\"b\"}", "user:a|assistant:b" },
    { "{\"problem\":\"a\",\"level\":\"5\",\"type\":\"x\",\"solution\":\"b\"}", "user:a|assistant:b" },
    /* conversations */
    { "{\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":"
      "\"b\"}]}",
      "system:s|user:a|assistant:b" },
    { "{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"},{\"from\":\"gpt\",\"value\":\"b\"}],\"system\":\"s\"}",
      "system:s|user:a|assistant:b" },
    { "{\"system\":\"s\",\"conversation\":[{\"human\":\"a\",\"assistant\":\"b\"},{\"human\":\"c\",\"assistant\":\"d\"}]}",
      "system:s|user:a|assistant:b|user:c|assistant:d" },
    { "{\"messages\":[{\"role\":\"developer\",\"content\":\"s\"},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{"
      "\"type\":\"text\","
      "\"value\":\"b\"}]},{\"role\":\"assistant\",\"content\":[\"c\",{\"type\":\"reasoning\",\"value\":\"r\"}]}]}",
      "system:s|user:ab|assistant:<think>\nr\n</think>\n\nc" },
    { "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\"},{\"role\":\"system\",\"content\":\"s\"}]"
      "}",
      "user:a|user:b|system:s" },
    { "{\"messages\":[{\"role\":\"assistant\",\"content\":\"\"}]}", "assistant:" },
    /* what is learned */
    { "{\"messages\":[{\"role\":\"user\",\"content\":\"a\",\"loss\":false},{\"role\":\"assistant\",\"content\":\"b\",\"loss\":false},"
      "{\"role\":\"assistant\",\"content\":\"c\",\"loss_weight\":1.0},{\"role\":\"assistant\",\"content\":\"d\",\"weight\":0}]}",
      "!user:a|!assistant:b|+assistant:c|!assistant:d" },
    { "{\"prompt\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"},{\"role\":\"user\",\"content\":\"c\"}]"
      ","
      "\"completion\":[{\"role\":\"assistant\",\"content\":\"d\"}]}",
      "!user:a|!assistant:b|!user:c|+assistant:d" },
    /* preference pairs, labels */
    { "{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"}],\"chosen\":{\"from\":\"gpt\",\"value\":\"b\"},\"rejected\":{\"from\":"
      "\"gpt\","
      "\"value\":\"c\"}}",
      "user:a|assistant:b (chosen)" },
    { "{\"prompt\":\"a\",\"chosen\":\"b\",\"rejected\":\"c\"}", "user:a|assistant:b (chosen)" },
    { "{\"chosen\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}],\"rejected\":[]}",
      "user:a|assistant:b (chosen)" },
    { "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}],\"label\":true}",
      "user:a|assistant:b" },
    { "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}],\"label\":false}",
      "labelled as not wanted 0:0 its label is false" },
    { "{\"text\":\"a\",\"label\":false}", "T:a" },
    /* tools */
    { "{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"},{\"from\":\"function_call\",\"value\":\"{\\\"name\\\":\\\"f\\\","
      "\\\"arguments\\\":{\\\"x\\\":"
      "1}}\"},{\"from\":\"observation\",\"value\":\"1\"},{\"from\":\"gpt\",\"value\":\"b\"}],\"tools\":\"[{\\\"name\\\":\\\"f\\\"}]\"}",
      "user:a|assistant: calls f{\"x\":1}|tool:1|assistant:b tools [{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]" },
    { "{\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":"
      "\"f\","
      "\"arguments\":\"{\\\"x\\\":1.0}\"}}]},{\"role\":\"tool\",\"content\":\"2\",\"tool_call_id\":\"1\"}],\"tools\":[{\"type\":"
      "\"function\","
      "\"function\":{\"name\":\"f\"}}]}",
      "assistant: calls f{\"x\":1.0}|tool:2 tools [{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]" },
    { "{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_call\",\"value\":\"[{\\\"name\\\":\\\"f\\\",\\\"arguments\\\":{"
      "}},{\\\"name\\\":"
      "\\\"g\\\",\\\"arguments\\\":{}}]\"}]}],\"tools\":\"[]\"}",
      "assistant: calls f{} calls g{}" },
    /* plain text, tokens */
    { "{\"text\":\"a\",\"url\":\"b\"}", "T:a" },
    { "{\"response\":\"a\"}", "T:a" },
    { "{\"input_ids\":[1,2],\"labels\":[-100,2],\"text\":\"a\"}", "I:2,2" },
    { "{\"input_ids\":[1,2,3]}", "I:3,0" },
    { "{\"id\":18446744073709551616,\"text\":\"a\"}", "T:a" },
    /* X57: null first and a string later, in one file: each row by itself */
    { "{\"instruction\":\"a\",\"input\":\"\",\"output\":\"c\",\"tools\":null,\"messages\":null}", "user:a|assistant:c" },
    /* J5, J6, J9 */
    { "{\"text\":\"a", "not valid JSON 1:10 premature end of input near '\"a'" },
    { "{\"text\":\"a\"} {\"text\":\"b\"}", "not valid JSON 1:14 end of file expected near '{'" },
    { "{\"text\":\"a\",\n\"text\":\"b\"}", "not valid JSON 2:6 duplicate object key near '\"text\"'" },
    { "{\"text\":\"a\xff\"}", "not valid UTF-8 1:10 unable to decode byte 0xff near '\"a'" },
    { "{\"text\":\"\xc0\x80\"}", "not valid UTF-8 1:9 unable to decode byte 0xc0 near '\"'" },
    { "{\"text\":\"\\ud83d\"}", "not valid UTF-8 1:16 invalid Unicode '\\uD83D' near '\"\\ud83d\"'" },
    { "{\"text\":\"a\tb\"}", "not valid JSON 1:10 control character 0x9 near '\"a'" },
    { "{\"text\":NaN}", "not valid JSON 1:11 invalid token near 'NaN'" },
    { "5", "the row is no object 0:0 a row is an object with fields" },
    { "[]", "the row is no object 0:0 a row is an object with fields" },
    /* J7 */
    { "{\"messages\":[]}", "nothing is said 0:0 messages is an empty list" },
    { "{\"messages\":null}", "a field of the wrong kind 0:0 messages is null" },
    { "{\"messages\":\"hi\"}", "a field of the wrong kind 0:0 messages is no list of messages" },
    { "{\"messages\":[5]}", "a field of the wrong kind 0:0 a message that is no object" },
    { "{\"messages\":[{\"content\":\"a\"}]}", "a field of the wrong kind 0:0 a message without a role" },
    { "{\"messages\":[{\"role\":\"client\",\"content\":\"a\"}]}",
      "a role that is not known 0:0 the role \"client\" is not known; --role assistant=... says what it is" },
    { "{\"messages\":[{\"role\":7,\"content\":\"a\"}]}", "a role that is not known 0:0 a role that is no text" },
    { "{}", "no form that is known 0:0 its fields are: none; --map says what they are" },
    { "{\"title\":\"a\",\"body\":\"b\"}", "no form that is known 0:0 its fields are: title, body; --map says what they are" },
    { "{\"question\":\"a\"}", "no form that is known 0:0 a question (question) without an answer" },
    /* J8 */
    { "{\"messages\":[{\"role\":\"user\",\"content\":null}]}", "a field of the wrong kind 0:0 a message of role user without content" },
    { "{\"messages\":[{\"role\":\"user\"}]}", "a field of the wrong kind 0:0 a message of role user without content" },
    { "{\"messages\":[{\"role\":\"user\",\"content\":5}]}",
      "a field of the wrong kind 0:0 content of role user is neither a text nor a list of parts" },
    { "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":\"x\"}]}]}",
      "a field of the wrong kind 0:0 a part of content of type \"image_url\" is no text" },
    { "{\"instruction\":\"a\",\"output\":5}", "a field of the wrong kind 0:0 what the assistant says is no text" },
    { "{\"instruction\":[\"a\"],\"output\":\"b\"}", "a field of the wrong kind 0:0 the question is no text" },
    { "{\"instruction\":\"a\",\"output\":\"b\",\"history\":[[\"c\"]]}",
      "a field of the wrong kind 0:0 history has an entry that is no pair" },
    { "{\"instruction\":\"a\",\"output\":\"b\",\"system\":{}}", "a field of the wrong kind 0:0 system is no text" },
    { "{\"messages\":[{\"role\":\"function_call\",\"content\":\"f(1)\"}]}",
      "a field of the wrong kind 0:0 a function call that is not JSON" },
    { "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"tools\":\"x\"}",
      "a field of the wrong kind 0:0 tools is neither a list nor a list as JSON in a string" },
    { "{\"text\":5}", "a field of the wrong kind 0:0 the text is no text" },
    { "{\"input_ids\":\"1 2\"}", "token ids that cannot be 0:0 input_ids or labels is no list" },
    { "{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\",\"loss\":0.5}]}",
      "a loss that is neither 0 nor 1 0:0 loss of a message is neither 0 nor 1" },
    { "{\"messages\":[{\"role\":\"user\",\"content\":\"a\",\"loss\":true}]}",
      "a loss that is neither 0 nor 1 0:0 loss of a message of role user is 1: only what the assistant says is learned" },
};

TEST(a_row_says_what_its_form_means)
{
    for (int i = 0; i < ELEMENTS_OF(rows); i++) {
        char *seen = read_row(&plain, rows[i].row);
        if (strcmp(seen, rows[i].right) != 0)
            test_fail(__FILE__, __LINE__, "%s\n    gives  %s\n    right  %s", rows[i].row, seen, rows[i].right);
        free(seen);
    }
}

TEST(options_say_what_fields_and_roles_are_called)
{
    static const struct pairing map[] = { { "instruction", "ask" }, { "output", "reply" } },
                                roles[] = { { "user", "client" }, { "assistant", "agent" } };
    static const struct pairing list[] = { { "messages", "turns" }, { "role", "who" }, { "content", "says" } };
    static const struct pairing fill[] = { { "name", "Nox" }, { "author", "us" } };
    const struct form_options mapped = { .map = map, .maps = 2 };
    const struct form_options turns = { .map = list, .maps = 3, .role = roles, .roles = 2, .system = "be brief" };
    const struct form_options filled = { .fill = fill, .fills = 2, .knows_reasoning = true };
    static const struct {
        int options;
        const char *row, *right;
    } cases[] = {
        { 0, "{\"ask\":\"a\",\"reply\":\"b\",\"input\":\"ignored\",\"text\":\"ignored\"}", "user:a|assistant:b" },
        { 0, "{\"instruction\":\"a\",\"output\":\"b\"}",
          "no form that is known 0:0 its fields are: instruction, output; --map says what they are" },
        { 0, "{\"ask\":\"a\"}", "no form that is known 0:0 a question (instruction) without an answer" },
        { 1, "{\"turns\":[{\"who\":\"client\",\"says\":\"a\"},{\"who\":\"agent\",\"says\":\"b\"}]}", "system:be brief|user:a|assistant:b" },
        { 1, "{\"turns\":[{\"who\":\"system\",\"says\":\"s\"},{\"who\":\"agent\",\"says\":\"b\"}]}", "system:s|assistant:b" },
        { 2, "{\"instruction\":\"{{name}}{{ x }}\",\"output\":\"I am {{name}} of {{author}}, {{other}} {{name\"}",
          "user:Nox{{ x }}|assistant:I am Nox of us, {{other}} {{name" },
        { 2, "{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\",\"reasoning_content\":\"r\"}]}", "assistant:a thinks r" },
    };
    const struct form_options *const options[] = { &mapped, &turns, &filled };
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        char *seen = read_row(options[cases[i].options], cases[i].row);
        EXPECT_TEXT(seen, cases[i].right);
        free(seen);
    }
}

TEST(a_nul_in_a_text_is_kept)
{
    struct examples examples = { 0 };
    struct refusal refusal = { .reason = REASON_NONE };
    static const char row[] = "{\"text\":\"a\\u0000b\"}";
    EXPECT(form_read(&plain, row, sizeof row - 1, &examples, &refusal));
    EXPECT_EQ(json_string_length(examples.example[0].text), 3);
    examples_close(&examples);
}

TEST(plain_text_must_be_utf8)
{
    struct examples examples = { 0 };
    struct refusal refusal = { .reason = REASON_NONE };
    EXPECT(form_read_text("h\xc3\xa9", 3, &examples, &refusal));
    EXPECT(!form_read_text("h\xc3\xa9\xed\xa0\x80", 6, &examples, &refusal));
    EXPECT_EQ(refusal.reason, BROKEN_UNICODE);
    EXPECT_EQ(refusal.column, 4);
    examples_close(&examples);
}

TEST(any_bytes_end_without_a_fault)
{
    /* Rows above with bytes changed, cut and doubled: whatever comes of it, it ends and says why. */
    uint64_t state = test_seed();
    for (int i = 0; i < 20000; i++) {
        char row[4096];
        snprintf(row, sizeof row, "%s", rows[test_random(&state) % (uint64_t)ELEMENTS_OF(rows)].row);
        size_t length = strlen(row);
        for (uint64_t changes = 1 + test_random(&state) % 4; changes > 0; changes--) {
            static const char bytes[] = "{}[]\":,0n\\u\xff ";
            row[test_random(&state) % length] = bytes[test_random(&state) % (sizeof bytes - 1)];
        }
        struct examples examples = { 0 };
        struct refusal refusal = { .reason = REASON_NONE };
        bool good = form_read(&plain, row, length - test_random(&state) % length / 4, &examples, &refusal);
        EXPECT(good == (refusal.reason == REASON_NONE));
        EXPECT(!good || examples.count > 0);
        examples_close(&examples);
    }
}

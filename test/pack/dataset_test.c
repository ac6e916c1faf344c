/* dataset_test.c: the data sets that people fine-tune on are read as what they are. */
#include "test/pack/tiny.h"

/* With rows of 8192 tokens; broken ones are allowed. smollm2's and qwen3's own templates. */
static const struct {
    const char *file, *tokenizer;
    int rows, kept, broken, dropped;
    const char *says;
} sets[] = {
    { "llamafactory/alpaca_en_demo.json", "smollm2", 750, 750, 0, 0, "" },
    { "llamafactory/alpaca_zh_demo.json", "smollm2", 750, 750, 0, 0, "" },
    { "llamafactory/identity.json", "smollm2", 69, 69, 0, 0, "not filled in                 63" },
    { "llamafactory/dpo_en_demo.json", "smollm2", 225, 225, 0, 0, "the chosen answer taken            225" },
    { "llamafactory/dpo_zh_demo.json", "qwen3", 225, 225, 0, 0, "the chosen answer taken            225" },
    { "llamafactory/kto_en_demo.json", "smollm2", 225, 116, 0, 109, "labelled as not wanted                              109" },
    { "llamafactory/glaive_toolcall_en_demo.json", "qwen3", 225, 225, 0, 0, "" },
    { "llamafactory/glaive_toolcall_zh_demo.json", "qwen3", 225, 225, 0, 0, "" },
    { "llamafactory/glaive_toolcall_en_demo.json", "smollm2", 225, 83, 0, 142, "the template leaves out the tools" },
    { "llamafactory/glaive_toolcall_en_demo.json", "mistral", 225, 83, 116, 26, "conversation roles must alternate" },
    { "llamafactory/reason_tool_use_demo_50.jsonl", "qwen3", 38, 38, 0, 0, "" },
    { "llamafactory/reason_tool_use_demo_50.jsonl", "llama3.2", 38, 15, 8, 15, "This model only supports single tool-calls at once!" },
    { "llamafactory/v1_sft_demo.jsonl", "smollm2", 80, 80, 0, 0, "" },
    { "llamafactory/c4_demo.jsonl", "smollm2", 225, 225, 0, 0, "" },
    { "llamafactory/wiki_demo.txt", "smollm2", 23, 23, 0, 0, "text continued in further documents" },
    { "self-instruct/seed_tasks.jsonl", "smollm2", 132, 132, 0, 0, "" },
    { "gsm8k/train.jsonl", "smollm2", 3000, 3000, 0, 0, "" },
    { "gsm8k/test.jsonl", "smollm2", 300, 300, 0, 0, "" },
    { "ms-swift/math.jsonl", "smollm2", 375, 375, 0, 0, "" },
    { "tinystories/stories.jsonl", "smollm2", 147, 147, 0, 0, "" },
    { "tinystories/sample5.jsonl", "smollm2", 5, 5, 0, 0, "" },
    { "ms-swift/formats/alpaca.jsonl", "smollm2", 3, 3, 0, 0, "" },
    { "ms-swift/formats/chatml.jsonl", "smollm2", 3, 3, 0, 0, "" },
    { "ms-swift/formats/conversations.jsonl", "smollm2", 3, 3, 0, 0, "" },
    { "ms-swift/formats/sharegpt.jsonl", "smollm2", 3, 3, 0, 0, "" },
    { "ms-swift/formats/swift_multi.json", "smollm2", 3, 3, 0, 0, "" },
    { "ms-swift/formats/swift_multi.jsonl", "smollm2", 3, 3, 0, 0, "" },
    { "ms-swift/formats/swift_pre.jsonl", "smollm2", 3, 3, 0, 0, "" },
    { "ms-swift/formats/swift_single.jsonl", "smollm2", 3, 3, 0, 0, "" },
};

/* The number behind a line's words. */
static int counted(const char *said, const char *words)
{
    const char *line = strstr(said, words);
    int number = 0;
    for (const char *c = line != NULL ? line + strlen(words) : ""; *c != '\0' && *c != '\n'; c++)
        if (*c >= '0' && *c <= '9')
            number = number * 10 + *c - '0';
    return line != NULL ? number : -1;
}

TEST(every_set_is_read_as_what_it_is)
{
    const char *models = test_shared("data/tokenizers"), *data = test_shared("data/datasets"), *folder = test_folder();
    for (int i = 0; i < ELEMENTS_OF(sets); i++) {
        char *said;
        int code = tiny_pack(&said, "--tokenizer %s/%s --sequence 8192 --bad-rows 100%% --out %s/d.pack %s/%s", models, sets[i].tokenizer,
                             folder, data, sets[i].file);
        int rows = counted(said, "rows in "), kept = counted(said, "rows kept "), broken = counted(said, "broken "),
            dropped = counted(said, "dropped ");
        if (code != OK || rows != sets[i].rows || kept != sets[i].kept || broken != sets[i].broken || dropped != sets[i].dropped)
            test_fail(__FILE__, __LINE__, "%s with %s: code %d, %d rows, %d kept, %d broken, %d dropped; right is %d, %d, %d, %d\n%s",
                      sets[i].file, sets[i].tokenizer, code, rows, kept, broken, dropped, sets[i].rows, sets[i].kept, sets[i].broken,
                      sets[i].dropped, said);
        EXPECT_HOLDS(said, sets[i].says);
        free(said);
    }
}

TEST(a_well_filled_pack_wastes_little)
{
    const char *models = test_shared("data/tokenizers"), *data = test_shared("data/datasets"), *folder = test_folder();
    char *said;
    struct pack pack;
    EXPECT_EQ(tiny_pack(&said, "--tokenizer %s/smollm2 --sequence 512 --out %s/d.pack %s/gsm8k/train.jsonl", models, folder, data), OK);
    EXPECT_EQ(pack_open(&pack, tiny_path(folder, "d.pack")), OK);
    test_stop_if_failed();
    EXPECT_EQ(pack.header->documents, 3000);
    /* Documents of 100 to 500 tokens in rows of 512: best fit, longest first, fills nine tenths with ease. */
    EXPECT(pack.header->tokens > pack.header->rows * 512 * 9 / 10);
    pack_close(&pack);
}

/* index_test.c: a checkpoint in shards is one set of tensors, and an index that lies is refused. Ids I1 to I5. */
#include "file/convert.h"
#include "file/safetensors.h"
#include "test/file/hostile.h"

#include <sys/stat.h>
#include <unistd.h>

static enum status open_all(const char *path)
{
    struct tensors tensors;
    TRY(tensors_open(&tensors, path));
    tensors_close(&tensors);
    return OK;
}

/* A shard with one F32 tensor of two elements a name; element values follow from the name. */
static void write_shard(const char *folder, const char *file, const char *const *names, int count)
{
    static char header[4096];
    struct tensor_plan plan[4];
    int64_t file_bytes;
    struct bytes bytes = { 0 };
    for (int i = 0; i < count; i++)
        plan[i] = (struct tensor_plan){ .name = names[i], .type = TENSOR_F32, .shape = { 2 }, .dimensions = 1 };
    int64_t header_bytes = safetensors_header(header, sizeof header, plan, count, &file_bytes);
    bytes_add(&bytes, header, (size_t)header_bytes);
    for (int i = 0; i < count; i++) {
        float x[2] = { (float)names[i][0], -1.0f };
        bytes_add(&bytes, x, sizeof x);
    }
    bytes_write(&bytes, folder, file);
}

static const char *const ab[] = { "a", "b" }, *const c[] = { "c" };
#define MAP_GOOD "\"weight_map\":{\"a\":\"x-1.safetensors\",\"b\":\"x-1.safetensors\",\"c\":\"x-2.safetensors\"}"

static const char *made_folder(const char *index)
{
    const char *folder = test_folder();
    write_shard(folder, "x-1.safetensors", ab, 2);
    write_shard(folder, "x-2.safetensors", c, 1);
    hostile_file(folder, "model.safetensors.index.json", index);
    return folder;
}

TEST(shards_are_one_set_of_tensors)
{
    struct tensors tensors;
    float x[2];
    const char *folder = made_folder("{\"metadata\":{\"total_size\":24}," MAP_GOOD "}");
    EXPECT_EQ(tensors_open(&tensors, folder), OK);
    test_stop_if_failed();
    EXPECT_EQ(tensors.count, 3);
    for (int i = 0; i < 3; i++) {
        const struct tensor *tensor = tensors_find(&tensors, i == 0 ? "a" : i == 1 ? "b" : "c");
        EXPECT(tensor != NULL && tensor_read(tensor, x, 0, 2) == OK && x[0] == (float)("abc"[i]) && x[1] == -1.0f);
        EXPECT(strstr(tensor->file, i < 2 ? "x-1" : "x-2") != NULL);
    }
    tensors_close(&tensors);
    EXPECT_EQ(hostile_try("good", open_all, folder).notes, 0);
}

static const struct {
    const char *id, *index;
    enum status right;
    const char *part;
} indexes[] = {
    { "I1", "{\"weight_map\":{\"a\":\"x-1.safetensors\",\"b\":\"x-1.safetensors\",\"c\":\"x-3.safetensors\"}}", E_READ,
      "names shard x-3.safetensors, which cannot be read; it would hold 1 tensors" },
    { "I2 lacks", "{\"weight_map\":{\"a\":\"x-1.safetensors\",\"b\":\"x-2.safetensors\",\"c\":\"x-2.safetensors\"}}", E_DATA,
      "sends tensor b to x-2.safetensors, which lacks it" },
    { "I2 unnamed", "{\"metadata\":{\"total_size\":16},\"weight_map\":{\"a\":\"x-1.safetensors\",\"c\":\"x-2.safetensors\"}}", OK,
      "1 tensors that the index does not send there are left out: b" },
    { "I3 ../a", "{\"weight_map\":{\"a\":\"../x-1.safetensors\"}}", E_DATA, "tensor a: its shard \"../x-1.safetensors\" is no plain file name" },
    { "I3 /etc/x", "{\"weight_map\":{\"a\":\"/etc/passwd\"}}", E_DATA, "tensor a: its shard \"/etc/passwd\"" },
    { "I3 d/a", "{\"weight_map\":{\"a\":\"d/x-1.safetensors\"}}", E_DATA, "tensor a: its shard" },
    { "I3 empty", "{\"weight_map\":{\"a\":\"\"}}", E_DATA, "tensor a: its shard \"\"" },
    { "I3 ..", "{\"weight_map\":{\"a\":\"..\"}}", E_DATA, "tensor a: its shard \"..\"" },
    { "I3 folder", "{\"weight_map\":{\"a\":\"folder\"}}", E_READ, "not a regular file" },
    { "I4 missing", "{\"metadata\":{}}", E_DATA, "weight_map is missing" },
    { "I4 []", "{\"weight_map\":[]}", E_DATA, "weight_map is missing, empty or no object" },
    { "I4 {}", "{\"weight_map\":{}}", E_DATA, "weight_map is missing, empty or no object" },
    { "I4 3", "{\"weight_map\":{\"a\":3}}", E_DATA, "tensor a: its shard (no text)" },
    { "I4 twice", "{\"weight_map\":{\"a\":\"x-1.safetensors\",\"a\":\"x-2.safetensors\"}}", E_DATA, "duplicate" },
    { "I4 no object", "[]", E_DATA, "weight_map" },
    { "I4 empty", "", E_DATA, "0 bytes" },
    { "I4 cut", "{\"weight_map\":{\"a\":", E_DATA, "line 1, byte" },
    { "I5 absent", "{" MAP_GOOD "}", OK, "total_size is not the 24 bytes" },
    { "I5 0", "{\"metadata\":{\"total_size\":0}," MAP_GOOD "}", OK, "total_size is not the 24 bytes" },
    { "I5 wrong", "{\"metadata\":{\"total_size\":25}," MAP_GOOD "}", OK, "total_size is not the 24 bytes" },
    { "I5 1e30", "{\"metadata\":{\"total_size\":1e30}," MAP_GOOD "}", OK, "total_size is not the 24 bytes" },
    { "I5 text", "{\"metadata\":{\"total_size\":\"12\"}," MAP_GOOD "}", OK, "total_size is not the 24 bytes" },
    { "I5 metadata", "{\"metadata\":7," MAP_GOOD "}", OK, "total_size is not the 24 bytes" },
};

TEST(every_index_has_its_right_outcome)
{
    const char *folder = made_folder("");
    char path[512];
    snprintf(path, sizeof path, "%s/folder", folder);
    EXPECT(mkdir(path, 0700) == 0);
    for (int64_t i = 0; i < ELEMENTS_OF(indexes); i++) {
        hostile_file(folder, "model.safetensors.index.json", indexes[i].index);
        hostile_expect(indexes[i].id, open_all, folder, indexes[i].right, indexes[i].part);
    }
}

TEST(a_damaged_shard_is_named)
{
    const char *folder = made_folder("{" MAP_GOOD "}");
    char path[512];
    snprintf(path, sizeof path, "%s/x-2.safetensors", folder);
    EXPECT(truncate(path, 100) == 0);
    hostile_expect("cut shard", open_all, folder, E_DATA, "x-2.safetensors");
}

/* ---- a real checkpoint in its forms ---- */

TEST(stories260K_is_one_model_in_both_its_forms)
{   /* The bf16 form is the fp32 form rounded to the nearest: equal to the bit after the same rounding. */
    struct tensors one, sharded;
    EXPECT_EQ(tensors_open(&one, test_shared("data/models/stories260K")), OK);
    EXPECT_EQ(tensors_open(&sharded, test_shared("data/models/stories260K-bf16-untied-sharded")), OK);
    test_stop_if_failed();
    EXPECT_EQ(one.count, 47);
    EXPECT_EQ(sharded.count, 48);      /* lm_head is written out */
    for (int64_t i = 0; i < sharded.count; i++) {
        const struct tensor *b = &sharded.tensor[i];
        bool head = strcmp(b->name, "lm_head.weight") == 0;
        const struct tensor *a = tensors_find(&one, head ? "model.embed_tokens.weight" : b->name);
        EXPECT(a != NULL && a->type == TENSOR_F32 && b->type == TENSOR_BF16 && a->elements == b->elements);
        test_stop_if_failed();
        float *x = malloc((size_t)a->elements * sizeof *x), *y = malloc((size_t)a->elements * sizeof *y);
        EXPECT(tensor_read(a, x, 0, a->elements) == OK && tensor_read(b, y, 0, b->elements) == OK);
        for (int64_t j = 0; j < a->elements; j++)
            EXPECT(y[j] == convert_from_bf16(convert_to_bf16(x[j])));
        free(x);
        free(y);
    }
    tensors_close(&one);
    tensors_close(&sharded);
}

/* The original file of llama2.c: seven int32, then fp32 arrays, each over all layers. q and k have interleaved rotary rows there. */
static const float *expect_equal(const struct tensors *tensors, const char *format, int64_t layers, const float *at)
{
    char name[160];
    for (int64_t layer = 0; layer < layers; layer++) {
        snprintf(name, sizeof name, format, (int)layer);      /* a format of the table below */
        const struct tensor *tensor = tensors_find(tensors, name);
        EXPECT(tensor != NULL);
        test_stop_if_failed();
        float *x = malloc((size_t)tensor->elements * sizeof *x);
        EXPECT_EQ(tensor_read(tensor, x, 0, tensor->elements), OK);
        bool interleaved = strstr(name, "q_proj") != NULL || strstr(name, "k_proj") != NULL;
        int64_t columns = tensor->dimensions == 2 ? tensor->shape[1] : 1, head_rows = 8;
        for (int64_t i = 0; i < tensor->elements; i++) {
            int64_t row = i / columns, d = row % head_rows, half = head_rows / 2;
            int64_t stored = !interleaved ? row : row - d + (d < half ? 2 * d : 2 * (d - half) + 1);
            EXPECT(x[i] == at[stored * columns + i % columns]);
        }
        at += tensor->elements;
        free(x);
    }
    return at;
}

TEST(stories260K_equals_the_file_it_was_made_from)
{
    static const struct {
        const char *format;
        bool layers;
    } order[] = {
        { "model.embed_tokens.weight", false },
        { "model.layers.%d.input_layernorm.weight", true },
        { "model.layers.%d.self_attn.q_proj.weight", true },
        { "model.layers.%d.self_attn.k_proj.weight", true },
        { "model.layers.%d.self_attn.v_proj.weight", true },
        { "model.layers.%d.self_attn.o_proj.weight", true },
        { "model.layers.%d.post_attention_layernorm.weight", true },
        { "model.layers.%d.mlp.gate_proj.weight", true },
        { "model.layers.%d.mlp.down_proj.weight", true },
        { "model.layers.%d.mlp.up_proj.weight", true },
        { "model.norm.weight", false },
    };
    struct tensors tensors;
    size_t bytes;
    char *original = test_read(test_shared("data/models/stories260K-llama2c/stories260K.bin"), &bytes);
    EXPECT_EQ(tensors_open(&tensors, test_shared("data/models/stories260K")), OK);
    test_stop_if_failed();
    int32_t head[7];
    memcpy(head, original, sizeof head);
    EXPECT_EQ(head[2], 5);
    const float *at = (const float *)(const void *)(original + sizeof head);
    for (int64_t i = 0; i < ELEMENTS_OF(order); i++)
        at = expect_equal(&tensors, order[i].format, order[i].layers ? head[2] : 1, at);
    EXPECT((size_t)((const char *)at - original) <= bytes);
    tensors_close(&tensors);
    free(original);
}

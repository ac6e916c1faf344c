/* checkpoint_test.c: the ranks' pieces become the model's tensors, whatever the cut; the folder is complete or untouched. The tables are written
 * here by hand: a row cut with padding, a column cut, a piece that two ranks hold, a whole one, and the second copy of a tied embedding. */
#define BOARD_HEADER "test/save/tiny.h"
#define LAYOUT_HEADER "test/save/tiny.h"
#define MODEL_HEADER "test/save/tiny.h"
#define METHOD_HEADER "test/save/tiny.h"
static long long test_file_bytes_most = 5000000000LL;
#define PLAN_FILE_BYTES_MOST test_file_bytes_most

#include "save/carry.c"
#include "save/plan.c"
#include "save/checkpoint.c"
#include "test/test.h"

#define EMBEDDING "model.embed_tokens.weight"
#define K_PROJ    "model.layers.0.self_attn.k_proj.weight"
#define O_PROJ    "model.layers.0.self_attn.o_proj.weight"
#define NORM      "model.norm.weight"

static const struct shard first_shards[] = {
    { EMBEDDING, PARAMETER_EMBEDDING, NONE, 7, 6, CUT_ROWS,    1, 4, 6,   0, true, COPIES_EQUAL, true },
    { K_PROJ,    PARAMETER_K,            0, 2, 6, CUT_ROWS,    2, 2, 6,  64, true, COPIES_SUM_KV, true },
    { O_PROJ,    PARAMETER_O,            0, 6, 4, CUT_COLUMNS, 1, 6, 2, 128, true, COPIES_EQUAL, true },
};
static const struct shard last_shards[] = {
    { NORM,      PARAMETER_FINAL_NORM, NONE, 6, 1, CUT_NONE,   2, 6, 1,   0, false, COPIES_EQUAL, true },
    { EMBEDDING, PARAMETER_HEAD,       NONE, 7, 6, CUT_ROWS,   1, 4, 6,  64, true, COPIES_EQUAL, false },
};
const struct stage stages[] = {
    { .chunk = { { .first_layer = 0, .layers = 1 } }, .chunks = 1, .layers = 1, .shard = first_shards, .shards = 3, .parameter_elements = 192 },
    { .chunk = { { .first_layer = 1, .layers = 1 } }, .chunks = 1, .layers = 1, .shard = last_shards, .shards = 2, .parameter_elements = 128 },
};
const struct rank_row rank_rows[] = {
    { .pp = 0, .dp = 0, .tp = 0 }, { .pp = 0, .dp = 0, .tp = 1 }, { .pp = 0, .dp = 1, .tp = 0 }, { .pp = 0, .dp = 1, .tp = 1 },
    { .pp = 1, .dp = 0, .tp = 0 }, { .pp = 1, .dp = 0, .tp = 1 }, { .pp = 1, .dp = 1, .tp = 0 }, { .pp = 1, .dp = 1, .tp = 1 },
};

/* The right value of every element: its tensor and its place. */
static float right(const char *name, int64_t element)
{
    return (float)((name[6] + name[strlen(name) - 8]) % 100) + (float)element / 64;
}

/* A rank's flat buffer as boot would have filled it. Padding, second copies and other replicas hold what must not be written. */
static void fill(float *parameters, int rank)
{
    const struct rank_row *row = &rank_rows[rank];
    for (int64_t i = 0; i < 192; i++)
        parameters[i] = -1;
    for (int32_t s = 0; s < stages[row->pp].shards; s++) {
        const struct shard *shard = &stages[row->pp].shard[s];
        int64_t piece = row->tp / shard->copies;
        for (int64_t r = 0; r < shard->local_rows; r++) {
            for (int64_t c = 0; c < shard->local_columns; c++) {
                int64_t gr = r + (shard->cut == CUT_ROWS ? piece * shard->local_rows : 0);
                int64_t gc = c + (shard->cut == CUT_COLUMNS ? piece * shard->local_columns : 0);
                float *at = &parameters[shard->offset + r * shard->local_columns + c];
                bool first_owner = row->dp == 0 && row->tp % shard->copies == 0 && shard->counts;
                *at = gr < shard->rows && first_owner ? right(shard->name, gr * shard->columns + gc) : -1;
            }
        }
    }
}

static struct night night;
static char model[512], output[600];

static void write_text(const char *in, const char *name, const char *text)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", in, name);
    FILE *out = fopen(path, "w");
    fputs(text, out);
    fclose(out);
}

static void new_night(void)
{
    memset(&night, 0, sizeof night);
    snprintf(model, sizeof model, "%s", test_folder());
    snprintf(output, sizeof output, "%s/made/here", test_folder());
    snprintf(night.job.model, sizeof night.job.model, "%s", model);
    snprintf(night.job.output, sizeof night.job.output, "%s", output);
    write_text(model, "config.json", "{\"b\": 1e-05, \"torch_dtype\": \"bfloat16\",\n \"a\": [0.1]}");
    write_text(model, "tokenizer.json", "{\"any\": \"bytes\"}");
}

static void write_all_ranks(void)
{
    for (int i = 0; i < RANKS; i++) {
        float parameters[192];
        struct rank rank = { .index = i, .row = &rank_rows[i], .stage = &stages[rank_rows[i].pp] };
        fill(parameters, i);
        struct bucket all = { .elements = 192, .shards = rank.stage->shards };
        EXPECT_EQ(checkpoint_write(&rank, &all, parameters), OK);
    }
}

static int files_in(const char *path, const char *end)
{
    DIR *list = opendir(path);
    int count = 0;
    for (struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        size_t bytes = strlen(entry->d_name), tail = strlen(end);
        count += entry->d_name[0] != '.' && bytes >= tail && strcmp(entry->d_name + bytes - tail, end) == 0;
    }
    if (list != NULL)
        closedir(list);
    return count;
}

static void expect_tensors(enum tensor_type type, double tolerance)
{
    static const struct { const char *name; int64_t rows, columns; } wanted[] = { { EMBEDDING, 7, 6 }, { K_PROJ, 2, 6 }, { O_PROJ, 6, 4 }, { NORM, 6, 1 } };
    struct tensors tensors;
    EXPECT_EQ(tensors_open(&tensors, output), OK);
    test_stop_if_failed();
    EXPECT_EQ(tensors.count, 4);
    for (int i = 0; i < 4; i++) {
        const struct tensor *tensor = tensors_find(&tensors, wanted[i].name);
        float x[64];
        EXPECT(tensor != NULL);
        test_stop_if_failed();
        EXPECT_EQ(tensor->type, type);
        EXPECT_EQ(tensor->shape[0], wanted[i].rows);
        EXPECT_EQ(tensor->elements, wanted[i].rows * wanted[i].columns);
        EXPECT_EQ(tensor_read(tensor, x, 0, tensor->elements), OK);
        for (int64_t e = 0; e < tensor->elements; e++)
            EXPECT_NEAR(x[e], right(wanted[i].name, e), tolerance);
    }
    tensors_close(&tensors);
}

TEST(pieces_of_all_ranks_make_the_model)
{
    new_night();
    EXPECT_EQ(checkpoint_open(&night, STORAGE_F32), OK);
    EXPECT_EQ(files_in(output, ".safetensors"), 0);
    write_all_ranks();
    EXPECT_EQ(checkpoint_publish(), OK);
    expect_tensors(TENSOR_F32, 0);
    EXPECT_EQ(files_in(output, ".tmp"), 0);
    EXPECT_EQ(files_in(output, ""), 3);
}

TEST(narrow_types_are_rounded_once)
{   /* Values below 128: half a unit of bfloat16's 8 bits is 0.25, of float16's 11 bits 0.03125. */
    new_night();
    EXPECT_EQ(checkpoint_open(&night, STORAGE_BF16), OK);
    write_all_ranks();
    EXPECT_EQ(checkpoint_publish(), OK);
    expect_tensors(TENSOR_BF16, 0.25);
    new_night();
    EXPECT_EQ(checkpoint_open(&night, STORAGE_F16), OK);
    write_all_ranks();
    EXPECT_EQ(checkpoint_publish(), OK);
    expect_tensors(TENSOR_F16, 0.03125);
}

TEST(large_models_become_files_with_an_index)
{
    new_night();
    test_file_bytes_most = 100;     /* the embedding has 168 bytes, the others 48, 96 and 24 */
    EXPECT_EQ(checkpoint_open(&night, STORAGE_F32), OK);
    test_file_bytes_most = 5000000000LL;
    write_all_ranks();
    EXPECT_EQ(checkpoint_publish(), OK);
    EXPECT_EQ(files_in(output, "-of-00004.safetensors"), 4);
    EXPECT_EQ(files_in(output, INDEX_NAME), 1);
    EXPECT_EQ(files_in(output, ".tmp"), 0);
    expect_tensors(TENSOR_F32, 0);
    char path[700];
    snprintf(path, sizeof path, "%s/" INDEX_NAME, output);
    json_t *index = json_load_file(path, 0, NULL);
    EXPECT_EQ(json_integer_value(json_object_get(json_object_get(index, "metadata"), "total_size")), 4 * (42 + 12 + 24 + 6));
    EXPECT_TEXT(json_string_value(json_object_get(json_object_get(index, "weight_map"), O_PROJ)), "model-00003-of-00004.safetensors");
    json_decref(index);
}

TEST(config_says_the_stored_type_and_nothing_else_changes)
{
    char path[700];
    new_night();
    EXPECT_EQ(checkpoint_open(&night, STORAGE_BF16), OK);
    EXPECT_EQ(checkpoint_publish(), OK);
    snprintf(path, sizeof path, "%s/config.json", output);
    char *same = test_read(path, NULL);
    EXPECT_TEXT(same, "{\"b\": 1e-05, \"torch_dtype\": \"bfloat16\",\n \"a\": [0.1]}");
    new_night();
    EXPECT_EQ(checkpoint_open(&night, STORAGE_F32), OK);
    EXPECT_EQ(checkpoint_publish(), OK);
    snprintf(path, sizeof path, "%s/config.json", output);
    char *other = test_read(path, NULL);
    EXPECT_TEXT(other, "{\n  \"b\": 1e-5,\n  \"torch_dtype\": \"float32\",\n  \"a\": [\n    0.1\n  ]\n}");
    free(same);
    free(other);
}

TEST(a_finite_weight_stays_finite)
{
    float x[] = { 65504, 65520, -1e30f, 1, INFINITY };
    uint16_t narrow[5];
    cast_from_float(narrow, x, STORAGE_F16, 5);
    EXPECT_EQ(clamp(narrow, x, 5, STORAGE_F16), 2);
    float y[5];
    cast_to_float(y, narrow, STORAGE_F16, 5);
    EXPECT(y[0] == 65504 && y[1] == 65504 && y[2] == -65504 && y[3] == 1 && isinf(y[4]));
    float z[] = { 3.4e38f, -3.4e38f, 3.38e38f };
    cast_from_float(narrow, z, STORAGE_BF16, 3);
    EXPECT_EQ(clamp(narrow, z, 3, STORAGE_BF16), 2);
    cast_to_float(y, narrow, STORAGE_BF16, 3);
    EXPECT(isfinite(y[0]) && y[0] > 3.3e38f && y[1] < -3.3e38f);
}

TEST(discard_leaves_last_nights_files)
{
    new_night();
    EXPECT_EQ(checkpoint_open(&night, STORAGE_F32), OK);
    write_text(output, "model.safetensors", "last night's");
    checkpoint_discard();
    EXPECT_EQ(files_in(output, ""), 1);
    EXPECT_EQ(files_in(output, "model.safetensors"), 1);
}

static void expect_refusal(enum status code, const char *part)
{
    status_quiet(true);
    EXPECT_EQ(checkpoint_open(&night, STORAGE_F32), code);
    status_quiet(false);
    EXPECT_HOLDS(status_message(), part);
    EXPECT_EQ(files_in(output, ".tmp"), 0);
}

TEST(folders_that_would_be_spoilt_are_refused)
{
    new_night();
    snprintf(night.job.output, sizeof night.job.output, "%s", model);
    expect_refusal(E_USAGE, "the model's own folder");
    new_night();
    snprintf(night.job.output, sizeof night.job.output, "%s/config.json", model);
    expect_refusal(E_READ, "is no folder");
    snprintf(night.job.output, sizeof night.job.output, "%s/config.json/below", model);
    expect_refusal(E_READ, "cannot be made");
    new_night();
    EXPECT_EQ(checkpoint_open(&night, STORAGE_F32), OK);
    checkpoint_discard();
    write_text(output, "model-00002-of-00002.safetensors", "x");
    expect_refusal(E_USAGE, "model-00002-of-00002.safetensors of another checkpoint");
}

TEST(two_jobs_cannot_share_a_folder)
{
    new_night();
    EXPECT_EQ(checkpoint_open(&night, STORAGE_F32), OK);
    char path[700];
    snprintf(path, sizeof path, "%s/model.safetensors.tmp", output);
    checkpoint_discard();
    int other = open(path, O_WRONLY | O_CREAT, 0600);
    EXPECT_EQ(flock(other, LOCK_EX | LOCK_NB), 0);
    status_quiet(true);
    EXPECT_EQ(checkpoint_open(&night, STORAGE_F32), E_AGAIN);     /* the other will end: a supervisor may try again */
    status_quiet(false);
    EXPECT_HOLDS(status_message(), "another process");
    EXPECT_EQ(files_in(output, "model.safetensors.tmp"), 1);     /* the other's */
    close(other);
}

/* gguf_test.c: a GGUF file is read under Hugging Face's names and in Hugging Face's order, and no damage to it is taken for data. Ids B1 to B8. */
#include "file/gguf.h"
#include "file/convert.h"
#include "file/tensors.h"
#include "test/file/hostile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HIDDEN = 32, HEADS = 4, KV_HEADS = 2, HEAD_DIM = 8, VOCABULARY = 5, ALIGN = 32 };

/* ---- a good file, put together field by field; a case says which field is another ---- */

struct wrong {
    const char *id;
    const char *where;           /* the field; "" or NULL: none */
    uint64_t value;              /* what it is instead */
    const char *part;            /* of the refusal; NULL: accepted */
};

static const struct wrong none = { .id = "good", .where = "" };

/* A number of the file: right, unless it is the field that the case makes wrong. */
static void put(struct bytes *bytes, const struct wrong *wrong, const char *field, uint64_t right, int width)
{
    bytes_number(bytes, strcmp(wrong->where, field) == 0 ? wrong->value : right, width);
}

static void put_u32(struct bytes *bytes, const char *key, uint32_t value)
{
    bytes_counted_text(bytes, key);
    bytes_number(bytes, GGUF_U32, 4);
    bytes_number(bytes, value, 4);
}

static void put_values(struct bytes *bytes, const struct wrong *wrong)
{
    /* The architecture does not come first: its order is not promised. */
    put_u32(bytes, "llama.attention.head_count", HEADS);
    put_u32(bytes, strcmp(wrong->where, "key twice") == 0 ? "llama.attention.head_count" : "llama.attention.head_count_kv", KV_HEADS);
    bytes_counted_text(bytes, "general.architecture");
    bytes_number(bytes, GGUF_TEXT, 4);
    put(bytes, wrong, "text length", 5, 8);
    bytes_text(bytes, "llama");
    bytes_counted_text(bytes, "list");
    put(bytes, wrong, "value type", GGUF_ARRAY, 4);
    put(bytes, wrong, "element type", GGUF_U64, 4);
    put(bytes, wrong, "array length", 2, 8);
    bytes_zeros(bytes, 16);
    bytes_counted_text(bytes, "texts");
    bytes_number(bytes, GGUF_ARRAY, 4);
    bytes_number(bytes, GGUF_TEXT, 4);
    put(bytes, wrong, "texts length", 2, 8);
    bytes_counted_text(bytes, "one");
    bytes_counted_text(bytes, "");
}
enum { VALUES = 5 };

struct entry {
    const char *name;
    uint64_t columns, rows;      /* rows 0: a vector */
    uint32_t type;
    const void *data;
    size_t bytes;
};

static void put_entries(struct bytes *bytes, const struct wrong *wrong, const struct entry *entry, int count)
{
    uint64_t offset = 0;
    for (int i = 0; i < count; i++) {
        bool first = i == 0;
        const struct wrong *case_of = first ? wrong : &none;
        bytes_counted_text(bytes, i == 1 && strcmp(wrong->where, "tensor twice") == 0 ? entry[0].name : entry[i].name);
        put(bytes, case_of, "dimensions", entry[i].rows > 0 ? 2 : 1, 4);
        put(bytes, case_of, "columns", entry[i].columns, 8);
        if (entry[i].rows > 0)
            put(bytes, case_of, "rows", entry[i].rows, 8);
        put(bytes, case_of, "tensor type", entry[i].type, 4);
        put(bytes, i == 1 ? wrong : &none, "second offset", offset, 8);
        offset = (offset + entry[i].bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
}

static const char *made(const char *folder, const struct wrong *wrong, const struct entry *entry, int count)
{
    struct bytes bytes = { 0 };
    put(&bytes, wrong, "magic", 0x46554747, 4);
    put(&bytes, wrong, "version", 3, 4);
    put(&bytes, wrong, "tensors", (uint64_t)count, 8);
    put(&bytes, wrong, "values", VALUES, 8);
    put_values(&bytes, wrong);
    put_entries(&bytes, wrong, entry, count);
    for (int i = 0; i < count; i++) {
        bytes_zeros(&bytes, (ALIGN - bytes.count % ALIGN) % ALIGN);
        bytes_add(&bytes, entry[i].data, entry[i].bytes);
    }
    if (strcmp(wrong->where, "cut") == 0)
        bytes.count -= wrong->value;
    return bytes_write(&bytes, folder, "model.gguf");
}

static enum status open_all(const char *path)
{
    struct tensors tensors;
    TRY(tensors_open(&tensors, path));
    enum status status = OK;
    for (int64_t i = 0; i < tensors.count && status == OK; i++) {
        float *x = malloc((size_t)tensors.tensor[i].elements * sizeof *x + 1);
        status = tensor_read(&tensors.tensor[i], x, 0, tensors.tensor[i].elements);
        free(x);
    }
    tensors_close(&tensors);
    return status;
}

static float embedding[VOCABULARY * HIDDEN], norm[HIDDEN];
static const struct entry two[] = {
    { "token_embd.weight", HIDDEN, VOCABULARY, 0, embedding, sizeof embedding },
    { "output_norm.weight", HIDDEN, 0, 0, norm, sizeof norm },
};

static const struct wrong cases[] = {
    { "good", "", 0, NULL },
    { "B1 magic", "magic", 0x46554748, "no GGUF file" },
    { "B1 version 0", "version", 0, "GGUF version 0; 2 and 3" },
    { "B1 version 1", "version", 1, "GGUF version 1; 2 and 3" },
    { "B1 version 2", "version", 2, NULL },
    { "B1 version 99", "version", 99, "GGUF version 99" },
    { "B1 big-endian", "version", 0x03000000, "GGUF version 50331648; 2 and 3, little-endian" },
    { "B2 tensors 2^32", "tensors", UINT64_C(1) << 32, "says 4294967296 tensors" },
    { "B2 tensors 2^61", "tensors", UINT64_C(1) << 61, "says 2305843009213693952 tensors" },
    { "B2 tensors 2^63", "tensors", UINT64_C(1) << 63, "says 9223372036854775808 tensors" },
    { "B2 tensors 30000", "tensors", 30000, "says 30000 tensors" },
    { "B2 values 2^32", "values", UINT64_C(1) << 32, "4294967296 values" },
    { "B2 values 2^61", "values", UINT64_C(1) << 61, "2305843009213693952 values" },
    { "B2 values 2^63", "values", UINT64_C(1) << 63, "9223372036854775808 values" },
    { "B2 one value more", "values", VALUES + 1, "model.gguf: byte" },
    { "B2 one tensor more", "tensors", 3, "model.gguf: byte" },
    { "B3 2^64-1", "text length", UINT64_MAX, "in general.architecture: a length beyond the end" },
    { "B3 1 GiB", "text length", 1 << 30, "in general.architecture: a length beyond the end" },
    { "B4 2^61 u64", "array length", UINT64_C(1) << 61, "in list: an array longer than the file" },
    { "B4 as many as bytes", "array length", 200, "in list: a length beyond the end" },
    { "B4 2^64-1", "array length", UINT64_MAX, "in list: an array longer than the file" },
    { "B4 array in array", "element type", GGUF_ARRAY, "in list: an array of arrays" },
    { "B4 type 99", "value type", 99, "in list: an unknown type of value" },
    { "B4 element type 99", "element type", 99, "in list: an unknown type of value" },
    { "B4 many texts", "texts length", 300, "in texts: " },
    { "B5 dimensions 0", "dimensions", 0, "in token_embd.weight: a tensor has 1 to 4 dimensions" },
    { "B5 dimensions 5", "dimensions", 5, "in token_embd.weight: a tensor has 1 to 4 dimensions" },
    { "B5 dimensions 2^31", "dimensions", UINT64_C(1) << 31, "in token_embd.weight: a tensor has 1 to 4 dimensions" },
    { "B5 dimension 0", "rows", 0, "in token_embd.weight: its dimensions are 0" },
    { "B5 dimension -1", "rows", UINT64_MAX, "in token_embd.weight: its dimensions are 0 or multiply beyond" },
    { "B5 product wraps", "rows", UINT64_C(1) << 59, "in token_embd.weight: its dimensions are 0 or multiply beyond" },
    { "B5 bytes wrap", "rows", UINT64_C(1) << 57, "in token_embd.weight: the tensor passes the end" },
    { "B7 unaligned", "second offset", 641, "in output_norm.weight: its offset is not aligned" },
    { "B7 past the end", "second offset", 1 << 20, "in output_norm.weight: its offset" },
    { "B7 one past the end", "second offset", 672, "in output_norm.weight: the tensor passes the end" },
    { "B7 2^64-32", "second offset", UINT64_MAX - 31, "in output_norm.weight: its offset" },
    { "B7 overlap", "second offset", 608, "in output_norm.weight: the tensor overlaps" },
    { "B7 same place", "second offset", 0, "the tensor overlaps" },
    { "B7 cut", "cut", 1, "in output_norm.weight: the tensor passes the end of the file: cut short?" },
    { "B8 key twice", "key twice", 0, "in llama.attention.head_count: the key is there twice" },
    { "B8 tensor twice", "tensor twice", 0, "tensor model.embed_tokens.weight is there twice" },
    { "B8 row of Q4_0", "tensor type", 2, NULL },
    { "B8 part of a block", "tensor type", 14, "in token_embd.weight: a row is no whole number of blocks" },
    { "type Q5_K", "tensor type", 13, "in token_embd.weight: a type of tensor that is not read; F32" },
};

TEST(every_field_has_its_right_outcome)
{
    const char *folder = test_folder();
    for (int64_t i = 0; i < ELEMENTS_OF(cases); i++)
        hostile_expect(cases[i].id, open_all, made(folder, &cases[i], two, 2), cases[i].part == NULL ? OK : E_DATA, cases[i].part);
}

TEST(a_file_cut_anywhere_is_refused)
{
    const char *folder = test_folder();
    struct stat found;
    status_quiet(true);
    EXPECT(stat(made(folder, &none, two, 2), &found) == 0);
    for (uint64_t cut = 1; cut <= (uint64_t)found.st_size; cut++) {
        struct wrong wrong = { .id = "cut", .where = "cut", .value = cut };
        EXPECT_EQ(open_all(made(folder, &wrong, two, 2)), E_DATA);
    }
    status_quiet(false);
}

TEST(sizes_that_lie_in_small_files_cost_nothing)
{
    struct bytes bytes = { 0 };
    const char *folder = test_folder();
    hostile_expect("0 bytes", open_all, hostile_file(folder, "model.gguf", ""), E_DATA, "0 bytes; no GGUF file");
    hostile_expect("4 bytes", open_all, hostile_file(folder, "model.gguf", "GGUF"), E_DATA, "4 bytes; no GGUF file");
    /* A file of a GiB without a byte on the disk, which has room for any number of values. */
    bytes_text(&bytes, "GGUF");
    bytes_number(&bytes, 3, 4);
    bytes_number(&bytes, 0, 8);
    bytes_number(&bytes, 82595523, 8);
    const char *path = bytes_write(&bytes, folder, "model.gguf");
    EXPECT(truncate(path, 1 << 30) == 0);
    hostile_expect("B2 sparse", open_all, path, E_DATA, "82595523 values");
}

TEST(a_folder_holds_one_gguf_file)
{
    const char *folder = test_folder(), *path = made(folder, &none, two, 2);
    char other[512];
    snprintf(other, sizeof other, "%s/other.gguf", folder);
    hostile_expect("one", open_all, folder, OK, NULL);
    EXPECT(symlink(path, other) == 0);
    hostile_expect("two", open_all, folder, E_READ, "not exactly one *.gguf");
    hostile_expect("one of them", open_all, other, OK, NULL);
}

TEST(architecture_and_heads_must_be_known)
{
    static const struct {
        const char *id, *key, *architecture, *part;
        uint32_t heads;
    } headers[] = {
        { "gemma", "gemma2.attention.head_count", "gemma2", "general.architecture is \"gemma2\"; llama, qwen2 and qwen3 are read", 4 },
        { "none", "x", "", "general.architecture is \"\"", 4 },
        { "no heads", "x", "llama", "llama.attention.head_count is missing", 4 },
        { "0 heads", "llama.attention.head_count", "llama", "llama.attention.head_count is missing or no number", 0 },
        { "3 heads", "llama.attention.head_count", "llama", "tensor blk.0.attn_q.weight: 32 rows are not divided by 3 heads", 3 },
        { "32 heads of one", "llama.attention.head_count", "llama", "not divided by 32 heads of an even size", 32 },
        { "qwen2 needs none", "x", "qwen2", NULL, 4 },
    };
    static const float q[32 * 32];
    const char *folder = test_folder();
    for (int64_t i = 0; i < ELEMENTS_OF(headers); i++) {
        const struct entry entry = { "blk.0.attn_q.weight", 32, 32, 0, q, sizeof q };
        struct bytes bytes = { 0 };
        bytes_text(&bytes, "GGUF");
        bytes_number(&bytes, 3, 4);
        bytes_number(&bytes, 1, 8);
        bytes_number(&bytes, 2, 8);
        bytes_counted_text(&bytes, "general.architecture");
        bytes_number(&bytes, GGUF_TEXT, 4);
        bytes_counted_text(&bytes, headers[i].architecture);
        put_u32(&bytes, headers[i].key, headers[i].heads);
        put_entries(&bytes, &none, &entry, 1);
        bytes_zeros(&bytes, (ALIGN - bytes.count % ALIGN) % ALIGN);
        bytes_add(&bytes, q, sizeof q);
        hostile_expect(headers[i].id, open_all, bytes_write(&bytes, folder, "model.gguf"), headers[i].part == NULL ? OK : E_DATA, headers[i].part);
    }
}

TEST(alignment_is_a_power_of_two)
{
    static const struct {
        uint32_t align;
        bool good;
    } aligns[] = { { 8, true }, { 64, true }, { 65536, true }, { 0, false }, { 4, false }, { 48, false }, { 131072, false }, { UINT32_MAX, false } };
    const char *folder = test_folder();
    for (int64_t i = 0; i < ELEMENTS_OF(aligns); i++) {
        struct bytes bytes = { 0 };
        bytes_text(&bytes, "GGUF");
        bytes_number(&bytes, 3, 4);
        bytes_number(&bytes, 1, 8);
        bytes_number(&bytes, 2, 8);
        bytes_counted_text(&bytes, "general.architecture");
        bytes_number(&bytes, GGUF_TEXT, 4);
        bytes_counted_text(&bytes, "qwen3");
        put_u32(&bytes, "general.alignment", aligns[i].align);
        put_entries(&bytes, &none, two, 1);
        uint32_t align = aligns[i].good ? aligns[i].align : 32;
        bytes_zeros(&bytes, (align - bytes.count % align) % align);
        bytes_add(&bytes, embedding, sizeof embedding);
        hostile_expect("alignment", open_all, bytes_write(&bytes, folder, "model.gguf"), aligns[i].good ? OK : E_DATA,
                       aligns[i].good ? NULL : "general.alignment is no power of two");
    }
}

TEST(no_flipped_byte_is_read_outside_the_file)
{   /* What it means instead is another question: the address sanitizer sees the reads. */
    const char *folder = test_folder(), *path = made(folder, &none, two, 2);
    size_t count;
    char *good = test_read(path, &count);
    uint64_t state = test_seed();
    int refused = 0, flips = 4000;
    status_quiet(true);
    for (int i = 0; i < flips; i++) {
        struct bytes bytes = { 0 };
        bytes_add(&bytes, good, count);
        for (int j = 0; j <= i % 3; j++)
            bytes.data[test_random(&state) % 480] = (uint8_t)test_random(&state);      /* the header; behind it lie numbers */
        refused += open_all(bytes_write(&bytes, folder, "model.gguf")) != OK;
    }
    status_quiet(false);
    EXPECT(refused > flips / 2);
    free(good);
}

/* ---- what is read ---- */

/* Rows of q or k as llama.cpp's converter stores them: of each head, rows i and i + D/2 become neighbours 2i and 2i + 1. */
static void interleave(float *stored, const float *right, int heads)
{
    for (int head = 0; head < heads; head++)
        for (int i = 0; i < HEAD_DIM / 2; i++)
            for (int half = 0; half < 2; half++)
                memcpy(stored + (head * HEAD_DIM + 2 * i + half) * HIDDEN, right + (head * HEAD_DIM + i + half * HEAD_DIM / 2) * HIDDEN,
                       HIDDEN * sizeof *stored);
}

/* Q8_0 of numbers that it holds exactly: multiples of 1/64 below 2. */
static void pack_q8_0(uint8_t *blocks, const float *x, int count)
{
    for (int block = 0; block < count / 32; block++) {
        uint16_t scale = convert_to_f16(0x1p-6f);
        memcpy(blocks + block * 34, &scale, sizeof scale);
        for (int i = 0; i < 32; i++)
            blocks[block * 34 + 2 + i] = (uint8_t)(int8_t)(x[block * 32 + i] * 64.0f);
    }
}

TEST(names_shapes_and_rotary_order_are_Hugging_Faces)
{
    enum { Q_ROWS = HEADS * HEAD_DIM, K_ROWS = KV_HEADS * HEAD_DIM };
    static float q[Q_ROWS * HIDDEN], k[K_ROWS * HIDDEN], q_stored[Q_ROWS * HIDDEN], k_stored[K_ROWS * HIDDEN], other[3 * HIDDEN], seen[Q_ROWS * HIDDEN];
    static uint8_t q_packed[Q_ROWS * HIDDEN / 32 * 34];
    uint64_t state = test_seed();
    for (int i = 0; i < Q_ROWS * HIDDEN; i++)
        q[i] = (float)((int)(test_random(&state) % 255) - 127) / 64.0f;
    for (int i = 0; i < K_ROWS * HIDDEN; i++)
        k[i] = test_uniform(&state);
    for (int i = 0; i < 3 * HIDDEN; i++)
        other[i] = test_uniform(&state);
    interleave(q_stored, q, HEADS);
    interleave(k_stored, k, KV_HEADS);
    pack_q8_0(q_packed, q_stored, Q_ROWS * HIDDEN);
    const struct entry entry[] = {
        { "blk.12.attn_q.weight", HIDDEN, Q_ROWS, 8, q_packed, sizeof q_packed },
        { "blk.12.attn_k.weight", HIDDEN, K_ROWS, 0, k_stored, sizeof k_stored },
        { "blk.0.attn_v.weight", HIDDEN, 3, 0, other, sizeof other },
        { "blk.0.attn_output.weight", HIDDEN, 3, 0, other, sizeof other },
        { "blk.0.ffn_gate.weight", HIDDEN, 3, 0, other, sizeof other },
        { "blk.0.ffn_up.weight", HIDDEN, 3, 0, other, sizeof other },
        { "blk.0.ffn_down.weight", HIDDEN, 3, 0, other, sizeof other },
        { "blk.0.attn_norm.weight", HIDDEN, 0, 0, other, HIDDEN * 4 },
        { "blk.0.ffn_norm.weight", HIDDEN, 0, 0, other, HIDDEN * 4 },
        { "token_embd.weight", HIDDEN, 3, 0, other, sizeof other },
        { "output_norm.weight", HIDDEN, 0, 0, other, HIDDEN * 4 },
        { "output.weight", HIDDEN, 3, 0, other, sizeof other },
        { "blk.007.attn_v.weight", HIDDEN, 3, 0, other, sizeof other },
        { "rope_freqs.weight", HIDDEN, 0, 0, other, HIDDEN * 4 },
    };
    static const char *const names[] = {
        "model.layers.12.self_attn.q_proj.weight", "model.layers.12.self_attn.k_proj.weight", "model.layers.0.self_attn.v_proj.weight",
        "model.layers.0.self_attn.o_proj.weight", "model.layers.0.mlp.gate_proj.weight", "model.layers.0.mlp.up_proj.weight",
        "model.layers.0.mlp.down_proj.weight", "model.layers.0.input_layernorm.weight", "model.layers.0.post_attention_layernorm.weight",
        "model.embed_tokens.weight", "model.norm.weight", "lm_head.weight", "blk.007.attn_v.weight", "rope_freqs.weight",
    };
    const char *folder = test_folder();
    struct tensors tensors;
    made(folder, &none, entry, (int)ELEMENTS_OF(entry));
    EXPECT_EQ(tensors_open(&tensors, folder), OK);      /* the only *.gguf of a folder */
    test_stop_if_failed();
    EXPECT_EQ(tensors.count, ELEMENTS_OF(names));
    for (int64_t i = 0; i < ELEMENTS_OF(names); i++) {
        const struct tensor *tensor = tensors_find(&tensors, names[i]);
        if (tensor == NULL) {
            test_fail(__FILE__, __LINE__, "%s is not there", names[i]);
            continue;
        }
        EXPECT(tensor->dimensions == (entry[i].rows > 0 ? 2 : 1) && tensor->shape[entry[i].rows > 0 ? 1 : 0] == HIDDEN);
        EXPECT(entry[i].rows == 0 || tensor->shape[0] == (int64_t)entry[i].rows);
        const float *right = i == 0 ? q : i == 1 ? k : other;
        for (int64_t first = 0; first <= tensor->elements; first += 37) {      /* any part, rows and blocks begun in the middle */
            int64_t count = tensor->elements - first < 111 ? tensor->elements - first : 111;
            EXPECT_EQ(tensor_read(tensor, seen, first, count), OK);
            EXPECT(memcmp(seen, right + first, (size_t)count * sizeof *seen) == 0);
        }
    }
    tensors_close(&tensors);
}

/* Encodes by the layouts' description, block by block, with random scales and quanta; right gets what each number then is. */
static void encode_random(enum tensor_type type, uint8_t *block, float *right, uint64_t *state)
{
    float d = convert_from_f16((uint16_t)(0x2000 + test_random(state) % 0x1000)), m = convert_from_f16((uint16_t)(0xa000 + test_random(state) % 0x1000));
    uint16_t d_bits = convert_to_f16(d), m_bits = convert_to_f16(m);
    int quanta[256];
    int8_t scales[16];
    memset(block, 0, 256);
    for (int i = 0; i < 256; i++)
        quanta[i] = (int)(test_random(state) % (type == TENSOR_Q6_K ? 64 : type == TENSOR_Q8_0 ? 256 : 16));
    for (int i = 0; i < 16; i++)
        scales[i] = (int8_t)test_random(state);
    switch (type) {
    case TENSOR_Q4_0: case TENSOR_Q4_1: {
        int begin = type == TENSOR_Q4_0 ? 2 : 4;
        memcpy(block, &d_bits, 2);
        if (type == TENSOR_Q4_1)
            memcpy(block + 2, &m_bits, 2);
        for (int i = 0; i < 32; i++) {
            block[begin + i % 16] |= (uint8_t)(quanta[i] << (i < 16 ? 0 : 4));
            right[i] = type == TENSOR_Q4_0 ? d * (float)(quanta[i] - 8) : d * (float)quanta[i] + m;
        }
        break;
    }
    case TENSOR_Q8_0:
        memcpy(block, &d_bits, 2);
        for (int i = 0; i < 32; i++) {
            block[2 + i] = (uint8_t)quanta[i];
            right[i] = d * (float)(quanta[i] < 128 ? quanta[i] : quanta[i] - 256);
        }
        break;
    default:
        memcpy(block + 192, scales, 16);
        memcpy(block + 208, &d_bits, 2);
        for (int half = 0; half < 2; half++)
            for (int l = 0; l < 32; l++)
                for (int quarter = 0; quarter < 4; quarter++) {
                    int i = half * 128 + quarter * 32 + l;
                    block[half * 64 + l + (quarter & 1) * 32] |= (uint8_t)((quanta[i] & 15) << (quarter >> 1) * 4);
                    block[128 + half * 32 + l] |= (uint8_t)((quanta[i] >> 4) << quarter * 2);
                    right[i] = d * (float)scales[half * 8 + quarter * 2 + l / 16] * (float)(quanta[i] - 32);
                }
        break;
    }
}

TEST(blocks_are_expanded_as_their_layouts_say)
{   /* Exact: a scale has 11 bits and a quantum at most 8; Q6_K's three factors have 11 + 7 + 5; Q4_1's one sum is rounded alike. */
    static const struct {
        enum tensor_type type;
        int elements, bytes;
    } types[] = { { TENSOR_Q4_0, 32, 18 }, { TENSOR_Q4_1, 32, 20 }, { TENSOR_Q8_0, 32, 34 }, { TENSOR_Q6_K, 256, 210 } };
    enum { BLOCKS = 9 };
    static uint8_t data[BLOCKS * 256 + 1], block[256];
    static float right[BLOCKS * 256], seen[BLOCKS * 256];
    uint64_t state = test_seed();
    for (int64_t t = 0; t < ELEMENTS_OF(types); t++) {
        int elements = types[t].elements, count = BLOCKS * elements;
        for (int i = 0; i < BLOCKS; i++) {
            encode_random(types[t].type, block, right + i * elements, &state);
            memcpy(data + 1 + i * types[t].bytes, block, (size_t)types[t].bytes);      /* an odd address */
        }
        for (int first = 0; first <= count; first += 13) {
            memset(seen, 0xff, sizeof seen);
            ggufblock_read(types[t].type, seen, data + 1, first, count - first);
            for (int i = 0; i < count - first; i++)
                EXPECT(seen[i] == right[first + i]);
        }
    }
}

TEST(values_are_found_by_their_keys)
{
    struct gguf gguf;
    EXPECT_EQ(gguf_open(&gguf, made(test_folder(), &none, two, 2)), OK);
    test_stop_if_failed();
    int64_t whole = -1;
    double real = -1;
    bool truth = false;
    EXPECT(gguf_whole(&gguf, "llama.attention.head_count", &whole) && whole == HEADS);
    EXPECT(!gguf_whole(&gguf, "general.architecture", &whole) && !gguf_whole(&gguf, "list", &whole) && !gguf_whole(&gguf, "absent", &whole));
    EXPECT(!gguf_real(&gguf, "llama.attention.head_count", &real) && !gguf_truth(&gguf, "llama.attention.head_count", &truth));
    EXPECT(gguf_is(gguf_text(&gguf, "general.architecture"), "llama") && !gguf_is(gguf_text(&gguf, "general.architecture"), "llam"));
    EXPECT(gguf_text(&gguf, "list").data == NULL && gguf_text(&gguf, "absent").data == NULL);
    const struct gguf_value *texts = gguf_find(&gguf, "texts");
    EXPECT(texts != NULL && texts->array && texts->count == 2);
    const uint8_t *at = texts->data;
    EXPECT(gguf_is(gguf_next_text(&at), "one"));
    EXPECT(gguf_is(gguf_next_text(&at), ""));
    EXPECT_EQ(gguf_element(gguf_find(&gguf, "list"), 1), 0);
    gguf_close(&gguf);

    static const uint8_t stored[] = { 7, 0, 0, 0, 0xfb, 0xff, 0xff, 0xff };
    struct gguf_value numbers = { .type = GGUF_I32, .array = true, .count = 2, .data = stored };
    EXPECT(gguf_element(&numbers, 0) == 7 && gguf_element(&numbers, 1) == -5);
    numbers.type = GGUF_U32;
    EXPECT_EQ(gguf_element(&numbers, 1), 4294967291);
}

/* safetensors_test.c: good files are read to the number, and no damage to one is taken for data. Ids S..: hostile inputs, one changed thing each. */
#include "file/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file/convert.h"
#include "test/file/hostile.h"

#define GOOD "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[24,32]}}"
#define B_AT(offsets) "\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":" offsets "}"
#define A_WITH(dtype, shape, offsets) "\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}"
enum { GOOD_DATA_BYTES = 32 };

/* Opens, and reads every tensor that can be trained. */
static enum status open_all(const char *path)
{
    struct tensors tensors;
    TRY(tensors_open(&tensors, path));
    enum status status = OK;
    for (int64_t i = 0; i < tensors.count && status == OK; i++) {
        float *x = malloc((size_t)tensors.tensor[i].elements * sizeof *x + 1);
        if (tensors.tensor[i].type != TENSOR_OTHER)
            status = tensor_read(&tensors.tensor[i], x, 0, tensors.tensor[i].elements);
        free(x);
    }
    tensors_close(&tensors);
    return status;
}

/* A file: N, header, data 0 1 2 ... */
static const char *made(const char *folder, const void *header, size_t header_bytes, uint64_t n, size_t data_bytes)
{
    struct bytes bytes = { 0 };
    bytes_number(&bytes, n, 8);
    bytes_add(&bytes, header, header_bytes);
    for (size_t i = 0; i < data_bytes; i++)
        bytes_number(&bytes, i, 1);
    return bytes_write(&bytes, folder, "model.safetensors");
}

static const char *made_of(const char *folder, const char *header, size_t data_bytes)
{
    return made(folder, header, strlen(header), strlen(header), data_bytes);
}

/* ---- headers that are wrong as text, names, entries, shapes and offsets ---- */

static const struct {
    const char *id, *header;
    size_t data_bytes;
    enum status right;
    const char *part;
} headers[] = {
    { "good", GOOD, 32, OK, NULL },
    { "S2", "{}", 0, OK, NULL },
    { "S6 [", "[" GOOD "]", 32, E_DATA, "does not begin with '{'" },
    { "S6 space", " " GOOD, 32, E_DATA, "does not begin with '{'" },
    { "S6 BOM", "\xef\xbb\xbf" GOOD, 32, E_DATA, "does not begin with '{'" },
    { "S6 quote", "\"a\"", 0, E_DATA, "does not begin with '{'" },
    { "S7 one space", GOOD " ", 32, OK, NULL },
    { "S7 seven spaces", GOOD "       ", 32, OK, NULL },
    { "S7 }", GOOD "}", 32, E_DATA, "end of file expected" },
    { "S8 key", "{\"a\":{\"dty", 0, E_DATA, "byte 10" },
    { "S8 number", "{\"a\":{\"dtype\":\"F32\",\"shape\":[12", 0, E_DATA, "byte 31" },
    { "S8 escape", "{\"a\\u00", 0, E_DATA, "byte" },
    { "S9", GOOD GOOD, 32, E_DATA, "end of file expected" },
    { "S10 FF", "{\"a\xff\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, E_DATA, "unable to decode byte" },
    { "S10 C0 80", "{\"a\xc0\x80\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, E_DATA, "unable to decode byte" },
    { "S10 ED A0 80", "{\"a\xed\xa0\x80\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, E_DATA, "unable to decode byte" },
    { "S10 lone surrogate", "{\"a\\ud800\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, E_DATA, "Unicode" },
    { "S13", "{\"a\\u0000b\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, E_DATA, "\\u0000" },
    { "S14 null", "{\"a\":null}", 0, E_DATA, "tensor a: its entry is no object" },
    { "S14 3", "{\"a\":3}", 0, E_DATA, "tensor a: its entry is no object" },
    { "S14 []", "{\"a\":[]}", 0, E_DATA, "tensor a: its entry is no object" },
    { "S14 no dtype", "{\"a\":{\"shape\":[0],\"data_offsets\":[0,0]}}", 0, E_DATA, "tensor a: dtype is missing" },
    { "S14 no shape", "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,0]}}", 0, E_DATA, "tensor a: shape is missing" },
    { "S14 no data_offsets", "{\"a\":{\"dtype\":\"F32\",\"shape\":[0]}}", 0, E_DATA, "tensor a: data_offsets is missing" },
    { "S14 null dtype", "{" A_WITH("null", "[0]", "[0,0]") "}", 0, E_DATA, "tensor a: dtype is no text" },
    { "S15", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"extra\":[1,{\"x\":null}]}}", 4, OK, NULL },
    { "S16 bf16", "{" A_WITH("\"bf16\"", "[2]", "[0,4]") "}", 4, E_DATA, "tensor a: dtype is \"bf16\"" },
    { "S16 F33", "{" A_WITH("\"F33\"", "[1]", "[0,4]") "}", 4, E_DATA, "\"F33\"" },
    { "S16 7", "{" A_WITH("7", "[1]", "[0,4]") "}", 4, E_DATA, "tensor a: dtype is no text" },
    { "S16 empty", "{" A_WITH("\"\"", "[1]", "[0,4]") "}", 4, E_DATA, "dtype is \"\"" },
    { "S17 F8_E4M3", "{" A_WITH("\"F8_E4M3\"", "[3]", "[0,3]") "}", 3, OK, NULL },
    { "S17 F4", "{" A_WITH("\"F4\"", "[6]", "[0,3]") "}", 3, OK, NULL },
    { "S17 F4 odd", "{" A_WITH("\"F4\"", "[5]", "[0,3]") "}", 3, E_DATA, "tensor a" },
    { "S17 F4 odd, rounded down", "{" A_WITH("\"F4\"", "[5]", "[0,2]") "}", 2, E_DATA, "tensor a" },
    { "S17 C64", "{" A_WITH("\"C64\"", "[2]", "[0,16]") "}", 16, OK, NULL },
    { "S17 I64", "{" A_WITH("\"I64\"", "[2]", "[0,16]") "}", 16, OK, NULL },
    { "S18 -1", "{" A_WITH("\"F32\"", "[-1]", "[0,4]") "}", 4, E_DATA, "tensor a: dimension 1" },
    { "S18 1.0", "{" A_WITH("\"F32\"", "[1.0]", "[0,4]") "}", 4, E_DATA, "tensor a: dimension 1" },
    { "S18 1e3", "{" A_WITH("\"F32\"", "[1,1e3]", "[0,4]") "}", 4, E_DATA, "tensor a: dimension 2" },
    { "S18 text", "{" A_WITH("\"F32\"", "[\"4\"]", "[0,4]") "}", 4, E_DATA, "tensor a: dimension 1" },
    { "S18 null", "{" A_WITH("\"F32\"", "[null]", "[0,4]") "}", 4, E_DATA, "tensor a: dimension 1" },
    { "S18 [4]", "{" A_WITH("\"F32\"", "[[4]]", "[0,4]") "}", 4, E_DATA, "tensor a: dimension 1" },
    { "S18 2^63", "{" A_WITH("\"F32\"", "[9223372036854775808]", "[0,4]") "}", 4, E_DATA, "too big integer" },
    { "S18 2^64", "{" A_WITH("\"F32\"", "[18446744073709551616]", "[0,4]") "}", 4, E_DATA, "too big integer" },
    { "S18 no array", "{" A_WITH("\"F32\"", "{}", "[0,4]") "}", 4, E_DATA, "tensor a: shape is no array" },
    { "S20", "{" A_WITH("\"F64\"", "[2305843009213693952]", "[0,0]") "}", 0, E_DATA, "tensor a: its size is beyond 2^63" },
    { "S20 product", "{" A_WITH("\"F32\"", "[4294967296,4294967296]", "[0,0]") "}", 0, E_DATA, "multiply beyond 2^63" },
    { "S20 sixteen bits", "{" A_WITH("\"F16\"", "[4611686018427387904,4]", "[0,0]") "}", 0, E_DATA, "multiply beyond 2^63" },
    { "S22 no dimension", "{" A_WITH("\"F32\"", "[]", "[0,4]") "}", 4, OK, NULL },
    { "S22 zero between", "{" A_WITH("\"F32\"", "[1]", "[0,4]") ",\"z\":{\"dtype\":\"F32\",\"shape\":[0,9],\"data_offsets\":[4,4]}," B_AT("[4,12]") "}", 12, OK, NULL },
    { "S22 zero last", "{" A_WITH("\"F32\"", "[1]", "[0,4]") ",\"z\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,4]}}", 4, OK, NULL },
    { "S22 zero inside", "{" A_WITH("\"F32\"", "[2]", "[0,8]") ",\"z\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,4]}}", 8, E_DATA, "tensor z" },
    { "S23 eight", "{" A_WITH("\"F32\"", "[1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, OK, NULL },
    { "S23 nine", "{" A_WITH("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, E_DATA, "tensor a has 9 dimensions; at most 8" },
    { "S24 falling", "{" A_WITH("\"F32\"", "[1]", "[4,0]") "}", 4, E_DATA, "tensor a: data_offsets [4, 0] do not rise" },
    { "S24 one", "{" A_WITH("\"F32\"", "[1]", "[0]") "}", 4, E_DATA, "tensor a: data_offsets are not two" },
    { "S24 three", "{" A_WITH("\"F32\"", "[1]", "[0,4,4]") "}", 4, E_DATA, "tensor a: data_offsets are not two" },
    { "S24 text", "{" A_WITH("\"F32\"", "[1]", "[\"0\",\"4\"]") "}", 4, E_DATA, "tensor a: data_offsets are not two" },
    { "S24 negative", "{" A_WITH("\"F32\"", "[1]", "[-4,0]") "}", 4, E_DATA, "tensor a: data_offsets [-4, 0]" },
    { "S25 one past", "{" A_WITH("\"F32\"", "[1]", "[1,5]") "}", 4, E_DATA, "tensor a ends at byte 5 of the data; the file has 4" },
    { "S25 2^63-1", "{" A_WITH("\"F32\"", "[1]", "[0,9223372036854775807]") "}", 4, E_DATA, "tensor a ends at byte 9223372036854775807" },
    { "S26 small", "{" A_WITH("\"F32\"", "[1]", "[0,3]") "}", 3, E_DATA, "tensor a spans 3 bytes; its shape and F32 need 4" },
    { "S26 great", "{" A_WITH("\"F32\"", "[1]", "[0,5]") "}", 5, E_DATA, "tensor a spans 5 bytes; its shape and F32 need 4" },
    { "S26 none", "{" A_WITH("\"F32\"", "[1]", "[0,0]") "}", 0, E_DATA, "tensor a spans 0 bytes; its shape and F32 need 4" },
    { "S27", "{\"u\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}," A_WITH("\"F32\"", "[2]", "[1,9]") "}", 9, OK, NULL },
    { "S29 hole", "{" A_WITH("\"F32\"", "[1]", "[0,4]") "," B_AT("[12,20]") "}", 20, E_DATA, "tensor b begins at byte 12 of the data, the one before ends at 4: a hole" },
    { "S29 first", "{" A_WITH("\"F32\"", "[1]", "[8,12]") "}", 12, E_DATA, "tensor a begins at byte 8" },
    { "S29 overlap", "{" A_WITH("\"F32\"", "[2]", "[0,8]") "," B_AT("[4,12]") "}", 12, E_DATA, "an overlap" },
    { "S30 one byte", GOOD, 33, E_DATA, "1 bytes lie behind the last tensor" },
    { "S31 one byte", GOOD, 31, E_DATA, "tensor b ends at byte 32 of the data; the file has 31" },
    { "S31 all data", GOOD, 0, E_DATA, "the file has 0" },
    { "S34 absent", GOOD, 32, OK, NULL },
    { "S34 {}", "{\"__metadata__\":{}}", 0, OK, NULL },
    { "S34 null", "{\"__metadata__\":null}", 0, OK, NULL },
    { "S34 number", "{\"__metadata__\":{\"a\":1}}", 0, E_DATA, "__metadata__: \"a\" is no text" },
    { "S34 []", "{\"__metadata__\":[]}", 0, E_DATA, "__metadata__ is no object" },
    { "S35 tf", "{\"__metadata__\":{\"format\":\"tf\"}}", 0, OK, NULL },
    { "S35 mlx", "{\"__metadata__\":{\"format\":\"mlx\"}}", 0, OK, NULL },
    { "S36 empty", "{\"\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, OK, NULL },
    { "S36 ../x", "{\"../x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, OK, NULL },
    { "S36 escape", "{\"\\u001b[2Jx\\n\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, OK, NULL },
    { "S36 escape in a message", "{\"\\u001b[2J\\n\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, E_DATA, "\\x1b[2J\\x0a" },
    { "twice", "{" A_WITH("\"F32\"", "[1]", "[0,4]") "," A_WITH("\"F32\"", "[1]", "[0,4]") "}", 4, E_DATA, "duplicate" },
    { "dtype twice", "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, E_DATA, "duplicate" },
    { "number forms", "{" A_WITH("\"F32\"", "[01]", "[0,4]") "}", 4, E_DATA, "byte" },
    { "NaN", "{" A_WITH("\"F32\"", "[NaN]", "[0,4]") "}", 4, E_DATA, "byte" },
};

TEST(every_header_has_its_right_outcome)
{
    const char *folder = test_folder();
    for (int64_t i = 0; i < ELEMENTS_OF(headers); i++)
        hostile_expect(headers[i].id, open_all, made_of(folder, headers[i].header, headers[i].data_bytes), headers[i].right, headers[i].part);
}

/* ---- the length in front, and files that are no safetensors ---- */

TEST(a_length_is_compared_with_what_the_file_has)
{
    static const struct {
        const char *id;
        uint64_t n;
        const char *part;
    } lengths[] = {
        { "S3 one more", sizeof GOOD - 1 + 33, "the file has 145 after it" },  { "S3 2^63", UINT64_C(1) << 63, "says 9223372036854775808 bytes, the file has 145 after it" },
        { "S3 2^64-1", UINT64_MAX, "says 18446744073709551615 bytes, the file has 145 after it" },                    { "S3 2^64-8", UINT64_MAX - 7, "says 18446744073709551608 bytes, the file has 145 after it" },
        { "S5", UINT64_C(0x75) << 56, "8430738502437568512" },
    };
    const char *folder = test_folder();
    for (int64_t i = 0; i < ELEMENTS_OF(lengths); i++)
        hostile_expect(lengths[i].id, open_all, made(folder, GOOD, strlen(GOOD), lengths[i].n, 32), E_DATA, lengths[i].part);

    hostile_expect("S1 0", open_all, hostile_file(folder, "model.safetensors", ""), E_DATA, "too short: 0 bytes");
    hostile_expect("S1 7", open_all, hostile_file(folder, "model.safetensors", "1234567"), E_DATA, "too short: 7 bytes");
    hostile_expect("S1 8", open_all, made(folder, "", 0, 0, 0), E_DATA, "too short: 8 bytes");
    hostile_expect("S1 N=0", open_all, made(folder, "", 0, 0, 8), E_DATA, "(0 bytes) does not begin");
    hostile_expect("S7 NUL", open_all, made(folder, GOOD "\0\0\0", strlen(GOOD) + 3, strlen(GOOD) + 3, 32), E_DATA, "byte");
    char *spaces = malloc(strlen(GOOD) + 5000);
    memcpy(spaces, GOOD, strlen(GOOD));
    memset(spaces + strlen(GOOD), ' ', 5000);
    hostile_expect("S7 5000 spaces", open_all, made(folder, spaces, strlen(GOOD) + 5000, strlen(GOOD) + 5000, 32), OK, NULL);
    free(spaces);
}

TEST(a_file_of_another_kind_is_told_by_its_first_bytes)
{
    static const struct {
        const char *id, *text, *part;
    } kinds[] = {
        { "S42 LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git-LFS" }, { "S42 HTML", "<!DOCTYPE html><html></html>", "HTML" },
        { "S42 html", "<html>\n</html>   ", "HTML" },                                           { "S42 zip", "PK\x03\x04 and more bytes", "zip" },
        { "S42 gzip", "\x1f\x8b\x08 and more bytes", "gzip" },                                  { "S42 pickle", "\x80\x02}q and more", "pickle" },
        { "S42 newer pickle", "\x80\x04\x95 and more", "pickle" },                              { "S42 GGUF", "GGUF\x03 and more bytes", "GGUF" },
        { "S42 JSON", "{\"weight_map\": {}}", "JSON" },
    };
    const char *folder = test_folder();
    for (int64_t i = 0; i < ELEMENTS_OF(kinds); i++)
        hostile_expect(kinds[i].id, open_all, hostile_file(folder, "model.safetensors", kinds[i].text), E_DATA, kinds[i].part);
    struct bytes bytes = { 0 };
    bytes_number(&bytes, strlen(GOOD), 8);
    bytes_text(&bytes, GOOD);
    bytes_zeros(&bytes, 32);
    bytes_text(&bytes, "PK\x03\x04");
    hostile_expect("S30 zip appended", open_all, bytes_write(&bytes, folder, "model.safetensors"), E_DATA, "4 bytes lie behind the last tensor");
}

TEST(a_good_file_may_begin_with_the_bytes_of_another_kind)
{   /* A length of 0x0280 is how a pickle begins, 0x8b1f how gzip does. */
    static const size_t lengths[] = { 0x0280, 0x0480, 0x8b1f };
    const char *folder = test_folder();
    for (int64_t i = 0; i < ELEMENTS_OF(lengths); i++) {
        char *header = malloc(lengths[i]);
        memset(header, ' ', lengths[i]);
        memcpy(header, GOOD, strlen(GOOD));
        hostile_expect("S42 length", open_all, made(folder, header, lengths[i], lengths[i], 32), OK, NULL);
        free(header);
    }
}

/* ---- size ---- */

static const char *made_sparse(const char *folder, uint64_t n, int64_t bytes)
{
    const char *path = made(folder, "{}", 2, n, 0);
    EXPECT(truncate(path, bytes) == 0);
    return path;
}

/* {"<name of that many letters>": good entry} */
static const char *made_named(const char *folder, size_t letters)
{
    static const char entry[] = "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    size_t bytes = 2 + letters + strlen(entry);
    char *header = malloc(bytes + 1);
    memset(header, 'n', bytes);
    memcpy(header, "{\"", 2);
    memcpy(header + 2 + letters, entry, sizeof entry);
    const char *path = made(folder, header, bytes, bytes, 4);
    free(header);
    return path;
}

/* before, what repeated, after, as a header without data. */
static const char *made_repeated(const char *folder, const char *before, const char *what, size_t times, const char *after)
{
    size_t width = strlen(what), bytes = strlen(before) + times * width + strlen(after);
    char *header = malloc(bytes + 1), *at = header;
    at += sprintf(at, "%s", before);
    for (size_t i = 0; i < times; i++, at += width)
        memcpy(at, what, width);
    memcpy(at, after, strlen(after));
    const char *path = made(folder, header, bytes, bytes, 0);
    free(header);
    return path;
}

TEST(no_header_costs_more_than_its_file_and_64_MiB)
{
    const char *folder = test_folder();
    hostile_expect("S4", open_all, made_sparse(folder, 100000001, 100000001 + 8), E_DATA, "100000001 bytes; at most 100000000");
    hostile_expect("S4 all zero", open_all, made_sparse(folder, 100000000, 100000000 + 8), E_DATA, "header");
    hostile_expect("S23", open_all, made_repeated(folder, "{\"a\":{\"dtype\":\"F32\",\"shape\":[1", ",1", 999, "],\"data_offsets\":[0,4]}}"), E_DATA,
                   "tensor a has 1000 dimensions");
    hostile_expect("S33 [", open_all, made_repeated(folder, "{\"__metadata__\":{\"a\":", "[", 100000, ""), E_DATA, "objects and arrays");
    hostile_expect("S33 [ closed", open_all, made_repeated(folder, "{\"__metadata__\":{\"a\":", "[", 5000, "]"), E_DATA, "depth");
    hostile_expect("S33 [[[", open_all, made_repeated(folder, "{\"__metadata__\":{\"a\":", "[", 1000000, ""), E_DATA, "objects and arrays");
    hostile_expect("S33 name", open_all, made_named(folder, 90000000), E_DATA, "a text of more than 2 MiB");
    hostile_expect("S33 numbers", open_all, made_repeated(folder, "{\"a\":[0", ",0", 10000000, "]}"), E_DATA, "values");
    hostile_expect("S33 one number", open_all, made_repeated(folder, "{\"a\":[1", "1", 20000000, "]}"), E_DATA, "numbers");
    hostile_expect("S33 objects", open_all, made_repeated(folder, "{\"a\":[{}", ",{}", 10000000, "]}"), E_DATA, "objects and arrays");
    char *text = malloc(1 << 10);
    sprintf(text, ",\"%01000d\"", 0);
    hostile_expect("S33 texts", open_all, made_repeated(folder, "{\"a\":[0", text, 20000, "]}"), E_DATA, "texts or numbers");
    free(text);
    text = malloc((3 << 20) + 8);
    memset(text, 'n', 3 << 20);
    memcpy(text, "{\"", 2);
    memcpy(text + (1 << 20), "\\\"n\\\"", 5);      /* quotes that do not end it */
    strcpy(text + (3 << 20), "\":{}}");
    hostile_expect("S33 escaped quotes", open_all, made_of(folder, text, 0), E_DATA, "a text of more than 2 MiB");
    free(text);
    hostile_expect("S33 just allowed", open_all, made_repeated(folder, "{\"a\":[0", ",0", 299000, "]}"), E_DATA, "tensor a: its entry is no object");
    hostile_expect("S33 objects just allowed", open_all, made_repeated(folder, "{\"a\":[0", ",{}", 99000, "]}"), E_DATA, "tensor a: its entry is no object");
    hostile_expect("S36 1 MiB", open_all, made_named(folder, 1 << 20), OK, NULL);
    hostile_expect("open escape", open_all, made_repeated(folder, "{\"a", "\\", 7, ""), E_DATA, "byte");
}

TEST(many_tensors_are_read_within_the_limit_and_refused_beyond)
{
    const char *folder = test_folder();
    for (int count = 32768; count <= 32769; count++) {
        size_t room = (size_t)count * 96;
        char *header = malloc(room), *at = header;
        for (int i = 0; i < count; i++)
            at += sprintf(at, "%c\"model.layers.%d.w\":{\"dtype\":\"U8\",\"shape\":[1,1],\"data_offsets\":[%d,%d]}", i == 0 ? '{' : ',', i, i, i + 1);
        at += sprintf(at, "}");
        hostile_expect("count", open_all, made(folder, header, (size_t)(at - header), (uint64_t)(at - header), (size_t)count), count == 32768 ? OK : E_DATA,
                       count == 32768 ? NULL : "32769 tensors; at most 32768");
        free(header);
    }
}

/* ---- what the path may be ---- */

TEST(a_path_that_is_no_file_is_refused_without_waiting)
{
    const char *folder = test_folder();
    char path[512];
    hostile_expect("S40 nothing", open_all, folder, E_READ, "no model.safetensors");
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    EXPECT(mkdir(path, 0700) == 0);
    hostile_expect("S40 folder", open_all, folder, E_READ, "not a regular file");
    EXPECT(rmdir(path) == 0 && mkfifo(path, 0600) == 0);
    hostile_expect("S40 FIFO", open_all, folder, E_READ, "not a regular file");
    hostile_expect("S40 FIFO itself", open_all, path, E_READ, "not a regular file");
    EXPECT(unlink(path) == 0 && symlink("/dev/zero", path) == 0);
    hostile_expect("S40 /dev/zero", open_all, folder, E_READ, "not a regular file");
    EXPECT(unlink(path) == 0 && symlink("nowhere", path) == 0);
    hostile_expect("S40 broken link", open_all, folder, E_READ, "No such file");
    hostile_expect("S40 broken link itself", open_all, path, E_READ, "No such file");
    EXPECT(unlink(path) == 0);
    made_of(folder, GOOD, 32);
    EXPECT(chmod(path, 0) == 0);
    if (geteuid() != 0)      /* root may read it all the same */
        hostile_expect("S40 mode 000", open_all, folder, E_READ, "Permission denied");
    EXPECT(chmod(path, 0600) == 0);
    hostile_expect("S40 good again", open_all, folder, OK, NULL);
}

TEST(no_flipped_byte_is_read_outside_the_file)
{   /* What it means instead is another question: the address sanitizer sees the reads. */
    const char *folder = test_folder();
    uint64_t state = test_seed();
    int refused = 0, flips = 4000;
    status_quiet(true);
    for (int i = 0; i < flips; i++) {
        struct bytes bytes = { 0 };
        bytes_number(&bytes, strlen(GOOD), 8);
        bytes_text(&bytes, GOOD);
        bytes_zeros(&bytes, GOOD_DATA_BYTES);
        for (int j = 0; j <= i % 3; j++)
            bytes.data[test_random(&state) % (8 + strlen(GOOD))] ^= (uint8_t)(1u << test_random(&state) % 8);
        refused += open_all(bytes_write(&bytes, folder, "model.safetensors")) != OK;
    }
    status_quiet(false);
    EXPECT(refused > flips / 2);
}

/* ---- what is read ---- */

TEST(names_shapes_and_numbers_come_out)
{
    struct tensors tensors;
    const char *folder = test_folder();
    uint64_t state = test_seed();
    float right[24], seen[24];
    struct bytes bytes = { 0 };
    /* One byte first, so that nothing is aligned; the name of f32 written with escapes. */
    const char *header = "{\"__metadata__\":{\"format\":\"pt\"},\"u\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                         "\"\\u006dodel.f32\":{\"dtype\":\"F32\",\"shape\":[4,6],\"data_offsets\":[1,97]},"
                         "\"model.f16\":{\"dtype\":\"F16\",\"shape\":[24],\"data_offsets\":[145,193]},"
                         "\"model.bf16\":{\"dtype\":\"BF16\",\"shape\":[2,3,4],\"data_offsets\":[97,145]},"
                         "\"one\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[193,197]}}  ";
    uint8_t stored[96 + 48 + 48 + 4];
    for (int i = 0; i < 24; i++)
        right[i] = convert_from_bf16(convert_to_bf16(test_uniform(&state)));      /* exact in fp16, too: 8 bits, no less than 2^-9 */
    for (int i = 0; i < 24; i++)
        right[i] = fabsf(right[i]) < 0x1p-6f ? 0.5f : right[i];
    convert_write_f32(stored, right, 24);
    convert_write_bf16(stored + 96, right, 24);
    convert_write_f16(stored + 144, right, 24);
    convert_write_f32(stored + 192, right, 1);
    bytes_number(&bytes, strlen(header), 8);
    bytes_text(&bytes, header);
    bytes_number(&bytes, 7, 1);
    bytes_add(&bytes, stored, sizeof stored);
    EXPECT_EQ(tensors_open(&tensors, bytes_write(&bytes, folder, "model.safetensors")), OK);
    test_stop_if_failed();
    EXPECT_EQ(tensors.count, 5);
    static const char *const names[] = { "model.bf16", "model.f16", "model.f32", "one", "u" };
    for (int i = 0; i < 5; i++)
        EXPECT_TEXT(tensors.tensor[i].name, names[i]);
    for (int i = 0; i < 3; i++) {
        const struct tensor *tensor = tensors_find(&tensors, names[i]);
        EXPECT(tensor != NULL && tensor->elements == 24);
        for (int64_t first = 0; first <= 24; first += 5) {      /* any part */
            memset(seen, 0, sizeof seen);
            EXPECT_EQ(tensor_read(tensor, seen, first, 24 - first), OK);
            EXPECT(memcmp(seen, right + first, (size_t)(24 - first) * sizeof *seen) == 0);
        }
    }
    const struct tensor *one = tensors_find(&tensors, "one"), *bf16 = tensors_find(&tensors, "model.bf16");
    EXPECT(one->dimensions == 0 && one->elements == 1 && tensor_read(one, seen, 0, 1) == OK && memcmp(seen, right, sizeof *seen) == 0);
    EXPECT(bf16->dimensions == 3 && bf16->shape[0] == 2 && bf16->shape[1] == 3 && bf16->shape[2] == 4);
    EXPECT(tensors_find(&tensors, "model.f3") == NULL && tensors_find(&tensors, "v") == NULL);
    status_quiet(true);
    EXPECT_EQ(tensor_read(tensors_find(&tensors, "u"), seen, 0, 0), E_DATA);      /* S17: named where it is needed */
    EXPECT_HOLDS(status_message(), "tensor u is U8; F32, BF16 and F16 can be trained");
    status_quiet(false);
    tensors_close(&tensors);
}

TEST(what_is_written_is_read_back)
{
    static char header[4096];
    struct tensor_plan plan[] = {
        { .name = "model.a", .type = TENSOR_F32, .shape = { 3, 5 }, .dimensions = 2 },
        { .name = "model.b", .type = TENSOR_BF16, .shape = { 7 }, .dimensions = 1 },
        { .name = "model.c", .type = TENSOR_F16, .shape = { 2, 2 }, .dimensions = 2 },
    };
    static const int64_t elements[] = { 15, 7, 4 }, widths[] = { 4, 2, 2 };
    int64_t file_bytes = 0, header_bytes = safetensors_header(header, sizeof header, plan, 3, &file_bytes);
    EXPECT(header_bytes > 8 && header_bytes % 64 == 0);
    EXPECT_EQ(file_bytes, header_bytes + 60 + 14 + 8);
    EXPECT_EQ(plan[0].offset_bytes, header_bytes);
    EXPECT_EQ(plan[2].offset_bytes, header_bytes + 74);
    EXPECT_HOLDS(header + 8, "\"__metadata__\":{\"format\":\"pt\"}");

    float right[15], seen[15];
    struct bytes bytes = { 0 };
    bytes_add(&bytes, header, (size_t)header_bytes);
    bytes_zeros(&bytes, (size_t)(file_bytes - header_bytes));
    for (int i = 0; i < 15; i++)
        right[i] = (float)i - 3.5f;
    convert_write_f32(bytes.data + plan[0].offset_bytes, right, 15);
    convert_write_bf16(bytes.data + plan[1].offset_bytes, right, 7);
    convert_write_f16(bytes.data + plan[2].offset_bytes, right, 4);
    struct tensors tensors;
    EXPECT_EQ(tensors_open(&tensors, bytes_write(&bytes, test_folder(), "model.safetensors")), OK);
    test_stop_if_failed();
    for (int i = 0; i < 3; i++) {
        const struct tensor *tensor = tensors_find(&tensors, plan[i].name);
        EXPECT(tensor != NULL && tensor->type == plan[i].type && tensor->dimensions == plan[i].dimensions && tensor->bytes == elements[i] * widths[i]);
        EXPECT(tensor_read(tensor, seen, 0, elements[i]) == OK && memcmp(seen, right, (size_t)elements[i] * sizeof *seen) == 0);
    }
    tensors_close(&tensors);

    /* Any room that is too small (a NUL needs a byte, too) is said, and nothing is written behind it. */
    for (int64_t room = 0; room < header_bytes + 8; room++) {
        memset(header, '#', sizeof header);
        int64_t got = safetensors_header(header, room, plan, 3, &file_bytes);
        EXPECT_EQ(got, room > header_bytes ? header_bytes : -1);
        EXPECT(header[room] == '#');
    }
}

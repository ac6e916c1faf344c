/* packfile_test.c: data.pack comes back as it was written, and no damage to it is taken for data. */
#include "file/packfile.h"
#include "test/test.h"

#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { SEQUENCE = 11, VOCABULARY = 128256, ROWS = 3, DOCUMENTS = 5 };

static const int32_t token_0[] = { 128000, 65535, 65536, 128255 }, token_1[] = { 7 }, token_2[] = { 1, 2, 3 };
static const int32_t token_3[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }, token_4[] = { 5, 6 };
/* The first mark of a document is set on purpose: it must be taken as 0. */
static const uint8_t learned_0[] = { 1, 0, 1, 1 }, learned_1[] = { 1 }, learned_2[] = { 0, 1, 0 };
static const uint8_t learned_3[] = { 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1 }, learned_4[] = { 0, 1 };

static const struct pack_document documents[DOCUMENTS] = {
    { token_0, learned_0, 4, { 0, 0, 1 } },  { token_1, learned_1, 1, { 0, 0, 2 } }, { token_2, learned_2, 3, { 1, 0, 9 } },
    { token_3, learned_3, 11, { 1, 0, 3 } }, { token_4, learned_4, 2, { 0, 0, 4 } },
};
static const uint64_t order[DOCUMENTS] = { 3, 0, 1, 2, 4 }, first[ROWS + 1] = { 0, 1, 4, 5 };

static const char *written(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/data.pack", test_folder());
    struct pack_header header = {
        .sequence_tokens = SEQUENCE, .vocabulary = VOCABULARY, .tokenizer_hash = 0x1234, .template_hash = 0x5678
    };
    strcpy(header.template_name, "qwen2.5");
    strcpy(header.files[0], "a.jsonl");
    EXPECT_EQ(pack_write(path, &header, documents, order, first, ROWS), OK);
    return path;
}

TEST(what_was_written_comes_back)
{
    const char *path = written();
    struct pack pack;
    EXPECT_EQ(pack_open(&pack, path), OK);
    test_stop_if_failed();
    EXPECT_EQ(pack.header->rows, ROWS);
    EXPECT_EQ(pack.header->documents, DOCUMENTS);
    EXPECT_EQ(pack.header->tokens, 21);
    EXPECT_EQ(pack.header->targets, 2 + 1 + 4 + 1);
    EXPECT_EQ(pack.header->token_largest, 128255);
    EXPECT_EQ(pack.header->tokenizer_hash, 0x1234);
    EXPECT_EQ(pack.header->template_hash, 0x5678);
    EXPECT_TEXT(pack.header->template_name, "qwen2.5");
    EXPECT_TEXT(pack.header->files[0], "a.jsonl");
    EXPECT_EQ(pack.source[3].line, 9);
    EXPECT_EQ(pack.source[3].file, 1);

    static const int32_t right_token[SEQUENCE] = { 128000, 65535, 65536, 128255, 7, 1, 2, 3, 0, 0, 0 };
    static const int32_t right_target[SEQUENCE] = { -1, 65536, 128255, -1, -1, 2, -1, -1, -1, -1, -1 };
    static const int32_t right_start[SEQUENCE] = { 0, 0, 0, 0, 4, 5, 5, 5, 8, 9, 10 };
    static const int32_t right_position[SEQUENCE] = { 0, 1, 2, 3, 0, 0, 1, 2, 0, 0, 0 };
    int32_t token[SEQUENCE], target[SEQUENCE], start[SEQUENCE], position[SEQUENCE];
    pack_row_read(&pack, 1, token, target, start, position);
    for (int t = 0; t < SEQUENCE; t++) {
        EXPECT_EQ(token[t], right_token[t]);
        EXPECT_EQ(target[t], right_target[t]);
        EXPECT_EQ(start[t], right_start[t]);
        EXPECT_EQ(position[t], right_position[t]);
    }
    pack_row_read(&pack, 0, token, target, start, position);
    EXPECT_EQ(target[5], -1);
    EXPECT_EQ(target[6], 8);
    EXPECT_EQ(target[9], 11);
    EXPECT_EQ(target[10], -1);
    EXPECT_EQ(position[10], 10);
    pack_close(&pack);
}

TEST(two_writings_are_the_same_bytes_and_leave_no_temporary_file)
{
    char one[512];
    snprintf(one, sizeof one, "%s", written());
    const char *two = written();
    size_t bytes_one, bytes_two;
    char *content_one = test_read(one, &bytes_one), *content_two = test_read(two, &bytes_two);
    EXPECT(bytes_one == bytes_two && memcmp(content_one, content_two, bytes_one) == 0);
    strcat(one, ".tmp");
    EXPECT(access(one, F_OK) != 0);
    free(content_one);
    free(content_two);
}

/* A copy of the good file that a case may damage, with places in it. */
struct copy {
    char *bytes;
    size_t size;
    struct pack_header *header;
    struct pack_row *row;
    uint32_t *document;
    int32_t *token;
    uint8_t *learned;
};

static void locate(struct copy *copy)
{
    copy->header = (void *)copy->bytes;
    copy->row = (void *)(copy->bytes + copy->header->index_offset_bytes);
    copy->document = (void *)(copy->bytes + copy->header->documents_offset_bytes);
    copy->token = (void *)(copy->bytes + copy->header->tokens_offset_bytes);
    copy->learned = (uint8_t *)copy->bytes + copy->header->learned_offset_bytes;
}

/* Makes both hashes true again, so that the check behind them is reached. */
static void seal_again(struct copy *copy)
{
    copy->header->content_hash = XXH64(copy->bytes + PACK_HEADER_BYTES, copy->size - PACK_HEADER_BYTES, 0);
    copy->header->header_hash = 0;
    copy->header->header_hash = XXH64(copy->bytes, PACK_HEADER_BYTES, 0);
}

/* clang-format off */
static void magic(struct copy *c) { c->header->magic[0] = 'n'; }
static void version(struct copy *c) { c->header->version = 2; }
static void header_byte(struct copy *c) { c->header->vocabulary++; }
static void header_padding(struct copy *c) { c->bytes[PACK_HEADER_BYTES - 1] = 1; }
static void content_byte(struct copy *c) { c->token[0] ^= 1; }
static void cut_short(struct copy *c) { c->size--; }
static void appended(struct copy *c) { c->size++; }
static void no_rows(struct copy *c) { c->header->rows = 0; }
static void no_documents(struct copy *c) { c->header->documents = 0; }
static void no_sequence(struct copy *c) { c->header->sequence_tokens = 0; }
static void great_sequence(struct copy *c) { c->header->sequence_tokens = UINT32_MAX; }
static void great_rows(struct copy *c) { c->header->rows = (uint64_t)1 << 62; }
static void great_documents(struct copy *c) { c->header->documents = UINT64_MAX; }
static void wrapping_rows(struct copy *c) { c->header->rows = UINT64_MAX / (SEQUENCE * 4) + 1; }
static void one_row_more(struct copy *c) { c->header->rows++; }
static void other_sequence(struct copy *c) { c->header->sequence_tokens--; }
static void file_bytes(struct copy *c) { c->header->file_bytes = UINT64_MAX; }
static void index_offset(struct copy *c) { c->header->index_offset_bytes = UINT64_MAX - 7; }
static void documents_offset(struct copy *c) { c->header->documents_offset_bytes = 0; }
static void tokens_offset(struct copy *c) { c->header->tokens_offset_bytes += 4; }
static void learned_offset(struct copy *c) { c->header->learned_offset_bytes = c->header->tokens_offset_bytes; }
static void sources_offset(struct copy *c) { c->header->sources_offset_bytes = c->header->file_bytes; }
static void no_vocabulary(struct copy *c) { c->header->vocabulary = 0; }
static void great_vocabulary(struct copy *c) { c->header->vocabulary = UINT32_MAX; }
static void endless_name(struct copy *c) { memset(c->header->files[PACK_FILES_MOST - 1], 'a', PACK_NAME_BYTES); }
static void endless_template(struct copy *c) { memset(c->header->template_name, 'a', sizeof c->header->template_name); }
static void token_at_vocabulary(struct copy *c) { c->token[2] = VOCABULARY; }
static void token_negative(struct copy *c) { c->token[2] = -1; }
static void token_in_tail(struct copy *c) { c->token[SEQUENCE + 8] = 1; }
static void learned_in_tail(struct copy *c) { c->learned[2 + 1] |= 1u << 0; }
static void learned_past_sequence(struct copy *c) { c->learned[1] |= 1u << 7; }
static void learned_at_begin(struct copy *c) { c->learned[2] |= 1u << 4; }
static void boundary_not_zero(struct copy *c) { c->document[1] = 1; }
static void boundary_equal(struct copy *c) { c->document[3] = c->document[2]; }
static void boundary_falls(struct copy *c) { c->document[2] = 7; }
static void boundary_past_row(struct copy *c) { c->document[3] = 8; }
static void row_of_none(struct copy *c) { c->row[1].documents = 0; }
static void row_of_all(struct copy *c) { c->row[1].documents = UINT32_MAX; }
static void row_begins_elsewhere(struct copy *c) { c->row[2].first_document = UINT64_MAX; }
static void row_too_long(struct copy *c) { c->row[0].tokens = SEQUENCE + 1; }
static void row_empty(struct copy *c) { c->row[0].tokens = 0; }
static void row_reserved(struct copy *c) { c->row[0].reserved = 1; }
static void row_targets(struct copy *c) { c->row[0].targets++; }
static void row_without_target(struct copy *c) { c->row[2].targets = 0; c->learned[4] = 0; }
static void header_tokens(struct copy *c) { c->header->tokens++; }
static void header_targets(struct copy *c) { c->header->targets--; }
static void header_largest(struct copy *c) { c->header->token_largest++; }
static void documents_short(struct copy *c) { c->row[1].documents = 2; c->row[1].tokens = 8; c->row[2].first_document = 3; c->document[3] = 0; }
/* clang-format on */

/* J13: each damage, whether the hashes are made true again after it, and what the refusal must say. */
static const struct damage {
    const char *name;
    void (*make)(struct copy *copy);
    bool sealed;
    const char *says;
} damages[] = {
    { "magic", magic, true, "begins with \"nOCTPACK\"" },
    { "version", version, true, "pack version 2" },
    { "header byte", header_byte, false, "header hash" },
    { "header padding", header_padding, true, "the header is damaged" },
    { "content byte", content_byte, false, "content hash" },
    { "cut short", cut_short, false, "cut short?" },
    { "appended", appended, false, "appended?" },
    { "no rows", no_rows, true, "no rows" },
    { "no documents", no_documents, true, "no rows" },
    { "sequence 0", no_sequence, true, "sequence_tokens is 0" },
    { "sequence too great", great_sequence, true, "sequence_tokens is 4294967295" },
    { "rows too great", great_rows, true, "do not fit" },
    { "documents too great", great_documents, true, "do not fit" },
    { "rows wrap", wrapping_rows, true, "do not fit" },
    { "one row more", one_row_more, true, "row 3: first document is 0, the rows before it have 5" },
    { "other sequence length", other_sequence, true, "its counts give" },
    { "file bytes", file_bytes, true, "header says 18446744073709551615 bytes" },
    { "index offset", index_offset, true, "index_offset_bytes" },
    { "documents offset", documents_offset, true, "documents_offset_bytes" },
    { "tokens offset", tokens_offset, true, "tokens_offset_bytes" },
    { "learned offset", learned_offset, true, "learned_offset_bytes" },
    { "sources offset", sources_offset, true, "sources_offset_bytes" },
    { "vocabulary 0", no_vocabulary, true, "vocabulary is 0" },
    { "vocabulary too great", great_vocabulary, true, "vocabulary is 4294967295" },
    { "name without end", endless_name, true, "name of input file 7" },
    { "template without end", endless_template, true, "template's name" },
    { "token at the vocabulary", token_at_vocabulary, true, "row 0: token 2 is 128256, the vocabulary has 128256" },
    { "token negative", token_negative, true, "row 0: token 2 is -1" },
    { "token in the tail", token_in_tail, true, "row 1: position 8 lies behind" },
    { "learned in the tail", learned_in_tail, true, "row 1: position 8 lies behind" },
    { "learned past the sequence", learned_past_sequence, true, "row 0: learned bit 15" },
    { "learned at a beginning", learned_at_begin, true, "row 1: token 4 begins a document" },
    { "boundary not zero", boundary_not_zero, true, "row 1: document 0 begins at token 1" },
    { "boundary not rising", boundary_equal, true, "row 1: document 2 begins at token 4" },
    { "boundary falling", boundary_falls, true, "row 1: document 2 begins at token 5" },
    { "boundary past the row", boundary_past_row, true, "row 1: document 2 begins at token 8" },
    { "row of no document", row_of_none, true, "row 1: 0 documents" },
    { "row of too many documents", row_of_all, true, "row 1: 4294967295 documents" },
    { "row begins elsewhere", row_begins_elsewhere, true, "row 2: first document" },
    { "row too long", row_too_long, true, "row 0: 12 tokens" },
    { "row empty", row_empty, true, "row 0: 0 tokens" },
    { "row reserved", row_reserved, true, "row 0: reserved" },
    { "row targets", row_targets, true, "row 0: says 5 targets, has 4" },
    { "row without target", row_without_target, true, "row 2: says 0 targets, has 0" },
    { "header tokens", header_tokens, true, "header says tokens 22" },
    { "header targets", header_targets, true, "header says targets 7" },
    { "header largest token", header_largest, true, "header says token_largest" },
    { "documents left over", documents_short, true, "header says documents 5, the rows have 4" },
};

TEST(every_damage_is_refused_and_named)
{
    status_quiet(true);
    const char *path = written();
    char *good = test_read(path, NULL);
    size_t size;
    free(test_read(path, &size));
    for (int i = 0; i < ELEMENTS_OF(damages); i++) {
        struct copy copy = { .bytes = calloc(1, size + 1), .size = size };
        memcpy(copy.bytes, good, size);
        locate(&copy);
        damages[i].make(&copy);
        if (damages[i].sealed)
            seal_again(&copy);
        FILE *file = fopen(path, "wb");
        fwrite(copy.bytes, 1, copy.size, file);
        fclose(file);
        struct pack pack;
        enum status status = pack_open(&pack, path);
        if (status != E_DATA || strstr(status_message(), damages[i].says) == NULL || strstr(status_message(), path) == NULL)
            test_fail(__FILE__, __LINE__, "%s: status %d, \"%s\" does not hold \"%s\"", damages[i].name, status,
                      status == OK ? "" : status_message(), damages[i].says);
        free(copy.bytes);
    }
    free(good);
}

TEST(every_truncation_is_refused)
{
    status_quiet(true);
    const char *path = written();
    size_t size;
    free(test_read(path, &size));
    for (size_t bytes = size; bytes-- > 0;) {
        EXPECT(truncate(path, (off_t)bytes) == 0);
        struct pack pack;
        EXPECT_EQ(pack_open(&pack, path), E_DATA);
    }
}

TEST(what_is_no_plain_file_cannot_be_read)
{
    status_quiet(true);
    char path[512];
    struct pack pack;
    const char *folder = test_folder();
    EXPECT_EQ(pack_open(&pack, folder), E_READ);
    snprintf(path, sizeof path, "%s/none", folder);
    EXPECT_EQ(pack_open(&pack, path), E_READ);
    EXPECT_EQ(pack_open(&pack, "/dev/zero"), E_READ);
    EXPECT(mkfifo(path, 0600) == 0);
    EXPECT_EQ(pack_open(&pack, path), E_READ);
}

TEST(a_folder_that_is_not_there_cannot_be_written)
{
    status_quiet(true);
    struct pack_header header = { .sequence_tokens = SEQUENCE, .vocabulary = VOCABULARY };
    EXPECT_EQ(pack_write("/nowhere/at/all/data.pack", &header, documents, order, first, ROWS), E_READ);
    EXPECT_HOLDS(status_message(), "/nowhere/at/all/data.pack.tmp");
}

TEST(a_full_disk_is_said_and_leaves_the_old_file)
{
    status_quiet(true);
    if (access("/dev/full", W_OK) != 0)
        test_skip("no /dev/full");
    char path[512], temporary[600];
    snprintf(path, sizeof path, "%s/data.pack", test_folder());
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    EXPECT(symlink("/dev/full", temporary) == 0);
    struct pack_header header = { .sequence_tokens = SEQUENCE, .vocabulary = VOCABULARY };
    EXPECT_EQ(pack_write(path, &header, documents, order, first, ROWS), E_READ);
    EXPECT_HOLDS(status_message(), "No space left");
    EXPECT(access(path, F_OK) != 0);
}

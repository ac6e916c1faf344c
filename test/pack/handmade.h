/* handmade.h: small tokenizers that a test writes itself, and what is to come of them. */
#ifndef TEST_PACK_HANDMADE_H
#define TEST_PACK_HANDMADE_H

#include "platform/status.h"
#include "test/test.h"
#include "tools/pack/tokenizer.h"

struct session {
    struct tokenizer *tokenizer;
    struct encoder *encoder;
};

static inline struct session open_session(const char *path)
{
    struct session session = { 0 };
    status_quiet(false);
    EXPECT_EQ(tokenizer_open(&session.tokenizer, path), OK);
    test_stop_if_failed();
    EXPECT_EQ(encoder_open(&session.encoder, session.tokenizer), OK);
    test_stop_if_failed();
    return session;
}

static inline void close_session(struct session session)
{
    encoder_close(session.encoder);
    tokenizer_close(session.tokenizer);
}

#define HEAD "{\"version\":\"1.0\",\"added_tokens\":[{\"id\":9,\"content\":\"<|end|>\",\"special\":true,\"normalized\":false},"            \
             "{\"id\":10,\"content\":\"<|end|>>\",\"special\":false,\"normalized\":false}],\"normalizer\":null,"
#define PRE  "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true},"
#define TAIL "\"post_processor\":null,\"decoder\":{\"type\":\"ByteLevel\"},"
#define VOCAB "\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"abc\":4,\"\\u0120\":5,\"\\u0120a\":6}"
#define MODEL(merges) "\"model\":{\"type\":\"BPE\"," VOCAB ",\"merges\":" merges "}}"

static inline enum status open_text(const char *text, struct tokenizer **tokenizer)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tokenizer.json", test_folder());
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    status_quiet(true);
    enum status status = tokenizer_open(tokenizer, path);
    status_quiet(false);
    return status;
}

static inline void expect_ids(const char *json, const char *text, bool plain, const int32_t *right, int64_t count)
{
    struct session session = { 0 };
    struct tokens tokens = { 0 };
    EXPECT_EQ(open_text(json, &session.tokenizer), OK);
    test_stop_if_failed();
    EXPECT_EQ(encoder_open(&session.encoder, session.tokenizer), OK);
    EXPECT_EQ(tokenizer_encode(session.encoder, text, strlen(text), plain, &tokens), OK);
    EXPECT_EQ(tokens.count, count);
    for (int64_t i = 0; i < count && i < tokens.count; i++)
        EXPECT_EQ(tokens.id[i], right[i]);
    close_session(session);
}

static inline void expect_refusal(const char *json, const char *part)
{
    struct tokenizer *tokenizer;
    EXPECT_EQ(open_text(json, &tokenizer), E_DATA);
    EXPECT_HOLDS(status_message(), part);
}

#endif

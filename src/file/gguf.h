/* gguf.h: a GGUF file as named values and named tensors. Build host and boot; nothing is trusted.
 *
 * Little-endian files of versions 2 and 3. All texts and data point into the map; texts have no NUL behind them.
 * (1) Every length is compared with what the file still has before it is used, and no allocation follows a number of the file alone.
 * Source: the format's own description, ggml, docs/gguf.md. */
#ifndef SRC_FILE_GGUF_H
#define SRC_FILE_GGUF_H

#include "file/ggufblock.h"
#include "file/mapped.h"

enum gguf_type {
    GGUF_U8, GGUF_I8, GGUF_U16, GGUF_I16, GGUF_U32, GGUF_I32, GGUF_F32, GGUF_BOOL, GGUF_TEXT, GGUF_ARRAY, GGUF_U64, GGUF_I64, GGUF_F64, GGUF_TYPES
};
enum { GGUF_DIMENSIONS_MOST = 4 };

struct gguf_text {
    const char *data;
    int64_t bytes;
};
struct gguf_value {
    struct gguf_text key;
    enum gguf_type type;              /* of the value, or of an array's elements */
    bool array;
    int64_t count;                    /* elements; 1 where it is no array */
    const uint8_t *data;              /* the first element */
};
struct gguf_tensor {
    struct gguf_text name;
    int32_t dimensions;
    int64_t shape[GGUF_DIMENSIONS_MOST];     /* the last varies fastest: the file's order reversed */
    int64_t elements;
    const struct ggufblock *block;
    const uint8_t *data;
    int64_t bytes;
};
struct gguf {
    const char *path;                 /* the caller's */
    struct mapped file;
    struct gguf_value *value;         /* sorted by key */
    int64_t values;
    struct gguf_tensor *tensor;       /* in the order of the data */
    int64_t tensors;
};

/* Returns OK; E_READ; or E_DATA, naming key or tensor, what was seen and at which byte. On a refusal there is nothing to close. */
MUST_USE enum status gguf_open(struct gguf *gguf, const char *path);
void gguf_close(struct gguf *gguf);

const struct gguf_value *gguf_find(const struct gguf *gguf, const char *key);      /* NULL if absent */
bool gguf_is(struct gguf_text text, const char *other);
/* A number or truth that is no array, into *number. False if key is absent or something else. Whole: below 2^63 and not negative. */
bool gguf_whole(const struct gguf *gguf, const char *key, int64_t *number);
bool gguf_real(const struct gguf *gguf, const char *key, double *number);
bool gguf_truth(const struct gguf *gguf, const char *key, bool *truth);
/* The text of key; data NULL if it is absent or no text. */
struct gguf_text gguf_text(const struct gguf *gguf, const char *key);
/* Steps through an array of texts: *at is value->data at first. Called at most value->count times. */
struct gguf_text gguf_next_text(const uint8_t **at);
/* Element i of an array of whole numbers (any width), in [0, count). */
int64_t gguf_element(const struct gguf_value *value, int64_t i);

#endif

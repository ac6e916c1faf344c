/* safetensors.h: a checkpoint folder as mapped tensors, and headers of new files. Every length is bounded by the file; nothing is trusted.
 *
 * Reading is BOOT (it allocates); writing renders a header into the caller's memory and allocates nothing. */
#ifndef SRC_FILE_SAFETENSORS_H
#define SRC_FILE_SAFETENSORS_H

#include "platform/status.h"

enum { TENSOR_DIMENSIONS_MOST = 8 };

enum tensor_type {      /* the first three can be trained; GGUF's blocks are converted when read */
    TENSOR_F32, TENSOR_BF16, TENSOR_F16, TENSOR_Q4_0, TENSOR_Q4_1, TENSOR_Q8_0, TENSOR_Q6_K, TENSOR_OTHER
};

struct tensor {
    const char *name;            /* Hugging Face name (GGUF's are translated) */
    const char *file;            /* path, for messages */
    enum tensor_type type;
    const char *type_name;       /* as the file has it */
    int32_t dimensions;
    int64_t shape[TENSOR_DIMENSIONS_MOST];
    int64_t elements;
    const uint8_t *data;         /* in the map; any alignment */
    int64_t bytes;
    bool permuted;               /* GGUF llama: q and k rows are in interleaved rotary order */
    int32_t permuted_heads;
};

struct tensors {
    struct tensor *tensor;       /* sorted by name (strcmp) */
    int64_t count;
    void *maps;                  /* owned */
};

/* Opens folder: model.safetensors, or model.safetensors.index.json with its shards, or a single *.gguf; or path is one such file.
 * Returns OK; E_READ (folder, file or shard missing or unreadable); E_DATA, one line naming file and tensor. */
MUST_USE enum status tensors_open(struct tensors *tensors, const char *path);
void tensors_close(struct tensors *tensors);
const struct tensor *tensors_find(const struct tensors *tensors, const char *name);     /* NULL if absent */

/* Elements [first, first + count) of the tensor in row-major order, as fp32; quantized blocks are expanded, permuted rows put in Hugging Face order.
 * count 0 is allowed. Returns OK, or E_DATA if the type cannot be trained (names it). Any thread. */
MUST_USE enum status tensor_read(const struct tensor *tensor, float *y, int64_t first, int64_t count);

/* One tensor of a file to be written. */
struct tensor_plan {
    const char *name;
    enum tensor_type type;       /* F32, BF16, F16 */
    int64_t shape[2];
    int32_t dimensions;          /* 1 or 2 */
    int64_t offset_bytes;        /* out: from the start of the file */
};
/* Renders the 8-byte length and the JSON header, padded with spaces so that data start at a multiple of 64, with __metadata__ {"format":"pt"}; fills
 * offset_bytes. Returns the header's bytes, or -1 if room is not greater. file_bytes gets the whole file's size. Allocates nothing. */
int64_t safetensors_header(char *header, int64_t room, struct tensor_plan *plan, int64_t count, int64_t *file_bytes);

#endif

/* ggufblock.h: GGUF's types of tensors, and its quantized blocks as fp32. Boot and build host; steady for reading: no state, no allocation. */
#ifndef SRC_FILE_GGUFBLOCK_H
#define SRC_FILE_GGUFBLOCK_H

#include "file/safetensors.h"

struct ggufblock {
    uint32_t id;                 /* as the file has it */
    enum tensor_type type;
    const char *name;
    int64_t elements, bytes;     /* of one block; 1 element where nothing is quantized */
};

/* NULL: a type that is not read. */
const struct ggufblock *ggufblock_of(uint32_t id);

/* y [count] out: elements [first, first + count) of blocks that begin at data (any alignment). type is one of the quantized ones. */
void ggufblock_read(enum tensor_type type, float *y, const uint8_t *data, int64_t first, int64_t count);

#endif

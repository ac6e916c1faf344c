/* weights.c: model.safetensors from a GGUF file's tensors (gguf2hf.h). Build host. */
#include "tools/gguf2hf/gguf2hf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file/convert.h"

enum { PATH_BYTES = 4096, PART_ELEMENTS = 1 << 16, HEADER_BYTES_A_TENSOR = 384 };

static bool put(FILE *file, const void *data, int64_t bytes)
{
    return fwrite(data, 1, (size_t)bytes, file) == (size_t)bytes;
}

static enum status write_tensor(FILE *file, const struct tensor *tensor, enum tensor_type type, bool *written)
{
    static float x[PART_ELEMENTS];
    static uint8_t narrow[2 * PART_ELEMENTS];
    for (int64_t first = 0; first < tensor->elements && *written; first += PART_ELEMENTS) {
        int64_t count = tensor->elements - first < PART_ELEMENTS ? tensor->elements - first : PART_ELEMENTS;
        TRY(tensor_read(tensor, x, first, count));
        convert_write_bf16(narrow, x, count);
        *written = type == TENSOR_F32 ? put(file, x, 4 * count) : put(file, narrow, 2 * count);
    }
    return OK;
}

static enum status plan_tensor(const struct tensor *tensor, enum tensor_type type, struct tensor_plan *plan)
{
    if (strncmp(tensor->name, "model.", 6) != 0 && strncmp(tensor->name, "lm_head.", 8) != 0)
        return fail(E_DATA, "%s: tensor %.120s has no name in a Hugging Face model", tensor->file, tensor->name);
    if (tensor->dimensions > 2)
        return fail(E_DATA, "%s: tensor %.120s has %d dimensions; 1 or 2 are right", tensor->file, tensor->name, tensor->dimensions);
    *plan = (struct tensor_plan){ .name = tensor->name, .type = type, .shape = { tensor->shape[0], tensor->shape[1] }, .dimensions = tensor->dimensions };
    return OK;
}

static enum status write_file(const struct tensors *tensors, const char *draft, enum tensor_type type)
{
    int64_t room = (tensors->count + 4) * HEADER_BYTES_A_TENSOR, file_bytes;
    struct tensor_plan *plan = calloc((size_t)tensors->count + 1, sizeof *plan);
    char *header = calloc(1, (size_t)room);
    ASSERT(plan != NULL && header != NULL);
    enum status status = OK;
    for (int64_t i = 0; i < tensors->count && status == OK; i++)
        status = plan_tensor(&tensors->tensor[i], type, &plan[i]);
    int64_t header_bytes = status == OK ? safetensors_header(header, room, plan, tensors->count, &file_bytes) : 0;
    ASSERT(header_bytes >= 0);
    FILE *file = status == OK ? fopen(draft, "wb") : NULL;
    bool written = file != NULL && put(file, header, header_bytes);
    for (int64_t i = 0; i < tensors->count && written && status == OK; i++)
        status = write_tensor(file, &tensors->tensor[i], type, &written);
    written = written && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int reason = errno;
    if (file != NULL)
        fclose(file);
    free(header);
    free(plan);
    return status == OK && !written ? fail(E_READ, "%s: cannot be written: %s", draft, strerror(reason)) : status;
}

enum status gguf2hf_weights(const char *path, const char *folder, enum tensor_type type)
{
    struct tensors tensors;
    char whole[PATH_BYTES], draft[PATH_BYTES + 8];
    snprintf(whole, sizeof whole, "%s/model.safetensors", folder);
    snprintf(draft, sizeof draft, "%s.tmp", whole);
    TRY(tensors_open(&tensors, path));
    enum status status = write_file(&tensors, draft, type);
    tensors_close(&tensors);
    if (status == OK && rename(draft, whole) != 0)
        status = fail(E_READ, "%s: cannot be written: %s", whole, strerror(errno));
    if (status != OK)
        unlink(draft);
    return status;
}

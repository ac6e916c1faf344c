/* plan.h: which tensors the checkpoint has, in which file, at which byte, and which rank writes which piece.
 *
 * plan_make is BOOT; the rest is steady and pure.
 * (1) Every parameter of the model stands once: not the second copy of a tied embedding, not the padding of the vocabulary.
 * (2) Tensors stand in the order of the model, embedding, layers, head, so the files' bytes do not depend on the cut over ranks. */
#ifndef SRC_SAVE_PLAN_H
#define SRC_SAVE_PLAN_H

#include "file/safetensors.h"
#include "night.h"

#ifndef PLAN_FILE_BYTES_MOST
#define PLAN_FILE_BYTES_MOST 5000000000LL
#endif

enum { PLAN_NAME_BYTES = 64 };

struct plan_file {
    char name[PLAN_NAME_BYTES];      /* "model.safetensors", "model-00001-of-00004.safetensors" */
    int64_t first, tensors;          /* in plan.tensor */
    int64_t bytes;
    char *header;                    /* owned; [header_bytes] */
    int64_t header_bytes;
};

struct plan {
    struct tensor_plan *tensor;      /* [tensors] */
    int32_t *file_of;                /* [tensors] */
    struct plan_file *file;          /* [files] */
    int64_t tensors, files;
    int64_t bytes;                   /* of all files */
    enum storage type;
};

/* file_bytes_most is PLAN_FILE_BYTES_MOST but in tests. BOOT. Returns OK or E_AGAIN (no memory). */
MUST_USE enum status plan_make(struct plan *plan, enum storage type, int64_t file_bytes_most);

void plan_free(struct plan *plan);

/* Index of a shard's tensor in the plan, or NONE for the second copy of a tied embedding. shard is one of stages[pp].shard. */
int64_t plan_index(int32_t pp, const struct shard *shard);

/* Whether the checkpoint stores the shard under its own name: false for the second copy of a tied embedding. */
bool plan_stores(const struct shard *shard);

int64_t storage_bytes(enum storage type);

#endif

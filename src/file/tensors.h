/* tensors.h: what the readers of safetensors.c, index.c and gguf.c share; not for other rooms. Boot and build host. */
#ifndef SRC_FILE_TENSORS_H
#define SRC_FILE_TENSORS_H

#include "file/mapped.h"
#include "file/safetensors.h"

enum { TENSORS_MOST = 32768 };     /* of one file */

/* The set being read: its maps, and the texts that tensors point to. Lives behind struct tensors.maps. */
struct tensor_maps {
    struct mapped *mapped;
    char **text;
    int64_t maps, texts, reserved;
};

/* Maps path and keeps the map with the set. Returns OK or E_READ. */
MUST_USE enum status tensors_map(struct tensors *tensors, const char *path, struct mapped *mapped);
/* Moves a map into the set, which closes it. */
void tensors_own(struct tensors *tensors, struct mapped *mapped);
/* A copy of text that lives as long as the set. */
const char *tensors_keep(struct tensors *tensors, const char *text);
/* Room for one more tensor, zeroed, its file set. */
struct tensor *tensors_add(struct tensors *tensors, const char *file);

MUST_USE enum status safetensors_read(struct tensors *tensors, const char *path);
MUST_USE enum status safetensors_index_read(struct tensors *tensors, const char *folder, const char *path);
MUST_USE enum status gguf_read(struct tensors *tensors, const char *path);

#endif

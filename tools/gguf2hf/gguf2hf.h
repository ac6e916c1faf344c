/* gguf2hf.h: one GGUF file as a Hugging Face folder. Build host.
 *
 * (1) What the file does not say, and a folder needs, is refused or stated as a note; nothing is guessed from the weights.
 * (2) A file of the folder is complete or not there: it is written beside its name and renamed. */
#ifndef TOOLS_GGUF2HF_GGUF2HF_H
#define TOOLS_GGUF2HF_GGUF2HF_H

#include <jansson.h>

#include "file/gguf.h"

/* Each writes its files into folder. Returns OK; E_DATA naming key or tensor; E_READ if a file cannot be written. type: TENSOR_F32 or TENSOR_BF16. */
MUST_USE enum status gguf2hf_config(const struct gguf *gguf, const char *folder, enum tensor_type type);      /* config.json, generation_config.json */
MUST_USE enum status gguf2hf_tokenizer(const struct gguf *gguf, const char *folder);      /* tokenizer.json, tokenizer_config.json */
MUST_USE enum status gguf2hf_weights(const char *path, const char *folder, enum tensor_type type);      /* model.safetensors */

/* All of it, into a folder that is made where it is absent and holds no model yet (else E_USAGE). */
MUST_USE enum status gguf2hf(const char *path, const char *folder, enum tensor_type type);

/* Writes root to folder/name, and takes the reference. */
MUST_USE enum status gguf2hf_write(const char *folder, const char *name, json_t *root);

#endif

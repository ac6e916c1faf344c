/* checkpoint.h: the model in Hugging Face form, written by the ranks themselves.
 *
 * (1) checkpoint_open (BOOT) makes the output folder, carries config.json, generation_config.json and the tokenizer's files along, opens
 *     model.safetensors.tmp (or shards of at most 5 GB with an index), writes its header and reserves its space.
 * (2) checkpoint_write (steady) is called by every rank; each writes the pieces it is the first owner of, converted to the output type.
 * (3) checkpoint_publish (steady, one rank, after all have written) syncs and renames. Nothing allocates after checkpoint_open.
 * (4) Until checkpoint_publish no file of the folder but *.tmp is touched. */
#ifndef SRC_SAVE_CHECKPOINT_H
#define SRC_SAVE_CHECKPOINT_H

#include "night.h"

/* What each refusal of an output folder that cannot be written ends with. */
#define OUTPUT_RIGHT "right is a folder that this user may write, or a new name in one"

/* What checkpoint_open would refuse of the folder's content; writes nothing, and the folder need not be there. BOOT. Returns OK, E_USAGE or E_READ. */
MUST_USE enum status checkpoint_check(const struct night *night, enum storage type);

/* type is what the output will be stored as; config.json then says so. Returns OK, or E_READ: the folder cannot be written, or the disk is too
 * small (says both sizes); E_USAGE: the folder is the model's own, or holds weights under other names; E_AGAIN: another process writes there, and
 * will end. On a refusal nothing is left behind. */
MUST_USE enum status checkpoint_open(const struct night *night, enum storage type);
/* Writes what the rank has to write of one bucket of its stage. parameters [bucket->elements] are all of the bucket's. Returns OK or E_AGAIN (disk). */
MUST_USE enum status checkpoint_write(const struct rank *rank, const struct bucket *bucket, const float *parameters);
MUST_USE enum status checkpoint_publish(void);
/* Removes what was not published. Any phase after checkpoint_open; does nothing after checkpoint_publish. */
void checkpoint_discard(void);
/* What checkpoint_open will reserve for the weights, in bytes, headers estimated: for the arithmetic of the night. */
int64_t checkpoint_bytes(enum storage type);

#endif

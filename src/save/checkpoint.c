/* checkpoint.c: see checkpoint.h. Steady but for checkpoint_open.
 *
 * (1) All that is shared is written by checkpoint_open and only read by the ranks; each rank has a staging block of its own.
 * (2) Of the ranks that hold a piece the first of dp = 0 writes it, so every byte of the files is written once.
 * (3) A weight that is finite in training stays finite on disk: what a narrow type cannot hold becomes its largest number, and is counted. */
#include "save/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "config.h"
#include "save/carry.h"
#include "save/plan.h"

enum { STAGING_BYTES = 1 << 18, PATH_BYTES = JOB_PATH_BYTES + 64, HEADER_BYTES_A_TENSOR = 160 };
#define INDEX_NAME "model.safetensors.index.json"

static struct plan plan;
static const char *folder;               /* job.output */
static int *file;                        /* [plan.files], open */
static bool indexed;                     /* an index was written */
static bool pending;                     /* something is not published yet */
static atomic_llong clamped;
static _Alignas(64) uint8_t staging[RANKS][STAGING_BYTES];

static void path_of(char *path, const char *name, const char *suffix)
{
    snprintf(path, PATH_BYTES, "%s/%s%s", folder, name, suffix);
}

int64_t checkpoint_bytes(enum storage type)
{
    int64_t bytes = 0;
    for (int32_t pp = 0; pp < PP; pp++)
        for (int32_t i = 0; i < stages[pp].shards; i++)
            if (plan_stores(&stages[pp].shard[i]))
                bytes += stages[pp].shard[i].rows * stages[pp].shard[i].columns * storage_bytes(type) + HEADER_BYTES_A_TENSOR;
    return bytes;
}

/* ---- boot ---- */

BOOT static enum status make_folder(void)
{
    char path[JOB_PATH_BYTES];
    snprintf(path, sizeof path, "%s", folder);
    for (char *at = path + 1; ; at++) {
        char kept = *at;
        if (kept != '/' && kept != '\0')
            continue;
        *at = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return fail(E_READ, "output %s: cannot be made: %s: %s; " OUTPUT_RIGHT, folder, path, strerror(errno));
        *at = kept;
        if (kept == '\0')
            break;
    }
    struct stat state;
    if (stat(folder, &state) != 0 || !S_ISDIR(state.st_mode))
        return fail(E_READ, "output %s: is no folder; " OUTPUT_RIGHT, folder);
    if (access(folder, W_OK | X_OK) != 0)
        return fail(E_READ, "output %s: cannot be written: %s; " OUTPUT_RIGHT, folder, strerror(errno));
    return OK;
}

BOOT static bool ours(const char *name)
{
    for (int64_t i = 0; i < plan.files; i++)
        if (strcmp(name, plan.file[i].name) == 0)
            return true;
    return false;
}

/* Weights under names that this image will not write would be read together with ours. */
BOOT static enum status refuse_strangers(const char *model)
{
    struct stat here, there;
    if (model[0] != '\0' && stat(model, &there) == 0 && stat(folder, &here) == 0 && here.st_dev == there.st_dev && here.st_ino == there.st_ino)
        return fail(E_USAGE, "output %s: is the model's own folder; choose another, so that a bad night cannot spoil it", folder);
    DIR *list = opendir(folder);
    if (list == NULL && errno == ENOENT)
        return OK;
    if (list == NULL)
        return fail(E_READ, "output %s: %s", folder, strerror(errno));
    enum status status = OK;
    for (struct dirent *entry; status == OK && (entry = readdir(list)) != NULL;) {
        size_t bytes = strlen(entry->d_name), tail = strlen(".safetensors");
        bool weights = bytes > tail && strcmp(entry->d_name + bytes - tail, ".safetensors") == 0 && !ours(entry->d_name);
        bool index = strcmp(entry->d_name, INDEX_NAME) == 0 && plan.files == 1;
        if (weights || index)
            status = fail(E_USAGE, "output %s: holds %.80s of another checkpoint, which readers would mix with %s; remove it or choose another folder",
                          folder, entry->d_name, plan.file[0].name);
    }
    closedir(list);
    return status;
}

BOOT static enum status too_small(int64_t needed)
{
    struct statvfs disk;
    if (statvfs(folder, &disk) != 0)
        return fail(E_READ, "output %s: %s", folder, strerror(errno));
    int64_t left = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    if (left >= needed)
        return OK;
    return fail(E_READ, "output %s: the disk is too small: %.1f MiB needed, %.1f MiB free", folder, (double)needed / 0x1p20, (double)left / 0x1p20);
}

BOOT static enum status write_all(int out, const char *path, const void *bytes, int64_t count, int64_t at)
{
    while (count > 0) {
        ssize_t put = pwrite(out, bytes, (size_t)count, at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return fail(E_READ, "%s: cannot be written: %s", path, put < 0 ? strerror(errno) : "the disk is full");
        bytes = (const char *)bytes + put;
        count -= put;
        at += put;
    }
    return OK;
}

BOOT static enum status in_use(const char *path)
{
    return fail(E_AGAIN, "%s: another process writes it; two jobs cannot share an output folder at one time", path);
}

/* Opens, locks, empties, reserves; the header is written at once. */
BOOT static enum status open_file(int64_t index)
{
    char path[PATH_BYTES];
    const struct plan_file *planned = &plan.file[index];
    path_of(path, planned->name, ".tmp");
    int out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (out < 0)
        return fail(E_READ, "%s: cannot be written: %s", path, strerror(errno));
    if (flock(out, LOCK_EX | LOCK_NB) != 0) {
        close(out);
        return in_use(path);
    }
    struct stat opened, named;     /* between open and flock the other process may have ended: what was opened may be its result by now */
    if (fstat(out, &opened) != 0 || stat(path, &named) != 0 || opened.st_dev != named.st_dev || opened.st_ino != named.st_ino) {
        close(out);
        return in_use(path);
    }
    file[index] = out;
    pending = true;
    if (ftruncate(out, 0) != 0)
        return fail(E_READ, "%s: cannot be written: %s", path, strerror(errno));
    TRY(too_small(planned->bytes));
    if (fallocate(out, 0, 0, planned->bytes) != 0) {
        if (errno == EOPNOTSUPP || errno == ENOSYS) {
            note("%s: this file system cannot reserve space; the disk is only known to be large enough now", folder);
            if (ftruncate(out, planned->bytes) != 0)
                return fail(E_READ, "%s: cannot have %" PRId64 " bytes: %s", path, planned->bytes, strerror(errno));
        } else {
            return fail(E_READ, "%s: its %.1f MiB (%" PRId64 " bytes) cannot be reserved: %s", path, (double)planned->bytes / 0x1p20,
                        planned->bytes, strerror(errno));
        }
    }
    return write_all(out, path, planned->header, planned->header_bytes, 0);
}

BOOT static enum status write_index(void)
{
    char path[PATH_BYTES];
    path_of(path, INDEX_NAME, ".tmp");
    int64_t bytes = 0;
    json_t *index = json_object(), *metadata = json_object(), *map = json_object();
    for (int64_t i = 0; i < plan.tensors; i++) {
        bytes += plan.tensor[i].shape[0] * plan.tensor[i].shape[1] * storage_bytes(plan.type);
        json_object_set_new(map, plan.tensor[i].name, json_string(plan.file[plan.file_of[i]].name));
    }
    json_object_set_new(metadata, "total_size", json_integer(bytes));
    json_object_set_new(index, "metadata", metadata);
    json_object_set_new(index, "weight_map", map);
    bool written = json_dump_file(index, path, JSON_INDENT(2)) == 0;
    json_decref(index);
    indexed = true;
    return written ? OK : fail(E_READ, "%s: cannot be written: %s", path, strerror(errno));
}

BOOT static enum status open_all(const struct night *night, enum storage type)
{
    TRY(make_folder());
    TRY(refuse_strangers(night->job.model));
    TRY(too_small(plan.bytes));
    for (int64_t i = 0; i < plan.files; i++)
        TRY(open_file(i));
    TRY(carry_copy(night->job.model, folder, type));
    return plan.files > 1 ? write_index() : OK;
}

BOOT enum status checkpoint_check(const struct night *night, enum storage type)
{
    folder = night->job.output;
    TRY(plan_make(&plan, type, PLAN_FILE_BYTES_MOST));
    enum status status = refuse_strangers(night->job.model);
    plan_free(&plan);
    return status;
}

BOOT enum status checkpoint_open(const struct night *night, enum storage type)
{
    folder = night->job.output;
    indexed = false;
    TRY(plan_make(&plan, type, PLAN_FILE_BYTES_MOST));
    file = malloc((size_t)plan.files * sizeof *file);
    if (file == NULL)
        return fail(E_AGAIN, "no memory for the plan of the checkpoint");
    for (int64_t i = 0; i < plan.files; i++)
        file[i] = -1;
    enum status status = open_all(night, type);
    if (status != OK)
        checkpoint_discard();
    return status;
}

/* ---- steady ---- */

/* A finite weight that the type turned into infinity becomes the type's largest number: its bit pattern is one below. */
static int64_t clamp(uint16_t *stored, const float *x, int64_t count, enum storage type)
{
    uint16_t infinity = type == STORAGE_BF16 ? 0x7f80 : 0x7c00;
    int64_t changed = 0;
    for (int64_t i = 0; i < count; i++) {
        bool overflow = (stored[i] & 0x7fff) == infinity && isfinite(x[i]);
        stored[i] = (uint16_t)(stored[i] - overflow);
        changed += overflow;
    }
    return changed;
}

/* Writes count weights at byte `at` of the tensor's file, by way of the rank's staging block. */
static enum status write_weights(int32_t rank, int64_t tensor, const float *x, int64_t count, int64_t at)
{
    int64_t size = storage_bytes(plan.type), block = STAGING_BYTES / size;
    int out = file[plan.file_of[tensor]];
    for (int64_t done = 0; done < count; done += block) {
        int64_t part = count - done < block ? count - done : block, bytes = part * size;
        const void *from = x + done;
        if (plan.type != STORAGE_F32) {
            cast_from_float(staging[rank], x + done, plan.type, part);
            clamped += clamp((uint16_t *)(void *)staging[rank], x + done, part, plan.type);
            from = staging[rank];
        }
        for (int64_t put = 0; put < bytes;) {
            ssize_t now = pwrite(out, (const char *)from + put, (size_t)(bytes - put), at + done * size + put);
            if (now < 0 && errno == EINTR)
                continue;
            if (now <= 0)
                return fail(E_AGAIN, "%s/%s.tmp: %s cannot be written: %s", folder, plan.file[plan.file_of[tensor]].name,
                            plan.tensor[tensor].name, now < 0 ? strerror(errno) : "the disk is full");
            put += now;
        }
    }
    return OK;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static enum status write_shard(const struct rank *rank, const struct shard *shard, const float *x)
{
    int64_t tensor = plan_index(rank->row->pp, shard), size = storage_bytes(plan.type);
    int64_t piece = rank->row->tp / shard->copies, at = plan.tensor[tensor].offset_bytes;
    if (shard->cut != CUT_COLUMNS) {
        int64_t first = shard->cut == CUT_ROWS ? piece * shard->local_rows : 0;
        int64_t rows = least(shard->local_rows, shard->rows - first);     /* the rest is padding of the vocabulary */
        return rows <= 0 ? OK : write_weights(rank->index, tensor, x, rows * shard->columns, at + first * shard->columns * size);
    }
    for (int64_t row = 0; row < shard->local_rows; row++) {
        int64_t element = row * shard->columns + piece * shard->local_columns;
        TRY(write_weights(rank->index, tensor, x + row * shard->local_columns, shard->local_columns, at + element * size));
    }
    return OK;
}

enum status checkpoint_write(const struct rank *rank, const struct bucket *bucket, const float *parameters)
{
    ASSERT(pending && rank->index >= 0 && rank->index < RANKS);
    for (int32_t i = bucket->first_shard; i < bucket->first_shard + bucket->shards; i++) {
        const struct shard *shard = &rank->stage->shard[i];
        if (rank->row->dp == 0 && rank->row->tp % shard->copies == 0 && plan_stores(shard))
            TRY(write_shard(rank, shard, parameters + (shard->offset - bucket->offset)));
    }
    return OK;
}

static enum status publish_file(const char *name, int out)
{
    char from[PATH_BYTES], to[PATH_BYTES];
    path_of(from, name, ".tmp");
    path_of(to, name, "");
    if (fsync(out) != 0 || rename(from, to) != 0)
        return fail(E_AGAIN, "%s: cannot be saved: %s", to, strerror(errno));
    return OK;
}

/* Makes the renames last. */
static enum status sync_folder(void)
{
    int list = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = list >= 0 && fsync(list) == 0;
    int cause = errno;
    if (list >= 0)
        close(list);
    return synced ? OK : fail(E_AGAIN, "%s: cannot be synced: %s", folder, strerror(cause));
}

enum status checkpoint_publish(void)
{
    ASSERT(pending);
    TRY(carry_publish());
    for (int64_t i = 0; i < plan.files; i++)
        TRY(publish_file(plan.file[i].name, file[i]));
    if (indexed) {
        char path[PATH_BYTES];
        path_of(path, INDEX_NAME, ".tmp");
        int index = open(path, O_RDONLY | O_CLOEXEC);
        enum status status = index < 0 ? fail(E_AGAIN, "%s: %s", path, strerror(errno)) : publish_file(INDEX_NAME, index);
        if (index >= 0)
            close(index);
        TRY(status);
    }
    TRY(sync_folder());
    pending = false;
    for (int64_t i = 0; i < plan.files; i++)
        close(file[i]);
    if (clamped > 0)
        note("%lld weights exceed what the output type holds and were saved as its largest number", (long long)clamped);
    return OK;
}

void checkpoint_discard(void)
{
    carry_discard();
    if (!pending)
        return;
    char path[PATH_BYTES];
    for (int64_t i = 0; i < plan.files; i++) {
        if (file[i] < 0)
            continue;
        path_of(path, plan.file[i].name, ".tmp");
        unlink(path);
        close(file[i]);
    }
    if (indexed) {
        path_of(path, INDEX_NAME, ".tmp");
        unlink(path);
    }
    pending = false;
}

/* check.c: see check.h. Phase: boot. */
#include "boot/check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "boot/say.h"
#include "config.h"
#include "save/carry.h"
#include "save/checkpoint.h"

enum { METRICS_BYTES_A_STEP = 400, SUMMARY_BYTES = 1 << 16, PROCESS_BYTES = 64 << 20 };

/* ---- data ---- */

/* Hash of the model's tokenizer.json; 0 if it has none. */
BOOT static enum status tokenizer_hash(const struct job *job, uint64_t *hash)
{
    static char block[1 << 16];
    char path[JOB_PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/tokenizer.json", job->model);
    *hash = 0;
    int file = job->model[0] == '\0' ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && job->model[0] != '\0' && errno != ENOENT)
        return fail(E_READ, "%s: %s", path, strerror(errno));
    if (file < 0)
        return OK;
    XXH64_state_t *state = XXH64_createState();
    ssize_t got = state == NULL || XXH64_reset(state, 0) != XXH_OK ? -1 : 1;
    while (got > 0 && (got = read(file, block, sizeof block)) > 0)
        XXH64_update(state, block, (size_t)got);
    *hash = got < 0 ? 0 : XXH64_digest(state);
    XXH64_freeState(state);
    close(file);
    return got < 0 ? fail(E_READ, "%s: %s", path, strerror(errno)) : OK;
}

/* Words the refusal of a token beyond the vocabulary: which, and where it came from. */
BOOT static enum status foreign_token(const struct pack *pack, const char *path)
{
    int64_t row = 0, rows = (int64_t)pack->header->rows;
    for (; row < rows; row++) {
        const int32_t *token = pack->token + row * SEQUENCE_TOKENS;
        for (uint32_t t = 0; t < pack->row[row].tokens; t++) {
            if (token[t] < MODEL_VOCABULARY)
                continue;
            uint64_t document = pack->row[row].first_document, last = document + pack->row[row].documents;
            while (document + 1 < last && pack->document[document + 1] <= t)
                document++;
            const struct pack_source *source = &pack->source[document];
            const char *name = pack->header->files[source->file < PACK_FILES_MOST ? source->file : PACK_FILES_MOST - 1];
            return fail(E_DATA, "%s: row %" PRId64 ": token %" PRId32 " (of %.200s:%" PRIu64 ") is beyond the model's vocabulary of %d", path, row,
                        token[t], name, source->line, MODEL_VOCABULARY);
        }
    }
    return fail(E_DATA, "%s: the largest token is %" PRIu32 "; the model's vocabulary ends at %d", path, pack->header->token_largest,
                MODEL_VOCABULARY - 1);
}

BOOT static enum status check_pack(struct pack *pack, const char *path, const char *label, const struct job *job, uint64_t tokenizer)
{
    int64_t begin = clock_ns();
    TRY(pack_open(pack, path));
    const struct pack_header *header = pack->header;
    if (header->sequence_tokens != SEQUENCE_TOKENS)
        return fail(E_DATA, "%s: rows of %" PRIu32 " tokens; this image needs rows of %d: pack again with that length, or build with SEQ=%" PRIu32,
                    path, header->sequence_tokens, SEQUENCE_TOKENS, header->sequence_tokens);
    if (header->token_largest >= MODEL_VOCABULARY)
        return foreign_token(pack, path);
    if (tokenizer != 0 && header->tokenizer_hash != 0 && tokenizer != header->tokenizer_hash)
        return fail(E_DATA, "%s: packed with another tokenizer (%016" PRIx64 ") than %s/tokenizer.json (%016" PRIx64 "): pack again", path,
                    header->tokenizer_hash, job->model, tokenizer);
    if (tokenizer == 0 || header->tokenizer_hash == 0)
        note("%s: no tokenizer to compare with; %s", path,
             tokenizer == 0 ? "the model's folder has no tokenizer.json" : "the data came already tokenized");
    double room = (double)header->rows * SEQUENCE_TOKENS;
    say(label, begin, "%s  %" PRIu64 " rows of %d  %" PRIu64 " tokens (%.1f %% full)  %" PRIu64 " targets", path, header->rows, SEQUENCE_TOKENS,
        header->tokens, 100 * (double)header->tokens / room, header->targets);
    return OK;
}

/* Held-out loss says something only of rows that are not learned, and only if they became tokens as the learned ones did. */
BOOT static enum status refuse_same_file(const struct job *job)
{
    struct stat data, held_out;
    if (stat(job->data, &data) != 0 || stat(job->held_out, &held_out) != 0)
        return OK;     /* opening it says why */
    if (data.st_dev != held_out.st_dev || data.st_ino != held_out.st_ino)
        return OK;
    return fail(E_USAGE, "held_out %s: is the same file as data %s: name a file of other rows (pack --held-out makes one), or leave the key out",
                job->held_out, job->data);
}

BOOT static enum status compare_packs(const struct night *night)
{
    const struct pack_header *data = night->data.header, *held_out = night->held_out.header;
    bool tokenizers = data->tokenizer_hash != 0 && held_out->tokenizer_hash != 0 && data->tokenizer_hash != held_out->tokenizer_hash;
    bool templates = data->template_hash != 0 && held_out->template_hash != 0 && data->template_hash != held_out->template_hash;
    if (!tokenizers && !templates)
        return OK;
    return fail(E_DATA, "held_out %s: packed with another %s (%016" PRIx64 ") than data %s (%016" PRIx64 "): pack both again with the same one",
                night->job.held_out, tokenizers ? "tokenizer" : "chat template", tokenizers ? held_out->tokenizer_hash : held_out->template_hash,
                night->job.data, tokenizers ? data->tokenizer_hash : data->template_hash);
}

BOOT enum status check_data(struct night *night)
{
    const struct job *job = &night->job;
    uint64_t tokenizer;
    TRY(tokenizer_hash(job, &tokenizer));
    TRY(check_pack(&night->data, job->data, "DATA", job, tokenizer));
    if (job->held_out[0] == '\0') {
        note("no held_out in the job: loss and accuracy before and after will not be known");
        return OK;
    }
    TRY(refuse_same_file(job));
    TRY(check_pack(&night->held_out, job->held_out, "", job, tokenizer));
    TRY(compare_packs(night));
    if (night->held_out.header->content_hash == night->data.header->content_hash)
        note("%s: the held-out data are the training data", job->held_out);
    return OK;
}

/* ---- steps and time ---- */

/* Seconds of one step at the board's full rate: 6 operations a parameter and token, and attention (see summary.c). */
BOOT static double step_seconds(void)
{
    double token = 6.0 * (double)model_parameters + 6.0 * MODEL_LAYERS * MODEL_HEADS * MODEL_HEAD_DIM * (double)SEQUENCE_TOKENS;
    return token * (double)GLOBAL_BATCH_TOKENS / ((double)BOARD_FLOPS_PER_SECOND * RANKS);
}

BOOT static void say_end(const struct job *job)
{
    static const double share = 0.5;     /* of the board's peak: what a step usually reaches */
    double seconds = (double)job->steps * step_seconds() / share;
    time_t end = time(NULL) + (time_t)(seconds < 1e9 ? seconds : 1e9);
    struct tm local;
    char text[64] = "";
    if (localtime_r(&end, &local) != NULL)
        strftime(text, sizeof text, "%a %Y-%m-%d %H:%M", &local);
    say("END", 0, "about %s of steps at half of the board's rate (an estimate): done %s", duration(seconds).text, text);
}

BOOT static enum status count_steps(struct night *night)
{
    struct job *job = &night->job;
    int64_t rows = (int64_t)night->data.header->rows;
    night->batches_an_epoch = (rows + GLOBAL_BATCH_ROWS - 1) / GLOBAL_BATCH_ROWS;
    night->tokens_a_step = GLOBAL_BATCH_TOKENS;
    bool by_epochs = job->steps == 0;
    if (by_epochs) {
        double steps = ceil(job->epochs * (double)night->batches_an_epoch);
        if (steps > 1e12)
            return fail(E_USAGE, "epochs %g of %" PRId64 " batches are %g steps; at most 1e12", job->epochs, night->batches_an_epoch, steps);
        job->steps = (int64_t)steps;
    }
    if (job->warmup_steps > job->steps)
        return fail(E_USAGE, "warmup_steps is %" PRId64 ", more than the %" PRId64 " steps of the job", job->warmup_steps, job->steps);
    int64_t last = rows - (night->batches_an_epoch - 1) * GLOBAL_BATCH_ROWS;
    char batches[96] = "";
    if (last < GLOBAL_BATCH_ROWS)
        snprintf(batches, sizeof batches, ", the last of %" PRId64 " row%s filled with rows of weight zero", last, last == 1 ? "" : "s");
    say("STEPS", 0, "%" PRId64 " rows / %d a step = %" PRId64 " batch%s an epoch%s", rows, (int)GLOBAL_BATCH_ROWS, night->batches_an_epoch,
        night->batches_an_epoch == 1 ? "" : "es", batches);
    if (by_epochs)
        say("", 0, "%" PRId64 " steps = %g epochs x %" PRId64 "  %" PRId64 " tokens a step, %.4g in all", job->steps, job->epochs,
            night->batches_an_epoch, night->tokens_a_step, (double)job->steps * (double)night->tokens_a_step);
    else
        say("", 0, "%" PRId64 " steps = %.3g epochs  %" PRId64 " tokens a step, %.4g in all", job->steps,
            (double)job->steps / (double)night->batches_an_epoch, night->tokens_a_step, (double)job->steps * (double)night->tokens_a_step);
    return OK;
}

BOOT enum status check_steps(struct night *night)
{
    static const char *const schedules[] = {
        [RATE_CONSTANT] = "constant", [RATE_LINEAR] = "linear", [RATE_COSINE] = "cosine", [RATE_WSD] = "wsd",
    };
    TRY(count_steps(night));
    const struct job *job = &night->job;
    char warmup[48];
    if (job->warmup_steps >= 0)
        snprintf(warmup, sizeof warmup, "%" PRId64 " steps", job->warmup_steps);
    else
        snprintf(warmup, sizeof warmup, "%g of the steps", job->warmup_ratio);
    say("RATE", 0, "%g %s to %g  warm-up %s  weight decay %g  clip %g  seed %" PRIu64, job->learning_rate, schedules[job->schedule],
        job->schedule == RATE_CONSTANT ? job->learning_rate : job->floor * job->learning_rate, warmup, job->weight_decay, job->clip, job->seed);
    say_end(job);
    return OK;
}

/* ---- disk and memory ---- */

/* The folder, or the nearest one above it that is there. */
BOOT static enum status existing_folder(const char *path, char *folder)
{
    struct stat state;
    snprintf(folder, JOB_PATH_BYTES, "%s", path);
    for (;;) {
        if (stat(folder, &state) == 0)
            break;
        if (errno != ENOENT)
            return fail(E_READ, "output %s: cannot be written: %s: %s; " OUTPUT_RIGHT, path, folder, strerror(errno));
        char *slash = strrchr(folder, '/');
        if (slash == NULL)
            snprintf(folder, JOB_PATH_BYTES, ".");
        else
            slash[slash == folder] = '\0';
    }
    if (!S_ISDIR(state.st_mode))
        return fail(E_READ, "output %s: %s is no folder; " OUTPUT_RIGHT, path, folder);
    if (access(folder, W_OK | X_OK) != 0)
        return fail(E_READ, "output %s: %s cannot be written: %s; " OUTPUT_RIGHT, path, folder, strerror(errno));
    return OK;
}

BOOT enum status check_disk(struct night *night, enum storage type)
{
    const struct job *job = &night->job;
    char folder[JOB_PATH_BYTES];
    struct statvfs disk;
    TRY(existing_folder(job->output, folder));
    TRY(checkpoint_check(night, type));
    if (statvfs(folder, &disk) != 0)
        return fail(E_READ, "output %s: %s", job->output, strerror(errno));
    int64_t evaluations = job->evaluate_every > 0 ? job->steps / job->evaluate_every : 0;
    night->disk_bytes = checkpoint_bytes(type) + carry_bytes(job->model) + (job->steps + evaluations + 2) * METRICS_BYTES_A_STEP + SUMMARY_BYTES;
    int64_t left = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    if (left < night->disk_bytes)
        return fail(E_READ, "output %s: the disk is too small: %.1f MiB needed, %.1f MiB free", job->output, (double)night->disk_bytes / 0x1p20,
                    (double)left / 0x1p20);
    static const char *const words[] = { [STORAGE_F32] = "float32", [STORAGE_BF16] = "bfloat16", [STORAGE_F16] = "float16" };
    say("DISK", 0, "%.1f MiB needed, %.1f MiB free  %s as %s", (double)night->disk_bytes / 0x1p20, (double)left / 0x1p20, job->output, words[type]);
    return OK;
}

/* A number in a file of /proc or /sys behind a word; -1 if it is not there. */
BOOT static int64_t number_in(const char *path, const char *word)
{
    char text[4096];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    if (got <= 0)
        return -1;
    text[got] = '\0';
    const char *at = strstr(text, word);
    char *end;
    if (at == NULL)
        return -1;
    long long value = strtoll(at + strlen(word), &end, 10);
    return end == at + strlen(word) ? -1 : value;
}

BOOT enum status check_memory(int32_t threads)
{
    int64_t needed = RANKS * (arena_bytes + (int64_t)threads * TEAM_SCRATCH_BYTES) + PROCESS_BYTES;
    int64_t free_kib = number_in("/proc/meminfo", "MemAvailable:"), limit = number_in("/sys/fs/cgroup/memory.max", "");
    int64_t left = free_kib < 0 ? INT64_MAX : free_kib * 1024;
    left = limit >= 0 && limit < left ? limit : left;
    if (left < needed)
        return fail(E_AGAIN, "memory: %.1f MiB needed for %d ranks, %.1f MiB available", (double)needed / 0x1p20, RANKS, (double)left / 0x1p20);
    say("MEMORY", 0, "%.1f MiB needed for %d ranks of %d thread%s, %.1f MiB available", (double)needed / 0x1p20, RANKS, threads,
        threads == 1 ? "" : "s", (double)left / 0x1p20);
    return OK;
}

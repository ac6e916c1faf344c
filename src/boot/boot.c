/* boot.c: see boot.h. An ordered list; the logic belongs in the steps.
 *
 * (1) Before a rank enters anything that waits for others, all have agreed that none of them has failed. */
#include "boot/boot.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "boot/check.h"
#include "boot/job.h"
#include "boot/load.h"
#include "boot/model.h"
#include "boot/post.h"
#include "boot/say.h"
#include "config.h"
#include "save/checkpoint.h"
#include "save/summary.h"
#include "save/telemetry.h"

#define VERSION "0.1"
enum { SPEAKER = 0 };      /* the rank that prints for all */

static struct load_facts facts;
static enum storage output_type;
static int32_t threads_a_rank;

/* Where the ranks meet. */
static pthread_barrier_t meeting;
static enum status status_of[RANKS];
static struct post_facts post_of[RANKS];

/* ---- the main thread ---- */

BOOT static int32_t count_threads(const struct job *job)
{
    cpu_set_t cores;
    int32_t count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    int32_t most = job->threads > 0 ? job->threads : count / RANKS;
    return most < 1 ? 1 : most > TEAM_THREADS_MOST ? TEAM_THREADS_MOST : most;
}

/* Processor time so far is about what lies between the process's start and main. */
BOOT static int64_t process_begin_ns(void)
{
    struct timespec used;
    int64_t now = clock_ns();
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
        return now;
    return now - used.tv_sec * 1000000000LL - used.tv_nsec;
}

BOOT static enum status read_night(const char *job_path, struct night *night)
{
    int64_t begin = clock_ns();
    struct job *job = &night->job;
    TRY(job_read(job_path, job));
    say("JOB", begin, "%s", job_path);
    TRY(model_check(job));
    begin = clock_ns();
    TRY(load_open(job, &facts));
    output_type = job->output_type_as_loaded ? load_type(&facts) : job->output_type;
    if (job->start_random)
        say("MODEL", begin, "%.1f M parameters, to be drawn from the seed", (double)model_parameters / 1e6);
    else
        say("MODEL", begin, "%s  %.1f M parameters  tensors %" PRId64 "  unused %" PRId64 "%s", job->model, (double)model_parameters / 1e6,
            facts.tensors, facts.unused, facts.head_equal ? " (lm_head.weight is the embedding)" : "");
    TRY(check_data(night));
    TRY(check_steps(night));
    TRY(check_disk(night, output_type));
    threads_a_rank = count_threads(job);
    return check_memory(threads_a_rank);
}

/* What the ranks find out when they load: for `nocturne check`. */
BOOT static enum status check_weights(const struct job *job)
{
    int64_t begin = clock_ns();
    TRY(load_scan(job, output_type));
    say("LOAD", begin, "every weight of %s is a finite number", facts.source);
    say("CHECK", 0, "the job will run");
    return OK;
}

BOOT enum status boot_night(const char *job_path, bool check_only, struct night **out)
{
    struct night *night = calloc(1, sizeof *night + RANKS * sizeof night->rank[0]);
    if (night == NULL)
        return fail(E_AGAIN, "no memory for the night");
    night->boot_begin_ns = process_begin_ns();
    signal(SIGPIPE, SIG_IGN);     /* a closed pipe and a file limit are errors of a write, not ends of the process */
    signal(SIGXFSZ, SIG_IGN);
    printf("nocturne %s  %s  image %08" PRIx32 "\n", VERSION, image_name, (uint32_t)(image_inputs >> 32));
    enum status status = read_night(job_path, night);
    if (status == OK && check_only)
        status = check_weights(&night->job);
    if (status == OK && !check_only && pthread_barrier_init(&meeting, NULL, RANKS) != 0)
        status = fail(E_AGAIN, "no barrier for %d ranks", RANKS);
    if (status == OK && !check_only) {
        *out = night;
        return OK;
    }
    load_close();
    free(night);
    return status;
}

BOOT static void tell_stage(const struct stage *stage, int32_t pp)
{
    printf("stage %-2d    layers", pp);
    for (int32_t c = 0; c < stage->chunks; c++)
        printf("%s %d to %d", c == 0 ? "" : " and", stage->chunk[c].first_layer, stage->chunk[c].first_layer + stage->chunk[c].layers - 1);
    printf("%s%s, %" PRId64 " parameters a rank with padding, %d training steps, arena %.1f MiB\n", stage->embeds ? ", embedding" : "",
           stage->heads ? ", head" : "", stage->parameter_elements, stage->train.steps, (double)stage->arena_bytes / 0x1p20);
}

BOOT enum status boot_info(void)
{
    printf("nocturne %s\n", VERSION);
    printf("image       %s\n", image_name);
    printf("inputs      %016" PRIx64 "\n", image_inputs);
    printf("ranks       %d = tensor %d x pipeline %d x data %d\n", RANKS, TP, PP, DP);
    printf("parameters  %" PRId64 "\n", model_parameters);
    printf("model       %d layers, hidden %d, heads %d, key-value heads %d, head size %d, intermediate %d, vocabulary %d\n", MODEL_LAYERS, MODEL_HIDDEN,
           MODEL_HEADS, MODEL_KV_HEADS, MODEL_HEAD_DIM, MODEL_INTERMEDIATE, MODEL_VOCABULARY);
    printf("step        %d rows of %d tokens: %d replicas x %d micro-batches x %d rows\n", (int)GLOBAL_BATCH_ROWS, SEQUENCE_TOKENS, DP, MICRO_BATCHES,
           MICRO_BATCH_ROWS);
    printf("arena       %" PRId64 " bytes a rank (%.1f MiB)\n", arena_bytes, (double)arena_bytes / 0x1p20);
    for (int32_t pp = 0; pp < PP; pp++)
        tell_stage(&stages[pp], pp);
    return OK;
}

/* ---- the ranks ---- */

/* All ranks come here with how they fared; all leave with the first that is not OK. */
BOOT static enum status agree(int32_t rank, enum status mine)
{
    status_of[rank] = mine;
    pthread_barrier_wait(&meeting);
    enum status worst = OK;
    for (int i = 0; i < RANKS && worst == OK; i++)
        worst = status_of[i];
    pthread_barrier_wait(&meeting);     /* nobody writes the next one before all have read this */
    return worst;
}

BOOT static enum status reserve(struct rank *rank)
{
    TRY(arena_reserve(&rank->arena, rank->stage->arena_bytes));
    return team_open(&rank->queue.team, threads_a_rank);
}

BOOT static float *buffer_of(const struct rank *rank, enum buffer_kind kind)
{
    for (int32_t i = 0; i < rank->stage->buffers; i++)
        if (rank->stage->buffer[i].kind == kind)
            return (float *)(void *)(rank->arena.base + rank->stage->buffer[i].offset_bytes);
    ASSERT(!"the stage has a buffer of that kind");
    return NULL;
}

/* A sum over all ranks whose answer is known: joins are right and in order. */
BOOT static enum status join(struct rank *rank)
{
    float sum = (float)(rank->index + 1);
    comm_all_reduce(rank->comm, &rank->queue, rank->row->group[GROUP_WORLD], &sum, 1, COMM_SUM);
    float right = (float)RANKS * (RANKS + 1) / 2;
    return sum == right ? OK : fail(E_AGAIN, "rank %d: the sum over all ranks is %g, right is %g", rank->index, (double)sum, (double)right);
}

BOOT static void say_post(int64_t begin)
{
    double rate = 0, bytes = 0;
    for (int i = 0; i < RANKS; i++) {
        rate += post_of[i].copy_bytes_per_second;
        bytes += (double)post_of[i].pattern_bytes;
    }
    say("POST", begin, "%d of %d ranks  sgemm known answer ok  memory pattern ok on %.1f MiB  copy %.1f GB/s", RANKS, RANKS, bytes / 0x1p20, rate / 1e9);
}

/* What lies in the arena through the whole program, and what is left for buffers that share their place by turns. */
BOOT static void say_arena(int64_t begin)
{
    const struct stage *stage = &stages[0];
    for (int32_t pp = 1; pp < PP; pp++)
        stage = stages[pp].arena_bytes > stage->arena_bytes ? &stages[pp] : stage;
    double bytes[BUFFER_KINDS] = { 0 };
    for (int32_t i = 0; i < stage->buffers; i++)
        bytes[stage->buffer[i].kind] += (double)stage->buffer[i].bytes / 0x1p20;
    double params = bytes[BUFFER_PARAMETERS], grads = bytes[BUFFER_GRADIENTS], optim = bytes[BUFFER_MOMENT_1] + bytes[BUFFER_MOMENT_2];
    double comm = bytes[BUFFER_SLOTS], all = (double)stage->arena_bytes / 0x1p20;
    say("ARENA", begin, "%.1f of %.1f MiB a rank  params %.1f  grads %.1f  optim %.1f  comm %.1f  acts and work %.1f", all,
        (double)BOARD_DEVICE_MEMORY_BYTES / 0x1p20, params, grads, optim, comm, all - params - grads - optim - comm);
}

BOOT static void say_load(const struct job *job, int64_t begin)
{
    char types[96] = "";
    if (!job->start_random)
        snprintf(types, sizeof types, "  F32 %" PRId64 "  BF16 %" PRId64 "  F16 %" PRId64 "  quantized %" PRId64, facts.by_type[0], facts.by_type[1],
                 facts.by_type[2], facts.quantized);
    say("LOAD", begin, "%.1f M parameters from %s%s", (double)model_parameters / 1e6, facts.source, types);
}

/* What only one rank does when all have loaded: the files of the night. */
BOOT static enum status open_output(const struct night *night)
{
    TRY(load_verdict(&night->job, output_type));
    load_close();
    TRY(checkpoint_open(night, output_type));
    bool earlier = false;
    int64_t begin = clock_ns();
    enum status status = telemetry_open(night);
    if (status == OK)
        status = summary_clear(night, &earlier);
    if (status != OK)
        checkpoint_discard();
    else if (earlier)
        say("OUTPUT", begin, "%s holds the result of an earlier run: its model stays until this run's replaces it at the end", night->job.output);
    return status;
}

BOOT static enum status boot_steps(struct night *night, struct rank *rank)
{
    bool speaker = rank->index == SPEAKER;
    int64_t begin = clock_ns();
    TRY(agree(rank->index, reserve(rank)));
    if (speaker)
        say_arena(begin);

    begin = clock_ns();
    TRY(agree(rank->index, post(rank, &post_of[rank->index])));
    if (speaker)
        say_post(begin);

    begin = clock_ns();
    TRY(agree(rank->index, comm_open(&rank->comm, rank->index, RANKS, groups, groups_count, channels, channels_count, rank->arena)));
    TRY(agree(rank->index, join(rank)));
    if (speaker)
        say("JOIN", begin, "1 of 1 nodes  %d ranks in %d groups and %d channels", RANKS, groups_count, channels_count);

    begin = clock_ns();
    model_rope(buffer_of(rank, BUFFER_ROPE));
    TRY(agree(rank->index, load_rank(&night->job, rank, buffer_of(rank, BUFFER_PARAMETERS), output_type)));
    if (speaker)
        say_load(&night->job, begin);
    TRY(agree(rank->index, speaker ? open_output(night) : OK));
    if (speaker)
        say("SEAL", night->boot_begin_ns, "heap closed");
    return OK;
}

enum status boot_rank(struct night *night, int32_t index)
{
    struct rank *rank = &night->rank[index];
    rank->index = index;
    rank->row = &rank_rows[index];
    rank->stage = &stages[rank->row->pp];
    TRY(boot_steps(night, rank));
    pthread_barrier_wait(&meeting);
    if (index == SPEAKER)
        seal();
    pthread_barrier_wait(&meeting);
    return OK;
}

/* executive.c: see executive.h. Steady; allocates nothing. */
#include "run/executive.h"

#include <sys/resource.h>

#include "config.h"
#include "run/evaluate.h"
#include "run/feed.h"
#include "run/play.h"
#include "run/rate.h"
#include "save/checkpoint.h"
#include "save/summary.h"
#include "save/telemetry.h"

enum { REPORTER = 0 };      /* the rank that speaks for all */

static struct player player_of(const struct night *night, struct rank *rank)
{
    struct player player = {
        .night = night, .rank = rank, .row = rank->row, .stage = rank->stage,
        .offset = (const int64_t (*)[PARAMETER_KINDS])parameter_offset[rank->row->pp],
    };
    for (int32_t i = 0; i < rank->stage->buffers; i++) {
        float *at = buffer_at(&player, i);
        switch (rank->stage->buffer[i].kind) {
        case BUFFER_PARAMETERS: player.parameters = at; break;
        case BUFFER_GRADIENTS:  player.gradients = at; break;
        case BUFFER_MOMENT_1:   player.moment1 = at; break;
        case BUFFER_MOMENT_2:   player.moment2 = at; break;
        case BUFFER_ROPE:       player.rope = at; break;
        default: break;
        }
    }
    ASSERT(player.parameters != NULL && player.gradients != NULL && player.moment1 != NULL && player.moment2 != NULL);
    ASSERT(player.rope != NULL);
    return player;
}

static struct step_result train_step(struct player *player, int64_t step)
{
    int64_t begin = clock_ns(), row[GLOBAL_BATCH_ROWS], rows = 0;
    player->step = step;
    player->pack = &player->night->data;
    player->batch_row = row;
    player->batch_targets = feed_training_rows(player->night, step, row);
    player->learning_rate = rate_at(&player->night->job, step);
    player->loss = 0.0;
    player->hits = 0;
    play(player, &player->stage->train);
    for (int64_t i = 0; i < GLOBAL_BATCH_ROWS; i++)
        rows += row[i] != NONE;
    return (struct step_result){
        .step = step, .loss = player->global_loss / (double)player->batch_targets, .targets = player->batch_targets,
        .tokens = GLOBAL_BATCH_TOKENS, .rows = rows, .norm = player->norm, .clip_factor = player->clip_factor,
        .learning_rate = player->learning_rate, .time_ns = clock_ns() - begin,
    };
}

/* Sums the ranks' clocks and product counts of the training steps. */
struct work_record {
    int64_t time_ns[TIME_KINDS], operations;
};

static void sum_work(struct player *player, const struct work_record *mine, struct summary *summary)
{
    struct work_record all[RANKS];
    comm_gather_records(player->rank->comm, &player->rank->queue, player->row->group[GROUP_WORLD], all, mine, sizeof *mine);
    for (int rank = 0; rank < RANKS; rank++) {
        for (int kind = 0; kind < TIME_KINDS; kind++)
            summary->time_ns[kind] += all[rank].time_ns[kind];
        summary->matmul_operations += all[rank].operations;
    }
}

static void add_work(struct work_record *sum, const struct queue *queue, const struct queue *before)
{
    for (int kind = 0; kind < TIME_KINDS; kind++)
        sum->time_ns[kind] += queue->time_ns[kind] - before->time_ns[kind];
    sum->operations += queue->matmul_operations - before->matmul_operations;
}

/* The worst status of all ranks, on all ranks; also a barrier. */
static enum status agree(struct player *player, enum status mine)
{
    int32_t all[RANKS], own = (int32_t)mine;
    comm_gather_records(player->rank->comm, &player->rank->queue, player->row->group[GROUP_WORLD], all, &own, sizeof own);
    for (int rank = 0; rank < RANKS; rank++)
        if (all[rank] != OK)
            return (enum status)all[rank];
    return OK;
}

/* Everybody writes its pieces, then one rank makes them the result. */
static enum status save(struct player *player)
{
    enum status status = OK;
    for (int32_t i = 0; i < player->stage->buckets; i++) {       /* every rank gathers every bucket, whatever became of its own writing */
        const struct bucket *bucket = &player->stage->bucket[i];
        const float *parameters = play_bucket(player, i);
        if (status == OK)
            status = checkpoint_write(player->rank, bucket, parameters);
    }
    TRY(agree(player, status));
    return agree(player, player->rank->index == REPORTER ? checkpoint_publish() : OK);
}

static struct evaluation_result evaluate_and_tell(struct player *player, int64_t steps_done)
{
    struct evaluation_result result = evaluate(player, steps_done);
    if (player->rank->index == REPORTER)
        telemetry_evaluation(&result);
    return result;
}

enum status executive_run(const struct night *night, struct rank *rank)
{
    struct player player = player_of(night, rank);
    const struct job *job = &night->job;
    bool held_out = night->held_out.header != NULL, reporter = rank->index == REPORTER;
    struct summary summary = { .steps = job->steps };
    struct work_record work = { 0 };

    if (held_out)
        summary.before = summary.after = evaluate_and_tell(&player, 0);
    summary.boot_ns = clock_ns() - night->boot_begin_ns;
    for (int64_t step = 1; step <= job->steps; step++) {
        struct queue before = rank->queue;
        struct step_result result = train_step(&player, step);
        add_work(&work, &rank->queue, &before);
        if (reporter)
            telemetry_step(&result);
        if (player.bad && reporter)
            checkpoint_discard();
        if (player.bad)
            return reporter ? fail(E_DATA, "step %lld: loss %g or gradient norm %g is not finite; nothing was saved. Rows %lld to %lld of the order",
                                   (long long)step, result.loss, result.norm, (long long)((step - 1) * GLOBAL_BATCH_ROWS),
                                   (long long)(step * GLOBAL_BATCH_ROWS - 1))
                            : E_DATA;
        if (step == 1)
            summary.first = result;
        summary.last = result;
        summary.tokens += result.tokens;
        summary.targets += result.targets;
        summary.run_ns += result.time_ns;
        bool due = job->evaluate_every > 0 && step % job->evaluate_every == 0;
        if (held_out && (due || step == job->steps))
            summary.after = evaluate_and_tell(&player, step);
    }
    TRY(save(&player));
    sum_work(&player, &work, &summary);
    if (!reporter)
        return OK;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    summary.peak_bytes = (int64_t)usage.ru_maxrss * 1024;
    enum status status = summary_write(night, &summary);
    telemetry_close();
    return status;
}

/* work.c: makes, writes and proves the tables of a cluster of tp8 pp16, and prints what that took: basic blocks of layoutc and verify that ran, and the
 * most memory of the process in KiB.
 *
 * usage: work REPLICAS MICRO_BATCHES
 * For scale_test.sh, which compiles layoutc and verify with -fsanitize-coverage=trace-pc and this file without. Blocks are counted, not timed: the
 * same on every machine. What libc does meanwhile (memmove, sorting between comparisons, printing) is not in the count. */
#include <sys/resource.h>

#include "test/tables/samples.h"
#include "tools/layoutc/emit.h"

enum { TP_RANKS = 8, STAGES = 16 };

void __sanitizer_cov_trace_pc(void);

static int64_t blocks_run;

void __sanitizer_cov_trace_pc(void)
{
    blocks_run++;
}

/* The shape of Llama 3.1 405B, as in layouts/models, on the board and layout of test/bench/scale. */
static struct input cluster(int64_t replicas, int64_t micro_batches)
{
    struct input in = *sample(0);
    in.board.nodes = STAGES * replicas;
    in.board.devices_per_node = in.board.link_group_devices = TP_RANKS;
    in.board.device_memory_bytes = 78LL << 30;
    in.board.real_bytes = 2;
    in.layout.tp = TP_RANKS;
    in.layout.pp = STAGES;
    in.layout.dp = replicas;
    in.layout.micro_batches = micro_batches;
    in.layout.micro_batch_rows = 1;
    in.layout.sequence_tokens = in.model.positions = 8192;
    in.layout.recompute = AGAIN_FULL;
    in.model.hidden = 16384;
    in.model.layers = 126;
    in.model.heads = 128;
    in.model.kv_heads = 8;
    in.model.head_dim = 128;
    in.model.intermediate = 53248;
    in.model.vocabulary = 128256;
    return in;
}

static struct tables tables_of(const struct draft *d)
{
    return (struct tables){
        .stage = d->stage,
        .rank = d->row,
        .group = d->group,
        .groups = d->groups,
        .channel = d->channel,
        .channels = d->channels,
        .parameter_offset = (const int64_t *const *)d->parameter_offset,
        .saved_offset = d->saved_offset,
        .core_offset = d->core_offset,
        .kept_offset = d->kept_offset,
        .work_offset = d->work_offset,
        .arena_bytes = d->arena_bytes,
        .model_parameters = d->parameters,
    };
}

int main(int argc, char **argv)
{
    struct draft draft;
    struct rusage usage;
    status_program("work");
    if (argc != 3)
        return fail(E_USAGE, "usage: work REPLICAS MICRO_BATCHES");
    struct input input = cluster(atoll(argv[1]), atoll(argv[2]));
    struct facts facts = facts_of(&input);
    TRY(draft_make(&draft, &input));
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere == NULL)
        return fail(E_READ, "/dev/null cannot be written");
    emit_tables(nowhere, &draft);
    fclose(nowhere);
    struct tables tables = tables_of(&draft);
    TRY(verify(&tables, &facts));
    draft_free(&draft);
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return fail(E_SOFTWARE, "getrusage");
    printf("%lld %ld\n", (long long)blocks_run, usage.ru_maxrss);
    return 0;
}

/* main.c: the image's life on one page: boot, seal, run, exit code. */
#include <stdio.h>
#include <string.h>

#include "boot/boot.h"
#include "config.h"
#include "run/executive.h"

static const char usage[] = "usage: nocturne job.cfg          run the job\n"
                            "       nocturne check job.cfg    say whether it will run\n"
                            "       nocturne info             say what this image is\n";

/* One rank's life. Ranks leave boot together: either all are sealed, or none runs. */
static enum status live(int32_t rank, void *argument)
{
    struct night *night = argument;
    TRY(boot_rank(night, rank));
    enum status status = executive_run(night, &night->rank[rank]);
    /* A thread that ends gives memory back, so the heap is opened again; but not before all ranks are done with their work. */
    comm_barrier(night->rank[rank].comm, &night->rank[rank].queue, rank_rows[rank].group[GROUP_WORLD]);
    unseal();
    return status;
}

int main(int argc, char **argv)
{
    struct night *night = NULL;
    if (argc == 2 && strcmp(argv[1], "info") == 0)
        return boot_info();
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return OK;
    }
    bool check = argc == 3 && strcmp(argv[1], "check") == 0;
    if (!check && argc != 2) {
        fputs(usage, stderr);
        return E_USAGE;
    }
    enum status status = boot_night(argv[argc - 1], check, &night);
    if (status == OK && !check)
        status = ranks_run(RANKS, live, night);
    return status;
}

/* ranks.c: one thread a rank of this process (platform.h). Boot starts them, they live through the run. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "platform/host/wait.h"
#include "platform/platform.h"

/* One post for each rank whose body has returned. */
static sem_t finished;

struct life {
    pthread_t thread;
    int32_t rank;
    enum status status;
    enum status (*body)(int32_t rank, void *argument);
    void *argument;
};

static void *live(void *argument)
{
    struct life *life = argument;
    life->status = life->body(life->rank, life->argument);
    sem_post(&finished);
    return NULL;
}

enum status ranks_run(int32_t ranks, enum status (*body)(int32_t rank, void *argument), void *argument)
{
    struct life *life = calloc((size_t)ranks, sizeof *life);
    if (life == NULL)
        return fail(E_AGAIN, "ranks: out of memory");
    wait_add_threads(ranks);
    sem_init(&finished, 0, 0);
    for (int32_t rank = 0; rank < ranks; rank++) {
        life[rank] = (struct life){ .rank = rank, .body = body, .argument = argument };
        int error = pthread_create(&life[rank].thread, NULL, live, &life[rank]);
        if (error != 0)
            exit(fail(E_AGAIN, "ranks: thread of rank %d: %s", rank, strerror(error)));
    }
    /* The C library frees a thread's stack and storage when it is joined: the heap is opened first, when nobody runs any more. */
    for (int32_t rank = 0; rank < ranks; rank++)
        while (sem_wait(&finished) != 0)
            continue;
    unseal();
    enum status status = OK;
    for (int32_t rank = 0; rank < ranks; rank++) {
        pthread_join(life[rank].thread, NULL);
        if (status == OK)
            status = life[rank].status;
    }
    free(life);
    return status;
}

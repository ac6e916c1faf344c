/* child.h: runs what must end a process, in a child: its exit status and what it said on standard error. */
#ifndef TEST_PLATFORM_CHILD_H
#define TEST_PLATFORM_CHILD_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_SAID_BYTES = 4096 };
struct child {
    int status;                      /* exit status; 128 + the signal's number if a signal ended it; 0 if body returned */
    char said[CHILD_SAID_BYTES];
};

static inline struct child child_run(void (*body)(void *argument), void *argument)
{
    struct child child = { .status = -1 };
    int ends[2];
    fflush(stdout);
    if (pipe(ends) != 0)
        return child;
    pid_t id = fork();
    if (id == 0) {
        alarm(60);    /* a hang is a failure too */
        dup2(ends[1], STDERR_FILENO);
        body(argument);
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got = 1; got > 0 && used < sizeof child.said - 1; used += (size_t)got)
        if ((got = read(ends[0], child.said + used, sizeof child.said - 1 - used)) < 0)
            break;
    close(ends[0]);
    int status = 0;
    if (id > 0 && waitpid(id, &status, 0) == id)
        child.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return child;
}

#endif

/* spent.c: runs a command and prints what it took: seconds, and the most memory, in MiB, of any one process that it started or waited for.
 *
 * usage: spent COMMAND [ARGUMENT...]
 * The command's own output goes to standard error. Exit status: the command's; 75 if it cannot be run or was killed. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/platform.h"
#include "platform/status.h"

int main(int argc, char **argv)
{
    int status;
    struct rusage usage;
    status_program("spent");
    if (argc < 2)
        return fail(E_USAGE, "usage: spent COMMAND [ARGUMENT...]");
    int64_t begin = clock_ns();
    pid_t child = fork();
    if (child == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execvp(argv[1], argv + 1);
        _exit(E_AGAIN);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || getrusage(RUSAGE_CHILDREN, &usage) != 0)
        return fail(E_AGAIN, "%s cannot be run", argv[1]);
    printf("%.3f %.1f\n", (double)(clock_ns() - begin) / 1e9, (double)usage.ru_maxrss / 1024);
    return WIFEXITED(status) ? WEXITSTATUS(status) : E_AGAIN;
}

#include "process.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "workload.h"

extern char **environ;

process_use run_process(char *const argv[]) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    double start = seconds_now();
    int failure = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
    if (failure) die("cannot run %s: %s", argv[0], strerror(failure));
    int status;
    struct rusage usage;
    if (wait4(pid, &status, 0, &usage) != pid) die("cannot wait for %s", argv[0]);
    process_use use = {.seconds = seconds_now() - start,
                       .peak_bytes = 1024 * (double)usage.ru_maxrss};
    posix_spawn_file_actions_destroy(&actions);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) die("%s %s failed", argv[0], argv[1]);
    return use;
}

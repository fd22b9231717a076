/* ranks -n N COMMAND...: what mpirun is for MPI, for the plug-in beside it. Runs N copies of a
 * command that find each other through shared memory.
 *
 * Exit code: that of the first rank whose is not 0. When a rank dies by a signal, or ends all
 * others, these get SIGTERM, and SIGKILL 3 seconds later; the exit code is then that rank's.
 * SIGINT, SIGTERM and SIGUSR1 are passed on to all ranks.
 */
#define _GNU_SOURCE /* memfd_create() */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "ranks_shared.h"

static const time_t seconds_to_leave = 3;

typedef struct rank {
    pid_t pid;
    bool runs;
    int code;
} rank;

typedef struct job {
    unsigned size, running;
    int fd;
    ranks_shared *shared;
    rank ranks[RANKS_MOST];
    int code; /* why the others were told to end; 0 as long as they were not */
    struct timespec killed_at;
    bool ends;
} job;

static int complain(const char *what) {
    fprintf(stderr, "ranks: %s: %s\n", what, strerror(errno));
    return 1;
}

/* ---- Start ---- */

static bool share_memory(job *j) {
    j->fd = memfd_create("luthier ranks", 0); /* inherited by the ranks */
    if (j->fd < 0 || ftruncate(j->fd, (off_t)ranks_bytes(j->size)) != 0) return false;
    j->shared = mmap(NULL, ranks_bytes(j->size), PROT_READ | PROT_WRITE, MAP_SHARED, j->fd, 0);
    return j->shared != MAP_FAILED && ranks_prepare(j->shared, j->size);
}

static void set_number(const char *name, unsigned value) {
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    setenv(name, text, 1);
}

/* As other launchers do, and what the plug-in needs. */
static void set_environment(const job *j, unsigned number) {
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 32);
    if (length > 0) {
        path[length] = '\0';
        strcpy(strrchr(path, '/') + 1, "libluthier_ranks.so");
        setenv("LTH_MPI_PLUGIN", path, 1);
    }
    set_number("LTH_RANK", number);
    set_number("LTH_RANKS_SHARED", (unsigned)j->fd);
    set_number("PMI_RANK", number);
    set_number("PMI_SIZE", j->size);
}

/* Only the first rank reads what the launcher is given. */
static void close_input(void) {
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0) return;
    dup2(nothing, STDIN_FILENO);
    if (nothing != STDIN_FILENO) close(nothing);
}

/* A rank has a group of its own, so that signals reach what it starts, and from here alone. */
static void be_rank(const job *j, unsigned number, pid_t launcher, const sigset_t *old,
                    char **command) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) _exit(1);
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, old, NULL);
    set_environment(j, number);
    if (number > 0) close_input();
    execvp(command[0], command);
    complain(command[0]);
    _exit(127);
}

static void signal_all(const job *j, int signal) {
    for (unsigned r = 0; r < j->size; r++) {
        if (j->ranks[r].runs) kill(-j->ranks[r].pid, signal);
    }
}

static bool start_all(job *j, const sigset_t *old, char **command) {
    pid_t launcher = getpid();
    for (unsigned r = 0; r < j->size; r++) {
        pid_t pid = fork();
        if (pid == 0) be_rank(j, r, launcher, old, command);
        if (pid < 0) return false;
        setpgid(pid, pid);
        j->ranks[r] = (rank){.pid = pid, .runs = true};
        j->running++;
    }
    return true;
}

/* ---- End ---- */

static void end_all(job *j, int code) {
    if (j->ends) return;
    j->ends = true;
    j->code = code;
    clock_gettime(CLOCK_MONOTONIC, &j->killed_at);
    j->killed_at.tv_sec += seconds_to_leave;
    signal_all(j, SIGTERM);
}

static void note_end(job *j, unsigned number, int status) {
    rank *r = &j->ranks[number];
    bool died = WIFSIGNALED(status);
    r->runs = false;
    r->code = died ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    j->running--;
    ranks_lock(j->shared);
    bool aborted = j->shared->aborted;
    int abort_code = j->shared->abort_code & 255;
    if (j->shared->gone == 0) j->shared->gone = number + 1;
    ranks_tell(j->shared);
    ranks_unlock(j->shared);
    kill(-r->pid, SIGKILL); /* what it left behind */
    if (aborted) end_all(j, abort_code);
    if (died) end_all(j, r->code);
}

static void collect(job *j) {
    for (unsigned r = 0; r < j->size; r++) {
        int status;
        if (j->ranks[r].runs && waitpid(j->ranks[r].pid, &status, WNOHANG) > 0) {
            note_end(j, r, status);
        }
    }
}

/* How long to sleep until those who were told to end are made to. */
static struct timespec time_left(const job *j) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct timespec left = {j->killed_at.tv_sec - now.tv_sec, j->killed_at.tv_nsec - now.tv_nsec};
    if (left.tv_nsec < 0) {
        left.tv_nsec += 1000000000;
        left.tv_sec--;
    }
    if (left.tv_sec < 0) left = (struct timespec){0};
    return left;
}

static void watch(job *j, const sigset_t *signals) {
    for (collect(j); j->running > 0; collect(j)) {
        struct timespec left = time_left(j);
        int signal = j->ends ? sigtimedwait(signals, NULL, &left) : sigwaitinfo(signals, NULL);
        if (signal == SIGINT || signal == SIGTERM || signal == SIGUSR1) signal_all(j, signal);
        if (signal < 0 && errno == EAGAIN) {
            signal_all(j, SIGKILL);
            j->killed_at.tv_sec += seconds_to_leave;
        }
    }
}

static int exit_code(const job *j) {
    if (j->ends) return j->code;
    for (unsigned r = 0; r < j->size; r++) {
        if (j->ranks[r].code != 0) return j->ranks[r].code;
    }
    return 0;
}

int main(int argc, char **argv) {
    long size = argc >= 4 && strcmp(argv[1], "-n") == 0 ? strtol(argv[2], NULL, 10) : 0;
    if (size < 1 || size > RANKS_MOST) {
        fprintf(stderr, "usage: ranks -n N COMMAND..., N up to %d\n", RANKS_MOST);
        return 2;
    }
    static job j;
    j.size = (unsigned)size;
    sigset_t signals, old;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, &old);
    if (!share_memory(&j)) return complain("shared memory");
    bool started = start_all(&j, &old, argv + 3);
    if (!started) {
        complain("fork");
        end_all(&j, 1);
    }
    watch(&j, &signals);
    return exit_code(&j);
}

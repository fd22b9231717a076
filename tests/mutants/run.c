/* Runs the unit tests, which are all in this program, on mutants of the library, which are in it
 * too: see tools/mutate.
 *
 *   run_mutants SECONDS JOBS RESULTS
 *
 * Each test runs in a process of its own, forked from here, in one of JOBS folders below the
 * current one. First all run on the library as it is, which tells how long each takes and which
 * mutants it reaches. Then each mutant, in an order that is no order, is given to the tests that
 * reach it, the quickest first, until one fails, crashes or takes too long. RESULTS gets a row for
 * each mutant that was done within SECONDS: its number, what became of it, by which test, and how
 * many were asked. LTH_CUDA_PLUGIN names the reference device. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int lth__mutant;                     /* 0 = none, -1 = none, but say what is reached */
unsigned char *lth__mutants_reached; /* by the test that runs                        */

#define TEST(name) int main_of_##name(int argc, char **argv);
#include "tests.h"
#undef TEST

typedef struct test {
    const char *name;
    int (*run)(int argc, char **argv);
    double seconds; /* it took; below 0 where it fails without a mutant */
    unsigned char *reached;
} test;

#define TEST(test) {.name = #test, .run = main_of_##test},
static test tests[] = {
#include "tests.h"
};
enum { TESTS = sizeof tests / sizeof *tests };

typedef struct job {
    pid_t process; /* 0 = none                        */
    int mutant;    /* 0 = the library as it is        */
    size_t test, asked;
    double began;
} job;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double allowed(const job *j) {
    return j->mutant ? 2 + 4 * tests[j->test].seconds : 300;
}

/* ---- The process of a test --------------------------------------------------------------------
 */

static void begin_test(const job *j, size_t folder) {
    char path[32];
    snprintf(path, sizeof path, "job-%zu", folder);
    mkdir(path, 0777);
    struct rlimit memory = {(rlim_t)6 << 30, (rlim_t)6 << 30}, none = {0, 0};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CORE, &none);
    int nothing = open("/dev/null", O_RDWR);
    if (chdir(path) != 0 || nothing < 0) _exit(99);
    for (int fd = 0; fd < 3; fd++) dup2(nothing, fd);
    lth__mutant = j->mutant ? j->mutant : -1;
    lth__mutants_reached = tests[j->test].reached;
    char *quick[] = {
        (char *)tests[j->test].name, "--quick", "--device", "cuda:0,1,2", "--rows", "12", NULL};
    exit(tests[j->test].run(strcmp(quick[0], "conformance") == 0 ? 6 : 1, quick) != 0);
}

static void start(job *j, size_t folder) {
    j->began = now();
    j->process = fork();
    if (j->process == 0) {
        setpgid(0, 0);
        begin_test(j, folder);
    }
    if (j->process < 0) {
        perror("fork");
        exit(1);
    }
    setpgid(j->process, j->process);
}

typedef enum outcome { RUNNING, PASSED, FAILED, CRASHED, TOO_LONG } outcome;
static const char *const words[] = {"running", "survived", "failed", "crashed", "too long"};

static outcome look(job *j) {
    int status;
    pid_t ended = waitpid(j->process, &status, WNOHANG);
    bool late = now() - j->began > allowed(j);
    if (ended == 0 && !late) return RUNNING;
    kill(-j->process, SIGKILL);
    if (ended == 0) waitpid(j->process, &status, 0);
    j->process = 0;
    if (ended == 0) return TOO_LONG;
    if (WIFSIGNALED(status)) return CRASHED;
    return WEXITSTATUS(status) ? FAILED : PASSED;
}

/* ---- One after the other ----------------------------------------------------------------------
 */

typedef struct campaign {
    size_t jobs;
    job *job;
    size_t next; /* test or mutant to begin with */
    int *order;
    double end;
    FILE *results;
} campaign;

/* The first test from here on that reaches the mutant. */
static size_t reaching(int mutant, size_t from) {
    while (from < TESTS && (tests[from].seconds < 0 || !tests[from].reached[mutant])) from++;
    return from;
}

static void tell(const campaign *c, const job *j, const char *what, const char *test) {
    fprintf(c->results, "%d\t%s\t%s\t%zu\n", j->mutant, what, test, j->asked);
    fflush(c->results);
}

/* Gives a job that has nothing to do the next mutant; false where there is none. */
static bool next_mutant(campaign *c, job *j) {
    while (c->next + 1 < MUTANTS) {
        *j = (job){.mutant = c->order[c->next++]};
        j->test = reaching(j->mutant, 0);
        if (j->test < TESTS) return true;
        tell(c, j, "not reached", "");
    }
    return false;
}

/* Goes on with the next test, or the next mutant. */
static bool go_on(campaign *c, job *j, outcome came) {
    if (came == PASSED) {
        j->asked++;
        size_t test = reaching(j->mutant, j->test + 1);
        if (test < TESTS) {
            j->test = test;
            return true;
        }
    }
    tell(c, j, words[came], came == PASSED ? "" : tests[j->test].name);
    return next_mutant(c, j);
}

static bool next_test(campaign *c, job *j) {
    if (c->next == TESTS) return false;
    *j = (job){.test = c->next++};
    return true;
}

static void note_test(const job *j, outcome came) {
    tests[j->test].seconds = came == PASSED ? now() - j->began : -1;
    if (came != PASSED)
        printf("left out, for it fails without a mutant: %s (%s)\n", tests[j->test].name,
               words[came]);
}

static void run_all(campaign *c, bool mutants) {
    c->next = 0;
    size_t busy = 0;
    for (size_t i = 0; i < c->jobs; i++)
        if (mutants ? next_mutant(c, &c->job[i]) : next_test(c, &c->job[i]))
            start(&c->job[i], i), busy++;
    while (busy > 0 && now() < c->end) {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        for (size_t i = 0; i < c->jobs; i++) {
            job *j = &c->job[i];
            outcome came = j->process ? look(j) : RUNNING;
            if (came == RUNNING) continue;
            if (!mutants) note_test(j, came);
            if (mutants ? go_on(c, j, came) : next_test(c, j))
                start(j, i);
            else
                busy--;
        }
    }
    for (size_t i = 0; i < c->jobs; i++)
        if (c->job[i].process) kill(-c->job[i].process, SIGKILL);
}

static int by_seconds(const void *a, const void *b) {
    const test *s = a, *t = b;
    return (s->seconds > t->seconds) - (s->seconds < t->seconds);
}

/* So that a campaign that was too short is a sample of all files. */
static int *shuffled(void) {
    int *order = malloc(MUTANTS * sizeof *order);
    unsigned long long state = 1;
    for (int i = 0; i + 1 < MUTANTS; i++) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        int other = (int)((state >> 33) % (unsigned long long)(i + 1));
        order[i] = order[other];
        order[other] = i + 1;
    }
    return order;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: run_mutants SECONDS JOBS RESULTS\n");
        return 2;
    }
    campaign c = {.jobs = strtoul(argv[2], NULL, 10),
                  .end = now() + strtod(argv[1], NULL),
                  .results = fopen(argv[3], "w")};
    c.job = calloc(c.jobs, sizeof *c.job);
    c.order = shuffled();
    unsigned char *reached = mmap(NULL, (size_t)TESTS * MUTANTS, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!c.results || !c.job || !c.order || reached == MAP_FAILED) {
        perror(argv[3]);
        return 1;
    }
    for (size_t i = 0; i < TESTS; i++) tests[i].reached = reached + i * MUTANTS;
    double began = now();
    run_all(&c, false);
    qsort(tests, TESTS, sizeof *tests, by_seconds);
    printf("%d tests took %.0f s\n", TESTS, now() - began);
    fflush(stdout);
    run_all(&c, true);
    printf("done after %.0f s\n", now() - began);
    return fclose(c.results) != 0;
}

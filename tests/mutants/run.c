/* Runs the unit tests, which are all in this program, on mutants of the library, which are in it
 * too: see tools/mutate.
 *
 *   run_mutants SECONDS JOBS RESULTS
 *
 * Each test, which is a function of one of the programs that were unit tests, runs in a process of
 * its own, forked from here, in one of JOBS folders below the current one, which is emptied before.
 * First all run on the library as it is, which tells how much of a processor each takes and which
 * mutants it reaches. Then each mutant, in an order that is no order, is given to the tests that
 * reach it, those first that are quick and reach little else, until one fails, crashes or takes too
 * long. RESULTS gets a row for each mutant that was done within SECONDS: its number, what became of
 * it, by which test, and how many were asked. In the end those tests to which mutants fell are
 * asked again about the library as it is: whether they only fail sometimes.
 * LTH_CUDA_PLUGIN names the reference device. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h> /* before cmocka.h, with the next two */
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

int lth__mutant;                     /* 0 = none, -1 = none, but say what is reached */
unsigned char *lth__mutants_reached; /* by the test that runs                        */

#define TESTS(name, ...) int main_of_##name(int argc, char **argv);
#define WHOLE TESTS
#define RANKS TESTS
#include "tests.h"
#undef TESTS
#undef WHOLE
#undef RANKS

typedef enum kind {
    TESTS, /* of cmocka                            */
    WHOLE, /* the program is a test                */
    RANKS  /* the same, which four ranks run       */
} kind;

enum { MOST_WORDS = 8 };

typedef struct program {
    int (*run)(int argc, char **argv);
    kind kind;
    const char *words[MOST_WORDS]; /* its name and arguments */
} program;

#define TESTS(...) PROGRAM(TESTS, __VA_ARGS__)
#define WHOLE(...) PROGRAM(WHOLE, __VA_ARGS__)
#define RANKS(...) PROGRAM(RANKS, __VA_ARGS__)
#define PROGRAM(kind, name, ...) {main_of_##name, kind, {#name, __VA_ARGS__}},
static const program programs[] = {
#include "tests.h"
};
enum { PROGRAMS = sizeof programs / sizeof *programs, TESTS_MOST = 4000 };

typedef struct test {
    const program *of;
    size_t nth;       /* of its program                                 */
    const char *name; /* NULL = the program is the test                 */
    double seconds;   /* of a processor; below 0 where it fails without a mutant */
    size_t reaches, kills;
    unsigned char *reached;
} test;

static test *tests; /* shared with the processes, of which the first ones write it */
static size_t *tests_count;

typedef enum phase { LIST, MEASURE, MUTATE, REPEAT } phase;

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

/* ---- The process of a test ------------------------------------------------------------------ */

static phase now_doing;
static const test *asked_for; /* NULL = say which there are */

int __real__cmocka_run_group_tests(const char *group, const struct CMUnitTest *all, size_t count,
                                   CMFixtureFunction set_up, CMFixtureFunction tear_down);
int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *all, size_t count,
                                   CMFixtureFunction set_up, CMFixtureFunction tear_down);

int main_of_ranks(int argc, char **argv);
int lth__run_rank(const char *file, char *const *argv);

/* What the launcher of ranks calls in the place of execvp(). */
int lth__run_rank(const char *file, char *const *argv) {
    (void)file;
    exit(asked_for->of->run(1, (char **)argv));
}

/* What the program of a test calls: lists its tests, or runs one. */
int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *all, size_t count,
                                   CMFixtureFunction set_up, CMFixtureFunction tear_down) {
    if (now_doing != LIST)
        return __real__cmocka_run_group_tests(group, all + asked_for->nth, 1, set_up, tear_down);
    for (size_t i = 0; i < count && *tests_count < TESTS_MOST; i++)
        tests[(*tests_count)++] = (test){.of = asked_for->of, .nth = i, .name = all[i].name};
    _exit(0);
}

static int remove_entry(const char *path, const struct stat *found, int kind, struct FTW *at) {
    (void)found, (void)kind;
    return at->level > 0 ? remove(path) : 0;
}

/* Seconds of a processor: how busy the machine is makes no difference. */
static double allowed(const test *t) {
    return now_doing <= MEASURE ? 300 : 2 + 5 * t->seconds;
}

static void limit(int what, rlim_t least, rlim_t most) {
    setrlimit(what, &(struct rlimit){least, most});
}

static void begin_test(const test *t, int mutant, size_t folder) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char path[32];
    snprintf(path, sizeof path, "job-%zu", folder);
    mkdir(path, 0777);
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    limit(RLIMIT_AS, (rlim_t)4 << 30, (rlim_t)4 << 30);
    limit(RLIMIT_FSIZE, (rlim_t)1 << 30, (rlim_t)1 << 30);
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_CPU, (rlim_t)allowed(t) + 1, (rlim_t)allowed(t) + 2);
    int nothing = open("/dev/null", O_RDWR);
    if (chdir(path) != 0 || nothing < 0) _exit(99);
    char home[4096];
    setenv("TMPDIR", getcwd(home, sizeof home) ? home : ".", 1);
    for (int fd = 0; fd < 3; fd++) dup2(nothing, fd);
    lth__mutant = now_doing == MEASURE ? -1 : mutant;
    lth__mutants_reached = t->reached;
    asked_for = t;
    char *words[MOST_WORDS + 1] = {0}, *ranks[] = {"ranks", "-n", "4", words[0], NULL};
    int count = 0;
    while (count < MOST_WORDS && t->of->words[count])
        words[count] = (char *)t->of->words[count], count++;
    ranks[3] = words[0];
    if (t->of->kind == RANKS) exit(main_of_ranks(4, ranks));
    exit(t->of->run(count, words) != 0);
}

static void start(job *j, size_t folder) {
    j->began = now();
    j->process = fork();
    if (j->process == 0) {
        setpgid(0, 0);
        begin_test(&tests[j->test], j->mutant, folder);
    }
    if (j->process < 0) {
        perror("fork");
        exit(1);
    }
    setpgid(j->process, j->process);
}

typedef enum outcome { RUNNING, PASSED, FAILED, CRASHED, TOO_LONG } outcome;
static const char *const words[] = {"running", "survived", "failed", "crashed", "too long"};

/* What became of a job's test; `seconds` of a processor. One that sleeps for ever is ended too. */
static outcome look(job *j, double *seconds) {
    int status;
    struct rusage used;
    pid_t ended = wait4(j->process, &status, WNOHANG, &used);
    bool late = now() - j->began > 30 + 15 * allowed(&tests[j->test]);
    if (ended == 0 && !late) return RUNNING;
    kill(-j->process, SIGKILL);
    if (ended == 0) wait4(j->process, &status, 0, &used);
    *seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    j->process = 0;
    if (ended == 0 || *seconds > allowed(&tests[j->test])) return TOO_LONG;
    if (WIFSIGNALED(status)) return CRASHED;
    return WEXITSTATUS(status) ? FAILED : PASSED;
}

/* ---- One after the other -------------------------------------------------------------------- */

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
    while (from < *tests_count && (tests[from].seconds < 0 || !tests[from].reached[mutant])) from++;
    return from;
}

static void tell(const campaign *c, const job *j, const char *what, const test *by) {
    fprintf(c->results, "%d\t%s\t%s%s%s\t%zu\n", j->mutant, what, by ? by->of->words[0] : "",
            by && by->name ? ": " : "", by && by->name ? by->name : "", j->asked);
    fflush(c->results);
}

/* Gives a job that has nothing to do the next mutant; false where there is none. */
static bool next_mutant(campaign *c, job *j) {
    while (c->next + 1 < MUTANTS) {
        *j = (job){.mutant = c->order[c->next++]};
        j->test = reaching(j->mutant, 0);
        if (j->test < *tests_count) return true;
        tell(c, j, "not reached", NULL);
    }
    return false;
}

/* Goes on with the next test, or the next mutant. */
static bool go_on(campaign *c, job *j, outcome came) {
    if (came == PASSED) {
        j->asked++;
        size_t next = reaching(j->mutant, j->test + 1);
        if (next < *tests_count) {
            j->test = next;
            return true;
        }
        tell(c, j, words[came], NULL);
    } else {
        tests[j->test].kills++;
        tell(c, j, words[came], &tests[j->test]);
    }
    return next_mutant(c, j);
}

static bool next_test(campaign *c, job *j) {
    while (now_doing == REPEAT && c->next < *tests_count && tests[c->next].kills == 0) c->next++;
    if (c->next == *tests_count) return false;
    *j = (job){.test = c->next++};
    return true;
}

static void note_test(const job *j, outcome came, double seconds) {
    test *t = &tests[j->test];
    if (now_doing == MEASURE) t->seconds = came == PASSED ? seconds : -1;
    for (size_t i = 0; i < MUTANTS; i++) t->reaches += now_doing == MEASURE && t->reached[i];
    if (came != PASSED)
        printf("%s: %s %s, %s without a mutant\n",
               now_doing == MEASURE ? "left out" : "not to be trusted", t->of->words[0],
               t->name ? t->name : "", words[came]);
}

static void run_all(campaign *c, phase doing) {
    now_doing = doing;
    c->next = 0;
    size_t busy = 0;
    for (size_t i = 0; i < c->jobs; i++)
        if (doing == MUTATE ? next_mutant(c, &c->job[i]) : next_test(c, &c->job[i]))
            start(&c->job[i], i), busy++;
    while (busy > 0 && (doing != MUTATE || now() < c->end)) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        for (size_t i = 0; i < c->jobs; i++) {
            job *j = &c->job[i];
            double seconds = 0;
            outcome came = j->process ? look(j, &seconds) : RUNNING;
            if (came == RUNNING) continue;
            if (doing != MUTATE) note_test(j, came, seconds);
            if (doing == MUTATE ? go_on(c, j, came) : next_test(c, j))
                start(j, i);
            else
                busy--;
        }
    }
    for (size_t i = 0; i < c->jobs; i++)
        if (c->job[i].process) {
            kill(-c->job[i].process, SIGKILL);
            waitpid(c->job[i].process, NULL, 0);
        }
}

/* Asks each program which tests it has. */
static void list_tests(void) {
    now_doing = LIST;
    for (size_t i = 0; i < PROGRAMS; i++) {
        size_t before = *tests_count;
        test whole = {.of = &programs[i]};
        pid_t process = whole.of->kind == TESTS ? fork() : -1;
        if (process == 0) begin_test(&whole, 0, 0);
        if (process > 0) waitpid(process, NULL, 0);
        if (*tests_count == before) tests[(*tests_count)++] = whole;
    }
}

static double dear(const test *t) {
    return (t->seconds + .02) * (double)(t->reaches + 1);
}

static int by_cost(const void *a, const void *b) {
    double s = dear(a), t = dear(b);
    return (s > t) - (s < t);
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
    char *shared = mmap(NULL, sizeof *tests_count + TESTS_MOST * (sizeof *tests + MUTANTS),
                        PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!c.results || !c.job || !c.order || shared == MAP_FAILED) {
        perror(argv[3]);
        return 1;
    }
    tests_count = (size_t *)shared;
    tests = (test *)(tests_count + 1);
    double began = now();
    list_tests();
    for (size_t i = 0; i < *tests_count; i++)
        tests[i].reached = (unsigned char *)(tests + TESTS_MOST) + i * MUTANTS;
    run_all(&c, MEASURE);
    qsort(tests, *tests_count, sizeof *tests, by_cost);
    double work = 0;
    for (size_t i = 0; i < *tests_count; i++) work += tests[i].seconds > 0 ? tests[i].seconds : 0;
    printf("%zu tests of %d programs took %.0f s, %.0f s of a processor\n", *tests_count, PROGRAMS,
           now() - began, work);
    fflush(stdout);
    run_all(&c, MUTATE);
    double measured = now() - began;
    run_all(&c, REPEAT);
    printf("done after %.0f s, of which %.0f s to try the tests again\n", now() - began,
           now() - began - measured);
    return fclose(c.results) != 0;
}

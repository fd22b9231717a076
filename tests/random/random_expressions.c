/* Random kernel expressions over ugly tables: see random_case.h.
 *
 *     random_expressions [SECONDS [SEED]]          for so long (60), from a seed on (1)
 *     random_expressions --cases N [SEED]          so many
 *     random_expressions --again SEED EXPRESSION TRAIN.csv OTHERS.csv     one that was found
 *
 * An even seed makes a mild case: parameters near their defaults and numbers of ordinary size,
 * which are compared with differences, single precision and other instruction sets. What fails is
 * shrunk, and kept under RANDOM_KEEP (default: the folder that it is started in). With
 * LTH_CUDA_PLUGIN the device is compared, too.
 *
 * Cases run in a process of their own, so that one that crashes or never ends is found as well.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "random_case.h"

enum { CASE_SECONDS = 20, MOST_FOUND = 12 };

/* What a worker tells, also when it dies. */
typedef struct shared {
    uint64_t seed; /* of the case at hand */
    bool made;     /* it was made */
    finding found;
    counts n;
    coverage covered;
} shared;

typedef struct session {
    shared *told;
    char folder[64];
    const char *keep, *program;
    time_t end;    /* 0 = `last` counts */
    uint64_t last; /* seed */
    unsigned failures;
} session;

/* ---- Workers ---- */

static void set_timer(int seconds) {
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = seconds},
              NULL);               /* of its cores */
    alarm((unsigned)seconds * 15); /* where it sleeps for ever */
}

static bool run_case(const session *s, machines *m, const random_case *c) {
    set_timer(CASE_SECONDS);
    bool holds = check_case(m, c, &s->told->found, &s->told->n);
    set_timer(0);
    return holds;
}

/* Seeds from `first` on, until one fails: exit status 1. */
static void work(const session *s, uint64_t first) {
    machines *m = machines_open(s->folder);
    if (!m) _exit(2);
    for (uint64_t seed = first; s->end ? time(NULL) < s->end : seed <= s->last; seed++) {
        random_case c;
        s->told->seed = seed;
        s->told->made = false;
        set_timer(CASE_SECONDS);
        if (random_case_make(&c, seed)) {
            s->told->made = true;
            coverage_count(&s->told->covered, c.expression);
            if (!run_case(s, m, &c)) _exit(1);
        }
        random_release();
    }
    _exit(0);
}

/* How a process ended, as a finding where it died by itself; true: nothing is wrong. */
static bool ended_well(pid_t child, finding *out) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1) return false;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM))
        return found(out, "time", "took more than %d s", CASE_SECONDS);
    if (WIFSIGNALED(status)) return found(out, "crash", "%s", strsignal(WTERMSIG(status)));
    return found(out, "crash", "exit status %d", WEXITSTATUS(status));
}

static bool runs_well(const session *s, const random_case *c) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        machines *m = machines_open(s->folder);
        _exit(!m ? 2 : !run_case(s, m, c));
    }
    return ended_well(child, &s->told->found);
}

/* fails_fn */
static bool still_fails(void *user, const random_case *c, const finding *want) {
    const session *s = user;
    return !runs_well(s, c) && strcmp(s->told->found.check, want->check) == 0;
}

/* ---- Telling ---- */

static void tell_case(const session *s, const random_case *c, const finding *f) {
    char *train = random_print("%s/random-%llu-train.csv", s->keep, (unsigned long long)c->seed);
    char *others = random_print("%s/random-%llu-others.csv", s->keep, (unsigned long long)c->seed);
    grid_write(&c->train, train);
    grid_write(&c->others, others);
    printf("    %s\n    %zu and %zu rows\n    %s --again %llu '%s' %s %s\n", f->text, c->train.rows,
           c->others.rows, s->program, (unsigned long long)c->seed, c->expression, train, others);
}

static void tell(session *s, uint64_t seed, bool made) {
    finding first = s->told->found;
    random_case c;
    s->failures++;
    printf("FAILED %s: seed %llu: %s\n", first.check, (unsigned long long)seed, first.text);
    if (!made || !random_case_make(&c, seed)) return;
    printf("    %s\n", c.expression);
    counts n = s->told->n;
    shrink(&c, &first, still_fails, s);
    still_fails(s, &c, &first);
    tell_case(s, &c, &s->told->found);
    s->told->n = n;
    fflush(stdout);
    random_release();
}

static int summary(const session *s) {
    const counts *n = &s->told->n;
    coverage_print(&s->told->covered);
    printf("%lu cases (%lu refused), %lu checks, %lu models, %u failures\n", n->cases, n->refused,
           n->checks, n->models, s->failures);
    return s->failures > 0 || n->cases == 0;
}

/* ---- Main ---- */

static int campaign(session *s, uint64_t first) {
    for (bool done = false; !done && s->failures < MOST_FOUND;) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) work(s, first);
        done = ended_well(child, &s->told->found);
        if (done) break;
        tell(s, s->told->seed, s->told->made);
        first = s->told->seed + 1;
    }
    return summary(s);
}

static int again(session *s, char **argument) {
    random_case c = {.seed = strtoull(argument[0], NULL, 10), .expression = argument[1]};
    if (!grid_read(&c.train, argument[2]) || !grid_read(&c.others, argument[3])) return 2;
    bool holds = runs_well(s, &c);
    if (holds)
        printf("nothing fails (%lu checks, %lu models%s)\n", s->told->n.checks, s->told->n.models,
               s->told->n.refused ? "; refused" : "");
    else
        printf("FAILED %s: %s\n", s->told->found.check, s->told->found.text);
    return !holds;
}

static int run(session *s, int argc, char **argv) {
    if (argc == 6 && strcmp(argv[1], "--again") == 0) return again(s, argv + 2);
    bool counted = argc > 2 && strcmp(argv[1], "--cases") == 0;
    argc -= counted, argv += counted;
    long much = argc > 1 ? atol(argv[1]) : 60;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (argc > 3 || much <= 0) {
        fprintf(stderr, "usage: random_expressions [SECONDS | --cases N] [SEED]\n"
                        "       random_expressions --again SEED EXPRESSION TRAIN OTHERS\n");
        return 2;
    }
    if (counted)
        s->last = seed + (uint64_t)much - 1;
    else
        s->end = time(NULL) + much;
    return campaign(s, seed);
}

static void remove_folder(const session *s) {
    static const char *const files[] = {"train.csv",  "others.csv", "model",     "vectors.txt",
                                        "noun.exc",   "index.noun", "data.noun", "verb.exc",
                                        "index.verb", "data.verb"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        remove(random_print("%s/%s", s->folder, files[i]));
    char *command = random_print("rm -rf %s/luthier", s->folder); /* the cache of WordNet */
    if (system(command) != 0 || rmdir(s->folder) != 0) fprintf(stderr, "%s is left\n", s->folder);
}

int main(int argc, char **argv) {
    session s = {
        .program = argv[0], .keep = getenv("RANDOM_KEEP"), .folder = "/tmp/luthier-random-XXXXXX"};
    if (!s.keep) s.keep = ".";
    s.told = mmap(NULL, sizeof *s.told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s.told == MAP_FAILED || !mkdtemp(s.folder) || !words_write(s.folder)) {
        perror("random_expressions");
        return 2;
    }
    int status = run(&s, argc, argv);
    remove_folder(&s);
    return status;
}

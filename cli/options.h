/* The command line: one table of commands and one of options, from which the parsing, --help, the
 * man page and the completion of the shell come. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "luthier.h"

/* Exit codes; 128 + signal when interrupted, and EXIT_AGAIN when that was SIGTERM or SIGUSR1 and
 * the same command goes on where it was. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INPUT = 3, EXIT_AGAIN = 75 };

typedef struct command command;

/* The values of an option that may be repeated. */
typedef struct list {
    const char **at;
    size_t count;
} list;

/* What was asked for. A choice is its index in the list of choices, -1 when it was not given. */
typedef struct options {
    const command *command;
    const char **arguments; /* argument_count of them, then NULL */
    size_t argument_count;

    const char *kernel, *output, *against, *gradients, *model, *noise, *fold_by, *predictions;
    const char *with;
    const char *part, *gram; /* of a Gram matrix on disk: which part to compute; one to read */
    uint64_t tile;
    int values;
    bool resume;
    list data;              /* of a report */
    list array;             /* beside the tables */
    const char *title;      /* of a report or a server */
    int label_by;           /* 0 = by file */
    const char *class_name; /* of an explanation */
    const char *host, *log; /* of a server */
    list allow_host;        /* likewise: names that it answers to */
    uint64_t port, max_body, timeout, max_row;
    list row;
    uint64_t patterns, rows; /* NOT_GIVEN = the default */
    int as, colour;
    const char *C, *epsilon, *nu, *class_weights; /* of a support vector machine */
    list set;
    bool probability;
    uint64_t inner_folds, features;
    int task, svm, multi, solver;
    bool per_order, no_learn, latent, score, unscaled, center;
    list target, fix, prior, given;
    uint64_t max_iter, restarts, folds; /* NOT_GIVEN = the default */
    uint64_t draws, resamples;
    uint64_t coregion; /* NOT_GIVEN = none */
    uint64_t average;  /* NOT_GIVEN = no draws */
    bool intervals;
    int likelihood, warp, point, calibrate;
    const char *mean, *noise_kernel;
    const char *wild_type, *offset; /* of kernels, mutate and report */
    bool fold_case;
    const char *letters;                /* of mutate and scan */
    const char *column, *value, *track; /* of scan */
    uint64_t window, step;              /* NOT_GIVEN = the default */
    bool bedgraph;
    const char *from, *space, *objective_weights, *beta, *best, *pending,
        *measured; /* of proposals */
    const char *feasible, *feasible_class, *feasible_least, *feasible_most, *cost, *valid;
    list objective;
    int acquisition, batch;
    bool maximize, minimize, explain;
    uint64_t count, distance, shortlist, evaluations, population,
        trust; /* NOT_GIVEN = the default */
    uint64_t rounds, start, seeds;
    bool repeats;                                              /* of results that are told */
    const char *optimum;                                       /* of a campaign            */
    const char *lower, *upper, *noise_by, *weights, *exposure; /* of targets and their rows */
    int posterior, bound, store; /* of a Gaussian process of many rows */
    uint64_t inducing, probes;   /* NOT_GIVEN = the default */
    const char *learn_rows, *tolerance, *journal;
    bool plan;

    uint64_t threads, seed;
    const char *device, *cluster, *vectors, *isa;
    list where;
    int precision, dropping, format, progress, keep_vectors;
    bool json, quiet, verbose, help, version;
} options;

#define NOT_GIVEN UINT64_MAX

#define MANY SIZE_MAX

struct command {
    const char *name;             /* an underscore in front: not shown                       */
    const char *arguments;        /* as in the usage line: "TABLE --kernel EXPR -o K.npy"    */
    const char *summary;          /* one line                                                */
    const char *details;          /* paragraphs, separated by newlines                       */
    const char *examples;         /* shell commands, separated by newlines                   */
    size_t least, most;           /* number of positional arguments; most may be MANY        */
    int (*run)(const options *o); /* returns the exit code                            */
};

typedef enum option_kind {
    OPTION_FLAG,   /* bool                                                            */
    OPTION_TEXT,   /* const char *                                                    */
    OPTION_FILE,   /* const char *, completed with file names                         */
    OPTION_OUTPUT, /* the same of a file that is written                              */
    OPTION_NUMBER, /* uint64_t, at most `most`                                        */
    OPTION_CHOICE, /* int, an index into `value`, "one|two|three"                     */
    OPTION_LIST,   /* list, repeatable                                                */
    OPTION_FILES,  /* list, repeatable, completed with file names                     */
    OPTION_PAIRS   /* list of NAME=VALUE, repeatable                                  */
} option_kind;

typedef struct option {
    char letter; /* 0 = none */
    const char *name;
    option_kind kind;
    const char *value; /* its name in help, or the choices */
    size_t offset;     /* of its field in options */
    unsigned commands; /* bits of the commands that take it; see takes_option() */
    uint64_t most;
    const char *help;
} option;

extern const command commands[];    /* ends with name NULL */
enum { MOST_OPTIONS = 256 };        /* that the table may have */
extern const option option_table[]; /* ends with name NULL */

bool takes_option(const command *c, const option *o); /* whether it matters to this command */
bool is_common(const option *o);                      /* accepted by every command */
bool is_hidden(const command *c);
bool shares_work(const command *c); /* among the ranks of a cluster */

/* EXIT_DONE, or EXIT_USAGE after a message. The result borrows argv; free it with options_free().
 */
int options_parse(int argc, char **argv, options *out);
void options_free(options *o);

/* Print "luthier: what" and where to read more; returns EXIT_USAGE. `c` NULL = no command yet. */
int usage_error(const command *c, const char *format, ...) LTH_PRINTF(2, 3);

void print_help(const command *c); /* NULL = the overview */

/* The commands. */
int run_fit(const options *o);
int run_predict(const options *o);
int run_explain(const options *o);
int run_cv(const options *o);
int run_show(const options *o);
int run_report(const options *o);
int run_serve(const options *o);
int run_sample(const options *o);
int run_gram(const options *o);
int run_align(const options *o);
int run_mutate(const options *o);
int run_scan(const options *o);
int run_propose(const options *o);
int run_design(const options *o);
int run_compare(const options *o);
int run_kernels(const options *o);
int run_bench(const options *o);
int run_demo(const options *o);
int run_help(const options *o);
int run_man(const options *o);
int run_completion(const options *o);

#endif

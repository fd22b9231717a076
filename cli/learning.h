/* What the commands that learn share: the options of a fit, lists of names, the target columns, and
 * the line that shows how far the optimiser is. */
#ifndef CLI_LEARNING_H
#define CLI_LEARNING_H

#include "session.h"

typedef struct learning {
    session session;
    const options *options;
    lth_kernel *kernel;
    lth_table *table;
    list targets;     /* the names of --target, one by one       */
    list fix;         /* the paths of --fix, one by one          */
    lth_gp_step last; /* the step reported last                  */
    lth_gp_options gp_options;
    bool labels;        /* a Gaussian process for labels, once the table was read */
    bool only_constant; /* --mean names no column */
    bool svm;           /* --model svm */
    lth_svm_options svm_options;
    const char *expression; /* of the kernel, with what options say of all of it */
    char *filled;           /* that, unless it is --kernel's                     */
    double *numbers[3];     /* the lists of --C, --epsilon and --nu */
} learning;

/* What can be wrong before anything is read: --kernel, --target, --model, --noise. Then the session
 * is open and its options filled. Close it in any case. */
int learning_open(learning *l, const options *o);
void learning_close(learning *l);

/* The kernel as it is written, and the table with the targets and `also` (NULL = none); and whether
 * the options go with what the targets hold. */
int learning_read(learning *l, const char *also);

/* Print why a fit failed. */
int learning_fail(learning *l, const lth_error *err);

/* A variance as it is given to --noise; `held` NULL = no "!" is allowed. */
int parse_noise(const options *o, double least, double *noise, bool *held);

/* --task; the names of files are labels. */
lth_task asked_task(const options *o);

/* --likelihood and what goes with it. */
int fill_likelihood(const options *o, lth_gp_options *to);

/* For --model svm: the options that do not go with the model, and those that do, in l->svm_options.
 */
int check_model_options(const options *o, bool svm);
int fill_svm_options(learning *l);

/* What a fit would need, printed. */
int print_plan(learning *l);

/* For lth_gp_options.step, with a learning as user. */
int show_step(void *user, const lth_gp_step *step);   /* shows it and stops after Ctrl-C */
int silent_step(void *user, const lth_gp_step *step); /* only stops                     */
void show_start_end(learning *l); /* the end of the start that was reported last */

#endif

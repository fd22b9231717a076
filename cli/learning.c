/* What the commands that learn share: the options of a fit, lists of names, the target columns, and
 * the line that shows how far the optimiser is. */
#include "learning.h"

#include <malloc.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- Options ---- */

int parse_noise(const options *o, double least, double *noise, bool *held) {
    char *end;
    double value = strtod(o->noise, &end);
    bool number = end != o->noise && isfinite(value);
    bool mark = number && held && strcmp(end, "!") == 0;
    if (!number || (*end && !mark) || value < least)
        return usage_error(o->command, "--noise wants a variance%s, not \"%s\"",
                           least > 0 ? " above 0, such as 0.1 or 0.1!" : ", such as 0.1", o->noise);
    *noise = value;
    if (held) *held = mark;
    return EXIT_DONE;
}

static int check_usage(const options *o) {
    const command *c = o->command;
    if (o->target.count == 0 && o->label_by < 0)
        return usage_error(
            c, "%s wants --target COL[,COL...]%s", c->name,
            o->argument_count > 1 ? ", or --label-by file, if the tables are the classes" : "");
    if (!o->kernel) return usage_error(c, "%s wants --kernel EXPR", c->name);
    bool svm = o->model && strcmp(o->model, "svm") == 0;
    if (o->model && !svm && strcmp(o->model, "gp") != 0)
        return usage_error(c, "--model wants gp or svm, not \"%s\"", o->model);
    return check_model_options(o, svm);
}

static int parse_learn_rows(const options *o, size_t *out) {
    char *end;
    if (!o->learn_rows) return EXIT_DONE;
    if (strcmp(o->learn_rows, "all") == 0) {
        *out = SIZE_MAX;
        return EXIT_DONE;
    }
    double rows = strtod(o->learn_rows, &end);
    if (end == o->learn_rows || *end || !(rows >= 1 && rows < 1e15) || rows != floor(rows))
        return usage_error(o->command, "--learn-rows wants a number of rows, or all, not \"%s\"",
                           o->learn_rows);
    *out = (size_t)rows;
    return EXIT_DONE;
}

static int parse_tolerance(const options *o, double *out) {
    char *end;
    if (!o->tolerance) return EXIT_DONE;
    *out = strtod(o->tolerance, &end);
    if (end != o->tolerance && !*end && *out > 0 && *out < 1) return EXIT_DONE;
    return usage_error(o->command, "--tolerance wants a number between 0 and 1, not \"%s\"",
                       o->tolerance);
}

enum { STORE_DISK = 2 }; /* beside lth_precision, as --store counts */

/* Those of a posterior of many rows. */
static int fill_posterior(const options *o, lth_gp_options *to) {
    if (o->posterior >= 0) to->posterior = (lth_posterior)o->posterior;
    bool inducing = o->inducing != NOT_GIVEN, probes = o->probes != NOT_GIVEN;
    if (inducing && o->posterior < 0) to->posterior = LTH_POSTERIOR_INDUCING;
    if (o->bound >= 0) to->bound = (lth_bound)o->bound;
    to->on_disk = o->store == STORE_DISK;
    if (o->store >= 0 && !to->on_disk) to->store = (lth_precision)o->store;
    if (inducing) to->inducing = (size_t)o->inducing;
    if (probes) to->probes = (size_t)o->probes;
    if (o->inducing == 0 || o->probes == 0)
        return usage_error(o->command, "--%s wants at least one", inducing ? "inducing" : "probes");
    const char *wrong = inducing && to->posterior != LTH_POSTERIOR_INDUCING       ? "inducing"
                        : o->bound > 0 && to->posterior != LTH_POSTERIOR_INDUCING ? "bound"
                                                                                  : NULL;
    if (wrong) return usage_error(o->command, "--%s goes with --posterior inducing", wrong);
    wrong = o->tolerance ? "tolerance" : probes ? "probes" : o->store >= 0 ? "store" : NULL;
    if (wrong && to->posterior != LTH_POSTERIOR_CG)
        return usage_error(o->command, "--%s goes with --posterior cg", wrong);
    if (to->on_disk && !o->gram)
        return usage_error(o->command, "--store disk goes with --gram K.zarr");
    int code = parse_learn_rows(o, &to->learn_rows);
    return code ? code : parse_tolerance(o, &to->tolerance);
}

/* A number, NaN where none is given. */
static int parse_bound(const options *o, const char *name, const char *text, double *out) {
    char *end;
    *out = NAN;
    if (!text) return EXIT_DONE;
    *out = strtod(text, &end);
    if (end != text && !*end && isfinite(*out)) return EXIT_DONE;
    return usage_error(o->command, "--%s wants a number, not \"%s\"", name, text);
}

int fill_likelihood(const options *o, lth_gp_options *to) {
    if (o->likelihood >= 0) to->likelihood = (lth_likelihood)o->likelihood;
    if (o->point >= 0) to->point = (lth_point)o->point;
    if (o->calibrate >= 0) to->calibrate = o->calibrate > 0;
    if (o->warp >= 0) to->warp = lth_warp_name((size_t)o->warp, NULL);
    to->noise_by = o->noise_by;
    to->weights = o->weights;
    to->exposure = o->exposure;
    if (o->coregion != NOT_GIVEN) to->coregion = (size_t)o->coregion;
    if (o->coregion == 0) return usage_error(o->command, "--coregion wants at least 1");
    if (o->warp >= 0 && o->likelihood != LTH_WARPED)
        return usage_error(o->command, "--warp goes with --likelihood warped");
    if ((o->lower || o->upper) && o->likelihood != LTH_CENSORED)
        return usage_error(o->command, "--%s goes with --likelihood censored",
                           o->lower ? "lower" : "upper");
    if (!o->lower && !o->upper && o->likelihood == LTH_CENSORED)
        return usage_error(o->command, "--likelihood censored wants --lower V or --upper V");
    int code = parse_bound(o, "lower", o->lower, &to->lower);
    return code ? code : parse_bound(o, "upper", o->upper, &to->upper);
}

/* How sure the parameters are. */
static int fill_uncertainty(const options *o, lth_gp_options *to) {
    bool average = o->average != NOT_GIVEN;
    to->intervals = o->intervals;
    if (average) to->average = (size_t)o->average;
    if (average && o->average < 2)
        return usage_error(o->command, "--average wants at least 2 draws");
    const char *wanted = average ? "average" : o->intervals ? "intervals" : NULL;
    if (wanted && (o->no_learn || o->max_iter == 0))
        return usage_error(o->command, "--%s goes with learning, not with --%s", wanted,
                           o->no_learn ? "no-learn" : "max-iter 0");
    return EXIT_DONE;
}

lth_task asked_task(const options *o) {
    if (o->task >= 0) return (lth_task)o->task;
    return o->target.count == 0 ? LTH_TASK_CLASSIFICATION : LTH_TASK_AUTO;
}

static int fill_options(learning *l) {
    const options *o = l->options;
    lth_gp_options *to = &l->gp_options;
    lth_gp_options_init(to);
    if (o->max_iter != NOT_GIVEN) to->max_iter = (size_t)o->max_iter;
    if (o->restarts != NOT_GIVEN) to->restarts = (size_t)o->restarts;
    to->learn = !o->no_learn;
    to->mean = o->mean;
    to->noise_kernel = o->noise_kernel;
    to->unscaled = o->unscaled;
    to->fix = l->fix.at;
    to->fix_count = l->fix.count;
    to->prior = o->prior.at;
    to->prior_count = o->prior.count;
    to->user = l;
    to->journal = o->journal;
    to->gram = o->gram;
    to->task = asked_task(o);
    int code = fill_likelihood(o, to);
    if (!code) code = fill_posterior(o, to);
    if (!code) code = fill_uncertainty(o, to);
    if (!code && o->noise) code = parse_noise(o, 5e-324, &to->noise, &to->noise_held);
    return code;
}

/* What an evaluation gives back, the next one asks for again. If it went back to the system each
 * time, a tenth of a fit to 1,000 rows would be its pages coming in anew. What is larger than this
 * goes back. */
static void keep_memory(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

int learning_open(learning *l, const options *o) {
    *l = (learning){.session.options = o, .options = o};
    keep_memory();
    int code = check_usage(o);
    const char *file = FILE_COLUMN;
    const list by_file = {&file, 1}, *targets = o->target.count > 0 ? &o->target : &by_file;
    if (!code) code = split_names(o, "target", targets, &l->targets);
    if (!code) code = split_names(o, "fix", &o->fix, &l->fix);
    if (!code) code = fill_options(l);
    if (!code) code = fill_svm_options(l);
    if (!code) code = session_open(&l->session, o);
    return code;
}

void learning_close(learning *l) {
    lth_table_free(l->table);
    lth_kernel_free(l->kernel);
    free(l->filled);
    free(l->targets.at);
    free(l->fix.at);
    for (size_t i = 0; i < sizeof l->numbers / sizeof *l->numbers; ++i) free(l->numbers[i]);
    session_close(&l->session);
}

/* ---- Input ---- */

static bool is_of_labels(int likelihood) {
    return likelihood == LTH_LOGIT || likelihood == LTH_PROBIT || likelihood == LTH_SOFTMAX;
}

static int check_labels(learning *l) {
    const options *o = l->options;
    lth_error err = {0};
    if (o->likelihood >= 0 && o->task < 0 && !is_of_labels(o->likelihood))
        l->gp_options.task = LTH_TASK_REGRESSION;
    for (size_t i = 0; i < l->targets.count; ++i) {
        bool labels;
        lth_status status =
            lth_gp_has_labels(l->table, l->targets.at[i], l->gp_options.task, &labels, &err);
        if (status != LTH_OK) return learning_fail(l, &err);
        if (i > 0 && l->labels && !labels)
            return usage_error(o->command,
                               "the targets %s and %s are of two kinds, labels and numbers; take "
                               "them one by one",
                               l->targets.at[0], l->targets.at[i]);
        if (i == 0) l->labels = labels;
    }
    /* Found once: the fit need not look at every cell again. */
    l->gp_options.task = l->labels ? LTH_TASK_CLASSIFICATION : LTH_TASK_REGRESSION;
    const char *name = l->targets.at[0];
    const char *wrong = o->noise           ? "noise"
                        : l->only_constant ? "mean"
                        : o->unscaled      ? "unscaled"
                                           : NULL;
    if (l->labels && wrong)
        return usage_error(o->command, "--%s is for numbers, but \"%s\" has labels", wrong, name);
    if (!l->labels && is_of_labels(o->likelihood))
        return usage_error(o->command,
                           "--likelihood %s is for labels, but \"%s\" has numbers; "
                           "--task classification reads them as labels",
                           lth_likelihood_name((lth_likelihood)o->likelihood), name);
    return EXIT_DONE;
}

/* "1/COL" is COL too. */
static const char *noise_column(const char *noise_by) {
    return noise_by && strncmp(noise_by, "1/", 2) == 0 ? noise_by + 2 : noise_by;
}

/* The kernel, and its text as the library gets it. */
static int parse_kernel(learning *l) {
    l->expression = l->options->kernel;
    int code = session_parse_kernel(&l->session, l->expression, &l->kernel);
    if (code || !fills_kernel(l->options)) return code;
    l->expression = l->filled = kernel_text(l->kernel);
    return l->filled ? EXIT_DONE : out_of_memory();
}

/* What is beside the kernel. */
static int parse_more(learning *l) {
    const options *o = l->options;
    size_t params = lth_kernel_params(l->kernel);
    int code = session_parse_more(&l->session, l->expression, o->mean, o->noise_kernel, &l->kernel);
    l->only_constant = !code && o->mean && lth_kernel_params(l->kernel) == params;
    return code;
}

int learning_read(learning *l, const char *also) {
    const options *o = l->options;
    int code = parse_kernel(l);
    if (!code && (o->mean || o->noise_kernel)) code = parse_more(l);
    if (!code) code = session_check_vectors(&l->session, l->kernel);
    if (code) return code;
    if (lth_kernel_needs_vectors(l->kernel))
        l->gp_options.vectors = l->svm_options.vectors = o->vectors;
    if (o->keep_vectors >= 0)
        l->gp_options.keep_vectors = l->svm_options.keep_vectors =
            (lth_keep_vectors)o->keep_vectors;
    const char *const others[] = {also, noise_column(o->noise_by), o->weights, o->exposure};
    enum { OTHERS = sizeof others / sizeof *others };
    const char *columns[l->targets.count + OTHERS];
    memcpy(columns, l->targets.at, l->targets.count * sizeof *columns);
    list more = {columns, l->targets.count};
    for (size_t i = 0; i < OTHERS; ++i)
        if (others[i]) columns[more.count++] = others[i];
    list tables = tables_from(o, 0);
    code = session_read_tables(&l->session, &tables, l->kernel, &more, &l->table);
    if (!code && !l->svm) code = check_labels(l);
    return code;
}

int learning_fail(learning *l, const lth_error *err) {
    bool of_input = err->status == LTH_EFORMAT || err->status == LTH_EIO;
    if (of_input) return session_fail_input(&l->session, err, l->options->arguments[0]);
    return session_fail(&l->session, err);
}

/* ---- Steps ---- */

void show_start_end(learning *l) {
    const lth_gp_step *at = &l->last;
    if (at->evaluations == 0) return;
    session_note(&l->session,
                 "start %zu: evidence %.6g after %zu iterations, gradient %.2g, %.1f s",
                 at->start + 1, at->evidence, at->iteration, at->gradient, at->seconds);
}

/* Told once more, for evaluations after the search. */
static bool is_after_search(const lth_gp_step *last, const lth_gp_step *step) {
    return last->evaluations > 0 && step->evaluations > last->evaluations &&
           step->start == last->start && step->iteration == last->iteration;
}

int show_step(void *user, const lth_gp_step *step) {
    learning *l = user;
    l->session.learning = true;
    if (is_after_search(&l->last, step)) {
        session_status(&l->session, "how sure the hyperparameters are: evaluation %zu",
                       step->evaluations - l->last.evaluations);
        return was_interrupted();
    }
    if (step->start != l->last.start) show_start_end(l);
    l->last = *step;
    const char *format = "start %zu of %zu, iteration %zu, evidence %.6g, gradient %.2g, %.1f s";
    size_t starts = l->gp_options.restarts + 1;
    if (!session_has_terminal())
        session_note(&l->session, format, step->start + 1, starts, step->iteration, step->evidence,
                     step->gradient, step->seconds);
    session_status(&l->session, format, step->start + 1, starts, step->iteration, step->evidence,
                   step->gradient, step->seconds);
    return was_interrupted();
}

int silent_step(void *user, const lth_gp_step *step) {
    (void)user, (void)step;
    return was_interrupted();
}

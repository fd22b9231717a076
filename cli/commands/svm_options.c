/* The options of a support vector machine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learning.h"

/* Options of one kind of model that were given, by their fields. */
static const char *given_for_svm(const options *o) {
    if (o->svm >= 0) return "svm";
    if (o->C) return "C";
    if (o->epsilon) return "epsilon";
    if (o->nu) return "nu";
    if (o->set.count > 0) return "set";
    if (o->inner_folds != NOT_GIVEN) return "inner-folds";
    if (o->multi >= 0) return "multi";
    if (o->solver >= 0) return "solver";
    if (o->class_weights) return "class-weights";
    return o->probability ? "probability" : NULL;
}

static const char *given_for_gp(const options *o) {
    if (o->max_iter != NOT_GIVEN) return "max-iter";
    if (o->restarts != NOT_GIVEN) return "restarts";
    if (o->mean) return "mean";
    if (o->unscaled) return "unscaled";
    if (o->noise) return "noise";
    if (o->fix.count > 0) return "fix";
    if (o->prior.count > 0) return "prior";
    if (o->intervals) return "intervals";
    if (o->average != NOT_GIVEN) return "average";
    if (o->likelihood >= 0) return "likelihood";
    if (o->warp >= 0) return "warp";
    if (o->point >= 0) return "point";
    if (o->calibrate >= 0) return "calibrate";
    if (o->lower) return "lower";
    if (o->upper) return "upper";
    if (o->noise_by) return "noise-by";
    if (o->noise_kernel) return "noise-kernel";
    if (o->weights) return "weights";
    if (o->exposure) return "exposure";
    if (o->coregion != NOT_GIVEN) return "coregion";
    if (o->posterior >= 0) return "posterior";
    if (o->inducing != NOT_GIVEN) return "inducing";
    if (o->learn_rows) return "learn-rows";
    if (o->bound >= 0) return "bound";
    if (o->tolerance) return "tolerance";
    if (o->probes != NOT_GIVEN) return "probes";
    if (o->store >= 0) return "store";
    if (o->plan) return "plan";
    if (o->journal) return "journal";
    return o->no_learn ? "no-learn" : NULL;
}

int check_model_options(const options *o, bool svm) {
    const char *foreign = svm ? given_for_gp(o) : given_for_svm(o);
    if (!svm && o->features != NOT_GIVEN)
        return usage_error(o->command,
                           "--features goes with --model svm; a Gaussian process has --inducing");
    if (foreign)
        return usage_error(o->command, "--%s goes with --model %s", foreign, svm ? "gp" : "svm");
    if (o->features == 0) return usage_error(o->command, "--features wants 1 row at least");
    return EXIT_DONE;
}

/* "0.1,1,10" */
static int parse_list(const options *o, const char *name, const char *text, double **out,
                      size_t *count) {
    double *values = malloc((strlen(text) + 1) * sizeof *values);
    if (!values) return out_of_memory();
    *out = values;
    *count = 0;
    for (const char *at = text;; ++at) {
        char *end;
        double value = strtod(at, &end);
        if (end == at || (*end && *end != ',') || !isfinite(value))
            return usage_error(o->command, "--%s wants numbers, such as 0.1,1,10, not \"%s\"", name,
                               text);
        values[(*count)++] = value;
        if (!*end) return EXIT_DONE;
        at = end;
    }
}

int fill_svm_options(learning *l) {
    const options *o = l->options;
    lth_svm_options *to = &l->svm_options;
    lth_svm_options_init(to);
    l->svm = o->model && strcmp(o->model, "svm") == 0;
    to->task = asked_task(o);
    if (o->solver >= 0) to->solver = (lth_svm_solver)o->solver;
    to->nu_svm = o->svm == 1;
    to->one_vs_rest = o->multi < 0 ? !to->nu_svm : o->multi == 1;
    to->probability = o->probability;
    to->class_weights = o->class_weights;
    to->gram = o->gram;
    to->set = o->set.at;
    to->set_count = o->set.count;
    if (o->features != NOT_GIVEN) to->features = (size_t)o->features;
    if (o->inner_folds != NOT_GIVEN) to->inner_folds = (size_t)o->inner_folds;
    int code = EXIT_DONE;
    const char *texts[] = {o->C, o->epsilon, o->nu}, *names[] = {"C", "epsilon", "nu"};
    const double **values[] = {&to->C, &to->epsilon, &to->nu};
    size_t *counts[] = {&to->C_count, &to->epsilon_count, &to->nu_count};
    for (size_t i = 0; i < 3 && !code; ++i) {
        if (!texts[i]) continue;
        code = parse_list(o, names[i], texts[i], &l->numbers[i], counts[i]);
        *values[i] = l->numbers[i];
    }
    if (!code && o->nu && !to->nu_svm) code = usage_error(o->command, "--nu goes with --svm nu");
    if (!code && o->epsilon && to->nu_svm)
        code = usage_error(o->command, "--epsilon does not go with --svm nu");
    return code;
}

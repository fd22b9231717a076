/* What is to be optimised or learned, by the names of targets and classes.
 *
 * A classifier is learned: its labels are what is asked for. But a class that is named is
 * optimised: its latent function is a number like any other.
 */
#include "design/objectives.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "design/acquisition.h"
#include "model/gp/gp_classes.h"

typedef struct named {
    lth_model *const *models;
    size_t count;
} named;

/* ---- Names ---- */

/* The i-th target of all models, then the i-th class. */
static const char *name_at(const void *user, size_t i) {
    const named *n = user;
    for (size_t m = 0; m < n->count; m++) {
        size_t targets = lth_model_targets(n->models[m]);
        if (i < targets) return lth_model_target(n->models[m], i);
        i -= targets;
    }
    for (size_t m = 0; m < n->count; m++) {
        size_t classes = lth_model_classes(n->models[m]);
        if (i < classes) return lth_model_class(n->models[m], i);
        i -= classes;
    }
    return NULL;
}

static bool is_name(const char *name, const char *text, size_t length) {
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

/* Which of them has that name: what name_at() gives for it. */
static size_t find_name(const named *n, const char *text, size_t length) {
    const char *name;
    for (size_t i = 0; (name = name_at(n, i)); i++) {
        if (is_name(name, text, length)) return i;
    }
    return LTH_NONE;
}

static lth_status unknown(const named *n, const char *name, lth_error *err) {
    const char *near = lth_nearest(name, name_at, n);
    return lth__fail(err, LTH_EARG,
                     near ? "no model has a target or class \"%s\"; did you mean \"%s\"?"
                          : "no model has a target or class \"%s\"",
                     name, near);
}

/* ---- One objective ---- */

/* "y=min" is of y; a name may have such a word in it too. */
static size_t cut_direction(const char *text, bool *minimize) {
    size_t length = strlen(text);
    bool most = length > 4 && strcmp(text + length - 4, "=max") == 0;
    bool least = length > 4 && strcmp(text + length - 4, "=min") == 0;
    if (most || least) *minimize = least;
    return most || least ? length - 4 : length;
}

static void take_class(const lth_model *model, size_t class, lth__objective *o) {
    const lth_gp *gp = lth_model_gp((lth_model *)model);
    o->function = gp ? lth__classes_latent_of(gp->classes, class, &o->turn) : class;
}

/* The i-th of the names; what is a target of labels makes `labels` true. */
static void take_place(const named *n, size_t i, lth__objective *o, bool *labels) {
    for (o->model = 0; o->model < n->count; o->model++) {
        const lth_model *model = n->models[o->model];
        size_t targets = lth_model_targets(model);
        if (i < targets) {
            o->function = i;
            *labels = *labels || lth_model_classes(model) > 0;
            return;
        }
        i -= targets;
    }
    for (o->model = 0; i >= lth_model_classes(n->models[o->model]); o->model++)
        i -= lth_model_classes(n->models[o->model]);
    take_class(n->models[o->model], i, o);
}

static lth_status add(lth__objectives *to, const named *n, const char *text, size_t length,
                      bool minimize, lth_error *err) {
    lth__objective *o = &to->list[to->count];
    *o = (lth__objective){.minimize = minimize, .turn = 1, .weight = 1};
    o->name = lth__strndup(text, length);
    if (!o->name) return lth__fail_memory(err, length);
    to->count++;
    size_t i = find_name(n, text, length);
    if (i == LTH_NONE) return unknown(n, o->name, err);
    for (size_t k = 0; k + 1 < to->count; k++) {
        if (strcmp(to->list[k].name, o->name) == 0)
            return lth__fail(err, LTH_EARG, "the objective \"%s\" is named twice", o->name);
    }
    take_place(n, i, o, &to->labels);
    return LTH_OK;
}

static lth_status add_all(lth__objectives *to, const named *n, const lth_propose_options *options,
                          lth_error *err) {
    for (size_t m = 0; m < n->count; m++) {
        for (size_t t = 0; t < lth_model_targets(n->models[m]); t++) {
            const char *name = lth_model_target(n->models[m], t);
            LTH_TRY(add(to, n, name, strlen(name), options->minimize, err));
        }
    }
    return LTH_OK;
}

static lth_status add_named(lth__objectives *to, const named *n, const lth_propose_options *options,
                            lth_error *err) {
    for (size_t i = 0; i < options->objective_count; i++) {
        bool minimize = options->minimize;
        const char *text = options->objectives[i];
        size_t length = strlen(text), cut = cut_direction(text, &minimize);
        if (find_name(n, text, length) != LTH_NONE) /* a target that is called so */
            cut = length, minimize = options->minimize;
        LTH_TRY(add(to, n, text, cut, minimize, err));
    }
    return LTH_OK;
}

static lth_status weigh(lth__objectives *o, const double *weights, lth_error *err) {
    o->summed = true;
    for (size_t i = 0; i < o->count; i++) {
        if (!(weights[i] > 0 && isfinite(weights[i])))
            return lth__fail(err, LTH_EARG,
                             "the weight of \"%s\" is %g, which is not above 0; what is to be low "
                             "is \"%s=min\"",
                             o->list[i].name, weights[i], o->list[i].name);
        o->list[i].weight = weights[i];
    }
    return LTH_OK;
}

lth_status lth__objectives_find(lth_model *const *models, size_t count,
                                const lth_propose_options *options, lth__objectives *out,
                                lth_error *err) {
    named n = {models, count};
    size_t most = options->objectives ? options->objective_count : 0;
    for (size_t m = 0; m < count && !options->objectives; m++) most += lth_model_targets(models[m]);
    *out = (lth__objectives){.list = lth__calloc(most, sizeof *out->list)};
    if (!out->list) return lth__fail_memory(err, most * sizeof *out->list);
    if (most == 0) return lth__fail(err, LTH_EARG, "there is nothing to optimise: name a target");
    LTH_TRY(options->objectives ? add_named(out, &n, options, err)
                                : add_all(out, &n, options, err));
    if (out->labels && out->count > 1)
        return lth__fail(err, LTH_EARG,
                         "the labels of one target can be learned at a time, and no numbers beside "
                         "them; to optimise a class, name it");
    if (options->weights && !out->labels) LTH_TRY(weigh(out, options->weights, err));
    if (out->count == 1) out->summed = true;
    return LTH_OK;
}

void lth__objectives_free(lth__objectives *o) {
    for (size_t i = 0; i < o->count; i++) lth__free(o->list[i].name);
    lth__free(o->list);
    *o = (lth__objectives){0};
}

/* ---- What goes with them ---- */

static lth_status check_kind(const lth__objectives *o, const lth__acquisition *a, lth_error *err) {
    if (a->labels && !o->labels)
        return lth__fail(err, LTH_EARG,
                         "%s is for labels; numbers take ei, logei, ucb, ts, greedy, pi or "
                         "variance",
                         a->name);
    if (!a->labels && o->labels)
        return lth__fail(err, LTH_EARG,
                         "%s is for numbers; labels take entropy, bald or margin, or name a class "
                         "to optimise",
                         a->name);
    if (!a->labels && !o->summed && !a->above)
        return lth__fail(err, LTH_EARG, "%s of several objectives needs their weights", a->name);
    return LTH_OK;
}

static bool has_svm(const lth__objectives *o, lth_model *const *models) {
    for (size_t i = 0; i < o->count; i++) {
        if (lth_model_svm(models[o->list[i].model])) return true;
    }
    return false;
}

static lth_status check_svm(const lth__objectives *o, const lth_propose_options *options,
                            lth_error *err) {
    if (o->labels)
        return lth__fail(err, LTH_EARG,
                         "a support vector machine does not know how sure it is of labels: fit a "
                         "Gaussian process, or name a class to optimise");
    if (options->acquisition != LTH_ACQUIRE_GREEDY || options->batch != LTH_BATCH_TOP)
        return lth__fail(err, LTH_EARG,
                         "a support vector machine has no uncertainty: it takes the acquisition "
                         "greedy and the batch top; fit a Gaussian process for others");
    return LTH_OK;
}

static lth_status check_batch(const lth__objectives *o, const lth_propose_options *options,
                              lth_error *err) {
    bool improves =
        options->acquisition == LTH_ACQUIRE_EI || options->acquisition == LTH_ACQUIRE_LOGEI;
    lth_batch batch = options->batch;
    if (o->labels && (batch == LTH_BATCH_JOINT || batch == LTH_BATCH_THOMPSON))
        return lth__fail(err, LTH_EARG, "labels take the batches believer and top, not %s",
                         lth_batch_name(batch, NULL));
    if (batch == LTH_BATCH_JOINT && !improves)
        return lth__fail(err, LTH_EARG,
                         "the batch joint is by expected improvement, for ei and logei, not for %s",
                         lth_acquisition_name(options->acquisition, NULL));
    if (!o->summed && batch == LTH_BATCH_JOINT)
        return lth__fail(err, LTH_EARG,
                         "several objectives without weights take the batches believer, thompson "
                         "and top, not joint");
    return LTH_OK;
}

lth_status lth__objectives_settle(const lth__objectives *o, lth_model *const *models,
                                  lth_propose_options *options, lth_error *err) {
    bool svm = has_svm(o, models);
    if (options->acquisition == LTH_ACQUIRE_AUTO)
        options->acquisition = svm         ? LTH_ACQUIRE_GREEDY
                               : o->labels ? LTH_ACQUIRE_BALD
                                           : LTH_ACQUIRE_LOGEI;
    const lth__acquisition *a = lth__acquisition_at(options->acquisition);
    if (!a) return lth__fail(err, LTH_EARG, "there is no such acquisition");
    if (!lth_batch_name(options->batch, NULL))
        return lth__fail(err, LTH_EARG, "there is no such batch");
    if (options->batch == LTH_BATCH_AUTO) options->batch = a->batch;
    if (svm) LTH_TRY(check_svm(o, options, err));
    LTH_TRY(check_kind(o, a, err));
    return check_batch(o, options, err);
}

/* Models of random kernels: what is written can be read, predicts the same bits, and is finite. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random_case.h"

static const char *pick(const char *const *from, size_t count) {
    return from[random_below(count)];
}

/* ---- Fits ---- */

static const char *const numbers_of[] = {"y", "y", "x1", "count", "share"};
static const char *const labels_of[] = {"two", "three", "several"};

static size_t likelihoods(void) {
    size_t n = 0;
    while (lth_likelihood_name((lth_likelihood)n)) n++;
    return n;
}

static lth_status fit_gp(lth_ctx *ctx, const char *expression, const lth_table *table,
                         const char *vectors, lth_model **out, lth_error *err) {
    lth_gp_options o;
    lth_gp_options_init(&o);
    bool labels = random_chance(0.3);
    const char *target = labels ? pick(labels_of, 3) : pick(numbers_of, 5);
    o.max_iter = 3;
    o.restarts = 0;
    o.learn = random_chance(0.5);
    o.vectors = vectors;
    o.likelihood = labels ? LTH_LOGIT : LTH_GAUSSIAN;
    if (random_chance(0.4)) o.likelihood = (lth_likelihood)random_below(likelihoods());
    if (random_chance(0.2)) o.posterior = (lth_posterior)random_below(LTH_POSTERIOR_SITES + 1);
    if (random_chance(0.1)) o.average = 2 + random_below(3);
    o.zero_mean = random_chance(0.1);
    o.unscaled = random_chance(0.1);
    if (random_chance(0.1)) o.noise = random_log(1e-6, 1e3);
    lth_gp *gp = NULL;
    lth_status status = lth_gp_fit(ctx, expression, table, &target, 1, &o, &gp, err);
    if (!status) *out = lth_gp_model(gp);
    return status;
}

static lth_status fit_svm(lth_ctx *ctx, const char *expression, const lth_table *table,
                          const char *vectors, lth_model **out, lth_error *err) {
    lth_svm_options o;
    lth_svm_options_init(&o);
    const char *target = random_chance(0.5) ? pick(labels_of, 3) : pick(numbers_of, 5);
    double C = random_log(1e-3, 1e4), nu = 0.01 + 0.98 * random_unit();
    o.vectors = vectors;
    o.nu_svm = random_chance(0.3);
    o.C = &C, o.C_count = 1;
    if (o.nu_svm) o.nu = &nu, o.nu_count = 1;
    o.one_vs_rest = random_chance(0.5);
    o.probability = random_chance(0.1);
    o.solver = (lth_svm_solver)random_below(LTH_SVM_ORIGIN + 1);
    lth_svm *svm = NULL;
    lth_status status = lth_svm_fit(ctx, expression, table, target, &o, &svm, err);
    if (!status) *out = lth_svm_model(svm);
    return status;
}

/* ---- Predictions ---- */

/* All that a model says of the rows, one after the other. */
typedef struct predicted {
    double *x;
    size_t count;
} predicted;

static lth_status predict(const lth_model *model, const lth_table *table, predicted *p,
                          lth_error *err) {
    size_t rows = lth_table_rows(table), classes = lth_model_classes(model);
    size_t width = classes ? classes * classes + classes : 2;
    lth_model *any = (lth_model *)(uintptr_t)model; /* only looked at */
    const lth_gp *gp = lth_model_gp(any);
    const lth_svm *svm = lth_model_svm(any);
    p->count = rows * width;
    p->x = random_alloc((p->count + 1) * sizeof *p->x);
    if (gp && classes) return lth_gp_classify(gp, table, p->x, err);
    if (gp) return lth_gp_predict(gp, table, false, p->x, p->x + rows, err);
    lth_svm_prediction to = {0};
    if (classes)
        to.decision = p->x;
    else
        to.value = p->x;
    return lth_svm_predict(svm, table, &to, sizeof to, err);
}

static bool finite_numbers(const predicted *p) {
    for (size_t i = 0; i < p->count; i++)
        if (!isfinite(p->x[i])) return false;
    return true;
}

/* ---- Saved and loaded ---- */

static bool saved_is_loaded(const machines *m, const lth_model *model, const lth_table *table,
                            finding *out) {
    lth_error err = {0};
    lth_model *again = NULL;
    predicted p, q;
    const char *path = random_print("%s/model", machines_folder(m));
    lth_status status = predict(model, table, &p, &err);
    if (status) return refusal_is_fine(status, &err, out);
    if (!finite_numbers(&p)) return found(out, "model: finite", "predictions are not finite");
    if (lth_model_save(model, path, &err)) return found(out, "model: save", "%s", err.message);
    if (lth_model_load(machines_first(m), path, &again, &err))
        return found(out, "model: load", "what was written cannot be read: %s", err.message);
    status = predict(again, table, &q, &err);
    bool holds = true;
    if (status)
        holds = found(out, "model: loaded", "it cannot predict: %s", err.message);
    else if (memcmp(p.x, q.x, p.count * sizeof *p.x) != 0)
        holds = found(out, "model: loaded", "it predicts other numbers");
    lth_model_free(again);
    return holds;
}

static bool report_is_finite(const lth_gp *gp, finding *out) {
    const lth_gp_report *r = lth_gp_reported(gp);
    if (!isfinite(r->evidence) || !isfinite(r->noise) || !isfinite(r->jitter))
        return found(out, "model: report", "evidence %g, noise %g, jitter %g", r->evidence,
                     r->noise, r->jitter);
    for (size_t i = 0; lth_gp_param_at(gp, i); i++)
        if (!isfinite(lth_gp_param_at(gp, i)->value))
            return found(out, "model: report", "%s is %g", lth_gp_param_at(gp, i)->path,
                         lth_gp_param_at(gp, i)->value);
    return true;
}

static bool check_model(machines *m, const char *expression, const lth_table *train,
                        const lth_table *others, finding *out, counts *n) {
    lth_model *model = NULL;
    lth_error err = {0};
    lth_ctx *ctx = machines_first(m);
    const char *vectors = random_print("%s/vectors.txt", machines_folder(m));
    lth_status status = random_chance(0.65)
                            ? fit_gp(ctx, expression, train, vectors, &model, &err)
                            : fit_svm(ctx, expression, train, vectors, &model, &err);
    if (status) return refusal_is_fine(status, &err, out);
    n->models++;
    n->checks += 4;
    bool holds = (!lth_model_gp(model) || report_is_finite(lth_model_gp(model), out)) &&
                 saved_is_loaded(m, model, others, out);
    lth_model_free(model);
    return holds;
}

bool check_models(machines *m, const random_case *c, finding *out, counts *n) {
    lth_table *train = NULL, *others = NULL;
    random_seed(c->seed + 2);
    bool holds = true;
    if (!lth_table_read(machines_first(m), random_print("%s/train.csv", machines_folder(m)), NULL,
                        &train, NULL) &&
        !lth_table_read(machines_first(m), random_print("%s/others.csv", machines_folder(m)), NULL,
                        &others, NULL))
        holds = check_model(m, c->expression, train, others, out, n);
    lth_table_free(others);
    lth_table_free(train);
    return holds;
}

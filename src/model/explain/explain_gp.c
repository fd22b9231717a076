/* Reasons of Gaussian processes: f = sum_a alpha_a k(x, a) in the target's units, or the latent
 * function of a class.
 */
#include <math.h>
#include <string.h>

#include "model/explain/explain.h"
#include "model/explain/explain_text.h"
#include "model/gp/gp_classes.h"

/* ---- The model ---- */

/* Of two classes there is one problem, for the second of them. */
static size_t problem_of(const lth_gp *gp, size_t target, double *sign) {
    bool one = gp->classes->problem_count < gp->classes->class_count;
    *sign = one && target == 0 ? -1 : 1;
    return one ? 0 : target;
}

static double latent_offset(const lth_gp *gp) {
    double zero = 0;
    lth__gp_classes_latent(gp, &zero, 1);
    return zero;
}

static void weigh_classes(const lth_gp *gp, size_t target, lth__explained *out) {
    double sign, sum = 0;
    const double *a = gp->classes->a + problem_of(gp, target, &sign) * gp->rows;
    for (size_t i = 0; i < gp->rows; i++) {
        out->w[i] = sign * gp->noise * a[i];
        sum += sign * a[i];
    }
    out->bias = latent_offset(gp) * sum;
}

static void weigh_numbers(const lth_gp *gp, size_t target, lth__explained *out) {
    const lth__target *t = &gp->targets[target];
    for (size_t i = 0; i < gp->rows; i++)
        out->w[i] = t->scale * gp->alpha[i * gp->target_count + target];
    out->bias = t->shift;
}

static lth_status open_model(const lth_gp *gp, size_t target, lth__explained *out, lth_error *err) {
    size_t targets = gp->classes ? gp->classes->class_count : gp->target_count;
    if (target >= targets)
        return lth__fail(err, LTH_EARG, "the model has %zu %s, and none with the number %zu",
                         targets, gp->classes ? "classes" : "targets", target);
    *out = (lth__explained){.kernel = gp->kernel,
                            .encoder = gp->encoder,
                            .vectors = gp->vectors,
                            .prepared = gp->prepared,
                            .cols = gp->items,
                            .w = lth__alloc(gp->rows, sizeof *out->w)};
    if (!out->w) return lth__fail_memory(err, gp->rows * sizeof *out->w);
    if (gp->classes)
        weigh_classes(gp, target, out);
    else
        weigh_numbers(gp, target, out);
    return LTH_OK;
}

/* ---- How sure it is ---- */

/* What is left of a variance when the rows with these values of k are known. */
static lth_status remaining(const lth_gp *gp, const double *L, double *k, double *variance,
                            lth_error *err) {
    const lth__blas *blas;
    LTH_TRY(lth__blas_get(&blas, err));
    blas->solve_right(1, gp->rows, L, gp->rows, k, gp->rows);
    for (size_t i = 0; i < gp->rows; i++) *variance -= k[i] * k[i];
    if (*variance < 0) *variance = 0;
    return LTH_OK;
}

static lth_status judge_number(const lth_gp *gp, size_t target, const lth__explaining *x, double *k,
                               lth_reasons_summary *s, lth_error *err) {
    double scale = gp->targets[target].scale, variance = x->self;
    memcpy(k, x->path.K, gp->rows * sizeof *k);
    LTH_TRY(remaining(gp, gp->L, k, &variance, err));
    s->prior = scale * sqrt(x->self);
    s->distance = scale * sqrt(variance);
    s->noise = scale * sqrt(gp->noise);
    s->sd = scale * sqrt(variance + gp->noise);
    return LTH_OK;
}

static lth_status judge_class(const lth_gp *gp, size_t target, const lth__explaining *x, double *k,
                              lth_reasons_summary *s, lth_error *err) {
    const lth__classes *c = gp->classes;
    double *p = lth__alloc(c->class_count, sizeof *p);
    if (!p) return lth__fail_memory(err, c->class_count * sizeof *p);
    lth_status status = lth__gp_classify_items(gp, x->row.items, p, err);
    if (status == LTH_OK) s->probability = p[target];
    lth__free(p);
    LTH_TRY(status);
    double sign, variance = x->self;
    size_t n = gp->rows, problem = problem_of(gp, target, &sign);
    memcpy(k, x->path.K, n * sizeof *k);
    lth__gp_classes_latent(gp, k, n);
    lth__gp_classes_latent(gp, &variance, 1);
    s->prior = sqrt(variance);
    for (size_t i = 0; i < n; i++) k[i] *= c->root_w[problem * n + i];
    LTH_TRY(remaining(gp, c->L + problem * n * n, k, &variance, err));
    s->distance = sqrt(variance);
    return LTH_OK;
}

static lth_status judge(const lth_gp *gp, size_t target, const lth__explaining *x, lth_reasons *out,
                        lth_error *err) {
    double *k = lth__alloc(gp->rows, sizeof *k);
    if (!k) return lth__fail_memory(err, gp->rows * sizeof *k);
    lth_status status = gp->classes ? judge_class(gp, target, x, k, &out->summary, err)
                                    : judge_number(gp, target, x, k, &out->summary, err);
    lth__free(k);
    return status;
}

/* ---- What the rows were ---- */

static lth_status name_labels(const lth__classes *c, lth_reasons_row *row, lth_reasons *out,
                              lth_error *err) {
    lth__string text = {0};
    bool one = c->problem_count < c->class_count;
    for (size_t k = 0; k < c->class_count; k++) {
        double y = c->y[(one ? 0 : k) * c->rows + row->row];
        if (one && k == 0) y = -y;
        if (y > 0) lth__string_format(&text, "%s%s", text.length > 0 ? "," : "", c->name[k]);
    }
    if (!text.failed)
        row->label = lth__pool_strndup(&out->pool, text.bytes ? text.bytes : "", text.length);
    lth__string_free(&text);
    return row->label ? LTH_OK : lth__fail_memory(err, 0);
}

static lth_status describe_rows(const lth_gp *gp, size_t target, lth_reasons *out, lth_error *err) {
    for (size_t i = 0; i < out->summary.rows; i++) {
        lth_reasons_row *row = &out->rows[i];
        if (gp->classes) {
            LTH_TRY(name_labels(gp->classes, row, out, err));
            continue;
        }
        const lth__target *t = &gp->targets[target];
        row->y = t->shift + t->scale * gp->y[row->row * gp->target_count + target];
    }
    return LTH_OK;
}

/* ---- The public face ---- */

lth_status lth_gp_explain(const lth_gp *gp, const lth_table *table, size_t row,
                          const lth_explain_options *given, lth_reasons **out, lth_error *err) {
    lth_explain_options options = lth__explain_options_complete(given);
    lth__explained model = {0};
    lth__explaining x = {0};
    LTH_TRY(open_model(gp, options.target, &model, err));
    lth_reasons *reasons = lth__reasons_create();
    lth_status status = reasons ? LTH_OK : lth__fail_memory(err, sizeof *reasons);
    if (status == LTH_OK) status = lth__explain(&model, table, row, &options, &x, reasons, err);
    if (status == LTH_OK) status = judge(gp, options.target, &x, reasons, err);
    if (status == LTH_OK) status = describe_rows(gp, options.target, reasons, err);
    lth__explaining_close(&x);
    lth__free(model.w);
    if (status == LTH_OK)
        *out = reasons;
    else
        lth_reasons_free(reasons);
    return status;
}

lth_status lth_gp_patterns(const lth_gp *gp, size_t target, size_t count, lth_reasons **out,
                           lth_error *err) {
    lth__explained model = {0};
    LTH_TRY(open_model(gp, target, &model, err));
    lth_reasons *reasons = lth__reasons_create();
    lth_status status = reasons ? lth__explain_patterns(&model, count, reasons, err)
                                : lth__fail_memory(err, sizeof *reasons);
    lth__free(model.w);
    if (status == LTH_OK)
        *out = reasons;
    else
        lth_reasons_free(reasons);
    return status;
}

const char *lth_gp_row_text(const lth_gp *gp, size_t row, size_t column) {
    return lth__row_text(gp->items, row, column);
}

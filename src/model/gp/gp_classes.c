/* Gaussian process classification: classes, their problems, the evidence and its gradient.
 *
 *     log evidence = sum over problems of Laplace's log q(y);  M = sum of their weights
 *     its gradient = sum_ij M_ij d(scale K)_ij
 */
#include "model/gp/gp_classes.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

static const double offset_variance = 10;

/* ---- Classes and problems ---- */

void lth__classes_free(lth__classes *c) {
    if (!c) return;
    for (size_t i = 0; c->name && i < c->class_count; i++) lth__free(c->name[i]);
    void *blocks[] = {c->name, c->list, c->y, c->a, c->f, c->root_w, c->L, c->K, c->M, c};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

size_t lth__classes_problems(size_t classes, bool multi) {
    return classes == 2 && !multi ? 1 : classes;
}

static bool is_one_against_one(const lth__classes *c) {
    return c->problem_count < c->class_count;
}

static size_t count_rows(const lth__labels *labels, size_t label, const size_t *row, size_t count) {
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += lth__labels_has(labels, row ? row[i] : i, label);
    return sum;
}

static bool copy_names(const lth__labels *labels, const size_t *row, lth__classes *c) {
    c->name = lth__calloc(labels->class_count + 1, sizeof *c->name);
    c->list = lth__calloc(labels->class_count + 1, sizeof *c->list);
    if (!c->name || !c->list) return false;
    for (size_t k = 0; k < labels->class_count; k++) {
        size_t count = count_rows(labels, k, row, c->rows);
        if (count == 0) continue;
        char *name = lth__strndup(labels->name[k], strlen(labels->name[k]));
        if (!name) return false;
        c->list[c->class_count] = (lth_class_rows){.name = name, .rows = count};
        c->name[c->class_count++] = name;
    }
    return true;
}

static bool pose_problems(const lth__labels *labels, const size_t *row, lth__classes *c) {
    c->problem_count = lth__classes_problems(c->class_count, c->multi);
    size_t cells = c->problem_count * c->rows;
    c->y = lth__alloc(cells, sizeof *c->y);
    c->a = lth__calloc(cells, sizeof *c->a);
    c->f = lth__calloc(cells, sizeof *c->f);
    c->root_w = lth__calloc(cells, sizeof *c->root_w);
    if (!c->y || !c->a || !c->f || !c->root_w) return false;
    for (size_t p = 0; p < c->problem_count; p++) {
        const char *name = c->name[is_one_against_one(c) ? 1 : p];
        size_t label = lth__labels_find(labels, name, strlen(name));
        for (size_t i = 0; i < c->rows; i++)
            c->y[p * c->rows + i] = lth__labels_has(labels, row ? row[i] : i, label) ? 1 : -1;
    }
    return true;
}

lth_status lth__classes_create(const lth__labels *labels, const size_t *row, size_t count,
                               lth_likelihood likelihood, lth__classes **out, lth_error *err) {
    lth__classes *c = lth__calloc(1, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    c->multi = labels->multi;
    c->link = likelihood == LTH_PROBIT ? LTH__PROBIT : LTH__LOGIT;
    c->rows = count;
    if (!copy_names(labels, row, c) || !pose_problems(labels, row, c)) {
        lth__classes_free(c);
        return lth__fail_memory(err, 4 * count * sizeof *c->y);
    }
    *out = c;
    return LTH_OK;
}

bool lth__classes_count(lth__classes *c) {
    for (size_t i = 0; i < c->rows; i++) {
        size_t classes = 0;
        for (size_t p = 0; p < c->problem_count; p++) {
            double y = c->y[p * c->rows + i];
            if (y != 1 && y != -1) return false;
            if (is_one_against_one(c))
                c->list[y > 0].rows++, classes++;
            else if (y > 0)
                c->list[p].rows++, classes++;
        }
        if (!c->multi && classes != 1) return false;
    }
    return true;
}

bool lth__classes_all_alike(const lth__classes *c) {
    for (size_t i = 0; i < c->class_count; i++) {
        if (c->list[i].rows < c->rows) return false;
    }
    return true;
}

lth_status lth__classes_begin(lth__classes *c, lth_error *err) {
    size_t n = c->rows;
    c->L = lth__alloc(c->problem_count * n * n, sizeof *c->L);
    c->K = lth__alloc(n * n, sizeof *c->K);
    c->M = lth__alloc(n * n, sizeof *c->M);
    if (c->L && c->K && c->M) return LTH_OK;
    return lth__fail_memory(err, (c->problem_count + 2) * n * n * sizeof *c->L);
}

void lth__classes_end(lth__classes *c) {
    lth__free(c->K);
    lth__free(c->M);
    c->K = c->M = NULL;
}

/* ---- The size of the kernel ---- */

static bool is_called(const lth_param *p, const char *name) {
    const char *own = strchr(p->path, '.');
    return own && strncmp(own + 1, name, strlen(name)) == 0;
}

/* Whether the node can be any number of times as large: a second factor would say the same. */
static bool has_a_size(const lth_gp *gp, const lth__node *node) {
    if (node->family == &lth__family_number) return true;
    bool sum = node->family == &lth__family_sum;
    if (sum || node->family == &lth__family_product) {
        size_t having = 0;
        for (size_t i = 0; i < node->input_count; i++) having += has_a_size(gp, node->inputs[i]);
        return sum ? having == node->input_count : having > 0;
    }
    for (size_t i = node->first_param; i < node->first_param + node->param_count; i++) {
        const lth_param *p = &gp->kernel->params[i];
        if (is_called(p, "variance") || (is_called(p, "weights[") && !gp->held[i])) return true;
    }
    return false;
}

void lth__gp_classes_start(lth_gp *gp) {
    size_t own = gp->kernel->param_count;
    bool has_one = has_a_size(gp, gp->kernel->root);
    gp->noise = gp->start[own] = has_one ? 1 : 5;
    gp->held[own] |= has_one;
}

const char *lth__gp_own_path(const lth_gp *gp) {
    return gp->classes ? "scale" : "noise";
}

void lth__gp_classes_latent(const lth_gp *gp, double *K, size_t count) {
    for (size_t i = 0; i < count; i++) K[i] = gp->noise * K[i] + offset_variance;
}

static void make_prior(const lth_gp *gp, double *K) {
    size_t n = gp->rows;
    double mean = 0;
    for (size_t i = 0; i < n; i++) mean += gp->noise * K[i * n + i] / (double)n;
    lth__gp_classes_latent(gp, K, n * n);
    for (size_t i = 0; i < n; i++) K[i * n + i] += gp->jitter * mean;
}

/* ---- Evidence ---- */

static lth__laplace problem_at(const lth__classes *c, size_t p) {
    size_t n = c->rows;
    return (lth__laplace){.n = n,
                          .link = c->link,
                          .y = c->y + p * n,
                          .a = c->a + p * n,
                          .f = c->f + p * n,
                          .root_w = c->root_w + p * n,
                          .L = c->L + p * n * n};
}

/* The search for the mode begins where it ended last, if that was anywhere. */
static void forget_unless_finite(double *a, size_t n) {
    bool finite = true;
    for (size_t i = 0; i < n; i++) finite &= isfinite(a[i]) != 0;
    if (!finite) memset(a, 0, n * sizeof *a);
}

/* What is scale K in the prior, jitter included, is also its derivative by the logarithm of scale.
 */
static lth_status pull_gradient(lth_gp *gp, lth__gram *gram, double *gradient, lth_error *err) {
    const lth__classes *c = gp->classes;
    size_t n = gp->rows, params = gp->kernel->param_count;
    LTH_TRY(lth__gram_pull(gram, c->M, n, gradient, err));
    for (size_t p = 0; p < params; p++) gradient[p] *= gp->noise;
    double sum = 0;
    for (size_t i = 0; i < n * n; i++) sum += c->M[i] * (c->K[i] - offset_variance);
    gradient[params] = sum / gp->noise;
    return LTH_OK;
}

lth_status lth__gp_classes_evidence(lth_gp *gp, lth__gram *gram, double *X, double *evidence,
                                    double *gradient, lth_error *err) {
    lth__classes *c = gp->classes;
    size_t n = gp->rows;
    double sum = 0;
    LTH_TRY(lth__gram_values(gram, c->K, n, err));
    make_prior(gp, c->K);
    memset(c->M, 0, n * n * sizeof *c->M);
    for (size_t p = 0; p < c->problem_count; p++) {
        lth__laplace l = problem_at(c, p);
        forget_unless_finite(l.a, n);
        LTH_TRY(lth__laplace_mode(&gp->ctx, &l, c->K, err));
        if (gradient) LTH_TRY(lth__laplace_weights(&gp->ctx, &l, c->K, X, c->M, err));
        sum += l.evidence;
    }
    *evidence = sum;
    return gradient ? pull_gradient(gp, gram, gradient, err) : LTH_OK;
}

static lth_status factor_all(lth_gp *gp, lth_error *err) {
    const lth__classes *c = gp->classes;
    LTH_TRY(lth_gram(gp->kernel, gp->items, NULL, c->K, c->rows, err));
    make_prior(gp, c->K);
    for (size_t p = 0; p < c->problem_count; p++) {
        lth__laplace l = problem_at(c, p);
        lth_status status = lth__laplace_factor(&gp->ctx, &l, c->K, err);
        if (status == LTH_ENUMERIC)
            return lth__fail(err, status, "the kernel matrix is not positive definite");
        LTH_TRY(status);
    }
    return LTH_OK;
}

lth_status lth__gp_classes_factor(lth_gp *gp, lth_error *err) {
    lth__classes *c = gp->classes;
    size_t n = c->rows;
    LTH_TRY(lth__memory_check((c->problem_count + 1) * n * n * sizeof *c->L,
                              "a classifier of that many rows", "use a machine with more memory",
                              err));
    c->L = lth__alloc(c->problem_count * n * n, sizeof *c->L);
    c->K = lth__alloc(n * n, sizeof *c->K);
    lth_status status = c->L && c->K
                            ? factor_all(gp, err)
                            : lth__fail_memory(err, c->problem_count * n * n * sizeof *c->L);
    lth__classes_end(c);
    if (status != LTH_OK) {
        lth__free(c->L);
        c->L = NULL;
    }
    return status;
}

/* ---- Looking at it ---- */

size_t lth_gp_classes(const lth_gp *gp) {
    return gp->classes ? gp->classes->class_count : 0;
}

const lth_class_rows *lth_gp_class(const lth_gp *gp, size_t i) {
    return i < lth_gp_classes(gp) ? &gp->classes->list[i] : NULL;
}

bool lth_gp_is_multi_label(const lth_gp *gp) {
    return gp->classes && gp->classes->multi;
}

lth_likelihood lth_gp_likelihood(const lth_gp *gp) {
    return gp->classes && gp->classes->link == LTH__PROBIT ? LTH_PROBIT : LTH_LOGIT;
}

static bool is_blank(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] != ' ') return false;
    }
    return true;
}

lth_status lth_gp_has_labels(const lth_table *table, const char *target, lth_task task, bool *out,
                             lth_error *err) {
    size_t column, length;
    bool decided, labels = false;
    LTH_TRY(lth__labels_decided(table, target, task, &column, &decided, &labels, err));
    for (size_t i = 0; !decided && i < lth_table_rows(table); i++) {
        const char *cell = lth_table_cell(table, i, column, &length);
        double value;
        if (is_blank(cell, length)) continue;
        labels = !lth__parse_double(cell, length, &value);
        break;
    }
    *out = labels;
    return LTH_OK;
}

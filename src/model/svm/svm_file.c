/* A support vector machine in one file, and back. See docs/format.md. What is read is checked
 * before it is used: a file can be hostile. */
#include <math.h>
#include <string.h>

#include "engine/cluster.h"
#include "model/svm/svm.h"

/* The report as an array of numbers, in this order. */
enum {
    REGRESSION,
    NU_SVM,
    MULTI_LABEL,
    ONE_VS_REST,
    PROBABILITY,
    C,
    EPSILON,
    NU,
    INNER,
    ROWS,
    ITEMS,
    INNER_FOLDS,
    SECONDS,
    ONLY, /* the class of all rows, from 1; 0 = none */
    REPORT_NUMBERS
};
/* A point of the grid likewise: C, epsilon, nu, score. */
enum { POINT_NUMBERS = 4 };

static const char *number_array(bool linear) {
    return linear ? "problem.features" : "problem.rows";
}

static const char *factor_array(bool linear) {
    return linear ? "problem.weights" : "problem.coefficients";
}

/* ---- Saving ---- */

static const lth_items *kept_items(const lth_svm *svm) {
    return svm->items ? svm->items : svm->support;
}

static void save_report(lth__saver *s, const lth_svm *svm) {
    const lth_svm_report *r = &svm->report;
    double *x = lth__saver_keep(s, lth__calloc(REPORT_NUMBERS, sizeof *x));
    uint64_t *class = lth__saver_keep(s, lth__alloc(2 * r->classes, sizeof *class));
    double *grid = lth__saver_keep(s, lth__alloc(r->points * POINT_NUMBERS, sizeof *grid));
    s->ok = s->ok && x && class && grid;
    if (!s->ok) return;
    x[REGRESSION] = r->regression;
    x[NU_SVM] = r->type[0] == 'n';
    x[MULTI_LABEL] = r->multi_label;
    x[ONE_VS_REST] = r->one_vs_rest;
    x[PROBABILITY] = r->probability;
    x[C] = r->C;
    x[EPSILON] = r->epsilon;
    x[NU] = r->nu;
    x[INNER] = r->inner;
    x[ROWS] = (double)r->rows;
    x[ITEMS] = (double)kept_items(svm)->count;
    x[INNER_FOLDS] = (double)r->inner_folds;
    x[SECONDS] = r->seconds;
    x[ONLY] = svm->machine.only == LTH_NONE ? 0 : (double)(svm->machine.only + 1);
    for (size_t c = 0; c < r->classes; c++) {
        class[2 * c] = svm->classes[c].rows;
        class[2 * c + 1] = svm->classes[c].support;
    }
    for (size_t i = 0; i < r->points; i++) {
        const lth_svm_point *p = &svm->points[i];
        double all[POINT_NUMBERS] = {p->C, p->epsilon, p->nu, p->score};
        memcpy(grid + i * POINT_NUMBERS, all, sizeof all);
    }
    if (r->features > 0) {
        uint64_t *features = lth__saver_keep(s, lth__alloc(1, sizeof *features));
        s->ok = s->ok && features;
        if (!s->ok) return;
        *features = r->features;
        lth__saver_put(s, "features", LTH__U64, 1, 0, features);
    }
    lth__saver_put_gaps(s, "report", REPORT_NUMBERS, 0, x);
    lth__saver_put(s, "class", LTH__U64, r->classes, 2, class);
    lth__saver_put_gaps(s, "grid", r->points, POINT_NUMBERS, grid);
}

/* Of a solution: the coefficients of support rows, or the weights of features. */
typedef struct terms {
    size_t count;
    const double *factor;
} terms;

static terms terms_of(const lth_svm *svm, size_t part) {
    const lth__svm_solution *s = &svm->machine.parts[part].solution;
    return svm->report.linear ? (terms){s->weight_count, s->weight} : (terms){s->count, s->coef};
}

static uint32_t term_number(const lth_svm *svm, size_t part, size_t i) {
    const lth__svm_solution *s = &svm->machine.parts[part].solution;
    return svm->report.linear ? s->feature[i] : (uint32_t)s->row[i];
}

static void save_machine(lth__saver *s, const lth_svm *svm) {
    const lth__svm_machine *m = &svm->machine;
    size_t parts = m->part_count, total = 0, support = svm->report.support;
    bool linear = svm->report.linear;
    for (size_t p = 0; p < parts; p++) total += terms_of(svm, p).count;
    uint64_t *class = lth__saver_keep(s, lth__alloc(2 * parts, sizeof *class));
    uint64_t *end = lth__saver_keep(s, lth__alloc(parts, sizeof *end));
    double *constant = lth__saver_keep(s, lth__alloc(3 * parts, sizeof *constant));
    uint32_t *number = lth__saver_keep(s, lth__alloc(total, sizeof *number));
    double *factor = lth__saver_keep(s, lth__alloc(total, sizeof *factor));
    uint64_t *at = lth__saver_keep(s, lth__alloc(support, sizeof *at));
    s->ok = s->ok && class && end && constant && number && factor && at;
    if (!s->ok) return;
    total = 0;
    for (size_t p = 0; p < parts; p++) {
        const lth__svm_part *part = &m->parts[p];
        class[2 * p] = part->positive;
        class[2 * p + 1] = part->negative;
        constant[3 * p] = part->solution.rho;
        constant[3 * p + 1] = part->sigmoid.slope;
        constant[3 * p + 2] = part->sigmoid.offset;
        terms t = terms_of(svm, p);
        for (size_t i = 0; i < t.count; i++) {
            number[total] = term_number(svm, p, i);
            factor[total++] = t.factor[i];
        }
        end[p] = total;
    }
    for (size_t i = 0; i < support; i++) at[i] = svm->support_at[i];
    lth__saver_put(s, "problem.classes", LTH__U64, parts, 2, class);
    lth__saver_put(s, "problem.constants", LTH__F64, parts, 3, constant);
    lth__saver_put(s, "problem.ends", LTH__U64, parts, 0, end);
    lth__saver_put(s, number_array(linear), LTH__U32, total, 0, number);
    lth__saver_put(s, factor_array(linear), LTH__F64, total, 0, factor);
    lth__saver_put(s, "support", LTH__U64, support, 0, at);
}

static lth_status save(const lth_svm *svm, const lth__model_to *to, lth_error *err) {
    lth__saver s = lth__saver_open();
    lth__saver_put_kernel(&s, "svm", svm->kernel);
    if (s.ok) lth__saver_put_list(&s, "targets", &svm->target, 1);
    if (s.ok) lth__saver_put_list(&s, "classes", svm->class_name, svm->report.classes);
    if (s.ok) lth__saver_put_list(&s, "grid", svm->point_kernel, svm->report.points);
    if (s.ok) save_report(&s, svm);
    if (s.ok) save_machine(&s, svm);
    if (s.ok) lth__saver_put_vectors(&s, svm->encoder);
    if (s.ok) lth__saver_put_fields(&s, svm->encoder, kept_items(svm));
    return lth__saver_close(&s, to, err);
}

lth_status lth_svm_save(const lth_svm *svm, const char *path, lth_error *err) {
    lth__cluster *c = svm->kernel->ctx->cluster;
    lth_status status = LTH_OK;
    if (lth__cluster_reads(c)) status = save(svm, &(lth__model_to){.path = path}, err);
    return lth__cluster_agree(c, status, err);
}

lth_status lth_svm_save_to(const lth_svm *svm, lth_write_fn *write, void *user, lth_error *err) {
    return save(svm, &(lth__model_to){.write = write, .user = user}, err);
}

/* ---- Loading ---- */

typedef struct loader {
    lth__loader in;
    lth_svm *svm;
    size_t items;
} loader;

static lth_status damaged(const loader *l, const char *what) {
    return lth__loader_damaged(&l->in, what);
}

static lth_status load_texts(const loader *l) {
    lth_svm *svm = l->svm;
    char **targets;
    size_t count;
    LTH_TRY(lth__loader_list(&l->in, "targets", 1, "it names no target", &targets, &count));
    svm->target = targets[0];
    for (size_t i = 1; i < count; i++) lth__free(targets[i]);
    lth__free(targets);
    if (count > 1) return damaged(l, "it has several targets");
    LTH_TRY(lth__loader_list(&l->in, "classes", 0, "its classes", &svm->class_name,
                             &svm->report.classes));
    return lth__loader_list(&l->in, "grid", 1, "its grid", &svm->point_kernel, &svm->report.points);
}

static bool is_count(double x) {
    return x >= 0 && x <= 1e9 && x == floor(x);
}

static lth_status load_report(loader *l) {
    lth_svm *svm = l->svm;
    lth_svm_report *r = &svm->report;
    const lth__tensor *t;
    LTH_TRY(lth__loader_get_gaps(&l->in, "report", 1, REPORT_NUMBERS, 0, &t));
    const double *x = t->data;
    static const int counts[] = {ROWS, ITEMS, INNER_FOLDS, ONLY};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (!is_count(x[counts[i]])) return damaged(l, "report");
    }
    r->regression = x[REGRESSION] != 0;
    r->multi_label = x[MULTI_LABEL] != 0;
    r->one_vs_rest = x[ONE_VS_REST] != 0;
    r->probability = x[PROBABILITY] != 0;
    r->C = x[C];
    r->epsilon = x[EPSILON];
    r->nu = x[NU];
    r->inner = x[INNER];
    r->rows = (size_t)x[ROWS];
    r->inner_folds = (size_t)x[INNER_FOLDS];
    r->seconds = x[SECONDS];
    lth__svm_report_texts(r, x[NU_SVM] != 0);
    l->items = (size_t)x[ITEMS];
    svm->machine = (lth__svm_machine){.classes = r->classes,
                                      .multi = r->multi_label,
                                      .probability = r->probability,
                                      .only = x[ONLY] > 0 ? (size_t)x[ONLY] - 1 : LTH_NONE};
    bool fits = r->regression ? r->classes == 0 && !r->multi_label : r->classes > 0;
    if (!fits || (x[ONLY] > 0 && svm->machine.only >= r->classes)) return damaged(l, "report");
    return LTH_OK;
}

static lth_status load_grid(const loader *l) {
    lth_svm *svm = l->svm;
    const lth__tensor *t;
    size_t points = svm->report.points;
    LTH_TRY(lth__loader_get_gaps(&l->in, "grid", 2, points, POINT_NUMBERS, &t));
    svm->points = lth__alloc(points, sizeof *svm->points);
    if (!svm->points) return lth__fail_memory(l->in.err, 0);
    for (size_t i = 0; i < points; i++) {
        const double *x = (const double *)t->data + i * POINT_NUMBERS;
        svm->points[i] = (lth_svm_point){svm->point_kernel[i], x[0], x[1], x[2], x[3]};
    }
    return LTH_OK;
}

static lth_status load_classes(const loader *l) {
    lth_svm *svm = l->svm;
    const lth__tensor *t;
    size_t classes = svm->report.classes;
    LTH_TRY(lth__loader_get(&l->in, "class", LTH__U64, 2, classes, 2, &t));
    svm->classes = lth__alloc(classes, sizeof *svm->classes);
    if (!svm->classes) return lth__fail_memory(l->in.err, 0);
    for (size_t c = 0; c < classes; c++) {
        const uint64_t *x = (const uint64_t *)t->data + 2 * c;
        svm->classes[c] = (lth_svm_class){svm->class_name[c], (size_t)x[0], (size_t)x[1]};
    }
    return LTH_OK;
}

static lth_status load_weights(const loader *l, const uint32_t *feature, const double *weight,
                               size_t count, lth__svm_solution *s) {
    s->feature = lth__alloc(count, sizeof *s->feature);
    s->weight = lth__alloc(count, sizeof *s->weight);
    if (!s->feature || !s->weight) return lth__fail_memory(l->in.err, 0);
    s->weight_count = count;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && feature[i] <= feature[i - 1]) return damaged(l, "its weights");
        s->feature[i] = feature[i];
        s->weight[i] = weight[i];
    }
    return LTH_OK;
}

/* One problem for numbers; one for each of some labels; or one for each pair of some classes. */
static lth_status check_problems(const loader *l) {
    const lth__svm_machine *m = &l->svm->machine;
    size_t pairs = 0, n = 1;
    for (size_t p = 0; p < m->part_count; p++) {
        const lth__svm_part *part = &m->parts[p];
        bool rest = part->negative == LTH_NONE;
        bool fits = m->classes == 0
                        ? rest && part->positive == LTH_NONE
                        : part->positive < m->classes && (rest || part->negative < m->classes);
        if (!fits) return damaged(l, "the classes of its problems");
        pairs += !rest;
    }
    while (n * (n - 1) / 2 < pairs) n++;
    bool one_kind = pairs == 0 || (pairs == m->part_count && !m->multi);
    bool all_pairs = n * (n - 1) / 2 == pairs && (n <= m->classes || pairs == 0);
    bool enough =
        m->classes == 0 ? m->part_count == 1 : m->part_count > 0 || m->multi || m->only != LTH_NONE;
    return one_kind && all_pairs && enough ? LTH_OK : damaged(l, "its problems");
}

static lth_status load_solution(const loader *l, const uint32_t *row, const double *coef,
                                size_t count, lth__svm_solution *s) {
    s->row = lth__alloc(count, sizeof *s->row);
    s->coef = lth__alloc(count, sizeof *s->coef);
    if (!s->row || !s->coef) return lth__fail_memory(l->in.err, 0);
    s->count = count;
    for (size_t i = 0; i < count; i++) {
        if (row[i] >= l->svm->report.support) return damaged(l, "its coefficients");
        s->row[i] = row[i];
        s->coef[i] = coef[i];
    }
    return LTH_OK;
}

static size_t class_number(uint64_t x) {
    return x == UINT64_MAX ? LTH_NONE : (size_t)x;
}

static lth_status load_machine(const loader *l) {
    lth__svm_machine *m = &l->svm->machine;
    const lth__tensor *class, *constant, *ends, *numbers, *factors;
    bool linear = l->svm->report.linear;
    LTH_TRY(lth__loader_get(&l->in, "problem.classes", LTH__U64, 2, LTH_NONE, 2, &class));
    size_t parts = class->shape[0], at = 0;
    LTH_TRY(lth__loader_get(&l->in, "problem.constants", LTH__F64, 2, parts, 3, &constant));
    LTH_TRY(lth__loader_get(&l->in, "problem.ends", LTH__U64, 1, parts, 0, &ends));
    LTH_TRY(lth__loader_get(&l->in, number_array(linear), LTH__U32, 1, LTH_NONE, 0, &numbers));
    size_t total = numbers->shape[0];
    LTH_TRY(lth__loader_get(&l->in, factor_array(linear), LTH__F64, 1, total, 0, &factors));
    l->svm->report.weights = linear ? total : 0;
    m->parts = lth__calloc(parts, sizeof *m->parts);
    if (!m->parts) return lth__fail_memory(l->in.err, 0);
    m->part_count = l->svm->report.problems = parts;
    for (size_t p = 0; p < parts; p++) {
        const double *x = (const double *)constant->data + 3 * p;
        const uint64_t *c = (const uint64_t *)class->data + 2 * p;
        uint64_t end = ((const uint64_t *)ends->data)[p];
        if (end < at || end > total) return damaged(l, "its problems");
        m->parts[p] = (lth__svm_part){.positive = class_number(c[0]),
                                      .negative = class_number(c[1]),
                                      .solution.rho = x[0],
                                      .sigmoid = {x[1], x[2]}};
        const uint32_t *number = (const uint32_t *)numbers->data + at;
        const double *factor = (const double *)factors->data + at;
        size_t count = (size_t)end - at;
        LTH_TRY((linear ? load_weights : load_solution)(l, number, factor, count,
                                                        &m->parts[p].solution));
        at = (size_t)end;
    }
    return check_problems(l);
}

static lth_status load_support(const loader *l) {
    lth_svm *svm = l->svm;
    const lth__tensor *t;
    LTH_TRY(lth__loader_get(&l->in, "support", LTH__U64, 1, LTH_NONE, 0, &t));
    size_t count = t->shape[0];
    svm->report.support = count;
    svm->support_at = lth__alloc(count, sizeof *svm->support_at);
    if (!svm->support_at) return lth__fail_memory(l->in.err, 0);
    for (size_t i = 0; i < count; i++) {
        uint64_t item = ((const uint64_t *)t->data)[i];
        if (item >= l->items) return damaged(l, "its support rows");
        svm->support_at[i] = (size_t)item;
    }
    return LTH_OK;
}

/* Files have it only where some rows stand for all. */
static lth_status load_features(const loader *l) {
    const lth__tensor *t;
    if (!lth__tensors_find(l->in.file, "features")) return LTH_OK;
    LTH_TRY(lth__loader_get(&l->in, "features", LTH__U64, 1, 1, 0, &t));
    l->svm->report.features = (size_t) * (const uint64_t *)t->data;
    return l->svm->report.features == l->svm->report.support ? LTH_OK : damaged(l, "its features");
}

static lth_status load_all(loader *l) {
    lth_svm *svm = l->svm;
    LTH_TRY(lth__loader_kernel(&l->in, &svm->ctx, "svm", "it is not a support vector machine",
                               &svm->kernel, &svm->encoder));
    LTH_TRY(load_texts(l));
    svm->report.linear = lth__tensors_find(l->in.file, number_array(true)) != NULL;
    if (svm->report.linear && !lth__svm_is_linear(svm->kernel))
        return damaged(l, "its kernel has no features to be weighed");
    LTH_TRY(load_report(l));
    LTH_TRY(load_grid(l));
    LTH_TRY(load_classes(l));
    LTH_TRY(load_support(l));
    LTH_TRY(load_features(l));
    LTH_TRY(load_machine(l));
    LTH_TRY(lth__loader_fields(&l->in, l->items, &svm->items));
    if (svm->report.linear) return LTH_OK;
    LTH_TRY(lth__items_pick(svm->items, svm->support_at, svm->report.support, &svm->support,
                            l->in.err));
    return lth__prepared_create(svm->kernel, svm->support, &svm->prepared, l->in.err);
}

lth_status lth__svm_load(lth_ctx *ctx, lth__loader *in, lth_model **out) {
    loader l = {.in = *in, .svm = lth__calloc(1, sizeof *l.svm)};
    if (!l.svm) return lth__fail_memory(in->err, sizeof *l.svm);
    l.svm->base.kind = LTH__MODEL_SVM;
    l.svm->ctx = *ctx;
    l.svm->ctx.quiet = true;
    lth_status status = load_all(&l);
    if (status == LTH_OK)
        *out = &l.svm->base;
    else
        lth_svm_free(l.svm);
    return status;
}

static lth_status read(lth_ctx *ctx, const lth__model_from *from, lth_svm **out, lth_error *err) {
    lth_model *model;
    LTH_TRY(lth__model_read(ctx, from, lth__svm_load, &model, err));
    *out = lth_model_svm(model);
    return LTH_OK;
}

lth_status lth_svm_load(lth_ctx *ctx, const char *path, lth_svm **out, lth_error *err) {
    return read(ctx, &(lth__model_from){.path = path}, out, err);
}

lth_status lth_svm_load_from(lth_ctx *ctx, const void *bytes, size_t size, lth_svm **out,
                             lth_error *err) {
    return read(ctx, &(lth__model_from){.bytes = bytes, .size = size}, out, err);
}

/* A Gaussian process in one file, and back. See docs/format.md.
 *
 * Texts: model, kernel (the expression with its values), targets (a JSON list). Arrays: weights and
 * factor, target scaling, numbers of the report, and for each field f its vocabulary, vectors and
 * sequences as field.f.*. A classifier has its classes and no factors. What is read is checked
 * before it is used: a file can be hostile.
 */
#include <math.h>
#include <string.h>

#include "engine/cluster.h"
#include "model/gp/gp_average.h"
#include "model/gp/gp_sharpness.h"
#include "model/posterior/outputs.h"

/* The report as an array of numbers, in this order. */
enum { REPORT_NUMBERS = 18 };
/* What came later, likewise: how all rows are taken into account. */
enum { MORE_NUMBERS = 7 };
/* And figures of the leave-one-out predictions. */
enum { LEFT_OUT_NUMBERS = 7 };
/* A step likewise, and what a target has beside its scaling. */
enum { STEP_NUMBERS = 6, TARGET_NUMBERS = 3 };

static void report_to_numbers(const lth_gp *gp, double *x) {
    const lth_gp_report *r = &gp->report;
    const lth_metrics *m = &gp->loo;
    double all[REPORT_NUMBERS] = {(double)r->rows,
                                  (double)r->iterations,
                                  (double)r->evaluations,
                                  (double)r->starts,
                                  r->evidence,
                                  r->noise,
                                  r->jitter,
                                  r->seconds,
                                  r->converged,
                                  r->interrupted,
                                  (double)r->orders,
                                  (double)m->count,
                                  m->nlpd,
                                  m->mae,
                                  m->rmse,
                                  m->r,
                                  m->r2,
                                  m->coverage};
    memcpy(x, all, sizeof all);
}

/* false if a count is none. */
static bool numbers_to_report(const double *x, lth_gp *gp) {
    lth_gp_report *r = &gp->report;
    lth_posterior posterior = r->posterior;
    static const size_t counts[] = {0, 1, 2, 3, 10, 11};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (!(x[counts[i]] >= 0 && x[counts[i]] <= 1e15)) return false;
    }
    *r = (lth_gp_report){.rows = (size_t)x[0],
                         .iterations = (size_t)x[1],
                         .evaluations = (size_t)x[2],
                         .starts = (size_t)x[3],
                         .evidence = x[4],
                         .noise = x[5],
                         .jitter = x[6],
                         .seconds = x[7],
                         .converged = x[8] != 0,
                         .interrupted = x[9] != 0,
                         .orders = (size_t)x[10],
                         .posterior = posterior,
                         .loo = gp->posterior->leave_one_out && !gp->classes ? &gp->loo : NULL};
    gp->loo = (lth_metrics){.count = (size_t)x[11],
                            .nlpd = x[12],
                            .mae = x[13],
                            .rmse = x[14],
                            .r = x[15],
                            .r2 = x[16],
                            .coverage = x[17]};
    return r->orders <= sizeof r->nu / sizeof *r->nu;
}

static void more_to_numbers(const lth_gp_report *r, double *x) {
    double all[MORE_NUMBERS] = {(double)r->learned_rows, (double)r->inducing, r->trace_left,
                                r->left_to_noise,        (double)r->cg_steps, r->cg_residual,
                                r->evidence_error};
    memcpy(x, all, sizeof all);
}

static void left_out_to_numbers(const lth_metrics *m, double *x) {
    double all[LEFT_OUT_NUMBERS] = {m->spearman, m->kendall,     m->ndcg, m->recall,
                                    m->crps,     m->calibration, m->qwk};
    memcpy(x, all, sizeof all);
}

/* NULL: a file of before does not have them. */
static void numbers_to_left_out(const double *x, lth_metrics *m) {
    double *all[LEFT_OUT_NUMBERS] = {&m->spearman, &m->kendall,     &m->ndcg, &m->recall,
                                     &m->crps,     &m->calibration, &m->qwk};
    for (size_t i = 0; i < LEFT_OUT_NUMBERS; i++) *all[i] = x ? x[i] : NAN;
}

static bool numbers_to_more(const double *x, lth_gp_report *r) {
    static const bool is_count[MORE_NUMBERS] = {[0] = true, [1] = true, [4] = true};
    for (size_t i = 0; i < MORE_NUMBERS; i++) {
        if (!(x[i] >= 0) || (is_count[i] && x[i] > 1e15)) return false;
    }
    r->learned_rows = (size_t)x[0];
    r->inducing = (size_t)x[1];
    r->trace_left = x[2];
    r->left_to_noise = x[3];
    r->cg_steps = (size_t)x[4];
    r->cg_residual = x[5];
    r->evidence_error = x[6];
    return true;
}

/* ---- Saving ---- */

/* Gaussian noise, the mean as a point and no columns beside the kernel's go without saying. */
static void save_likelihood(lth__saver *s, const lth_gp *gp) {
    const char *const names[] = {"likelihood", "warp", "point", "noise_by", "weights", "exposure"};
    const char *const texts[] = {
        gp->likelihood == &lth__gaussian ? NULL : gp->likelihood->name,
        gp->warp ? gp->warp->name : NULL,
        gp->point == LTH_POINT_MEDIAN ? "median" : NULL,
        gp->noise_by,
        gp->weights,
        gp->exposure,
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (s->ok && texts[i]) s->ok = lth__tensors_put_text(s->writer, names[i], texts[i]);
    }
}

static void save_texts(lth__saver *s, const lth_gp *gp) {
    char **names = lth__saver_keep(s, lth__alloc(gp->target_count, sizeof *names));
    for (size_t t = 0; names && t < gp->target_count; t++) names[t] = gp->targets[t].name;
    s->ok = s->ok && names;
    lth__saver_put_kernel(s, "gp", gp->kernel);
    if (s->ok) lth__saver_put_list(s, "targets", names, gp->target_count);
    s->ok = s->ok && lth__tensors_put_text(s->writer, "posterior", gp->posterior->name);
    save_likelihood(s, gp);
    lth__outputs_save_rank(s, gp);
    const lth__classes *c = gp->classes;
    if (!s->ok || !c) return;
    s->ok = lth__tensors_put_text(s->writer, "multi", c->multi ? "yes" : "no");
    if (s->ok) lth__saver_put_list(s, "classes", c->name, c->class_count);
}

static void save_steps(lth__saver *s, const lth_gp *gp) {
    if (!s->ok || gp->step_count == 0) return;
    double *x = lth__saver_keep(s, lth__alloc(gp->step_count * STEP_NUMBERS, sizeof *x));
    s->ok = s->ok && x;
    if (!s->ok) return;
    for (size_t i = 0; i < gp->step_count; i++) {
        const lth_gp_step *step = &gp->steps[i];
        double all[STEP_NUMBERS] = {
            (double)step->start, (double)step->iteration, (double)step->evaluations,
            step->evidence,      step->gradient,          step->seconds};
        memcpy(x + i * STEP_NUMBERS, all, sizeof all);
    }
    lth__saver_put(s, "steps", LTH__F64, gp->step_count, STEP_NUMBERS, x);
}

/* Of a model that keeps few of its rows: which ones, where all are in the file, and how many rows
 * each class had. */
static void save_kept(lth__saver *s, const lth_gp *gp) {
    const lth__classes *c = gp->keeps_few ? gp->classes : NULL;
    double *rows = lth__saver_keep(s, lth__alloc(c ? c->class_count : 0, sizeof *rows));
    uint64_t *kept = lth__saver_keep(s, lth__alloc(gp->all ? gp->rows : 0, sizeof *kept));
    s->ok = s->ok && rows && kept;
    if (!s->ok) return;
    for (size_t i = 0; c && i < c->class_count; i++) rows[i] = (double)c->list[i].rows;
    for (size_t i = 0; gp->all && i < gp->rows; i++) kept[i] = gp->kept[i];
    if (c) lth__saver_put(s, "class_rows", LTH__F64, c->class_count, 0, rows);
    if (gp->all) lth__saver_put(s, "kept_rows", LTH__U64, gp->rows, 0, kept);
}

/* What targets other than plain numbers have. */
static void save_targets(lth__saver *s, const lth_gp *gp) {
    size_t t = gp->target_count;
    double *more = lth__saver_keep(s, lth__alloc(TARGET_NUMBERS * t, sizeof *more));
    double *bounds = lth__saver_keep(s, lth__alloc(2, sizeof *bounds));
    s->ok = s->ok && more && bounds;
    if (!s->ok) return;
    for (size_t k = 0; k < t; k++) {
        const lth__target *of = &gp->targets[k];
        double all[TARGET_NUMBERS] = {of->link, of->centre, of->spread};
        memcpy(more + TARGET_NUMBERS * k, all, sizeof all);
    }
    bounds[0] = isnan(gp->lower) ? -INFINITY : gp->lower;
    bounds[1] = isnan(gp->upper) ? INFINITY : gp->upper;
    if (!gp->classes && gp->likelihood != &lth__gaussian)
        lth__saver_put(s, "targets.more", LTH__F64, t, TARGET_NUMBERS, more);
    if (gp->likelihood == &lth__censored) lth__saver_put_gaps(s, "bounds", 2, 0, bounds);
    if (gp->grades) lth__saver_put(s, "grades", LTH__F64, gp->grade_count, 0, gp->grades);
}

static void save_numbers(lth__saver *s, const lth_gp *gp) {
    size_t t = gp->target_count, params = lth__gp_param_count(gp), own = gp->own_count;
    double *report = lth__saver_keep(s, lth__alloc(REPORT_NUMBERS, sizeof *report));
    double *more = lth__saver_keep(s, lth__alloc(MORE_NUMBERS, sizeof *more));
    double *left_out = lth__saver_keep(s, lth__alloc(LEFT_OUT_NUMBERS, sizeof *left_out));
    double *scaling = lth__saver_keep(s, lth__alloc(2 * t, sizeof *scaling));
    double *noise = lth__saver_keep(s, lth__alloc(own + 1, sizeof *noise));
    uint8_t *flags = lth__saver_keep(s, lth__alloc(2 * params, 1));
    s->ok = s->ok && report && more && left_out && scaling && noise && flags;
    if (!s->ok) return;
    report_to_numbers(gp, report);
    more_to_numbers(&gp->report, more);
    left_out_to_numbers(&gp->loo, left_out);
    for (size_t k = 0; k < t; k++) {
        scaling[2 * k] = gp->targets[k].shift;
        scaling[2 * k + 1] = gp->targets[k].scale;
    }
    memcpy(noise, gp->own, own * sizeof *noise);
    noise[own] = gp->jitter;
    for (size_t p = 0; p < params; p++) {
        flags[2 * p] = gp->held[p];
        flags[2 * p + 1] = gp->at_bound[p];
    }
    lth__saver_put_gaps(s, "report", REPORT_NUMBERS, 0, report);
    lth__saver_put(s, "report.more", LTH__F64, MORE_NUMBERS, 0, more);
    if (gp->report.loo) lth__saver_put_gaps(s, "report.left_out", LEFT_OUT_NUMBERS, 0, left_out);
    lth__saver_put(s, "nu", LTH__F64, 64, 0, gp->report.nu);
    lth__saver_put(s, "order_share", LTH__F64, 64, 0, gp->report.order_share);
    lth__saver_put(s, "scaling", LTH__F64, t, 2, scaling);
    lth__saver_put(s, "noise", LTH__F64, own + 1, 0, noise);
    lth__saver_put(s, "start", LTH__F64, params, 0, gp->start);
    lth__saver_put(s, "flags", LTH__U8, params, 2, flags);
    save_targets(s, gp);
    if (!gp->keeps_few) lth__gp_save_known(gp, s);
    save_steps(s, gp);
    save_kept(s, gp);
    lth__gp_uncertain_save(gp, s);
    lth__gp_sharpness_save(gp, s);
    if (s->ok) gp->posterior->save(gp, s);
}

static lth_status save(const lth_gp *gp, const lth__model_to *to, lth_error *err) {
    lth__saver s = lth__saver_open();
    if (s.ok) save_texts(&s, gp);
    if (s.ok) save_numbers(&s, gp);
    if (s.ok) lth__saver_put_vectors(&s, gp->encoder);
    if (s.ok) lth__saver_put_fields(&s, gp->encoder, gp->all ? gp->all : gp->items);
    return lth__saver_close(&s, to, err);
}

lth_status lth_gp_save(const lth_gp *gp, const char *path, lth_error *err) {
    lth__cluster *c = gp->ctx.cluster;
    lth_status status = LTH_OK;
    if (lth__cluster_reads(c)) status = save(gp, &(lth__model_to){.path = path}, err);
    return lth__cluster_agree(c, status, err);
}

lth_status lth_gp_save_to(const lth_gp *gp, lth_write_fn *write, void *user, lth_error *err) {
    if (gp->at_first_rank && !lth__cluster_reads(gp->ctx.cluster))
        return lth__fail(err, LTH_EUNSUPPORTED, "the first rank has the model's factor");
    return save(gp, &(lth__model_to){.write = write, .user = user}, err);
}

void lth__gp_save_known(const lth_gp *gp, lth__saver *s) {
    double **array;
    const char *name;
    for (size_t i = 0; (array = lth__known_at((lth__known *)&gp->known, i, &name)); i++) {
        if (*array) lth__saver_put(s, name, LTH__F64, gp->rows, 0, *array);
    }
}

/* ---- Loading ---- */

typedef struct loader {
    lth__loader in;
    lth_gp *gp;
} loader;

static lth_status load_targets(const loader *l) {
    lth_gp *gp = l->gp;
    char **names;
    size_t count;
    LTH_TRY(lth__loader_list(&l->in, "targets", 1, "it names no targets", &names, &count));
    gp->targets = lth__calloc(count, sizeof *gp->targets);
    if (gp->targets) gp->target_count = count;
    for (size_t t = 0; t < count; t++) {
        if (gp->targets)
            gp->targets[t].name = names[t];
        else
            lth__free(names[t]);
    }
    lth__free(names);
    return gp->targets ? LTH_OK : lth__fail_memory(l->in.err, 0);
}

static lth_status load_likelihood(const loader *l, bool labels) {
    lth_gp *gp = l->gp;
    const char *name = lth__tensors_text(l->in.file, "likelihood");
    const char *warp = lth__tensors_text(l->in.file, "warp");
    gp->likelihood = name ? lth__likelihood_find(name) : labels ? NULL : &lth__gaussian;
    gp->warp = warp ? lth__warp_find(warp) : NULL;
    if (!gp->likelihood || (gp->likelihood->of == LTH__OF_LABELS) != labels)
        return lth__loader_damaged(&l->in, "likelihood");
    bool warped = gp->likelihood == &lth__warped;
    return warped == (gp->warp != NULL) ? LTH_OK : lth__loader_damaged(&l->in, "warp");
}

static lth_status load_columns(const loader *l) {
    lth_gp *gp = l->gp;
    const char *const names[] = {"noise_by", "weights", "exposure"};
    char **const to[] = {&gp->noise_by, &gp->weights, &gp->exposure};
    const char *point = lth__tensors_text(l->in.file, "point");
    gp->point = point && strcmp(point, "median") == 0 ? LTH_POINT_MEDIAN : LTH_POINT_MEAN;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = lth__tensors_text(l->in.file, names[i]);
        if (!text) continue;
        *to[i] = lth__strndup(text, strlen(text));
        if (!*to[i]) return lth__fail_memory(l->in.err, 0);
    }
    return LTH_OK;
}

static lth_status load_grades(const loader *l) {
    lth_gp *gp = l->gp;
    const lth__tensor *t;
    if (gp->likelihood->of != LTH__OF_GRADES) return LTH_OK;
    LTH_TRY(lth__loader_get(&l->in, "grades", LTH__F64, 1, LTH_NONE, 0, &t));
    gp->grade_count = t->shape[0];
    if (gp->grade_count < 2 || gp->grade_count > LTH__MOST_GRADES)
        return lth__loader_damaged(&l->in, "grades");
    LTH_TRY(lth__loader_copy(&l->in, t, &gp->grades));
    for (size_t i = 1; i < gp->grade_count; i++) {
        if (!(gp->grades[i - 1] < gp->grades[i])) return lth__loader_damaged(&l->in, "grades");
    }
    return LTH_OK;
}

static lth_status load_bounds(const loader *l) {
    lth_gp *gp = l->gp;
    const lth__tensor *t;
    gp->lower = gp->upper = NAN;
    if (gp->likelihood != &lth__censored) return LTH_OK;
    LTH_TRY(lth__loader_get_gaps(&l->in, "bounds", 1, 2, 0, &t));
    const double *x = t->data;
    if (!(x[0] < x[1])) return lth__loader_damaged(&l->in, "bounds");
    if (isfinite(x[0])) gp->lower = x[0];
    if (isfinite(x[1])) gp->upper = x[1];
    return LTH_OK;
}

/* What targets other than plain numbers have. */
static lth_status load_more_of_targets(const loader *l) {
    lth_gp *gp = l->gp;
    const lth__tensor *t;
    LTH_TRY(load_bounds(l));
    if (gp->classes || gp->likelihood == &lth__gaussian) return LTH_OK;
    LTH_TRY(
        lth__loader_get(&l->in, "targets.more", LTH__F64, 2, gp->target_count, TARGET_NUMBERS, &t));
    for (size_t k = 0; k < gp->target_count; k++) {
        const double *x = (const double *)t->data + TARGET_NUMBERS * k;
        lth__target *of = &gp->targets[k];
        of->link = x[0];
        of->centre = x[1];
        of->spread = x[2];
        if (gp->warp && !(x[2] > 0)) return lth__loader_damaged(&l->in, "targets.more");
    }
    return LTH_OK;
}

static lth_status load_known(const loader *l) {
    lth_gp *gp = l->gp;
    const lth__tensor *t;
    double **to;
    const char *name;
    for (size_t i = 0; (to = lth__known_at(&gp->known, i, &name)); i++) {
        if (!lth__tensors_find(l->in.file, name)) continue;
        LTH_TRY(lth__loader_get(&l->in, name, LTH__F64, 1, gp->rows, 0, &t));
        LTH_TRY(lth__loader_copy(&l->in, t, to));
    }
    return LTH_OK;
}

static lth_status load_class_names(const loader *l, lth__classes *c) {
    const char *multi = lth__tensors_text(l->in.file, "multi");
    c->multi = multi && strcmp(multi, "yes") == 0;
    if (!c->multi && !(multi && strcmp(multi, "no") == 0))
        return lth__loader_damaged(&l->in, "multi");
    LTH_TRY(
        lth__loader_list(&l->in, "classes", 1, "it names no classes", &c->name, &c->class_count));
    for (size_t i = 1; i < c->class_count; i++) {
        if (strcmp(c->name[i - 1], c->name[i]) >= 0) return lth__loader_damaged(&l->in, "classes");
    }
    if (l->gp->target_count != 1 || (c->class_count == 1 && !c->multi))
        return lth__loader_damaged(&l->in, "classes");
    c->list = lth__calloc(c->class_count, sizeof *c->list);
    if (!c->list) return lth__fail_memory(l->in.err, 0);
    for (size_t i = 0; i < c->class_count; i++) c->list[i].name = c->name[i];
    return LTH_OK;
}

/* By its name; files of before have the exact one. */
static lth_status load_posterior(const loader *l) {
    const char *name = lth__tensors_text(l->in.file, "posterior");
    bool gaussian = lth__gp_is_gaussian(l->gp);
    for (int which = LTH_POSTERIOR_EXACT; which <= LTH_POSTERIOR_SITES; which++) {
        const lth__posterior *p = lth__gp_posterior(l->gp, (lth_posterior)which);
        bool others = which == LTH_POSTERIOR_LAPLACE || which == LTH_POSTERIOR_SITES;
        bool apt = l->gp->likelihood->coupled ? p == &lth__softmax_posterior || p == &lth__inducing
                                              : which != LTH_POSTERIOR_CG || gaussian;
        if (!apt || (others && gaussian) || (name && strcmp(name, p->name) != 0)) continue;
        l->gp->posterior = p;
        l->gp->report.posterior = lth__gp_posterior_number(l->gp);
        return LTH_OK;
    }
    return lth__loader_damaged(&l->in, "posterior");
}

/* Of the rows it has, or of those it was made from. */
static lth_status count_classes(const loader *l, lth__classes *c) {
    const lth__tensor *t;
    if (!lth__classes_count(c, l->gp->y, l->gp->rows)) return lth__loader_damaged(&l->in, "y");
    if (!lth__tensors_find(l->in.file, "class_rows")) return LTH_OK;
    LTH_TRY(lth__loader_get(&l->in, "class_rows", LTH__F64, 1, c->class_count, 0, &t));
    for (size_t i = 0; i < c->class_count; i++) {
        double rows = ((const double *)t->data)[i];
        if (!(rows >= 0 && rows <= 1e15)) return lth__loader_damaged(&l->in, "class_rows");
        c->list[i].rows = (size_t)rows;
    }
    return LTH_OK;
}

static lth_status load_classes(const loader *l) {
    lth_gp *gp = l->gp;
    lth__classes *c = gp->classes = lth__calloc(1, sizeof *c);
    if (!c) return lth__fail_memory(l->in.err, sizeof *c);
    LTH_TRY(load_class_names(l, c));
    gp->mean = &lth__mean_unknown;
    c->coupled = gp->likelihood->coupled;
    if (c->coupled && c->multi) return lth__loader_damaged(&l->in, "multi");
    gp->latents = lth__classes_latents(c);
    LTH_TRY(gp->posterior->load(gp, &l->in));
    return count_classes(l, c);
}

static lth_status load_solution(const loader *l) {
    lth_gp *gp = l->gp;
    bool labels = lth__tensors_text(l->in.file, "classes");
    LTH_TRY(load_likelihood(l, labels));
    LTH_TRY(load_columns(l));
    LTH_TRY(load_grades(l));
    LTH_TRY(lth__outputs_load_rank(gp, &l->in));
    LTH_TRY(load_posterior(l));
    lth__gp_list_own(gp);
    if (labels) return load_classes(l);
    /* targets[].shift says which constant */
    gp->mean = gp->likelihood->own_units ? &lth__mean_unknown : &lth__mean_constant;
    gp->latents = gp->target_count;
    return gp->posterior->load(gp, &l->in);
}

static bool is_possible(const lth_gp *gp, size_t i) {
    return gp->own_list[i].linear || gp->own[i] >= 0;
}

static lth_status load_numbers(const loader *l) {
    lth_gp *gp = l->gp;
    const lth__tensor *t;
    size_t params = lth__gp_param_count(gp), own = gp->own_count;
    LTH_TRY(lth__loader_get(&l->in, "start", LTH__F64, 1, params, 0, &t));
    LTH_TRY(lth__loader_copy(&l->in, t, &gp->start));
    LTH_TRY(lth__loader_get(&l->in, "scaling", LTH__F64, 2, gp->target_count, 2, &t));
    for (size_t k = 0; k < gp->target_count; k++) {
        gp->targets[k].shift = ((const double *)t->data)[2 * k];
        gp->targets[k].scale = ((const double *)t->data)[2 * k + 1];
        if (!(gp->targets[k].scale > 0)) return lth__loader_damaged(&l->in, "scaling");
    }
    LTH_TRY(lth__loader_get(&l->in, "noise", LTH__F64, 1, own + 1, 0, &t));
    memcpy(gp->own, t->data, own * sizeof *gp->own);
    gp->jitter = ((const double *)t->data)[own];
    bool good = gp->jitter >= 0 && gp->jitter <= 1;
    for (size_t i = 0; i < own; i++) good = good && is_possible(gp, i);
    if (gp->how.coregion > 0) good = good && gp->own[0] > 0 && gp->own[own - 1] > 0;
    if (gp->likelihood->own_units) good = good && gp->own[own - 1] > 0;
    return good ? LTH_OK : lth__loader_damaged(&l->in, "noise");
}

static lth_status load_report(const loader *l) {
    lth_gp *gp = l->gp;
    const lth__tensor *t;
    size_t params = lth__gp_param_count(gp);
    LTH_TRY(lth__loader_get_gaps(&l->in, "report", 1, REPORT_NUMBERS, 0, &t));
    if (!numbers_to_report(t->data, gp)) return lth__loader_damaged(&l->in, "report");
    gp->report.learned_rows = gp->report.rows;
    if (lth__tensors_find(l->in.file, "report.more")) { /* files of before do not have it */
        LTH_TRY(lth__loader_get(&l->in, "report.more", LTH__F64, 1, MORE_NUMBERS, 0, &t));
        if (!numbers_to_more(t->data, &gp->report) || gp->report.learned_rows > gp->report.rows)
            return lth__loader_damaged(&l->in, "report");
    }
    bool known = lth__tensors_find(l->in.file, "report.left_out") != NULL;
    if (known) LTH_TRY(lth__loader_get_gaps(&l->in, "report.left_out", 1, LEFT_OUT_NUMBERS, 0, &t));
    numbers_to_left_out(known ? t->data : NULL, &gp->loo);
    LTH_TRY(lth__loader_get(&l->in, "nu", LTH__F64, 1, 64, 0, &t));
    memcpy(gp->report.nu, t->data, sizeof gp->report.nu);
    LTH_TRY(lth__loader_get(&l->in, "order_share", LTH__F64, 1, 64, 0, &t));
    memcpy(gp->report.order_share, t->data, sizeof gp->report.order_share);
    LTH_TRY(lth__loader_get(&l->in, "flags", LTH__U8, 2, params, 2, &t));
    gp->held = lth__calloc(params, sizeof *gp->held);
    gp->at_bound = lth__calloc(params, sizeof *gp->at_bound);
    if (!gp->held || !gp->at_bound) return lth__fail_memory(l->in.err, 0);
    for (size_t p = 0; p < params; p++) {
        gp->held[p] = ((const uint8_t *)t->data)[2 * p] != 0;
        gp->at_bound[p] = ((const uint8_t *)t->data)[2 * p + 1] != 0;
    }
    return LTH_OK;
}

/* Files of before do not have them. */
static lth_status load_steps(const loader *l) {
    lth_gp *gp = l->gp;
    const lth__tensor *t;
    if (!lth__tensors_find(l->in.file, "steps")) return LTH_OK;
    LTH_TRY(lth__loader_get(&l->in, "steps", LTH__F64, 2, LTH_NONE, STEP_NUMBERS, &t));
    size_t count = t->shape[0];
    if (count > LTH__MOST_STEPS) return lth__loader_damaged(&l->in, "steps");
    gp->steps = lth__alloc(count, sizeof *gp->steps);
    if (!gp->steps) return lth__fail_memory(l->in.err, 0);
    for (size_t i = 0; i < count; i++) {
        const double *x = (const double *)t->data + i * STEP_NUMBERS;
        for (size_t k = 0; k < STEP_NUMBERS; k++) {
            bool is_count = k < 3;
            if (is_count && !(x[k] >= 0 && x[k] <= 1e15))
                return lth__loader_damaged(&l->in, "steps");
        }
        gp->steps[i] = (lth_gp_step){.start = (size_t)x[0],
                                     .iteration = (size_t)x[1],
                                     .evaluations = (size_t)x[2],
                                     .evidence = x[3],
                                     .gradient = x[4],
                                     .seconds = x[5]};
    }
    gp->step_count = count;
    return LTH_OK;
}

/* Its own, or all that it was made from and then those it keeps. */
static lth_status load_rows(loader *l) {
    lth_gp *gp = l->gp;
    const lth__tensor *t;
    if (!lth__tensors_find(l->in.file, "kept_rows"))
        return lth__loader_fields(&l->in, gp->rows, &gp->items);
    LTH_TRY(lth__loader_get(&l->in, "kept_rows", LTH__U64, 1, gp->rows, 0, &t));
    gp->kept = lth__alloc(gp->rows, sizeof *gp->kept);
    if (!gp->kept) return lth__fail_memory(l->in.err, gp->rows * sizeof *gp->kept);
    for (size_t i = 0; i < gp->rows; i++) {
        gp->kept[i] = ((const uint64_t *)t->data)[i];
        if (gp->kept[i] >= gp->report.rows) return lth__loader_damaged(&l->in, "kept_rows");
    }
    LTH_TRY(lth__loader_fields(&l->in, gp->report.rows, &gp->all));
    return lth__items_pick(gp->all, gp->kept, gp->rows, &gp->items, l->in.err);
}

static lth_status load_all(loader *l) {
    lth_gp *gp = l->gp;
    LTH_TRY(lth__loader_kernel(&l->in, &gp->ctx, "gp", "it is not a Gaussian process", &gp->kernel,
                               &gp->encoder));
    LTH_TRY(load_targets(l));
    LTH_TRY(load_solution(l));
    LTH_TRY(load_numbers(l));
    if (gp->posterior->restore) LTH_TRY(gp->posterior->restore(gp, l->in.err));
    LTH_TRY(load_more_of_targets(l));
    LTH_TRY(load_known(l));
    LTH_TRY(load_report(l));
    LTH_TRY(load_steps(l));
    LTH_TRY(lth__gp_uncertain_load(gp, &l->in));
    LTH_TRY(lth__gp_sharpness_load(gp, &l->in));
    LTH_TRY(load_rows(l));
    LTH_TRY(lth__gp_prepare(gp, l->in.err));
    return lth__gp_list(gp, l->in.err);
}

lth_status lth__gp_load(lth_ctx *ctx, lth__loader *in, lth_model **out) {
    loader l = {.in = *in, .gp = lth__calloc(1, sizeof *l.gp)};
    if (!l.gp) return lth__fail_memory(in->err, sizeof *l.gp);
    l.gp->base.kind = LTH__MODEL_GP;
    l.gp->ctx = *ctx;
    l.gp->ctx.quiet = true;
    lth_status status = load_all(&l);
    if (status == LTH_OK)
        *out = &l.gp->base;
    else
        lth_gp_free(l.gp);
    return status;
}

static lth_status read(lth_ctx *ctx, const lth__model_from *from, lth_gp **out, lth_error *err) {
    lth_model *model;
    LTH_TRY(lth__model_read(ctx, from, lth__gp_load, &model, err));
    *out = lth_model_gp(model);
    return LTH_OK;
}

lth_status lth_gp_load(lth_ctx *ctx, const char *path, lth_gp **out, lth_error *err) {
    return read(ctx, &(lth__model_from){.path = path}, out, err);
}

lth_status lth_gp_load_from(lth_ctx *ctx, const void *bytes, size_t size, lth_gp **out,
                            lth_error *err) {
    return read(ctx, &(lth__model_from){.bytes = bytes, .size = size}, out, err);
}

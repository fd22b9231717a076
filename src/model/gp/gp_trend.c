/* A kernel that is a sum may have terms that are linear in number columns, v sum_c x_c x'_c, as
 * linear(scale(zs)) or 2 * linear(f1..f17). Then f = sum_c w_c x_c + the rest, and the posterior of
 * each w_c is that of any other number whose covariances with f are known:
 *
 *     cov(w_c, f(a)) = v x_c(a)        var w_c = v
 */
#include "model/gp/gp_trend.h"

#include <math.h>
#include <string.h>

#include "data/table.h"
#include "kernel/feature/number_field.h"
#include "model/gp/gp_classes.h"

/* The columns of a field, whose weights have the prior variance v. */
typedef struct part {
    size_t field, width;
    double v;
} part;

typedef struct parts {
    part *at;
    size_t count, capacity, columns;
} parts;

/* ---- Finding them ---- */

static lth_status add_field(const lth_gp *gp, size_t field, double v, parts *out, lth_error *err) {
    for (size_t i = 0; i < out->count; i++) {
        if (out->at[i].field != field) continue;
        out->at[i].v += v;
        return LTH_OK;
    }
    if (!lth__reserve((void **)&out->at, &out->capacity, out->count + 1, sizeof *out->at))
        return lth__fail_memory(err, sizeof *out->at);
    size_t width = gp->items->fields[field].width;
    out->at[out->count++] = (part){field, width, v};
    out->columns += width;
    return LTH_OK;
}

/* The one input of a product that is no number, or NULL; its factor is all the others'. */
static const lth__node *only_factor(const lth_gp *gp, const lth__node *product, double *v) {
    const lth__node *only = NULL;
    for (size_t i = 0; i < product->input_count; i++) {
        const lth__node *input = product->inputs[i];
        bool number = input->family->rule == LTH__RULE_NUMBER;
        if (!number && only) return NULL;
        if (number)
            *v *= gp->kernel->params[input->first_param].value;
        else
            only = input;
    }
    return only;
}

static lth_status collect(const lth_gp *gp, const lth__node *node, double v, parts *out,
                          lth_error *err) {
    const lth__node *only = NULL;
    switch (node->family->rule) {
    case LTH__RULE_COLUMNS: return add_field(gp, node->field, v, out, err);
    case LTH__RULE_SCALE:
        only = node->inputs[0];
        v *= gp->kernel->params[node->first_param].value;
        break;
    case LTH__RULE_PRODUCT: only = only_factor(gp, node, &v); break;
    case LTH__RULE_SUM:
        for (size_t i = 0; i < node->input_count; i++)
            LTH_TRY(collect(gp, node->inputs[i], v, out, err));
        break;
    default: break;
    }
    return only ? collect(gp, only, v, out, err) : LTH_OK;
}

/* ---- Their weights ---- */

static const lth__moments *moments_of(const lth_gp *gp, const part *p) {
    return lth__moments_of(&gp->encoder->lexicons[p->field]);
}

/* As the kernel has it. */
static double number_at(const lth_gp *gp, const part *p, const lth_items *items, size_t item,
                        size_t column) {
    const lth__moments *m = moments_of(gp, p);
    double x = items->fields[p->field].numbers[item * p->width + column];
    return m ? lth__moments_scale(m, column, x) : x;
}

/* Of all columns, part by part: w_c = v sum_a u_a x_c(a), by the weights u of the rows. */
static lth_status weigh(const lth_gp *gp, const parts *all, size_t latent, double *w,
                        lth_error *err) {
    double *u = lth__alloc(gp->rows, sizeof *u);
    if (!u) return lth__fail_memory(err, gp->rows * sizeof *u);
    gp->posterior->weigh(gp, latent, u);
    for (size_t k = 0, at = 0; k < all->count; k++) {
        const part *p = &all->at[k];
        for (size_t c = 0; c < p->width; c++, at++) {
            w[at] = 0;
            for (size_t a = 0; a < gp->rows; a++) w[at] += u[a] * number_at(gp, p, gp->items, a, c);
            w[at] *= p->v * lth__gp_scale(gp);
        }
    }
    lth__free(u);
    return LTH_OK;
}

static lth_status vary_column(const lth_gp *gp, const part *p, size_t column, size_t latent,
                              double *room, double *variance, lth_error *err) {
    double prior = p->v * lth__gp_scale(gp), *mean = room + gp->rows, *all = mean + gp->latents;
    for (size_t a = 0; a < gp->rows; a++) room[a] = prior * number_at(gp, p, gp->items, a, column);
    lth_ctx ctx = gp->ctx;
    LTH_TRY(gp->posterior->predict(gp, &ctx, 1, room, &prior, mean, all, err));
    *variance = all[latent];
    return LTH_OK;
}

static lth_status vary(const lth_gp *gp, const parts *all, size_t latent, double *variance,
                       lth_error *err) {
    double *room = lth__alloc(gp->rows + 2 * gp->latents, sizeof *room);
    lth_status status = room ? LTH_OK : lth__fail_memory(err, gp->rows * sizeof *room);
    if (status == LTH_OK && gp->posterior->ready) status = gp->posterior->ready(gp, err);
    for (size_t k = 0, at = 0; k < all->count; k++) {
        for (size_t c = 0; c < all->at[k].width && status == LTH_OK; c++, at++)
            status = vary_column(gp, &all->at[k], c, latent, room, &variance[at], err);
    }
    lth__free(room);
    return status;
}

/* ---- Their values ---- */

static void add_up(const lth_gp *gp, const parts *all, const double *w, const lth_items *items,
                   double *out) {
    for (size_t i = 0; i < items->count; i++) {
        out[i] = 0;
        for (size_t k = 0, at = 0; k < all->count; k++) {
            for (size_t c = 0; c < all->at[k].width; c++, at++)
                out[i] += w[at] * number_at(gp, &all->at[k], items, i, c);
        }
    }
}

lth_status lth__gp_trend_at(const lth_gp *gp, size_t i, const lth_items *items, double *out,
                            lth_error *err) {
    parts all = {0};
    lth_status status = collect(gp, gp->kernel->root, 1, &all, err);
    double *w = lth__alloc(all.columns, sizeof *w);
    if (status == LTH_OK && !w) status = lth__fail_memory(err, all.columns * sizeof *w);
    if (status == LTH_OK) status = weigh(gp, &all, i, w, err);
    if (status == LTH_OK) add_up(gp, &all, w, items, out);
    for (size_t k = 0; status == LTH_OK && all.count == 0 && k < items->count; k++) out[k] = NAN;
    lth__free(w);
    lth__free(all.at);
    return status;
}

/* ---- Their share ---- */

/* Rows are compared with the model's: as many of them as that is soon done with. */
enum { MOST_PAIRS = 250000, LEAST_ROWS = 50 };

static lth_status pick_rows(const lth_gp *gp, lth_items **out, lth_error *err) {
    size_t count = MOST_PAIRS / gp->rows;
    if (count < LEAST_ROWS) count = LEAST_ROWS;
    if (count > gp->rows) count = gp->rows;
    size_t *row = lth__alloc(count, sizeof *row);
    if (!row) return lth__fail_memory(err, count * sizeof *row);
    for (size_t i = 0; i < count; i++) row[i] = i * gp->rows / count;
    lth_status status = lth__items_pick(gp->items, row, count, out, err);
    if (status == LTH_OK) (*out)->quiet = true;
    lth__free(row);
    return status;
}

/* f at these rows, but for a constant. */
static lth_status follow(const lth_gp *gp, size_t latent, const lth_items *items, double *f,
                         lth_error *err) {
    size_t n = gp->rows, cells = items->count * n;
    double *K = lth__alloc(cells + n, sizeof *K), *u = K + cells;
    if (!K) return lth__fail_memory(err, (cells + n) * sizeof *K);
    lth_status status = lth__gram_against(gp->prepared, items, K, n, NULL, err);
    if (status == LTH_OK) {
        lth__gp_prior(gp, K, cells);
        gp->posterior->weigh(gp, latent, u);
    }
    for (size_t i = 0; i < items->count && status == LTH_OK; i++) {
        f[i] = 0;
        for (size_t a = 0; a < n; a++) f[i] += u[a] * K[i * n + a];
    }
    lth__free(K);
    return status;
}

/* Covariance over variance: the shares of terms that make up f add up to 1. */
static double share_of(const double *trend, const double *f, size_t count) {
    double n = (double)count, mean_trend = 0, mean_f = 0, both = 0, square = 0;
    for (size_t i = 0; i < count; i++) mean_trend += trend[i] / n, mean_f += f[i] / n;
    for (size_t i = 0; i < count; i++) {
        both += (trend[i] - mean_trend) * (f[i] - mean_f);
        square += (f[i] - mean_f) * (f[i] - mean_f);
    }
    return square > 0 ? both / square : 0;
}

static lth_status find_share(const lth_gp *gp, const parts *all, size_t latent, const double *w,
                             double *share, lth_error *err) {
    lth_items *some = NULL;
    LTH_TRY(pick_rows(gp, &some, err));
    double *f = lth__alloc(2 * some->count, sizeof *f), *trend = f + some->count;
    lth_status status = f ? LTH_OK : lth__fail_memory(err, 2 * some->count * sizeof *f);
    if (status == LTH_OK) status = follow(gp, latent, some, f, err);
    if (status == LTH_OK) {
        add_up(gp, all, w, some, trend);
        *share = share_of(trend, f, some->count);
    }
    lth__free(f);
    lth_items_free(some);
    return status;
}

/* ---- The public face ---- */

struct lth_trend {
    lth__pool pool; /* of names */
    lth_trend_weight *weights;
    size_t count;
    double share;
};

size_t lth__gp_latent_of(const lth_gp *gp, size_t target, double *unit) {
    if (gp->classes) return lth__classes_latent_of(gp->classes, target, unit);
    *unit = lth__gp_has_own_units(gp) ? 1 : gp->targets[target].scale;
    return target;
}

/* Standard deviation over the rows that the model has. */
static double deviation_of(const lth_gp *gp, const part *p, size_t column) {
    const lth__moments *m = moments_of(gp, p);
    if (m) return m->sd[column];
    double n = (double)gp->rows, mean = 0, square = 0;
    for (size_t i = 0; i < gp->rows; i++) mean += number_at(gp, p, gp->items, i, column) / n;
    for (size_t i = 0; i < gp->rows; i++)
        square += pow(number_at(gp, p, gp->items, i, column) - mean, 2) / n;
    return sqrt(square);
}

static lth_status name_column(lth_trend *t, const lth_gp *gp, const part *p, size_t column,
                              const char **out, lth_error *err) {
    const char *written = gp->kernel->fields[p->field].column;
    lth__string name = {0};
    if (p->width > 1)
        lth__columns_name(written, column, &name);
    else
        lth__string_append(&name, written, strlen(written));
    *out = name.failed ? NULL : lth__pool_strndup(&t->pool, name.bytes, name.length);
    lth__string_free(&name);
    return *out ? LTH_OK : lth__fail_memory(err, 0);
}

static lth_status list_weights(lth_trend *t, const lth_gp *gp, const parts *all, double unit,
                               const double *w, const double *variance, lth_error *err) {
    t->weights = lth__calloc(all->columns, sizeof *t->weights);
    if (!t->weights) return lth__fail_memory(err, all->columns * sizeof *t->weights);
    for (size_t k = 0; k < all->count; k++) {
        const part *p = &all->at[k];
        for (size_t c = 0; c < p->width; c++) {
            size_t at = t->count++;
            lth_trend_weight *to = &t->weights[at];
            LTH_TRY(name_column(t, gp, p, c, &to->column, err));
            to->deviation = deviation_of(gp, p, c);
            double step = moments_of(gp, p) ? to->deviation : 1; /* of the weight, in the column */
            to->weight = step > 0 ? unit * w[at] / step : 0;
            to->sd = step > 0 ? fabs(unit) * sqrt(variance[at]) / step : NAN;
        }
    }
    return LTH_OK;
}

/* What takes others' rows or matrices is left out where ranks hold them together. */
static lth_status fill(lth_trend *t, const lth_gp *gp, const parts *all, size_t target,
                       lth_error *err) {
    double unit, *w = lth__alloc(2 * all->columns, sizeof *w), *variance = w + all->columns;
    if (!w) return lth__fail_memory(err, 2 * all->columns * sizeof *w);
    size_t latent = lth__gp_latent_of(gp, target, &unit);
    bool alone = !gp->ctx.cluster;
    for (size_t i = 0; i < all->columns; i++) variance[i] = NAN;
    lth_status status = weigh(gp, all, latent, w, err);
    if (status == LTH_OK && alone) status = vary(gp, all, latent, variance, err);
    if (status == LTH_OK && alone) status = find_share(gp, all, latent, w, &t->share, err);
    if (status == LTH_OK) status = list_weights(t, gp, all, unit, w, variance, err);
    lth__free(w);
    return status;
}

lth_status lth_gp_trend(const lth_gp *gp, size_t target, lth_trend **out, lth_error *err) {
    size_t targets = gp->classes ? gp->classes->class_count : gp->target_count;
    if (target >= targets)
        return lth__fail(err, LTH_EARG, "the model has %zu %s, and none with the number %zu",
                         targets, gp->classes ? "classes" : "targets", target);
    parts all = {0};
    lth_trend *t = lth__calloc(1, sizeof *t);
    lth_status status = t ? LTH_OK : lth__fail_memory(err, sizeof *t);
    if (status == LTH_OK) t->share = NAN;
    if (status == LTH_OK) status = collect(gp, gp->kernel->root, 1, &all, err);
    if (status == LTH_OK && all.columns > 0) status = fill(t, gp, &all, target, err);
    lth__free(all.at);
    if (status == LTH_OK)
        *out = t;
    else
        lth_trend_free(t);
    return status;
}

const lth_trend_weight *lth_trend_weight_at(const lth_trend *trend, size_t i) {
    return i < trend->count ? &trend->weights[i] : NULL;
}

double lth_trend_share(const lth_trend *trend) {
    return trend->share;
}

void lth_trend_free(lth_trend *trend) {
    if (!trend) return;
    lth__pool_free(&trend->pool);
    lth__free(trend->weights);
    lth__free(trend);
}

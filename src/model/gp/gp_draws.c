/* Draws of the parameters from the normal distribution around the end of a search, each with a
 * weight by its evidence.
 *
 * They come in pairs, z and -z, so that their mean is the end. What is outside of the bounds is
 * drawn anew: within them the normal distribution stays what it is, but for a factor that all
 * weights share. So log weight = -objective + |z|^2 / 2, up to a constant.
 */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "model/gp/gp_average.h"
#include "model/gp/gp_uncertain.h"

lth_status lth__draws_create(size_t count, size_t params, struct lth__draws **out, lth_error *err) {
    struct lth__draws *d = lth__calloc(1, sizeof *d);
    if (!d) return lth__fail_memory(err, sizeof *d);
    pthread_mutex_init(&d->lock, NULL);
    d->count = count;
    d->params = params;
    d->value = lth__calloc(count * params, sizeof *d->value);
    d->weight = lth__calloc(count, sizeof *d->weight);
    if (d->value && d->weight) {
        *out = d;
        return LTH_OK;
    }
    lth__draws_free(d);
    return lth__fail_memory(err, count * params * sizeof *d->value);
}

void lth__draws_free(struct lth__draws *d) {
    if (!d) return;
    lth__drawn_free(d->drawn);
    pthread_mutex_destroy(&d->lock);
    lth__free(d->value);
    lth__free(d->weight);
    lth__free(d->kept);
    lth__free(d);
}

/* ---- Weights ---- */

/* Weights to this power: returns 1 / the sum of their squares. */
static double temper(size_t count, const double *log_weight, double most, double power,
                     double *weight) {
    double sum = 0, square = 0;
    for (size_t i = 0; i < count; i++) {
        bool some = log_weight[i] > -INFINITY;
        weight[i] = some ? exp(power * (log_weight[i] - most)) : 0;
        sum += weight[i];
    }
    for (size_t i = 0; i < count; i++) {
        weight[i] /= sum;
        square += weight[i] * weight[i];
    }
    return 1 / square;
}

bool lth__weights_settle(size_t count, double *weight, double *effective) {
    double log_weight[LTH__MOST_DRAWS], most = -INFINITY;
    memcpy(log_weight, weight, count * sizeof *weight);
    for (size_t i = 0; i < count; i++) most = fmax(most, log_weight[i]);
    if (!isfinite(most)) return false;
    double raw = temper(count, log_weight, most, 1, weight), least = (double)count / 4;
    double lo = 0, hi = 1;
    *effective = raw;
    for (int step = 0; step < 40 && raw < least; step++) {
        double power = (lo + hi) / 2;
        *effective = temper(count, log_weight, most, power, weight);
        *(*effective < least ? &hi : &lo) = power;
    }
    return true;
}

/* ---- Draws ---- */

/* x at z; false = outside of the bounds. */
static bool place(const lth__variables *v, const lth__normal *n, const double *z, double *x) {
    bool inside = true;
    memcpy(x, n->end, v->count * sizeof *x);
    for (size_t i = 0; i < n->count; i++) {
        size_t of = n->variable[i];
        for (size_t d = 0; d < n->count; d++) x[of] += n->root[i * n->count + d] * z[d];
        if (x[of] < v->lo[of] || x[of] > v->hi[of]) inside = false;
        x[of] = fmin(fmax(x[of], v->lo[of]), v->hi[of]);
    }
    return inside;
}

/* The next z, and x within the bounds; the last of many tries is moved there. */
static void draw_point(const lth__variables *v, const lth__normal *n, bool mirror,
                       lth__random *random, double *z, double *x) {
    enum { MOST_TRIES = 100 };
    for (size_t i = 0; mirror && i < n->count; i++) z[i] = -z[i];
    if (mirror && place(v, n, z, x)) return;
    for (int try = 0; try < MOST_TRIES; try++) {
        for (size_t i = 0; i < n->count; i += 2) lth__random_normals(random, z + i);
        if (place(v, n, z, x)) return;
    }
}

static void write_values(const lth__variables *v, double *value) {
    for (size_t p = 0; p < lth__gp_param_count(v->gp); p++) value[p] = *lth__gp_value(v->gp, p);
}

/* `room`: z and x. */
static lth_status make_draws(const lth__variables *v, lth__gram *gram, const lth__normal *n,
                             double *room, struct lth__draws *d, bool *stopped, lth_error *err) {
    double *x = room, *z = room + v->count, f;
    lth__random random;
    lth__random_seed(&random, v->gp->ctx.options.seed);
    for (size_t s = 0; s < d->count && !*stopped; s++) {
        double square = 0;
        draw_point(v, n, s % 2 == 1, &random, z, x);
        v->gp->at_a_draw = true;
        lth_status status = lth__variables_objective(v, gram, x, &f, NULL, err);
        v->gp->at_a_draw = false;
        LTH_TRY(status);
        for (size_t i = 0; i < n->count; i++) square += n->still[i] ? 0 : z[i] * z[i];
        write_values(v, d->value + s * d->params);
        d->weight[s] = isfinite(f) ? square / 2 - f : -INFINITY;
        *stopped = !lth__gp_goes_on(v, 2 * n->count + s + 1);
    }
    return LTH_OK;
}

static void tell(const lth_gp *gp, const struct lth__draws *d, double raw) {
    if (raw < (double)d->count / 4)
        lth__log(&gp->ctx, LTH_LOG_WARNING,
                 "the posterior of the parameters is far from normal: %zu draws are worth %.1f; "
                 "their weights were made more alike",
                 d->count, raw);
}

/* What the weights would be worth as they are. */
static double worth(const struct lth__draws *d) {
    double room[LTH__MOST_DRAWS], most = -INFINITY;
    for (size_t i = 0; i < d->count; i++) most = fmax(most, d->weight[i]);
    return temper(d->count, d->weight, most, 1, room);
}

lth_status lth__gp_draw(const lth__variables *v, lth__gram *gram, const lth__normal *n,
                        bool *stopped, lth_error *err) {
    lth_gp *gp = v->gp;
    struct lth__draws *d = NULL;
    if (n->count == 0) return LTH_OK; /* all are held, or at a bound */
    LTH_TRY(lth__draws_create(v->options->average, lth__gp_param_count(gp), &d, err));
    double *room = lth__alloc(2 * v->count + 1, sizeof *room);
    lth_status status = room ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK) status = make_draws(v, gram, n, room, d, stopped, err);
    lth__free(room);
    double raw = status == LTH_OK && !*stopped ? worth(d) : 0;
    if (status == LTH_OK && !*stopped && !lth__weights_settle(d->count, d->weight, &d->effective))
        status = lth__fail(err, LTH_ENUMERIC, "no draw of the parameters has an evidence");
    if (status != LTH_OK || *stopped) {
        lth__draws_free(d);
        return status;
    }
    tell(gp, d, raw);
    lth__draws_free(gp->draws);
    gp->draws = d;
    return LTH_OK;
}

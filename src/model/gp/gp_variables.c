/* See gp_variables.h: the list of variables, and minus the evidence in them. */
#include "model/gp/gp_variables.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "engine/cluster.h"
#include "model/gp/gp_journal.h"

static double clamp(double x, double lo, double hi) {
    return x < lo ? lo : x > hi ? hi : x;
}

static double to_variable(const lth__variable *v, double value) {
    if (v->scale == LTH__AS_IT_IS) return clamp(value, v->lo, v->hi);
    if (value <= 0) return v->lo;
    return clamp(v->scale == LTH__BY_LOGIT ? log(value / (1 - value)) : log(value), v->lo, v->hi);
}

/* Within the bounds of the parameter, which the rounding of exp could leave. */
double lth__variable_value(const lth__variable *v, double x) {
    double value = v->scale == LTH__AS_IT_IS   ? x
                   : v->scale == LTH__BY_LOGIT ? 1 / (1 + exp(-x))
                                               : exp(x);
    return clamp(value, v->least, v->most);
}

/* d value / d x */
static double slope_of(const lth__variable *v, double value) {
    if (v->scale == LTH__AS_IT_IS) return 1;
    return v->scale == LTH__BY_LOGIT ? value * (1 - value) : value;
}

/* Values that a parameter may have: those of its family, and those of the expression. */
typedef struct limits {
    double family_lo, family_hi, lo, hi;
} limits;

static bool is_bounded(const limits *l) {
    return l->lo > l->family_lo || l->hi < l->family_hi;
}

static double logit(double value) {
    return log(value / (1 - value));
}

/* Bounds of the expression make the box smaller; how it is transformed is the family's. */
static lth__variable make_variable(size_t param, limits l, double value) {
    lth__variable v = {.param = param, .least = l.lo, .most = l.hi, .bounded = is_bounded(&l)};
    if (l.family_lo == 0 && l.family_hi == 1) {
        v.scale = LTH__BY_LOGIT;
        v.lo = l.lo > 0 ? logit(l.lo) : log(1e-6);
        v.hi = l.hi < 1 ? logit(l.hi) : log(0.999 / 0.001);
        /* Next to one of its ends, as far again. */
        if (l.lo == 0 && v.lo > v.hi - 1) v.lo = v.hi - 7;
        if (l.hi == 1 && v.hi < v.lo + 1) v.hi = v.lo + 7;
        return v;
    }
    /* Where the bounds are wide open: as far as matters around the start. */
    double centre = value > 0 ? log(value) : 0;
    v.lo = l.lo > 0 ? log(l.lo) : centre - 20;
    v.hi = log(l.hi);
    if (v.lo < centre - 20) v.lo = centre - 20;
    if (v.hi > centre + 15) v.hi = centre + 15;
    return v;
}

/* Whether "ssk.weights" or "ssk.weights[2]" means this path. */
static bool path_matches(const char *pattern, size_t length, const char *path) {
    return strncmp(pattern, path, length) == 0 && (path[length] == 0 || path[length] == '[');
}

static const char *path_at(const void *user, size_t i) {
    const lth_gp *gp = user;
    return i < lth__gp_param_count(gp) ? lth__gp_path(gp, i) : NULL;
}

static lth_status unknown_path(const lth_gp *gp, const char *option, const char *path,
                               lth_error *err) {
    const char *near = lth_nearest(path, path_at, gp);
    return lth__fail(err, LTH_EARG,
                     near ? "%s: there is no parameter \"%s\"; did you mean \"%s\"?"
                          : "%s: there is no parameter \"%s\"",
                     option, path, near);
}

static bool share_a_tag(const lth_kernel *kernel, size_t a, size_t b) {
    if (a == b) return true;
    if (a >= kernel->param_count || b >= kernel->param_count) return false;
    const char *tag = kernel->params[a].tag, *other = kernel->params[b].tag;
    return tag && other && strcmp(tag, other) == 0;
}

static bool is_tied(const lth_kernel *kernel, size_t param) {
    return param < kernel->param_count && kernel->params[param].tag;
}

/* Past the last that may share its tag with this one. */
static size_t end_of_tag(const lth_kernel *kernel, size_t param) {
    return is_tied(kernel, param) ? kernel->param_count : param + 1;
}

lth_status lth__gp_hold(lth_gp *gp, const lth_gp_options *options, lth_error *err) {
    for (size_t f = 0; f < options->fix_count; f++) {
        bool found = false;
        for (size_t p = 0; p < lth__gp_param_count(gp); p++) {
            const char *path = lth__gp_path(gp, p);
            if (!path_matches(options->fix[f], strlen(options->fix[f]), path)) continue;
            found = true;
            size_t first = is_tied(gp->kernel, p) ? 0 : p;
            for (size_t q = first; q < end_of_tag(gp->kernel, p); q++)
                gp->held[q] |= share_a_tag(gp->kernel, p, q);
        }
        if (!found) return unknown_path(gp, "fix", options->fix[f], err);
    }
    return LTH_OK;
}

/* Within the bounds of every parameter of the tag. */
static limits shared_limits(const lth_kernel *kernel, size_t param) {
    limits l = {-INFINITY, INFINITY, -INFINITY, INFINITY};
    for (size_t p = param; p < end_of_tag(kernel, param); p++) {
        const lth_param *at = &kernel->params[p];
        if (!share_a_tag(kernel, p, param)) continue;
        l.family_lo = fmax(l.family_lo, at->argument->lo);
        l.family_hi = fmin(l.family_hi, at->argument->hi);
        l.lo = fmax(l.lo, at->lo);
        l.hi = fmin(l.hi, at->hi);
    }
    return l;
}

/* "PATH=MEDIAN,SD" */
static lth_status apply_prior(lth__variables *s, const char *text, lth_error *err) {
    const char *equals = strchr(text, '='), *comma = equals ? strchr(equals, ',') : NULL;
    double median, sd;
    if (!comma || !lth__parse_double(equals + 1, (size_t)(comma - equals - 1), &median) ||
        !lth__parse_double(comma + 1, strlen(comma + 1), &sd) || !(median > 0 && sd > 0) ||
        !isfinite(median) || !isfinite(sd))
        return lth__fail(err, LTH_EARG, "prior \"%s\" is not PATH=MEDIAN,SD, both positive", text);
    const lth_kernel *kernel = s->gp->kernel;
    bool found = false;
    for (size_t p = 0; p < lth__gp_param_count(s->gp); p++) {
        if (!path_matches(text, (size_t)(equals - text), lth__gp_path(s->gp, p))) continue;
        found = true; /* but a held one has no lth__variable */
        if (p < kernel->param_count && kernel->params[p].lo < 0)
            return lth__fail(err, LTH_EARG,
                             "prior: %s may be negative, and a prior is one of the logarithm",
                             kernel->params[p].path);
        for (size_t i = 0; i < s->count; i++) {
            lth__variable *v = &s->list[i];
            if (!share_a_tag(kernel, p, v->param)) continue;
            if (p >= kernel->param_count && v->scale == LTH__AS_IT_IS)
                return lth__fail(err, LTH_EARG, "a prior is for parameters above 0, not for \"%s\"",
                                 lth__gp_path(s->gp, p));
            if (v->scale == LTH__AS_IT_IS) /* 0 has no place in this prior */
                *v = make_variable(v->param, shared_limits(kernel, v->param),
                                   kernel->params[v->param].value);
            v->prior_mean = log(median);
            v->prior_sd = sd;
        }
    }
    char path[80];
    size_t length =
        (size_t)(equals - text) < sizeof path - 1 ? (size_t)(equals - text) : sizeof path - 1;
    memcpy(path, text, length);
    path[length] = 0;
    return found ? LTH_OK : unknown_path(s->gp, "prior", path, err);
}

static bool leads_its_tag(const lth_kernel *kernel, size_t param) {
    for (size_t i = 0; is_tied(kernel, param) && i < param; i++) {
        if (share_a_tag(kernel, i, param)) return false;
    }
    return true;
}

static lth__variable shared_variable(const lth_kernel *kernel, size_t param) {
    limits l = shared_limits(kernel, param);
    if (kernel->origins[param].linear) {
        return (lth__variable){.param = param,
                               .scale = LTH__AS_IT_IS,
                               .least = l.lo,
                               .most = l.hi,
                               .lo = l.lo,
                               .hi = l.hi,
                               .bounded = is_bounded(&l)};
    }
    return make_variable(param, l, kernel->params[param].value);
}

/* The variance that the bounds of the model's own parameters are for: 1, unless targets are not
 * scaled. */
static double unit_of(const lth__variables *s) {
    const lth_gp *gp = s->gp;
    double square = 0;
    for (size_t i = 0; s->options->unscaled && i < gp->rows; i++) {
        for (size_t t = 0; t < gp->latents; t++) {
            double y = gp->y[t * gp->rows + i];
            square += y * y / (double)(gp->rows * gp->latents);
        }
    }
    return square > 0 ? square : 1;
}

static lth__variable own_variable(const lth__variables *s, size_t i) {
    const lth__own_param *p = &s->gp->own_list[i];
    double unit = p->variance ? unit_of(s) : 1;
    lth__variable v = {
        .param = s->gp->kernel->param_count + i, .least = -INFINITY, .most = INFINITY};
    if (p->linear) {
        v.scale = LTH__AS_IT_IS;
        v.lo = p->lo;
        v.hi = p->hi;
    } else {
        v.lo = log(p->lo * unit);
        v.hi = log(p->hi * unit);
    }
    return v;
}

lth_status lth__variables_list(lth_gp *gp, const lth_gp_options *options, lth__variables *s,
                               lth_error *err) {
    lth_kernel *kernel = gp->kernel;
    size_t most = lth__gp_param_count(gp);
    *s = (lth__variables){.gp = gp, .options = options};
    s->list = lth__alloc(most, sizeof *s->list);
    s->gradient = lth__calloc(most, sizeof *s->gradient);
    s->slope = lth__alloc(most, sizeof *s->slope);
    s->lo = lth__alloc(most, sizeof *s->lo);
    s->hi = lth__alloc(most, sizeof *s->hi);
    if (!s->list || !s->gradient || !s->slope || !s->lo || !s->hi) return lth__fail_memory(err, 0);
    for (size_t p = 0; p < kernel->param_count; p++) {
        if (s->gp->held[p] || !leads_its_tag(kernel, p)) continue;
        s->list[s->count++] = shared_variable(kernel, p);
    }
    for (size_t p = kernel->param_count; p < most; p++) {
        if (!s->gp->held[p]) s->list[s->count++] = own_variable(s, p - kernel->param_count);
    }
    for (size_t i = 0; i < s->options->prior_count; i++)
        LTH_TRY(apply_prior(s, s->options->prior[i], err));
    for (size_t i = 0; i < s->count; i++) {
        s->lo[i] = s->list[i].lo;
        s->hi[i] = s->list[i].hi;
    }
    return LTH_OK;
}

void lth__variables_free(lth__variables *s) {
    void *blocks[] = {s->list, s->gradient, s->slope, s->lo, s->hi};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    *s = (lth__variables){0};
}

bool lth__variables_moves(const lth__variables *s, size_t i, size_t param) {
    return share_a_tag(s->gp->kernel, s->list[i].param, param);
}

bool lth__variables_at_bound(const lth__variables *s, size_t i, double x) {
    return x <= s->lo[i] + 1e-6 || x >= s->hi[i] - 1e-6;
}

/* ---- From the optimiser's point to the model and back ---- */

void lth__variables_read(const lth__variables *s, double *x) {
    for (size_t i = 0; i < s->count; i++) {
        const lth__variable *v = &s->list[i];
        x[i] = to_variable(v, *lth__gp_value(s->gp, v->param));
    }
}

void lth__variables_write(const lth__variables *s, const double *x) {
    for (size_t i = 0; i < s->count; i++) {
        const lth__variable *v = &s->list[i];
        double value = lth__variable_value(v, x[i]);
        for (size_t p = v->param; p < end_of_tag(s->gp->kernel, v->param); p++) {
            if (share_a_tag(s->gp->kernel, p, v->param)) *lth__gp_value(s->gp, p) = value;
        }
    }
}

/* The derivative by a variable: all parameters of its tag together. */
static double chain(const lth__variables *s, const lth__variable *v, double value) {
    const lth_kernel *kernel = s->gp->kernel;
    double sum = s->gradient[v->param];
    for (size_t p = v->param + 1; p < end_of_tag(kernel, v->param); p++) {
        if (share_a_tag(kernel, p, v->param)) sum += s->gradient[p];
    }
    return sum * slope_of(v, value);
}

/* The priors that kernels have of their own; their slopes leave that of the evidence. */
static double subtract_penalties(const lth__variables *s) {
    const lth_kernel *kernel = s->gp->kernel;
    double sum = 0;
    memset(s->slope, 0, kernel->param_count * sizeof *s->slope);
    for (size_t n = 0; n < kernel->node_count; n++) {
        const lth__node *node = kernel->nodes[n];
        if (node->family->penalty) sum += node->family->penalty(node, kernel, s->slope);
    }
    for (size_t p = 0; p < kernel->param_count; p++) s->gradient[p] -= s->slope[p];
    return sum;
}

/* All ranks go the way of the first, also where their processors round otherwise. */
static lth_status share_evidence(const lth__variables *s, lth_status status, double *evidence,
                                 lth_error *err) {
    lth__cluster *c = s->gp->ctx.cluster;
    size_t params = lth__gp_param_count(s->gp);
    LTH_TRY(lth__cluster_share(c, status, 0, evidence, sizeof *evidence, err));
    return lth__cluster_share(c, LTH_OK, 0, s->gradient, params * sizeof *s->gradient, err);
}

/* What the priors that the caller gave add to f and g. */
static void add_priors(const lth__variables *s, const double *x, double *f, double *g) {
    for (size_t i = 0; i < s->count; i++) {
        const lth__variable *v = &s->list[i];
        if (v->prior_sd == 0) continue;
        double value = lth__variable_value(v, x[i]);
        double z = (log(value) - v->prior_mean) / v->prior_sd;
        *f += z * z / 2;
        if (g) g[i] += z / v->prior_sd * slope_of(v, value) / value;
    }
}

lth_status lth__variables_objective(const lth__variables *s, lth__gram *gram, const double *x,
                                    double *f, double *g, lth_error *err) {
    lth_gp *gp = s->gp;
    double evidence = 0;
    lth__variables_write(s, x);
    lth_status status =
        g ? lth__journal_evidence(gp->journal, gp, gram, &evidence, s->gradient, err)
          : lth__gp_evidence(gp, gram, &evidence, NULL, err);
    status = share_evidence(s, status, &evidence, err);
    if (status == LTH_ENUMERIC || (status == LTH_OK && !isfinite(evidence))) {
        *f = INFINITY;
        if (g) memset(g, 0, s->count * sizeof *g);
        return LTH_OK;
    }
    LTH_TRY(status);
    *f = subtract_penalties(s) - evidence;
    for (size_t i = 0; g && i < s->count; i++)
        g[i] = -chain(s, &s->list[i], lth__variable_value(&s->list[i], x[i]));
    add_priors(s, x, f, g);
    return LTH_OK;
}

/* Draws from the prior of a Gaussian process, and what a likelihood shows of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/common/linalg.h"
#include "model/gp/gp.h"

/* ---- The prior ---- */

/* The Cholesky factor of the Gram matrix with this jitter, relative to its mean diagonal, if it has
 * one. */
static lth_status factor_with(lth__gram *gram, double jitter, lth__matrix *L, bool *definite,
                              lth_error *err) {
    double trace, log_determinant;
    LTH_TRY(lth__matrix_gram(L, gram, err));
    LTH_TRY(lth__matrix_trace(L, &trace, err));
    LTH_TRY(L->table->add_diagonal(L, jitter * trace / (double)L->n, err));
    lth_status status = L->table->factor(L, &log_determinant, err);
    *definite = status == LTH_OK;
    return status == LTH_ENUMERIC ? LTH_OK : status;
}

/* A Gram matrix with equal rows is singular: the smallest jitter that bears the factor. */
static lth_status factor_prior(lth__gram *gram, lth__matrix *L, lth_error *err) {
    bool definite = false;
    for (double jitter = 0; !definite && jitter < 1e-3; jitter = jitter == 0 ? 1e-12 : jitter * 10)
        LTH_TRY(factor_with(gram, jitter, L, &definite, err));
    if (definite) return LTH_OK;
    return lth__fail(err, LTH_ENUMERIC,
                     "the kernel matrix is not positive definite, even with jitter");
}

/* The factor of the prior of f, packed. */
static lth_status make_prior(const lth_kernel *kernel, const lth_items *items, double **out,
                             lth_error *err) {
    lth__gram *gram;
    LTH_TRY(lth__gram_create(kernel, items, NULL, &gram, err));
    lth__gram_keep_nothing(gram);
    lth__matrix L = lth__matrix_beside(kernel->ctx, gram, items->count);
    lth_status status = factor_prior(gram, &L, err);
    if (status == LTH_OK) status = lth__matrix_take(&L, out, err);
    lth__matrix_free(&L);
    lth__gram_free(gram);
    return status;
}

/* ---- What is seen ---- */

typedef struct sampled {
    const lth__likelihood *likelihood;
    const lth__warp *warp; /* NULL = none */
    lth__terms terms;
    double mean; /* added to f */
    double own[LTH__MOST_OWN];
    const double *phi; /* of the warp */
} sampled;

/* At a row with this f, whose noise is so many times as large. */
static double see(const sampled *s, double f, double noise, lth__random *random) {
    lth__terms terms = s->terms;
    double own[LTH__MOST_OWN];
    if (noise != 1) {
        memcpy(own, s->own, sizeof own);
        own[0] *= noise;
        terms.theta = own;
    }
    double y = s->likelihood->draw(&terms, f + s->mean, random);
    return s->warp ? lth__warp_inverse(s->warp, s->phi, y) : y;
}

static void draw(const lth__packed *L, lth__random *random, double *z, double *f) {
    for (size_t i = 0; i < L->n; i += 2) lth__random_normals(random, z + i);
    for (size_t i = 0; i < L->n; i++) {
        const double *row = L->cells + lth__packed_row(L, i);
        f[i] = 0;
        for (size_t j = 0; j <= i; j++) f[i] += row[j] * z[j];
    }
}

/* The priors of f and, where noise is a function, of its logarithm, whose L has no cells where it
 * is not. `room` for both and as much again. */
static void draw_rows(const lth__packed *L, const lth__packed *noise, const sampled *s,
                      lth__random *random, double *room, double *y) {
    size_t n = L->n;
    double *f = room, *g = room + n, *z = room + 2 * n;
    draw(L, random, z, f);
    if (noise->cells) draw(noise, random, z, g);
    for (size_t i = 0; i < n; i++) y[i] = see(s, f[i], noise->cells ? exp(g[i]) : 1, random);
}

static lth_status check_drawn(const double *y, size_t count, lth_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(y[i]))
            return lth__fail(err, LTH_ENUMERIC,
                             "what was drawn for row %zu is not a finite number: take smaller "
                             "values of the kernel, the noise or the mean",
                             i + 1);
    }
    return LTH_OK;
}

static lth_status draw_all(const lth_kernel *kernel, const lth_items *items, const sampled *s,
                           size_t draws, double *y, lth_error *err) {
    lth__packed L = lth__packed_layout(items->count), noise = L;
    size_t matrix = lth__packed_bytes(L.n, sizeof *L.cells), room = 3 * L.n + 1;
    if (kernel->noise && !s->likelihood->has_noise)
        return lth__fail(err, LTH_EARG, "the likelihood %s has no noise that could be a function",
                         s->likelihood->name);
    LTH_TRY(lth__memory_check(kernel->noise ? 2 * matrix : matrix, "the Gram matrix",
                              "use fewer rows", err));
    double *z = lth__alloc(room, sizeof *z);
    lth_kernel of_noise = lth__kernel_of_noise(kernel);
    lth_status status = z ? LTH_OK : lth__fail_memory(err, room * sizeof *z);
    if (status == LTH_OK) status = make_prior(kernel, items, &L.cells, err);
    if (status == LTH_OK && kernel->noise) status = make_prior(&of_noise, items, &noise.cells, err);
    lth__random random;
    lth__random_seed(&random, kernel->ctx->options.seed);
    for (size_t d = 0; d < draws && status == LTH_OK; d++) {
        draw_rows(&L, &noise, s, &random, z, y + d * L.n);
        status = check_drawn(y + d * L.n, L.n, err);
    }
    lth__free(L.cells);
    lth__free(noise.cells);
    lth__free(z);
    return status;
}

lth_status lth_gp_sample(const lth_kernel *kernel, const lth_items *items, double noise,
                         size_t draws, double *y, lth_error *err) {
    sampled s = {.likelihood = &lth__gaussian, .own = {noise}};
    s.terms.theta = s.own;
    return draw_all(kernel, items, &s, draws, y, err);
}

/* ---- Parameters by their names ---- */

void lth_gp_sample_options_init(lth_gp_sample_options *options) {
    *options = (lth_gp_sample_options){
        .size = sizeof *options, .likelihood = LTH_GAUSSIAN, .lower = NAN, .upper = NAN};
}

/* A parameter, or one for each gap between grades, and where its values go. */
typedef struct named {
    const lth__own_param *param;
    double *to;
    size_t count;
} named;

enum { MOST_NAMED = LTH__LIKELIHOOD_PARAMS + LTH__WARP_PARAMS + 1 };
static const lth__own_param of_mean = {.path = "mean", .lo = -1e3, .hi = 1e3, .linear = true};
enum { GAPS = 3 }; /* where nothing is said: five grades */

/* "gap=1,1,0.5" has three. */
static size_t count_values(const char *text) {
    size_t count = 1;
    for (; *text; text++) count += *text == ',';
    return count;
}

/* What is set for that name, after "NAME="; NULL = nothing. */
static const char *find_set(const lth_gp_sample_options *o, const char *name) {
    size_t length = strlen(name);
    for (size_t i = o->set_count; i-- > 0;) {
        if (strncmp(o->set[i], name, length) == 0 && o->set[i][length] == '=')
            return o->set[i] + length + 1;
    }
    return NULL;
}

static size_t list_params(const lth__own_param *from, size_t most, double **to,
                          const lth_gp_sample_options *o, named *out) {
    size_t count = 0;
    for (size_t i = 0; i < most && from[i].path[0]; i++) {
        const char *set = find_set(o, from[i].path);
        size_t values = from[i].by_grade ? (set ? count_values(set) : GAPS) : 1;
        out[count++] = (named){&from[i], *to, values};
        *to += values < LTH__MOST_GRADES ? values : LTH__MOST_GRADES;
    }
    return count;
}

static lth_status fail_name(const char *set, const named *list, size_t count, lth_error *err) {
    char names[256] = "";
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", i > 0 ? ", " : "",
                 list[i].param->path);
    }
    return lth__fail(err, LTH_EARG, "there is no \"%.*s\" to set here; there is %s",
                     (int)strcspn(set, "="), set, names);
}

static lth_status check_names(const lth_gp_sample_options *o, const named *list, size_t count,
                              lth_error *err) {
    for (size_t i = 0; i < o->set_count; i++) {
        size_t k = 0, length = strcspn(o->set[i], "=");
        while (k < count && (strlen(list[k].param->path) != length ||
                             memcmp(list[k].param->path, o->set[i], length) != 0))
            k++;
        if (k == count) return fail_name(o->set[i], list, count, err);
    }
    return LTH_OK;
}

static lth_status read_values(const named *of, const char *text, lth_error *err) {
    const lth__own_param *p = of->param;
    if (of->count > LTH__MOST_GRADES - 2)
        return lth__fail(err, LTH_EARG, "\"%s\" has more than %d values", p->path,
                         LTH__MOST_GRADES - 2);
    for (size_t i = 0; i < of->count; i++) {
        size_t length = text ? strcspn(text, ",") : 0;
        double value = p->start;
        if (text && !(lth__parse_double(text, length, &value) && isfinite(value)))
            return lth__fail(err, LTH_EARG, "\"%s\" wants numbers, not \"%s\"", p->path, text);
        bool least = p->variance ? value >= 0 : p->linear || value > 0;
        if (!least)
            return lth__fail(err, LTH_EARG, "\"%s\" is %g, which is %s 0", p->path, value,
                             p->variance ? "below" : "not above");
        of->to[i] = value;
        if (text) text += length + (text[length] == ',');
        if (text && !*text && i + 1 < of->count)
            return lth__fail(err, LTH_EARG, "\"%s\" wants a number after every comma", p->path);
    }
    if (text && *text) return lth__fail(err, LTH_EARG, "\"%s\" wants one number", p->path);
    return LTH_OK;
}

static lth_status read_params(const lth_gp_sample_options *o, sampled *s, lth_error *err) {
    named list[MOST_NAMED];
    double *to = s->own;
    size_t count = list_params(s->likelihood->params, LTH__LIKELIHOOD_PARAMS, &to, o, list);
    size_t gaps = count > 0 && list[0].param->by_grade ? list[0].count : 0;
    s->terms.grades = s->likelihood->of == LTH__OF_GRADES ? gaps + 2 : 0;
    s->phi = to;
    if (s->warp) count += list_params(s->warp->params, LTH__WARP_PARAMS, &to, o, list + count);
    list[count++] = (named){&of_mean, &s->mean, 1};
    LTH_TRY(check_names(o, list, count, err));
    for (size_t i = 0; i < count; i++)
        LTH_TRY(read_values(&list[i], find_set(o, list[i].param->path), err));
    return LTH_OK;
}

lth_status lth_gp_sample_as(const lth_kernel *kernel, const lth_items *items,
                            const lth_gp_sample_options *given, size_t draws, double *y,
                            lth_error *err) {
    lth_gp_sample_options o;
    lth_gp_sample_options_init(&o);
    if (given) lth__copy_struct(&o, sizeof o, given, given->size);
    sampled s = {.likelihood = lth__likelihood_of(o.likelihood, true)};
    if (!s.likelihood) return lth__fail(err, LTH_EARG, "there is no such likelihood");
    if (!s.likelihood->draw)
        return lth__fail(err, LTH_EARG,
                         "the likelihood %s has several functions a row, and no draws of one",
                         s.likelihood->name);
    LTH_TRY(lth__gp_check_shape(s.likelihood, o.warp, o.lower, o.upper, err));
    if (s.likelihood == &lth__warped) s.warp = lth__warp_find(o.warp ? o.warp : "log");
    s.terms = (lth__terms){.theta = s.own,
                           .lower = isnan(o.lower) ? -INFINITY : o.lower,
                           .upper = isnan(o.upper) ? INFINITY : o.upper};
    LTH_TRY(read_params(&o, &s, err));
    return draw_all(kernel, items, &s, draws, y, err);
}

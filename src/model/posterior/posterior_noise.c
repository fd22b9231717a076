/* The posterior of a model whose noise is a function (noise.h). */
#include <math.h>
#include <string.h>

#include "model/posterior/noise.h"
#include "model/posterior/sites.h"

lth_gp *lth__gp_noise_model(const lth_gp *gp) {
    const lth__site_model *s = gp->posterior == &lth__noisy ? gp->solution : NULL;
    return s && s->noise ? &s->noise->of : NULL;
}

void lth__noise_free(lth__noise *n) {
    if (!n) return;
    lth__site_model_free(n->of.solution); /* its matrices may lie beside the Gram matrix */
    lth__gram_free(n->gram);
    lth__prepared_free(n->of.prepared);
    lth__free(n->of.known.offset);
    lth__free(n->of.y);
    lth__free(n->ratio);
    lth__free(n);
}

void lth__noise_follow(const lth_gp *gp) {
    lth_gp *g = lth__gp_noise_model(gp);
    if (!g) return;
    g->items = gp->items;
    g->encoder = gp->encoder;
    g->targets = gp->targets;
    g->own[0] = gp->own[0];
    g->jitter = gp->jitter;
    g->known.weight = gp->known.weight;
}

/* ---- Room ---- */

/* How many times the noise a row has without g, as a logarithm: less where it was repeated. */
static lth_status take_repeats(const lth_gp *gp, lth_gp *g, lth_error *err) {
    if (!gp->known.ratio) return LTH_OK;
    g->known.offset = lth__alloc(gp->rows, sizeof *g->known.offset);
    if (!g->known.offset) return lth__fail_memory(err, gp->rows * sizeof *g->known.offset);
    for (size_t i = 0; i < gp->rows; i++) g->known.offset[i] = log(gp->known.ratio[i]);
    return LTH_OK;
}

/* Beside the solution of f; what it borrows is put there by lth__noise_follow(). */
static lth_status create(lth_gp *gp, lth_error *err) {
    lth__site_model *s = gp->solution;
    lth__noise *n = s->noise = lth__calloc(1, sizeof *n);
    if (!n) return lth__fail_memory(err, sizeof *n);
    n->kernel = lth__kernel_of_noise(gp->kernel);
    n->of = (lth_gp){.base = gp->base,
                     .ctx = gp->ctx,
                     .kernel = &n->kernel,
                     .borrowed = true,
                     .rows = gp->rows,
                     .latents = 1,
                     .target_count = 1,
                     .lower = NAN,
                     .upper = NAN,
                     .mean = &lth__mean_zero,
                     .likelihood = &lth__spread,
                     .posterior = &lth__sites_posterior,
                     .only_predicts = true};
    lth__gp_list_own(&n->of);
    lth__noise_follow(gp);
    n->of.y = lth__calloc(gp->rows, sizeof *n->of.y);
    n->ratio = lth__calloc(gp->rows, sizeof *n->ratio);
    return n->of.y && n->ratio ? LTH_OK : lth__fail_memory(err, 2 * gp->rows * sizeof *n->ratio);
}

static lth_status open(lth_gp *gp, lth_error *err) {
    LTH_TRY(lth__site_model_open(gp, err));
    LTH_TRY(create(gp, err));
    lth_gp *g = lth__gp_noise_model(gp);
    LTH_TRY(take_repeats(gp, g, err));
    return g->posterior->open(g, err);
}

/* Those of f and of g. */
static size_t bytes(const lth_gp *gp) {
    size_t of_f = lth__site_model_bytes(gp);
    return of_f > SIZE_MAX / 2 ? SIZE_MAX : 2 * of_f;
}

static double *carried(const lth_gp *gp, size_t *count) {
    const lth_gp *g = lth__gp_noise_model(gp);
    return g->posterior->carried(g, count);
}

/* ---- Evidence ---- */

/* Both problems, while sites are searched for. */
typedef struct both {
    const lth_gp *gp;
    const lth__matrix *K; /* of f */
    lth__sites f, g;
    double *ratio, *spread; /* of the noise of each row, as f sees it; s */
} both;

/* What the bound has of f beside E log p, which that of g has: -KL(q(f)). */
static double without_log_p(const both *b) {
    double rest = b->f.evidence;
    for (size_t i = 0; i < b->K->n; i++)
        rest -= lth__seen_expect(&b->f.seen, i, b->f.f[i], b->f.variance[i]).value;
    return rest;
}

static lth_status look(void *user, double *evidence, lth_error *err) {
    both *b = user;
    const double *repeats = b->gp->known.ratio;
    for (size_t i = 0; i < b->K->n; i++)
        b->ratio[i] = exp(b->g.f[i] - 0.5 * b->g.variance[i]) * (repeats ? repeats[i] : 1);
    LTH_TRY(lth__sites_find(&b->f, b->K, err));
    for (size_t i = 0; i < b->K->n; i++) {
        double left = b->f.seen.y[i] - b->f.f[i];
        b->spread[i] = left * left + b->f.variance[i];
    }
    *evidence += without_log_p(b);
    return LTH_OK;
}

/* The sites of both, and unless `by_params` is NULL their weights. */
static lth_status find(both *b, lth__site_model *f, lth__site_model *g, double *out,
                       double *by_params, lth_error *err) {
    double once[LTH__MOST_OWN] = {0};
    LTH_TRY(lth__sites_find(&b->g, &g->K, err));
    *out = b->g.evidence;
    if (!by_params) return LTH_OK;
    LTH_TRY(lth__sites_weights(&b->f, b->K, &f->M, once, err)); /* E log p is that of g */
    return lth__sites_weights(&b->g, &g->K, &g->M, by_params, err);
}

/* Room for what a search needs: of f the sites, and the variances of both. */
enum { ROOM = 4 };

static both problem_of(const lth_gp *gp, double *room, bool learns) {
    lth__site_model *s = gp->solution;
    lth_gp *noise = &s->noise->of;
    size_t n = gp->rows;
    lth__known known = gp->known;
    known.ratio = s->noise->ratio;
    return (both){.gp = gp,
                  .K = &s->K,
                  .ratio = s->noise->ratio,
                  .spread = noise->y,
                  .f = {.seen = lth__gp_seen_with(gp, 0, &known),
                        .l = room,
                        .D = room + n,
                        .a = s->a,
                        .f = s->f,
                        .variance = room + 2 * n,
                        .root_d = s->root_w,
                        .L = &s->B},
                  .g = lth__sites_of(noise, 0, room + 3 * n, learns)};
}

static lth_status of_both(const lth_gp *gp, size_t latent, double *out, double *by_params,
                          lth_error *err) {
    (void)latent;
    lth__site_model *s = gp->solution, *of_noise = s->noise->of.solution;
    double *room = lth__alloc(ROOM * gp->rows, sizeof *room);
    if (!room) return lth__fail_memory(err, ROOM * gp->rows * sizeof *room);
    both b = problem_of(gp, room, by_params != NULL);
    b.g.look = look;
    b.g.user = &b;
    lth_status status = find(&b, s, of_noise, out, by_params, err);
    lth__site_factor_free(&b.f.factor);
    lth__site_factor_free(&b.g.factor);
    lth__free(room);
    return status;
}

/* The covariances of g, and room for their weights. */
static lth_status begin_noise(lth__noise *n, bool learns, lth_error *err) {
    lth_gp *g = &n->of;
    if (!n->gram) LTH_TRY(lth__gram_create(&n->kernel, g->items, NULL, &n->gram, err));
    return lth__site_model_begin(g, n->gram, learns, err);
}

/* Of the kernel of g, where that of f has no parameters. */
static lth_status pull_noise(const lth_gp *gp, const lth__noise *n, double *gradient,
                             lth_error *err) {
    size_t params = gp->kernel->param_count;
    lth__site_model *s = n->of.solution;
    double *by = lth__calloc(params + 1, sizeof *by);
    if (!by) return lth__fail_memory(err, params * sizeof *by);
    lth_status status = lth__matrix_pull(&s->M, n->gram, by, err);
    for (size_t p = 0; p < params; p++) gradient[p] += by[p];
    lth__free(by);
    return status;
}

static lth_status evidence(lth_gp *gp, lth__gram *gram, double *out, double *gradient,
                           lth_error *err) {
    const lth__site_model *s = gp->solution;
    lth__noise_follow(gp);
    LTH_TRY(begin_noise(s->noise, gradient != NULL, err));
    LTH_TRY(lth__site_model_evidence(gp, gram, of_both, out, gradient, err));
    if (!gradient) return LTH_OK;
    lth__gp_warp_pull(gp, s->a, 1, gradient);
    return pull_noise(gp, s->noise, gradient, err);
}

/* ---- Afterwards ---- */

/* g first: what f says of rows left out needs it. */
static lth_status settle(lth_gp *gp, lth_error *err) {
    const lth__site_model *s = gp->solution;
    LTH_TRY(lth__site_model_settle(&s->noise->of, err));
    lth__gram_free(s->noise->gram);
    s->noise->gram = NULL;
    return lth__site_model_settle(gp, err);
}

static lth_status ready(const lth_gp *gp, lth_error *err) {
    LTH_TRY(lth__site_model_ready(gp, err));
    return lth__site_model_ready(lth__gp_noise_model(gp), err);
}

/* ---- In a file ---- */

static void save(const lth_gp *gp, lth__saver *s) {
    const lth__site_model *g = lth__gp_noise_model(gp)->solution;
    lth__site_model_save(gp, s);
    lth__saver_put(s, "noise.alpha", LTH__F64, 1, gp->rows, g->a);
    lth__saver_put(s, "noise.root_w", LTH__F64, 1, gp->rows, g->root_w);
}

static lth_status load(lth_gp *gp, const lth__loader *l) {
    if (!gp->kernel->noise || gp->latents != 1) return lth__loader_damaged(l, "kernel");
    LTH_TRY(lth__site_model_load(gp, l));
    LTH_TRY(create(gp, l->err));
    return lth__site_model_load_sites(lth__gp_noise_model(gp), l, "noise.alpha", "noise.root_w");
}

const lth__posterior lth__noisy = {.name = "noise",
                                   .approximate = true,
                                   .open = open,
                                   .free = lth__site_model_free,
                                   .bytes = bytes,
                                   .evidence = evidence,
                                   .carried = carried,
                                   .settle = settle,
                                   .ready = ready,
                                   .predict = lth__site_model_predict,
                                   .join = lth__site_model_join,
                                   .weigh = lth__site_model_weigh,
                                   .leave_one_out = lth__site_model_leave_one_out,
                                   .save = save,
                                   .load = load};

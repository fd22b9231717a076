/* How a fit of so many rows will be done: by which posterior, learned from how many rows, and what
 * that takes.
 *
 * Nothing here depends on a clock or on the number of threads: the same rows on a machine with the
 * same memory are fitted in the same way.
 */
#include <math.h>
#include <stdint.h>

#include "base/clock.h"
#include "engine/cluster.h"
#include "engine/device.h"
#include "kernel/core/store.h"
#include "model/common/linalg.h"
#include "model/common/quadratic.h"
#include "model/gp/gp_classes.h"

/* Unless the caller says how many rows to learn from: all, where that is an hour's work of one core
 * that does 4e10 operations and 4e9 cell-orders a second, 100 evaluations with their gradients;
 * else as many as take it ten minutes. */
static const double most_seconds = 3600, fewer_seconds = 600;
static const double evaluations = 100, flops = 4e10, cell_orders = 4e9;
static const double gradient_cost = 4;   /* value and pull-back, in values */
static const double site_steps = 12;     /* of a latent function's sites: 5 to 11 were seen */
static const double device_speed = 1000; /* a GPU beside such a core */
enum { LEAST_LEARN_ROWS = 500, MOST_LAPLACE_ROWS = 10000 };

const lth__posterior *lth__gp_posterior(const lth_gp *gp, lth_posterior which) {
    if (gp->how.coregion > 0) return &lth__coregional;
    if (which == LTH_POSTERIOR_CG) return &lth__cg;
    if (which == LTH_POSTERIOR_INDUCING) return &lth__inducing;
    if (gp->kernel->noise) return &lth__noisy;
    if (gp->likelihood->coupled && which != LTH_POSTERIOR_SITES) return &lth__softmax_posterior;
    if (which == LTH_POSTERIOR_LAPLACE) return &lth__laplace_posterior;
    if (which == LTH_POSTERIOR_SITES) return &lth__sites_posterior;
    if (lth__gp_is_gaussian(gp)) return &lth__exact;
    return gp->likelihood->by_sites ? &lth__sites_posterior : &lth__laplace_posterior;
}

/* Laplace's approximation is told as the exact posterior where it is what that comes to. */
lth_posterior lth__gp_posterior_number(const lth_gp *gp) {
    int which = LTH_POSTERIOR_EXACT;
    if (gp->posterior == &lth__sites_posterior) return LTH_POSTERIOR_SITES;
    while (lth__gp_posterior(gp, (lth_posterior)which) != gp->posterior) which++;
    return (lth_posterior)which;
}

/* ---- What it takes ---- */

static double bytes_of(const lth_gp *gp, lth_posterior which, size_t rows, lth_precision store,
                       bool on_disk) {
    lth_gp asked = {.kernel = gp->kernel,
                    .rows = rows,
                    .latents = gp->latents,
                    .likelihood = gp->likelihood,
                    .how = gp->how};
    asked.how.store = store;
    asked.how.on_disk = on_disk;
    return (double)lth__gp_posterior(gp, which)->bytes(&asked);
}

static double cell_orders_of_pair(const lth_gp *gp) {
    double n = (double)gp->rows;
    return 2 * lth_gram_cell_orders(gp->kernel, gp->items, NULL) / (n * (n + 1));
}

static bool is_on_device(const lth_gp *gp) {
    return gp->ctx.gpu && gp->ctx.gpu->gpus > 0;
}

/* Of the host, where models end up, and of the device that keeps their matrix while they learn. */
static double available_to(const lth_gp *gp) {
    size_t host = lth__memory_available(), device = SIZE_MAX, total;
    char name[8];
    if (is_on_device(gp)) {
        lth__gpu *gpu = gp->ctx.gpu;
        lth__device_enter(gpu);
        gpu->table->describe(gpu->handle[0], name, sizeof name, &device, &total);
        lth__device_leave(gpu);
    }
    size_t least = host < device ? host : device;
    return least == SIZE_MAX ? INFINITY : (double)least;
}

/* Factors and inverses of an evaluation: Newton's method takes several, and so do sites. Products
 * of classes that are coupled come to as much again. */
static double problems_of(const lth_gp *gp) {
    bool whole = gp->how.known_cells == (double)gp->latents;
    if (gp->how.coregion > 0)
        return whole ? (double)gp->how.coregion + 1 : pow(gp->how.known_cells, 3);
    if (gp->likelihood->coupled) return 12 * (double)gp->latents;
    if (gp->kernel->noise) return 16;
    return lth__gp_is_gaussian(gp) ? 1 : 4 * (double)gp->latents;
}

/* Nominal seconds of a search on n rows. */
static double learning_time(const lth_gp *gp, double of_pair, double n) {
    double problems = problems_of(gp), values = of_pair * n * n / 2 / cell_orders;
    double seconds = evaluations * (problems * n * n * n / flops + gradient_cost * values);
    return is_on_device(gp) ? seconds / device_speed : seconds;
}

/* Passes of inducing rows over all others, of 2 N M^2 operations each: one, or as many as sites of
 * labels take steps; and all of a search by a bound. */
static double passes_of(const lth_gp *gp) {
    double steps = lth__gp_is_gaussian(gp) ? 1 : site_steps * (double)gp->latents;
    return gp->how.bound == LTH_BOUND_NONE ? steps : evaluations * (steps + 2);
}

/* Steps of conjugate gradients, which grow with the rows (55 to 114 were seen at 8,000 to 32,000);
 * those of probes are less exact. Then the passes over the matrix, with those for a preconditioner
 * and its span. */
static double steps_of(const lth_gp *gp) {
    return 25 * pow((double)gp->rows / 1000, 0.4);
}

static const double probe_steps = 0.4; /* of the others */

static double passes_of_cg(const lth_gp *gp) {
    enum { FIRST = 60 };
    return steps_of(gp) * (1 + probe_steps * ceil((double)gp->how.probes / LTH__PROBE_BATCH)) +
           FIRST;
}

/* ---- The choice ---- */

/* With what its own tiles leave unused, and the strips that are on their way. */
size_t lth__gp_matrix_bytes(const lth_gp *gp) {
    const lth__cluster *c = gp->ctx.cluster;
    size_t whole = lth__packed_bytes(gp->rows, sizeof(double));
    if (!c || !lth__cluster_deals(gp->rows) || whole == SIZE_MAX) return whole;
    return whole / c->at.size / 100 * 115;
}

/* An eighth of the rows, where these passes do not take such a core more than ten minutes. */
size_t lth__gp_default_inducing(const lth_gp *gp) {
    enum { LEAST = 1000, MOST = 4000, STEP = 250 };
    double n = (double)gp->rows, affordable = sqrt(fewer_seconds * flops / (2 * n * passes_of(gp)));
    double m = fmin(fmin(n / 8, affordable), MOST);
    return m > LEAST ? (size_t)(m / STEP) * STEP : LEAST;
}

static bool fits(const lth_gp *gp, lth_posterior which, size_t rows, lth_precision store,
                 double available) {
    return bytes_of(gp, which, rows, store, false) <= 0.9 * available;
}

/* A matrix on disk may stay there; without a word it does where memory is too small. */
static bool stays_on_disk(const lth_gp *gp, const lth_gp_options *options,
                          const lth_gp_plan *plan) {
    if (plan->posterior != LTH_POSTERIOR_CG || !gp->items->stored) return false;
    return options->on_disk || !fits(gp, LTH_POSTERIOR_CG, gp->rows, plan->store, plan->available);
}

static void choose_posterior(const lth_gp *gp, const lth_gp_options *options, lth_gp_plan *plan) {
    bool factors = !lth__gp_is_gaussian(gp); /* for each step of a search for the mode */
    plan->posterior = options->posterior;
    plan->store = options->store;
    if (plan->posterior != LTH_POSTERIOR_AUTO) return;
    if (gp->how.coregion > 0) {
        plan->posterior = LTH_POSTERIOR_EXACT;
        return;
    }
    bool exact = fits(gp, LTH_POSTERIOR_EXACT, gp->rows, plan->store, plan->available);
    if (exact && !(factors && gp->rows > MOST_LAPLACE_ROWS)) {
        plan->posterior = LTH_POSTERIOR_EXACT;
    } else if (!factors && (gp->items->stored ||
                            fits(gp, LTH_POSTERIOR_CG, gp->rows, LTH_F32, plan->available))) {
        plan->posterior = LTH_POSTERIOR_CG;
        plan->store = LTH_F32;
    } else {
        plan->posterior = LTH_POSTERIOR_INDUCING;
    }
}

/* In two digits. */
static size_t choose_learn_rows(const lth_gp *gp, const lth_gp_plan *plan) {
    double n = (double)gp->rows, of_pair = cell_orders_of_pair(gp);
    double budget = learning_time(gp, of_pair, n) > most_seconds ? fewer_seconds : most_seconds;
    while (n > LEAST_LEARN_ROWS && learning_time(gp, of_pair, n) > budget) n *= 0.98;
    while (n > 1 && !fits(gp, LTH_POSTERIOR_EXACT, (size_t)n, LTH_F64, plan->available)) n *= 0.98;
    if ((size_t)n >= gp->rows) return gp->rows;
    double unit = pow(10, floor(log10(n)) - 1);
    return (size_t)(floor(n / unit) * unit);
}

static void choose(const lth_gp *gp, const lth_gp_options *options, lth_gp_plan *plan) {
    *plan = (lth_gp_plan){.rows = gp->rows, .available = available_to(gp)};
    choose_posterior(gp, options, plan);
    plan->on_disk = stays_on_disk(gp, options, plan);
    plan->learn_rows = options->learn_rows ? options->learn_rows : choose_learn_rows(gp, plan);
    if (plan->learn_rows > gp->rows) plan->learn_rows = gp->rows;
    if (plan->posterior == LTH_POSTERIOR_INDUCING)
        plan->inducing = gp->how.inducing < gp->rows ? gp->how.inducing : gp->rows;
}

/* Of all rows, and not exact. */
static bool is_by_sites(lth_posterior which) {
    return which == LTH_POSTERIOR_LAPLACE || which == LTH_POSTERIOR_SITES;
}

/* What a kernel of the noise goes with. */
static lth_status check_noise(const lth_gp *gp, const lth_gp_plan *plan, lth_error *err) {
    const lth__likelihood *l = gp->likelihood;
    const char *not =
        l != &lth__gaussian && l != &lth__warped ? "another likelihood than gaussian and warped"
        : gp->how.coregion > 0                   ? "coregion"
        : gp->target_count > 1                   ? "several targets: fit a model for each"
        : gp->known.added   ? "known variances of the noise; 1/COL, a number of repeats, does"
        : gp->items->stored ? "a matrix on disk"
        : plan->posterior == LTH_POSTERIOR_CG || plan->posterior == LTH_POSTERIOR_INDUCING
            ? "the posteriors cg and inducing; take fewer rows (learn-rows, where)"
        : plan->posterior == LTH_POSTERIOR_LAPLACE ? "Laplace's approximation"
                                                   : NULL;
    return not ? lth__fail(err, LTH_EARG, "a kernel of the noise does not go with %s", not )
               : LTH_OK;
}

static lth_status check(const lth_gp *gp, const lth_gp_options *options, const lth_gp_plan *plan,
                        lth_error *err) {
    bool gaussian = lth__gp_is_gaussian(gp);
    if (gp->kernel->noise) LTH_TRY(check_noise(gp, plan, err));
    const lth__posterior *taken = lth__gp_posterior(gp, plan->posterior);
    if (gp->likelihood->coupled && taken != &lth__softmax_posterior && taken != &lth__inducing)
        return lth__fail(err, LTH_EARG, "softmax takes the exact or the inducing posterior");
    if (gaussian && is_by_sites(plan->posterior))
        return lth__fail(
            err, LTH_EARG,
            "with normal noise of one variance the posterior is exact already: laplace "
            "and sites are for other likelihoods");
    if (!gaussian && plan->posterior == LTH_POSTERIOR_CG)
        return lth__fail(err, LTH_EARG,
                         gp->classes ? "conjugate gradients are for numbers; for labels take the "
                                       "exact or the inducing posterior"
                                     : "conjugate gradients are for normal noise of one variance; "
                                       "take the exact or the inducing posterior");
    if (options->on_disk && plan->posterior != LTH_POSTERIOR_CG)
        return lth__fail(err, LTH_EARG,
                         "a matrix stays on disk for conjugate gradients only: posterior cg");
    if (options->on_disk && !gp->items->stored)
        return lth__fail(err, LTH_EARG, "there is no matrix on disk: name one with gram");
    if (options->bound != LTH_BOUND_NONE && plan->posterior != LTH_POSTERIOR_INDUCING)
        return lth__fail(err, LTH_EARG, "a bound is learned with the inducing posterior only");
    if (options->bound == LTH_BOUND_FITC && !gaussian)
        return lth__fail(err, LTH_EARG,
                         gp->classes
                             ? "the bound fitc is for numbers; labels take titsias"
                             : "the bound fitc is for normal noise of one variance; take titsias");
    return LTH_OK;
}

static void fill_costs(const lth_gp *gp, lth_gp_plan *plan) {
    double n = (double)plan->rows, learn = (double)plan->learn_rows, m = (double)plan->inducing;
    double of_pair = cell_orders_of_pair(gp), whole = n * (n + 1) / 2;
    bool few = plan->posterior == LTH_POSTERIOR_INDUCING, reads = gp->items->stored;
    plan->learn_bytes = bytes_of(gp, LTH_POSTERIOR_EXACT, plan->learn_rows, LTH_F64, false);
    plan->bytes = bytes_of(gp, plan->posterior, plan->rows, plan->store, plan->on_disk);
    plan->learn_pairs = reads ? 0 : learn * (learn + 1) / 2;
    plan->pairs = few ? n * m : reads ? 0 : whole; /* with few rows all others are compared */
    plan->learn_read = lth__items_stored_bytes(gp->items, plan->learn_rows);
    plan->read = lth__items_stored_bytes(gp->items, few ? plan->inducing : plan->rows);
    if (plan->on_disk) plan->read *= passes_of_cg(gp);
    plan->learn_cell_orders = of_pair * plan->learn_pairs;
    plan->cell_orders = of_pair * plan->pairs;
}

lth_status lth__gp_plan(const lth_gp *gp, const lth_gp_options *options, lth_gp_plan *plan,
                        lth_error *err) {
    choose(gp, options, plan);
    LTH_TRY(check(gp, options, plan, err));
    fill_costs(gp, plan);
    return LTH_OK;
}

bool lth__gp_learns_at_once(const lth_gp_plan *plan) {
    bool all = plan->posterior == LTH_POSTERIOR_EXACT || is_by_sites(plan->posterior);
    return all && plan->learn_rows == plan->rows;
}

/* ---- Before the work ---- */

static const char *const names[] = {"auto",          "exact",   "conjugate gradients",
                                    "inducing rows", "laplace", "sites"};

static void tell(const lth_gp *gp, const lth_gp_options *options, const lth_gp_plan *plan,
                 bool learns) {
    lth_ctx *ctx = (lth_ctx *)&gp->ctx;
    char needed[16], left[16];
    if (options->posterior == LTH_POSTERIOR_AUTO && plan->posterior != LTH_POSTERIOR_EXACT) {
        double exact = bytes_of(gp, LTH_POSTERIOR_EXACT, gp->rows, LTH_F64, false);
        lth__print_size(exact, needed);
        lth__print_size(plan->available, left);
        lth__log(ctx, LTH_LOG_WARNING,
                 "the exact posterior of %zu rows needs %s, %s are available%s: taking %s",
                 gp->rows, needed, left, lth__gp_is_gaussian(gp) ? "" : ", and many factors",
                 plan->on_disk ? "conjugate gradients over the matrix on disk"
                               : names[plan->posterior]);
    }
    if (learns && !options->learn_rows && plan->learn_rows < gp->rows)
        lth__log(ctx, LTH_LOG_WARNING,
                 "parameters are learned from %zu of the %zu rows; learn-rows says from how many",
                 plan->learn_rows, gp->rows);
}

/* What the likelihood and the targets leave to choose from. */
static const char *advice_for(const lth_gp *gp) {
    if (gp->how.coregion > 0)
        return "use fewer rows (--where), a long table with coregion(task) and "
               "--inducing, or a machine with more memory";
    if (!lth__gp_is_gaussian(gp))
        return "use fewer rows (--where, --learn-rows, --inducing), --posterior inducing, or a "
               "machine with more memory";
    return "use fewer rows (--where, --learn-rows, --inducing), --posterior cg or inducing, or a "
           "machine with more memory";
}

static lth_status check_memory(const lth_gp *gp, double bytes, const char *what, lth_error *err) {
    size_t whole = bytes < 1e18 ? (size_t)bytes : SIZE_MAX;
    return lth__memory_check(whole, what, advice_for(gp), err);
}

lth_status lth__gp_plan_check(const lth_gp *gp, const lth_gp_options *options,
                              const lth_gp_plan *plan, bool learns, lth_error *err) {
    static const char *const whats[] = {"",
                                        "an exact Gaussian process on that many rows",
                                        "the matrix of that many rows",
                                        "a Gaussian process with that many inducing rows",
                                        "Laplace's approximation for that many rows",
                                        "sites of that many rows"};
    if (learns) LTH_TRY(check_memory(gp, plan->learn_bytes, "learning from that many rows", err));
    LTH_TRY(check_memory(gp, plan->bytes, whats[plan->posterior], err));
    tell(gp, options, plan, learns);
    return LTH_OK;
}

/* ---- Of a table ---- */

/* Seconds for a value of the kernel, for a value with its gradient, for a byte that is read in
 * their place, and for an operation of the algebra, on all threads. */
typedef struct rates {
    double value, gradient, byte, operation;
} rates;

/* The first of several times is that of a cold start: libraries are loaded, memory is new. */
enum { ROUNDS = 3 };

static lth_status time_kernel(const lth_gp *gp, rates *r, lth_error *err) {
    enum { MOST = 256 };
    size_t n = gp->rows < MOST ? gp->rows : MOST, *row = lth__alloc(n, sizeof *row);
    double *K = lth__calloc(n * n + 1, sizeof *K);
    double *gradient = lth__alloc(gp->kernel->param_count + 1, sizeof *gradient);
    lth_items *some = NULL;
    lth_status status = row && K && gradient ? LTH_OK : lth__fail_memory(err, n * n * sizeof *K);
    if (status == LTH_OK) status = lth__gp_draw_rows(gp, n, row, err);
    if (status == LTH_OK) status = lth__items_pick(gp->items, row, n, &some, err);
    if (status == LTH_OK) {
        some->quiet = true;
        lth__items_unstore(some);
    }
    double pairs = (double)n * (double)(n + 1) / 2, value = INFINITY, pull = INFINITY;
    for (int round = 0; round < ROUNDS && status == LTH_OK; round++) {
        double began = lth__seconds();
        status = lth_gram(gp->kernel, some, NULL, K, n, err);
        value = fmin(value, lth__seconds() - began);
        began = lth__seconds();
        if (status == LTH_OK) status = lth_gram_pull(gp->kernel, some, NULL, K, n, gradient, err);
        pull = fmin(pull, lth__seconds() - began);
    }
    r->value = value / pairs;
    r->gradient = r->value + pull / pairs;
    lth_items_free(some);
    lth__free(row);
    lth__free(K);
    lth__free(gradient);
    return status;
}

/* By one tile. */
static lth_status time_reading(const lth_gp *gp, rates *r, lth_error *err) {
    double value, began = lth__seconds();
    LTH_TRY(lth_store_read(gp->items->stored, 0, 1, 0, 1, &value, 1, err));
    r->byte = (lth__seconds() - began) / lth__items_stored_bytes(gp->items, 1);
    return LTH_OK;
}

static lth_status time_algebra(const lth_gp *gp, rates *r, lth_error *err) {
    enum { N = 768 };
    lth_ctx ctx = gp->ctx;
    double *A = lth__calloc((size_t)N * N, sizeof *A);
    if (!A) return lth__fail_memory(err, (size_t)N * N * sizeof *A);
    for (size_t i = 0; i < N; i++) A[i * N + i] = 1; /* its own factor */
    double seconds = INFINITY;
    lth_status status = LTH_OK;
    for (int round = 0; round < ROUNDS && status == LTH_OK; round++) {
        double began = lth__seconds();
        status = lth__cholesky(&ctx, N, A, err);
        seconds = fmin(seconds, lth__seconds() - began);
    }
    r->operation = seconds * 3 / ((double)N * N * N);
    lth__free(A);
    return status;
}

static void estimate(const lth_gp *gp, const rates *r, lth_gp_plan *plan) {
    double n = (double)plan->rows, learn = (double)plan->learn_rows, m = (double)plan->inducing;
    double problems = problems_of(gp);
    double algebra = problems * n * n * n; /* factor and inverse */
    if (plan->posterior == LTH_POSTERIOR_CG)
        algebra =
            steps_of(gp) * 2 * n * n * (probe_steps * (double)gp->how.probes + (double)gp->latents);
    if (plan->posterior == LTH_POSTERIOR_INDUCING) algebra = (2 * passes_of(gp) + 1) * n * m * m;
    plan->learn_seconds =
        evaluations * (problems * learn * learn * learn * r->operation +
                       plan->learn_pairs * r->gradient + plan->learn_read * r->byte);
    plan->seconds = plan->pairs * r->value + plan->read * r->byte + algebra * r->operation;
}

/* EXACT is another one where that is none. */
static const char *name_of(const lth_gp *gp, lth_posterior which) {
    const lth__posterior *p = lth__gp_posterior(gp, which);
    return p == &lth__softmax_posterior ? "softmax" : p->name;
}

static lth_status plan_model(const lth_gp *gp, const lth_gp_options *options, lth_gp_plan *plan,
                             lth_error *err) {
    rates r = {0};
    LTH_TRY(lth__gp_plan(gp, options, plan, err));
    if (plan->pairs > 0) LTH_TRY(time_kernel(gp, &r, err));
    if (plan->read > 0) LTH_TRY(time_reading(gp, &r, err));
    LTH_TRY(time_algebra(gp, &r, err));
    estimate(gp, &r, plan);
    if (!options->learn) plan->learn_seconds = 0;
    plan->name = name_of(gp, plan->posterior);
    return LTH_OK;
}

lth_status lth_gp_plan_fit(lth_ctx *ctx, const char *expression, const lth_table *table,
                           const char *const *targets, size_t target_count,
                           const lth_gp_options *given, lth_gp_plan *out, size_t size,
                           lth_error *err) {
    lth_gp_options options = lth__gp_options_complete(given);
    lth__source s;
    lth_gp *gp = NULL;
    lth_gp_plan plan;
    char *whole = NULL;
    if (target_count == 0) return lth__fail(err, LTH_EARG, "no target column is named");
    LTH_TRY(lth__gp_expression(ctx, expression, &options, &whole, err));
    lth_status status = lth__source_open(&s, ctx, whole, table, lth__gp_files(&options), err);
    lth__free(whole);
    if (status == LTH_OK)
        status = lth__gp_begin(&s, table, targets, target_count, &options, &gp, err);
    if (status == LTH_OK) status = plan_model(gp, &options, &plan, err);
    if (status == LTH_OK) lth__copy_struct(out, size, &plan, sizeof plan);
    lth_gp_free(gp);
    lth__source_close(&s);
    return status;
}

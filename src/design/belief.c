/* What is believed of some rows together.
 *
 * When a row j is measured, with noise v, the covariances of all rows become C - u u^T, u = C_j /
 * sqrt(C_jj + v); as it comes out as expected, means stay. Of these steps only u is kept, and the
 * column C_j that the next one needs is made from all of them.
 *
 * Draws are mean + L z, C = L L^T, with as little jitter as it takes.
 */
#include "design/belief.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "model/common/linalg.h"

/* ---- Making it ---- */

static void free_picked(lth_items **picked, size_t count) {
    for (size_t m = 0; picked && m < count; m++) lth_items_free(picked[m]);
    lth__free(picked);
}

/* The rows of one model, then those that are pending. */
static lth_status pick(const lth__candidates *c, size_t model, const size_t *row, size_t count,
                       lth_items **out, lth_error *err) {
    lth_items *some = NULL;
    LTH_TRY(lth__items_pick(c->items[model], row, count, &some, err));
    if (c->pending_count == 0) {
        *out = some;
        return LTH_OK;
    }
    lth_status status = lth__items_join(some, c->pending[model], out, err);
    lth_items_free(some);
    return status;
}

static lth_status check_memory(double cells, lth_error *err) {
    double bytes = cells * sizeof(double);
    return lth__memory_check(bytes < 1e18 ? (size_t)bytes : SIZE_MAX,
                             "the joint posterior of the shortlist", "take a shorter one", err);
}

static size_t most_latents(const lth__problem *p) {
    size_t most = 0;
    for (size_t m = 0; m < p->model_count; m++) {
        const lth_gp *gp = lth_model_gp(p->models[m]);
        if (gp && lth_gp_latents(gp) > most) most = lth_gp_latents(gp);
    }
    return most;
}

static lth_status join(lth__belief *b, const lth__candidates *c, const size_t *row, size_t count,
                       lth_error *err) {
    size_t models = c->model_count;
    lth_items **picked = lth__calloc(models, sizeof *picked);
    lth_status status = picked ? LTH_OK : lth__fail_memory(err, 0);
    for (size_t m = 0; m < models && status == LTH_OK; m++)
        status = pick(c, m, row, count, &picked[m], err);
    if (status == LTH_OK)
        status = lth__problem_join(b->problem, picked, b->mean, b->covariance, err);
    free_picked(picked, models);
    return status;
}

lth_status lth__belief_open(const lth__problem *p, const lth__candidates *c, const size_t *row,
                            size_t count, lth__belief *out, lth_error *err) {
    size_t functions = lth__problem_functions(p), rows = count + c->pending_count;
    *out = (lth__belief){
        .problem = p, .ctx = lth__problem_ctx(c), .functions = functions, .rows = rows};
    LTH_TRY(
        check_memory((double)rows * (double)rows * (double)(functions + most_latents(p) + 1), err));
    out->mean = lth__alloc(functions * rows, sizeof *out->mean);
    out->variance = lth__alloc(functions * rows, sizeof *out->variance);
    out->covariance = lth__alloc(functions * rows * rows, sizeof *out->covariance);
    if (!out->mean || !out->variance || !out->covariance)
        return lth__fail_memory(err, functions * rows * rows * sizeof *out->covariance);
    LTH_TRY(join(out, c, row, count, err));
    for (size_t i = 0; i < functions * rows; i++)
        out->variance[i] = fmax(out->covariance[i * rows + i % rows], 0);
    for (size_t i = 0; i < c->pending_count; i++) LTH_TRY(lth__belief_learn(out, count + i, err));
    return LTH_OK;
}

void lth__belief_free(lth__belief *b) {
    lth__free(b->mean);
    lth__free(b->variance);
    lth__free(b->covariance);
    lth__free(b->steps);
    *b = (lth__belief){0};
}

/* ---- Learning ---- */

/* u of one function. */
static void learn_function(const lth__belief *b, size_t function, size_t row, double *u) {
    size_t n = b->rows, place = function * n;
    const double *column = b->covariance + (place + row) * n;
    double noise = lth__problem_noise(b->problem, function, b->mean[place + row]);
    double own = b->variance[place + row] + noise;
    memcpy(u, column, n * sizeof *u);
    for (size_t k = 0; k < b->step_count; k++) {
        const double *before = b->steps + k * b->functions * n + place;
        double by = before[row];
        for (size_t i = 0; i < n; i++) u[i] -= by * before[i];
    }
    double factor = own > 0 ? 1 / sqrt(own) : 0;
    for (size_t i = 0; i < n; i++) {
        u[i] *= factor;
        b->variance[place + i] = fmax(b->variance[place + i] - u[i] * u[i], 0);
    }
}

lth_status lth__belief_learn(lth__belief *b, size_t row, lth_error *err) {
    size_t cells = b->functions * b->rows, need = (b->step_count + 1) * cells;
    LTH_TRY(lth__parallel_ask(b->ctx));
    if (!lth__reserve((void **)&b->steps, &b->step_capacity, need, sizeof *b->steps))
        return lth__fail_memory(err, need * sizeof *b->steps);
    for (size_t f = 0; f < b->functions; f++)
        learn_function(b, f, row, b->steps + b->step_count * cells + f * b->rows);
    b->step_count++;
    return LTH_OK;
}

/* ---- Drawing ---- */

/* The covariances of one function as they are now, of the first rows. */
static void fill_now(const lth__belief *b, size_t function, size_t count, double jitter,
                     double *A) {
    size_t n = b->rows, place = function * n;
    double trace = 0;
    for (size_t i = 0; i < count; i++) {
        double *to = A + i * count;
        memcpy(to, b->covariance + (place + i) * n, (i + 1) * sizeof *to);
        for (size_t k = 0; k < b->step_count; k++) {
            const double *u = b->steps + k * b->functions * n + place;
            double by = u[i];
            for (size_t j = 0; j <= i; j++) to[j] -= by * u[j];
        }
        trace += to[i];
    }
    for (size_t i = 0; i < count; i++) A[i * count + i] += jitter * trace / (double)count;
}

static lth_status factor(const lth__belief *b, size_t function, size_t count, double *A,
                         lth_error *err) {
    lth_status status = LTH_ENUMERIC;
    for (double jitter = 0; status == LTH_ENUMERIC && jitter < 1e-2;
         jitter = jitter == 0 ? 1e-12 : jitter * 10) {
        fill_now(b, function, count, jitter, A);
        status = lth__cholesky(b->ctx, count, A, err);
    }
    if (status == LTH_ENUMERIC)
        return lth__fail(err, LTH_ENUMERIC,
                         "the covariances of the shortlist are not positive definite, even with "
                         "jitter");
    LTH_TRY(status);
    for (size_t i = 0; i < count; i++)
        memset(A + i * count + i + 1, 0, (count - i - 1) * sizeof *A);
    return LTH_OK;
}

enum { PIECE = 64 };

typedef struct draw_job {
    const lth__blas *blas;
    size_t count, draws;
    const double *L, *z; /* z [draw][row] */
    double *out;         /* likewise      */
} draw_job;

/* Some draws: z L^T. */
static lth_status draw_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const draw_job *j = user;
    size_t n = j->count, first = index * PIECE;
    size_t some = j->draws - first < PIECE ? j->draws - first : PIECE;
    j->blas->gemm_nt(some, n, n, 1, j->z + first * n, n, j->L, n, 0, j->out + first * n, n);
    return LTH_OK;
}

static bool is_certain(const lth__belief *b, size_t function, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (b->variance[function * b->rows + i] > 0) return false;
    }
    return true;
}

static lth_status draw_function(const lth__belief *b, size_t function, lth__random *random,
                                size_t draws, size_t count, double *A, double *z, double *out,
                                lth_error *err) {
    const lth__blas *blas;
    LTH_TRY(lth__blas_get(&blas, err));
    for (size_t i = 0; i < draws * count; i++) z[i] = lth__random_normal(random);
    memset(out, 0, draws * count * sizeof *out);
    if (!is_certain(b, function, count)) {
        LTH_TRY(factor(b, function, count, A, err));
        draw_job j = {.blas = blas, .count = count, .draws = draws, .L = A, .z = z, .out = out};
        LTH_TRY(lth__parallel_for(b->ctx, NULL, (draws + PIECE - 1) / PIECE, NULL, draw_piece, &j,
                                  err));
    }
    for (size_t i = 0; i < draws * count; i++) out[i] += b->mean[function * b->rows + i % count];
    return LTH_OK;
}

lth_status lth__belief_draw(lth__belief *b, uint64_t seed, size_t draws, size_t count, double *out,
                            lth_error *err) {
    LTH_TRY(check_memory((double)count * (double)(count + draws), err));
    double *A = lth__alloc(count * count, sizeof *A);
    double *z = lth__alloc(draws * count, sizeof *z);
    lth_status status =
        A && z ? LTH_OK : lth__fail_memory(err, (count + draws) * count * sizeof *A);
    lth__random random;
    lth__random_seed(&random, seed);
    for (size_t f = 0; f < b->functions && status == LTH_OK && count > 0; f++)
        status = draw_function(b, f, &random, draws, count, A, z, out + f * draws * count, err);
    lth__free(A);
    lth__free(z);
    return status;
}

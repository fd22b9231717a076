/* One problem of two classes, or of numbers, solved by LIBSVM, which is loaded when first needed.
 *
 * Its own probabilities and cross-validation are not used: they draw from rand(). Without these it
 * keeps nothing between calls, so that many problems can be solved at once.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include <libsvm/svm.h>

#include "model/svm/svm.h"
#include "model/svm/svm_library.h"

static lth__libsvm library;

static void be_silent(const char *text) {
    (void)text;
}

static void *find(void *handle, const char *name) {
    return handle ? dlsym(handle, name) : NULL;
}

static void load(void) {
    void *handle = dlopen("libsvm.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!handle) handle = dlopen("libsvm.so", RTLD_NOW | RTLD_LOCAL);
    union {
        void *object[4];
        struct {
            lth__libsvm library;
            void (*set_printer)(void (*)(const char *));
        } functions;
    } symbols = {.object = {find(handle, "svm_train"), find(handle, "svm_predict_values"),
                            find(handle, "svm_free_and_destroy_model"),
                            find(handle, "svm_set_print_string_function")}};
    for (size_t i = 0; i < 4; i++) {
        if (!symbols.object[i]) return;
    }
    symbols.functions.set_printer(be_silent);
    library = symbols.functions.library;
}

lth_status lth__libsvm_get(const lth__libsvm **out, lth_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!library.train)
        return lth__fail(err, LTH_EUNSUPPORTED,
                         "LIBSVM (libsvm.so.3) cannot be loaded; install it (Debian: libsvm3)");
    *out = &library;
    return LTH_OK;
}

lth_status lth__svm_available(lth_error *err) {
    const lth__libsvm *unused;
    return lth__libsvm_get(&unused, err);
}

/* ---- Solving ---- */

/* MB for columns of the matrix, in single precision: all of a problem of 3,000 rows. */
static const double cache_size = 40;

static int type_of(const lth__svm_setting *s) {
    if (s->regression) return s->nu_svm ? NU_SVR : EPSILON_SVR;
    return s->nu_svm ? NU_SVC : C_SVC;
}

/* A nu that the classes of a part of the rows do not allow is lowered to what they do; one that all
 * the rows do not allow was refused before. */
static double feasible_nu(const lth__svm_problem *p, const lth__svm_setting *s) {
    if (!s->nu_svm || s->regression) return s->nu_svm ? s->nu : 0.5;
    double positive = 0;
    for (size_t i = 0; i < p->count; i++) positive += p->y[i] > 0;
    double most = 2 * fmin(positive, (double)p->count - positive) / (double)p->count;
    return fmin(s->nu, most * (1 - 1e-6)); /* at the limit itself the margin is not determined */
}

static lth_status take_solution(const lth__svm_problem *p, const struct svm_model *model,
                                lth__svm_solution *out, lth_error *err) {
    LTH_TRY(lth__svm_solution_create((size_t)model->l, out, err));
    out->rho = model->rho[0];
    for (size_t i = 0; i < out->count; i++) {
        out->row[i] = p->row[model->sv_indices[i] - 1];
        out->coef[i] = model->sv_coef[0][i];
    }
    return LTH_OK;
}

/* All rows on one side: a function that says so. */
static bool is_one_sided(const lth__svm_problem *p, const lth__svm_setting *s) {
    if (s->regression) return false;
    for (size_t i = 1; i < p->count; i++) {
        if (p->y[i] != p->y[0]) return false;
    }
    return true;
}

static lth_status solve(const lth__svm_problem *p, const lth__svm_setting *s,
                        lth__svm_solution *out, lth_error *err) {
    const lth__libsvm *svm;
    if (is_one_sided(p, s)) {
        *out = (lth__svm_solution){.rho = p->count > 0 ? -p->y[0] : 0};
        return LTH_OK;
    }
    if (p->gram->linear) return lth__svm_linear_solve(p, s, out, err);
    if (s->origin) return lth__svm_origin_solve(p, s, out, err);
    LTH_TRY(lth__libsvm_get(&svm, err));
    struct svm_node **x = lth__alloc(p->count, sizeof *x);
    if (!x) return lth__fail_memory(err, p->count * sizeof *x);
    for (size_t i = 0; i < p->count; i++) x[i] = lth__svm_gram_row(p->gram, p->row[i]);
    int sides[2] = {1, -1};
    double weight[2] = {p->weight[0], p->weight[1]};
    struct svm_problem problem = {.l = (int)p->count, .y = (double *)p->y, .x = x};
    struct svm_parameter parameter = {.svm_type = type_of(s),
                                      .kernel_type = PRECOMPUTED,
                                      .cache_size = cache_size,
                                      .eps = 1e-3,
                                      .C = isnan(s->C) ? 1 : s->C,
                                      .nu = feasible_nu(p, s),
                                      .p = isnan(s->epsilon) ? 0.1 : s->epsilon,
                                      .nr_weight = s->regression ? 0 : 2,
                                      .weight_label = sides,
                                      .weight = weight,
                                      .shrinking = 1};
    struct svm_model *model = svm->train(&problem, &parameter);
    lth_status status = take_solution(p, model, out, err);
    svm->free_model(&model);
    lth__free(x);
    return status;
}

static bool is_finite(const lth__svm_solution *s) {
    bool finite = isfinite(s->rho);
    for (size_t i = 0; s->coef && i < s->count; i++) finite = finite && isfinite(s->coef[i]);
    for (size_t i = 0; s->weight && i < s->weight_count; i++)
        finite = finite && isfinite(s->weight[i]);
    return finite;
}

lth_status lth__svm_solve(const lth__svm_problem *p, const lth__svm_setting *s,
                          lth__svm_solution *out, lth_error *err) {
    lth__svm_solution found = {0};
    LTH_TRY(solve(p, s, &found, err));
    if (is_finite(&found)) {
        *out = found;
        return LTH_OK;
    }
    lth__svm_solution_free(&found);
    return lth__fail(err, LTH_ENUMERIC, "the solver found no finite weights: %s",
                     s->nu_svm ? "take a smaller nu"
                               : "take a smaller C, or check the numbers in the table");
}

lth_status lth__svm_solution_create(size_t count, lth__svm_solution *out, lth_error *err) {
    lth__svm_solution s = {.count = count,
                           .row = lth__alloc(count, sizeof *s.row),
                           .coef = lth__alloc(count, sizeof *s.coef)};
    if (!s.row || !s.coef) {
        lth__svm_solution_free(&s);
        return lth__fail_memory(err, count * sizeof *s.coef);
    }
    *out = s;
    return LTH_OK;
}

void lth__svm_solution_free(lth__svm_solution *s) {
    lth__free(s->row);
    lth__free(s->coef);
    lth__free(s->feature);
    lth__free(s->weight);
    *s = (lth__svm_solution){0};
}

double lth__svm_decide(const lth__svm_solution *s, const lth__svm_gram *g, size_t row) {
    double sum = 0;
    for (size_t i = 0; i < s->count; i++) sum += s->coef[i] * lth__svm_gram_at(g, row, s->row[i]);
    return sum - s->rho;
}

lth_status lth__svm_decide_rows(const lth__svm_solution *s, const lth__svm_gram *g,
                                const size_t *rows, size_t count, double *out, size_t stride) {
    if (g->linear) return lth__svm_linear_decide(s, &g->features, rows, count, out, stride);
    for (size_t i = 0; i < count; i++) out[i * stride] = lth__svm_decide(s, g, rows[i]);
    return LTH_OK;
}

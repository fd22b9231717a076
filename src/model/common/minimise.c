#include "model/common/minimise.h"

#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "engine/blas.h"

/* The Fortran routine, driven by reverse communication: it returns with a task, and is called again
 * when that is done. Texts have fixed lengths, given at the end. */
typedef void setulb_fn(const int *n, const int *m, double *x, const double *l, const double *u,
                       const int *nbd, double *f, double *g, const double *factr,
                       const double *pgtol, double *wa, int *iwa, char *task, const int *iprint,
                       char *csave, int *lsave, int *isave, double *dsave, size_t task_length,
                       size_t csave_length);

static setulb_fn *setulb;

static void load(void) {
    /* It links with any BLAS there is; ours comes first, told of this CPU. */
    const lth__blas *blas;
    if (lth__blas_get(&blas, NULL) != LTH_OK) return;
    void *library = dlopen("liblbfgsb.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("liblbfgsb.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    union {
        void *object;
        setulb_fn *function;
    } symbol = {.object = dlsym(library, "setulb_")};
    setulb = symbol.function;
}

static lth_status get_setulb(lth_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (setulb) return LTH_OK;
    return lth__fail(err, LTH_EUNSUPPORTED,
                     "L-BFGS-B (liblbfgsb.so.0) cannot be loaded; install it (Debian: liblbfgsb0)");
}

enum { MEMORY = 60, TASK = 60 };

typedef struct solver {
    int n, *bounded, *iwa;
    double *wa, *g, *best;
    double scale; /* by which the function is multiplied, and so the first step */
    char task[TASK], csave[TASK];
    int lsave[4], isave[44];
    double dsave[29];
} solver;

static void free_solver(solver *s) {
    lth__free(s->bounded);
    lth__free(s->iwa);
    lth__free(s->wa);
    lth__free(s->g);
    lth__free(s->best);
}

static lth_status make_solver(size_t n, solver *s, lth_error *err) {
    const size_t m = MEMORY;
    *s = (solver){.n = (int)n,
                  .bounded = lth__alloc(n, sizeof(int)),
                  .iwa = lth__alloc(3 * n, sizeof(int)),
                  .wa = lth__alloc((2 * m + 5) * n + 11 * m * m + 8 * m, sizeof(double)),
                  .g = lth__alloc(n, sizeof(double)),
                  .best = lth__alloc(n, sizeof(double)),
                  .scale = 1};
    if (!s->bounded || !s->iwa || !s->wa || !s->g || !s->best) return lth__fail_memory(err, 0);
    for (size_t i = 0; i < n; i++) s->bounded[i] = 2; /* on both sides */
    return LTH_OK;
}

static void start(solver *s) {
    memset(s->task, ' ', TASK);
    memset(s->csave, ' ', TASK);
    memcpy(s->task, "START", 5);
}

static bool task_is(const solver *s, const char *name) {
    return strncmp(s->task, name, strlen(name)) == 0;
}

static double projected_gradient(size_t n, const double *x, const double *lo, const double *hi,
                                 const double *g) {
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        bool pushed_out = (x[i] <= lo[i] && g[i] > 0) || (x[i] >= hi[i] && g[i] < 0);
        if (!pushed_out && fabs(g[i]) > largest) largest = fabs(g[i]);
    }
    return largest;
}

/* A value that sends the line search back, for a point that has none. */
static double repulsive(double best) {
    return best == INFINITY ? 1e300 : best + 1e3 * (1 + fabs(best));
}

/* Squares of such gradients leave the routine no digits, and it complains to standard output. */
static const double steep = 1e30;

static lth_status iterate_to_end(solver *s, double *x, const double *lo, const double *hi,
                                 const lth__minimise_options *options, lth__function *function,
                                 lth__iterate *iterate, void *user, lth__minimum *out,
                                 lth_error *err) {
    const int m = MEMORY, quiet = -1;
    const double factr = options->decrease_tolerance / DBL_EPSILON;
    double f = 0;
    start(s);
    for (;;) {
        const double pgtol = options->gradient_tolerance * s->scale;
        setulb(&s->n, &m, x, lo, hi, s->bounded, &f, s->g, &factr, &pgtol, s->wa, s->iwa, s->task,
               &quiet, s->csave, s->lsave, s->isave, s->dsave, TASK, TASK);
        if (task_is(s, "FG")) {
            LTH_TRY(function(user, x, &f, s->g, err));
            out->evaluations++;
            if (f < out->f) {
                out->f = f;
                out->gradient = projected_gradient((size_t)s->n, x, lo, hi, s->g);
                memcpy(s->best, x, (size_t)s->n * sizeof *x);
            }
            if (out->evaluations == 1 && out->gradient > steep) s->scale = 1 / out->gradient;
            if (!isfinite(f)) f = repulsive(out->f);
            f *= s->scale;
            for (int i = 0; i < s->n; i++) s->g[i] *= s->scale;
        } else if (task_is(s, "NEW_X")) {
            out->iterations++;
            out->stopped = iterate && iterate(user, out->iterations, out->f, out->gradient) != 0;
            if (out->stopped || out->iterations >= options->max_iter) return LTH_OK;
        } else {
            out->converged = task_is(s, "CONV");
            return LTH_OK;
        }
    }
}

/* The first step is as long as the gradient. Where that is steep it can end where the function is
 * so wild that the line search shrinks to nothing, and the start is taken for the minimum. */
static bool is_stuck(const lth__minimum *m, double gradient_tolerance) {
    return m->converged && m->iterations == 1 && m->gradient > fmax(1, 1e3 * gradient_tolerance);
}

lth_status lth__minimise(size_t n, double *x, const double *lo, const double *hi,
                         const lth__minimise_options *options, lth__function *function,
                         lth__iterate *iterate, void *user, lth__minimum *out, lth_error *err) {
    LTH_TRY(get_setulb(err));
    *out = (lth__minimum){.f = INFINITY};
    solver s;
    lth_status status = make_solver(n, &s, err);
    if (status == LTH_OK) {
        memcpy(s.best, x, n * sizeof *x);
        status = iterate_to_end(&s, x, lo, hi, options, function, iterate, user, out, err);
        memcpy(x, s.best, n * sizeof *x);
        if (status == LTH_OK && is_stuck(out, options->gradient_tolerance)) {
            s.scale = 1 / out->gradient; /* a first step of length 1 */
            out->converged = false;
            status = iterate_to_end(&s, x, lo, hi, options, function, iterate, user, out, err);
            memcpy(x, s.best, n * sizeof *x);
        }
    }
    free_solver(&s);
    return status;
}

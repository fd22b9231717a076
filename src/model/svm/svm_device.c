/* All problems of a grid at once on a GPU: one has more blocks of threads than a grid has problems,
 * so each begins at 0, and none waits for another. C-SVC and epsilon-SVR; those of nu are for the
 * CPU. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "engine/device.h"
#include "model/svm/svm.h"

typedef struct batch {
    const lth__svm_gram *gram;
    lth__device_smo job;
    uint32_t *rows;
    const uint32_t **set;
    size_t *set_count;
    double *y, *beta;
    lth__device_smo_problem *problems;
} batch;

/* With few problems, or small ones, a device that decides for itself leaves them to the CPU. */
enum { MANY_PROBLEMS = 32, MANY_ROWS = 2000 };

bool lth__svm_device_wants(const lth__svm_gram *g, size_t problems, const lth__svm_setting *s) {
    const lth__gpu *gpu = g->ctx->gpu;
    if (!gpu || gpu->gpus == 0 || !gpu->table->smo || g->linear || s->origin || s->nu_svm)
        return false;
    return !gpu->decides || (problems >= MANY_PROBLEMS && g->rows >= MANY_ROWS);
}

static void close_batch(batch *b) {
    void *blocks[] = {b->rows, (void *)b->set, b->set_count, b->y, b->beta, b->problems};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

static void fill_set(batch *b, const lth__svm_device_task *t, size_t number, size_t first) {
    size_t rows = b->gram->rows;
    const lth__svm_problem *p = &t->problem;
    b->set[number] = b->rows + first;
    b->set_count[number] = p->count;
    for (size_t i = 0; i < p->count; i++) {
        b->rows[first + i] = (uint32_t)p->row[i];
        b->y[number * rows + p->row[i]] = p->y[i];
    }
}

static lth__device_smo_problem problem_of(const lth__svm_device_task *t, size_t set,
                                          const lth__svm_setting *s) {
    lth__device_smo_problem o = {.set = set, .target = set, .groups = 1, .linear = 1};
    for (int side = 0; side < LTH__SMO_SIDES; side++) {
        double C = lth__svm_bound(&t->problem, s, side == 0);
        o.hi[0][side] = s->regression || side == 0 ? C : 0;
        o.lo[0][side] = s->regression || side == 1 ? -C : 0;
    }
    o.epsilon = s->regression ? s->epsilon : 0;
    o.tolerance = lth__svm_tolerance(&t->problem, s);
    return o;
}

/* The largest C first, which takes longest. */
static lth_status open_batch(const lth__svm_gram *g, const lth__svm_device_task *tasks,
                             size_t count, batch *b, lth_error *err) {
    size_t cells = 0, betas = 0, problems = 0, deepest = 0, first = 0, beta = 0;
    for (size_t i = 0; i < count; i++) {
        cells += tasks[i].problem.count;
        betas += tasks[i].problem.count * tasks[i].setting_count;
        problems += tasks[i].setting_count;
        if (tasks[i].setting_count > deepest) deepest = tasks[i].setting_count;
    }
    *b = (batch){.gram = g,
                 .rows = lth__alloc(cells, sizeof *b->rows),
                 .set = lth__alloc(count, sizeof *b->set),
                 .set_count = lth__alloc(count, sizeof *b->set_count),
                 .y = lth__calloc(count * g->rows, sizeof *b->y),
                 .beta = lth__alloc(betas, sizeof *b->beta),
                 .problems = lth__alloc(problems, sizeof *b->problems)};
    if (!b->rows || !b->set || !b->set_count || !b->y || !b->beta || !b->problems)
        return lth__fail_memory(err, (betas + count * g->rows) * sizeof *b->beta);
    for (size_t i = 0; i < count; i++) {
        fill_set(b, &tasks[i], i, first);
        first += tasks[i].problem.count;
    }
    b->job = (lth__device_smo){.rows = g->rows,
                               .ld = g->rows,
                               .set = b->set,
                               .set_count = b->set_count,
                               .sets = count,
                               .y = b->y,
                               .targets = count,
                               .problem = b->problems};
    for (size_t k = deepest; k-- > 0;) {
        for (size_t i = 0; i < count; i++) {
            const lth__svm_device_task *t = &tasks[i];
            if (k >= t->setting_count) continue;
            lth__device_smo_problem *o = &b->problems[b->job.problems++];
            *o = problem_of(t, i, &t->settings[k]);
            o->beta = b->beta + beta;
            beta += t->problem.count;
        }
    }
    return LTH_OK;
}

static lth_status take_solution(const lth__svm_problem *p, const lth__device_smo_problem *o,
                                lth__svm_solution *out, lth_error *err) {
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++) count += o->beta[i] != 0;
    LTH_TRY(lth__svm_solution_create(count, out, err));
    out->rho = o->level[0];
    out->unfinished = o->unfinished;
    for (size_t i = 0, at = 0; i < p->count; i++) {
        if (o->beta[i] == 0) continue;
        out->row[at] = p->row[i];
        out->coef[at++] = o->beta[i] / p->gram->scale;
    }
    return LTH_OK;
}

static lth_status take_solutions(const batch *b, const lth__svm_device_task *tasks, size_t count,
                                 lth_error *err) {
    size_t deepest = 0, used = 0;
    for (size_t i = 0; i < count; i++) {
        if (tasks[i].setting_count > deepest) deepest = tasks[i].setting_count;
    }
    for (size_t k = deepest; k-- > 0;) {
        for (size_t i = 0; i < count; i++) {
            const lth__svm_device_task *t = &tasks[i];
            if (k >= t->setting_count) continue;
            LTH_TRY(take_solution(&t->problem, &b->problems[used++], t->solutions[k], err));
            LTH_TRY(lth__svm_check_solution(t->solutions[k], &t->settings[k], err));
        }
    }
    return LTH_OK;
}

static bool goes_on(void *user) {
    return lth__parallel_ask(user) == LTH_OK;
}

static lth_status run_job(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)index, (void)worker;
    batch *b = user;
    lth__gpu *gpu = b->gram->ctx->gpu;
    lth__device *d = gpu->handle[0];
    size_t bytes = b->gram->rows * b->gram->rows * sizeof(float);
    void *K = NULL;
    lth__device_enter(gpu);
    lth_status status = gpu->table->alloc(d, bytes, &K, err);
    if (status == LTH_OK) status = gpu->table->upload(d, K, b->gram->cells, bytes, err);
    b->job.K = K;
    b->job.goes_on = goes_on;
    b->job.user = b->gram->ctx;
    if (status == LTH_OK) status = gpu->table->smo(d, &b->job, err);
    if (K) gpu->table->release(d, K);
    lth__device_leave(gpu);
    return status;
}

/* A matrix that the GPU has no room for is for the CPU, which *done = false says. */
lth_status lth__svm_device_solve(const lth__svm_gram *g, const lth__svm_device_task *tasks,
                                 size_t count, const char *what, bool *done, lth_error *err) {
    batch b;
    *done = true;
    if (count == 0) return LTH_OK;
    lth_status status = open_batch(g, tasks, count, &b, err);
    if (status == LTH_OK) {
        status = lth__parallel_by(g->ctx, 1, what, 1, NULL, run_job, &b, err);
        *done = status != LTH_ENOMEM;
        if (status == LTH_OK) status = take_solutions(&b, tasks, count, err);
        if (!*done) status = LTH_OK;
    }
    close_batch(&b);
    return status;
}

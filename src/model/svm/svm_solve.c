/* Problems of two classes, or of numbers, by whichever solver they are for; and what becomes of
 * their solutions. */
#include <math.h>

#include "engine/engine.h"
#include "model/svm/svm.h"

bool lth__svm_is_one_sided(const lth__svm_problem *p, const lth__svm_setting *s) {
    if (s->regression) return false;
    for (size_t i = 1; i < p->count; i++) {
        if (p->y[i] != p->y[0]) return false;
    }
    return true;
}

static lth_status solve(const lth__svm_problem *p, const lth__svm_setting *s, size_t count,
                        lth__svm_solution *out, lth_error *err) {
    size_t done = 0;
    lth_status status = LTH_OK;
    if (!lth__svm_is_one_sided(p, s) && !p->gram->linear && !s->origin)
        return lth__svm_path_solve(p, s, count, out, err);
    for (; status == LTH_OK && done < count; done += status == LTH_OK) {
        if (lth__svm_is_one_sided(p, s))
            out[done] = (lth__svm_solution){.rho = p->count > 0 ? -p->y[0] : 0};
        else if (p->gram->linear)
            status = lth__svm_linear_solve(p, &s[done], &out[done], err);
        else
            status = lth__svm_origin_solve(p, &s[done], &out[done], err);
    }
    while (status != LTH_OK && done > 0) lth__svm_solution_free(&out[--done]);
    return status;
}

static bool is_finite(const lth__svm_solution *s) {
    bool finite = isfinite(s->rho);
    for (size_t i = 0; s->coef && i < s->count; i++) finite = finite && isfinite(s->coef[i]);
    for (size_t i = 0; s->weight && i < s->weight_count; i++)
        finite = finite && isfinite(s->weight[i]);
    return finite;
}

lth_status lth__svm_check_solution(const lth__svm_solution *z, const lth__svm_setting *s,
                                   lth_error *err) {
    if (is_finite(z)) return LTH_OK;
    return lth__fail(err, LTH_ENUMERIC, "the solver found no finite weights: %s",
                     s->nu_svm ? "take a smaller nu"
                               : "take a smaller C, or check the numbers in the table");
}

lth_status lth__svm_solve_all(const lth__svm_problem *p, const lth__svm_setting *settings,
                              size_t count, lth__svm_solution *out, lth_error *err) {
    lth_status status = LTH_OK;
    LTH_TRY(solve(p, settings, count, out, err));
    for (size_t i = 0; i < count && status == LTH_OK; i++)
        status = lth__svm_check_solution(&out[i], &settings[i], err);
    for (size_t i = 0; status != LTH_OK && i < count; i++) lth__svm_solution_free(&out[i]);
    return status;
}

lth_status lth__svm_solve(const lth__svm_problem *p, const lth__svm_setting *s,
                          lth__svm_solution *out, lth_error *err) {
    return lth__svm_solve_all(p, s, 1, out, err);
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
    double *all = count > g->rows / 8 ? lth__calloc(g->rows, sizeof *all) : NULL;
    for (size_t i = 0; all && i < s->count; i++) {
        const float *row = g->cells + s->row[i] * g->rows;
        double coef = s->coef[i] * g->scale;
        g->ctx->engine->add_rows(&row, &coef, 1, g->rows, all);
    }
    for (size_t i = 0; i < count; i++)
        out[i * stride] = all ? all[rows[i]] - s->rho : lth__svm_decide(s, g, rows[i]);
    lth__free(all);
    return LTH_OK;
}

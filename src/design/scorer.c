/* A scorer: models, what is asked of them, and what is known already.
 *
 * What is to be improved on is the best that is expected of a training row: the measured numbers
 * themselves have noise. Rows that are being measured count as if they came out as expected. Where
 * objectives are of several models, the rows that all of them have count: the same by what the
 * models read of them, or where models read different things, by their numbers.
 */
#include "design/scorer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "design/outlook.h"
#include "model/explain/explain_text.h"
#include "model/gp/gp.h"

/* ---- Sets of rows ---- */

static lth_status add_rows(lth__symbols *set, const lth_items *items, lth_error *err) {
    lth__string key = {0};
    bool ok = true;
    for (size_t i = 0; i < items->count && ok; i++) {
        lth__row_key(items, i, &key);
        ok = !key.failed && lth__symbols_intern(set, key.bytes, key.length) != LTH__NO_SYMBOL;
    }
    lth__string_free(&key);
    return ok ? LTH_OK : lth__fail_memory(err, 0);
}

static lth_status fill_set(lth__row_set *set, size_t model, const lth_items *items,
                           lth_error *err) {
    set->of_model[model] = lth__symbols_create();
    if (!set->of_model[model]) return lth__fail_memory(err, 0);
    return add_rows(set->of_model[model], items, err);
}

static lth_status open_set(lth__row_set *set, size_t models, lth_error *err) {
    set->of_model = lth__calloc(models, sizeof *set->of_model);
    set->model_count = set->of_model ? models : 0;
    return set->of_model ? LTH_OK : lth__fail_memory(err, 0);
}

static void free_set(lth__row_set *set) {
    for (size_t m = 0; m < set->model_count; m++) lth__symbols_free(set->of_model[m]);
    lth__free(set->of_model);
}

/* ---- What is expected of training rows ---- */

/* Series of the rows of a model, of which `used` count. */
typedef struct training {
    size_t rows, used;
    double *mean; /* [series][row] */
    size_t *row;  /* of the first model, those that count */
} training;

static void free_training(training *t) {
    lth__free(t->mean);
    lth__free(t->row);
}

/* The rows of an objective's model that correspond to those of the first's. LTH_NONE = none. */
static lth_status match_rows(const lth_items *first, const lth_items *items, size_t *to,
                             lth_error *err) {
    lth__symbols *keys = lth__symbols_create();
    size_t *number = lth__alloc(items->count, sizeof *number), found = 0;
    lth__string key = {0};
    lth_status status = keys && number ? LTH_OK : lth__fail_memory(err, 0);
    for (size_t i = 0; i < items->count && status == LTH_OK; i++) {
        lth__row_key(items, i, &key);
        lth__symbol s =
            key.failed ? LTH__NO_SYMBOL : lth__symbols_intern(keys, key.bytes, key.length);
        if (s == LTH__NO_SYMBOL)
            status = lth__fail_memory(err, 0);
        else if (lth__symbols_seen(keys, s) == 1)
            number[s] = i;
    }
    for (size_t i = 0; i < first->count && status == LTH_OK; i++) {
        lth__row_key(first, i, &key);
        if (key.failed) status = lth__fail_memory(err, 0);
        lth__symbol s =
            key.failed ? LTH__NO_SYMBOL : lth__symbols_find(keys, key.bytes, key.length);
        to[i] = s == LTH__NO_SYMBOL ? LTH_NONE : number[s];
        found += to[i] != LTH_NONE;
    }
    for (size_t i = 0; i < first->count && found == 0 && first->count == items->count; i++)
        to[i] = i;
    lth__string_free(&key);
    lth__symbols_free(keys);
    lth__free(number);
    return status;
}

static const lth_gp *gp_of_series(const lth__problem *p, size_t series, size_t *latent) {
    const lth__objective *o = &p->objectives.list[p->objectives.labels ? 0 : series];
    *latent = p->objectives.labels ? series : o->function;
    return lth_model_gp(p->models[o->model]);
}

/* One series at the rows of the first model. Rows that its model does not have no longer count. */
static lth_status fill_series(const lth__problem *p, size_t series, const lth_items *first,
                              training *t, lth_error *err) {
    size_t latent;
    const lth_gp *gp = gp_of_series(p, series, &latent);
    size_t rows = gp->items->count, cells = gp->latents * rows;
    size_t most = cells + lth__gp_spreads(gp) * rows;
    double *all = lth__alloc(most, sizeof *all);
    size_t *at = lth__alloc(t->rows, sizeof *at);
    lth_status status = all && at ? LTH_OK : lth__fail_memory(err, most * sizeof *all);
    for (size_t i = 0; i < t->rows && status == LTH_OK; i++) at[i] = i;
    if (status == LTH_OK && gp->items != first) status = match_rows(first, gp->items, at, err);
    if (status == LTH_OK) status = lth__gp_latent_items(gp, gp->items, all, all + cells, err);
    for (size_t i = 0; i < t->rows && status == LTH_OK; i++) {
        if (at[i] == LTH_NONE) {
            t->row[i] = LTH_NONE;
            continue;
        }
        t->mean[series * t->rows + i] = all[latent * rows + at[i]];
    }
    lth__free(all);
    lth__free(at);
    return status;
}

static lth_status open_training(const lth__problem *p, training *t, lth_error *err) {
    size_t latent, series = lth__problem_series(p);
    const lth_gp *gp = gp_of_series(p, 0, &latent);
    t->rows = gp->items->count;
    t->mean = lth__calloc(series * t->rows, sizeof *t->mean);
    t->row = lth__alloc(t->rows, sizeof *t->row);
    if (!t->mean || !t->row) return lth__fail_memory(err, series * t->rows * sizeof *t->mean);
    for (size_t i = 0; i < t->rows; i++) t->row[i] = i;
    for (size_t i = 0; i < series && !p->objectives.labels; i++)
        LTH_TRY(fill_series(p, i, gp->items, t, err));
    for (size_t i = 0; i < t->rows; i++) {
        if (t->row[i] != LTH_NONE) t->row[t->used++] = t->row[i];
    }
    if (t->used == 0 && t->rows > 0 && !p->objectives.labels)
        return lth__fail(err, LTH_EARG,
                         "the models have no training row in common, so that it is not known what "
                         "is to be improved on; fit one model with several targets");
    return LTH_OK;
}

/* ---- The best rows as texts ---- */

typedef struct ranked {
    double value;
    size_t row;
} ranked;

static int best_first(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static lth_status list_best(lth__scorer *s, const lth_items *items, const training *t,
                            const double *functions, lth_error *err) {
    ranked *order = lth__alloc(t->used, sizeof *order);
    s->best = lth__calloc(t->used, sizeof *s->best);
    bool ok = order && s->best;
    for (size_t i = 0; i < t->used && ok; i++) {
        order[i] = (ranked){0, t->row[i]};
        for (size_t f = 0; f < s->valuer.functions && !s->problem.objectives.labels; f++)
            order[i].value += functions[f * t->used + i];
    }
    if (ok && t->used > 0) qsort(order, t->used, sizeof *order, best_first);
    for (size_t i = 0; i < t->used && ok; i++) {
        const char *text = lth__row_text(items, order[i].row, 0);
        s->best[i] = text ? lth__strndup(text, strlen(text)) : NULL;
        ok = s->best[i] != NULL;
        s->best_count += ok;
    }
    lth__free(order);
    return ok ? LTH_OK : lth__fail_memory(err, 0);
}

const char *lth__scorer_best_text(lth__scorer *s, size_t i) {
    return s->best && i < s->best_count ? s->best[i] : NULL;
}

/* ---- Making one ---- */

static lth_status begin_valuer(lth__scorer *s, const training *t, const lth_items *items,
                               lth_error *err) {
    size_t functions = lth__problem_functions(&s->problem);
    size_t cells = functions * t->used;
    double *all = lth__alloc(cells + functions, sizeof *all);
    if (!all) return lth__fail_memory(err, (cells + functions) * sizeof *all);
    double *row = all + cells;
    for (size_t i = 0; i < t->used; i++) {
        lth__problem_combine(&s->problem, t->mean + t->row[i], NULL, t->rows, row, NULL);
        for (size_t f = 0; f < functions; f++) all[f * t->used + i] = row[f];
    }
    lth_status status = lth__valuer_make(&s->problem, all, t->used, &s->valuer, err);
    if (status == LTH_OK && items) status = list_best(s, items, t, all, err);
    lth__free(all);
    return status;
}

/* Rows that are being measured: they are what is expected of them. */
static lth_status believe_pending(lth__scorer *s, lth_error *err) {
    const lth__problem *p = &s->problem;
    const lth_table *table = p->options.pending;
    size_t rows = lth_table_rows(table), cells = lth__problem_series(p) * rows;
    size_t functions = s->valuer.functions, spreads = lth__problem_spreads(p);
    size_t need = cells + spreads * rows + functions;
    bool given = p->objectives.summed && !isnan(p->options.best);
    lth__candidates c;
    double *all = NULL;
    lth_status status = lth__candidates_open(p->models, p->model_count, table, NULL, &c, err);
    if (status == LTH_OK) status = open_set(&s->pending, p->model_count, err);
    for (size_t m = 0; m < p->model_count && status == LTH_OK; m++)
        status = fill_set(&s->pending, m, c.items[m], err);
    if (status == LTH_OK) {
        all = lth__alloc(need, sizeof *all);
        if (!all) status = lth__fail_memory(err, need * sizeof *all);
    }
    if (status == LTH_OK) status = lth__problem_predict(p, c.items, table, all, all + cells, err);
    for (size_t i = 0; i < rows && status == LTH_OK && !given; i++) {
        double *mean = all + cells + spreads * rows;
        lth__problem_combine(p, all + i, NULL, rows, mean, NULL);
        status = lth__valuer_believe(&s->valuer, mean, 1, err);
    }
    lth__free(all);
    lth__candidates_close(&c);
    return status;
}

/* Rows that are not to be proposed, and of which nothing else is known. */
static lth_status read_others(lth__scorer *s, lth_error *err) {
    const lth__problem *p = &s->problem;
    lth__candidates c;
    lth_status status =
        lth__candidates_open(p->models, p->model_count, p->options.measured, NULL, &c, err);
    if (status == LTH_OK) status = open_set(&s->others, p->model_count, err);
    for (size_t m = 0; m < p->model_count && status == LTH_OK; m++)
        status = fill_set(&s->others, m, c.items[m], err);
    lth__candidates_close(&c);
    return status;
}

static lth_status create(lth__scorer *s, lth_error *err) {
    const lth__problem *p = &s->problem;
    LTH_TRY(open_set(&s->measured, p->model_count, err));
    for (size_t m = 0; m < p->model_count; m++) {
        const lth_items *items = lth__model_items(p->models[m]);
        if (items) LTH_TRY(fill_set(&s->measured, m, items, err));
    }
    if (p->options.measured) LTH_TRY(read_others(s, err));
    training t = {0};
    size_t latent;
    const lth_gp *first = gp_of_series(p, 0, &latent);
    lth_status status = LTH_OK;
    for (size_t i = 0; i < lth__problem_series(p); i++) {
        if (!gp_of_series(p, i, &latent)) first = NULL;
    }
    if (first) status = open_training(p, &t, err);
    if (status == LTH_OK) status = begin_valuer(s, &t, first ? first->items : NULL, err);
    free_training(&t);
    if (status == LTH_OK && p->options.pending && lth_table_rows(p->options.pending) > 0)
        status = believe_pending(s, err);
    return status;
}

lth_status lth__scorer_create(lth_model *const *models, size_t count,
                              const lth_propose_options *options, lth__scorer **out,
                              lth_error *err) {
    lth__scorer *s = lth__calloc(1, sizeof *s);
    if (!s) return lth__fail_memory(err, sizeof *s);
    lth_status status = lth__problem_open(models, count, options, &s->problem, err);
    if (status == LTH_OK) status = create(s, err);
    if (status == LTH_OK)
        *out = s;
    else
        lth__scorer_free(s);
    return status;
}

void lth__scorer_free(lth__scorer *s) {
    if (!s) return;
    lth__valuer_free(&s->valuer);
    free_set(&s->measured);
    free_set(&s->others);
    free_set(&s->pending);
    for (size_t i = 0; i < s->best_count; i++) lth__free(s->best[i]);
    lth__free(s->best);
    lth__problem_close(&s->problem);
    lth__free(s);
}

lth_status lth__scorer_rows(lth__scorer *s, const lth_table *rows, double *value, lth_error *err) {
    const lth__problem *p = &s->problem;
    lth__candidates c = {0};
    lth__outlook o = {0};
    lth_status status = lth__candidates_open(p->models, p->model_count, rows, NULL, &c, err);
    if (status == LTH_OK) status = lth__outlook_make(s, rows, &c, &o, err);
    if (status == LTH_OK) memcpy(value, o.value, c.count * sizeof *value);
    lth__outlook_free(&o);
    lth__candidates_close(&c);
    return status;
}

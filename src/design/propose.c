/* The rows of a table to measure next, with all that is to be said of them. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "design/batch.h"
#include "design/edits.h"
#include "design/search.h"
#include "model/explain/explain_text.h"
#include "model/gp/gp_classes.h"

struct lth_proposals {
    lth_acquisition acquisition;
    lth_batch batch;
    lth__objectives objectives;
    size_t count;
    lth_proposal *list;
    double *mean, *sd; /* [proposal][objective] */
    char **labels;     /* of classes */
    size_t label_count;
};

void lth_proposals_free(lth_proposals *p) {
    if (!p) return;
    lth__objectives_free(&p->objectives);
    for (size_t i = 0; i < p->label_count; i++) lth__free(p->labels[i]);
    lth__free(p->labels);
    lth__free(p->list);
    lth__free(p->mean);
    lth__free(p->sd);
    lth__free(p);
}

/* ---- What is said of a row ---- */

static void tell_numbers(lth_proposals *to, const lth__scorer *s, const lth__outlook *o) {
    const lth__objectives *all = &s->problem.objectives;
    for (size_t i = 0; i < to->count && !all->labels; i++) {
        lth_proposal *p = &to->list[i];
        for (size_t k = 0; k < all->count; k++) {
            size_t cell = k * o->rows + p->row;
            bool uncertain = lth_model_gp(s->problem.models[all->list[k].model]);
            to->mean[i * all->count + k] = all->list[k].turn * o->mean[cell];
            to->sd[i * all->count + k] = uncertain ? sqrt(o->variance[cell]) : NAN;
        }
        p->mean = to->mean[i * all->count];
        p->sd = to->sd[i * all->count];
    }
}

static size_t likeliest(const double *p, size_t classes) {
    size_t best = 0;
    for (size_t c = 1; c < classes; c++) {
        if (p[c] > p[best]) best = c;
    }
    return best;
}

/* Names of classes are the proposals' own. */
static lth_status copy_labels(lth_proposals *to, const lth_model *model, lth_error *err) {
    size_t classes = lth_model_classes(model);
    to->labels = lth__calloc(classes, sizeof *to->labels);
    if (!to->labels) return lth__fail_memory(err, 0);
    for (; to->label_count < classes; to->label_count++) {
        const char *name = lth_model_class(model, to->label_count);
        to->labels[to->label_count] = lth__strndup(name, strlen(name));
        if (!to->labels[to->label_count]) return lth__fail_memory(err, 0);
    }
    return LTH_OK;
}

static lth_status tell_labels(lth_proposals *to, const lth__scorer *s, const lth_items *rows,
                              lth_error *err) {
    const lth_model *model = s->problem.models[s->problem.objectives.list[0].model];
    const lth_gp *gp = lth_model_gp((lth_model *)model);
    size_t classes = lth_model_classes(model);
    LTH_TRY(copy_labels(to, model, err));
    double *all = lth__alloc(to->count * classes, sizeof *all);
    if (!all) return lth__fail_memory(err, to->count * classes * sizeof *all);
    lth_status status = lth__gp_classify_items(gp, rows, all, err);
    for (size_t i = 0; i < to->count && status == LTH_OK; i++) {
        size_t best = likeliest(all + i * classes, classes);
        to->list[i].mean = to->mean[i] = all[i * classes + best];
        to->list[i].sd = to->sd[i] = NAN;
        to->list[i].label = to->labels[best];
    }
    lth__free(all);
    return status;
}

static lth_status find_nearest(lth_proposal *p, const lth_items *rows, size_t i,
                               const lth_items *measured, lth_error *err) {
    for (size_t j = 0; j < measured->count && p->distance > 0; j++) {
        size_t most = p->distance == LTH_NONE ? SIZE_MAX - 1 : p->distance - 1;
        size_t distance = lth__row_distance(rows, i, measured, j, most);
        if (distance == LTH_NONE) return lth__fail_memory(err, 0);
        if (distance > most) continue;
        p->distance = distance;
        p->nearest = j;
    }
    return LTH_OK;
}

/* By the first column, as the model keeps it. */
static lth_status count_mutations(lth_proposal *p, const lth_items *rows, size_t i,
                                  const char *wild, lth_error *err) {
    const char *text = lth__row_text(rows, i, 0);
    size_t edits =
        text ? lth__edits(wild, strlen(wild), text, strlen(text), SIZE_MAX - 1) : LTH_NONE;
    if (edits == LTH_NONE) return lth__fail_memory(err, 0);
    p->mutations = edits;
    return LTH_OK;
}

static lth_status tell_edits(lth_proposals *to, const lth__scorer *s, const lth_items *rows,
                             lth_error *err) {
    const lth_model *model = s->problem.models[0];
    const lth_kernel *kernel = lth_model_kernel(model);
    const char *wild = s->problem.options.wild_type;
    const lth_items *measured = lth__model_items(model);
    bool texts = lth__rows_are_texts(kernel);
    bool counted = texts && lth_kernel_column_kind(kernel, 0) == LTH_COLUMN_TEXT;
    if (!wild) wild = lth_kernel_wild_type(kernel);
    for (size_t i = 0; i < to->count; i++) {
        if (texts && measured) LTH_TRY(find_nearest(&to->list[i], rows, i, measured, err));
        if (counted && wild) LTH_TRY(count_mutations(&to->list[i], rows, i, wild, err));
    }
    return LTH_OK;
}

static lth_status tell(lth_proposals *to, const lth__scorer *s, const lth__candidates *c,
                       const lth__outlook *o, lth_error *err) {
    size_t *row = lth__alloc(to->count, sizeof *row);
    lth_items *of_first = NULL, *of_labels = NULL;
    lth_status status = row ? LTH_OK : lth__fail_memory(err, to->count * sizeof *row);
    for (size_t i = 0; i < to->count && status == LTH_OK; i++) row[i] = to->list[i].row;
    if (status == LTH_OK) status = lth__items_pick(c->items[0], row, to->count, &of_first, err);
    if (status == LTH_OK) status = tell_edits(to, s, of_first, err);
    tell_numbers(to, s, o);
    if (status == LTH_OK && s->problem.objectives.labels && to->count > 0) {
        status = lth__items_pick(c->items[s->problem.objectives.list[0].model], row, to->count,
                                 &of_labels, err);
        if (status == LTH_OK) status = tell_labels(to, s, of_labels, err);
    }
    lth_items_free(of_first);
    lth_items_free(of_labels);
    lth__free(row);
    return status;
}

/* ---- Proposing ---- */

static lth_status make(const lth__scorer *s, const lth__pick *picks, size_t count,
                       const lth__outlook *o, lth_proposals **out, lth_error *err) {
    size_t objectives = s->problem.objectives.count;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(picks[i].value))
            return lth__fail(err, LTH_ENUMERIC,
                             "how promising row %zu is is not a finite number: check the options, "
                             "such as weights of objectives",
                             picks[i].row + 1);
    }
    lth_proposals *p = lth__calloc(1, sizeof *p);
    if (!p) return lth__fail_memory(err, sizeof *p);
    *p = (lth_proposals){.acquisition = s->problem.options.acquisition,
                         .batch = s->problem.options.batch,
                         .count = count,
                         .list = lth__calloc(count, sizeof *p->list),
                         .mean = lth__calloc(count * objectives, sizeof *p->mean),
                         .sd = lth__calloc(count * objectives, sizeof *p->sd)};
    *out = p;
    if (!p->list || !p->mean || !p->sd) return lth__fail_memory(err, count * sizeof *p->list);
    for (size_t i = 0; i < count; i++)
        p->list[i] = (lth_proposal){.row = picks[i].row,
                                    .mean = NAN,
                                    .sd = NAN,
                                    .acquisition = picks[i].value,
                                    .feasible = lth__outlook_feasible(o, picks[i].row),
                                    .cost = lth__outlook_cost(o, picks[i].row),
                                    .nearest = LTH_NONE,
                                    .distance = LTH_NONE,
                                    .mutations = LTH_NONE};
    return LTH_OK;
}

static lth_status propose(lth__scorer *s, const lth_table *table, lth__candidates *c,
                          lth__outlook *o, lth__pick **picks, lth_proposals **out, lth_error *err) {
    const lth__problem *p = &s->problem;
    size_t most =
        lth_table_rows(table) < p->options.count ? lth_table_rows(table) : p->options.count;
    s->problem.options.count = most;
    size_t count = 0;
    LTH_TRY(lth__candidates_open(p->models, p->model_count, table, p->options.pending, c, err));
    if (p->options.measured && p->options.distance > 1)
        LTH_TRY(lth__candidates_add(c, p->options.measured, err));
    LTH_TRY(lth__outlook_make(s, table, c, o, err));
    *picks = lth__alloc(most, sizeof **picks);
    if (!*picks) return lth__fail_memory(err, most * sizeof **picks);
    LTH_TRY(lth__batch_pick(s, c, o, *picks, &count, err));
    LTH_TRY(make(s, *picks, count, o, out, err));
    LTH_TRY(tell(*out, s, c, o, err));
    (*out)->objectives = s->problem.objectives; /* which are handed on */
    s->problem.objectives = (lth__objectives){0};
    return LTH_OK;
}

lth_status lth_propose(lth_model *const *models, size_t model_count, const lth_table *candidates,
                       const lth_propose_options *options, lth_proposals **out, lth_error *err) {
    lth__scorer *s;
    lth__candidates c = {0};
    lth__outlook o = {0};
    lth__pick *picks = NULL;
    lth_proposals *made = NULL;
    LTH_TRY(lth__scorer_create(models, model_count, options, &s, err));
    lth_status status = propose(s, candidates, &c, &o, &picks, &made, err);
    lth__free(picks);
    lth__outlook_free(&o);
    lth__candidates_close(&c);
    lth__scorer_free(s);
    if (status == LTH_OK)
        *out = made;
    else
        lth_proposals_free(made);
    return status;
}

/* ---- Looking at them ---- */

void lth__proposals_renumber(lth_proposals *p) {
    for (size_t i = 0; i < p->count; i++) p->list[i].row = i;
}

size_t lth_proposals_count(const lth_proposals *p) {
    return p->count;
}

const lth_proposal *lth_proposal_at(const lth_proposals *p, size_t i) {
    return i < p->count ? &p->list[i] : NULL;
}

const char *lth_proposals_objective(const lth_proposals *p, size_t objective, bool *minimize) {
    if (objective >= p->objectives.count) return NULL;
    if (minimize) *minimize = p->objectives.list[objective].minimize;
    return p->objectives.list[objective].name;
}

static size_t cell_of(const lth_proposals *p, size_t i, size_t objective) {
    bool there = i < p->count && objective < p->objectives.count;
    return there ? i * p->objectives.count + objective : LTH_NONE;
}

double lth_proposals_mean(const lth_proposals *p, size_t i, size_t objective) {
    size_t cell = cell_of(p, i, objective);
    return cell == LTH_NONE ? NAN : p->mean[cell];
}

double lth_proposals_sd(const lth_proposals *p, size_t i, size_t objective) {
    size_t cell = cell_of(p, i, objective);
    return cell == LTH_NONE ? NAN : p->sd[cell];
}

lth_acquisition lth_proposals_acquisition(const lth_proposals *p) {
    return p->acquisition;
}

lth_batch lth_proposals_batch(const lth_proposals *p) {
    return p->batch;
}

/* Local alignments on a device. */
#include "base/context.h"
#include "data/symbols.h"
#include "kernel/device/device_eval.h"
#include "kernel/string/la.h"

_Static_assert((int)LTH__DEVICE_LETTERS == (int)LTH__MOST_LETTERS, "a matrix of scores fits");

static bool has_few_letters(const lth__node *node, const lth_items *items) {
    const lth__lexicon *l = &items->encoder->lexicons[node->field];
    return lth__symbols_count(l->symbols) <= LTH__DEVICE_LETTERS;
}

/* Letters that are the same or not are numbered as they come: there may be too many. */
bool lth__la_device_able(const lth__node *node, const lth__eval *eval) {
    lth__la_view v = lth__la_look(eval->state[node->index]);
    return eval->ctx->gpu->table->la &&
           (!v.scoring->identity ||
            (has_few_letters(node, eval->rows) && has_few_letters(node, eval->cols)));
}

/* ---- Jobs ---- */

/* The letters of a side on the device, from one evaluation to the next. */
static lth_status find_letters(lth__device_eval *e, const lth__la_side *s,
                               lth__device_strings **kept, lth_error *err) {
    if (*kept) return LTH_OK;
    size_t count = s->of->count, *start = lth__alloc(count + 1, sizeof *start);
    if (!start) return lth__fail_memory(err, (count + 1) * sizeof *start);
    for (size_t i = 0; i <= count; i++) start[i] = s->of->start[i] - s->of->start[0];
    lth_status status = e->t->strings(e->d, s->letter, start, count, kept, err);
    lth__free(start);
    return status;
}

/* What a job points to. */
typedef struct job_parts {
    double score[LTH__DEVICE_LETTERS * LTH__DEVICE_LETTERS];
    lth__device_self self[]; /* of rows, then of columns unless they are the same */
} job_parts;

static void list_scores(const lth__scoring *s, double *score) {
    for (size_t i = 0; i < (size_t)LTH__DEVICE_LETTERS * LTH__DEVICE_LETTERS; i++) {
        bool same = i / LTH__DEVICE_LETTERS == i % LTH__DEVICE_LETTERS;
        score[i] = !s->identity ? s->score[i] : same ? s->same : s->other;
    }
}

static void list_selves(const lth__la_side *s, lth__device_self *to) {
    for (size_t i = 0; i < s->of->count; i++) {
        const lth__alignments *x = &s->self[i];
        to[i] = (lth__device_self){.log_sum = x->log_sum, .slope = {x->beta, x->open, x->extend}};
    }
}

static lth_status run_job(const lth__node *node, lth__device_eval *e, lth__device_la *job,
                          lth_error *err) {
    lth__la_view v = lth__la_look(e->eval->state[node->index]);
    bool same = e->eval->rows == e->eval->cols;
    size_t rows = v.side[0].of->count, cols = same ? 0 : v.side[1].of->count;
    lth__device_strings **kept = e->nodes[node->index].strings;
    for (int i = 0; i < (same ? 1 : 2); i++) LTH_TRY(find_letters(e, &v.side[i], &kept[i], err));
    size_t bytes = sizeof(job_parts) + (rows + cols) * sizeof(lth__device_self);
    job_parts *parts = lth__alloc(bytes, 1);
    if (!parts) return lth__fail_memory(err, bytes);
    list_scores(v.scoring, parts->score);
    list_selves(&v.side[0], parts->self);
    if (!same) list_selves(&v.side[1], parts->self + rows);
    job->rows = kept[0];
    job->cols = kept[same ? 0 : 1];
    job->score = parts->score;
    job->row_self = parts->self;
    job->col_self = parts->self + (same ? 0 : rows);
    job->theta[LTH__ALIGN_BETA] = v.scoring->beta;
    job->theta[LTH__ALIGN_OPEN] = v.scoring->open;
    job->theta[LTH__ALIGN_EXTEND] = v.scoring->extend;
    job->theta[LTH__ALIGN_POWER] = v.power;
    lth_status status = e->t->la(e->d, job, err);
    lth__free(parts);
    return status;
}

lth_status lth__la_device_tile(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                               double *K, lth_error *err) {
    lth__device_la job = {.panel = *panel, .K = K, .ld = panel->cols};
    return run_job(node, e, &job, err);
}

lth_status lth__la_device_pull(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                               double *W, double *K, double *grad, lth_error *err) {
    double sums[LTH__ALIGN_PARAMS];
    lth__device_la job = {.panel = *panel, .K = K, .ld = panel->cols, .W = W, .sums = sums};
    LTH_TRY(run_job(node, e, &job, err));
    for (size_t p = 0; p < LTH__ALIGN_PARAMS; p++) grad[node->first_param + p] += sums[p];
    return LTH_OK;
}

/* ---- Cost ---- */

double lth__la_cell_orders(const lth__node *node, const lth_items *rows, const lth_items *cols) {
    return 3 * lth__sequences_cells(&rows->fields[node->field], &cols->fields[node->field]);
}

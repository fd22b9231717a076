/* Asking a campaign what to measure: at random until there is something to learn from, then by a
 * model of all that was measured, whose search begins where the last one ended. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/hash.h"
#include "base/random.h"
#include "data/table.h"
#include "design/campaign_rows.h"
#include "model/gp/gp.h"

/* What an ask has found, before it counts. */
typedef struct asking {
    lth_design *design;
    size_t count;
    lth__campaign_rows rows; /* the new version */
    lth_table *found;        /* rows of a space, or drawn at random; NULL = of the candidates */
    lth_proposals *proposals;
    size_t *candidates; /* the rows that were chosen of these; NULL = of a space */
    lth_table *answer;
    lth_error *err;
} asking;

/* ---- Candidates ---- */

static size_t count_columns(const lth_kernel *kernel) {
    size_t count = 0;
    while (lth_kernel_column(kernel, count)) count++;
    return count;
}

/* What the models read, also that of what can be used, and costs. */
static lth_status read_table(lth_design *d, lth_error *err) {
    const lth_model *second = d->propose.feasible;
    const lth_kernel *more = second ? lth_model_kernel(second) : NULL;
    size_t count = d->column_count, others = more ? count_columns(more) : 0;
    const char **names = lth__alloc(count + others + 1, sizeof *names);
    if (!names) return lth__fail_memory(err, 0);
    memcpy(names, d->columns, count * sizeof *names);
    for (size_t i = 0; i < others; i++) names[count++] = lth_kernel_column(more, i);
    if (d->propose.cost) names[count++] = d->propose.cost;
    lth_table_options options;
    lth_table_options_init(&options);
    options.columns = names;
    options.column_count = count;
    lth_status status = lth_table_read(d->ctx, d->from, &options, &d->candidates, err);
    lth__free(names);
    return status;
}

lth_status lth__campaign_read_candidates(lth_design *d, lth_error *err) {
    if (lth_design_candidates(d) == NULL) LTH_TRY(read_table(d, err));
    const lth_table *table = lth_design_candidates(d);
    size_t *columns = NULL;
    LTH_TRY(lth__campaign_columns(d, table, &columns, err));
    lth__free(columns);
    if (lth_table_rows(table) > 0) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, lth_table_name(table), 0, 0, "the table has no rows");
}

/* ---- At random ---- */

static lth_status fail_nothing_left(const lth_design *d, lth_error *err) {
    return lth__fail(err, LTH_EARG,
                     "every %s is measured or pending: there is nothing left to ask "
                     "for",
                     d->space ? "text of the space" : "candidate");
}

/* The first `count` rows of a shuffle whose keys are new. */
static lth_status pick_new(asking *a, const lth_table *table, lth__random *random, size_t *picked,
                           size_t *found) {
    const lth_design *d = a->design;
    size_t rows = lth_table_rows(table), *columns = NULL;
    size_t *order = lth__alloc(rows, sizeof *order);
    lth__symbols *keys = lth__campaign_keys(d);
    lth__string key = {0};
    lth_status status = order && keys ? lth__campaign_columns(d, table, &columns, a->err)
                                      : lth__fail_memory(a->err, rows * sizeof *order);
    for (size_t i = 0; status == LTH_OK && i < rows; i++) order[i] = i;
    *found = 0;
    for (size_t i = 0; status == LTH_OK && i < rows && *found < a->count; i++) {
        size_t j = random ? i + lth__random_below(random, rows - i) : i, row = order[j];
        order[j] = order[i];
        lth__campaign_key(d, table, row, columns, &key);
        size_t before = lth__symbols_count(keys);
        lth__symbol s =
            key.failed ? LTH__NO_SYMBOL : lth__symbols_intern(keys, key.bytes, key.length);
        if (s == LTH__NO_SYMBOL)
            status = lth__fail_memory(a->err, 0);
        else if (s == before)
            picked[(*found)++] = row;
    }
    lth__free(order);
    lth__free(columns);
    lth__symbols_free(keys);
    lth__string_free(&key);
    return status;
}

static lth_status append_picked(asking *a, const lth_table *table, const size_t *picked,
                                size_t count) {
    lth_design *d = a->design;
    size_t *columns = NULL;
    LTH_TRY(lth__campaign_columns(d, table, &columns, a->err));
    lth__campaign_row with = {
        .asked = d->report.rounds + 1, .mean = NAN, .sd = NAN, .acquisition = NAN};
    lth_status status = LTH_OK;
    for (size_t i = 0; i < count && status == LTH_OK; i++) {
        const lth_proposal *p = a->proposals ? lth_proposal_at(a->proposals, i) : NULL;
        if (p) {
            with.mean = p->mean;
            with.sd = p->sd;
            with.acquisition = p->acquisition;
        }
        status = lth__campaign_append(d, &a->rows, table, picked[i], columns, with, a->err);
    }
    lth__free(columns);
    return status;
}

/* A space gives more than are wanted, as some of them are known. */
static lth_status draw(asking *a) {
    lth_design *d = a->design;
    lth__random random;
    lth__random_seed(&random, d->seed);
    const lth_table *table = lth_design_candidates(d);
    if (d->space)
        LTH_TRY(lth_space_sample(d->space, d->columns[0], a->count + d->rows.count, d->seed,
                                 &a->found, a->err));
    if (d->space) table = a->found;
    size_t rows = lth_table_rows(table), found = 0;
    if (a->count > rows) a->count = rows;
    size_t *picked = lth__alloc(a->count, sizeof *picked);
    if (!picked) return lth__fail_memory(a->err, a->count * sizeof *picked);
    lth_status status = pick_new(a, table, d->space ? NULL : &random, picked, &found);
    a->count = found;
    if (status == LTH_OK && found == 0) status = fail_nothing_left(d, a->err);
    if (status == LTH_OK) status = append_picked(a, table, picked, found);
    if (d->space)
        lth__free(picked);
    else
        a->candidates = picked;
    return status;
}

/* ---- The model ---- */

/* The kernel with the values of the last model, unless rows made another one of it (as those with
 * a parameter for each label do); freed with lth__free(). */
static lth_status start_expression(const lth_design *d, lth_gp_options *options, char **out,
                                   lth_error *err) {
    const lth_gp *gp = d->model ? lth_model_gp(d->model) : NULL;
    if (!gp || lth_kernel_params(lth_gp_kernel(gp)) != d->params) {
        *out = lth__strndup(d->expression, strlen(d->expression));
        return *out ? LTH_OK : lth__fail_memory(err, 0);
    }
    size_t length = lth_kernel_print(lth_gp_kernel(gp), NULL, 0);
    *out = length > 0 ? lth__alloc(length + 1, 1) : NULL; /* 0 = out of memory */
    if (!*out || lth_kernel_print(lth_gp_kernel(gp), *out, length + 1) != length)
        return lth__fail_memory(err, length);
    double noise = lth_gp_reported(gp)->noise;
    if (noise > 0 && !options->noise_held) options->noise = noise;
    return LTH_OK;
}

/* All that is drawn follows the campaign's seed, whoever opened it, and is another each time. */
static uint64_t seed_of(const lth_design *d) {
    uint64_t time = ((uint64_t)d->report.rounds << 32) + d->rows.count;
    return lth__hash(d->seed, &time, sizeof time);
}

static lth_status fit_from(lth_design *d, const char *expression, const lth_gp_options *options,
                           const lth_table *table, lth_gp **out, lth_error *err) {
    return lth_gp_fit(d->ctx, expression, table, d->targets, d->target_count, options, out, err);
}

/* From where the last search ended, and once more from scratch; the better of the two: rows of one
 * round may lead a search to where later ones do not get out again. Random starts are for the first
 * model, unless they were asked for. */
static lth_status fit_again(lth_design *d, const lth_table *table, lth_gp **out, lth_error *err) {
    char *expression = NULL;
    lth_gp_options options = d->gp;
    lth_gp *warm = NULL, *fresh = NULL;
    options.restarts = 0;
    LTH_TRY(start_expression(d, &options, &expression, err));
    lth_status status = fit_from(d, expression, &options, table, &warm, err);
    lth__free(expression);
    lth_gp_options_init(&options);
    size_t usual = options.restarts;
    options = d->gp;
    if (options.restarts == usual) options.restarts = 0;
    if (status == LTH_OK && options.learn)
        status = fit_from(d, d->expression, &options, table, &fresh, err);
    bool better = fresh && lth_gp_reported(fresh)->evidence > lth_gp_reported(warm)->evidence;
    if (status != LTH_OK) {
        lth_gp_free(warm);
        return status;
    }
    lth_gp_free(better ? warm : fresh);
    *out = better ? fresh : warm;
    return LTH_OK;
}

static lth_status fit(lth_design *d, lth_error *err) {
    uint64_t of = lth__campaign_fingerprint(d);
    if (d->model && d->fitted == of) return LTH_OK;
    lth_table *table = NULL;
    lth_gp *gp = NULL;
    LTH_TRY(lth__campaign_measured(d, &table, err));
    double began = lth__seconds();
    lth_status status = d->model ? fit_again(d, table, &gp, err)
                                 : fit_from(d, d->expression, &d->gp, table, &gp, err);
    lth_table_free(table);
    if (status == LTH_OK && lth_gp_reported(gp)->interrupted) {
        lth_gp_free(gp);
        return lth__fail(err, LTH_ECANCELED, "interrupted");
    }
    LTH_TRY(status);
    lth_model_free(d->model);
    d->model = lth_gp_model(gp);
    d->fitted = of;
    d->report.seconds = lth__seconds() - began;
    return lth__campaign_save_model(d, err);
}

/* ---- By the model ---- */

static lth_status propose(asking *a, const lth_propose_options *options) {
    lth_design *d = a->design;
    if (d->space)
        return lth_search(&d->model, 1, d->space, options, &d->search, &a->found, &a->proposals,
                          a->err);
    return lth_propose(&d->model, 1, lth_design_candidates(d), options, &a->proposals, a->err);
}

static lth_status choose(asking *a) {
    lth_design *d = a->design;
    lth_table *pending = NULL;
    LTH_TRY(fit(d, a->err));
    if (d->gp.vectors) LTH_TRY(lth_model_use_vectors(d->model, d->gp.vectors, a->err));
    LTH_TRY(lth__campaign_pending(d, &d->rows, &pending, a->err));
    lth_propose_options options = d->propose;
    options.count = a->count;
    options.best = NAN;
    options.pending = lth_table_rows(pending) > 0 ? pending : NULL;
    lth_model_gp(d->model)->ctx.options.seed = d->ctx->options.seed;
    lth_status status = propose(a, &options);
    lth_table_free(pending);
    LTH_TRY(status);
    a->count = lth_proposals_count(a->proposals);
    if (a->count == 0) return fail_nothing_left(d, a->err);
    size_t *picked = lth__alloc(a->count, sizeof *picked);
    if (!picked) return lth__fail_memory(a->err, a->count * sizeof *picked);
    for (size_t i = 0; i < a->count; i++) picked[i] = lth_proposal_at(a->proposals, i)->row;
    status = append_picked(a, d->space ? a->found : lth_design_candidates(d), picked, a->count);
    if (d->space)
        lth__free(picked);
    else
        a->candidates = picked;
    return status;
}

/* ---- The answer ---- */

/* What the models read of the new rows, which are the last ones. */
static lth_status make_answer(asking *a) {
    lth__campaign_rows last = {.list = a->rows.list + (a->rows.count - a->count),
                               .count = a->count};
    return lth__campaign_pending(a->design, &last, &a->answer, a->err);
}

static lth_status ask(asking *a) {
    lth_design *d = a->design;
    if (a->count == 0) return lth__fail(a->err, LTH_EARG, "ask for at least one row");
    if (!d->space) LTH_TRY(lth__campaign_read_candidates(d, a->err));
    LTH_TRY(lth__campaign_branch(d, &a->rows, a->err));
    uint64_t before = d->ctx->options.seed;
    d->ctx->options.seed = seed_of(d);
    lth_status status = lth__campaign_can_learn(d) ? choose(a) : draw(a);
    d->ctx->options.seed = before;
    LTH_TRY(status);
    LTH_TRY(make_answer(a));
    LTH_TRY(lth__campaign_seal(d, &a->rows, a->err));
    return lth__campaign_save_rows(d, &a->rows, a->err);
}

lth_status lth_design_ask(lth_design *design, size_t count, lth_table **rows,
                          lth_proposals **proposals, lth_error *err) {
    int lock;
    asking a = {.design = design, .count = count, .err = err};
    LTH_TRY(lth__campaign_lock(design, &lock, err));
    lth_status status = ask(&a);
    if (status == LTH_OK) {
        lth__campaign_replace(design, &a.rows);
        lth__free(design->asked);
        design->asked = a.candidates;
        design->asked_count = a.count;
        if (rows) *rows = a.answer;
        if (proposals) *proposals = a.proposals;
    }
    lth__campaign_unlock(lock);
    if (status != LTH_OK) lth__free(a.candidates);
    if (status != LTH_OK || !rows) lth_table_free(a.answer);
    if (status != LTH_OK || !proposals) lth_proposals_free(a.proposals);
    lth__campaign_drop(&a.rows);
    lth_table_free(a.found);
    return status;
}

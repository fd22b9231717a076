/* A campaign: how it begins, is opened again, and is looked at. */
#include "design/campaign.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "data/table.h"
#include "design/campaign_rows.h"
#include "model/gp/gp.h"

void lth_design_options_init(lth_design_options *options) {
    *options = (lth_design_options){.size = sizeof *options};
}

void lth_design_free(lth_design *d) {
    if (!d) return;
    lth_model_free(d->model);
    lth__campaign_drop(&d->rows);
    lth_table_free(d->candidates);
    lth_space_free(d->space);
    lth__free(d->asked);
    lth__free(d->columns);
    lth__free(d->numeric);
    lth__free(d->expression);
    lth__free(d->settings);
    lth__free(d->folder);
    lth__pool_free(&d->words);
    lth__pool_free(&d->texts);
    lth__free(d);
}

/* ---- What follows from the settings ---- */

static size_t count_columns(const lth_kernel *kernel) {
    size_t count = 0;
    for (size_t i = 0; lth_kernel_column(kernel, i); i++)
        count += lth__columns_count(lth_kernel_column(kernel, i));
    return count;
}

static lth_status add_column(lth_design *d, const char *range, size_t i, bool numeric,
                             lth__string *name, lth_error *err) {
    name->length = 0;
    lth__columns_name(range, i, name);
    char *copy = name->failed ? NULL : lth__pool_strndup(&d->words, name->bytes, name->length);
    if (!copy) return lth__fail_memory(err, 0);
    for (size_t j = 0; j < d->column_count; j++)
        if (strcmp(d->columns[j], copy) == 0) return LTH_OK; /* two ranges may share some */
    d->numeric[d->column_count] = numeric;
    d->columns[d->column_count++] = copy;
    return LTH_OK;
}

/* The columns that the kernel reads, ranges spelled out. */
static lth_status name_columns(lth_design *d, const lth_kernel *kernel, lth_error *err) {
    size_t most = count_columns(kernel);
    d->columns = lth__alloc(most, sizeof *d->columns);
    d->numeric = lth__alloc(most, sizeof *d->numeric);
    if (!d->columns || !d->numeric) return lth__fail_memory(err, most * sizeof *d->columns);
    lth__string name = {0};
    lth_status status = LTH_OK;
    for (size_t i = 0; lth_kernel_column(kernel, i) && status == LTH_OK; i++) {
        const char *range = lth_kernel_column(kernel, i);
        bool numeric = lth_kernel_column_kind(kernel, i) == LTH_COLUMN_NUMBERS;
        for (size_t j = 0; j < lth__columns_count(range) && status == LTH_OK; j++)
            status = add_column(d, range, j, numeric, &name, err);
    }
    lth__string_free(&name);
    return status;
}

static lth_status check_names(const lth_design *d, lth_error *err) {
    for (size_t t = 0; t < d->target_count; t++) {
        const char *target = d->targets[t];
        for (size_t j = 0; j < d->column_count + t; j++) {
            const char *other =
                j < d->column_count ? d->columns[j] : d->targets[j - d->column_count];
            if (strcmp(other, target) == 0)
                return lth__fail(err, LTH_EARG, "the target \"%.80s\" is %s", target,
                                 j < d->column_count ? "read by the kernel" : "named twice");
        }
    }
    for (size_t j = 0; j < d->column_count + d->target_count; j++) {
        const char *name = j < d->column_count ? d->columns[j] : d->targets[j - d->column_count];
        if (lth__campaign_is_note(name))
            return lth__fail(err, LTH_EARG,
                             "a campaign has a column \"%s\" of its own; rename the "
                             "table's",
                             name);
    }
    return LTH_OK;
}

static lth_status check_sources(const lth_design *d, lth_error *err) {
    int sources = (d->space_text != NULL) + (d->from != NULL) + (d->pool != NULL);
    if (sources != 1)
        return lth__fail(err, LTH_EARG, "a campaign needs a space or candidates%s",
                         sources > 1 ? ", not both" : "");
    if (d->pool && d->folder)
        return lth__fail(err, LTH_EARG, "a campaign on disk reads its candidates from a file");
    if (d->space_text && d->column_count != 1)
        return lth__fail(err, LTH_EARG,
                         "a space is for kernels of one column, and this one reads "
                         "%zu",
                         d->column_count);
    if (d->space_text && d->propose.cost)
        return lth__fail(err, LTH_EARG, "costs are a column of candidates; a space has none");
    return LTH_OK;
}

/* All but the rows. */
static lth_status prepare(lth_design *d, lth_error *err) {
    lth_kernel *kernel = NULL;
    LTH_TRY(lth__gp_expression(d->ctx, d->kernel, &d->gp, &d->expression, err));
    LTH_TRY(lth_kernel_parse(d->ctx, d->expression, &kernel, err));
    d->params = lth_kernel_params(kernel);
    lth_status status = name_columns(d, kernel, err);
    lth_kernel_free(kernel);
    if (status == LTH_OK) status = check_names(d, err);
    if (status == LTH_OK) status = check_sources(d, err);
    if (status == LTH_OK && d->space_text)
        status = lth_space_parse(d->ctx, d->space_text, &d->space, err);
    return status;
}

/* ---- Beginning ---- */

static lth_status create_empty(lth_ctx *ctx, const char *folder, lth_design **out, lth_error *err) {
    lth_design *d = lth__calloc(1, sizeof *d);
    if (!d) return lth__fail_memory(err, sizeof *d);
    d->ctx = ctx;
    if (folder) d->folder = lth__strndup(folder, strlen(folder));
    if (folder && !d->folder) {
        lth_design_free(d);
        return lth__fail_memory(err, 0);
    }
    *out = d;
    return LTH_OK;
}

static lth_status begin(lth_design *d, const lth_design_options *options, lth_error *err) {
    d->pool = options->pool;
    if (options->propose) d->propose.feasible = options->propose->feasible;
    if (options->search) d->search.valid = options->search->valid;
    if (options->search) d->search.user = options->search->user;
    if (options->gp) d->gp.step = options->gp->step;
    if (options->gp) d->gp.user = options->gp->user;
    LTH_TRY(lth__campaign_write_settings(d, options, err));
    LTH_TRY(lth__campaign_read_settings(d, NULL, err));
    LTH_TRY(prepare(d, err));
    if (!d->space) LTH_TRY(lth__campaign_read_candidates(d, err));
    lth__campaign_rows none = {0};
    LTH_TRY(lth__campaign_seal(d, &none, err));
    lth__campaign_replace(d, &none);
    return lth__campaign_write_new(d, err);
}

lth_status lth_design_create(lth_ctx *ctx, const char *folder, const lth_design_options *given,
                             lth_design **out, lth_error *err) {
    lth_design_options options;
    lth_design_options_init(&options);
    if (given) lth__copy_struct(&options, sizeof options, given, given->size);
    lth_design *d = NULL;
    LTH_TRY(create_empty(ctx, folder, &d, err));
    lth_status status = begin(d, &options, err);
    if (status == LTH_OK)
        *out = d;
    else
        lth_design_free(d);
    return status;
}

lth_status lth_design_open(lth_ctx *ctx, const char *folder, lth_design **out, lth_error *err) {
    lth_design *d = NULL;
    if (!folder) return lth__fail(err, LTH_EARG, "a campaign is opened by the name of its folder");
    LTH_TRY(create_empty(ctx, folder, &d, err));
    lth_status status = lth__campaign_load(d, err);
    if (status == LTH_OK) status = prepare(d, err);
    if (status == LTH_OK) status = lth__campaign_load_rows(d, err);
    if (status == LTH_OK)
        *out = d;
    else
        lth_design_free(d);
    return status;
}

/* ---- Looking ---- */

const lth_design_report *lth_design_reported(const lth_design *design) {
    return &design->report;
}

const lth_table *lth_design_rows(const lth_design *design) {
    return design->rows.table;
}

lth_model *lth_design_model(const lth_design *design) {
    return design->model;
}

const char *lth_design_setting(const lth_design *design, const char *name) {
    for (size_t i = 0; i < design->setting_count; i++)
        if (strcmp(design->settings[i].name, name) == 0) return design->settings[i].value;
    return NULL;
}

const char *lth_design_target(const lth_design *design, size_t i) {
    return i < design->target_count ? design->targets[i] : NULL;
}

const lth_table *lth_design_candidates(const lth_design *design) {
    return design->pool ? design->pool : design->candidates;
}

size_t lth_design_asked(const lth_design *design, size_t i) {
    return design->asked && i < design->asked_count ? design->asked[i] : LTH_NONE;
}

void lth_design_use(lth_design *design, const lth_model *feasible, lth_valid_fn *valid,
                    void *user) {
    design->propose.feasible = feasible;
    design->search.valid = valid;
    design->search.user = user;
}

void lth_design_allow_repeats(lth_design *design, bool allow) {
    design->repeats = allow ? LTH__REPEATS_YES : LTH__REPEATS_NO;
}

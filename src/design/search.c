/* Proposals from a space: the search by the models' acquisition, then a batch from what it found.
 */
#include "design/search.h"

#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "design/scorer.h"

enum { POOL = 4096 }; /* texts from which the batch is chosen */

static lth_status value_rows(void *user, const lth_table *rows, double *value, lth_error *err) {
    return lth__scorer_rows(user, rows, value, err);
}

/* The column that all models read, and no other. */
static lth_status find_column(lth_model *const *models, size_t count, const char **column,
                              lth_error *err) {
    for (size_t i = 0; i < count; i++) {
        const lth_kernel *kernel = lth_model_kernel(models[i]);
        const char *first = lth_kernel_column(kernel, 0);
        if (i == 0) *column = first;
        if (!first || lth_kernel_column(kernel, 1) || strcmp(first, *column) != 0 ||
            lth_kernel_column_kind(kernel, 0) != LTH_COLUMN_TEXT)
            return lth__fail(err, LTH_EARG, "a search wants models that read one column of texts");
        if (lth_kernel_wild_type(kernel))
            return lth__fail(err, LTH_EUNSUPPORTED,
                             "a search finds sequences, but the model reads mutations of one");
    }
    return LTH_OK;
}

static lth_status check(lth_model *const *models, size_t count, const lth_space *space,
                        const lth_propose_options *options, const char **column, lth_error *err) {
    if (!models || count == 0 || !space)
        return lth__fail(err, LTH_EARG, "a search needs a model and a space");
    if (options && options->cost)
        return lth__fail(err, LTH_EARG, "costs are a column of candidates, and a search has none");
    return find_column(models, count, column, err);
}

/* All that was measured, best first; of models that do not expect anything of it, as it comes. */
static lth_status collect(lth__scorer *scorer, const lth_model *model, lth__texts *texts,
                          const char ***out, lth_error *err) {
    const char *text;
    for (size_t i = 0; (text = lth__scorer_best_text(scorer, i)) != NULL; i++)
        LTH_TRY(lth__texts_add(texts, text, strlen(text), err));
    for (size_t i = 0; !lth__scorer_best_text(scorer, 0) && i < lth_model_rows(model); i++)
        if ((text = lth_model_row_text(model, i, 0)) != NULL)
            LTH_TRY(lth__texts_add(texts, text, strlen(text), err));
    const char **all = lth__alloc(texts->count, sizeof *all);
    if (!all) return lth__fail_memory(err, texts->count * sizeof *all);
    for (size_t i = 0; i < texts->count; i++) all[i] = lth__texts_at(texts, i, NULL);
    *out = all;
    return LTH_OK;
}

static lth_status search_from(const lth_space *space, const char *const *starts, size_t count,
                              lth__search *search, lth__texts *pool, lth_error *err) {
    lth_space whole;
    LTH_TRY(lth__space_complete(space, starts, count, &whole, err));
    search->space = &whole;
    search->starts = starts;
    search->start_count = count;
    lth_status status = lth__search_run(search, pool, err);
    lth__space_complete_free(&whole, space);
    if (status == LTH_OK && pool->count == 0)
        status = lth__fail(err, LTH_EARG, "no text was found that keeps to the rules and is new");
    return status;
}

static lth_status find_pool(lth_model *const *models, size_t count, const lth_space *space,
                            const lth_propose_options *options, lth__search *search,
                            lth__texts *pool, lth_error *err) {
    lth__scorer *scorer;
    LTH_TRY(lth__scorer_create(models, count, options, &scorer, err));
    lth__texts measured = {0};
    const char **starts = NULL;
    search->value = value_rows;
    search->user = scorer;
    lth_status status = collect(scorer, models[0], &measured, &starts, err);
    if (status == LTH_OK) status = search_from(space, starts, measured.count, search, pool, err);
    lth__free(starts);
    lth__texts_free(&measured);
    lth__scorer_free(scorer);
    return status;
}

/* The batch, and a table of its rows alone. */
static lth_status choose(lth_model *const *models, size_t count, const lth__texts *pool,
                         const lth_propose_options *options, const lth__search *search,
                         lth_table **rows, lth_proposals **out, lth_error *err) {
    lth_table *table, *chosen = NULL;
    lth_proposals *proposals = NULL;
    LTH_TRY(lth__texts_table(pool, search->ctx, search->column, NULL, pool->count, &table, err));
    lth_status status = lth_propose(models, count, table, options, &proposals, err);
    lth_table_free(table);
    size_t found = status == LTH_OK ? lth_proposals_count(proposals) : 0;
    size_t *picked = lth__alloc(found, sizeof *picked);
    if (status == LTH_OK && !picked) status = lth__fail_memory(err, found * sizeof *picked);
    for (size_t i = 0; status == LTH_OK && i < found; i++)
        picked[i] = lth_proposal_at(proposals, i)->row;
    if (status == LTH_OK)
        status = lth__texts_table(pool, search->ctx, search->column, picked, found, &chosen, err);
    lth__free(picked);
    if (status != LTH_OK) {
        lth_proposals_free(proposals);
        return status;
    }
    lth__proposals_renumber(proposals);
    *rows = chosen;
    *out = proposals;
    return LTH_OK;
}

lth_status lth_search(lth_model *const *models, size_t model_count, const lth_space *space,
                      const lth_propose_options *options, const lth_search_options *search,
                      lth_table **rows, lth_proposals **out, lth_error *err) {
    const char *column = NULL;
    lth_propose_options how;
    lth_propose_options_init(&how);
    if (options) lth__copy_struct(&how, sizeof how, options, options->size);
    LTH_TRY(check(models, model_count, space, &how, &column, err));
    if (!how.wild_type && !lth_kernel_wild_type(lth_model_kernel(models[0])))
        how.wild_type = space->from;
    lth__search own = {.ctx = space->ctx,
                       .column = column,
                       .pool = how.shortlist > POOL ? how.shortlist : POOL,
                       .seed = space->ctx->options.seed};
    lth_search_options_init(&own.options);
    if (search) lth__copy_struct(&own.options, sizeof own.options, search, search->size);
    lth__texts pool = {0};
    lth_status status = find_pool(models, model_count, space, &how, &own, &pool, err);
    if (status == LTH_OK) status = choose(models, model_count, &pool, &how, &own, rows, out, err);
    lth__texts_free(&pool);
    return status;
}

/* Targets that learn from each other: parameters, and what is known of the rows. */
#include "model/posterior/outputs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- What goes together ---- */

static const char *wrong_option(const lth_gp_options *o) {
    bool factors = o->posterior == LTH_POSTERIOR_AUTO || o->posterior == LTH_POSTERIOR_EXACT;
    return o->mean               ? "a mean of columns"
           : o->unscaled         ? "unscaled"
           : o->noise_by         ? "noise-by"
           : o->weights          ? "weights"
           : !factors            ? "a posterior other than the exact one"
           : o->bound            ? "bound"
           : o->store == LTH_F32 ? "store"
           : o->on_disk          ? "a matrix that stays on disk"
                                 : NULL;
}

static const char instead[] = "a long table, with a column that names the target and in the "
                              "kernel coregion(COLUMN) *, goes with all";

lth_status lth__outputs_check(const char *const *targets, size_t count, bool labels,
                              const lth_gp_options *options, lth_error *err) {
    size_t rank = options->coregion;
    const char *wrong = wrong_option(options);
    if (rank == 0) return LTH_OK;
    if (labels)
        return lth__fail(err, LTH_EARG, "coregion is for numbers, but \"%s\" has labels",
                         targets[0]);
    if (count < 2)
        return lth__fail(err, LTH_EARG,
                         "coregion is for several targets that learn from each other, but \"%s\" "
                         "is the only one",
                         targets[0]);
    if (rank > count)
        return lth__fail(err, LTH_EARG,
                         "coregion of rank %zu, but there are %zu targets: take %zu at most", rank,
                         count, count);
    if (rank > LTH__MOST_RANK)
        return lth__fail(err, LTH_EARG, "coregion of rank %zu: take %d at most", rank,
                         LTH__MOST_RANK);
    if (count * rank + 2 > LTH__MOST_OWN)
        return lth__fail(err, LTH_EARG, "coregion of rank %zu is for %zu targets at most", rank,
                         (LTH__MOST_OWN - 2) / rank);
    if (lth__likelihood_of(options->likelihood, false) != &lth__gaussian)
        return lth__fail(err, LTH_EARG, "coregion goes with the likelihood gaussian alone; %s",
                         instead);
    if (wrong) return lth__fail(err, LTH_EARG, "coregion does not go with %s; %s", wrong, instead);
    return LTH_OK;
}

/* ---- Parameters: w of the first target, of the second, ..., then own ---- */

static const lth__own_param w_param = {.lo = -1e4, .hi = 1e4, .linear = true};
static const lth__own_param own_param = {.path = "own", .lo = 1e-6, .hi = 1e4};

static double *w_of(const lth_gp *gp, size_t target) {
    return (double *)gp->own + gp->likelihood_params + target * gp->how.coregion;
}

static double *own_of(const lth_gp *gp) {
    return w_of(gp, gp->target_count);
}

/* "w[joy,2]"; a long name is replaced by its number. */
static void name_w(const lth_gp *gp, size_t target, size_t r, lth__own_param *out) {
    enum { ROOM = 12 }; /* for the rest */
    const char *name = gp->targets[target].name;
    if (strlen(name) + ROOM < sizeof out->path)
        snprintf(out->path, sizeof out->path, "w[%.40s,%zu]", name, r + 1);
    else
        snprintf(out->path, sizeof out->path, "w[%zu,%zu]", target + 1, r + 1);
}

size_t lth__outputs_list(const lth_gp *gp, lth__own_param *out) {
    size_t count = 0, rank = gp->how.coregion;
    if (rank == 0) return 0;
    for (size_t i = 0; i < gp->target_count * rank; i++) {
        out[count] = w_param;
        name_w(gp, i / rank, i % rank, &out[count++]);
    }
    out[count++] = own_param;
    return count;
}

/* From 1 at 0 down to -1 at 1 and up again: a cosine that every machine rounds alike. */
static double wave(double x) {
    x = fmod(x, 2);
    return x < 1 ? 1 - 2 * x : 2 * x - 3;
}

/* What targets have in common is half of B_tt. The further ranks start as small waves, each another
 * one: equal ones would stay equal, and zeros would stay zeros. */
void lth__outputs_start(lth_gp *gp, double size) {
    static const double small = 0.3, shift = 0.29; /* so that no wave is 0 for all targets */
    double most = sqrt(size / 2), count = (double)gp->target_count;
    for (size_t t = 0; t < gp->target_count; t++) {
        w_of(gp, t)[0] = most;
        for (size_t r = 1; r < gp->how.coregion; r++)
            w_of(gp, t)[r] = small * most * wave((double)r * ((double)t + shift) / count);
    }
    *own_of(gp) = size / 2;
}

double lth__outputs_size(const lth_gp *gp, size_t target) {
    double size = *own_of(gp);
    if (gp->how.coregion == 0) return 1;
    for (size_t r = 0; r < gp->how.coregion; r++) size += pow(w_of(gp, target)[r], 2);
    return size;
}

void lth__outputs_matrix(const lth_gp *gp, double *B) {
    size_t count = gp->target_count;
    for (size_t t = 0; t < count; t++) {
        for (size_t u = 0; u < count; u++) {
            double sum = t == u ? *own_of(gp) : 0;
            for (size_t r = 0; r < gp->how.coregion; r++) sum += w_of(gp, t)[r] * w_of(gp, u)[r];
            B[t * count + u] = sum;
        }
    }
}

/* dB = dw w^T + w dw^T + down I */
void lth__outputs_pull(const lth_gp *gp, const double *by_B, double *gradient) {
    size_t count = gp->target_count, rank = gp->how.coregion;
    double *by_w = gradient + gp->kernel->param_count + gp->likelihood_params;
    for (size_t t = 0; t < count; t++) {
        for (size_t u = 0; u < count; u++) {
            for (size_t r = 0; r < rank; r++)
                by_w[t * rank + r] += 2 * by_B[t * count + u] * w_of(gp, u)[r];
        }
        by_w[count * rank] += by_B[t * count + t];
    }
}

/* ---- Rows ---- */

bool lth__outputs_has_any(const double *y, size_t rows, size_t targets, size_t row) {
    for (size_t t = 0; t < targets; t++) {
        if (!isnan(y[t * rows + row])) return true;
    }
    return false;
}

static size_t list_rows(const double *y, size_t rows, size_t targets, size_t *row) {
    size_t count = 0;
    for (size_t i = 0; i < rows; i++) {
        if (lth__outputs_has_any(y, rows, targets, i)) row[count++] = i;
    }
    return count;
}

static lth_status keep_rows(lth__source *s, const size_t *row, size_t count, lth_error *err) {
    lth_items *some = NULL;
    LTH_TRY(lth__items_pick(s->items, row, count, &some, err));
    lth_items_free(s->items);
    s->items = some;
    return LTH_OK;
}

lth_status lth__outputs_drop_empty(lth__source *s, double *y, size_t targets, lth_error *err) {
    size_t rows = s->items->count, *row = lth__alloc(rows, sizeof *row);
    if (!row) return lth__fail_memory(err, rows * sizeof *row);
    size_t count = list_rows(y, rows, targets, row);
    lth_status status = LTH_OK;
    if (count < rows) status = keep_rows(s, row, count, err);
    if (count < rows && status == LTH_OK) {
        lth__log(s->ctx, LTH_LOG_WARNING,
                 "%zu of %zu rows have no target at all: they count for "
                 "nothing",
                 rows - count, rows);
        for (size_t t = 0; t < targets; t++) {
            for (size_t i = 0; i < count; i++) y[t * count + i] = y[t * rows + row[i]];
        }
    }
    lth__free(row);
    return status;
}

/* ---- In a file ---- */

void lth__outputs_save_rank(lth__saver *s, const lth_gp *gp) {
    char rank[8];
    if (!s->ok || gp->how.coregion == 0) return;
    snprintf(rank, sizeof rank, "%zu", gp->how.coregion % 1000);
    s->ok = lth__tensors_put_text(s->writer, "coregion", rank);
}

lth_status lth__outputs_load_rank(lth_gp *gp, const lth__loader *l) {
    double rank;
    const char *text = lth__tensors_text(l->file, "coregion");
    if (!text) return LTH_OK;
    size_t most = gp->target_count < LTH__MOST_RANK ? gp->target_count : LTH__MOST_RANK;
    if (gp->likelihood != &lth__gaussian || gp->target_count > LTH__MOST_OWN ||
        !lth__parse_double(text, strlen(text), &rank) || !(rank >= 1 && rank <= (double)most) ||
        gp->target_count * (size_t)rank + 2 > LTH__MOST_OWN)
        return lth__loader_damaged(l, "coregion");
    gp->how.coregion = (size_t)rank;
    return LTH_OK;
}

size_t lth_gp_coregion(const lth_gp *gp) {
    return gp->how.coregion;
}

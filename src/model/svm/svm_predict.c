/* Predictions of a support vector machine, a block of rows at a time. */
#include <string.h>

#include "base/parallel.h"
#include "model/svm/svm.h"

enum { BLOCK = 512, LONG_BLOCK = 8192 };

typedef struct block {
    const lth_svm *svm;
    const lth_svm_prediction *to;
    size_t first, rows;
    double *K, *decision; /* rows x support rows, rows x problems */
    lth__svm_features features;
    size_t *row; /* 0, 1, ... */
} block;

static void decide_row(const block *b, size_t r) {
    const lth__svm_machine *m = &b->svm->machine;
    const double *k = b->K + r * b->svm->report.support;
    for (size_t p = 0; p < m->part_count; p++) {
        const lth__svm_solution *s = &m->parts[p].solution;
        double sum = 0;
        for (size_t i = 0; i < s->count; i++) sum += s->coef[i] * k[s->row[i]];
        b->decision[r * m->part_count + p] = sum - s->rho;
    }
}

static size_t first_true(const bool *has, size_t count) {
    size_t i = 0;
    while (i + 1 < count && !has[i]) i++;
    return i;
}

static lth_status predict_row(void *user, size_t r, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const block *b = user;
    const lth__svm_machine *m = &b->svm->machine;
    const lth_svm_prediction *to = b->to;
    size_t row = b->first + r, classes = m->classes, parts = m->part_count;
    const double *decision = b->decision + r * parts;
    if (b->K) decide_row(b, r);
    if (to->decision) memcpy(to->decision + row * parts, decision, parts * sizeof *decision);
    if (classes == 0) {
        if (to->value) to->value[row] = decision[0];
        return LTH_OK;
    }
    size_t *votes = lth__alloc(classes, sizeof *votes);
    bool *has = lth__alloc(classes, sizeof *has);
    double *room = lth__alloc(2 * classes * (classes + 1), sizeof *room);
    lth_status status = votes && has && room ? LTH_OK : LTH_ENOMEM;
    if (status == LTH_OK) {
        lth__svm_classify(m, decision, votes, has);
        if (to->has) memcpy(to->has + row * classes, has, classes * sizeof *has);
        if (to->label) to->label[row] = first_true(has, classes);
        if (to->probability)
            lth__svm_probabilities(m, decision, to->probability + row * classes, room);
    }
    lth__free(votes);
    lth__free(has);
    lth__free(room);
    return status;
}

/* ---- With weights of features: a problem at a time ---- */

static lth_status decide_part(void *user, size_t p, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const block *b = user;
    const lth__svm_machine *m = &b->svm->machine;
    return lth__svm_linear_decide(&m->parts[p].solution, &b->features, b->row, b->rows,
                                  b->decision + p, m->part_count);
}

static lth_status predict_slice(block *b, const lth_items *slice, lth_error *err) {
    LTH_TRY(lth__svm_features_make(b->svm->kernel, slice, &b->features, err));
    lth_ctx *ctx = lth__items_ctx(slice);
    lth_status status =
        lth__parallel_for(ctx, NULL, b->svm->machine.part_count, NULL, decide_part, b, err);
    if (status == LTH_OK) status = lth__parallel_for(ctx, NULL, b->rows, NULL, predict_row, b, err);
    lth__svm_features_free(&b->features);
    return status;
}

static lth_status predict_by_weights(const lth_svm *svm, const lth_items *items,
                                     const lth_svm_prediction *to, lth_error *err) {
    size_t most = items->count < LONG_BLOCK ? items->count : LONG_BLOCK;
    block b = {.svm = svm,
               .to = to,
               .row = lth__alloc(most, sizeof *b.row),
               .decision = lth__alloc(most * svm->machine.part_count, sizeof *b.decision)};
    lth_status status = b.row && b.decision ? LTH_OK : lth__fail_memory(err, 0);
    for (size_t i = 0; status == LTH_OK && i < most; i++) b.row[i] = i;
    for (; b.first < items->count && status == LTH_OK; b.first += LONG_BLOCK) {
        lth_items *slice = NULL;
        b.rows = items->count - b.first < LONG_BLOCK ? items->count - b.first : LONG_BLOCK;
        status = lth__items_slice(items, b.first, b.rows, &slice, err);
        if (status == LTH_OK) status = predict_slice(&b, slice, err);
        lth_items_free(slice);
    }
    lth__free(b.row);
    lth__free(b.decision);
    return status;
}

/* ---- With support rows ---- */

static lth_status predict_items(const lth_svm *svm, const lth_items *items,
                                const lth_svm_prediction *to, lth_error *err) {
    size_t support = svm->report.support;
    block b = {.svm = svm,
               .to = to,
               .K = lth__alloc(BLOCK * support, sizeof *b.K),
               .decision = lth__alloc(BLOCK * svm->machine.part_count, sizeof *b.decision)};
    lth_status status = b.K && b.decision ? LTH_OK : lth__fail_memory(err, 0);
    for (; b.first < items->count && status == LTH_OK; b.first += BLOCK) {
        lth_items *slice = NULL;
        b.rows = items->count - b.first < BLOCK ? items->count - b.first : BLOCK;
        status = lth__items_slice(items, b.first, b.rows, &slice, err);
        if (status == LTH_OK && support > 0)
            status = lth__gram_against(svm->prepared, slice, b.K, support, NULL, err);
        if (status == LTH_OK)
            status =
                lth__parallel_for(lth__items_ctx(items), NULL, b.rows, NULL, predict_row, &b, err);
        lth_items_free(slice);
    }
    lth__free(b.K);
    lth__free(b.decision);
    return status;
}

lth_status lth_svm_use_vectors(lth_svm *svm, const char *path, lth_error *err) {
    char *copy = path ? lth__strndup(path, strlen(path)) : NULL;
    if (path && !copy) return lth__fail_memory(err, 0);
    lth__free(svm->vectors);
    svm->vectors = copy;
    return LTH_OK;
}

static lth_status check_wishes(const lth_svm *svm, const lth_svm_prediction *to, lth_error *err) {
    const lth_svm_report *r = &svm->report;
    if (to->value && !r->regression)
        return lth__fail(err, LTH_EARG, "this model predicts labels, not numbers");
    if ((to->label || to->has || to->probability) && r->regression)
        return lth__fail(err, LTH_EARG, "this model predicts numbers, not labels");
    if (to->label && r->multi_label)
        return lth__fail(err, LTH_EARG, "this model gives a row any number of labels");
    if (to->probability && !r->probability)
        return lth__fail(err, LTH_EARG, "this model was trained without probabilities");
    return LTH_OK;
}

lth_status lth_svm_predict(const lth_svm *svm, const lth_table *table,
                           const lth_svm_prediction *wishes, size_t size, lth_error *err) {
    lth__reading r;
    lth_svm_prediction to = {0};
    lth__copy_struct(&to, sizeof to, wishes, size);
    LTH_TRY(check_wishes(svm, &to, err));
    LTH_TRY(lth__reading_open(svm->encoder, table, svm->vectors, &r, err));
    lth_status status = svm->report.linear ? predict_by_weights(svm, r.items, &to, err)
                                           : predict_items(svm, r.items, &to, err);
    lth__reading_close(&r);
    return status;
}

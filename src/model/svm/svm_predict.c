/* Predictions of a support vector machine, a slice of the rows at a time. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "engine/cluster.h"
#include "model/svm/svm.h"

enum { SLICE = 512, LONG_SLICE = 8192 };

typedef struct slice_room {
    const lth_svm *svm;
    const lth_svm_prediction *to;
    size_t first, rows;
    double *K, *decision; /* rows x support rows, rows x problems */
    lth__svm_features features;
    size_t *row; /* 0, 1, ... */
} slice_room;

static void decide_row(const slice_room *s, size_t r) {
    const lth__svm_machine *m = &s->svm->machine;
    const double *k = s->K + r * s->svm->report.support;
    for (size_t p = 0; p < m->part_count; p++) {
        const lth__svm_solution *z = &m->parts[p].solution;
        double sum = 0;
        for (size_t i = 0; i < z->count; i++) sum += z->coef[i] * k[z->row[i]];
        s->decision[r * m->part_count + p] = sum - z->rho;
    }
}

static size_t first_true(const bool *has, size_t count) {
    size_t i = 0;
    while (i + 1 < count && !has[i]) i++;
    return i;
}

static lth_status predict_row(void *user, size_t r, unsigned worker, lth_error *err) {
    (void)worker;
    const slice_room *s = user;
    const lth__svm_machine *m = &s->svm->machine;
    const lth_svm_prediction *to = s->to;
    size_t row = s->first + r, classes = m->classes, parts = m->part_count;
    const double *decision = s->decision + r * parts;
    if (s->K) decide_row(s, r);
    for (size_t p = 0; p < parts; p++) {
        if (!isfinite(decision[p]))
            return lth__fail(err, LTH_ENUMERIC,
                             "what the model expects of a row is not a finite number: check the "
                             "numbers in the table");
    }
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
        if (to->score)
            lth__svm_scores(m, decision, to->score + row * lth__svm_score_count(m), room);
    }
    lth__free(votes);
    lth__free(has);
    lth__free(room);
    return status;
}

/* ---- Slices of several ranks ---- */

static bool owns(const lth_items *items, size_t slice) {
    return lth__cluster_owns(lth__items_ctx(items)->cluster, slice);
}

/* What is wanted of each row, in bytes. */
typedef struct wish {
    void *at;
    size_t size;
} wish;

enum { WISHES = 6 };

static void list_wishes(const lth_svm *svm, const lth_svm_prediction *to, wish out[WISHES]) {
    size_t classes = svm->machine.classes, parts = svm->machine.part_count;
    size_t scores = lth__svm_score_count(&svm->machine);
    const wish wishes[WISHES] = {{to->value, sizeof *to->value},
                                 {to->label, sizeof *to->label},
                                 {to->has, classes * sizeof *to->has},
                                 {to->probability, classes * sizeof *to->probability},
                                 {to->decision, parts * sizeof *to->decision},
                                 {to->score, scores * sizeof *to->score}};
    memcpy(out, wishes, sizeof wishes);
}

/* ---- With weights of features: a problem at a time ---- */

static lth_status decide_part(void *user, size_t p, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const slice_room *s = user;
    const lth__svm_machine *m = &s->svm->machine;
    return lth__svm_linear_decide(&m->parts[p].solution, &s->features, s->row, s->rows,
                                  s->decision + p, m->part_count);
}

static lth_status predict_slice(slice_room *s, lth_items *slice, lth_error *err) {
    LTH_TRY(lth__svm_features_make(s->svm->kernel, slice, &s->features, err));
    lth_ctx *ctx = lth__items_ctx(slice);
    lth_status status =
        lth__parallel_for(ctx, NULL, s->svm->machine.part_count, NULL, decide_part, s, err);
    if (status == LTH_OK) status = lth__parallel_for(ctx, NULL, s->rows, NULL, predict_row, s, err);
    lth__svm_features_free(&s->features);
    return status;
}

static lth_status predict_by_weights(const lth_svm *svm, const lth_items *items,
                                     const lth_svm_prediction *to, lth_error *err) {
    size_t length = lth__svm_asks_features(svm->kernel) ? SLICE : LONG_SLICE;
    size_t most = items->count < length ? items->count : length;
    slice_room s = {.svm = svm,
                    .to = to,
                    .row = lth__alloc(most, sizeof *s.row),
                    .decision = lth__alloc(most * svm->machine.part_count, sizeof *s.decision)};
    lth_status status = s.row && s.decision ? LTH_OK : lth__fail_memory(err, 0);
    for (size_t i = 0; status == LTH_OK && i < most; i++) s.row[i] = i;
    for (; s.first < items->count && status == LTH_OK; s.first += length) {
        lth_items *slice = NULL;
        if (!owns(items, s.first / length)) continue;
        s.rows = items->count - s.first < length ? items->count - s.first : length;
        status = lth__items_slice(items, s.first, s.rows, &slice, err);
        if (status == LTH_OK) status = predict_slice(&s, slice, err);
        lth_items_free(slice);
    }
    lth__free(s.row);
    lth__free(s.decision);
    return status;
}

/* ---- With support rows ---- */

static lth_status predict_items(const lth_svm *svm, const lth_items *items,
                                const lth_svm_prediction *to, lth_error *err) {
    size_t support = svm->report.support;
    slice_room s = {.svm = svm,
                    .to = to,
                    .K = lth__alloc(SLICE * support, sizeof *s.K),
                    .decision = lth__alloc(SLICE * svm->machine.part_count, sizeof *s.decision)};
    lth_status status = s.K && s.decision ? LTH_OK : lth__fail_memory(err, 0);
    for (; s.first < items->count && status == LTH_OK; s.first += SLICE) {
        lth_items *slice = NULL;
        if (!owns(items, s.first / SLICE)) continue;
        s.rows = items->count - s.first < SLICE ? items->count - s.first : SLICE;
        status = lth__items_slice(items, s.first, s.rows, &slice, err);
        if (status == LTH_OK && support > 0)
            status = lth__gram_against(svm->prepared, slice, s.K, support, NULL, err);
        if (status == LTH_OK)
            status =
                lth__parallel_for(lth__items_ctx(items), NULL, s.rows, NULL, predict_row, &s, err);
        lth_items_free(slice);
    }
    lth__free(s.K);
    lth__free(s.decision);
    return status;
}

static lth_status share_slices(const lth_svm *svm, const lth_items *items,
                               const lth_svm_prediction *to, lth_error *err) {
    lth__cluster *c = lth__items_ctx(items)->cluster;
    wish wishes[WISHES];
    list_wishes(svm, to, wishes);
    for (size_t i = 0; c && i < WISHES; i++)
        if (wishes[i].at) memset(wishes[i].at, 0, items->count * wishes[i].size);
    lth_status status =
        (svm->report.linear ? predict_by_weights : predict_items)(svm, items, to, err);
    for (size_t i = 0; c && i < WISHES; i++) {
        if (wishes[i].at)
            status = lth__cluster_join_bytes(c, status, wishes[i].at, items->count * wishes[i].size,
                                             err);
    }
    return status;
}

static lth_status check_wishes(const lth_svm *svm, const lth_svm_prediction *to, lth_error *err) {
    const lth_svm_report *r = &svm->report;
    if (to->value && !r->regression)
        return lth__fail(err, LTH_EARG, "this model predicts labels, not numbers");
    if ((to->label || to->has || to->probability || to->score) && r->regression)
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
    LTH_TRY(lth__reading_open(svm->encoder, table, &r, err));
    lth_status status = share_slices(svm, r.items, &to, err);
    lth__reading_close(&r);
    return status;
}

/* Models of either kind: each call is handed on to the kind of model it is for. */
#include "model/common/any_model.h"

#include <string.h>

#include "kernel/core/lookup.h"

lth_model *lth_gp_model(lth_gp *gp) {
    return (lth_model *)gp;
}

lth_model *lth_svm_model(lth_svm *svm) {
    return (lth_model *)svm;
}

lth_gp *lth_model_gp(lth_model *model) {
    return model->kind == LTH__MODEL_GP ? (lth_gp *)model : NULL;
}

lth_svm *lth_model_svm(lth_model *model) {
    return model->kind == LTH__MODEL_SVM ? (lth_svm *)model : NULL;
}

/* One of them is NULL. */
static const lth_gp *gp_of(const lth_model *model) {
    return model->kind == LTH__MODEL_GP ? (const lth_gp *)model : NULL;
}

static const lth_svm *svm_of(const lth_model *model) {
    return model->kind == LTH__MODEL_SVM ? (const lth_svm *)model : NULL;
}

/* ---- Files ---- */

static lth_status load_any(lth_ctx *ctx, lth__loader *in, lth_model **out) {
    const char *kind = lth__tensors_text(in->file, "model");
    if (kind && strcmp(kind, "gp") == 0) return lth__gp_load(ctx, in, out);
    if (kind && strcmp(kind, "svm") == 0) return lth__svm_load(ctx, in, out);
    return lth__loader_damaged(in, "its kind of model is not known here");
}

lth_status lth_model_load(lth_ctx *ctx, const char *path, lth_model **out, lth_error *err) {
    return lth__model_read(ctx, &(lth__model_from){.path = path}, load_any, out, err);
}

lth_status lth_model_load_from(lth_ctx *ctx, const void *bytes, size_t size, lth_model **out,
                               lth_error *err) {
    return lth__model_read(ctx, &(lth__model_from){.bytes = bytes, .size = size}, load_any, out,
                           err);
}

lth_status lth_model_save(const lth_model *model, const char *path, lth_error *err) {
    const lth_gp *gp = gp_of(model);
    return gp ? lth_gp_save(gp, path, err) : lth_svm_save(svm_of(model), path, err);
}

lth_status lth_model_save_to(const lth_model *model, lth_write_fn *write, void *user,
                             lth_error *err) {
    const lth_gp *gp = gp_of(model);
    return gp ? lth_gp_save_to(gp, write, user, err)
              : lth_svm_save_to(svm_of(model), write, user, err);
}

void lth_model_free(lth_model *model) {
    if (!model) return;
    if (lth_model_gp(model))
        lth_gp_free(lth_model_gp(model));
    else
        lth_svm_free(lth_model_svm(model));
}

/* ---- Looking at it ---- */

const lth_kernel *lth_model_kernel(const lth_model *model) {
    const lth_gp *gp = gp_of(model);
    return gp ? lth_gp_kernel(gp) : lth_svm_kernel(svm_of(model));
}

size_t lth_model_rows(const lth_model *model) {
    const lth_gp *gp = gp_of(model);
    return gp ? lth_gp_reported(gp)->rows : lth_svm_reported(svm_of(model))->rows;
}

size_t lth_model_targets(const lth_model *model) {
    const lth_gp *gp = gp_of(model);
    return gp ? lth_gp_targets(gp) : 1;
}

const char *lth_model_target(const lth_model *model, size_t i) {
    const lth_gp *gp = gp_of(model);
    return gp ? lth_gp_target(gp, i) : i == 0 ? lth_svm_target(svm_of(model)) : NULL;
}

size_t lth_model_classes(const lth_model *model) {
    const lth_gp *gp = gp_of(model);
    return gp ? lth_gp_classes(gp) : lth_svm_reported(svm_of(model))->classes;
}

const char *lth_model_class(const lth_model *model, size_t i) {
    const lth_gp *gp = gp_of(model);
    if (i >= lth_model_classes(model)) return NULL;
    return gp ? lth_gp_class(gp, i)->name : lth_svm_class_at(svm_of(model), i)->name;
}

bool lth_model_is_multi_label(const lth_model *model) {
    const lth_gp *gp = gp_of(model);
    return gp ? lth_gp_is_multi_label(gp) : lth_svm_reported(svm_of(model))->multi_label;
}

/* ---- Using it ---- */

lth_encoder *lth__model_encoder(const lth_model *model) {
    const lth_gp *gp = gp_of(model);
    return gp ? lth__gp_encoder(gp) : lth__svm_encoder(svm_of(model));
}

lth_status lth_model_use_vectors(lth_model *model, const char *path, lth_error *err) {
    return lth__encoder_look_in(lth__model_encoder(model), (lth__vector_source){.path = path}, err);
}

lth_status lth_gp_use_vectors(lth_gp *gp, const char *path, lth_error *err) {
    return lth_model_use_vectors(lth_gp_model(gp), path, err);
}

lth_status lth_svm_use_vectors(lth_svm *svm, const char *path, lth_error *err) {
    return lth_model_use_vectors(lth_svm_model(svm), path, err);
}

lth_status lth_model_use_word_vectors(lth_model *model, const lth_word_vectors *vectors,
                                      lth_error *err) {
    return lth__encoder_look_in(lth__model_encoder(model), (lth__vector_source){.table = vectors},
                                err);
}

lth_status lth_gp_use_word_vectors(lth_gp *gp, const lth_word_vectors *vectors, lth_error *err) {
    return lth_model_use_word_vectors(lth_gp_model(gp), vectors, err);
}

lth_status lth_svm_use_word_vectors(lth_svm *svm, const lth_word_vectors *vectors, lth_error *err) {
    return lth_model_use_word_vectors(lth_svm_model(svm), vectors, err);
}

const lth_vectors_origin *lth_model_vectors_origin(const lth_model *model) {
    const lth__lookup *look = lth__model_encoder(model)->lookup;
    return look && look->name ? &look->origin : NULL;
}

void lth_model_words_without_vector(const lth_model *model, lth_words_without_vector *out,
                                    size_t size) {
    lth_words_without_vector count;
    lth__encoder_missing(lth__model_encoder(model), &count);
    lth__copy_struct(out, size, &count, sizeof count);
}

void lth_model_gather_words(lth_model *model, bool gather) {
    lth__encoder_gather(lth__model_encoder(model), gather);
}

/* ---- Reasons ---- */

size_t lth_model_functions(const lth_model *model) {
    const lth_gp *gp = gp_of(model);
    if (!gp) return lth_svm_reported(svm_of(model))->problems;
    return lth_gp_classes(gp) > 0 ? lth_gp_classes(gp) : lth_gp_targets(gp);
}

lth_status lth_model_explain(const lth_model *model, const lth_table *table, size_t row,
                             const lth_explain_options *options, lth_reasons **out,
                             lth_error *err) {
    const lth_gp *gp = gp_of(model);
    return gp ? lth_gp_explain(gp, table, row, options, out, err)
              : lth_svm_explain(svm_of(model), table, row, options, out, err);
}

lth_status lth_model_patterns(const lth_model *model, size_t function, size_t count,
                              lth_reasons **out, lth_error *err) {
    const lth_gp *gp = gp_of(model);
    return gp ? lth_gp_patterns(gp, function, count, out, err)
              : lth_svm_patterns(svm_of(model), function, count, out, err);
}

const char *lth_model_row_line(const lth_model *model, size_t row) {
    const lth_gp *gp = gp_of(model);
    return gp ? lth_gp_row_line(gp, row) : lth_svm_row_line(svm_of(model), row);
}

const char *lth_model_row_text(const lth_model *model, size_t row, size_t column) {
    const lth_gp *gp = gp_of(model);
    return gp ? lth_gp_row_text(gp, row, column) : lth_svm_row_text(svm_of(model), row, column);
}

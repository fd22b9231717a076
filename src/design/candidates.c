/* Tables of rows that could be measured, as models read them: what they are alike by. */
#include "design/candidates.h"

#include <string.h>

#include "design/edits.h"
#include "kernel/core/field.h"
#include "kernel/core/lookup.h"
#include "model/gp/gp.h"
#include "model/svm/svm.h"

/* ---- Reading ---- */

static const lth_gp *gp_of(const lth_model *model) {
    return model->kind == LTH__MODEL_GP ? (const lth_gp *)model : NULL;
}

const lth_items *lth__model_items(const lth_model *model) {
    const lth_gp *gp = gp_of(model);
    if (gp) return gp->all ? gp->all : gp->items;
    const lth_svm *svm = (const lth_svm *)model;
    return svm->items ? svm->items : svm->support;
}

static lth_status read_model(const lth_model *model, size_t m, const lth_table *rows,
                             const lth_table *pending, lth__candidates *c, lth_error *err) {
    LTH_TRY(lth__encoder_extend(lth__model_encoder(model), &c->encoder[m], err));
    LTH_TRY(lth_encode(c->encoder[m], rows, &c->items[m], err));
    if (pending) LTH_TRY(lth_encode(c->encoder[m], pending, &c->pending[m], err));
    return lth__encoder_look_up(c->encoder[m], c->items[m], c->pending[m], err);
}

lth_status lth__candidates_open(lth_model *const *models, size_t count, const lth_table *rows,
                                const lth_table *pending, lth__candidates *out, lth_error *err) {
    *out = (lth__candidates){.model_count = count,
                             .count = lth_table_rows(rows),
                             .pending_count = pending ? lth_table_rows(pending) : 0,
                             .encoder = lth__calloc(count, sizeof *out->encoder),
                             .items = lth__calloc(count, sizeof *out->items),
                             .pending = lth__calloc(count, sizeof *out->pending)};
    if (!out->encoder || !out->items || !out->pending) return lth__fail_memory(err, 0);
    for (size_t m = 0; m < count; m++)
        LTH_TRY(read_model(models[m], m, rows, out->pending_count > 0 ? pending : NULL, out, err));
    return LTH_OK;
}

lth_status lth__candidates_add(lth__candidates *c, const lth_table *others, lth_error *err) {
    return lth_encode(c->encoder[0], others, &c->others, err);
}

void lth__candidates_close(lth__candidates *c) {
    lth_items_free(c->others);
    for (size_t m = 0; m < c->model_count; m++) {
        if (c->items) lth_items_free(c->items[m]);
        if (c->pending) lth_items_free(c->pending[m]);
        if (c->encoder) lth_encoder_free(c->encoder[m]);
    }
    lth__free(c->encoder);
    lth__free(c->items);
    lth__free(c->pending);
    *c = (lth__candidates){0};
}

/* ---- The same row ---- */

void lth__row_key(const lth_items *items, size_t row, lth__string *out) {
    const lth_encoder *e = items->encoder;
    out->length = 0;
    for (size_t f = 0; f < e->kernel->field_count; f++) {
        const lth__sequences *s = &items->fields[f];
        lth__string_append(out, "", 1); /* where a field begins */
        if (s->numbers)
            lth__string_append(out, (const char *)(s->numbers + row * s->width),
                               s->width * sizeof *s->numbers);
        else
            e->kernel->fields[f].type->write(&e->lexicons[f], s, row, out);
    }
}

/* ---- Rows that are near ---- */

/* Of several fields that read a column, the first counts. */
static bool counts(const lth_kernel *kernel, size_t field) {
    const lth__field_def *all = kernel->fields;
    bool counted = all[field].type == &lth__field_text;
    for (size_t f = 0; f < field && counted; f++)
        counted = strcmp(all[f].column, all[field].column) != 0;
    return counted;
}

bool lth__rows_are_texts(const lth_kernel *kernel) {
    for (size_t f = 0; f < kernel->field_count; f++) {
        if (counts(kernel, f)) return true;
    }
    return false;
}

size_t lth__row_distance(const lth_items *a, size_t i, const lth_items *b, size_t j, size_t most) {
    const lth_kernel *kernel = a->encoder->kernel;
    size_t sum = 0;
    for (size_t f = 0; f < kernel->field_count && sum <= most; f++) {
        if (!counts(kernel, f)) continue;
        const lth__sequences *s = &a->fields[f], *t = &b->fields[f];
        size_t edits =
            lth__edits_symbols(lth__sequence_symbols(s, i), lth__sequence_length(s, i),
                               lth__sequence_symbols(t, j), lth__sequence_length(t, j), most - sum);
        if (edits == LTH_NONE) return LTH_NONE;
        sum += edits;
    }
    return sum;
}

/* The encoder: table columns become sequences of symbols, once. */
#include "kernel/encode.h"

#include <string.h>

#include "base/parallel.h"
#include "data/table.h"
#include "data/units.h"

/* ---- Encoders ---- */

static void free_lexicon(lth__lexicon *l) {
    while (l->similarities) {
        lth__similarity *next = l->similarities->next;
        lth__similarity_free(l->similarities);
        l->similarities = next;
    }
    lth__symbols_free(l->symbols);
    lth__vectors_free(&l->vectors);
}

lth_status lth_encoder_create(lth_ctx *ctx, const lth_kernel *kernel, lth_encoder **out,
                              lth_error *err) {
    lth_encoder *e = lth__calloc(1, sizeof *e);
    if (!e) return lth__fail_memory(err, sizeof *e);
    *e = (lth_encoder){.ctx = ctx, .kernel = kernel};
    e->lexicons = lth__calloc(kernel->field_count, sizeof *e->lexicons);
    bool ok = e->lexicons != NULL;
    for (size_t f = 0; ok && f < kernel->field_count; f++) {
        e->lexicons[f].symbols = lth__symbols_create();
        ok = e->lexicons[f].symbols != NULL;
    }
    if (!ok) {
        lth_encoder_free(e);
        return lth__fail_memory(err, 0);
    }
    *out = e;
    return LTH_OK;
}

void lth_encoder_free(lth_encoder *e) {
    if (!e) return;
    for (size_t f = 0; e->lexicons && f < e->kernel->field_count; f++)
        free_lexicon(&e->lexicons[f]);
    lth__free(e->lexicons);
    lth__free(e);
}

lth_status lth_encoder_read_vectors(lth_encoder *e, const char *path, lth_error *err) {
    for (size_t f = 0; f < e->kernel->field_count; f++) {
        if (!e->kernel->fields[f].vectors) continue;
        lth__lexicon *l = &e->lexicons[f];
        lth__vectors vectors;
        LTH_TRY(lth__vectors_read(e->ctx, path, l->symbols, &vectors, err));
        lth__symbols *symbols = l->symbols;
        l->symbols = NULL;
        free_lexicon(l);
        *l = (lth__lexicon){.symbols = symbols, .vectors = vectors, .has_vectors = true};
    }
    return LTH_OK;
}

/* ---- Items ---- */

static lth_status encode_field(const lth_encoder *e, size_t field, const lth_table *table,
                               lth__sequences *out, lth_error *err) {
    const lth__field_def *def = &e->kernel->fields[field];
    size_t column = lth_table_find(table, def->column), rows = lth_table_rows(table);
    if (column == LTH_NONE) {
        return lth__fail_at(err, LTH_EFORMAT, lth_table_name(table), 1, 0, "no column \"%s\"",
                            def->column);
    }
    size_t capacity = 0, used = 0;
    *out = (lth__sequences){.count = rows, .start = lth__alloc(rows + 1, sizeof *out->start)};
    if (!out->start) return lth__fail_memory(err, (rows + 1) * sizeof *out->start);
    out->start[0] = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t length;
        const char *text = lth_table_cell(table, i, column, &length);
        LTH_TRY(lth__units_split(text, length, (lth__units)def->units, def->lower,
                                 e->lexicons[field].symbols, &out->symbols, &used, &capacity, err));
        out->start[i + 1] = used;
        size_t units = lth__sequence_length(out, i);
        if (units > out->longest) out->longest = units;
        if (units > UINT32_MAX / 2) {
            return lth__fail_at(err, LTH_EFORMAT, lth_table_name(table), lth_table_line(table, i),
                                0, "this text is too long: %zu units", units);
        }
    }
    void *fitted = lth__realloc(out->symbols, used, sizeof *out->symbols);
    if (fitted) out->symbols = fitted;
    return LTH_OK;
}

lth_status lth_encode(lth_encoder *e, const lth_table *table, lth_items **out, lth_error *err) {
    if (lth_table_rows(table) >= UINT32_MAX)
        return lth__fail(err, LTH_EARG, "the table has too many rows: %zu", lth_table_rows(table));
    lth_items *items = lth__calloc(1, sizeof *items);
    if (!items) return lth__fail_memory(err, sizeof *items);
    *items = (lth_items){.encoder = e, .count = lth_table_rows(table)};
    items->fields = lth__calloc(e->kernel->field_count, sizeof *items->fields);
    lth_status status = items->fields ? LTH_OK : lth__fail_memory(err, 0);
    for (size_t f = 0; f < e->kernel->field_count && status == LTH_OK; f++)
        status = encode_field(e, f, table, &items->fields[f], err);
    if (status == LTH_OK)
        *out = items;
    else
        lth_items_free(items);
    return status;
}

void lth_items_free(lth_items *items) {
    if (!items) return;
    for (size_t f = 0; items->fields && f < items->encoder->kernel->field_count; f++) {
        lth__free(items->fields[f].symbols);
        lth__free(items->fields[f].start);
    }
    lth__free(items->fields);
    lth__free(items);
}

size_t lth_items_count(const lth_items *items) {
    return items->count;
}

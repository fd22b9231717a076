#include "model/common/source.h"

#include "kernel/core/store.h"

lth_status lth__source_open(lth__source *s, lth_ctx *ctx, const char *expression,
                            const lth_table *table, lth__source_files files, lth_error *err) {
    *s = (lth__source){.ctx = ctx};
    LTH_TRY(lth_kernel_parse(ctx, expression, &s->kernel, err));
    LTH_TRY(lth_kernel_resolve(&s->kernel, table, err));
    return lth__source_fill(s, table, files, err);
}

lth_status lth__source_fill(lth__source *s, const lth_table *table, lth__source_files files,
                            lth_error *err) {
    LTH_TRY(lth_encoder_create(s->ctx, s->kernel, &s->encoder, err));
    LTH_TRY(lth_encode(s->encoder, table, &s->items, err));
    bool some = files.vectors.path || files.vectors.table;
    if (some && lth_kernel_needs_vectors(s->kernel))
        LTH_TRY(lth__encoder_read(s->encoder, files.vectors, err));
    return files.gram ? lth_items_use_store(s->items, files.gram, err) : LTH_OK;
}

void lth__source_close(lth__source *s) {
    lth_items_free(s->items);
    lth_encoder_free(s->encoder);
    lth_kernel_free(s->kernel);
    *s = (lth__source){0};
}

void lth__source_give(lth__source *s, lth_items *items, lth_items *all) {
    if (s->items != items && s->items != all) lth_items_free(s->items);
    lth__items_unstore(items);
    if (all) lth__items_unstore(all);
    *s = (lth__source){0};
}

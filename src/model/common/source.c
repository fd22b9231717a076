#include "model/common/source.h"

lth_status lth__source_open(lth__source *s, lth_ctx *ctx, const char *expression,
                            const lth_table *table, const char *vectors, lth_error *err) {
    *s = (lth__source){.ctx = ctx};
    LTH_TRY(lth_kernel_parse(ctx, expression, &s->kernel, err));
    LTH_TRY(lth_kernel_resolve(&s->kernel, table, err));
    LTH_TRY(lth_encoder_create(ctx, s->kernel, &s->encoder, err));
    LTH_TRY(lth_encode(s->encoder, table, &s->items, err));
    if (!vectors || !lth_kernel_needs_vectors(s->kernel)) return LTH_OK;
    return lth_encoder_read_vectors(s->encoder, vectors, err);
}

void lth__source_close(lth__source *s) {
    lth_items_free(s->items);
    lth_encoder_free(s->encoder);
    lth_kernel_free(s->kernel);
}

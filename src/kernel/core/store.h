/* A Gram matrix on disk, and whether it is that of a kernel and some items. */
#ifndef LTH_STORE_H
#define LTH_STORE_H

#include "data/zarr.h"
#include "engine/packed.h"
#include "kernel/core/encode.h"
#include "kernel/core/parts.h"

struct lth_store {
    lth__zarr *zarr;
    lth_store_info info;
    size_t users; /* the caller, and items that read it */
};

/* What a store says of itself; the texts are freed with lth__store_texts_free(). */
typedef struct lth__store_texts {
    char *kernel;
    char rows[24], cols[24]; /* hashes; "" = there are no other columns */
    const char *precision, *isa, *dropping, *device;
} lth__store_texts;
lth_status lth__store_texts_make(const lth_kernel *kernel, const lth_items *rows,
                                 const lth_items *cols, lth__store_texts *out, lth_error *err);
void lth__store_texts_free(lth__store_texts *t);

/* Whether the store is of this kernel with these values, and of these items: LTH_EARG. */
lth_status lth__store_match(const lth_store *store, const lth__store_texts *t, lth_error *err);

/* Of items that are picked from items with a store: which rows of it they are. */
lth_status lth__items_pick_stored(const lth_items *from, const size_t *item, size_t count,
                                  lth_items *to, lth_error *err);
/* They are computed again. */
void lth__items_unstore(lth_items *items);

/* What a Gram matrix of `rows` of them reads, at most; 0 without a store. */
double lth__items_stored_bytes(const lth_items *items, size_t rows);
/* The row of the store that an item is. */
static inline size_t lth__items_stored_row(const lth_items *items, size_t item) {
    return items->stored_row ? items->stored_row[item] : item;
}

/* The tile i, j <= i of a symmetric store, to compute with: numbers alone, 0 beyond the last row,
 * and on the diagonal both halves. */
lth_status lth__store_tile(const lth_store *store, size_t i, size_t j, double *tile,
                           lth_error *err);
/* The Gram matrix of items with a store; with K->ld, both of its halves. */
lth_status lth__store_fill(lth_ctx *ctx, const lth_items *items, const lth__packed *K,
                           lth_error *err);
/* Parts of it. */
lth_status lth__store_fill_parts(lth_ctx *ctx, const lth_items *items, const lth__gram_part *parts,
                                 size_t count, lth_error *err);

#endif

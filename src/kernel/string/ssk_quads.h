/* Similarities of a row of a tile with the symbols of its columns: from tables of all symbols, or
 * from one that is made for the row; four positions of the row side by side. */
#ifndef LTH_SSK_QUADS_H
#define LTH_SSK_QUADS_H

#include "kernel/string/ssk_compare.h"

typedef struct lth__ssk_quads {
    uint32_t *slot, *slot_symbols; /* symbol -> column of the row table          */
    const uint32_t *slot_of;       /* that, or the order of the tables           */
    size_t slots; /* up to the last that the columns have; then the one for padding */
    void *quads[LTH__SIM_PARTS], *row_table, *zeros;
} lth__ssk_quads;

/* Of all symbols: those of the values, those that values are made of, or both. */
bool lth__ssk_has_tables(const lth__ssk_plan *plan);

/* Where the symbols of the tile's columns are in a row of the tables. */
lth_status lth__ssk_quads_number(const lth__ssk_plan *plan, const lth__tile *tile,
                                 lth__ssk_quads *w, lth_error *err);
/* For rows of at most so many positions, and needed[part]. */
lth_status lth__ssk_quads_allocate(const lth__ssk_plan *plan, size_t rows, const bool *needed,
                                   lth__ssk_quads *w, lth_error *err);
void lth__ssk_quads_free(lth__ssk_quads *w);

/* One part of the similarities of s. */
lth_status lth__ssk_quads_load(const lth__ssk_plan *plan, lth__sim_part part, const uint32_t *s,
                               size_t length, lth__ssk_quads *w, lth_error *err);

/* One of `shares` parts of what D of a short s will be loaded from is fetched into the cache. */
void lth__ssk_quads_expect(const lth__ssk_plan *plan, const uint32_t *s, size_t length,
                           size_t share, size_t shares, const lth__ssk_quads *w);

#endif

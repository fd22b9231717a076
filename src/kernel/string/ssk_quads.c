/* What a row of a tile is like to the symbols of its columns, as vectors read it. */
#include "kernel/string/ssk_quads.h"

#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"

bool lth__ssk_has_tables(const lth__ssk_plan *plan) {
    return plan->similarity->table[LTH__SIM_VALUE] || plan->similarity->table[LTH__SIM_BASIS];
}

/* Number the symbols of the tile's columns 0, 1, 2, ...: the columns of a row table. */
static lth_status number_symbols(const lth__ssk_plan *plan, const lth__tile *tile,
                                 lth__ssk_quads *w, lth_error *err) {
    size_t vocabulary = plan->vocabulary, units = 0, used = 0;
    for (size_t c = 0; c < tile->cols; c++) units += lth__sequence_length(plan->cols, tile->col[c]);
    size_t most = units < vocabulary ? units : vocabulary;
    w->slot = lth__alloc(vocabulary, sizeof *w->slot);
    w->slot_symbols = lth__alloc(most, sizeof *w->slot_symbols);
    if (!w->slot || !w->slot_symbols) return lth__fail_memory(err, 0);
    memset(w->slot, 0xff, vocabulary * sizeof *w->slot);
    for (size_t c = 0; c < tile->cols; c++) {
        const uint32_t *t = lth__sequence_symbols(plan->cols, tile->col[c]);
        size_t length = lth__sequence_length(plan->cols, tile->col[c]);
        for (size_t k = 0; k < length; k++) {
            if (w->slot[t[k]] != UINT32_MAX) continue;
            w->slot[t[k]] = (uint32_t)used;
            w->slot_symbols[used++] = t[k];
        }
    }
    return LTH_OK;
}

/* Where the symbols of the tile's columns are in a row of the tables. */
lth_status lth__ssk_quads_number(const lth__ssk_plan *plan, const lth__tile *tile,
                                 lth__ssk_quads *w, lth_error *err) {
    bool whole = lth__ssk_has_tables(plan);
    if (!whole) LTH_TRY(number_symbols(plan, tile, w, err));
    w->slot_of = whole ? plan->similarity->slot : w->slot;
    w->slots = 1;
    for (size_t c = 0; c < tile->cols; c++) {
        const uint32_t *t = lth__sequence_symbols(plan->cols, tile->col[c]);
        size_t length = lth__sequence_length(plan->cols, tile->col[c]);
        for (size_t k = 0; k < length; k++) {
            if (w->slot_of[t[k]] + 2 > w->slots) w->slots = w->slot_of[t[k]] + 2;
        }
    }
    return LTH_OK;
}

lth_status lth__ssk_quads_allocate(const lth__ssk_plan *plan, size_t rows, const bool *needed,
                                   lth__ssk_quads *w, lth_error *err) {
    size_t real = plan->lanes->real_size;
    bool whole = lth__ssk_has_tables(plan);
    w->zeros = lth__calloc(w->slots, real);
    w->row_table = whole ? NULL : lth__alloc(rows * w->slots, real);
    bool ok = w->zeros && (whole || w->row_table);
    for (int part = 0; part < LTH__SIM_PARTS; part++) {
        if (!needed[part]) continue;
        w->quads[part] = lth__alloc(rows * w->slots, real);
        ok = ok && w->quads[part];
    }
    return ok ? LTH_OK : lth__fail_memory(err, rows * w->slots * real);
}

void lth__ssk_quads_free(lth__ssk_quads *w) {
    void *blocks[] = {w->slot, w->slot_symbols, w->row_table, w->zeros};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    for (size_t i = 0; i < LTH__SIM_PARTS; i++) lth__free(w->quads[i]);
}

/* Four rows of a table, interleaved; those past the end of s are 0. */
static void load_quad(const lth__ssk_plan *plan, const char *table, size_t j, const uint32_t *s,
                      size_t length, const lth__ssk_quads *w, char *out) {
    const lth__similarity *sim = plan->similarity;
    size_t real = plan->lanes->real_size;
    const void *row[LTH__ROW_STEP];
    for (size_t r = 0; r < LTH__ROW_STEP; r++) {
        if (j + r >= length)
            row[r] = w->zeros;
        else if (table)
            row[r] = table + w->slot_of[s[j + r]] * (sim->symbols + 1) * real;
        else
            row[r] = (char *)w->row_table + (j + r) * w->slots * real;
    }
    plan->lanes->make_quads(row, w->slots - 1, out);
}

void lth__ssk_quads_expect(const lth__ssk_plan *plan, const uint32_t *s, size_t length,
                           size_t share, size_t shares, const lth__ssk_quads *w) {
    enum { LINE = 64 };
    const lth__similarity *sim = plan->similarity;
    const char *table = sim->table[LTH__SIM_BASIS];
    size_t real = plan->lanes->real_size, lines = w->slots * real / LINE;
    for (size_t j = 0; table && j < length; j++) {
        const char *row = table + w->slot_of[s[j]] * (sim->symbols + 1) * real;
        for (size_t i = lines * share / shares; i < lines * (share + 1) / shares; i++)
            __builtin_prefetch(row + i * LINE, 0, 2);
    }
}

enum { ROWS_TO_ASK = 1 << 12 }; /* from one question whether to go on to the next */

/* One part of the similarities of s, four positions at a time, with the symbols of the columns. */
lth_status lth__ssk_quads_load(const lth__ssk_plan *plan, lth__sim_part part, const uint32_t *s,
                               size_t length, lth__ssk_quads *w, lth_error *err) {
    const lth__similarity *sim = plan->similarity;
    double nothing = part == LTH__SIM_BASIS ? lth__similarity_nothing(sim) : 0;
    const void *table = sim->table[part];
    if (!table)
        LTH_TRY(lth__similarity_tile(sim, part, s, length, w->slot_symbols, w->slots - 1,
                                     w->row_table, w->slots, err));
    for (size_t j = 0; j < length; j += LTH__ROW_STEP) {
        if (j % ROWS_TO_ASK == 0) LTH_TRY(lth__parallel_ask(plan->ctx));
        size_t at = j * w->slots, pad = at + LTH__ROW_STEP * (w->slots - 1);
        load_quad(plan, table, j, s, length, w,
                  (char *)w->quads[part] + at * plan->lanes->real_size);
        for (size_t r = pad; r < pad + LTH__ROW_STEP; r++) {
            if (sim->precision == LTH_F32)
                ((float *)w->quads[part])[r] = (float)nothing;
            else
                ((double *)w->quads[part])[r] = nothing;
        }
    }
    return LTH_OK;
}

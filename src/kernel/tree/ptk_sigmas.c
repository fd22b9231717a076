/* Similarities of labels, for nodes that match by them: from the table where there is one, else
 * computed for as many nodes of a tree at a time as there is room for. */
#include "kernel/tree/ptk_sweep.h"

enum { MOST_SIGMAS = 1 << 20 };

static double real_at(const lth__similarity *s, const void *table, size_t i) {
    return s->precision == LTH_F32 ? (double)((const float *)table)[i] : ((const double *)table)[i];
}

static lth__symbol label_of(const lth__ptk_plan *plan, uint32_t subtree) {
    return lth__forest_subtree(plan->forest, subtree)->label;
}

static bool is_soft(const lth__ptk_plan *plan, uint32_t subtree) {
    return lth__ptk_is_soft(plan, lth__forest_subtree(plan->forest, subtree));
}

static lth_status open_sigmas(lth__ptk_sweep *x, const lth__ptk_band *b, size_t rows,
                              lth_error *err) {
    lth__ptk_meeting *m = &x->meeting;
    x->sigmas.values =
        lth__tree_room_get(m->room, LTH__PTK_SIGMA, rows * b->width, sizeof *x->sigmas.values);
    x->sigmas.labels =
        lth__tree_room_get(m->room, LTH__PTK_LABELS, rows + b->width, sizeof *x->sigmas.labels);
    return x->sigmas.values && x->sigmas.labels
               ? LTH_OK
               : lth__fail_memory(err, rows * b->width * sizeof *x->sigmas.values);
}

/* Of the soft nodes from the i-th on, so many as there is room for. */
static lth_status compute(lth__ptk_sweep *x, const lth__ptk_band *b, const lth__symbol *tree,
                          size_t nodes, size_t i, lth_error *err) {
    const lth__ptk_plan *plan = x->meeting.plan;
    const lth__similarity *s = plan->similarity;
    size_t width = b->width, most = MOST_SIGMAS / width + 1, rows = 0;
    if (most > nodes - i) most = nodes - i;
    LTH_TRY(open_sigmas(x, b, most, err));
    lth__symbol *label = x->sigmas.labels;
    double *values = x->sigmas.values;
    for (size_t j = 0; j < width; j++) label[j] = label_of(plan, x->meeting.subtree[b->first + j]);
    x->sigmas.tree = tree;
    x->sigmas.from = i;
    for (; i < nodes && rows < most; i++) {
        if (is_soft(plan, tree[i])) label[width + rows++] = label_of(plan, tree[i]);
    }
    x->sigmas.to = i;
    LTH_TRY(lth__similarity_tile(s, LTH__SIM_VALUE, label + width, rows, label, width, values,
                                 width, err));
    /* A float needs less room than a double: in place, from the end. */
    for (size_t k = rows * width; s->precision == LTH_F32 && k-- > 0;)
        values[k] = real_at(s, values, k);
    return LTH_OK;
}

lth_status lth__ptk_sigma(lth__ptk_sweep *x, const lth__symbol *tree, size_t nodes, size_t i,
                          const double **out, lth_error *err) {
    const lth__ptk_plan *plan = x->meeting.plan;
    const lth__similarity *s = plan->similarity;
    const lth__ptk_band *b =
        &x->meeting.bands[x->meeting.rows[x->meeting.row_of[tree[i]] - 1].band];
    const void *table = s->table[LTH__SIM_VALUE];
    if (b->width == 0) return LTH_OK;
    if (table) {
        LTH_TRY(open_sigmas(x, b, 1, err));
        size_t first = label_of(plan, tree[i]) * (s->symbols + 1);
        for (size_t j = 0; j < b->width; j++)
            x->sigmas.values[j] =
                real_at(s, table, first + label_of(plan, x->meeting.subtree[b->first + j]));
        *out = x->sigmas.values;
        return LTH_OK;
    }
    if (x->sigmas.tree != tree || i < x->sigmas.from || i >= x->sigmas.to)
        LTH_TRY(compute(x, b, tree, nodes, i, err));
    size_t before = 0;
    for (size_t k = x->sigmas.from; k < i; k++) before += is_soft(plan, tree[k]);
    *out = x->sigmas.values + before * b->width;
    return LTH_OK;
}

/* Factor and inverse by ScaLAPACK, which wants the same tiles on the same ranks, but side by side
 * in one matrix, column major: no number changes its rank. */
#include <string.h>

#include "base/memory.h"
#include "model/common/cluster_tiles.h"

typedef struct carrying {
    lth__tiles *T;
    lth__dealt there;
    bool back;
} carrying;

static lth_status carry_tile(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const carrying *c = user;
    const lth__tiles *T = c->T;
    lth__own_tile t = lth__tiles_at(T, index);
    size_t a = t.row / T->side / T->rows, b = t.col / T->side / T->columns, ld = c->there.ld;
    double *corner = c->there.cells + b * T->side * ld + a * T->side;
    bool square = t.row == t.col;
    for (size_t col = 0; col < t.cols; col++) {
        for (size_t r = square ? col : 0; r < t.rows; r++) {
            double *here = t.cells + r * t.ld + col, *there = corner + col * ld + r;
            *(c->back ? here : there) = *(c->back ? there : here);
        }
        for (size_t r = 0; r < col && square && c->back; r++) t.cells[r * t.ld + col] = 0;
    }
    return LTH_OK;
}

static lth_status reserve(carrying *c, lth_error *err) {
    const lth__tiles *T = c->T;
    size_t rows = lth__tiles_own_rows(T) * T->side, cols = lth__tiles_own_columns(T) * T->side;
    c->there = (lth__dealt){.n = T->n, .side = T->side, .ld = rows > 0 ? rows : 1};
    c->there.cells = lth__calloc(rows, cols * sizeof *c->there.cells);
    return c->there.cells ? LTH_OK : lth__fail_memory(err, rows * cols * sizeof *c->there.cells);
}

static lth_status go_there(lth__tiles *T, lth_status (*work)(const lth__dealt *, lth_error *),
                           lth_error *err) {
    if (!work)
        return lth__fail(err, LTH_EUNSUPPORTED, "there is no ScaLAPACK: %s",
                         T->cluster ? "the library for this cluster was built without it"
                                    : "it needs a cluster");
    carrying c = {.T = T};
    lth_status status = lth__tiles_meet(T, reserve(&c, err), err);
    if (status == LTH_OK) {
        lth__tiles_for(T, lth__tiles_own(T), carry_tile, &c);
        status = lth__tiles_meet(T, work(&c.there, err), err);
        c.back = true;
        if (status == LTH_OK) lth__tiles_for(T, lth__tiles_own(T), carry_tile, &c);
    }
    lth__free(c.there.cells);
    lth__tiles_changed(T);
    return status;
}

lth_status lth__tiles_factor_there(lth__tiles *A, lth_error *err) {
    return go_there(A, A->cluster ? A->cluster->table->factor : NULL, err);
}

lth_status lth__tiles_invert_there(lth__tiles *L, lth_error *err) {
    return go_there(L, L->cluster ? L->cluster->table->invert : NULL, err);
}

/* A tile of trees at once. The subtrees of its rows meet those of its columns, once for each pair
 * of equal production, however many trees have them:
 *
 *     forward:   Delta_ij, row by row by ascending i: children come before their parents
 *     values:    for each tree a: v_j = sum_i F_ai Delta_ij, then K_ab += v_j F_bj
 *     pull-back: Dbar_ij = sum_ab F_ai W_ab F_bj, then by descending i
 *                    decaybar += Dbar_ij prod_m f_m            f_m = alpha + Delta(i_m, j_m)
 *                    alphabar += Dbar_ij decay sum_m prod_(n != m) f_n
 *                    Dbar(i_m, j_m) += Dbar_ij decay prod_(n != m) f_n
 *
 * The columns of a production stand side by side, so a row of Delta is as long as the production
 * has columns, and all loops over it are vector loops; only children of equal production are
 * visited one by one. Sums go by the numbers of subtrees, so that no value depends on the tile. A
 * tile whose Delta would be too large is cut in two, and a pair for which it still is goes to
 * lth__tree_fragments().
 */
#include <string.h>

#include "base/parallel.h"
#include "kernel/tree/tree_meeting.h"

enum { MOST_NUMBERS = 1 << 21 }; /* of Delta */

typedef lth__tree_meeting meeting;
typedef lth__tree_part part;
typedef lth__tree_band band;
typedef lth__tree_row row;
typedef lth__tree_match_link link;
typedef lth__tree_arm arm;

/* ---- Delta ---- */

/* alpha + Delta(child, child of the column) for all columns. */
static void fill_factors(const meeting *x, const arm *a, double alpha, size_t width, double *f) {
    const double *delta = x->delta + a->first;
    for (size_t j = 0; j < width; j++) f[j] = alpha;
    for (const link *l = a->links; l < a->end; l++) f[l->column] += delta[l->child];
}

static void scale(double *out, double factor, size_t width) {
    if (factor == 1) return;
    for (size_t j = 0; j < width; j++) out[j] *= factor;
}

static void multiply(double *restrict out, const double *restrict f, size_t width) {
    for (size_t j = 0; j < width; j++) out[j] *= f[j];
}

static void fill_delta(meeting *x, const row *r) {
    const band *b = &x->bands[r->band];
    double decay = x->plan->decay[b->production], alpha = x->plan->alpha[b->production];
    double *out = x->delta + r->first;
    const arm *a = x->arms + r->arms, *end = a + b->inner;
    if (a == end) {
        for (size_t j = 0; j < b->width; j++) out[j] = decay;
        return;
    }
    fill_factors(x, a++, alpha, b->width, out);
    for (; a < end; a++) {
        if (a->links == a->end) {
            scale(out, alpha, b->width);
            continue;
        }
        fill_factors(x, a, alpha, b->width, x->factors);
        multiply(out, x->factors, b->width);
    }
    scale(out, decay, b->width);
}

/* ---- Values ---- */

/* to = factor from, or added to what is there. */
static void add_scaled(double *restrict to, const double *restrict from, double factor,
                       size_t width, bool first) {
    if (first) {
        for (size_t j = 0; j < width; j++) to[j] = factor * from[j];
    } else {
        for (size_t j = 0; j < width; j++) to[j] += factor * from[j];
    }
}

static void add_row_of_values(meeting *x, size_t r, double *K) {
    const lth__features *rows = x->plan->rows.bags;
    size_t item = x->tile->row[x->part.row + r], touched = 0;
    for (size_t e = rows->start[item]; e < rows->start[item + 1]; e++) {
        uint32_t number = x->row_of[rows->feature[e]];
        if (number == 0) continue;
        const row *i = &x->rows[number - 1];
        const band *b = &x->bands[i->band];
        const double *delta = x->delta + i->first;
        bool first = x->touched_by[i->band] != r + 1;
        if (first) {
            x->touched_by[i->band] = (uint32_t)(r + 1);
            x->touched[touched++] = i->band;
        }
        add_scaled(x->sums + b->first, delta, rows->weight[e], b->width, first);
    }
    for (size_t t = 0; t < touched; t++) {
        const band *b = &x->bands[x->touched[t]];
        for (size_t j = b->first; j < b->first + b->width; j++) {
            double sum = x->sums[j];
            for (size_t h = x->holder_start[j]; h < x->holder_start[j + 1]; h++)
                K[x->holder[h]] += sum * x->holder_count[h];
        }
    }
}

static void add_values(meeting *x, double *K) {
    memset(x->touched_by, 0, x->band_count * sizeof *x->touched_by);
    for (size_t r = 0; r < x->part.rows; r++) {
        double *row_of_K = K + (x->part.row + r) * x->tile->cols + x->part.col;
        memset(row_of_K, 0, x->part.cols * sizeof *row_of_K);
        add_row_of_values(x, r, row_of_K);
    }
}

/* ---- Pull-back ---- */

/* Dbar_ij += sum_b F_ai W_ab F_bj for one tree a. */
static void add_weights(meeting *x, size_t r, const double *W) {
    const lth__features *rows = x->plan->rows.bags;
    size_t item = x->tile->row[x->part.row + r];
    for (size_t e = rows->start[item]; e < rows->start[item + 1]; e++) {
        uint32_t number = x->row_of[rows->feature[e]];
        if (number == 0) continue;
        row *i = &x->rows[number - 1];
        const band *b = &x->bands[i->band];
        double *sums = x->sums + b->first;
        if (x->touched_by[i->band] != r + 1) {
            x->touched_by[i->band] = (uint32_t)(r + 1);
            for (size_t j = 0; j < b->width; j++) {
                double sum = 0;
                for (size_t h = x->holder_start[b->first + j];
                     h < x->holder_start[b->first + j + 1]; h++)
                    sum += W[x->holder[h]] * x->holder_count[h];
                sums[j] = sum;
            }
        }
        add_scaled(x->bar + i->first, sums, rows->weight[e], b->width, !i->has_bar);
        i->has_bar = true;
    }
}

/* Four interleaved sums: a fixed order that vectors can follow. */
static double total(const double *a, size_t count) {
    double sum[4] = {0}, rest = 0;
    size_t j = 0;
    for (; j + 4 <= count; j += 4) {
        for (size_t lane = 0; lane < 4; lane++) sum[lane] += a[j + lane];
    }
    for (; j < count; j++) rest += a[j];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest;
}

static double dot(const double *a, const double *b, size_t count) {
    double sum[4] = {0}, rest = 0;
    size_t j = 0;
    for (; j + 4 <= count; j += 4) {
        for (size_t lane = 0; lane < 4; lane++) sum[lane] += a[j + lane] * b[j + lane];
    }
    for (; j < count; j++) rest += a[j] * b[j];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest;
}

/* What a child gets, to the adjoints of the columns that match it. */
static void pass_down(meeting *x, const arm *a, const double *passed) {
    double *bar = x->bar + a->first;
    for (const link *l = a->links; l < a->end; l++) bar[l->child] += passed[l->column];
}

/* A row with one factor: only the columns that match it need be looked at. */
static double pull_one(meeting *x, const row *r, double alpha, double decay, double sum) {
    const arm *a = x->arms + r->arms;
    const double *bar = x->bar + r->first, *delta = x->delta + a->first;
    double *child = x->bar + a->first, by_decay = alpha * sum;
    for (const link *l = a->links; l < a->end; l++) {
        by_decay += bar[l->column] * delta[l->child];
        child[l->child] += bar[l->column] * decay;
    }
    return by_decay;
}

/* after[m] = bar decay times the factors after the m-th. */
static void fill_after(meeting *x, const double *bar, double decay, size_t inner, size_t width) {
    double *last = x->after + (inner - 1) * width;
    for (size_t j = 0; j < width; j++) last[j] = bar[j] * decay;
    for (size_t m = inner - 1; m-- > 0;) {
        const double *f = x->factors + (m + 1) * width, *later = x->after + (m + 1) * width;
        double *out = x->after + m * width;
        for (size_t j = 0; j < width; j++) out[j] = f[j] * later[j];
    }
}

/* One row of the reverse sweep. */
static void pull_row(meeting *x, const row *r, lth__tree_gradient gradient) {
    const band *b = &x->bands[r->band];
    double decay = x->plan->decay[b->production], alpha = x->plan->alpha[b->production];
    uint32_t owner = x->plan->owner[b->production];
    size_t width = b->width, inner = b->inner;
    const double *bar = x->bar + r->first;
    double by_alpha = 0, by_decay = 0;
    if (inner < 2) {
        double sum = total(bar, width);
        by_decay = inner == 0 ? sum : pull_one(x, r, alpha, decay, sum);
        by_alpha = inner == 0 ? 0 : decay * sum;
    } else {
        const arm *arms = x->arms + r->arms;
        double *before = x->factors; /* of the m-th: the product of those up to it, in its place */
        for (size_t m = 0; m < inner; m++)
            fill_factors(x, &arms[m], alpha, width, x->factors + m * width);
        fill_after(x, bar, decay, inner, width);
        for (size_t m = 0; m < inner; m++) {
            double *passed = x->after + m * width, *f = x->factors + m * width;
            if (m > 0) {
                multiply(passed, before, width);
                multiply(f, before, width);
                before = f;
            }
            by_alpha += total(passed, width);
            pass_down(x, &arms[m], passed);
        }
        by_decay = dot(bar, before, width);
    }
    gradient.decay[owner] += by_decay;
    if (gradient.alpha) gradient.alpha[owner] += by_alpha;
}

static void pull(meeting *x, const double *W, lth__tree_gradient gradient) {
    memset(x->touched_by, 0, x->band_count * sizeof *x->touched_by);
    for (size_t r = 0; r < x->part.rows; r++)
        add_weights(x, r, W + (x->part.row + r) * x->tile->cols + x->part.col);
    for (size_t r = x->row_count; r-- > 0;) pull_row(x, &x->rows[r], gradient);
}

/* ---- Parts of a tile ---- */

static bool is_too_large(const meeting *x) {
    return x->numbers > MOST_NUMBERS || x->most_factors > MOST_NUMBERS;
}

/* Of a meeting that is known. */
static lth_status compare(meeting *x, const double *W, double *K, lth__tree_gradient gradient,
                          lth_error *err) {
    LTH_TRY(lth__tree_meeting_numbers(x, W != NULL, err));
    for (size_t r = 0; r < x->row_count; r++) fill_delta(x, &x->rows[r]);
    if (K) add_values(x, K);
    if (W) pull(x, W, gradient);
    return LTH_OK;
}

static lth_status match_part(meeting *x, const double *W, double *K, lth__tree_gradient gradient,
                             bool *too_large, lth_error *err) {
    LTH_TRY(lth__tree_meeting_begin(x, err));
    *too_large = is_too_large(x);
    if (*too_large) return LTH_OK;
    LTH_TRY(lth__tree_meeting_finish(x, err));
    return compare(x, W, K, gradient, err);
}

static lth_status match_pair(const lth__tree_plan *plan, const lth__tile *tile, part p,
                             const double *W, double *K, lth__tree_gradient gradient,
                             lth_error *err) {
    const lth__sequences *rows = plan->rows.nodes, *cols = plan->cols.nodes;
    size_t i = tile->row[p.row], j = tile->col[p.col], at = p.row * tile->cols + p.col;
    lth__tree_view *a = NULL, *b = NULL;
    lth__fragment_room room = {0};
    double value = 0;
    lth_status status = lth__tree_view_create(plan, lth__sequence_symbols(rows, i),
                                              lth__sequence_length(rows, i), &a, err);
    bool self = rows == cols && i == j;
    if (status == LTH_OK && !self) {
        status = lth__tree_view_create(plan, lth__sequence_symbols(cols, j),
                                       lth__sequence_length(cols, j), &b, err);
    }
    if (status == LTH_OK) {
        if (!W) gradient = (lth__tree_gradient){0};
        status =
            lth__tree_fragments(plan, a, self ? a : b, W ? W[at] : 0, &room, &value, gradient, err);
    }
    if (status == LTH_OK && K) K[at] = value;
    lth__fragment_room_free(&room);
    lth__tree_view_free(a);
    lth__tree_view_free(b);
    return status;
}

static lth_status match_parts(const lth__tree_plan *plan, const lth__tile *tile,
                              lth__tree_room *room, const double *W, double *K,
                              lth__tree_gradient gradient, meeting *whole, lth_error *err) {
    /* Parts that wait: each cut leaves one more, and halves its longer side. */
    part waiting[128] = {{.rows = tile->rows, .cols = tile->cols}};
    size_t count = tile->rows > 0 && tile->cols > 0;
    while (count > 0) {
        part p = waiting[--count];
        bool too_large = false;
        meeting x = {.plan = plan, .tile = tile, .part = p, .room = room};
        LTH_TRY(lth__parallel_ask(plan->ctx));
        LTH_TRY(match_part(&x, W, K, gradient, &too_large, err));
        if (!too_large && p.rows == tile->rows && p.cols == tile->cols) *whole = x;
        if (!too_large) continue;
        if (p.rows == 1 && p.cols == 1) {
            LTH_TRY(match_pair(plan, tile, p, W, K, gradient, err));
            continue;
        }
        part first = p, second = p;
        if (p.rows >= p.cols) {
            first.rows = p.rows / 2;
            second.row += first.rows;
            second.rows -= first.rows;
        } else {
            first.cols = p.cols / 2;
            second.col += first.cols;
            second.cols -= first.cols;
        }
        waiting[count++] = second;
        waiting[count++] = first;
    }
    return LTH_OK;
}

/* Who meets whom does not change with the parameters. */
static lth_status match_again(const lth__tree_plan *plan, const lth__tile *tile, meeting *x,
                              lth__tree_room *room, const double *W, double *K,
                              lth__tree_gradient gradient, lth_error *err) {
    LTH_TRY(lth__parallel_ask(plan->ctx));
    x->plan = plan;
    x->tile = tile;
    x->room = room;
    return compare(x, W, K, gradient, err);
}

lth_status lth__tree_match(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                           const double *W, double *K, lth__tree_gradient gradient,
                           lth_error *err) {
    const lth__tree_plan *plan = eval->state[node->index];
    lth__tree_room *room = lth__tree_room_enter(plan->rooms);
    if (!room) return lth__fail_memory(err, sizeof *room);
    lth_status status;
    void **kept = lth__memo_slot(node, eval, tile);
    if (kept && *kept) {
        status = match_again(plan, tile, *kept, room, W, K, gradient, err);
    } else {
        meeting whole = {0};
        status = match_parts(plan, tile, room, W, K, gradient, &whole, err);
        if (status == LTH_OK && kept && whole.plan &&
            lth__memo_fits(node, eval, lth__tree_meeting_bytes(&whole)))
            *kept = lth__tree_meeting_copy(&whole); /* or goes without */
    }
    lth__tree_room_leave(plan->rooms, room);
    return status;
}

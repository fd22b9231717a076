/* Patterns of sequences: units of a text in their order, with gaps between them.
 *
 * Where degree n counts common subsequences, P_n(x, a) = sum over patterns u of n units of
 * phi_u(x) P_n(u, a), where phi_u(x) sums gap^(units skipped) over the places of u in x, and
 * P_n(u, a) is the kernel of u, taken for a text, with a; this holds for soft matching, too. So u
 * adds phi_u(x) sum_a omega_na P_n(u, a) to the prediction of x.
 *
 * Candidates are short and have few units between neighbours. Of a row the tightest come first, up
 * to MOST_CANDIDATES. Of a model those that its rows have are collected with what they weigh, and
 * the heaviest of these are then scored.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/copied.h"
#include "base/parallel.h"
#include "kernel/string/text_field.h"
#include "kernel/tree/heaviest.h"
#include "model/explain/explain.h"

enum {
    LONGEST = LTH__MOST_UNITS, /* in a pattern                                */
    WIDEST = 3,                /* units skipped between two of them              */
    MOST_CANDIDATES = 2000,    /* that are scored                                */
    MOST_COLLECTED = 2000000,
    MOST_VISITS = 20000000, /* places of patterns that are looked at          */
};

/* ---- Candidates ---- */

typedef struct candidates {
    const lth__path *path;
    const lth__leaf *leaf;
    const lth__sequences *rows; /* the leaf's texts: that of the row, and the training rows' */
    const lth__sequences *cols;
    size_t longest;
    double gap, nu[64];
    lth__symbols *keys; /* the units of each, as bytes */
    lth_error *err;
} candidates;

static lth_status open_candidates(candidates *c, const lth__path *p, const lth__leaf *leaf,
                                  lth_error *err) {
    size_t field = leaf->node->field;
    *c = (candidates){.path = p,
                      .leaf = leaf,
                      .rows = &p->eval.rows->fields[field],
                      .cols = &p->model->cols->fields[field],
                      .longest = leaf->degrees < LONGEST ? leaf->degrees : LONGEST,
                      .err = err};
    leaf->node->family->subsequence_weights(leaf->node, &p->eval, &c->gap, c->nu);
    c->keys = lth__symbols_create();
    return c->keys ? LTH_OK : lth__fail_memory(err, 0);
}

static size_t units_of(const candidates *c, size_t id, lth__symbol unit[LONGEST]) {
    size_t bytes;
    const char *text = lth__symbols_text(c->keys, (lth__symbol)id, &bytes);
    memcpy(unit, text, bytes); /* it is not aligned */
    return bytes / sizeof *unit;
}

static lth_status items_of(const candidates *c, const size_t *id, size_t count, size_t *degree,
                           lth_items **out) {
    lth_items *items = NULL;
    LTH_TRY(lth__items_create(c->path->eval.rows->encoder, count, &items, c->err));
    lth__sequences *s = &items->fields[c->leaf->node->field];
    *s = (lth__sequences){.count = count, .longest = LONGEST};
    s->start = lth__calloc(count + 1, sizeof *s->start);
    s->symbols = lth__alloc(count * LONGEST, sizeof *s->symbols);
    if (!s->start || !s->symbols) {
        lth_items_free(items);
        return lth__fail_memory(c->err, count * LONGEST * sizeof *s->symbols);
    }
    for (size_t i = 0; i < count; i++) {
        lth__symbol unit[LONGEST];
        degree[i] = units_of(c, id[i], unit);
        memcpy(s->symbols + s->start[i], unit, degree[i] * sizeof *unit);
        s->start[i + 1] = s->start[i] + degree[i];
    }
    *out = items;
    return LTH_OK;
}

/* phi_u of a text; inlined, so that what ended earlier stays in registers. */
LTH__COPIED double count_units(const lth__symbol *unit, const size_t n, const lth__symbol *text,
                               size_t length, double gap) {
    double before[LONGEST] = {0}, sum = 0; /* of what ended earlier, by how much is matched */
    for (size_t j = 0; j < length; j++) {
        double ends[LONGEST];
#pragma GCC unroll 4
        for (size_t i = 0; i < n; i++)
            ends[i] = text[j] == unit[i] ? (i == 0 ? 1 : before[i - 1]) : 0;
        sum += ends[n - 1];
#pragma GCC unroll 4
        for (size_t i = 0; i < n; i++) before[i] = gap * before[i] + ends[i];
    }
    return sum;
}

static double count_in(const lth__symbol *unit, size_t n, const lth__symbol *text, size_t length,
                       double gap) {
    switch (n) {
    case 1: return count_units(unit, 1, text, length, gap);
    case 2: return count_units(unit, 2, text, length, gap);
    case 3: return count_units(unit, 3, text, length, gap);
    default: return count_units(unit, LONGEST, text, length, gap);
    }
}

/* ---- Telling ---- */

/* Where the tightest place of a pattern in a text has gaps. */
static void find_gaps(const lth__symbol *unit, size_t n, const lth__symbol *text, size_t length,
                      bool gap[LONGEST]) {
    size_t tightest = SIZE_MAX;
    memset(gap, 0, LONGEST * sizeof *gap);
    for (size_t first = 0; first < length; first++) {
        size_t at = first, matched = 1;
        bool skips[LONGEST] = {false};
        if (text[first] != unit[0]) continue;
        for (size_t j = first + 1; j < length && matched < n && j - first < tightest; j++) {
            if (text[j] != unit[matched]) continue;
            skips[matched++] = j > at + 1;
            at = j;
        }
        if (matched < n || at - first >= tightest) continue;
        tightest = at - first;
        memcpy(gap, skips, sizeof skips);
    }
}

/* Whether the pattern stands in a text that begins with its first unit. */
static bool goes_on(const lth__symbol *unit, size_t n, const lth__symbol *text, size_t length,
                    bool gaps) {
    size_t matched = 1;
    for (size_t j = 1; j < length && matched < n; j++) {
        if (text[j] == unit[matched])
            matched++;
        else if (!gaps)
            break;
    }
    return matched == n;
}

/* The next place of a unit, or the end. */
static size_t find_unit(const lth__symbol *symbols, size_t at, size_t end, lth__symbol unit) {
    enum { AT_ONCE = 32 }; /* as a loop of vectors */
    for (; end - at >= AT_ONCE; at += AT_ONCE) {
        uint32_t any = 0;
        for (size_t i = 0; i < AT_ONCE; i++) any |= symbols[at + i] == unit;
        if (any) break;
    }
    while (at < end && symbols[at] != unit) at++;
    return at;
}

/* Rows that have the pattern, and the one to which it matters most: all texts are searched for its
 * first unit. */
static size_t count_rows(const candidates *c, const lth__symbol *unit, size_t n, size_t *example) {
    const lth__sequences *texts = c->cols;
    const double *omega = c->leaf->omega + (n - 1) * texts->count;
    size_t rows = 0, a = 0, end = texts->start[texts->count];
    double most = -1;
    *example = LTH_NONE;
    for (size_t k = texts->start[0]; (k = find_unit(texts->symbols, k, end, unit[0])) < end; k++) {
        while (texts->start[a + 1] <= k) a++;
        size_t next = texts->start[a + 1];
        if (!goes_on(unit, n, texts->symbols + k, next - k, c->gap > 0)) continue;
        double size = fabs(omega[a]) * count_in(unit, n, lth__sequence_symbols(texts, a),
                                                lth__sequence_length(texts, a), c->gap);
        rows++;
        if (size > most) most = size, *example = a;
        k = next - 1;
    }
    return rows;
}

static lth_status tell(lth_reasons *r, const candidates *c, size_t id, double weight, bool of_row) {
    lth__symbol unit[LONGEST];
    bool gap[LONGEST];
    size_t n = units_of(c, id, unit), example, field = c->leaf->node->field;
    size_t rows = count_rows(c, unit, n, &example);
    const lth__sequences *texts = of_row ? c->rows : c->cols;
    size_t row = of_row ? 0 : example;
    memset(gap, 0, sizeof gap);
    if (row != LTH_NONE)
        find_gaps(unit, n, lth__sequence_symbols(texts, row), lth__sequence_length(texts, row),
                  gap);
    lth__string text = {0};
    lth__units_write(&c->path->eval.rows->encoder->lexicons[field], unit, gap, n, &text);
    lth_status status =
        text.failed
            ? lth__fail_memory(c->err, 0)
            : lth__reasons_add_pattern(r, c->path->model->kernel->fields[field].column, text.bytes,
                                       text.length, weight, rows, example, c->err);
    lth__string_free(&text);
    return status;
}

/* Score the candidates with these numbers, and tell of the heaviest. */
static lth_status score(lth_reasons *r, const candidates *c, const size_t *id, size_t count,
                        bool of_row, size_t wanted) {
    size_t *degree = lth__alloc(count, sizeof *degree);
    double *weight = lth__alloc(count, sizeof *weight);
    lth_items *items = NULL;
    lth__heaviest best = {0};
    lth_status status = degree && weight ? lth__heaviest_create(wanted, &best, c->err)
                                         : lth__fail_memory(c->err, count * sizeof *weight);
    if (status == LTH_OK) status = items_of(c, id, count, degree, &items);
    if (status == LTH_OK)
        status = lth__score_patterns(c->path, c->leaf, items, degree, weight, c->err);
    for (size_t i = 0; status == LTH_OK && i < count; i++) {
        lth__symbol unit[LONGEST];
        size_t n = units_of(c, id[i], unit);
        if (of_row)
            weight[i] *= count_in(unit, n, lth__sequence_symbols(c->rows, 0),
                                  lth__sequence_length(c->rows, 0), c->gap);
        lth__heaviest_add(&best, weight[i], id[i]);
    }
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; status == LTH_OK && i < best.count[side]; i++)
            status = tell(r, c, best.at[side][i].id, best.at[side][i].weight, of_row);
    }
    lth__heaviest_free(&best);
    lth_items_free(items);
    lth__free(degree);
    lth__free(weight);
    return status;
}

/* ---- Of a row ---- */

/* All patterns of `want` units that go on after place `at`, with `left` units skipped in all. */
static lth_status extend(candidates *c, lth__symbol unit[LONGEST], size_t have, size_t want,
                         size_t at, size_t left) {
    if (lth__symbols_count(c->keys) >= MOST_CANDIDATES) return LTH_OK;
    if (have == want || have == LONGEST) {
        lth__symbol key = lth__symbols_intern(c->keys, (const char *)unit, want * sizeof *unit);
        return key == LTH__NO_SYMBOL ? lth__fail_memory(c->err, 0) : LTH_OK;
    }
    size_t length = lth__sequence_length(c->rows, 0);
    bool last = have + 1 == want;
    for (size_t skip = last ? left : 0; skip <= left && skip <= WIDEST; skip++) {
        if (at + 1 + skip >= length) break;
        if ((want - have - 1) * WIDEST < left - skip) continue;
        unit[have] = lth__sequence_symbols(c->rows, 0)[at + 1 + skip];
        LTH_TRY(extend(c, unit, have + 1, want, at + 1 + skip, left - skip));
    }
    return LTH_OK;
}

static lth_status list_of_row(candidates *c) {
    size_t length = lth__sequence_length(c->rows, 0);
    lth__symbol unit[LONGEST];
    size_t widest = c->gap > 0 ? WIDEST * (LONGEST - 1) : 0;
    for (size_t skipped = 0; skipped <= widest; skipped++) {
        for (size_t want = 1; want <= c->longest; want++) {
            for (size_t first = 0; first + want <= length; first++) {
                unit[0] = lth__sequence_symbols(c->rows, 0)[first];
                if ((want - 1) * WIDEST >= skipped)
                    LTH_TRY(extend(c, unit, 1, want, first, skipped));
            }
        }
    }
    return LTH_OK;
}

lth_status lth__sequence_row_patterns(lth_reasons *r, const lth__path *p, const lth__leaf *leaf,
                                      size_t count, lth_error *err) {
    candidates c;
    size_t *id = NULL, found = 0;
    lth_status status = open_candidates(&c, p, leaf, err);
    if (status == LTH_OK) status = list_of_row(&c);
    if (status == LTH_OK) {
        found = lth__symbols_count(c.keys);
        id = lth__alloc(found, sizeof *id);
        if (!id) status = lth__fail_memory(err, found * sizeof *id);
    }
    for (size_t i = 0; status == LTH_OK && i < found; i++) id[i] = i;
    if (status == LTH_OK) status = score(r, &c, id, found, true, count);
    lth__free(id);
    lth__symbols_free(c.keys);
    return status;
}

/* ---- Of a model ---- */

typedef struct collection {
    candidates c;
    double *mass; /* by key */
    size_t capacity, widest;
} collection;

typedef struct massive {
    double mass;
    size_t id;
} massive;

static int by_mass(const void *a, const void *b) {
    const massive *x = a, *y = b;
    double p = fabs(x->mass), q = fabs(y->mass);
    if (p != q) return p > q ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* All keys, heaviest first; freed with lth__free(). */
static lth_status sort_keys(const collection *x, massive **out) {
    size_t count = lth__symbols_count(x->c.keys);
    massive *all = lth__alloc(count, sizeof *all);
    if (!all) return lth__fail_memory(x->c.err, count * sizeof *all);
    for (size_t i = 0; i < count; i++) all[i] = (massive){x->mass[i], i};
    if (count > 0) qsort(all, count, sizeof *all, by_mass);
    *out = all;
    return LTH_OK;
}

/* The heavier half stays. */
static lth_status drop_lightest(collection *x) {
    massive *all = NULL;
    LTH_TRY(sort_keys(x, &all));
    size_t keep = MOST_COLLECTED / 2;
    lth__symbols *keys = lth__symbols_create();
    bool ok = keys != NULL;
    for (size_t i = 0; ok && i < keep; i++) {
        size_t bytes;
        const char *text = lth__symbols_text(x->c.keys, (lth__symbol)all[i].id, &bytes);
        ok = lth__symbols_intern(keys, text, bytes) != LTH__NO_SYMBOL;
    }
    if (ok) {
        lth__symbols_free(x->c.keys);
        x->c.keys = keys;
        for (size_t i = 0; i < keep; i++) x->mass[i] = all[i].mass;
    } else {
        lth__symbols_free(keys);
    }
    lth__free(all);
    return ok ? LTH_OK : lth__fail_memory(x->c.err, 0);
}

static lth_status add_mass(collection *x, const lth__symbol *unit, size_t n, double mass) {
    size_t known = lth__symbols_count(x->c.keys);
    lth__symbol key = lth__symbols_intern(x->c.keys, (const char *)unit, n * sizeof *unit);
    if (key == LTH__NO_SYMBOL ||
        !lth__reserve((void **)&x->mass, &x->capacity, (size_t)key + 1, sizeof *x->mass))
        return lth__fail_memory(x->c.err, 0);
    if (key == known) x->mass[key] = 0;
    x->mass[key] += mass;
    return known < MOST_COLLECTED ? LTH_OK : drop_lightest(x);
}

/* A pattern that ends at place `at`, and all that go on from there. */
static lth_status visit(collection *x, size_t row, lth__symbol unit[LONGEST], size_t n, size_t at,
                        double factor) {
    const lth__sequences *texts = x->c.cols;
    size_t length = lth__sequence_length(texts, row);
    double omega = x->c.leaf->omega[(n - 1) * texts->count + row] * x->c.nu[n - 1];
    LTH_TRY(add_mass(x, unit, n, omega * factor));
    for (size_t skip = 0; n < x->c.longest && n < LONGEST && skip <= x->widest; skip++) {
        if (at + 1 + skip >= length) break;
        unit[n] = lth__sequence_symbols(texts, row)[at + 1 + skip];
        LTH_TRY(visit(x, row, unit, n + 1, at + 1 + skip, factor));
        factor *= x->c.gap;
    }
    return LTH_OK;
}

/* Fewer gaps where there are too many places. */
static size_t choose_widest(const candidates *c) {
    double units = (double)c->cols->start[c->cols->count] - (double)c->cols->start[0];
    for (size_t widest = c->gap > 0 ? WIDEST : 0; widest > 0; widest--) {
        double visits = 0, branches = 1;
        for (size_t n = 0; n < c->longest; n++, branches *= (double)(widest + 1))
            visits += branches;
        if (units * visits <= MOST_VISITS) return widest;
    }
    return 0;
}

static lth_status collect(collection *x) {
    const lth__sequences *texts = x->c.cols;
    x->widest = choose_widest(&x->c);
    for (size_t row = 0; row < texts->count; row++) {
        for (size_t k = 0; k < lth__sequence_length(texts, row); k++) {
            lth__symbol unit[LONGEST] = {lth__sequence_symbols(texts, row)[k]};
            LTH_TRY(visit(x, row, unit, 1, k, 1));
        }
    }
    return LTH_OK;
}

lth_status lth__sequence_model_patterns(lth_reasons *r, const lth__path *p, const lth__leaf *leaf,
                                        size_t count, lth_error *err) {
    collection x = {0};
    massive *all = NULL;
    size_t *id = NULL, found = 0;
    lth_status status = open_candidates(&x.c, p, leaf, err);
    if (status == LTH_OK) status = collect(&x);
    if (status == LTH_OK) status = sort_keys(&x, &all);
    if (status == LTH_OK) {
        found = lth__symbols_count(x.c.keys);
        if (found > MOST_CANDIDATES) found = MOST_CANDIDATES;
        id = lth__alloc(found, sizeof *id);
        if (!id) status = lth__fail_memory(err, found * sizeof *id);
    }
    for (size_t i = 0; status == LTH_OK && i < found; i++) id[i] = all[i].id;
    if (status == LTH_OK) status = score(r, &x.c, id, found, false, count);
    lth__free(all);
    lth__free(id);
    lth__free(x.mass);
    lth__symbols_free(x.c.keys);
    return status;
}

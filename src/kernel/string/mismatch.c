/* mismatch(column, k, m): the (k,m)-mismatch kernel (Leslie, Eskin, Cohen, Weston & Noble 2004). A
 * k-mer of x counts for all k-mers that differ from it in at most m places, so that with A letters
 * in the alphabet two k-mers that differ in d places have
 *
 *     I(d) = sum_{u,v,t} d! / (u! v! r!) (A-2)^r C(k-d, t) (A-1)^t      r = d - u - v
 *            over d - u + t <= m and d - v + t <= m
 *
 * of them in common: those with u of the d places as in the one, v as in the other, and t of the
 * other places changed. With n_e pairs of k-mers, one of x and one of y, that have e places equal,
 *
 *     K(x,y) = sum_e n_e I(k - e)
 *
 * which is an inner product. k-mers with a character that is no letter are left out. There is
 * nothing to learn, and values are kept (memo). A pair costs |x| |y| steps, as in gkm.
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "data/units.h"
#include "kernel/core/field.h"
#include "kernel/string/alphabet.h"
#include "kernel/string/gkm.h"
#include "kernel/string/text_field.h"

enum { MOST = LTH__MOST_WIDTH, PAD = LTH__LETTER_PAD };

typedef struct config {
    lth__gkm_config windows; /* of k letters, and the fewest equal ones that engines look for */
    size_t mismatches;
    lth__alphabet alphabet;
    double worth[MOST + 1]; /* I(k - e), by e */
} config;

/* ---- Arguments ---- */

static double factorial(size_t n) {
    return n < 2 ? 1 : (double)n * factorial(n - 1);
}

static double choose(size_t n, size_t k) {
    return round(factorial(n) / factorial(k) / factorial(n - k));
}

/* I(d) */
static double common_neighbours(size_t k, size_t m, double letters, size_t d) {
    double sum = 0;
    for (size_t u = 0; u <= d; u++) {
        for (size_t v = 0; u + v <= d; v++) {
            size_t far = d - (u < v ? u : v), r = d - u - v; /* from the farther of the two */
            double ways = choose(d, u) * choose(d - u, v) * pow(letters - 2, (double)r);
            for (size_t t = 0; t <= k - d && far + t <= m; t++)
                sum += ways * choose(k - d, t) * pow(letters - 1, (double)t);
        }
    }
    return sum;
}

static void fill_worth(config *c) {
    size_t k = c->windows.width, m = c->mismatches;
    for (size_t e = 0; e <= k; e++)
        c->worth[e] = common_neighbours(k, m, (double)c->alphabet.count, k - e);
    c->windows.least = 2 * m < k ? k - 2 * m : 1; /* where e is 0 it is what the others leave */
}

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    *c = (config){0};
    node->config = c;
    long k, m;
    LTH_TRY(lth__node_integer(node, "k", 1, MOST, 5, &k, err));
    LTH_TRY(lth__node_integer(node, "m", 0, k - 1, k > 1 ? 1 : 0, &m, err));
    c->windows.width = (size_t)k;
    c->mismatches = (size_t)m;
    LTH_TRY(lth__alphabet_read(kernel, node, &c->alphabet, err));
    if (c->alphabet.count > 0) fill_worth(c);
    lth__field_def field = {.column = node->expr->inputs[0]->name,
                            .type = &lth__field_text,
                            .units = LTH__CHARS,
                            .lower = true};
    return lth__kernel_field(kernel, &field, &node->field, err);
}

/* ---- State: runs of letters, without what is none ---- */

typedef struct side {
    uint8_t *letter;        /* of all items, paddings around them              */
    lth__gkm_sequence *run; /* of k letters at least                           */
    size_t *first;          /* of each item's runs; items + 1                  */
} side;

typedef struct state {
    side rows, cols;
    size_t longest;
} state;

static void free_side(side *s) {
    lth__free(s->letter);
    lth__free(s->run);
    lth__free(s->first);
}

static void release(void *p) {
    state *s = p;
    if (s->cols.letter != s->rows.letter) free_side(&s->cols);
    free_side(&s->rows);
    lth__free(s);
}

/* Of the symbols of a vocabulary: one that may not stand in a text. */
enum { STRANGE = LTH__NO_ROW_LETTER };

static uint8_t *number_symbols(const config *c, const lth__lexicon *l) {
    size_t count = lth__symbols_count(l->symbols);
    uint8_t *number = lth__alloc(count, 1);
    for (size_t i = 0; number && i < count; i++) {
        if (!lth__alphabet_number(&c->alphabet, l, (lth__symbol)i, &number[i])) number[i] = STRANGE;
    }
    return number;
}

static lth_status read_letters(const lth__node *node, const lth_items *items, uint8_t *letter,
                               lth_error *err) {
    const lth__sequences *s = &items->fields[node->field];
    const lth__lexicon *l = &items->encoder->lexicons[node->field];
    const config *c = node->config;
    uint8_t *number = number_symbols(c, l);
    lth_status status = number ? LTH_OK : lth__fail_memory(err, lth__symbols_count(l->symbols));
    for (size_t i = 0; i < s->count && status == LTH_OK; i++) {
        for (size_t p = s->start[i]; p < s->start[i + 1] && status == LTH_OK; p++) {
            letter[p] = number[s->symbols[p]];
            if (letter[p] == STRANGE)
                status = lth__text_fail_letter(l, s->symbols[p], i, "place", p - s->start[i],
                                               c->alphabet.name, err);
        }
    }
    lth__free(number);
    return status;
}

/* Runs of item i, from `used` on; returns how many there are then. */
static size_t find_runs(const lth__sequences *s, size_t i, size_t k, const uint8_t *letter,
                        lth__gkm_sequence *run, size_t used) {
    for (size_t from = s->start[i], p = from; p <= s->start[i + 1]; p++) {
        if (p < s->start[i + 1] && letter[p] != LTH__NO_LETTER) continue;
        if (p - from >= k)
            run[used++] = (lth__gkm_sequence){.letter = letter + from, .length = p - from};
        from = p + 1;
    }
    return used;
}

static lth_status make_side(const lth__node *node, const lth_items *items, side *out,
                            lth_error *err) {
    const config *c = node->config;
    const lth__sequences *s = &items->fields[node->field];
    size_t total = s->start[s->count], most = total / c->windows.width + 1;
    out->letter = lth__calloc(total + 2 * PAD, 1);
    out->run = lth__alloc(most, sizeof *out->run);
    out->first = lth__alloc(s->count + 1, sizeof *out->first);
    if (!out->letter || !out->run || !out->first)
        return lth__fail_memory(err, total + most * sizeof *out->run);
    LTH_TRY(read_letters(node, items, out->letter + PAD, err));
    out->first[0] = 0;
    for (size_t i = 0; i < s->count; i++)
        out->first[i + 1] =
            find_runs(s, i, c->windows.width, out->letter + PAD, out->run, out->first[i]);
    return LTH_OK;
}

static lth_status make_state(const lth__node *node, const lth__eval *eval, state *s,
                             lth_error *err) {
    size_t rows = eval->rows->fields[node->field].longest;
    size_t cols = eval->cols->fields[node->field].longest;
    s->longest = rows > cols ? rows : cols;
    LTH_TRY(make_side(node, eval->rows, &s->rows, err));
    if (eval->cols != eval->rows) return make_side(node, eval->cols, &s->cols, err);
    s->cols = s->rows;
    return LTH_OK;
}

static lth_status prepare(const lth__node *node, lth__eval *eval, void **out, lth_error *err) {
    state *s = lth__calloc(1, sizeof *s);
    if (!s) return lth__fail_memory(err, sizeof *s);
    lth_status status = make_state(node, eval, s, err);
    if (status == LTH_OK)
        *out = s;
    else
        release(s);
    return status;
}

/* ---- Values ---- */

/* Of two runs, one of them the bench's. */
static double compare_runs(const config *c, const lth__gkm_bench *b, lth__gkm_sequence col) {
    size_t k = c->windows.width, least = c->windows.least;
    uint64_t n[MOST + 1] = {0}, unequal = (b->row.length - k + 1) * (col.length - k + 1);
    lth__gkm_count(b, col, n);
    double sum = 0;
    for (size_t e = least; e <= k; e++) {
        sum += (double)n[e - least] * c->worth[e];
        unequal -= n[e - least];
    }
    return sum + (double)unequal * c->worth[0]; /* which is 0 unless all places may differ */
}

static void compare_row(const config *c, const state *s, lth__gkm_bench *b, size_t row,
                        const lth__tile *tile, double *K) {
    for (size_t i = s->rows.first[row]; i < s->rows.first[row + 1]; i++) {
        lth__gkm_bench_row(b, s->rows.run[i]);
        for (size_t col = 0; col < tile->cols; col++) {
            const size_t *of = &s->cols.first[tile->col[col]];
            for (size_t j = of[0]; j < of[1]; j++) K[col] += compare_runs(c, b, s->cols.run[j]);
        }
    }
}

static lth_status open_bench(const lth__node *node, const lth__eval *eval, lth__gkm_bench *out,
                             lth_error *err) {
    const config *c = node->config;
    const state *s = eval->state[node->index];
    lth__gkm_sides sides = {.longest = s->longest};
    return lth__gkm_bench_open(&c->windows, &sides, eval->ctx, out, err);
}

static lth_status fill(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       double *K, lth_error *err) {
    const state *s = eval->state[node->index];
    lth__gkm_bench b;
    LTH_TRY(open_bench(node, eval, &b, err));
    lth_status status = LTH_OK;
    memset(K, 0, tile->rows * tile->cols * sizeof *K);
    for (size_t r = 0; r < tile->rows && status == LTH_OK; r++) {
        compare_row(node->config, s, &b, tile->row[r], tile, K + r * tile->cols);
        status = lth__parallel_ask(eval->ctx);
    }
    lth__gkm_bench_close(&b);
    return status;
}

static lth_status tile_values(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    return lth__memo_constant(node, eval, tile, fill, K, err);
}

static size_t memo_planes(const lth__node *node, const lth__eval *eval) {
    (void)node, (void)eval;
    return 1;
}

/* ---- Explanations: equal letters share evenly what two k-mers have in common ---- */

typedef struct sharing {
    const config *c;
    const lth__gkm_sequence *x, *y;
    double W, *share; /* share: of the first letter of x */
} sharing;

static void share_window(void *user, size_t i, size_t j, size_t same) {
    const sharing *h = user;
    size_t k = h->c->windows.width;
    double part = h->W * h->c->worth[same] / (double)(same > 0 ? same : k);
    for (size_t t = 0; part != 0 && t < k; t++) {
        if (same == 0 || lth__gkm_equal(h->x, i + t, h->y, j + t)) h->share[i + t] += part;
    }
}

static lth_status attribute(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                            const double *W, double *share, lth_error *err) {
    (void)err;
    const config *c = node->config;
    const state *s = eval->state[node->index];
    const uint8_t *start = s->rows.letter + PAD + eval->rows->fields[node->field].start[*tile->row];
    lth__gkm_config all = {.width = c->windows.width}; /* windows with no letter equal, too */
    const size_t *rows = &s->rows.first[*tile->row];
    for (size_t i = rows[0]; i < rows[1]; i++) {
        sharing h = {.c = c, .x = &s->rows.run[i]};
        h.share = share + (h.x->letter - start);
        for (size_t col = 0; col < tile->cols; col++) {
            const size_t *of = &s->cols.first[tile->col[col]];
            h.W = W[col];
            for (size_t j = of[0]; j < of[1]; j++) {
                h.y = &s->cols.run[j];
                lth__gkm_walk(&all, eval->ctx, h.x, h.y, share_window, &h);
            }
        }
    }
    return lth__parallel_ask(eval->ctx);
}

/* ---- The family ---- */

static const lth_argument arguments[] = {
    {.name = "k", .help = "letters of a k-mer", .initial = "5", .choices = "1..20"},
    {.name = "m",
     .help = "places in which two k-mers may differ from one that they have in common",
     .initial = "1",
     .choices = "0..k-1"},
    {.name = "alphabet",
     .help = "the letters there are: dna (A, C, G, T or U), protein (the twenty), one's own, or "
             "all that the first table has; k-mers with others are left out",
     .initial = "all",
     .choices = "all|dna|protein|LETTERS"},
    {0},
};

const lth__family lth__family_mismatch = {
    .manual = {.name = "mismatch",
               .help = "mismatch kernel: k-mers of DNA, proteins or any text that differ in few "
                       "places",
               .usage = "mismatch(COLUMN, k=5, m=1, alphabet=dna)",
               .arguments = arguments,
               .kind = LTH_FAMILY_STRING},
    .traits = LTH__TAKES_COLUMN,
    .configure = configure,
    .resolve = lth__alphabet_resolve,
    .prepare = prepare,
    .release = release,
    .tile = tile_values,
    .memo_planes = memo_planes,
    .attribute = attribute,
};

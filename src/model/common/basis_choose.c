/* Choosing a basis by randomly pivoted Cholesky, in blocks (Epperly, Tropp and Webber 2024).
 *
 * A block of rows is proposed by what is left of their variances, d. One after the other they are
 * taken with the probability (left after those taken before it in the block) / (left when it was
 * proposed): so the choice is as random as by single rows, and kernel values come as tiles.
 * F^T F approximates the candidates' covariances; F has a row for each row of the basis. Ranks of a
 * cluster have columns of F of their own, and take the same decisions.
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/random.h"
#include "engine/cluster.h"
#include "model/common/basis.h"
#include "model/common/linalg.h"

enum { BLOCK = 96 };
/* Less than this share of a row's variance is rounding. */
static const double nothing = 1e-12;

/* ---- Candidates: rows drawn by the seed, equal ones once ---- */

static uint64_t mix(uint64_t hash, uint64_t x) {
    hash = (hash ^ x) * 0x9e3779b97f4a7c15;
    return hash ^ (hash >> 29);
}

static uint64_t hash_of(const lth_items *items, size_t i) {
    uint64_t hash = 1;
    for (size_t f = 0; f < items->encoder->kernel->field_count; f++) {
        const lth__sequences *s = &items->fields[f];
        size_t length = lth__sequence_length(s, i);
        hash = mix(hash, length);
        for (size_t k = 0; k < length; k++) hash = mix(hash, lth__sequence_symbols(s, i)[k]);
        for (size_t k = 0; s->numbers && k < s->width; k++) {
            uint64_t bits;
            memcpy(&bits, &s->numbers[i * s->width + k], sizeof bits);
            hash = mix(hash, bits);
        }
    }
    return hash;
}

static bool are_equal(const lth_items *items, size_t i, size_t j) {
    for (size_t f = 0; f < items->encoder->kernel->field_count; f++) {
        const lth__sequences *s = &items->fields[f];
        size_t length = lth__sequence_length(s, i), width = s->width;
        if (lth__sequence_length(s, j) != length) return false;
        if (length > 0 && memcmp(lth__sequence_symbols(s, i), lth__sequence_symbols(s, j),
                                 length * sizeof *s->symbols) != 0)
            return false;
        if (s->numbers &&
            memcmp(s->numbers + i * width, s->numbers + j * width, width * sizeof *s->numbers) != 0)
            return false;
    }
    return true;
}

size_t lth__basis_candidates(size_t rows, size_t count) {
    const size_t most = 50000, cells = 100000000; /* of F */
    size_t by_memory = count > 0 ? cells / count : most;
    size_t least = count < most / 4 ? 4 * count : most;
    size_t wanted = by_memory > least ? by_memory : least;
    if (wanted > most) wanted = most;
    return rows < wanted ? rows : wanted;
}

/* Each with the same probability, in their order. */
static size_t draw_rows(size_t rows, size_t wanted, lth__random *random, size_t *out) {
    size_t count = 0;
    for (size_t i = 0; i < rows && count < wanted; i++) {
        if (lth__random_below(random, rows - i) < wanted - count) out[count++] = i;
    }
    return count;
}

/* The first of equal rows stays. */
static lth_status remove_equal(const lth_items *items, size_t *row, size_t *count, lth_error *err) {
    size_t size = 64, kept = 0;
    while (size < 2 * *count) size *= 2;
    size_t *table = lth__calloc(size, sizeof *table); /* 1 + place in `row` */
    if (!table) return lth__fail_memory(err, size * sizeof *table);
    for (size_t i = 0; i < *count; i++) {
        size_t at = hash_of(items, row[i]) & (size - 1);
        while (table[at] && !are_equal(items, row[table[at] - 1], row[i])) at = (at + 1) % size;
        if (table[at]) continue;
        row[kept] = row[i];
        table[at] = ++kept;
    }
    lth__free(table);
    *count = kept;
    return LTH_OK;
}

/* ---- The choice ---- */

/* Neighbouring candidates that are compared together. */
typedef struct group {
    size_t first; /* of this rank's columns */
    lth_items *items;
    lth__prepared *prepared;
} group;

typedef struct choice {
    const lth_kernel *kernel;
    lth__cluster *cluster; /* or NULL */
    const lth__blas *blas;
    lth__random random;
    double scale, shift;

    size_t *row; /* of each candidate */
    size_t candidates;
    lth_items *items;
    size_t from, columns; /* this rank's candidates: of a process that is alone, all */
    group *groups;
    size_t group_count;
    double *variance, *d; /* of each candidate, and what is left of it */
    double *sum;          /* of d so far */
    double trace, left;

    size_t most, count; /* rows to choose, chosen */
    double *F;          /* most x columns         */
    size_t *pivot;      /* chosen candidates      */

    /* Of a block: */
    size_t proposed[BLOCK], taken; /* the first `taken` of them were, once refuse() is done */
    double *H;                     /* BLOCK x BLOCK: covariances left, then the factor of those
                                      taken */
    double *P;                     /* count x taken: their columns of F */
} choice;

static void forget(choice *c) {
    for (size_t i = 0; i < c->group_count; i++) {
        lth__prepared_free(c->groups[i].prepared);
        lth_items_free(c->groups[i].items);
    }
    lth_items_free(c->items);
    void *blocks[] = {c->row, c->variance, c->F, c->pivot, c->H, c->P, c->groups};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

/* ---- Columns of this rank ---- */

/* How columns are cut does not depend on the number of ranks. */
static size_t group_size(const choice *c) {
    enum { SHARED = 1024 };
    return c->cluster && c->candidates > SHARED ? SHARED : c->candidates;
}

static lth_status add_group(choice *c, size_t first, size_t count, lth_error *err) {
    group *g = &c->groups[c->group_count];
    LTH_TRY(lth__items_slice(c->items, first, count, &g->items, err));
    g->items->quiet = true;
    g->first = c->columns;
    c->group_count++; /* it has something to free */
    c->columns += count;
    return lth__prepared_create(c->kernel, g->items, &g->prepared, err);
}

/* Neighbouring groups to each rank. */
static lth_status make_groups(choice *c, lth_error *err) {
    size_t size = group_size(c), groups = (c->candidates + size - 1) / size;
    size_t rank = c->cluster ? c->cluster->at.rank : 0,
           ranks = c->cluster ? c->cluster->at.size : 1;
    c->groups = lth__calloc(groups, sizeof *c->groups);
    if (!c->groups) return lth__fail_memory(err, groups * sizeof *c->groups);
    for (size_t g = 0; g < groups; g++) {
        size_t first = g * size, left = c->candidates - first;
        if (g * ranks / groups != rank) continue;
        if (c->columns == 0) c->from = first;
        LTH_TRY(add_group(c, first, left < size ? left : size, err));
    }
    return LTH_OK;
}

static bool is_own(const choice *c, size_t candidate) {
    return candidate >= c->from && candidate < c->from + c->columns;
}

/* What is left of all candidates, of which each rank knows its own. */
static lth_status join_rest(const choice *c, lth_error *err) {
    if (!c->cluster) return LTH_OK;
    for (size_t i = 0; i < c->candidates; i++)
        if (!is_own(c, i)) c->d[i] = 0;
    return lth__cluster_join(c->cluster, LTH_OK, c->d, c->candidates, err);
}

static lth_status find_candidates(choice *c, const lth_items *items, size_t wanted,
                                  lth_error *err) {
    size_t most = lth__basis_candidates(items->count, wanted);
    c->row = lth__alloc(most, sizeof *c->row);
    c->variance = lth__alloc(3 * most, sizeof *c->variance);
    if (!c->row || !c->variance) return lth__fail_memory(err, 3 * most * sizeof *c->variance);
    c->candidates = draw_rows(items->count, most, &c->random, c->row);
    LTH_TRY(remove_equal(items, c->row, &c->candidates, err));
    c->d = c->variance + c->candidates;
    c->sum = c->d + c->candidates;
    LTH_TRY(lth__items_pick(items, c->row, c->candidates, &c->items, err));
    c->items->quiet = true;
    LTH_TRY(make_groups(c, err));
    LTH_TRY(lth_gram_diagonal(c->kernel, c->items, c->variance, err));
    for (size_t i = 0; i < c->candidates; i++) {
        double v = c->scale * c->variance[i] + c->shift;
        c->variance[i] = c->d[i] = v > 0 ? v : 0;
    }
    return LTH_OK;
}

static lth_status make_room(choice *c, size_t wanted, lth_error *err) {
    c->most = wanted < c->candidates ? wanted : c->candidates;
    LTH_TRY(lth__memory_check(c->most * c->columns * sizeof *c->F,
                              "the choice of rows that stand for the others", "ask for fewer rows",
                              err));
    c->F = lth__alloc(c->most * c->columns, sizeof *c->F);
    c->pivot = lth__alloc(c->most, sizeof *c->pivot);
    c->H = lth__alloc((size_t)BLOCK * BLOCK, sizeof *c->H);
    c->P = lth__alloc(c->most * BLOCK, sizeof *c->P);
    if (c->F && c->pivot && c->H && c->P) return LTH_OK;
    return lth__fail_memory(err, c->most * c->columns * sizeof *c->F);
}

static void add_up(choice *c) {
    c->left = 0;
    for (size_t i = 0; i < c->candidates; i++) c->sum[i] = c->left += c->d[i];
}

/* The first candidate whose sum is above a random share of all; it has something left. */
static size_t propose_one(choice *c) {
    double share = lth__random_uniform(&c->random) * c->left;
    size_t low = 0, high = c->candidates - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c->sum[middle] > share)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* P (count x n): columns of F, whosever they are. */
static lth_status gather(const choice *c, const size_t *candidate, size_t n, lth_error *err) {
    for (size_t k = 0; k < c->count; k++) {
        for (size_t j = 0; j < n; j++) {
            bool own = is_own(c, candidate[j]);
            c->P[k * n + j] = own ? c->F[k * c->columns + candidate[j] - c->from] : 0;
        }
    }
    return lth__cluster_join(c->cluster, LTH_OK, c->P, c->count * n, err);
}

/* What is left of the covariances among the rows proposed. */
static lth_status compare_proposed(choice *c, size_t n, lth_error *err) {
    lth_items *items = NULL;
    LTH_TRY(lth__items_pick(c->items, c->proposed, n, &items, err));
    lth_status status = lth_gram(c->kernel, items, NULL, c->H, n, err);
    lth_items_free(items);
    LTH_TRY(status);
    for (size_t i = 0; i < n * n; i++) c->H[i] = c->scale * c->H[i] + c->shift;
    LTH_TRY(gather(c, c->proposed, n, err));
    if (c->count > 0) c->blas->gemm_tn(n, n, c->count, -1, c->P, n, c->P, n, 1, c->H, n);
    return LTH_OK;
}

/* Cholesky by rows, where a row is taken or left; those taken move to the front. */
static void refuse(choice *c, size_t n) {
    size_t place[BLOCK];
    double row[BLOCK], *L = c->H;
    c->taken = 0;
    for (size_t i = 0; i < n; i++) {
        size_t candidate = c->proposed[i];
        double left = c->H[i * n + i], u = lth__random_uniform(&c->random);
        for (size_t j = 0; j < c->taken; j++) {
            row[j] = c->H[i * n + place[j]];
            for (size_t k = 0; k < j; k++) row[j] -= row[k] * L[j * n + k];
            row[j] /= L[j * n + j];
            left -= row[j] * row[j];
        }
        if (!(left > nothing * c->variance[candidate])) c->d[candidate] = 0;
        if (c->d[candidate] == 0 || left < u * c->d[candidate]) continue;
        /* Row `taken` of H is at or before row i, which was read. */
        memcpy(L + c->taken * n, row, c->taken * sizeof *row);
        L[c->taken * n + c->taken] = sqrt(left);
        place[c->taken] = i;
        c->proposed[c->taken++] = candidate;
    }
}

/* ---- The rows taken, compared with all candidates ---- */

enum { COLUMNS = 256 };

typedef struct extending {
    choice *c;
    size_t ld; /* of c->H */
} extending;

static lth_status extend_columns(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const extending *e = user;
    choice *c = e->c;
    size_t n = c->columns, t = c->taken, first = index * COLUMNS;
    size_t cols = n - first < COLUMNS ? n - first : COLUMNS;
    const double *variance = c->variance + c->from + first;
    double *G = c->F + c->count * n + first;
    for (size_t k = 0; k < t; k++) {
        for (size_t j = 0; j < cols; j++) G[k * n + j] = c->scale * G[k * n + j] + c->shift;
    }
    if (c->count > 0) c->blas->gemm_tn(t, cols, c->count, -1, c->P, t, c->F + first, n, 1, G, n);
    c->blas->solve(t, cols, c->H, e->ld, G, n);
    for (size_t j = 0; j < cols; j++) {
        double *d = &c->d[c->from + first + j];
        for (size_t k = 0; k < t; k++) *d -= G[k * n + j] * G[k * n + j];
        if (!(*d > nothing * variance[j])) *d = 0;
    }
    return LTH_OK;
}

static lth_status extend(choice *c, size_t proposed, lth_error *err) {
    lth_items *items = NULL;
    LTH_TRY(lth__items_pick(c->items, c->proposed, c->taken, &items, err));
    lth_status status = LTH_OK;
    for (size_t g = 0; g < c->group_count && status == LTH_OK; g++)
        status = lth__gram_against(c->groups[g].prepared, items,
                                   c->F + c->count * c->columns + c->groups[g].first, c->columns,
                                   NULL, err);
    lth_items_free(items);
    LTH_TRY(status);
    LTH_TRY(gather(c, c->proposed, c->taken, err));
    extending e = {.c = c, .ld = proposed};
    LTH_TRY(lth__parallel_for(c->kernel->ctx, NULL, (c->columns + COLUMNS - 1) / COLUMNS, NULL,
                              extend_columns, &e, err));
    LTH_TRY(join_rest(c, err));
    for (size_t k = 0; k < c->taken; k++) {
        c->d[c->proposed[k]] = 0;
        c->pivot[c->count++] = c->proposed[k];
    }
    return LTH_OK;
}

static lth_status choose_block(choice *c, lth_error *err) {
    size_t n = c->most - c->count < BLOCK ? c->most - c->count : BLOCK;
    for (size_t i = 0; i < n; i++) c->proposed[i] = propose_one(c);
    LTH_TRY(compare_proposed(c, n, err));
    refuse(c, n);
    return c->taken > 0 ? extend(c, n, err) : LTH_OK;
}

/* Or the first of all. */
static size_t first_with_variance(const choice *c) {
    for (size_t i = 0; i < c->candidates; i++) {
        if (c->d[i] > 0) return i;
    }
    return 0;
}

static lth_status choose(choice *c, double enough, lth_error *err) {
    add_up(c);
    c->trace = c->left;
    double least = 1e-11 * c->trace, mean = enough * (double)c->candidates;
    while (c->count < c->most && c->left > least && c->left > mean) {
        LTH_TRY(choose_block(c, err));
        add_up(c);
    }
    if (c->count == 0) c->pivot[c->count++] = first_with_variance(c);
    return LTH_OK;
}

/* ---- The basis ---- */

static double mean_variance(const choice *c) {
    double mean = c->trace / (double)c->candidates;
    return mean > 0 ? mean : 1;
}

/* As little jitter as it takes. */
static lth_status factor(lth__basis *b, double unit, lth_error *err) {
    lth_status status = LTH_ENUMERIC;
    for (double jitter = 0; status == LTH_ENUMERIC && jitter < 1e-3;
         jitter = jitter == 0 ? 1e-12 : 10 * jitter)
        status = lth__basis_renew(b, b->scale, b->shift, jitter * unit, err);
    if (status != LTH_ENUMERIC) return status;
    return lth__fail(err, LTH_ENUMERIC,
                     "the kernel matrix is not positive definite, even with jitter: check the word "
                     "vectors and numbers");
}

static lth_status make(const choice *c, const lth_items *items, lth__basis *b, lth_error *err) {
    *b = (lth__basis){.kernel = c->kernel,
                      .count = c->count,
                      .row = lth__alloc(c->count, sizeof *b->row),
                      .scale = c->scale,
                      .shift = c->shift,
                      .trace = c->trace,
                      .left = c->left};
    if (!b->row) return lth__fail_memory(err, c->count * sizeof *b->row);
    for (size_t i = 0; i < b->count; i++) b->row[i] = c->row[c->pivot[i]];
    LTH_TRY(lth__items_pick(items, b->row, b->count, &b->items, err));
    return factor(b, mean_variance(c), err);
}

lth_status lth__basis_choose(const lth_kernel *kernel, const lth_items *items,
                             const lth__basis_options *options, lth__basis **out, lth_error *err) {
    choice c = {.kernel = kernel,
                .cluster = kernel->ctx->cluster,
                .scale = options->scale,
                .shift = options->shift};
    if (c.scale == 0) c.scale = 1;
    if (items->count == 0 || options->count == 0)
        return lth__fail(err, LTH_EARG, "there are no rows to choose");
    LTH_TRY(lth__blas_get(&c.blas, err));
    lth__random_seed(&c.random, options->seed);
    lth__basis *b = lth__calloc(1, sizeof *b);
    lth_status status = b ? LTH_OK : lth__fail_memory(err, sizeof *b);
    if (status == LTH_OK) status = find_candidates(&c, items, options->count, err);
    if (status == LTH_OK) status = make_room(&c, options->count, err);
    if (status == LTH_OK) status = choose(&c, options->enough, err);
    if (status == LTH_OK) { /* what was chosen from is large */
        lth__free(c.F);
        c.F = NULL;
        status = make(&c, items, b, err);
    }
    forget(&c);
    if (status == LTH_OK)
        *out = b;
    else
        lth__basis_free(b);
    return status;
}

/* What patterns add, all over the training rows: sums over these of omega and how often each has
 * the pattern.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "model/explain/explain.h"

enum { TILE_ROWS = 32, TILE_COLS = 512 };

/* ---- Any texts ---- */

typedef struct scoring {
    const lth__path *path;
    const lth__leaf *leaf;
    lth__eval eval; /* candidates against the rows */
    const size_t *degree;
    double *weight;
} scoring;

static double sum_tile(const scoring *s, const lth__tile *tile, const double *K, size_t r) {
    size_t n = s->path->model->cols->count, pairs = tile->rows * tile->cols;
    size_t only = s->degree ? s->degree[tile->row[r]] : 0;
    double sum = 0;
    for (size_t p = 0; p < s->leaf->degrees; p++) {
        if (only > 0 && p + 1 != only) continue;
        for (size_t c = 0; c < tile->cols; c++)
            sum += s->leaf->omega[p * n + tile->col[c]] * K[p * pairs + r * tile->cols + c];
    }
    return sum;
}

static lth_status score_rows(void *user, size_t job, unsigned worker, lth_error *err) {
    (void)worker;
    const scoring *s = user;
    const lth__node *node = s->leaf->node;
    size_t n = s->path->model->cols->count, first = job * TILE_ROWS, count = s->eval.rows->count;
    uint32_t row[TILE_ROWS];
    lth__tile tile = {.row = row, .rows = count - first < TILE_ROWS ? count - first : TILE_ROWS};
    for (size_t r = 0; r < tile.rows; r++) row[r] = (uint32_t)(first + r);
    double *K = lth__alloc(s->leaf->degrees * TILE_ROWS * TILE_COLS, sizeof *K);
    lth_status status = K ? LTH_OK : lth__fail_memory(err, 0);
    for (size_t c = 0; c < n && status == LTH_OK; c += TILE_COLS) {
        tile.col = s->path->col + c;
        tile.cols = n - c < TILE_COLS ? n - c : TILE_COLS;
        status = node->family->tile_degrees
                     ? node->family->tile_degrees(node, &s->eval, &tile, K, err)
                     : node->family->tile(node, &s->eval, &tile, K, err);
        for (size_t r = 0; status == LTH_OK && r < tile.rows; r++)
            s->weight[first + r] += sum_tile(s, &tile, K, r);
    }
    lth__free(K);
    return status;
}

static lth_status score_all(scoring *s, lth_error *err) {
    size_t jobs = (s->eval.rows->count + TILE_ROWS - 1) / TILE_ROWS;
    return lth__parallel_for(s->path->eval.ctx, NULL, jobs, NULL, score_rows, s, err);
}

/* Only the leaf's own state is made anew: the candidates have nothing for other nodes. */
lth_status lth__score_candidates(const lth__path *p, const lth__leaf *leaf,
                                 const lth_items *candidates, const size_t *degree, double *weight,
                                 lth_error *err) {
    const lth__node *node = leaf->node;
    scoring s = {.path = p, .leaf = leaf, .eval = p->eval, .degree = degree, .weight = weight};
    s.eval.rows = candidates;
    s.eval.state = lth__calloc(p->model->kernel->node_count, sizeof *s.eval.state);
    if (!s.eval.state) return lth__fail_memory(err, 0);
    memset(weight, 0, candidates->count * sizeof *weight);
    void **state = &s.eval.state[node->index];
    lth_status status = LTH_OK;
    if (node->family->prepare) status = node->family->prepare(node, &s.eval, state, err);
    if (status == LTH_OK) status = score_all(&s, err);
    if (*state && node->family->release) node->family->release(*state);
    lth__free(s.eval.state);
    return status;
}

/* ---- Patterns, each for its own degree ---- */

typedef struct sorted {
    lth__pattern pattern;
    size_t id; /* among those that were given */
} sorted;

static int by_units(const void *a, const void *b) {
    const lth__pattern *x = a, *y = b;
    for (size_t n = 0; n < x->units && n < y->units; n++) {
        if (x->unit[n] != y->unit[n]) return x->unit[n] < y->unit[n] ? -1 : 1;
    }
    return x->units < y->units ? -1 : x->units > y->units;
}

/* The patterns in their order, so that those which begin alike are neighbours. */
static sorted *sort_patterns(const lth__sequences *texts) {
    sorted *all = lth__alloc(texts->count, sizeof *all);
    for (size_t i = 0; all && i < texts->count; i++) {
        lth__pattern p = {.units = (uint32_t)lth__sequence_length(texts, i)};
        memcpy(p.unit, lth__sequence_symbols(texts, i), p.units * sizeof *p.unit);
        all[i] = (sorted){p, i};
    }
    if (all) qsort(all, texts->count, sizeof *all, by_units);
    return all;
}

/* How many units two patterns begin with alike. */
static uint32_t count_shared(const lth__pattern *a, const lth__pattern *b) {
    uint32_t n = 0;
    while (n < a->units && n < b->units && a->unit[n] == b->unit[n]) n++;
    return n;
}

typedef struct pattern_scoring {
    const lth__path *path;
    const lth__leaf *leaf;
    const sorted *all;
    size_t count, share; /* of all, and of a job */
    double *weight;
} pattern_scoring;

/* Patterns to a job: a matrix of them and the columns stays in the cache. */
static size_t patterns_to_a_job(size_t columns) {
    enum { CELLS = 1 << 15 };
    size_t share = CELLS / (columns + 1);
    return share < 4 ? 4 : share > TILE_ROWS ? TILE_ROWS : share;
}

/* sum[i] of these patterns over the columns, which are added in their order, in the steps of
 * score_rows(): so the sums are the same. */
static void sum_patterns(const pattern_scoring *s, const lth__pattern *pattern, size_t count,
                         const double *K, double *sum) {
    size_t n = s->path->model->cols->count;
    memset(sum, 0, count * sizeof *sum);
    for (size_t first = 0; first < n; first += TILE_COLS) {
        size_t last = n - first < TILE_COLS ? n : first + TILE_COLS;
        double of_tile[TILE_ROWS] = {0};
        for (size_t c = first; c < last; c++) {
            double omega[LTH__MOST_UNITS];
            for (size_t p = 0; p < LTH__MOST_UNITS && p < s->leaf->degrees; p++)
                omega[p] = s->leaf->omega[p * n + c];
            for (size_t i = 0; i < count; i++)
                of_tile[i] += omega[pattern[i].units - 1] * K[c * count + i];
        }
        for (size_t i = 0; i < count; i++) sum[i] += of_tile[i];
    }
}

static lth_status score_some(const pattern_scoring *s, size_t first, size_t count, bool *able,
                             lth_error *err) {
    const lth__node *node = s->leaf->node;
    size_t cells = count * s->path->model->cols->count;
    lth__pattern pattern[TILE_ROWS];
    double sum[TILE_ROWS], *K = lth__alloc(cells, sizeof *K);
    if (!K) return lth__fail_memory(err, cells * sizeof *K);
    for (size_t i = 0; i < count; i++) {
        pattern[i] = s->all[first + i].pattern;
        pattern[i].shared = i > 0 ? count_shared(&pattern[i - 1], &pattern[i]) : 0;
    }
    lth_status status = node->family->patterns(node, &s->path->eval, pattern, count, K, able, err);
    if (status == LTH_OK && *able) {
        sum_patterns(s, pattern, count, K, sum);
        for (size_t i = 0; i < count; i++) s->weight[s->all[first + i].id] = sum[i];
    }
    lth__free(K);
    return status;
}

static lth_status score_job(void *user, size_t job, unsigned worker, lth_error *err) {
    (void)worker;
    const pattern_scoring *s = user;
    size_t first = job * s->share, left = s->count - first;
    bool able;
    return score_some(s, first, left < s->share ? left : s->share, &able, err);
}

/* All of them; *able = false where the family cannot. */
static lth_status score_patterns(pattern_scoring *s, bool *able, lth_error *err) {
    *able = s->leaf->node->family->patterns != NULL;
    if (*able) LTH_TRY(score_some(s, 0, 0, able, err));
    if (!*able || s->count == 0) return LTH_OK;
    s->share = patterns_to_a_job(s->path->model->cols->count);
    size_t jobs = (s->count + s->share - 1) / s->share;
    return lth__parallel_for(s->path->eval.ctx, NULL, jobs, NULL, score_job, s, err);
}

lth_status lth__score_patterns(const lth__path *p, const lth__leaf *leaf,
                               const lth_items *candidates, const size_t *degree, double *weight,
                               lth_error *err) {
    const lth__sequences *texts = &candidates->fields[leaf->node->field];
    sorted *all = sort_patterns(texts);
    if (!all) return lth__fail_memory(err, texts->count * sizeof *all);
    pattern_scoring s = {
        .path = p, .leaf = leaf, .all = all, .count = texts->count, .weight = weight};
    bool able = false;
    lth_status status = score_patterns(&s, &able, err);
    lth__free(all);
    if (status != LTH_OK || able) return status;
    return lth__score_candidates(p, leaf, candidates, degree, weight, err);
}

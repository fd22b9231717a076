/* Pairs of aligned rows, with far = sum_l d_l and lost = sum_l 1 - exp(-d_l) over the sites at
 * which the two differ:
 *
 *     k = variance exp(-far) + additive (1 - lost / L)
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "engine/engine.h"
#include "kernel/string/aligned_sites.h"

/* What all that follows is told. */
typedef struct job {
    const lth__node *node;
    const lth__sites_config *config;
    const lth__sites_state *state;
    const lth__tile *tile;
    const double *W;       /* NULL = values alone */
    double *K;             /* or NULL             */
    const lth__sink *sink; /* NULL = values alone */
} job;

/* One pair: its value, and what W owes to the variances. Returns W variance exp(-far). */
static double put_pair(const job *j, size_t pair, double far, double lost) {
    const lth__sites_config *c = j->config;
    const lth__sites_state *s = j->state;
    double product = lth__sites_has_product(c) ? exp(-far) : 0, near = (double)c->sites - lost;
    if (j->K) j->K[pair] = s->variance * product + s->additive * near;
    if (!j->sink) return 0;
    size_t param = j->node->first_param;
    double weight = j->W[pair];
    if (lth__sites_has_product(c)) lth__sink_add(j->sink, param++, pair, weight * product);
    if (lth__sites_has_sum(c))
        lth__sink_add(j->sink, param, pair, weight * near / (double)c->sites);
    return weight * s->variance * product;
}

static size_t exponent_of(const job *j, size_t site) {
    return j->node->first_param + lth__sites_exponent(j->config, site);
}

/* ---- By lists ---- */

typedef struct difference {
    lth__apart apart;
    uint32_t site;
} difference;

static lth__apart compare_letters(const job *j, size_t site, uint32_t a, uint32_t b) {
    const lth__sites_state *s = j->state;
    const lth__apart *off = s->off + site * s->letters;
    uint32_t common = s->cols.common[site];
    if (a == b) return (lth__apart){0};
    if (!j->config->matrix) return *off;
    if (a == common) return off[b];
    if (b == common) return off[a];
    double D = lth__sites_distance(j->config, a, b), d = s->exponent[site] * D;
    return (lth__apart){D, d, lth__sites_has_sum(j->config) ? 1 - exp(-d) : 0};
}

/* Two lists side by side: the sites of either, in their order. Returns how many there are. */
static size_t list_pair(const job *j, size_t row, size_t col, difference *out) {
    const lth__aligned *rows = &j->state->rows, *cols = &j->state->cols;
    size_t sites = j->config->sites, count = 0;
    const uint32_t *a = rows->letter + row * sites, *b = cols->letter + col * sites;
    const uint32_t *x = rows->odd + rows->start[row], *y = cols->odd + cols->start[col];
    for (;;) {
        uint32_t at_x = *x, at_y = *y, site = at_x < at_y ? at_x : at_y;
        if (site == LTH__NO_SITE) return count;
        x += at_x == site;
        y += at_y == site;
        out[count++] = (difference){compare_letters(j, site, a[site], b[site]), site};
    }
}

static void pull_differences(const job *j, size_t pair, double weight, const difference *found,
                             size_t count) {
    double additive = j->W[pair] * j->state->additive;
    for (size_t k = 0; k < count; k++) {
        const lth__apart *p = &found[k].apart;
        double slope = -p->D * (weight + additive * (1 - p->lost));
        lth__sink_add(j->sink, exponent_of(j, found[k].site), pair, slope);
    }
}

static void compare_by_lists(const job *j, size_t row, size_t col, size_t pair, difference *found) {
    size_t count = list_pair(j, row, col, found);
    double far = 0, lost = 0;
    for (size_t k = 0; k < count; k++) {
        far += found[k].apart.d;
        lost += found[k].apart.lost;
    }
    double weight = put_pair(j, pair, far, lost);
    if (j->sink) pull_differences(j, pair, weight, found, count);
}

static lth_status tile_by_lists(const job *j, lth_ctx *ctx, lth_error *err) {
    const lth__tile *tile = j->tile;
    difference *found = lth__alloc(j->state->count + 1, sizeof *found);
    lth_status status = found ? LTH_OK : lth__fail_memory(err, j->state->count * sizeof *found);
    for (size_t r = 0; r < tile->rows && status == LTH_OK; r++) {
        for (size_t c = 0; c < tile->cols; c++)
            compare_by_lists(j, tile->row[r], tile->col[c], r * tile->cols + c, found);
        status = lth__parallel_ask(ctx);
    }
    lth__free(found);
    return status;
}

/* ---- By all sites, for some columns at a time ---- */

enum { WIDTH = LTH__SITE_COLS }; /* of these columns; what is missing has no weight */

typedef struct block {
    size_t first, cols; /* of the tile's columns                                   */
    double *far;        /* [row][WIDTH]; for slopes W variance exp(-far)           */
    double *lost;       /* [row][WIDTH]; for slopes W                              */
    uint32_t *row;      /* letters of the rows at the site                         */
    double *profile[2]; /* by matrix: [letter][WIDTH] of two_counts, at the site   */
    uint32_t letter[WIDTH];
} block;

/* What two letters count that are D from each other. */
typedef struct two_counts {
    double far;  /* d, or for slopes D                                 */
    double lost; /* 1 - exp(-d), or for slopes additive D exp(-d); 0 where there is no sum */
} two_counts;

static two_counts tell_apart(const job *j, size_t site, double D, bool slopes) {
    double d = j->state->exponent[site] * D;
    double near = lth__sites_has_sum(j->config) ? exp(-d) : 1;
    if (slopes) return (two_counts){D, j->state->additive * D * near};
    return (two_counts){d, 1 - near};
}

/* A letter with those of all columns, by the matrix: a look at each that some column has, once. */
static void make_profile(const job *j, block *b, size_t site, uint32_t a, bool slopes) {
    bool known[LTH__MOST_LETTERS] = {false};
    two_counts counts[LTH__MOST_LETTERS];
    for (size_t c = 0; c < WIDTH; c++) {
        uint32_t other = b->letter[c];
        if (!known[other])
            counts[other] = tell_apart(j, site, lth__sites_distance(j->config, a, other), slopes);
        known[other] = true;
        b->profile[0][a * (size_t)WIDTH + c] = counts[other].far;
        b->profile[1][a * (size_t)WIDTH + c] = counts[other].lost;
    }
}

/* Letters of the columns and the rows at a site; the profiles of the latter. */
static void read_site(const job *j, size_t site, bool slopes, block *b) {
    size_t sites = j->config->sites;
    const uint32_t *col = j->tile->col + b->first, *letter = j->state->cols.letter + site;
    bool made[LTH__MOST_LETTERS] = {false};
    for (size_t c = 0; c < b->cols; c++) b->letter[c] = letter[col[c] * sites];
    for (size_t c = b->cols; c < WIDTH; c++) b->letter[c] = b->letter[0];
    for (size_t r = 0; r < j->tile->rows; r++) {
        uint32_t a = b->row[r] = j->state->rows.letter[j->tile->row[r] * sites + site];
        if (!j->config->matrix || made[a]) continue;
        make_profile(j, b, site, a, slopes);
        made[a] = true;
    }
}

static void add_site(const lth__letters *engine, const lth__site_job site[2], const job *j,
                     block *b) {
    if (lth__sites_has_product(j->config)) engine->site_add(&site[0], b->far);
    if (lth__sites_has_sum(j->config)) engine->site_add(&site[1], b->lost);
}

static double slope_of(const lth__site_job *site, const double *weight, size_t row, size_t col) {
    bool same = site->row[row] == site->col[col];
    double counts = site->profile ? site->profile[site->row[row] * (size_t)WIDTH + col]
                    : same        ? 0
                                  : site->apart;
    return weight[row * WIDTH + col] * counts;
}

static void pull_each(const lth__site_job site[2], size_t param, const job *j, const block *b) {
    for (size_t r = 0; r < j->tile->rows; r++) {
        for (size_t c = 0; c < b->cols; c++) {
            double slope = slope_of(&site[0], b->far, r, c) + slope_of(&site[1], b->lost, r, c);
            lth__sink_add(j->sink, param, r * j->tile->cols + b->first + c, -slope);
        }
    }
}

static void pull_site(const lth__letters *engine, const lth__site_job site[2], size_t param,
                      const job *j, const block *b) {
    if (j->sink->each) {
        pull_each(site, param, j, b);
        return;
    }
    double *sum = &j->sink->sum[param];
    if (lth__sites_has_product(j->config)) *sum -= engine->site_dot(&site[0], b->far);
    if (lth__sites_has_sum(j->config)) *sum -= engine->site_dot(&site[1], b->lost);
}

/* Site by site: what letters count is added up, or for slopes pulled back. */
static void go_through(const job *j, const lth__letters *engine, block *b, bool slopes) {
    const lth__sites_state *s = j->state;
    for (size_t k = 0; k < s->count; k++) {
        size_t site = s->site[k];
        two_counts apart = tell_apart(j, site, 1, slopes);
        read_site(j, site, slopes, b);
        lth__site_job far = {j->tile->rows, b->row, b->letter, apart.far, b->profile[0]};
        lth__site_job lost = {j->tile->rows, b->row, b->letter, apart.lost, b->profile[1]};
        if (slopes)
            pull_site(engine, (lth__site_job[]){far, lost}, exponent_of(j, site), j, b);
        else
            add_site(engine, (lth__site_job[]){far, lost}, j, b);
    }
}

static void put_block(const job *j, block *b) {
    for (size_t r = 0; r < j->tile->rows; r++) {
        double *far = b->far + r * WIDTH, *lost = b->lost + r * WIDTH;
        size_t pair = r * j->tile->cols + b->first;
        for (size_t c = 0; c < b->cols; c++) {
            far[c] = put_pair(j, pair + c, far[c], lost[c]);
            lost[c] = j->sink ? j->W[pair + c] : 0;
        }
        for (size_t c = b->cols; c < WIDTH; c++) far[c] = lost[c] = 0;
    }
}

static void compare_block(const job *j, const lth__letters *engine, block *b) {
    memset(b->far, 0, j->tile->rows * WIDTH * sizeof *b->far);
    memset(b->lost, 0, j->tile->rows * WIDTH * sizeof *b->lost);
    go_through(j, engine, b, false);
    put_block(j, b);
    if (j->sink) go_through(j, engine, b, true);
}

static lth_status tile_by_sites(const job *j, lth_ctx *ctx, lth_error *err) {
    const lth__tile *tile = j->tile;
    size_t cells = (tile->rows + 1) * WIDTH;
    size_t letters = j->config->matrix ? LTH__MOST_LETTERS * WIDTH : 0;
    double *room = lth__alloc(2 * (cells + letters), sizeof *room);
    block b = {.far = room, .row = lth__alloc(tile->rows + 1, sizeof *b.row)};
    lth_status status = LTH_OK;
    if (!room || !b.row) status = lth__fail_memory(err, 2 * (cells + letters) * sizeof *room);
    if (status == LTH_OK) b.lost = room + cells;
    for (size_t k = 0; k < 2 && status == LTH_OK && letters > 0; k++)
        b.profile[k] = room + 2 * cells + k * letters;
    for (; b.first < tile->cols && status == LTH_OK; b.first += WIDTH) {
        b.cols = tile->cols - b.first < WIDTH ? tile->cols - b.first : WIDTH;
        compare_block(j, ctx->engine->letters, &b);
        status = lth__parallel_ask(ctx);
    }
    lth__free(room);
    lth__free(b.row);
    return status;
}

/* ---- Tiles ---- */

static lth_status compare_tile(const job *j, lth_ctx *ctx, lth_error *err) {
    return j->state->by_lists ? tile_by_lists(j, ctx, err) : tile_by_sites(j, ctx, err);
}

lth_status lth__sites_tile(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                           double *K, lth_error *err) {
    job j = {.node = node,
             .config = node->config,
             .state = eval->state[node->index],
             .tile = tile,
             .K = K};
    return compare_tile(&j, eval->ctx, err);
}

lth_status lth__sites_pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                           const double *W, double *K, const lth__sink *sink, lth_error *err) {
    job j = {.node = node,
             .config = node->config,
             .state = eval->state[node->index],
             .tile = tile,
             .W = W,
             .K = K,
             .sink = sink};
    return compare_tile(&j, eval->ctx, err);
}

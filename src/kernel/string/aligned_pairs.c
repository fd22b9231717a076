/* Pairs of aligned rows, with far = sum_l d_l and lost = sum_l 1 - exp(-d_l) over the sites at
 * which the two differ:
 *
 *     k = variance exp(-far) + additive (1 - lost / L)
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
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

enum { WIDTH = 128 }; /* of these columns; what is missing has no weight */

typedef struct numbers {
    double at[WIDTH];
} numbers;

/* A letter at a site, with those of all columns. */
typedef struct profile {
    numbers far;  /* d, or for slopes D                                       */
    numbers lost; /* 1 - exp(-d), or for slopes additive D exp(-d); of a sum  */
} profile;

typedef struct block {
    size_t first, cols; /* of the tile's columns                                          */
    numbers *far;       /* [row]; for slopes W variance exp(-far)                         */
    numbers *lost;      /* [row]; for slopes W                                            */
    profile *profiles;  /* by letter, of one site                                         */
    uint32_t letter[WIDTH];
} block;

/* What a profile has of two letters that are D from each other. */
static void tell_apart(const job *j, size_t site, double D, bool slopes, double *far,
                       double *lost) {
    double d = j->state->exponent[site] * D;
    double near = lth__sites_has_sum(j->config) ? exp(-d) : 1;
    *far = slopes ? D : d;
    *lost = slopes ? j->state->additive * D * near : 1 - near;
}

/* By the matrix: a look at each letter that some column has, once. */
static void look_up(const job *j, const block *b, size_t site, uint32_t a, bool slopes,
                    profile *out) {
    bool known[LTH__MOST_LETTERS] = {false};
    double far[LTH__MOST_LETTERS], lost[LTH__MOST_LETTERS];
    for (size_t c = 0; c < WIDTH; c++) {
        uint32_t other = b->letter[c];
        if (!known[other])
            tell_apart(j, site, lth__sites_distance(j->config, a, other), slopes, &far[other],
                       &lost[other]);
        known[other] = true;
        out->far.at[c] = far[other];
        out->lost.at[c] = lost[other];
    }
}

/* By identity. */
static void compare_all(const job *j, const block *b, size_t site, uint32_t a, bool slopes,
                        profile *out) {
    double far, lost;
    tell_apart(j, site, 1, slopes, &far, &lost);
    for (size_t c = 0; c < WIDTH; c++) out->far.at[c] = b->letter[c] != a ? far : 0;
    if (!lth__sites_has_sum(j->config)) return;
    for (size_t c = 0; c < WIDTH; c++) out->lost.at[c] = b->letter[c] != a ? lost : 0;
}

/* Letters of the columns at a site. */
static void read_column_letters(const job *j, size_t site, block *b) {
    size_t sites = j->config->sites;
    const uint32_t *col = j->tile->col + b->first, *letter = j->state->cols.letter + site;
    for (size_t c = 0; c < b->cols; c++) b->letter[c] = letter[col[c] * sites];
    for (size_t c = b->cols; c < WIDTH; c++) b->letter[c] = b->letter[0];
}

typedef void use_profile(const job *j, block *b, size_t row, size_t site, const profile *p);

/* Site by site, each row of the tile with the profile of its letter. */
static void go_through(const job *j, block *b, bool slopes, use_profile *use) {
    const lth__sites_state *s = j->state;
    const lth__tile *tile = j->tile;
    for (size_t k = 0; k < s->count; k++) {
        size_t site = s->site[k];
        bool made[LTH__MOST_LETTERS] = {false};
        read_column_letters(j, site, b);
        for (size_t r = 0; r < tile->rows; r++) {
            uint32_t a = s->rows.letter[tile->row[r] * j->config->sites + site];
            profile *p = b->profiles + (j->config->matrix ? a : 0);
            if (!j->config->matrix)
                compare_all(j, b, site, a, slopes, p);
            else if (!made[a])
                look_up(j, b, site, a, slopes, p), made[a] = true;
            use(j, b, r, site, p);
        }
    }
}

static void add(numbers *restrict to, const numbers *restrict x) {
    for (size_t c = 0; c < WIDTH; c++) to->at[c] += x->at[c];
}

static void add_profile(const job *j, block *b, size_t row, size_t site, const profile *p) {
    (void)site;
    if (lth__sites_has_product(j->config)) add(&b->far[row], &p->far);
    if (lth__sites_has_sum(j->config)) add(&b->lost[row], &p->lost);
}

/* In the same order on every machine. */
static double dot(const numbers *restrict x, const numbers *restrict y) {
    enum { SUMS = 8 };
    double sum[SUMS] = {0};
    for (size_t c = 0; c < WIDTH; c += SUMS) {
        for (size_t k = 0; k < SUMS; k++) sum[k] += x->at[c + k] * y->at[c + k];
    }
    return (sum[0] + sum[1] + (sum[2] + sum[3])) + (sum[4] + sum[5] + (sum[6] + sum[7]));
}

static void pull_profile(const job *j, block *b, size_t row, size_t site, const profile *p) {
    const numbers *weight = &b->far[row], *W = &b->lost[row];
    size_t param = exponent_of(j, site);
    if (!j->sink->each) {
        if (lth__sites_has_product(j->config)) j->sink->sum[param] -= dot(weight, &p->far);
        if (lth__sites_has_sum(j->config)) j->sink->sum[param] -= dot(W, &p->lost);
        return;
    }
    size_t pair = row * j->tile->cols + b->first;
    for (size_t c = 0; c < b->cols; c++) {
        double slope = weight->at[c] * p->far.at[c];
        if (lth__sites_has_sum(j->config)) slope += W->at[c] * p->lost.at[c];
        lth__sink_add(j->sink, param, pair + c, -slope);
    }
}

static void put_block(const job *j, block *b) {
    for (size_t r = 0; r < j->tile->rows; r++) {
        numbers weight = {{0}}, W = {{0}};
        for (size_t c = 0; c < b->cols; c++) {
            size_t pair = r * j->tile->cols + b->first + c;
            weight.at[c] = put_pair(j, pair, b->far[r].at[c], b->lost[r].at[c]);
            if (j->sink) W.at[c] = j->W[pair];
        }
        b->far[r] = weight;
        b->lost[r] = W;
    }
}

static void compare_block(const job *j, block *b) {
    memset(b->far, 0, j->tile->rows * sizeof *b->far);
    memset(b->lost, 0, j->tile->rows * sizeof *b->lost);
    go_through(j, b, false, add_profile);
    put_block(j, b);
    if (j->sink) go_through(j, b, true, pull_profile);
}

static lth_status tile_by_sites(const job *j, lth_ctx *ctx, lth_error *err) {
    const lth__tile *tile = j->tile;
    block b = {.far = lth__alloc(tile->rows + 1, sizeof *b.far),
               .lost = lth__alloc(tile->rows + 1, sizeof *b.lost),
               .profiles = lth__alloc(LTH__MOST_LETTERS, sizeof *b.profiles)};
    lth_status status = LTH_OK;
    if (!b.far || !b.lost || !b.profiles)
        status = lth__fail_memory(err, tile->rows * sizeof *b.far);
    for (; b.first < tile->cols && status == LTH_OK; b.first += WIDTH) {
        b.cols = tile->cols - b.first < WIDTH ? tile->cols - b.first : WIDTH;
        compare_block(j, &b);
        status = lth__parallel_ask(ctx);
    }
    lth__free(b.far);
    lth__free(b.lost);
    lth__free(b.profiles);
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

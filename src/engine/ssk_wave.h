/* The subsequence kernel of one pair of long strings. Included after ssk_lanes.h, whose sweeps go
 * over it.
 *
 * The cells are cut into tiles, a lane's rows high, and each lane goes through the tiles of a row
 * of them, one tile behind the lane above:
 *
 *              columns of t ->
 *     lane 0   . . . . x          x: the tiles of one step. P below a tile of lane 0 is what lane 1
 * begins with lane 1   . . . x            in the next step, so P moves up by one lane from step to
 * step; the first lane lane 2   . . x              takes it from the stripe of tiles above, and the
 * last lane leaves it for the lane 3   . x                stripe below. At the end of a stripe a
 * lane goes on in the next one.
 */

/* How a pair is cut: a lane has `height` rows of each of the `stripes`, a stripe is `tiles` of
 * `columns`. */
typedef struct cut {
    size_t height, columns, stripes, tiles;
} cut;

static size_t divide_up(size_t a, size_t b) {
    return (a + b - 1) / b;
}

/* Instructions, roughly: cells, what sweeps do before and after their cells, and moving P. */
static double cost_of(const scheme *c, cut w) {
    double levels = (double)(c->levels * c->kinds), height = (double)w.height;
    double cells = height * (double)w.columns * (4 * levels + 2);
    double sweeps = height / 2 * (40 * (double)c->groups + 6 * levels);
    double moves = (double)w.columns * (8 * levels + 4);
    return (double)(w.stripes * w.tiles + LANES - 1) * (cells + sweeps + moves);
}

/* A lane takes a tile from the lane above, which must be done with it: no fewer tiles than lanes.
 */
static cut cut_by(const lth__ssk_wave *job, size_t most_height, size_t most_columns) {
    cut w = {.stripes = divide_up(job->rows, LANES * most_height)};
    w.height = round_up(divide_up(job->rows, LANES * w.stripes), LTH__ROW_STEP);
    w.tiles = divide_up(job->cols, most_columns);
    if (w.tiles < LANES) w.tiles = LANES;
    w.columns = divide_up(job->cols, w.tiles);
    return w;
}

static cut cut_wave(const scheme *c, const lth__ssk_wave *job) {
    enum { MOST_HEIGHT = 64, LEAST_HEIGHT = 8, MOST_COLUMNS = 128, LEAST_COLUMNS = 16 };
    size_t fit = block_columns(c), most = fit < MOST_COLUMNS ? fit : MOST_COLUMNS;
    cut best = cut_by(job, MOST_HEIGHT, most);
    for (size_t height = MOST_HEIGHT; height >= LEAST_HEIGHT; height -= 4) {
        for (size_t columns = most; columns >= LEAST_COLUMNS; columns -= 4) {
            cut w = cut_by(job, height, columns);
            if (cost_of(c, w) < cost_of(c, best)) best = w;
        }
    }
    return best;
}

/* What a wave has in its scratch. */
typedef struct wave {
    const lth__ssk_wave *job;
    scheme scheme;
    cut cut;
    size_t width; /* numbers of P for a column */
    vec *P, *Q, *link, *sims;
    real *edge; /* P below the last lane: [column][number] */
    uint32_t *s, *t;
} wave;

static scheme plan_wave(const lth__ssk_wave *job, bool tangent) {
    return plan(job->order, job->table ? LTH__MATCH_TABLE : LTH__MATCH_EXACT,
                tangent ? ALONG_GAP : ALONG_NOTHING);
}

static wave begin_wave(const lth__ssk_wave *job, bool tangent) {
    wave w = {.job = job, .scheme = plan_wave(job, tangent)};
    w.width = (size_t)(w.scheme.levels * w.scheme.kinds);
    w.cut = cut_wave(&w.scheme, job);
    return w;
}

static size_t wave_scratch(const lth__ssk_wave *job, bool tangent) {
    const wave w = begin_wave(job, tangent);
    const layout l = lay_out(&w.scheme, w.cut.height, w.cut.columns);
    size_t vectors = l.state + w.cut.height * w.width + l.link + l.sims;
    size_t symbols = (w.cut.height + w.cut.columns) * LANES;
    size_t numbers = w.cut.tiles * w.cut.columns * w.width;
    return vectors * sizeof(vec) + symbols * sizeof(uint32_t) + numbers * sizeof(real);
}

static void lay_out_wave(wave *w) {
    const layout l = lay_out(&w->scheme, w->cut.height, w->cut.columns);
    w->P = w->job->scratch;
    w->Q = w->P + l.state;
    w->link = w->Q + w->cut.height * w->width;
    w->sims = w->link + l.link;
    w->s = (uint32_t *)(w->sims + l.sims);
    w->t = w->s + w->cut.height * LANES;
    w->edge = (real *)(w->t + w->cut.columns * LANES);
}

/* A lane begins with its rows of a stripe, if there are any. */
static void enter_stripe(wave *w, size_t lane, size_t stripe) {
    size_t height = w->cut.height, first = (stripe * LANES + lane) * height;
    for (size_t j = 0; j < height; j++) {
        bool inside = first + j < w->job->rows;
        w->s[j * LANES + lane] = inside ? w->job->s[first + j] : w->job->pad_s;
    }
    for (size_t i = 0; i < height * w->width; i++) w->Q[i][lane] = 0;
}

/* Every lane goes on to the next tile, with the P of the lane above. */
static void move_on(wave *w, size_t step) {
    const cut x = w->cut;
    size_t left = (step + x.tiles * LANES - LANES) % x.tiles, entered = step % x.tiles;
    real *out = w->edge + left * x.columns * w->width;
    const real *in = w->edge + entered * x.columns * w->width;
    for (size_t i = 0; i < x.columns * w->width; i++) {
        if (step >= LANES) out[i] = v_last(w->P[i]);
        w->P[i] = v_shift_in(w->P[i], in[i]);
    }
    for (size_t k = 0; k < x.columns; k++) {
        uint32_t *t = w->t + k * LANES;
        memmove(t + 1, t, (LANES - 1) * sizeof *t);
        size_t column = entered * x.columns + k;
        t[0] = column < w->job->cols ? w->job->t[column] : w->job->pad_t;
    }
    for (size_t lane = 0; lane < LANES && lane <= step; lane++) {
        if ((step - lane) % x.tiles == 0) enter_stripe(w, lane, (step - lane) / x.tiles);
    }
}

/* Onto doubles, as long sums of small terms would lose digits. */
static void add_lanes(size_t order, vec *total, double *sum) {
    for (size_t i = 0; i < order; i++) {
        double lane[LANES];
        v_store_double(lane, total[i]);
        for (size_t l = 0; l < LANES; l++) sum[i] += lane[l];
        total[i] = v_zero();
    }
}

static bool ssk_wave(const lth__ssk_wave *job, double *value, double *tangent) {
    wave w = begin_wave(job, tangent != NULL);
    vec total[LTH__MAX_ORDER], dtotal[LTH__MAX_ORDER];
    double sum[LTH__MAX_ORDER] = {0}, dsum[LTH__MAX_ORDER] = {0};
    for (size_t i = 0; i < job->order; i++) total[i] = dtotal[i] = v_zero();
    lay_out_wave(&w);
    memset(job->scratch, 0, wave_scratch(job, tangent != NULL));
    for (size_t i = 0; i < w.cut.height * LANES; i++) w.s[i] = job->pad_s;
    for (size_t i = 0; i < w.cut.columns * LANES; i++) w.t[i] = job->pad_t;
    block b = {.s = w.s,
               .t = w.t,
               .above = LTH__MAX_ORDER, /* all levels are in use */
               .rows = w.cut.height,
               .columns = w.cut.columns,
               .gap = (real)job->gap,
               .table = job->table,
               .P = w.P,
               .Q = w.Q,
               .keep = true,
               .link = w.link,
               .sims = w.sims,
               .dsims = w.sims,
               .total = total,
               .dtotal = dtotal,
               .stops = job->stops,
               .user = job->user};
    size_t steps = w.cut.stripes * w.cut.tiles + LANES - 1;
    for (size_t step = 0; step < steps; step++) {
        move_on(&w, step);
        if (!sweep_block(&w.scheme, &b)) return false;
        if (step % w.cut.tiles == 0 || step + 1 == steps) {
            add_lanes(job->order, total, sum);
            if (tangent) add_lanes(job->order, dtotal, dsum);
        }
    }
    memcpy(value, sum, job->order * sizeof *value);
    if (tangent) memcpy(tangent, dsum, job->order * sizeof *tangent);
    return true;
}

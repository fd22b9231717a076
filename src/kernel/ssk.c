/* ssk: the gap-weighted string subsequence kernel.
 *
 *     k_i(s,t) = sum over index tuples I in s, J in t, |I| = |J| = i, of
 *                match^(2i) gap^(span(I) + span(J) - 2i) prod sim(s_I, t_J)
 *     k = sum_i weights_i k_i
 *
 * The engine computes all k_i of a pair in one pass, for match = 1. With nu_i = weights_i
 * match^(2i):
 *
 *     dk/dgap = sum_i nu_i dk_i/dgap      dk/dweights_i = match^(2i) k_i
 *     dk/dmatch = sum_i weights_i 2i match^(2i-1) k_i
 *
 * match and weights together have one flat direction, so match is held unless the expression gives
 * it.
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "data/units.h"
#include "kernel/ssk_compare.h"

static const lth_argument arguments[] = {
    {.name = "order", .help = "longest subsequence", .initial = "5", .choices = "1..64"},
    {.name = "units",
     .help = "what a text is cut into: words at white space, tokens with punctuation apart, chars "
             "(code points), bytes",
     .initial = "words",
     .choices = "words|tokens|chars|bytes"},
    {.name = "sim",
     .help = "how units match: when equal, or by their word vectors",
     .initial = "exact",
     .choices = "exact|dot|cosine|arccos"},
    {.name = "lower",
     .help = "lower-case the text first; no for chars and bytes unless given",
     .initial = "yes",
     .choices = "no|yes"},
    {.name = "oov",
     .help = "what a word without a vector matches: itself, or nothing",
     .initial = "exact",
     .choices = "exact|zero"},
    {.name = "gap",
     .help = "factor for each position skipped",
     .initial = "0.5",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1},
    {.name = "match",
     .help = "factor for each position matched, in either string; held at 1 unless given",
     .initial = "1",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1000},
    {.name = "weights",
     .help = "one for each order",
     .initial = "[1,...,1]",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1e9},
    {0},
};

typedef struct config {
    size_t order;
    lth__sim sim;
    lth__oov oov;
} config;

enum { GAP, MATCH, WEIGHTS }; /* parameters, in the order of their declaration */

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    long order;
    int units, sim, oov, lower;
    LTH_TRY(lth__node_integer(node, "order", 1, LTH__MAX_ORDER, 5, &order, err));
    LTH_TRY(lth__node_choice(node, "units", LTH__WORDS, &units, err));
    LTH_TRY(lth__node_choice(node, "sim", LTH__SIM_EXACT, &sim, err));
    LTH_TRY(lth__node_choice(node, "oov", LTH__OOV_EXACT, &oov, err));
    bool lowers = units == LTH__WORDS || units == LTH__TOKENS;
    LTH_TRY(lth__node_choice(node, "lower", lowers, &lower, err));
    *c = (config){.order = (size_t)order, .sim = (lth__sim)sim, .oov = (lth__oov)oov};
    node->config = c;

    const lth__expr *column = node->expr->inputs[0];
    lth__field_def field = {.column = column->name,
                            .expr_column = column->column,
                            .units = units,
                            .lower = lower,
                            .vectors = sim != LTH__SIM_EXACT};
    LTH_TRY(lth__kernel_field(kernel, &field, &node->field, err));
    LTH_TRY(lth__node_param(kernel, node, "gap", 0, 0.5, false, err));
    LTH_TRY(lth__node_param(kernel, node, "match", 0, 1, true, err));
    return lth__node_param(kernel, node, "weights", c->order, 1, false, err);
}

/* ---- State ---- */

typedef struct state {
    lth__ssk_plan plan;
    double match_power[LTH__MAX_ORDER]; /* match^(2i)                                 */
    double nu[LTH__MAX_ORDER];          /* weights_i match^(2i)                       */
    double dnu[LTH__MAX_ORDER];         /* its derivative by match                    */
} state;

static void read_parameters(const lth__node *node, const lth__eval *eval, state *st) {
    const config *c = node->config;
    double match = lth__node_value(node, eval, MATCH);
    st->plan.order = c->order;
    st->plan.gap = lth__node_value(node, eval, GAP);
    for (size_t i = 0; i < c->order; i++) {
        double weight = lth__node_value(node, eval, WEIGHTS + i), twice = 2 * (double)(i + 1);
        st->match_power[i] = pow(match, twice);
        st->nu[i] = weight * st->match_power[i];
        st->dnu[i] = weight * twice * pow(match, twice - 1);
    }
}

/* The similarities of this vocabulary, kept in the encoder from one evaluation to the next. */
static lth_status find_similarity(const lth__node *node, const lth__eval *eval,
                                  lth_encoder *encoder, const lth__similarity **out,
                                  lth_error *err) {
    const config *c = node->config;
    lth__lexicon *l = &encoder->lexicons[node->field];
    size_t symbols = lth__symbols_count(l->symbols);
    if (!l->has_vectors)
        return lth__fail(err, LTH_EARG, "this kernel matches words by vectors, but none were read");
    for (lth__similarity *s = l->similarities; s; s = s->next) {
        bool same = s->sim == c->sim && s->oov == c->oov && s->symbols == symbols &&
                    s->precision == eval->ctx->options.precision;
        if (same) {
            *out = s;
            return LTH_OK;
        }
    }
    lth__similarity *made;
    LTH_TRY(lth__similarity_create(eval->ctx, &l->vectors, symbols, c->sim, c->oov, &made, err));
    made->next = l->similarities;
    l->similarities = made;
    *out = made;
    return LTH_OK;
}

/* gap^d for every distance in the data, with 0^0 = 1, and the derivatives d gap^(d-1). */
static lth_status make_powers(lth__ssk_plan *plan, lth_error *err) {
    size_t count = plan->rows->longest + plan->cols->longest + 2;
    plan->power = lth__alloc(count, sizeof *plan->power);
    plan->power_slope = lth__alloc(count, sizeof *plan->power_slope);
    if (!plan->power || !plan->power_slope)
        return lth__fail_memory(err, 2 * count * sizeof(double));
    plan->power[0] = 1;
    plan->power_slope[0] = 0;
    for (size_t d = 1; d < count; d++) {
        plan->power[d] = plan->power[d - 1] * plan->gap;
        plan->power_slope[d] = (double)d * plan->power[d - 1];
    }
    return LTH_OK;
}

static lth_status choose_dropping(const lth__eval *eval, lth__ssk_plan *plan, lth_error *err) {
    lth_dropping wish = eval->ctx->options.dropping;
    bool possible = !plan->similarity && plan->rows->count > 0 && plan->cols->count > 0;
    if (!possible || wish == LTH_DROP_OFF) return LTH_OK;
    LTH_TRY(make_powers(plan, err));
    if (wish == LTH_DROP_AUTO) return lth__ssk_dropping_pays(plan, &plan->dropping, err);
    plan->dropping = true;
    return LTH_OK;
}

static void release(void *p) {
    state *st = p;
    lth__free(st->plan.power);
    lth__free(st->plan.power_slope);
    lth__free(st);
}

static lth_status prepare(const lth__node *node, lth__eval *eval, void **out, lth_error *err) {
    state *st = lth__calloc(1, sizeof *st);
    if (!st) return lth__fail_memory(err, sizeof *st);
    lth_encoder *encoder = eval->rows->encoder;
    st->plan = (lth__ssk_plan){
        .lanes = eval->ctx->engine->lanes[eval->ctx->options.precision],
        .vocabulary = lth__symbols_count(encoder->lexicons[node->field].symbols),
        .rows = &eval->rows->fields[node->field],
        .cols = &eval->cols->fields[node->field],
    };
    read_parameters(node, eval, st);
    lth_status status = LTH_OK;
    if (((const config *)node->config)->sim != LTH__SIM_EXACT)
        status = find_similarity(node, eval, encoder, &st->plan.similarity, err);
    if (status == LTH_OK) status = choose_dropping(eval, &st->plan, err);
    eval->by_size |= !st->plan.dropping; /* for the lanes of a vector */
    if (status == LTH_OK)
        *out = st;
    else
        release(st);
    return status;
}

/* ---- What becomes of the results of a pair ---- */

typedef struct target {
    const state *st;
    const lth__node *node;
    const double *W;       /* pull: weights            */
    double *K;             /* values; may be NULL      */
    const lth__sink *sink; /* pull                     */
    double *slope;         /* diagonal: derivatives    */
    size_t pairs;          /* in the tile or diagonal  */
} target;

static double weigh(const double *nu, size_t order, const double *x, size_t stride) {
    double sum = 0;
    for (size_t i = 0; i < order; i++) sum += nu[i] * x[i * stride];
    return sum;
}

static void take_values(void *user, const size_t *pair, size_t count, size_t stride,
                        const double *value, const double *tangent) {
    (void)tangent;
    const target *t = user;
    for (size_t n = 0; n < count; n++)
        t->K[pair[n]] = weigh(t->st->nu, t->st->plan.order, value + n, stride);
}

static void take_orders(void *user, const size_t *pair, size_t count, size_t stride,
                        const double *value, const double *tangent) {
    (void)tangent;
    const target *t = user;
    for (size_t i = 0; i < t->st->plan.order; i++) {
        for (size_t n = 0; n < count; n++)
            t->K[i * t->pairs + pair[n]] = t->st->match_power[i] * value[i * stride + n];
    }
}

static void take_pull(void *user, const size_t *pair, size_t count, size_t stride,
                      const double *value, const double *tangent) {
    const target *t = user;
    const state *st = t->st;
    size_t order = st->plan.order, first = t->node->first_param;
    for (size_t n = 0; n < count; n++) {
        double w = t->W[pair[n]];
        if (t->K) t->K[pair[n]] = weigh(st->nu, order, value + n, stride);
        if (w == 0) continue;
        lth__sink_add(t->sink, first + GAP, pair[n], w * weigh(st->nu, order, tangent + n, stride));
        lth__sink_add(t->sink, first + MATCH, pair[n],
                      w * weigh(st->dnu, order, value + n, stride));
        for (size_t i = 0; i < order; i++) {
            lth__sink_add(t->sink, first + WEIGHTS + i, pair[n],
                          w * st->match_power[i] * value[i * stride + n]);
        }
    }
}

static void take_diagonal(void *user, const size_t *pair, size_t count, size_t stride,
                          const double *value, const double *tangent) {
    const target *t = user;
    const state *st = t->st;
    size_t order = st->plan.order;
    for (size_t n = 0; n < count; n++) {
        size_t item = pair[n];
        t->K[item] = weigh(st->nu, order, value + n, stride);
        if (!t->slope) continue;
        double *slope = t->slope + t->node->first_param * t->pairs + item;
        slope[GAP * t->pairs] = weigh(st->nu, order, tangent + n, stride);
        slope[MATCH * t->pairs] = weigh(st->dnu, order, value + n, stride);
        for (size_t i = 0; i < order; i++)
            slope[(WEIGHTS + i) * t->pairs] = st->match_power[i] * value[i * stride + n];
    }
}

/* ---- Tiles and diagonals ---- */

static lth_status tile_values(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    target t = {.st = eval->state[node->index], .K = K};
    memset(K, 0, tile->rows * tile->cols * sizeof *K);
    return lth__ssk_compare_tile(&t.st->plan, tile, false, take_values, &t, err);
}

static lth_status tile_orders(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    target t = {.st = eval->state[node->index], .K = K, .pairs = tile->rows * tile->cols};
    memset(K, 0, t.st->plan.order * t.pairs * sizeof *K);
    return lth__ssk_compare_tile(&t.st->plan, tile, false, take_orders, &t, err);
}

static lth_status pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       const double *W, double *K, const lth__sink *sink, lth_error *err) {
    target t = {.st = eval->state[node->index], .node = node, .W = W, .K = K, .sink = sink};
    if (K) memset(K, 0, tile->rows * tile->cols * sizeof *K);
    return lth__ssk_compare_tile(&t.st->plan, tile, true, take_pull, &t, err);
}

enum { SELVES = 64 }; /* items to a job */

typedef struct selves {
    target t;
    const lth__sequences *sequences;
} selves;

static lth_status compare_selves(void *user, size_t index, unsigned worker) {
    (void)worker;
    selves *s = user;
    size_t first = index * SELVES, last = first + SELVES;
    if (last > s->sequences->count) last = s->sequences->count;
    return lth__ssk_compare_selves(&s->t.st->plan, s->sequences, first, last, s->t.slope != NULL,
                                   take_diagonal, &s->t, NULL);
}

static lth_status diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err) {
    selves s = {.t = {.st = eval->state[node->index],
                      .node = node,
                      .K = a,
                      .slope = slope,
                      .pairs = items->count},
                .sequences = &items->fields[node->field]};
    size_t jobs = (items->count + SELVES - 1) / SELVES;
    memset(a, 0, items->count * sizeof *a);
    return lth__parallel_for(eval->ctx, "self-similarities", jobs, NULL, compare_selves, &s, err);
}

/* ---- The string kernel's own ---- */

static size_t orders(const lth__node *node) {
    return ((const config *)node->config)->order;
}

static double cell_orders(const lth__node *node, const lth_items *rows, const lth_items *cols) {
    const lth__sequences *s = &rows->fields[node->field], *t = &cols->fields[node->field];
    double cells = (double)s->start[s->count] * (double)t->start[t->count];
    if (s == t) {
        for (size_t i = 0; i < s->count; i++) {
            double length = (double)lth__sequence_length(s, i);
            cells += length * length;
        }
        cells /= 2;
    }
    return cells * (double)orders(node);
}

const lth__family lth__family_ssk = {
    .manual = {.name = "ssk",
               .help = "string subsequence kernel: all subsequences up to a length in common, with "
                       "gaps, found in one pass",
               .usage = "ssk(COLUMN, order=5, units=words, sim=exact, gap=0.5, ...)",
               .arguments = arguments},
    .traits = LTH__TAKES_COLUMN,
    .configure = configure,
    .prepare = prepare,
    .release = release,
    .diagonal = diagonal,
    .tile = tile_values,
    .pull = pull,
    .orders = orders,
    .tile_orders = tile_orders,
    .cell_orders = cell_orders,
};

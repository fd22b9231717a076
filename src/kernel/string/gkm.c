/* gkm(column): gapped k-mers. An l-mer is a window of l units, and a gapped k-mer has k of its
 * places. Two l-mers with e equal units have C(e, k) of them in common, so that with n_e pairs of
 * l-mers u in x and v in y that have e units equal at the same place
 *
 *     S_k(x,y) = sum_e n_e C(e, k)      K = sum_k weights_k S_k      dK/dweights_k = S_k
 *
 * S_k is an inner product of counts of gapped k-mers. What matches nothing, N of DNA, is in none
 * of them. On both strands a sequence has the k-mers of x and of its reverse complement x', each
 * with a weight of 1/sqrt(2): S_k(x,y) + S_k(x',y), as x' with y' is x with y.
 *
 * With centre=H the l-mer at place i of n - l + 1 counts w(d) times, and a pair of them w w times,
 * where d = |i - (n - l) / 2| is how far it is from the middle, and
 *
 *     w(d) = (1 + 50 2^(-d/H)) / 51      to the nearest multiple of 1/4096
 *
 * These are the weights of wgkm of LS-GKM but for its rounding and a factor. They are the same on
 * both strands, and S_k is still an inner product.
 *
 * No S_k depends on a parameter: what learning asks for again is kept (memo).
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "data/units.h"
#include "kernel/core/field.h"
#include "kernel/string/gkm.h"
#include "kernel/string/text_field.h"

enum { MOST = LTH__MOST_WIDTH, LEAST_K = 6, MOST_HALF = 1000000 };

typedef lth__gkm_config config;
typedef lth__gkm_sequence sequence;
typedef lth__gkm_bench bench;

static size_t orders_of(const config *c) {
    return c->most - c->least + 1;
}

/* ---- Arguments ---- */

static lth_status fail_k(const lth__node *node, const lth__value *v, size_t width, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column,
                        "k of %s is a whole number from 1 to l, here %zu, or two of them, the "
                        "least and the most, as in k=[6,10]",
                        node->family->manual.name, width);
}

static bool is_k(const lth__value *v, size_t width) {
    return v->kind == LTH__VALUE_NUMBER && v->given && !v->tag && v->number == floor(v->number) &&
           v->number >= 1 && v->number <= (double)width;
}

/* k=6, or k=[6,10]: all of them. */
static lth_status read_k(const lth__node *node, config *c, lth_error *err) {
    const lth__argument *a = lth__node_argument(node, "k");
    c->least = c->width < LEAST_K ? c->width : LEAST_K;
    c->most = c->width;
    if (!a) return LTH_OK;
    const lth__value *v = &a->value, *last = v;
    if (v->kind == LTH__VALUE_LIST && v->count == 2) {
        last = &v->items[1];
        v = &v->items[0];
    }
    if (!is_k(v, c->width) || !is_k(last, c->width) || v->number > last->number)
        return fail_k(node, &a->value, c->width, err);
    c->least = (size_t)v->number;
    c->most = (size_t)last->number;
    return LTH_OK;
}

/* Pascal's triangle; all of it is exact. */
static void fill_choose(config *c) {
    for (size_t e = 0; e <= MOST; e++) {
        c->choose[0][e] = 1;
        for (size_t k = 1; k <= MOST; k++)
            c->choose[k][e] = e == 0 ? 0 : c->choose[k][e - 1] + c->choose[k - 1][e - 1];
    }
}

static void fill_worth(config *c) {
    const double *worth = c->choose[c->least];
    c->in_bytes = c->least == c->most && c->width < LTH__WORTHS && worth[c->width] <= UINT8_MAX &&
                  c->half == 0;
    for (size_t e = 0; c->in_bytes && e <= c->width; e++) c->worth[e] = (uint8_t)worth[e];
}

static lth_status configure_field(lth_kernel *kernel, lth__node *node, config *c, lth_error *err) {
    int units, lower, alphabet, strand;
    LTH_TRY(lth__node_choice(node, "units", LTH__CHARS, &units, err));
    LTH_TRY(lth__node_choice(node, "lower", 1, &lower, err));
    LTH_TRY(lth__node_choice(node, "strand", 0, &strand, err));
    LTH_TRY(lth__node_choice(node, "alphabet", strand, &alphabet, err));
    c->both = strand == 1;
    c->dna = alphabet == 1;
    const lth__argument *a = lth__node_argument(node, "alphabet");
    if (c->both && !c->dna)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, a->value.column,
                            "strand=both goes with alphabet=dna");
    if (c->dna && units != LTH__CHARS)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0,
                            lth__node_argument(node, "units")->value.column, "DNA has units=chars");
    lth__field_def field = {.column = node->expr->inputs[0]->name,
                            .type = &lth__field_text,
                            .units = units,
                            .lower = lower == 1};
    LTH_TRY(lth__text_read_wild(kernel, node, &field, err));
    return lth__kernel_field(kernel, &field, &node->field, err);
}

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    *c = (config){0};
    node->config = c;
    long width, half;
    LTH_TRY(lth__node_integer(node, "l", 1, MOST, 10, &width, err));
    LTH_TRY(lth__node_integer(node, "centre", 1, MOST_HALF, 0, &half, err));
    c->width = (size_t)width;
    c->half = (double)half;
    fill_choose(c);
    LTH_TRY(read_k(node, c, err));
    fill_worth(c);
    LTH_TRY(configure_field(kernel, node, c, err));
    return lth__node_param(kernel, node, "weights", orders_of(c), 1, false, err);
}

/* ---- State ---- */

typedef struct state {
    lth__gkm_sides sides;
    double weight[MOST + 1]; /* by k                             */
    double worth[MOST + 1];  /* of two l-mers with e equal units */
} state;

static void release(void *p) {
    state *s = p;
    lth__gkm_sides_free(&s->sides);
    lth__free(s);
}

static void read_weights(const lth__node *node, const lth__eval *eval, state *s) {
    const config *c = node->config;
    for (size_t k = c->least; k <= c->most; k++) {
        s->weight[k] = lth__node_value(node, eval, k - c->least);
        for (size_t e = 0; e <= c->width; e++) s->worth[e] += s->weight[k] * c->choose[k][e];
    }
}

static lth_status prepare(const lth__node *node, lth__eval *eval, void **out, lth_error *err) {
    state *s = lth__calloc(1, sizeof *s);
    if (!s) return lth__fail_memory(err, sizeof *s);
    read_weights(node, eval, s);
    lth_status status = lth__gkm_sides_make(node, eval, &s->sides, err);
    if (status == LTH_OK)
        *out = s;
    else
        lth__free(s);
    return status;
}

static lth_status open_bench(const lth__node *node, const lth__eval *eval, bench *b,
                             lth_error *err) {
    const state *s = eval->state[node->index];
    return lth__gkm_bench_open(node->config, &s->sides, eval->ctx, b, err);
}

/* ---- Tiles ---- */

static lth_status fill_planes(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *planes, lth_error *err) {
    const state *s = eval->state[node->index];
    size_t pairs = tile->rows * tile->cols;
    bench b;
    LTH_TRY(open_bench(node, eval, &b, err));
    for (size_t r = 0; r < tile->rows; r++) {
        lth__gkm_bench_row(&b, lth__gkm_sequence_at(&s->sides.rows, tile->row[r]));
        for (size_t j = 0; j < tile->cols; j++)
            lth__gkm_compare(&b, lth__gkm_sequence_at(&s->sides.cols, tile->col[j]),
                             planes + r * tile->cols + j, pairs);
    }
    lth__gkm_bench_close(&b);
    return LTH_OK;
}

/* All S_k of a tile: what is kept of them, or *own, which is the caller's to free. */
static lth_status find_planes(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              const double **out, double **own, lth_error *err) {
    const lth__memo *memo = eval->memo ? &eval->memo[node->index] : NULL;
    size_t size = tile->rows * tile->cols * orders_of(node->config);
    *own = NULL;
    if (!memo || !memo->planes) {
        *out = *own = lth__alloc(size, sizeof **own);
        return *own ? fill_planes(node, eval, tile, *own, err)
                    : lth__fail_memory(err, size * sizeof **own);
    }
    double *kept = memo->planes + tile->first_pair * memo->plane_count;
    double *key = &memo->key[tile->index * LTH__MEMO_KEYS];
    if (isnan(*key)) {
        LTH_TRY(fill_planes(node, eval, tile, kept, err));
        *key = 0;
    }
    *out = kept;
    return LTH_OK;
}

static size_t memo_planes(const lth__node *node, const lth__eval *eval) {
    (void)eval;
    return orders_of(node->config);
}

static void weigh_planes(const lth__node *node, const state *s, const double *planes, size_t pairs,
                         double *K) {
    const config *c = node->config;
    memset(K, 0, pairs * sizeof *K);
    for (size_t k = c->least; k <= c->most; k++, planes += pairs) {
        for (size_t n = 0; n < pairs; n++) K[n] += s->weight[k] * planes[n];
    }
}

static lth_status tile_values(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    const double *planes;
    double *own;
    lth_status status = find_planes(node, eval, tile, &planes, &own, err);
    if (status == LTH_OK)
        weigh_planes(node, eval->state[node->index], planes, tile->rows * tile->cols, K);
    lth__free(own);
    return status;
}

static lth_status pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       const double *W, double *K, const lth__sink *sink, lth_error *err) {
    const config *c = node->config;
    size_t pairs = tile->rows * tile->cols;
    const double *planes;
    double *own;
    lth_status status = find_planes(node, eval, tile, &planes, &own, err);
    for (size_t k = 0; status == LTH_OK && k < orders_of(c); k++) {
        for (size_t n = 0; n < pairs; n++)
            lth__sink_add(sink, node->first_param + k, n, W[n] * planes[k * pairs + n]);
    }
    if (status == LTH_OK && K) weigh_planes(node, eval->state[node->index], planes, pairs, K);
    lth__free(own);
    return status;
}

/* ---- Self-similarities ---- */

enum { ITEMS_TO_A_JOB = 64 };

typedef struct self_job {
    const lth__node *node;
    const lth__eval *eval;
    const lth__gkm_letters *items;
    double *a, *slope; /* slope: of the node's first parameter, or NULL */
} self_job;

static lth_status fill_selves(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const self_job *job = user;
    const state *s = job->eval->state[job->node->index];
    size_t count = job->items->from->count, first = index * ITEMS_TO_A_JOB;
    bench b;
    LTH_TRY(open_bench(job->node, job->eval, &b, err));
    for (size_t i = first; i < count && i < first + ITEMS_TO_A_JOB; i++) {
        double S[MOST + 1];
        lth__gkm_bench_row(&b, lth__gkm_sequence_at(job->items, i));
        lth__gkm_compare(&b, b.row, S, 1);
        job->a[i] = 0;
        for (size_t k = b.c->least; k <= b.c->most; k++) {
            job->a[i] += s->weight[k] * S[k - b.c->least];
            if (job->slope) job->slope[(k - b.c->least) * count + i] = S[k - b.c->least];
        }
    }
    lth__gkm_bench_close(&b);
    return LTH_OK;
}

static lth_status diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err) {
    const state *s = eval->state[node->index];
    self_job job = {.node = node,
                    .eval = eval,
                    .items = items == eval->rows ? &s->sides.rows : &s->sides.cols,
                    .a = a,
                    .slope = slope ? slope + node->first_param * items->count : NULL};
    size_t jobs = (items->count + ITEMS_TO_A_JOB - 1) / ITEMS_TO_A_JOB;
    return lth__parallel_for(eval->ctx, "self-similarities", jobs, NULL, fill_selves, &job, err);
}

/* A start with the same share for every k. */
static lth_status guess(const lth__node *node, const lth__eval *eval, double scale, double *value,
                        lth_error *err) {
    size_t count = eval->rows->count, orders = orders_of(node->config);
    double *a = lth__alloc(count, sizeof *a);
    double *slope = lth__alloc(eval->kernel->param_count * count, sizeof *slope);
    lth_status status = a && slope ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK) status = diagonal(node, eval, eval->rows, a, slope, err);
    for (size_t k = 0; status == LTH_OK && k < orders; k++) {
        double mean = 0;
        for (size_t i = 0; i < count; i++)
            mean += slope[(node->first_param + k) * count + i] / (double)count;
        if (mean > 0) value[k] = scale / (double)orders / mean;
    }
    lth__free(a);
    lth__free(slope);
    return status;
}

/* ---- Explanations: equal units share evenly what two windows are worth ---- */

typedef struct sharing {
    const bench *b;
    const state *s;
    const sequence *x, *y;
    bool reversed; /* x is the other strand */
    double W, *share;
} sharing;

static void share_window(void *user, size_t i, size_t j, size_t same) {
    const sharing *h = user;
    double times = h->b->once * (double)lth__gkm_pair_weight(h->b, i, h->y->length, j);
    double part = h->W * times * h->s->worth[same] / (double)same;
    for (size_t t = 0; t < h->b->c->width; t++) {
        size_t at = h->reversed ? h->x->length - 1 - i - t : i + t;
        if (lth__gkm_equal(h->x, i + t, h->y, j + t)) h->share[at] += part;
    }
}

static lth_status attribute(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                            const double *W, double *share, lth_error *err) {
    const state *s = eval->state[node->index];
    bench b;
    LTH_TRY(open_bench(node, eval, &b, err));
    lth__gkm_bench_row(&b, lth__gkm_sequence_at(&s->sides.rows, *tile->row));
    sequence other = {.letter = b.strand[1], .length = b.row.length};
    sharing h = {.b = &b, .s = s, .share = share};
    for (size_t j = 0; j < tile->cols; j++) {
        sequence col = lth__gkm_sequence_at(&s->sides.cols, tile->col[j]);
        h.W = W[j];
        h.y = &col;
        h.x = &b.row;
        h.reversed = false;
        lth__gkm_walk(b.c, eval->ctx, h.x, h.y, share_window, &h);
        if (!b.c->both) continue;
        h.x = &other;
        h.reversed = true;
        lth__gkm_walk(b.c, eval->ctx, h.x, h.y, share_window, &h);
    }
    lth__gkm_bench_close(&b);
    return lth__parallel_ask(eval->ctx);
}

/* ---- The family ---- */

static const lth_argument arguments[] = {
    {.name = "l", .help = "units of a window", .initial = "10", .choices = "1..20"},
    {.name = "k",
     .help =
         "places of a window that a gapped k-mer has: a number, or [LEAST,MOST]; left out: 6 to "
         "l",
     .initial = "[6,10]",
     .choices = "1..l|[LEAST,MOST]"},
    {.name = "strand",
     .help = "both: a sequence of DNA and its reverse complement are the same",
     .initial = "one",
     .choices = "one|both"},
    {.name = "alphabet",
     .help = "dna: A, C, G, T or U; N and other codes of IUPAC match nothing. So with strand=both",
     .initial = "any",
     .choices = "any|dna"},
    {.name = "centre",
     .help = "when given: windows count for less far from the middle of their sequence, half as "
             "much after so many units, and a fifty-first at the least",
     .initial = "",
     .choices = "1..1000000"},
    {.name = "units",
     .help = "what a text is cut into",
     .initial = "chars",
     .choices = "words|tokens|chars|bytes"},
    {.name = "lower",
     .help = "whether lower case is the same as upper",
     .initial = "yes",
     .choices = "no|yes"},
    LTH__WILD_ARGUMENTS,
    {.name = "weights",
     .help = "one for each k, the least first",
     .initial = "[1,...,1]",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1e9,
     .role = LTH_ROLE_VARIANCE},
    {0},
};

const lth__family lth__family_gkm = {
    .manual = {.name = "gkm",
               .help = "gapped k-mers: windows of DNA, proteins or any text that agree in some of "
                       "their places",
               .usage = "gkm(COLUMN, l=10, k=[6,10], strand=one, ...)",
               .arguments = arguments,
               .kind = LTH_FAMILY_STRING},
    .traits = LTH__TAKES_COLUMN,
    .rule = LTH__RULE_FEATURES,
    .configure = configure,
    .prepare = prepare,
    .release = release,
    .diagonal = diagonal,
    .tile = tile_values,
    .pull = pull,
    .memo_planes = memo_planes,
    .guess = guess,
    .attribute = attribute,
    .features = lth__gkm_features,
    .features_to_units = lth__gkm_features_to_units,
    .feature_text = lth__gkm_feature_text,
};

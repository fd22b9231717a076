/* la(column): sequences of letters by all their local alignments, of any length and without any
 * alignment of their own. With Z(x,y) the sum over local alignments of exp(beta score)
 * (local_alignment.h):
 *
 *     k(x,y) = (Z(x,y) / sqrt(Z(x,x) Z(y,y)))^power
 *
 *     by theta: k power (l(x,y) - (l(x,x) + l(y,y)) / 2)      l = d log Z / d theta
 *     by power: k log(Z(x,y) / sqrt(Z(x,x) Z(y,y)))
 *
 * An empty sequence gives 0 with all, itself included. Z is a kernel: it is a convolution of
 * exp(beta s(a,b)), which is one for every beta where the distances of substitution.h are squared
 * ones, and of factors for what is skipped. So is k with power = 1, but not always with a smaller
 * one.
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "data/units.h"
#include "kernel/core/field.h"
#include "kernel/string/alignment_lanes.h"
#include "kernel/string/la.h"
#include "kernel/string/substitution_argument.h"
#include "kernel/string/text_field.h"

enum { BETA, OPEN, EXTEND, POWER }; /* parameters, in the order of their declaration */

typedef struct config {
    lth__substitution *matrix; /* NULL = identity */
} config;

static lth_status check_scores(const lth__substitution *matrix, lth_error *err) {
    for (size_t a = 0; matrix && a < matrix->count; a++) {
        for (size_t b = 0; b < matrix->count; b++) {
            double score = lth__substitution_score(matrix, a, b);
            if (fabs(score) <= LTH__MOST_SCORE) continue;
            return lth__fail(err, LTH_EFORMAT,
                             "the matrix has a score of %g for %c with %c: la wants %g at most",
                             score, matrix->letter[a], matrix->letter[b], LTH__MOST_SCORE);
        }
    }
    return LTH_OK;
}

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    *c = (config){0};
    node->config = c;
    LTH_TRY(lth__substitution_argument(kernel, node, "blosum62", &c->matrix, err));
    LTH_TRY(check_scores(c->matrix, err));
    lth__field_def field = {
        .column = node->expr->inputs[0]->name, .type = &lth__field_text, .units = LTH__CHARS};
    LTH_TRY(lth__text_read_wild(kernel, node, &field, err));
    LTH_TRY(lth__kernel_field(kernel, &field, &node->field, err));
    LTH_TRY(lth__node_param(kernel, node, "beta", 0, 0.5, false, err));
    LTH_TRY(lth__node_param(kernel, node, "open", 0, 11, false, err));
    LTH_TRY(lth__node_param(kernel, node, "extend", 0, 1, false, err));
    return lth__node_param(kernel, node, "power", 0, 1, true, err);
}

/* ---- State: sequences by the numbers of their letters, each with its own sum ---- */

typedef struct side {
    const lth__sequences *of;
    uint32_t *letter;      /* of all items, one after the other */
    size_t letters;        /* all of them are below it          */
    lth__alignments *self; /* NULL = they are not asked for     */
} side;

typedef struct state {
    lth__scoring scoring;
    double power;
    side rows, cols;
    bool borrowed; /* the columns' arrays belong to others */
} state;

static void free_side(side *s) {
    lth__free(s->letter);
    lth__free(s->self);
}

static void release(void *p) {
    state *s = p;
    if (!s) return;
    free_side(&s->rows);
    if (!s->borrowed) free_side(&s->cols);
    lth__free(s);
}

static const uint32_t *letters_of(const side *s, size_t item) {
    return s->letter + (s->of->start[item] - s->of->start[0]);
}

static lth__letters_of sequence_of(const side *s, size_t item) {
    return (lth__letters_of){letters_of(s, item), lth__sequence_length(s->of, item)};
}

/* For rows and columns. */
static lth_status make_aligner(const lth__eval *eval, const state *st, const side *rows,
                               const side *cols, bool slopes, lth__aligner **out, lth_error *err) {
    size_t letters = rows->letters > cols->letters ? rows->letters : cols->letters;
    size_t longest = rows->of->longest > cols->of->longest ? rows->of->longest : cols->of->longest;
    return lth__aligner_make(eval->ctx->engine, &st->scoring, letters, longest, slopes, out, err);
}

static lth_status read_letters(const lth__node *node, const lth_items *items, side *s,
                               lth_error *err) {
    const config *c = node->config;
    const lth__lexicon *l = &items->encoder->lexicons[node->field];
    s->of = &items->fields[node->field];
    size_t count = s->of->start[items->count] - s->of->start[0];
    s->letter = lth__alloc(count + 1, sizeof *s->letter);
    if (!s->letter) return lth__fail_memory(err, count * sizeof *s->letter);
    uint32_t *letter = s->letter;
    for (size_t i = 0; i < items->count; i++) {
        const lth__symbol *symbol = lth__sequence_symbols(s->of, i);
        size_t length = lth__sequence_length(s->of, i);
        for (size_t k = 0; k < length; k++, letter++) {
            LTH_TRY(lth__substitution_number(c->matrix, l, symbol[k], i, k, letter, err));
            if (*letter >= s->letters) s->letters = (size_t)*letter + 1;
        }
    }
    return LTH_OK;
}

typedef struct self_job {
    const lth__eval *eval;
    const state *state;
    const side *side;
    lth__aligner **aligner; /* of each worker, or NULL: its memory is worth keeping */
} self_job;

static lth_status align_with_itself(void *user, size_t item, unsigned worker, lth_error *err) {
    self_job *j = user;
    lth__letters_of x = sequence_of(j->side, item);
    lth__aligner **own = &j->aligner[worker];
    j->side->self[item] = (lth__alignments){0};
    if (x.length == 0) return LTH_OK;
    if (!*own)
        LTH_TRY(make_aligner(j->eval, j->state, j->side, j->side, j->eval->gradients, own, err));
    return lth__aligner_sum(*own, x, &x, 1, false, &j->side->self[item], err);
}

static lth_status align_all_with_themselves(const lth__eval *eval, const state *st, side *s,
                                            size_t count, lth_error *err) {
    unsigned workers = eval->ctx->options.threads;
    self_job job = {.eval = eval, .state = st, .side = s};
    job.aligner = lth__calloc(workers, sizeof *job.aligner);
    if (!job.aligner) return lth__fail_memory(err, workers * sizeof *job.aligner);
    lth_status status = lth__parallel_for(eval->ctx, "self-similarities", count, NULL,
                                          align_with_itself, &job, err);
    for (unsigned w = 0; w < workers; w++) lth__aligner_free(job.aligner[w]);
    lth__free(job.aligner);
    return status;
}

static lth_status make_side(const lth__node *node, const lth__eval *eval, const lth_items *items,
                            const state *st, side *s, lth_error *err) {
    LTH_TRY(read_letters(node, items, s, err));
    if (eval->only_diagonal && !eval->keeps) return LTH_OK;
    s->self = lth__alloc(items->count + 1, sizeof *s->self);
    if (!s->self) return lth__fail_memory(err, items->count * sizeof *s->self);
    return align_all_with_themselves(eval, st, s, items->count, err);
}

static void warn_of_empty(const lth__eval *eval, const side *s) {
    size_t empty = 0, first = 0, count = eval->rows->count;
    for (size_t i = count; i-- > 0;) {
        if (lth__sequence_length(s->of, i) == 0) empty++, first = i;
    }
    if (empty > 0 && !eval->quiet)
        lth__log(eval->ctx, LTH_LOG_WARNING,
                 "%zu of %zu sequences are empty (the first is row %zu): their kernel is 0", empty,
                 count, first + 1);
}

static lth_status make_state(const lth__node *node, const lth__eval *eval, state *s,
                             lth_error *err) {
    const config *c = node->config;
    lth__scoring_make(c->matrix, lth__node_value(node, eval, BETA),
                      lth__node_value(node, eval, OPEN), lth__node_value(node, eval, EXTEND),
                      &s->scoring);
    s->scoring.ctx = eval->ctx;
    s->power = lth__node_value(node, eval, POWER);
    LTH_TRY(make_side(node, eval, eval->rows, s, &s->rows, err));
    warn_of_empty(eval, &s->rows);
    const state *kept = lth__kept_state(node, eval);
    if (kept && eval->gradients && !eval->kept->gradients) kept = NULL;
    s->borrowed = eval->cols == eval->rows || kept;
    if (!s->borrowed) return make_side(node, eval, eval->cols, s, &s->cols, err);
    s->cols = eval->cols == eval->rows ? s->rows : kept->rows;
    return LTH_OK;
}

static lth_status prepare(const lth__node *node, lth__eval *eval, void **out, lth_error *err) {
    state *s = lth__calloc(1, sizeof *s);
    if (!s) return lth__fail_memory(err, sizeof *s);
    eval->by_size = true; /* for the lanes of a vector */
    lth_status status = make_state(node, eval, s, err);
    if (status == LTH_OK)
        *out = s;
    else
        release(s);
    return status;
}

lth__la_view lth__la_look(const void *p) {
    const state *s = p;
    return (lth__la_view){.scoring = &s->scoring,
                          .power = s->power,
                          .side = {{s->rows.of, s->rows.letter, s->rows.self},
                                   {s->cols.of, s->cols.letter, s->cols.self}}};
}

/* ---- Pairs ---- */

typedef struct pair {
    double value, log_ratio;  /* k, and log Z(x,y) / sqrt(Z(x,x) Z(y,y))    */
    double slope[EXTEND + 1]; /* of that by beta, open and extend           */
} pair;

/* Two sequences of which one is empty, or that are the same: to the bit. */
static bool is_known(lth__letters_of x, lth__letters_of y, pair *out) {
    bool same =
        x.length == y.length && memcmp(x.letter, y.letter, x.length * sizeof *x.letter) == 0;
    *out = (pair){.value = same && x.length > 0};
    return same || x.length == 0 || y.length == 0;
}

static pair put_pair(const state *s, size_t row, size_t col, const lth__alignments *both) {
    const lth__alignments *x = &s->rows.self[row], *y = &s->cols.self[col];
    double log_ratio = both->log_sum - (x->log_sum + y->log_sum) / 2;
    pair p = {.value = exp(s->power * log_ratio), .log_ratio = log_ratio};
    p.slope[BETA] = both->beta - (x->beta + y->beta) / 2;
    p.slope[OPEN] = both->open - (x->open + y->open) / 2;
    p.slope[EXTEND] = both->extend - (x->extend + y->extend) / 2;
    return p;
}

/* Columns that wait for others to fill the lanes; of those in which the row is x, or not. */
typedef struct waiting {
    lth__letters_of sequence[LTH__MAX_LANES];
    size_t place[LTH__MAX_LANES], count; /* among the tile's columns */
} waiting;

static lth_status compare_waiting(const state *s, const lth__tile *tile, size_t row,
                                  lth__aligner *aligner, bool swapped, waiting *w, pair *out,
                                  lth_error *err) {
    lth__alignments found[LTH__MAX_LANES];
    LTH_TRY(lth__aligner_sum(aligner, sequence_of(&s->rows, row), w->sequence, w->count, swapped,
                             found, err));
    for (size_t i = 0; i < w->count; i++)
        out[w->place[i]] = put_pair(s, row, tile->col[w->place[i]], &found[i]);
    w->count = 0;
    return LTH_OK;
}

/* A row with all columns of the tile. */
static lth_status compare_row(const lth__eval *eval, const state *s, const lth__tile *tile,
                              size_t row, lth__aligner *aligner, pair *out, lth_error *err) {
    waiting all[2] = {{.count = 0}, {.count = 0}};
    lth__letters_of x = sequence_of(&s->rows, row);
    for (size_t c = 0; c < tile->cols; c++) {
        lth__letters_of y = sequence_of(&s->cols, tile->col[c]);
        if (is_known(x, y, &out[c])) continue;
        bool swapped = lth__aligner_swaps(x, y);
        waiting *w = &all[swapped];
        w->sequence[w->count] = y;
        w->place[w->count++] = c;
        if (w->count < lth__aligner_lanes(aligner)) continue;
        LTH_TRY(compare_waiting(s, tile, row, aligner, swapped, w, out, err));
    }
    for (int swapped = 0; swapped < 2; swapped++) {
        if (all[swapped].count > 0)
            LTH_TRY(compare_waiting(s, tile, row, aligner, swapped, &all[swapped], out, err));
    }
    return lth__parallel_ask(eval->ctx);
}

/* Rows one after the other: what is found of each goes to `put`. */
typedef void put_row(void *user, size_t first_pair, const pair *found);

static lth_status compare_tile(const lth__eval *eval, const state *s, const lth__tile *tile,
                               bool slopes, put_row *put, void *user, lth_error *err) {
    lth__aligner *aligner;
    LTH_TRY(make_aligner(eval, s, &s->rows, &s->cols, slopes, &aligner, err));
    pair *found = lth__alloc(tile->cols + 1, sizeof *found);
    lth_status status = found ? LTH_OK : lth__fail_memory(err, tile->cols * sizeof *found);
    for (size_t r = 0; r < tile->rows && status == LTH_OK; r++) {
        status = compare_row(eval, s, tile, tile->row[r], aligner, found, err);
        if (status == LTH_OK) put(user, r * tile->cols, found);
    }
    lth__free(found);
    lth__aligner_free(aligner);
    return status;
}

typedef struct values_of {
    size_t cols;
    double *K;
} values_of;

static void put_values(void *user, size_t first, const pair *found) {
    values_of *v = user;
    for (size_t c = 0; c < v->cols; c++) v->K[first + c] = found[c].value;
}

static lth_status tile_values(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    values_of v = {.cols = tile->cols, .K = K};
    return compare_tile(eval, eval->state[node->index], tile, false, put_values, &v, err);
}

typedef struct pulled {
    const lth__node *node;
    const state *state;
    const double *W;
    const lth__sink *sink;
    values_of values;
} pulled;

static void pull_row(void *user, size_t first, const pair *found) {
    pulled *p = user;
    size_t param = p->node->first_param;
    for (size_t c = 0; c < p->values.cols; c++) {
        double weight = p->W[first + c] * found[c].value;
        for (size_t q = BETA; q <= EXTEND; q++)
            lth__sink_add(p->sink, param + q, first + c,
                          weight * p->state->power * found[c].slope[q]);
        lth__sink_add(p->sink, param + POWER, first + c, weight * found[c].log_ratio);
    }
    if (p->values.K) put_values(&p->values, first, found);
}

static lth_status pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       const double *W, double *K, const lth__sink *sink, lth_error *err) {
    const state *s = eval->state[node->index];
    pulled p = {.node = node, .state = s, .W = W, .sink = sink, .values = {tile->cols, K}};
    return compare_tile(eval, s, tile, true, pull_row, &p, err);
}

static lth_status diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err) {
    (void)eval, (void)err;
    size_t n = items->count;
    for (size_t i = 0; i < n; i++) a[i] = lth__sequence_length(&items->fields[node->field], i) > 0;
    if (slope) memset(slope + node->first_param * n, 0, node->param_count * n * sizeof *slope);
    return LTH_OK;
}

/* ---- Where learning starts ---- */

/* The mean of log Z(x,y) / sqrt(Z(x,x) Z(y,y)) over some pairs. */
static double mean_log_ratio(const state *s, const size_t *x, const size_t *y, size_t pairs,
                             void *room) {
    double sum = 0;
    for (size_t p = 0; p < pairs; p++) {
        const uint32_t *a = letters_of(&s->rows, x[p]), *b = letters_of(&s->rows, y[p]);
        size_t m = lth__sequence_length(s->rows.of, x[p]);
        size_t n = lth__sequence_length(s->rows.of, y[p]);
        lth__alignments ab, aa, bb;
        lth__alignments_sum(&s->scoring, a, m, b, n, false, room, &ab);
        lth__alignments_sum(&s->scoring, a, m, a, m, false, room, &aa);
        lth__alignments_sum(&s->scoring, b, n, b, n, false, room, &bb);
        sum += ab.log_sum - (aa.log_sum + bb.log_sum) / 2;
    }
    return pairs > 0 ? sum / (double)pairs : 0;
}

/* The beta by which two rows are about 1/e times as alike as a row is to itself: with that of the
 * paper proteins are hardly alike at all, and nothing says what to change. */
static lth_status guess(const lth__node *node, const lth__eval *eval, double scale, double *value,
                        lth_error *err) {
    (void)scale;
    enum { PAIRS = 12, HALVINGS = 8 };
    const config *c = node->config;
    state s = *(const state *)eval->state[node->index];
    size_t n = eval->rows->count, x[PAIRS], y[PAIRS], pairs = 0;
    for (size_t p = 0; p < 4 * PAIRS && pairs < PAIRS; p++) {
        x[pairs] = p * 7919 % n, y[pairs] = (p * 104729 + 1) % n;
        pairs += x[pairs] != y[pairs] && lth__sequence_length(s.rows.of, x[pairs]) > 0 &&
                 lth__sequence_length(s.rows.of, y[pairs]) > 0;
    }
    void *room = lth__alloc(lth__alignments_room(s.rows.of->longest) + 1, 1);
    if (!room) return lth__fail_memory(err, 0);
    double lo = log(0.01), hi = log(1);
    lth_status status = LTH_OK;
    for (size_t k = 0; k < HALVINGS && pairs > 0 && status == LTH_OK; k++) {
        double middle = (lo + hi) / 2;
        lth__scoring_make(c->matrix, exp(middle), value[OPEN], value[EXTEND], &s.scoring);
        s.scoring.ctx = eval->ctx;
        double near = s.power * mean_log_ratio(&s, x, y, pairs, room);
        *(near > -1 ? &lo : &hi) = middle;
        status = lth__parallel_ask(eval->ctx);
    }
    if (pairs > 0) value[BETA] = exp((lo + hi) / 2);
    lth__free(room);
    return status;
}

/* ---- The family ---- */

static const lth_argument arguments[] = {
    {.name = "matrix",
     .help = "scores of two letters: 5 and -4 for the same and another, a matrix by its name, or a "
             "file with one",
     .initial = "blosum62",
     .choices = "identity|blosum45|blosum50|blosum62|blosum80|pam250|FILE"},
    {.name = "beta",
     .help = "how much more the best alignments count than others",
     .initial = "0.5",
     .choices = "",
     .learned = true,
     .lo = 1e-3,
     .hi = LTH__MOST_BETA},
    {.name = "open",
     .help = "cost of the first letter that is skipped",
     .initial = "11",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = LTH__MOST_COST},
    {.name = "extend",
     .help = "cost of each letter after it",
     .initial = "1",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = LTH__MOST_COST},
    {.name = "power",
     .help = "of the normalised sum; below 1 it need not be a kernel; held unless given",
     .initial = "1",
     .choices = "",
     .learned = true,
     .lo = 1e-4,
     .hi = 1},
    LTH__WILD_ARGUMENTS,
    {0},
};

const lth__family lth__family_la = {
    .manual = {.name = "la",
               .help = "sequences of letters by all their local alignments, normalised",
               .usage = "la(COLUMN, matrix=blosum62, beta=0.5, open=11, extend=1)",
               .arguments = arguments,
               .kind = LTH_FAMILY_STRING},
    .traits = LTH__TAKES_COLUMN,
    .configure = configure,
    .prepare = prepare,
    .release = release,
    .diagonal = diagonal,
    .tile = tile_values,
    .pull = pull,
    .guess = guess,
    .cell_orders = lth__la_cell_orders,
    .device_able = lth__la_device_able,
    .device_tile = lth__la_device_tile,
    .device_pull = lth__la_device_pull,
};

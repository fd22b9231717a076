/* sites(column): aligned sequences, letter by letter at the same place. With D(a,b) how far two
 * letters are from each other (substitution.h; by identity 0 or 1), L sites, and d_l = e_l D(x_l,
 * y_l) with an exponent e_l for each site:
 *
 *     product:  k = variance exp(-sum_l d_l)
 *     sum:      k = additive sum_l exp(-d_l) / L
 *     both:     the two added
 *
 *     by e_l:   -D(x_l, y_l) (variance exp(-sum d) + additive exp(-d_l) / L)
 *
 * A product says that all sites matter together, a sum that each matters by itself. A pair costs a
 * look at each site in which some rows differ.
 */
#include <math.h>
#include <string.h>

#include "data/table.h"
#include "data/units.h"
#include "kernel/core/encode.h"
#include "kernel/core/field.h"
#include "kernel/string/substitution_argument.h"
#include "kernel/string/text_field.h"

typedef enum form { PRODUCT, SUM, BOTH } form;
enum { MOST_SITES = 20000 };

typedef struct config {
    form form;
    bool left;                 /* shorter rows end with gaps               */
    bool ard;                  /* an exponent for each site, not one       */
    size_t sites;              /* 0 = not known yet                        */
    double shrink;             /* of exponents towards each other          */
    lth__substitution *matrix; /* NULL = identity                          */
} config;

/* Parameters: the variances there are, then the exponents. */
static bool has_product(const config *c) {
    return c->form != SUM;
}

static bool has_sum(const config *c) {
    return c->form != PRODUCT;
}

static size_t first_exponent(const config *c) {
    return (size_t)has_product(c) + has_sum(c);
}

static size_t exponent_at(const config *c, size_t site) {
    return first_exponent(c) + (c->ard ? site : 0);
}

/* ---- Other arguments ---- */

static lth_status declare(lth_kernel *kernel, lth__node *node, const config *c, lth_error *err) {
    if (has_product(c)) LTH_TRY(lth__node_param(kernel, node, "variance", 0, 1, false, err));
    if (has_sum(c)) LTH_TRY(lth__node_param(kernel, node, "additive", 0, 1, false, err));
    size_t count = c->ard ? c->sites : 0; /* 0: one for all, also while their number is open */
    return lth__node_param(kernel, node, "exponent", count, 1, false, err);
}

static lth_status read_length(lth__node *node, config *c, lth_error *err) {
    const lth__argument *a = lth__node_argument(node, "length");
    long sites = 0;
    bool all = !a || (a->value.kind == LTH__VALUE_WORD && strcmp(a->value.word, "all") == 0);
    const lth__argument *each = lth__node_argument(node, "exponent");
    if (all && c->ard && each && each->value.kind == LTH__VALUE_LIST) { /* that says it too */
        c->sites = each->value.count;
        return LTH_OK;
    }
    if (!all) LTH_TRY(lth__node_integer(node, "length", 1, MOST_SITES, 0, &sites, err));
    c->sites = (size_t)sites;
    if (all) node->open = "length";
    return LTH_OK;
}

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    *c = (config){0};
    node->config = c;
    int which, ard, align, lower;
    LTH_TRY(lth__node_choice(node, "form", PRODUCT, &which, err));
    LTH_TRY(lth__node_choice(node, "ard", 1, &ard, err));
    LTH_TRY(lth__node_choice(node, "align", 0, &align, err));
    LTH_TRY(lth__node_choice(node, "lower", 0, &lower, err));
    LTH_TRY(lth__node_constant(node, "shrink", 2, &c->shrink, err));
    c->form = (form)which;
    c->ard = ard == 1;
    c->left = align == 1;
    LTH_TRY(read_length(node, c, err));
    LTH_TRY(lth__substitution_argument(kernel, node, "identity", &c->matrix, err));
    lth__field_def field = {.column = node->expr->inputs[0]->name,
                            .type = &lth__field_text,
                            .units = LTH__CHARS,
                            .lower = lower == 1};
    field.wild.aligned = !c->left;
    LTH_TRY(lth__text_read_wild(kernel, node, &field, err));
    LTH_TRY(lth__kernel_field(kernel, &field, &node->field, err));
    return declare(kernel, node, c, err);
}

/* ---- How many sites a table has ---- */

static size_t count_characters(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static lth_status resolve(const lth__node *node, const lth__field_def *field,
                          const lth_table *table, lth__pool *pool, lth__value *out,
                          lth_error *err) {
    (void)pool;
    const config *c = node->config;
    size_t column, longest = 0, rows = lth_table_rows(table);
    lth__string room = {0};
    lth_status status = LTH_OK;
    LTH_TRY(lth__table_column_at(table, field->column, &column, err));
    for (size_t i = 0; i < rows && status == LTH_OK; i++) {
        size_t length, count = 0;
        const char *text;
        status = lth__text_cell(field, table, i, column, &room, &text, &length, err);
        if (status == LTH_OK) count = count_characters(text, length);
        if (status == LTH_OK && i > 0 && count != longest && !c->left)
            status = lth__fail_at(err, LTH_EFORMAT, lth_table_file(table, i),
                                  lth_table_line(table, i), 0,
                                  "this row has %zu letters in \"%s\", but those before have %zu: "
                                  "sites wants aligned sequences (align=left adds gaps at the end)",
                                  count, field->column, longest);
        if (count > longest) longest = count;
    }
    lth__string_free(&room);
    LTH_TRY(status);
    if (longest == 0 || longest > MOST_SITES)
        return lth__fail_at(err, LTH_EFORMAT, lth_table_name(table), 0, 0,
                            "column \"%s\" has %zu letters a row; sites wants 1 to %d",
                            field->column, longest, (int)MOST_SITES);
    *out = (lth__value){.kind = LTH__VALUE_NUMBER, .given = true, .number = (double)longest};
    return LTH_OK;
}

/* ---- State: letters as numbers, of the sites in which some rows differ ---- */

typedef struct state {
    size_t count;              /* of these sites                                          */
    uint32_t *site;            /* which they are                                          */
    uint32_t *rows, *cols;     /* [item][of these]; the same array where items are        */
    double *exponent;          /* of each of them                                         */
    double variance, additive; /* the second over all L; 0 = that form is not there    */
    double constant;           /* sites in which nobody differs                           */
} state;

static void release(void *p) {
    state *s = p;
    if (!s) return;
    if (s->cols != s->rows) lth__free(s->cols);
    lth__free(s->rows);
    lth__free(s->site);
    lth__free(s->exponent);
    lth__free(s);
}

/* Of a row without it. */
static const uint32_t no_letter = UINT32_MAX;

/* What stands for a missing end: a gap, if the matrix has one. */
static uint32_t gap_of(const config *c) {
    size_t gap = c->matrix ? lth__substitution_letter(c->matrix, '-') : LTH_NONE;
    return gap == LTH_NONE ? no_letter : (uint32_t)gap;
}

static lth_status read_item(const lth__node *node, const lth_items *items, size_t item,
                            uint32_t *letter, lth_error *err) {
    const config *c = node->config;
    const lth__sequences *s = &items->fields[node->field];
    const lth__lexicon *l = &items->encoder->lexicons[node->field];
    const lth__symbol *symbol = lth__sequence_symbols(s, item);
    size_t length = lth__sequence_length(s, item);
    if (length > c->sites || (length < c->sites && !c->left))
        return lth__fail(err, LTH_EFORMAT,
                         "row %zu has %zu letters in \"%s\", but there are %zu sites%s", item + 1,
                         length, l->def->column, c->sites,
                         length < c->sites ? " (align=left adds gaps at the end)" : "");
    if (length < c->sites && c->matrix && gap_of(c) == no_letter)
        return lth__fail(err, LTH_EFORMAT,
                         "row %zu is shorter than the others, and the matrix has no letter \"-\"",
                         item + 1);
    for (size_t i = 0; i < c->sites; i++) {
        letter[i] = gap_of(c);
        if (i < length)
            LTH_TRY(lth__substitution_number(c->matrix, l, symbol[i], item, i, &letter[i], err));
    }
    return LTH_OK;
}

static lth_status read_items(const lth__node *node, const lth_items *items, uint32_t **out,
                             lth_error *err) {
    const config *c = node->config;
    uint32_t *letters = lth__alloc(items->count * c->sites + 1, sizeof *letters);
    if (!letters) return lth__fail_memory(err, items->count * c->sites * sizeof *letters);
    *out = letters;
    for (size_t i = 0; i < items->count; i++)
        LTH_TRY(read_item(node, items, i, letters + i * c->sites, err));
    return LTH_OK;
}

static void mark(const uint32_t *letters, size_t items, size_t sites, const uint32_t *first,
                 bool *differs) {
    for (size_t i = 0; i < items; i++) {
        for (size_t l = 0; l < sites; l++) differs[l] |= letters[i * sites + l] != first[l];
    }
}

/* Only those sites, in place. */
static void pack(uint32_t *letters, size_t items, size_t sites, const state *s) {
    for (size_t i = 0; i < items; i++) {
        for (size_t k = 0; k < s->count; k++)
            letters[i * s->count + k] = letters[i * sites + s->site[k]];
    }
}

static lth_status find_sites(const config *c, const lth__eval *eval, state *s, lth_error *err) {
    bool *differs = lth__calloc(c->sites, sizeof *differs);
    s->site = lth__alloc(c->sites, sizeof *s->site);
    s->exponent = lth__alloc(c->sites, sizeof *s->exponent);
    lth_status status = LTH_OK;
    if (!differs || !s->site || !s->exponent)
        status = lth__fail_memory(err, c->sites * sizeof *s->exponent);
    if (status == LTH_OK) {
        const uint32_t *first = eval->rows->count > 0 ? s->rows : s->cols;
        mark(s->rows, eval->rows->count, c->sites, first, differs);
        mark(s->cols, eval->cols->count, c->sites, first, differs);
        for (size_t l = 0; l < c->sites; l++) {
            if (differs[l]) s->site[s->count++] = (uint32_t)l;
        }
        pack(s->rows, eval->rows->count, c->sites, s);
        if (s->cols != s->rows) pack(s->cols, eval->cols->count, c->sites, s);
    }
    lth__free(differs);
    return status;
}

static lth_status make_state(const lth__node *node, const lth__eval *eval, state *s,
                             lth_error *err) {
    const config *c = node->config;
    if (c->sites == 0)
        return lth__fail(err, LTH_EARG, "sites does not know how many there are: length=N");
    LTH_TRY(read_items(node, eval->rows, &s->rows, err));
    s->cols = s->rows;
    if (eval->cols != eval->rows) {
        s->cols = NULL;
        LTH_TRY(read_items(node, eval->cols, &s->cols, err));
    }
    LTH_TRY(find_sites(c, eval, s, err));
    size_t param = 0;
    if (has_product(c)) s->variance = lth__node_value(node, eval, param++);
    if (has_sum(c)) s->additive = lth__node_value(node, eval, param) / (double)c->sites;
    for (size_t k = 0; k < s->count; k++)
        s->exponent[k] = lth__node_value(node, eval, exponent_at(c, s->site[k]));
    s->constant = s->additive * (double)(c->sites - s->count);
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

/* ---- One row with many columns ---- */

/* How far letter `a` is from all letters, in the order of their numbers; NULL = identity. */
static const double *distances_of(const config *c, uint32_t a) {
    return c->matrix ? c->matrix->distance + (size_t)a * LTH__MOST_LETTERS : NULL;
}

static double distance(const double *of, uint32_t a, uint32_t b) {
    return of ? of[b] : a != b;
}

/* sum_l d_l and, where there is a sum, sum_l exp(-d_l); `letter` of the columns, [site][col]. */
static void add_up(const config *c, const state *s, const uint32_t *row, const uint32_t *letter,
                   size_t cols, double *far, double *near) {
    memset(far, 0, cols * sizeof *far);
    memset(near, 0, cols * sizeof *near);
    for (size_t k = 0; k < s->count; k++, letter += cols) {
        double table[LTH__MOST_LETTERS], closeness[LTH__MOST_LETTERS], e = s->exponent[k];
        const double *of = distances_of(c, row[k]);
        size_t known = of ? c->matrix->count : 0;
        for (size_t b = 0; b < known; b++) table[b] = e * of[b];
        for (size_t b = 0; has_sum(c) && b < known; b++) closeness[b] = exp(-table[b]);
        double apart = exp(-e);
        uint32_t a = row[k];
        if (of) {
            for (size_t j = 0; j < cols; j++) far[j] += table[letter[j]];
            for (size_t j = 0; has_sum(c) && j < cols; j++) near[j] += closeness[letter[j]];
        } else {
            for (size_t j = 0; j < cols; j++) far[j] += letter[j] != a ? e : 0;
            for (size_t j = 0; has_sum(c) && j < cols; j++) near[j] += letter[j] != a ? apart : 1;
        }
    }
}

/* Letters of the tile's columns, site by site. */
static uint32_t *turn(const state *s, const lth__tile *tile) {
    uint32_t *letter = lth__alloc(tile->cols * s->count + 1, sizeof *letter);
    for (size_t k = 0; letter && k < s->count; k++) {
        for (size_t j = 0; j < tile->cols; j++)
            letter[k * tile->cols + j] = s->cols[tile->col[j] * s->count + k];
    }
    return letter;
}

static void put_values(const state *s, size_t cols, const double *far, const double *near,
                       double *K) {
    for (size_t j = 0; j < cols; j++)
        K[j] = (s->variance > 0 ? s->variance * exp(-far[j]) : 0) + s->additive * near[j] +
               s->constant;
}

static lth_status tile_values(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    const state *s = eval->state[node->index];
    uint32_t *letter = turn(s, tile);
    double *far = lth__alloc(2 * tile->cols, sizeof *far), *near = far + tile->cols;
    bool room = letter && far;
    for (size_t i = 0; room && i < tile->rows; i++) {
        add_up(node->config, s, s->rows + tile->row[i] * s->count, letter, tile->cols, far, near);
        put_values(s, tile->cols, far, near, K + i * tile->cols);
    }
    lth__free(letter);
    lth__free(far);
    return room ? LTH_OK : lth__fail_memory(err, tile->cols * s->count * sizeof *letter);
}

/* ---- Derivatives ---- */

/* Of one row: what W owes to the exponents. `weight`: W variance exp(-sum d). */
static void pull_exponents(const lth__node *node, const state *s, const uint32_t *row,
                           const uint32_t *letter, size_t cols, size_t pair, const double *weight,
                           const double *W, const lth__sink *sink) {
    const config *c = node->config;
    for (size_t k = 0; k < s->count; k++, letter += cols) {
        const double *of = distances_of(c, row[k]);
        size_t param = node->first_param + exponent_at(c, s->site[k]);
        double sum = 0;
        for (size_t j = 0; j < cols; j++) {
            double D = distance(of, row[k], letter[j]);
            if (D == 0) continue;
            double by = weight[j];
            if (s->additive > 0) by += W[j] * s->additive * exp(-s->exponent[k] * D);
            if (sink->each)
                lth__sink_add(sink, param, pair + j, -D * by);
            else
                sum -= D * by;
        }
        if (!sink->each) sink->sum[param] += sum;
    }
}

static void pull_row(const lth__node *node, const state *s, const uint32_t *row,
                     const uint32_t *letter, size_t cols, size_t pair, const double *W, double *far,
                     double *near, double *K, const lth__sink *sink) {
    const config *c = node->config;
    size_t additive = node->first_param + has_product(c);
    add_up(c, s, row, letter, cols, far, near);
    if (K) put_values(s, cols, far, near, K);
    for (size_t j = 0; j < cols; j++) {
        double product = exp(-far[j]);
        double same = (double)(c->sites - s->count);
        if (has_product(c)) lth__sink_add(sink, node->first_param, pair + j, W[j] * product);
        if (has_sum(c))
            lth__sink_add(sink, additive, pair + j, W[j] * (near[j] + same) / (double)c->sites);
        far[j] = W[j] * s->variance * product;
    }
    pull_exponents(node, s, row, letter, cols, pair, far, W, sink);
}

static lth_status pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       const double *W, double *K, const lth__sink *sink, lth_error *err) {
    const state *s = eval->state[node->index];
    uint32_t *letter = turn(s, tile);
    double *far = lth__alloc(2 * tile->cols, sizeof *far), *near = far + tile->cols;
    bool room = letter && far;
    for (size_t i = 0; room && i < tile->rows; i++) {
        size_t pair = i * tile->cols;
        pull_row(node, s, s->rows + tile->row[i] * s->count, letter, tile->cols, pair, W + pair,
                 far, near, K ? K + pair : NULL, sink);
    }
    lth__free(letter);
    lth__free(far);
    return room ? LTH_OK : lth__fail_memory(err, tile->cols * s->count * sizeof *letter);
}

/* Nothing is far from itself. */
static lth_status diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err) {
    (void)err;
    const config *c = node->config;
    size_t n = items->count, variances = first_exponent(c);
    double sum = 0;
    for (size_t p = 0; p < variances; p++) sum += lth__node_value(node, eval, p);
    for (size_t i = 0; i < n; i++) a[i] = sum;
    if (!slope) return LTH_OK;
    double *own = slope + node->first_param * n;
    memset(own, 0, node->param_count * n * sizeof *own);
    for (size_t i = 0; i < variances * n; i++) own[i] = 1;
    return LTH_OK;
}

/* ---- Where learning starts ---- */

/* So that two rows are e^-1 times as alike as a row is to itself, as a sample of them goes. */
static lth_status guess(const lth__node *node, const lth__eval *eval, double scale, double *value,
                        lth_error *err) {
    (void)err;
    enum { PAIRS = 2000 };
    const config *c = node->config;
    const state *s = eval->state[node->index];
    size_t n = eval->rows->count, variances = first_exponent(c);
    double sum = 0;
    for (size_t p = 0; n > 1 && p < PAIRS; p++) {
        const uint32_t *x = s->rows + p % n * s->count;
        const uint32_t *y = s->rows + (p * 7919 + 1 + p / n) % n * s->count;
        for (size_t k = 0; k < s->count; k++)
            sum += distance(distances_of(c, x[k]), x[k], y[k]) / PAIRS;
    }
    for (size_t p = 0; p < variances; p++) value[p] = scale / (double)variances;
    for (size_t p = variances; p < node->param_count; p++) value[p] = sum > 0 ? 1 / sum : 1;
    return LTH_OK;
}

/* Exponents are drawn to their mean, as logarithms. */
static double penalty(const lth__node *node, const lth_kernel *kernel, double *gradient) {
    static const double least = 1e-12; /* an exponent of 0 has no logarithm */
    const config *c = node->config;
    size_t first = node->first_param + first_exponent(c), count = c->ard ? c->sites : 0;
    double mean = 0, sum = 0, unit = 1 / (c->shrink * c->shrink);
    for (size_t l = 0; l < count; l++)
        mean += log(fmax(kernel->params[first + l].value, least)) / (double)count;
    for (size_t l = 0; l < count; l++) {
        double e = fmax(kernel->params[first + l].value, least), off = log(e) - mean;
        sum += off * off * unit / 2;
        gradient[first + l] += off * unit / e; /* what it does to the mean sums to 0 */
    }
    return sum;
}

/* ---- Explanations ---- */

/* What a sum owes to a site is plain. A product falls short of `variance` as d_l grow together: of
 * that each has its share, d_l / sum d; and of what k(x,x) is all that differ in some row have the
 * same. */
static lth_status attribute(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                            const double *W, double *share, lth_error *err) {
    (void)err;
    const config *c = node->config;
    const state *s = eval->state[node->index];
    const uint32_t *row = s->rows + *tile->row * s->count;
    size_t parts = lth__sequence_length(&eval->rows->fields[node->field], *tile->row);
    for (size_t j = 0; j < tile->cols; j++) {
        const uint32_t *col = s->cols + tile->col[j] * s->count;
        double far = 0, whole = s->variance + s->additive * (double)c->sites;
        for (size_t k = 0; k < s->count; k++)
            far += s->exponent[k] * distance(distances_of(c, row[k]), row[k], col[k]);
        double lost = far > 0 ? s->variance * -expm1(-far) / far : 0;
        if (s->count == 0) share[0] += W[j] * whole;
        for (size_t k = 0; k < s->count; k++) {
            double d = s->exponent[k] * distance(distances_of(c, row[k]), row[k], col[k]);
            size_t part = s->site[k] < parts ? s->site[k] : parts - 1;
            share[part] += W[j] * (whole / (double)s->count - d * lost - s->additive * -expm1(-d));
        }
    }
    return LTH_OK;
}

/* ---- The family ---- */

static const lth_argument arguments[] = {
    {.name = "matrix",
     .help = "how far letters are from each other: the same or not, a matrix of scores by its "
             "name, or a file with one",
     .initial = "identity",
     .choices = "identity|blosum45|blosum50|blosum62|blosum80|pam250|FILE"},
    {.name = "form",
     .help = "sites matter together, each by itself, or both",
     .initial = "product",
     .choices = "product|sum|both"},
    {.name = "ard",
     .help = "an exponent for each site, or one for all",
     .initial = "yes",
     .choices = "no|yes"},
    {.name = "align",
     .help = "rows of other lengths are an error, or end with gaps",
     .initial = "no",
     .choices = "no|left"},
    {.name = "lower",
     .help = "whether lower case is the same as upper; it is for letters of a matrix",
     .initial = "no",
     .choices = "no|yes"},
    LTH__WILD_ARGUMENTS,
    {.name = "length",
     .help = "how many sites there are: as many as the rows of the table have",
     .initial = "all",
     .choices = "all|1..20000"},
    {.name = "shrink",
     .help = "how far exponents may be from each other: standard deviation of their logarithms",
     .initial = "2",
     .choices = "above 0"},
    {.name = "variance",
     .help = "k(x,x) of the product",
     .initial = "1",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1e9,
     .role = LTH_ROLE_VARIANCE},
    {.name = "additive",
     .help = "k(x,x) of the sum",
     .initial = "1",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1e9,
     .role = LTH_ROLE_VARIANCE},
    {.name = "exponent",
     .help = "how much a difference at the site counts",
     .initial = "",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1e4,
     .role = LTH_ROLE_SITE},
    {0},
};

const lth__family lth__family_sites = {
    .manual = {.name = "sites",
               .help = "aligned sequences, letter by letter at the same place",
               .usage = "sites(COLUMN, matrix=identity, form=product, ...)",
               .arguments = arguments,
               .kind = LTH_FAMILY_STRING},
    .traits = LTH__TAKES_COLUMN,
    .configure = configure,
    .resolve = resolve,
    .prepare = prepare,
    .release = release,
    .diagonal = diagonal,
    .tile = tile_values,
    .pull = pull,
    .guess = guess,
    .penalty = penalty,
    .attribute = attribute,
};

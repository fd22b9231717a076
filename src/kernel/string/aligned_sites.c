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
 * look at the sites in which the two differ from most rows, or at all of them (aligned_sites.h).
 */
#include <math.h>
#include <string.h>

#include "data/table.h"
#include "data/units.h"
#include "kernel/core/encode.h"
#include "kernel/core/field.h"
#include "kernel/string/aligned_sites.h"
#include "kernel/string/substitution_argument.h"
#include "kernel/string/text_field.h"

enum { MOST_SITES = 20000 };
typedef lth__sites_config config;
typedef lth__sites_state state;

/* ---- Other arguments ---- */

static lth_status declare(lth_kernel *kernel, lth__node *node, const config *c, lth_error *err) {
    if (lth__sites_has_product(c))
        LTH_TRY(lth__node_param(kernel, node, "variance", 0, 1, false, err));
    if (lth__sites_has_sum(c)) LTH_TRY(lth__node_param(kernel, node, "additive", 0, 1, false, err));
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
    LTH_TRY(lth__node_choice(node, "form", LTH__SITES_PRODUCT, &which, err));
    LTH_TRY(lth__node_choice(node, "ard", 1, &ard, err));
    LTH_TRY(lth__node_choice(node, "align", 0, &align, err));
    LTH_TRY(lth__node_choice(node, "lower", 0, &lower, err));
    LTH_TRY(lth__node_constant(node, "shrink", 2, &c->shrink, err));
    c->form = (lth__sites_form)which;
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

/* ---- Diagonal ---- */

/* Nothing is far from itself. */
static lth_status diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err) {
    (void)err;
    const config *c = node->config;
    size_t n = items->count, variances = lth__sites_variances(c);
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
    size_t n = eval->rows->count, variances = lth__sites_variances(c);
    double sum = 0;
    for (size_t p = 0; n > 1 && p < PAIRS; p++) {
        const uint32_t *x = s->rows.letter + p % n * c->sites;
        const uint32_t *y = s->rows.letter + (p * 7919 + 1 + p / n) % n * c->sites;
        for (size_t l = 0; l < c->sites; l++) sum += lth__sites_distance(c, x[l], y[l]) / PAIRS;
    }
    for (size_t p = 0; p < variances; p++) value[p] = scale / (double)variances;
    for (size_t p = variances; p < node->param_count; p++) value[p] = sum > 0 ? 1 / sum : 1;
    return LTH_OK;
}

/* Exponents are drawn to their mean, as logarithms. */
static double penalty(const lth__node *node, const lth_kernel *kernel, double *gradient) {
    static const double least = 1e-12; /* an exponent of 0 has no logarithm */
    const config *c = node->config;
    size_t first = node->first_param + lth__sites_variances(c), count = c->ard ? c->sites : 0;
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

static double difference(const config *c, const state *s, const uint32_t *row, const uint32_t *col,
                         size_t site) {
    return s->exponent[site] * lth__sites_distance(c, row[site], col[site]);
}

/* What a sum owes to a site is plain. A product falls short of `variance` as d_l grow together: of
 * that each has its share, d_l / sum d; and of what k(x,x) is all that differ in some row have the
 * same. */
static lth_status attribute(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                            const double *W, double *share, lth_error *err) {
    (void)err;
    const config *c = node->config;
    const state *s = eval->state[node->index];
    const uint32_t *row = s->rows.letter + *tile->row * c->sites;
    size_t parts = lth__sequence_length(&eval->rows->fields[node->field], *tile->row);
    for (size_t j = 0; j < tile->cols; j++) {
        const uint32_t *col = s->cols.letter + tile->col[j] * c->sites;
        double far = 0, whole = s->variance + s->additive * (double)c->sites;
        for (size_t k = 0; k < s->count; k++) far += difference(c, s, row, col, s->site[k]);
        double lost = far > 0 ? s->variance * -expm1(-far) / far : 0;
        if (s->count == 0) share[0] += W[j] * whole;
        for (size_t k = 0; k < s->count; k++) {
            double d = difference(c, s, row, col, s->site[k]);
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
    .prepare = lth__sites_prepare,
    .release = lth__sites_release,
    .diagonal = diagonal,
    .tile = lth__sites_tile,
    .pull = lth__sites_pull,
    .guess = guess,
    .penalty = penalty,
    .attribute = attribute,
};

/* Sparse features of a text by counting: bow, tfidf, ngrams; gappy has tuples with gaps (gappy.c).
 *
 * A feature is a unit of the text or a tuple of units next to one another, and its weight depends
 * on how often the text has it: count, presence = 1, log = 1 + ln count; in tfidf, and with
 * idf=yes, times
 *
 *     idf = ln((1 + N) / (1 + df)) + 1
 *
 * where df of the N rows of the first encoded table have it: later tables do not move the features
 * of earlier ones. The weights are made once, when a table is encoded.
 */
#include "kernel/feature/sparse.h"

#include <math.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "data/units.h"

enum { COUNT, PRESENCE, LOG }; /* weightings */

typedef lth__sparse_config config;

/* ---- Encoding ---- */

enum { TUPLES_TO_ASK = 1 << 16 }; /* from one question whether to go on to the next */

/* Features while they are collected, one for each time they occur. */
typedef struct collector {
    const config *config;
    lth__pace pace;
    lth__feature_space *space;
    uint32_t *found; /* in the row at hand */
    size_t count, found_capacity;
    lth__features out;
    size_t feature_capacity, weight_capacity;
} collector;

static lth_status take_tuple(void *user, const lth__symbol *tuple, const size_t *place,
                             lth_error *err) {
    (void)place;
    collector *c = user;
    lth__symbols *grams = c->space->grams;
    lth__symbol feature = *tuple;
    if (!lth__goes_on(&c->pace, 1)) return LTH_ECANCELED;
    if (grams)
        feature = lth__symbols_intern(grams, (const char *)tuple, c->config->to * sizeof *tuple);
    if (feature == LTH__NO_SYMBOL) return lth__fail_memory(err, 0);
    if (!lth__reserve((void **)&c->found, &c->found_capacity, c->count + 1, sizeof *c->found))
        return lth__fail_memory(err, c->count * sizeof *c->found);
    c->found[c->count++] = feature;
    return LTH_OK;
}

static lth_status find_features(collector *c, const lth__symbol *unit, size_t length,
                                lth_error *err) {
    lth__symbols *grams = c->space->grams;
    c->count = 0;
    if (c->config->window > 0)
        return lth__gappy_tuples(c->config, unit, length, take_tuple, c, err);
    for (size_t n = c->config->from; n <= c->config->to && n <= length; n++) {
        size_t tuples = length - n + 1;
        if (!lth__reserve((void **)&c->found, &c->found_capacity, c->count + tuples,
                          sizeof *c->found))
            return lth__fail_memory(err, (c->count + tuples) * sizeof *c->found);
        for (size_t k = 0; k < tuples; k++) {
            lth__symbol feature = unit[k];
            if (!lth__goes_on(&c->pace, 1)) return LTH_ECANCELED;
            if (grams)
                feature = lth__symbols_intern(grams, (const char *)(unit + k), n * sizeof *unit);
            if (feature == LTH__NO_SYMBOL) return lth__fail_memory(err, 0);
            c->found[c->count++] = feature;
        }
    }
    return LTH_OK;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The found features in order, equal ones as one, with their number for a weight. */
static lth_status append_row(collector *c, size_t row, lth_error *err) {
    lth__features *out = &c->out;
    size_t used = out->start[row], need = used + c->count;
    if (!lth__reserve((void **)&out->feature, &c->feature_capacity, need, sizeof *out->feature) ||
        !lth__reserve((void **)&out->weight, &c->weight_capacity, need, sizeof *out->weight))
        return lth__fail_memory(err, need * sizeof *out->weight);
    if (c->count > 0) qsort(c->found, c->count, sizeof *c->found, by_number);
    for (size_t i = 0; i < c->count; i++) {
        if (i > 0 && c->found[i] == c->found[i - 1]) {
            out->weight[used - 1]++;
            continue;
        }
        out->feature[used] = c->found[i];
        out->weight[used++] = 1;
    }
    out->start[row + 1] = used;
    return LTH_OK;
}

static lth_status collect(collector *c, const lth__sequences *texts, lth_error *err) {
    c->out.start = lth__alloc(texts->count + 1, sizeof *c->out.start);
    if (!c->out.start) return lth__fail_memory(err, (texts->count + 1) * sizeof *c->out.start);
    c->out.start[0] = 0;
    for (size_t i = 0; i < texts->count; i++) {
        const lth__symbol *unit = texts->symbols + texts->start[i];
        LTH_TRY(find_features(c, unit, lth__sequence_length(texts, i), err));
        LTH_TRY(append_row(c, i, err));
    }
    return LTH_OK;
}

/* Occurrences and rows of every feature of the first items. */
static lth_status learn(lth__feature_space *space, const lth__features *f, size_t rows,
                        size_t known, lth_error *err) {
    lth__free(space->seen); /* of other rows, or a table that could not be encoded */
    lth__free(space->rows_with);
    space->seen = lth__calloc(known, sizeof *space->seen);
    space->rows_with = lth__calloc(known, sizeof *space->rows_with);
    space->rows = rows;
    space->known = known;
    if (!space->seen || !space->rows_with)
        return lth__fail_memory(err, 2 * known * sizeof *space->seen);
    for (size_t i = 0; i < f->start[rows]; i++) {
        space->seen[f->feature[i]] += (size_t)f->weight[i];
        space->rows_with[f->feature[i]]++;
    }
    return LTH_OK;
}

bool lth__sparse_learns(const lth__node *node) {
    const config *c = node->config;
    return c->idf || c->min_count > 1;
}

/* One that the first items lack has been seen now, so once. */
bool lth__sparse_is_rare(const config *c, const lth__feature_space *space, uint32_t feature) {
    size_t seen = feature < space->known ? space->seen[feature] : 0;
    return (seen > 0 ? seen : 1) < c->min_count;
}

static double weigh(const config *c, const lth__feature_space *space, uint32_t feature,
                    double count) {
    double weight = c->weighting == COUNT ? count : c->weighting == LOG ? 1 + log(count) : 1;
    if (!c->idf) return weight;
    size_t rows_with = feature < space->known ? space->rows_with[feature] : 0;
    return weight * (log((1 + (double)space->rows) / (1 + (double)rows_with)) + 1);
}

double lth__sparse_weigh(const config *c, const lth__feature_space *space, uint32_t feature,
                         double count) {
    return lth__sparse_is_rare(c, space, feature) ? 0 : weigh(c, space, feature, count);
}

/* From counts to weights, in place; rare features go. */
static void weigh_all(const config *c, const lth__feature_space *space, lth__features *f,
                      size_t rows) {
    size_t used = 0, first = 0;
    for (size_t r = 0; r < rows; r++) {
        size_t last = f->start[r + 1];
        for (size_t i = first; i < last; i++) {
            if (lth__sparse_is_rare(c, space, f->feature[i])) continue;
            f->weight[used] = weigh(c, space, f->feature[i], f->weight[i]);
            f->feature[used++] = f->feature[i];
        }
        f->start[r + 1] = used;
        first = last;
    }
}

/* Give back what was reserved for more. */
static void fit(lth__features *f, size_t rows) {
    void *feature = lth__realloc(f->feature, f->start[rows], sizeof *f->feature);
    if (feature) f->feature = feature;
    void *weight = lth__realloc(f->weight, f->start[rows], sizeof *f->weight);
    if (weight) f->weight = weight;
}

lth_status lth__sparse_encode(const lth__node *node, lth_items *items, lth_error *err) {
    lth_encoder *encoder = items->encoder;
    lth__feature_space *space = &encoder->spaces[node->index];
    collector c = {.config = node->config,
                   .pace = {.ctx = encoder->ctx, .most = TUPLES_TO_ASK},
                   .space = space};
    if (c.config->to > 1 && !space->grams) {
        space->grams = lth__symbols_create();
        if (!space->grams) return lth__fail_memory(err, 0);
    }
    lth_status status = collect(&c, &items->fields[node->field], err);
    lth__free(c.found);
    items->features[node->index] = c.out;
    if (status != LTH_OK) return status;
    const lth__symbols *all = space->grams ? space->grams : encoder->lexicons[node->field].symbols;
    if (!encoder->has_encoded)
        LTH_TRY(learn(space, &c.out, items->count, lth__symbols_count(all), err));
    weigh_all(c.config, space, &c.out, items->count);
    fit(&c.out, items->count);
    items->features[node->index] = c.out;
    return LTH_OK;
}

/* ---- Families ---- */

#define N_ARGUMENT                                                                                 \
    {                                                                                              \
        .name = "n", .help = "units next to one another, or a range of that: [2,4]",               \
        .initial = "3", .choices = "1..32"                                                         \
    }
#define IDF_ARGUMENT                                                                               \
    {                                                                                              \
        .name = "idf", .help = "times ln((1 + N) / (1 + df)) + 1: rare ones count for more",       \
        .initial = "no", .choices = "no|yes"                                                       \
    }

static const lth_argument unit_arguments[] = {LTH__UNITS_ARGUMENT("words"),
                                              LTH__LOWER_ARGUMENT("yes"),
                                              LTH__MIN_COUNT_ARGUMENT,
                                              LTH__WEIGHTING_ARGUMENT,
                                              {0}};
static const lth_argument ngrams_arguments[] = {N_ARGUMENT,
                                                LTH__UNITS_ARGUMENT("chars"),
                                                LTH__LOWER_ARGUMENT("no"),
                                                LTH__MIN_COUNT_ARGUMENT,
                                                LTH__WEIGHTING_ARGUMENT,
                                                IDF_ARGUMENT,
                                                {0}};

static bool whole_number(const lth__value *v, size_t *out) {
    if (v->kind != LTH__VALUE_NUMBER || !v->given || v->tag) return false;
    if (v->number != floor(v->number) || v->number < 1 || v->number > LTH__SPARSE_MOST)
        return false;
    *out = (size_t)v->number;
    return true;
}

/* n=3 or n=[2,4] */
static lth_status read_n(const lth__node *node, config *c, lth_error *err) {
    const lth__argument *a = lth__node_argument(node, "n");
    if (!a) return LTH_OK;
    const lth__value *v = &a->value;
    bool list = v->kind == LTH__VALUE_LIST, ok = list ? v->count == 2 : true;
    ok = ok && whole_number(list ? &v->items[0] : v, &c->from);
    ok = ok && whole_number(list ? &v->items[1] : v, &c->to);
    if (ok && c->from <= c->to) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column,
                        "n of ngrams is a whole number from 1 to %d, or a range such as [2,4]",
                        LTH__SPARSE_MOST);
}

lth_status lth__sparse_configure(lth_kernel *kernel, lth__node *node, config *c, int standard_units,
                                 lth_error *err) {
    node->config = c;
    int units, lower;
    long min_count;
    LTH_TRY(lth__node_choice(node, "units", standard_units, &units, err));
    bool lowers = units == LTH__WORDS || units == LTH__TOKENS || c->folds;
    LTH_TRY(lth__node_choice(node, "lower", lowers, &lower, err));
    LTH_TRY(lth__node_integer(node, "min_count", 1, 1000000000, 1, &min_count, err));
    LTH_TRY(lth__node_choice(node, "weighting", COUNT, &c->weighting, err));
    c->min_count = (size_t)min_count;
    lth__field_def field = {.column = node->expr->inputs[0]->name,
                            .type = &lth__field_text,
                            .units = units,
                            .lower = lower};
    return lth__kernel_field(kernel, &field, &node->field, err);
}

static lth_status configure(lth_kernel *kernel, lth__node *node, config start, int standard_units,
                            lth_error *err) {
    config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    *c = start;
    int idf;
    LTH_TRY(lth__node_choice(node, "idf", c->idf, &idf, err));
    c->idf = idf;
    LTH_TRY(read_n(node, c, err));
    return lth__sparse_configure(kernel, node, c, standard_units, err);
}

static lth_status configure_bow(lth_kernel *kernel, lth__node *node, lth_error *err) {
    return configure(kernel, node, (config){.from = 1, .to = 1}, LTH__WORDS, err);
}

static lth_status configure_tfidf(lth_kernel *kernel, lth__node *node, lth_error *err) {
    return configure(kernel, node, (config){.from = 1, .to = 1, .idf = true}, LTH__WORDS, err);
}

static lth_status configure_ngrams(lth_kernel *kernel, lth__node *node, lth_error *err) {
    return configure(kernel, node, (config){.from = 3, .to = 3}, LTH__CHARS, err);
}

#define FAMILY(name_, help_, usage_, arguments_)                                                   \
    const lth__family lth__family_##name_ = {                                                      \
        .manual = {.name = #name_,                                                                 \
                   .help = help_,                                                                  \
                   .usage = usage_,                                                                \
                   .arguments = arguments_,                                                        \
                   .kind = LTH_FAMILY_MAP},                                                        \
        .traits = LTH__TAKES_COLUMN,                                                               \
        .configure = configure_##name_,                                                            \
        .encode = lth__sparse_encode,                                                              \
        .learns = lth__sparse_learns,                                                              \
        .features_to_units = lth__sparse_features_to_units,                                        \
        .feature_units = lth__sparse_feature_units,                                                \
        LTH__SPARSE_FUNCTIONS,                                                                     \
    }

FAMILY(bow, "feature map: how often a text has each word", "bow(COLUMN), as in rbf(bow(text))",
       unit_arguments);
FAMILY(tfidf, "feature map: how often a text has each word, rare words counting for more",
       "tfidf(COLUMN), as in linear(tfidf(text))", unit_arguments);
FAMILY(ngrams, "feature map: how often a text has each sequence of n units",
       "ngrams(COLUMN, n=3), as in linear(ngrams(text, n=3, units=chars))", ngrams_arguments);

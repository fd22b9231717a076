/* Words that stand for their neighbours in meaning: semantic.
 *
 *     k_ab = (P^T t_a) . (P^T t_b)        P_ij = 1 / (1 + d_ij), 0 where that is less than `least`
 *
 * t are the weights of tfidf. d_ij is the number of links in WordNet between the nearest meanings
 * of words i and j: the path similarity of Siolas & d'Alche-Buc (2000) and of NLTK. A word that the
 * dictionary lacks stands for itself, P_ij = [i = j]; so does one that the first encoded table
 * lacks: then later tables, and models, need no dictionary.
 *
 * The features are P^T t, made once. A text costs the neighbours of its words.
 */
#include <math.h>
#include <string.h>

#include "data/units.h"
#include "data/wordnet.h"
#include "kernel/feature/proximity.h"
#include "kernel/feature/sparse.h"

typedef struct config {
    lth__sparse_config map; /* first: the words are counted by it */
    size_t farthest;        /* links                              */
} config;

/* ---- Encoding ---- */

/* The rows of P for the words of the first items. */
static lth_status learn(const config *c, const lth__symbols *words, lth__feature_space *space,
                        lth_error *err) {
    lth__free(space->kept); /* of other rows, or a table that could not be encoded */
    space->kept = NULL;
    bool *rare = lth__alloc(space->known, sizeof *rare);
    if (!rare) return lth__fail_memory(err, space->known * sizeof *rare);
    for (size_t i = 0; i < space->known; i++)
        rare[i] = space->seen[i] == 0 || lth__sparse_is_rare(&c->map, space, (uint32_t)i);
    lth_status status = lth__proximity_make(words, space->known, rare, c->farthest, &space->kept,
                                            &space->kept_size, err);
    lth__free(rare);
    return status;
}

/* Sums by feature, and which features have one. */
typedef struct sums {
    double *sum;
    uint64_t *met; /* a bit for each */
    size_t count;
} sums;

static void add(sums *s, size_t feature, double weight) {
    uint64_t bit = UINT64_C(1) << feature % 64;
    s->count += !(s->met[feature / 64] & bit);
    s->met[feature / 64] |= bit;
    s->sum[feature] += weight;
}

static void smooth_text(const lth__proximity *p, const lth__features *t, size_t text, sums *s) {
    for (size_t i = t->start[text]; i < t->start[text + 1]; i++) {
        size_t word = t->feature[i];
        add(s, word, t->weight[i]);
        if (word >= p->words) continue;
        for (size_t k = (size_t)p->start[word]; k < p->start[word + 1]; k++)
            add(s, p->word[k], t->weight[i] / (1 + (double)p->distance[k]));
    }
}

/* Features by ascending number; the sums are zero again. */
static void take_out(sums *s, uint32_t *feature, double *weight) {
    for (size_t block = 0, used = 0; used < s->count; block++) {
        for (; s->met[block]; s->met[block] &= s->met[block] - 1) {
            size_t f = block * 64 + (size_t)__builtin_ctzll(s->met[block]);
            feature[used] = (uint32_t)f;
            weight[used++] = s->sum[f];
            s->sum[f] = 0;
        }
    }
    s->count = 0;
}

static lth_status smooth_all(const lth__proximity *p, const lth__features *t, size_t texts, sums *s,
                             lth__features *out, lth_error *err) {
    size_t feature_capacity = 0, weight_capacity = 0;
    out->start = lth__alloc(texts + 1, sizeof *out->start);
    if (!out->start) return lth__fail_memory(err, (texts + 1) * sizeof *out->start);
    out->start[0] = 0;
    for (size_t i = 0; i < texts; i++) {
        smooth_text(p, t, i, s);
        size_t used = out->start[i], need = used + s->count;
        if (!lth__reserve((void **)&out->feature, &feature_capacity, need, sizeof *out->feature) ||
            !lth__reserve((void **)&out->weight, &weight_capacity, need, sizeof *out->weight))
            return lth__fail_memory(err, need * sizeof *out->weight);
        take_out(s, out->feature + used, out->weight + used);
        out->start[i + 1] = need;
    }
    return LTH_OK;
}

static void free_features(lth__features *f) {
    lth__free(f->start);
    lth__free(f->feature);
    lth__free(f->weight);
}

/* From t to P^T t. */
static lth_status smooth(const lth__proximity *p, size_t words, size_t texts, lth__features *f,
                         lth_error *err) {
    size_t blocks = words / 64 + 1;
    lth__features smoothed = {0};
    sums s = {.sum = lth__calloc(words, sizeof *s.sum), .met = lth__calloc(blocks, sizeof *s.met)};
    lth_status status = s.sum && s.met ? LTH_OK : lth__fail_memory(err, words * sizeof *s.sum);
    if (status == LTH_OK) status = smooth_all(p, f, texts, &s, &smoothed, err);
    lth__free(s.sum);
    lth__free(s.met);
    if (status != LTH_OK) {
        free_features(&smoothed);
        return status;
    }
    free_features(f);
    *f = smoothed;
    return LTH_OK;
}

static lth_status encode(const lth__node *node, lth_items *items, lth_error *err) {
    lth_encoder *encoder = items->encoder;
    lth__feature_space *space = &encoder->spaces[node->index];
    const lth__symbols *words = encoder->lexicons[node->field].symbols;
    LTH_TRY(lth__sparse_encode(node, items, err));
    if (!encoder->has_encoded && !space->restored) LTH_TRY(learn(node->config, words, space, err));
    lth__proximity p;
    if (!lth__proximity_view(space->kept, space->kept_size, space->known, &p))
        return lth__fail(err, LTH_EFORMAT, "the model is damaged: its neighbouring words");
    return smooth(&p, lth__symbols_count(words), items->count, &items->features[node->index], err);
}

/* ---- Explanations ---- */

/* A word gives the features of its neighbours, too, each as much as P says: that is its share. */
static lth_status features_to_units(const lth__node *node, const lth_items *items, size_t item,
                                    const double *share, double *unit, lth_error *err) {
    const lth_encoder *encoder = items->encoder;
    const lth__feature_space *space = &encoder->spaces[node->index];
    const lth__features *f = &items->features[node->index];
    const lth__sequences *texts = &items->fields[node->field];
    size_t words = lth__symbols_count(encoder->lexicons[node->field].symbols);
    size_t length = lth__sequence_length(texts, item);
    const lth__symbol *word = lth__sequence_symbols(texts, item);
    lth__proximity p;
    if (!lth__proximity_view(space->kept, space->kept_size, space->known, &p))
        return lth__fail(err, LTH_EFORMAT, "the model is damaged: its neighbouring words");
    double *by_feature = lth__calloc(2 * words, sizeof *by_feature), *count = by_feature + words;
    if (!by_feature) return lth__fail_memory(err, 2 * words * sizeof *by_feature);
    for (size_t i = f->start[item]; i < f->start[item + 1]; i++)
        by_feature[f->feature[i]] = share[i - f->start[item]] / f->weight[i];
    for (size_t k = 0; k < length; k++) count[word[k]]++;
    for (size_t k = 0; k < length; k++) {
        double sum = by_feature[word[k]];
        for (size_t n = word[k] < p.words ? (size_t)p.start[word[k]] : 0;
             word[k] < p.words && n < p.start[word[k] + 1]; n++)
            sum += by_feature[p.word[n]] / (1 + (double)p.distance[n]);
        double weight = lth__sparse_weigh(node->config, space, word[k], count[word[k]]);
        unit[k] += sum * weight / count[word[k]];
    }
    lth__free(by_feature);
    return LTH_OK;
}

/* ---- The family ---- */

static const lth_argument arguments[] = {
    {.name = "least",
     .help = "words less similar than this, by 1 / (1 + links between their nearest meanings), are "
             "unrelated",
     .initial = "0.5",
     .choices = "0.05..1"},
    {.name = "units",
     .help = "what a text is cut into: words at white space, tokens with punctuation apart",
     .initial = "tokens",
     .choices = "words|tokens"},
    LTH__MIN_COUNT_ARGUMENT,
    LTH__WEIGHTING_ARGUMENT,
    {0}};

static lth_status read_least(const lth__node *node, size_t *farthest, lth_error *err) {
    const lth__argument *a = lth__node_argument(node, "least");
    double least = 0.5;
    if (a) {
        const lth__value *v = &a->value;
        bool plain = v->kind == LTH__VALUE_NUMBER && v->given && !v->tag;
        if (!plain || !(v->number >= 0.05 && v->number <= 1))
            return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column,
                                "least of semantic is a number from 0.05 to 1");
        least = v->number;
    }
    *farthest = (size_t)(1 / least - 1 + 1e-9); /* 1 / 0.2 may be a little less than 5 */
    return LTH_OK;
}

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    *c = (config){.map = {.from = 1, .to = 1, .idf = true}};
    LTH_TRY(read_least(node, &c->farthest, err));
    return lth__sparse_configure(kernel, node, &c->map, LTH__TOKENS, err);
}

const lth__family lth__family_semantic = {
    .manual = {.name = "semantic",
               .help =
                   "feature map: tfidf, where each word also counts for the words that are near "
                   "it in WordNet; needs the package wordnet-base when a table is first read, "
                   "but not to predict",
               .usage = "semantic(COLUMN), as in normalize(semantic(text))",
               .arguments = arguments,
               .kind = LTH_FAMILY_MAP},
    .traits = LTH__TAKES_COLUMN,
    .configure = configure,
    .encode = encode,
    .learns = lth__sparse_learns,
    .features_to_units = features_to_units,
    .feature_units = lth__sparse_feature_units,
    LTH__SPARSE_FUNCTIONS,
};

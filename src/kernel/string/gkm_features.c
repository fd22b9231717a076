/* The gapped k-mers of gkm as sparse features, for machines that learn a weight for each:
 *
 *     number = first(mask) + the k letters as a number to the base of the alphabet
 *     weight = sqrt(weights_k) sum over its places of w(d)
 *
 * A mask says which k of l places a k-mer has, and the numbers of all masks follow each other.
 * On both strands a k-mer f and its reverse complement f' are one feature, with the lesser number
 * of the two: counted on either strand they have the same sum c(f) + c(f'), and 1/sqrt(2) of it
 * twice is 1 of it once. Where f' is f, it is sqrt(2) c(f).
 *
 * Letters that no training row has are in no numbered k-mer. What a row has of these is one last
 * feature, so that its length is right; nothing else has a part in it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parallel.h"
#include "data/units.h"
#include "kernel/string/gkm.h"
#include "kernel/string/text_field.h"

enum { ROWS_TO_A_JOB = 16, DIGIT = 11 };
static const double most_features = 1 << 28; /* weights of 2 GiB */

typedef lth__gkm_config config;
typedef lth__gkm_sequence sequence;

/* ---- All gapped k-mers ---- */

typedef struct shape {
    uint32_t mask;
    uint64_t first;  /* number of its k-mers                           */
    uint64_t mirror; /* of those of the mask that is this one reversed */
} shape;

typedef struct space {
    const config *c;
    size_t letters; /* of the alphabet                    */
    shape *shapes;  /* by k, then by mask                 */
    size_t count;
    uint64_t end[LTH__MOST_WIDTH + 1]; /* by k: the number after its last one */
} space;

static uint64_t power(size_t base, size_t k) {
    return k == 0 ? 1 : base * power(base, k - 1);
}

static uint32_t reverse(uint32_t mask, size_t width) {
    uint32_t turned = 0;
    for (size_t t = 0; t < width; t++) turned |= (mask >> t & 1) << (width - 1 - t);
    return turned;
}

static size_t alphabet_of(const config *c, const lth__lexicon *l) {
    size_t known = l->known > 0 ? l->known : 1;
    return c->dna ? 4 : known;
}

static double count_kmers(const config *c, size_t letters) {
    double count = 0;
    for (size_t k = c->least; k <= c->most; k++)
        count += c->choose[k][c->width] * pow((double)letters, (double)k);
    return count;
}

static lth_status fail_many(const config *c, size_t letters, double count, lth_error *err) {
    return lth__fail(err, LTH_EARG,
                     "gkm with l=%zu and k up to %zu has %.3g features over %zu letters, but the "
                     "linear solver takes %.3g: use a smaller k, or the solver kernel",
                     c->width, c->most, count, letters, most_features);
}

/* The shape of a mask; those of one k are in ascending order. */
static const shape *find_shape(const space *s, size_t first, size_t end, uint32_t mask) {
    while (end - first > 1) {
        size_t middle = first + (end - first) / 2;
        *(s->shapes[middle].mask <= mask ? &first : &end) = middle;
    }
    return &s->shapes[first];
}

static void fill_shapes(space *s) {
    const config *c = s->c;
    uint64_t number = 0;
    for (size_t k = c->least; k <= c->most; k++) {
        size_t first = s->count;
        for (uint32_t mask = 0; mask < UINT32_C(1) << c->width; mask++) {
            if ((size_t)__builtin_popcount(mask) != k) continue;
            s->shapes[s->count++] = (shape){.mask = mask, .first = number};
            number += power(s->letters, k);
        }
        s->end[k] = number;
        for (size_t i = first; i < s->count; i++)
            s->shapes[i].mirror =
                find_shape(s, first, s->count, reverse(s->shapes[i].mask, c->width))->first;
    }
}

static lth_status open_space(const lth__node *node, const lth_encoder *encoder, space *out,
                             lth_error *err) {
    const config *c = node->config;
    space s = {.c = c, .letters = alphabet_of(c, &encoder->lexicons[node->field])};
    double count = count_kmers(c, s.letters), shapes = 0;
    if (count > most_features) return fail_many(c, s.letters, count, err);
    for (size_t k = c->least; k <= c->most; k++) shapes += c->choose[k][c->width];
    s.shapes = lth__alloc((size_t)shapes, sizeof *s.shapes);
    if (!s.shapes) return lth__fail_memory(err, (size_t)shapes * sizeof *s.shapes);
    fill_shapes(&s);
    *out = s;
    return LTH_OK;
}

/* ---- Those of a sequence ---- */

/* A k-mer at place i. */
typedef struct found {
    size_t at;
    const shape *shape;
    uint64_t number;
    bool own_mirror;
} found;

typedef void take_fn(void *user, const found *f);

static uint64_t letter_at(const sequence *x, size_t i) {
    return x->letter ? x->letter[i] : x->symbol[i];
}

/* Whether its letters are all in the alphabet. */
static bool read_kmer(const space *s, const sequence *x, found *f) {
    uint64_t code = 0, mirror = 0, unit = 1;
    for (uint32_t mask = f->shape->mask; mask != 0; mask &= mask - 1) {
        uint64_t letter = letter_at(x, f->at + (size_t)__builtin_ctz(mask));
        if (letter >= s->letters) return false;
        code = code * s->letters + letter;
        mirror += (s->letters - 1 - letter) * unit;
        unit *= s->letters;
    }
    uint64_t own = f->shape->first + code, other = f->shape->mirror + mirror;
    f->number = s->c->both && other < own ? other : own;
    f->own_mirror = s->c->both && own == other;
    return true;
}

/* Whether all of them have a number, but for what equals nothing. */
static bool visit_kmers(const space *s, const sequence *x, take_fn *take, void *user) {
    bool all = true;
    for (size_t n = 0; n < s->count; n++) {
        found f = {.shape = &s->shapes[n]};
        for (; f.at + s->c->width <= x->length; f.at++) {
            if (read_kmer(s, x, &f))
                take(user, &f);
            else
                all = s->c->dna;
        }
    }
    return all;
}

/* ---- Sorted and counted ---- */

/* A number in the upper half, whether it is its own mirror, and how much it counts. */
static const uint64_t own_mirror = UINT64_C(1) << 31;

typedef struct collector {
    const lth__node *node;
    const lth_items *items;
    const space *space;
    const lth__eval *eval;
    const lth__gkm_sides *sides;
    double scale[LTH__MOST_WIDTH + 1]; /* by k */
    lth__features out;
    size_t *length; /* of each row */
} collector;

typedef struct room {
    uint64_t *found, *other;
    size_t count;
    lth__gkm_bench bench;
} room;

static size_t kmers_of(const collector *c, size_t length) {
    size_t width = c->space->c->width;
    return length < width ? 0 : (length - width + 1) * c->space->count;
}

static void collect(void *user, const found *f) {
    room *r = user;
    uint64_t weight = lth__gkm_window_weight(&r->bench, r->bench.row.length, f->at);
    r->found[r->count++] = f->number << 32 | (f->own_mirror ? own_mirror : 0) | weight;
}

/* By number. */
static void sort(room *r, uint64_t end) {
    for (unsigned shift = 32; shift < 64 && end >> (shift - 32) > 0; shift += DIGIT) {
        size_t start[(1 << DIGIT) + 1] = {0}, mask = (1 << DIGIT) - 1;
        for (size_t i = 0; i < r->count; i++) start[(r->found[i] >> shift & mask) + 1]++;
        for (size_t d = 0; d < mask; d++) start[d + 1] += start[d];
        for (size_t i = 0; i < r->count; i++)
            r->other[start[r->found[i] >> shift & mask]++] = r->found[i];
        uint64_t *sorted = r->other;
        r->other = r->found;
        r->found = sorted;
    }
}

/* How many features they are. */
static size_t merge(const collector *c, const room *r, uint32_t *feature, double *weight) {
    size_t used = 0, k = c->space->c->least;
    for (size_t i = 0, end; i < r->count; i = end) {
        uint64_t number = r->found[i] >> 32, sum = 0;
        for (end = i; end < r->count && r->found[end] >> 32 == number; end++)
            sum += r->found[end] & (own_mirror - 1);
        while (number >= c->space->end[k]) k++;
        feature[used] = (uint32_t)number;
        weight[used++] = (double)sum * c->scale[k] * (r->found[i] & own_mirror ? sqrt(2) : 1);
    }
    return used;
}

/* What the row is longer than its numbered features. */
static double find_rest(const collector *c, const room *r, const double *weight, size_t count) {
    double S[LTH__MOST_WIDTH + 1], square = 0;
    const config *g = c->space->c;
    lth__gkm_compare(&r->bench, r->bench.row, S, 1);
    for (size_t k = g->least; k <= g->most; k++)
        square += lth__node_value(c->node, c->eval, k - g->least) * S[k - g->least];
    for (size_t i = 0; i < count; i++) square -= weight[i] * weight[i];
    return sqrt(fmax(square, 0));
}

static void collect_row(const collector *c, room *r, size_t row) {
    size_t first = c->out.start[row], end = (size_t)c->space->end[c->space->c->most];
    lth__gkm_bench_row(&r->bench, lth__gkm_sequence_at(&c->sides->rows, row));
    r->count = 0;
    bool all = visit_kmers(c->space, &r->bench.row, collect, r);
    sort(r, end);
    size_t count = merge(c, r, c->out.feature + first, c->out.weight + first);
    if (!all) {
        c->out.feature[first + count] = (uint32_t)end;
        c->out.weight[first + count] = find_rest(c, r, c->out.weight + first, count);
        count++;
    }
    c->length[row] = count;
}

static lth_status collect_rows(void *user, size_t job, unsigned worker, lth_error *err) {
    (void)worker;
    const collector *c = user;
    size_t most = kmers_of(c, c->sides->longest), first = job * ROWS_TO_A_JOB;
    uint64_t *block = lth__alloc(2 * most + 1, sizeof *block);
    if (!block) return lth__fail_memory(err, 2 * most * sizeof *block);
    room r = {.found = block, .other = block + most};
    lth_status status = lth__gkm_bench_open(c->space->c, c->sides, c->eval->ctx, &r.bench, err);
    for (size_t i = first; status == LTH_OK && i < c->items->count && i < first + ROWS_TO_A_JOB;
         i++) {
        collect_row(c, &r, i);
        status = lth__parallel_ask(c->eval->ctx);
    }
    lth__gkm_bench_close(&r.bench);
    lth__free(block);
    return status;
}

/* ---- All rows ---- */

/* Room for every k-mer and the rest; most k-mers of a row are different ones. */
static lth_status open_collector(collector *c, lth_error *err) {
    const config *g = c->space->c;
    size_t rows = c->items->count, most = 0;
    c->length = lth__alloc(rows, sizeof *c->length);
    c->out.start = lth__alloc(rows + 1, sizeof *c->out.start);
    if (!c->length || !c->out.start) return lth__fail_memory(err, rows * sizeof *c->length);
    for (size_t i = 0; i <= rows; i++) {
        c->out.start[i] = most;
        if (i < rows) most += kmers_of(c, lth__sequence_length(c->sides->rows.from, i)) + 1;
    }
    char what[96];
    snprintf(what, sizeof what, "the features of %zu rows (gkm with l=%zu and k up to %zu)", rows,
             g->width, g->most);
    LTH_TRY(lth__memory_check(most * (sizeof *c->out.feature + sizeof *c->out.weight), what,
                              "use fewer rows, a smaller l or k, or the solver kernel", err));
    c->out.feature = lth__alloc(most, sizeof *c->out.feature);
    c->out.weight = lth__alloc(most, sizeof *c->out.weight);
    if (!c->out.feature || !c->out.weight) return lth__fail_memory(err, most * sizeof(double));
    double once = c->sides->weight ? 1.0 / LTH__GKM_ONE : 1;
    for (size_t k = g->least; k <= g->most; k++)
        c->scale[k] = once * sqrt(lth__node_value(c->node, c->eval, k - g->least));
    return LTH_OK;
}

/* One row after the other, and what was too much given back. */
static void close_ranks(collector *c) {
    lth__features *f = &c->out;
    size_t used = 0;
    for (size_t i = 0; i < c->items->count; i++) {
        memmove(f->feature + used, f->feature + f->start[i], c->length[i] * sizeof *f->feature);
        memmove(f->weight + used, f->weight + f->start[i], c->length[i] * sizeof *f->weight);
        f->start[i] = used;
        used += c->length[i];
    }
    f->start[c->items->count] = used;
    void *feature = lth__realloc(f->feature, used, sizeof *f->feature);
    if (feature) f->feature = feature;
    void *weight = lth__realloc(f->weight, used, sizeof *f->weight);
    if (weight) f->weight = weight;
}

static lth_status collect_all(collector *c, lth_error *err) {
    size_t jobs = (c->items->count + ROWS_TO_A_JOB - 1) / ROWS_TO_A_JOB;
    lth_status status = open_collector(c, err);
    if (status == LTH_OK)
        status = lth__parallel_for(c->eval->ctx, "gapped k-mers", jobs, NULL, collect_rows, c, err);
    if (status == LTH_OK) close_ranks(c);
    lth__free(c->length);
    if (status == LTH_OK) return LTH_OK;
    lth__free(c->out.start);
    lth__free(c->out.feature);
    lth__free(c->out.weight);
    return status;
}

static lth__eval eval_of(const lth_items *items) {
    return (lth__eval){.ctx = lth__items_ctx(items),
                       .kernel = items->encoder->kernel,
                       .rows = items,
                       .cols = items};
}

lth_status lth__gkm_features(const lth__node *node, const lth_items *items, lth__features *out,
                             lth_error *err) {
    space s;
    lth__gkm_sides sides;
    lth__eval eval = eval_of(items);
    LTH_TRY(open_space(node, items->encoder, &s, err));
    lth_status status = lth__gkm_sides_make(node, &eval, &sides, err);
    if (status == LTH_OK) {
        collector c = {.node = node, .items = items, .space = &s, .eval = &eval, .sides = &sides};
        status = collect_all(&c, err);
        if (status == LTH_OK) *out = c.out;
        lth__gkm_sides_free(&sides);
    }
    lth__free(s.shapes);
    return status;
}

/* ---- Explanations ---- */

typedef struct sharing {
    const lth__gkm_bench *bench;
    const lth__features *f;
    size_t item;
    const double *share;
    double *places, *unit; /* unit NULL = places are counted */
} sharing;

/* Its number among those of the item, which has it. */
static size_t find_feature(const sharing *h, uint64_t number) {
    size_t first = h->f->start[h->item], low = first, high = h->f->start[h->item + 1];
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(h->f->feature[middle] <= number ? &low : &high) = middle;
    }
    return low - first;
}

/* Evenly to the units of every place, as much as the place counts. */
static void share_kmer(void *user, const found *f) {
    sharing *h = user;
    size_t n = find_feature(h, f->number);
    double times = (double)lth__gkm_window_weight(h->bench, h->bench->row.length, f->at);
    if (!h->unit) {
        h->places[n] += times;
        return;
    }
    double part = h->share[n] * times / h->places[n] / __builtin_popcount(f->shape->mask);
    for (uint32_t mask = f->shape->mask; mask != 0; mask &= mask - 1)
        h->unit[f->at + (size_t)__builtin_ctz(mask)] += part;
}

static lth_status share_item(const lth__node *node, const lth__eval *eval, const space *s,
                             sharing *h, double *unit, lth_error *err) {
    size_t count = h->f->start[h->item + 1] - h->f->start[h->item];
    lth__gkm_sides sides;
    lth__gkm_bench bench = {0};
    LTH_TRY(lth__gkm_sides_make(node, eval, &sides, err));
    lth_status status = lth__gkm_bench_open(s->c, &sides, eval->ctx, &bench, err);
    h->places = lth__calloc(count + 1, sizeof *h->places);
    if (status == LTH_OK && !h->places) status = lth__fail_memory(err, count * sizeof(double));
    if (status == LTH_OK) {
        h->bench = &bench;
        lth__gkm_bench_row(&bench, lth__gkm_sequence_at(&sides.rows, h->item));
        visit_kmers(s, &bench.row, share_kmer, h);
        h->unit = unit;
        visit_kmers(s, &bench.row, share_kmer, h);
    }
    lth__free(h->places);
    lth__gkm_bench_close(&bench);
    lth__gkm_sides_free(&sides);
    return status;
}

lth_status lth__gkm_features_to_units(const lth__node *node, const lth_items *items, size_t item,
                                      const double *share, double *unit, lth_error *err) {
    space s;
    lth__eval eval = eval_of(items);
    sharing h = {.f = &items->features[node->index], .item = item, .share = share};
    LTH_TRY(open_space(node, items->encoder, &s, err));
    lth_status status = share_item(node, &eval, &s, &h, unit, err);
    lth__free(s.shapes);
    return status;
}

/* "GA.T..CA", a point for each place that is skipped. */
static void write_kmer(const space *s, const lth__lexicon *l, uint64_t number, lth__string *out) {
    static const char dna[] = "ACGT";
    bool words = l->def->units == LTH__WORDS || l->def->units == LTH__TOKENS;
    size_t n = 0;
    while (n + 1 < s->count && s->shapes[n + 1].first <= number) n++;
    uint32_t mask = s->shapes[n].mask;
    uint64_t code = number - s->shapes[n].first;
    uint64_t unit = power(s->letters, (size_t)__builtin_popcount(mask) - 1);
    for (mask >>= __builtin_ctz(mask); mask != 0; mask >>= 1) {
        lth__symbol letter = (lth__symbol)(code / unit);
        if (mask & 1) {
            if (s->c->dna)
                lth__string_append(out, dna + letter, 1);
            else
                lth__units_write(l, &letter, NULL, 1, out);
            code %= unit;
            if (unit > 1) unit /= s->letters;
        } else {
            lth__string_append(out, ".", 1);
        }
        if (words && mask > 1) lth__string_append(out, " ", 1);
    }
}

lth_status lth__gkm_feature_text(const lth__node *node, const lth_encoder *encoder,
                                 uint32_t feature, lth__string *out, lth_error *err) {
    space s;
    LTH_TRY(open_space(node, encoder, &s, err));
    if (feature < s.end[s.c->most])
        write_kmer(&s, &encoder->lexicons[node->field], feature, out);
    else
        lth__string_append(out, "?", 1);
    lth__free(s.shapes);
    return LTH_OK;
}

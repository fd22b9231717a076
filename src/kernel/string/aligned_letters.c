/* Letters of aligned rows as numbers, and where rows have other letters than most. */
#include <math.h>
#include <string.h>

#include "kernel/core/encode.h"
#include "kernel/string/aligned_sites.h"
#include "kernel/string/substitution_argument.h"

static void free_side(lth__aligned *side) {
    lth__free(side->letter);
    lth__free(side->common);
    lth__free(side->differs);
    lth__free(side->start);
    lth__free(side->odd);
}

void lth__sites_release(void *p) {
    lth__sites_state *s = p;
    if (!s) return;
    free_side(&s->rows);
    if (!s->borrowed) free_side(&s->cols);
    lth__free(s->site);
    lth__free(s->exponent);
    lth__free(s->off);
    lth__free(s);
}

/* ---- Reading ---- */

/* Of a row without it. */
static const uint32_t no_letter = UINT32_MAX;

/* What stands for a missing end: a gap, if the matrix has one. */
static uint32_t gap_of(const lth__sites_config *c) {
    size_t gap = c->matrix ? lth__substitution_letter(c->matrix, '-') : LTH_NONE;
    return gap == LTH_NONE ? no_letter : (uint32_t)gap;
}

static lth_status check_length(const lth__sites_config *c, const lth__lexicon *l, size_t item,
                               size_t length, lth_error *err) {
    if (length > c->sites || (length < c->sites && !c->left))
        return lth__fail(err, LTH_EFORMAT,
                         "row %zu has %zu letters in \"%s\", but there are %zu sites%s", item + 1,
                         length, l->def->column, c->sites,
                         length < c->sites ? " (align=left adds gaps at the end)" : "");
    if (length < c->sites && c->matrix && gap_of(c) == no_letter)
        return lth__fail(err, LTH_EFORMAT,
                         "row %zu is shorter than the others, and the matrix has no letter \"-\"",
                         item + 1);
    return LTH_OK;
}

/* Most letters are those of the row before, whose numbers are known. */
static lth_status read_item(const lth__node *node, const lth_items *items, size_t item,
                            uint32_t *letter, lth_error *err) {
    const lth__sites_config *c = node->config;
    const lth__sequences *s = &items->fields[node->field];
    const lth__lexicon *l = &items->encoder->lexicons[node->field];
    const lth__symbol *symbol = lth__sequence_symbols(s, item);
    const lth__symbol *before = item > 0 ? lth__sequence_symbols(s, item - 1) : NULL;
    size_t length = lth__sequence_length(s, item), known = 0;
    if (before) known = lth__sequence_length(s, item - 1);
    LTH_TRY(check_length(c, l, item, length, err));
    for (size_t i = 0; i < length; i++) {
        if (i < known && symbol[i] == before[i])
            letter[i] = *(letter + i - c->sites);
        else
            LTH_TRY(lth__substitution_number(c->matrix, l, symbol[i], item, i, &letter[i], err));
    }
    uint32_t gap = length < c->sites ? gap_of(c) : no_letter;
    for (size_t i = length; i < c->sites; i++) letter[i] = gap;
    return LTH_OK;
}

static lth_status read_items(const lth__node *node, const lth_items *items, lth__aligned *side,
                             lth_error *err) {
    size_t sites = ((const lth__sites_config *)node->config)->sites;
    side->items = items->count;
    side->letter = lth__alloc(items->count * sites + 1, sizeof *side->letter);
    if (!side->letter) return lth__fail_memory(err, items->count * sites * sizeof *side->letter);
    for (size_t i = 0; i < items->count; i++)
        LTH_TRY(read_item(node, items, i, side->letter + i * sites, err));
    return LTH_OK;
}

/* ---- What is common, and what is not ---- */

/* The letter of more than half of the items, where there is one; else some letter. Each item votes
 * for its own, or against another. */
static lth_status find_common(lth__aligned *side, size_t sites, lth_error *err) {
    side->common = lth__calloc(sites, sizeof *side->common);
    size_t *votes = lth__calloc(sites, sizeof *votes);
    bool room = side->common && votes;
    for (size_t i = 0; room && i < side->items; i++) {
        const uint32_t *letter = side->letter + i * sites;
        for (size_t l = 0; l < sites; l++) {
            if (votes[l] == 0) side->common[l] = letter[l];
            votes[l] += side->common[l] == letter[l] ? 1 : (size_t)-1;
        }
    }
    lth__free(votes);
    return room ? LTH_OK : lth__fail_memory(err, sites * sizeof *votes);
}

static void count_differences(lth__aligned *side, size_t sites, const uint32_t *common) {
    for (size_t i = 0; i < side->items; i++) {
        const uint32_t *letter = side->letter + i * sites;
        for (size_t l = 0; l < sites; l++) {
            bool odd = letter[l] != common[l];
            side->differs[l] |= odd;
            side->differences += odd;
        }
    }
}

static void list_differences(lth__aligned *side, size_t sites, const uint32_t *common) {
    uint32_t *odd = side->odd;
    for (size_t i = 0; i < side->items; i++) {
        const uint32_t *letter = side->letter + i * sites;
        side->start[i] = (size_t)(odd - side->odd);
        for (size_t l = 0; l < sites; l++) {
            if (letter[l] != common[l]) *odd++ = (uint32_t)l;
        }
        *odd++ = LTH__NO_SITE;
    }
}

/* `common`: NULL = find out. */
static lth_status make_side(const lth__node *node, const lth_items *items, const uint32_t *common,
                            lth__aligned *side, lth_error *err) {
    enum { MOST_SHARE = 4 }; /* of the letters, one in so many may be in lists */
    size_t sites = ((const lth__sites_config *)node->config)->sites;
    LTH_TRY(read_items(node, items, side, err));
    if (!common) {
        LTH_TRY(find_common(side, sites, err));
        common = side->common;
    }
    side->differs = lth__calloc(sites, sizeof *side->differs);
    if (!side->differs) return lth__fail_memory(err, sites);
    count_differences(side, sites, common);
    if (side->differences > side->items * sites / MOST_SHARE) return LTH_OK;
    size_t length = side->differences + side->items;
    side->start = lth__alloc(side->items + 1, sizeof *side->start);
    side->odd = lth__alloc(length + 1, sizeof *side->odd);
    if (!side->start || !side->odd) return lth__fail_memory(err, length * sizeof *side->odd);
    list_differences(side, sites, common);
    return LTH_OK;
}

/* ---- The state ---- */

static double mean_differences(const lth__aligned *side) {
    return side->items > 0 ? (double)side->differences / (double)side->items : 0;
}

/* A site of a list takes some times as long as one of all sites in their order. */
static bool lists_are_short(const lth__sites_state *s) {
    enum { TIMES = 8 };
    double both = mean_differences(&s->rows) + mean_differences(&s->cols);
    return s->rows.start && s->cols.start && TIMES * both <= (double)s->count;
}

static lth_status find_sites(const lth__sites_config *c, lth__sites_state *s, lth_error *err) {
    s->site = lth__alloc(c->sites, sizeof *s->site);
    if (!s->site) return lth__fail_memory(err, c->sites * sizeof *s->site);
    for (size_t l = 0; l < c->sites; l++) {
        if (s->rows.differs[l] || s->cols.differs[l]) s->site[s->count++] = (uint32_t)l;
    }
    return LTH_OK;
}

static lth_status compare_with_common(const lth__sites_config *c, lth__sites_state *s,
                                      lth_error *err) {
    s->letters = c->matrix ? c->matrix->count : 1;
    s->off = lth__alloc(c->sites * s->letters, sizeof *s->off);
    if (!s->off) return lth__fail_memory(err, c->sites * s->letters * sizeof *s->off);
    for (size_t l = 0; l < c->sites; l++) {
        for (uint32_t a = 0; a < s->letters; a++) {
            double D = c->matrix ? lth__sites_distance(c, a, s->cols.common[l]) : 1;
            double d = s->exponent[l] * D;
            double lost = lth__sites_has_sum(c) ? 1 - exp(-d) : 0;
            s->off[l * s->letters + a] = (lth__apart){.D = D, .d = d, .lost = lost};
        }
    }
    return LTH_OK;
}

static lth_status read_parameters(const lth__node *node, const lth__eval *eval, lth__sites_state *s,
                                  lth_error *err) {
    const lth__sites_config *c = node->config;
    size_t param = 0;
    s->exponent = lth__alloc(c->sites, sizeof *s->exponent);
    if (!s->exponent) return lth__fail_memory(err, c->sites * sizeof *s->exponent);
    if (lth__sites_has_product(c)) s->variance = lth__node_value(node, eval, param++);
    if (lth__sites_has_sum(c)) s->additive = lth__node_value(node, eval, param) / (double)c->sites;
    for (size_t l = 0; l < c->sites; l++)
        s->exponent[l] = lth__node_value(node, eval, lth__sites_exponent(c, l));
    return LTH_OK;
}

static lth_status make_sides(const lth__node *node, const lth__eval *eval, lth__sites_state *s,
                             lth_error *err) {
    const lth__sites_state *kept = lth__kept_state(node, eval);
    bool symmetric = eval->rows == eval->cols;
    s->borrowed = symmetric || kept;
    if (symmetric) {
        LTH_TRY(make_side(node, eval->rows, NULL, &s->rows, err));
        s->cols = s->rows;
        return LTH_OK;
    }
    if (kept)
        s->cols = kept->rows;
    else
        LTH_TRY(make_side(node, eval->cols, NULL, &s->cols, err));
    return make_side(node, eval->rows, s->cols.common, &s->rows, err);
}

static lth_status make_state(const lth__node *node, const lth__eval *eval, lth__sites_state *s,
                             lth_error *err) {
    const lth__sites_config *c = node->config;
    if (c->sites == 0)
        return lth__fail(err, LTH_EARG, "sites does not know how many there are: length=N");
    LTH_TRY(make_sides(node, eval, s, err));
    LTH_TRY(find_sites(c, s, err));
    LTH_TRY(read_parameters(node, eval, s, err));
    s->by_lists = lists_are_short(s);
    return s->by_lists ? compare_with_common(c, s, err) : LTH_OK;
}

lth_status lth__sites_prepare(const lth__node *node, lth__eval *eval, void **out, lth_error *err) {
    lth__sites_state *s = lth__calloc(1, sizeof *s);
    if (!s) return lth__fail_memory(err, sizeof *s);
    lth_status status = make_state(node, eval, s, err);
    if (status == LTH_OK)
        *out = s;
    else
        lth__sites_release(s);
    return status;
}

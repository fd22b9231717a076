/* Sequences of gkm: letters as bytes, where these can tell them apart. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "kernel/string/gkm.h"
#include "kernel/string/text_field.h"

enum { PAD = LTH__LETTER_PAD };

typedef lth__gkm_letters letters;

static size_t place_of(const lth__sequences *s, size_t item) {
    return s->start[item] + (item + 1) * PAD;
}

lth__gkm_sequence lth__gkm_sequence_at(const letters *l, size_t item) {
    return (lth__gkm_sequence){.letter = l->letter ? l->letter + place_of(l->from, item) : NULL,
                               .symbol = lth__sequence_symbols(l->from, item),
                               .length = lth__sequence_length(l->from, item)};
}

/* A, C, G and T (or U) are 0 to 3, so that 3 less a letter is its complement; other codes of IUPAC
 * and gaps equal nothing. -1: no letter of DNA. */
static int dna_letter(const char *text, size_t length) {
    static const char known[] = "acgt", other[] = "nryswkmbdhv-.";
    int lower = length == 1 ? tolower((unsigned char)*text) : 0;
    if (lower == 0) return -1;
    if (lower == 'u') lower = 't';
    const char *at = strchr(known, lower);
    if (at) return (int)(at - known);
    return strchr(other, lower) ? LTH__NO_LETTER : -1;
}

static lth_status letter_of(const lth__gkm_config *c, const lth__lexicon *l, lth__symbol symbol,
                            size_t item, size_t at, uint8_t *out, lth_error *err) {
    int letter = (int)symbol;
    if (c->dna) {
        size_t length;
        const char *text = lth__symbols_text(l->symbols, symbol, &length);
        letter = dna_letter(text, length);
        if (letter < 0) return lth__text_fail_letter(l, symbol, item, "place", at, "DNA", err);
    }
    *out = (uint8_t)letter;
    return LTH_OK;
}

static bool fits_bytes(const lth__sequences *s) {
    lth__symbol most = 0;
    for (size_t i = 0; i < s->start[s->count]; i++)
        most = s->symbols[i] > most ? s->symbols[i] : most;
    return most < LTH__NO_ROW_LETTER;
}

static lth_status read_letters(const lth__node *node, const lth_items *items, letters *out,
                               lth_error *err) {
    const lth__sequences *s = out->from;
    const lth__lexicon *l = &items->encoder->lexicons[node->field];
    size_t size = s->start[s->count] + (s->count + 1) * PAD;
    out->letter = lth__alloc(size, 1);
    if (!out->letter) return lth__fail_memory(err, size);
    memset(out->letter, LTH__NO_LETTER, size);
    for (size_t i = 0; i < s->count; i++) {
        uint8_t *to = out->letter + place_of(s, i);
        for (size_t p = 0; p < lth__sequence_length(s, i); p++)
            LTH_TRY(letter_of(node->config, l, lth__sequence_symbols(s, i)[p], i, p, &to[p], err));
    }
    return LTH_OK;
}

static lth_status read_both(const lth__node *node, const lth__eval *eval, lth__gkm_sides *s,
                            lth_error *err) {
    const lth__gkm_config *c = node->config;
    if (!c->dna && !(fits_bytes(s->rows.from) && fits_bytes(s->cols.from))) return LTH_OK;
    LTH_TRY(read_letters(node, eval->rows, &s->rows, err));
    if (eval->cols != eval->rows) return read_letters(node, eval->cols, &s->cols, err);
    s->cols.letter = s->rows.letter;
    return LTH_OK;
}

/* The least is a fifty-first of the most. */
static lth_status make_weights(const lth__gkm_config *c, lth__gkm_sides *s, lth_error *err) {
    enum { MOST = 50 };
    if (c->half == 0) return LTH_OK;
    s->weight = lth__alloc(s->longest + 1, sizeof *s->weight);
    if (!s->weight) return lth__fail_memory(err, (s->longest + 1) * sizeof *s->weight);
    for (size_t d = 0; d <= s->longest; d++) {
        double weight = (1 + MOST * exp2(-(double)d / 2 / c->half)) / (1 + MOST);
        s->weight[d] = (uint64_t)round(LTH__GKM_ONE * weight);
    }
    return LTH_OK;
}

lth_status lth__gkm_sides_make(const lth__node *node, const lth__eval *eval, lth__gkm_sides *out,
                               lth_error *err) {
    lth__gkm_sides s = {.rows.from = &eval->rows->fields[node->field],
                        .cols.from = &eval->cols->fields[node->field]};
    size_t rows = s.rows.from->longest, cols = s.cols.from->longest;
    s.longest = rows > cols ? rows : cols;
    lth_status status = make_weights(node->config, &s, err);
    if (status == LTH_OK) status = read_both(node, eval, &s, err);
    if (status == LTH_OK)
        *out = s;
    else
        lth__gkm_sides_free(&s);
    return status;
}

void lth__gkm_sides_free(lth__gkm_sides *s) {
    if (s->cols.letter != s->rows.letter) lth__free(s->cols.letter);
    lth__free(s->rows.letter);
    lth__free(s->weight);
}

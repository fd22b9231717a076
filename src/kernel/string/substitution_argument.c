#include "kernel/string/substitution_argument.h"

#include <stdio.h>
#include <string.h>

#include "kernel/string/text_field.h"

/* ---- The argument ---- */

/* Scores as they stand in an expression: [LETTERS, lower triangle row by row]. */
static lth_status put_scores(lth_kernel *kernel, lth__node *node, const char *letter, size_t count,
                             const double *score, lth_error *err) {
    size_t numbers = count * (count + 1) / 2;
    lth__value *items = lth__pool_alloc(&kernel->pool, (numbers + 1) * sizeof *items);
    const char *word = lth__pool_strndup(&kernel->pool, letter, count);
    if (!items || !word) return lth__fail_memory(err, numbers * sizeof *items);
    items[0] = (lth__value){.kind = LTH__VALUE_WORD, .word = word};
    for (size_t a = 0, k = 1; a < count; a++) {
        for (size_t b = 0; b <= a; b++, k++)
            items[k] = (lth__value){
                .kind = LTH__VALUE_NUMBER, .given = true, .number = score[a * count + b]};
    }
    lth__value list = {.kind = LTH__VALUE_LIST, .items = items, .count = numbers + 1};
    return lth__node_rewrite(kernel, node, "matrix", list, err);
}

static lth_status take_scores(const lth__value *v, char *letter, size_t *count, double *score,
                              lth_error *err) {
    static const char wish[] = "a matrix is [LETTERS, and the lower triangle of their scores]";
    const char *word = v->count > 0 && v->items[0].kind == LTH__VALUE_WORD ? v->items[0].word : "";
    size_t n = strlen(word);
    bool right = n > 0 && n <= LTH__MOST_LETTERS && v->count == 1 + n * (n + 1) / 2;
    for (size_t k = 1; right && k < v->count; k++) right = v->items[k].kind == LTH__VALUE_NUMBER;
    if (!right) return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column, "%s", wish);
    memcpy(letter, word, n);
    for (size_t a = 0, k = 1; a < n; a++) {
        for (size_t b = 0; b <= a; b++, k++)
            score[a * n + b] = score[b * n + a] = v->items[k].number;
    }
    *count = n;
    return LTH_OK;
}

/* A mistake in a file is one in the expression that names it. */
static lth_status read_file(const lth__value *v, char *letter, size_t *count, double *score,
                            lth_error *err) {
    lth_error own = {0};
    lth_status status = lth__substitution_read(NULL, v->word, letter, count, score, &own);
    if (status == LTH_OK || status == LTH_ENOMEM) return status;
    char line[32] = "";
    if (own.line > 0) snprintf(line, sizeof line, ":%zu", own.line);
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column, "the matrix %s%s: %s", v->word, line,
                        own.message);
}

/* Scores of one's own: a list, or a file, which then stands as a list in the expression, so that a
 * model needs no other file. */
static lth_status read_own(lth_kernel *kernel, lth__node *node, const lth__value *v,
                           lth__substitution *out, lth_error *err) {
    enum { MOST = LTH__MOST_LETTERS };
    char letter[MOST];
    size_t count = 0;
    bool list = v->kind == LTH__VALUE_LIST;
    if (!list) LTH_TRY(lth__kernel_check_file(kernel, v, err));
    double *score = lth__alloc((size_t)MOST * MOST, sizeof *score);
    if (!score) return lth__fail_memory(err, sizeof *score * MOST * MOST);
    lth_status status = list ? take_scores(v, letter, &count, score, err)
                             : read_file(v, letter, &count, score, err);
    if (status == LTH_OK) status = lth__substitution_make(letter, count, score, out, err);
    if (status == LTH_OK && !list) status = put_scores(kernel, node, letter, count, score, err);
    lth__free(score);
    return status;
}

lth_status lth__substitution_argument(lth_kernel *kernel, lth__node *node, const char *standard,
                                      lth__substitution **out, lth_error *err) {
    const lth__argument *a = lth__node_argument(node, "matrix");
    const lth__value usual = {.kind = LTH__VALUE_WORD, .word = standard};
    const lth__value *v = a ? &a->value : &usual;
    if (v->kind == LTH__VALUE_WORD && strcmp(v->word, "identity") == 0) return LTH_OK;
    *out = lth__pool_alloc(&kernel->pool, sizeof **out);
    if (!*out) return lth__fail_memory(err, sizeof **out);
    (*out)->count = 0;
    if (v->kind != LTH__VALUE_WORD && v->kind != LTH__VALUE_LIST)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column,
                            "matrix of %s is identity, blosum45, blosum50, blosum62, blosum80, "
                            "pam250, or a file",
                            node->family->manual.name);
    if (v->kind == LTH__VALUE_WORD && lth__substitution_find(v->word, *out)) return LTH_OK;
    if ((*out)->count > 0) return lth__fail_memory(err, 0);
    return read_own(kernel, node, v, *out, err);
}

/* ---- Letters ---- */

lth_status lth__substitution_number(const lth__substitution *matrix, const lth__lexicon *l,
                                    lth__symbol symbol, size_t item, size_t site, uint32_t *out,
                                    lth_error *err) {
    size_t length;
    if (!matrix) {
        *out = symbol;
        return LTH_OK;
    }
    const char *text = lth__symbols_text(l->symbols, symbol, &length);
    size_t letter = length == 1 ? lth__substitution_letter(matrix, *text) : LTH_NONE;
    if (letter == LTH_NONE)
        return lth__text_fail_letter(l, symbol, item, "site", site, "the matrix", err);
    *out = (uint32_t)letter;
    return LTH_OK;
}

/* The symbols of a column as letters of a matrix, for the string kernel with sim=matrix. */
#include "kernel/string/ssk.h"
#include "kernel/string/substitution_argument.h"

/* LTH__NO_LETTER_NUMBER for symbols that are none; returns whether there are such. */
static bool number_symbols(const lth__substitution *matrix, const lth__lexicon *l,
                           uint32_t *number) {
    bool strange = false;
    for (size_t i = 0; i < lth__symbols_count(l->symbols); i++) {
        size_t length;
        const char *text = lth__symbols_text(l->symbols, (lth__symbol)i, &length);
        size_t letter = length == 1 ? lth__substitution_letter(matrix, *text) : LTH_NONE;
        number[i] = letter == LTH_NONE ? LTH__NO_LETTER_NUMBER : (uint32_t)letter;
        strange |= letter == LTH_NONE;
    }
    return strange;
}

/* The first place of these items that has no letter, as an error. */
static lth_status check_items(const lth__node *node, const lth__lexicon *l, const lth_items *items,
                              const uint32_t *number, lth_error *err) {
    const lth__ssk_config *c = node->config;
    const lth__sequences *s = &items->fields[node->field];
    for (size_t i = 0; i < s->count; i++) {
        const lth__symbol *symbol = lth__sequence_symbols(s, i);
        for (size_t p = 0; p < lth__sequence_length(s, i); p++) {
            uint32_t letter;
            if (number[symbol[p]] == LTH__NO_LETTER_NUMBER)
                LTH_TRY(lth__substitution_number(c->matrix, l, symbol[p], i, p, &letter, err));
        }
    }
    return LTH_OK;
}

lth_status lth__ssk_letters(const lth__node *node, const lth__eval *eval, uint32_t **number,
                            lth__letter_distances *out, lth_error *err) {
    const lth__ssk_config *c = node->config;
    const lth__lexicon *l = &eval->rows->encoder->lexicons[node->field];
    size_t symbols = lth__symbols_count(l->symbols);
    if (!c->matrix) return LTH_OK;
    uint32_t *all = lth__alloc(symbols, sizeof *all);
    if (!all) return lth__fail_memory(err, symbols * sizeof *all);
    lth_status status = LTH_OK;
    if (number_symbols(c->matrix, l, all)) { /* in other rows, perhaps */
        status = check_items(node, l, eval->rows, all, err);
        if (status == LTH_OK && eval->cols != eval->rows)
            status = check_items(node, l, eval->cols, all, err);
    }
    if (status != LTH_OK) {
        lth__free(all);
        return status;
    }
    *number = all;
    *out = (lth__letter_distances){
        .number = all, .distance = c->matrix->distance, .stride = LTH__MOST_LETTERS};
    return LTH_OK;
}

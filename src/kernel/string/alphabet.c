#include "kernel/string/alphabet.h"

#include <stdlib.h>
#include <string.h>

#include "data/table.h"
#include "data/units.h"
#include "kernel/string/text_field.h"

/* ---- The argument ---- */

static const struct {
    const char *name, *letters, *others;
} known[] = {{"dna", "acgt", "nryswkmbdhv-."}, {"protein", "acdefghiklmnpqrstvwy", "bzjxuo*-."}};

/* The different characters of a text, added to those that are there. */
static lth_status collect(const char *text, size_t length, lth__symbols *letters, lth_error *err) {
    lth__symbol *found = NULL;
    size_t count = 0, capacity = 0;
    lth_status status =
        lth__units_split(text, length, LTH__CHARS, true, letters, &found, &count, &capacity, err);
    lth__free(found);
    return status;
}

static lth_status fail_many(size_t column, size_t count, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, column,
                        "an alphabet has 1 to %d letters, but these are %zu",
                        (int)LTH__MOST_ALPHABET, count);
}

static lth_status take_letters(lth_kernel *kernel, const char *word, size_t column,
                               lth__symbols *letters, lth__alphabet *out, lth_error *err) {
    LTH_TRY(collect(word, strlen(word), letters, err));
    size_t count = lth__symbols_count(letters);
    if (count == 0 || count > LTH__MOST_ALPHABET) return fail_many(column, count, err);
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *text = lth__symbols_text(letters, (lth__symbol)i, &length);
        out->letter[i] = lth__pool_strndup(&kernel->pool, text, length);
        if (!out->letter[i]) return lth__fail_memory(err, length);
    }
    out->count = count;
    return LTH_OK;
}

lth_status lth__alphabet_read(lth_kernel *kernel, lth__node *node, lth__alphabet *out,
                              lth_error *err) {
    const lth__argument *a = lth__node_argument(node, "alphabet");
    *out = (lth__alphabet){0};
    if (!a || (a->value.kind == LTH__VALUE_WORD && strcmp(a->value.word, "all") == 0)) {
        node->open = "alphabet";
        return LTH_OK;
    }
    if (a->value.kind != LTH__VALUE_WORD)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, a->value.column,
                            "alphabet of %s is all, dna, protein, or its letters, as in "
                            "alphabet=\"abc\"",
                            node->family->manual.name);
    const char *word = out->name = a->value.word;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, a->value.word) != 0) continue;
        word = known[i].letters;
        out->others = known[i].others;
        out->has_u = i == 0;
    }
    lth__symbols *letters = lth__symbols_create();
    if (!letters) return lth__fail_memory(err, 0);
    lth_status status = take_letters(kernel, word, a->value.column, letters, out, err);
    lth__symbols_free(letters);
    return status;
}

/* ---- The letters of a table ---- */

static lth_status collect_all(const lth__field_def *field, const lth_table *table,
                              lth__symbols *letters, lth__string *room, lth_error *err) {
    size_t column, length;
    LTH_TRY(lth__table_column_at(table, field->column, &column, err));
    for (size_t i = 0; i < lth_table_rows(table); i++) {
        const char *text;
        LTH_TRY(lth__text_cell(field, table, i, column, room, &text, &length, err));
        LTH_TRY(collect(text, length, letters, err));
    }
    size_t count = lth__symbols_count(letters);
    if (count > 0 && count <= LTH__MOST_ALPHABET) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, lth_table_name(table), 0, 0,
                        "column \"%s\" has %zu different characters; an alphabet has 1 to %d",
                        field->column, count, (int)LTH__MOST_ALPHABET);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In order, so that the order of rows does not matter. */
static lth_status join(const lth__symbols *letters, lth__pool *pool, lth__string *room,
                       lth__value *out, lth_error *err) {
    const char *text[LTH__MOST_ALPHABET];
    size_t count = lth__symbols_count(letters), length;
    for (size_t i = 0; i < count; i++)
        text[i] = lth__symbols_text(letters, (lth__symbol)i, &length);
    qsort(text, count, sizeof *text, by_text);
    room->length = 0;
    for (size_t i = 0; i < count; i++) lth__string_append(room, text[i], strlen(text[i]));
    const char *word = room->failed ? NULL : lth__pool_strndup(pool, room->bytes, room->length);
    if (!word) return lth__fail_memory(err, room->length);
    *out = (lth__value){.kind = LTH__VALUE_WORD, .word = word};
    return LTH_OK;
}

lth_status lth__alphabet_resolve(const lth__node *node, const lth__field_def *field,
                                 const lth_table *table, lth__pool *pool, lth__value *out,
                                 lth_error *err) {
    (void)node;
    lth__symbols *letters = lth__symbols_create();
    if (!letters) return lth__fail_memory(err, 0);
    lth__string room = {0};
    lth_status status = collect_all(field, table, letters, &room, err);
    if (status == LTH_OK) status = join(letters, pool, &room, out, err);
    lth__string_free(&room);
    lth__symbols_free(letters);
    return status;
}

/* ---- Symbols ---- */

bool lth__alphabet_number(const lth__alphabet *a, const lth__lexicon *l, lth__symbol symbol,
                          uint8_t *out) {
    size_t length;
    const char *text = lth__symbols_text(l->symbols, symbol, &length);
    if (a->has_u && strcmp(text, "u") == 0) text = "t";
    *out = LTH__NO_LETTER;
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->letter[i], text) != 0) continue;
        *out = (uint8_t)i;
        return true;
    }
    return !a->others || (length == 1 && strchr(a->others, *text));
}

/* Fields of text: columns of texts, cut into units, and columns of vectors, a unit each. */
#include "kernel/string/text_field.h"

#include "data/table.h"
#include "data/units.h"
#include "data/variant.h"

static bool open(lth__lexicon *l) {
    l->own = lth__calloc(1, sizeof(lth__words));
    if (l->own) lth__words_open(l->own, l);
    return l->own != NULL;
}

static void close(lth__lexicon *l) {
    lth__words_close(l->own);
}

static bool lend(const lth__lexicon *from, lth__lexicon *to) {
    to->own = lth__calloc(1, sizeof(lth__words));
    return to->own && lth__words_lend(from->own, from->known, to->own);
}

/* ---- Mutations of a wild type ---- */

/* The sequence of the first record of a file. */
static lth_status read_sequence(lth_kernel *kernel, const lth__value *v, const char **out,
                                lth_error *err) {
    lth_table_options options;
    lth_table *table = NULL;
    lth_error own = {0};
    size_t length;
    LTH_TRY(lth__kernel_check_file(kernel, v, err));
    lth_table_options_init(&options);
    options.format = LTH_TABLE_FASTA;
    lth_status status = lth_table_read(kernel->ctx, v->word, &options, &table, &own);
    if (status == LTH_EIO) status = LTH_EFORMAT; /* the expression names no such file */
    if (status != LTH_OK)
        return lth__fail_at(err, status, NULL, 0, v->column, "the wild type %s: %s", v->word,
                            own.message);
    const char *text = lth_table_cell(table, 0, lth_table_find(table, "sequence"), &length);
    *out = lth__pool_strndup(&kernel->pool, text, length);
    lth_table_free(table);
    return *out ? LTH_OK : lth__fail_memory(err, length);
}

static bool is_sequence(const char *word) {
    for (; *word; word++) {
        bool letter = (*word >= 'A' && *word <= 'Z') || (*word >= 'a' && *word <= 'z');
        if (!letter && *word != '*' && *word != '-') return false;
    }
    return true;
}

lth_status lth__text_read_wild(lth_kernel *kernel, lth__node *node, lth__field_def *field,
                               lth_error *err) {
    const lth__argument *a = lth__node_argument(node, "wild_type");
    const lth__argument *first = lth__node_argument(node, "first");
    if (!a && first)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, first->column, "first goes with wild_type");
    if (!a) return LTH_OK;
    const lth__value *v = &a->value;
    if (v->kind != LTH__VALUE_WORD || !*v->word)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column,
                            "wild_type is a sequence, or a FASTA file with one");
    long number;
    LTH_TRY(lth__node_integer(node, "first", -1000000, 1000000, 1, &number, err));
    field->wild.first = number;
    field->wild.sequence = v->word;
    if (is_sequence(v->word)) return LTH_OK;
    LTH_TRY(read_sequence(kernel, v, &field->wild.sequence, err));
    lth__value word = {.kind = LTH__VALUE_WORD, .word = field->wild.sequence};
    return lth__node_rewrite(kernel, node, "wild_type", word, err);
}

/* ---- Encoding ---- */

lth_status lth__text_cell(const lth__field_def *def, const lth_table *table, size_t row,
                          size_t column, lth__string *room, const char **text, size_t *length,
                          lth_error *err) {
    lth_error why = {0};
    *text = lth_table_cell(table, row, column, length);
    if (!def->wild.sequence) return LTH_OK;
    room->length = 0;
    lth_status status = lth__variant_write(&def->wild, *text, *length, room, &why);
    if (status == LTH_EFORMAT)
        return lth__fail_at(err, status, lth_table_file(table, row), lth_table_line(table, row), 0,
                            "%s", why.message);
    if (status != LTH_OK) return lth__fail_memory(err, *length);
    *text = room->length > 0 ? room->bytes : "";
    *length = room->length;
    return LTH_OK;
}

static lth_status encode_rows(const lth__lexicon *l, const lth_table *table, size_t column,
                              lth__string *room, lth__sequences *out, lth_error *err) {
    size_t capacity = 0, used = 0, rows = lth_table_rows(table);
    *out = (lth__sequences){.count = rows, .start = lth__alloc(rows + 1, sizeof *out->start)};
    if (!out->start) return lth__fail_memory(err, (rows + 1) * sizeof *out->start);
    out->start[0] = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t length;
        const char *text;
        LTH_TRY(lth__text_cell(l->def, table, i, column, room, &text, &length, err));
        LTH_TRY(lth__units_split_long(l->ctx, text, length, (lth__units)l->def->units,
                                      l->def->lower, l->symbols, &out->symbols, &used, &capacity,
                                      err));
        out->start[i + 1] = used;
        size_t units = lth__sequence_length(out, i);
        if (units > out->longest) out->longest = units;
        if (units > UINT32_MAX / 2) {
            return lth__fail_at(err, LTH_EFORMAT, lth_table_file(table, i),
                                lth_table_line(table, i), 0, "this text is too long: %zu units",
                                units);
        }
    }
    void *fitted = lth__realloc(out->symbols, used, sizeof *out->symbols);
    if (fitted) out->symbols = fitted;
    return LTH_OK;
}

static lth_status encode_text(const lth__lexicon *l, const lth_table *table, size_t column,
                              lth__sequences *out, lth_error *err) {
    lth__string room = {0};
    lth_status status = encode_rows(l, table, column, &room, out, err);
    lth__string_free(&room);
    return status;
}

/* All tables of an encoder have texts in a column, or all have vectors. */
static lth_status check_kind(const lth__words *w, const lth_table *table, size_t column,
                             bool vectors, lth_error *err) {
    if (w->contextual == vectors) return LTH_OK;
    return lth__table_want(table, column, vectors ? LTH__COLUMN_TEXT : LTH__COLUMN_VECTORS,
                           vectors ? "the first table has text" : "the first table has vectors",
                           err);
}

static lth_status encode(lth__lexicon *l, const lth_table *table, bool first, lth__sequences *out,
                         lth_error *err) {
    lth__words *w = lth__words_of(l);
    size_t column;
    LTH_TRY(lth__table_column_at(table, l->def->column, &column, err));
    bool vectors = lth__table_kind(table, column) == LTH__COLUMN_VECTORS;
    if (!first) LTH_TRY(check_kind(w, table, column, vectors, err));
    w->contextual = vectors;
    if (vectors) return lth__vectors_column_encode(l, table, column, out, err);
    LTH_TRY(lth__table_want(table, column, LTH__COLUMN_TEXT, "the kernel reads text", err));
    return encode_text(l, table, column, out, err);
}

/* How frequent each symbol is among the first items. */
static lth_status finish(lth__lexicon *l, const lth__sequences *s, bool first, const lth_ctx *ctx,
                         lth_error *err) {
    (void)ctx;
    if (!first) return LTH_OK;
    size_t symbols = lth__symbols_count(l->symbols), units = s->start[s->count];
    double *frequency = lth__words_frequency(lth__words_of(l), symbols);
    if (!frequency) return lth__fail_memory(err, symbols * sizeof *frequency);
    for (size_t k = 0; k < units; k++) frequency[s->symbols[k]] += 1 / (double)units;
    return LTH_OK;
}

static bool words(const lth__lexicon *l, const lth__sequences *s, lth__word_fn *take, void *user) {
    const lth__words *w = lth__words_of(l);
    bool ok = true;
    for (size_t k = s->start[0]; ok && !w->contextual && k < s->start[s->count]; k++)
        ok = take(user, s->symbols[k], lth__words_vector(w, s->symbols[k]) != NULL);
    return ok;
}

/* ---- In a file ---- */

static void save(const lth__lexicon *l, const lth__sequences *s, const lth__field_saver *to) {
    lth__symbols_save(l, to);
    lth__sequences_save(s, to);
    lth__words_save(l, to);
}

static lth_status load(lth__lexicon *l, const lth__field_loader *from, lth__sequences *out) {
    LTH_TRY(lth__symbols_load(l, from));
    LTH_TRY(lth__sequences_load(from, lth__symbols_count(l->symbols), out));
    LTH_TRY(lth__words_load(l, from));
    bool good = !lth__words_of(l)->contextual || lth__vectors_column_check(l);
    return good ? LTH_OK : from->damaged(from->user, "its column of vectors");
}

/* ---- Parts, and as text again ---- */

/* A byte of a character of several bytes is no text. */
static void write_unit(const char *text, size_t length, int units, lth__string *out) {
    if (units == LTH__BYTES && length == 1 && (unsigned char)*text >= 0x80)
        lth__string_format(out, "\\x%02x", (unsigned)(unsigned char)*text);
    else
        lth__string_append(out, text, length);
}

void lth__units_write(const lth__lexicon *l, const lth__symbol *unit, const bool *gap, size_t count,
                      lth__string *out) {
    int units = l->def->units;
    const char *between = units == LTH__WORDS || units == LTH__TOKENS ? " " : "";
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *text = lth__symbols_text(l->symbols, unit[i], &length);
        if (i > 0) lth__string_format(out, "%s", between);
        if (i > 0 && gap && gap[i]) lth__string_format(out, "...%s", between);
        write_unit(text, length, units, out);
    }
    if (count == 0) lth__string_append(out, "", 0);
}

lth_status lth__text_fail_letter(const lth__lexicon *l, lth__symbol symbol, size_t item,
                                 const char *where, size_t at, const char *of, lth_error *err) {
    size_t length;
    const char *text = lth__symbols_text(l->symbols, symbol, &length);
    return lth__fail(err, LTH_EFORMAT,
                     "row %zu has \"%.*s\" at %s %zu of \"%s\", which is no letter of %s", item + 1,
                     length > 8 ? 8 : (int)length, text, where, at + 1, l->def->column, of);
}

static void write(const lth__lexicon *l, const lth__sequences *s, size_t item, lth__string *out) {
    lth__units_write(l, lth__sequence_symbols(s, item), NULL, lth__sequence_length(s, item), out);
}

static lth_status take_unit(const lth__lexicon *l, lth__symbol symbol, size_t at, const char *cell,
                            const lth__place *place, lth__string *room, lth__part_fn *take,
                            void *user, lth_error *err) {
    lth__part part = {.at = at, .first = LTH_NONE, .seen = symbol < l->known};
    const char *text = lth__symbols_text(l->symbols, symbol, &part.size);
    if (place) {
        text = cell + place->first;
        part.size = part.length = place->length;
        part.first = place->first;
    }
    room->length = 0;
    write_unit(text, part.size, l->def->units, room);
    if (room->failed) return lth__fail_memory(err, part.size);
    part.text = room->bytes;
    part.size = room->length;
    return take(user, &part, err);
}

/* Units as the cell has them, where it is a text. */
static lth_status parts(const lth__lexicon *l, const lth__sequences *s, const lth_table *table,
                        lth__part_fn *take, void *user, lth_error *err) {
    size_t length, placed, count = lth__sequence_length(s, 0);
    const char *cell = lth_table_cell(table, 0, lth_table_find(table, l->def->column), &length);
    lth__place *places = NULL;
    LTH_TRY(lth__units_places(cell, length, (lth__units)l->def->units, &places, &placed, err));
    lth__string room = {0};
    lth_status status = LTH_OK;
    for (size_t k = 0; k < count && status == LTH_OK; k++)
        status = take_unit(l, lth__sequence_symbols(s, 0)[k], k, cell,
                           placed == count ? &places[k] : NULL, &room, take, user, err);
    lth__string_free(&room);
    lth__free(places);
    return status;
}

const lth__field_type lth__field_text = {
    .kind = LTH_COLUMN_TEXT,
    .open = open,
    .close = close,
    .lend = lend,
    .encode = encode,
    .finish = finish,
    .read_vectors = lth__words_read_vectors,
    .words = words,
    .pick = lth__sequences_pick,
    .save = save,
    .load = load,
    .part_count = lth__sequence_length,
    .parts = parts,
    .write = write,
};

/* Packed storage of tables and the public functions that look into them. */
#include "data/table.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/number_form.h"

/* The first chunk is small, since many tables are; each is larger than the one before, up to a
 * limit.
 */
enum { FIRST_CHUNK = 4 << 10, LARGEST_CHUNK = 1 << 20, CELLS_PER_MARK = 32, VARINT_BYTES = 10 };
enum { CHUNKS_PER_CHECK = 64 }; /* of the memory that is left */

/* ---- Varints: 7 bits a byte, low bits first ------------------------------------------------- */

static size_t varint_size(size_t value) {
    size_t size = 1;
    while (value >= 128) {
        value >>= 7;
        size++;
    }
    return size;
}

static char *varint_write(char *at, size_t value) {
    while (value >= 128) {
        *at++ = (char)(value | 128);
        value >>= 7;
    }
    *at++ = (char)value;
    return at;
}

static const char *varint_read(const char *at, size_t *value) {
    size_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned char byte = (unsigned char)*at++;
        v |= (size_t)(byte & 127) << shift;
        if (byte < 128) break;
    }
    *value = v;
    return at;
}

/* ---- Packing -------------------------------------------------------------------------------- */

lth_status lth__table_create(const char *name, lth_table **out, lth_error *err) {
    lth_table *table = lth__calloc(1, sizeof *table);
    if (!table) return lth__fail_memory(err, sizeof *table);
    table->name = lth__strndup(name, strlen(name));
    table->columns = lth__symbols_create();
    if (!table->name || !table->columns) {
        lth_table_free(table);
        return lth__fail_memory(err, 0);
    }
    *out = table;
    return LTH_OK;
}

void lth_table_free(lth_table *table) {
    if (!table) return;
    for (size_t i = 0; i < table->chunk_count; i++) lth__free(table->chunks[i].bytes);
    lth__free(table->chunks);
    lth__free(table->marks);
    lth__free(table->stored);
    lth__free(table->numbers);
    for (size_t i = 0; i < table->file_count; i++) lth__free(table->files[i].name);
    lth__free(table->files);
    lth__free(table->values);
    lth__symbols_free(table->columns);
    lth__free(table->name);
    lth__free(table);
}

lth_status lth__table_begin_file(lth_table *table, const char *name, lth_error *err) {
    if (!lth__reserve((void **)&table->files, &table->file_capacity, table->file_count + 1,
                      sizeof *table->files))
        return lth__fail_memory(err, 0);
    char *copy = lth__strndup(name, strlen(name));
    if (!copy) return lth__fail_memory(err, 0);
    table->files[table->file_count++] =
        (lth__table_file){.name = copy, .row = table->rows, .line = table->last_line};
    return LTH_OK;
}

/* The file that a row is from; NULL = the first. */
static const lth__table_file *file_of(const lth_table *table, size_t row) {
    size_t i = table->file_count;
    while (i > 0 && table->files[i - 1].row > row) i--;
    return i > 0 ? &table->files[i - 1] : NULL;
}

void lth__table_trim(lth_table *table) {
    if (table->chunk_count == 0) return;
    lth__table_chunk *last = &table->chunks[table->chunk_count - 1];
    if (last->capacity - last->used <= last->capacity / 16) return;
    char *smaller = lth__realloc(last->bytes, last->used, 1);
    if (!smaller) return; /* the larger block does as well */
    last->bytes = smaller;
    last->capacity = last->used;
}

static size_t chunk_size(size_t index) {
    return index < 4 ? (size_t)FIRST_CHUNK << (2 * index) : LARGEST_CHUNK;
}

/* Make the last chunk one with room for `need` bytes. */
static lth_status make_room(lth_table *table, size_t need, lth_error *err) {
    if (table->chunk_count > 0) {
        const lth__table_chunk *last = &table->chunks[table->chunk_count - 1];
        if (last->capacity - last->used >= need) return LTH_OK;
    }
    if (!lth__reserve((void **)&table->chunks, &table->chunk_capacity, table->chunk_count + 1,
                      sizeof *table->chunks))
        return lth__fail_memory(err, 0);
    lth__table_trim(table);
    size_t capacity = chunk_size(table->chunk_count);
    if (capacity < need) capacity = need;
    size_t coming = capacity > LARGEST_CHUNK ? capacity : (size_t)CHUNKS_PER_CHECK * LARGEST_CHUNK;
    if (capacity > LARGEST_CHUNK || table->chunk_count % CHUNKS_PER_CHECK == CHUNKS_PER_CHECK - 1)
        LTH_TRY(lth__memory_check(coming, "the table", "choose rows or columns", err));
    char *bytes = lth__alloc(capacity, 1);
    if (!bytes) return lth__fail_memory(err, capacity);
    table->chunks[table->chunk_count++] = (lth__table_chunk){.bytes = bytes, .capacity = capacity};
    return LTH_OK;
}

static size_t cells_of_a_row(const lth_table *table) {
    return table->stored ? table->cells : lth_table_columns(table);
}

/* Wide rows get a mark each, so that reaching a cell never skips over many others. */
static size_t rows_per_mark(size_t cells) {
    return cells == 0 ? CELLS_PER_MARK : cells < CELLS_PER_MARK ? CELLS_PER_MARK / cells : 1;
}

lth_status lth__table_append(lth_table *table, size_t line, const lth__field *fields,
                             const size_t *pick, lth_error *err) {
    size_t cells = cells_of_a_row(table);
    if (table->rows == 0) table->stride = rows_per_mark(cells);
    if (table->file_count > 0) line += table->files[table->file_count - 1].line;
    size_t delta = line - table->last_line;
    size_t need = varint_size(delta);
    for (size_t j = 0; j < cells; j++) {
        size_t length = fields[pick ? pick[j] : j].length;
        if (length > PTRDIFF_MAX - VARINT_BYTES - need) return lth__fail_memory(err, length);
        need += varint_size(length) + length;
    }

    bool marked = table->rows % table->stride == 0;
    if (marked && !lth__reserve((void **)&table->marks, &table->mark_capacity,
                                table->mark_count + 1, sizeof *table->marks))
        return lth__fail_memory(err, 0);
    LTH_TRY(make_room(table, need, err));
    lth__table_chunk *chunk = &table->chunks[table->chunk_count - 1];
    if (marked)
        table->marks[table->mark_count++] =
            (lth__table_mark){.chunk = (uint32_t)(table->chunk_count - 1),
                              .offset = (uint32_t)chunk->used,
                              .line = line};

    char *at = varint_write(chunk->bytes + chunk->used, delta);
    for (size_t j = 0; j < cells; j++) {
        const lth__field *field = &fields[pick ? pick[j] : j];
        at = varint_write(at, field->length);
        if (field->length > 0) memcpy(at, field->text, field->length);
        at += field->length;
    }
    chunk->used += need;
    table->last_line = line;
    table->rows++;
    return LTH_OK;
}

/* ---- Looking -------------------------------------------------------------------------------- */

/* The cells of a row, and the line on which it began. */
static const char *find_row(const lth_table *table, size_t row, size_t *line) {
    const lth__table_mark *mark = &table->marks[row / table->stride];
    const lth__table_chunk *chunk = &table->chunks[mark->chunk];
    size_t cells = cells_of_a_row(table), delta;
    const char *at = varint_read(chunk->bytes + mark->offset, &delta);
    *line = mark->line;
    for (size_t skip = row % table->stride; skip > 0; skip--) {
        for (size_t j = 0; j < cells; j++) {
            size_t length;
            at = varint_read(at, &length);
            at += length;
        }
        if (at == chunk->bytes + chunk->used) {
            chunk++;
            at = chunk->bytes;
        }
        at = varint_read(at, &delta);
        *line += delta;
    }
    return at;
}

const char *lth_table_cell(const lth_table *table, size_t row, size_t column, size_t *length) {
    size_t line, size = 0;
    const char *cell = NULL;
    if (row < table->rows && column < lth_table_columns(table) &&
        lth__table_kind(table, column) == LTH__COLUMN_TEXT) {
        size_t place = table->stored ? table->stored[column].cell : column;
        cell = varint_read(find_row(table, row, &line), &size);
        for (size_t j = 0; j < place; j++) cell = varint_read(cell + size, &size);
    }
    if (length) *length = size;
    return cell;
}

size_t lth_table_number(const lth_table *table, size_t row) {
    if (row >= table->rows) return 0;
    return table->numbers ? table->numbers[row] : table->before + row + 1;
}

size_t lth_table_line(const lth_table *table, size_t row) {
    size_t line = 0;
    if (row < table->rows) find_row(table, row, &line);
    const lth__table_file *file = file_of(table, row);
    return line > 0 && file ? line - file->line : line;
}

const char *lth_table_file(const lth_table *table, size_t row) {
    const lth__table_file *file = file_of(table, row);
    return file ? file->name : table->name;
}

const char *lth_table_name(const lth_table *table) {
    return table->name;
}

size_t lth_table_rows(const lth_table *table) {
    return table->rows;
}

size_t lth_table_columns(const lth_table *table) {
    return lth__symbols_count(table->columns);
}

const char *lth_table_column_name(const lth_table *table, size_t column) {
    if (column >= lth_table_columns(table)) return NULL;
    return lth__symbols_text(table->columns, (lth__symbol)column, NULL);
}

size_t lth_table_find(const lth_table *table, const char *column) {
    lth__symbol found = lth__symbols_find(table->columns, column, strlen(column));
    return found == LTH__NO_SYMBOL ? LTH_NONE : found;
}

lth__column_kind lth__table_kind(const lth_table *table, size_t column) {
    if (!table->stored) return LTH__COLUMN_TEXT;
    const lth__table_column *c = &table->stored[column];
    return c->numbers ? LTH__COLUMN_NUMBERS : c->vectors ? LTH__COLUMN_VECTORS : LTH__COLUMN_TEXT;
}

lth_status lth__table_want(const lth_table *table, size_t column, lth__column_kind kind,
                           const char *wish, lth_error *err) {
    static const char *const holds[] = {"text", "numbers", "vectors"};
    lth__column_kind found = lth__table_kind(table, column);
    if (found == kind) return LTH_OK;
    return lth__fail(err, LTH_EARG, "column \"%s\" holds %s, where %s",
                     lth_table_column_name(table, column), holds[found], wish);
}

size_t lth__table_header_line(const lth_table *table) {
    return *table->name ? 1 : 0;
}

lth_status lth__table_column_at(const lth_table *table, const char *name, size_t *out,
                                lth_error *err) {
    size_t column = lth_table_find(table, name);
    if (column == LTH_NONE)
        return lth__fail_at(err, LTH_EFORMAT, table->name, lth__table_header_line(table), 0,
                            "no column \"%s\"", name);
    *out = column;
    return LTH_OK;
}

/* Bytes of a cell that fit in a message, cut between characters. */
static int shown_length(const char *text, size_t length) {
    size_t most = 48;
    if (length <= most) return (int)length;
    while (most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80) most--;
    return (int)most;
}

static lth_status stored_number(const lth_table *table, size_t row, size_t column, double *out,
                                lth_error *err) {
    const lth__table_column *c = &table->stored[column];
    double value = c->numbers[row * c->stride];
    if (!isfinite(value))
        return lth__fail_at(err, LTH_EFORMAT, NULL, row + 1, 0,
                            "%s in column \"%s\" is not a finite number",
                            isnan(value) ? "NaN"
                            : value > 0  ? "inf"
                                         : "-inf",
                            lth_table_column_name(table, column));
    *out = value;
    return LTH_OK;
}

lth_status lth__table_number(const lth_table *table, size_t row, size_t column, double *out,
                             lth_error *err) {
    if (row >= table->rows || column >= lth_table_columns(table))
        return lth__fail(err, LTH_EARG, "the table has no such cell");
    if (lth__table_kind(table, column) == LTH__COLUMN_NUMBERS)
        return stored_number(table, row, column, out, err);
    LTH_TRY(lth__table_want(table, column, LTH__COLUMN_TEXT, "numbers are wanted", err));
    size_t length;
    const char *cell = lth_table_cell(table, row, column, &length);
    double value;
    if (lth__parse_double(cell, length, &value) && isfinite(value)) {
        *out = value;
        return LTH_OK;
    }
    int shown = shown_length(cell, length);
    bool comma = lth__number_form_of(cell, length) == LTH__FORM_COMMA;
    return lth__fail_at(err, LTH_EFORMAT, lth_table_file(table, row), lth_table_line(table, row), 0,
                        "\"%.*s%s\" in column \"%s\" is not a number%s", shown, cell,
                        (size_t)shown < length ? "..." : "", lth_table_column_name(table, column),
                        comma ? ": " LTH__NO_COMMAS : "");
}

lth_status lth__fail_bad_byte(const char *file, size_t line, const char *text, size_t bad,
                              lth_error *err) {
    unsigned byte = (unsigned char)text[bad];
    return lth__fail_at(err, LTH_EFORMAT, file, line, lth__utf8_count(text, bad) + 1,
                        byte ? "byte 0x%02X is not valid UTF-8" : "byte 0x%02X (NUL) is not text",
                        byte);
}

/* Reading a table: options, the where-filter, and the choice of format.
 */
#include "data/table_reader.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/table_hints.h"

/* ---- The filter ----------------------------------------------------------------------------- */

static lth_status check_options(const lth_table_options *o, lth_error *err) {
    if (o->format < LTH_TABLE_AUTO || o->format > LTH_TABLE_SVMLIGHT)
        return lth__fail(err, LTH_EARG, "unknown table format %d", (int)o->format);
    for (size_t i = 0; o->columns && i < o->column_count; i++)
        if (!o->columns[i]) return lth__fail(err, LTH_EARG, "column %zu is NULL", i + 1);
    for (size_t i = 0; i < o->more_count; i++)
        if (!o->more || !o->more[i]) return lth__fail(err, LTH_EARG, "table %zu is NULL", i + 2);
    if (o->file_column && !*o->file_column)
        return lth__fail(err, LTH_EARG, "the column of the files' names has no name");
    if (!o->where && o->where_count > 0) return lth__fail(err, LTH_EARG, "where is NULL");
    for (size_t i = 0; i < o->where_count; i++) {
        const char *equals = o->where[i] ? strchr(o->where[i], '=') : NULL;
        if (!equals || equals == o->where[i])
            return lth__fail(err, LTH_EARG, "where \"%.64s\" is not of the form COL=VALUE[,VALUE]",
                             o->where[i] ? o->where[i] : "");
    }
    return LTH_OK;
}

/* "VALUE,VALUE" */
static lth_status read_values(const char *text, lth__symbols **out, lth_error *err) {
    *out = lth__symbols_create();
    if (!*out) return lth__fail_memory(err, 0);
    for (;;) {
        size_t length = strcspn(text, ",");
        if (lth__symbols_intern(*out, text, length) == LTH__NO_SYMBOL)
            return lth__fail_memory(err, 0);
        if (text[length] == '\0') return LTH_OK;
        text += length + 1;
    }
}

static lth_status find_filter(lth__reader *r, const char *where, size_t line, lth__filter *out,
                              lth_error *err) {
    size_t length = (size_t)(strchr(where, '=') - where);
    lth__symbol found = lth__symbols_find(r->header, where, length);
    if (found != LTH__NO_SYMBOL && found >= r->arrays.first)
        return lth__fail(err, LTH_EARG, "where \"%.64s\" asks for a column of an array", where);
    if (found != LTH__NO_SYMBOL) {
        out->column = found;
        return read_values(where + length + 1, &out->values, err);
    }
    char *column = lth__strndup(where, length);
    if (!column) return lth__fail_memory(err, length);
    lth_status status = lth__fail_no_column(r->header, column, lth__input_name(r->in), line, err);
    lth__free(column);
    return status;
}

static bool matches(const lth__reader *r) {
    for (size_t i = 0; i < r->options->where_count; i++) {
        const lth__field *cell = &r->fields[r->filters[i].column];
        if (lth__symbols_find(r->filters[i].values, cell->text, cell->length) == LTH__NO_SYMBOL)
            return false;
    }
    return true;
}

static const char longer_rows[] = ": is this a table? --max-row (max_row) allows for longer ones";

/* ---- Records -------------------------------------------------------------------------------- */

static lth_status check_record(const lth__reader *r, lth_error *err) {
    if (r->record <= r->options->max_row) return LTH_OK;
    char most[16];
    lth__print_size((double)r->options->max_row, most);
    return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), lth__input_line_number(r->in), 1,
                        "a row of more than %s%s", most, longer_rows);
}

lth_status lth__reader_line(lth__reader *r, const char **line, size_t *length, lth_error *err) {
    const char *text;
    size_t size = 0;
    LTH_TRY(lth__input_line(r->in, &text, &size, err));
    r->ended = !text;
    r->record += size;
    LTH_TRY(check_record(r, err));
    if (text) {
        size_t number = lth__input_line_number(r->in);
        if (number == 1 && size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
            text += 3;
            size -= 3;
        }
        if (size > 0 && text[size - 1] == '\r') size--;
        size_t bad = lth__utf8_check(text, size);
        if (bad < size) return lth__fail_bad_byte(lth__input_name(r->in), number, text, bad, err);
    }
    *line = text;
    *length = size;
    return LTH_OK;
}

void lth__reader_clear(lth__reader *r) {
    r->field_count = 0;
    r->text.length = 0;
    r->record = 0;
}

lth_status lth__reader_add(lth__reader *r, const char *text, size_t length, size_t line,
                           size_t column, lth_error *err) {
    if (r->text.failed) return lth__fail_memory(err, 0);
    size_t at = r->field_count++;
    if (r->has_header && at > r->own) return LTH_OK;
    if (!lth__reserve((void **)&r->fields, &r->field_capacity, at + 1, sizeof *r->fields))
        return lth__fail_memory(err, 0);
    r->fields[at] = (lth__field){.text = text, .length = length, .line = line, .column = column};
    return LTH_OK;
}

/* r->text moves while it grows: only a complete record knows where its texts are. */
static void locate_texts(lth__reader *r) {
    const char *at = r->text.bytes ? r->text.bytes : "";
    for (size_t i = 0; i < r->field_count; i++) {
        lth__field *field = &r->fields[i];
        if (field->text) continue;
        field->text = at;
        at += field->length;
    }
}

static lth_status name_columns(lth__reader *r, lth_error *err) {
    const char *file = lth__input_name(r->in);
    for (size_t i = 0; i < r->field_count; i++) {
        const lth__field *field = &r->fields[i];
        if (field->length == 0)
            return lth__fail_at(
                err, LTH_EFORMAT, file, field->line, field->column,
                "column %zu of the header has no name%s", i + 1,
                i == 0 && r->field_count > 1 ? "; pandas leaves its index out by index=False" : "");
        lth__symbol symbol = lth__symbols_intern(r->header, field->text, field->length);
        if (symbol == LTH__NO_SYMBOL) return lth__fail_memory(err, 0);
        if (symbol < i)
            return lth__fail_at(err, LTH_EFORMAT, file, field->line, field->column,
                                "two columns have the name \"%.64s\"%s",
                                lth__symbols_text(r->header, symbol, NULL),
                                lth__looks_like_a_cell(field->text, field->length)
                                    ? "; does the first line have the columns' names?"
                                    : "");
    }
    r->own = r->field_count;
    return LTH_OK;
}

/* The column that is not in the file: its name. */
static lth_status name_file_column(lth__reader *r, size_t line, lth_error *err) {
    const char *name = r->options->file_column;
    if (!name) return LTH_OK;
    lth__symbol symbol = lth__symbols_intern(r->header, name, strlen(name));
    if (symbol == LTH__NO_SYMBOL) return lth__fail_memory(err, 0);
    if (symbol >= r->own) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), line, 1,
                        "the table has a column \"%.64s\" itself; it would be the file's name",
                        name);
}

/* The header columns that options->columns names, in that order, some perhaps twice. */
static lth_status wanted_columns(const lth__reader *r, size_t line, size_t **out, size_t *count,
                                 lth_error *err) {
    const lth_table_options *o = r->options;
    size_t capacity = 0;
    if (!o->columns) {
        for (size_t i = 0; i < lth__symbols_count(r->header); i++)
            LTH_TRY(lth__columns_push(i, out, count, &capacity, err));
        return LTH_OK;
    }
    for (size_t i = 0; i < o->column_count; i++) {
        LTH_TRY(lth__arrays_check_range(&r->arrays, o->columns[i], err));
        LTH_TRY(lth__columns_find(r->header, o->columns[i], lth__input_name(r->in), line, out,
                                  count, &capacity, err));
    }
    lth__symbol found = o->optional ? lth__symbols_find(r->header, o->optional, strlen(o->optional))
                                    : LTH__NO_SYMBOL;
    return found == LTH__NO_SYMBOL ? LTH_OK : lth__columns_push(found, out, count, &capacity, err);
}

static lth_status keep_columns(lth__reader *r, size_t line, lth_error *err) {
    size_t wanted = 0;
    LTH_TRY(wanted_columns(r, line, &r->kept, &wanted, err));
    r->columns = lth__symbols_create();
    if (!r->columns) return lth__fail_memory(err, 0);
    for (size_t i = 0; i < wanted; i++) {
        size_t column = r->kept[i], length;
        if (r->needed[column]) continue;
        r->needed[column] = true;
        if (column >= r->arrays.first) continue;
        r->kept[r->kept_count++] = column;
        const char *name = lth__symbols_text(r->header, (lth__symbol)column, &length);
        if (lth__symbols_intern(r->columns, name, length) == LTH__NO_SYMBOL)
            return lth__fail_memory(err, 0);
    }
    return lth__arrays_check_needed(&r->arrays, r->needed, err);
}

/* Where another file has the columns that are kept of the first; where all are, it has no others.
 */
static lth_status keep_same_columns(lth__reader *r, size_t line, lth_error *err) {
    for (size_t i = 0; i < r->kept_count; i++) {
        size_t length;
        const char *name = lth__symbols_text(r->columns, (lth__symbol)i, &length);
        lth__symbol found = lth__symbols_find(r->header, name, length);
        if (found == LTH__NO_SYMBOL)
            return lth__fail_no_column(r->header, name, lth__input_name(r->in), line, err);
        r->kept[i] = found;
        r->needed[found] = true;
    }
    for (size_t i = 0; !r->options->columns && i < r->own; i++) {
        if (r->needed[i]) continue;
        return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), line, 1,
                            "the column \"%.64s\" is not in the first table: all have the same",
                            lth__symbols_text(r->header, (lth__symbol)i, NULL));
    }
    return LTH_OK;
}

/* An empty table with the kept columns. */
static lth_status begin_table(lth__reader *r, lth_error *err) {
    LTH_TRY(lth__table_create(lth__input_name(r->in), &r->table, err));
    r->table->before = r->rows;
    r->bytes = 0;
    for (size_t i = 0; i < r->kept_count; i++) {
        size_t length;
        const char *name = lth__symbols_text(r->columns, (lth__symbol)i, &length);
        if (lth__symbols_intern(r->table->columns, name, length) == LTH__NO_SYMBOL)
            return lth__fail_memory(err, 0);
    }
    return lth__arrays_begin(&r->arrays, r->table, err);
}

/* Models go on by so many rows: a multiple of these is predicted as it is in a whole table. */
enum { GROUP = 512, ENOUGH_BYTES = 16 << 20 };

static bool has_enough(const lth__reader *r) {
    if (!r->table || r->most == LTH_NONE) return false;
    bool long_rows = r->bytes >= ENOUGH_BYTES && r->table->rows % GROUP == 0;
    return r->table->rows >= r->most || long_rows;
}

bool lth__reader_full(const lth__reader *r) {
    return r->ended || has_enough(r);
}

lth_status lth__reader_header(lth__reader *r, lth_error *err) {
    size_t line = r->field_count > 0 ? r->fields[0].line : 1;
    locate_texts(r);
    LTH_TRY(name_columns(r, err));
    LTH_TRY(name_file_column(r, line, err));
    LTH_TRY(lth__arrays_name(&r->arrays, r->header, lth__input_name(r->in), err));
    r->needed = lth__calloc(lth__symbols_count(r->header), sizeof *r->needed);
    r->filters = lth__calloc(r->options->where_count, sizeof *r->filters);
    if (!r->needed || !r->filters) return lth__fail_memory(err, 0);
    LTH_TRY(r->columns ? keep_same_columns(r, line, err) : keep_columns(r, line, err));
    for (size_t i = 0; i < r->options->where_count; i++) {
        LTH_TRY(find_filter(r, r->options->where[i], line, &r->filters[i], err));
        r->needed[r->filters[i].column] = true;
    }
    r->has_header = true;
    if (r->table) return lth__table_begin_file(r->table, lth__input_name(r->in), err);
    return begin_table(r, err);
}

/* The cell of the file's name, behind those that the file has. */
static lth_status add_file_name(lth__reader *r, lth_error *err) {
    if (!r->options->file_column) return LTH_OK;
    if (!lth__reserve((void **)&r->fields, &r->field_capacity, r->own + 1, sizeof *r->fields))
        return lth__fail_memory(err, 0);
    r->fields[r->own] = (lth__field){.text = r->file_name, .length = r->file_name_length};
    return LTH_OK;
}

static lth_status keep_number(const lth__reader *r, lth_error *err) {
    lth_table *t = r->table;
    if (!lth__reserve((void **)&t->numbers, &t->number_capacity, t->rows + 1, sizeof *t->numbers))
        return lth__fail_memory(err, 0);
    t->numbers[t->rows] = r->rows;
    return LTH_OK;
}

lth_status lth__reader_row(lth__reader *r, size_t line, size_t end_line, size_t end_column,
                           lth_error *err) {
    size_t count = r->field_count, expected = r->own;
    if (count != expected) {
        bool few = count < expected;
        return lth__fail_at(
            err, LTH_EFORMAT, lth__input_name(r->in), few ? end_line : r->fields[expected].line,
            few ? end_column : r->fields[expected].column, "%zu field%s where the header has %zu",
            count, count == 1 ? "" : "s", expected);
    }
    locate_texts(r);
    LTH_TRY(add_file_name(r, err));
    LTH_TRY(lth__arrays_row(&r->arrays, r->table, err));
    r->rows++;
    if (!matches(r)) return LTH_OK;
    LTH_TRY(lth__arrays_check_row(&r->arrays, r->table, err));
    if (r->options->where_count > 0) LTH_TRY(keep_number(r, err));
    r->bytes += r->arrays.columns * sizeof(double);
    for (size_t i = 0; i < r->kept_count; i++) r->bytes += r->fields[r->kept[i]].length;
    return lth__table_append(r->table, line, r->fields, r->kept, err);
}

lth_status lth__reader_record(lth__reader *r, size_t line, size_t end_line, size_t end_column,
                              lth_error *err) {
    if (!r->has_header) return lth__reader_header(r, err);
    return lth__reader_row(r, line, end_line, end_column, err);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* What is known of a file by the end of its name; first found, first taken. */
static const struct {
    const char *text;
    lth_table_format format;
} extensions[] = {
    {".tsv", LTH_TABLE_TSV},           {".txt", LTH_TABLE_TSV},      {".csv", LTH_TABLE_CSV},
    {".jsonl", LTH_TABLE_JSONL},       {".ndjson", LTH_TABLE_JSONL}, {".conllu", LTH_TABLE_CONLLU},
    {".fa", LTH_TABLE_FASTA},          {".fasta", LTH_TABLE_FASTA},  {".fna", LTH_TABLE_FASTA},
    {".faa", LTH_TABLE_FASTA},         {".sst", LTH_TABLE_SST},      {".klp", LTH_TABLE_KLP},
    {".svmlight", LTH_TABLE_SVMLIGHT},
};

static bool has_extension(const char *path, size_t length, const char *extension) {
    size_t size = strlen(extension);
    return length > size && strncasecmp(path + length - size, extension, size) == 0;
}

/* The length of a path without its extension, and of what format that says it is. */
static size_t strip_extension(const char *path, lth_table_format *format) {
    size_t length = strlen(path);
    if (has_extension(path, length, ".gz")) length -= 3;
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
        if (!has_extension(path, length, extensions[i].text)) continue;
        *format = extensions[i].format;
        return length - strlen(extensions[i].text);
    }
    *format = LTH_TABLE_TSV;
    return length;
}

static lth_table_format format_of(const char *path) {
    lth_table_format format;
    strip_extension(path, &format);
    return format;
}

/* "bound" of "peaks/bound.fa.gz". */
static const char *name_of(const char *path, size_t *length) {
    lth_table_format format;
    if (strcmp(path, "-") == 0) path = "stdin";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    *length = strip_extension(name, &format);
    return name;
}

/* The files of the treebank are .txt: "(3 " begins no header of a table. */
static lth_status look_for_trees(lth__input *in, lth_table_format *format, lth_error *err) {
    const char *bytes;
    size_t got, at = 1;
    LTH_TRY(lth__input_peek(in, 16, &bytes, &got, err));
    if (got == 0 || *bytes != '(') return LTH_OK;
    while (at < got && isdigit((unsigned char)bytes[at])) at++;
    if (at > 1 && at < got && bytes[at] == ' ') *format = LTH_TABLE_SST;
    return LTH_OK;
}

static const char *what_is_needed(lth_table_format format) {
    switch (format) {
    case LTH_TABLE_JSONL: return "a JSON object on each line";
    case LTH_TABLE_CONLLU: return "a sentence";
    case LTH_TABLE_FASTA: return "a record that begins with \">\"";
    case LTH_TABLE_SST: return "a tree on each line";
    case LTH_TABLE_KLP:
    case LTH_TABLE_SVMLIGHT: return "a line with a label and a tree";
    default: return "a header line";
    }
}

static lth_status read_format(lth__reader *r, lth_table_format format, lth_error *err) {
    switch (format) {
    case LTH_TABLE_CSV: return lth__read_csv(r, err);
    case LTH_TABLE_JSONL: return lth__read_jsonl(r, err);
    case LTH_TABLE_CONLLU: return lth__read_conllu(r, err);
    case LTH_TABLE_FASTA: return lth__read_fasta(r, err);
    case LTH_TABLE_SST: return lth__read_sst(r, err);
    case LTH_TABLE_KLP: return lth__read_klp(r, err);
    case LTH_TABLE_SVMLIGHT: return lth__read_svmlight(r, err);
    default: return lth__read_tsv(r, err);
    }
}

struct lth_table_stream {
    const lth_ctx *ctx;
    lth_table_options options;
    lth_table_format format;
    size_t opened; /* files so far */
    lth__reader reader;
};

void lth_table_options_init(lth_table_options *options) {
    *options = (lth_table_options){.size = sizeof *options};
}

static bool have_one_name(const char *a, const char *b) {
    size_t a_length, b_length;
    const char *a_name = name_of(a, &a_length), *b_name = name_of(b, &b_length);
    return a_length == b_length && memcmp(a_name, b_name, a_length) == 0;
}

/* The i-th file, the first of which is not among the options. */
static const char *path_at(const char *first, const lth_table_options *o, size_t i) {
    return i == 0 ? first : o->more[i - 1];
}

static lth_status check_files(const char *first, const lth_table_options *o, lth_error *err) {
    for (size_t i = 1; i <= o->more_count; i++) {
        for (size_t k = 0; k < i; k++) {
            const char *a = path_at(first, o, k), *b = path_at(first, o, i);
            if (strcmp(a, "-") == 0 && strcmp(b, "-") == 0)
                return lth__fail(err, LTH_EARG, "standard input can be read only once");
            if (!o->file_column || !have_one_name(a, b)) continue;
            size_t length;
            const char *name = name_of(a, &length);
            return lth__fail(err, LTH_EARG,
                             "rows get the names of their files, but %.64s and %.64s are both "
                             "\"%.*s\"",
                             a, b, length > 64 ? 64 : (int)length, name);
        }
    }
    return LTH_OK;
}

/* A file, whose header comes next. */
static lth_status open_file(lth_table_stream *s, const char *path, lth_error *err) {
    lth__reader *r = &s->reader;
    s->format = s->options.format == LTH_TABLE_AUTO ? format_of(path) : s->options.format;
    r->file_name = name_of(path, &r->file_name_length);
    LTH_TRY(lth__input_open(s->ctx ? s->ctx->relay : NULL, path, &r->in, err));
    lth__input_limit(r->in, s->options.max_row, longer_rows);
    s->opened++;
    bool guess = s->options.format == LTH_TABLE_AUTO && s->format == LTH_TABLE_TSV;
    LTH_TRY(lth__check_is_table(r->in, guess, err));
    lth__input_ask(r->in, s->ctx);
    if (guess) LTH_TRY(look_for_trees(r->in, &s->format, err));
    r->header = lth__symbols_create();
    return r->header ? LTH_OK : lth__fail_memory(err, 0);
}

/* What is known of the file in hand alone. */
static void close_file(lth__reader *r) {
    lth__input_close(r->in);
    lth__symbols_free(r->header);
    lth__free(r->needed);
    for (size_t i = 0; r->filters && i < r->options->where_count; i++)
        lth__symbols_free(r->filters[i].values);
    lth__free(r->filters);
    r->in = NULL;
    r->header = NULL;
    r->needed = NULL;
    r->filters = NULL;
    r->has_header = r->ended = false;
}

static lth_status open_stream(lth_table_stream *s, const char *path,
                              const lth_table_options *options, lth_error *err) {
    lth_table_options *o = &s->options;
    lth_table_options_init(o);
    if (options) {
        if (options->size == 0 || options->size > sizeof *o)
            return lth__fail(err, LTH_EARG, "the options were not set by lth_table_options_init()");
        memcpy(o, options, options->size);
    }
    if (o->max_row == 0) o->max_row = LTH__LONGEST_LINE;
    LTH_TRY(check_options(o, err));
    LTH_TRY(check_files(path, o, err));
    s->reader.options = o;
    LTH_TRY(open_file(s, path, err));
    return lth__arrays_open(s->ctx ? s->ctx->relay : NULL, o, &s->reader.arrays, err);
}

lth_status lth_table_stream_open(lth_ctx *ctx, const char *path, const lth_table_options *options,
                                 lth_table_stream **out, lth_error *err) {
    if (!path || !out)
        return lth__fail(err, LTH_EARG, "a path and a place for the table are needed");
    lth_table_stream *s = lth__calloc(1, sizeof *s);
    if (!s) return lth__fail_memory(err, sizeof *s);
    s->ctx = ctx;
    lth_status status = open_stream(s, path, options, err);
    if (status == LTH_OK)
        *out = s;
    else
        lth_table_stream_close(s);
    return status;
}

void lth_table_stream_close(lth_table_stream *s) {
    if (!s) return;
    lth__reader *r = &s->reader;
    close_file(r);
    lth__arrays_close(&r->arrays);
    lth_table_free(r->table);
    lth__symbols_free(r->columns);
    lth__free(r->kept);
    lth__free(r->fields);
    lth__string_free(&r->text);
    lth__free(s);
}

/* What the file in hand has. */
static lth_status read_file(lth_table_stream *s, lth_error *err) {
    lth__reader *r = &s->reader;
    LTH_TRY(read_format(r, s->format, err));
    if (r->has_header) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), 1, 1,
                        "the file is empty; %s is needed", what_is_needed(s->format));
}

/* At most so many rows into the reader's table, which may stay empty. */
static lth_status read_rows(lth_table_stream *s, size_t most, lth_error *err) {
    lth__reader *r = &s->reader;
    r->most = most;
    if (r->has_header && !r->table) LTH_TRY(begin_table(r, err));
    LTH_TRY(read_file(s, err));
    while (r->ended && !has_enough(r) && s->opened <= s->options.more_count) {
        close_file(r);
        LTH_TRY(open_file(s, s->options.more[s->opened - 1], err));
        LTH_TRY(read_file(s, err));
    }
    lth__table_trim(r->table);
    lth__arrays_settle(&r->arrays, r->table);
    bool all = r->ended && s->opened > s->options.more_count;
    return all ? lth__arrays_end(&r->arrays, err) : LTH_OK;
}

static lth_table *take_table(lth_table_stream *s) {
    lth_table *table = s->reader.table;
    s->reader.table = NULL;
    return table;
}

lth_status lth_table_stream_next(lth_table_stream *s, size_t rows, lth_table **out,
                                 lth_error *err) {
    if (rows == 0) return lth__fail(err, LTH_EARG, "a slice of no rows");
    LTH_TRY(read_rows(s, rows, err));
    *out = s->reader.table->rows > 0 ? take_table(s) : NULL;
    return LTH_OK;
}

lth_status lth_table_read(lth_ctx *ctx, const char *path, const lth_table_options *options,
                          lth_table **out, lth_error *err) {
    lth_table_stream *s = NULL;
    if (!out) return lth__fail(err, LTH_EARG, "a path and a place for the table are needed");
    LTH_TRY(lth_table_stream_open(ctx, path, options, &s, err));
    lth_status status = read_rows(s, LTH_NONE, err);
    if (status == LTH_OK) *out = take_table(s);
    lth_table_stream_close(s);
    return status;
}

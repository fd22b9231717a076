/* Files that are no tables, or of another kind than it seems: what they are, and what to do. */
#include "data/table_hints.h"

#include <string.h>

#include "base/text.h"

/* ---- How files begin ---- */

#define AS_TEXT "save the sheet as CSV (UTF-8)"
#define AS_ROWS "write its rows as CSV, TSV or JSONL"
#define UNPACKED "unpack it first; gzip alone is read as it is"

typedef struct beginning {
    size_t offset;
    const char *bytes;
    size_t length;
    const char *what;
} beginning;

#define BEGINS(offset, bytes, what)                                                                \
    { (offset), (bytes), sizeof(bytes) - 1, (what) }

static const beginning beginnings[] = {
    BEGINS(0, "PK\3\4", "a zip archive, as .xlsx and .ods are: " AS_TEXT),
    BEGINS(0, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "an Excel file (.xls): " AS_TEXT),
    BEGINS(0, "PAR1\x15", "a Parquet file: " AS_ROWS),
    BEGINS(0, "ARROW1\0", "an Arrow file: " AS_ROWS),
    BEGINS(0, "\x89HDF\r\n", "an HDF5 file: " AS_ROWS),
    BEGINS(0, "SQLite format 3\0", "an SQLite database: " AS_ROWS),
    BEGINS(0, "\x93NUMPY", "an array of NumPy: --array NAME=FILE reads it beside a table"),
    BEGINS(4, "1AY&SY", "packed by bzip2: " UNPACKED),
    BEGINS(0,
           "\xFD"
           "7zXZ\0",
           "packed by xz: " UNPACKED),
    BEGINS(0, "\x28\xB5\x2F\xFD", "packed by zstd: " UNPACKED),
    BEGINS(0, "%PDF-", "a PDF file, not a table"),
    BEGINS(0, "<!DOCTYPE", "a web page, not a table"),
    BEGINS(0, "<!doctype", "a web page, not a table"),
    BEGINS(0, "<html", "a web page, not a table"),
    BEGINS(0, "<?xml", "an XML file, not a table"),
    BEGINS(8, "{\"__metadata__\"", "a model, where a table is wanted"),
};

static const char *find_beginning(const char *bytes, size_t got) {
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        const beginning *b = &beginnings[i];
        if (b->offset + b->length <= got && memcmp(bytes + b->offset, b->bytes, b->length) == 0)
            return b->what;
    }
    return NULL;
}

/* A byte-order mark, or every other byte is NUL. */
static bool is_wide(const char *bytes, size_t got) {
    if (got >= 2 && (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0))
        return true;
    if (got < 4) return false;
    bool even = bytes[0] && !bytes[1] && bytes[2] && !bytes[3];
    bool odd = !bytes[0] && bytes[1] && !bytes[2] && bytes[3];
    return even || odd;
}

/* JSON in a file whose name does not say so. */
static const char *find_json(const char *bytes, size_t got) {
    size_t at = 1;
    while (at < got && strchr(" \t\r\n", bytes[at]) && bytes[at]) at++;
    if (got == 0 || at >= got) return NULL;
    if (bytes[0] == '[' && strchr("{[", bytes[at]) && bytes[at])
        return "a JSON array: write its objects one a line (JSONL)";
    if (bytes[0] == '{' && bytes[at] == '"') return "JSON: --format jsonl reads one object a line";
    return NULL;
}

/* Carriage returns, and no line feed. */
static bool has_old_line_ends(const char *bytes, size_t got) {
    return got > 0 && memchr(bytes, '\r', got - 1) && !memchr(bytes, '\n', got);
}

lth_status lth__check_is_table(lth__input *in, bool guess, lth_error *err) {
    enum { ENOUGH = 4096 };
    const char *bytes;
    size_t got;
    LTH_TRY(lth__input_peek(in, ENOUGH, &bytes, &got, err));
    const char *what = find_beginning(bytes, got);
    if (!what && is_wide(bytes, got))
        what = "in UTF-16, not UTF-8: save it as UTF-8, or use iconv -f UTF-16 -t UTF-8";
    if (!what && guess) what = find_json(bytes, got);
    if (!what && has_old_line_ends(bytes, got))
        what = "one line: its lines end with a carriage return alone (CR); save it with the line "
               "ends of Unix or Windows, or use tr '\\r' '\\n'";
    if (!what) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, lth__input_name(in), 1, 1, "this file is %s", what);
}

/* ---- Headers ---- */

static void trim(const char **text, size_t *length) {
    while (*length > 0 && strchr(" \"'", **text)) ++*text, --*length;
    while (*length > 0 && strchr(" \"'", (*text)[*length - 1])) --*length;
}

/* Whether one name holds several, apart by `mark`, and the wanted one is among them. */
static bool is_inside(const char *name, size_t length, char mark, const char *wanted) {
    const char *end = name + length;
    if (!memchr(name, mark, length)) return false;
    for (;;) {
        const char *next = memchr(name, mark, (size_t)(end - name)), *part = name;
        size_t size = (size_t)((next ? next : end) - name);
        trim(&part, &size);
        if (strlen(wanted) == size && memcmp(part, wanted, size) == 0) return true;
        if (!next) return false;
        name = next + 1;
    }
}

static const char *hint_of_separator(const lth__symbols *names, const char *wanted) {
    static const struct {
        char mark;
        const char *hint;
    } marks[] = {
        {';', "the cells are apart by \";\": save the table with commas (CSV) or tabs (TSV)"},
        {'|', "the cells are apart by \"|\": save the table with commas (CSV) or tabs (TSV)"},
        {',', "the cells are apart by commas: --format csv reads them"},
        {'\t', "the cells are apart by tabs: --format tsv reads them"},
    };
    for (size_t i = 0; i < lth__symbols_count(names); i++) {
        size_t length;
        const char *name = lth__symbols_text(names, (lth__symbol)i, &length);
        for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
            if (is_inside(name, length, marks[k].mark, wanted)) return marks[k].hint;
        }
    }
    return NULL;
}

bool lth__looks_like_a_cell(const char *name, size_t length) {
    double value;
    size_t spaces = 0;
    for (size_t i = 0; i < length; i++) spaces += name[i] == ' ';
    return lth__parse_double(name, length, &value) || spaces >= 4 || length > 80;
}

const char *lth__hint_of_header(const lth__symbols *names, const char *wanted) {
    const char *separator = hint_of_separator(names, wanted);
    if (separator) return separator;
    for (size_t i = 0; i < lth__symbols_count(names); i++) {
        size_t length;
        const char *name = lth__symbols_text(names, (lth__symbol)i, &length);
        if (lth__looks_like_a_cell(name, length))
            return "the first line looks like a row: put a line with the columns' names before it";
    }
    return NULL;
}

#include "kernel/core/expression.h"

#include <string.h>

#include "base/text.h"

enum {
    MAX_DEPTH = 200,    /* of parentheses and calls: the parser and the kernels recurse */
    MAX_ARGUMENTS = 64, /* of a call, with a name: each is compared with those before it */
};

typedef struct parser {
    const char *text, *at;
    lth__pool *pool;
    lth_error *err;
    size_t depth;
    const char *counted; /* up to where columns were counted, and how many */
    size_t columns;
} parser;

/* Places are asked for from left to right: counting goes on from the last. */
static size_t column_of(parser *p, const char *at) {
    if (!p->counted || at < p->counted) p->counted = p->text, p->columns = 0;
    p->columns += lth__utf8_count(p->counted, (size_t)(at - p->counted));
    p->counted = at;
    return p->columns + 1;
}

static lth_status mistake(parser *p, const char *at, const char *message) {
    return lth__fail_at(p->err, LTH_EFORMAT, NULL, 0, column_of(p, at), "%s", message);
}

static lth_status expected(parser *p, const char *what) {
    char found[16];
    if (!*p->at) {
        return lth__fail_at(p->err, LTH_EFORMAT, NULL, 0, column_of(p, p->at),
                            "%s is expected, but the expression ends", what);
    }
    size_t length = 1; /* the whole code point */
    while ((p->at[length] & 0xC0) == 0x80) length++;
    memcpy(found, p->at, length);
    found[length] = 0;
    return lth__fail_at(p->err, LTH_EFORMAT, NULL, 0, column_of(p, p->at),
                        "%s is expected here, not \"%s\"", what, found);
}

/* ---- Tokens ---- */

static void skip_space(parser *p) {
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r') p->at++;
}

static bool take(parser *p, char c) {
    skip_space(p);
    if (*p->at != c) return false;
    p->at++;
    return true;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool starts_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

static bool continues_name(char c) {
    return starts_name(c) || is_digit(c) || c == '-';
}

static size_t name_length(const char *at) {
    size_t n = 0;
    if (starts_name(*at)) {
        while (continues_name(at[n])) n++;
    }
    return n;
}

bool lth__expr_is_name(const char *text) {
    size_t n = name_length(text);
    return n > 0 && text[n] == 0;
}

static lth_status copy_text(parser *p, const char *text, size_t length, const char **out) {
    *out = lth__pool_strndup(p->pool, text, length);
    return *out ? LTH_OK : lth__fail_memory(p->err, length);
}

static lth_status take_name(parser *p, const char *what, const char **out) {
    skip_space(p);
    size_t length = name_length(p->at);
    if (length == 0) return expected(p, what);
    LTH_TRY(copy_text(p, p->at, length, out));
    p->at += length;
    return LTH_OK;
}

static bool at_number(const parser *p) {
    const char *c = p->at;
    if (*c == '-' || *c == '+') c++;
    return is_digit(*c) || (*c == '.' && is_digit(c[1]));
}

static lth_status take_number(parser *p, double *out) {
    skip_space(p);
    if (!at_number(p)) return expected(p, "a number");
    const char *end = p->at + 1;
    while (is_digit(*end) || (*end == '.' && end[1] != '.') || *end == 'e' || *end == 'E' ||
           ((*end == '-' || *end == '+') && (end[-1] == 'e' || end[-1] == 'E')))
        end++;
    if (!lth__parse_double(p->at, (size_t)(end - p->at), out) || *out - *out != 0)
        return mistake(p, p->at, "this is not a number");
    p->at = end;
    return LTH_OK;
}

/* ---- Growing arrays in the pool ---- */

/* Makes room for one more element in an array of `count`, of which the capacity is the next power
 * of two. Old copies stay in the pool until the kernel is freed; expressions are short. */
static void *grow(parser *p, void *array, size_t count, size_t size) {
    if (count > 0 && (count & (count - 1)) != 0) return array;
    void *bigger = lth__pool_alloc(p->pool, (count == 0 ? 1 : 2 * count) * size);
    if (bigger && count > 0) memcpy(bigger, array, count * size);
    return bigger;
}

static lth_status add_input(parser *p, lth__expr *parent, lth__expr *input) {
    lth__expr **inputs = grow(p, parent->inputs, parent->input_count, sizeof *inputs);
    if (!inputs) return lth__fail_memory(p->err, 0);
    inputs[parent->input_count++] = input;
    parent->inputs = inputs;
    return LTH_OK;
}

static lth_status new_expr(parser *p, lth__expr_kind kind, size_t column, lth__expr **out) {
    lth__expr *e = lth__pool_alloc(p->pool, sizeof *e);
    if (!e) return lth__fail_memory(p->err, sizeof *e);
    *e = (lth__expr){.kind = kind, .column = column};
    *out = e;
    return LTH_OK;
}

/* ---- Values ---- */

static lth_status fail_value(parser *p, const lth__value *v, const char *message) {
    return lth__fail_at(p->err, LTH_EFORMAT, NULL, 0, v->column, "%s", message);
}

static bool at_in(parser *p) {
    skip_space(p);
    return p->at[0] == 'i' && p->at[1] == 'n' && !continues_name(p->at[2]);
}

static bool at_dots(parser *p) {
    skip_space(p);
    return p->at[0] == '.' && p->at[1] == '.';
}

static lth_status check_range(parser *p, const lth__value *v) {
    if (!(v->lo < v->hi)) return fail_value(p, v, "the lower bound must be below the upper");
    if (v->given && (v->number < v->lo || v->number > v->hi))
        return lth__fail_at(p->err, LTH_EFORMAT, NULL, 0, v->column,
                            "%g is not within its bounds, %g..%g", v->number, v->lo, v->hi);
    return LTH_OK;
}

static lth_status fail_held(parser *p, const lth__value *v) {
    return fail_value(p, v, "a number is held by \"!\" or learned between bounds, not both");
}

/* What may follow a number: ".." NUMBER, if it is the lower bound, or "in" NUMBER ".." NUMBER. */
static lth_status parse_bounds(parser *p, lth__value *v) {
    bool has_start = at_in(p);
    v->given = has_start || !at_dots(p);
    if (!has_start && v->given) return LTH_OK;
    v->kind = LTH__VALUE_RANGE;
    v->lo = v->number;
    if (has_start) {
        p->at += 2;
        LTH_TRY(take_number(p, &v->lo));
        if (!at_dots(p)) return expected(p, "\"..\" and the upper bound");
    }
    p->at += 2;
    LTH_TRY(take_number(p, &v->hi));
    return check_range(p, v);
}

/* start, or "$" NAME ["=" start]; see expression.h. */
static lth_status parse_number(parser *p, lth__value *out) {
    skip_space(p);
    *out = (lth__value){.kind = LTH__VALUE_NUMBER, .column = column_of(p, p->at)};
    if (take(p, '$')) {
        if (!starts_name(*p->at)) return expected(p, "the name of a shared value, as in $a,");
        LTH_TRY(take_name(p, "a name", &out->tag));
        skip_space(p);
        if (*p->at != '=') return LTH_OK;
        p->at++;
    }
    LTH_TRY(take_number(p, &out->number));
    LTH_TRY(parse_bounds(p, out));
    out->held = take(p, '!');
    bool bounds = out->kind == LTH__VALUE_RANGE || (out->held && at_in(p));
    return out->held && bounds ? fail_held(p, out) : LTH_OK;
}

static lth_status parse_value(parser *p, lth__value *out);

static lth_status parse_list(parser *p, lth__value *out) {
    *out = (lth__value){.kind = LTH__VALUE_LIST, .column = column_of(p, p->at)};
    take(p, '[');
    if (!take(p, ']')) {
        do {
            lth__value *items = grow(p, out->items, out->count, sizeof *items);
            if (!items) return lth__fail_memory(p->err, 0);
            out->items = items;
            LTH_TRY(parse_value(p, &items[out->count]));
            if (items[out->count].kind == LTH__VALUE_LIST) {
                return lth__fail_at(p->err, LTH_EFORMAT, NULL, 0, items[out->count].column,
                                    "a list cannot hold a list");
            }
            out->count++;
        } while (take(p, ','));
        if (!take(p, ']')) return expected(p, "\",\" or \"]\"");
    }
    out->held = take(p, '!');
    for (size_t i = 0; i < out->count; i++) {
        if (out->held && out->items[i].kind == LTH__VALUE_RANGE)
            return fail_held(p, &out->items[i]);
        out->items[i].held |= out->held;
    }
    return LTH_OK;
}

/* A quoted text, in which two quotes stand for one. */
static lth_status parse_text(parser *p, lth__value *out) {
    const char *start = p->at, *end = start + 1;
    while (*end && (*end != '"' || end[1] == '"')) end += *end == '"' ? 2 : 1;
    if (!*end) return mistake(p, start, "this quoted text is not closed");
    char *text = lth__pool_alloc(p->pool, (size_t)(end - start));
    if (!text) return lth__fail_memory(p->err, (size_t)(end - start));
    out->word = text;
    for (const char *c = start + 1; c < end; c++) {
        *text++ = *c;
        c += *c == '"';
    }
    *text = 0;
    p->at = end + 1;
    return LTH_OK;
}

static lth_status parse_value(parser *p, lth__value *out) {
    skip_space(p);
    if (*p->at == '[') {
        if (++p->depth > MAX_DEPTH) return mistake(p, p->at, "too many nested brackets");
        lth_status status = parse_list(p, out);
        p->depth--;
        return status;
    }
    if (*p->at == '$' || at_number(p)) return parse_number(p, out);
    *out = (lth__value){.kind = LTH__VALUE_WORD, .column = column_of(p, p->at)};
    if (*p->at == '"') return parse_text(p, out);
    return take_name(p, "a number, a word or a list", &out->word);
}

/* ---- Expressions ---- */

static lth_status parse_sum(parser *p, lth__expr **out);

/* COLUMN, "quoted column", or COLUMN..COLUMN, whose name is then "first..last". */
static lth_status parse_column(parser *p, lth__expr **out) {
    skip_space(p);
    const char *start = p->at;
    LTH_TRY(new_expr(p, LTH__EXPR_COLUMN, column_of(p, start), out));
    if (take(p, '"')) {
        const char *end = strchr(p->at, '"');
        if (!end) return mistake(p, start, "this quoted column name is not closed");
        if (end == p->at) return mistake(p, start, "this column name is empty");
        LTH_TRY(copy_text(p, p->at, (size_t)(end - p->at), &(*out)->name));
        p->at = end + 1;
        (*out)->quoted = true;
        return LTH_OK;
    }
    LTH_TRY(take_name(p, "a column or a kernel", &(*out)->name));
    if (strncmp(p->at, "..", 2) != 0) return LTH_OK;
    p->at += 2;
    size_t last = name_length(p->at);
    if (last == 0) return expected(p, "the last column of the range");
    (*out)->range = true;
    LTH_TRY(copy_text(p, start, (size_t)(p->at + last - start), &(*out)->name));
    p->at += last;
    return LTH_OK;
}

/* Whether NAME stands here with `next` after it. */
static bool at_name_then(parser *p, char next) {
    skip_space(p);
    const char *after = p->at + name_length(p->at);
    if (after == p->at) return false;
    while (*after == ' ' || *after == '\t' || *after == '\n' || *after == '\r') after++;
    return *after == next;
}

static lth_status parse_named_argument(parser *p, lth__expr *call) {
    if (call->argument_count == MAX_ARGUMENTS) return mistake(p, p->at, "too many arguments");
    lth__argument *arguments = grow(p, call->arguments, call->argument_count, sizeof *arguments);
    if (!arguments) return lth__fail_memory(p->err, 0);
    call->arguments = arguments;
    lth__argument *a = &arguments[call->argument_count];
    *a = (lth__argument){.column = column_of(p, p->at)};
    LTH_TRY(take_name(p, "the name of an argument", &a->name));
    for (size_t i = 0; i < call->argument_count; i++) {
        if (strcmp(arguments[i].name, a->name) == 0) {
            return lth__fail_at(p->err, LTH_EFORMAT, NULL, 0, a->column, "\"%s\" is given twice",
                                a->name);
        }
    }
    take(p, '=');
    LTH_TRY(parse_value(p, &a->value));
    call->argument_count++;
    return LTH_OK;
}

static lth_status parse_argument(parser *p, lth__expr *call) {
    if (at_name_then(p, '=')) return parse_named_argument(p, call);
    lth__expr *input = NULL;
    bool kernel = *p->at == '(' || *p->at == '$' || at_number(p) || at_name_then(p, '(');
    if (kernel)
        LTH_TRY(parse_sum(p, &input));
    else
        LTH_TRY(parse_column(p, &input));
    return add_input(p, call, input);
}

static lth_status parse_call(parser *p, lth__expr **out) {
    skip_space(p);
    LTH_TRY(new_expr(p, LTH__EXPR_CALL, column_of(p, p->at), out));
    LTH_TRY(take_name(p, "a kernel", &(*out)->name));
    take(p, '(');
    if (take(p, ')')) return LTH_OK;
    do {
        LTH_TRY(parse_argument(p, *out));
    } while (take(p, ','));
    return take(p, ')') ? LTH_OK : expected(p, "\",\" or \")\"");
}

static lth_status parse_factor(parser *p, lth__expr **out) {
    skip_space(p);
    if (*p->at == '$' || at_number(p)) {
        LTH_TRY(new_expr(p, LTH__EXPR_NUMBER, column_of(p, p->at), out));
        return parse_number(p, &(*out)->number);
    }
    if (take(p, '(')) {
        LTH_TRY(parse_sum(p, out));
        return take(p, ')') ? LTH_OK : expected(p, "\")\"");
    }
    if (at_name_then(p, '(')) return parse_call(p, out);
    size_t length = name_length(p->at);
    if (length == 0) return expected(p, "a kernel, a number or \"(\"");
    return lth__fail_at(p->err, LTH_EFORMAT, NULL, 0, column_of(p, p->at),
                        "\"%.*s\" is not followed by \"(\": a kernel is written as "
                        "NAME(COLUMN, ...), as in ssk(text)",
                        length > 80 ? 80 : (int)length, p->at);
}

/* Add an operand, or its own operands if it is of the same kind: (a + b) + c is a + b + c. */
static lth_status add_operand(parser *p, lth__expr *parent, lth__expr *operand) {
    if (operand->kind != parent->kind) return add_input(p, parent, operand);
    for (size_t i = 0; i < operand->input_count; i++)
        LTH_TRY(add_input(p, parent, operand->inputs[i]));
    return LTH_OK;
}

/* operand { op operand }; a single operand stands for itself. */
static lth_status parse_operands(parser *p, char op, lth__expr_kind kind,
                                 lth_status (*parse)(parser *, lth__expr **), lth__expr **out) {
    lth__expr *operand = NULL, *joined = NULL;
    LTH_TRY(parse(p, &operand));
    while (take(p, op)) {
        if (!joined) {
            LTH_TRY(new_expr(p, kind, operand->column, &joined));
            LTH_TRY(add_operand(p, joined, operand));
        }
        LTH_TRY(parse(p, &operand));
        LTH_TRY(add_operand(p, joined, operand));
    }
    *out = joined ? joined : operand;
    return LTH_OK;
}

static lth_status parse_product(parser *p, lth__expr **out) {
    return parse_operands(p, '*', LTH__EXPR_PRODUCT, parse_factor, out);
}

static lth_status parse_sum(parser *p, lth__expr **out) {
    if (++p->depth > MAX_DEPTH) return mistake(p, p->at, "too many nested parentheses");
    lth_status status = parse_operands(p, '+', LTH__EXPR_SUM, parse_product, out);
    p->depth--;
    return status;
}

static lth_status check_bytes(parser *p) {
    size_t length = strlen(p->text), bad = lth__utf8_check(p->text, length);
    return bad < length ? mistake(p, p->text + bad, "this byte is not valid UTF-8") : LTH_OK;
}

lth_status lth__expr_parse_columns(const char *text, lth__pool *pool, const lth__expr **out,
                                   lth_error *err) {
    parser p = {.text = text, .at = text, .pool = pool, .err = err};
    lth__expr *sum = NULL;
    LTH_TRY(check_bytes(&p));
    LTH_TRY(new_expr(&p, LTH__EXPR_SUM, 1, &sum));
    do {
        lth__expr *column = NULL;
        skip_space(&p);
        if (*p.at != '"' && name_length(p.at) == 0) return expected(&p, "a column");
        LTH_TRY(parse_column(&p, &column));
        LTH_TRY(add_input(&p, sum, column));
    } while (take(&p, '+'));
    if (*p.at) return expected(&p, "\"+\" or the end");
    *out = sum;
    return LTH_OK;
}

lth_status lth__expr_parse(const char *text, lth__pool *pool, const lth__expr **out,
                           const lth__expr **noise, lth_error *err) {
    parser p = {.text = text, .at = text, .pool = pool, .err = err};
    LTH_TRY(check_bytes(&p));
    lth__expr *e = NULL, *after = NULL;
    LTH_TRY(parse_sum(&p, &e));
    if (take(&p, '|')) LTH_TRY(parse_sum(&p, &after));
    skip_space(&p);
    if (*p.at == ')') return mistake(&p, p.at, "this \")\" closes nothing");
    if (*p.at) return expected(&p, "\"+\", \"*\" or the end");
    *out = e;
    *noise = after;
    return LTH_OK;
}

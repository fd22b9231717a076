/* Expressions as they are written: enough of the grammar to take them apart and put them together
 * again. */
#include <ctype.h>
#include <string.h>

#include "random_case.h"

syntax *syntax_new(syntax_kind kind, const char *text) {
    syntax *s = random_alloc(sizeof *s);
    s->kind = kind;
    s->text = text;
    return s;
}

/* ---- Reading ---- */

static char *cut(const char *from, const char *to) {
    while (to > from && to[-1] == ' ') to--;
    return random_print("%.*s", (int)(to - from), from);
}

static const char *skip_blanks(const char *p) {
    while (*p == ' ') p++;
    return p;
}

/* The end of what stands before one of `stops`, outside of brackets and quotes. */
static const char *find_end(const char *p, const char *stops) {
    int depth = 0;
    for (bool quoted = false; *p; p++) {
        if (*p == '"') quoted = !quoted;
        if (quoted) continue;
        if (depth == 0 && strchr(stops, *p)) break;
        depth += *p == '[' || *p == '(';
        depth -= *p == ']' || *p == ')';
    }
    return p;
}

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static syntax *parse_sum(const char **p);

/* After the "(" of a call: inputs and name=value. */
static bool parse_arguments(syntax *s, const char **p) {
    for (*p = skip_blanks(*p); **p != ')'; *p = skip_blanks(*p)) {
        const char *name = *p;
        while (is_name(*name)) name++;
        name = skip_blanks(name);
        if (name > *p && *name == '=') {
            const char *end = find_end(*p, ",)");
            if (s->arguments == ARGUMENTS) return false;
            s->argument[s->arguments++] = cut(*p, end);
            *p = end;
        } else {
            if (s->inputs == INPUTS || !(s->input[s->inputs] = parse_sum(p))) return false;
            s->inputs++;
        }
        *p = skip_blanks(*p);
        if (**p == ',')
            ++*p;
        else if (**p != ')')
            return false;
    }
    ++*p;
    return true;
}

static syntax *parse_factor(const char **p) {
    *p = skip_blanks(*p);
    if (**p == '(') {
        ++*p;
        syntax *inner = parse_sum(p);
        *p = skip_blanks(*p);
        return inner && *(*p)++ == ')' ? inner : NULL;
    }
    const char *end = *p;
    while (is_name(*end)) end++;
    if (*skip_blanks(end) == '(') {
        syntax *call = syntax_new(CALL, cut(*p, end));
        *p = skip_blanks(end) + 1;
        return parse_arguments(call, p) ? call : NULL;
    }
    end = find_end(*p, "+*,|)");
    /* The "+" of 1e+300 is part of the number. */
    while (*end == '+' && end > *p && (end[-1] == 'e' || end[-1] == 'E') && **p != '"')
        end = find_end(end + 1, "+*,|)");
    syntax *leaf = syntax_new(strchr("0123456789.$-", **p) ? NUMBER : COLUMN, cut(*p, end));
    *p = end;
    return *leaf->text ? leaf : NULL;
}

/* What `next` reads, one or several with `op` between. */
static syntax *parse_operands(const char **p, char op, syntax_kind kind,
                              syntax *(*next)(const char **)) {
    syntax *first = next(p), *all = NULL;
    while (first && *(*p = skip_blanks(*p)) == op) {
        ++*p;
        if (!all) {
            all = syntax_new(kind, NULL);
            all->input[all->inputs++] = first;
        }
        if (all->inputs == INPUTS || !(all->input[all->inputs] = next(p))) return NULL;
        all->inputs++;
    }
    return all ? all : first;
}

static syntax *parse_product(const char **p) {
    return parse_operands(p, '*', PRODUCT, parse_factor);
}

static syntax *parse_sum(const char **p) {
    return parse_operands(p, '+', SUM, parse_product);
}

syntax *syntax_parse(const char *text, const char **rest) {
    syntax *s = parse_sum(&text);
    *rest = skip_blanks(text);
    return s;
}

/* ---- Writing ---- */

static char *print_operands(const syntax *s) {
    char *out = "";
    for (size_t i = 0; i < s->inputs; i++) {
        bool brackets = s->kind == PRODUCT && s->input[i]->kind == SUM;
        out = random_print("%s%s%s%s%s", out,
                           i == 0           ? ""
                           : s->kind == SUM ? " + "
                                            : " * ",
                           brackets ? "(" : "", syntax_print(s->input[i]), brackets ? ")" : "");
    }
    return out;
}

char *syntax_print(const syntax *s) {
    if (s->kind == SUM || s->kind == PRODUCT) return print_operands(s);
    if (s->kind != CALL) return random_print("%s", s->text);
    char *out = random_print("%s(", s->text);
    for (size_t i = 0; i < s->inputs; i++)
        out = random_print("%s%s%s", out, i ? ", " : "", syntax_print(s->input[i]));
    for (size_t i = 0; i < s->arguments; i++)
        out = random_print("%s%s%s", out, i + s->inputs ? ", " : "", s->argument[i]);
    return random_print("%s)", out);
}

syntax *syntax_copy(const syntax *s) {
    syntax *copy = syntax_new(s->kind, s->text);
    *copy = *s;
    for (size_t i = 0; i < s->inputs; i++) copy->input[i] = syntax_copy(s->input[i]);
    return copy;
}

size_t syntax_nodes(syntax *s, syntax **out, size_t capacity) {
    size_t count = 0;
    if (capacity) out[count++] = s;
    for (size_t i = 0; i < s->inputs; i++)
        count += syntax_nodes(s->input[i], out + count, capacity - count);
    return count;
}

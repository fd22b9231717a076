/* Shrinking: parts of the expression and of the tables are left out or made simpler for as long as
 * the same check fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "random_case.h"

enum { NODES = 256, SECONDS = 60 };

typedef struct search {
    random_case *best;
    const finding *want;
    fails_fn *fails;
    void *user;
    time_t end;
} search;

/* Takes the candidate if it still fails. */
static bool try_case(search *s, const random_case *candidate) {
    if (time(NULL) > s->end || !s->fails(s->user, candidate, s->want)) return false;
    *s->best = *candidate;
    return true;
}

/* ---- Expressions ---- */

static bool try_expression(search *s, const syntax *root, const char *rest) {
    random_case c = *s->best;
    c.expression = random_print("%s%s%s", syntax_print(root), *rest ? " " : "", rest);
    return strcmp(c.expression, s->best->expression) != 0 && try_case(s, &c);
}

static void drop(const void **list, size_t *count, size_t i) {
    memmove(list + i, list + i + 1, (*count - i - 1) * sizeof *list);
    --*count;
}

/* What can be done to a node; false: there is no such thing. */
static bool edit(syntax *node, size_t what) {
    if (what < node->inputs) { /* its input in its place */
        if (node->input[what]->kind == COLUMN) return false;
        *node = *node->input[what];
        return true;
    }
    what -= node->inputs;
    if (node->kind == SUM || node->kind == PRODUCT) {
        if (what >= node->inputs || node->inputs <= 2) return false;
        drop((const void **)node->input, &node->inputs, what);
        return true;
    }
    if (what < node->arguments) {
        drop((const void **)node->argument, &node->arguments, what);
        return true;
    }
    what -= node->arguments;
    if (what < node->arguments) { /* a simpler value: 1, for a number or all of a list */
        const char *value = strchr(node->argument[what], '=') + 1;
        if (!strpbrk(value, "0123456789") || strcmp(value, "1") == 0) return false;
        node->argument[what] =
            random_print("%.*s1", (int)(value - node->argument[what]), node->argument[what]);
        return true;
    }
    return false;
}

static size_t edits_of(const syntax *node) {
    return 2 * node->inputs + 2 * node->arguments;
}

static bool shrink_expression(search *s) {
    const char *rest;
    syntax *nodes[NODES], *root = syntax_parse(s->best->expression, &rest);
    if (!root) return false;
    if (*rest && try_expression(s, root, "")) return true;
    size_t count = syntax_nodes(root, nodes, NODES);
    for (size_t i = 0; i < count; i++)
        for (size_t what = 0; what < edits_of(nodes[i]); what++) {
            syntax *copies[NODES], *copy = syntax_copy(root);
            syntax_nodes(copy, copies, NODES);
            if (edit(copies[i], what) && try_expression(s, copy, rest)) return true;
        }
    return false;
}

/* ---- Tables ---- */

static grid grid_copy(const grid *g) {
    grid copy = *g;
    copy.name = random_alloc(g->columns * sizeof *copy.name);
    copy.cell = random_alloc(g->rows * g->columns * sizeof *copy.cell);
    memcpy(copy.name, g->name, g->columns * sizeof *copy.name);
    memcpy(copy.cell, g->cell, g->rows * g->columns * sizeof *copy.cell);
    return copy;
}

static grid *grid_of(random_case *c, bool others) {
    return others ? &c->others : &c->train;
}

/* Without `count` rows from the first on. */
static bool try_without_rows(search *s, bool others, size_t first, size_t count) {
    random_case c = *s->best;
    grid *g = grid_of(&c, others);
    *g = grid_copy(g);
    memmove(g->cell + first * g->columns, g->cell + (first + count) * g->columns,
            (g->rows - first - count) * g->columns * sizeof *g->cell);
    g->rows -= count;
    return try_case(s, &c);
}

static bool drop_rows(search *s, bool others) {
    size_t rows = grid_of(s->best, others)->rows;
    for (size_t count = rows / 2; count > 0; count /= 2)
        for (size_t first = 0; first + count <= rows; first += count)
            if (count < rows && try_without_rows(s, others, first, count)) return true;
    return false;
}

static bool drop_column(search *s) {
    for (size_t column = 0; column < s->best->train.columns && s->best->train.columns > 1;
         column++) {
        random_case c = *s->best;
        for (int others = 0; others < 2; others++) {
            grid *g = grid_of(&c, others);
            *g = grid_copy(g);
            size_t width = g->columns;
            memmove(g->name + column, g->name + column + 1, (width - column - 1) * sizeof *g->name);
            g->columns = 0;
            for (size_t i = 0; i < g->rows * width; i++)
                if (i % width != column) g->cell[g->columns++] = g->cell[i];
            g->columns = width - 1;
        }
        if (try_case(s, &c)) return true;
    }
    return false;
}

/* Whole characters only. */
static bool is_inside(const char *text, size_t at) {
    return ((unsigned char)text[at] & 0xc0) == 0x80;
}

/* Without `count` bytes from the first on; NULL: that would cut a character. */
static const char *without(const char *text, size_t first, size_t count) {
    if (is_inside(text, first) || is_inside(text, first + count)) return NULL;
    return random_print("%.*s%s", (int)first, text, text + first + count);
}

static bool try_cell(search *s, bool others, size_t at, const char *text) {
    random_case c = *s->best;
    grid *g = grid_of(&c, others);
    if (!text || strcmp(g->cell[at], text) == 0) return false;
    *g = grid_copy(g);
    g->cell[at] = text;
    return try_case(s, &c);
}

static bool shrink_cell(search *s, bool others, size_t at) {
    const char *text = grid_of(s->best, others)->cell[at];
    size_t length = strlen(text);
    if (length == 0) return false;
    if (length > 1 && (try_cell(s, others, at, "") || try_cell(s, others, at, "1"))) return true;
    for (size_t count = length / 2; count > 0; count /= 2)
        for (size_t first = 0; first + count <= length; first += count)
            if (try_cell(s, others, at, without(text, first, count))) return true;
    return false;
}

static bool shrink_cells(search *s, bool others) {
    bool better = false;
    const grid *g = grid_of(s->best, others);
    for (size_t i = 0, n = g->rows * g->columns; i < n; i++) {
        while (shrink_cell(s, others, i)) better = true;
        g = grid_of(s->best, others);
    }
    return better;
}

void shrink(random_case *c, const finding *want, fails_fn *fails, void *user) {
    search s = {c, want, fails, user, time(NULL) + SECONDS};
    bool better = true;
    while (better && time(NULL) <= s.end) {
        better = false;
        while (shrink_expression(&s)) better = true;
        for (int others = 0; others < 2; others++)
            while (drop_rows(&s, others)) better = true;
        while (drop_column(&s)) better = true;
        for (int others = 0; others < 2; others++) better |= shrink_cells(&s, others);
    }
}

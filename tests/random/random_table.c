/* Ugly tables: a column for every kind of thing that kernels read, targets of every kind, and the
 * files that go with them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_case.h"

/* ---- Cells ---- */

/* Composed and decomposed letters, marks by themselves, several bytes, none at all. */
static const char *const words[] = {
    "a",       "the", "dog",   "cat",    "runs",    "saw",     "not",    "good",
    "ex-wife", "DOG", "it's",  "\u00e9", "e\u0301", "\u0301",  "\u00df", "\U0001f600",
    "\u200b",  "1e5", "\"q\"", ",",      "(x)",     "\u0130I", "x",
};
enum { WORDS = sizeof words / sizeof *words };

static const char *pick(const char *const *from, size_t count) {
    return from[random_below(count)];
}

/* Mostly short; empty, or long. */
static size_t length(size_t usual, size_t most) {
    if (random_chance(0.12)) return random_below(2);
    return random_chance(0.04) ? 1 + random_below(most) : 1 + random_below(usual);
}

static char *sentence(void) {
    char *out = "";
    size_t few = 2 + random_below(WORDS - 1);
    for (size_t i = 0, n = length(8, 80); i < n; i++)
        out = random_print("%s%s%s", out, i ? " " : "", words[random_below(few)]);
    return out;
}

static char *letters(const char *alphabet, size_t n) {
    char *out = random_alloc(n);
    for (size_t i = 0; i < n; i++) out[i] = alphabet[random_below(strlen(alphabet))];
    return out;
}

static char *characters(void) {
    static const char *const of[] = {"ab", "a", "abcdefghij", "xyzXYZ 0"};
    if (random_chance(0.7)) return letters(pick(of, 4), length(12, 300));
    char *out = "";
    for (size_t i = 0, n = length(6, 40); i < n; i++)
        out = random_print("%s%s", out, words[random_below(WORDS)]);
    return out;
}

/* Mutations of the wild type, apart by colons. */
static char *mutations(const char *wild_type) {
    char *out = "";
    for (size_t i = 0, n = random_below(4), at = 0; i < n; i++) {
        at += 1 + random_below(3);
        if (at > strlen(wild_type)) break;
        out = random_print("%s%s%c%zu%c", out, *out ? ":" : "", wild_type[at - 1], at,
                           "ACDEFGHIKLMNPQRSTVWY"[random_below(20)]);
    }
    return *out ? out : random_print("%s", random_chance(0.5) ? "WT" : "");
}

static const char *const tree_labels[] = {"S", "NP", "VP", "NP-SBJ-1", "-NONE-"};

static char *tree(size_t depth) {
    const char *label = pick(tree_labels, 5);
    if (depth == 0 || random_chance(0.3)) return random_print("(%s %s)", label, pick(words, 12));
    char *out = random_print("(%s", label);
    for (size_t i = 0, n = 1 + random_below(3); i < n; i++)
        out = random_print("%s %s", out, tree(depth - 1));
    return random_print("%s)", out);
}

/* Deep or flat ones, too. */
static char *any_tree(void) {
    if (random_chance(0.06)) return "";
    if (random_chance(0.9)) return tree(random_below(5));
    bool deep = random_chance(0.5);
    size_t n = 1 + random_below(60);
    char *out = deep ? "(NP dog)" : "(S";
    for (size_t i = 0; i < n; i++)
        out = deep ? random_print("(%s %s)", pick(tree_labels, 3), out)
                   : random_print("%s (NP %s)", out, pick(words, 4));
    return deep ? out : random_print("%s)", out);
}

/* A sentence of CoNLL-U, in which each word hangs on the one before or on the first. */
static char *dependencies(void) {
    static const char *const relations[] = {"nsubj", "obj", "det"};
    char *out = "";
    for (size_t i = 0, n = 1 + random_below(5); i < n; i++)
        out = random_print("%s%zu\t%s\t%s\tNOUN\t_\t_\t%zu\t%s\t_\t_\n", out, i + 1, words[i % 8],
                           words[i % 8], i == 0 ? (size_t)0 : 1 + random_below(i),
                           i == 0 ? "root" : pick(relations, 3));
    return out;
}

static char *print_number(double x) {
    return random_print("%.17g", x);
}

static char *number(bool mild) {
    static const char *const ugly[] = {"0",      "-0",     "1",       "-1",     "1e140", "-1e139",
                                       "1e-150", "5e-324", "-2e-308", "1e-300", "3",     "1e15"};
    if (!mild && random_chance(0.5)) return random_print("%s", pick(ugly, 12));
    if (random_chance(0.2)) return print_number((double)random_below(3));
    return print_number(random_unit() * 4 - 2);
}

/* ---- Columns ---- */

typedef struct column {
    const char *name;
    char *(*cell)(const tables *t, size_t row, bool mild);
} column;

static char *cell_text(const tables *t, size_t row, bool mild) {
    return (void)t, (void)row, (void)mild, sentence();
}
static char *cell_chars(const tables *t, size_t row, bool mild) {
    return (void)t, (void)row, (void)mild, characters();
}
/* Of one length: that of the wild type. */
static char *cell_aligned(const tables *t, size_t row, bool mild) {
    return (void)row, (void)mild, letters("ACDEFGHIKLMNPQRSTVWYX", strlen(t->wild_type));
}
static char *cell_protein(const tables *t, size_t row, bool mild) {
    return (void)t, (void)row, (void)mild, letters("ACDEFGHIKLMNPQRSTVWY", length(15, 150));
}
static char *cell_dna(const tables *t, size_t row, bool mild) {
    return (void)t, (void)row, (void)mild, letters(row % 2 ? "ACGT" : "ACGTN", length(25, 200));
}
static char *cell_mutant(const tables *t, size_t row, bool mild) {
    return (void)row, (void)mild, mutations(t->wild_type);
}
static char *cell_tree(const tables *t, size_t row, bool mild) {
    return (void)t, (void)row, (void)mild, any_tree();
}
static char *cell_dependencies(const tables *t, size_t row, bool mild) {
    return (void)t, (void)row, (void)mild, dependencies();
}
static char *cell_task(const tables *t, size_t row, bool mild) {
    static const char *const tasks[] = {"joy", "fear", "great anger"};
    return (void)t, (void)row, (void)mild, random_print("%s", pick(tasks, 3));
}
static char *cell_number(const tables *t, size_t row, bool mild) {
    return (void)t, (void)row, number(mild);
}
static char *cell_y(const tables *t, size_t row, bool mild) {
    return (void)t, (void)row, mild || random_chance(0.8) ? number(true) : number(false);
}
static char *cell_two(const tables *t, size_t row, bool mild) {
    return (void)t, (void)mild, random_print("%s", row % 2 ? "yes" : "no");
}
static char *cell_three(const tables *t, size_t row, bool mild) {
    return (void)t, (void)mild, random_print("%c", (int)('a' + row % 3));
}
static char *cell_several(const tables *t, size_t row, bool mild) {
    static const char *const sets[] = {"a", "a,b", "", "b", "c,a"};
    return (void)t, (void)mild, random_print("%s", sets[row % 5]);
}
static char *cell_count(const tables *t, size_t row, bool mild) {
    return (void)t, (void)row, random_print("%zu", random_below(mild ? 6 : 2000000));
}
static char *cell_share(const tables *t, size_t row, bool mild) {
    return (void)t, (void)row, (void)mild, print_number(0.001 + 0.998 * random_unit());
}

/* Texts, trees and tasks, then numbers, then targets. */
static const column all_columns[] = {
    {"text", cell_text},       {"my chars", cell_chars},
    {"aligned", cell_aligned}, {"protein", cell_protein},
    {"dna", cell_dna},         {"mutant", cell_mutant},
    {"tree", cell_tree},       {"deps", cell_dependencies},
    {"task", cell_task},       {"x1", cell_number},
    {"x2", cell_number},       {"x3", cell_number},
    {"x4", cell_number},       {"y", cell_y},
    {"two", cell_two},         {"three", cell_three},
    {"several", cell_several}, {"count", cell_count},
    {"share", cell_share},
};
enum { COLUMNS = sizeof all_columns / sizeof *all_columns, NUMBERS = 4 };

/* ---- Tables ---- */

static void grid_new(grid *g, size_t rows, size_t columns) {
    g->rows = rows;
    g->columns = columns;
    g->name = random_alloc(columns * sizeof *g->name);
    g->cell = random_alloc(rows * columns * sizeof *g->cell);
}

static void fill(const tables *t, grid *g, bool mild) {
    for (size_t c = 0; c < COLUMNS; c++) {
        g->name[c] = all_columns[c].name;
        bool equal = random_chance(0.05); /* a column that does not vary */
        for (size_t i = 0; i < g->rows; i++)
            g->cell[i * g->columns + c] = equal && i ? g->cell[c] : all_columns[c].cell(t, i, mild);
    }
    for (size_t i = 1; i < g->rows; i++) /* rows that are the same */
        if (random_chance(0.08))
            memcpy(g->cell + i * g->columns, g->cell + (i - 1) * g->columns,
                   COLUMNS * sizeof *g->cell);
}

/* Values of a kernel of somebody else: inner products of random vectors, those of the other rows
 * with the training rows, and each with itself. */
static void fill_given(tables *t) {
    enum { D = 3 };
    size_t n = t->train.rows, m = t->others.rows;
    double *x = random_alloc((n + m) * D * sizeof *x);
    for (size_t i = 0; i < (n + m) * D; i++) x[i] = random_unit() * 2 - 1;
    for (size_t i = 0; i < n + m; i++)
        for (size_t j = 0; j <= n; j++) {
            grid *g = i < n ? &t->train : &t->others;
            double sum = 0;
            for (size_t d = 0; d < D; d++) sum += x[i * D + d] * x[(j < n ? j : i) * D + d];
            g->name[COLUMNS + j] = random_print("k%zu", j + 1);
            g->cell[(i < n ? i : i - n) * g->columns + COLUMNS + j] = print_number(sum);
        }
}

void tables_make(tables *t, bool mild) {
    size_t n = random_chance(0.1) ? 1 : 2 + random_below(random_chance(0.1) ? 40 : 9);
    t->wild_type = letters("ACDEFGHIKLMNPQRSTVWY", 3 + random_below(10));
    t->numbers = NUMBERS;
    t->given = random_chance(0.15);
    grid_new(&t->train, n, COLUMNS + (t->given ? n + 1 : 0));
    grid_new(&t->others, 1 + random_below(4), t->train.columns);
    fill(t, &t->train, mild);
    fill(t, &t->others, mild);
    if (t->given) fill_given(t);
}

/* ---- Files ---- */

static void write_cell(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

bool grid_write(const grid *g, const char *path) {
    FILE *out = fopen(path, "w");
    if (!out) return false;
    for (size_t i = 0; i <= g->rows; i++)
        for (size_t c = 0; c < g->columns; c++) {
            write_cell(out, i == 0 ? g->name[c] : g->cell[(i - 1) * g->columns + c]);
            fputc(c + 1 < g->columns ? ',' : '\n', out);
        }
    return fclose(out) == 0;
}

static char *copy_cell(const lth_table *table, size_t row, size_t c) {
    size_t size;
    const char *text = lth_table_cell(table, row, c, &size);
    return random_print("%.*s", (int)size, text);
}

bool grid_read(grid *g, const char *path) {
    lth_ctx *ctx = NULL;
    lth_table *table = NULL;
    lth_error err;
    if (lth_ctx_create(NULL, &ctx, &err) || lth_table_read(ctx, path, NULL, &table, &err))
        fprintf(stderr, "%s: %s\n", path, err.message);
    if (table) {
        grid_new(g, lth_table_rows(table), lth_table_columns(table));
        for (size_t c = 0; c < g->columns; c++) {
            g->name[c] = random_print("%s", lth_table_column_name(table, c));
            for (size_t i = 0; i < g->rows; i++)
                g->cell[i * g->columns + c] = copy_cell(table, i, c);
        }
    }
    bool done = table != NULL;
    lth_table_free(table);
    lth_ctx_free(ctx);
    return done;
}

/* One of zeros, one of the other sign, and none for every fifth word. */
static void write_vectors(FILE *out) {
    for (size_t w = 0; w < WORDS; w++) {
        if (w % 5 == 4) continue;
        fputs(words[w], out);
        for (size_t d = 0; d < VECTOR_NUMBERS; d++)
            fprintf(out, " %.3f", w == 7 ? 0.0 : sin((double)(w * 7 + d * 3)) * (w % 2 ? -1 : 1));
        fputc('\n', out);
    }
}

/* dog and cat are animals; to run is to move. */
static const char *const wordnet[][2] = {
    {"noun.exc", ""},
    {"index.noun", "animal n 1 1 ~ 1 0 00000100\n"
                   "cat n 1 1 @ 1 0 00000300\n"
                   "dog n 1 1 @ 1 0 00000200\n"},
    {"data.noun", "00000100 05 n 01 animal 0 000 | lives\n"
                  "00000200 05 n 01 dog 0 001 @ 00000100 n 0000 | barks\n"
                  "00000300 05 n 01 cat 0 001 @ 00000100 n 0000 | purrs\n"},
    {"verb.exc", "saw see\n"},
    {"index.verb", "run v 1 1 @ 1 0 00000200\nsee v 1 1 ~ 1 0 00000100\n"},
    {"data.verb", "00000100 38 v 01 see 0 000 01 + 02 00 | look\n"
                  "00000200 38 v 01 run 0 001 @ 00000100 v 0000 01 + 02 00 | fast\n"},
};

bool words_write(const char *folder) {
    FILE *out = fopen(random_print("%s/vectors.txt", folder), "w");
    if (!out) return false;
    write_vectors(out);
    bool done = fclose(out) == 0;
    for (size_t i = 0; done && i < sizeof wordnet / sizeof *wordnet; i++) {
        out = fopen(random_print("%s/%s", folder, wordnet[i][0]), "w");
        done = out && fputs(wordnet[i][1], out) >= 0;
        if (out) fclose(out);
    }
    return done && setenv("WNSEARCHDIR", folder, 1) == 0 &&
           setenv("XDG_CACHE_HOME", folder, 1) == 0;
}

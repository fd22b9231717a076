/* Random kernel expressions over ugly tables, and what must hold of each: what the parts of
 * random_expressions.c share.
 *
 * A case is an expression, two tables and a seed. It is all that a check looks at, so a failing one
 * can be shrunk and pasted.
 */
#ifndef LTH_RANDOM_H
#define LTH_RANDOM_H

#include "luthier.h"

/* ---- Memory: all of a case, given back at once ---- */

void *random_alloc(size_t size);
char *random_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void random_release(void);

/* ---- Numbers: the same for a seed everywhere ---- */

void random_seed(uint64_t seed);
uint64_t random_bits(void);
/* From 0 to n - 1. */
size_t random_below(size_t n);
bool random_chance(double p);
/* From 0 to 1, and from lo to hi by the logarithm. */
double random_unit(void);
double random_log(double lo, double hi);

/* ---- Expressions as they are written ---- */

enum { INPUTS = 32, ARGUMENTS = 32 };

typedef enum syntax_kind { CALL, NUMBER, COLUMN, SUM, PRODUCT } syntax_kind;

typedef struct syntax {
    syntax_kind kind;
    const char *text; /* of a call its name, of a number or column all of it */
    struct syntax *input[INPUTS];
    const char *argument[ARGUMENTS]; /* "gap=0.5" */
    size_t inputs, arguments;
} syntax;

syntax *syntax_new(syntax_kind kind, const char *text);
/* NULL: not what this program writes. A kernel of the noise ends the text: *rest, else "". */
syntax *syntax_parse(const char *text, const char **rest);
char *syntax_print(const syntax *s);
syntax *syntax_copy(const syntax *s);
/* The nodes of an expression, from the root down; returns how many there are. */
size_t syntax_nodes(syntax *s, syntax **out, size_t capacity);

/* ---- Tables ---- */

/* Cells by row; the same columns in both tables of a case. */
typedef struct grid {
    size_t rows, columns;
    const char **name; /* of columns */
    const char **cell; /* [row * columns + column] */
} grid;

typedef struct tables {
    grid train, others;
    const char *wild_type;
    size_t numbers; /* columns x1 .. xN */
    bool given;     /* columns k1 .. k(rows + 1): values of a kernel of somebody else */
} tables;

/* `mild`: numbers of ordinary size. */
void tables_make(tables *t, bool mild);
bool grid_write(const grid *g, const char *path);
/* In memory of the case; false: the file cannot be read. */
bool grid_read(grid *g, const char *path);
/* Word vectors for the words of the tables, of VECTOR_NUMBERS numbers, and a small WordNet. */
enum { VECTOR_NUMBERS = 3 };
bool words_write(const char *folder);

/* ---- A case ---- */

/* What the seed says of a case. */
static inline bool is_mild(uint64_t seed) {
    return seed % 2 == 0;
}

typedef struct random_case {
    uint64_t seed;
    char *expression;
    grid train, others;
} random_case;

/* A random case of that seed; false where nothing came about that the library takes. */
bool random_case_make(random_case *c, uint64_t seed);

/* How often each family and argument stood in an expression that was taken. */
typedef struct coverage {
    unsigned family[128], argument[128][ARGUMENTS];
} coverage;
void coverage_count(coverage *c, const char *expression);
void coverage_print(const coverage *c);

/* ---- Checks ---- */

/* Which check failed, and how. */
typedef struct finding {
    char check[40], text[600];
} finding;

/* Counts of what was looked at. */
typedef struct counts {
    unsigned long cases, refused, checks, models;
} counts;

typedef struct machines machines; /* contexts: threads, instruction sets, precision, a device */
/* Files go to `folder`. NULL: the message was printed. */
machines *machines_open(const char *folder);
lth_ctx *machines_first(const machines *m); /* the one all others are compared with */
const char *machines_folder(const machines *m);

/* True: all that can be asked of this case holds. What the library refuses is all right, as long as
 * it says why. */
bool check_case(machines *m, const random_case *c, finding *out, counts *n);
bool check_models(machines *m, const random_case *c, finding *out, counts *n);

bool found(finding *out, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A refusal is fine where it has a reason that a person can read. */
bool refusal_is_fine(lth_status status, const lth_error *err, finding *out);

/* ---- Shrinking ---- */

/* Runs the case by itself: true where it fails as `want` says. */
typedef bool fails_fn(void *user, const random_case *c, const finding *want);
/* A smaller case that fails in the same way. */
void shrink(random_case *c, const finding *want, fails_fn *fails, void *user);

#endif

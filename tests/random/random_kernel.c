/* Random expressions, from the families' own manuals: a new family or argument is written without a
 * change here. Parts that the library refuses over this table are drawn again. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_case.h"

typedef struct writer {
    lth_ctx *ctx;
    const tables *t;
    const lth_table *train; /* the same, as the library has it */
    bool mild;
} writer;

/* ---- Values of arguments ---- */

static double bounded(double x, double lo, double hi) {
    return x < lo ? lo : x > hi ? hi : x;
}

/* Of a hyperparameter: near its default, or anything within its bounds, above all these. */
static double draw_learned(const writer *w, const lth_argument *a) {
    double usual = atof(a->initial[0] == '[' ? a->initial + 1 : a->initial);
    if (usual <= 0) usual = 1;
    if (w->mild || random_chance(0.5))
        return bounded(usual * random_log(0.4, 2.5), a->lo + 0.02 * (a->hi - a->lo > 2 ? 0 : 1),
                       a->hi * (a->hi > 2 ? 1 : 0.95));
    switch (random_below(5)) {
    case 0: return a->lo;
    case 1: return a->hi;
    case 2: return bounded(0, a->lo, a->hi);
    case 3: return bounded(1, a->lo, a->hi);
    }
    double least = a->lo > 0 ? a->lo : 1e-9 * a->hi;
    return random_log(least, a->hi);
}

static char *write_learned(const writer *w, const lth_argument *a) {
    char *x = random_print("%.6g", draw_learned(w, a));
    if (random_chance(0.1)) return random_print("%s!", x);
    if (random_chance(0.05)) return random_print("$tie=%s", x);
    return x;
}

static long draw_integer(long lo, long hi) {
    if (hi > lo + 40 && !random_chance(0.03)) hi = lo + 40;
    if (random_chance(0.6)) hi = lo + 4 < hi ? lo + 4 : hi;
    return lo + (long)random_below((size_t)(hi - lo + 1));
}

/* "1..32", also with a name at an end, as in "1..l". */
static char *write_range(const char *choice) {
    const char *dots = strstr(choice, "..");
    long lo = strtol(choice, NULL, 10), hi = strtol(dots + 2, NULL, 10);
    return random_print("%ld", draw_integer(lo, hi > lo ? hi : lo + 6));
}

/* A list of words; those of a column of tasks, or labels of trees. */
static char *write_names(const writer *w) {
    (void)w;
    return random_chance(0.5) ? random_print("[joy,fear,\"great anger\"]")
                              : random_print("[S,NP%s]", random_chance(0.5) ? ",VP" : "");
}

/* One of what "words|tokens|chars", "no|1..9", "all|[...]" or "SEQUENCE|FILE" stands for; NULL: no
 * such thing is at hand. */
static char *write_choice(const writer *w, const char *choices) {
    size_t count = 1;
    for (const char *p = choices; *p; p++) count += *p == '|';
    const char *from = choices;
    for (size_t i = random_below(count); i > 0; i--) from = strchr(from, '|') + 1;
    char *one = random_print("%.*s", (int)strcspn(from, "|"), from);
    if (strcmp(one, "FILE") == 0) return NULL;
    if (strcmp(one, "SEQUENCE") == 0) return random_print("%s", w->t->wild_type);
    if (strcmp(one, "LETTERS") == 0) return random_print("\"abcdefghij\"");
    if (strcmp(one, "[LEAST,MOST]") == 0) {
        long least = draw_integer(1, 6);
        return random_print("[%ld,%ld]", least, draw_integer(least, least + 4));
    }
    if (one[0] == '[') return write_names(w);
    if (strstr(one, "..")) return write_range(one);
    if (!*one || strncmp(one, "above", 5) == 0) return random_print("%.4g", random_log(0.1, 10));
    return one;
}

static char *write_value(const writer *w, const lth_argument *a) {
    if (!a->learned) return write_choice(w, a->choices);
    if (random_chance(0.1)) { /* with bounds */
        double x = draw_learned(w, a);
        return random_print("%.6g in %.17g..%.17g", x, a->lo, a->hi);
    }
    return write_learned(w, a);
}

static void write_arguments(const writer *w, const lth_family *family, syntax *call) {
    const lth_argument *a;
    double p = random_chance(0.2) ? 0 : random_chance(0.5) ? 0.2 : 0.4;
    for (size_t i = 0; (a = lth_family_argument(family, i)); i++) {
        char *value = random_chance(p) ? write_value(w, a) : NULL;
        if (value) call->argument[call->arguments++] = random_print("%s=%s", a->name, value);
    }
}

/* ---- What a family takes ---- */

/* "ssk(COLUMN, order=5)" takes COLUMN, "rbf(COLUMNS | MAP | KERNEL, ...)" any of three. */
static bool takes(const lth_family *family, const char *what) {
    const char *from = strchr(family->usage, '(') + 1;
    const char *end = from + strcspn(from, ",)"), *at = from;
    for (size_t n = strlen(what); (at = strstr(at, what)) && at < end; at++)
        if (!isalpha((unsigned char)at[n]) && (at == from || at[-1] == ' ')) return true;
    return false;
}

static syntax *column_of(const writer *w, size_t first, size_t count) {
    const char *name = w->t->train.name[first + random_below(count)];
    bool quoted = strchr(name, ' ') != NULL;
    return syntax_new(COLUMN, random_print("%s%s%s", quoted ? "\"" : "", name, quoted ? "\"" : ""));
}

static size_t first_number(const writer *w) {
    size_t i = 0;
    while (strcmp(w->t->train.name[i], "x1") != 0) i++;
    return i;
}

static syntax *number_columns(const writer *w) {
    size_t n = w->t->numbers, first = 1 + random_below(n),
           last = first + random_below(n - first + 1);
    return syntax_new(COLUMN, first == last ? random_print("x%zu", first)
                                            : random_print("x%zu..x%zu", first, last));
}

static bool is_taken(const writer *w, const char *expression) {
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    lth_status status = lth_kernel_parse(w->ctx, expression, &kernel, NULL);
    if (!status) status = lth_kernel_resolve(&kernel, w->train, NULL);
    if (!status) status = lth_encoder_create(w->ctx, kernel, &encoder, NULL);
    if (!status) status = lth_encode(encoder, w->train, &items, NULL);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    return !status;
}

static size_t family_count(void) {
    size_t n = 0;
    while (lth_family_at(n)) n++;
    return n;
}

static bool is_leaf(const lth_family *f) {
    return takes(f, "COLUMN") || takes(f, "COLUMNS") || takes(f, "FIRST..LAST");
}

/* Arguments that do not go together, or with this column, are left out: each that the library does
 * not take beside those before it, or else any until it takes the rest. */
static bool mend(const writer *w, syntax *call) {
    syntax all = *call;
    if (is_taken(w, syntax_print(call))) return true;
    call->arguments = 0;
    if (is_taken(w, syntax_print(call))) {
        for (size_t i = 0; i < all.arguments; i++) {
            call->argument[call->arguments++] = all.argument[i];
            if (!is_taken(w, syntax_print(call))) call->arguments--;
        }
        return true;
    }
    for (*call = all; call->arguments > 1;) {
        call->argument[random_below(call->arguments)] = call->argument[call->arguments - 1];
        call->arguments--;
        if (is_taken(w, syntax_print(call))) return true;
    }
    return false;
}

static syntax *input_of(const writer *w, const lth_family *f) {
    if (takes(f, "COLUMNS")) return number_columns(w);
    if (takes(f, "COLUMN")) return column_of(w, 0, first_number(w));
    return syntax_new(COLUMN, random_print("k1..k%zu", w->t->train.rows + 1));
}

/* A family that reads columns, over one of them; NULL: none of some that were tried is taken. */
static syntax *write_leaf(const writer *w, bool maps_only) {
    const lth_family *f;
    do f = lth_family_at(random_below(family_count()));
    while (!is_leaf(f) || (maps_only && f->kind != LTH_FAMILY_MAP));
    for (int tries = 0; tries < 8; tries++) {
        syntax *call = syntax_new(CALL, f->name);
        call->input[call->inputs++] = input_of(w, f);
        write_arguments(w, f, call);
        if (mend(w, call)) return call;
    }
    return NULL;
}

static syntax *write_kernel(const writer *w, int depth);

/* A family over a map or another kernel. */
static syntax *write_wrapped(const writer *w, int depth) {
    const lth_family *f;
    do f = lth_family_at(random_below(family_count()));
    while (!takes(f, "KERNEL") && !takes(f, "MAP"));
    syntax *call = syntax_new(CALL, f->name);
    bool map = takes(f, "MAP") && (!takes(f, "KERNEL") || random_chance(0.4));
    syntax *inner = map ? write_leaf(w, true) : write_kernel(w, depth - 1);
    if (!inner) return NULL;
    call->input[call->inputs++] = inner;
    write_arguments(w, f, call);
    return mend(w, call) ? call : inner;
}

static syntax *write_number(const writer *w) {
    double x = w->mild ? random_log(0.2, 5) : random_chance(0.2) ? 0 : random_log(1e-8, 1e8);
    return syntax_new(NUMBER, random_print(random_chance(0.2) ? "%.5g!" : "%.5g", x));
}

static syntax *write_operands(const writer *w, syntax_kind kind, int depth) {
    syntax *s = syntax_new(kind, NULL);
    if (random_chance(kind == PRODUCT ? 0.5 : 0.2)) s->input[s->inputs++] = write_number(w);
    for (size_t want = s->inputs + 1 + random_below(2); s->inputs < want;) {
        syntax *one = write_kernel(w, depth - 1);
        if (!one) return NULL;
        s->input[s->inputs++] = one;
    }
    return s->inputs == 1 ? s->input[0] : s;
}

static syntax *write_kernel(const writer *w, int depth) {
    if (depth <= 0 || random_chance(0.35)) return write_leaf(w, false);
    if (random_chance(0.5)) return write_wrapped(w, depth);
    return write_operands(w, random_chance(0.5) ? SUM : PRODUCT, depth);
}

/* ---- A case ---- */

/* Values within the bounds of each parameter, also of those of lists; then as the library prints
 * it. NULL: it does not take the expression. */
static char *with_values(const writer *w, const char *expression) {
    lth_kernel *kernel = NULL;
    char *out = NULL;
    if (lth_kernel_parse(w->ctx, expression, &kernel, NULL)) return NULL;
    if (!lth_kernel_resolve(&kernel, w->train, NULL)) {
        for (size_t i = 0; i < lth_kernel_params(kernel); i++) {
            const lth_param *p = lth_kernel_param(kernel, i);
            if (p->argument && strchr(p->path, '[') && random_chance(0.5))
                lth_kernel_set(kernel, i, draw_learned(w, p->argument), NULL);
        }
        size_t size = lth_kernel_print(kernel, NULL, 0) + 1;
        out = random_alloc(size);
        lth_kernel_print(kernel, out, size);
    }
    lth_kernel_free(kernel);
    return out;
}

static char *write_expression(const writer *w) {
    syntax *s = write_kernel(w, (int)random_below(4));
    char *plain = s ? syntax_print(s) : NULL;
    if (plain && random_chance(0.05)) {
        syntax *noise = write_kernel(w, 1);
        if (noise) plain = random_print("%s | %s", plain, syntax_print(noise));
    }
    return plain ? with_values(w, plain) : NULL;
}

bool random_case_make(random_case *c, uint64_t seed) {
    tables t;
    char path[] = "/tmp/random-case-XXXXXX.csv";
    int file = mkstemps(path, 4);
    writer w = {.t = &t, .mild = is_mild(seed)};
    random_seed(seed);
    tables_make(&t, w.mild);
    *c = (random_case){.seed = seed, .train = t.train, .others = t.others};
    lth_table *train = NULL;
    if (file >= 0 && grid_write(&t.train, path) && !lth_ctx_create(NULL, &w.ctx, NULL) &&
        !lth_table_read(w.ctx, path, NULL, &train, NULL)) {
        w.train = train;
        c->expression = write_expression(&w);
    }
    lth_table_free(train);
    lth_ctx_free(w.ctx);
    if (file >= 0) fclose(fdopen(file, "r")), remove(path);
    return c->expression != NULL;
}

/* ---- What was covered ---- */

static size_t family_number(const char *name) {
    size_t i = 0;
    while (lth_family_at(i) && strcmp(lth_family_at(i)->name, name) != 0) i++;
    return i;
}

void coverage_count(coverage *c, const char *expression) {
    syntax *nodes[256];
    const char *rest;
    syntax *s = syntax_parse(expression, &rest);
    for (size_t i = 0, n = s ? syntax_nodes(s, nodes, 256) : 0; i < n; i++) {
        if (nodes[i]->kind != CALL) continue;
        size_t f = family_number(nodes[i]->text);
        c->family[f]++;
        for (size_t k = 0; k < nodes[i]->arguments; k++)
            for (size_t a = 0; a < ARGUMENTS && lth_family_argument(lth_family_at(f), a); a++) {
                const char *name = lth_family_argument(lth_family_at(f), a)->name;
                size_t n_name = strlen(name);
                c->argument[f][a] += strncmp(nodes[i]->argument[k], name, n_name) == 0 &&
                                     nodes[i]->argument[k][n_name] == '=';
            }
    }
}

void coverage_print(const coverage *c) {
    printf("never written:");
    for (size_t f = 0; lth_family_at(f); f++) {
        if (!c->family[f]) printf(" %s", lth_family_at(f)->name);
        for (size_t a = 0; c->family[f] && lth_family_argument(lth_family_at(f), a); a++)
            if (!c->argument[f][a])
                printf(" %s.%s", lth_family_at(f)->name,
                       lth_family_argument(lth_family_at(f), a)->name);
    }
    printf("\n");
}

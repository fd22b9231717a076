/* Every single mutation of a sequence, and what a model expects of each. */
#include "report/mutations.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE = 4096 };

/* ---- Letters ---- */

/* An alphabet is known by what is seen: its letters, and what stands beside them. */
typedef struct alphabet {
    const char *letters, *others;
} alphabet;

/* By chemistry, so that neighbours in a picture are alike. */
static const alphabet alphabets[] = {{"ACGT", "N-."},
                                     {"ACGU", "N-."},
                                     {"acgt", "n-."},
                                     {"acgu", "n-."},
                                     {"GAVLIMFWPSTCYNQDEKRH", "BJOUXZ*-."}};
enum { ALPHABETS = sizeof alphabets / sizeof *alphabets, BYTES = 256 };

static void mark_seen(const char *text, bool seen[BYTES]) {
    for (; *text; ++text) seen[(unsigned char)*text] = true;
}

static void find_seen(const lth_model *m, bool seen[BYTES]) {
    const char *text;
    for (size_t i = 0; (text = lth_model_row_text(m, i, 0)) != NULL; ++i) mark_seen(text, seen);
}

/* The first alphabet that has all of them; NULL = none. */
static const char *known_letters(const bool seen[BYTES]) {
    for (size_t i = 0; i < ALPHABETS; ++i) {
        bool fits = true;
        for (int c = 1; c < BYTES; ++c)
            fits &= !seen[c] || strchr(alphabets[i].letters, c) || strchr(alphabets[i].others, c);
        if (fits) return alphabets[i].letters;
    }
    return NULL;
}

static char *choose_letters(const lth_model *m, const char *wild) {
    bool seen[BYTES] = {false};
    find_seen(m, seen);
    mark_seen(wild, seen);
    const char *known = known_letters(seen);
    if (known) return strdup(known);
    char *letters = calloc(BYTES, 1), *end = letters;
    for (int c = '!'; letters && c < 127; ++c)
        if (seen[c]) *end++ = (char)c;
    return letters;
}

bool mutations_are_letters(const char *letters) {
    for (const char *c = letters; *c; ++c)
        if ((unsigned char)*c >= 128 || !isgraph((unsigned char)*c)) return false;
    return *letters;
}

/* ---- The sequence ---- */

const char *mutations_obstacle(lth_model *m) {
    const lth_kernel *kernel = lth_model_kernel(m);
    const char *room[1];
    if (lth_kernel_column(kernel, 1) || model_columns(m, room).count > 0) return "several columns";
    switch (lth_kernel_column_kind(kernel, 0)) {
    case LTH_COLUMN_TEXT: return NULL;
    case LTH_COLUMN_TREE: return "trees";
    default: return "numbers";
    }
}

bool mutations_are_wanted(lth_model *m) {
    bool seen[BYTES] = {false};
    if (mutations_obstacle(m)) return false;
    if (lth_kernel_wild_type(lth_model_kernel(m))) return true;
    find_seen(m, seen);
    return known_letters(seen) != NULL;
}

bool mutations_open(mutations *out, lth_model *m, const char *wild, const char *letters) {
    const lth_kernel *kernel = lth_model_kernel(m);
    const char *own = lth_kernel_wild_type(kernel);
    mutations made = {.column = lth_kernel_column(kernel, 0),
                      .by_name = own != NULL,
                      .first = lth_kernel_wild_first(kernel),
                      .wild = strdup(own ? own : wild)};
    if (made.wild) made.letters = letters ? strdup(letters) : choose_letters(m, made.wild);
    if (!made.letters) {
        mutations_close(&made);
        return false;
    }
    made.sites = strlen(made.wild);
    made.letter_count = strlen(made.letters);
    made.rows = 1 + made.sites * made.letter_count;
    *out = made;
    return true;
}

void mutations_close(mutations *m) {
    free(m->wild);
    free(m->letters);
    *m = (mutations){0};
}

int mutations_check_wild(const options *o, const lth_model *m) {
    if (!lth_kernel_wild_type(lth_model_kernel(m)) || (!o->wild_type && !o->offset))
        return EXIT_DONE;
    return usage_error(o->command, "the model has its wild type; leave --%s out",
                       o->wild_type ? "wild-type" : "offset");
}

int session_read_wild(session *s, const char *path, char **out) {
    lth_error err = {0};
    lth_table *table = NULL;
    lth_table_options o;
    lth_table_options_init(&o);
    o.format = LTH_TABLE_FASTA;
    if (lth_table_read(s->ctx, path, &o, &table, &err) != LTH_OK)
        return session_fail_input(s, &err, path);
    size_t length;
    const char *text = lth_table_cell(table, 0, lth_table_find(table, "sequence"), &length);
    char *wild = calloc(length + 1, 1);
    if (wild) memcpy(wild, text, length);
    lth_table_free(table);
    if (!wild) return out_of_memory();
    *out = wild;
    return EXIT_DONE;
}

/* The length of all training rows, which are letters of a known alphabet; otherwise 0. */
static size_t common_length(const lth_model *m) {
    bool seen[BYTES] = {false};
    const char *text = lth_model_row_text(m, 0, 0);
    size_t length = text ? strlen(text) : 0;
    for (size_t i = 1; length > 0 && (text = lth_model_row_text(m, i, 0)) != NULL; ++i)
        if (strlen(text) != length) return 0;
    find_seen(m, seen);
    return known_letters(seen) ? length : 0;
}

char *mutations_consensus(const lth_model *m) {
    size_t length = common_length(m);
    size_t(*count)[BYTES] = length > 0 ? calloc(length, sizeof *count) : NULL;
    char *out = count ? calloc(length + 1, 1) : NULL;
    const char *text;
    for (size_t i = 0; out && (text = lth_model_row_text(m, i, 0)) != NULL; ++i)
        for (size_t site = 0; site < length; ++site) count[site][(unsigned char)text[site]]++;
    for (size_t site = 0; out && site < length; ++site) {
        size_t best = 0;
        for (size_t c = 1; c < BYTES; ++c)
            if (count[site][c] > count[site][best]) best = c;
        out[site] = (char)best;
    }
    free(count);
    return out;
}

bool *mutations_varied(const lth_model *m, size_t sites) {
    if (common_length(m) != sites) return NULL;
    bool *varied = calloc(sites, sizeof *varied);
    char *first = strdup(lth_model_row_text(m, 0, 0));
    const char *text;
    for (size_t i = 1; varied && first && (text = lth_model_row_text(m, i, 0)) != NULL; ++i)
        for (size_t site = 0; site < sites; ++site) varied[site] |= text[site] != first[site];
    if (!first) {
        free(varied);
        varied = NULL;
    }
    free(first);
    return varied;
}

/* ---- Rows ---- */

size_t mutation_site(const mutations *m, size_t row) {
    return (row - 1) / m->letter_count;
}

char mutation_letter(const mutations *m, size_t row) {
    return m->letters[(row - 1) % m->letter_count];
}

static char wild_letter(const mutations *m, size_t row) {
    return (char)toupper((unsigned char)m->wild[mutation_site(m, row)]);
}

bool mutation_is_own(const mutations *m, size_t site, char letter) {
    return toupper((unsigned char)letter) == toupper((unsigned char)m->wild[site]);
}

const char *mutation_name(const mutations *m, size_t row, char out[MUTATION_NAME]) {
    if (row == 0)
        strcpy(out, "WT");
    else
        snprintf(out, MUTATION_NAME, "%c%ld%c", wild_letter(m, row),
                 m->first + (long)mutation_site(m, row), mutation_letter(m, row));
    return out;
}

/* Cells side by side, each of `size` bytes with its NUL. */
static void write_cells(const mutations *m, const size_t *row, size_t count, size_t size,
                        char *cells) {
    for (size_t i = 0; i < count; ++i) {
        char *cell = cells + i * size;
        if (m->by_name) {
            mutation_name(m, row[i], cell);
            continue;
        }
        memcpy(cell, m->wild, m->sites + 1);
        if (row[i] > 0) cell[mutation_site(m, row[i])] = mutation_letter(m, row[i]);
    }
}

static lth_status make_table(const mutations *m, lth_ctx *ctx, const size_t *row, size_t count,
                             lth_table **out, lth_error *err) {
    size_t size = m->by_name ? MUTATION_NAME : m->sites + 1;
    char *cells = calloc(count, size);
    const char **text = calloc(count, sizeof *text);
    lth_status status = cells && text ? LTH_OK : (err->status = LTH_ENOMEM);
    if (status == LTH_OK) {
        write_cells(m, row, count, size, cells);
        for (size_t i = 0; i < count; ++i) text[i] = cells + i * size;
        status = lth_table_from_texts(ctx, m->column, text, NULL, count, out, err);
    }
    free(cells);
    free(text);
    return status;
}

/* ---- Predictions ---- */

/* Of a kernel with a number for each site a pair costs a look at each, of any other at each pair
 * of them; a variance costs a product with a matrix of the rows. */
double mutations_work(const mutations *m, lth_model *model) {
    static const double of_pair = 10;
    const lth_kernel *kernel = lth_model_kernel(model);
    const lth_gp *gp = lth_model_gp(model);
    size_t inducing = gp ? lth_gp_reported(gp)->inducing : 0;
    double sites = (double)m->sites, pair = of_pair * sites * sites;
    double rows = (double)(inducing > 0 ? inducing : lth_model_rows(model));
    for (size_t i = 0; i < lth_kernel_params(kernel); ++i)
        if (lth_kernel_param(kernel, i)->argument->role == LTH_ROLE_SITE) pair = sites;
    return (double)m->rows * rows * (pair + (gp ? rows : 0));
}

/* Of two classes one column says it all: the last, the score or the probability of the last class.
 */
const prediction_column *mutation_column(const prediction *p) {
    bool pair = p->classes == 2 && !lth_model_is_multi_label(p->model);
    return pair && p->column_count > 0 ? &p->columns[p->column_count - 1] : NULL;
}

bool mutation_has_effect(const prediction *p) {
    return p->values.mean || mutation_column(p);
}

static double expected_of(const prediction *p, size_t i) {
    if (p->values.mean) return p->values.mean[i];
    const prediction_column *column = mutation_column(p);
    return column->at(p, column->of, i);
}

static lth_status predict_slice(mutations *m, session *s, lth_model *model, bool latent,
                                const size_t *row, size_t count, mutation_visit *visit, void *user,
                                bool *go_on, lth_error *err) {
    lth_table *table = NULL;
    prediction p = {0};
    lth_status status = make_table(m, s->ctx, row, count, &table, err);
    if (status == LTH_OK) status = prediction_make(model, table, latent, &p, err);
    if (status == LTH_OK) {
        if (row[0] == 0 && mutation_has_effect(&p)) m->expected = expected_of(&p, 0);
        *go_on = visit(user, &p, row, count);
    }
    prediction_free(&p);
    lth_table_free(table);
    return status;
}

lth_status mutations_predict(mutations *m, session *s, lth_model *model, bool latent,
                             mutation_visit *visit, void *user, lth_error *err) {
    size_t row[SLICE], used = 0;
    lth_status status = LTH_OK;
    bool go_on = true;
    for (size_t i = 0; i < m->rows && status == LTH_OK && go_on; ++i) {
        bool own = i > 0 && mutation_is_own(m, mutation_site(m, i), mutation_letter(m, i));
        if (!own) row[used++] = i;
        if (used == 0 || (used < SLICE && i + 1 < m->rows)) continue;
        status = predict_slice(m, s, model, latent, row, used, visit, user, &go_on, err);
        used = 0;
    }
    return status;
}

double mutation_effect(const mutations *m, const prediction *p, size_t i) {
    return expected_of(p, i) - m->expected;
}

void json_put_mutation(json_writer *w, const mutations *m, const prediction *p, size_t row,
                       size_t i) {
    char name[MUTATION_NAME];
    json_begin_result(w, NULL);
    json_put_text(w, "mutation", mutation_name(m, row, name));
    if (row > 0) {
        json_put_double(w, "site", (double)(m->first + (long)mutation_site(m, row)));
        json_put_text(w, "wild", (char[]){wild_letter(m, row), 0});
        json_put_text(w, "letter", (char[]){mutation_letter(m, row), 0});
    }
    if (mutation_has_effect(p)) json_put_double(w, "effect", mutation_effect(m, p, i));
    json_put_values(w, p, i);
    json_end(w);
}

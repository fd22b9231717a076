#include "kernel/string/substitution.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "engine/eigen.h"
#include "kernel/string/substitution_tables.h"

enum { AMINO = sizeof letters - 1, MOST = LTH__MOST_LETTERS };

static double *at(lth__substitution *s, size_t a, size_t b) {
    return &s->distance[a * MOST + b];
}

size_t lth__substitution_letter(const lth__substitution *s, char letter) {
    char upper = (char)toupper((unsigned char)letter);
    const char *found = upper ? memchr(s->letter, upper, s->count) : NULL;
    return found ? (size_t)(found - s->letter) : LTH_NONE;
}

double lth__substitution_score(const lth__substitution *s, size_t a, size_t b) {
    return (s->self[a] + s->self[b]) / 2 - s->unit * s->distance[a * MOST + b];
}

/* ---- Distances ---- */

static void find_distances(size_t n, const double *score, lth__substitution *s) {
    for (size_t a = 0; a < n; a++) {
        s->self[a] = score[a * n + a];
        for (size_t b = 0; b < n; b++)
            *at(s, a, b) = (score[a * n + a] + score[b * n + b]) / 2 - score[a * n + b];
    }
}

/* Inner products of the points, seen from their middle: -J D J / 2. */
static void find_products(lth__substitution *s, double *G) {
    size_t n = s->count;
    double mean[MOST] = {0}, all = 0;
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++) mean[a] += *at(s, a, b) / (double)n;
        all += mean[a] / (double)n;
    }
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++) G[a * n + b] = -(*at(s, a, b) - mean[a] - mean[b] + all) / 2;
    }
}

/* The points without those directions in which distances are imaginary. */
static void keep_real(lth__substitution *s, const double *value, const double *U) {
    size_t n = s->count;
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++) {
                double d = U[a * n + k] - U[b * n + k];
                sum += fmax(value[k], 0) * d * d;
            }
            *at(s, a, b) = sum;
        }
    }
}

/* The least eigenvalue of -J D J, over the largest of either sign; where it is negative, the
 * distances without it. */
static lth_status make_real(lth__substitution *s, double *least, lth_error *err) {
    size_t n = s->count;
    double *G = lth__alloc(2 * n * n + n, sizeof *G), *U = G + n * n, *value = U + n * n;
    if (!G) return lth__fail_memory(err, 2 * n * n * sizeof *G);
    find_products(s, G);
    lth__eigen(n, G, value, U);
    double most = fmax(value[0], -value[n - 1]);
    *least = most > 0 ? value[n - 1] / most : 0;
    if (*least < -1e-12) keep_real(s, value, U);
    lth__free(G);
    return LTH_OK;
}

static void scale(lth__substitution *s) {
    double sum = 0;
    size_t n = s->count;
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++) sum += *at(s, a, b);
    }
    double mean = n > 1 && sum > 0 ? sum / (double)(n * (n - 1)) : 1;
    s->unit = mean;
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++) *at(s, a, b) = a == b ? 0 : *at(s, a, b) / mean;
    }
}

/* ---- Other letters than those of the matrix ---- */

/* The mean squared distance of these letters from their middle. */
static double spread_of(lth__substitution *s, const char *of) {
    double sum = 0, count = (double)strlen(of);
    for (const char *a = of; *a; a++) {
        for (const char *b = of; *b; b++)
            sum += *at(s, lth__substitution_letter(s, *a), lth__substitution_letter(s, *b));
    }
    return sum / (2 * count * count);
}

/* What a letter in the middle of these scores with itself: the mean of what they do. */
static double score_of(const lth__substitution *s, const char *of) {
    double sum = 0, count = (double)strlen(of);
    for (const char *a = of; *a; a++) {
        for (const char *b = of; *b; b++)
            sum += lth__substitution_score(s, lth__substitution_letter(s, *a),
                                           lth__substitution_letter(s, *b));
    }
    return sum / (count * count);
}

/* A letter in the middle of others, `aside` from all points there are. */
static void add_letter(lth__substitution *s, char letter, const char *of, double aside) {
    size_t at_end = s->count;
    double spread = spread_of(s, of), count = (double)strlen(of);
    if (lth__substitution_letter(s, letter) != LTH_NONE) return;
    for (size_t x = 0; x < at_end; x++) {
        double sum = 0;
        for (const char *a = of; *a; a++) sum += *at(s, lth__substitution_letter(s, *a), x) / count;
        *at(s, x, at_end) = *at(s, at_end, x) = sum - spread + aside;
    }
    *at(s, at_end, at_end) = 0;
    s->self[at_end] = score_of(s, of);
    s->letter[s->count++] = letter;
}

static void add_others(lth__substitution *s) {
    add_letter(s, 'B', "ND", 0);
    add_letter(s, 'Z', "QE", 0);
    add_letter(s, 'J', "IL", 0);
    add_letter(s, 'X', letters, 0);
    add_letter(s, 'U', "C", 0);
    add_letter(s, 'O', "K", 0);
    add_letter(s, '-', letters, 1);
    add_letter(s, '.', "-", 0);
    add_letter(s, '*', letters, 1);
}

/* ---- Published ones ---- */

bool lth__substitution_find(const char *name, lth__substitution *out) {
    static const struct {
        const char *name;
        const signed char *score;
        bool imaginary; /* in some directions: it is no distance as it is */
    } all[] = {{"blosum45", blosum45, false},
               {"blosum50", blosum50, false},
               {"blosum62", blosum62, false},
               {"blosum80", blosum80, false},
               {"pam250", pam250, true}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i].name, name) != 0) continue;
        double score[AMINO * AMINO], least;
        for (size_t a = 0, k = 0; a < AMINO; a++) {
            for (size_t b = 0; b <= a; b++, k++)
                score[a * AMINO + b] = score[b * AMINO + a] = all[i].score[k];
        }
        *out = (lth__substitution){.count = AMINO};
        memcpy(out->letter, letters, AMINO);
        find_distances(AMINO, score, out);
        if (all[i].imaginary && make_real(out, &least, NULL) != LTH_OK) return false;
        scale(out);
        add_others(out);
        return true;
    }
    return false;
}

/* ---- One's own ---- */

/* Of larger ones the squares, and with them the eigenvalues, are not finite. */
static lth_status check_size(const char *letter, size_t count, const double *score,
                             lth_error *err) {
    const double most = 1e100;
    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b < count; b++) {
            if (fabs(score[a * count + b]) <= most) continue;
            return lth__fail(err, LTH_EFORMAT, "the score of %c with %c is %g: scores end at %g",
                             letter[a], letter[b], score[a * count + b], most);
        }
    }
    return LTH_OK;
}

lth_status lth__substitution_make(const char *letter, size_t count, const double *score,
                                  lth__substitution *out, lth_error *err) {
    double least = 0;
    LTH_TRY(check_size(letter, count, score, err));
    *out = (lth__substitution){.count = count};
    for (size_t a = 0; a < count; a++) out->letter[a] = (char)toupper((unsigned char)letter[a]);
    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b < a; b++) {
            if (out->letter[a] == out->letter[b])
                return lth__fail(err, LTH_EFORMAT, "the matrix has the letter %c twice", letter[a]);
            if (score[a * count + b] != score[b * count + a])
                return lth__fail(err, LTH_EFORMAT,
                                 "the matrix is not symmetric: %c with %c is %g, %c with %c is %g",
                                 letter[a], letter[b], score[a * count + b], letter[b], letter[a],
                                 score[b * count + a]);
        }
    }
    find_distances(count, score, out);
    LTH_TRY(make_real(out, &least, err));
    if (least < -1e-6)
        return lth__fail(err, LTH_EFORMAT,
                         "the matrix is no distance: -J D J, with D(a,b) = (B_aa + B_bb)/2 - B_ab, "
                         "has an eigenvalue of %.3g times its largest",
                         least);
    scale(out);
    return LTH_OK;
}

/* ---- In a file ---- */

static lth_status fail_line(const char *path, size_t line, const char *what, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, path, line, 0, "%s", what);
}

/* The letters of the head. */
static lth_status read_head(const char *path, size_t line, const char *text, char *letter,
                            size_t *count, lth_error *err) {
    for (const char *c = text; *c; c++) {
        if (isspace((unsigned char)*c)) continue;
        if (*count == MOST || (c[1] && !isspace((unsigned char)c[1])))
            return fail_line(path, line, "a line of single letters is expected", err);
        letter[(*count)++] = *c;
    }
    return LTH_OK;
}

/* A letter, then its scores; the letters may stand in any order. */
static lth_status read_row(const char *path, size_t line, const char *text, const char *letter,
                           size_t count, double *score, bool *known, lth_error *err) {
    while (isspace((unsigned char)*text)) text++;
    const char *place = memchr(letter, *text, count);
    if (!place || !isspace((unsigned char)text[1]))
        return fail_line(path, line, "a line begins with one of the letters of the first line",
                         err);
    size_t row = (size_t)(place - letter), col = 0;
    if (known[row]) return fail_line(path, line, "this letter has a line already", err);
    known[row] = true;
    for (text++; *text;) {
        while (isspace((unsigned char)*text)) text++;
        size_t length = strcspn(text, " \t\r\n");
        if (length == 0) break;
        double value;
        if (col == count || !lth__parse_double(text, length, &value) || !isfinite(value))
            return fail_line(path, line, "a number for each letter is expected", err);
        score[row * count + col++] = value;
        text += length;
    }
    return col == count ? LTH_OK
                        : fail_line(path, line, "this line has fewer numbers than letters", err);
}

lth_status lth__substitution_read(const lth__relay *relay, const char *path, char *letter,
                                  size_t *count, double *score, lth_error *err) {
    lth__input *in = NULL;
    bool known[MOST] = {false};
    *count = 0;
    LTH_TRY(lth__input_open(relay, path, &in, err));
    char text[4096];
    const char *bytes;
    size_t length, line = 0, rows = 0;
    lth_status status;
    for (;;) {
        status = lth__input_line(in, &bytes, &length, err);
        if (status != LTH_OK || !bytes) break;
        line++;
        if (length >= sizeof text) {
            status = fail_line(path, line, "this line is too long for a matrix", err);
            break;
        }
        memcpy(text, bytes, length);
        text[length] = 0;
        size_t blank = strspn(text, " \t\r");
        if (text[blank] == 0 || text[blank] == '#') continue;
        if (*count == 0) {
            status = read_head(path, line, text, letter, count, err);
        } else {
            status = read_row(path, line, text, letter, *count, score, known, err);
            rows++;
        }
        if (status != LTH_OK) break;
    }
    lth__input_close(in);
    if (status == LTH_OK && *count == 0)
        status = fail_line(path, 0, "the matrix has no letters", err);
    if (status == LTH_OK && rows < *count)
        status = fail_line(path, 0, "the matrix lacks a line for some of its letters", err);
    return status;
}

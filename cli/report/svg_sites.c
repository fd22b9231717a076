/* Pictures along a sequence: a heat map of its mutations, a logo, bars. */
#include "report/svg_sites.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "report/html.h"
#include "report/svg.h"

/* Pixels: with 60 sites a row is as wide as a page. */
enum { ROW = 60, CELL = 14, LEFT = 30, RIGHT = 4, NUMBERS = 16, LETTERS = 16, APART = 12 };

/* ---- Rows of sites ---- */

static size_t rows_of(const svg_sites *s) {
    return (s->sites + ROW - 1) / ROW;
}

static double x_of(size_t site) {
    return (double)(LEFT + CELL * (site % ROW));
}

static void open_rows(const svg_sites *s, double height) {
    size_t longest = s->sites < ROW ? s->sites : ROW;
    svg_open_plain(s->out, s->number, (double)(LEFT + CELL * longest + RIGHT),
                   height * (double)rows_of(s), s->title, s->description);
}

static void put_letter(FILE *out, const char *class, double x, double y, char letter) {
    fprintf(out, "<text class=\"%s\" x=\"%g\" y=\"%g\">", class, x, y);
    html_text(out, &letter, 1);
    fputs("</text>", out);
}

/* The first of a row and each tenth, where they do not meet. */
static bool is_numbered(const svg_sites *s, size_t site) {
    enum { NEAR = 4 };
    long number = s->first + (long)site, past = ((number % 10) + 10) % 10;
    return past == 0 || (site % ROW == 0 && 10 - past >= NEAR);
}

static void put_site_numbers(const svg_sites *s, size_t from, size_t end, double y) {
    for (size_t i = from; i < end; ++i)
        if (is_numbered(s, i))
            fprintf(s->out, "<text class=\"mid\" x=\"%g\" y=\"%g\">%ld</text>", x_of(i) + CELL / 2.,
                    y, s->first + (long)i);
    fputs("\n", s->out);
}

static void put_wild(const svg_sites *s, size_t from, size_t end, double y) {
    for (size_t i = from; s->wild && i < end; ++i)
        put_letter(s->out, "mid name", x_of(i) + CELL / 2., y, s->wild[i]);
    fputs("\n", s->out);
}

static size_t end_of_row(const svg_sites *s, size_t from) {
    return from + ROW < s->sites ? from + ROW : s->sites;
}

/* ---- The heat map ---- */

static void put_tip(FILE *out, const mutation_values *v, const char *name, size_t cell) {
    char text[32];
    fprintf(out, "<title>%s: %s", name, number_text(v->value[cell], text));
    if (v->sd) fprintf(out, " ± %s", number_text(v->sd[cell], text));
    double effect = v->value[cell] - v->wild;
    if (effect != 0) fprintf(out, ", %s%s", effect > 0 ? "+" : "", number_text(effect, text));
    fputs("</title>", out);
}

static void put_cell(const svg_sites *s, const mutations *m, const mutation_values *v, size_t cell,
                     double y, double most) {
    double effect = v->value[cell] - v->wild, share = most > 0 ? fabs(effect) / most : 0;
    fprintf(s->out,
            "<rect class=\"%s\" x=\"%g\" y=\"%g\" width=\"13\" height=\"13\" "
            "fill-opacity=\"%.3g\">",
            effect < 0 ? "down" : "up", x_of(cell / m->letter_count), y,
            isfinite(share) ? fmin(1, share) : 0);
    char name[MUTATION_NAME];
    put_tip(s->out, v, mutation_name(m, cell + 1, name), cell);
    fputs("</rect>\n", s->out);
}

static void put_dot(const svg_sites *s, size_t site, double y) {
    fprintf(s->out, "<circle class=\"own\" cx=\"%g\" cy=\"%g\" r=\"2.5\"/>\n", x_of(site) + 6.5,
            y + 6.5);
}

static void put_map_row(const svg_sites *s, const mutations *m, const mutation_values *v,
                        size_t from, double top, double most) {
    size_t end = end_of_row(s, from);
    put_site_numbers(s, from, end, top + 11);
    double y = top + NUMBERS;
    fprintf(s->out, "<rect class=\"ground\" x=\"%d\" y=\"%g\" width=\"%zu\" height=\"%zu\"/>\n",
            LEFT - 1, y - 1, CELL * (end - from) + 1, CELL * m->letter_count + 1);
    for (size_t l = 0; l < m->letter_count; ++l, y += CELL) {
        put_letter(s->out, "mid name", LEFT - 12, y + 10.5, m->letters[l]);
        for (size_t i = from; i < end; ++i) {
            if (mutation_is_own(m, i, m->letters[l]))
                put_dot(s, i, y);
            else
                put_cell(s, m, v, i * m->letter_count + l, y, most);
        }
    }
    put_wild(s, from, end, y + 12);
}

void svg_heat_map(const svg_sites *s, const mutations *m, const mutation_values *v, double most) {
    double height = (double)(NUMBERS + CELL * m->letter_count + LETTERS + APART), top = 0;
    open_rows(s, height);
    for (size_t from = 0; from < s->sites; from += ROW, top += height)
        put_map_row(s, m, v, from, top, most);
    svg_close_plain(s->out);
}

/* ---- The logo ---- */

enum { STACK = 20, TALL = 240, EDGE = 10, SCALE = 72, BELOW = 48 };

typedef struct stacked {
    char letter;
    double height; /* of the number that is shown */
} stacked;

static int by_size(const void *a, const void *b) {
    const stacked *x = a, *y = b;
    if (fabs(x->height) != fabs(y->height)) return fabs(x->height) < fabs(y->height) ? -1 : 1;
    return x->letter < y->letter ? -1 : x->letter > y->letter;
}

/* Each letter less the mean of the site, the smallest first; returns how high and how deep. */
static void stack_site(const mutations *m, const mutation_values *v, size_t site, stacked *out,
                       double *high, double *deep) {
    const double *value = v->value + site * m->letter_count;
    double mean = 0;
    *high = *deep = 0;
    for (size_t l = 0; l < m->letter_count; ++l) mean += value[l] / (double)m->letter_count;
    for (size_t l = 0; l < m->letter_count; ++l) {
        out[l] = (stacked){m->letters[l], value[l] - mean};
        *(out[l].height > 0 ? high : deep) += fabs(out[l].height);
    }
    qsort(out, m->letter_count, sizeof *out, by_size);
}

/* A letter between two heights. Capitals fill about .74 of a font's size. */
static void put_glyph(FILE *out, const stacked *g, double x, double bottom, double height) {
    static const double size = 14, filled = .74;
    if (height < 1) return;
    fprintf(out,
            "<text class=\"glyph %s\" textLength=\"%d\" lengthAdjust=\"spacingAndGlyphs\" "
            "transform=\"translate(%g %.2f) scale(1 %.3f)\">",
            g->height > 0 ? "up" : "down", STACK - 3, x, bottom, height / (size * filled));
    html_text(out, (char[]){(char)toupper((unsigned char)g->letter)}, 1);
    fputs("</text>", out);
}

static void put_stack(const svg_sites *s, const stacked *g, size_t count, double x, double zero,
                      double unit) {
    double up = zero, down = zero;
    for (size_t i = 0; i < count; ++i) {
        double height = fabs(g[i].height) * unit;
        if (g[i].height <= 0) down += height;
        put_glyph(s->out, &g[i], x, g[i].height > 0 ? up : down, height - 1);
        if (g[i].height > 0) up -= height;
    }
    fputs("\n", s->out);
}

static void put_scale(const svg_sites *s, double high, double deep, double zero, double right) {
    char text[32];
    const struct { double value, y; } marks[] = {{high, EDGE}, {0, zero}, {deep, EDGE + TALL}};
    static const char *const signs[] = {"+", "", "−"};
    for (size_t i = 0; i < 3; ++i) {
        if ((i != 1 && fabs(marks[i].y - zero) < 14) || !isfinite(marks[i].value)) continue;
        fprintf(s->out, "<text class=\"end\" x=\"%d\" y=\"%.1f\">%s%s</text>\n", SCALE - 8,
                marks[i].y + 4, signs[i], number_text(marks[i].value, text));
    }
    fprintf(s->out, "<path class=\"axis\" d=\"M%d %.1fH%.1f\"/>\n", SCALE - 4, zero, right);
}

static void put_place(const svg_sites *s, size_t site, double x) {
    if (s->wild) put_letter(s->out, "mid name", x, EDGE + TALL + 18, s->wild[site]);
    fprintf(s->out, "<text class=\"end\" transform=\"translate(%g %d) rotate(-90)\">%ld</text>\n",
            x + 4, EDGE + TALL + 24, s->first + (long)site);
}

void svg_logo(const svg_sites *s, const mutations *m, const mutation_values *v,
              const size_t *sites) {
    stacked stack[m->letter_count];
    double high = 0, deep = 0, up, down, right = (double)(SCALE + STACK * s->sites);
    for (size_t i = 0; i < s->sites; ++i) {
        stack_site(m, v, sites[i], stack, &up, &down);
        high = fmax(high, up);
        deep = fmax(deep, down);
    }
    double unit = high + deep > 0 ? TALL / (high + deep) : 0, zero = EDGE + high * unit;
    svg_open_plain(s->out, s->number, right + RIGHT, EDGE + TALL + BELOW, s->title, s->description);
    for (size_t i = 0; i < s->sites; ++i) {
        double x = (double)(SCALE + STACK * i);
        stack_site(m, v, sites[i], stack, &up, &down);
        put_stack(s, stack, m->letter_count, x, zero, unit);
        put_place(s, sites[i], x + (STACK - 3) / 2.);
    }
    put_scale(s, high, deep, zero, right);
    svg_close_plain(s->out);
}

/* The letters that texts have at a site, the rarest first; returns how many. */
static size_t share_site(const char *const *texts, size_t count, size_t site, stacked out[256]) {
    size_t found = 0, times[256] = {0};
    for (size_t i = 0; i < count; ++i) ++times[(unsigned char)texts[i][site]];
    for (size_t c = 0; c < 256; ++c)
        if (times[c] > 0) out[found++] = (stacked){(char)c, (double)times[c] / (double)count};
    qsort(out, found, sizeof *out, by_size);
    return found;
}

void svg_letters(const svg_sites *s, const char *const *texts, size_t count, const size_t *sites) {
    enum { LEGIBLE = 6 }; /* letters that are lower leave their place empty */
    stacked stack[256];
    double right = (double)(SCALE + STACK * s->sites);
    svg_open_plain(s->out, s->number, right + RIGHT, EDGE + TALL + BELOW, s->title, s->description);
    for (size_t i = 0; i < s->sites; ++i) {
        double x = (double)(SCALE + STACK * i);
        size_t letters = share_site(texts, count, sites[i], stack), rare = 0;
        double foot = EDGE + TALL;
        while (rare < letters && stack[rare].height * TALL < LEGIBLE)
            foot -= stack[rare++].height * TALL;
        put_stack(s, stack + rare, letters - rare, x, foot, TALL);
        put_place(s, sites[i], x + (STACK - 3) / 2.);
    }
    fprintf(s->out, "<text class=\"end\" x=\"%d\" y=\"%d\">100%%</text>\n", SCALE - 8, EDGE + 4);
    fprintf(s->out, "<text class=\"end\" x=\"%d\" y=\"%d\">0</text>\n", SCALE - 8, EDGE + TALL + 4);
    fprintf(s->out, "<path class=\"axis\" d=\"M%d %dH%.1f\"/>\n", SCALE - 4, EDGE + TALL, right);
    svg_close_plain(s->out);
}

/* ---- Bars ---- */

static void put_bar(const svg_sites *s, size_t site, double foot, double height, double value,
                    bool varied) {
    char text[32];
    fprintf(s->out, "<rect class=\"%s\" x=\"%g\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"><title>",
            varied ? "bar" : "idle", x_of(site) + 1, foot - height, CELL - 3, height);
    if (s->wild) html_text(s->out, s->wild + site, 1);
    fprintf(s->out, "%ld: %s</title></rect>\n", s->first + (long)site, number_text(value, text));
}

void svg_site_bars(const svg_sites *s, const double *share, const double *value,
                   const bool *varied) {
    enum { BAR = 70, ABOVE = 8 };
    double height = ABOVE + BAR + LETTERS * (s->wild != NULL) + NUMBERS + APART, top = 0;
    open_rows(s, height);
    for (size_t from = 0; from < s->sites; from += ROW, top += height) {
        size_t end = end_of_row(s, from);
        double foot = top + ABOVE + BAR, right = x_of(end - 1) + CELL;
        fprintf(s->out, "<path class=\"grid\" d=\"M%d %gH%g\"/>", LEFT, foot - BAR, right);
        fprintf(s->out, "<text class=\"end\" x=\"%d\" y=\"%g\">1</text>", LEFT - 6, foot - BAR + 4);
        fprintf(s->out, "<text class=\"end\" x=\"%d\" y=\"%g\">0</text>\n", LEFT - 6, foot + 4);
        for (size_t i = from; i < end; ++i)
            put_bar(s, i, foot, BAR * share[i], value[i], !varied || varied[i]);
        fprintf(s->out, "<path class=\"axis\" d=\"M%d %gH%g\"/>\n", LEFT, foot, right);
        put_wild(s, from, end, foot + 13);
        put_site_numbers(s, from, end, foot + 13 + LETTERS * (s->wild != NULL));
    }
    svg_close_plain(s->out);
}

/* Charts, as pictures inside of a web page: scales, ticks, lines, points, columns, bars. */
#include "report/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"

/* Units of a picture, which is then scaled to its place: small enough to be read on a phone, where
 * letters are larger. The name of the upright axis stands above it, and never meets its numbers. */
enum { WIDTH = 480, HEIGHT = 322, SQUARE = 422, RIGHT = 22, TOP = 36, BOTTOM = 58, LETTER = 11 };

/* ---- Scales ---- */

static double place(double value, double lo, double hi, double from, double to) {
    double share = (value - lo) / (hi - lo);
    share = share > 0 ? share < 1 ? share : 1 : 0; /* and what is no number */
    return from + share * (to - from);
}

static double x_of(const svg_chart *c, double x) {
    return place(x, c->x.lo, c->x.hi, c->left, c->width - RIGHT);
}

static double y_of(const svg_chart *c, double y) {
    return place(y, c->y.lo, c->y.hi, c->height - BOTTOM, TOP);
}

/* 1, 2 or 5 times a power of ten, so that there are about `wanted` steps. */
static double nice_step(double range, int wanted, bool whole) {
    double raw = range / wanted, power = pow(10, floor(log10(raw)));
    double step = (raw <= power * 1.0001 ? 1
                   : raw <= 2 * power    ? 2
                   : raw <= 5 * power    ? 5
                                         : 10) *
                  power;
    return whole && step < 1 ? 1 : step;
}

/* An axis that can be divided; returns its step. */
static double settle_axis(svg_axis *axis, int wanted) {
    if (!isfinite(axis->lo) || !isfinite(axis->hi)) axis->lo = 0, axis->hi = 1;
    double least = 1e-9 * (fabs(axis->lo) + fabs(axis->hi)) + 1e-300;
    if (!(axis->hi - axis->lo > least)) {
        double more = fabs(axis->lo) > 0 ? 0.1 * fabs(axis->lo) : 1;
        axis->lo -= more;
        axis->hi += more;
    }
    double step = nice_step(axis->hi - axis->lo, wanted, axis->whole);
    if (!axis->exact) {
        axis->lo = step * floor(axis->lo / step + 1e-9);
        axis->hi = step * ceil(axis->hi / step - 1e-9);
    }
    return step;
}

void svg_include(svg_axis *axis, const double *values, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (!isfinite(values[i])) continue;
        axis->lo = fmin(axis->lo, values[i]);
        axis->hi = fmax(axis->hi, values[i]);
    }
}

/* As many decimals as the step has; returns how many letters that are. */
static size_t tick_text(double value, double step, char out[40]) {
    char text[32];
    if (fabs(value) < 1e-9 * step) value = 0;
    double largest = fabs(value) > step ? fabs(value) : step;
    int decimals = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
    if (step < 1e-4 || largest >= 1e7)
        snprintf(out, 40, "%s", number_text(value, text));
    else
        snprintf(out, 40, "%s%.*f", value < 0 ? "−" : "", decimals, fabs(value));
    size_t letters = 0;
    for (const char *c = out; *c; ++c) letters += (*c & 0xC0) != 0x80;
    return letters;
}

static double first_tick(const svg_axis *axis, double step) {
    return step * ceil(axis->lo / step - 1e-9);
}

static size_t longest_tick(const svg_axis *axis, double step) {
    size_t longest = 0;
    char text[40];
    for (double v = first_tick(axis, step); v <= axis->hi + 1e-9 * step; v += step) {
        size_t letters = tick_text(v, step, text);
        if (letters > longest) longest = letters;
    }
    return longest;
}

/* Numbers that would run into each other are left out, but not their lines; those at the ends are
 * moved into the picture. */
static void draw_x_axis(svg_chart *c, double step) {
    double bottom = c->height - BOTTOM, apart = x_of(c, c->x.lo + step) - x_of(c, c->x.lo);
    size_t every = (size_t)ceil((double)((longest_tick(&c->x, step) + 2) * LETTER) / apart), i = 0;
    char text[40];
    for (double v = first_tick(&c->x, step); v <= c->x.hi + 1e-9 * step; v += step) {
        double x = x_of(c, v);
        fprintf(c->out, "<path class=\"grid\" d=\"M%.1f %dV%.1f\"/>", x, TOP, bottom);
        if (i++ % (every > 0 ? every : 1) != 0) continue;
        double half = (double)(tick_text(v, step, text) * LETTER) / 2;
        fprintf(c->out, "<text class=\"mid\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                fmin(fmax(x, half), c->width - half), bottom + 26, text);
    }
    fprintf(c->out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>", c->left, bottom,
            c->width - RIGHT);
    fprintf(c->out, "<text class=\"mid name\" x=\"%.1f\" y=\"%.1f\">",
            (c->left + c->width - RIGHT) / 2, c->height - 8);
    html_short(c->out, c->x.label, 40);
    fputs("</text>\n", c->out);
}

static void draw_y_axis(svg_chart *c, double step) {
    char text[40];
    for (double v = first_tick(&c->y, step); v <= c->y.hi + 1e-9 * step; v += step) {
        double y = y_of(c, v);
        fprintf(c->out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", c->left, y,
                c->width - RIGHT);
        tick_text(v, step, text);
        fprintf(c->out, "<text class=\"end\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", c->left - 6,
                y + 4.5, text);
    }
    fputs("<text class=\"name\" x=\"2\" y=\"16\">", c->out);
    html_short(c->out, c->y.label, 48);
    fputs("</text>\n", c->out);
}

/* ---- Charts ---- */

static void put_names(FILE *out, size_t number, const char *title, const char *description) {
    fprintf(out,
            " role=\"img\" aria-labelledby=\"chart-%zu-title chart-%zu-text\">\n<title "
            "id=\"chart-%zu-title\">",
            number, number, number);
    html_string(out, title);
    fprintf(out, "</title>\n<desc id=\"chart-%zu-text\">", number);
    html_string(out, description);
    fputs("</desc>\n", out);
}

static void open_picture(FILE *out, size_t number, double width, double height, const char *title,
                         const char *description) {
    fprintf(out, "<svg viewBox=\"0 0 %.0f %.0f\"", width, height);
    put_names(out, number, title, description);
}

void svg_open_plain(FILE *out, size_t number, double width, double height, const char *title,
                    const char *description) {
    enum { PHONE = 310 };
    if (width > PHONE)
        fputs("<p class=\"key narrow\">Wider than this screen: scroll it sideways.</p>\n", out);
    fprintf(out,
            "<div class=\"scroll\" tabindex=\"0\"><svg class=\"sites\" viewBox=\"0 0 %.0f %.0f\" "
            "style=\"width:%.0fpx\"",
            width, height, width);
    put_names(out, number, title, description);
}

void svg_close_plain(FILE *out) {
    fputs("</svg></div>\n", out);
}

void svg_open(svg_chart *c) {
    c->width = WIDTH;
    c->height = c->square ? SQUARE : HEIGHT;
    open_picture(c->out, c->number, c->width, c->height, c->title, c->description);
    double x_step = settle_axis(&c->x, 6), y_step = settle_axis(&c->y, c->square ? 6 : 5);
    c->left = (double)((longest_tick(&c->y, y_step) + 1) * LETTER);
    draw_y_axis(c, y_step);
    draw_x_axis(c, x_step);
}

void svg_close(svg_chart *c) {
    fputs("</svg>\n", c->out);
}

void svg_line(svg_chart *c, const char *class, const double *x, const double *y, size_t count) {
    bool drawing = false;
    fprintf(c->out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < count; ++i) {
        bool here = isfinite(x[i]) && isfinite(y[i]);
        if (here) fprintf(c->out, "%c%.1f %.1f", drawing ? 'L' : 'M', x_of(c, x[i]), y_of(c, y[i]));
        drawing = here;
    }
    fputs("\"/>\n", c->out);
}

void svg_segment(svg_chart *c, const char *class, double x0, double y0, double x1, double y1) {
    double x[] = {x0, x1}, y[] = {y0, y1};
    svg_line(c, class, x, y, 2);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Half the room between the two nearest of the different values; 0 = they are too many, or too near
 * to each other for anything to be seen. */
static double room_beside(const double *values, size_t count) {
    double *sorted = malloc((count + 1) * sizeof *sorted), nearest = INFINITY;
    size_t known = 0, different = 1;
    if (!sorted) return 0;
    for (size_t i = 0; i < count; ++i)
        if (isfinite(values[i])) sorted[known++] = values[i];
    if (known > 0) qsort(sorted, known, sizeof *sorted, by_value);
    for (size_t i = 1; i < known; ++i) {
        if (sorted[i] == sorted[i - 1]) continue;
        ++different;
        nearest = fmin(nearest, sorted[i] - sorted[i - 1]);
    }
    double range = known > 0 ? sorted[known - 1] - sorted[0] : 0;
    free(sorted);
    return 3 * different <= known && nearest >= range / 40 && isfinite(nearest) ? nearest / 2 : 0;
}

/* The multiples of the golden ratio fall evenly, whatever their number. */
bool svg_spread(double *values, size_t count) {
    double room = room_beside(values, count), golden = 0.6180339887498949;
    for (size_t i = 0; i < count && room > 0; ++i)
        values[i] += 0.7 * room * (2 * fmod((double)(i + 1) * golden, 1) - 1);
    return room > 0;
}

/* All of them in one path, of lines without length and with round ends. */
void svg_points(svg_chart *c, const char *class, const double *x, const double *y, size_t count) {
    fprintf(c->out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < count; ++i)
        if (isfinite(x[i]) && isfinite(y[i]))
            fprintf(c->out, "M%.1f %.1fh0", x_of(c, x[i]), y_of(c, y[i]));
    fputs("\"/>\n", c->out);
}

void svg_spans(svg_chart *c, const double *x, const double *lo, const double *hi, size_t count) {
    fputs("<path class=\"span\" d=\"", c->out);
    for (size_t i = 0; i < count; ++i)
        if (isfinite(x[i]) && isfinite(lo[i]) && isfinite(hi[i]))
            fprintf(c->out, "M%.1f %.1fV%.1f", x_of(c, x[i]), y_of(c, lo[i]), y_of(c, hi[i]));
    fputs("\"/>\n", c->out);
}

void svg_column(svg_chart *c, double x0, double x1, double y) {
    double left = x_of(c, x0), top = y_of(c, y), bottom = y_of(c, 0);
    fprintf(c->out, "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
            left, top, x_of(c, x1) - left, bottom - top);
}

void svg_bars(FILE *out, size_t number, const char *title, const char *description,
              const char *const *names, const double *values, size_t count, double most) {
    enum { NAMES = 130, ROW = 24, END = 60 };
    open_picture(out, number, WIDTH, (double)(count * ROW + 8), title, description);
    for (size_t i = 0; i < count; ++i) {
        double top = (double)(i * ROW + 4), room = WIDTH - NAMES - END;
        double share = values[i] > 0 && most > 0 ? values[i] / most : 0;
        fprintf(out, "<text class=\"end name\" x=\"%d\" y=\"%.1f\">", NAMES - 8, top + 16.5);
        html_short(out, names[i], 16);
        fprintf(out,
                "</text><rect class=\"bar\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"16\"/>",
                NAMES, top + 4, fmax(1, room * fmin(1, share)));
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">", NAMES + fmax(1, room * fmin(1, share)) + 6,
                top + 16.5);
        char text[32];
        fprintf(out, "%s</text>\n", number_text(values[i], text));
    }
    fputs("</svg>\n", out);
}

/* Charts, as pictures inside of a web page: scales, ticks, lines, points, columns, bars. */
#include "report/svg.h"

#include <math.h>

#include "report/html.h"

/* Units of a picture, which is then scaled to its place: small enough to be read on a phone. */
enum { WIDTH = 480, HEIGHT = 300, SQUARE = 400, LEFT = 70, RIGHT = 20, TOP = 12, BOTTOM = 48 };

/* ---- Scales ---- */

static double place(double value, double lo, double hi, double from, double to) {
    double share = (value - lo) / (hi - lo);
    share = share > 0 ? share < 1 ? share : 1 : 0; /* and what is no number */
    return from + share * (to - from);
}

static double x_of(const svg_chart *c, double x) {
    return place(x, c->x.lo, c->x.hi, LEFT, c->width - RIGHT);
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

/* As many decimals as the step has. */
static void put_tick(FILE *out, double value, double step) {
    char text[32];
    if (fabs(value) < 1e-9 * step) value = 0;
    double largest = fabs(value) > step ? fabs(value) : step;
    if (step < 1e-4 || largest >= 1e7) {
        fputs(number_text(value, text), out);
        return;
    }
    int decimals = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
    fprintf(out, "%s%.*f", value < 0 ? "−" : "", decimals, fabs(value));
}

static void draw_x_axis(svg_chart *c, double step) {
    double bottom = c->height - BOTTOM;
    for (double v = step * ceil(c->x.lo / step - 1e-9); v <= c->x.hi + 1e-9 * step; v += step) {
        double x = x_of(c, v);
        fprintf(c->out, "<path class=\"grid\" d=\"M%.1f %dV%.1f\"/>", x, TOP, bottom);
        fprintf(c->out, "<text class=\"mid\" x=\"%.1f\" y=\"%.1f\">", x, bottom + 18);
        put_tick(c->out, v, step);
        fputs("</text>\n", c->out);
    }
    fprintf(c->out, "<path class=\"axis\" d=\"M%d %.1fH%.1f\"/>", LEFT, bottom, c->width - RIGHT);
    fprintf(c->out, "<text class=\"mid\" x=\"%.1f\" y=\"%.1f\">", (LEFT + c->width - RIGHT) / 2,
            c->height - 8);
    html_short(c->out, c->x.label, 48);
    fputs("</text>\n", c->out);
}

static void draw_y_axis(svg_chart *c, double step) {
    for (double v = step * ceil(c->y.lo / step - 1e-9); v <= c->y.hi + 1e-9 * step; v += step) {
        double y = y_of(c, v);
        fprintf(c->out, "<path class=\"grid\" d=\"M%d %.1fH%.1f\"/>", LEFT, y, c->width - RIGHT);
        fprintf(c->out, "<text class=\"end\" x=\"%d\" y=\"%.1f\">", LEFT - 6, y + 4.5);
        put_tick(c->out, v, step);
        fputs("</text>\n", c->out);
    }
    double middle = (TOP + c->height - BOTTOM) / 2;
    fprintf(c->out, "<text class=\"mid\" transform=\"translate(13 %.1f) rotate(-90)\">", middle);
    html_short(c->out, c->y.label, 40);
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

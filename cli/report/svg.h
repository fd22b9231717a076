/* Charts, as pictures inside of a web page: scales, ticks, lines, points, columns, bars. Colours
 * come from the page's style, by class. */
#ifndef CLI_SVG_H
#define CLI_SVG_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct svg_axis {
    const char *label;
    double lo, hi;
    bool whole; /* ticks at whole numbers only                          */
    bool exact; /* lo and hi as they are; otherwise widened to a tick    */
} svg_axis;

typedef struct svg_chart {
    FILE *out;
    size_t number; /* of the chart in its page: names must be unique */
    const char *title, *description;
    svg_axis x, y;
    bool square;
    double width, height; /* of the picture; set by svg_open() */
    double left;          /* where the axes meet; likewise     */
} svg_chart;

/* An axis that holds nothing yet, and one that holds these too; what is no number is passed over.
 */
#define SVG_AXIS(name)                                                                             \
    { .label = (name), .lo = INFINITY, .hi = -INFINITY }
void svg_include(svg_axis *axis, const double *values, size_t count);
/* Where few different values come many times, as grades do, points would hide each other: moves
 * them apart, by less than the way to the next value, always in the same manner. Returns whether it
 * did: then the caption says so. */
bool svg_spread(double *values, size_t count);

/* Everything behind the data; and the end. What lies outside of the axes is drawn on their edge. */
void svg_open(svg_chart *c);
void svg_close(svg_chart *c);

/* `class`: "a" or "b", the two colours, "c", grey; with " dash" a dashed line. A point that is no
 * number interrupts the line. */
void svg_line(svg_chart *c, const char *class, const double *x, const double *y, size_t count);
void svg_segment(svg_chart *c, const char *class, double x0, double y0, double x1, double y1);
void svg_points(svg_chart *c, const char *class, const double *x, const double *y, size_t count);
/* From lo to hi, upright. */
void svg_spans(svg_chart *c, const double *x, const double *lo, const double *hi, size_t count);
/* From the axis to y, between two places. */
void svg_column(svg_chart *c, double x0, double x1, double y);

/* A picture without axes, whose units are pixels of the page; a narrow screen scrolls it. */
void svg_open_plain(FILE *out, size_t number, double width, double height, const char *title,
                    const char *description);
void svg_close_plain(FILE *out);

/* A whole picture of its own: a bar to the right for each name, from 0 to `most`. */
void svg_bars(FILE *out, size_t number, const char *title, const char *description,
              const char *const *names, const double *values, size_t count, double most);

#endif

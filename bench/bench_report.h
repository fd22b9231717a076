/* What was found, as Markdown or JSON on standard output. */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stddef.h>

typedef enum relation { AT_LEAST, AT_MOST, SKIPPED } relation;

/* One number, the number asked for, and how it was found. */
typedef struct finding {
    const char *what;
    relation relation;
    double reached, asked;
    const char *unit; /* "x", "%", "ms" */
    char parts[240];  /* what it was made of; or why it was skipped */
} finding;

/* One speed, without a demand. */
typedef struct speed {
    const char *group; /* rows of a group stand together, in the order they came */
    char what[96];
    double seconds, rate, share; /* of the multiply-add limit; NAN = does not apply */
} speed;

enum { FINDINGS = 35, MOST_SPEEDS = 64 };

typedef struct report {
    char machine[240];
    double load_before, load_after;
    finding findings[FINDINGS]; /* by number, less 1 */
    speed speeds[MOST_SPEEDS];
    size_t speed_count;
} report;

/* Sets row `number`; the rest says what it was made of, or why it was skipped. */
void found(report *r, size_t number, const char *what, relation compared, double reached,
           double asked, const char *unit, const char *format, ...)
    __attribute__((format(printf, 8, 9)));
void skip(report *r, size_t number, const char *what, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void add_speed(report *r, speed s);
bool all_reached(const report *r);
void print_markdown(const report *r);
void print_json(const report *r);

#endif

#include "bench_report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void found(report *r, size_t number, const char *what, relation compared, double reached,
           double asked, const char *unit, const char *format, ...) {
    finding *f = &r->findings[number - 1];
    *f = (finding){
        .what = what, .relation = compared, .reached = reached, .asked = asked, .unit = unit};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->parts, sizeof f->parts, format, arguments);
    va_end(arguments);
}

void skip(report *r, size_t number, const char *what, const char *format, ...) {
    finding *f = &r->findings[number - 1];
    *f = (finding){.what = what, .relation = SKIPPED, .unit = ""};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->parts, sizeof f->parts, format, arguments);
    va_end(arguments);
}

void add_speed(report *r, speed s) {
    if (r->speed_count < MOST_SPEEDS) r->speeds[r->speed_count++] = s;
}

static bool is_reached(const finding *f) {
    return f->relation == AT_LEAST ? f->reached >= f->asked : f->reached <= f->asked;
}

static const char *verdict(const finding *f) {
    if (f->relation == SKIPPED) return "skipped";
    return is_reached(f) ? "PASS" : "FAIL";
}

bool all_reached(const report *r) {
    for (size_t i = 0; i < FINDINGS; i++) {
        if (r->findings[i].what && strcmp(verdict(&r->findings[i]), "FAIL") == 0) return false;
    }
    return true;
}

/* ---- Markdown ---- */

static void print_findings(const report *r) {
    printf("| # | what | reached | asked | | made of |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < FINDINGS; i++) {
        const finding *f = &r->findings[i];
        if (!f->what) continue; /* not asked for */
        printf("| %zu | %s |", i + 1, f->what);
        if (f->relation == SKIPPED)
            printf(" | |");
        else
            printf(" %.3g%s | at %s %.3g%s |", f->reached, f->unit,
                   f->relation == AT_LEAST ? "least" : "most", f->asked, f->unit);
        printf(" %s | %s |\n", verdict(f), f->parts);
    }
}

static void print_cell(const char *format, double value) {
    if (!isnan(value)) printf(format, value);
    printf(" |");
}

static void print_speeds(const report *r) {
    const char *group = "";
    for (size_t i = 0; i < r->speed_count; i++) {
        const speed *s = &r->speeds[i];
        if (strcmp(s->group, group) != 0)
            printf("\n| %s | seconds | cell-orders/s | share of FMA/4 |\n|---|---|---|---|\n",
                   s->group);
        group = s->group;
        printf("| %s |", s->what);
        print_cell(" %.3g", s->seconds);
        print_cell(" %.3g", s->rate);
        print_cell(" %.0f%%", 100 * s->share);
        putchar('\n');
    }
}

void print_markdown(const report *r) {
    printf("%s; load %.1f before, %.1f after\n\n", r->machine, r->load_before, r->load_after);
    print_findings(r);
    print_speeds(r);
}

/* ---- JSON ---- */

static void print_string(const char *key, const char *text) {
    printf("\"%s\":\"", key);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        putchar((unsigned char)*text < ' ' ? ' ' : *text);
    }
    putchar('"');
}

static void print_number(const char *key, double value) {
    if (isfinite(value))
        printf(",\"%s\":%.6g", key, value);
    else
        printf(",\"%s\":null", key);
}

void print_json(const report *r) {
    printf("{\"schema\":1,");
    print_string("machine", r->machine);
    print_number("load_before", r->load_before);
    print_number("load_after", r->load_after);
    printf(",\"rows\":[");
    for (size_t i = 0, printed = 0; i < FINDINGS; i++) {
        const finding *f = &r->findings[i];
        bool skipped = f->relation == SKIPPED;
        if (!f->what) continue;
        printf("%s{\"row\":%zu,", printed++ ? "," : "", i + 1);
        print_string("what", f->what);
        print_number("reached", skipped ? NAN : f->reached);
        print_number("asked", skipped ? NAN : f->asked);
        printf(",\"relation\":\"%s\",", f->relation == AT_MOST ? "at most" : "at least");
        print_string("unit", f->unit);
        printf(",\"pass\":%s,", skipped ? "null" : is_reached(f) ? "true" : "false");
        print_string("made_of", f->parts);
        putchar('}');
    }
    printf("],\"speeds\":[");
    for (size_t i = 0; i < r->speed_count; i++) {
        const speed *s = &r->speeds[i];
        printf("%s{", i ? "," : "");
        print_string("group", s->group);
        putchar(',');
        print_string("what", s->what);
        print_number("seconds", s->seconds);
        print_number("cell_orders_per_s", s->rate);
        print_number("share_of_fma_limit", s->share);
        putchar('}');
    }
    printf("]}\n");
}

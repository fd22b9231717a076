/* The rows without a demand: how speed depends on instruction set, precision, length and order, and
 * what other programs need for the same matrix. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "workload.h"

/* About a tenth of a second's work, but not so few strings that most lanes are empty. */
static size_t strings_for(size_t length, size_t order) {
    double cell_orders = 5e8, pair = (double)(length * length * order);
    double count = sqrt(2 * cell_orders / pair);
    return count < 24 ? 24 : count > 2000 ? 2000 : (size_t)count;
}

static void measure_one(const plan *p, report *r, const char *group, const char *what,
                        const setup *wish, size_t length, size_t order, bool share) {
    char expression[64];
    snprintf(expression, sizeof expression, "ssk(text, units=chars, order=%zu)", order);
    texts t = random_letters(strings_for(length, order), length);
    setup s = *wish;
    s.expression = expression;
    s.texts = &t;
    s.dropping = LTH_DROP_OFF;
    workload w;
    open_workload(&w, &s);
    double fma = share ? multiply_add_rate(&w, s.precision) : 0;
    run_in_turn((workload *[]){&w}, 1, p->seconds / 8);
    if (share) fma = fmax(fma, multiply_add_rate(&w, s.precision));
    speed found = {.group = group, .seconds = w.best, .rate = rate_of(&w), .share = NAN};
    if (share) found.share = found.rate / (fma / 4);
    snprintf(found.what, sizeof found.what, "%s", what);
    add_speed(r, found);
    close_workload(&w);
    free_texts(&t);
}

static void measure_instruction_sets(const plan *p, report *r) {
    const char *isa;
    for (size_t i = 0; (isa = lth_isa_available(i)) != NULL; i++) {
        for (int f32 = 0; f32 < 2; f32++) {
            char what[96];
            snprintf(what, sizeof what, "%s, %s", isa, f32 ? "f32" : "f64");
            setup s = {.isa = isa, .precision = f32 ? LTH_F32 : LTH_F64};
            measure_one(p, r, "instruction set (length 100, order 5)", what, &s, 100, 5, true);
        }
    }
}

static void measure_lengths(const plan *p, report *r) {
    static const size_t lengths[] = {10, 30, 100, 300, 700, 2000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char what[96];
        snprintf(what, sizeof what, "%zu, %zu strings", lengths[i], strings_for(lengths[i], 5));
        measure_one(p, r, "length (order 5, f64)", what, &(setup){0}, lengths[i], 5, false);
    }
}

static void measure_by_order(const plan *p, report *r) {
    static const size_t orders[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 32, 64};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        size_t order = orders[i];
        char what[96];
        snprintf(what, sizeof what, "%zu, %zu strings", order, strings_for(100, order));
        measure_one(p, r, "order (length 100, f64)", what, &(setup){0}, 100, order, false);
    }
}

/* ---- Other programs ---- */

static const char peer_group[] = "100 x 100 matrix (length 100, order 5), one core";

static void measure_luthier(const plan *p, report *r) {
    texts t = random_letters(100, 100);
    workload value, both;
    setup s = {.expression = "ssk(text, units=chars, order=5)", .texts = &t};
    open_workload(&value, &s);
    s.gradient = true;
    open_workload(&both, &s);
    run_in_turn((workload *[]){&value, &both}, 2, p->seconds / 4);
    add_speed(r, (speed){peer_group, "luthier, value", value.best, rate_of(&value), NAN});
    add_speed(r,
              (speed){peer_group, "luthier, value and gradient", both.best, rate_of(&both), NAN});
    close_workload(&value);
    close_workload(&both);
    free_texts(&t);
}

/* A line for each: a name, a tab, the seconds it took. */
static void read_peers(const plan *p, report *r) {
    FILE *file = fopen(p->peers, "r");
    if (!file) die("cannot read %s", p->peers);
    char line[160];
    while (fgets(line, sizeof line, file)) {
        char *tab = strchr(line, '\t');
        if (!tab) die("%s: a line without a tab", p->peers);
        speed peer = {.group = peer_group, .seconds = strtod(tab + 1, NULL), .share = NAN};
        const double cell_orders = 100 * 101 / 2. * 100 * 100 * 5;
        peer.rate = cell_orders / peer.seconds;
        snprintf(peer.what, sizeof peer.what, "%.*s", (int)(tab - line), line);
        add_speed(r, peer);
    }
    fclose(file);
}

void measure_speeds(const plan *p, report *r) {
    measure_instruction_sets(p, r);
    measure_lengths(p, r);
    measure_by_order(p, r);
    measure_luthier(p, r);
    if (p->peers) read_peers(p, r);
}

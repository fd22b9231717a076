/* Rows 31 and 32: high orders of the string kernel, and few long strings, against many strings of
 * 100 letters. */
#include <math.h>
#include <stdio.h>

#include "measure.h"
#include "workload.h"

static void open_letters(workload *w, const texts *t, size_t order, bool gradient) {
    char expression[64];
    snprintf(expression, sizeof expression, "ssk(text, units=chars, order=%zu)", order);
    open_workload(w, &(setup){.expression = expression,
                              .texts = t,
                              .dropping = LTH_DROP_OFF,
                              .gradient = gradient});
}

/* The lowest rate of orders 9 to 16, as a share of that of order 8; `order` is which. */
static double worst_order(double seconds, const texts *t, bool gradient, size_t *order) {
    enum { LOW = 8, HIGH = 16 };
    workload w[HIGH - LOW + 1], *turns[HIGH - LOW + 1];
    for (size_t i = 0; i <= HIGH - LOW; i++) {
        open_letters(turns[i] = &w[i], t, LOW + i, gradient);
    }
    run_in_turn(turns, HIGH - LOW + 1, seconds);
    double worst = INFINITY;
    for (size_t i = 1; i <= HIGH - LOW; i++) {
        if (used_rate_of(&w[i]) >= worst) continue;
        worst = used_rate_of(&w[i]);
        *order = LOW + i;
    }
    worst /= used_rate_of(&w[0]);
    for (size_t i = 0; i <= HIGH - LOW; i++) close_workload(&w[i]);
    return worst;
}

void measure_orders(const plan *p, report *r) {
    texts t = random_letters(80, 100);
    size_t order[2];
    double value = worst_order(p->seconds, &t, false, &order[0]);
    double both = worst_order(p->seconds, &t, true, &order[1]);
    found(r, 31, "orders 9 to 16 against order 8, cell-orders per second", AT_LEAST,
          fmin(value, both), 0.8, "x",
          "values %.2f (order %zu), value and gradient %.2f (order %zu): the worst counts; 80 "
          "strings of 100 letters",
          value, order[0], both, order[1]);
    free_texts(&t);
}

void measure_few(const plan *p, report *r) {
    texts few = random_letters(24, 2000), many = random_letters(600, 100),
          two = random_letters(2, 8000);
    workload longer, shorter, pair;
    open_letters(&longer, &few, 5, false);
    open_letters(&shorter, &many, 5, false);
    open_letters(&pair, &two, 5, false);
    run_in_turn((workload *[]){&longer, &shorter, &pair}, 3, 3 * p->seconds);
    double few_rate = used_rate_of(&longer), pair_rate = used_rate_of(&pair),
           rate = used_rate_of(&shorter);
    found(r, 32,
          "24 strings of 2,000, and two of 8,000, against 600 of 100, cell-orders per second",
          AT_LEAST, fmin(few_rate, pair_rate) / rate, 0.9, "x",
          "%.3g, %.3g and %.3g cell-orders/s: the worse counts", few_rate, pair_rate, rate);
    close_workload(&longer);
    close_workload(&shorter);
    close_workload(&pair);
    free_texts(&few);
    free_texts(&many);
    free_texts(&two);
}

/* luthier fit --plan: what a fit would need. */
#include <stdio.h>

#include "learning.h"
#include "model.h"
#include "output.h"

static void print_size(const char *name, double bytes) {
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 999.95 && unit < 4) {
        bytes /= 1000;
        ++unit;
    }
    printf("%s\t%.*f %s\n", name, unit ? 1 : 0, bytes, units[unit]);
}

static const char *store_of(const lth_gp_plan *p) {
    return p->on_disk ? "disk" : p->store == LTH_F32 ? "f32" : "f64";
}

static void print_text(const lth_gp_plan *p) {
    printf("rows\t%zu\n", p->rows);
    printf("rows to learn from\t%zu\n", p->learn_rows);
    printf("posterior\t%s\n", p->name);
    if (p->inducing) printf("inducing rows\t%zu\n", p->inducing);
    if (p->posterior == LTH_POSTERIOR_CG) printf("store\t%s\n", store_of(p));
    printf("pairs of an evaluation\t%.4g\n", p->learn_pairs);
    printf("pairs of the posterior\t%.4g\n", p->pairs);
    if (p->cell_orders > 0) {
        printf("cell-orders of an evaluation\t%.4g\n", p->learn_cell_orders);
        printf("cell-orders of the posterior\t%.4g\n", p->cell_orders);
    }
    if (p->read > 0) {
        print_size("read for an evaluation", p->learn_read);
        print_size("read for the posterior", p->read);
    }
    print_size("memory to learn", p->learn_bytes);
    print_size("memory of the posterior", p->bytes);
    print_size("memory available", p->available);
    printf("seconds to learn, about\t%.3g\n", p->learn_seconds);
    printf("seconds for the posterior, about\t%.3g\n", p->seconds);
}

static int print_json(const lth_gp_plan *p) {
    json_writer w = {.to = stdout};
    json_begin_result(&w, NULL);
    json_put_count(&w, "rows", p->rows);
    json_put_count(&w, "learn_rows", p->learn_rows);
    json_put_text(&w, "posterior", p->name);
    json_put_count(&w, "inducing", p->inducing);
    json_put_text(&w, "store", store_of(p));
    json_put_double(&w, "learn_pairs", p->learn_pairs);
    json_put_double(&w, "pairs", p->pairs);
    json_put_double(&w, "learn_cell_orders", p->learn_cell_orders);
    json_put_double(&w, "cell_orders", p->cell_orders);
    json_put_double(&w, "learn_bytes", p->learn_bytes);
    json_put_double(&w, "bytes", p->bytes);
    json_put_double(&w, "available_bytes", p->available);
    json_put_double(&w, "learn_seconds", p->learn_seconds);
    json_put_double(&w, "seconds", p->seconds);
    json_put_double(&w, "learn_read_bytes", p->learn_read);
    json_put_double(&w, "read_bytes", p->read);
    json_end(&w);
    return EXIT_DONE;
}

int print_plan(learning *l) {
    lth_error err = {0};
    lth_gp_plan p;
    if (lth_gp_plan_fit(l->session.ctx, l->expression, l->table, l->targets.at, l->targets.count,
                        &l->gp_options, &p, sizeof p, &err) != LTH_OK)
        return learning_fail(l, &err);
    if (l->options->json) return print_json(&p);
    print_text(&p);
    if (p.learn_bytes > p.available || p.bytes > p.available)
        session_warn(&l->session, "this does not fit into memory");
    return EXIT_DONE;
}

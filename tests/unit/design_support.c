#include "design_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "gp_support.h"

const char design_kernel[] = "4 * normalize(ssk(text, order=3, units=chars))";

lth_table *design_rows(lth_ctx *ctx, size_t first, size_t count) {
    char *lines = malloc(count * 128 + 128), *at = lines;
    lth__random random;
    lth__random_seed(&random, 11);
    at += sprintf(at, "text\ty\tminus\tz\tlabel\tthree\tseveral\tcost\tcount\n");
    for (size_t i = 0; i < first + count; i++) {
        char word[DESIGN_LENGTH + 1] = {0};
        double y = 0;
        for (size_t k = 0; k < DESIGN_LENGTH; k++) {
            word[k] = "ACGT"[lth__random_below(&random, 4)];
            y += word[k] == 'A' ? 1 : word[k] == 'C' ? -0.5 : 0;
        }
        y += word[0] == 'G' ? 1.5 : 0;
        double noise = 0.1 * lth__random_normal(&random);
        if (i < first) continue;
        at += sprintf(at, "%s\t%.6g\t%.6g\t%.6g\t%s\t%s\t%s\t%zu\t%d\n", word, y + noise,
                      -y - noise, cos(y) + 0.2 * (word[3] == 'T'), y > 1 ? "good" : "bad",
                      y > 2   ? "high"
                      : y > 0 ? "mid"
                              : "low",
                      y > 1.5 ? "a,b"
                      : i % 3 ? "a"
                              : "b",
                      1 + i % 3, y > 0 ? (int)y : 0);
    }
    lth_table *table = support_table(ctx, lines);
    free(lines);
    return table;
}

char *design_cell(const lth_table *table, size_t row) {
    size_t length;
    const char *text = lth_table_cell(table, row, 0, &length);
    char *copy = calloc(length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

const char *design_word(const lth_table *table, size_t row) {
    enum { KEPT = 4096 };
    static char room[KEPT][DESIGN_LENGTH + 1];
    static int next;
    size_t length;
    const char *cell = lth_table_cell(table, row, 0, &length);
    char *to = room[next++ % KEPT];
    memcpy(to, cell, DESIGN_LENGTH);
    return to;
}

lth_model *design_fit(lth_ctx *ctx, const lth_table *table, const char *const *targets,
                      size_t count, lth_likelihood likelihood) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    lth_gp_options options = support_fixed();
    options.likelihood = likelihood;
    if (likelihood == LTH_GAUSSIAN) {
        options.zero_mean = options.unscaled = options.noise_held = true;
        options.noise = 0.1;
    }
    support_ok(lth_gp_fit(ctx, design_kernel, table, targets, count, &options, &gp, &err), &err);
    return lth_gp_model(gp);
}

lth_propose_options design_options(size_t count) {
    lth_propose_options o;
    lth_propose_options_init(&o);
    o.count = count;
    return o;
}

lth_proposals *design_propose(lth_model *const *models, size_t count, const lth_table *pool,
                              const lth_propose_options *options) {
    lth_error err = {0};
    lth_proposals *p = NULL;
    support_ok(lth_propose(models, count, pool, options, &p, &err), &err);
    return p;
}

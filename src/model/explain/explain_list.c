/* Lists of patterns: collected, joined, sorted, cut. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/explain/explain.h"

/* ---- Lists ---- */

lth_status lth__reasons_add_pattern(lth_reasons *r, const char *column, const char *text,
                                    size_t length, double weight, size_t rows, size_t example,
                                    lth_error *err) {
    size_t used = r->summary.patterns;
    for (size_t i = 0; i < used; i++) {
        lth_reasons_pattern *p = &r->patterns[i];
        if (strcmp(p->column, column) != 0 || strlen(p->text) != length ||
            memcmp(p->text, text, length) != 0)
            continue;
        p->weight += weight;
        return LTH_OK;
    }
    lth_reasons_pattern new = {.weight = weight, .rows = rows, .example = example};
    new.column = lth__pool_strndup(&r->pool, column, strlen(column));
    new.text = lth__pool_strndup(&r->pool, text, length);
    if (!new.column || !new.text ||
        !lth__reserve((void **)&r->patterns, &r->pattern_capacity, used + 1, sizeof *r->patterns))
        return lth__fail_memory(err, length);
    r->patterns[r->summary.patterns++] = new;
    return LTH_OK;
}

static int by_text(const lth_reasons_pattern *x, const lth_reasons_pattern *y) {
    int columns = strcmp(x->column, y->column);
    return columns != 0 ? columns : strcmp(x->text, y->text);
}

static int by_size(const void *a, const void *b) {
    const lth_reasons_pattern *x = a, *y = b;
    double p = fabs(x->weight), q = fabs(y->weight);
    return p != q ? (p > q ? -1 : 1) : by_text(x, y);
}

static int by_weight(const void *a, const void *b) {
    const lth_reasons_pattern *x = a, *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return by_text(x, y);
}

void lth__reasons_choose_patterns(lth_reasons *r, size_t count, bool both) {
    size_t used = 0, kept[2] = {0};
    if (r->summary.patterns == 0) return;
    qsort(r->patterns, r->summary.patterns, sizeof *r->patterns, by_size);
    double least = lth__rounding * fabs(r->patterns[0].weight);
    for (size_t i = 0; i < r->summary.patterns; i++) {
        double weight = r->patterns[i].weight;
        size_t side = both && weight < 0;
        if (fabs(weight) <= least || kept[side] == count) continue;
        kept[side]++;
        r->patterns[used++] = r->patterns[i];
    }
    r->summary.patterns = used;
    if (both && used > 0) qsort(r->patterns, used, sizeof *r->patterns, by_weight);
}

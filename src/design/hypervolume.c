/* The region that a front leaves open, in boxes.
 *
 * By its last function it is cut into slabs, at the levels of the points: inside of a slab the
 * points that reach above it all count, and the others do not. So each slab is the same problem
 * with a function less; with one function left it is one box, from the highest point up. A front of
 * n points makes n + 1 boxes of two functions, at most about n^(m-1) / (m-1)! of m.
 */
#include "design/hypervolume.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { MOST_BOXES = 1 << 22 };

typedef struct cutting {
    lth__boxes *boxes;
    const uint32_t *rank; /* [point][function]: its level */
    uint32_t *open;       /* the box that is being made: [function][2] */
    lth_error *err;
} cutting;

static lth_status add_box(cutting *c) {
    lth__boxes *b = c->boxes;
    size_t corners = 2 * b->functions;
    if (b->count == MOST_BOXES)
        return lth__fail(c->err, LTH_EUNSUPPORTED,
                         "so many rows are not outdone by all of %zu objectives that the "
                         "hypervolume takes too long; give the objectives weights",
                         b->functions);
    if (!lth__reserve((void **)&b->corner, &b->capacity, (b->count + 1) * corners,
                      sizeof *b->corner))
        return lth__fail_memory(c->err, 0);
    memcpy(b->corner + b->count++ * corners, c->open, corners * sizeof *b->corner);
    return LTH_OK;
}

/* `active` are the points that count; there is room for as many more behind them for each function
 * left. */
static lth_status cut(cutting *c, size_t function, uint32_t *active, size_t count) {
    size_t m = c->boxes->functions;
    uint32_t end = (uint32_t)(c->boxes->levels - 1), low = 0, *open = c->open + 2 * function;
    uint32_t *inside = active + count;
    if (function == 0) {
        for (size_t i = 0; i < count; i++) {
            uint32_t rank = c->rank[active[i] * m];
            if (rank > low) low = rank;
        }
        open[0] = low, open[1] = end;
        return add_box(c);
    }
    while (low < end) {
        uint32_t high = end; /* the next level of a point above low */
        size_t reach = 0;
        for (size_t i = 0; i < count; i++) {
            uint32_t rank = c->rank[active[i] * m + function];
            if (rank > low && rank < high) high = rank;
            if (rank > low) inside[reach++] = active[i];
        }
        open[0] = low, open[1] = high;
        LTH_TRY(cut(c, function - 1, inside, reach));
        low = high;
    }
    return LTH_OK;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The levels of a function, ascending and different, with INFINITY behind them. */
static void list_levels(const double *points, size_t count, size_t functions, size_t function,
                        double reference, size_t levels, double *out) {
    size_t used = 1;
    for (size_t i = 0; i < count; i++) out[1 + i] = points[i * functions + function];
    qsort(out + 1, count, sizeof *out, by_size);
    out[0] = reference;
    for (size_t i = 0; i < count; i++) {
        if (out[1 + i] > out[used - 1]) out[used++] = out[1 + i];
    }
    while (used < levels) out[used++] = INFINITY;
}

static uint32_t find_level(const double *level, double value) {
    uint32_t k = 0;
    while (level[k + 1] <= value) k++;
    return k;
}

/* Points that reach above the reference by all functions, and that no other outdoes. */
static size_t find_front(const double *points, size_t count, size_t m, const double *reference,
                         uint32_t *front) {
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const double *p = points + i * m;
        bool counts = true;
        for (size_t f = 0; f < m; f++) counts = counts && p[f] > reference[f];
        for (size_t j = 0; j < count && counts; j++) {
            const double *q = points + j * m;
            bool reaches = true, same = true;
            for (size_t f = 0; f < m; f++) {
                reaches = reaches && q[f] >= p[f];
                same = same && q[f] == p[f];
            }
            if (j != i && reaches && (!same || j < i)) counts = false;
        }
        if (counts) front[used++] = (uint32_t)i;
    }
    return used;
}

static lth_status fill(lth__boxes *b, const double *points, const double *reference,
                       const uint32_t *front, size_t n, uint32_t *room, lth_error *err) {
    size_t m = b->functions;
    double *some = lth__alloc(n * m, sizeof *some);
    if (!some) return lth__fail_memory(err, n * m * sizeof *some);
    for (size_t i = 0; i < n; i++) memcpy(some + i * m, points + front[i] * m, m * sizeof *some);
    uint32_t *rank = room, *open = rank + n * m, *active = open + 2 * m;
    for (size_t f = 0; f < m; f++)
        list_levels(some, n, m, f, reference[f], b->levels, b->level + f * b->levels);
    for (size_t i = 0; i < n * m; i++) rank[i] = find_level(b->level + i % m * b->levels, some[i]);
    for (size_t i = 0; i < n; i++) active[i] = (uint32_t)i;
    lth__free(some);
    return cut(&(cutting){.boxes = b, .rank = rank, .open = open, .err = err}, m - 1, active, n);
}

lth_status lth__boxes_make(const double *points, size_t count, size_t functions,
                           const double *reference, lth__boxes *out, lth_error *err) {
    *out = (lth__boxes){.functions = functions};
    uint32_t *front = lth__alloc(count, sizeof *front);
    if (!front) return lth__fail_memory(err, count * sizeof *front);
    size_t n = find_front(points, count, functions, reference, front);
    out->levels = n + 2;
    out->level = lth__alloc(functions * out->levels, sizeof *out->level);
    uint32_t *room = lth__alloc((n + 2) * functions + (functions + 1) * n, sizeof *room);
    lth_status status = out->level && room
                            ? fill(out, points, reference, front, n, room, err)
                            : lth__fail_memory(err, functions * out->levels * sizeof(double));
    lth__free(front);
    lth__free(room);
    return status;
}

void lth__boxes_free(lth__boxes *b) {
    lth__free(b->level);
    lth__free(b->corner);
    *b = (lth__boxes){0};
}

double lth__boxes_sum(const lth__boxes *b, const double *part) {
    double sum = 0;
    const uint32_t *corner = b->corner;
    for (size_t i = 0; i < b->count; i++) {
        double product = 1;
        for (size_t f = 0; f < b->functions; f++, corner += 2)
            product *= part[f * b->levels + corner[0]] - part[f * b->levels + corner[1]];
        sum += product;
    }
    return sum;
}

double lth__boxes_log_sum(const lth__boxes *b, const double *log_part) {
    double highest = -INFINITY, sum = 0; /* sum of exp(x - highest) */
    const uint32_t *corner = b->corner;
    for (size_t i = 0; i < b->count; i++) {
        double x = 0;
        for (size_t f = 0; f < b->functions; f++, corner += 2) {
            double low = log_part[f * b->levels + corner[0]];
            x += low + log1p(-exp(log_part[f * b->levels + corner[1]] - low));
        }
        if (!(x > -INFINITY)) continue;
        sum = x > highest ? sum * exp(highest - x) + 1 : sum + exp(x - highest);
        if (x > highest) highest = x;
    }
    return highest + log(sum);
}

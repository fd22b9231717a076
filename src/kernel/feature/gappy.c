/* gappy(column, g, k): the (g,k)-gappy kernel (Leslie & Kuang 2004). A window of g units has each
 * tuple of k units that stand in it in this order, with gaps or without, once, however often it
 * stands there. With phi_t(x) the windows of x that have the tuple t,
 *
 *     K(x,y) = sum_t phi_t(x) phi_t(y)
 *
 * A tuple is found where it stands first: each of its units is the next one of its kind after the
 * one before it. There is one such place in a window, so nothing is found twice. A text costs
 * C(g,k) tuples for each of its units; a pair, the tuples of both.
 */
#include "data/units.h"
#include "kernel/feature/sparse.h"

enum { MOST = 12 };

/* ---- Tuples of windows ---- */

typedef struct search {
    size_t size; /* of a tuple */
    const lth__symbol *unit;
    size_t end; /* of the window */
    lth__symbol tuple[MOST];
    size_t place[MOST];
    lth__gappy_take *take;
    void *user;
} search;

static bool stands_between(const lth__symbol *unit, size_t from, size_t to, lth__symbol what) {
    for (size_t i = from; i < to; i++) {
        if (unit[i] == what) return true;
    }
    return false;
}

/* All tuples that go on from `from` with their unit number `depth`. */
static lth_status extend(search *s, size_t depth, size_t from, lth_error *err) {
    if (depth == s->size) return s->take(s->user, s->tuple, s->place, err);
    for (size_t i = from; i + (s->size - depth) <= s->end; i++) {
        if (stands_between(s->unit, from, i, s->unit[i])) continue;
        s->tuple[depth] = s->unit[i];
        s->place[depth] = i;
        LTH_TRY(extend(s, depth + 1, i + 1, err));
    }
    return LTH_OK;
}

lth_status lth__gappy_tuples(const lth__sparse_config *c, const lth__symbol *unit, size_t length,
                             lth__gappy_take *take, void *user, lth_error *err) {
    search s = {.size = c->to, .unit = unit, .take = take, .user = user};
    for (size_t first = 0; first + c->window <= length; first++) {
        s.end = first + c->window;
        LTH_TRY(extend(&s, 0, first, err));
    }
    return LTH_OK;
}

/* ---- The family ---- */

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    lth__sparse_config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    long g, k;
    LTH_TRY(lth__node_integer(node, "g", 1, MOST, 6, &g, err));
    LTH_TRY(lth__node_integer(node, "k", 1, g, g < 4 ? g : 4, &k, err));
    *c = (lth__sparse_config){
        .from = (size_t)k, .to = (size_t)k, .window = (size_t)g, .folds = true};
    return lth__sparse_configure(kernel, node, c, LTH__CHARS, err);
}

static const lth_argument arguments[] = {
    {.name = "g", .help = "units of a window", .initial = "6", .choices = "1..12"},
    {.name = "k",
     .help = "units of it that a tuple has, in their order",
     .initial = "4",
     .choices = "1..g"},
    LTH__UNITS_ARGUMENT("chars"),
    {.name = "lower",
     .help = "whether lower case is the same as upper",
     .initial = "yes",
     .choices = "no|yes"},
    LTH__MIN_COUNT_ARGUMENT,
    LTH__WEIGHTING_ARGUMENT,
    {0}};

const lth__family lth__family_gappy = {
    .manual = {.name = "gappy",
               .help = "gappy kernel, a feature map: k units of every window of g, with gaps",
               .usage = "gappy(COLUMN, g=6, k=4), as in normalize(gappy(sequence))",
               .arguments = arguments,
               .kind = LTH_FAMILY_MAP},
    .traits = LTH__TAKES_COLUMN,
    .configure = configure,
    .encode = lth__sparse_encode,
    .learns = lth__sparse_learns,
    .features_to_units = lth__sparse_features_to_units,
    .feature_units = lth__sparse_feature_units,
    LTH__SPARSE_FUNCTIONS,
};

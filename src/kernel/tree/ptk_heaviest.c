/* The small fragments of a partial tree kernel that weigh most: a node by itself, and a node with
 * one or two of its children, by equal labels.
 *
 *     lambda = decay gap^2, decay (decay gap^2), decay (decay gap^2)^2
 *     n_f(a) = how often a has it; two children that are d apart count gap^(d - 1)
 *     weight of f = lambda_f sum_c W_c n_f(c)        (times n_f of the row, if there is one)
 */
#include <math.h>
#include <string.h>

#include "kernel/tree/heaviest.h"
#include "kernel/tree/tree_field.h"

enum { DECAY, GAP }; /* parameters */
enum { MOST = 3, MOST_FRAGMENTS = 2000000 };

typedef struct entry {
    double of_row, mass, most; /* most: of a column, without its sign */
    size_t columns, example, seen_in;
} entry;

typedef struct search {
    const lth__forest *forest;
    const lth__symbols *labels;
    double decay, gap;
    lth__symbols *fragments; /* by the labels of node and children */
    entry *entries;
    size_t capacity;
    lth_error *err;
} search;

/* What is done with a fragment that stands in a tree with this weight. */
typedef struct visit {
    bool adds; /* it may be new */
    size_t column;
    double W; /* of the column */
} visit;

static lth_status meet(search *s, const visit *v, const lth__symbol *label, size_t count,
                       double times) {
    size_t known = lth__symbols_count(s->fragments), bytes = count * sizeof *label;
    const char *text = (const char *)label;
    lth__symbol at = v->adds && known < MOST_FRAGMENTS
                         ? lth__symbols_intern(s->fragments, text, bytes)
                         : lth__symbols_find(s->fragments, text, bytes);
    if (at == LTH__NO_SYMBOL)
        return v->adds && known < MOST_FRAGMENTS ? lth__fail_memory(s->err, 0) : LTH_OK;
    if (!lth__reserve((void **)&s->entries, &s->capacity, (size_t)at + 1, sizeof *s->entries))
        return lth__fail_memory(s->err, 0);
    entry *e = &s->entries[at];
    if (at == known) *e = (entry){.example = LTH_NONE, .seen_in = LTH_NONE};
    if (v->column == LTH_NONE) {
        e->of_row += times;
        return LTH_OK;
    }
    e->mass += v->W * times;
    e->columns += e->seen_in != v->column;
    e->seen_in = v->column;
    if (fabs(v->W) * times > e->most || e->example == LTH_NONE) {
        e->most = fabs(v->W) * times;
        e->example = v->column;
    }
    return LTH_OK;
}

static lth_status visit_node(search *s, const visit *v, uint32_t subtree) {
    const lth__forest *f = s->forest;
    const uint32_t *children = lth__forest_children(f, subtree);
    size_t count = lth__forest_subtree(f, subtree)->children;
    lth__symbol label[MOST] = {lth__forest_subtree(f, subtree)->label};
    LTH_TRY(meet(s, v, label, 1, 1));
    for (size_t i = 0; i < count; i++) {
        label[1] = lth__forest_subtree(f, children[i])->label;
        LTH_TRY(meet(s, v, label, 2, 1));
        double times = 1;
        for (size_t j = i + 1; j < count && times > 1e-6; j++, times *= s->gap) {
            label[2] = lth__forest_subtree(f, children[j])->label;
            LTH_TRY(meet(s, v, label, 3, times));
        }
    }
    return LTH_OK;
}

static lth_status visit_tree(search *s, const visit *v, const lth__sequences *trees, size_t item) {
    const lth__symbol *nodes = lth__sequence_symbols(trees, item);
    for (size_t i = 0; i < lth__sequence_length(trees, item); i++)
        LTH_TRY(visit_node(s, v, nodes[i]));
    return LTH_OK;
}

static void read_labels(const search *s, size_t id, lth__symbol *label, size_t *count) {
    size_t bytes;
    const char *text = lth__symbols_text(s->fragments, (lth__symbol)id, &bytes);
    memcpy(label, text, bytes); /* it is not aligned */
    *count = bytes / sizeof *label;
}

static double weight_of(const search *s, size_t id, bool of_row) {
    lth__symbol label[MOST];
    size_t count;
    read_labels(s, id, label, &count);
    double node = s->decay * s->gap * s->gap, lambda = count == 1 ? node : s->decay;
    for (size_t i = 1; i < count; i++) lambda *= node;
    return lambda * s->entries[id].mass * (of_row ? s->entries[id].of_row : 1);
}

static lth_status tell(const search *s, const lth__heavy *found, lth__fragment_fn *take,
                       void *user) {
    lth__symbol label[MOST];
    size_t count;
    lth__string text = {0};
    read_labels(s, found->id, label, &count);
    if (count > 1) lth__string_append(&text, "(", 1);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) lth__string_append(&text, " ", 1);
        lth__tree_write_label(s->labels, label[i], &text);
    }
    if (count > 1) lth__string_append(&text, ")", 1);
    const entry *e = &s->entries[found->id];
    lth_status status = text.failed ? lth__fail_memory(s->err, 0)
                                    : take(user, text.bytes ? text.bytes : "", text.length,
                                           found->weight, e->columns, e->example, s->err);
    lth__string_free(&text);
    return status;
}

static lth_status run(search *s, const lth__node *node, const lth__eval *eval, const double *W,
                      bool of_row) {
    visit v = {.adds = true, .column = LTH_NONE};
    s->fragments = lth__symbols_create();
    if (!s->fragments) return lth__fail_memory(s->err, 0);
    if (of_row) LTH_TRY(visit_tree(s, &v, &eval->rows->fields[node->field], 0));
    for (size_t c = 0; c < eval->cols->count; c++) {
        v = (visit){.adds = !of_row, .column = c, .W = W[c]};
        if (W[c] != 0) LTH_TRY(visit_tree(s, &v, &eval->cols->fields[node->field], c));
    }
    return LTH_OK;
}

lth_status lth__ptk_fragments(const lth__node *node, const lth__eval *eval, const double *W,
                              bool of_row, size_t count, lth__fragment_fn *take, void *user,
                              lth_error *err) {
    const lth_encoder *encoder = eval->rows->encoder;
    search s = {.forest = lth__trees_of(encoder, node->field)->forest,
                .labels = encoder->lexicons[node->field].symbols,
                .decay = lth__node_value(node, eval, DECAY),
                .gap = lth__node_value(node, eval, GAP),
                .err = err};
    lth__heaviest best;
    lth_status status = lth__heaviest_create(count, &best, err);
    if (status == LTH_OK) status = run(&s, node, eval, W, of_row);
    for (size_t i = 0; status == LTH_OK && i < lth__symbols_count(s.fragments); i++)
        lth__heaviest_add(&best, weight_of(&s, i, of_row), i);
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < best.count[side] && status == LTH_OK; i++)
            status = tell(&s, &best.at[side][i], take, user);
    }
    lth__heaviest_free(&best);
    lth__symbols_free(s.fragments);
    lth__free(s.entries);
    return status;
}

/* Fields of trees: what is kept of them, in memory and in files, and as text again. */
#include "data/table.h"
#include "kernel/tree/tree_field.h"

static bool open(lth__lexicon *l) {
    lth__trees *t = l->own = lth__calloc(1, sizeof *t);
    if (!t) return false;
    const lth__trees *base = l->base ? l->base->own : NULL;
    t->words.tables = true; /* trees are compared by their subtrees */
    lth__words_open(&t->words, l);
    t->forest = lth__forest_extend(base ? base->forest : NULL);
    t->index = base ? base->index : NULL;
    t->known = base ? base->known : 0;
    return t->forest != NULL;
}

static void close(lth__lexicon *l) {
    lth__trees *t = l->own;
    lth__words_close(&t->words);
    if (l->lent) return;
    lth__forest_free(t->forest);
    lth__tree_index_free(t->own_index);
}

static bool lend(const lth__lexicon *from, lth__lexicon *to) {
    const lth__trees *lender = from->own;
    lth__trees *t = to->own = lth__alloc(1, sizeof *t);
    if (t) *t = *lender;
    return t && lth__words_lend(&lender->words, from->known, &t->words);
}

static lth_status encode(lth__lexicon *l, const lth_table *table, bool first, lth__sequences *out,
                         lth_error *err) {
    (void)first;
    lth__trees *t = l->own;
    size_t column;
    LTH_TRY(lth__table_column_at(table, l->def->column, &column, err));
    return lth__tree_field_encode(l->def, table, column, l->symbols, t->forest, out, err);
}

/* The index of a forest that has grown is made anew, but not that of its base. */
static lth_status make_index(const lth__lexicon *l, lth_error *err) {
    lth__trees *t = l->own;
    const lth__trees *base = l->base ? l->base->own : NULL;
    if (t->index && t->index->subtrees == t->forest->count) return LTH_OK;
    lth__tree_index *index = NULL;
    LTH_TRY(lth__tree_index_create(t->forest, base ? base->index : NULL, &index, err));
    lth__tree_index_free(t->own_index);
    t->index = t->own_index = index;
    return LTH_OK;
}

static lth_status finish(lth__lexicon *l, const lth__sequences *s, bool first, const lth_ctx *ctx,
                         lth_error *err) {
    (void)s, (void)ctx;
    lth__trees *t = l->own;
    LTH_TRY(make_index(l, err));
    if (first) t->known = t->forest->count;
    return LTH_OK;
}

/* Labels of leaves, and where a kernel compares these too, of all nodes. */
static bool words(const lth__lexicon *l, const lth__sequences *s, lth__word_fn *take, void *user) {
    const lth__trees *t = l->own;
    bool ok = true;
    for (size_t k = s->start[0]; ok && k < s->start[s->count]; k++) {
        const lth__subtree *node = lth__forest_subtree(t->forest, s->symbols[k]);
        if (node->children == 0 || l->def->vectors_inside)
            ok = take(user, node->label, lth__words_vector(&t->words, node->label) != NULL);
    }
    return ok;
}

/* ---- In a file ---- */

/* The subtrees of the training trees: labels, and children one list after another. */
static void save_forest(const lth__trees *t, const lth__field_saver *to) {
    size_t count = t->known, children = 0;
    uint32_t *labels = to->keep(to->user, lth__alloc(count + 1, sizeof *labels));
    uint64_t *ends = to->keep(to->user, lth__alloc(count + 1, sizeof *ends));
    for (size_t u = 0; labels && ends && u < count; u++) {
        const lth__subtree *s = lth__forest_subtree(t->forest, (uint32_t)u);
        labels[u] = s->label;
        ends[u] = children += s->children;
    }
    to->put(to->user, "tree_labels", LTH__U32, count, 0, labels);
    to->put(to->user, "tree_child_ends", LTH__U64, count, 0, ends);
    const uint32_t none = 0;
    to->put(to->user, "tree_children", LTH__U32, children, 0,
            children > 0 ? t->forest->children : &none);
}

static void save(const lth__lexicon *l, const lth__sequences *s, const lth__field_saver *to) {
    lth__symbols_save(l, to);
    save_forest(l->own, to);
    lth__sequences_save(s, to);
    lth__words_save(l, to);
}

/* Subtrees must come after their children, have labels that there are, and be all different. */
static lth_status load_forest(const lth__field_loader *from, size_t vocabulary, lth__forest *f) {
    const lth__tensor *labels, *ends, *children;
    LTH_TRY(from->get(from->user, "tree_labels", LTH__U32, 1, LTH_NONE, 0, &labels));
    size_t count = labels->shape[0];
    LTH_TRY(from->get(from->user, "tree_child_ends", LTH__U64, 1, count, 0, &ends));
    LTH_TRY(from->get(from->user, "tree_children", LTH__U32, 1, LTH_NONE, 0, &children));
    const uint32_t *label = labels->data, *child = children->data;
    const uint64_t *end = ends->data;
    uint64_t at = 0;
    for (size_t u = 0; u < count; u++) {
        if (label[u] >= vocabulary || end[u] < at || end[u] > children->shape[0])
            return from->damaged(from->user, "its trees");
        for (uint64_t k = at; k < end[u]; k++) {
            if (child[k] >= u) return from->damaged(from->user, "a tree that is part of itself");
        }
        uint32_t subtree = lth__forest_intern(f, label[u], child + at, (size_t)(end[u] - at));
        if (subtree == LTH__NO_SUBTREE) return lth__fail_memory(from->err, 0);
        if (subtree != u) return from->damaged(from->user, "it has a tree twice");
        at = end[u];
    }
    return at == children->shape[0] ? LTH_OK : from->damaged(from->user, "its trees");
}

/* Each row must be one whole tree. */
static lth_status load(lth__lexicon *l, const lth__field_loader *from, lth__sequences *out) {
    lth__trees *t = l->own;
    LTH_TRY(lth__symbols_load(l, from));
    LTH_TRY(load_forest(from, lth__symbols_count(l->symbols), t->forest));
    LTH_TRY(lth__sequences_load(from, t->forest->count, out));
    for (size_t i = 0; i < out->count; i++) {
        bool is_tree;
        LTH_TRY(lth__forest_check(t->forest, lth__sequence_symbols(out, i),
                                  lth__sequence_length(out, i), &is_tree, from->err));
        if (!is_tree) return from->damaged(from->user, "its training trees");
    }
    LTH_TRY(lth__words_load(l, from));
    return t->words.contextual ? from->damaged(from->user, "its column of vectors") : LTH_OK;
}

/* ---- Parts ---- */

/* Nodes come in post-order; order[i] is the place of node i when parents come before their
 * children, and depth[i] how far it is from the root. */
static void order_nodes(const lth__tree *tree, size_t *size, size_t *order, size_t *depth) {
    for (size_t i = 0; i < tree->count; i++) {
        size[i] = 1;
        for (uint32_t k = 0; k < tree->nodes[i].children; k++) size[i] += size[i - size[i]];
    }
    if (tree->count > 0) order[tree->count - 1] = depth[tree->count - 1] = 0;
    for (size_t i = tree->count; i-- > 0;) {
        size_t end = order[i] + size[i], child = i - 1;
        for (uint32_t k = 0; k < tree->nodes[i].children; k++, child -= size[child]) {
            end -= size[child];
            order[child] = end;
            depth[child] = depth[i] + 1;
        }
    }
}

static lth_status take_nodes(const lth__trees *t, const lth__sequences *s, const lth__tree *tree,
                             const lth__symbols *labels, lth__part_fn *take, void *user,
                             lth_error *err) {
    size_t count = tree->count;
    size_t *order = lth__alloc(4 * count, sizeof *order), *node = order + count;
    size_t *depth = node + count;
    if (!order) return lth__fail_memory(err, 4 * count * sizeof *order);
    order_nodes(tree, depth + count, order, depth);
    for (size_t i = 0; i < count; i++) node[order[i]] = i;
    lth_status status = LTH_OK;
    for (size_t i = 0; i < count && status == LTH_OK; i++) {
        const lth__tree_node *n = &tree->nodes[node[i]];
        uint32_t subtree = lth__sequence_symbols(s, 0)[node[i]];
        uint32_t production = lth__forest_subtree(t->forest, subtree)->production;
        lth__part part = {.at = node[i],
                          .first = n->length > 0 ? n->first : LTH_NONE,
                          .length = n->length,
                          .depth = depth[node[i]],
                          .seen =
                              lth__forest_production(t->forest, production)->example < t->known};
        part.text = lth__symbols_text(labels, n->label, &part.size);
        status = take(user, &part, err);
    }
    lth__free(order);
    return status;
}

/* The cell is read again, as it is: the items have no places, and their leaves may be lower-cased.
 */
static lth_status parts(const lth__lexicon *l, const lth__sequences *s, const lth_table *table,
                        lth__part_fn *take, void *user, lth_error *err) {
    size_t length;
    const char *cell = lth_table_cell(table, 0, lth_table_find(table, l->def->column), &length);
    lth__symbols *labels = lth__symbols_create();
    lth__tree tree = {0};
    lth_status status = labels ? lth__tree_read(cell, length, (lth__tree_format)l->def->format,
                                                l->def->strip, labels, &tree, err)
                               : lth__fail_memory(err, 0);
    if (status == LTH_OK) status = take_nodes(l->own, s, &tree, labels, take, user, err);
    lth__symbols_free(labels);
    lth__tree_free(&tree);
    return status;
}

/* ---- As text again ---- */

/* Brackets that are open, with how many children are still to come. A stack of its own: trees may
 * be deep. */
typedef struct bracket {
    uint32_t subtree, next;
} bracket;

static void write_tree(const lth__forest *f, const lth__symbols *labels, uint32_t root,
                       lth__string *out) {
    bracket *stack = NULL;
    size_t depth = 0, capacity = 0;
    for (uint32_t subtree = root;;) {
        if (!lth__forest_is_leaf(f, subtree)) {
            if (!lth__reserve((void **)&stack, &capacity, depth + 1, sizeof *stack)) {
                out->failed = true;
                break;
            }
            stack[depth++] = (bracket){.subtree = subtree};
            lth__string_append(out, "(", 1);
        }
        lth__tree_write_label(labels, lth__forest_subtree(f, subtree)->label, out);
        for (; depth > 0; depth--) {
            const bracket *top = &stack[depth - 1];
            if (top->next < lth__forest_subtree(f, top->subtree)->children) break;
            lth__string_append(out, ")", 1);
        }
        if (depth == 0) break;
        bracket *top = &stack[depth - 1];
        lth__string_append(out, " ", 1);
        subtree = lth__forest_children(f, top->subtree)[top->next++];
    }
    lth__free(stack);
}

static void write(const lth__lexicon *l, const lth__sequences *s, size_t item, lth__string *out) {
    const lth__trees *t = l->own;
    if (lth__sequence_length(s, item) > 0)
        write_tree(t->forest, l->symbols, s->symbols[s->start[item + 1] - 1], out);
}

const lth__field_type lth__field_tree = {
    .kind = LTH_COLUMN_TREE,
    .open = open,
    .close = close,
    .lend = lend,
    .encode = encode,
    .finish = finish,
    .read_vectors = lth__words_read_vectors,
    .words = words,
    .pick = lth__sequences_pick,
    .save = save,
    .load = load,
    .part_count = lth__sequence_length,
    .parts = parts,
    .write = write,
};

/* The forest: hash tables over subtrees and productions. A tree is taken in with a stack of the
 * subtrees that still wait for their parent, so that no depth is too deep. */
#include "data/forest.h"

#include <string.h>

enum { FIRST_SLOTS = 64 };

static uint64_t mix(uint64_t hash, uint64_t word) {
    unsigned __int128 product = (unsigned __int128)(hash ^ word) * 0x9e3779b97f4a7c15u;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* ---- Tables ---- */

static bool create_table(lth__forest_table *t) {
    t->slot_count = FIRST_SLOTS;
    t->slots = lth__alloc(t->slot_count, sizeof *t->slots);
    if (t->slots) memset(t->slots, 0xff, t->slot_count * sizeof *t->slots);
    return t->slots != NULL;
}

/* Make room for one more than `used`, so that at most half of the slots are taken. */
static bool make_room(lth__forest_table *t, size_t used, const lth__forest *f,
                      uint64_t (*hash)(const lth__forest *, uint32_t)) {
    if (2 * (used + 1) <= t->slot_count) return true;
    size_t count = 2 * t->slot_count, mask = count - 1;
    uint32_t *slots = lth__alloc(count, sizeof *slots);
    if (!slots) return false;
    memset(slots, 0xff, count * sizeof *slots);
    for (size_t old = 0; old < t->slot_count; old++) {
        if (t->slots[old] == LTH__NO_SUBTREE) continue;
        size_t i = hash(f, t->slots[old]) & mask;
        while (slots[i] != LTH__NO_SUBTREE) i = (i + 1) & mask;
        slots[i] = t->slots[old];
    }
    lth__free(t->slots);
    *t = (lth__forest_table){slots, count};
    return true;
}

/* ---- The forest ---- */

lth__forest *lth__forest_create(void) {
    return lth__forest_extend(NULL);
}

lth__forest *lth__forest_extend(const lth__forest *base) {
    lth__forest *f = lth__calloc(1, sizeof *f);
    if (!f) return NULL;
    if (base) {
        f->base = base;
        f->count = f->first = base->count;
        f->production_count = f->first_production = base->production_count;
    }
    if (create_table(&f->by_content) && create_table(&f->by_production)) return f;
    lth__forest_free(f);
    return NULL;
}

void lth__forest_free(lth__forest *f) {
    if (!f) return;
    lth__free(f->subtrees);
    lth__free(f->children);
    lth__free(f->productions);
    lth__free(f->by_content.slots);
    lth__free(f->by_production.slots);
    lth__free(f->stack);
    lth__free(f);
}

/* ---- Productions ---- */

/* What a production says of a child. */
static uint64_t child_sign(const lth__forest *f, uint32_t child) {
    const lth__subtree *s = lth__forest_subtree(f, child);
    return (uint64_t)s->label << 1 | (s->children == 0);
}

static uint64_t hash_signs(const lth__forest *f, lth__symbol label, const uint32_t *children,
                           size_t count) {
    uint64_t hash = mix(count, label);
    for (size_t i = 0; i < count; i++) hash = mix(hash, child_sign(f, children[i]));
    return mix(hash, count);
}

static uint64_t hash_production(const lth__forest *f, uint32_t production) {
    uint32_t u = lth__forest_production(f, production)->example;
    const lth__subtree *s = lth__forest_subtree(f, u);
    return hash_signs(f, s->label, lth__forest_children(f, u), s->children);
}

static bool has_signs(const lth__forest *f, uint32_t production, lth__symbol label,
                      const uint32_t *children, size_t count) {
    const lth__production *p = lth__forest_production(f, production);
    if (p->label != label || p->children != count) return false;
    const uint32_t *other = lth__forest_children(f, p->example);
    for (size_t i = 0; i < count; i++) {
        if (child_sign(f, children[i]) != child_sign(f, other[i])) return false;
    }
    return true;
}

typedef bool has_fn(const lth__forest *f, uint32_t number, lth__symbol label,
                    const uint32_t *children, size_t count);

/* The slot of the one that has all this, or the empty one where it belongs. */
static uint32_t *probe(const lth__forest *f, const lth__forest_table *t, uint64_t hash, has_fn *has,
                       lth__symbol label, const uint32_t *children, size_t count) {
    size_t mask = t->slot_count - 1, i = hash & mask;
    while (t->slots[i] != LTH__NO_SUBTREE && !has(f, t->slots[i], label, children, count))
        i = (i + 1) & mask;
    return &t->slots[i];
}

/* The production of subtree `next`, which is about to be added; LTH__NO_SUBTREE = out of memory. */
static uint32_t find_production(lth__forest *f, uint32_t next, lth__symbol label,
                                const uint32_t *children, size_t count) {
    uint64_t hash = hash_signs(f, label, children, count);
    if (f->base) {
        uint32_t p = *probe(f, &f->base->by_production, hash, has_signs, label, children, count);
        if (p != LTH__NO_SUBTREE) return p;
    }
    size_t own = f->production_count - f->first_production;
    if (!make_room(&f->by_production, own, f, hash_production)) return LTH__NO_SUBTREE;
    uint32_t *slot = probe(f, &f->by_production, hash, has_signs, label, children, count);
    if (*slot != LTH__NO_SUBTREE) return *slot;
    if (!lth__reserve((void **)&f->productions, &f->production_capacity, own + 1,
                      sizeof *f->productions))
        return LTH__NO_SUBTREE;
    lth__production p = {.label = label, .children = (uint32_t)count, .example = next};
    for (size_t k = 0; k < count; k++) p.inner += !lth__forest_is_leaf(f, children[k]);
    f->productions[own] = p;
    return *slot = (uint32_t)f->production_count++;
}

/* ---- Subtrees ---- */

static uint64_t hash_content(lth__symbol label, const uint32_t *children, size_t count) {
    uint64_t hash = mix(count, label);
    for (size_t i = 0; i < count; i++) hash = mix(hash, children[i]);
    return mix(hash, count);
}

static uint64_t hash_subtree(const lth__forest *f, uint32_t u) {
    const lth__subtree *s = lth__forest_subtree(f, u);
    return hash_content(s->label, lth__forest_children(f, u), s->children);
}

static bool has_content(const lth__forest *f, uint32_t u, lth__symbol label,
                        const uint32_t *children, size_t count) {
    const lth__subtree *s = lth__forest_subtree(f, u);
    return s->label == label && s->children == count &&
           (count == 0 ||
            memcmp(lth__forest_children(f, u), children, count * sizeof *children) == 0);
}

static bool add_subtree(lth__forest *f, lth__symbol label, const uint32_t *children, size_t count) {
    size_t own = f->count - f->first;
    if (!lth__reserve((void **)&f->subtrees, &f->capacity, own + 1, sizeof *f->subtrees) ||
        !lth__reserve((void **)&f->children, &f->child_capacity, f->child_count + count + 1,
                      sizeof *f->children))
        return false;
    uint32_t production = find_production(f, (uint32_t)f->count, label, children, count);
    if (production == LTH__NO_SUBTREE) return false;
    if (count > 0) memcpy(f->children + f->child_count, children, count * sizeof *children);
    f->subtrees[own] = (lth__subtree){.label = label,
                                      .production = production,
                                      .children = (uint32_t)count,
                                      .first = f->child_count};
    f->count++;
    f->child_count += count;
    return true;
}

uint32_t lth__forest_intern(lth__forest *f, lth__symbol label, const uint32_t *children,
                            size_t count) {
    uint64_t hash = hash_content(label, children, count);
    if (f->base) {
        uint32_t u = *probe(f, &f->base->by_content, hash, has_content, label, children, count);
        if (u != LTH__NO_SUBTREE) return u;
    }
    if (f->count >= LTH__NO_SUBTREE - 1 ||
        !make_room(&f->by_content, f->count - f->first, f, hash_subtree))
        return LTH__NO_SUBTREE;
    uint32_t *slot = probe(f, &f->by_content, hash, has_content, label, children, count);
    if (*slot != LTH__NO_SUBTREE) return *slot;
    if (!add_subtree(f, label, children, count)) return LTH__NO_SUBTREE;
    return *slot = (uint32_t)f->count - 1;
}

/* ---- Trees ---- */

static bool reserve_stack(lth__forest *f, size_t count) {
    return lth__reserve((void **)&f->stack, &f->stack_capacity, count + 1, sizeof *f->stack);
}

lth_status lth__forest_add(lth__forest *f, const lth__tree *tree, uint32_t *out, lth_error *err) {
    if (!reserve_stack(f, tree->count))
        return lth__fail_memory(err, tree->count * sizeof *f->stack);
    size_t waiting = 0;
    for (size_t i = 0; i < tree->count; i++) {
        const lth__tree_node *node = &tree->nodes[i];
        waiting -= node->children;
        out[i] = lth__forest_intern(f, node->label, f->stack + waiting, node->children);
        if (out[i] == LTH__NO_SUBTREE) return lth__fail_memory(err, 0);
        f->stack[waiting++] = out[i];
    }
    return LTH_OK;
}

lth_status lth__forest_check(lth__forest *f, const uint32_t *nodes, size_t count, bool *is_tree,
                             lth_error *err) {
    if (!reserve_stack(f, count)) return lth__fail_memory(err, count * sizeof *f->stack);
    size_t waiting = 0;
    *is_tree = false;
    for (size_t i = 0; i < count; i++) {
        if (nodes[i] >= f->count) return LTH_OK;
        size_t children = lth__forest_subtree(f, nodes[i])->children;
        if (children > waiting) return LTH_OK;
        waiting -= children;
        const uint32_t *own = lth__forest_children(f, nodes[i]);
        if (children > 0 && memcmp(f->stack + waiting, own, children * sizeof *own) != 0)
            return LTH_OK;
        f->stack[waiting++] = nodes[i];
    }
    *is_tree = waiting == (count > 0);
    return LTH_OK;
}

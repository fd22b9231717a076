/* Subset tree kernels on a device. */
#include "kernel/device/device_eval.h"
#include "kernel/tree/tree_match.h"

/* Pairs of subtrees with the same production, which the device keeps all at once. */
static const double most_pairs = 1e9;

bool lth__tree_device_able(const lth__node *node, const lth__eval *eval) {
    const lth__tree_plan *plan = eval->state[node->index];
    double pairs = 0;
    for (size_t p = 0; p < plan->forest->production_count; p++) {
        double members = (double)lth__tree_index_members(plan->index, (uint32_t)p);
        pairs += members * members;
    }
    return pairs <= most_pairs;
}

static lth__device_bags bags_of(const lth__tree_side *side, size_t count) {
    return (lth__device_bags){.count = count,
                              .start = side->bags->start,
                              .feature = side->bags->feature,
                              .weight = side->bags->weight};
}

/* Productions and inner children of every subtree, in arrays of their own. */
static void list_children(const lth__forest *forest, uint32_t *production, size_t *first,
                          uint32_t *child) {
    size_t used = 0;
    for (size_t s = 0; s < forest->count; s++) {
        const uint32_t *children = lth__forest_children(forest, (uint32_t)s);
        production[s] = lth__forest_subtree(forest, s)->production;
        first[s] = used;
        for (size_t k = 0; k < lth__forest_subtree(forest, s)->children; k++)
            if (!lth__forest_is_leaf(forest, children[k])) child[used++] = children[k];
    }
    first[forest->count] = used;
}

static lth_status find_trees(const lth__node *node, lth__device_eval *e,
                             const lth__device_trees **out, lth_error *err) {
    lth__device_part *part = &e->nodes[node->index];
    const lth__tree_plan *plan = e->eval->state[node->index];
    const lth__forest *forest = plan->forest;
    *out = part->trees;
    if (part->trees) return LTH_OK;
    uint32_t *production =
        lth__alloc(forest->count + lth__forest_child_count(forest), sizeof *production);
    size_t *first = lth__alloc(forest->count + 1, sizeof *first);
    lth_status status = production && first ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK) {
        uint32_t *child = production + forest->count;
        list_children(forest, production, first, child);
        lth__device_forest def = {.subtrees = forest->count,
                                  .productions = forest->production_count,
                                  .production = production,
                                  .first_child = first,
                                  .child = child,
                                  .rows = bags_of(&plan->rows, e->eval->rows->count),
                                  .cols = bags_of(&plan->cols, e->eval->cols->count)};
        status = e->t->trees(e->d, &def, &part->trees, err);
    }
    lth__free(production);
    lth__free(first);
    *out = part->trees;
    return status;
}

static lth_status make_job(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                           lth__device_sstk *job, lth_error *err) {
    const lth__tree_plan *plan = e->eval->state[node->index];
    *job = (lth__device_sstk){.decay = plan->decay,
                              .alpha = plan->alpha,
                              .owner = plan->owner,
                              .panel = *panel,
                              .ld = panel->cols};
    return find_trees(node, e, &job->trees, err);
}

lth_status lth__tree_device_tile(const lth__node *node, lth__device_eval *e,
                                 const lth__panel *panel, double *K, lth_error *err) {
    lth__device_sstk job;
    LTH_TRY(make_job(node, e, panel, &job, err));
    job.K = K;
    return e->t->sstk(e->d, &job, err);
}

lth_status lth__tree_device_pull(const lth__node *node, lth__device_eval *e,
                                 const lth__panel *panel, double *W, double *K, size_t owners,
                                 lth__tree_gradient gradient, lth_error *err) {
    lth__device_sstk job;
    LTH_TRY(make_job(node, e, panel, &job, err));
    double *sums = lth__alloc(2 * owners, sizeof *sums);
    if (!sums) return lth__fail_memory(err, 2 * owners * sizeof *sums);
    job.W = W;
    job.K = K;
    job.owners = owners;
    job.decay_sums = sums;
    job.alpha_sums = sums + owners;
    lth_status status = e->t->sstk(e->d, &job, err);
    for (size_t i = 0; i < owners && status == LTH_OK; i++) {
        gradient.decay[i] += job.decay_sums[i];
        if (gradient.alpha) gradient.alpha[i] += job.alpha_sums[i];
    }
    lth__free(sums);
    return status;
}

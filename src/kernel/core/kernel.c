/* From syntax tree to kernel: families are found, arguments checked, parameters and fields
 * declared. */
#include "kernel/core/kernel.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "kernel/core/field.h"

static lth_status fail_here(lth_error *err, size_t column, const char *message) {
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, column, "%s", message);
}

/* ---- Arguments ---- */

const lth_argument *lth__manual_argument(const lth__family *family, const char *name) {
    for (const lth_argument *a = family->manual.arguments; a && a->name; a++) {
        if (strcmp(a->name, name) == 0) return a;
    }
    return NULL;
}

const lth__argument *lth__node_argument(const lth__node *node, const char *name) {
    for (size_t i = 0; i < node->expr->argument_count; i++) {
        if (strcmp(node->expr->arguments[i].name, name) == 0) return &node->expr->arguments[i];
    }
    return NULL;
}

/* The i-th of "a|b|c", cut out of its text. */
static bool choice_at(const char *choices, size_t i, const char **start, size_t *length) {
    for (;; i--) {
        *length = strcspn(choices, "|");
        *start = choices;
        if (i == 0) return *length > 0;
        if (!choices[*length]) return false;
        choices += *length + 1;
    }
}

lth_status lth__node_choice(const lth__node *node, const char *name, int standard, int *out,
                            lth_error *err) {
    const lth__argument *a = lth__node_argument(node, name);
    *out = standard;
    if (!a) return LTH_OK;
    const char *choices = lth__manual_argument(node->family, name)->choices, *start;
    const char *word = a->value.kind == LTH__VALUE_WORD ? a->value.word : "";
    size_t length;
    for (int i = 0; choice_at(choices, (size_t)i, &start, &length); i++) {
        if (strlen(word) == length && memcmp(word, start, length) == 0) {
            *out = i;
            return LTH_OK;
        }
    }
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, a->value.column, "%s of %s is one of %s", name,
                        node->family->manual.name, choices);
}

lth_status lth__node_integer(const lth__node *node, const char *name, long lo, long hi,
                             long standard, long *out, lth_error *err) {
    const lth__argument *a = lth__node_argument(node, name);
    *out = standard;
    if (!a) return LTH_OK;
    double x = a->value.number;
    bool plain = a->value.kind == LTH__VALUE_NUMBER && a->value.given && !a->value.tag;
    if (!plain || x != floor(x) || x < (double)lo || x > (double)hi) {
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, a->value.column,
                            "%s of %s is a whole number from %ld to %ld", name,
                            node->family->manual.name, lo, hi);
    }
    *out = (long)x;
    return LTH_OK;
}

lth_status lth__node_constant(const lth__node *node, const char *name, double standard, double *out,
                              lth_error *err) {
    *out = standard;
    for (size_t i = 0; i < node->expr->argument_count; i++) {
        lth__value *v = &node->expr->arguments[i].value;
        if (strcmp(node->expr->arguments[i].name, name) != 0) continue;
        if (v->kind != LTH__VALUE_NUMBER || !v->given || v->tag || !(v->number > 0)) {
            return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column,
                                "%s of %s is a number above 0, such as 0.5", name,
                                node->family->manual.name);
        }
        v->constant = true;
        *out = v->number;
    }
    return LTH_OK;
}

static const char *argument_name_at(const void *arguments, size_t i) {
    return ((const lth_argument *)arguments)[i].name;
}

/* Every argument must be one that the family knows. */
static lth_status check_arguments(const lth__node *node, lth_error *err) {
    for (size_t i = 0; i < node->expr->argument_count; i++) {
        const lth__argument *a = &node->expr->arguments[i];
        const lth_family *manual = &node->family->manual;
        if (manual->arguments && lth__manual_argument(node->family, a->name)) continue;
        const char *near =
            manual->arguments ? lth_nearest(a->name, argument_name_at, manual->arguments) : NULL;
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, a->column,
                            near ? "%s has no argument \"%s\"; did you mean \"%s\"?"
                                 : "%s has no argument \"%s\"; see luthier kernels %s",
                            manual->name, a->name, near ? near : manual->name);
    }
    return LTH_OK;
}

/* ---- Fields ---- */

static bool has_same_names(lth__names a, lth__names b) {
    bool same = a.count == b.count;
    for (size_t i = 0; same && i < a.count; i++) same = strcmp(a.name[i], b.name[i]) == 0;
    return same;
}

static bool has_same_wild(const lth__field_def *a, const lth__field_def *b) {
    const char *x = a->wild.sequence, *y = b->wild.sequence;
    if (!x || !y) return !x && !y;
    return strcmp(x, y) == 0 && a->wild.first == b->wild.first &&
           a->wild.aligned == b->wild.aligned;
}

lth_status lth__kernel_field(lth_kernel *kernel, const lth__field_def *def, size_t *out,
                             lth_error *err) {
    for (size_t i = 0; i < kernel->field_count; i++) {
        lth__field_def *f = &kernel->fields[i];
        if (strcmp(f->column, def->column) == 0 && f->type == def->type && f->units == def->units &&
            f->format == def->format && f->strip == def->strip && f->lower == def->lower &&
            f->parts == def->parts && has_same_names(f->tasks, def->tasks) &&
            has_same_wild(f, def)) {
            f->vectors |= def->vectors;
            f->exact |= !def->vectors;
            *out = i;
            return LTH_OK;
        }
    }
    if (!lth__reserve((void **)&kernel->fields, &kernel->field_capacity, kernel->field_count + 1,
                      sizeof *kernel->fields))
        return lth__fail_memory(err, 0);
    kernel->fields[kernel->field_count] = *def;
    kernel->fields[kernel->field_count].exact = !def->vectors;
    *out = kernel->field_count++;
    return LTH_OK;
}

/* ---- Nodes ---- */

static lth_status build(lth_kernel *kernel, const lth__expr *expr, const lth__node *outer,
                        lth__node **out, lth_error *err);

/* "ssk", and "ssk2" for the second of that name. */
static lth_status name_node(lth_kernel *kernel, lth__node *node, lth_error *err) {
    size_t number = 1;
    for (size_t i = 0; i < kernel->node_count; i++) {
        const char *other = kernel->nodes[i]->path_name;
        if (other && strcmp(other, node->path_name) == 0) number++;
    }
    lth__string path = {0};
    lth__string_format(&path, "%s", node->path_name);
    if (number > 1) lth__string_format(&path, "%zu", number);
    node->path = path.failed ? NULL : lth__pool_strndup(&kernel->pool, path.bytes, path.length);
    lth__string_free(&path);
    return node->path ? LTH_OK : lth__fail_memory(err, 0);
}

static lth_status new_node(lth_kernel *kernel, const lth__expr *expr, const lth__family *family,
                           const char *path_name, const lth__node *outer, lth__node **out,
                           lth_error *err) {
    enum { MOST_NODES = 4096 }; /* a name is compared with those of all before it */
    if (kernel->node_count == MOST_NODES)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, expr->column,
                            "an expression has at most %d kernels, sums and products", MOST_NODES);
    lth__node *node = lth__pool_alloc(&kernel->pool, sizeof *node);
    bool room = lth__reserve((void **)&kernel->nodes, &kernel->node_capacity,
                             kernel->node_count + 1, sizeof *kernel->nodes);
    if (!node || !room) return lth__fail_memory(err, sizeof *node);
    *node = (lth__node){.family = family,
                        .expr = expr,
                        .path_name = path_name,
                        .index = kernel->node_count,
                        .outer = outer,
                        .first_param = kernel->param_count,
                        .field = LTH_NONE};
    if (path_name) LTH_TRY(name_node(kernel, node, err));
    kernel->nodes[kernel->node_count++] = node;
    *out = node;
    return LTH_OK;
}

/* Number columns in the place of a kernel, as in rbf(f1..f17). */
static lth_status build_columns(lth_kernel *kernel, const lth__expr *expr, const lth__node *wrapper,
                                lth__node **out, lth_error *err) {
    LTH_TRY(new_node(kernel, expr, &lth__family_columns, NULL, wrapper, out, err));
    LTH_TRY(lth__columns_configure(kernel, *out, err));
    (*out)->params_end = kernel->param_count;
    return LTH_OK;
}

/* The kernels among the inputs become nodes of their own. */
static lth_status build_inputs(lth_kernel *kernel, lth__node *node, lth_error *err) {
    const lth__expr *expr = node->expr;
    node->inputs = lth__pool_alloc(&kernel->pool, (expr->input_count + 1) * sizeof *node->inputs);
    if (!node->inputs) return lth__fail_memory(err, 0);
    for (size_t i = 0; i < expr->input_count; i++) {
        const lth__expr *input = expr->inputs[i];
        lth__node **out = &node->inputs[node->input_count];
        bool column = input->kind == LTH__EXPR_COLUMN;
        if (column && !(node->family->traits & LTH__TAKES_KERNEL)) continue;
        if (column)
            LTH_TRY(build_columns(kernel, input, node, out, err));
        else
            LTH_TRY(build(kernel, input, node, out, err));
        node->input_count++;
    }
    return LTH_OK;
}

static lth_status check_inputs(const lth__node *node, lth_error *err) {
    const lth__expr *expr = node->expr;
    const lth_family *manual = &node->family->manual;
    bool columns = node->family->traits & LTH__TAKES_COLUMN;
    bool kernels = node->family->traits & LTH__TAKES_KERNEL;
    const char *wanted = columns && kernels ? "a column or a kernel"
                         : columns          ? "a column"
                                            : "a kernel";
    if (expr->input_count == 0) {
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, expr->column, "%s needs %s: %s",
                            manual->name, wanted, manual->usage);
    }
    bool is_column = expr->inputs[0]->kind == LTH__EXPR_COLUMN;
    if (is_column ? !columns : !kernels) {
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, expr->inputs[0]->column,
                            "%s works on %s, not on %s: %s", manual->name, wanted,
                            is_column ? "a column" : "a kernel", manual->usage);
    }
    if (expr->inputs[0]->range && !(node->family->traits & LTH__TAKES_RANGE)) {
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, expr->inputs[0]->column,
                            "%s works on one column, not on a range", manual->name);
    }
    if (expr->input_count > 1) {
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, expr->inputs[1]->column,
                            "%s takes only %s; other arguments are written name=value",
                            manual->name, wanted);
    }
    return LTH_OK;
}

static const char *family_name_at(const void *unused, size_t i) {
    (void)unused;
    const lth_family *f = lth_family_at(i);
    return f ? f->name : NULL;
}

static lth_status unknown_kernel(const lth__expr *expr, lth_error *err) {
    const char *near = lth_nearest(expr->name, family_name_at, NULL);
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, expr->column,
                        near ? "unknown kernel \"%s\"; did you mean \"%s\"?"
                             : "unknown kernel \"%s\"; `luthier kernels` lists them",
                        expr->name, near);
}

static lth_status build_call(lth_kernel *kernel, const lth__expr *expr, const lth__node *outer,
                             lth__node **out, lth_error *err) {
    const lth__family *family = lth__family_find(expr->name);
    if (!family) return unknown_kernel(expr, err);
    lth__node *node = NULL;
    LTH_TRY(new_node(kernel, expr, family, family->manual.name, outer, &node, err));
    LTH_TRY(check_inputs(node, err));
    LTH_TRY(check_arguments(node, err));
    LTH_TRY(family->configure(kernel, node, err));
    LTH_TRY(build_inputs(kernel, node, err));
    *out = node;
    return LTH_OK;
}

/* A bare number: a variance in front of a factor, a constant kernel elsewhere. */
static lth_status build_number(lth_kernel *kernel, const lth__expr *expr, const lth__node *outer,
                               lth__node **out, lth_error *err) {
    bool factor = outer && outer->expr->kind == LTH__EXPR_PRODUCT;
    const char *name = factor ? "variance" : "constant";
    LTH_TRY(new_node(kernel, expr, &lth__family_number, name, outer, out, err));
    return lth__node_param_number(kernel, *out, name, &expr->number, err);
}

static lth_status build_operator(lth_kernel *kernel, const lth__expr *expr, const lth__node *outer,
                                 lth__node **out, lth_error *err) {
    const lth__family *family =
        expr->kind == LTH__EXPR_SUM ? &lth__family_sum : &lth__family_product;
    LTH_TRY(new_node(kernel, expr, family, NULL, outer, out, err));
    return build_inputs(kernel, *out, err);
}

static lth_status build(lth_kernel *kernel, const lth__expr *expr, const lth__node *outer,
                        lth__node **out, lth_error *err) {
    switch (expr->kind) {
    case LTH__EXPR_CALL: LTH_TRY(build_call(kernel, expr, outer, out, err)); break;
    case LTH__EXPR_NUMBER: LTH_TRY(build_number(kernel, expr, outer, out, err)); break;
    case LTH__EXPR_SUM:
    case LTH__EXPR_PRODUCT: LTH_TRY(build_operator(kernel, expr, outer, out, err)); break;
    case LTH__EXPR_COLUMN: return fail_here(err, expr->column, "a column is not a kernel");
    }
    (*out)->params_end = kernel->param_count;
    return LTH_OK;
}

/* ---- The public face ---- */

static lth_status parse(lth_ctx *ctx, const char *expression, const lth_kernel_settings *settings,
                        bool sealed, lth_kernel **out, lth_error *err) {
    lth_kernel *kernel = lth__calloc(1, sizeof *kernel);
    if (!kernel) return lth__fail_memory(err, sizeof *kernel);
    kernel->ctx = ctx;
    kernel->sealed = sealed;
    const lth__expr *noise = NULL;
    lth_status status = lth__expr_parse(expression, &kernel->pool, &kernel->expr, &noise, err);
    if (status == LTH_OK && settings)
        status = lth__expr_fill(ctx, settings, &kernel->pool, &kernel->expr, &noise, err);
    if (status == LTH_OK) status = build(kernel, kernel->expr, NULL, &kernel->root, err);
    if (status == LTH_OK && noise) status = build(kernel, noise, NULL, &kernel->noise, err);
    if (status == LTH_OK && kernel->field_count == 0)
        status = fail_here(err, 1, "the expression reads no column");
    if (status != LTH_OK) {
        lth_kernel_free(kernel);
        return status;
    }
    *out = kernel;
    return LTH_OK;
}

lth_status lth_kernel_parse(lth_ctx *ctx, const char *expression, lth_kernel **out,
                            lth_error *err) {
    return parse(ctx, expression, NULL, false, out, err);
}

lth_status lth_kernel_parse_with(lth_ctx *ctx, const char *expression,
                                 const lth_kernel_settings *settings, lth_kernel **out,
                                 lth_error *err) {
    return parse(ctx, expression, settings, false, out, err);
}

lth_status lth__kernel_parse_sealed(lth_ctx *ctx, const char *expression, lth_kernel **out,
                                    lth_error *err) {
    return parse(ctx, expression, NULL, true, out, err);
}

lth_status lth__kernel_check_file(const lth_kernel *kernel, const lth__value *file,
                                  lth_error *err) {
    if (!kernel->sealed) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, file->column,
                        "the model names a file, which none does that luthier wrote: \"%.64s\"",
                        file->word);
}

void lth_kernel_free(lth_kernel *kernel) {
    if (!kernel) return;
    lth__free(kernel->nodes);
    lth__free(kernel->params);
    lth__free(kernel->origins);
    lth__free(kernel->fields);
    lth__pool_free(&kernel->pool);
    lth__free(kernel);
}

lth_kernel *lth__kernel_copy(const lth_kernel *kernel) {
    lth_kernel *copy = lth__alloc(1, sizeof *copy);
    lth_param *params = lth__alloc(kernel->param_count, sizeof *params);
    if (!copy || !params) {
        lth__free(copy);
        lth__free(params);
        return NULL;
    }
    if (kernel->param_count > 0)
        memcpy(params, kernel->params, kernel->param_count * sizeof *params);
    *copy = *kernel;
    copy->params = params;
    return copy;
}

void lth__kernel_copy_free(lth_kernel *copy) {
    if (copy) lth__free(copy->params);
    lth__free(copy);
}

lth_kernel lth__kernel_of_noise(const lth_kernel *kernel) {
    lth_kernel noise = *kernel;
    noise.root = kernel->noise;
    noise.noise = NULL;
    return noise;
}

bool lth__kernel_has(const lth_kernel *kernel, const lth__node *node) {
    while (node->outer) node = node->outer;
    return node == kernel->root;
}

bool lth_kernel_has_noise(const lth_kernel *kernel) {
    return kernel->noise != NULL;
}

/* The first field of the i-th column, or NULL. */
static const lth__field_def *column_at(const lth_kernel *kernel, size_t i) {
    for (size_t f = 0; f < kernel->field_count; f++) {
        bool repeated = false;
        for (size_t e = 0; e < f; e++)
            repeated |= strcmp(kernel->fields[e].column, kernel->fields[f].column) == 0;
        if (!repeated && i-- == 0) return &kernel->fields[f];
    }
    return NULL;
}

const char *lth_kernel_column(const lth_kernel *kernel, size_t i) {
    const lth__field_def *field = column_at(kernel, i);
    return field ? field->column : NULL;
}

const char *lth_kernel_wild_type(const lth_kernel *kernel) {
    const lth__field_def *field = column_at(kernel, 0);
    return field ? field->wild.sequence : NULL;
}

int lth_kernel_wild_first(const lth_kernel *kernel) {
    const lth__field_def *field = column_at(kernel, 0);
    return field && field->wild.sequence ? (int)field->wild.first : 1;
}

lth_column_kind lth_kernel_column_kind(const lth_kernel *kernel, size_t i) {
    const lth__field_def *field = column_at(kernel, i);
    return field ? field->type->kind : LTH_COLUMN_TEXT;
}

size_t lth_kernel_orders(const lth_kernel *kernel) {
    const lth__family *family = kernel->root->family;
    return family->orders ? family->orders(kernel->root) : 0;
}

bool lth_kernel_needs_vectors(const lth_kernel *kernel) {
    for (size_t f = 0; f < kernel->field_count; f++) {
        if (kernel->fields[f].vectors) return true;
    }
    return false;
}

/* The kernels of a grid: every combination of "PATH=V1,V2,..." lists in one expression.
 *
 * A path is that of a hyperparameter, which is set, or of an argument that shapes the kernel, such
 * as ssk.order, which is written into the expression. Every point is such an expression: a mistake
 * in any of them is found before anything is computed.
 *
 * The lists run like the digits of a number, the last one fastest, and the order of ssk(...) or
 * normalize(ssk(...)) is moved to the end: neighbours then differ in the order alone, and all of
 * them are sums of the same planes, k = sum_i weights_i k_i, which one pass computes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/text.h"
#include "kernel/core/gram.h"
#include "model/svm/svm.h"

/* One list: the path and its values, cut out of a copy. */
typedef struct axis {
    char *path, **value;
    size_t count;
    bool shapes; /* an argument, not a hyperparameter */
    bool is_order;
} axis;

/* ---- Paths ---- */

/* "ssk.order" as the node and its argument. */
static lth__node *find_argument(const lth_kernel *kernel, const char *path,
                                const lth_argument **out) {
    const char *dot = strrchr(path, '.');
    for (size_t n = 0; dot && n < kernel->node_count; n++) {
        lth__node *node = kernel->nodes[n];
        size_t length = (size_t)(dot - path);
        if (!node->path || strlen(node->path) != length || memcmp(node->path, path, length) != 0)
            continue;
        for (const lth_argument *a = node->family->manual.arguments; a && a->name; a++) {
            if (strcmp(a->name, dot + 1) != 0) continue;
            *out = a;
            return node;
        }
    }
    return NULL;
}

static bool is_param(const lth_kernel *kernel, const char *path) {
    for (size_t i = 0; i < kernel->param_count; i++) {
        if (strcmp(kernel->params[i].path, path) == 0) return true;
    }
    return false;
}

/* Names to suggest: the hyperparameters, and the other arguments of each node. */
static const char *name_at(const void *names, size_t i) {
    return ((const char *const *)names)[i];
}

static lth_status list_names(lth_kernel *kernel, const char ***out, lth_error *err) {
    size_t count = kernel->param_count;
    for (size_t n = 0; n < kernel->node_count; n++) {
        const lth_argument *a = kernel->nodes[n]->family->manual.arguments;
        while (a && a->name) count++, a++;
    }
    const char **names = lth__pool_alloc(&kernel->pool, (count + 1) * sizeof *names);
    if (!names) return lth__fail_memory(err, 0);
    memset(names, 0, (count + 1) * sizeof *names);
    for (count = 0; count < kernel->param_count; count++) names[count] = kernel->params[count].path;
    for (size_t n = 0; n < kernel->node_count; n++) {
        const lth__node *node = kernel->nodes[n];
        const lth_argument *a = node->path ? node->family->manual.arguments : NULL;
        for (; a && a->name; a++) {
            lth__string name = {0};
            if (a->learned) continue;
            lth__string_format(&name, "%s.%s", node->path, a->name);
            names[count] =
                name.failed ? NULL : lth__pool_strndup(&kernel->pool, name.bytes, name.length);
            lth__string_free(&name);
            if (!names[count++]) return lth__fail_memory(err, 0);
        }
    }
    *out = names;
    return LTH_OK;
}

static lth_status unknown_path(lth_kernel *kernel, const char *path, lth_error *err) {
    const char **names = NULL;
    LTH_TRY(list_names(kernel, &names, err));
    const char *near = lth_nearest(path, name_at, names);
    return lth__fail(err, LTH_EARG,
                     near ? "the kernel has no parameter \"%s\"; did you mean \"%s\"?"
                          : "the kernel has no parameter \"%s\"",
                     path, near);
}

/* ---- Lists ---- */

static void free_axes(axis *axes, size_t count) {
    for (size_t i = 0; axes && i < count; i++) {
        lth__free(axes[i].path);
        lth__free(axes[i].value);
    }
    lth__free(axes);
}

static size_t count_commas(const char *text) {
    size_t count = 0;
    for (; *text; text++) count += *text == ',';
    return count;
}

/* "PATH=V1,V2" in a copy whose separators become ends. */
static lth_status cut_axis(const char *text, axis *out, lth_error *err) {
    out->path = lth__strndup(text, strlen(text));
    out->value = lth__alloc(count_commas(text) + 1, sizeof *out->value);
    if (!out->path || !out->value) return lth__fail_memory(err, 0);
    char *next = strchr(out->path, '=');
    while (next) {
        *next++ = 0;
        out->value[out->count++] = next;
        size_t length = strcspn(next, ",");
        next = next[length] ? next + length : NULL;
    }
    bool complete = out->count > 0 && *out->path;
    for (size_t i = 0; i < out->count; i++) complete &= *out->value[i] != 0;
    if (complete) return LTH_OK;
    return lth__fail(err, LTH_EARG, "\"%s\" is not PATH=V1,V2,...", text);
}

static bool is_normalized(const lth_kernel *kernel) {
    return kernel->root->family->rule == LTH__RULE_NORMALIZE;
}

/* Whether all but a normalize() around it is this one string kernel. */
static bool is_string_kernel(const lth_kernel *kernel, const lth__node *node) {
    const lth__node *root = is_normalized(kernel) ? kernel->root->inputs[0] : kernel->root;
    return root == node && node->family->tile_orders;
}

static lth_status check_axis(lth_kernel *kernel, const axis *all, size_t index, axis *a,
                             lth_error *err) {
    const lth_argument *argument = NULL;
    for (size_t i = 0; i < index; i++) {
        if (strcmp(all[i].path, a->path) == 0)
            return lth__fail(err, LTH_EARG, "\"%s\" is given twice", a->path);
    }
    if (is_param(kernel, a->path)) return LTH_OK;
    const lth__node *node = find_argument(kernel, a->path, &argument);
    if (!node || argument->learned) return unknown_path(kernel, a->path, err);
    a->shapes = true;
    a->is_order = argument->role == LTH_ROLE_ORDER && is_string_kernel(kernel, node);
    return LTH_OK;
}

static lth_status make_axes(lth_kernel *kernel, const char *const *set, size_t count, axis **out,
                            lth_error *err) {
    axis *axes = lth__calloc(count, sizeof *axes);
    lth_status status = axes ? LTH_OK : lth__fail_memory(err, 0);
    for (size_t i = 0; i < count && status == LTH_OK; i++) {
        status = cut_axis(set[i], &axes[i], err);
        if (status == LTH_OK) status = check_axis(kernel, axes, i, &axes[i], err);
    }
    for (size_t i = 0; i + 1 < count && status == LTH_OK; i++) {
        if (!axes[i].is_order) continue;
        axis order = axes[i];
        memmove(axes + i, axes + i + 1, (count - i - 1) * sizeof *axes);
        axes[count - 1] = order;
        break;
    }
    if (status == LTH_OK)
        *out = axes;
    else
        free_axes(axes, count);
    return status;
}

/* ---- Points ---- */

/* The argument is written into the node's own copy of its expression. */
static lth_status write_argument(lth_kernel *kernel, const char *path, const char *value,
                                 lth_error *err) {
    const lth_argument *manual;
    lth__node *node = find_argument(kernel, path, &manual);
    size_t count = node->expr->argument_count, at = 0;
    lth__expr *expr = lth__pool_alloc(&kernel->pool, sizeof *expr);
    lth__argument *arguments = lth__pool_alloc(&kernel->pool, (count + 1) * sizeof *arguments);
    char *word = lth__pool_strndup(&kernel->pool, value, strlen(value));
    if (!expr || !arguments || !word) return lth__fail_memory(err, 0);
    if (count > 0) memcpy(arguments, node->expr->arguments, count * sizeof *arguments);
    while (at < count && strcmp(arguments[at].name, manual->name) != 0) at++;
    lth__value v = {.kind = LTH__VALUE_WORD, .word = word};
    if (lth__parse_double(value, strlen(value), &v.number) && isfinite(v.number))
        v = (lth__value){.kind = LTH__VALUE_NUMBER, .given = true, .number = v.number};
    arguments[at] = (lth__argument){.name = manual->name, .value = v};
    *expr = *node->expr;
    expr->arguments = arguments;
    expr->argument_count = at < count ? count : count + 1;
    node->expr = expr;
    return LTH_OK;
}

static lth_status write_number(lth_kernel *kernel, const axis *a, const char *value,
                               lth_error *err) {
    double number;
    if (!lth__parse_double(value, strlen(value), &number))
        return lth__fail(err, LTH_EARG, "%s: \"%s\" is not a number", a->path, value);
    return lth_kernel_set_path(kernel, a->path, number, err);
}

/* The number of the value of each list at a point: the digits of its number. */
static size_t digit(const axis *axes, size_t count, size_t point, size_t of) {
    for (size_t i = count; i-- > of + 1;) point /= axes[i].count;
    return point % axes[of].count;
}

/* NULL = out of memory, for which the printing of a kernel returns 0. */
static char *kernel_text(const lth_kernel *kernel) {
    size_t length = lth_kernel_print(kernel, NULL, 0);
    char *text = length > 0 ? lth__alloc(length + 1, 1) : NULL;
    if (!text || lth_kernel_print(kernel, text, length + 1) == length) return text;
    lth__free(text);
    return NULL;
}

/* Whatever is wrong with a point, say with which. */
static void name_point(const axis *axes, size_t count, size_t point, lth_error *err) {
    if (!err || count == 0 || err->status == LTH_ENOMEM) return;
    lth__string text = {0};
    for (size_t i = 0; i < count; i++) {
        const char *value = axes[i].value[digit(axes, count, point, i)];
        if (axes[i].shapes)
            lth__string_format(&text, "%s=%s%s", axes[i].path, value, i + 1 < count ? ", " : "");
    }
    lth_error inner = *err;
    if (!text.failed && text.length > 0)
        lth__fail(err, LTH_EARG, "%s: %s", text.bytes, inner.message);
    lth__string_free(&text);
}

static lth_status write_point(lth_ctx *ctx, const char *expression, const axis *axes, size_t count,
                              size_t point, char **out, bool *learns, lth_error *err) {
    lth_kernel *kernel = NULL, *whole = NULL;
    LTH_TRY(lth_kernel_parse(ctx, expression, &kernel, err));
    lth_status status = LTH_OK;
    for (size_t i = 0; i < count && status == LTH_OK; i++) {
        const char *value = axes[i].value[digit(axes, count, point, i)];
        status = axes[i].shapes ? write_argument(kernel, axes[i].path, value, err)
                                : write_number(kernel, &axes[i], value, err);
    }
    char *text = status == LTH_OK ? kernel_text(kernel) : NULL;
    if (status == LTH_OK && !text) status = lth__fail_memory(err, 0);
    if (status == LTH_OK) {
        status = lth_kernel_parse(ctx, text, &whole, err);
        if (status != LTH_OK) name_point(axes, count, point, err);
        if (status == LTH_EFORMAT) status = LTH_EARG;
    }
    if (status == LTH_OK) *learns |= lth__kernel_learns_from_rows(whole);
    lth_kernel_free(whole);
    lth_kernel_free(kernel);
    if (status == LTH_OK)
        *out = text;
    else
        lth__free(text);
    return status;
}

static size_t structure_of(const axis *axes, size_t count, size_t point) {
    size_t number = 0;
    for (size_t i = 0; i < count; i++) {
        if (axes[i].shapes) number = number * axes[i].count + digit(axes, count, point, i);
    }
    return number;
}

static void find_orders(lth__svm_kernels *k, const axis *axes, size_t count) {
    const axis *last = count > 0 ? &axes[count - 1] : NULL;
    if (!last || !last->is_order || last->count < 2) return;
    k->orders = last->count;
    for (size_t i = 1; i < last->count; i++) {
        if (strtod(last->value[i], NULL) > strtod(last->value[k->longest], NULL)) k->longest = i;
    }
}

enum { MOST_POINTS = 100000 };

static lth_status make_points(lth__svm_kernels *k, const char *expression, const axis *axes,
                              size_t count, lth_error *err) {
    size_t points = 1;
    for (size_t i = 0; i < count; i++) {
        points *= axes[i].count;
        if (points > MOST_POINTS)
            return lth__fail(err, LTH_EARG, "the grid has more than %d kernels", MOST_POINTS);
    }
    k->text = lth__calloc(points, sizeof *k->text);
    k->structure = lth__alloc(points, sizeof *k->structure);
    if (!k->text || !k->structure) return lth__fail_memory(err, 0);
    k->count = points;
    for (size_t i = 0; i < points; i++) {
        k->structure[i] = structure_of(axes, count, i);
        LTH_TRY(write_point(k->ctx, expression, axes, count, i, &k->text[i], &k->learns, err));
    }
    find_orders(k, axes, count);
    return LTH_OK;
}

lth_status lth__svm_kernels_open(lth_ctx *ctx, const char *expression, const lth_table *table,
                                 const char *const *set, size_t set_count, lth__source_files files,
                                 lth__svm_kernels *out, lth_error *err) {
    lth__svm_kernels k = {.ctx = ctx, .table = table, .files = files, .orders = 1};
    lth_kernel *kernel = NULL;
    axis *axes = NULL;
    LTH_TRY(lth_kernel_parse(ctx, expression, &kernel, err));
    lth_status status = LTH_OK;
    if (kernel->noise)
        status = lth__fail(err, LTH_EARG,
                           "a kernel of the noise, after \"|\", is for Gaussian "
                           "processes");
    if (status == LTH_OK) status = lth_kernel_resolve(&kernel, table, err);
    char *resolved = status == LTH_OK ? kernel_text(kernel) : NULL;
    if (status == LTH_OK && !resolved) status = lth__fail_memory(err, 0);
    k.normalized = is_normalized(kernel);
    if (status == LTH_OK) status = make_axes(kernel, set, set_count, &axes, err);
    if (status == LTH_OK) status = make_points(&k, resolved, axes, set_count, err);
    lth__free(resolved);
    free_axes(axes, axes ? set_count : 0);
    lth_kernel_free(kernel);
    if (status == LTH_OK)
        *out = k;
    else
        lth__svm_kernels_close(&k);
    return status;
}

void lth__svm_kernels_close(lth__svm_kernels *k) {
    for (size_t i = 0; k->text && i < k->count; i++) lth__free(k->text[i]);
    lth__free(k->text);
    lth__free(k->structure);
    lth__free(k->planes);
    lth__source_close(&k->current.source);
    lth__source_close(&k->all_orders.source);
    *k = (lth__svm_kernels){0};
}

/* ---- Gram matrices ---- */

/* Whether features depend on a value that has changed. */
static bool needs_encoding(const lth_kernel *old, const lth_kernel *new) {
    for (size_t n = 0; n < new->node_count; n++) {
        const lth__node *node = new->nodes[n];
        size_t first = node->first_param;
        bool any = node->family->encode || node->family->features;
        for (size_t p = first; any && p < first + node->param_count; p++) {
            if (old->params[p].value != new->params[p].value) return true;
        }
    }
    return false;
}

/* A kernel of the same structure only changes its values: nothing is encoded again. */
static lth_status take(const lth__svm_kernels *k, const char *text, size_t structure,
                       lth__svm_encoded *encoded, lth_error *err) {
    lth__source new = {.ctx = k->ctx};
    lth_kernel *old = encoded->source.kernel;
    LTH_TRY(lth_kernel_parse(k->ctx, text, &new.kernel, err));
    bool same = old && encoded->structure == structure;
    if (same && !needs_encoding(old, new.kernel)) {
        for (size_t p = 0; p < new.kernel->param_count; p++)
            old->params[p].value = new.kernel->params[p].value;
        lth_kernel_free(new.kernel);
        return LTH_OK;
    }
    lth_status status = lth__source_fill(&new, k->table, k->files, err);
    if (status == LTH_OK && k->row) status = lth__items_learn(new.items, k->row, k->rows, err);
    if (status != LTH_OK) {
        lth__source_close(&new);
        return status;
    }
    lth__source_close(&encoded->source);
    *encoded = (lth__svm_encoded){new, structure};
    return LTH_OK;
}

lth_status lth__svm_kernels_learn(lth__svm_kernels *k, const size_t *row, size_t rows,
                                  lth_error *err) {
    lth__svm_encoded *both[] = {&k->current, &k->all_orders};
    k->row = row;
    k->rows = rows;
    k->planes_of = 0;
    for (size_t i = 0; i < 2; i++) {
        lth_items *items = both[i]->source.items;
        if (items && row) LTH_TRY(lth__items_learn(items, row, rows, err));
    }
    return LTH_OK;
}

lth_status lth__svm_kernels_take(lth__svm_kernels *k, size_t point, lth_error *err) {
    return take(k, k->text[point], k->structure[point], &k->current, err);
}

/* Every k_i of a group of neighbours, if there is memory for it; going without is no error. */
static lth_status fill_planes(lth__svm_kernels *k, size_t group, lth_error *err) {
    size_t point = group * k->orders + k->longest, n = lth_table_rows(k->table);
    const char *whole = k->text[point];
    size_t skip = k->normalized ? strcspn(whole, "(") + 1 : 0; /* normalize( ... ) */
    char *text = lth__strndup(whole + skip, strlen(whole) - skip - (skip > 0));
    if (!text) return lth__fail_memory(err, 0);
    lth_status status = take(k, text, k->structure[point], &k->all_orders, err);
    lth__free(text);
    LTH_TRY(status);
    const lth__source *s = &k->all_orders.source;
    size_t planes = lth_kernel_orders(s->kernel);
    if (!k->planes && lth__memory_available() / 2 / sizeof(double) / planes / n >= n)
        k->planes = lth__alloc(planes * n * n, sizeof *k->planes);
    if (!k->planes) return LTH_OK;
    k->planes_of = 0;
    LTH_TRY(lth_gram_orders(s->kernel, s->items, NULL, k->planes, err));
    k->planes_of = group + 1;
    return LTH_OK;
}

typedef struct summing {
    const double *planes;
    double weight[64], *K, *root; /* roots of the diagonal; NULL = not normalised */
    size_t orders, n, ld;
} summing;

static double sum_at(const summing *s, size_t i, size_t j) {
    double sum = 0;
    for (size_t o = 0; o < s->orders; o++)
        sum += s->weight[o] * s->planes[(o * s->n + i) * s->n + j];
    return sum;
}

static lth_status sum_row(void *user, size_t i, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const summing *s = user;
    double *row = s->K + i * s->ld;
    for (size_t j = 0; j < s->n; j++) row[j] = s->weight[0] * s->planes[i * s->n + j];
    for (size_t o = 1; o < s->orders; o++) {
        const double *plane = s->planes + (o * s->n + i) * s->n;
        for (size_t j = 0; j < s->n; j++) row[j] += s->weight[o] * plane[j];
    }
    for (size_t j = 0; s->root && j < s->n; j++) {
        double scale = s->root[i] * s->root[j];
        row[j] = scale > 0 ? row[j] / scale : 0;
    }
    if (s->root && s->root[i] > 0) row[i] = 1;
    return LTH_OK;
}

/* The weights of the point's own kernel, in order. */
static lth_status read_weights(const lth__svm_kernels *k, size_t point, summing *s,
                               lth_error *err) {
    lth_kernel *kernel = NULL;
    LTH_TRY(lth_kernel_parse(k->ctx, k->text[point], &kernel, err));
    for (size_t p = 0; p < kernel->param_count; p++) {
        if (kernel->params[p].argument->role == LTH_ROLE_WEIGHT && s->orders < 64)
            s->weight[s->orders++] = kernel->params[p].value;
    }
    lth_kernel_free(kernel);
    return LTH_OK;
}

static lth_status sum_planes(const lth__svm_kernels *k, size_t point, double *K, size_t ld,
                             lth_error *err) {
    size_t n = lth_table_rows(k->table);
    summing s = {.planes = k->planes, .K = K, .n = n, .ld = ld};
    LTH_TRY(read_weights(k, point, &s, err));
    if (k->normalized) {
        s.root = lth__alloc(n, sizeof *s.root);
        if (!s.root) return lth__fail_memory(err, n * sizeof *s.root);
        for (size_t i = 0; i < n; i++) s.root[i] = sqrt(fmax(sum_at(&s, i, i), 0));
    }
    lth_status status = lth__parallel_for(k->ctx, NULL, n, NULL, sum_row, &s, err);
    lth__free(s.root);
    return status;
}

lth_status lth__svm_kernels_gram(lth__svm_kernels *k, size_t point, lth__svm_gram *gram,
                                 lth_error *err) {
    const lth__source *s = &k->current.source;
    if (gram->linear) {
        lth__svm_features_free(&gram->features); /* they are of the kernel that goes */
        LTH_TRY(lth__svm_kernels_take(k, point, err));
        if (gram->basis > 0)
            return lth__svm_dense_make(s->kernel, s->items, gram->basis, &gram->features, err);
        return lth__svm_features_make(s->kernel, s->items, &gram->features, err);
    }
    size_t n = gram->rows, group = point / k->orders;
    double *K = lth__svm_gram_plain(gram);
    if (!K) return lth__fail_memory(err, n * n * sizeof *K);
    if (k->orders > 1 && k->planes_of != group + 1) LTH_TRY(fill_planes(k, group, err));
    if (k->orders > 1 && k->planes_of == group + 1) {
        LTH_TRY(sum_planes(k, point, K, n, err));
    } else {
        LTH_TRY(lth__svm_kernels_take(k, point, err));
        LTH_TRY(lth_gram(s->kernel, s->items, NULL, K, n, err));
    }
    lth__svm_gram_narrow(gram);
    return LTH_OK;
}

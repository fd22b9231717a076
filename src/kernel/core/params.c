/* Parameters of kernels: a row for each scalar, with the value, bounds, state and tag that the
 * expression gives it. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "kernel/core/kernel.h"

/* ---- Rows ---- */

static lth_status new_param(lth_kernel *kernel, lth_error *err) {
    size_t count = kernel->param_count + 1;
    bool room = lth__reserve((void **)&kernel->params, &kernel->param_capacity, count,
                             sizeof *kernel->params) &&
                lth__reserve((void **)&kernel->origins, &kernel->origin_capacity, count,
                             sizeof *kernel->origins);
    return room ? LTH_OK : lth__fail_memory(err, 0);
}

/* Which of the rows of a parameter: the i-th of a list, or that of a name; neither for a scalar. */
typedef struct row_key {
    size_t position;
    const char *name;
} row_key;

/* "ssk.gap", "ssk2.weights[1]", "sstk.decay[NP]", a number's "variance". */
static lth_status make_path(lth_kernel *kernel, const char *node_path, const char *name,
                            row_key key, const char **out, lth_error *err) {
    lth__string path = {0};
    lth__string_format(&path, "%s", node_path);
    if (name) lth__string_format(&path, ".%s", name);
    if (key.position > 0) lth__string_format(&path, "[%zu]", key.position);
    if (key.name) lth__string_format(&path, "[%s]", key.name);
    *out = path.failed ? NULL : lth__pool_strndup(&kernel->pool, path.bytes, path.length);
    lth__string_free(&path);
    return *out ? LTH_OK : lth__fail_memory(err, 0);
}

/* A parameter that has this tag already, or LTH_NONE. */
static size_t find_tag(const lth_kernel *kernel, const char *tag) {
    for (size_t i = 0; tag && i < kernel->param_count; i++) {
        if (kernel->params[i].tag && strcmp(kernel->params[i].tag, tag) == 0) return i;
    }
    return LTH_NONE;
}

/* `column` is 0 when the value does not come from an expression. */
static lth_status check_bounds(const lth_param *p, double value, size_t column, lth_error *err) {
    if (value >= p->lo && value <= p->hi) return LTH_OK;
    return lth__fail_at(err, column > 0 ? LTH_EFORMAT : LTH_EARG, NULL, 0, column,
                        "%s is %g, but must lie in [%g, %g]", p->path, value, p->lo, p->hi);
}

static bool share_a_tag(const lth_param *a, const lth_param *b) {
    return a->tag && b->tag && strcmp(a->tag, b->tag) == 0;
}

/* Bounds that another place of its tag has, as far as the family of `p` goes. */
static void share_bounds(const lth_param *from, lth_param *p, lth__param_origin *origin) {
    p->lo = fmax(from->lo, p->argument->lo);
    p->hi = fmin(from->hi, p->argument->hi);
    origin->bounded = true;
}

/* Give all parameters of this one's tag its value and state; none, if one cannot have it. */
static lth_status share_value(lth_kernel *kernel, const lth_param *p, bool given, bool bounded,
                              size_t column, lth_error *err) {
    for (size_t i = 0; i < kernel->param_count; i++) {
        if (share_a_tag(&kernel->params[i], p))
            LTH_TRY(check_bounds(&kernel->params[i], p->value, column, err));
    }
    for (size_t i = 0; i < kernel->param_count; i++) {
        lth_param *other = &kernel->params[i];
        if (!share_a_tag(other, p)) continue;
        other->value = p->value;
        other->held = p->held;
        kernel->origins[i].tag_given = given;
        if (bounded) share_bounds(p, other, &kernel->origins[i]);
    }
    return LTH_OK;
}

/* Where a search between bounds begins: in the middle, of what is learned by its logarithm the
 * geometric one. */
static double middle(const lth_param *p) {
    const lth_argument *own = p->argument;
    bool by_logarithm = p->lo > 0 && own->lo >= 0 && !(own->lo == 0 && own->hi == 1);
    return by_logarithm ? sqrt(p->lo) * sqrt(p->hi) : p->lo + (p->hi - p->lo) / 2;
}

static lth_status apply_bounds(lth_param *p, lth__param_origin *origin, const lth__value *v,
                               lth_error *err) {
    if (v->lo < p->lo || v->hi > p->hi)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column,
                            "%s has the bounds %g..%g, but must lie in [%g, %g]", p->path, v->lo,
                            v->hi, p->lo, p->hi);
    origin->bounded = true;
    p->lo = v->lo;
    p->hi = v->hi;
    p->value = v->given ? v->number : middle(p);
    return LTH_OK;
}

/* Another place has given the tag something else. */
static lth_status check_same(const lth_param *shared, bool shared_bounded, const lth_param *p,
                             bool bounded, const char *tag, size_t column, lth_error *err) {
    if (bounded != shared_bounded || (bounded && (shared->lo != p->lo || shared->hi != p->hi)))
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, column,
                            "$%s has other bounds elsewhere: give it once", tag);
    if (shared->value != p->value)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, column,
                            "$%s has two values, %g and %g: give it once", tag, shared->value,
                            p->value);
    return LTH_OK;
}

static lth_status apply_value(lth_kernel *kernel, lth_param *p, lth__param_origin *origin,
                              const lth__value *v, lth_error *err) {
    bool range = v->kind == LTH__VALUE_RANGE, given = range || v->given;
    if (v->kind != LTH__VALUE_NUMBER && !range) {
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column, "%s is a number, such as %g",
                            p->path, origin->initial);
    }
    origin->given = true;
    p->held = v->held;
    if (v->given) p->value = v->number;
    if (range) LTH_TRY(apply_bounds(p, origin, v, err));
    size_t place = find_tag(kernel, v->tag);
    const lth_param *shared = place == LTH_NONE ? NULL : &kernel->params[place];
    const lth__param_origin *other = shared ? &kernel->origins[place] : NULL;
    bool shared_given = other && other->tag_given;
    if (shared_given && given)
        LTH_TRY(check_same(shared, other->bounded, p, range, v->tag, v->column, err));
    if (shared && !given) {
        p->value = shared->value;
        p->held = shared->held;
        if (other->bounded) share_bounds(shared, p, origin);
    }
    p->tag = v->tag;
    origin->tag_given = given || shared_given;
    LTH_TRY(check_bounds(p, p->value, v->column, err));
    return given ? share_value(kernel, p, true, range, v->column, err) : LTH_OK;
}

static lth_status add_param(lth_kernel *kernel, lth__node *node, const lth__node *source,
                            const char *name, row_key key, lth_param start, const lth__value *v,
                            lth_error *err) {
    LTH_TRY(new_param(kernel, err));
    lth_param *p = &kernel->params[kernel->param_count];
    lth__param_origin *origin = &kernel->origins[kernel->param_count];
    *p = start;
    *origin = (lth__param_origin){.initial = start.value};
    LTH_TRY(make_path(kernel, source->path, name, key, &p->path, err));
    if (v) LTH_TRY(apply_value(kernel, p, origin, v, err));
    kernel->param_count++;
    node->param_count++;
    return LTH_OK;
}

static lth_param start_of(const lth__node *source, const char *name, double initial, bool held) {
    const lth_argument *manual = lth__manual_argument(source->family, name);
    return (lth_param){.value = initial,
                       .lo = manual->lo,
                       .hi = manual->hi,
                       .held = held,
                       .family = &source->family->manual,
                       .argument = manual};
}

static const lth__value *given_value(const lth__node *source, const char *name) {
    const lth__argument *given = lth__node_argument(source, name);
    return given ? &given->value : NULL;
}

static bool is_list(const lth__value *v) {
    return v && v->kind == LTH__VALUE_LIST;
}

static lth_status check_count(const lth__node *source, const char *name, const lth__value *v,
                              size_t count, lth_error *err) {
    if (!is_list(v) || v->count == count) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column,
                        "%s of %s needs %zu numbers, but has %zu", name,
                        source->family->manual.name, count, v->count);
}

static lth_status declare(lth_kernel *kernel, lth__node *node, const lth__node *source,
                          const char *name, size_t count, double initial, bool held,
                          lth_error *err) {
    const lth__value *v = given_value(source, name);
    lth_param start = start_of(source, name, initial, held);
    if (count == 0) return add_param(kernel, node, source, name, (row_key){0}, start, v, err);
    LTH_TRY(check_count(source, name, v, count, err));
    for (size_t i = 0; i < count; i++) {
        LTH_TRY(add_param(kernel, node, source, name, (row_key){.position = i + 1}, start,
                          is_list(v) ? &v->items[i] : v, err));
    }
    return LTH_OK;
}

lth_status lth__node_param_named(lth_kernel *kernel, lth__node *node, const char *name,
                                 const char *const *names, size_t count, double initial, bool held,
                                 lth_error *err) {
    const lth__value *v = given_value(node, name);
    lth_param start = start_of(node, name, initial, held);
    LTH_TRY(check_count(node, name, v, count + 1, err));
    for (size_t i = 0; i <= count; i++) {
        row_key key = {.name = i > 0 ? names[i - 1] : NULL};
        LTH_TRY(
            add_param(kernel, node, node, name, key, start, is_list(v) ? &v->items[i] : v, err));
    }
    return LTH_OK;
}

lth_status lth__node_param_keyed(lth_kernel *kernel, lth__node *node, const char *name,
                                 lth__names keys, const double *initial, lth_error *err) {
    const lth__value *v = given_value(node, name);
    LTH_TRY(check_count(node, name, v, keys.count, err));
    for (size_t i = 0; i < keys.count; i++) {
        lth_param start = start_of(node, name, initial[i], false);
        LTH_TRY(add_param(kernel, node, node, name, (row_key){.name = keys.name[i]}, start,
                          is_list(v) ? &v->items[i] : v, err));
    }
    return LTH_OK;
}

lth_status lth__node_param(lth_kernel *kernel, lth__node *node, const char *name, size_t count,
                           double initial, bool held, lth_error *err) {
    return declare(kernel, node, node, name, count, initial, held, err);
}

lth_status lth__node_param_of(lth_kernel *kernel, lth__node *node, const lth__node *source,
                              const char *name, size_t count, double initial, lth_error *err) {
    return declare(kernel, node, source, name, count, initial, false, err);
}

lth_status lth__node_param_number(lth_kernel *kernel, lth__node *node, const char *name,
                                  const lth__value *value, lth_error *err) {
    lth_param start = start_of(node, name, 1, false);
    return add_param(kernel, node, node, NULL, (row_key){0}, start, value, err);
}

/* ---- The public face ---- */

size_t lth_kernel_params(const lth_kernel *kernel) {
    return kernel->param_count;
}

const lth_param *lth_kernel_param(const lth_kernel *kernel, size_t i) {
    return i < kernel->param_count ? &kernel->params[i] : NULL;
}

lth_status lth_kernel_set(lth_kernel *kernel, size_t i, double value, lth_error *err) {
    if (i >= kernel->param_count) {
        return lth__fail(err, LTH_EARG, "there is no parameter %zu; the kernel has %zu", i,
                         kernel->param_count);
    }
    lth_param *p = &kernel->params[i], changed = *p;
    LTH_TRY(check_bounds(p, value, 0, err));
    changed.value = value;
    LTH_TRY(share_value(kernel, &changed, kernel->origins[i].tag_given, false, 0, err));
    p->value = value;
    return LTH_OK;
}

static const char *param_path_at(const void *kernel, size_t i) {
    const lth_kernel *k = kernel;
    return i < k->param_count ? k->params[i].path : NULL;
}

lth_status lth_kernel_set_path(lth_kernel *kernel, const char *path, double value, lth_error *err) {
    for (size_t i = 0; i < kernel->param_count; i++) {
        if (strcmp(kernel->params[i].path, path) == 0) return lth_kernel_set(kernel, i, value, err);
    }
    const char *near = lth_nearest(path, param_path_at, kernel);
    return lth__fail(err, LTH_EARG,
                     near ? "the kernel has no parameter \"%s\"; did you mean \"%s\"?"
                          : "the kernel has no parameter \"%s\"",
                     path, near);
}

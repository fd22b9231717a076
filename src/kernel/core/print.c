/* A kernel back to its expression, with current values: what is given or has changed is written. */
#include <string.h>

#include "base/text.h"
#include "kernel/core/kernel.h"

typedef struct printer {
    const lth_kernel *kernel;
    lth__string text;
} printer;

static void print_number(printer *p, double x) {
    char digits[32];
    lth__print_double(x, digits);
    lth__string_format(&p->text, "%s", digits);
}

/* The first parameter of a tag carries the value, the others only the tag. */
static bool leads_its_tag(const lth_kernel *kernel, const lth_param *param) {
    for (const lth_param *other = kernel->params; other < param; other++) {
        if (other->tag && strcmp(other->tag, param->tag) == 0) return false;
    }
    return true;
}

static void print_param(printer *p, const lth_param *param, bool hold) {
    if (param->tag) {
        lth__string_format(&p->text, "$%s", param->tag);
        if (!leads_its_tag(p->kernel, param)) return;
        lth__string_format(&p->text, "=");
    }
    print_number(p, param->value);
    if (hold && param->held) lth__string_format(&p->text, "!");
    if (!p->kernel->origins[param - p->kernel->params].bounded || param->held) return;
    lth__string_format(&p->text, " in ");
    print_number(p, param->lo);
    lth__string_format(&p->text, "..");
    print_number(p, param->hi);
}

static bool worth_printing(const lth_kernel *kernel, const lth_param *first, size_t count) {
    const lth__param_origin *origin = &kernel->origins[first - kernel->params];
    for (size_t i = 0; i < count; i++) {
        if (origin[i].given || first[i].value != origin[i].initial) return true;
    }
    return false;
}

static void print_list(printer *p, const lth_param *first, size_t count) {
    bool all_held = true;
    for (size_t i = 0; i < count; i++) all_held &= first[i].held && !first[i].tag;
    for (size_t i = 0; i < count; i++) {
        lth__string_format(&p->text, i == 0 ? "[" : ",");
        print_param(p, &first[i], !all_held);
    }
    lth__string_format(&p->text, all_held ? "]!" : "]");
}

/* A word is quoted when it is not a name; a quote in it is then written twice. */
static void print_word(printer *p, const char *word) {
    if (lth__expr_is_name(word)) {
        lth__string_format(&p->text, "%s", word);
        return;
    }
    lth__string_format(&p->text, "\"");
    for (; *word; word++) lth__string_format(&p->text, "%s%c", *word == '"' ? "\"" : "", *word);
    lth__string_format(&p->text, "\"");
}

/* Structural arguments are printed as they were given. */
static void print_value(printer *p, const lth__value *v) {
    if (v->kind == LTH__VALUE_WORD) print_word(p, v->word);
    if (v->kind == LTH__VALUE_NUMBER) print_number(p, v->number);
    if (v->kind == LTH__VALUE_NUMBER && v->constant) lth__string_format(&p->text, "!");
    if (v->kind != LTH__VALUE_LIST) return;
    for (size_t i = 0; i < v->count; i++) {
        lth__string_format(&p->text, i == 0 ? "[" : ",");
        print_value(p, &v->items[i]);
    }
    lth__string_format(&p->text, v->count == 0 ? "[]" : "]");
}

/* Whether one number can stand for all rows of a parameter with names. */
static bool is_same(const lth_param *first, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const char *a = first->tag, *b = first[i].tag;
        if (first[i].value != first->value || first[i].held != first->held) return false;
        if (first[i].lo != first->lo || first[i].hi != first->hi) return false;
        if (!a != !b || (a && strcmp(a, b) != 0)) return false;
    }
    return true;
}

/* The rows of parameter `name`: those whose paths are "NODE.name", "NODE.name[i]" or
 * "NODE.name[SYMBOL]". */
static size_t find_rows(const lth_kernel *kernel, const lth__node *node, const char *name,
                        const lth_param **first) {
    size_t count = 0, prefix = strlen(node->path), length = strlen(name);
    for (size_t i = node->first_param; i < node->params_end; i++) {
        const char *path = kernel->params[i].path;
        if (strncmp(path, node->path, prefix) != 0 || path[prefix] != '.') continue;
        const char *own = path + prefix + 1;
        if (strncmp(own, name, length) != 0 || (own[length] != 0 && own[length] != '[')) continue;
        if (count++ == 0) *first = &kernel->params[i];
    }
    return count;
}

static void print_argument(printer *p, const lth__node *node, const lth_argument *manual) {
    const lth__argument *given = lth__node_argument(node, manual->name);
    if (!manual->learned) {
        bool open = node->open && strcmp(node->open, manual->name) == 0;
        if (!given && !open) return;
        lth__string_format(&p->text, ", %s=%s", manual->name, open ? "all" : "");
        if (!open) print_value(p, &given->value);
        return;
    }
    const lth_param *first = NULL;
    size_t count = find_rows(p->kernel, node, manual->name, &first);
    if (count == 0 || !worth_printing(p->kernel, first, count)) return;
    lth__string_format(&p->text, ", %s=", manual->name);
    bool list = first->path[strlen(node->path) + 1 + strlen(manual->name)] == '[';
    if (list || !is_same(first, count))
        print_list(p, first, count);
    else
        print_param(p, first, true);
}

/* A column whose own name has dots is quoted: without quotes they mean a range. */
static void print_column(printer *p, const lth__expr *column) {
    bool plain = column->range || lth__expr_is_name(column->name);
    lth__string_format(&p->text, plain ? "%s" : "\"%s\"", column->name);
}

static void print_node(printer *p, const lth__node *node, bool factor);

static void print_operands(printer *p, const lth__node *node, const char *op, bool factors) {
    for (size_t i = 0; i < node->input_count; i++) {
        if (i > 0) lth__string_format(&p->text, " %s ", op);
        print_node(p, node->inputs[i], factors);
    }
}

static void print_call(printer *p, const lth__node *node) {
    lth__string_format(&p->text, "%s(", node->expr->name);
    const lth__expr *input = node->expr->inputs[0];
    if (input->kind == LTH__EXPR_COLUMN)
        print_column(p, input);
    else
        print_node(p, node->inputs[0], false);
    for (const lth_argument *a = node->family->manual.arguments; a && a->name; a++)
        print_argument(p, node, a);
    lth__string_format(&p->text, ")");
}

static void print_node(printer *p, const lth__node *node, bool factor) {
    switch (node->expr->kind) {
    case LTH__EXPR_SUM:
        if (factor) lth__string_format(&p->text, "(");
        print_operands(p, node, "+", false);
        if (factor) lth__string_format(&p->text, ")");
        break;
    case LTH__EXPR_PRODUCT: print_operands(p, node, "*", true); break;
    case LTH__EXPR_NUMBER: print_param(p, &p->kernel->params[node->first_param], true); break;
    case LTH__EXPR_CALL: print_call(p, node); break;
    case LTH__EXPR_COLUMN: break;
    }
}

size_t lth_kernel_print(const lth_kernel *kernel, char *buffer, size_t capacity) {
    printer p = {.kernel = kernel};
    print_node(&p, kernel->root, false);
    if (kernel->noise) {
        lth__string_format(&p.text, " | ");
        print_node(&p, kernel->noise, false);
    }
    size_t length = p.text.failed ? 0 : p.text.length;
    if (capacity > 0) {
        size_t copied = length < capacity ? length : capacity - 1;
        if (copied > 0) memcpy(buffer, p.text.bytes, copied);
        buffer[copied] = 0;
    }
    lth__string_free(&p.text);
    return length;
}

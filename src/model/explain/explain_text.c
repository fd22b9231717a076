/* Encoded rows as text again: tokens with blanks between them, trees in brackets, numbers. */
#include "model/explain/explain_text.h"

#include <string.h>

#include "kernel/tree/tree_field.h"
#include "model/explain/explain.h"

/* The first field that reads the column. */
static size_t find_field(const lth_kernel *kernel, size_t column) {
    const char *name = lth_kernel_column(kernel, column);
    size_t f = 0;
    while (name && strcmp(kernel->fields[f].column, name) != 0) f++;
    return name ? f : LTH_NONE;
}

static void write_numbers(const lth__sequences *s, size_t row, lth__string *out) {
    for (size_t c = 0; c < s->width; c++) {
        char number[32];
        lth__print_double(s->numbers[row * s->width + c], number);
        lth__string_format(out, "%s%s", c > 0 ? " " : "", number);
    }
}

/* Brackets that are open, with how many children are still to come. A stack of its own: trees may
 * be deep. */
typedef struct bracket {
    uint32_t subtree, next;
} bracket;

static bool write_tree(const lth__lexicon *l, uint32_t root, lth__string *out) {
    const lth__forest *f = l->forest;
    bracket *stack = NULL;
    size_t depth = 0, capacity = 0;
    bool ok = true;
    for (uint32_t subtree = root; ok;) {
        if (!lth__forest_is_leaf(f, subtree)) {
            ok = lth__reserve((void **)&stack, &capacity, depth + 1, sizeof *stack);
            if (!ok) break;
            stack[depth++] = (bracket){.subtree = subtree};
            lth__string_append(out, "(", 1);
        }
        lth__tree_write_label(l->symbols, f->subtrees[subtree].label, out);
        for (; depth > 0; depth--) {
            const bracket *top = &stack[depth - 1];
            if (top->next < f->subtrees[top->subtree].children) break;
            lth__string_append(out, ")", 1);
        }
        if (depth == 0) break;
        bracket *top = &stack[depth - 1];
        lth__string_append(out, " ", 1);
        subtree = lth__forest_children(f, top->subtree)[top->next++];
    }
    lth__free(stack);
    return ok;
}

const char *lth__row_text(const lth_items *items, size_t row, size_t column, lth__string *room) {
    const lth_kernel *kernel = items ? items->encoder->kernel : NULL;
    size_t field = kernel ? find_field(kernel, column) : LTH_NONE;
    if (field == LTH_NONE || row >= items->count) return NULL;
    const lth__sequences *s = &items->fields[field];
    room->length = 0;
    room->failed = false;
    lth__string_append(room, "", 0);
    bool ok = true;
    if (s->numbers)
        write_numbers(s, row, room);
    else if (kernel->fields[field].kind == LTH_COLUMN_TEXT)
        lth__units_write(items->encoder, field, lth__sequence_symbols(s, row), NULL,
                         lth__sequence_length(s, row), room);
    else if (lth__sequence_length(s, row) > 0)
        ok = write_tree(&items->encoder->lexicons[field], s->symbols[s->start[row + 1] - 1], room);
    return ok && !room->failed && room->bytes ? room->bytes : NULL;
}

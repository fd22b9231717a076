/* Penn brackets: (S (NP (DT the) (NN cat)) (VP sat)).
 *
 * The first word after a ( is its label, the others are leaves. A backslash before a bracket or a
 * backslash makes it part of a word. One pass, with the brackets that are open on a stack of its
 * own, so that depth costs memory only; a node is added when its bracket closes. */
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/tree_reader.h"

typedef struct bracket {
    const char *open;
    uint32_t children; /* kept so far */
} bracket;

typedef struct parser {
    const char *text, *at, *end;
    bool strip_tags, strip_traces;
    lth__symbols *labels;
    lth__tree *tree;
    bracket *stack;
    size_t depth, capacity;
    size_t trace;     /* depth of the trace whose inside is left out, 0 = none */
    bool complete;    /* the root was closed                                   */
    lth__string word; /* without its backslashes                               */
} parser;

static lth_status fail_at(const parser *p, const char *place, const char *message, lth_error *err) {
    size_t column = lth__utf8_count(p->text, (size_t)(place - p->text)) + 1;
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, column, "%s", message);
}

/* ---- Words ---------------------------------------------------------------------------------- */

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_bracket(char c) {
    return c == '(' || c == ')';
}

static bool is_escape(const char *at, const char *end) {
    return *at == '\\' && end - at > 1 && (is_bracket(at[1]) || at[1] == '\\');
}

const char *lth__brackets_skip_space(const char *at, const char *end) {
    while (at < end && is_space(*at)) at++;
    return at;
}

const char *lth__brackets_skip_word(const char *at, const char *end) {
    while (at < end && !is_space(*at) && !is_bracket(*at)) at += is_escape(at, end) ? 2 : 1;
    return at;
}

static bool is_trace(const parser *p, const char *word, const char *end) {
    static const char none[] = "-NONE-";
    return p->strip_traces && end - word == sizeof none - 1 &&
           memcmp(word, none, sizeof none - 1) == 0;
}

static void unescape(lth__string *out, const char *at, const char *end) {
    out->length = 0;
    while (at < end) {
        if (is_escape(at, end)) at++;
        lth__string_append(out, at++, 1);
    }
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

/* `from` and `to`: its place in the text. */
static lth_status add_node(parser *p, const char *label, const char *end, uint32_t children,
                           const char *from, const char *to, lth_error *err) {
    size_t length = (size_t)(end - label);
    if (memchr(label, '\\', length)) {
        unescape(&p->word, label, end);
        if (p->word.failed) return lth__fail_memory(err, length);
        label = p->word.bytes;
        length = p->word.length;
    }
    /* -LRB- and its like have no tags. */
    if (p->strip_tags && children > 0 && length > 0 && label[0] != '-')
        length = lth__label_cut(label, length, "-=");
    LTH_TRY(lth__tree_add(p->tree, p->labels, label, length, children, err));
    lth__tree_node *node = &p->tree->nodes[p->tree->count - 1];
    node->first = (uint32_t)(from - p->text);
    node->length = (uint32_t)(to - from);
    if (p->depth > 0) p->stack[p->depth - 1].children++;
    return LTH_OK;
}

static lth_status open_bracket(parser *p, lth_error *err) {
    const char *open = p->at;
    if (p->complete) return fail_at(p, open, "a second tree begins here; a cell holds one", err);
    if (!lth__reserve((void **)&p->stack, &p->capacity, p->depth + 1, sizeof *p->stack))
        return lth__fail_memory(err, 0);
    p->stack[p->depth++] = (bracket){.open = open};
    const char *label = lth__brackets_skip_space(open + 1, p->end);
    if (label < p->end && *label == ')') return fail_at(p, open, "an empty bracket", err);
    p->at = lth__brackets_skip_word(label, p->end);
    if (p->trace == 0 && is_trace(p, label, p->at)) p->trace = p->depth;
    return LTH_OK;
}

static lth_status close_bracket(parser *p, lth_error *err) {
    const char *close = p->at++;
    if (p->depth == 0) return fail_at(p, close, "a ) without its (", err);
    bracket b = p->stack[--p->depth];
    p->complete = p->depth == 0;
    if (p->trace > 0) {
        if (p->depth < p->trace) p->trace = 0;
        return LTH_OK;
    }
    const char *label = lth__brackets_skip_space(b.open + 1, close),
               *end = lth__brackets_skip_word(label, close);
    bool was_leaf = lth__brackets_skip_space(end, close) == close;
    if (b.children == 0 && !was_leaf) return LTH_OK;
    if (label == end && p->complete) {
        static const char root[] = "ROOT";
        if (b.children == 1) return LTH_OK; /* its child is the root */
        return add_node(p, root, root + sizeof root - 1, b.children, b.open, p->at, err);
    }
    return add_node(p, label, end, b.children, b.open, p->at, err);
}

static lth_status take_word(parser *p, lth_error *err) {
    const char *word = p->at;
    if (p->depth == 0)
        return fail_at(p, word, p->complete ? "text after the tree" : "a tree begins with (", err);
    p->at = lth__brackets_skip_word(word, p->end);
    if (p->trace > 0 || is_trace(p, word, p->at)) return LTH_OK;
    return add_node(p, word, p->at, 0, word, p->at, err);
}

/* ---- The tree ------------------------------------------------------------------------------- */

/* In (((S ...))) the child of the root has no label either. */
static lth_status settle_root(parser *p, lth_error *err) {
    lth__tree *tree = p->tree;
    for (; tree->count > 0; tree->count--) {
        lth__tree_node *root = &tree->nodes[tree->count - 1];
        size_t length;
        lth__symbols_text(p->labels, root->label, &length);
        if (length > 0) return LTH_OK;
        if (root->children == 1) continue;
        root->label = lth__symbols_intern(p->labels, "ROOT", 4);
        return root->label == LTH__NO_SYMBOL ? lth__fail_memory(err, 0) : LTH_OK;
    }
    return LTH_OK;
}

static lth_status parse(parser *p, lth_error *err) {
    for (;;) {
        p->at = lth__brackets_skip_space(p->at, p->end);
        if (p->at == p->end) break;
        switch (*p->at) {
        case '(': LTH_TRY(open_bracket(p, err)); break;
        case ')': LTH_TRY(close_bracket(p, err)); break;
        default: LTH_TRY(take_word(p, err)); break;
        }
    }
    if (p->depth > 0)
        return fail_at(p, p->stack[p->depth - 1].open, "this bracket is never closed", err);
    return settle_root(p, err);
}

lth_status lth__tree_read_brackets(const char *text, size_t length, unsigned strip,
                                   lth__symbols *labels, lth__tree *out, lth_error *err) {
    parser p = {.text = text,
                .at = text,
                .end = text + length,
                .strip_tags = strip & LTH__STRIP_TAGS,
                .strip_traces = strip & LTH__STRIP_TRACES,
                .labels = labels,
                .tree = out};
    lth_status status = parse(&p, err);
    lth__free(p.stack);
    lth__string_free(&p.word);
    return status;
}

/* CoNLL-U: one sentence, a line of ten fields for each word, turned into a tree in one of two
 * shapes (Croce, Moschitti and Basili, 2011). For "Dogs bark":
 *     GRCT  (root (nsubj (NNS Dogs)) (VBP bark))
 *     LCT   (bark (Dogs nsubj NNS) root VBP)
 * Where a TSV cell cannot hold line ends and tabs, they are written \n and \t. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/tree_reader.h"

enum { ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC, FIELDS };
static const char *const field_names[FIELDS] = {"ID",    "FORM", "LEMMA",  "UPOS", "XPOS",
                                                "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"};

typedef struct span {
    const char *text;
    size_t length;
} span;

typedef struct word {
    span form, tag, relation;
    const char *head_text; /* for the place of a mistake */
    uint32_t head, dependents;
    uint32_t first, next; /* its first dependent, the next one of its head; 0 = none */
    uint32_t visitor;     /* the word from which check_cycles() came here first      */
} word;

/* Words have their ID as index; words[0] stands above the root. */
typedef struct sentence {
    span text;
    word *words;
    size_t count, capacity;
    bool ended;
    lth__string expanded;
} sentence;

/* ---- Places --------------------------------------------------------------------------------- */

/* The line and column are counted only now, so that reading stays linear. */
LTH_PRINTF(4, 5)
static lth_status fail(const sentence *s, const char *at, lth_error *err, const char *format, ...) {
    char message[sizeof err->message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    size_t number = 1;
    const char *line = s->text.text, *end;
    while ((end = memchr(line, '\n', (size_t)(at - line)))) {
        line = end + 1;
        number++;
    }
    size_t column = lth__utf8_count(line, (size_t)(at - line)) + 1;
    return lth__fail_at(err, LTH_EFORMAT, NULL, number, column, "%s", message);
}

/* Bytes of a field that fit in a message, cut between characters. */
static int shown(span field) {
    size_t most = 32;
    if (field.length <= most) return (int)field.length;
    while (most > 0 && ((unsigned char)field.text[most] & 0xC0) == 0x80) most--;
    return (int)most;
}

/* ---- Lines ---------------------------------------------------------------------------------- */

static lth_status split(const sentence *s, span line, span fields[FIELDS], lth_error *err) {
    const char *at = line.text, *end = at + line.length, *wrong = end, *tab;
    size_t count = 0;
    do {
        tab = memchr(at, '\t', (size_t)(end - at));
        if (count < FIELDS)
            fields[count] = (span){at, (size_t)((tab ? tab : end) - at)};
        else if (count == FIELDS)
            wrong = at;
        count++;
        if (tab) at = tab + 1;
    } while (tab);
    if (count != FIELDS)
        return fail(s, wrong, err, "%zu field%s where CoNLL-U has %d", count, count == 1 ? "" : "s",
                    FIELDS);
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].length == 0)
            return fail(s, fields[i].text, err, "the field %s is empty; write _", field_names[i]);
    return LTH_OK;
}

/* A whole number; one too large for any sentence becomes UINT32_MAX. */
static bool parse_number(span field, uint32_t *out) {
    uint64_t value = 0;
    for (size_t i = 0; i < field.length; i++) {
        if (field.text[i] < '0' || field.text[i] > '9') return false;
        value = 10 * value + (uint64_t)(field.text[i] - '0');
        if (value > UINT32_MAX) value = UINT32_MAX;
    }
    *out = (uint32_t)value;
    return field.length > 0;
}

/* 3-4, a multiword token, or 8.1, an empty node. */
static bool is_between(span id) {
    size_t left = 0;
    uint32_t number;
    while (left < id.length && id.text[left] != '-' && id.text[left] != '.') left++;
    return left < id.length && parse_number((span){id.text, left}, &number) &&
           parse_number((span){id.text + left + 1, id.length - left - 1}, &number);
}

static bool is_blank_field(span field) {
    return field.length == 1 && field.text[0] == '_';
}

static lth_status add_word(sentence *s, const span fields[FIELDS], lth_error *err) {
    uint32_t head;
    if (!parse_number(fields[HEAD], &head))
        return fail(s, fields[HEAD].text, err, "the head is \"%.*s\"; a number is needed",
                    shown(fields[HEAD]), fields[HEAD].text);
    if (!lth__reserve((void **)&s->words, &s->capacity, s->count + 1, sizeof *s->words))
        return lth__fail_memory(err, 0);
    s->words[s->count++] = (word){.form = fields[FORM],
                                  .tag = fields[is_blank_field(fields[XPOS]) ? UPOS : XPOS],
                                  .relation = fields[DEPREL],
                                  .head_text = fields[HEAD].text,
                                  .head = head};
    return LTH_OK;
}

static lth_status take_line(sentence *s, span line, lth_error *err) {
    span fields[FIELDS], id;
    uint32_t number;
    if (s->ended) return fail(s, line.text, err, "a second sentence begins here; a cell holds one");
    LTH_TRY(split(s, line, fields, err));
    id = fields[ID];
    if (is_between(id)) return LTH_OK;
    if (!parse_number(id, &number))
        return fail(s, id.text, err, "the ID is \"%.*s\"; a number, 3-4 or 8.1 is needed",
                    shown(id), id.text);
    if (number != s->count)
        return fail(s, id.text, err, "the ID is %.*s where %zu comes next", shown(id), id.text,
                    s->count);
    return add_word(s, fields, err);
}

bool lth__conllu_blank(const char *line, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (line[i] != ' ' && line[i] != '\t') return false;
    return true;
}

static lth_status take_lines(sentence *s, lth_error *err) {
    const char *at = s->text.text, *end = at + s->text.length;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        span line = {at, (size_t)((newline ? newline : end) - at)};
        at = newline ? newline + 1 : end;
        if (line.length > 0 && line.text[line.length - 1] == '\r') line.length--;
        if (lth__conllu_blank(line.text, line.length))
            s->ended = s->count > 1;
        else if (line.text[0] != '#')
            LTH_TRY(take_line(s, line, err));
    }
    return LTH_OK;
}

/* ---- Heads ---------------------------------------------------------------------------------- */

static lth_status check_heads(const sentence *s, lth_error *err) {
    size_t root = 0;
    for (size_t i = 1; i < s->count; i++) {
        const word *w = &s->words[i];
        if (w->head >= s->count)
            return fail(s, w->head_text, err,
                        "the head of word %zu does not exist: there %s %zu word%s", i,
                        s->count == 2 ? "is" : "are", s->count - 1, s->count == 2 ? "" : "s");
        if (w->head > 0) continue;
        if (root > 0)
            return fail(s, w->head_text, err, "a second root: word %zu has head 0 already", root);
        root = i;
    }
    if (s->count > 1 && root == 0)
        return fail(s, s->words[1].head_text, err, "no root: a word with head 0 is needed");
    return LTH_OK;
}

static lth_status check_cycles(const sentence *s, lth_error *err) {
    for (uint32_t i = 1; i < s->count; i++) {
        uint32_t at = i;
        for (; at > 0 && s->words[at].visitor == 0; at = s->words[at].head)
            s->words[at].visitor = i;
        if (at > 0 && s->words[at].visitor == i)
            return fail(s, s->words[at].head_text, err,
                        "the heads run in a circle through word %zu", (size_t)at);
    }
    return LTH_OK;
}

static void link_dependents(sentence *s) {
    for (uint32_t i = (uint32_t)s->count; i-- > 1;) {
        word *head = &s->words[s->words[i].head];
        s->words[i].next = head->first;
        head->first = i;
        head->dependents++;
    }
}

/* ---- The sentence --------------------------------------------------------------------------- */

/* Put real line ends and tabs in the place of \n and \t. */
static lth_status expand(sentence *s, lth_error *err) {
    const char *at = s->text.text, *end = at + s->text.length, *slash;
    if (memchr(at, '\n', s->text.length) || memchr(at, '\t', s->text.length)) return LTH_OK;
    while ((slash = memchr(at, '\\', (size_t)(end - at)))) {
        bool escape = end - slash > 1 && (slash[1] == 'n' || slash[1] == 't');
        lth__string_append(&s->expanded, at, (size_t)(slash - at));
        lth__string_append(&s->expanded, !escape ? "\\" : slash[1] == 'n' ? "\n" : "\t", 1);
        at = slash + (escape ? 2 : 1);
    }
    if (at == s->text.text) return LTH_OK;
    lth__string_append(&s->expanded, at, (size_t)(end - at));
    if (s->expanded.failed) return lth__fail_memory(err, s->text.length);
    s->text = (span){s->expanded.bytes, s->expanded.length};
    return LTH_OK;
}

static lth_status read_sentence(sentence *s, lth_error *err) {
    LTH_TRY(lth__tree_check_length(s->text.length, err));
    if (!lth__reserve((void **)&s->words, &s->capacity, 1, sizeof *s->words))
        return lth__fail_memory(err, 0);
    s->words[s->count++] = (word){0};
    LTH_TRY(expand(s, err));
    LTH_TRY(take_lines(s, err));
    LTH_TRY(check_heads(s, err));
    LTH_TRY(check_cycles(s, err));
    link_dependents(s);
    return LTH_OK;
}

static void free_sentence(sentence *s) {
    lth__free(s->words);
    lth__string_free(&s->expanded);
}

lth_status lth__conllu_check(const char *text, size_t length, lth_error *err) {
    sentence s = {.text = {text, length}};
    lth_status status = read_sentence(&s, err);
    free_sentence(&s);
    return status;
}

/* ---- The tree ------------------------------------------------------------------------------- */

typedef struct shape {
    lth__tree_format format;
    bool strip_tags;
    lth__symbols *labels;
    lth__tree *tree;
} shape;

static lth_status add(const shape *to, span label, uint32_t children, lth_error *err) {
    return lth__tree_add(to->tree, to->labels, label.text, label.length, children, err);
}

static span relation_of(const shape *to, const word *w) {
    span relation = w->relation;
    if (to->strip_tags) relation.length = lth__label_cut(relation.text, relation.length, ":");
    return relation;
}

static lth_status add_centre(const shape *to, const word *w, lth_error *err) {
    LTH_TRY(add(to, w->form, 0, err));
    return add(to, w->tag, 1, err);
}

static lth_status add_top(const shape *to, const word *w, lth_error *err) {
    if (to->format == LTH__TREE_GRCT) return add(to, relation_of(to, w), w->dependents + 1, err);
    LTH_TRY(add(to, relation_of(to, w), 0, err));
    LTH_TRY(add(to, w->tag, 0, err));
    return add(to, w->form, w->dependents + 2, err);
}

/* Heads and next dependents lead through the whole tree without a stack. */
static lth_status add_words(const shape *to, const word *words, lth_error *err) {
    uint32_t at = words[0].first, done = 0; /* `done`: the dependent just left, 0 = none */
    while (at > 0) {
        uint32_t next = done > 0 ? words[done].next : words[at].first;
        bool at_own_place = done < at && (next == 0 || next > at);
        if (to->format == LTH__TREE_GRCT && at_own_place) LTH_TRY(add_centre(to, &words[at], err));
        done = 0;
        if (next == 0) {
            LTH_TRY(add_top(to, &words[at], err));
            done = at;
            next = words[at].head;
        }
        at = next;
    }
    return LTH_OK;
}

lth_status lth__tree_read_conllu(const char *text, size_t length, lth__tree_format format,
                                 unsigned strip, lth__symbols *labels, lth__tree *out,
                                 lth_error *err) {
    shape to = {format, strip & LTH__STRIP_TAGS, labels, out};
    sentence s = {.text = {text, length}};
    lth_status status = read_sentence(&s, err);
    if (status == LTH_OK) status = add_words(&to, s.words, err);
    free_sentence(&s);
    return status;
}

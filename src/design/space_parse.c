/* The grammar of spaces:
 *
 *     RULE ((","|blank)+ RULE)*        RULE: NAME "=" VALUE, or "from" VALUE
 *
 * A comma or a blank ends a value only where another rule follows, so that lists and regular
 * expressions need no quotes; a value in quotes ends with them. */
#include "design/space_parse.h"

#include <string.h>

typedef struct rule_name {
    const char *name;
    lth__rule_kind kind;
    bool often; /* may be given several times */
} rule_name;

/* In the order of the kinds; other names for them come last. */
static const rule_name names[] = {
    {"alphabet", LTH__RULE_ALPHABET, false},
    {"tokens", LTH__RULE_TOKENS, false},
    {"from", LTH__RULE_FROM, false},
    {"first", LTH__RULE_FIRST, false},
    {"sites", LTH__RULE_SITES, false},
    {"length", LTH__RULE_LENGTH, false},
    {"max-mutations", LTH__RULE_MUTATIONS, false},
    {"allow", LTH__RULE_ALLOW, false},
    {"forbid", LTH__RULE_FORBID, true},
    {"motif", LTH__RULE_MOTIF, true},
    {"pairs", LTH__RULE_ALLOW, false},
};
enum { NAMES = sizeof names / sizeof *names };

static const char *name_at(const void *user, size_t i) {
    (void)user;
    return i < NAMES ? names[i].name : NULL;
}

/* ---- Where rules begin and end ---- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_apart(char c) {
    return c == ',' || is_blank(c);
}

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

static const char *skip_blanks(const char *at) {
    while (is_blank(*at)) at++;
    return at;
}

/* The value of the rule that begins here, and how long its name is; NULL = none does. A name of one
 * letter is none: "C=C" is a molecule. */
static const char *value_after_name(const char *at, size_t *length) {
    *length = 0;
    while (is_name(at[*length])) ++*length;
    const char *after = skip_blanks(at + *length);
    if (*length > 1 && *after == '=') return skip_blanks(after + 1);
    bool bare_from = *length == 4 && memcmp(at, "from", 4) == 0 && is_blank(at[4]) && *after;
    return bare_from ? after : NULL;
}

/* Where the value that begins here ends. */
static const char *end_of_value(const char *at) {
    while (*at) {
        const char *next = at;
        size_t length;
        while (is_apart(*next)) next++;
        if (next > at && (!*next || value_after_name(next, &length))) return at;
        at = next + (next == at);
    }
    return at;
}

/* ---- Rules ---- */

typedef struct reader {
    const char *text, *at;
    lth_error *err;
    const char *counted; /* up to where columns were counted, and how many */
    size_t columns;
} reader;

/* Places are asked for from left to right: counting goes on from the last. */
static size_t column_of(reader *r, const char *at) {
    if (at < r->counted) r->counted = r->text, r->columns = 0;
    r->columns += lth__utf8_count(r->counted, (size_t)(at - r->counted));
    r->counted = at;
    return r->columns + 1;
}

static lth_status fail_no_rule(reader *r, size_t length) {
    char word[64];
    size_t shown = length < sizeof word ? length : sizeof word - 1;
    memcpy(word, r->at, shown);
    word[shown] = '\0';
    const char *meant = lth_nearest(word, name_at, NULL);
    if (meant && strcmp(meant, word) == 0)
        return lth__fail_at(r->err, LTH_EFORMAT, NULL, 0, column_of(r, r->at),
                            "%s wants a value: %s=...", meant, meant);
    if (meant)
        return lth__fail_at(r->err, LTH_EFORMAT, NULL, 0, column_of(r, r->at),
                            "there is no rule \"%s\"; did you mean \"%s\"?", word, meant);
    return lth__fail_at(r->err, LTH_EFORMAT, NULL, 0, column_of(r, r->at),
                        "there is no rule \"%s\"; rules are alphabet=, tokens=, from=, first=, "
                        "sites=, length=, max-mutations=, allow=, forbid=, motif=",
                        word);
}

/* The value in quotes from r->at on. */
static lth_status take_quoted(reader *r, lth__rule *rule) {
    const char *end = strchr(r->at + 1, *r->at);
    if (!end)
        return lth__fail_at(r->err, LTH_EFORMAT, NULL, 0, column_of(r, r->at),
                            "the quote is not closed");
    rule->value = r->at + 1;
    rule->length = (size_t)(end - rule->value);
    r->at = end + 1;
    if (*r->at && !is_apart(*r->at))
        return lth__fail_at(r->err, LTH_EFORMAT, NULL, 0, column_of(r, r->at),
                            "expected a comma or the end after the quote");
    return LTH_OK;
}

static lth_status take_rule(reader *r, lth__rule *rule, bool *often) {
    size_t length, i = 0;
    const char *value = value_after_name(r->at, &length);
    while (i < NAMES && (strlen(names[i].name) != length || memcmp(names[i].name, r->at, length)))
        i++;
    if (i == NAMES || !value) {
        if (length == 0) length = strcspn(r->at, ", \t\r\n");
        return fail_no_rule(r, length);
    }
    *often = names[i].often;
    rule->kind = names[i].kind;
    r->at = value;
    rule->column = column_of(r, value);
    if (*value == '"' || *value == '\'') {
        rule->column++;
        LTH_TRY(take_quoted(r, rule));
    } else {
        r->at = end_of_value(value);
        rule->value = value;
        rule->length = (size_t)(r->at - value);
    }
    if (rule->length == 0)
        return lth__fail_at(r->err, LTH_EFORMAT, NULL, 0, rule->column, "%s has no value",
                            names[i].name);
    return LTH_OK;
}

static lth_status read_rules(reader *r, lth__rules *out) {
    for (;;) {
        while (is_apart(*r->at)) r->at++;
        if (!*r->at) return LTH_OK;
        lth__rule rule;
        bool often = false;
        const char *name = r->at;
        LTH_TRY(take_rule(r, &rule, &often));
        if (!often && lth__rules_find(out, rule.kind))
            return lth__fail_at(r->err, LTH_EFORMAT, NULL, 0, column_of(r, name),
                                "%s is given twice", names[rule.kind].name);
        if (!lth__reserve((void **)&out->rules, &out->capacity, out->count + 1, sizeof rule))
            return lth__fail_memory(r->err, 0);
        out->rules[out->count++] = rule;
    }
}

lth_status lth__rules_read(const char *text, lth__rules *out, lth_error *err) {
    size_t length = strlen(text), bad = lth__utf8_check(text, length);
    if (bad < length)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, lth__utf8_count(text, bad) + 1,
                            "this is not valid UTF-8");
    *out = (lth__rules){0};
    reader r = {.text = text, .at = text, .err = err, .counted = text};
    lth_status status = read_rules(&r, out);
    if (status == LTH_OK && out->count == 0)
        status = lth__fail_at(err, LTH_EFORMAT, NULL, 0, 1, "a space needs a rule: length=8");
    if (status != LTH_OK) lth__rules_free(out);
    return status;
}

void lth__rules_free(lth__rules *rules) {
    lth__free(rules->rules);
    *rules = (lth__rules){0};
}

const lth__rule *lth__rules_find(const lth__rules *rules, lth__rule_kind kind) {
    for (size_t i = 0; i < rules->count; i++)
        if (rules->rules[i].kind == kind) return &rules->rules[i];
    return NULL;
}

/* ---- Numbers ---- */

typedef struct cursor {
    const lth__rule *rule;
    size_t at;
} cursor;

static lth_status fail_number(const cursor *c, const char *wanted, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0,
                        c->rule->column + lth__utf8_count(c->rule->value, c->at), "expected %s",
                        wanted);
}

static bool is_digit(const cursor *c) {
    return c->at < c->rule->length && c->rule->value[c->at] >= '0' && c->rule->value[c->at] <= '9';
}

/* At most 9 digits, with a minus. */
static lth_status take_number(cursor *c, long *out, lth_error *err) {
    cursor begin = *c;
    bool minus = c->at < c->rule->length && c->rule->value[c->at] == '-';
    c->at += minus;
    size_t digits = 0;
    long number = 0;
    for (; is_digit(c); c->at++)
        if (++digits < 10) number = number * 10 + (c->rule->value[c->at] - '0');
    if (digits == 0 || digits > 9) return fail_number(&begin, "a whole number", err);
    *out = minus ? -number : number;
    return LTH_OK;
}

static bool take_dots(cursor *c) {
    bool dots = c->at + 1 < c->rule->length && memcmp(c->rule->value + c->at, "..", 2) == 0;
    c->at += dots ? 2 : 0;
    return dots;
}

static lth_status take_range(cursor *c, long *from, long *to, lth_error *err) {
    cursor begin = *c;
    LTH_TRY(take_number(c, from, err));
    *to = *from;
    if (take_dots(c)) LTH_TRY(take_number(c, to, err));
    if (*to < *from) return fail_number(&begin, "a range that goes up, such as 5..12", err);
    return LTH_OK;
}

lth_status lth__rule_range(const lth__rule *rule, long least, long most, long *from, long *to,
                           lth_error *err) {
    cursor c = {.rule = rule};
    LTH_TRY(take_range(&c, from, to, err));
    if (c.at < rule->length) return fail_number(&c, "a number, or a range such as 5..12", err);
    if (*from < least || *to > most)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, rule->column, "%s must be from %ld to %ld",
                            names[rule->kind].name, least, most);
    return LTH_OK;
}

lth_status lth__rule_number(const lth__rule *rule, long least, long most, long *out,
                            lth_error *err) {
    cursor c = {.rule = rule};
    LTH_TRY(take_number(&c, out, err));
    if (c.at < rule->length) return fail_number(&c, "a whole number and no more", err);
    if (*out < least || *out > most)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, rule->column, "%s must be from %ld to %ld",
                            names[rule->kind].name, least, most);
    return LTH_OK;
}

lth_status lth__rule_numbers(const lth__rule *rule, long **out, size_t *count, lth_error *err) {
    size_t capacity = 0;
    cursor c = {.rule = rule};
    while (c.at < rule->length) {
        long from = 0, to = 0;
        cursor begin = c;
        LTH_TRY(take_range(&c, &from, &to, err));
        if (to - from >= LTH__LONGEST_TEXT || *count + (size_t)(to - from) >= LTH__LONGEST_TEXT)
            return fail_number(&begin, "fewer numbers", err);
        if (!lth__reserve((void **)out, &capacity, *count + (size_t)(to - from) + 1, sizeof **out))
            return lth__fail_memory(err, 0);
        for (long i = from; i <= to; i++) (*out)[(*count)++] = i;
        size_t before = c.at;
        while (c.at < rule->length && is_apart(rule->value[c.at])) c.at++;
        if (c.at == before && c.at < rule->length)
            return fail_number(&c, "a comma or a range such as 39..45", err);
    }
    return LTH_OK;
}

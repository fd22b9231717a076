/* From rules to a space: each rule in turn, in an order in which none needs a later one. */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/file.h"
#include "design/pattern_size.h"
#include "design/space_parse.h"

typedef struct maker {
    lth_space *space;
    lth__rules rules;
    long first;
    lth_error *err;
} maker;

static lth_status contradiction(const maker *m, const lth__rule *rule, const char *message) {
    return lth__fail_at(m->err, LTH_EARG, NULL, 0, rule->column, "%s", message);
}

static bool is_word(const lth__rule *rule, const char *word) {
    return rule->length == strlen(word) && memcmp(rule->value, word, rule->length) == 0;
}

/* ---- Alphabets ---- */

static const struct {
    const char *name, *letters;
} kinds[] = {
    {"dna", "ACGT"}, {"rna", "ACGU"}, {"protein", "ACDEFGHIKLMNPQRSTVWY"}, {"smiles", NULL}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *kind_at(const void *user, size_t i) {
    (void)user;
    return i < KINDS ? kinds[i].name : NULL;
}

static lth_status add_letters(const maker *m, const char *text, size_t length) {
    for (size_t at = 0, unit; at < length; at += unit) {
        unit = lth__space_unit(m->space, text + at, length - at);
        LTH_TRY(lth__space_add(m->space, text + at, unit, m->err));
    }
    return LTH_OK;
}

/* Letters one after the other, or apart. */
static lth_status take_letters(const maker *m, const lth__rule *rule) {
    for (size_t at = 0, unit; at < rule->length; at += unit) {
        const char *text = rule->value + at;
        unit = 1;
        if (*text == ' ' || *text == ',') continue;
        unit = lth__space_unit(m->space, text, rule->length - at);
        size_t column = rule->column + lth__utf8_count(rule->value, at);
        if (unit == 0)
            return lth__fail_at(m->err, LTH_EFORMAT, NULL, 0, column, "the bracket is not closed");
        if (lth__space_letter(m->space, text, unit) != LTH__NO_LETTER)
            return lth__fail_at(m->err, LTH_EFORMAT, NULL, 0, column,
                                "the letter \"%.*s\" is twice in the alphabet", (int)unit, text);
        LTH_TRY(lth__space_add(m->space, text, unit, m->err));
    }
    if (lth__symbols_count(m->space->alphabet) > 0) return LTH_OK;
    return lth__fail_at(m->err, LTH_EFORMAT, NULL, 0, rule->column, "the alphabet has no letters");
}

/* Words of five letters or more are likelier to be a name than an alphabet. */
static lth_status check_spelling(const maker *m, const lth__rule *rule) {
    char word[16];
    if (rule->length < 5 || rule->length >= sizeof word) return LTH_OK;
    memcpy(word, rule->value, rule->length);
    word[rule->length] = '\0';
    for (const char *c = word; *c; c++)
        if (*c < 'a' || *c > 'z') return LTH_OK;
    const char *meant = lth_nearest(word, kind_at, NULL);
    if (!meant) return LTH_OK;
    return lth__fail_at(m->err, LTH_EFORMAT, NULL, 0, rule->column,
                        "there is no alphabet \"%s\"; did you mean \"%s\"?", word, meant);
}

static lth_status make_alphabet(maker *m) {
    lth_space *s = m->space;
    const lth__rule *tokens = lth__rules_find(&m->rules, LTH__RULE_TOKENS);
    const lth__rule *rule = lth__rules_find(&m->rules, LTH__RULE_ALPHABET);
    s->smiles = tokens && is_word(tokens, "smiles");
    if (tokens && !s->smiles && !is_word(tokens, "letters"))
        return lth__fail_at(m->err, LTH_EFORMAT, NULL, 0, tokens->column,
                            "tokens is \"letters\" or \"smiles\"");
    s->open = !rule;
    for (size_t k = 0; rule && k < KINDS; k++) {
        if (!is_word(rule, kinds[k].name)) continue;
        if (kinds[k].letters) return add_letters(m, kinds[k].letters, strlen(kinds[k].letters));
        s->open = s->smiles = true;
        return LTH_OK;
    }
    if (!rule) return LTH_OK;
    LTH_TRY(check_spelling(m, rule));
    return take_letters(m, rule);
}

/* The letters of the kind that a sequence seems to be of, else its own. */
static lth_status guess_alphabet(const maker *m) {
    lth_space *s = m->space;
    s->open = false;
    for (size_t k = 0; k < KINDS && kinds[k].letters; k++)
        if (strspn(s->from, kinds[k].letters) == s->from_bytes)
            return add_letters(m, kinds[k].letters, strlen(kinds[k].letters));
    return add_letters(m, s->from, s->from_bytes);
}

/* ---- The start ---- */

/* The first record of a FASTA file, or all of a plain one, without blanks. */
static lth_status read_sequence(const maker *m, lth__input *in, lth__string *out) {
    const char *line;
    size_t length;
    bool any = false, ended = false;
    for (;;) {
        LTH_TRY(lth__input_line(in, &line, &length, m->err));
        if (!line) break;
        ended = ended || (any && length > 0 && line[0] == '>');
        any = any || length > 0;
        if (ended || (length > 0 && line[0] == '>')) continue;
        size_t bad = lth__utf8_check(line, length);
        if (bad < length)
            return lth__fail_at(m->err, LTH_EFORMAT, lth__input_name(in),
                                lth__input_line_number(in), bad + 1, "this is not valid UTF-8");
        for (size_t i = 0; i < length; i++)
            if (!strchr(" \t\r", line[i])) lth__string_append(out, line + i, 1);
    }
    if (out->failed) return lth__fail_memory(m->err, 0);
    if (out->length > 0) return LTH_OK;
    return lth__fail_at(m->err, LTH_EFORMAT, lth__input_name(in), 0, 0, "it has no sequence");
}

static bool is_sequence(const maker *m, const lth__rule *rule) {
    lth_space *s = m->space;
    for (size_t at = 0, unit; at < rule->length; at += unit) {
        unit = lth__space_unit(s, rule->value + at, rule->length - at);
        if (unit == 0) return false;
        char c = rule->value[at];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c & 0x80);
        if (s->open ? !letter && !s->smiles && !strchr("*-", c)
                    : lth__space_letter(s, rule->value + at, unit) == LTH__NO_LETTER)
            return false;
    }
    return true;
}

static lth_status read_start(const maker *m, const lth__rule *rule) {
    lth_error why = {0};
    lth__input *in;
    lth__string text = {0};
    char *path = lth__strndup(rule->value, rule->length);
    if (!path) return lth__fail_memory(m->err, rule->length);
    lth_status status = lth__input_open(m->space->ctx->relay, path, &in, &why);
    lth__free(path);
    if (status == LTH_ENOMEM) return lth__fail_memory(m->err, 0);
    if (status == LTH_OK) {
        status = read_sequence(m, in, &text);
        lth__input_close(in);
    } else if (is_sequence(m, rule)) {
        lth__string_append(&text, rule->value, rule->length);
        status = text.failed ? lth__fail_memory(m->err, rule->length) : LTH_OK;
    } else {
        status = lth__fail_at(m->err, LTH_EFORMAT, NULL, 0, rule->column,
                              "from is no sequence of the alphabet, and no file: %s", why.message);
    }
    if (status != LTH_OK) {
        lth__string_free(&text);
        return status;
    }
    m->space->from = text.bytes;
    m->space->from_bytes = text.length;
    return LTH_OK;
}

static lth_status encode_start(const maker *m, const lth__rule *rule) {
    lth_space *s = m->space;
    size_t most = lth__utf8_count(s->from, s->from_bytes);
    if (most > LTH__LONGEST_TEXT) return contradiction(m, rule, "from is too long");
    s->start = lth__alloc(most, sizeof *s->start);
    if (!s->start) return lth__fail_memory(m->err, most * sizeof *s->start);
    for (size_t at = 0, unit; at < s->from_bytes; at += unit) {
        unit = lth__space_unit(s, s->from + at, s->from_bytes - at);
        lth__letter letter = unit > 0 ? lth__space_letter(s, s->from + at, unit) : LTH__NO_LETTER;
        if (letter == LTH__NO_LETTER)
            return lth__fail_at(m->err, LTH_EARG, NULL, 0, rule->column,
                                "letter %zu of from is \"%.*s\", which is not in the alphabet",
                                s->start_length + 1, (int)(unit > 0 ? unit : 1), s->from + at);
        s->start[s->start_length++] = letter;
    }
    return LTH_OK;
}

static lth_status make_start(maker *m) {
    lth_space *s = m->space;
    const lth__rule *rule = lth__rules_find(&m->rules, LTH__RULE_FROM);
    const lth__rule *first = lth__rules_find(&m->rules, LTH__RULE_FIRST);
    m->first = 1;
    if (first) LTH_TRY(lth__rule_number(first, -1000000, 1000000, &m->first, m->err));
    if (!rule)
        return first ? contradiction(m, first, "first is the number of a letter: say from=")
                     : LTH_OK;
    LTH_TRY(read_start(m, rule));
    if (s->open && s->smiles) {
        for (size_t at = 0, unit; at < s->from_bytes; at += unit) {
            unit = lth__space_unit(s, s->from + at, s->from_bytes - at);
            if (unit == 0) break;
            LTH_TRY(lth__space_add(s, s->from + at, unit, m->err));
        }
    } else if (s->open) {
        LTH_TRY(guess_alphabet(m));
    }
    return encode_start(m, rule);
}

/* ---- Places ---- */

static lth_status mark_sites(const maker *m, const lth__rule *rule, const long *sites,
                             size_t count) {
    lth_space *s = m->space;
    long last = m->first + (long)s->start_length - 1;
    s->varies = lth__calloc(s->start_length, sizeof *s->varies);
    s->sites = lth__alloc(count, sizeof *s->sites);
    if (!s->varies || !s->sites) return lth__fail_memory(m->err, s->start_length);
    for (size_t i = 0; i < count; i++) {
        if (sites[i] < m->first || sites[i] > last)
            return lth__fail_at(m->err, LTH_EARG, NULL, 0, rule->column,
                                "site %ld is outside of from, which has %ld to %ld", sites[i],
                                m->first, last);
        bool *varies = &s->varies[sites[i] - m->first];
        if (*varies)
            return lth__fail_at(m->err, LTH_EARG, NULL, 0, rule->column, "site %ld is given twice",
                                sites[i]);
        *varies = true;
        s->sites[s->site_count++] = (size_t)(sites[i] - m->first);
    }
    return LTH_OK;
}

static lth_status make_sites(maker *m, size_t *length) {
    const lth__rule *rule = lth__rules_find(&m->rules, LTH__RULE_SITES);
    *length = m->space->start_length;
    if (!rule) return LTH_OK;
    long *sites = NULL;
    size_t count = 0;
    lth_status status = lth__rule_numbers(rule, &sites, &count, m->err);
    if (status == LTH_OK && m->space->start) status = mark_sites(m, rule, sites, count);
    if (!m->space->start) *length = count;
    lth__free(sites);
    return status;
}

/* `fixed` letters, as sites or from have it; 0 = that many as there are said to be. */
static lth_status make_length(maker *m, size_t fixed) {
    lth_space *s = m->space;
    const lth__rule *rule = lth__rules_find(&m->rules, LTH__RULE_LENGTH);
    bool has_sites = lth__rules_find(&m->rules, LTH__RULE_SITES) != NULL;
    s->shortest = s->longest = fixed;
    if (!rule) return LTH_OK;
    long from, to;
    LTH_TRY(lth__rule_range(rule, 1, LTH__LONGEST_TEXT, &from, &to, m->err));
    s->shortest = (size_t)from;
    s->longest = (size_t)to;
    if (has_sites && (s->shortest != fixed || s->longest != fixed))
        return lth__fail_at(m->err, LTH_EARG, NULL, 0, rule->column,
                            "with these sites, texts have %zu letters", fixed);
    return LTH_OK;
}

static lth_status make_mutations(maker *m) {
    lth_space *s = m->space;
    const lth__rule *rule = lth__rules_find(&m->rules, LTH__RULE_MUTATIONS);
    s->most_mutations = SIZE_MAX;
    if (!rule) return LTH_OK;
    long most;
    LTH_TRY(lth__rule_number(rule, 1, LTH__LONGEST_TEXT, &most, m->err));
    if (!s->start) return contradiction(m, rule, "mutations are of a sequence: say from=");
    s->most_mutations = (size_t)most;
    if (s->shortest > s->start_length + s->most_mutations ||
        s->longest + s->most_mutations < s->start_length)
        return lth__fail_at(m->err, LTH_EARG, NULL, 0, rule->column,
                            "%ld mutations of %zu letters do not lead to that length", most,
                            s->start_length);
    return LTH_OK;
}

/* ---- Patterns and pairs ---- */

static lth_status add_pattern(maker *m, const lth__rule *rule) {
    lth_space *s = m->space;
    if (!lth__reserve((void **)&s->patterns, &s->pattern_capacity, s->pattern_count + 1,
                      sizeof *s->patterns))
        return lth__fail_memory(m->err, 0);
    char *text = lth__strndup(rule->value, rule->length);
    if (!text) return lth__fail_memory(m->err, rule->length);
    lth__pattern p = {.wanted = rule->kind == LTH__RULE_MOTIF};
    if (!strpbrk(text, ".[]()*+?{}|^$\\")) {
        p.literal = text;
        p.literal_length = rule->length;
        s->patterns[s->pattern_count++] = p;
        return LTH_OK;
    }
    if (lth__pattern_size(text) > LTH__PATTERN_LETTERS) {
        lth__free(text);
        return lth__fail_at(
            m->err, LTH_EFORMAT, NULL, 0, rule->column,
            "this pattern is too large: it may have %d letters, repetitions counted, "
            "and %d levels of brackets",
            LTH__PATTERN_LETTERS, LTH__PATTERN_LEVELS);
    }
    int failed = regcomp(&p.regex, text, REG_EXTENDED | REG_NOSUB);
    lth__free(text);
    if (failed) {
        char why[128];
        regerror(failed, &p.regex, why, sizeof why);
        if (failed == REG_ESPACE) return lth__fail_memory(m->err, 0);
        return lth__fail_at(m->err, LTH_EFORMAT, NULL, 0, rule->column,
                            "this is no regular expression: %s", why);
    }
    s->patterns[s->pattern_count++] = p;
    return LTH_OK;
}

static lth_status make_patterns(maker *m) {
    for (size_t i = 0; i < m->rules.count; i++) {
        const lth__rule *rule = &m->rules.rules[i];
        if (rule->kind == LTH__RULE_FORBID || rule->kind == LTH__RULE_MOTIF)
            LTH_TRY(add_pattern(m, rule));
    }
    return LTH_OK;
}

static lth_status make_pairs(maker *m) {
    lth_space *s = m->space;
    const lth__rule *rule = lth__rules_find(&m->rules, LTH__RULE_ALLOW);
    if (!rule) return LTH_OK;
    s->pairs_as_seen = is_word(rule, "seen");
    if (s->pairs_as_seen) return LTH_OK;
    static const char *const columns[] = {"from", "to"};
    lth_table_options options;
    lth_table_options_init(&options);
    options.columns = columns;
    options.column_count = 2;
    char *path = lth__strndup(rule->value, rule->length);
    if (!path) return lth__fail_memory(m->err, rule->length);
    lth_status status = lth_table_read(s->ctx, path, &options, &s->pairs, m->err);
    lth__free(path);
    return status == LTH_OK && !s->open ? lth__space_allow(s, m->err) : status;
}

static lth_status make(maker *m) {
    size_t length;
    LTH_TRY(make_alphabet(m));
    LTH_TRY(make_start(m));
    LTH_TRY(make_sites(m, &length));
    LTH_TRY(make_length(m, length));
    LTH_TRY(make_mutations(m));
    LTH_TRY(make_patterns(m));
    return make_pairs(m);
}

lth_status lth_space_parse(lth_ctx *ctx, const char *text, lth_space **out, lth_error *err) {
    if (!ctx || !text || !out)
        return lth__fail(err, LTH_EARG, "a space needs a context, rules and a place to go");
    maker m = {.err = err};
    LTH_TRY(lth__rules_read(text, &m.rules, err));
    lth_status status = lth__space_create(ctx, &m.space, err);
    if (status == LTH_OK) status = make(&m);
    lth__rules_free(&m.rules);
    if (status != LTH_OK) {
        lth_space_free(m.space);
        return status;
    }
    *out = m.space;
    return LTH_OK;
}

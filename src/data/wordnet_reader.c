/* Reading WordNet (its formats: man pages wndb and morphy).
 *
 *     noun.exc     inflected base ...
 *     index.noun   lemma pos count pointer_count pointer ... sense_count tagged_count offset ...
 *     data.noun    offset file type word_count(hex) { word id } pointer_count { pointer offset pos
 *                  words } ... | gloss
 *
 * and the same for verbs. A meaning (synset) is known by its offset in the data file. Pointers @
 * and
 * @i lead to a meaning above. Lines that begin with a blank are the licence.
 *
 * A word has the base forms that NLTK finds: those of the list of exceptions, or else the word
 * itself and what the rules of detachment make of it, as far as the index has them.
 */
#include "data/wordnet_reader.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

enum { LONGEST_WORD = 64 };

typedef struct rule {
    const char *ending, *instead;
} rule;

typedef struct part_of_speech {
    const char *exceptions, *index, *data;
    char letter;
    rule rules[10]; /* ends with ending NULL */
} part_of_speech;

static const part_of_speech parts[] = {
    {"noun.exc",
     "index.noun",
     "data.noun",
     'n',
     {{"s", ""},
      {"ses", "s"},
      {"ves", "f"},
      {"xes", "x"},
      {"zes", "z"},
      {"ches", "ch"},
      {"shes", "sh"},
      {"men", "man"},
      {"ies", "y"},
      {NULL, NULL}}},
    {"verb.exc",
     "index.verb",
     "data.verb",
     'v',
     {{"s", ""},
      {"ies", "y"},
      {"es", "e"},
      {"es", ""},
      {"ed", "e"},
      {"ed", ""},
      {"ing", "e"},
      {"ing", ""},
      {NULL, NULL}}},
};

/* One part of speech while it is read. */
typedef struct reader {
    const part_of_speech *part;
    const lth__relay *relay;
    const char *folder;
    const lth__symbols *vocabulary;
    size_t words;
    const bool *skip;
    lth__symbols *lemmas; /* base forms that some word may have           */
    lth__pairs forms;     /* word, lemma                                  */
    bool *excepted;       /* by word                                      */
    lth__pairs meanings;  /* lemma, offset; lemmas in any order           */
    uint32_t *offset;     /* of each synset of this part, ascending       */
    size_t synsets, capacity;
    lth__pairs links; /* synset of this part, offset                      */
    lth__input *in;
} reader;

static lth_status append(lth__pairs *p, size_t a, size_t b, lth_error *err) {
    if (!lth__reserve((void **)&p->at, &p->capacity, p->count + 1, sizeof *p->at))
        return lth__fail_memory(err, (p->count + 1) * sizeof *p->at);
    p->at[p->count][0] = (uint32_t)a;
    p->at[p->count++][1] = (uint32_t)b;
    return LTH_OK;
}

/* ---- Files and fields ---- */

static lth_status damaged(const reader *r, const char *what, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), lth__input_line_number(r->in), 0,
                        "this is no line of WordNet's: %s", what);
}

/* A line in hand, cut at blanks. */
typedef struct fields {
    const char *at, *end;
} fields;

static bool next_field(fields *f, const char **text, size_t *length) {
    while (f->at < f->end && *f->at == ' ') f->at++;
    *text = f->at;
    while (f->at < f->end && *f->at != ' ') f->at++;
    *length = (size_t)(f->at - *text);
    return *length > 0;
}

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

static bool next_number(fields *f, int base, size_t *out) {
    const char *text;
    size_t length, x = 0;
    if (!next_field(f, &text, &length) || length > 9) return false;
    for (size_t i = 0; i < length; i++) {
        if (digit(text[i]) >= base) return false;
        x = x * (size_t)base + (size_t)digit(text[i]);
    }
    *out = x;
    return x <= UINT32_MAX;
}

static bool skip_fields(fields *f, size_t count) {
    const char *text;
    size_t length;
    for (size_t i = 0; i < count; i++) {
        if (!next_field(f, &text, &length)) return false;
    }
    return true;
}

typedef lth_status line_fn(reader *r, fields *line, lth_error *err);

static lth_status open_file(reader *r, const char *name, lth_error *err) {
    lth__string path = {0};
    lth__string_format(&path, "%s/%s", r->folder, name);
    if (path.failed) return lth__fail_memory(err, 0);
    lth_error why = {0};
    lth_status status = lth__input_open(r->relay, path.bytes, &r->in, &why);
    if (status == LTH_EIO)
        lth__fail_at(err, LTH_EIO, path.bytes, 0, 0,
                     "%s; the semantic kernel needs WordNet 3.0: install the package "
                     "wordnet-base, or set WNSEARCHDIR to the folder of its files",
                     why.message);
    else if (status != LTH_OK && err)
        *err = why;
    lth__string_free(&path);
    return status;
}

static lth_status read_lines(reader *r, line_fn *take, lth_error *err) {
    for (;;) {
        const char *line;
        size_t length;
        LTH_TRY(lth__input_line(r->in, &line, &length, err));
        if (!line) return LTH_OK;
        fields f = {line, line + length};
        if (length > 0 && *line != ' ') LTH_TRY(take(r, &f, err));
    }
}

static lth_status read_file(reader *r, const char *name, line_fn *take, lth_error *err) {
    LTH_TRY(open_file(r, name, err));
    lth_status status = read_lines(r, take, err);
    lth__input_close(r->in);
    r->in = NULL;
    return status;
}

/* ---- Base forms ---- */

static lth_status add_form(reader *r, size_t word, const char *text, size_t length,
                           lth_error *err) {
    lth__symbol lemma = lth__symbols_intern(r->lemmas, text, length);
    if (lemma == LTH__NO_SYMBOL) return lth__fail_memory(err, 0);
    return append(&r->forms, word, lemma, err);
}

static bool is_wanted(const reader *r, lth__symbol word) {
    return word < r->words && !(r->skip && r->skip[word]);
}

static lth_status take_exception(reader *r, fields *line, lth_error *err) {
    const char *text;
    size_t length;
    if (!next_field(line, &text, &length)) return LTH_OK;
    lth__symbol word = lth__symbols_find(r->vocabulary, text, length);
    if (!is_wanted(r, word)) return LTH_OK;
    while (next_field(line, &text, &length)) LTH_TRY(add_form(r, word, text, length, err));
    r->excepted[word] = true;
    return LTH_OK;
}

static lth_status detach(reader *r, size_t word, const char *text, size_t length, lth_error *err) {
    for (const rule *x = r->part->rules; x->ending; x++) {
        char form[LONGEST_WORD + 4];
        size_t ending = strlen(x->ending), instead = strlen(x->instead);
        if (length <= ending || memcmp(text + length - ending, x->ending, ending) != 0) continue;
        memcpy(form, text, length - ending);
        memcpy(form + length - ending, x->instead, instead);
        LTH_TRY(add_form(r, word, form, length - ending + instead, err));
    }
    return LTH_OK;
}

static lth_status find_forms(reader *r, lth_error *err) {
    LTH_TRY(read_file(r, r->part->exceptions, take_exception, err));
    for (size_t word = 0; word < r->words; word++) {
        size_t length;
        const char *text = lth__symbols_text(r->vocabulary, (lth__symbol)word, &length);
        if (!is_wanted(r, (lth__symbol)word) || length > LONGEST_WORD) continue;
        LTH_TRY(add_form(r, word, text, length, err));
        if (!r->excepted[word]) LTH_TRY(detach(r, word, text, length, err));
    }
    return LTH_OK;
}

/* ---- Meanings ---- */

static lth_status take_index(reader *r, fields *line, lth_error *err) {
    const char *text;
    size_t length, count, pointers, offset;
    next_field(line, &text, &length);
    lth__symbol lemma = lth__symbols_find(r->lemmas, text, length);
    if (lemma == LTH__NO_SYMBOL) return LTH_OK;
    bool ok = skip_fields(line, 1) && next_number(line, 10, &count) &&
              next_number(line, 10, &pointers) && skip_fields(line, pointers + 2);
    for (size_t i = 0; ok && i < count; i++) {
        ok = next_number(line, 10, &offset);
        if (ok) LTH_TRY(append(&r->meanings, lemma, offset, err));
    }
    return ok ? LTH_OK : damaged(r, "LEMMA POS COUNT ... OFFSET ...", err);
}

/* One pointer: kept if it leads up. */
static bool take_pointer(reader *r, fields *line, bool *up, size_t *target) {
    const char *symbol, *pos;
    size_t length, pos_length;
    if (!next_field(line, &symbol, &length) || !next_number(line, 10, target) ||
        !next_field(line, &pos, &pos_length) || !skip_fields(line, 1))
        return false;
    bool above = *symbol == '@' && (length == 1 || (length == 2 && symbol[1] == 'i'));
    *up = above && pos_length == 1 && *pos == r->part->letter;
    return true;
}

static lth_status take_synset(reader *r, fields *line, lth_error *err) {
    size_t offset, words, pointers, target;
    bool ok = next_number(line, 10, &offset) && skip_fields(line, 2) &&
              next_number(line, 16, &words) && skip_fields(line, 2 * words) &&
              next_number(line, 10, &pointers);
    if (!ok) return damaged(r, "OFFSET FILE TYPE WORDS ... POINTERS ...", err);
    if (r->synsets > 0 && offset <= r->offset[r->synsets - 1])
        return damaged(r, "its offset does not come after the one before", err);
    for (size_t i = 0; i < pointers; i++) {
        bool up;
        if (!take_pointer(r, line, &up, &target)) return damaged(r, "a pointer is cut", err);
        if (up) LTH_TRY(append(&r->links, r->synsets, target, err));
    }
    if (!lth__reserve((void **)&r->offset, &r->capacity, r->synsets + 1, sizeof *r->offset))
        return lth__fail_memory(err, (r->synsets + 1) * sizeof *r->offset);
    r->offset[r->synsets++] = (uint32_t)offset;
    return LTH_OK;
}

static bool find_synset(const reader *r, uint32_t offset, size_t *out) {
    size_t lo = 0, hi = r->synsets;
    while (lo < hi) {
        size_t middle = (lo + hi) / 2;
        if (r->offset[middle] < offset)
            lo = middle + 1;
        else
            hi = middle;
    }
    *out = lo;
    return lo < r->synsets && r->offset[lo] == offset;
}

static lth_status no_synset(const reader *r, const char *name, uint32_t offset, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, r->folder, 0, 0,
                        "%s names meaning %08u, which %s does not have", name, offset,
                        r->part->data);
}

static lth_status add_links(const reader *r, lth__wordnet *w, lth_error *err) {
    for (size_t i = 0; i < r->links.count; i++) {
        size_t above;
        if (!find_synset(r, r->links.at[i][1], &above))
            return no_synset(r, r->part->data, r->links.at[i][1], err);
        LTH_TRY(append(&w->links, w->synsets + r->links.at[i][0], w->synsets + above, err));
    }
    return LTH_OK;
}

/* Where each lemma's meanings begin: a line of the index has all of them. */
static lth_status add_senses(const reader *r, lth__wordnet *w, lth_error *err) {
    size_t lemmas = lth__symbols_count(r->lemmas);
    size_t *first = lth__alloc(lemmas, sizeof *first);
    if (!first) return lth__fail_memory(err, lemmas * sizeof *first);
    for (size_t i = 0; i < lemmas; i++) first[i] = r->meanings.count;
    for (size_t i = r->meanings.count; i-- > 0;) first[r->meanings.at[i][0]] = i;
    lth_status status = LTH_OK;
    for (size_t k = 0; k < r->forms.count && status == LTH_OK; k++) {
        uint32_t lemma = r->forms.at[k][1];
        size_t synset, i = first[lemma];
        for (; i < r->meanings.count && r->meanings.at[i][0] == lemma && status == LTH_OK; i++) {
            if (find_synset(r, r->meanings.at[i][1], &synset))
                status = append(&w->senses, r->forms.at[k][0], w->synsets + synset, err);
            else
                status = no_synset(r, r->part->index, r->meanings.at[i][1], err);
        }
    }
    lth__free(first);
    return status;
}

static lth_status read_part(reader *r, lth__wordnet *w, lth_error *err) {
    r->lemmas = lth__symbols_create();
    r->excepted = lth__calloc(r->words, sizeof *r->excepted);
    if (!r->lemmas || !r->excepted) return lth__fail_memory(err, 0);
    LTH_TRY(find_forms(r, err));
    LTH_TRY(read_file(r, r->part->index, take_index, err));
    LTH_TRY(read_file(r, r->part->data, take_synset, err));
    LTH_TRY(add_links(r, w, err));
    LTH_TRY(add_senses(r, w, err));
    w->synsets += r->synsets;
    return LTH_OK;
}

static void free_reader(reader *r) {
    lth__symbols_free(r->lemmas);
    lth__free(r->forms.at);
    lth__free(r->excepted);
    lth__free(r->meanings.at);
    lth__free(r->offset);
    lth__free(r->links.at);
}

lth_status lth__wordnet_read(const lth__relay *relay, const char *folder,
                             const lth__symbols *vocabulary, size_t words, const bool *skip,
                             lth__wordnet *out, lth_error *err) {
    lth__wordnet w = {0};
    lth_status status = LTH_OK;
    for (size_t p = 0; p < sizeof parts / sizeof *parts && status == LTH_OK; p++) {
        reader r = {.part = &parts[p],
                    .relay = relay,
                    .folder = folder,
                    .vocabulary = vocabulary,
                    .words = words,
                    .skip = skip};
        status = read_part(&r, &w, err);
        free_reader(&r);
    }
    if (status == LTH_OK)
        *out = w;
    else
        lth__wordnet_free(&w);
    return status;
}

void lth__wordnet_free(lth__wordnet *w) {
    lth__free(w->links.at);
    lth__free(w->senses.at);
}

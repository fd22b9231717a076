/* Cutting texts into words, tokens, code points or bytes. Each code point is one of five
 * kinds; the cutting rules speak of kinds only. */
#include "data/units.h"

#include <string.h>
#include <utf8proc.h>

#include "base/parallel.h"

typedef enum kind {
    SPACE,  /* Unicode white space                                           */
    LETTER, /* letters, digits and the marks that combine with them          */
    JOINER, /* - ' . , and relatives: part of a word between two letters     */
    MARK,   /* other punctuation and symbols                                 */
    OTHER   /* control and format characters: part of the word they stand in */
} kind;

/* Code point at `text`; its length in bytes comes back. A byte that is not UTF-8 stands for itself
 * as U+FFFD, so that a caller's mistake cannot run past the end. */
static size_t decode(const char *text, size_t length, int32_t *code) {
    unsigned char first = (unsigned char)*text;
    if (first < 0x80) {
        *code = first;
        return 1;
    }
    utf8proc_ssize_t size =
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, code);
    if (size > 0) return (size_t)size;
    *code = 0xFFFD;
    return 1;
}

static kind kind_of_ascii(int32_t c) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return LETTER;
    if (c == ' ' || (c >= '\t' && c <= '\r')) return SPACE;
    if (c < ' ' || c == 0x7F) return OTHER;
    return c == '-' || c == '\'' || c == '.' || c == ',' ? JOINER : MARK;
}

static kind kind_of(int32_t c) {
    enum { NEXT_LINE = 0x85, HYPHEN = 0x2010, FIXED_HYPHEN = 0x2011, APOSTROPHE = 0x2019 };
    if (c < 0x80) return kind_of_ascii(c);
    if (c == NEXT_LINE) return SPACE;
    if (c == HYPHEN || c == FIXED_HYPHEN || c == APOSTROPHE) return JOINER;
    utf8proc_category_t category = utf8proc_category(c);
    if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO) return LETTER;
    if (category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_SO) return MARK;
    if (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP) return SPACE;
    return OTHER;
}

static kind kind_at(const char *text, size_t length) {
    int32_t code;
    if (length == 0) return SPACE;
    decode(text, length, &code);
    return kind_of(code);
}

typedef struct sink {
    lth__symbols *symbols;
    lth__symbol *items;
    size_t count, capacity;
    const char *text; /* with `wants_places` the units' places in it are wanted, and no symbols */
    lth__place *places;
    bool wants_places;
    const lth_ctx *ctx; /* NULL = it is not asked */
    bool canceled;
} sink;

enum { UNITS_TO_ASK = 1 << 16 }; /* from one question whether to go on to the next */

static bool emit_place(sink *s, const char *text, size_t length) {
    if (!lth__reserve((void **)&s->places, &s->capacity, s->count + 1, sizeof *s->places))
        return false;
    s->places[s->count++] = (lth__place){(size_t)(text - s->text), length};
    return true;
}

static bool emit(sink *s, const char *text, size_t length) {
    if (s->wants_places) return emit_place(s, text, length);
    if (s->count == s->capacity &&
        !lth__reserve((void **)&s->items, &s->capacity, s->count + 1, sizeof *s->items))
        return false;
    if (s->ctx && s->count % UNITS_TO_ASK == 0) s->canceled = lth__parallel_ask(s->ctx) != LTH_OK;
    if (s->canceled) return false;
    lth__symbol symbol = lth__symbols_intern(s->symbols, text, length);
    if (symbol == LTH__NO_SYMBOL) return false;
    s->items[s->count++] = symbol;
    return true;
}

static bool split_bytes(sink *s, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!emit(s, text + i, 1)) return false;
    return true;
}

static bool split_chars(sink *s, const char *text, size_t length) {
    int32_t code;
    for (size_t i = 0, size; i < length; i += size) {
        size = decode(text + i, length - i, &code);
        if (!emit(s, text + i, size)) return false;
    }
    return true;
}

static bool split_words(sink *s, const char *text, size_t length, bool marks_apart) {
    size_t start = 0; /* of the word in hand, which is empty when start == i */
    kind before = SPACE;
    int32_t code;
    for (size_t i = 0, size; i < length; i += size) {
        size = decode(text + i, length - i, &code);
        kind here = kind_of(code);
        bool joins = here == JOINER && before == LETTER &&
                     kind_at(text + i + size, length - i - size) == LETTER;
        bool apart = marks_apart && (here == MARK || (here == JOINER && !joins));
        before = here;
        if (here != SPACE && !apart) continue;
        if (start < i && !emit(s, text + start, i - start)) return false;
        if (apart && !emit(s, text + i, size)) return false;
        start = i + size;
    }
    return start == length || emit(s, text + start, length - start);
}

static bool split(sink *s, const char *text, size_t length, lth__units units) {
    switch (units) {
    case LTH__WORDS: return split_words(s, text, length, false);
    case LTH__TOKENS: return split_words(s, text, length, true);
    case LTH__CHARS: return split_chars(s, text, length);
    case LTH__BYTES: return split_bytes(s, text, length);
    }
    return false;
}

/* Lower-case into `out`, which has room for twice the length: no code point of one byte grows, and
 * none grows beyond four bytes. */
static size_t lower_text(const char *text, size_t length, bool ascii_only, char *out) {
    size_t used = 0;
    int32_t code;
    for (size_t i = 0, size; i < length; i += size) {
        char c = text[i];
        size = 1;
        if (ascii_only || (unsigned char)c < 0x80) {
            out[used++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
            continue;
        }
        size = decode(text + i, length - i, &code);
        int32_t lower = utf8proc_tolower(code);
        if (lower == code) {
            memcpy(out + used, text + i, size);
            used += size;
        } else {
            used += (size_t)utf8proc_encode_char(lower, (utf8proc_uint8_t *)out + used);
        }
    }
    return used;
}

lth_status lth__units_split(const char *text, size_t length, lth__units units, bool lower,
                            lth__symbols *symbols, lth__symbol **out, size_t *count,
                            size_t *capacity, lth_error *err) {
    return lth__units_split_long(NULL, text, length, units, lower, symbols, out, count, capacity,
                                 err);
}

lth_status lth__units_split_long(const lth_ctx *ctx, const char *text, size_t length,
                                 lth__units units, bool lower, lth__symbols *symbols,
                                 lth__symbol **out, size_t *count, size_t *capacity,
                                 lth_error *err) {
    sink s = {
        .symbols = symbols, .items = *out, .count = *count, .capacity = *capacity, .ctx = ctx};
    char *lowered = NULL;
    if (length == 0) return LTH_OK;
    if (lower) {
        lowered = lth__alloc(length, 2);
        if (!lowered) return lth__fail_memory(err, 2 * length);
        length = lower_text(text, length, units == LTH__BYTES, lowered);
        text = lowered;
    }
    bool done = split(&s, text, length, units);
    lth__free(lowered);
    /* The array may have moved, also when what followed failed. */
    *out = s.items;
    *capacity = s.capacity;
    if (s.canceled) return LTH_ECANCELED;
    if (!done) return lth__fail_memory(err, 0);
    *count = s.count;
    return LTH_OK;
}

lth_status lth__units_places(const char *text, size_t length, lth__units units, lth__place **out,
                             size_t *count, lth_error *err) {
    sink s = {.text = text, .wants_places = true};
    if (length > 0 && !split(&s, text, length, units)) {
        lth__free(s.places);
        return lth__fail_memory(err, 0);
    }
    *out = s.places;
    *count = s.count;
    return LTH_OK;
}

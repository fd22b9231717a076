/* Reading word vectors. Three layouts, told apart by the first bytes of the file:
 *
 *     GloVe             "word 0.1 0.2 ...\n" on every line
 *     word2vec text     the same after a line "count dimension"; also what fastText writes (.vec)
 *     word2vec binary   a line "count dimension", then "word " and `dimension` floats, count times
 *
 * Files have far more words than a data set: numbers of words that nobody asked for are counted,
 * not parsed. */
#include "data/vectors.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "data/word_vectors.h"

enum {
    LOOK_AHEAD = 65536,     /* bytes by which the layout is recognised            */
    MAX_COUNT = INT32_MAX,  /* more is a damaged header; rows are numbered by int32_t */
    MAX_BINARY_WORD = 4096, /* bytes; more means that this is no word2vec binary  */
    REPEATS_TOLD = 5,       /* warnings about repeated words before they are summed up */
    BLOCK = 64,             /* bytes in which fields are counted together         */
    QUOTED = 40             /* longest number that a message quotes, in bytes      */
};

typedef enum layout { GLOVE, TEXT, BINARY } layout;

typedef struct header {
    uint64_t count, dimension;
} header;

typedef struct reader {
    const lth_ctx *ctx;
    const lth__symbols *vocabulary; /* NULL = every word is wanted, and goes to `every` */
    lth__symbols *every;
    lth__input *in;
    lth__vectors v;
    size_t capacity; /* of v.values, in floats                          */
    size_t words;    /* in the file so far, wanted or not               */
    size_t repeats;  /* wanted words that came again                    */
    bool has_header; /* the dimension comes from it, not from line 1    */
    bool binary;
} reader;

/* ---- Fields --------------------------------------------------------------------------------- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* Length without blanks and carriage returns at the end. */
static size_t trimmed(const char *line, size_t length) {
    while (length > 0 && (is_blank(line[length - 1]) || line[length - 1] == '\r')) length--;
    return length;
}

static size_t field_end(const char *line, size_t length, size_t at) {
    while (at < length && !is_blank(line[at])) at++;
    return at;
}

static size_t blanks_end(const char *line, size_t length, size_t at) {
    while (at < length && is_blank(line[at])) at++;
    return at;
}

/* Numbers in a block that begin behind a blank. The length is fixed and nothing branches, so that
 * compilers use vector instructions: this is where long files spend their time. */
static unsigned char count_in_block(const char *block) {
    unsigned char count = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        unsigned char behind = (unsigned char)((block[i] == ' ') | (block[i] == '\t'));
        unsigned char blank = (unsigned char)((block[i + 1] == ' ') | (block[i + 1] == '\t'));
        count = (unsigned char)(count + (behind & (blank ^ 1)));
    }
    return count;
}

/* Numbers on a trimmed line: the fields that follow a blank. */
static size_t count_numbers(const char *line, size_t length) {
    size_t count = 0, i = 1;
    for (; i + BLOCK <= length; i += BLOCK) count += count_in_block(line + i - 1);
    for (; i < length; i++) count += is_blank(line[i - 1]) && !is_blank(line[i]);
    return count;
}

/* Where the last `count` fields of a trimmed line begin. */
static size_t last_fields(const char *line, size_t length, size_t count) {
    size_t at = length;
    for (size_t i = 0; i < count; i++) {
        while (at > 0 && is_blank(line[at - 1])) at--;
        while (at > 0 && !is_blank(line[at - 1])) at--;
    }
    return at;
}

static bool is_number(const char *text, size_t length) {
    double value;
    return lth__parse_double(text, length, &value);
}

/* Digits only. What does not fit becomes UINT64_MAX, which every limit refuses. */
static bool parse_count(const char *text, size_t length, uint64_t *out) {
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
            value = UINT64_MAX;
    }
    *out = value;
    return length > 0;
}

static bool parse_header(const char *line, size_t length, header *out) {
    length = trimmed(line, length);
    size_t first = field_end(line, length, 0), second = blanks_end(line, length, first);
    return parse_count(line, first, &out->count) &&
           parse_count(line + second, length - second, &out->dimension);
}

/* ---- Which layout? -------------------------------------------------------------------------- */

static size_t line_length(const char *bytes, size_t length) {
    const char *newline = memchr(bytes, '\n', length);
    return newline ? (size_t)(newline - bytes) : length;
}

static bool has_controls(const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if ((unsigned char)c < ' ' && c != '\t' && c != '\n' && c != '\r') return true;
    }
    return false;
}

/* Is it a word and `dimension` numbers? A line that goes on beyond the look-ahead is judged by the
 * numbers that can be seen whole. */
static bool is_vector_line(const char *line, size_t length, bool whole, uint64_t dimension) {
    length = whole ? trimmed(line, length) : last_fields(line, length, 1);
    length = trimmed(line, length);
    size_t numbers = count_numbers(line, length);
    if (whole ? numbers != dimension : numbers == 0) return false;
    for (size_t at = field_end(line, length, 0); at < length;) {
        size_t start = blanks_end(line, length, at);
        at = field_end(line, length, start);
        if (!is_number(line + start, at - start)) return false;
    }
    return true;
}

/* A first line of two whole numbers is a header, with one exception: when the text line after it
 * has one number and the header asks for another dimension, then the file is a GloVe file of
 * dimension 1 whose first word is a number. After a header, text is what has no control characters
 * (floats have many) or begins with a good line; so damaged text is still reported as text. */
static layout recognise(const char *bytes, size_t length, header *h) {
    size_t first = line_length(bytes, length);
    if (!parse_header(bytes, first, h)) return GLOVE;
    size_t skip = first < length ? first + 1 : first;
    const char *rest = bytes + skip;
    size_t rest_length = length - skip, second = line_length(rest, rest_length);
    bool whole = second < rest_length || length < LOOK_AHEAD;
    if (has_controls(rest, rest_length) && !is_vector_line(rest, second, whole, h->dimension))
        return BINARY;
    bool one = whole && count_numbers(rest, trimmed(rest, second)) == 1;
    return one && h->dimension != 1 ? GLOVE : TEXT;
}

/* ---- Keeping vectors ------------------------------------------------------------------------ */

static void warn_repeat(reader *r, const char *word, size_t length) {
    if (++r->repeats > REPEATS_TOLD) return;
    lth__log(r->ctx, LTH_LOG_WARNING,
             r->binary ? "%s: word %zu: '%.*s' has a vector already; the first one is kept"
                       : "%s:%zu: '%.*s' has a vector already; the first one is kept",
             lth__input_name(r->in), r->binary ? r->words + 1 : lth__input_line_number(r->in),
             (int)length, word);
}

/* Where every word is: the next symbol, or one that it has already. */
static lth_status want_every(reader *r, const char *word, size_t length, lth__symbol *out,
                             lth_error *err) {
    *out = lth__symbols_intern(r->every, word, length);
    if (*out == LTH__NO_SYMBOL) return lth__fail_memory(err, length);
    if (*out == r->v.count) return LTH_OK;
    warn_repeat(r, word, length);
    *out = LTH__NO_SYMBOL;
    return LTH_OK;
}

/* The symbol of a word that is wanted and still without a vector, or LTH__NO_SYMBOL. */
static lth_status wanted(reader *r, const char *word, size_t length, lth__symbol *out,
                         lth_error *err) {
    if (r->every) return want_every(r, word, length, out, err);
    *out = LTH__NO_SYMBOL;
    lth__symbol symbol = lth__symbols_find(r->vocabulary, word, length);
    if (symbol == LTH__NO_SYMBOL || symbol < r->v.first) return LTH_OK;
    if (r->v.row_of[symbol - r->v.first] < 0)
        *out = symbol;
    else
        warn_repeat(r, word, length);
    return LTH_OK;
}

/* Room for one more row; NULL = out of memory. */
static float *next_row(reader *r) {
    size_t used = r->v.count * r->v.dimension;
    if (!lth__reserve((void **)&r->v.values, &r->capacity, used + r->v.dimension, sizeof(float)))
        return NULL;
    return r->v.values + used;
}

static void keep_row(reader *r, lth__symbol symbol) {
    if (r->v.row_of) r->v.row_of[symbol - r->v.first] = (int32_t)r->v.count;
    r->v.count++;
}

/* ---- Text ----------------------------------------------------------------------------------- */

static lth_status fail_number(const reader *r, const char *line, size_t start, size_t end,
                              const char *what, lth_error *err) {
    const char *file = lth__input_name(r->in);
    size_t number = lth__input_line_number(r->in), column = lth__utf8_count(line, start) + 1;
    size_t length = end - start;
    if (length > QUOTED || lth__utf8_check(line + start, length) < length)
        return lth__fail_at(err, LTH_EFORMAT, file, number, column, "this is not %s", what);
    return lth__fail_at(err, LTH_EFORMAT, file, number, column, "'%.*s' is not %s", (int)length,
                        line + start, what);
}

static lth_status parse_numbers(const reader *r, const char *line, size_t length, size_t at,
                                float *row, lth_error *err) {
    for (size_t i = 0; i < r->v.dimension; i++) {
        size_t start = blanks_end(line, length, at);
        double value;
        at = field_end(line, length, start);
        if (!lth__parse_double(line + start, at - start, &value))
            return fail_number(r, line, start, at, "a number", err);
        row[i] = (float)value;
        if (!isfinite(row[i])) return fail_number(r, line, start, at, "a finite number", err);
    }
    return LTH_OK;
}

static lth_status fail_length(const reader *r, size_t numbers, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), lth__input_line_number(r->in), 0,
                        "%zu number%s where %s %zu", numbers, numbers == 1 ? "" : "s",
                        r->has_header ? "the header says" : "earlier lines have", r->v.dimension);
}

/* Where the word of a line ends. It is the first field, but some files have words with blanks
 * inside (". . ."): then the field before the numbers is no number itself. */
static lth_status find_word(const reader *r, const char *line, size_t length, size_t *end,
                            lth_error *err) {
    size_t numbers = count_numbers(line, length);
    *end = field_end(line, length, 0);
    if (numbers == r->v.dimension) return LTH_OK;
    if (numbers < r->v.dimension) return fail_length(r, numbers, err);
    *end = trimmed(line, last_fields(line, length, r->v.dimension));
    size_t before = last_fields(line, *end, 1);
    if (is_number(line + before, *end - before)) return fail_length(r, numbers, err);
    return LTH_OK;
}

static lth_status set_dimension(reader *r, const char *line, size_t length, lth_error *err) {
    size_t numbers = count_numbers(line, length);
    if (numbers == 0 || numbers > LTH__MAX_DIMENSION)
        return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), lth__input_line_number(r->in),
                            0, "%zu numbers follow the first word, where vectors have 1 to %d",
                            numbers, LTH__MAX_DIMENSION);
    r->v.dimension = numbers;
    return LTH_OK;
}

static lth_status read_text_line(reader *r, const char *line, size_t length, lth_error *err) {
    length = trimmed(line, length);
    if (length == 0) return LTH_OK;
    if (r->v.dimension == 0) LTH_TRY(set_dimension(r, line, length, err));
    size_t end;
    LTH_TRY(find_word(r, line, length, &end, err));
    r->words++;
    lth__symbol symbol;
    LTH_TRY(wanted(r, line, end, &symbol, err));
    if (symbol == LTH__NO_SYMBOL) return LTH_OK;
    float *row = next_row(r);
    if (!row) return lth__fail_memory(err, r->v.dimension * sizeof *row);
    LTH_TRY(parse_numbers(r, line, length, end, row, err));
    keep_row(r, symbol);
    return LTH_OK;
}

static lth_status read_text(reader *r, lth_error *err) {
    for (;;) {
        const char *line;
        size_t length;
        LTH_TRY(lth__input_line(r->in, &line, &length, err));
        if (!line) return LTH_OK;
        LTH_TRY(read_text_line(r, line, length, err));
    }
}

/* ---- Binary --------------------------------------------------------------------------------- */

static lth_status fail_binary(const reader *r, const char *what, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), 0, 0, "%s after %zu word%s", what,
                        r->words, r->words == 1 ? "" : "s");
}

/* Skip the newlines that some writers put before a word. */
static lth_status skip_newlines(reader *r, bool *more, lth_error *err) {
    const char *bytes;
    char newline;
    size_t got;
    for (;;) {
        LTH_TRY(lth__input_peek(r->in, 1, &bytes, &got, err));
        *more = got > 0;
        if (got == 0 || bytes[0] != '\n') return LTH_OK;
        LTH_TRY(lth__input_bytes(r->in, &newline, 1, &got, err));
    }
}

/* The next word into `word`, with the space after it consumed. */
static lth_status read_binary_word(reader *r, char word[MAX_BINARY_WORD], size_t *length,
                                   lth_error *err) {
    const char *bytes, *space;
    size_t got;
    bool more;
    LTH_TRY(skip_newlines(r, &more, err));
    if (!more) return fail_binary(r, "the file ends", err);
    LTH_TRY(lth__input_peek(r->in, MAX_BINARY_WORD, &bytes, &got, err));
    space = memchr(bytes, ' ', got);
    if (!space)
        return fail_binary(
            r, got < MAX_BINARY_WORD ? "the file ends inside a word" : "a word without end", err);
    *length = (size_t)(space - bytes);
    return lth__input_bytes(r->in, word, *length + 1, &got, err);
}

static float little_endian_float(const unsigned char *b) {
    uint32_t bits =
        (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static lth_status keep_binary(reader *r, lth__symbol symbol, const unsigned char *bytes,
                              lth_error *err) {
    float *row = next_row(r);
    if (!row) return lth__fail_memory(err, r->v.dimension * sizeof *row);
    for (size_t i = 0; i < r->v.dimension; i++) {
        row[i] = little_endian_float(bytes + 4 * i);
        if (!isfinite(row[i])) return fail_binary(r, "a vector that is not finite", err);
    }
    keep_row(r, symbol);
    return LTH_OK;
}

static lth_status read_binary_words(reader *r, uint64_t count, unsigned char *bytes,
                                    lth_error *err) {
    char word[MAX_BINARY_WORD];
    size_t length = 0, got;
    for (; r->words < count; r->words++) {
        LTH_TRY(read_binary_word(r, word, &length, err));
        LTH_TRY(lth__input_bytes(r->in, bytes, 4 * r->v.dimension, &got, err));
        if (got < 4 * r->v.dimension) return fail_binary(r, "the file ends inside a vector", err);
        lth__symbol symbol;
        LTH_TRY(wanted(r, word, length, &symbol, err));
        if (symbol != LTH__NO_SYMBOL) LTH_TRY(keep_binary(r, symbol, bytes, err));
    }
    bool more;
    LTH_TRY(skip_newlines(r, &more, err));
    if (more)
        lth__log(r->ctx, LTH_LOG_WARNING,
                 "%s: what follows word %zu, the last by the header, is ignored",
                 lth__input_name(r->in), r->words);
    return LTH_OK;
}

static lth_status read_binary(reader *r, uint64_t count, lth_error *err) {
    unsigned char *bytes = lth__alloc(r->v.dimension, 4);
    if (!bytes) return lth__fail_memory(err, 4 * r->v.dimension);
    lth_status status = read_binary_words(r, count, bytes, err);
    lth__free(bytes);
    return status;
}

/* ---- The whole file ------------------------------------------------------------------------- */

static lth_status read_header(reader *r, const header *h, lth_error *err) {
    const char *line, *name = lth__input_name(r->in);
    size_t length;
    LTH_TRY(lth__input_line(r->in, &line, &length, err));
    size_t second = blanks_end(line, length, field_end(line, length, 0));
    if (h->count < 1 || h->count > MAX_COUNT)
        return lth__fail_at(err, LTH_EFORMAT, name, 1, 1,
                            "the header's number of words is not between 1 and %d", MAX_COUNT);
    if (h->dimension < 1 || h->dimension > LTH__MAX_DIMENSION)
        return lth__fail_at(err, LTH_EFORMAT, name, 1, second + 1,
                            "the header's dimension is not between 1 and %d", LTH__MAX_DIMENSION);
    r->v.dimension = (size_t)h->dimension;
    r->has_header = true;
    return LTH_OK;
}

static lth_status read_vectors(reader *r, lth_error *err) {
    const char *bytes;
    size_t got;
    header h = {0};
    LTH_TRY(lth__input_peek(r->in, LOOK_AHEAD, &bytes, &got, err));
    layout found = recognise(bytes, got, &h);
    if (found != GLOVE) LTH_TRY(read_header(r, &h, err));
    r->binary = found == BINARY;
    if (r->binary) return read_binary(r, h.count, err);
    LTH_TRY(read_text(r, err));
    if (r->words == 0 && found == GLOVE)
        return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), 0, 0,
                            "the file is empty: word vectors were expected");
    if (found == TEXT && r->words != h.count)
        lth__log(r->ctx, LTH_LOG_WARNING, "%s: the header says %zu words, the file has %zu",
                 lth__input_name(r->in), (size_t)h.count, r->words);
    return LTH_OK;
}

static void warn_at_end(const reader *r, bool warns) {
    const char *name = lth__input_name(r->in);
    if (r->repeats > REPEATS_TOLD)
        lth__log(r->ctx, LTH_LOG_WARNING,
                 "%s: %zu words in all came again; the first vectors are kept", name, r->repeats);
    if (r->v.count == 0 && warns)
        lth__log(r->ctx, LTH_LOG_WARNING, "%s: no word of the data has a vector in this file",
                 name);
}

static lth_status read_file(reader *r, const char *path, bool warns, lth__vectors *out,
                            lth_error *err) {
    lth_status status = lth__input_open(r->ctx ? r->ctx->relay : NULL, path, &r->in, err);
    if (status == LTH_OK) {
        lth__input_ask(r->in, r->ctx);
        status = read_vectors(r, err);
    }
    if (status == LTH_OK) {
        warn_at_end(r, warns);
        r->v.offered = r->words;
        *out = r->v;
    } else {
        lth__vectors_free(&r->v);
    }
    lth__input_close(r->in);
    return status;
}

lth_status lth__vectors_read_words(const lth_ctx *ctx, lth__vector_source from,
                                   const lth__symbols *vocabulary, bool warns, lth__vectors *out,
                                   lth_error *err) {
    reader r = {.ctx = ctx, .vocabulary = vocabulary};
    r.v.symbols = lth__symbols_count(vocabulary);
    r.v.first = lth__symbols_first(vocabulary);
    size_t words = r.v.symbols - r.v.first;
    r.v.row_of = lth__alloc(words, sizeof *r.v.row_of);
    if (!r.v.row_of) return lth__fail_memory(err, words * sizeof *r.v.row_of);
    for (size_t i = 0; i < words; i++) r.v.row_of[i] = -1;
    if (!from.table) return read_file(&r, from.path, warns, out, err);
    return lth__word_vectors_take(ctx, from.table, vocabulary, warns, &r.v, out, err);
}

lth_status lth__vectors_read_all(const lth_ctx *ctx, const char *path, lth__symbols *words,
                                 lth__vectors *out, lth_error *err) {
    reader r = {.ctx = ctx, .every = words};
    return read_file(&r, path, false, out, err);
}

lth_status lth__vectors_read(const lth_ctx *ctx, lth__vector_source from,
                             const lth__symbols *vocabulary, lth__vectors *out, lth_error *err) {
    bool warns = lth__symbols_first(vocabulary) == 0;
    return lth__vectors_read_words(ctx, from, vocabulary, warns, out, err);
}

void lth__vectors_free(lth__vectors *v) {
    if (!v) return;
    lth__free(v->values);
    lth__free(v->row_of);
    *v = (lth__vectors){0};
}

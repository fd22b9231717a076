/* Reading HTTP/1.1 (RFC 9112): the head of a request, and bodies in chunks. */
#include "serve/serve_parse.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MOST_DIGITS = 15, /* of a length: more would not fit into a double */
    MOST_AROUND =
        4096, /* bytes of a chunk that are not its data, and of all lines after the last */
};

static reading wrong(problem *why, unsigned status, const char *text) {
    set_problem(why, status, "%s", text);
    return READ_WRONG;
}

/* ---- Characters ---- */

static bool is_control(char c) {
    return ((unsigned char)c < ' ' && c != '\t') || c == 127;
}

/* Names of methods and headers. */
static bool is_token(const char *text) {
    static const char marks[] = "!#$%&'*+-.^_`|~0123456789"
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return *text && text[strspn(text, marks)] == 0;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int hex_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Two digits are behind each %. */
static bool has_digits(const char *text) {
    for (; *text; ++text)
        if (*text == '%' && (hex_value(text[1]) < 0 || hex_value(text[2]) < 0)) return false;
    return true;
}

void decode_percents(char *text) {
    char *to = text;
    for (const char *at = text; *at; ++at) {
        bool coded = *at == '%';
        *to++ = coded ? (char)(hex_value(at[1]) * 16 + hex_value(at[2])) : *at;
        if (coded) at += 2;
    }
    *to = 0;
}

const char *query_value(const char *query, const char *name, char *room) {
    size_t length = strlen(name);
    for (const char *at = query; at && *at; at += strcspn(at, "&"), at += *at == '&') {
        if (strncmp(at, name, length) != 0 || at[length] != '=') continue;
        const char *value = at + length + 1;
        size_t size = strcspn(value, "&");
        for (size_t i = 0; i < size; ++i) room[i] = value[i] == '+' ? ' ' : value[i];
        room[size] = 0;
        decode_percents(room);
        return room;
    }
    return NULL;
}

/* ---- Lines ---- */

/* Up to the empty line. A line ends with both CR and LF: whoever does with one of them sees other
 * lines. */
static reading find_end(const char *bytes, size_t size, size_t *seen, size_t *end, problem *why) {
    for (size_t i = *seen; i < size; ++i) {
        char c = bytes[i], before = i > 0 ? bytes[i - 1] : 0;
        if ((before == '\r') != (c == '\n'))
            return wrong(why, 400, "a line of HTTP ends with CR and LF");
        if (c != '\r' && c != '\n' && is_control(c))
            return wrong(why, 400, "that is no HTTP: it has control characters");
        *seen = i + 1;
        if (c == '\n' && i >= 3 && bytes[i - 2] == '\n') {
            *end = i + 1;
            return READ_WHOLE;
        }
    }
    return READ_MORE;
}

/* The next line of the head, without its end; "" is the last. */
static char *take_line(char **at, const char *head_end) {
    char *line = *at, *end = memchr(line, '\r', (size_t)(head_end - line));
    *end = 0;
    *at = end + 2;
    return line;
}

/* ---- The first line ---- */

static reading read_version(const char *version, http_head *out, problem *why) {
    bool named = version && strncmp(version, "HTTP/", 5) == 0 && strlen(version) == 8 &&
                 is_digit(version[5]) && version[6] == '.' && is_digit(version[7]);
    if (!named) return wrong(why, 400, "a request begins with METHOD PATH HTTP/1.1");
    if (version[5] != '1') return wrong(why, 505, "this server speaks HTTP/1.1");
    out->old = version[7] == '0';
    return READ_WHOLE;
}

static reading check_address(const char *text, problem *why) {
    for (const char *c = text; *c; ++c)
        if (*c <= ' ' || *c >= 127)
            return wrong(why, 400, "in an address, what is no letter of ASCII is written as %41");
    if (strstr(text, "%00")) return wrong(why, 400, "%00 is not text");
    return has_digits(text) ? READ_WHOLE : wrong(why, 400, "after % come two hexadecimal digits");
}

static reading read_first_line(char *line, http_head *out, problem *why) {
    char *method = strsep(&line, " "), *target = strsep(&line, " ");
    if (!target) return wrong(why, 400, "a request begins with METHOD PATH HTTP/1.1");
    out->target = strsep(&target, "?");
    out->query = target;
    if (!is_token(method)) return wrong(why, 400, "a request begins with METHOD PATH HTTP/1.1");
    if (read_version(line, out, why) != READ_WHOLE) return READ_WRONG;
    out->method = method;
    if (check_address(out->target, why) != READ_WHOLE) return READ_WRONG;
    return out->query ? check_address(out->query, why) : READ_WHOLE;
}

/* ---- Headers ---- */

enum { HOST, LENGTH, ENCODING, TYPE, CODING, EXPECT, FORWARDED, CONNECTION, HEADERS };

static const char *const header_names[HEADERS] = {
    "Host",   "Content-Length",  "Transfer-Encoding", "Content-Type", "Content-Encoding",
    "Expect", "X-Forwarded-For", "Connection"};

typedef struct headers {
    const char *value[HEADERS]; /* of the first of that name; NULL = not there */
    size_t count[HEADERS];
    bool closes, stays; /* words of Connection */
} headers;

/* One of several words between commas. */
static bool lists(const char *value, const char *word) {
    size_t length = strlen(word);
    for (const char *at = value; *at; at += strcspn(at, ", \t"), at += strspn(at, ", \t"))
        if (strncasecmp(at, word, length) == 0 && strchr(", \t", at[length])) return true;
    return false;
}

static void take_header(headers *h, const char *name, const char *value) {
    size_t i = 0;
    while (i < HEADERS && strcasecmp(header_names[i], name) != 0) ++i;
    if (i == HEADERS) return;
    if (h->count[i]++ == 0) h->value[i] = value;
    if (i != CONNECTION) return;
    h->closes |= lists(value, "close");
    h->stays |= lists(value, "keep-alive");
}

/* A line that goes on with the one before begins with a blank, and is refused as such. */
static reading read_header(char *line, headers *h, problem *why) {
    char *value = line, *name = strsep(&value, ":");
    if (!value || !is_token(name)) return wrong(why, 400, "a header is NAME: VALUE");
    value += strspn(value, " \t");
    size_t length = strlen(value);
    while (length > 0 && strchr(" \t", value[length - 1])) --length;
    value[length] = 0;
    take_header(h, name, value);
    return READ_WHOLE;
}

/* How long the body is. */
static reading check_length(const headers *h, http_head *out, problem *why) {
    const char *length = h->value[LENGTH], *encoding = h->value[ENCODING];
    if (h->count[LENGTH] + h->count[ENCODING] > 1)
        return wrong(why, 400, "how long the body is must be said once");
    if (encoding && strcasecmp(encoding, "chunked") != 0)
        return wrong(why, 501, "send the body as it is, or chunked");
    if (encoding && out->old) return wrong(why, 400, "HTTP/1.0 knows no chunks");
    if (length && (!*length || length[strspn(length, "0123456789")]))
        return wrong(why, 400, "Content-Length is no number");
    if (length && strlen(length) > MOST_DIGITS) return wrong(why, 413, "the body is too long");
    out->chunked = encoding != NULL;
    out->has_length = length != NULL;
    out->length = length ? strtod(length, NULL) : 0;
    return READ_WHOLE;
}

static reading check_headers(const headers *h, http_head *out, problem *why) {
    if (h->count[HOST] > 1) {
        set_problem(why, 400, "there are %zu Host headers", h->count[HOST]);
        return READ_WRONG;
    }
    if (h->count[HOST] == 0 && !out->old) return wrong(why, 400, "there is no Host header");
    if (check_length(h, out, why) != READ_WHOLE) return READ_WRONG;
    if (h->count[TYPE] > 1) return wrong(why, 400, "there are several Content-Types");
    if (h->value[CODING] && strcasecmp(h->value[CODING], "identity") != 0)
        return wrong(why, 415, "send the body as it is, without Content-Encoding");
    if (h->value[EXPECT] && strcasecmp(h->value[EXPECT], "100-continue") != 0)
        return wrong(why, 417, "only 100-continue can be expected");
    out->stays = !h->closes && (h->stays || !out->old);
    out->waits = h->value[EXPECT] && !out->old;
    out->host = h->value[HOST];
    out->type = h->value[TYPE];
    out->forwarded = h->value[FORWARDED];
    return READ_WHOLE;
}

reading read_head(char *bytes, size_t size, size_t *seen, http_head *out, problem *why) {
    headers h = {.closes = false};
    *out = (http_head){0};
    reading found = find_end(bytes, size, seen, &out->size, why);
    if (found != READ_WHOLE) return found;
    const char *end = bytes + out->size;
    char *at = bytes, *line = take_line(&at, end);
    found = read_first_line(line, out, why);
    while (found == READ_WHOLE && *(line = take_line(&at, end))) found = read_header(line, &h, why);
    return found == READ_WHOLE ? check_headers(&h, out, why) : found;
}

/* ---- Bodies in chunks ---- */

static reading bad_chunk(problem *why) {
    return wrong(why, 400, "the body is not in chunks");
}

/* Blanks, and then an extension or the end of the line. */
static reading end_size(chunk_reader *r, char c, problem *why) {
    if (c == '\r')
        r->state = CHUNK_SIZE_END;
    else if (c == ';')
        r->state = CHUNK_EXTENSION;
    else if (c == ' ' || c == '\t')
        r->state = CHUNK_BLANK;
    else
        return bad_chunk(why);
    return READ_MORE;
}

static reading take_size(chunk_reader *r, char c, problem *why) {
    int digit = hex_value(c);
    if (digit >= 0 && r->digits == MOST_DIGITS) return wrong(why, 413, "the body is too long");
    if (digit >= 0) {
        r->left = r->left * 16 + (size_t)digit;
        ++r->digits;
        return READ_MORE;
    }
    return r->digits == 0 ? bad_chunk(why) : end_size(r, c, why);
}

/* In a line whose words do not matter. */
static reading skip_to(chunk_reader *r, char c, chunk_state next, problem *why) {
    if (c == '\r')
        r->state = next;
    else if (is_control(c))
        return bad_chunk(why);
    return READ_MORE;
}

static reading expect(chunk_reader *r, char c, char wanted, chunk_state next, problem *why) {
    if (c != wanted) return bad_chunk(why);
    r->state = next;
    return READ_MORE;
}

static reading take_around(chunk_reader *r, char c, problem *why) {
    if (++r->around > MOST_AROUND) return wrong(why, 400, "too much stands around the chunks");
    switch (r->state) {
    case CHUNK_SIZE: return take_size(r, c, why);
    case CHUNK_BLANK: return end_size(r, c, why);
    case CHUNK_EXTENSION: return skip_to(r, c, CHUNK_SIZE_END, why);
    case CHUNK_SIZE_END: return expect(r, c, '\n', r->left ? CHUNK_DATA : CHUNK_TRAILER, why);
    case CHUNK_DATA_CR: return expect(r, c, '\r', CHUNK_DATA_END, why);
    case CHUNK_DATA_END: r->digits = 0; return expect(r, c, '\n', CHUNK_SIZE, why);
    case CHUNK_TRAILER: r->state = CHUNK_TRAILER_LINE; return skip_to(r, c, CHUNK_LAST_END, why);
    case CHUNK_TRAILER_LINE: return skip_to(r, c, CHUNK_TRAILER_END, why);
    case CHUNK_TRAILER_END: return expect(r, c, '\n', CHUNK_TRAILER, why);
    default: return c == '\n' ? READ_WHOLE : bad_chunk(why);
    }
}

reading read_chunk(chunk_reader *r, const char *bytes, size_t size, size_t *used, body_piece *piece,
                   problem *why) {
    reading found = READ_MORE;
    *used = 0;
    *piece = (body_piece){0};
    while (*used < size && r->state != CHUNK_DATA && found == READ_MORE)
        found = take_around(r, bytes[(*used)++], why);
    if (found != READ_MORE || r->state != CHUNK_DATA) return found;
    *piece = (body_piece){bytes + *used, size - *used < r->left ? size - *used : r->left};
    *used += piece->size;
    r->left -= piece->size;
    if (r->left > 0) return READ_MORE;
    r->state = CHUNK_DATA_CR;
    r->around = 0;
    return READ_MORE;
}

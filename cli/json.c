/* JSON, written to a stream as it is made. */
#include "json.h"

#include <math.h>
#include <string.h>

#include "output.h"

static void write_string(FILE *to, const char *text) {
    putc('"', to);
    size_t length = strlen(text), bytes;
    for (const char *c = text; *c; c += bytes ? bytes : 1) {
        uint32_t code = read_character(c, length - (size_t)(c - text), &bytes);
        if (code == '"' || code == '\\')
            fprintf(to, "\\%c", (char)code);
        else if (bytes == 0)
            fputs("\\ufffd", to); /* what is no UTF-8 cannot be said in JSON */
        else if (is_unseen(code))
            fprintf(to, "\\u%04x", (unsigned)code);
        else
            fwrite(c, 1, bytes, to);
    }
    putc('"', to);
}

/* What stands before a value. */
static void begin_value(json_writer *w, const char *key) {
    if (w->comma) putc(',', w->to);
    w->comma = true;
    if (!key) return;
    write_string(w->to, key);
    putc(':', w->to);
}

static void begin(json_writer *w, const char *key, bool list) {
    begin_value(w, key);
    putc(list ? '[' : '{', w->to);
    w->comma = false;
    w->lists = w->lists << 1 | list;
    ++w->depth;
}

void json_begin_object(json_writer *w, const char *key) {
    begin(w, key, false);
}

void json_begin_list(json_writer *w, const char *key) {
    begin(w, key, true);
}

void json_begin_result(json_writer *w, const char *key) {
    json_begin_object(w, key);
    json_put_count(w, "schema", 1);
}

void json_end(json_writer *w) {
    putc(w->lists & 1 ? ']' : '}', w->to);
    w->lists >>= 1;
    w->comma = --w->depth > 0;
    if (!w->comma) putc('\n', w->to);
}

static void put(json_writer *w, const char *key, const char *literal) {
    begin_value(w, key);
    fputs(literal, w->to);
}

void json_put_text(json_writer *w, const char *key, const char *text) {
    if (!text) {
        put(w, key, "null");
        return;
    }
    begin_value(w, key);
    write_string(w->to, text);
}

void json_put_double(json_writer *w, const char *key, double value) {
    char text[32];
    put(w, key, isfinite(value) ? double_text(value, text) : "null");
}

void json_put_count(json_writer *w, const char *key, size_t count) {
    begin_value(w, key);
    fprintf(w->to, "%zu", count);
}

void json_put_bool(json_writer *w, const char *key, bool value) {
    put(w, key, value ? "true" : "false");
}

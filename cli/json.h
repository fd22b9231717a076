/* JSON, written to a stream as it is made: commas, line breaks and escapes are seen to here. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct json_writer {
    FILE *to;
    bool comma; /* the next value follows another one          */
    int depth;
    uint64_t lists; /* which levels are lists, the innermost first */
} json_writer;

/* `key` names a value of an object; NULL in a list and for the outermost object, which ends with a
 * line break. */
void json_begin_object(json_writer *w, const char *key);
void json_begin_list(json_writer *w, const char *key);
void json_end(json_writer *w);
/* An object that says which version of this program's results it is. */
void json_begin_result(json_writer *w, const char *key);

void json_put_text(json_writer *w, const char *key, const char *text); /* NULL = null */
void json_put_double(json_writer *w, const char *key, double value);   /* or null, if not finite */
void json_put_count(json_writer *w, const char *key, size_t count);
void json_put_bool(json_writer *w, const char *key, bool value);

#endif

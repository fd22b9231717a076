/* Reading the rules of a space: what each is made of, before it is taken to hold. */
#ifndef LTH_SPACE_PARSE_H
#define LTH_SPACE_PARSE_H

#include "design/space.h"

typedef enum lth__rule_kind {
    LTH__RULE_ALPHABET,
    LTH__RULE_TOKENS,
    LTH__RULE_FROM,
    LTH__RULE_FIRST,
    LTH__RULE_SITES,
    LTH__RULE_LENGTH,
    LTH__RULE_MUTATIONS,
    LTH__RULE_ALLOW,
    LTH__RULE_FORBID,
    LTH__RULE_MOTIF,
    LTH__RULE_KINDS
} lth__rule_kind;

/* A rule as it is written. */
typedef struct lth__rule {
    lth__rule_kind kind;
    const char *value; /* in the text; not NUL-terminated */
    size_t length;
    size_t column; /* of the value, from 1 */
} lth__rule;

typedef struct lth__rules {
    lth__rule *rules;
    size_t count, capacity;
} lth__rules;

/* Cut a text into rules, none of them empty, and twice only what may be. */
lth_status lth__rules_read(const char *text, lth__rules *out, lth_error *err);
void lth__rules_free(lth__rules *rules);
/* The first of a kind, or NULL. */
const lth__rule *lth__rules_find(const lth__rules *rules, lth__rule_kind kind);

/* A value that is a whole number within bounds; numbers "39,40,41" and ranges "39..45", appended to
 * *out (grown with lth__reserve); and a number or a range of two. */
lth_status lth__rule_number(const lth__rule *rule, long least, long most, long *out,
                            lth_error *err);
lth_status lth__rule_numbers(const lth__rule *rule, long **out, size_t *count, lth_error *err);
lth_status lth__rule_range(const lth__rule *rule, long least, long most, long *from, long *to,
                           lth_error *err);

#endif

/* Variants of a sequence by their mutations, as people write them:
 *
 *     A108D:K9R   A108D,K9R   p.Ala108Asp   K9del   K9_L11del   A5_K6insGG   K9delinsGT   A108=
 *
 * apart by ":", ",", ";", "/", "+" or blanks. "WT", "wt", "_wt", "wild type" and nothing at all are
 * the wild type. Letters are compared in upper case.
 */
#ifndef LTH_VARIANT_H
#define LTH_VARIANT_H

#include "base/status.h"
#include "base/text.h"

typedef struct lth__wild_type {
    const char *sequence; /* NULL = there is none                                         */
    long first;           /* the number of its first letter                               */
    bool aligned;         /* variants have its length: a letter that is gone leaves a "-" */
} lth__wild_type;

/* The sequence of a variant, appended to `out`. What is wrong is LTH_EFORMAT with a message,
 * without file and line. */
lth_status lth__variant_write(const lth__wild_type *wild, const char *text, size_t length,
                              lth__string *out, lth_error *err);

#endif

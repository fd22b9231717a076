/* The text of a kernel expression and its syntax trees. Knows the grammar, not the kernels.
 *
 *     kernel   := sum [ "|" sum ]
 *     sum      := product { "+" product }
 *     product  := factor { "*" factor }
 *     factor   := number | call | "(" sum ")"
 *     call     := NAME "(" [ argument { "," argument } ] ")"
 *     argument := NAME "=" value | sum | COLUMN | COLUMN ".." COLUMN
 *     value    := number | NAME | TEXT | "[" [ value { "," value } ] "]" [ "!" ]
 *     number   := start | "$" NAME [ "=" start ]
 *     start    := NUMBER [ "!" ] | [ NUMBER "in" ] NUMBER ".." NUMBER
 *
 * A NAME is letters, digits, "_" and "-" (not first); a column whose name is anything else is
 * quoted: "my column". A TEXT is quoted, too; a quote in it is written twice. Numbers are held with
 * "!", learned between two bounds, and shared by all places with the same $NAME. After "|" stands
 * the kernel of the noise.
 */
#ifndef LTH_EXPRESSION_H
#define LTH_EXPRESSION_H

#include "base/memory.h"

typedef enum lth__value_kind {
    LTH__VALUE_NUMBER,
    LTH__VALUE_RANGE, /* a number with bounds, which only a parameter can have */
    LTH__VALUE_WORD,
    LTH__VALUE_LIST
} lth__value_kind;

/* What stands after "=", or a bare number. */
typedef struct lth__value {
    lth__value_kind kind;
    size_t column;            /* where it begins, from 1                                  */
    bool given;               /* a number was written (a later "$tag" has none)           */
    bool held;                /* "!"                                                      */
    bool constant;            /* printed with "!", whether it was written or not          */
    double number;            /* when given                                               */
    double lo, hi;            /* RANGE                                                    */
    const char *tag;          /* without "$"; NULL if none                                */
    const char *word;         /* WORD                                                     */
    struct lth__value *items; /* LIST                                              */
    size_t count;
} lth__value;

typedef struct lth__argument {
    const char *name;
    size_t column;
    lth__value value;
} lth__argument;

typedef enum lth__expr_kind {
    LTH__EXPR_SUM,
    LTH__EXPR_PRODUCT,
    LTH__EXPR_NUMBER,
    LTH__EXPR_CALL,
    LTH__EXPR_COLUMN /* a column, or a range as "first..last" */
} lth__expr_kind;

typedef struct lth__expr {
    lth__expr_kind kind;
    size_t column;             /* where it begins, from 1                    */
    bool range;                /* COLUMN: first..last */
    bool quoted;               /* COLUMN: written in quotes */
    const char *name;          /* CALL, COLUMN                               */
    lth__value number;         /* NUMBER                                     */
    struct lth__expr **inputs; /* operands, or the inputs of a call        */
    size_t input_count;
    lth__argument *arguments; /* CALL: name=value                          */
    size_t argument_count;
} lth__expr;

/* Parse; the trees and their texts live in `pool`. A mistake is LTH_EFORMAT with its column. The
 * kernel of the noise is NULL where there is none. */
lth_status lth__expr_parse(const char *text, lth__pool *pool, const lth__expr **out,
                           const lth__expr **noise, lth_error *err);

/* COLUMN { "+" COLUMN }, where a column may be a range: the columns are the inputs. */
lth_status lth__expr_parse_columns(const char *text, lth__pool *pool, const lth__expr **out,
                                   lth_error *err);

/* Whether a column name or a word can be written without quotes. */
bool lth__expr_is_name(const char *text);

#endif

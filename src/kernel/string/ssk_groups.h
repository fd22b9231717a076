/* The columns of a matrix in groups of lanes: strings that are compared at once with one row. */
#ifndef LTH_SSK_GROUPS_H
#define LTH_SSK_GROUPS_H

#include "kernel/string/ssk_compare.h"

typedef struct lth__ssk_column {
    size_t length, index; /* index among the columns that were given */
} lth__ssk_column;

/* Columns first[g] .. first[g + 1] - 1 are group g: the longest string first, which is as wide as
 * the group, whose symbols are interleaved from t + start[g] on. */
struct lth__ssk_groups {
    size_t columns, count;
    const lth__lanes *lanes; /* for which they are made; a derivative makes other groups */
    size_t order;
    lth__ssk_column *column; /* by falling length, then by index */
    size_t *first, *start;
    uint32_t *t;
};

/* Lanes of pairs would need as many long pairs; a pair by itself fills the lanes when it is long.
 * The rule looks at the pair alone: its value must not depend on the tile it is in. */
bool lth__ssk_is_long(const lth__ssk_plan *plan, size_t length);

void lth__ssk_sort_columns(lth__ssk_column *column, size_t count);

/* The group that begins with the first of these columns, and its width. Long ones do not share one
 * with others, nor do short ones where these have a pass of their own. */
size_t lth__ssk_group_size(const lth__ssk_plan *plan, const lth__ssk_column *column, size_t count,
                           size_t *width);

/* Writes one string into its lane, padded to `length`. `slot` maps symbols, NULL = as they are,
 * each multiplied by `stride`. */
void lth__ssk_interleave(const uint32_t *symbols, size_t count, size_t length, const uint32_t *slot,
                         uint32_t stride, uint32_t pad, size_t lanes, size_t lane, uint32_t *out);

/* Of the plan's columns, or of `item` alone; `slot` and `pad` as above. Freed also when this fails.
 */
lth_status lth__ssk_groups_make(const lth__ssk_plan *plan, const uint32_t *item, size_t count,
                                const uint32_t *slot, uint32_t pad, lth__ssk_groups *out,
                                lth_error *err);
void lth__ssk_groups_free(lth__ssk_groups *g);

/* Groups of all columns that serve a tile of them: groups begin .. end - 1, whose n-th column is
 * place[n] of the tile, LTH__SSK_ELSEWHERE = none; place is the caller's to free. */
typedef struct lth__ssk_part {
    size_t begin, end;
    uint32_t *place;
} lth__ssk_part;

#define LTH__SSK_ELSEWHERE UINT32_MAX

/* *found = false where they do not: the tile has some of the columns in another order. */
lth_status lth__ssk_groups_find(const lth__ssk_groups *g, const lth__sequences *cols,
                                const lth__tile *tile, bool *found, lth__ssk_part *out,
                                lth_error *err);

#endif

/* Who meets whom in a tile of trees under the partial tree kernel. The subtrees of the columns
 * stand side by side, each once: those of one key make a band, those of one production a group in
 * it. A row is a subtree of the rows, which meets the columns of its band. Nothing here depends on
 * the parameters. */
#ifndef LTH_PTK_MEETING_H
#define LTH_PTK_MEETING_H

#include "kernel/tree/ptk_compare.h"

#define LTH__PTK_NONE UINT32_MAX

/* A key that the rows have. */
typedef struct lth__ptk_band {
    bool soft;
    uint32_t width, groups; /* columns, groups; both may be 0 */
    size_t first, group;    /* the first of each              */
    size_t holder, holders; /* the trees that have columns here; of soft ones nobody asks */
} lth__ptk_band;

/* A production of the columns. The v-th child of its j-th column is column
 * kids[first_kid + v * width + j] of the band kid_bands[first_band + v], if that is any. */
typedef struct lth__ptk_group {
    uint32_t production, band, width, children;
    size_t first, first_kid, first_band;
    uint64_t mask; /* a bit for each of these bands, more or less */
} lth__ptk_group;

/* A subtree of the rows. */
typedef struct lth__ptk_row {
    uint32_t subtree, band, times; /* how often the rows have it */
    uint32_t kept;                 /* the number under which its Deltas are kept, or NONE */
} lth__ptk_row;

/* A tree of the columns that has a band, and how often. */
typedef struct lth__ptk_holder {
    uint32_t tree, times;
} lth__ptk_holder;

/* Two children that can match: the u-th of the row, the v-th of a column. */
typedef struct lth__ptk_match {
    uint8_t u, v;
} lth__ptk_match;

/* A group some of whose children can match those of a production of the rows. */
typedef struct lth__ptk_entry {
    uint32_t group, matches; /* LTH__PTK_NONE: too many for a list */
    size_t match;
} lth__ptk_entry;

/* What a production of the rows finds among the columns. */
typedef struct lth__ptk_program {
    size_t entry, entries, width; /* columns of the entries in all */
} lth__ptk_program;

enum { LTH__PTK_MATCHES = 8 }; /* in a list */

typedef struct lth__ptk_meeting {
    const lth__ptk_plan *plan;
    const lth__tile *tile;
    lth__tree_room *room;

    /* 1 + number, 0 = none: by subtree, by production, by key. */
    uint32_t *row_of, *column_of, *group_of, *program_of, *band_of;

    lth__ptk_band *bands;
    lth__ptk_group *groups;
    lth__ptk_row *rows;
    size_t band_count, group_count, row_count, column_count, widest;
    uint32_t *subtree; /* by column */
    uint32_t *kids, *kid_bands;
    /* By tree of the columns: those of its nodes that may count for more than their key. */
    uint32_t *node;
    size_t *node_start;
    lth__ptk_holder *holders; /* by band */

    lth__ptk_program *programs;
    lth__ptk_entry *entries;
    lth__ptk_match *matches;
    size_t program_count, entry_count, match_count;
} lth__ptk_meeting;

/* The blocks of a room: of the meeting, then of the sweep. */
enum {
    LTH__PTK_ROW_OF,
    LTH__PTK_COLUMN_OF,
    LTH__PTK_GROUP_OF,
    LTH__PTK_PROGRAM_OF,
    LTH__PTK_BAND_OF,
    LTH__PTK_BANDS,
    LTH__PTK_GROUPS,
    LTH__PTK_FOUND_GROUPS,
    LTH__PTK_ROWS,
    LTH__PTK_FOUND,
    LTH__PTK_SUBTREE,
    LTH__PTK_KIDS,
    LTH__PTK_KID_BANDS,
    LTH__PTK_NODE,
    LTH__PTK_NODE_START,
    LTH__PTK_HOLDERS,
    LTH__PTK_LAST_HOLDER,
    LTH__PTK_PROGRAMS,
    LTH__PTK_ENTRIES,
    LTH__PTK_MATCH_LISTS,
    LTH__PTK_STACK,
    LTH__PTK_KEPT,
    LTH__PTK_KEPT_ROWS,
    LTH__PTK_SLOTS,
    LTH__PTK_FREE_SLOTS,
    LTH__PTK_SUMS,
    LTH__PTK_COUNTS,
    LTH__PTK_TOUCHED,
    LTH__PTK_TOUCHED_BY,
    LTH__PTK_BAND_COUNTS,
    LTH__PTK_ALONG,
    LTH__PTK_SIGMA,
    LTH__PTK_LABELS,
    LTH__PTK_WEIGHTS,
    LTH__PTK_BLOCKS
};
_Static_assert((int)LTH__PTK_BLOCKS <= (int)LTH__TREE_BLOCKS, "a room has fewer blocks");

/* plan, tile and room are given, all else is 0. */
lth_status lth__ptk_meet(lth__ptk_meeting *x, lth_error *err);
/* The program of a row's production, made when it is first asked for; the pointer holds until the
 * next call. */
lth_status lth__ptk_find_program(lth__ptk_meeting *x, const lth__ptk_row *row,
                                 const lth__ptk_program **out, lth_error *err);
/* Puts zeros back into the room; also after a failure. */
void lth__ptk_part(lth__ptk_meeting *x);

#endif

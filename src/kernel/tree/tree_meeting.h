/* Who meets whom in a tile of trees: the subtrees of its rows and columns that have a production in
 * common, numbered side by side, with all that the loops of tree_match.c walk along. */
#ifndef LTH_TREE_MEETING_H
#define LTH_TREE_MEETING_H

#include "kernel/tree/tree_match.h"

/* Rows and columns of the tile, by their places in it. */
typedef struct lth__tree_part {
    size_t row, rows, col, cols;
} lth__tree_part;

/* A production that both sides have. */
typedef struct lth__tree_band {
    uint32_t production, width; /* columns */
    size_t first;               /* of its columns among all of them */
    uint32_t inner;             /* children of its subtrees that are no leaves */
    size_t lists;               /* of links, one for each of these */
} lth__tree_band;

/* A subtree of the rows, and where its Delta begins. */
typedef struct lth__tree_row {
    uint32_t subtree, band;
    size_t first, arms;
    bool has_bar; /* its Dbar has been begun */
} lth__tree_row;

/* A column whose child is a column of that production, both counted within their bands. */
typedef struct lth__tree_match_link {
    uint32_t production, column, child;
} lth__tree_match_link;

/* An inner child of a row: where its own Delta begins, and the columns that match it. */
typedef struct lth__tree_arm {
    size_t first;
    const lth__tree_match_link *links, *end; /* the same when there are none */
} lth__tree_arm;

typedef struct lth__tree_meeting {
    const lth__tree_plan *plan;
    const lth__tile *tile;
    lth__tree_part part;
    lth__tree_room *room; /* of all that follows */

    /* By subtree: 1 + its number within its band, or among the rows; 0 = it is not there. */
    uint32_t *column_of, *row_of;
    uint32_t *band_of; /* by production: 1 + number; 0 = none */
    lth__tree_band *bands;
    lth__tree_row *rows;
    size_t band_count, row_count, column_count, list_count, link_count, holders;
    lth__tree_match_link *links;
    size_t *list_start; /* list_count + 1 */
    lth__tree_arm *arms;
    size_t arm_count;
    /* The trees that have a column: holder[k] and how often, from holder_start[column] on. */
    uint32_t *holder;
    double *holder_count;
    size_t *holder_start;

    size_t numbers, widest, most_factors; /* of Delta; columns of a band; factors of a row */
    double *delta, *bar;                  /* by row; bar only for the pull-back             */
    double *sums;                         /* column_count                                   */
    double *factors, *after;              /* of a row: inner x width; forward only width    */
    uint32_t *touched;                    /* bands of the tree at hand                      */
    uint32_t *touched_by;                 /* by band: 1 + the last tree that touched it     */
} lth__tree_meeting;

/* Who meets whom, and how large Delta is; plan, tile, part and room are given, all else is 0. */
lth_status lth__tree_meeting_begin(lth__tree_meeting *x, lth_error *err);

/* The rest of who meets whom; and room for numbers, with those of a pull-back. */
lth_status lth__tree_meeting_finish(lth__tree_meeting *x, lth_error *err);
lth_status lth__tree_meeting_numbers(lth__tree_meeting *x, bool pulls, lth_error *err);

/* A copy of who meets whom, in one block of that size, to go on from at other values of the
 * parameters; NULL = out of memory. */
size_t lth__tree_meeting_bytes(const lth__tree_meeting *x);
lth__tree_meeting *lth__tree_meeting_copy(const lth__tree_meeting *x);

#endif

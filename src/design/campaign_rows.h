/* Pieces of rows, for those that make new ones. */
#ifndef LTH_CAMPAIGN_ROWS_H
#define LTH_CAMPAIGN_ROWS_H

#include "design/campaign.h"

/* A cell of a table as text; that of a number is written into `number`. */
const char *lth__campaign_cell_text(const lth_table *table, size_t row, size_t column,
                                    char number[32], size_t *length);

/* Cells of one row, all empty, and a text for one of them; NULL after a failure. They live as long
 * as the campaign. */
lth__campaign_cell *lth__campaign_cells(lth_design *d, lth_error *err);
lth_status lth__campaign_keep(lth_design *d, const char *text, size_t length,
                              lth__campaign_cell *out, lth_error *err);
lth_status lth__campaign_push(lth__campaign_rows *rows, lth__campaign_row row, lth_error *err);

/* A target as a number; NaN = it is none. */
double lth__campaign_target(const lth_design *d, const lth__campaign_row *row, size_t target);

/* Whether a column is one that the campaign adds to its rows. */
bool lth__campaign_is_note(const char *column);

#endif

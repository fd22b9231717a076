/* A campaign inside the library: its settings, its rows, its files.
 *
 * Settings are texts (campaign_settings.c): those of a new campaign are written from its options,
 * and options are always read from settings, so that one that is opened is the same as it was.
 * Rows are a list (campaign_rows.c). Whoever changes it makes another one, which takes the place of
 * the first once it is on disk (campaign_file.c). */
#ifndef LTH_CAMPAIGN_H
#define LTH_CAMPAIGN_H

#include <sys/types.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/symbols.h"

typedef struct lth__campaign_setting {
    const char *name, *value;
} lth__campaign_setting;

typedef struct lth__campaign_cell {
    const char *text; /* ends with NUL */
    size_t length;
} lth__campaign_cell;

typedef struct lth__campaign_row {
    const lth__campaign_cell *cells; /* of the models' columns, then of the targets      */
    size_t round, asked;             /* 0 = not measured yet; nobody asked for it         */
    double mean, sd, acquisition;    /* when it was asked for; NaN = drawn at random, too */
} lth__campaign_row;

/* Whether results may be told again; AS_SET: as settings say. */
typedef enum lth__campaign_repeats {
    LTH__REPEATS_AS_SET,
    LTH__REPEATS_YES,
    LTH__REPEATS_NO
} lth__campaign_repeats;

/* A version of the rows, with the table that shows them. */
typedef struct lth__campaign_rows {
    lth__campaign_row *list;
    size_t count, capacity;
    lth_table *table;
} lth__campaign_rows;

/* What a file was when it was read or written last. */
typedef struct lth__campaign_stamp {
    dev_t device;
    ino_t file;
    off_t size;
    long long time;
} lth__campaign_stamp;

struct lth_design {
    lth_ctx *ctx;
    char *folder; /* NULL = in memory */
    lth__campaign_stamp settings_stamp, rows_stamp;

    lth__pool words; /* texts of settings and of what is made from them */
    lth__campaign_setting *settings;
    size_t setting_count, setting_capacity;
    const char *kernel, *space_text, *from;
    uint64_t seed;
    lth__campaign_repeats repeats; /* of results that are told */
    lth_gp_options gp;             /* without mean and noise kernel: the expression has them */
    lth_propose_options propose;
    lth_search_options search;
    char *expression;
    size_t params; /* of that expression, as it is written */
    const char **targets;
    size_t target_count;
    const char **columns; /* that the models read, ranges spelled out */
    bool *numeric;        /* likewise: their cells are numbers        */
    size_t column_count;
    lth_space *space;
    const lth_table *pool; /* candidates: the caller's, or */
    lth_table *candidates; /* read from a file             */

    lth__pool texts; /* of rows */
    lth__campaign_rows rows;
    lth_model *model;
    uint64_t fitted; /* of which rows: see lth__campaign_fingerprint(); 0 = of none */
    size_t *asked;   /* the candidates of the last ask */
    size_t asked_count;
    lth_design_report report;
};

/* ---- campaign_settings.c ---- */

/* Into d->settings: what `options` says that is not the default. */
lth_status lth__campaign_write_settings(lth_design *d, const lth_design_options *options,
                                        lth_error *err);
/* From d->settings into all that follows from them. `file` and the lines of settings, from 2, are
 * for errors; NULL = the caller's own. */
lth_status lth__campaign_read_settings(lth_design *d, const char *file, lth_error *err);
lth_status lth__campaign_set(lth_design *d, const char *name, const char *value, lth_error *err);

/* ---- campaign_rows.c ---- */

/* Another version to work on, and its place, or its end. The table of a version is made by
 * lth__campaign_seal(). */
lth_status lth__campaign_branch(const lth_design *d, lth__campaign_rows *out, lth_error *err);
lth_status lth__campaign_seal(const lth_design *d, lth__campaign_rows *rows, lth_error *err);
void lth__campaign_replace(lth_design *d, lth__campaign_rows *rows);
void lth__campaign_drop(lth__campaign_rows *rows);

/* Append a row that has what the models read of `table`; its targets are empty. */
lth_status lth__campaign_append(lth_design *d, lth__campaign_rows *rows, const lth_table *table,
                                size_t row, const size_t *columns, lth__campaign_row with,
                                lth_error *err);
/* Rows as they are on disk, of a table with all columns of lth_design_rows(). */
lth_status lth__campaign_take(lth_design *d, const lth_table *table, lth__campaign_rows *out,
                              lth_error *err);

/* Which columns of a table the models read; freed with lth__free(). */
lth_status lth__campaign_columns(const lth_design *d, const lth_table *table, size_t **out,
                                 lth_error *err);
/* The text by which rows of a table are told apart; and of one of the campaign. */
void lth__campaign_key(const lth_design *d, const lth_table *table, size_t row,
                       const size_t *columns, lth__string *out);
void lth__campaign_row_key(const lth_design *d, const lth__campaign_row *row, lth__string *out);
/* The keys of all rows. NULL = out of memory. */
lth__symbols *lth__campaign_keys(const lth_design *d);

/* Tables of the rows that are measured, with targets, and of those that are pending, without. */
lth_status lth__campaign_measured(const lth_design *d, lth_table **out, lth_error *err);
lth_status lth__campaign_pending(const lth_design *d, const lth__campaign_rows *rows,
                                 lth_table **out, lth_error *err);
/* Tells measured rows (and their expression) apart. */
uint64_t lth__campaign_fingerprint(const lth_design *d);
/* Whether there is something to learn: two rows whose targets differ. */
bool lth__campaign_can_learn(const lth_design *d);
/* Whether targets are labels, as settings or the first that is known say. */
bool lth__campaign_has_labels(const lth_design *d, const lth__campaign_rows *rows);

/* ---- campaign_ask.c ---- */

/* Once; and whether they have what the models read. */
lth_status lth__campaign_read_candidates(lth_design *d, lth_error *err);

/* ---- campaign_file.c: nothing happens of a campaign in memory ---- */

/* One process at a time; what others have changed is read. */
lth_status lth__campaign_lock(lth_design *d, int *lock, lth_error *err);
void lth__campaign_unlock(int lock);

lth_status lth__campaign_write_new(lth_design *d, lth_error *err);
lth_status lth__campaign_save_settings(lth_design *d, lth_error *err);
lth_status lth__campaign_save_rows(lth_design *d, const lth__campaign_rows *rows, lth_error *err);
lth_status lth__campaign_save_model(lth_design *d, lth_error *err);
/* The settings; then, once columns are known by them, rows and model. */
lth_status lth__campaign_load(lth_design *d, lth_error *err);
lth_status lth__campaign_load_rows(lth_design *d, lth_error *err);

#endif

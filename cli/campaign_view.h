/* A campaign looked at: its rows as numbers, round by round. */
#ifndef CLI_CAMPAIGN_VIEW_H
#define CLI_CAMPAIGN_VIEW_H

#include "session.h"

/* What was predicted for the rows of one ask, against what came out. */
typedef struct campaign_predictions {
    size_t asked;                    /* the round they were asked for in  */
    size_t count;                    /* that are measured by now           */
    double rmse, spearman, coverage; /* coverage: of 95% intervals; NaN = not known */
} campaign_predictions;

/* After a round. */
typedef struct campaign_step {
    size_t round, measured; /* rows so far */
    double best;            /* so far; NaN of labels */
} campaign_step;

typedef struct campaign_view {
    const lth_design *design;
    const lth_table *rows;
    const lth_design_report *report;
    const char *folder, *target; /* the first */
    char *kernel;                /* of the last model, with its values; NULL = none yet */
    size_t count, columns;       /* rows; columns that the models read                  */
    double *y, *mean, *sd;       /* NaN = not known; sd with the noise of the last model */
    double *numbers;             /* what these point into                                */
    size_t *round, *asked;       /* 0 = none */
    bool minimize;
    double optimum; /* NaN = not known */
    campaign_step *steps;
    size_t step_count;
    campaign_predictions *predictions;
    size_t prediction_count;
} campaign_view;

/* Close it in any case. */
int campaign_look(campaign_view *v, session *s, lth_design *design);
void campaign_close(campaign_view *v);

/* The models' columns of a row, with blanks between them; freed with free(). */
char *campaign_row_text(const campaign_view *v, size_t row);
/* The measured rows with a number, best first; freed with free(). */
size_t *campaign_ranking(const campaign_view *v, size_t *count);

/* A page about it; an exit code. */
int write_campaign_page(session *s, const campaign_view *v, const char *title, const char *path);

#endif

/* predict --score: how good predictions are, of rows that come a slice at a time. */
#ifndef CLI_PREDICT_SCORE_H
#define CLI_PREDICT_SCORE_H

#include "prediction.h"

/* Of every row so far, by target: what judges it. */
enum { SCORE_NUMBERS = 8 };
typedef struct score {
    session *session;
    lth_model *model;
    const char *path; /* of the table */
    size_t rows, room;
    double *numbers[SCORE_NUMBERS]; /* [target][room]; see predict_score.c     */
    bool *truth, *predicted;        /* [row * (classes + 1) + class]           */
    double *probability;            /* likewise; NULL = there are none         */
    double *decision;               /* by row, of an SVM and two classes       */
    bool strange;                   /* some label is none that the model knows */
} score;

/* Adds the columns that hold the truth; more->at has room for them. */
void score_columns(lth_model *m, list *more);

/* Predict the rows of a slice, and keep what judges them. Free `p` in any case. */
int score_take(score *s, const lth_table *slice, prediction *p);
/* After the last slice: what judges a target of numbers, without rows that have no truth, which are
 * moved away; returns how many are left. Of labels, the number of classes, with one more for those
 * that the model does not know; once, since arrays become narrower. */
size_t score_numbers(score *s, size_t target, lth_gp_prediction *out);
size_t score_labels(score *s, lth_label_prediction *out);
int score_print(score *s, bool json);
void score_free(score *s);

#endif

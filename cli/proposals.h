/* What the commands that choose rows to measure share: their options, and the rows they chose as
 * TSV, JSON or a page. */
#ifndef CLI_PROPOSALS_H
#define CLI_PROPOSALS_H

#include "model.h"
#include "validity.h"

/* ---- Options ---- */

/* How to choose, as options say it, and what they name. It points into itself: do not copy it. */
typedef struct choice {
    session *session;
    lth_propose_options propose;
    lth_search_options search;
    list objectives; /* the names of --objective, one by one */
    double *weights;
    lth_model *feasible;
    lth_table *pending, *measured;
    char *wild;
    validity valid; /* of --valid */
} choice;

/* What can be wrong before anything is read: what does not go together, and what is no number. Of
 * rows from a file, or from a space, as `o` says. */
int choice_check(const options *o);

/* All but --pending, --measured and --wild-type, of options that were checked. `targets` is the
 * number of objectives where --objective names none. Close it in any case. */
int choice_open(choice *c, session *s, size_t targets);
/* --pending and --measured, with these columns. */
int choice_read_rows(choice *c, const list *columns);
void choice_close(choice *c);

/* Print why a search failed: by the command of --valid, or in the library. */
int choice_fail(choice *c, const lth_error *err);

/* -k; 10 where it is not given. */
size_t choice_count(const options *o);

/* The rules of --space. */
int session_parse_space(session *s, const char *rules, lth_space **out);

/* ---- Rows that were chosen ---- */

typedef struct chosen {
    session *session;
    lth_model *const *models;
    size_t model_count;
    const lth_table *rows;          /* that proposals count in                               */
    bool numbered;                  /* they are rows of a file: their numbers are told       */
    const lth_proposals *proposals; /* NULL = all rows, in their order, and nothing is known */
    const char *cost;               /* a column of theirs; NULL = none                       */
    list empty;                     /* columns behind theirs that are to be filled in        */
    bool feasible;                  /* there is a model of what can be used                  */
    bool explained;                 /* with the reasons for each                             */
    const char *wild;               /* the sequence that mutations are counted from; NULL = the
                                       kernel's, if it has one                               */
} chosen;

size_t chosen_count(const chosen *c);
/* The table's row of the i-th. */
size_t chosen_row(const chosen *c, size_t i);
/* A cell of the i-th, freed with free(); NULL = out of memory. */
char *chosen_cell(const chosen *c, size_t i, size_t column);
/* Whether a column of the rows is told: some are there twice. */
bool chosen_shows(const chosen *c, size_t column);

/* What is known of a row beside its cells. */
typedef struct chosen_figure {
    char name[128]; /* "mean", "joy.sd", "nearest" */
    bool is_text, is_count;
    double number;
    size_t count;     /* LTH_NONE = not known               */
    const char *text; /* NULL likewise; borrowed for a moment */
} chosen_figure;

/* The f-th of them; false past the last. `i` LTH_NONE = only its name. */
bool chosen_figure_at(const chosen *c, size_t i, size_t f, chosen_figure *out);

/* What speaks for or against the i-th, by an objective; free lth_reasons_free(reasons). */
typedef struct chosen_reasons {
    lth_model *model;
    size_t function;
    lth_reasons *reasons;
} chosen_reasons;

int chosen_explain(const chosen *c, size_t i, size_t objective, bool only_parts,
                   chosen_reasons *out);
/* "V39A +0.8, D40W +0.3": its heaviest parts. */
void write_heaviest(FILE *to, const chosen *c, size_t i, const lth_reasons *reasons);

/* All of them as a table, or as one JSON object; exit codes. */
int write_chosen_tsv(FILE *to, const chosen *c);
int write_chosen_json(FILE *to, const chosen *c);

/* A page about them, of whose candidates some are drawn too (NULL = none). */
int write_chosen_page(const chosen *c, const lth_table *candidates, const char *title,
                      const char *path);

#endif

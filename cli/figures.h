/* The figures that say how good predictions are, with their names: of cv, and of predict --score.
 */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include "json.h"
#include "luthier.h"

enum { MOST_FIGURES = 15 };

/* Of labels or of numbers; `probabilities`: labels come with them. `fitted`: a model was fitted,
 * which has taken seconds and has an evidence. */
typedef struct figure_kind {
    bool labels, svm, probabilities, fitted;
} figure_kind;

typedef struct figures {
    size_t count;
    double at[MOST_FIGURES];
} figures;

figures figures_of_numbers(const lth_metrics *m, double seconds, double evidence);
figures figures_of_labels(const lth_label_metrics *m, double seconds);

/* As a line of a table, each with a tab in front; as an object. */
void print_figure_names(figure_kind kind);
void print_figures(figure_kind kind, const figures *f);
void json_put_figures(json_writer *w, const char *key, figure_kind kind, const figures *f);

#endif

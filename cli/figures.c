/* The figures that say how good predictions are. */
#include "figures.h"

#include <math.h>
#include <string.h>

#include "output.h"

static const char *const of_numbers[] = {
    "nlpd",     "mae",     "rmse", "r",      "r2",   "coverage",    "seconds", "evidence",
    "spearman", "kendall", "ndcg", "recall", "crps", "calibration", "qwk"};
static const char *const of_labels[] = {"accuracy", "micro_f1", "macro_f1",    "auc",   "seconds",
                                        "log_loss", "brier",    "calibration", "auprc", "qwk"};
enum { NUMBER_FIGURES = sizeof of_numbers / sizeof *of_numbers };
enum { LABEL_FIGURES = sizeof of_labels / sizeof *of_labels };

figures figures_of_labels(const lth_label_metrics *m, double seconds) {
    return (figures){m->count,
                     {m->accuracy, m->micro_f1, m->macro_f1, m->auc, seconds, m->log_loss, m->brier,
                      m->calibration, m->auprc, m->qwk}};
}

figures figures_of_numbers(const lth_metrics *m, double seconds, double evidence) {
    return (figures){m->count,
                     {m->nlpd, m->mae, m->rmse, m->r, m->r2, m->coverage, seconds, evidence,
                      m->spearman, m->kendall, m->ndcg, m->recall, m->crps, m->calibration,
                      m->qwk}};
}

/* The i-th, "" where this kind does not have it, NULL past the last. */
static const char *name_at(figure_kind kind, size_t i) {
    if (i >= (kind.labels ? LABEL_FIGURES : NUMBER_FIGURES)) return NULL;
    const char *name = kind.labels ? of_labels[i] : of_numbers[i];
    bool of_fit = strcmp(name, "seconds") == 0 || strcmp(name, "evidence") == 0;
    bool of_probabilities =
        kind.labels && (strcmp(name, "log_loss") == 0 || strcmp(name, "brier") == 0 ||
                        strcmp(name, "calibration") == 0);
    bool missing = (of_fit && !kind.fitted) || (of_probabilities && !kind.probabilities);
    return missing ? "" : name;
}

void print_figure_names(figure_kind kind) {
    const char *name;
    for (size_t i = 0; (name = name_at(kind, i)); ++i)
        if (*name) printf("\t%s", name);
}

void print_figures(figure_kind kind, const figures *f) {
    const char *name;
    for (size_t i = 0; (name = name_at(kind, i)); ++i)
        if (*name) print_number_cell(f->at[i]);
}

void json_put_figures(json_writer *w, const char *key, figure_kind kind, const figures *f) {
    const char *name;
    json_begin_object(w, key);
    for (size_t i = 0; (name = name_at(kind, i)); ++i)
        if (*name) json_put_double(w, name, f->at[i]);
    json_end(w);
}

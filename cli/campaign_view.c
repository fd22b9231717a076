/* A campaign looked at: its rows as numbers, round by round. */
#define _GNU_SOURCE 1 /* qsort_r */

#include "campaign_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* ---- Cells ---- */

static double number_at(const lth_table *table, size_t row, size_t column) {
    size_t length = 0;
    const char *cell = column == LTH_NONE ? NULL : lth_table_cell(table, row, column, &length);
    char text[64], *end;
    if (!cell || length == 0 || length >= sizeof text) return NAN;
    memcpy(text, cell, length);
    text[length] = 0;
    double value = strtod(text, &end);
    return *end ? NAN : value;
}

static size_t count_at(const lth_table *table, size_t row, size_t column) {
    double value = number_at(table, row, column);
    return value > 0 ? (size_t)value : 0;
}

char *campaign_row_text(const campaign_view *v, size_t row) {
    size_t size = 1;
    for (size_t j = 0; j < v->columns; ++j) {
        size_t length = 0;
        lth_table_cell(v->rows, row, j, &length);
        size += length + 1;
    }
    char *text = malloc(size), *at = text;
    for (size_t j = 0; text && j < v->columns; ++j) {
        size_t length = 0;
        const char *cell = lth_table_cell(v->rows, row, j, &length);
        if (j) *at++ = ' ';
        if (length > 0) memcpy(at, cell, length);
        at += length;
    }
    if (text) *at = 0;
    return text;
}

/* ---- Rows ---- */

/* Values of the notes that the campaign adds behind the targets. */
static void read_rows(campaign_view *v, double noise) {
    const lth_table *t = v->rows;
    size_t y = lth_table_find(t, v->target), round = lth_table_find(t, "round");
    size_t asked = lth_table_find(t, "asked"), mean = lth_table_find(t, "mean");
    size_t sd = lth_table_find(t, "sd");
    v->columns = y;
    for (size_t i = 0; i < v->count; ++i) {
        double latent = number_at(t, i, sd);
        v->round[i] = count_at(t, i, round);
        v->asked[i] = count_at(t, i, asked);
        v->y[i] = v->round[i] > 0 ? number_at(t, i, y) : NAN;
        v->mean[i] = number_at(t, i, mean);
        v->sd[i] = sqrt(latent * latent + noise);
    }
}

static bool better(const campaign_view *v, double a, double b) {
    return v->minimize ? a < b : a > b;
}

static int by_worth(const void *a, const void *b, void *user) {
    const campaign_view *v = user;
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    if (v->y[i] != v->y[j]) return better(v, v->y[i], v->y[j]) ? -1 : 1;
    return i < j ? -1 : i > j;
}

size_t *campaign_ranking(const campaign_view *v, size_t *count) {
    size_t *order = malloc((v->count + 1) * sizeof *order);
    *count = 0;
    for (size_t i = 0; order && i < v->count; ++i)
        if (!isnan(v->y[i])) order[(*count)++] = i;
    if (order) qsort_r(order, *count, sizeof *order, by_worth, (void *)v);
    return order;
}

/* ---- Rounds ---- */

static void list_steps(campaign_view *v) {
    double best = NAN;
    size_t measured = 0;
    for (size_t r = 1; r <= v->report->rounds; ++r) {
        for (size_t i = 0; i < v->count; ++i) {
            if (v->round[i] != r) continue;
            ++measured;
            if (isnan(best) || better(v, v->y[i], best)) best = v->y[i];
        }
        v->steps[v->step_count++] = (campaign_step){r, measured, best};
    }
}

/* The rows of one ask that came back with a number, into three arrays. */
static size_t gather(const campaign_view *v, size_t asked, double *y, double *mean, double *sd) {
    size_t count = 0;
    for (size_t i = 0; i < v->count; ++i) {
        if (v->asked[i] != asked || isnan(v->y[i]) || isnan(v->mean[i])) continue;
        y[count] = v->y[i];
        mean[count] = v->mean[i];
        sd[count++] = v->sd[i];
    }
    return count;
}

static bool list_predictions(campaign_view *v, bool normal) {
    double *y = malloc((3 * v->count + 1) * sizeof *y);
    for (size_t r = 1; y && r <= v->report->rounds + 1; ++r) {
        lth_metrics m;
        size_t count = gather(v, r, y, y + v->count, y + 2 * v->count);
        if (count == 0) continue;
        lth_metrics_of(y, y + v->count, normal ? y + 2 * v->count : NULL, count, &m, sizeof m);
        v->predictions[v->prediction_count++] =
            (campaign_predictions){r, count, normal ? m.rmse : NAN, count > 1 ? m.spearman : NAN,
                                   normal ? m.coverage : NAN};
    }
    free(y);
    return y != NULL;
}

static bool looks_for_low(const lth_design *d, const char *target) {
    const char *objective = lth_design_setting(d, "objective");
    const char *minimize = lth_design_setting(d, "minimize");
    size_t length = strlen(target);
    if (objective && strncmp(objective, target, length) == 0 && objective[length] == '=')
        return strcmp(objective + length, "=min") == 0;
    return minimize && strcmp(minimize, "yes") == 0;
}

int campaign_look(campaign_view *v, session *s, lth_design *design) {
    const options *o = s->options;
    lth_model *model = lth_design_model(design);
    *v = (campaign_view){.design = design,
                         .rows = lth_design_rows(design),
                         .report = lth_design_reported(design),
                         .folder = o->arguments[1],
                         .target = lth_design_target(design, 0),
                         .optimum = NAN};
    if (o->optimum) {
        char *end;
        v->optimum = strtod(o->optimum, &end);
        if (end == o->optimum || *end || !isfinite(v->optimum))
            return usage_error(o->command, "--optimum wants a number, not \"%s\"", o->optimum);
    }
    v->count = lth_table_rows(v->rows);
    v->minimize = looks_for_low(design, v->target);
    v->numbers = malloc((3 * v->count + 1) * sizeof *v->numbers);
    v->round = malloc((2 * v->count + 1) * sizeof *v->round);
    v->steps = malloc((v->report->rounds + 1) * sizeof *v->steps);
    v->predictions = malloc((v->report->rounds + 1) * sizeof *v->predictions);
    if (!v->numbers || !v->round || !v->steps || !v->predictions) return out_of_memory();
    v->y = v->numbers;
    v->mean = v->y + v->count;
    v->sd = v->mean + v->count;
    v->asked = v->round + v->count;
    const lth_gp *gp = model ? lth_model_gp(model) : NULL;
    read_rows(v, gp ? lth_gp_reported(gp)->noise : 0);
    list_steps(v);
    if (!list_predictions(v, gp && model_is_normal(model))) return out_of_memory();
    if (model) v->kernel = kernel_text(lth_model_kernel(model));
    return model && !v->kernel ? out_of_memory() : EXIT_DONE;
}

void campaign_close(campaign_view *v) {
    free(v->numbers);
    free(v->round);
    free(v->steps);
    free(v->predictions);
    free(v->kernel);
    *v = (campaign_view){0};
}

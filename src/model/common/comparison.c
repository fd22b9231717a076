/* Models side by side: the paired bootstrap (Efron and Tibshirani 1993). Rows are drawn with
 * replacement, as many as there are, the same for all models; each resample gives every figure of
 * every model anew, and what the first has less another. The spread of these differences over
 * resamples is about that over tables. Resamples have random numbers of their own, by their number
 * alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/random.h"
#include "model/common/metrics.h"

enum { NUMBER_ARRAYS = 8, MOST_RESAMPLES = 10000000 };

typedef struct figure {
    const char *name;
    size_t at;   /* in its struct of metrics */
    double best; /* -INFINITY, INFINITY, or the nearer to this */
} figure;

#define LOW(member) offsetof(lth_metrics, member), -INFINITY
#define HIGH(member) offsetof(lth_metrics, member), INFINITY
static const figure of_numbers[] = {
    {"nlpd", LOW(nlpd)},
    {"mae", LOW(mae)},
    {"rmse", LOW(rmse)},
    {"r", HIGH(r)},
    {"r2", HIGH(r2)},
    {"spearman", HIGH(spearman)},
    {"kendall", HIGH(kendall)},
    {"ndcg", HIGH(ndcg)},
    {"recall", HIGH(recall)},
    {"crps", LOW(crps)},
    {"qwk", HIGH(qwk)},
    {"calibration", LOW(calibration)},
    {"coverage", offsetof(lth_metrics, coverage), 0.95},
};
#define LABEL(member) offsetof(lth_label_metrics, member)
static const figure of_labels[] = {
    {"accuracy", LABEL(accuracy), INFINITY},
    {"micro_f1", LABEL(micro_f1), INFINITY},
    {"macro_f1", LABEL(macro_f1), INFINITY},
    {"auc", LABEL(auc), INFINITY},
    {"auprc", LABEL(auprc), INFINITY},
    {"log_loss", LABEL(log_loss), -INFINITY},
    {"brier", LABEL(brier), -INFINITY},
    {"qwk", LABEL(qwk), INFINITY},
    {"calibration", LABEL(calibration), -INFINITY},
};

struct lth_comparison {
    size_t models, figures;
    lth_compared *of; /* [model][figure] */
};

/* What all models predicted. */
typedef struct side_by_side {
    size_t rows, models, figures;
    const figure *list;
    uint64_t seed;
    double *found; /* [resample][model][figure] */
    /* Numbers: y, and of each model its other arrays, in the order of arrays_of(). */
    const double **numbers; /* [model][NUMBER_ARRAYS]; NULL = these are labels */
    /* Labels: */
    const bool *truth;
    const lth_label_prediction *labels; /* by model */
    const char *const *names;
    size_t classes;
    bool multi;
} side_by_side;

/* ---- Figures of rows ---- */

/* `at` NULL = the rows as they are; `room` is for one of each array. */
static const double *pick(const double *from, const size_t *at, size_t rows, size_t width,
                          double *room) {
    if (!from || !at) return from;
    for (size_t i = 0; i < rows; i++)
        memcpy(room + i * width, from + at[i] * width, width * sizeof *room);
    return room;
}

static const bool *pick_flags(const bool *from, const size_t *at, size_t rows, size_t width,
                              bool *room) {
    if (!at) return from;
    for (size_t i = 0; i < rows; i++)
        memcpy(room + i * width, from + at[i] * width, width * sizeof *room);
    return room;
}

static void list_figures(const side_by_side *x, const void *metrics, double *out) {
    for (size_t k = 0; k < x->figures; k++)
        memcpy(&out[k], (const char *)metrics + x->list[k].at, sizeof *out);
}

static lth_status judge_numbers(const side_by_side *x, size_t model, const size_t *at, double *room,
                                double *out, lth_error *err) {
    const double *of[NUMBER_ARRAYS];
    for (size_t k = 0; k < NUMBER_ARRAYS; k++)
        of[k] = pick(x->numbers[model * NUMBER_ARRAYS + k], at, x->rows, 1,
                     at ? room + k * x->rows : NULL);
    lth__predicted p = {.count = x->rows,
                        .y = of[0],
                        .point = of[1],
                        .sd = of[2],
                        .log_density = of[3],
                        .cdf = of[4],
                        .crps = of[5],
                        .lower = of[6],
                        .upper = of[7]};
    lth_metrics m;
    LTH_TRY(lth__metrics_judge(&p, &m, err));
    list_figures(x, &m, out);
    return LTH_OK;
}

static lth_status judge_labels(const side_by_side *x, size_t model, const size_t *at, double *room,
                               double *out, lth_error *err) {
    const lth_label_prediction *of = &x->labels[model];
    size_t cells = x->rows * x->classes;
    bool *flags = (bool *)(room + cells + x->rows);
    bool scored = of->score && !of->probability && x->classes == 2;
    lth__labelled p = {.count = x->rows,
                       .classes = x->classes,
                       .multi = x->multi,
                       .truth = pick_flags(x->truth, at, x->rows, x->classes, flags),
                       .predicted =
                           pick_flags(of->predicted, at, x->rows, x->classes, flags + cells),
                       .probability = pick(of->probability, at, x->rows, x->classes, room),
                       .score = scored ? pick(of->score, at, x->rows, 1, room + cells) : NULL,
                       .name = x->names};
    lth_label_metrics m;
    LTH_TRY(lth__label_metrics_judge(&p, &m, err));
    list_figures(x, &m, out);
    return LTH_OK;
}

static lth_status judge(const side_by_side *x, const size_t *at, double *room, double *out,
                        lth_error *err) {
    for (size_t m = 0; m < x->models; m++)
        LTH_TRY(
            (x->numbers ? judge_numbers : judge_labels)(x, m, at, room, out + m * x->figures, err));
    return LTH_OK;
}

static size_t room_of(const side_by_side *x) {
    size_t cells = x->rows * x->classes, flags = 2 * cells * sizeof(bool) / sizeof(double) + 1;
    return x->numbers ? NUMBER_ARRAYS * x->rows : cells + x->rows + flags;
}

static lth_status resample(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const side_by_side *x = user;
    lth__random random;
    size_t *at = lth__alloc(x->rows, sizeof *at), bytes = room_of(x) * sizeof(double);
    double *room = lth__alloc(room_of(x), sizeof *room);
    lth_status status = at && room ? LTH_OK : lth__fail_memory(err, bytes);
    lth__random_seed(&random, x->seed + 0x9e3779b97f4a7c15u * (index + 1));
    for (size_t i = 0; i < x->rows && status == LTH_OK; i++)
        at[i] = lth__random_below(&random, x->rows);
    if (status == LTH_OK)
        status = judge(x, at, room, x->found + index * x->models * x->figures, err);
    lth__free(at);
    lth__free(room);
    return status;
}

/* ---- Differences ---- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between the nearest two of sorted numbers, in proportion. */
static double quantile(const double *sorted, size_t count, double share) {
    double place = share * (double)(count - 1), below = floor(place);
    size_t i = (size_t)below, next = i + 1 < count ? i + 1 : i;
    return sorted[i] + (place - below) * (sorted[next] - sorted[i]);
}

/* By how much the first is better. */
static double gain(const figure *f, double first, double other) {
    if (isinf(f->best)) return f->best > 0 ? first - other : other - first;
    return fabs(other - f->best) - fabs(first - f->best);
}

/* `room` has a number for each resample. */
static void summarise(const side_by_side *x, size_t resamples, double level, size_t model, size_t k,
                      double *room, lth_compared *out) {
    size_t count = 0, wins = 0, losses = 0, stride = x->models * x->figures;
    for (size_t b = 0; b < resamples; b++) {
        const double *of = x->found + b * stride + k;
        double first = of[0], other = of[model * x->figures];
        if (isnan(first) || isnan(other)) continue;
        double by = gain(&x->list[k], first, other);
        room[count++] = first - other;
        wins += by > 0;
        losses += by < 0;
    }
    out->resamples = count;
    if (count == 0 || isnan(out->difference)) {
        out->lower = out->upper = out->first_better = out->p = NAN;
        return;
    }
    size_t ties = count - wins - losses, fewer = wins < losses ? wins : losses;
    qsort(room, count, sizeof *room, by_size);
    out->lower = quantile(room, count, (1 - level) / 2);
    out->upper = quantile(room, count, (1 + level) / 2);
    out->first_better = ((double)wins + 0.5 * (double)ties) / (double)count;
    out->p = fmin(1, 2 * (double)(fewer + ties + 1) / (double)(count + 1));
}

static const char *better_name(const figure *f) {
    return !isinf(f->best) ? "0.95" : f->best > 0 ? "high" : "low";
}

static void fill(const side_by_side *x, const lth_compare_options *options, const double *values,
                 double *room, lth_comparison *c) {
    for (size_t m = 0; m < x->models; m++) {
        for (size_t k = 0; k < x->figures; k++) {
            lth_compared *to = &c->of[m * x->figures + k];
            double value = values[m * x->figures + k];
            *to = (lth_compared){.name = x->list[k].name,
                                 .better = better_name(&x->list[k]),
                                 .value = value,
                                 .difference = values[k] - value};
            summarise(x, options->resamples, options->level, m, k, room, to);
        }
    }
}

/* ---- All of it ---- */

static lth_status check(const side_by_side *x, const lth_compare_options *o, lth_error *err) {
    if (x->models < 2) return lth__fail(err, LTH_EARG, "a comparison wants two models or more");
    if (x->rows < 2)
        return lth__fail(err, LTH_EARG, "a comparison wants two rows or more that have a truth");
    if (o->resamples == 0 || o->resamples > MOST_RESAMPLES)
        return lth__fail(err, LTH_EARG, "resamples are 1 to %d", (int)MOST_RESAMPLES);
    if (!(o->level > 0 && o->level < 1))
        return lth__fail(err, LTH_EARG, "the level of an interval is between 0 and 1");
    return LTH_OK;
}

void lth_comparison_free(lth_comparison *c) {
    if (!c) return;
    lth__free(c->of);
    lth__free(c);
}

static lth_status create(const side_by_side *x, lth_comparison **out, lth_error *err) {
    lth_comparison *c = lth__calloc(1, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    c->models = x->models;
    c->figures = x->figures;
    c->of = lth__calloc(x->models * x->figures, sizeof *c->of);
    if (!c->of) {
        lth__free(c);
        return lth__fail_memory(err, x->models * x->figures * sizeof *c->of);
    }
    *out = c;
    return LTH_OK;
}

static lth_status run(lth_ctx *ctx, side_by_side *x, const lth_compare_options *o,
                      lth_comparison *c, lth_error *err) {
    size_t each = x->models * x->figures, cells = (o->resamples + 1) * each + o->resamples;
    double *values = lth__alloc(cells, sizeof *values);
    if (!values) return lth__fail_memory(err, cells * sizeof *values);
    x->found = values + each;
    lth_status status = judge(x, NULL, NULL, values, err);
    if (status == LTH_OK)
        status = lth__parallel_for(ctx, "resampling", o->resamples, NULL, resample, x, err);
    if (status == LTH_OK) fill(x, o, values, x->found + o->resamples * each, c);
    lth__free(values);
    return status;
}

static lth_status compare(lth_ctx *ctx, side_by_side *x, const lth_compare_options *given,
                          lth_comparison **out, lth_error *err) {
    lth_compare_options o;
    lth_comparison *c = NULL;
    lth_compare_options_init(&o);
    if (given) lth__copy_struct(&o, sizeof o, given, given->size);
    x->seed = o.seed;
    LTH_TRY(check(x, &o, err));
    LTH_TRY(create(x, &c, err));
    lth_status status = run(ctx, x, &o, c, err);
    if (status == LTH_OK)
        *out = c;
    else
        lth_comparison_free(c);
    return status;
}

void lth_compare_options_init(lth_compare_options *options) {
    *options =
        (lth_compare_options){.size = sizeof *options, .resamples = 2000, .seed = 1, .level = 0.95};
}

lth_status lth_compare_numbers(lth_ctx *ctx, const lth_gp_prediction *const *from, size_t from_size,
                               size_t models, size_t rows, const lth_compare_options *options,
                               lth_comparison **out, lth_error *err) {
    const double **numbers = lth__alloc(models * NUMBER_ARRAYS, sizeof *numbers);
    if (!numbers) return lth__fail_memory(err, models * NUMBER_ARRAYS * sizeof *numbers);
    for (size_t m = 0; m < models; m++) {
        lth_gp_prediction p = {0};
        lth__copy_struct(&p, sizeof p, from[m], from_size);
        const double *all[NUMBER_ARRAYS] = {p.y,   p.point, p.sd,    p.log_density,
                                            p.cdf, p.crps,  p.lower, p.upper};
        memcpy(numbers + m * NUMBER_ARRAYS, all, sizeof all);
    }
    side_by_side x = {.rows = rows,
                      .models = models,
                      .figures = sizeof of_numbers / sizeof *of_numbers,
                      .list = of_numbers,
                      .numbers = numbers};
    lth_status status = compare(ctx, &x, options, out, err);
    lth__free(numbers);
    return status;
}

lth_status lth_compare_labels(lth_ctx *ctx, const bool *truth,
                              const lth_label_prediction *const *from, size_t from_size,
                              size_t models, const char *const *names, size_t rows, size_t classes,
                              bool multi, const lth_compare_options *options, lth_comparison **out,
                              lth_error *err) {
    lth_label_prediction *labels = lth__calloc(models, sizeof *labels);
    if (!labels) return lth__fail_memory(err, models * sizeof *labels);
    for (size_t m = 0; m < models; m++)
        lth__copy_struct(&labels[m], sizeof *labels, from[m], from_size);
    side_by_side x = {.rows = rows,
                      .models = models,
                      .figures = sizeof of_labels / sizeof *of_labels,
                      .list = of_labels,
                      .truth = truth,
                      .labels = labels,
                      .names = names,
                      .classes = classes,
                      .multi = multi};
    lth_status status = compare(ctx, &x, options, out, err);
    lth__free(labels);
    return status;
}

size_t lth_comparison_figures(const lth_comparison *c) {
    return c->figures;
}

const lth_compared *lth_comparison_at(const lth_comparison *c, size_t model, size_t i) {
    if (model >= c->models || i >= c->figures) return NULL;
    return &c->of[model * c->figures + i];
}

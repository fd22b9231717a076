/* What pictures of mutations show: each number that a model predicts, by site and letter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/mutations.h"

typedef struct job {
    const mutations *of;
    mutation_scan *out;
    size_t first; /* of the columns that are shown; numbers have targets instead */
    lth_status status;
} job;

static void count_values(job *j, const prediction *p) {
    mutation_scan *out = j->out;
    j->first = mutation_column(p) ? p->column_count - 1 : 0;
    out->count = p->classes ? p->column_count - j->first : p->targets;
}

static bool open_values(job *j, const prediction *p, size_t of, mutation_values *v) {
    size_t cells = j->of->rows - 1;
    v->of_target = p->classes == 0;
    v->name =
        strdup(v->of_target ? lth_model_target(p->model, of) : p->columns[j->first + of].name);
    v->value = calloc(cells + 1, sizeof *v->value);
    if (p->values.sd) v->sd = calloc(cells + 1, sizeof *v->sd);
    return v->name && v->value && (v->sd || !p->values.sd);
}

static double value_at(const job *j, const prediction *p, size_t of, size_t i) {
    if (p->classes == 0) return p->values.mean[of * p->rows + i];
    const prediction_column *column = &p->columns[j->first + of];
    return column->at(p, column->of, i);
}

static double sd_at(const prediction *p, size_t of, size_t i) {
    return p->values.sd ? p->values.sd[of * p->rows + i] : NAN;
}

/* Everywhere what is expected of the wild type: its own letters keep it. */
static bool begin(job *j, const prediction *p) {
    mutation_scan *out = j->out;
    count_values(j, p);
    out->at = calloc(out->count + 1, sizeof *out->at);
    if (!out->at) return false;
    for (size_t of = 0; of < out->count; ++of) {
        mutation_values *v = &out->at[of];
        if (!open_values(j, p, of, v)) return false;
        v->wild = value_at(j, p, of, 0);
        v->wild_sd = sd_at(p, of, 0);
        for (size_t i = 0; i + 1 < j->of->rows; ++i) {
            v->value[i] = v->wild;
            if (v->sd) v->sd[i] = v->wild_sd;
        }
    }
    return true;
}

static bool take(void *user, const prediction *p, const size_t *row, size_t count) {
    job *j = user;
    if (row[0] == 0 && !begin(j, p)) j->status = LTH_ENOMEM;
    for (size_t of = 0; of < j->out->count && j->status == LTH_OK; ++of) {
        mutation_values *v = &j->out->at[of];
        for (size_t i = row[0] == 0; i < count; ++i) {
            v->value[row[i] - 1] = value_at(j, p, of, i);
            if (v->sd) v->sd[row[i] - 1] = sd_at(p, of, i);
        }
    }
    return j->status == LTH_OK && j->out->count > 0;
}

lth_status mutations_scan(mutations *m, session *s, lth_model *model, bool latent,
                          mutation_scan *out, lth_error *err) {
    job j = {.of = m, .out = out};
    *out = (mutation_scan){0};
    lth_status status = mutations_predict(m, s, model, latent, take, &j, err);
    return status == LTH_OK && j.status != LTH_OK ? (err->status = j.status) : status;
}

void mutation_scan_close(mutation_scan *s) {
    for (size_t i = 0; s->at && i < s->count; ++i) {
        free(s->at[i].name);
        free(s->at[i].value);
        free(s->at[i].sd);
    }
    free(s->at);
    *s = (mutation_scan){0};
}

/* The string kernel on a device. */
#include "kernel/device/device_eval.h"
#include "kernel/string/ssk.h"

/* Orders that it has, and similarities that fit into a table; no reverse pass. */
bool lth__ssk_device_able(const lth__node *node, const lth__eval *eval) {
    const lth__ssk_state *st = eval->state[node->index];
    const lth__similarity *sim = st->plan.similarity;
    return !st->relevance && st->plan.order <= LTH__DEVICE_ORDERS &&
           (!sim || sim->table[LTH__SIM_VALUE]);
}

/* ---- Similarities ---- */

static void drop_tables(lth__device_eval *e, lth__device_part *part) {
    for (size_t i = 0; i < LTH__SIM_BASIS; i++) {
        if (part->table[i]) e->t->release(e->d, part->table[i]);
        part->table[i] = NULL;
    }
    part->has_tables = false;
}

/* The node's tables on the device, at the present values of their parameters. */
static lth_status find_tables(const lth__node *node, lth__device_eval *e,
                              const lth__similarity *sim, const lth__device_part **out,
                              lth_error *err) {
    lth__device_part *part = &e->nodes[node->index];
    bool same = part->key[0] == sim->temperature && part->key[1] == sim->rarity;
    *out = part;
    if (part->has_tables && same) return LTH_OK;
    drop_tables(e, part);
    size_t real = sim->precision == LTH_F32 ? sizeof(float) : sizeof(double);
    size_t bytes = (sim->symbols + 1) * (sim->symbols + 1) * real;
    for (size_t i = 0; i < LTH__SIM_BASIS; i++) {
        if (!sim->table[i]) continue;
        LTH_TRY(e->t->alloc(e->d, bytes, &part->table[i], err));
        LTH_TRY(e->t->upload(e->d, part->table[i], sim->table[i], bytes, err));
    }
    part->key[0] = sim->temperature;
    part->key[1] = sim->rarity;
    part->has_tables = true;
    return LTH_OK;
}

/* ---- Jobs ---- */

static lth_status make_job(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                           lth__along along, lth__device_ssk *job, lth_error *err) {
    const lth__ssk_state *st = e->eval->state[node->index];
    const lth__similarity *sim = st->plan.similarity;
    *job = (lth__device_ssk){.panel = *panel,
                             .order = (unsigned)st->plan.order,
                             .gap = st->plan.gap,
                             .precision = e->eval->ctx->options.precision,
                             .ld = panel->cols};
    for (size_t i = 0; i < st->plan.order; i++) job->nu[i] = st->nu[i];
    LTH_TRY(lth__device_sequences(e, node->field, 0, &job->rows, err));
    LTH_TRY(lth__device_sequences(e, node->field, 1, &job->cols, err));
    if (!sim) return LTH_OK;
    const lth__device_part *part;
    LTH_TRY(find_tables(node, e, sim, &part, err));
    job->table = part->table[LTH__SIM_VALUE];
    job->stride = sim->symbols + 1;
    if (along == LTH__ALONG_TEMPERATURE) job->slope = part->table[LTH__SIM_BY_TEMPERATURE];
    if (along == LTH__ALONG_RARITY) job->slope = part->table[LTH__SIM_BY_RARITY];
    return LTH_OK;
}

lth_status lth__ssk_device_tile(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                                double *K, lth_error *err) {
    lth__device_ssk job;
    LTH_TRY(make_job(node, e, panel, LTH__ALONG_GAP, &job, err));
    job.K = K;
    return e->t->ssk(e->d, &job, err);
}

lth_status lth__ssk_device_orders(const lth__node *node, lth__device_eval *e,
                                  const lth__panel *panel, double *K, lth_error *err) {
    const lth__ssk_state *st = e->eval->state[node->index];
    lth__device_ssk job;
    LTH_TRY(make_job(node, e, panel, LTH__ALONG_GAP, &job, err));
    job.planes = K;
    LTH_TRY(e->t->ssk(e->d, &job, err));
    size_t count = panel->rows * panel->cols;
    for (size_t i = 0; i < st->plan.order; i++)
        LTH_TRY(e->t->scale(e->d, K + i * count, count, st->match_power[i], err));
    return LTH_OK;
}

lth_status lth__ssk_device_pull(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                                double *W, double *K, double *grad, lth_error *err) {
    const lth__ssk_state *st = e->eval->state[node->index];
    lth__ssk_direction directions[LTH__ALONG];
    size_t count = lth__ssk_directions(node->config, directions);
    double sums[LTH__DEVICE_ORDERS], tangent, *own = grad + node->first_param;
    for (size_t d = 0; d < count; d++) {
        lth__device_ssk job;
        LTH_TRY(make_job(node, e, panel, directions[d].along, &job, err));
        job.W = W;
        job.value_sums = sums;
        job.tangent_sum = &tangent;
        if (d == 0) job.K = K;
        LTH_TRY(e->t->ssk(e->d, &job, err));
        own[directions[d].param] += tangent;
        for (size_t i = 0; d == 0 && i < st->plan.order; i++) {
            own[LTH__SSK_MATCH] += st->dnu[i] * sums[i];
            own[LTH__SSK_WEIGHTS + i] += st->match_power[i] * sums[i];
        }
    }
    return LTH_OK;
}

/* ---- Self-similarities ---- */

typedef struct diagonal_job {
    double *on_device, *on_host; /* k_i, then their derivatives: [order][item] */
    size_t count;
} diagonal_job;

static lth_status fill_diagonal(const lth__node *node, lth__device_eval *e, int side,
                                lth__along along, diagonal_job *s, lth_error *err) {
    const lth__ssk_state *st = e->eval->state[node->index];
    lth__panel panel = {.rows = s->count, .cols = 1};
    size_t planes = st->plan.order * s->count;
    lth__device_ssk job;
    LTH_TRY(make_job(node, e, &panel, along, &job, err));
    job.only_diagonal = true;
    if (side == 1) job.rows = job.cols;
    job.cols = job.rows;
    job.planes = s->on_device;
    job.tangents = s->on_device + planes;
    LTH_TRY(e->t->ssk(e->d, &job, err));
    return e->t->download(e->d, s->on_host, s->on_device, 2 * planes * sizeof *s->on_host, err);
}

static void take_self_similarities(const lth__node *node, const lth__ssk_state *st,
                                   const diagonal_job *s, const lth__ssk_direction *direction,
                                   double *a, double *slope) {
    size_t n = s->count, order = st->plan.order;
    const double *value = s->on_host, *tangent = s->on_host + order * n;
    bool first = direction->along == LTH__ALONG_GAP;
    double *own = slope ? slope + node->first_param * n : NULL;
    for (size_t k = 0; k < n; k++) {
        double sum = 0, along = 0, by_match = 0;
        for (size_t i = 0; i < order; i++) {
            double x = value[i * n + k];
            sum += st->nu[i] * x;
            along += st->nu[i] * tangent[i * n + k];
            by_match += st->dnu[i] * x;
            if (own && first) own[(LTH__SSK_WEIGHTS + i) * n + k] = st->match_power[i] * x;
        }
        if (first) a[k] = sum;
        if (own) own[direction->param * n + k] = along;
        if (own && first) own[LTH__SSK_MATCH * n + k] = by_match;
    }
}

lth_status lth__ssk_device_diagonal(const lth__node *node, const lth__eval *eval,
                                    const lth_items *items, double *a, double *slope,
                                    lth_error *err) {
    lth__device_eval *e = eval->device;
    const lth__ssk_state *st = eval->state[node->index];
    lth__ssk_direction directions[LTH__ALONG];
    size_t count = slope ? lth__ssk_directions(node->config, directions) : 1;
    if (!slope) directions[0] = (lth__ssk_direction){LTH__ALONG_GAP, LTH__SSK_GAP};
    diagonal_job s = {.count = items->count};
    size_t numbers = 2 * st->plan.order * s.count;
    s.on_host = lth__alloc(numbers, sizeof *s.on_host);
    lth_status status = s.on_host ? LTH_OK : lth__fail_memory(err, numbers * sizeof *s.on_host);
    if (status == LTH_OK) status = lth__device_matrix(e, numbers, &s.on_device, err);
    for (size_t d = 0; d < count && status == LTH_OK; d++) {
        int side = items == eval->rows ? 0 : 1;
        status = fill_diagonal(node, e, side, directions[d].along, &s, err);
        if (status == LTH_OK) take_self_similarities(node, st, &s, &directions[d], a, slope);
    }
    lth__device_drop(e, s.on_device);
    lth__free(s.on_host);
    return status;
}

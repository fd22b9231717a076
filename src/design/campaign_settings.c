/* The settings of a campaign: options as texts, and back. One table says how each option is
 * written; what has its default is not. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "design/campaign.h"
#include "model/gp/gp.h"

enum { FORMAT_VERSION = 1 };

typedef enum kind { COUNT, NUMBER, YES_NO, CHOICE, TEXT, FILE_NAME, TEXTS, NUMBERS } kind;
typedef enum owner { OF_PROPOSE, OF_SEARCH, OF_GP } owner;

typedef const char *choice_fn(size_t i);

typedef struct field {
    const char *name;
    kind kind;
    owner owner;
    size_t offset;
    size_t count;      /* of a list: where its length is */
    choice_fn *choice; /* the i-th; NULL past the last   */
} field;

/* ---- Names of choices ---- */

static const char *acquisition_at(size_t i) {
    return lth_acquisition_name((lth_acquisition)i, NULL);
}

static const char *batch_at(size_t i) {
    return lth_batch_name((lth_batch)i, NULL);
}

static const char *likelihood_at(size_t i) {
    return lth_likelihood_name((lth_likelihood)i);
}

#define CHOICE_LIST(function, ...)                                                                 \
    static const char *function(size_t i) {                                                        \
        static const char *const names[] = {__VA_ARGS__};                                          \
        return i < sizeof names / sizeof *names ? names[i] : NULL;                                 \
    }
CHOICE_LIST(task_at, "auto", "regression", "classification")
CHOICE_LIST(posterior_at, "auto", "exact", "cg", "inducing", "laplace", "sites")
CHOICE_LIST(bound_at, "none", "fitc", "titsias")
CHOICE_LIST(store_at, "f64", "f32")
CHOICE_LIST(point_at, "mean", "median")

/* ---- The table ---- */

#define PROPOSE(member) OF_PROPOSE, offsetof(lth_propose_options, member)
#define SEARCH(member) OF_SEARCH, offsetof(lth_search_options, member)
#define GP(member) OF_GP, offsetof(lth_gp_options, member)

static const field fields[] = {
    {"acquisition", CHOICE, PROPOSE(acquisition), 0, acquisition_at},
    {"batch", CHOICE, PROPOSE(batch), 0, batch_at},
    {"minimize", YES_NO, PROPOSE(minimize), 0, NULL},
    {"objective", TEXTS, PROPOSE(objectives), offsetof(lth_propose_options, objective_count), NULL},
    {"objective-weight", NUMBERS, PROPOSE(weights), 0, NULL},
    {"beta", NUMBER, PROPOSE(beta), 0, NULL},
    {"feasible-class", TEXT, PROPOSE(feasible_class), 0, NULL},
    {"feasible-least", NUMBER, PROPOSE(feasible_least), 0, NULL},
    {"feasible-most", NUMBER, PROPOSE(feasible_most), 0, NULL},
    {"cost", TEXT, PROPOSE(cost), 0, NULL},
    {"distance", COUNT, PROPOSE(distance), 0, NULL},
    {"repeats", YES_NO, PROPOSE(repeats), 0, NULL},
    {"shortlist", COUNT, PROPOSE(shortlist), 0, NULL},
    {"draws", COUNT, PROPOSE(draws), 0, NULL},
    {"wild-type", TEXT, PROPOSE(wild_type), 0, NULL},
    {"evaluations", COUNT, SEARCH(evaluations), 0, NULL},
    {"population", COUNT, SEARCH(population), 0, NULL},
    {"trust", COUNT, SEARCH(trust), 0, NULL},
    {"max-iter", COUNT, GP(max_iter), 0, NULL},
    {"restarts", COUNT, GP(restarts), 0, NULL},
    {"learn", YES_NO, GP(learn), 0, NULL},
    {"zero-mean", YES_NO, GP(zero_mean), 0, NULL},
    {"unscaled", YES_NO, GP(unscaled), 0, NULL},
    {"noise", NUMBER, GP(noise), 0, NULL},
    {"noise-held", YES_NO, GP(noise_held), 0, NULL},
    {"fix", TEXTS, GP(fix), offsetof(lth_gp_options, fix_count), NULL},
    {"prior", TEXTS, GP(prior), offsetof(lth_gp_options, prior_count), NULL},
    {"vectors", FILE_NAME, GP(vectors), 0, NULL},
    {"task", CHOICE, GP(task), 0, task_at},
    {"likelihood", CHOICE, GP(likelihood), 0, likelihood_at},
    {"posterior", CHOICE, GP(posterior), 0, posterior_at},
    {"inducing", COUNT, GP(inducing), 0, NULL},
    {"learn-rows", COUNT, GP(learn_rows), 0, NULL},
    {"bound", CHOICE, GP(bound), 0, bound_at},
    {"tolerance", NUMBER, GP(tolerance), 0, NULL},
    {"probes", COUNT, GP(probes), 0, NULL},
    {"store", CHOICE, GP(store), 0, store_at},
    {"warp", TEXT, GP(warp), 0, NULL},
    {"lower", NUMBER, GP(lower), 0, NULL},
    {"upper", NUMBER, GP(upper), 0, NULL},
    {"point", CHOICE, GP(point), 0, point_at},
    {"calibrate", YES_NO, GP(calibrate), 0, NULL},
    {"mean", TEXT, GP(mean), 0, NULL},
    {"average", COUNT, GP(average), 0, NULL},
    {"coregion", COUNT, GP(coregion), 0, NULL},
    {"noise-kernel", TEXT, GP(noise_kernel), 0, NULL},
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* What is not a field of options, and not the caller's either. */
static const char *const own_names[] = {"version", "kernel", "target", "space",
                                        "from",    "seed",   "fitted"};

/* The three structs of options, side by side. */
typedef struct all_options {
    lth_propose_options propose;
    lth_search_options search;
    lth_gp_options gp;
} all_options;

static void *owner_of(all_options *all, owner which) {
    return which == OF_PROPOSE  ? (void *)&all->propose
           : which == OF_SEARCH ? (void *)&all->search
                                : (void *)&all->gp;
}

static all_options default_options(void) {
    all_options all;
    lth_propose_options_init(&all.propose);
    lth_search_options_init(&all.search);
    lth_gp_options_init(&all.gp);
    return all;
}

/* ---- From options to texts ---- */

lth_status lth__campaign_set(lth_design *d, const char *name, const char *value, lth_error *err) {
    if (strpbrk(value, "\t\n\r"))
        return lth__fail(err, LTH_EARG, "the setting \"%.40s\" has a tab or a line break", name);
    if (!lth__reserve((void **)&d->settings, &d->setting_capacity, d->setting_count + 1,
                      sizeof *d->settings))
        return lth__fail_memory(err, 0);
    lth__campaign_setting s = {lth__pool_strndup(&d->words, name, strlen(name)),
                               lth__pool_strndup(&d->words, value, strlen(value))};
    if (!s.name || !s.value) return lth__fail_memory(err, 0);
    d->settings[d->setting_count++] = s;
    return LTH_OK;
}

/* Whole paths are found again from another folder. */
static lth_status set_path(lth_design *d, const char *name, const char *path, lth_error *err) {
    char *whole = realpath(path, NULL);
    if (!whole) return lth__fail_at(err, LTH_EIO, path, 0, 0, "cannot open: %s", strerror(errno));
    lth_status status = lth__campaign_set(d, name, whole, err);
    free(whole);
    return status;
}

static lth_status set_number(lth_design *d, const char *name, double value, lth_error *err) {
    char text[32];
    lth__print_double(value, text);
    return lth__campaign_set(d, name, text, err);
}

static lth_status set_count(lth_design *d, const char *name, uint64_t value, lth_error *err) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return lth__campaign_set(d, name, text, err);
}

static lth_status set_list(lth_design *d, const field *f, const void *from, lth_error *err) {
    const char *const *texts = *(const char *const *const *)((const char *)from + f->offset);
    size_t count = texts ? *(const size_t *)((const char *)from + f->count) : 0;
    for (size_t i = 0; i < count; i++) LTH_TRY(lth__campaign_set(d, f->name, texts[i], err));
    return LTH_OK;
}

static lth_status set_weights(lth_design *d, const field *f, const lth_propose_options *from,
                              lth_error *err) {
    size_t count = from->objective_count > 0 ? from->objective_count : d->target_count;
    for (size_t i = 0; from->weights && i < count; i++)
        LTH_TRY(set_number(d, f->name, from->weights[i], err));
    return LTH_OK;
}

/* Only what is not the default. */
static lth_status set_field(lth_design *d, const field *f, const void *from, const void *usual,
                            lth_error *err) {
    const char *at = (const char *)from + f->offset, *was = (const char *)usual + f->offset;
    switch (f->kind) {
    case COUNT:
        if (*(const size_t *)at == *(const size_t *)was) return LTH_OK;
        return set_count(d, f->name, *(const size_t *)at, err);
    case NUMBER:
        if (isnan(*(const double *)at) || *(const double *)at == *(const double *)was)
            return LTH_OK;
        return set_number(d, f->name, *(const double *)at, err);
    case YES_NO:
        if (*(const bool *)at == *(const bool *)was) return LTH_OK;
        return lth__campaign_set(d, f->name, *(const bool *)at ? "yes" : "no", err);
    case CHOICE: {
        int value = *(const int *)at;
        const char *name = value >= 0 ? f->choice((size_t)value) : NULL;
        if (value == *(const int *)was) return LTH_OK;
        if (!name) return lth__fail(err, LTH_EARG, "%s: there is no choice %d", f->name, value);
        return lth__campaign_set(d, f->name, name, err);
    }
    case TEXT:
    case FILE_NAME: {
        const char *text = *(const char *const *)at;
        if (!text) return LTH_OK;
        return f->kind == TEXT ? lth__campaign_set(d, f->name, text, err)
                               : set_path(d, f->name, text, err);
    }
    case TEXTS: return set_list(d, f, from, err);
    case NUMBERS: return set_weights(d, f, from, err);
    }
    return LTH_OK;
}

/* A campaign's table has no such columns, and is no Gram matrix. */
static lth_status refuse_columns(const lth_gp_options *gp, lth_error *err) {
    const char *wrong = gp->noise_by       ? "noise_by"
                        : gp->weights      ? "weights"
                        : gp->exposure     ? "exposure"
                        : gp->gram         ? "gram"
                        : gp->journal      ? "journal"
                        : gp->word_vectors ? "word_vectors"
                        : gp->keep_vectors ? "keep_vectors"
                                           : NULL;
    if (!wrong) return LTH_OK;
    return lth__fail(err, LTH_EARG, "a campaign does not go with %s of lth_gp_options", wrong);
}

static bool is_taken(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++)
        if (strncmp(own_names[i], name, length) == 0 && !own_names[i][length]) return true;
    for (size_t i = 0; i < FIELDS; i++)
        if (strncmp(fields[i].name, name, length) == 0 && !fields[i].name[length]) return true;
    return false;
}

/* "NAME=VALUE" of the caller's. */
static lth_status set_caller(lth_design *d, const char *text, lth_error *err) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return lth__fail(err, LTH_EARG, "the setting \"%.80s\" is not NAME=VALUE", text);
    size_t length = (size_t)(equals - text);
    if (is_taken(text, length))
        return lth__fail(err, LTH_EARG, "the setting \"%.*s\" is the campaign's own", (int)length,
                         text);
    char *name = lth__pool_strndup(&d->words, text, length);
    if (!name) return lth__fail_memory(err, length);
    return lth__campaign_set(d, name, equals + 1, err);
}

lth_status lth__campaign_write_settings(lth_design *d, const lth_design_options *options,
                                        lth_error *err) {
    all_options given = default_options(), usual = default_options();
    if (options->propose)
        lth__copy_struct(&given.propose, sizeof given.propose, options->propose,
                         options->propose->size);
    if (options->search)
        lth__copy_struct(&given.search, sizeof given.search, options->search,
                         options->search->size);
    given.gp = lth__gp_options_complete(options->gp);
    LTH_TRY(refuse_columns(&given.gp, err));
    if (!options->kernel) return lth__fail(err, LTH_EARG, "a campaign needs a kernel");
    LTH_TRY(set_count(d, "version", FORMAT_VERSION, err));
    LTH_TRY(lth__campaign_set(d, "kernel", options->kernel, err));
    for (size_t i = 0; i < options->target_count; i++)
        LTH_TRY(lth__campaign_set(d, "target", options->targets[i], err));
    d->target_count = options->target_count;
    if (options->space) LTH_TRY(lth__campaign_set(d, "space", options->space, err));
    if (options->candidates) LTH_TRY(set_path(d, "from", options->candidates, err));
    LTH_TRY(set_count(d, "seed", d->ctx->options.seed, err));
    for (size_t i = 0; i < FIELDS; i++)
        LTH_TRY(set_field(d, &fields[i], owner_of(&given, fields[i].owner),
                          owner_of(&usual, fields[i].owner), err));
    for (size_t i = 0; i < options->setting_count; i++)
        LTH_TRY(set_caller(d, options->settings[i], err));
    return LTH_OK;
}

/* ---- And back ---- */

typedef struct reading {
    lth_design *design;
    const char *file;
    size_t line; /* of the setting at hand */
    all_options all;
    lth_error *err;
} reading;

static lth_status fail_value(const reading *r, const lth__campaign_setting *s) {
    return lth__fail_at(r->err, LTH_EFORMAT, r->file, r->file ? r->line : 0, 0,
                        "the setting \"%.40s\" cannot be \"%.80s\"", s->name, s->value);
}

static bool parse_count(const char *text, uint64_t *out) {
    char *end;
    if (*text < '0' || *text > '9') return false;
    *out = strtoull(text, &end, 10);
    return *end == 0;
}

/* Room for one more at the end of a list in the pool: lists are short. */
static void *grow(reading *r, const void *old, size_t count, size_t size) {
    char *longer = lth__pool_alloc(&r->design->words, (count + 1) * size);
    if (longer && count > 0) memcpy(longer, old, count * size);
    return longer;
}

static lth_status add_text(reading *r, const char *value, const char *const **list, size_t *count) {
    const char **longer = grow(r, *list, *count, sizeof *longer);
    if (!longer) return lth__fail_memory(r->err, 0);
    longer[(*count)++] = value;
    *list = longer;
    return LTH_OK;
}

static lth_status add_weight(reading *r, double value, size_t *count) {
    double *longer = grow(r, r->all.propose.weights, *count, sizeof *longer);
    if (!longer) return lth__fail_memory(r->err, 0);
    longer[(*count)++] = value;
    r->all.propose.weights = longer;
    return LTH_OK;
}

static lth_status read_field(reading *r, const field *f, const lth__campaign_setting *s,
                             size_t *weights) {
    char *options = owner_of(&r->all, f->owner), *at = options + f->offset;
    uint64_t count;
    double number = 0;
    bool is_number = lth__parse_double(s->value, strlen(s->value), &number);
    switch (f->kind) {
    case COUNT:
        if (!parse_count(s->value, &count)) return fail_value(r, s);
        *(size_t *)(void *)at = (size_t)count;
        return LTH_OK;
    case NUMBER:
        if (!is_number) return fail_value(r, s);
        *(double *)(void *)at = number;
        return LTH_OK;
    case YES_NO:
        if (strcmp(s->value, "yes") != 0 && strcmp(s->value, "no") != 0) return fail_value(r, s);
        *(bool *)at = s->value[0] == 'y';
        return LTH_OK;
    case CHOICE:
        for (int i = 0; f->choice((size_t)i); i++) {
            if (strcmp(f->choice((size_t)i), s->value) != 0) continue;
            *(int *)(void *)at = i;
            return LTH_OK;
        }
        return fail_value(r, s);
    case TEXT:
    case FILE_NAME: *(const char **)(void *)at = s->value; return LTH_OK;
    case TEXTS:
        return add_text(r, s->value, (const char *const **)(void *)at,
                        (size_t *)(void *)(options + f->count));
    case NUMBERS: return is_number ? add_weight(r, number, weights) : fail_value(r, s);
    }
    return LTH_OK;
}

static lth_status read_own(reading *r, const lth__campaign_setting *s) {
    lth_design *d = r->design;
    uint64_t number = 0;
    bool counts = parse_count(s->value, &number);
    const char *const *targets = d->targets;
    if (strcmp(s->name, "version") == 0) {
        if (counts && number <= FORMAT_VERSION) return LTH_OK;
        return lth__fail_at(r->err, LTH_EUNSUPPORTED, r->file, r->line, 0,
                            "this campaign is of a newer luthier");
    }
    if (strcmp(s->name, "kernel") == 0) d->kernel = s->value;
    if (strcmp(s->name, "space") == 0) d->space_text = s->value;
    if (strcmp(s->name, "from") == 0) d->from = s->value;
    if (strcmp(s->name, "seed") == 0) d->seed = number;
    if (strcmp(s->name, "fitted") == 0) d->fitted = number;
    if (strcmp(s->name, "target") == 0) {
        LTH_TRY(add_text(r, s->value, &targets, &d->target_count));
        d->targets = (const char **)targets;
    }
    bool wants_count = strcmp(s->name, "seed") == 0 || strcmp(s->name, "fitted") == 0;
    return wants_count && !counts ? fail_value(r, s) : LTH_OK;
}

static const field *find_field(const char *name) {
    for (size_t i = 0; i < FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0) return &fields[i];
    return NULL;
}

static lth_status read_all(reading *r) {
    lth_design *d = r->design;
    size_t weights = 0;
    d->targets = NULL;
    d->target_count = 0;
    d->fitted = 0;
    for (size_t i = 0; i < d->setting_count; i++) {
        const lth__campaign_setting *s = &d->settings[i];
        const field *f = find_field(s->name);
        r->line = i + 2;
        LTH_TRY(f ? read_field(r, f, s, &weights) : read_own(r, s));
    }
    const char *missing = !d->kernel ? "kernel" : d->target_count == 0 ? "target" : NULL;
    if (missing)
        return lth__fail_at(r->err, r->file ? LTH_EFORMAT : LTH_EARG, r->file, 0, 0,
                            "a campaign needs the setting \"%s\"", missing);
    size_t objectives = r->all.propose.objective_count;
    if (objectives == 0) objectives = d->target_count;
    if (weights > 0 && weights != objectives)
        return lth__fail_at(r->err, LTH_EFORMAT, r->file, 0, 0,
                            "there are %zu weights for %zu objectives", weights, objectives);
    return LTH_OK;
}

lth_status lth__campaign_read_settings(lth_design *d, const char *file, lth_error *err) {
    reading r = {.design = d, .file = file, .all = default_options(), .err = err};
    /* What no text can hold stays as it was. */
    r.all.propose.feasible = d->propose.feasible;
    r.all.search.valid = d->search.valid;
    r.all.search.user = d->search.user;
    r.all.gp.step = d->gp.step;
    r.all.gp.user = d->gp.user;
    LTH_TRY(read_all(&r));
    d->propose = r.all.propose;
    d->search = r.all.search;
    d->gp = r.all.gp;
    return LTH_OK;
}

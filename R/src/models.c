/* Models: learning, predicting, and their bytes. */
#include <stdlib.h>
#include <string.h>

#include "luthier_r.h"

static void free_model(void *model) {
    lth_model_free(model);
}

static SEXP model_handle(lth_model *model, SEXP context) {
    return make_handle(model, free_model, context);
}

/* ---- Options: an R list, of which what is NULL keeps its default ---- */

static SEXP option(SEXP list, const char *name) {
    SEXP names = Rf_getAttrib(list, R_NamesSymbol);
    for (R_xlen_t i = 0; i < Rf_xlength(list); ++i)
        if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0) return VECTOR_ELT(list, i);
    return R_NilValue;
}

static void take_size(SEXP list, const char *name, size_t *to) {
    SEXP value = option(list, name);
    if (!Rf_isNull(value)) *to = (size_t)Rf_asReal(value);
}

static void take_double(SEXP list, const char *name, double *to) {
    SEXP value = option(list, name);
    if (!Rf_isNull(value)) *to = Rf_asReal(value);
}

static void take_bool(SEXP list, const char *name, bool *to) {
    SEXP value = option(list, name);
    if (!Rf_isNull(value)) *to = Rf_asLogical(value);
}

static void take_text(SEXP list, const char *name, const char **to) {
    SEXP value = option(list, name);
    if (!Rf_isNull(value)) *to = Rf_translateCharUTF8(STRING_ELT(value, 0));
}

static void take_texts(SEXP list, const char *name, const char *const **to, size_t *count) {
    SEXP value = option(list, name);
    if (Rf_isNull(value)) return;
    *count = (size_t)Rf_xlength(value);
    const char **texts = (const char **)R_alloc(*count + 1, sizeof *texts);
    for (size_t i = 0; i < *count; ++i)
        texts[i] = Rf_translateCharUTF8(STRING_ELT(value, (R_xlen_t)i));
    *to = texts;
}

static void take_numbers(SEXP list, const char *name, const double **to, size_t *count) {
    SEXP value = option(list, name);
    if (Rf_isNull(value)) return;
    *count = (size_t)Rf_xlength(value);
    *to = REAL(value);
}

static int likelihood_of(const char *name) {
    for (int i = 0; lth_likelihood_name((lth_likelihood)i); ++i)
        if (strcmp(lth_likelihood_name((lth_likelihood)i), name) == 0) return i;
    Rf_error("there is no likelihood \"%s\"", name);
}

static int posterior_of(const char *name) {
    static const char *const names[] = {"auto", "exact", "cg", "inducing", "laplace", "sites"};
    for (int i = 0; i < 6; ++i)
        if (strcmp(names[i], name) == 0) return i;
    Rf_error("there is no posterior \"%s\"", name);
}

/* ---- Gaussian processes ---- */

static void take_gp_options(SEXP list, lth_gp_options *o) {
    const char *likelihood = NULL, *posterior = NULL;
    lth_gp_options_init(o);
    take_size(list, "restarts", &o->restarts);
    take_size(list, "max_iter", &o->max_iter);
    take_bool(list, "learn", &o->learn);
    take_double(list, "noise", &o->noise);
    take_bool(list, "noise_held", &o->noise_held);
    take_texts(list, "fix", &o->fix, &o->fix_count);
    take_texts(list, "prior", &o->prior, &o->prior_count);
    take_text(list, "vectors", &o->vectors);
    take_text(list, "mean", &o->mean);
    take_text(list, "warp", &o->warp);
    take_text(list, "weights", &o->weights);
    take_text(list, "exposure", &o->exposure);
    take_double(list, "lower", &o->lower);
    take_double(list, "upper", &o->upper);
    take_size(list, "inducing", &o->inducing);
    take_size(list, "learn_rows", &o->learn_rows);
    take_bool(list, "intervals", &o->intervals);
    take_text(list, "likelihood", &likelihood);
    take_text(list, "posterior", &posterior);
    bool labels = false;
    take_bool(list, "labels", &labels);
    o->task = labels ? LTH_TASK_CLASSIFICATION : LTH_TASK_REGRESSION;
    if (likelihood) o->likelihood = (lth_likelihood)likelihood_of(likelihood);
    if (posterior) o->posterior = (lth_posterior)posterior_of(posterior);
}

SEXP r_gp_fit(SEXP context, SEXP expression, SEXP columns, SEXP targets, SEXP list) {
    lth_gp_options o;
    take_gp_options(list, &o);
    lth_ctx *ctx = context_of(context);
    const char *text = Rf_translateCharUTF8(STRING_ELT(expression, 0));
    size_t count = (size_t)Rf_xlength(targets);
    const char **names = (const char **)R_alloc(count + 1, sizeof *names);
    for (size_t i = 0; i < count; ++i)
        names[i] = Rf_translateCharUTF8(STRING_ELT(targets, (R_xlen_t)i));
    lth_gp *gp = NULL;
    call c;
    begin_call(&c);
    lth_table *table = make_table(ctx, columns, &c);
    if (!c.status) c.status = lth_gp_fit(ctx, text, table, names, count, &o, &gp, &c.error);
    lth_table_free(table);
    if (c.status) end_call(&c);
    SEXP out = PROTECT(model_handle(lth_gp_model(gp), context));
    end_call(&c);
    UNPROTECT(1);
    return out;
}

/* ---- Support vector machines ---- */

static void take_svm_options(SEXP list, lth_svm_options *o) {
    lth_svm_options_init(o);
    bool labels = false;
    take_bool(list, "labels", &labels);
    o->task = labels ? LTH_TASK_CLASSIFICATION : LTH_TASK_REGRESSION;
    take_bool(list, "nu_svm", &o->nu_svm);
    take_bool(list, "probability", &o->probability);
    take_numbers(list, "C", &o->C, &o->C_count);
    take_numbers(list, "epsilon", &o->epsilon, &o->epsilon_count);
    take_numbers(list, "nu", &o->nu, &o->nu_count);
    take_texts(list, "set", &o->set, &o->set_count);
    take_size(list, "inner_folds", &o->inner_folds);
    take_text(list, "class_weights", &o->class_weights);
    take_text(list, "vectors", &o->vectors);
}

SEXP r_svm_fit(SEXP context, SEXP expression, SEXP columns, SEXP target, SEXP list) {
    lth_svm_options o;
    take_svm_options(list, &o);
    lth_ctx *ctx = context_of(context);
    const char *text = Rf_translateCharUTF8(STRING_ELT(expression, 0));
    const char *name = Rf_translateCharUTF8(STRING_ELT(target, 0));
    lth_svm *svm = NULL;
    call c;
    begin_call(&c);
    lth_table *table = make_table(ctx, columns, &c);
    if (!c.status) c.status = lth_svm_fit(ctx, text, table, name, &o, &svm, &c.error);
    lth_table_free(table);
    if (c.status) end_call(&c);
    SEXP out = PROTECT(model_handle(lth_svm_model(svm), context));
    end_call(&c);
    UNPROTECT(1);
    return out;
}

/* ---- What a model is ---- */

SEXP r_model_kernel(SEXP handle) {
    return kernel_text(lth_model_kernel(object_of(handle)));
}

static const char *class_at(const void *model, size_t i) {
    return lth_model_class(model, i);
}
static const char *target_at(const void *model, size_t i) {
    return lth_model_target(model, i);
}

SEXP r_model_classes(SEXP handle) {
    return make_texts(class_at, object_of(handle));
}
SEXP r_model_targets(SEXP handle) {
    return make_texts(target_at, object_of(handle));
}

/* c(is a Gaussian process, rows) */
SEXP r_model_facts(SEXP handle) {
    lth_model *model = object_of(handle);
    SEXP out = PROTECT(Rf_allocVector(REALSXP, 2));
    REAL(out)[0] = lth_model_gp(model) != NULL;
    REAL(out)[1] = (double)lth_model_rows(model);
    UNPROTECT(1);
    return out;
}

/* list(path, value, start, held, low, high) */
SEXP r_gp_params(SEXP handle) {
    const lth_gp *gp = lth_model_gp(object_of(handle));
    R_xlen_t count = 0;
    while (lth_gp_param_at(gp, (size_t)count)) ++count;
    SEXP out = PROTECT(Rf_allocVector(VECSXP, 6));
    SET_VECTOR_ELT(out, 0, Rf_allocVector(STRSXP, count));
    for (int i = 1; i < 6; ++i)
        SET_VECTOR_ELT(out, i, Rf_allocVector(i == 3 ? LGLSXP : REALSXP, count));
    for (R_xlen_t i = 0; i < count; ++i) {
        const lth_gp_param *p = lth_gp_param_at(gp, (size_t)i);
        SET_STRING_ELT(VECTOR_ELT(out, 0), i, Rf_mkCharCE(p->path, CE_UTF8));
        REAL(VECTOR_ELT(out, 1))[i] = p->value;
        REAL(VECTOR_ELT(out, 2))[i] = p->start;
        LOGICAL(VECTOR_ELT(out, 3))[i] = p->held;
        REAL(VECTOR_ELT(out, 4))[i] = p->low;
        REAL(VECTOR_ELT(out, 5))[i] = p->high;
    }
    UNPROTECT(1);
    return out;
}

/* c(evidence, iterations, evaluations, seconds, converged), and of numbers leave-one-out figures:
 * rmse, mae, r, coverage */
SEXP r_gp_report(SEXP handle) {
    const lth_gp_report *r = lth_gp_reported(lth_model_gp(object_of(handle)));
    const lth_metrics *loo = r->loo;
    double values[9] = {r->evidence, (double)r->iterations, (double)r->evaluations, r->seconds,
                        r->converged};
    if (loo) memcpy(values + 5, (double[]){loo->rmse, loo->mae, loo->r, loo->coverage}, 32);
    SEXP out = PROTECT(Rf_allocVector(REALSXP, loo ? 9 : 5));
    memcpy(REAL(out), values, (loo ? 9 : 5) * sizeof *values);
    UNPROTECT(1);
    return out;
}

/* The column of its exposure, NA where it has none. */
SEXP r_gp_exposure(SEXP handle) {
    const lth_gp *gp = lth_model_gp(object_of(handle));
    return make_text(gp ? lth_gp_exposure(gp) : NULL);
}

/* list(type, c(C, epsilon, nu, score of the grid, support rows, seconds)) */
SEXP r_svm_report(SEXP handle) {
    const lth_svm_report *r = lth_svm_reported(lth_model_svm(object_of(handle)));
    double values[] = {r->C, r->epsilon, r->nu, r->inner, (double)r->support, r->seconds};
    SEXP out = PROTECT(Rf_allocVector(VECSXP, 2));
    SET_VECTOR_ELT(out, 0, make_text(r->type));
    SET_VECTOR_ELT(out, 1, Rf_allocVector(REALSXP, 6));
    memcpy(REAL(VECTOR_ELT(out, 1)), values, sizeof values);
    UNPROTECT(1);
    return out;
}

/* ---- Predictions ---- */

static SEXP numbers(size_t rows, size_t columns) {
    return Rf_allocMatrix(REALSXP, (int)rows, (int)columns);
}

static R_xlen_t rows_of(SEXP columns) {
    return Rf_xlength(VECTOR_ELT(columns, 0));
}

/* list(point, sd, lower, upper), each rows x targets */
SEXP r_gp_predict(SEXP handle, SEXP columns, SEXP level) {
    const lth_gp *gp = lth_model_gp(object_of(handle));
    lth_ctx *ctx = context_of(handle);
    size_t rows = (size_t)rows_of(columns), targets = lth_gp_targets(gp);
    SEXP out = PROTECT(Rf_allocVector(VECSXP, 4));
    for (int i = 0; i < 4; ++i) SET_VECTOR_ELT(out, i, numbers(rows, targets));
    lth_gp_prediction to = {.point = REAL(VECTOR_ELT(out, 0)),
                            .sd = REAL(VECTOR_ELT(out, 1)),
                            .lower = REAL(VECTOR_ELT(out, 2)),
                            .upper = REAL(VECTOR_ELT(out, 3)),
                            .level = Rf_asReal(level)};
    call c;
    begin_call(&c);
    lth_table *table = make_table(ctx, columns, &c);
    if (!c.status) c.status = lth_gp_predict_all(gp, table, &to, sizeof to, &c.error);
    lth_table_free(table);
    end_call(&c);
    UNPROTECT(1);
    return out;
}

/* Probabilities, classes x rows. */
SEXP r_gp_classify(SEXP handle, SEXP columns) {
    const lth_gp *gp = lth_model_gp(object_of(handle));
    lth_ctx *ctx = context_of(handle);
    SEXP out = PROTECT(numbers(lth_gp_classes(gp), (size_t)rows_of(columns)));
    call c;
    begin_call(&c);
    lth_table *table = make_table(ctx, columns, &c);
    if (!c.status) c.status = lth_gp_classify(gp, table, REAL(out), &c.error);
    lth_table_free(table);
    end_call(&c);
    UNPROTECT(1);
    return out;
}

/* list(y, mean, sd) of the training rows, each left out in turn. */
SEXP r_gp_left_out(SEXP handle) {
    const lth_model *model = object_of(handle);
    const lth_gp *gp = lth_model_gp(object_of(handle));
    SEXP out = PROTECT(Rf_allocVector(VECSXP, 3));
    for (int i = 0; i < 3; ++i)
        SET_VECTOR_ELT(out, i, Rf_allocVector(REALSXP, (R_xlen_t)lth_model_rows(model)));
    call c;
    begin_call(&c);
    c.status = lth_gp_leave_one_out(gp, 0, REAL(VECTOR_ELT(out, 0)), REAL(VECTOR_ELT(out, 1)),
                                    REAL(VECTOR_ELT(out, 2)), &c.error);
    end_call(&c);
    UNPROTECT(1);
    return out;
}

/* list(value, or label from 1; scores, probabilities: classes x rows, or NULL) */
SEXP r_svm_predict(SEXP handle, SEXP columns, SEXP with_probability) {
    const lth_svm *svm = lth_model_svm(object_of(handle));
    lth_ctx *ctx = context_of(handle);
    const lth_svm_report *r = lth_svm_reported(svm);
    size_t rows = (size_t)rows_of(columns), scores = r->classes == 2 ? 1 : r->classes;
    size_t *label = (size_t *)R_alloc(rows + 1, sizeof *label);
    SEXP out = PROTECT(Rf_allocVector(VECSXP, 3));
    SET_VECTOR_ELT(out, 0, Rf_allocVector(REALSXP, (R_xlen_t)rows));
    lth_svm_prediction to = {0};
    if (r->regression) {
        to.value = REAL(VECTOR_ELT(out, 0));
    } else {
        SET_VECTOR_ELT(out, 1, numbers(scores, rows));
        to.label = label;
        to.score = REAL(VECTOR_ELT(out, 1));
    }
    if (Rf_asLogical(with_probability)) {
        SET_VECTOR_ELT(out, 2, numbers(r->classes, rows));
        to.probability = REAL(VECTOR_ELT(out, 2));
    }
    call c;
    begin_call(&c);
    lth_table *table = make_table(ctx, columns, &c);
    if (!c.status) c.status = lth_svm_predict(svm, table, &to, sizeof to, &c.error);
    lth_table_free(table);
    end_call(&c);
    for (size_t i = 0; i < rows && !r->regression; ++i)
        REAL(VECTOR_ELT(out, 0))[i] = (double)label[i] + 1;
    UNPROTECT(1);
    return out;
}

/* ---- Bytes ---- */

typedef struct bytes {
    char *at;
    size_t size, room;
} bytes;

static int append(void *user, const void *piece, size_t size) {
    bytes *b = user;
    if (size > b->room - b->size) {
        size_t room = 2 * (b->size + size);
        char *at = realloc(b->at, room);
        if (!at) return 1;
        b->at = at;
        b->room = room;
    }
    memcpy(b->at + b->size, piece, size);
    b->size += size;
    return 0;
}

static void free_bytes(void *object) {
    bytes *b = object;
    free(b->at);
    free(b);
}

SEXP r_model_bytes(SEXP handle) {
    const lth_model *model = object_of(handle);
    bytes *b = calloc(1, sizeof *b);
    if (!b) Rf_error("out of memory");
    SEXP owner = PROTECT(make_handle(b, free_bytes, handle));
    call c;
    begin_call(&c);
    c.status = lth_model_save_to(model, append, b, &c.error);
    end_call(&c);
    SEXP out = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)b->size));
    memcpy(RAW(out), b->at, b->size);
    UNPROTECT(2);
    (void)owner;
    return out;
}

SEXP r_model_from(SEXP context, SEXP raw) {
    lth_model *model = NULL;
    call c;
    begin_call(&c);
    c.status = lth_model_load_from(context_of(context), RAW(raw), (size_t)Rf_xlength(raw), &model,
                                   &c.error);
    if (c.status) end_call(&c);
    SEXP out = PROTECT(model_handle(model, context));
    end_call(&c);
    UNPROTECT(1);
    return out;
}

SEXP r_model_load(SEXP context, SEXP path) {
    lth_model *model = NULL;
    const char *name = Rf_translateChar(STRING_ELT(path, 0));
    call c;
    begin_call(&c);
    c.status = lth_model_load(context_of(context), name, &model, &c.error);
    if (c.status) end_call(&c);
    SEXP out = PROTECT(model_handle(model, context));
    end_call(&c);
    UNPROTECT(1);
    return out;
}

SEXP r_model_save(SEXP handle, SEXP path) {
    const char *name = Rf_translateChar(STRING_ELT(path, 0));
    call c;
    begin_call(&c);
    c.status = lth_model_save(object_of(handle), name, &c.error);
    end_call(&c);
    return R_NilValue;
}

SEXP r_model_use_vectors(SEXP handle, SEXP path) {
    const char *name = Rf_isNull(path) ? NULL : Rf_translateChar(STRING_ELT(path, 0));
    call c;
    begin_call(&c);
    c.status = lth_model_use_vectors(object_of(handle), name, &c.error);
    end_call(&c);
    return R_NilValue;
}

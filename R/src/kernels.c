/* Kernels and their matrices. */
#include <stdlib.h>

#include "luthier_r.h"

static void free_kernel(void *kernel) {
    lth_kernel_free(kernel);
}

SEXP r_kernel(SEXP context, SEXP expression) {
    lth_kernel *kernel = NULL;
    call c;
    const char *text = Rf_translateCharUTF8(STRING_ELT(expression, 0));
    begin_call(&c);
    c.status = lth_kernel_parse(context_of(context), text, &kernel, &c.error);
    end_call(&c);
    return make_handle(kernel, free_kernel, context);
}

SEXP r_kernel_text(SEXP handle) {
    return kernel_text(object_of(handle));
}

static const char *column_at(const void *kernel, size_t i) {
    return lth_kernel_column(kernel, i);
}

/* The columns that it reads, as written: f1..f3 is one. */
SEXP r_kernel_columns(SEXP handle) {
    return make_texts(column_at, object_of(handle));
}

SEXP r_kernel_numeric(SEXP handle) {
    const lth_kernel *kernel = object_of(handle);
    R_xlen_t count = 0;
    while (lth_kernel_column(kernel, (size_t)count)) ++count;
    SEXP out = PROTECT(Rf_allocVector(LGLSXP, count));
    for (R_xlen_t i = 0; i < count; ++i)
        LOGICAL(out)[i] = lth_kernel_column_kind(kernel, (size_t)i) == LTH_COLUMN_NUMBERS;
    UNPROTECT(1);
    return out;
}

/* list(path, value, lower, upper, held) */
SEXP r_kernel_params(SEXP handle) {
    const lth_kernel *kernel = object_of(handle);
    R_xlen_t count = (R_xlen_t)lth_kernel_params(kernel);
    SEXP out = PROTECT(Rf_allocVector(VECSXP, 5));
    SET_VECTOR_ELT(out, 0, Rf_allocVector(STRSXP, count));
    for (int i = 1; i < 4; ++i) SET_VECTOR_ELT(out, i, Rf_allocVector(REALSXP, count));
    SET_VECTOR_ELT(out, 4, Rf_allocVector(LGLSXP, count));
    for (R_xlen_t i = 0; i < count; ++i) {
        const lth_param *p = lth_kernel_param(kernel, (size_t)i);
        SET_STRING_ELT(VECTOR_ELT(out, 0), i, Rf_mkCharCE(p->path, CE_UTF8));
        REAL(VECTOR_ELT(out, 1))[i] = p->value;
        REAL(VECTOR_ELT(out, 2))[i] = p->lo;
        REAL(VECTOR_ELT(out, 3))[i] = p->hi;
        LOGICAL(VECTOR_ELT(out, 4))[i] = p->held;
    }
    UNPROTECT(1);
    return out;
}

/* What a matrix is computed from. R owns it by a handle, so that nothing is lost when R has no
 * memory for the matrix. */
typedef struct inputs {
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_table *tables[2];
    lth_items *items[2];
    size_t count;
} inputs;

static void free_inputs(void *object) {
    inputs *in = object;
    for (size_t i = 0; i < 2; ++i) {
        lth_items_free(in->items[i]);
        lth_table_free(in->tables[i]);
    }
    lth_encoder_free(in->encoder);
    lth_kernel_free(in->kernel);
    free(in);
}

static void encode_all(lth_ctx *ctx, const char *expression, SEXP x, SEXP y, const char *vectors,
                       inputs *in, call *c) {
    SEXP from[2] = {x, y};
    in->count = Rf_isNull(y) ? 1 : 2;
    c->status = lth_kernel_parse(ctx, expression, &in->kernel, &c->error);
    for (size_t i = 0; i < in->count && !c->status; ++i)
        in->tables[i] = make_table(ctx, from[i], c);
    if (!c->status) c->status = lth_kernel_resolve(&in->kernel, in->tables[0], &c->error);
    if (!c->status) c->status = lth_encoder_create(ctx, in->kernel, &in->encoder, &c->error);
    for (size_t i = 0; i < in->count && !c->status; ++i)
        c->status = lth_encode(in->encoder, in->tables[i], &in->items[i], &c->error);
    if (!c->status && vectors)
        c->status = lth_encoder_read_vectors(in->encoder, vectors, &c->error);
}

SEXP r_encode(SEXP context, SEXP expression, SEXP x, SEXP y, SEXP vectors) {
    const char *text = Rf_translateCharUTF8(STRING_ELT(expression, 0));
    const char *path = Rf_isNull(vectors) ? NULL : Rf_translateChar(STRING_ELT(vectors, 0));
    inputs *in = calloc(1, sizeof *in);
    if (!in) Rf_error("out of memory");
    SEXP handle = PROTECT(make_handle(in, free_inputs, context));
    call c;
    begin_call(&c);
    encode_all(context_of(context), text, x, y, path, in, &c);
    end_call(&c);
    UNPROTECT(1);
    return handle;
}

static const char *path_at(const void *kernel, size_t i) {
    return i < lth_kernel_params(kernel) ? lth_kernel_param(kernel, i)->path : NULL;
}

SEXP r_encoded_params(SEXP handle) {
    const inputs *in = object_of(handle);
    return make_texts(path_at, in->kernel);
}

/* The values of c(columns, rows), or with `gradients` of c(columns, rows, parameters): R keeps
 * columns together, the library rows. */
SEXP r_gram(SEXP handle, SEXP gradients) {
    const inputs *in = object_of(handle);
    size_t rows = lth_items_count(in->items[0]);
    size_t cols = in->count == 2 ? lth_items_count(in->items[1]) : rows;
    bool all = Rf_asLogical(gradients);
    size_t matrices = all ? lth_kernel_params(in->kernel) : 1;
    SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)(rows * cols * matrices)));
    call c;
    begin_call(&c);
    c.status = all ? lth_gram_gradients(in->kernel, in->items[0], in->items[1], REAL(out), &c.error)
                   : lth_gram(in->kernel, in->items[0], in->items[1], REAL(out), cols, &c.error);
    end_call(&c);
    UNPROTECT(1);
    return out;
}

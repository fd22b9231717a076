/* Contexts, handles, tables, and what goes wrong. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "luthier_r.h"

/* ---- Ctrl-C and warnings ---- */

static volatile sig_atomic_t interrupted;
static struct sigaction before;
static char warnings[8][512];
static size_t warning_count;

static void on_interrupt(int number) {
    (void)number;
    interrupted = 1;
}

/* Called by any thread, where nothing of R may be touched. */
static int go_on(void *user, const char *what, double done, double total) {
    (void)user, (void)what, (void)done, (void)total;
    return interrupted;
}

static void keep_warning(void *user, lth_log_level level, const char *text) {
    (void)user;
    if (level != LTH_LOG_WARNING || warning_count == sizeof warnings / sizeof *warnings) return;
    strncpy(warnings[warning_count], text, sizeof *warnings - 1);
    ++warning_count;
}

void begin_call(call *c) {
    memset(c, 0, sizeof *c);
    memset(warnings, 0, sizeof warnings);
    warning_count = 0;
    interrupted = 0;
    struct sigaction ours = {.sa_handler = on_interrupt};
    sigemptyset(&ours.sa_mask);
    sigaction(SIGINT, &ours, &before);
}

void end_call(call *c) {
    sigaction(SIGINT, &before, NULL);
    if (c->status == LTH_ECANCELED && interrupted) {
        raise(SIGINT); /* now it is R's */
        R_CheckUserInterrupt();
    }
    for (size_t i = 0; i < warning_count; ++i) Rf_warning("%s", warnings[i]);
    if (c->status == LTH_OK) return;
    const lth_error *e = &c->error;
    if (e->file[0] && e->line)
        Rf_error("%s:%zu: %s", e->file, e->line, e->message);
    else if (e->file[0])
        Rf_error("%s: %s", e->file, e->message);
    else if (e->line)
        Rf_error("row %zu: %s", e->line, e->message);
    else if (e->column)
        Rf_error("%s (character %zu)", e->message, e->column);
    Rf_error("%s", e->message[0] ? e->message : lth_status_text(c->status));
}

/* ---- Handles ---- */

typedef struct shared {
    lth_ctx *ctx;
    size_t users;
} shared;

typedef struct held {
    void *object; /* NULL: the context itself */
    free_fn *free;
    shared *context;
} held;

static void release(SEXP handle) {
    held *h = R_ExternalPtrAddr(handle);
    if (!h) return;
    if (h->object) h->free(h->object);
    if (--h->context->users == 0) {
        lth_ctx_free(h->context->ctx);
        free(h->context);
    }
    free(h);
    R_ClearExternalPtr(handle);
}

static SEXP hold(void *object, free_fn *free_it, shared *context) {
    held *h = malloc(sizeof *h);
    if (!h) return NULL;
    *h = (held){object, free_it, context};
    ++context->users;
    SEXP handle = PROTECT(R_MakeExternalPtr(h, R_NilValue, R_NilValue));
    R_RegisterCFinalizer(handle, release);
    UNPROTECT(1);
    return handle;
}

static held *held_of(SEXP handle) {
    held *h = TYPEOF(handle) == EXTPTRSXP ? R_ExternalPtrAddr(handle) : NULL;
    if (!h) Rf_error("this object is from another session of R: make it again");
    return h;
}

SEXP make_handle(void *object, free_fn *free_it, SEXP context) {
    SEXP handle = hold(object, free_it, held_of(context)->context);
    if (handle) return handle;
    free_it(object);
    Rf_error("out of memory");
}

void *object_of(SEXP handle) {
    return held_of(handle)->object;
}

lth_ctx *context_of(SEXP handle) {
    return held_of(handle)->context->ctx;
}

SEXP r_context(SEXP threads, SEXP seed, SEXP precision) {
    lth_ctx_options options;
    lth_ctx *ctx = NULL;
    call c;
    lth_ctx_options_init(&options);
    options.threads = (unsigned)Rf_asInteger(threads);
    options.seed = (uint64_t)Rf_asReal(seed);
    options.precision = Rf_asLogical(precision) ? LTH_F32 : LTH_F64;
    options.log = keep_warning;
    options.progress = go_on;
    begin_call(&c);
    c.status = lth_ctx_create(&options, &ctx, &c.error);
    end_call(&c);
    shared *context = calloc(1, sizeof *context);
    if (context) context->ctx = ctx;
    SEXP handle = context ? hold(NULL, NULL, context) : NULL;
    if (handle) return handle;
    lth_ctx_free(ctx);
    free(context);
    Rf_error("out of memory");
}

/* ---- Tables ---- */

static void fill_texts(SEXP column, lth_column *to) {
    R_xlen_t rows = Rf_xlength(column);
    const char **text = (const char **)R_alloc((size_t)rows + 1, sizeof *text);
    for (R_xlen_t i = 0; i < rows; ++i) text[i] = Rf_translateCharUTF8(STRING_ELT(column, i));
    to->text = text;
}

lth_table *make_table(lth_ctx *ctx, SEXP columns, call *c) {
    size_t count = (size_t)Rf_xlength(columns);
    lth_column *list = (lth_column *)R_alloc(count + 1, sizeof *list);
    SEXP names = Rf_getAttrib(columns, R_NamesSymbol);
    size_t rows = 0;
    lth_table *table = NULL;
    memset(list, 0, (count + 1) * sizeof *list);
    for (size_t i = 0; i < count; ++i) {
        SEXP column = VECTOR_ELT(columns, (R_xlen_t)i);
        list[i].name = Rf_translateCharUTF8(STRING_ELT(names, (R_xlen_t)i));
        rows = (size_t)Rf_xlength(column);
        if (TYPEOF(column) == STRSXP)
            fill_texts(column, &list[i]);
        else
            list[i].numbers = REAL(column);
    }
    c->status = lth_table_from_columns(ctx, list, sizeof *list, count, rows, &table, &c->error);
    return table;
}

/* ---- Texts ---- */

SEXP make_text(const char *text) {
    SEXP out = PROTECT(Rf_allocVector(STRSXP, 1));
    SET_STRING_ELT(out, 0, text ? Rf_mkCharCE(text, CE_UTF8) : NA_STRING);
    UNPROTECT(1);
    return out;
}

SEXP make_texts(text_at *at, const void *object) {
    R_xlen_t count = 0;
    while (at(object, (size_t)count)) ++count;
    SEXP out = PROTECT(Rf_allocVector(STRSXP, count));
    for (R_xlen_t i = 0; i < count; ++i)
        SET_STRING_ELT(out, i, Rf_mkCharCE(at(object, (size_t)i), CE_UTF8));
    UNPROTECT(1);
    return out;
}

SEXP kernel_text(const lth_kernel *kernel) {
    size_t length = lth_kernel_print(kernel, NULL, 0);
    char *text = R_alloc(length + 1, 1);
    lth_kernel_print(kernel, text, length + 1);
    return make_text(text);
}

SEXP r_version(void) {
    return make_text(lth_version());
}

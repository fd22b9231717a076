/* What the files of the R interface share: contexts, what went wrong, tables.
 *
 * R leaves C by a long jump when there is an error. So a call into the library never is between an
 * allocation of ours and its free: what went wrong is kept in a `call`, all is freed, and
 * end_call() tells R. */
#ifndef LUTHIER_R_H
#define LUTHIER_R_H

#include <R.h>
#include <Rinternals.h>
#include <luthier.h>

/* One call into the library. */
typedef struct call {
    lth_status status;
    lth_error error;
} call;

/* From begin_call() to end_call() Ctrl-C cancels what the library does. end_call() does not return
 * when something went wrong. */
void begin_call(call *c);
void end_call(call *c);

/* What R holds of an object of the library. R finalises in any order, so that objects count those
 * who need their context. make_handle() frees the object itself where it fails. */
typedef void free_fn(void *object);
SEXP make_handle(void *object, free_fn *free, SEXP context);

/* R errors where the object is from an earlier session. */
void *object_of(SEXP handle);
lth_ctx *context_of(SEXP handle); /* a context, or that of any other object */

/* A list of columns, named: texts or numbers. Numbers are borrowed from R. */
lth_table *make_table(lth_ctx *ctx, SEXP columns, call *c);

SEXP make_text(const char *text);

/* The texts at(object, 0), at(object, 1), ... up to NULL. */
typedef const char *text_at(const void *object, size_t i);
SEXP make_texts(text_at *at, const void *object);
SEXP kernel_text(const lth_kernel *kernel);

#endif

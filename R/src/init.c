/* The functions that R code calls, by name. */
#include <R_ext/Rdynload.h>

#include "luthier_r.h"

#define CALLS(X)                                                                                   \
    X(r_version, 0)                                                                                \
    X(r_context, 3)                                                                                \
    X(r_kernel, 2)                                                                                 \
    X(r_kernel_text, 1)                                                                            \
    X(r_kernel_columns, 1)                                                                         \
    X(r_kernel_numeric, 1)                                                                         \
    X(r_kernel_params, 1)                                                                          \
    X(r_encode, 5)                                                                                 \
    X(r_encoded_params, 1)                                                                         \
    X(r_gram, 2)                                                                                   \
    X(r_gp_fit, 5)                                                                                 \
    X(r_svm_fit, 5)                                                                                \
    X(r_model_kernel, 1)                                                                           \
    X(r_model_classes, 1)                                                                          \
    X(r_model_targets, 1)                                                                          \
    X(r_model_facts, 1)                                                                            \
    X(r_gp_params, 1)                                                                              \
    X(r_gp_report, 1)                                                                              \
    X(r_gp_exposure, 1)                                                                            \
    X(r_svm_report, 1)                                                                             \
    X(r_gp_predict, 3)                                                                             \
    X(r_gp_classify, 2)                                                                            \
    X(r_gp_left_out, 1)                                                                            \
    X(r_svm_predict, 3)                                                                            \
    X(r_model_bytes, 1)                                                                            \
    X(r_model_from, 2)                                                                             \
    X(r_model_load, 2)                                                                             \
    X(r_model_save, 2)                                                                             \
    X(r_model_use_vectors, 2)

#define DECLARE(name, count) extern SEXP name();
CALLS(DECLARE)

#define ENTRY(name, count) {#name, (DL_FUNC)name, count},
static const R_CallMethodDef entries[] = {CALLS(ENTRY){NULL, NULL, 0}};

void R_init_luthier(DllInfo *dll) {
    R_registerRoutines(dll, NULL, entries, NULL, NULL);
    R_useDynamicSymbols(dll, FALSE);
}

/* Reading a model file, and what a model of either kind has. */
#include "model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The library reads models from files only: standard input is copied to one without a name. */
static FILE *spool_stdin(void) {
    char block[1 << 16];
    FILE *spool = tmpfile();
    size_t count = 0;
    while (spool && (count = fread(block, 1, sizeof block, stdin)) > 0)
        if (fwrite(block, 1, count, spool) != count) break;
    if (spool && (ferror(stdin) || count > 0 || fflush(spool) != 0)) {
        fclose(spool);
        spool = NULL;
    }
    return spool;
}

/* What is no model at all is left to the reader of Gaussian processes, which says why. */
static lth_status load(session *s, const char *path, model *out, lth_error *err) {
    char kind[16];
    bool known = lth_model_kind(path, kind, NULL) == LTH_OK;
    if (known && strcmp(kind, "svm") == 0) return lth_svm_load(s->ctx, path, &out->svm, err);
    return lth_gp_load(s->ctx, path, &out->gp, err);
}

static lth_status load_stdin(session *s, model *out, lth_error *err) {
    errno = 0;
    FILE *spool = spool_stdin();
    lth_status status = LTH_EIO;
    if (spool) {
        char path[64];
        snprintf(path, sizeof path, "/dev/fd/%d", fileno(spool));
        status = load(s, path, out, err);
        fclose(spool);
    } else {
        err->status = LTH_EIO;
        snprintf(err->message, sizeof err->message, "cannot read: %s",
                 strerror(errno ? errno : EIO));
    }
    err->file[0] = 0; /* nobody knows that path */
    return status;
}

int session_load_model(session *s, const char *path, model *out) {
    lth_error err = {0};
    lth_status status =
        strcmp(path, "-") == 0 ? load_stdin(s, out, &err) : load(s, path, out, &err);
    if (status != LTH_OK) return session_fail_input(s, &err, path);
    return session_check_interrupt(s);
}

void model_free(model *m) {
    lth_gp_free(m->gp);
    lth_svm_free(m->svm);
    *m = (model){0};
}

const lth_kernel *model_kernel(const model *m) {
    return m->svm ? lth_svm_kernel(m->svm) : lth_gp_kernel(m->gp);
}

/* ---- What it has ---- */

bool model_has_labels(const model *m) {
    return m->svm ? !lth_svm_reported(m->svm)->regression : lth_gp_classes(m->gp) > 0;
}

size_t model_classes(const model *m) {
    return m->svm ? lth_svm_reported(m->svm)->classes : lth_gp_classes(m->gp);
}

const char *model_class(const model *m, size_t i) {
    return m->svm ? lth_svm_class_at(m->svm, i)->name : lth_gp_class(m->gp, i)->name;
}

size_t model_targets(const model *m) {
    if (m->svm) return lth_svm_reported(m->svm)->problems;
    size_t classes = lth_gp_classes(m->gp);
    return classes > 0 ? classes : lth_gp_targets(m->gp);
}

const char *model_target(const model *m, size_t i) {
    if (m->svm) return lth_svm_target(m->svm);
    return lth_gp_target(m->gp, lth_gp_classes(m->gp) > 0 ? 0 : i);
}

bool model_concerns(const model *m, size_t i, size_t class) {
    size_t positive, negative;
    if (!m->svm) return i == class;
    lth_svm_problem_at(m->svm, i, &positive, &negative);
    return positive == class || negative == class;
}

/* Wrappers on the reference device: kernel/forms.h has the formulas. */
#include "kernel/compose/forms.h"
#include "reference_device.h"

static lth__wrapped at(const lth__device_wrap *w, double k, double a, double b) {
    const double *theta = w->theta;
    switch ((lth__form)w->form) {
    case LTH__FORM_LINEAR: return lth__linear_at(theta, k, a, b, 0);
    case LTH__FORM_RBF: return lth__rbf_at(theta, k, a, b, lth__rbf_aid(theta, k, a, b));
    case LTH__FORM_MATERN32:
        return lth__matern32_at(theta, k, a, b, lth__matern32_aid(theta, k, a, b));
    case LTH__FORM_MATERN52:
        return lth__matern52_at(theta, k, a, b, lth__matern52_aid(theta, k, a, b));
    case LTH__FORM_RQ: return lth__rq_at(theta, k, a, b, lth__rq_aid(theta, k, a, b));
    case LTH__FORM_ARCCOS0: return lth__arccos0_at(theta, k, a, b, 0);
    case LTH__FORM_ARCCOS1: return lth__arccos1_at(theta, k, a, b, 0);
    case LTH__FORM_NORMALIZE: return lth__normalize_at(theta, k, a, b, 0);
    case LTH__FORM_TANIMOTO: return lth__tanimoto_at(theta, k, a, b, 0);
    }
    lth__ref_abort("there is no wrapper %d", w->form);
}

/* An item with itself, as a function of its self-similarity alone. */
static lth__wrapped at_itself(const lth__device_wrap *w, double a) {
    switch ((lth__form)w->form) {
    case LTH__FORM_LINEAR:
    case LTH__FORM_ARCCOS1: return lth__linear_self(w->theta, a);
    case LTH__FORM_ARCCOS0: return lth__arccos0_self(w->theta, a);
    case LTH__FORM_NORMALIZE:
    case LTH__FORM_TANIMOTO: return lth__normalize_self(w->theta, a);
    default: return lth__radial_self(w->theta, a);
    }
}

static lth__wrapped wrapped(const lth__device_wrap *w, size_t r, size_t c, double k) {
    const lth__panel *p = &w->panel;
    bool itself = p->same && p->first_row + r == p->first_col + c;
    if (!itself) return at(w, k, w->a[r], w->b[c]);
    lth__wrapped x = at_itself(w, w->a[r]);
    x.dk = x.db = 0; /* `da` is the whole derivative */
    return x;
}

lth_status lth__ref_wrap(lth__device *d, const lth__device_wrap *w, double *K, size_t ld,
                         lth_error *err) {
    (void)err;
    LTH__REF_USE(d);
    lth__ref_check_panel(d, K, ld, &w->panel, "K of a wrapper");
    lth__ref_check_host(w->a, "what belongs to rows");
    lth__ref_check_host(w->b, "what belongs to columns");
    for (size_t r = 0; r < w->panel.rows; r++)
        for (size_t c = 0; c < w->panel.cols; c++)
            K[r * ld + c] = wrapped(w, r, c, K[r * ld + c]).value;
    return LTH_OK;
}

lth_status lth__ref_wrap_pull(lth__device *d, const lth__device_wrap *w, double *K, double *W,
                              size_t ld, double *row, double *col, double *theta, lth_error *err) {
    (void)err;
    LTH__REF_USE(d);
    lth__ref_check_panel(d, K, ld, &w->panel, "K of a wrapper");
    lth__ref_check_panel(d, W, ld, &w->panel, "W of a wrapper");
    for (size_t r = 0; r < w->panel.rows; r++) row[r] = 0;
    for (size_t c = 0; c < w->panel.cols; c++) col[c] = 0;
    for (size_t i = 0; i < LTH__DEVICE_THETA; i++) theta[i] = 0;
    for (size_t r = 0; r < w->panel.rows; r++) {
        for (size_t c = 0; c < w->panel.cols; c++) {
            size_t pair = r * ld + c;
            double weight = W[pair];
            lth__wrapped x = wrapped(w, r, c, K[pair]);
            K[pair] = x.value;
            W[pair] = weight * x.dk;
            row[r] += weight * x.da;
            col[c] += weight * x.db;
            for (size_t i = 0; i < LTH__DEVICE_THETA; i++) theta[i] += weight * x.dtheta[i];
        }
    }
    return LTH_OK;
}

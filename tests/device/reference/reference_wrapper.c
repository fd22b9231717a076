/* Wrappers on the reference device: kernel/forms.h has the formulas. */
#include "kernel/compose/forms.h"
#include "reference_device.h"

static lth_status check_form(const lth__device_wrapper *w, lth_error *err) {
    if (lth__form_is_known(w->form)) return LTH_OK;
    return lth__ref_fail(err, LTH_EUNSUPPORTED, "there is no wrapper %d", w->form);
}

static lth__wrapper_value value_at(const lth__device_wrapper *w, size_t r, size_t c, double k) {
    const lth__panel *p = &w->panel;
    bool itself = p->same && p->first_row + r == p->first_col + c;
    if (!itself) return lth__form_at(w->form, w->theta, k, w->a[r], w->b[c]);
    lth__wrapper_value x = lth__form_self(w->form, w->theta, w->a[r]);
    x.dk = x.db = 0; /* `da` is the whole derivative */
    return x;
}

lth_status lth__ref_wrap(lth__device *d, const lth__device_wrapper *w, double *K, size_t ld,
                         lth_error *err) {
    LTH__REF_DO(d);
    lth_status status = check_form(w, err);
    if (status != LTH_OK) return status;
    lth__ref_check_panel(d, K, ld, &w->panel, "K of a wrapper");
    lth__ref_check_host(w->a, "what belongs to rows");
    lth__ref_check_host(w->b, "what belongs to columns");
    for (size_t r = 0; r < w->panel.rows; r++)
        for (size_t c = 0; c < w->panel.cols; c++)
            K[r * ld + c] = value_at(w, r, c, K[r * ld + c]).value;
    return LTH_OK;
}

lth_status lth__ref_wrap_pull(lth__device *d, const lth__device_wrapper *w, double *K, double *W,
                              size_t ld, double *row, double *col, double *theta, lth_error *err) {
    LTH__REF_DO(d);
    lth_status status = check_form(w, err);
    if (status != LTH_OK) return status;
    lth__ref_check_panel(d, K, ld, &w->panel, "K of a wrapper");
    lth__ref_check_panel(d, W, ld, &w->panel, "W of a wrapper");
    for (size_t r = 0; r < w->panel.rows; r++) row[r] = 0;
    for (size_t c = 0; c < w->panel.cols; c++) col[c] = 0;
    for (size_t i = 0; i < LTH__DEVICE_THETA; i++) theta[i] = 0;
    for (size_t r = 0; r < w->panel.rows; r++) {
        for (size_t c = 0; c < w->panel.cols; c++) {
            size_t pair = r * ld + c;
            double weight = W[pair];
            lth__wrapper_value x = value_at(w, r, c, K[pair]);
            K[pair] = x.value;
            W[pair] = weight * x.dk;
            row[r] += weight * x.da;
            col[c] += weight * x.db;
            for (size_t i = 0; i < LTH__DEVICE_THETA; i++) theta[i] += weight * x.dtheta[i];
        }
    }
    return LTH_OK;
}

/* The table of the reference device. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "reference_device.h"

static lth_status alloc(lth__device *d, size_t bytes, void **out, lth_error *err) {
    LTH__REF_DO(d);
    return lth__ref_get(d, bytes, out, err);
}

static void release(lth__device *d, void *memory) {
    LTH__REF_USE(d);
    lth__ref_drop(d, memory);
}

static lth_status upload(lth__device *d, void *to, const void *from, size_t bytes, lth_error *err) {
    LTH__REF_DO(d);
    lth__ref_check(d, to, bytes, "what is uploaded to");
    lth__ref_check_host(from, "what is uploaded");
    if (bytes > 0) memcpy(to, from, bytes);
    return LTH_OK;
}

static lth_status download(lth__device *d, void *to, const void *from, size_t bytes,
                           lth_error *err) {
    LTH__REF_DO(d);
    lth__ref_check(d, from, bytes, "what is downloaded");
    lth__ref_check_host(to, "what is downloaded to");
    if (bytes > 0) memcpy(to, from, bytes);
    return LTH_OK;
}

static lth_status download_panel(lth__device *d, double *to, size_t to_ld, const double *from,
                                 size_t from_ld, size_t rows, size_t cols, lth_error *err) {
    LTH__REF_DO(d);
    lth__panel p = {.rows = rows, .cols = cols};
    lth__ref_check_panel(d, from, from_ld, &p, "the panel that is downloaded");
    lth__ref_check_host(to, "where a panel is downloaded to");
    for (size_t r = 0; r < rows; r++) memcpy(to + r * to_ld, from + r * from_ld, cols * sizeof *to);
    return LTH_OK;
}

/* Everything is done when a function returns. */
static lth_status finish(lth__device *d, lth_error *err) {
    LTH__REF_DO(d);
    return LTH_OK;
}

static lth__device_table table = {
    .version = LTH__DEVICE_VERSION,
    .name = "reference",
    .open = lth__ref_open,
    .close = lth__ref_close,
    .describe = lth__ref_describe,
    .alloc = alloc,
    .release = release,
    .upload = upload,
    .download = download,
    .download_panel = download_panel,
    .finish = finish,
    .strings = lth__ref_strings,
    .strings_free = lth__ref_strings_free,
    .ssk = lth__ref_ssk,
    .la = lth__ref_la,
    .trees = lth__ref_trees,
    .trees_free = lth__ref_trees_free,
    .sstk = lth__ref_sstk,
    .wrap = lth__ref_wrap,
    .wrap_pull = lth__ref_wrap_pull,
    .features = lth__ref_features,
    .features_free = lth__ref_features_free,
    .sparse = lth__ref_sparse,
    .ordered = lth__ref_ordered,
    .ordered_free = lth__ref_ordered_free,
    .ptk = lth__ref_ptk,
    .smo = lth__ref_smo,
};

__attribute__((visibility("default"))) lth__device_table_fn lth__device_table_get;

/* So few that small matrices have several panels. */
static const size_t usual_panel_rows = 7;

static void complete_table(void) {
    const char *rows = getenv("LTH_PANEL_ROWS");
    table.panel_rows = rows && atol(rows) > 0 ? (size_t)atol(rows) : usual_panel_rows;
    lth__ref_set_matrices(&table);
}

const lth__device_table *lth__device_table_get(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, complete_table);
    return &table;
}

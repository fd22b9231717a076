/* Any bytes as the settings or the rows of a campaign, as the first byte says: the campaign opens,
 * or tells why not. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static const harness_file files[] = {
    {"design.tsv", "setting\tvalue\nkernel\trbf(f1)\ntarget\ty\nfrom\tpool.tsv\nseed\t1\n"},
    {"rows.tsv", "f1\ty\tround\tasked\tmean\tsd\tacquisition\n1\t2\t1\t1\t0.5\t0.25\t1\n"},
};
enum { FILES = sizeof files / sizeof *files };

static const char pool[] = "f1\n1\n2\n";

static void open_campaign(const char *folder) {
    lth_design *design = NULL;
    lth_error err = {0};
    if (lth_design_open(harness_ctx(), folder, &design, &err) != LTH_OK) {
        if (!err.message[0]) abort();
        return;
    }
    if (!lth_design_rows(design)) abort();
    lth_design_free(design);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    harness_put("pool.tsv", pool, sizeof pool - 1);
    open_campaign(harness_folder(files, FILES, data, size));
    return 0;
}

/* Any bytes as the journal of a fit. One that begins with "+" goes on with the identity of the fit,
 * and frames follow; any other is a whole file. Nothing changes in a journal that is refused; one
 * that is taken loses at most what was not finished. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "model/gp/gp_journal.h"

enum { ROOM = 1 << 16 };

static char path[128];
static uint8_t file[ROOM];
static size_t lead; /* bytes of the identity */

static lth_gp *fit(void) {
    static const char *const targets[] = {"y"};
    lth_table *table = harness_table("f1\ty\n1\t2\n2\t3\n4\t3.5\n");
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.max_iter = 1;
    lth_gp *gp;
    if (lth_gp_fit(harness_ctx(), "rbf(f1)", table, targets, 1, &options, &gp, NULL) != LTH_OK)
        abort();
    lth_table_free(table);
    return gp;
}

static lth_status open_journal(const lth_gp *gp, lth_error *err) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.journal = path;
    lth__journal *journal;
    lth_status status =
        lth__journal_open(gp, &options, &(lth_gp_plan){.name = "exact"}, &journal, err);
    if (status == LTH_OK) lth__journal_close(journal);
    return status;
}

static size_t slurp(uint8_t *out) {
    int from = open(path, O_RDONLY);
    ssize_t got = from < 0 ? -1 : read(from, out, ROOM);
    if (got < 0) abort();
    close(from);
    return (size_t)got;
}

static lth_gp *prepare(void) {
    lth_gp *gp = fit();
    snprintf(path, sizeof path, "%s/journal", harness_write("journal", "", 0));
    if (open_journal(gp, NULL) != LTH_OK) abort();
    lead = slurp(file);
    return gp;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static lth_gp *gp;
    static uint8_t after[ROOM];
    if (!gp) gp = prepare();
    if (size > ROOM - lead) return 0;
    bool known = size > 0 && *data == '+';
    size_t skip = known ? lead : 0, whole = skip + size - known;
    if (size > 0) memcpy(file + lead, data + known, size - known);
    const uint8_t *bytes = known ? file : file + lead;
    harness_write("journal", bytes, whole);
    lth_error err = {0};
    lth_status status = open_journal(gp, &err);
    size_t left = slurp(after);
    if (status != LTH_OK && (left != whole || memcmp(after, bytes, whole) != 0 || !err.message[0]))
        abort();
    if (status == LTH_OK && (left < lead || memcmp(after, file, lead) != 0)) abort();
    if (status == LTH_OK && known && (left > whole || memcmp(after, file, left) != 0)) abort();
    return 0;
}

/* Any bytes as a matrix of scores: what is taken is a distance, the same in both directions. */
#include <math.h>
#include <stdlib.h>

#include "base/context.h"
#include "harness.h"
#include "kernel/string/substitution.h"

enum { MOST = LTH__MOST_LETTERS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static double score[MOST * MOST];
    static lth__substitution s;
    char letter[MOST];
    size_t count;
    lth_error err = {0};
    harness_put("matrix", data, size);
    if (lth__substitution_read(harness_ctx()->relay, "matrix", letter, &count, score, &err) !=
            LTH_OK ||
        lth__substitution_make(letter, count, score, &s, &err) != LTH_OK) {
        if (err.status != LTH_EFORMAT || !err.message[0]) abort();
        return 0;
    }
    for (size_t a = 0; a < s.count; a++) {
        for (size_t b = 0; b < s.count; b++) {
            double there = s.distance[a * MOST + b], back = s.distance[b * MOST + a];
            if (!isfinite(there) || there != back || there < -1e-6) abort();
        }
    }
    return 0;
}

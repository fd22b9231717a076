/* Any text as the rules of a space: what is drawn from a space is in it. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "design/space.h"
#include "harness.h"

enum { LONGEST = 64, DRAWS = 4 };

static const char fasta[] = ">wild type\nMKTAYI\n";
static const char pairs[] = "from\tto\nA\tC\nC\tA\nA\tA\n";

static void draw(const lth_space *space) {
    lth_space complete;
    lth_error err;
    lth__letter letters[LONGEST];
    static const char *const texts[] = {"ACA", "MKTAYI"};
    if (lth__space_complete(space, texts, 2, &complete, &err) != LTH_OK) return;
    lth__random random;
    lth__random_seed(&random, 1);
    size_t count;
    for (size_t i = 0; i < DRAWS && complete.longest <= LONGEST; i++) {
        if (!lth__space_draw(&complete, &random, letters, &count)) continue;
        if (count < complete.shortest || count > complete.longest) abort();
        if (lth__space_refuses_letters(&complete, letters, count)) abort();
        lth__string text = {0};
        lth__space_write(&complete, letters, count, &text);
        lth__letter again[LONGEST];
        size_t found;
        if (complete.smiles) { /* where C and l are letters, they are Cl */
            lth__string_free(&text);
            continue;
        }
        if (!lth__space_encode(&complete, text.bytes, text.length, again, LONGEST, &found) ||
            found != count || memcmp(letters, again, count * sizeof *letters) != 0)
            abort();
        lth__string_free(&text);
    }
    lth__space_complete_free(&complete, space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) return 0;
    if (size > 0) memcpy(text, data, size);
    text[size] = 0;
    harness_put("wild.fa", fasta, sizeof fasta - 1);
    harness_put("pairs.tsv", pairs, sizeof pairs - 1);
    lth_space *space = NULL;
    lth_error err = {0};
    if (lth_space_parse(harness_ctx(), text, &space, &err) == LTH_OK) {
        const char *why;
        lth_space_has(space, "ACA", 3, &why);
        draw(space);
    } else if (!err.message[0] || err.column > size + 1) {
        abort();
    }
    lth_space_free(space);
    free(text);
    return 0;
}

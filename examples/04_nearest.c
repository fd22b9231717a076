/* New texts against known ones: the nearest neighbour of each, by a rectangular Gram matrix.
 *
 *     cc -std=c17 04_nearest.c $(pkg-config --cflags --libs luthier)
 */
#include <luthier.h>
#include <stdio.h>
#include <stdlib.h>

enum { KNOWN = 4, NEW = 3 };
static const char *const known[KNOWN] = {"It is good, not bad.", "It is bad, not good.",
                                         "The battery does not last.", "Arrived late, but works."};
/* By its words alone, the first is as near to the one as to the other. */
static const char *const fresh[NEW] = {
    "It is bad, really not good.", "The battery did not last long.", "It works, but arrived late."};
static const size_t expected[NEW] = {1, 2, 3};

static lth_error err;

static void check(lth_status status) {
    if (status == LTH_OK) return;
    fprintf(stderr, "%s\n", err.message);
    exit(1);
}

/* Both tables go through one encoder, so that the same word gets the same number. */
static lth_items *encode(lth_ctx *ctx, lth_encoder *encoder, const char *const *texts, size_t n) {
    lth_table *table;
    lth_items *items;
    check(lth_table_from_texts(ctx, "text", texts, NULL, n, &table, &err));
    check(lth_encode(encoder, table, &items, &err));
    lth_table_free(table); /* items keep nothing of the table */
    return items;
}

int main(void) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 0; /* all cores; any number gives the same bits */
    lth_ctx *ctx;
    lth_kernel *kernel;
    lth_encoder *encoder;
    check(lth_ctx_create(&options, &ctx, &err));
    check(lth_kernel_parse(ctx, "normalize(ssk(text, units=tokens, order=3))", &kernel, &err));
    check(lth_encoder_create(ctx, kernel, &encoder, &err));
    lth_items *rows = encode(ctx, encoder, fresh, NEW);
    lth_items *cols = encode(ctx, encoder, known, KNOWN);

    double K[NEW * KNOWN];
    int wrong = 0;
    check(lth_gram(kernel, rows, cols, K, KNOWN, &err));
    for (size_t i = 0; i < NEW; i++) {
        size_t best = 0;
        for (size_t j = 1; j < KNOWN; j++)
            if (K[i * KNOWN + j] > K[i * KNOWN + best]) best = j;
        printf("%.3f  %-32s %s\n", K[i * KNOWN + best], fresh[i], known[best]);
        wrong |= best != expected[i];
    }
    lth_items_free(cols);
    lth_items_free(rows);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_ctx_free(ctx);
    return wrong;
}

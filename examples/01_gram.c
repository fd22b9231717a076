/* The Gram matrix of a few texts: how alike is every pair of rows?
 *
 *     01_gram              two words, compared letter by letter
 *     01_gram TABLE.tsv    the column "text" of your own table, compared word by word
 *
 *     cc -std=c17 01_gram.c $(pkg-config --cflags --libs luthier)
 */
#include <luthier.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static lth_error err; /* the reason of the last failure */

static void check(lth_status status) {
    if (status == LTH_OK) return;
    if (err.line) fprintf(stderr, "%s:%zu:%zu: ", err.file, err.line, err.column);
    fprintf(stderr, "%s\n", err.message);
    exit(1);
}

int main(int argc, char **argv) {
    const char *const words[] = {"cat", "car"};
    /* Lodhi's kernel: one decay for gaps and matches, subsequences of exactly two letters. */
    const char *letters =
        "normalize(ssk(text, units=chars, order=2, gap=$l=0.5, match=$l, weights=[0,1]!))";
    const char *expression = argc > 1 ? "normalize(ssk(text))" : letters;

    lth_ctx *ctx;
    lth_table *table;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
    check(lth_ctx_create(NULL, &ctx, &err));
    if (argc > 1)
        check(lth_table_read(ctx, argv[1], NULL, &table, &err));
    else
        check(lth_table_from_texts(ctx, "text", words, NULL, 2, &table, &err));
    check(lth_kernel_parse(ctx, expression, &kernel, &err));
    check(lth_encoder_create(ctx, kernel, &encoder, &err));
    check(lth_encode(encoder, table, &items, &err));

    size_t n = lth_items_count(items);
    double *K = malloc((n * n + 1) * sizeof *K);
    if (!K) return 1;
    check(lth_gram(kernel, items, NULL, K, n, &err));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) printf("%s%.4f", j ? " " : "", K[i * n + j]);
        putchar('\n');
    }

    /* "cat" and "car" share only "ca": the normalised value is 1 / (2 + decay^2). */
    int wrong = argc == 1 && fabs(K[1] - 1 / 2.25) > 1e-12;
    free(K);
    lth_items_free(items); /* what borrows is freed before what it borrows from */
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(table);
    lth_ctx_free(ctx);
    return wrong;
}

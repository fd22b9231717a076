/* Soft matching: words that are alike count as a match, as far as their vectors say so.
 *
 *     cc -std=c17 03_word_vectors.c $(pkg-config --cflags --libs luthier)
 */
#define _POSIX_C_SOURCE 200809L /* mkstemp and fdopen are not in C itself */
#include <luthier.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char vectors[] = "a 0 0 1\nfilm 0.6 0.8 0\nmovie 0.8 0.6 0\n";
static const char *const texts[] = {"a film", "a movie", "a zither"};

static lth_error err;

static void check(lth_status status) {
    if (status == LTH_OK) return;
    fprintf(stderr, "%s:%zu: %s\n", err.file, err.line, err.message);
    exit(1);
}

static void write_vectors(char *path) {
    int descriptor = mkstemp(path);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (!file || fputs(vectors, file) < 0 || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

/* k("a film", other) for each of the texts. */
static void compare(lth_ctx *ctx, const char *expression, const char *path, double out[3]) {
    lth_table *table;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
    double K[9];
    check(lth_kernel_parse(ctx, expression, &kernel, &err));
    check(lth_table_from_texts(ctx, "text", texts, NULL, 3, &table, &err));
    check(lth_encoder_create(ctx, kernel, &encoder, &err));
    check(lth_encode(encoder, table, &items, &err));
    /* After all texts were encoded: only vectors of words seen so far are kept. */
    if (lth_kernel_needs_vectors(kernel)) check(lth_encoder_read_vectors(encoder, path, &err));
    check(lth_gram(kernel, items, NULL, K, 3, &err));
    printf("%-36s", expression);
    for (size_t j = 0; j < 3; j++) {
        printf(" %8.4f", K[j]);
        out[j] = K[j];
    }
    putchar('\n');
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(table);
}

int main(void) {
    char path[] = "/tmp/luthier-vectors-XXXXXX";
    lth_ctx *ctx;
    double exact[3], soft[3];
    write_vectors(path);
    check(lth_ctx_create(NULL, &ctx, &err));
    printf("%-36s %8s %8s %8s\n", "\"a film\" with", texts[0], texts[1], texts[2]);
    compare(ctx, "ssk(text, order=2)", path, exact);
    compare(ctx, "ssk(text, order=2, sim=cosine)", path, soft);
    lth_ctx_free(ctx);
    unlink(path);

    /* Order 1: a-a 1, film-movie 0.96. Order 2: their product. "zither" has no vector. */
    return fabs(exact[1] - 1) > 1e-12 || fabs(soft[1] - (1 + 0.96 + 0.96)) > 1e-6 ||
           fabs(soft[2] - 1) > 1e-12;
}

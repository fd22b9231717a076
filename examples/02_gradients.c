/* Gradients by every hyperparameter at once.
 *
 * Take any function of the Gram matrix, and let W_ij be its derivative by K_ij. lth_gram_pull()
 * turns W into the derivatives by the hyperparameters. Here the function is y' K y, which is large
 * when texts with the same label are alike, so W = y y'.
 *
 *     02_gradients                             for the kernel below
 *     02_gradients 'normalize(ssk(text))'      for another one over a column "text"
 *
 *     cc -std=c17 02_gradients.c $(pkg-config --cflags --libs luthier)
 */
#include <luthier.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4, MOST_PARAMETERS = 16 };
static const char *const texts[N] = {"not a good film", "a good film", "not good at all",
                                     "good and not too long"};
static const double y[N] = {-1, 1, -1, 1};

static lth_error err;

static void check(lth_status status) {
    if (status == LTH_OK) return;
    fprintf(stderr, "%s\n", err.message);
    exit(1);
}

static double value(const lth_kernel *kernel, const lth_items *items) {
    double K[N * N], sum = 0;
    check(lth_gram(kernel, items, NULL, K, N, &err));
    for (size_t i = 0; i < N * N; i++) sum += y[i / N] * y[i % N] * K[i];
    return sum;
}

int main(int argc, char **argv) {
    const char *expression =
        argc > 1 ? argv[1] : "2 * normalize(ssk(text, order=3, gap=0.4)) + 0.1!";
    lth_ctx *ctx;
    lth_table *table;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
    check(lth_ctx_create(NULL, &ctx, &err));
    check(lth_kernel_parse(ctx, expression, &kernel, &err));
    check(lth_table_from_texts(ctx, "text", texts, NULL, N, &table, &err));
    check(lth_encoder_create(ctx, kernel, &encoder, &err));
    check(lth_encode(encoder, table, &items, &err));

    double W[N * N], gradient[MOST_PARAMETERS];
    for (size_t i = 0; i < N * N; i++) W[i] = y[i / N] * y[i % N];
    check(lth_gram_pull(kernel, items, NULL, W, N, gradient, &err));

    /* Central differences say the same, but need two Gram matrices for each parameter. */
    const double h = 1e-5;
    int wrong = 0;
    printf("%-16s %8s %10s %10s\n", "parameter", "value", "gradient", "difference");
    for (size_t p = 0; p < lth_kernel_params(kernel); p++) {
        lth_param param = *lth_kernel_param(kernel, p); /* a copy: its values change below */
        check(lth_kernel_set(kernel, p, param.value + h, &err));
        double up = value(kernel, items);
        check(lth_kernel_set(kernel, p, param.value - h, &err));
        double slope = (up - value(kernel, items)) / (2 * h);
        check(lth_kernel_set(kernel, p, param.value, &err));
        printf("%-16s %8g %10.6f %10.6f%s\n", param.path, param.value, gradient[p], slope,
               param.held ? "  held" : "");
        wrong |= fabs(gradient[p] - slope) > 1e-7;
    }
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(table);
    lth_ctx_free(ctx);
    return wrong;
}

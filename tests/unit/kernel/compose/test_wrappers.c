/* Wrappers (linear, rbf, matern32, matern52, rq, arccos, normalize, tanimoto) over everything they
 * can stand around: values against the formulas, derivatives against differences. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"

/* ---- Data: texts and four number columns ---------------------------------------------------- */

enum { N = 14, M = 6, WIDTH = 4 };
static const char vectors[] = "a 1 0 0.5\nb 0.9 0.3 -0.2\nc -1 0.5 0\nd 0 2 1\n";
static const double vector_of[4][3] = {{1, 0, 0.5}, {0.9f, 0.3f, -0.2f}, {-1, 0.5, 0}, {0, 2, 1}};

typedef struct data {
    char **texts;
    double f[N][WIDTH];
} data;

/* Row 0 has an empty text and only zeros, row 3 is row 2 again, row 4 has no word with a vector. */
static data make_data(void) {
    lth__random random;
    lth__random_seed(&random, 21);
    data d = {.texts = fixture_texts(&random, N, 8, 6, true)};
    for (size_t i = 0; i < N; i++) {
        for (size_t c = 0; c < WIDTH; c++)
            d.f[i][c] = i == 0 ? 0 : round(2000 * lth__random_uniform(&random) - 1000) / 1000;
    }
    const char *const fixed[] = {"", "a b a c", "a b c d", "a b c d", "e f"};
    for (size_t i = 0; i < 5; i++) {
        free(d.texts[i]);
        d.texts[i] = strdup(fixed[i]);
    }
    memcpy(d.f[3], d.f[2], sizeof d.f[2]);
    return d;
}

static lth_status encode_lines(fixture *f, const char *lines, lth_error *err) {
    char path[] = "wrappers.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_true(write(fd, lines, strlen(lines)) == (ssize_t)strlen(lines));
    close(fd);
    lth_table *table = NULL;
    lth_status status = lth_table_read(f->ctx, path, NULL, &table, err);
    unlink(path);
    assert_int_equal(status, LTH_OK);
    status = lth_encode(f->encoder, table, &f->items[f->item_count], err);
    if (status == LTH_OK) f->item_count++;
    lth_table_free(table);
    return status;
}

static const lth_items *encode_rows(fixture *f, const data *d, size_t count) {
    char lines[4096];
    int used = snprintf(lines, sizeof lines, "f1\tf2\ttext\tf3\tf4\n");
    for (size_t i = 0; i < count; i++) {
        used += snprintf(lines + used, sizeof lines - (size_t)used, "%g\t%g\t%s\t%g\t%g\n",
                         d->f[i][0], d->f[i][1], d->texts[i], d->f[i][2], d->f[i][3]);
    }
    lth_error err = {0};
    assert_int_equal(encode_lines(f, lines, &err), LTH_OK);
    return f->items[f->item_count - 1];
}

/* items[0] are all N rows, items[1] the first M again. */
static fixture open_kernel(const char *kernel, const data *d) {
    fixture f = fixture_open(kernel, NULL);
    encode_rows(&f, d, N);
    encode_rows(&f, d, M);
    if (lth_kernel_needs_vectors(f.kernel)) fixture_vectors(&f, vectors);
    return f;
}

/* ---- Formulas ------------------------------------------------------------------------------- */

static const double V = 1.7, ALPHA = 0.6; /* and the length scale l */

static double distance(double k, double a, double b) {
    return sqrt(fmax(a + b - 2 * k, 0));
}

static double angle(double k, double a, double b) {
    return acos(fmax(-1, fmin(1, k / sqrt(a * b))));
}

static double linear(double l, double k, double a, double b) {
    (void)l, (void)a, (void)b;
    return V * k;
}

static double rbf(double l, double k, double a, double b) {
    return V * exp(-pow(distance(k, a, b), 2) / (2 * l * l));
}

static double matern32(double l, double k, double a, double b) {
    double r = sqrt(3) * distance(k, a, b) / l;
    return V * (1 + r) * exp(-r);
}

static double matern52(double l, double k, double a, double b) {
    double r = sqrt(5) * distance(k, a, b) / l;
    return V * (1 + r + r * r / 3) * exp(-r);
}

static double rq(double l, double k, double a, double b) {
    return V * pow(1 + pow(distance(k, a, b), 2) / (2 * ALPHA * l * l), -ALPHA);
}

static double arccos0(double l, double k, double a, double b) {
    (void)l;
    return a > 0 && b > 0 ? V * (1 - angle(k, a, b) / M_PI) : 0;
}

static double arccos1(double l, double k, double a, double b) {
    (void)l;
    if (a <= 0 || b <= 0) return 0;
    double t = angle(k, a, b);
    return V * sqrt(a * b) * (sin(t) + (M_PI - t) * cos(t)) / M_PI;
}

static double normalize(double l, double k, double a, double b) {
    (void)l;
    return a > 0 && b > 0 ? k / sqrt(a * b) : 0;
}

static double tanimoto(double l, double k, double a, double b) {
    (void)l;
    return a > 0 && b > 0 ? k / (a + b - k) : 0;
}

typedef double formula(double l, double k, double a, double b);

/* Wrappers with their values written out; %s is what they stand around, %g the length scale. */
static const struct {
    const char *format;
    formula *value;
} wrappers[] = {
    {"linear(%s, variance=1.7)", linear},
    {"rbf(%s, variance=1.7, lengthscale=%g)", rbf},
    {"matern32(%s, variance=1.7, lengthscale=%g)", matern32},
    {"matern52(%s, variance=1.7, lengthscale=%g)", matern52},
    {"rq(%s, variance=1.7, lengthscale=%g, alpha=0.6)", rq},
    {"arccos(%s, variance=1.7, degree=0)", arccos0},
    {"arccos(%s, variance=1.7)", arccos1},
    {"normalize(%s)", normalize},
    {"tanimoto(%s)", tanimoto},
};
enum { WRAPPERS = sizeof wrappers / sizeof *wrappers };

/* With length scales of about the distances that there are. */
static const struct {
    const char *text;
    double lengthscale;
} inputs[] = {
    {"f2", 0.8},
    {"f1..f4", 0.8},
    {"scale(f3)", 0.8},
    {"scale(f1..f4)", 1.5},
    {"mean(text)", 0.8},
    {"bow(text)", 3},
    {"tfidf(text, weighting=log)", 4},
    {"ngrams(text, n=[1,2])", 5},
    {"ssk(text, order=3)", 6},
    {"ssk(text, order=2, sim=cosine)", 6},
    {"normalize(ssk(text, order=3))", 0.7},
    {"normalize(bow(text))", 0.7},
    {"linear(f1..f4, variance=0.3)", 0.6},
    {"matern52(f1..f4)", 0.6},
    {"2 * ssk(text, order=2) + 0.5", 6},
    {"linear(f1..f2) * normalize(ssk(text, order=2))", 0.7},
};
enum { INPUTS = sizeof inputs / sizeof *inputs, COLUMN_INPUTS = 2 };

static void write_kernel(size_t w, size_t i, char *out, size_t size) {
    /* Only what the format asks for is read of the arguments. */
    snprintf(out, size, wrappers[w].format, inputs[i].text, inputs[i].lengthscale);
}

/* normalize() and tanimoto() do not take columns. */
static bool goes_together(size_t w, size_t i) {
    bool takes_columns = wrappers[w].value != normalize && wrappers[w].value != tanimoto;
    return takes_columns || i >= COLUMN_INPUTS;
}

/* The values inside of the wrapper. */
static double *inner_values(size_t i, const data *d) {
    if (i >= COLUMN_INPUTS) {
        fixture f = open_kernel(inputs[i].text, d);
        double *K = fixture_gram(&f, f.items[0], NULL);
        fixture_close(&f);
        return K;
    }
    double *K = calloc(N * N, sizeof *K);
    assert_non_null(K);
    for (size_t pair = 0; pair < N * N; pair++) {
        for (size_t c = 0; c < WIDTH; c++) {
            if (i == 0 && c != 1) continue;
            K[pair] += d->f[pair / N][c] * d->f[pair % N][c];
        }
    }
    return K;
}

/* ---- Checks that every kernel must pass ----------------------------------------------------- */

/* Rounding of an angle near 0 is the root of that of its cosine. */
static double rounding(const char *kernel) {
    return strstr(kernel, "degree=0") ? 1e-7 : 1e-12;
}

static void check_matrix(const fixture *f, const double *K, double tolerance) {
    double diagonal[N], *cross = fixture_gram(f, f->items[0], f->items[1]), largest = 0;
    assert_int_equal(lth_gram_diagonal(f->kernel, f->items[0], diagonal, NULL), LTH_OK);
    for (size_t i = 0; i < N; i++) largest = fmax(largest, diagonal[i]);
    assert_true(largest > 0);
    for (size_t i = 0; i < N; i++) {
        fixture_check_near(&diagonal[i], &K[i * N + i], 1, 1e-14, 0);
        for (size_t j = 0; j < N; j++) assert_true(K[i * N + j] == K[j * N + i]);
        fixture_check_near(cross + i * M, K + i * N, M, tolerance, tolerance * largest);
        fixture_check_near(&K[2 * N + i], &K[3 * N + i], 1, tolerance, tolerance * largest);
    }
    free(cross);
}

/* Cholesky, with room for rounding on the diagonal. */
static void check_definite(const double *K, double tolerance) {
    double L[N][N] = {0}, largest = 0;
    for (size_t i = 0; i < N; i++) largest = fmax(largest, K[i * N + i]);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = K[i * N + j] + (i == j ? 100 * tolerance * largest : 0);
            for (size_t k = 0; k < j; k++) sum -= L[i][k] * L[j][k];
            if (i == j) assert_true(sum > 0);
            L[i][j] = i == j ? sqrt(sum) : sum / L[j][j];
        }
    }
}

/* Five points around a value: the error is h^4. */
static double *difference(const fixture *f, const lth_items *cols, size_t p, size_t cells) {
    static const double weight[5] = {1, -8, 0, 8, -1};
    lth_param param = *lth_kernel_param(f->kernel, p);
    double h = 1e-3 * param.value, *slope = calloc(cells, sizeof *slope);
    assert_true(slope && h > 0);
    for (size_t n = 0; n < 5; n++) {
        double value = param.value + ((double)n - 2) * h;
        assert_int_equal(lth_kernel_set(f->kernel, p, value, NULL), LTH_OK);
        double *K = fixture_gram(f, f->items[0], cols);
        for (size_t i = 0; i < cells; i++) slope[i] += weight[n] * K[i] / (12 * h);
        free(K);
    }
    assert_int_equal(lth_kernel_set(f->kernel, p, param.value, NULL), LTH_OK);
    return slope;
}

/* An angle of 0 has no slope, and differences there are noise. */
static bool has_slope(const char *kernel, const double *K, size_t i) {
    return !strstr(kernel, "degree=0") || K[i] < V * (1 - 1e-6);
}

static bool same_tag(lth_param a, lth_param b) {
    return a.tag && b.tag && strcmp(a.tag, b.tag) == 0;
}

static void check_differences(const char *kernel, const fixture *f, const lth_items *cols) {
    size_t width = cols ? M : N, cells = N * width, params = lth_kernel_params(f->kernel);
    double *G = fixture_gradients(f, f->items[0], cols), *K = fixture_gram(f, f->items[0], cols);
    for (size_t p = 0; p < params; p++) {
        lth_param param = *lth_kernel_param(f->kernel, p);
        double *wanted = difference(f, cols, p, cells);
        for (size_t i = 0; i < cells; i++) {
            double got = 0;
            for (size_t q = 0; q < params; q++) {
                if (q == p || same_tag(param, *lth_kernel_param(f->kernel, q)))
                    got += G[q * cells + i];
            }
            assert_true(isfinite(got));
            if (!has_slope(kernel, K, i)) continue;
            double scale = fabs(wanted[i]) + 1e-3 * fabs(K[i] / param.value);
            if (fabs(got - wanted[i]) <= 1e-6 * scale + 1e-9 * rounding(kernel)) continue;
            print_error("%s: %s at %zu: %.12g is not %.12g\n", kernel, param.path, i, got,
                        wanted[i]);
            fail();
        }
        free(wanted);
    }
    free(G);
    free(K);
}

static void check_pull(const fixture *f, const lth_items *cols) {
    size_t width = cols ? M : N, cells = N * width;
    double grad[32], *W = calloc(cells, sizeof *W), *K = fixture_gram(f, f->items[0], cols);
    double *G = fixture_gradients(f, f->items[0], cols);
    lth__random random;
    lth__random_seed(&random, 4);
    assert_non_null(W);
    for (size_t i = 0; i < cells; i++) W[i] = 2 * lth__random_uniform(&random) - 1;
    assert_int_equal(lth_gram_pull(f->kernel, f->items[0], cols, W, width, grad, NULL), LTH_OK);
    for (size_t p = 0; p < lth_kernel_params(f->kernel); p++) {
        double sum = 0, scale = 0;
        for (size_t i = 0; i < cells; i++) {
            sum += W[i] * G[p * cells + i];
            /* Of a derivative that is 0, as of normalize(v * k) by v, rounding of K is left. */
            scale += fabs(W[i]) * (fabs(G[p * cells + i]) + 1e-3 * fabs(K[i]));
        }
        if (!(fabs(grad[p] - sum) <= 1e-11 * scale)) {
            print_error("%s: %.17g is not %.17g\n", lth_kernel_param(f->kernel, p)->path, grad[p],
                        sum);
            fail();
        }
    }
    free(W);
    free(G);
    free(K);
}

/* Returns the matrix. */
static double *check_kernel(const char *kernel, const data *d) {
    fixture f = open_kernel(kernel, d);
    double *K = fixture_gram(&f, f.items[0], NULL);
    check_matrix(&f, K, rounding(kernel));
    check_definite(K, rounding(kernel));
    check_differences(kernel, &f, NULL);
    check_differences(kernel, &f, f.items[1]);
    check_pull(&f, NULL);
    check_pull(&f, f.items[1]);
    fixture_close(&f);
    return K;
}

/* ---- Every wrapper around everything -------------------------------------------------------- */

static void test_every_wrapper(void **state) {
    (void)state;
    data d = make_data();
    for (size_t i = 0; i < INPUTS; i++) {
        double *inner = inner_values(i, &d);
        for (size_t w = 0; w < WRAPPERS; w++) {
            if (!goes_together(w, i)) continue;
            char kernel[128];
            write_kernel(w, i, kernel, sizeof kernel);
            double *K = check_kernel(kernel, &d);
            for (size_t p = 0; p < N * N; p++) {
                double a = inner[p / N * (N + 1)], b = inner[p % N * (N + 1)];
                double wanted = wrappers[w].value(inputs[i].lengthscale, inner[p], a, b);
                fixture_check_near(&K[p], &wanted, 1, rounding(kernel), 1e-14 + rounding(kernel));
            }
            free(K);
        }
        free(inner);
    }
    fixture_free_texts(d.texts, N);
}

/* A length scale for each column. */
static void test_ard(void **state) {
    (void)state;
    static const struct {
        const char *kernel;
        formula *value;
        size_t own;
    } cases[] = {
        {"rbf(f1..f4, ard=yes, variance=1.7, lengthscale=[0.5,1,2,0.7])", rbf, 1},
        {"matern32(f1..f4, variance=1.7, lengthscale=[0.5,1,2,0.7], ard=yes)", matern32, 1},
        {"matern52(f1..f4, ard=yes, variance=1.7, lengthscale=[0.5,1,2,0.7])", matern52, 1},
        {"rq(f1..f4, ard=yes, variance=1.7, lengthscale=[0.5,1,2,0.7], alpha=0.6)", rq, 2},
    };
    static const double l[WIDTH] = {0.5, 1, 2, 0.7};
    data d = make_data();
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        double *K = check_kernel(cases[n].kernel, &d);
        for (size_t p = 0; p < N * N; p++) {
            double d2 = 0;
            for (size_t c = 0; c < WIDTH; c++) d2 += pow((d.f[p / N][c] - d.f[p % N][c]) / l[c], 2);
            double wanted = cases[n].value(1, 0, d2, 0);
            fixture_check_near(&K[p], &wanted, 1, 1e-12, 1e-14);
        }
        free(K);
        fixture f = fixture_open(cases[n].kernel, NULL);
        assert_int_equal(lth_kernel_params(f.kernel), cases[n].own + WIDTH);
        for (size_t c = 0; c < WIDTH; c++)
            assert_true(lth_kernel_param(f.kernel, cases[n].own + c)->value == l[c]);
        fixture_close(&f);
    }
    fixture_free_texts(d.texts, N);
}

/* The mean of the vectors of those words that have one. */
static void test_mean(void **state) {
    (void)state;
    data d = make_data();
    double x[N][3] = {0};
    for (size_t i = 0; i < N; i++) {
        double known = 0;
        for (const char *c = d.texts[i]; *c; c++) {
            if (*c < 'a' || *c > 'd') continue;
            known++;
            for (size_t k = 0; k < 3; k++) x[i][k] += vector_of[*c - 'a'][k];
        }
        for (size_t k = 0; k < 3 && known > 0; k++) x[i][k] /= known;
    }
    fixture f = open_kernel("mean(text)", &d);
    double *K = fixture_gram(&f, f.items[0], NULL);
    for (size_t p = 0; p < N * N; p++) {
        double wanted = 0;
        for (size_t k = 0; k < 3; k++) wanted += x[p / N][k] * x[p % N][k];
        fixture_check_near(&K[p], &wanted, 1, 1e-14, 1e-14);
    }
    assert_true(K[0] == 0 && K[4 * N + 4] == 0 && K[N + 1] > 0);
    free(K);
    fixture_close(&f);
    fixture_free_texts(d.texts, N);
}

/* ---- Sums, products, nests ------------------------------------------------------------------ */

static double *values(const char *kernel, const data *d) {
    fixture f = open_kernel(kernel, d);
    double *K = fixture_gram(&f, f.items[0], NULL);
    fixture_close(&f);
    return K;
}

static void test_sums_and_products(void **state) {
    (void)state;
    data d = make_data();
    const char *const a = "rbf(f1..f4, lengthscale=0.8)", *const b = "linear(bow(text))";
    const char *const c = "matern32(normalize(ssk(text, order=2)), lengthscale=0.5)";
    char kernel[256];
    snprintf(kernel, sizeof kernel, "%s * %s + 0.5 * %s * %s + 0.25", a, b, c, a);
    double *K = check_kernel(kernel, &d);
    double *A = values(a, &d), *B = values(b, &d), *C = values(c, &d);
    for (size_t p = 0; p < N * N; p++) {
        double wanted = A[p] * B[p] + 0.5 * C[p] * A[p] + 0.25;
        fixture_check_near(&K[p], &wanted, 1, 1e-13, 0);
    }
    double *matrices[] = {K, A, B, C};
    for (size_t i = 0; i < 4; i++) free(matrices[i]);
    fixture_free_texts(d.texts, N);
}

static void test_nests(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "rbf(2 * ssk(text, order=2) + linear(f1..f2), lengthscale=5)",
        "rbf(normalize(ssk(text, order=2))) * matern32(f1..f4, ard=yes) + 0.1",
        "arccos(rbf(mean(text)) + linear(f1..f3), degree=1)",
        "normalize(rq(ngrams(text, n=2), lengthscale=3) + linear(f3))",
        "rbf(f1, lengthscale=$l=0.8) + rbf(f2..f3, lengthscale=$l)",
        "rbf(rbf(rbf(f1..f4)))",
        "matern52(f1..f2, ard=yes, lengthscale=$l=0.8) * linear(tfidf(text), variance=$l)",
        "rbf(matern52(f1..f4, ard=yes) + linear(mean(text)), lengthscale=0.5)",
    };
    data d = make_data();
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        free(check_kernel(kernels[k], &d));
    fixture_free_texts(d.texts, N);
}

/* Where nothing can be compared, nothing is undefined. */
static void test_empty_items(void **state) {
    (void)state;
    const char *const texts[] = {"", " ", "a"};
    static const struct {
        const char *kernel;
        double wanted[3]; /* empty with itself, with the other empty one, with "a" */
    } cases[] = {
        {"linear(bow(text))", {0, 0, 0}},
        {"rbf(bow(text))", {1, 1, 0.60653065971263342}},
        {"arccos(ssk(text), degree=0)", {0, 0, 0}},
        {"arccos(tfidf(text))", {0, 0, 0}},
        {"normalize(ngrams(text, n=1))", {0, 0, 0}},
        {"tanimoto(ngrams(text, n=1))", {0, 0, 0}},
        {"rbf(normalize(ssk(text)))", {1, 1, 0.60653065971263342}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fixture f = fixture_open(cases[k].kernel, NULL);
        fixture_encode(&f, texts, 3);
        double *K = fixture_gram(&f, f.items[0], NULL);
        double *G = fixture_gradients(&f, f.items[0], NULL);
        /* "a" alone is compared with "a" by the units; chars of " " are one unit, a space. */
        bool space = strstr(cases[k].kernel, "ngrams") != NULL;
        fixture_check_near(&K[0], &cases[k].wanted[0], 1, 1e-15, 0);
        fixture_check_near(&K[1], &cases[k].wanted[1], 1, 1e-15, 0);
        fixture_check_near(&K[2], &cases[k].wanted[2], 1, 1e-15, 0);
        assert_true(space || K[4] == K[0]);
        for (size_t i = 0; i < 9 * lth_kernel_params(f.kernel); i++) assert_true(isfinite(G[i]));
        free(K);
        free(G);
        fixture_close(&f);
    }
}

/* ---- Mistakes ------------------------------------------------------------------------------- */

static void test_mistakes(void **state) {
    (void)state;
    static const struct {
        const char *kernel;
        size_t column;
        const char *message;
    } mistakes[] = {
        {"rbf(bow(text), ard=yes)", 5, "ard=yes needs number columns, such as rbf(f1..f17, ard"},
        {"rbf(fa..fb, ard=yes)", 5, "\"fa..fb\" is not a range of numbered columns such as"},
        {"rbf(f1..f3, ard=yes, lengthscale=[1,2])", 34,
         "lengthscale of rbf needs 3 numbers, but has 2"},
        {"rbf(f1..f3, lengthscale=[1,2,3])", 25, "rbf.lengthscale is a number, such as 1"},
        {"rbf(f1..f3, lengthscale=0)", 25, "rbf.lengthscale is 0, but must lie in [1e-06, 1e+06]"},
        {"arccos(f1, degree=2)", 19, "degree of arccos is a whole number from 0 to 1"},
        {"linear(f1, ard=yes)", 12, "linear has no argument \"ard\""},
        {"linear(f1, f2)", 12, "linear takes "},
        {"normalize(f1)", 11, "normalize works on a kernel, not on a column"},
        {"tanimoto(f1)", 10, "tanimoto works on a kernel, not on a column"},
        {"rbf()", 1, "rbf needs a column or a kernel"},
    };
    lth_ctx *ctx = NULL;
    assert_int_equal(lth_ctx_create(NULL, &ctx, NULL), LTH_OK);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        lth_kernel *kernel = NULL;
        lth_error err = {0};
        assert_int_equal(lth_kernel_parse(ctx, mistakes[i].kernel, &kernel, &err), LTH_EFORMAT);
        if (strncmp(err.message, mistakes[i].message, strlen(mistakes[i].message)) != 0)
            print_error("%s: %s\n", mistakes[i].kernel, err.message);
        assert_memory_equal(err.message, mistakes[i].message, strlen(mistakes[i].message));
        assert_int_equal(err.column, mistakes[i].column);
    }
    lth_ctx_free(ctx);
}

static void test_bad_columns(void **state) {
    (void)state;
    fixture f = fixture_open("rbf(f1..f2)", NULL);
    lth_error err = {0};
    assert_int_equal(encode_lines(&f, "f1\tf2\n1\t2\n3\tx\n", &err), LTH_EFORMAT);
    assert_int_equal(err.line, 3);
    assert_int_equal(encode_lines(&f, "f1\tf3\n1\t2\n", &err), LTH_EFORMAT);
    assert_int_equal(err.line, 1);
    assert_int_equal(encode_lines(&f, "f1\tf2\n1\tinf\n", &err), LTH_EFORMAT);
    assert_int_equal(err.line, 2);
    fixture_close(&f);
}

static void test_mean_without_vectors(void **state) {
    (void)state;
    const char *const texts[] = {"a"};
    fixture f = fixture_open("linear(mean(text))", NULL);
    const lth_items *items = fixture_encode(&f, texts, 1);
    lth_error err = {0};
    double K;
    assert_int_equal(lth_gram(f.kernel, items, NULL, &K, 1, &err), LTH_EARG);
    assert_string_equal(err.message, "mean() averages word vectors, but none were read");
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_wrapper),
        cmocka_unit_test(test_ard),
        cmocka_unit_test(test_mean),
        cmocka_unit_test(test_sums_and_products),
        cmocka_unit_test(test_nests),
        cmocka_unit_test(test_empty_items),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_bad_columns),
        cmocka_unit_test(test_mean_without_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Learning a kernel: a Gaussian process fitted to scored sentences, its predictions with error
 * bars, and the model file.
 *
 * Here the sign of a sentence hangs on "not" before an adjective, which single words cannot show.
 * The evidence finds that out by itself: it gives pairs of words their weight.
 *
 *     cc -std=c17 05_gaussian_process.c $(pkg-config --cflags --libs luthier)
 */
#include <luthier.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 48, NEW = 4 };

static const char *const nouns[] = {"film", "book", "song", "play", "show", "game"};
static const char *const adjectives[] = {"good", "bad", "funny", "dull"};
static const double polarity[] = {2, -2, 1, -1};

/* Row i of all sentences, and its score without noise. */
static double sentence(size_t i, char *text, size_t capacity) {
    size_t noun = i % 6, adjective = i / 6 % 4, negated = i / 24;
    snprintf(text, capacity, "the %s was %s%s", nouns[noun], negated ? "not " : "",
             adjectives[adjective]);
    return negated ? -polarity[adjective] : polarity[adjective];
}

/* Not learned from; but all its words are in other rows. */
static bool is_new(size_t i) {
    return i % 13 == 4;
}

static lth_error err;

static void check(lth_status status) {
    if (status == LTH_OK) return;
    fprintf(stderr, "%s\n", err.message);
    exit(1);
}

/* The rows to learn from, or the new ones, by way of a file. The scores have a little noise. */
static lth_table *make_table(lth_ctx *ctx, const char *path, bool new_rows) {
    FILE *file = fopen(path, "w");
    if (!file) exit(1);
    fprintf(file, "text\tscore\n");
    for (size_t i = 0; i < ROWS; i++) {
        char text[80];
        double score = sentence(i, text, sizeof text), noise = ((double)(i * 37 % 11) - 5) / 12;
        if (is_new(i) == new_rows) fprintf(file, "%s\t%.3f\n", text, score + noise);
    }
    fclose(file);
    lth_table *table;
    check(lth_table_read(ctx, path, NULL, &table, &err));
    remove(path);
    return table;
}

static lth_gp *learn(lth_ctx *ctx, const lth_table *table) {
    const char *const target = "score";
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 2;
    lth_gp *gp;
    check(lth_gp_fit(ctx, "ssk(text, order=2)", table, &target, 1, &options, &gp, &err));

    const lth_gp_report *report = lth_gp_reported(gp);
    char kernel[256];
    lth_kernel_print(lth_gp_kernel(gp), kernel, sizeof kernel);
    printf("%s\nlog evidence %.2f, noise %.3f\n", kernel, report->evidence, report->noise);
    for (size_t i = 0; i < report->orders; i++)
        printf("sequences of %zu words: %.0f%%\n", i + 1, 100 * report->order_share[i]);
    return gp;
}

/* A cell of the table as a NUL-terminated text. */
static const char *cell(const lth_table *table, size_t row, size_t column, char buffer[80]) {
    size_t length;
    const char *text = lth_table_cell(table, row, column, &length);
    snprintf(buffer, 80, "%.*s", (int)length, text);
    return buffer;
}

/* Whether the new rows are predicted as they should be, with error bars that are right. */
static bool judge(const lth_table *table, const double *mean, const double *sd) {
    bool right = lth_table_rows(table) == NEW;
    printf("\n%-24s %6s %6s %5s\n", "text", "score", "mean", "sd");
    for (size_t i = 0; i < NEW && right; i++) {
        char text[80], number[80];
        double score = strtod(cell(table, i, 1, number), NULL);
        printf("%-24s %6.2f %6.2f %5.2f\n", cell(table, i, 0, text), score, mean[i], sd[i]);
        right = fabs(mean[i] - score) < 3 * sd[i] && sd[i] < 0.7;
    }
    return right;
}

int main(void) {
    const char *place = getenv("TMPDIR");
    char path[256];
    snprintf(path, sizeof path, "%s/luthier-example-%ld", place ? place : "/tmp", (long)getpid());

    lth_ctx *ctx;
    check(lth_ctx_create(NULL, &ctx, &err));
    lth_table *train = make_table(ctx, path, false), *new_rows = make_table(ctx, path, true);
    lth_gp *gp = learn(ctx, train);
    double mean[NEW], sd[NEW], again[NEW];
    check(lth_gp_predict(gp, new_rows, false, mean, sd, &err));
    bool right = judge(new_rows, mean, sd);

    /* A model read back says the same, to the last bit. */
    lth_gp *loaded;
    check(lth_gp_save(gp, path, &err));
    check(lth_gp_load(ctx, path, &loaded, &err));
    remove(path);
    check(lth_gp_predict(loaded, new_rows, false, again, NULL, &err));
    for (size_t i = 0; i < NEW; i++) right = right && mean[i] == again[i];

    /* Pairs of words must have come out stronger than single words. */
    const lth_gp_report *report = lth_gp_reported(loaded);
    right = right && report->order_share[1] > report->order_share[0] && report->loo->r > 0.9;

    lth_gp_free(loaded);
    lth_gp_free(gp);
    lth_table_free(new_rows);
    lth_table_free(train);
    lth_ctx_free(ctx);
    return right ? 0 : 1;
}

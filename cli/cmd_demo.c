/* luthier demo: what a string kernel sees and a bag of words does not, on reviews that the program
 * brings along. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "reviews.h"
#include "session.h"

enum { MOST_REVIEWS = 1000, SHOWN = 3 };

typedef struct review {
    const char *text;
    size_t length;
    double score;
} review;

typedef struct reviews {
    review at[MOST_REVIEWS];
    size_t count;
} reviews;

/* One way to compare, and how well the nearest neighbour's score predicts a review's own. */
typedef struct contender {
    const char *name, *expression;
    double *similarity;
    size_t nearest[MOST_REVIEWS];
    double error, correlation;
    double seconds, cell_orders;
} contender;

/* ---- The embedded table: id, product, text, score ---- */

static void read_reviews(reviews *out) {
    const char *line = strchr(reviews_tsv, '\n') + 1;
    for (out->count = 0; *line && out->count < MOST_REVIEWS; line = strchr(line, '\n') + 1) {
        const char *product = strchr(line, '\t') + 1, *text = strchr(product, '\t') + 1,
                   *score = strchr(text, '\t') + 1;
        out->at[out->count++] = (review){text, (size_t)(score - 1 - text), strtod(score, NULL)};
    }
}

/* ---- Comparing ---- */

static lth_status compute(session *s, const reviews *r, contender *c, lth_error *err) {
    const char *texts[MOST_REVIEWS];
    size_t lengths[MOST_REVIEWS];
    for (size_t i = 0; i < r->count; ++i) texts[i] = r->at[i].text, lengths[i] = r->at[i].length;
    lth_kernel *kernel = NULL;
    lth_table *table = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    lth_status status = lth_kernel_parse(s->ctx, c->expression, &kernel, err);
    if (!status)
        status = lth_table_from_texts(s->ctx, "text", texts, lengths, r->count, &table, err);
    if (!status) status = lth_encoder_create(s->ctx, kernel, &encoder, err);
    if (!status) status = lth_encode(encoder, table, &items, err);
    c->seconds = INFINITY;
    for (int i = 0; i < 5 && !status; ++i) { /* the best time of a few is the machine's */
        double start = seconds_now();
        status = lth_gram(kernel, items, NULL, c->similarity, r->count, err);
        if (seconds_now() - start < c->seconds) c->seconds = seconds_now() - start;
    }
    if (!status) c->cell_orders = lth_gram_cell_orders(kernel, items, NULL);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_table_free(table);
    lth_kernel_free(kernel);
    return status;
}

static void find_nearest(const reviews *r, contender *c) {
    for (size_t i = 0; i < r->count; ++i) {
        size_t best = i == 0;
        for (size_t j = 0; j < r->count; ++j)
            if (j != i && c->similarity[i * r->count + j] > c->similarity[i * r->count + best])
                best = j;
        c->nearest[i] = best;
    }
}

static double guess(const reviews *r, const contender *c, size_t i) {
    return r->at[c->nearest[i]].score;
}

static void judge(const reviews *r, contender *c) {
    double n = (double)r->count, x = 0, y = 0, xx = 0, yy = 0, xy = 0, error = 0;
    for (size_t i = 0; i < r->count; ++i) {
        double a = r->at[i].score, b = guess(r, c, i);
        x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
        error += fabs(a - b);
    }
    double spread = sqrt((n * xx - x * x) * (n * yy - y * y));
    c->error = error / n;
    c->correlation = spread > 0 ? (n * xy - x * y) / spread : 0;
}

static int run_contender(session *s, const reviews *r, contender *c) {
    int code = session_allocate(s, "the Gram matrix", 1, r->count, r->count, &c->similarity);
    if (code) return code;
    lth_error err = {0};
    if (compute(s, r, c, &err) != LTH_OK) return session_fail(s, &err);
    find_nearest(r, c);
    judge(r, c);
    return session_check_interrupt(s);
}

/* ---- The story ---- */

static const char *bold = "", *dim = "", *good = "", *bad = "", *plain = "";

static void choose_colours(void) {
    if (!use_colour()) return;
    bold = "\033[1m", dim = "\033[2m", good = "\033[32m", bad = "\033[31m", plain = "\033[0m";
}

static void print_review(const char *label, const review *r) {
    printf("  %-14s %.0f/5  %.*s\n", label, r->score, (int)r->length, r->text);
}

static void print_neighbour(const reviews *r, const contender *c, size_t i) {
    const review *near = &r->at[c->nearest[i]];
    bool agrees = fabs(near->score - r->at[i].score) <= 1;
    fputs(agrees ? good : bad, stdout);
    print_review(c->name, near);
    fputs(plain, stdout);
}

/* How much better the string kernel's neighbour is, where it is right. */
static double advantage(const reviews *r, const contender *bag, const contender *string, size_t i) {
    double score = r->at[i].score;
    if (guess(r, string, i) != score) return 0;
    return fabs(guess(r, bag, i) - score);
}

/* Reviews where the two differ most, with different scores and openings so that they are not all
 * alike. */
static void print_examples(const reviews *r, const contender *bag, const contender *string) {
    size_t shown[SHOWN], count = 0;
    while (count < SHOWN) {
        size_t best = r->count;
        for (size_t i = 0; i < r->count; ++i) {
            bool alike = false;
            for (size_t k = 0; k < count; ++k)
                alike |= strncmp(r->at[shown[k]].text, r->at[i].text, 4) == 0 ||
                         r->at[shown[k]].score == r->at[i].score;
            if (alike || advantage(r, bag, string, i) == 0) continue;
            if (best == r->count || advantage(r, bag, string, i) > advantage(r, bag, string, best))
                best = i;
        }
        if (best == r->count) break;
        shown[count++] = best;
        putchar('\n');
        fputs(bold, stdout);
        print_review("review", &r->at[best]);
        fputs(plain, stdout);
        print_neighbour(r, bag, best);
        print_neighbour(r, string, best);
    }
}

static void print_verdict(const contender *c) {
    printf("  %-14s mean error %.2f stars, correlation %.2f   %s%s%s\n", c->name, c->error,
           c->correlation, dim, c->expression, plain);
}

static double pair_count(const reviews *r) {
    return (double)(r->count * (r->count + 1) / 2);
}

static void print_story(session *s, const reviews *r, const contender *bag,
                        const contender *string) {
    choose_colours();
    printf("%sluthier compares texts by the word sequences they share, with gaps.%s\n\n", bold,
           plain);
    printf("Here are %zu short product reviews. Whether \"good\" is praise depends on a \"not\" a "
           "few\nwords before it; the words alone do not tell. Which review is most like each of "
           "these,\nby a bag of words and by a string kernel? (Chosen to show the difference.)\n",
           r->count);
    print_examples(r, bag, string);
    printf("\nNow guess the score of every review from its nearest neighbour:\n\n");
    print_verdict(bag);
    print_verdict(string);
    printf("\nThis machine (%s, %u thread%s) compared %.3g pairs of reviews per second,\n"
           "%.3g cell-orders per second; luthier bench measures longer texts.\n",
           lth_ctx_isa(s->ctx), lth_ctx_threads(s->ctx), lth_ctx_threads(s->ctx) == 1 ? "" : "s",
           pair_count(r) / string->seconds, string->cell_orders / string->seconds);
    printf("\nNext: %sluthier gram your.tsv --kernel 'normalize(ssk(text))' -o K.npy%s\n", bold,
           plain);
}

static void print_json_contender(const contender *c) {
    printf("{\"kernel\":");
    print_json_string(c->expression);
    printf(",\"mae\":");
    print_json_double(c->error);
    printf(",\"r\":");
    print_json_double(c->correlation);
    putchar('}');
}

static void print_json(const reviews *r, const contender *bag, const contender *string) {
    printf("{\"schema\":1,\"reviews\":%zu,\"bag_of_words\":", r->count);
    print_json_contender(bag);
    printf(",\"string_kernel\":");
    print_json_contender(string);
    printf(",\"pairs_per_s\":");
    print_json_double(pair_count(r) / string->seconds);
    printf(",\"cell_orders_per_s\":");
    print_json_double(string->cell_orders / string->seconds);
    printf("}\n");
}

int run_demo(const options *o) {
    static reviews r;
    static contender bag = {.name = "bag of words",
                            .expression = "normalize(ssk(text, units=tokens, order=1))"};
    static contender string = {.name = "string kernel",
                               .expression =
                                   "normalize(ssk(text, units=tokens, order=3, gap=0.3))"};
    session s;
    read_reviews(&r);
    int code = session_open(&s, o);
    if (!code) code = run_contender(&s, &r, &bag);
    if (!code) code = run_contender(&s, &r, &string);
    if (!code && o->json)
        print_json(&r, &bag, &string);
    else if (!code)
        print_story(&s, &r, &bag, &string);
    free(bag.similarity);
    free(string.similarity);
    session_close(&s);
    return code;
}

/* Gapped k-mers as they are written: each text stands where the weights of its features say. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "gp_support.h"
#include "kernel/core/encode.h"
#include "kernel/string/gkm.h"
#include "problem_support.h"

static lth_ctx *ctx;

static int open_context(void **state) {
    (void)state;
    ctx = support_context(1);
    return 0;
}

static int close_context(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

/* ---- Units of a text, and of a pattern, in which "." is any ---- */

enum { MOST_UNITS = 32 };
typedef struct units {
    char unit[MOST_UNITS][8];
    size_t count;
} units;

static units cut(const char *text, size_t length, bool words) {
    units u = {.count = 0};
    for (size_t i = 0; i < length;) {
        const char *space = words ? memchr(text + i, ' ', length - i) : text + i + 1;
        size_t n = space ? (size_t)(space - (text + i)) : length - i;
        assert_true(u.count < MOST_UNITS && n < 8);
        memcpy(u.unit[u.count++], text + i, n);
        i += n + words;
    }
    return u;
}

static bool stands_at(const units *pattern, const units *text, size_t at) {
    for (size_t k = 0; k < pattern->count; k++) {
        bool any = strcmp(pattern->unit[k], ".") == 0;
        if (!any && strcmp(pattern->unit[k], text->unit[at + k]) != 0) return false;
    }
    return true;
}

/* In windows of l units, in which it may lie anywhere. */
static double count_in_windows(const units *pattern, const units *text, size_t l) {
    double count = 0;
    for (size_t first = 0; first + l <= text->count; first++) {
        for (size_t at = first; at + pattern->count <= first + l; at++)
            count += stands_at(pattern, text, at);
    }
    return count;
}

static size_t letters_of(const units *pattern) {
    size_t count = 0;
    for (size_t k = 0; k < pattern->count; k++) count += strcmp(pattern->unit[k], ".") != 0;
    return count;
}

/* ---- All features of a row ---- */

static char *text_of(const problem *p, uint32_t feature) {
    lth__string text = {0};
    lth_error err = {0};
    support_ok(lth__gkm_feature_text(p->kernel->root, p->encoder, feature, &text, &err), &err);
    lth__string_append(&text, "", 1);
    assert_false(text.failed);
    return text.bytes;
}

typedef struct setting {
    const char *kernel, *rows;
    size_t l, least, most;
    bool words;
} setting;

static void check_row(const problem *p, const setting *s, size_t row) {
    const lth__features *f = &p->items->features[0];
    size_t length, first = f->start[row], count = f->start[row + 1] - first;
    const char *cell = lth_table_cell(p->table, row, 1, &length);
    units text = cut(cell, length, s->words);
    char **pattern = calloc(count + 1, sizeof *pattern);
    assert_non_null(pattern);
    for (size_t a = 0; a < count; a++) pattern[a] = text_of(p, f->feature[first + a]);
    for (size_t a = 0; a < count; a++) {
        units u = cut(pattern[a], strlen(pattern[a]), s->words);
        size_t k = letters_of(&u), last = u.count - 1;
        assert_true(k >= s->least && k <= s->most && u.count <= s->l);
        assert_true(strcmp(u.unit[0], ".") != 0 && strcmp(u.unit[last], ".") != 0);
        double sum = 0, worth = lth_kernel_param(p->kernel, k - s->least)->value;
        for (size_t b = 0; b < count; b++) /* another place in the window, another feature */
            sum += strcmp(pattern[a], pattern[b]) == 0 ? f->weight[first + b] : 0;
        support_near(sum, sqrt(worth) * count_in_windows(&u, &text, s->l), 1e-12);
    }
    for (size_t a = 0; a < count; a++) lth__free(pattern[a]);
    free(pattern);
}

static void texts(void **state) {
    (void)state;
    static const setting settings[] = {
        {"gkm(seq, l=5, k=3)", "y\tseq\n1\tabracadabra\n2\tcarab\n3\tbar\n", 5, 3, 3, false},
        {"gkm(seq, l=4, k=[1,4])", "y\tseq\n1\tabracadabra\n2\tcarab\n", 4, 1, 4, false},
        {"gkm(seq, l=6, k=[2,3], alphabet=dna)", "y\tseq\n1\tGATTACAGAT\n2\tTTTTGGGC\n", 6, 2, 3,
         false},
        {"gkm(seq, l=3, k=2, units=words)",
         "y\tseq\n1\tthe cat the dog a cat\n2\ta dog a dog the cat\n", 3, 2, 2, true},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        lth_error err = {0};
        problem p = support_problem(ctx, settings[i].kernel, settings[i].rows);
        for (size_t k = 0; k < lth_kernel_params(p.kernel); k++)
            support_ok(lth_kernel_set(p.kernel, k, 1.5 / (double)(k + 2), &err), &err);
        support_ok(lth__items_ask_features(p.items, &err), &err);
        for (size_t row = 0; row < lth_table_rows(p.table); row++) check_row(&p, &settings[i], row);
        char *unknown = text_of(&p, UINT32_MAX);
        assert_string_equal(unknown, "?");
        lth__free(unknown);
        problem_close(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}

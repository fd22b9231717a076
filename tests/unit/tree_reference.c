#include "tree_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Random trees ---- */

static char *join(char *a, const char *b) {
    a = realloc(a, strlen(a) + strlen(b) + 1);
    assert_non_null(a);
    return strcat(a, b);
}

static char *grow(lth__random *random, size_t depth, char *text) {
    char label[] = {'(', (char)('A' + (int)lth__random_below(random, REFERENCE_LABELS)), 0};
    text = join(text, label);
    size_t children = 1 + lth__random_below(random, 2);
    for (size_t i = 0; i < children; i++) {
        text = join(text, " ");
        char word[] = {(char)('a' + (int)lth__random_below(random, 2)), 0};
        if (depth > 0 && lth__random_below(random, 2) == 0)
            text = grow(random, depth - 1, text);
        else
            text = join(text, word);
    }
    return join(text, ")");
}

char *reference_tree(lth__random *random, size_t depth) {
    return grow(random, depth, strdup(""));
}

/* ---- Fragments ---- */

typedef struct fragment {
    char *text;
    double weight;
} fragment;

typedef struct fragments {
    fragment *at;
    size_t count;
} fragments;

static void add(fragments *f, const char *a, const char *b, double weight) {
    f->at = realloc(f->at, (f->count + 1) * sizeof *f->at);
    assert_non_null(f->at);
    f->at[f->count++] = (fragment){join(strdup(a), b), weight};
}

static void clear(fragments *f) {
    for (size_t i = 0; i < f->count; i++) free(f->at[i].text);
    free(f->at);
    *f = (fragments){0};
}

/* Every way to go on from each of `f` with each of `next`. */
static void multiply(fragments *f, const fragments *next) {
    fragments product = {0};
    for (size_t i = 0; i < f->count; i++) {
        for (size_t j = 0; j < next->count; j++)
            add(&product, f->at[i].text, next->at[j].text, f->at[i].weight * next->at[j].weight);
    }
    clear(f);
    *f = product;
}

/* Reads "(A x (B y))" from *at on; the fragments with their root there are returned, and with all
 * those below it added to `all`. A child where a fragment stops is written "B^". */
static fragments read_tree(const char **at, const reference_weights *w, fragments *all) {
    size_t label = (size_t)((*at)[1] - 'A');
    char open[] = {'(', (*at)[1], 0};
    fragments rooted = {0};
    add(&rooted, open, "", w->decay[label]);
    *at += 2;
    while (**at == ' ') {
        fragments child = {0};
        char symbol[] = {' ', *++*at, 0, 0};
        if (**at == '(') {
            char stop[] = {' ', (*at)[1], '^', 0};
            fragments below = read_tree(at, w, all), space = {0};
            add(&space, " ", "", 1);
            multiply(&space, &below);
            clear(&below);
            child = space;
            add(&child, stop, "", w->alpha[label]);
        } else {
            ++*at;
            add(&child, symbol, "", 1);
            if (w->leaves) add(all, symbol, "", w->shared);
        }
        multiply(&rooted, &child);
        clear(&child);
    }
    ++*at; /* the closing bracket */
    fragments close = {0};
    add(&close, ")", "", 1);
    multiply(&rooted, &close);
    clear(&close);
    for (size_t i = 0; i < rooted.count; i++) add(all, rooted.at[i].text, "", rooted.at[i].weight);
    return rooted;
}

static fragments fragments_of(const char *tree, const reference_weights *w) {
    fragments all = {0}, rooted = {0};
    if (*tree) rooted = read_tree(&tree, w, &all);
    clear(&rooted);
    return all;
}

double reference_sstk(const char *s, const char *t, const reference_weights *w) {
    fragments a = fragments_of(s, w), b = fragments_of(t, w);
    double sum = 0;
    for (size_t i = 0; i < a.count; i++) {
        for (size_t j = 0; j < b.count; j++) {
            if (strcmp(a.at[i].text, b.at[j].text) == 0) sum += a.at[i].weight;
        }
    }
    clear(&a);
    clear(&b);
    return sum;
}

/* luthier kernels: the kernel families and their arguments, from the table the parser uses. */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "options.h"
#include "output.h"

static const char *kind(const lth_argument *a) {
    return a->learned ? "learned" : "structural";
}

/* "0..1" for a hyperparameter, "words|chars" for a structural argument. */
static const char *range(const lth_argument *a, char out[80]) {
    char lo[32], hi[32];
    if (!a->learned) return a->choices;
    snprintf(out, 80, "%s..%s", double_text(a->lo, lo), double_text(a->hi, hi));
    return out;
}

static void print_rows(const lth_family *f) {
    char bounds[80];
    const lth_argument *a;
    if (!lth_family_argument(f, 0)) printf("%s\t\t\t\t\t%s\n", f->name, f->help);
    for (size_t i = 0; (a = lth_family_argument(f, i)) != NULL; ++i)
        printf("%s\t%s\t%s\t%s\t%s\t%s\n", f->name, a->name, kind(a), a->initial, range(a, bounds),
               a->help);
}

static void print_page(const lth_family *f) {
    char bounds[80];
    const lth_argument *a;
    printf("%s\n\n", f->usage);
    print_wrapped(f->help, 0, 79);
    for (size_t i = 0; (a = lth_family_argument(f, i)) != NULL; ++i) {
        printf("\n  %s", a->name);
        if (a->initial[0]) printf(" = %s", a->initial);
        printf("   (%s%s%s)\n    ", kind(a), *range(a, bounds) ? ", " : "", range(a, bounds));
        print_wrapped(a->help, 4, 79);
    }
}

static void put_argument(json_writer *w, const lth_argument *a) {
    json_begin_object(w, NULL);
    json_put_text(w, "name", a->name);
    json_put_text(w, "kind", kind(a));
    json_put_text(w, "default", a->initial);
    if (a->learned) {
        json_put_double(w, "lo", a->lo);
        json_put_double(w, "hi", a->hi);
    } else {
        json_put_text(w, "choices", a->choices);
    }
    json_put_text(w, "help", a->help);
    json_end(w);
}

static void put_family(json_writer *w, const lth_family *f) {
    json_begin_object(w, NULL);
    json_put_text(w, "name", f->name);
    json_put_text(w, "usage", f->usage);
    json_put_text(w, "help", f->help);
    json_begin_list(w, "arguments");
    const lth_argument *a;
    for (size_t i = 0; (a = lth_family_argument(f, i)) != NULL; ++i) put_argument(w, a);
    json_end(w);
    json_end(w);
}

/* `one` NULL = all of them. */
static void print_json(const lth_family *one) {
    const lth_family *f;
    json_writer w = {.to = stdout};
    json_begin_result(&w, NULL);
    json_begin_list(&w, "kernels");
    if (one) put_family(&w, one);
    for (size_t i = 0; !one && (f = lth_family_at(i)) != NULL; ++i) put_family(&w, f);
    json_end(&w);
    json_end(&w);
}

static const char *family_name(const void *user, size_t i) {
    (void)user;
    const lth_family *f = lth_family_at(i);
    return f ? f->name : NULL;
}

static const lth_family *find_family(const char *name) {
    const lth_family *f;
    for (size_t i = 0; (f = lth_family_at(i)) != NULL; ++i)
        if (strcmp(f->name, name) == 0) return f;
    return NULL;
}

static int unknown_family(const options *o, const char *name) {
    const char *near = lth_nearest(name, family_name, NULL);
    if (near) return usage_error(o->command, "unknown kernel \"%s\"; did you mean %s?", name, near);
    return usage_error(o->command, "unknown kernel \"%s\"", name);
}

static void print_table(void) {
    const lth_family *f;
    printf("kernel\targument\tkind\tdefault\tbounds\thelp\n");
    for (size_t i = 0; (f = lth_family_at(i)) != NULL; ++i) print_rows(f);
}

int run_kernels(const options *o) {
    const lth_family *one = NULL;
    if (o->argument_count) {
        one = find_family(o->arguments[0]);
        if (!one) return unknown_family(o, o->arguments[0]);
    }
    if (o->json)
        print_json(one);
    else if (one)
        print_page(one);
    else
        print_table();
    return EXIT_DONE;
}

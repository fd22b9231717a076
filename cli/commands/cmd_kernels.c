/* luthier kernels: the kernel families and their arguments, from the table the parser uses. */
#include <stdio.h>
#include <string.h>

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

static void print_json_field(const char *name, const char *text) {
    printf("\"%s\":", name);
    print_json_string(text);
    putchar(',');
}

static void print_json_argument(const lth_argument *a) {
    putchar('{');
    print_json_field("name", a->name);
    print_json_field("kind", kind(a));
    print_json_field("default", a->initial);
    if (a->learned) {
        printf("\"lo\":");
        print_json_double(a->lo);
        printf(",\"hi\":");
        print_json_double(a->hi);
        putchar(',');
    } else {
        print_json_field("choices", a->choices);
    }
    printf("\"help\":");
    print_json_string(a->help);
    putchar('}');
}

static void print_json_family(const lth_family *f) {
    putchar('{');
    print_json_field("name", f->name);
    print_json_field("usage", f->usage);
    print_json_field("help", f->help);
    printf("\"arguments\":[");
    const lth_argument *a;
    for (size_t i = 0; (a = lth_family_argument(f, i)) != NULL; ++i) {
        if (i > 0) putchar(',');
        print_json_argument(a);
    }
    printf("]}");
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

static void print_all(bool json) {
    const lth_family *f;
    if (!json) printf("kernel\targument\tkind\tdefault\tbounds\thelp\n");
    for (size_t i = 0; (f = lth_family_at(i)) != NULL; ++i) {
        if (json && i) putchar(',');
        if (json)
            print_json_family(f);
        else
            print_rows(f);
    }
}

int run_kernels(const options *o) {
    const lth_family *one = NULL;
    if (o->argument_count) {
        one = find_family(o->arguments[0]);
        if (!one) return unknown_family(o, o->arguments[0]);
    }
    if (o->json) printf("{\"schema\":1,\"kernels\":[");
    if (!one)
        print_all(o->json);
    else if (o->json)
        print_json_family(one);
    else
        print_page(one);
    if (o->json) printf("]}\n");
    return EXIT_DONE;
}

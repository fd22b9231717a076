/* The reading of a command line, by the tables of commands and options. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

/* ---- Suggestions and usage errors ---- */

static const char *visible_command(const void *user, size_t i) {
    (void)user;
    return commands[i].name && !is_hidden(&commands[i]) ? commands[i].name : NULL;
}

static const char *option_name(const void *user, size_t i) {
    (void)user;
    return option_table[i].name;
}

int usage_error(const command *c, const char *format, ...) {
    va_list args;
    va_start(args, format);
    message_v("luthier: ", format, args);
    va_end(args);
    bool of_command = c && !is_hidden(c);
    fprintf(stderr, "try luthier %s%s--help\n", of_command ? c->name : "", of_command ? " " : "");
    return EXIT_USAGE;
}

/* ---- Parsing ---- */

typedef struct parser {
    char **argv;
    int argc, next;
    bool given[MOST_OPTIONS]; /* by the order of the table */
    options *out;
} parser;

/* `help` is a command too, though it is not listed. */
static const command *find_command(const char *name) {
    for (const command *c = commands; c->name; ++c)
        if (strcmp(c->name, name) == 0 || (c->run == run_help && strcmp(name, "help") == 0))
            return c;
    return NULL;
}

static int unknown_command(const char *name) {
    const char *near = lth_nearest(name, visible_command, NULL);
    if (near) return usage_error(NULL, "unknown command \"%s\"; did you mean %s?", name, near);
    return usage_error(NULL, "unknown command \"%s\"", name);
}

static int take_positional(parser *p, const char *text) {
    options *out = p->out;
    if (!out->command) {
        out->command = find_command(text);
        return out->command ? EXIT_DONE : unknown_command(text);
    }
    if (out->argument_count == out->command->most)
        return usage_error(out->command, "unexpected argument \"%s\"", text);
    out->arguments[out->argument_count++] = text;
    return EXIT_DONE;
}

static int take_number(parser *p, const option *o, const char *text, uint64_t *field) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || value > o->most)
        return usage_error(p->out->command, "--%s wants a whole number from 0 to %llu, not \"%s\"",
                           o->name, (unsigned long long)o->most, text);
    *field = value;
    return EXIT_DONE;
}

static int take_choice(parser *p, const option *o, const char *text, int *field) {
    const char *choice = o->value;
    for (int i = 0;; ++i) {
        size_t length = strcspn(choice, "|");
        if (strlen(text) == length && memcmp(choice, text, length) == 0) {
            *field = i;
            return EXIT_DONE;
        }
        if (!choice[length]) break;
        choice += length + 1;
    }
    return usage_error(p->out->command, "--%s wants %s, not \"%s\"", o->name, o->value, text);
}

static int take_item(parser *p, const option *o, const char *text, list *field, bool good) {
    if (!good)
        return usage_error(p->out->command, "--%s wants %s, not \"%s\"", o->name, o->value, text);
    field->at[field->count++] = text;
    return EXIT_DONE;
}

static int take_value(parser *p, const option *o, const char *text) {
    void *field = (char *)p->out + o->offset;
    switch (o->kind) {
    case OPTION_FLAG: break;
    case OPTION_TEXT:
    case OPTION_FILE:
    case OPTION_OUTPUT:
        if (!*text) return usage_error(p->out->command, "--%s wants %s", o->name, o->value);
        *(const char **)field = text;
        break;
    case OPTION_NUMBER: return take_number(p, o, text, field);
    case OPTION_CHOICE: return take_choice(p, o, text, field);
    case OPTION_LIST:
    case OPTION_FILES: return take_item(p, o, text, field, *text);
    case OPTION_PAIRS: return take_item(p, o, text, field, strchr(text, '=') && *text != '=');
    }
    return EXIT_DONE;
}

/* An option with the value that is attached to it (NULL = none), or else the next argument. */
static int take_option(parser *p, const option *o, const char *attached) {
    p->given[o - option_table] = true;
    if (o->kind == OPTION_FLAG) {
        if (attached) return usage_error(p->out->command, "--%s takes no value", o->name);
        *(bool *)((char *)p->out + o->offset) = true;
        return EXIT_DONE;
    }
    if (!attached) {
        /* The next option is not a value; one that starts so is written --name=--value. */
        if (p->next == p->argc || strncmp(p->argv[p->next], "--", 2) == 0)
            return usage_error(p->out->command, "--%s wants a value: %s", o->name, o->value);
        attached = p->argv[p->next++];
    }
    return take_value(p, o, attached);
}

static int take_long(parser *p, const char *text) {
    char name[32];
    size_t length = strcspn(text, "=");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             text);
    for (const option *o = option_table; o->name; ++o)
        if (strcmp(o->name, name) == 0)
            return take_option(p, o, text[length] ? text + length + 1 : NULL);
    const char *near = lth_nearest(name, option_name, NULL);
    if (near)
        return usage_error(p->out->command, "unknown option --%s; did you mean --%s?", name, near);
    return usage_error(p->out->command, "unknown option --%s", name);
}

/* Letters may be joined: -qv, -oK.npy. */
static int take_letters(parser *p, const char *letters) {
    for (const char *letter = letters; *letter; ++letter) {
        const option *o = option_table;
        while (o->name && o->letter != *letter) ++o;
        if (!o->name) return usage_error(p->out->command, "unknown option -%s", letters);
        if (o->kind != OPTION_FLAG) return take_option(p, o, letter[1] ? letter + 1 : NULL);
        int code = take_option(p, o, NULL);
        if (code) return code;
    }
    return EXIT_DONE;
}

static int take_all(parser *p) {
    bool only_positionals = false;
    while (p->next < p->argc) {
        const char *word = p->argv[p->next++];
        int code;
        if (only_positionals || word[0] != '-' || !word[1])
            code = take_positional(p, word);
        else if (strcmp(word, "--") == 0)
            only_positionals = true, code = EXIT_DONE;
        else if (word[1] == '-')
            code = take_long(p, word + 2);
        else
            code = take_letters(p, word + 1);
        if (code) return code;
    }
    return EXIT_DONE;
}

static int check_complete(const parser *p) {
    const options *out = p->out;
    if (out->help || out->version) return EXIT_DONE;
    if (!out->command) return usage_error(NULL, "no command given");
    for (const option *o = option_table; o->name; ++o)
        if (p->given[o - option_table] && !is_common(o) && !takes_option(out->command, o))
            return usage_error(out->command, "%s does not take --%s", out->command->name, o->name);
    if (out->argument_count < out->command->least) {
        const char *missing = out->command->arguments; /* a word for each, in order */
        for (size_t i = 0; i < out->argument_count; ++i) missing += strcspn(missing, " ") + 1;
        return usage_error(out->command, "%s wants %.*s", out->command->name,
                           (int)strcspn(missing, " ."), missing);
    }
    return EXIT_DONE;
}

int options_parse(int argc, char **argv, options *out) {
    *out = (options){.seed = 1,
                     .precision = -1,
                     .dropping = -1,
                     .format = -1,
                     .progress = -1,
                     .keep_vectors = -1,
                     .likelihood = -1,
                     .warp = -1,
                     .point = -1,
                     .calibrate = -1,
                     .posterior = -1,
                     .bound = -1,
                     .store = -1,
                     .coregion = NOT_GIVEN,
                     .inducing = NOT_GIVEN,
                     .probes = NOT_GIVEN,
                     .task = -1,
                     .label_by = -1,
                     .svm = -1,
                     .multi = -1,
                     .solver = -1,
                     .values = -1,
                     .as = -1,
                     .colour = -1,
                     .patterns = NOT_GIVEN,
                     .window = NOT_GIVEN,
                     .step = NOT_GIVEN,
                     .rows = NOT_GIVEN,
                     .resamples = NOT_GIVEN,
                     .inner_folds = NOT_GIVEN,
                     .features = NOT_GIVEN,
                     .draws = 1,
                     .port = 8080,
                     .host = "127.0.0.1",
                     .max_body = 1 << 20,
                     .timeout = 30,
                     .max_iter = NOT_GIVEN,
                     .restarts = NOT_GIVEN,
                     .average = NOT_GIVEN,
                     .folds = NOT_GIVEN,
                     .acquisition = -1,
                     .batch = -1,
                     .count = NOT_GIVEN,
                     .distance = NOT_GIVEN,
                     .shortlist = NOT_GIVEN,
                     .evaluations = NOT_GIVEN,
                     .population = NOT_GIVEN,
                     .trust = NOT_GIVEN,
                     .rounds = NOT_GIVEN,
                     .start = NOT_GIVEN,
                     .seeds = NOT_GIVEN};
    list *lists[] = {&out->where, &out->target,    &out->fix,       &out->prior,
                     &out->set,   &out->row,       &out->given,     &out->data,
                     &out->array, &out->objective, &out->allow_host};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
        lists[i]->at = calloc((size_t)argc + 1, sizeof *lists[i]->at);
        if (lists[i]->at) continue;
        message("out of memory");
        return EXIT_FAILED;
    }
    out->arguments = calloc((size_t)argc + 1, sizeof *out->arguments);
    if (!out->arguments) {
        message("out of memory");
        return EXIT_FAILED;
    }
    parser p = {.argv = argv, .argc = argc, .next = 1, .out = out};
    int code = take_all(&p);
    return code ? code : check_complete(&p);
}

void options_free(options *o) {
    free(o->arguments);
    free(o->data.at);
    free(o->array.at);
    free(o->objective.at);
    free(o->where.at);
    free(o->target.at);
    free(o->fix.at);
    free(o->prior.at);
    free(o->set.at);
    free(o->row.at);
    free(o->given.at);
    free(o->allow_host.at);
}

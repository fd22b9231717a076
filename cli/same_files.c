/* Whether a command would write over what it reads. Files are the same by device and number, so
 * that links do not hide it; what has no content to lose, such as /dev/null, does not count. */
#include "same_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that is written, and how the user named it. */
typedef struct written {
    const command *command;
    const char *flag; /* NULL = standard output */
    const char *path;
    struct stat file;
} written;

static bool is_standard(const char *path) {
    return strcmp(path, "-") == 0;
}

/* Whether there is something at that place which can be lost; `-` is the open file `standard`. */
static bool has_content(const char *path, int standard, struct stat *out) {
    int found = is_standard(path) ? fstat(standard, out) : stat(path, out);
    return found == 0 && (S_ISREG(out->st_mode) || S_ISDIR(out->st_mode));
}

static int compare(const written *w, const char *flag, const char *path) {
    struct stat file;
    if (!has_content(path, STDIN_FILENO, &file) || file.st_dev != w->file.st_dev ||
        file.st_ino != w->file.st_ino)
        return EXIT_DONE;
    const char *name = is_standard(path) ? "standard input" : path;
    const char *dashes = flag ? "--" : "", *space = flag ? " " : "";
    if (!w->flag)
        return usage_error(w->command,
                           "standard output is the same file as %s%s%s%s, which is read", dashes,
                           flag ? flag : "", space, name);
    return usage_error(w->command, "--%s %s is the same file as %s%s%s%s, which is read", w->flag,
                       w->path, dashes, flag ? flag : "", space, name);
}

/* ---- Files that are named inside of a text ---- */

/* Whether some kernel has an argument of that name that may be a file. */
static bool names_a_file(const char *name, size_t length) {
    const lth_family *family;
    const lth_argument *a;
    if (length == 4 && memcmp(name, "from", 4) == 0) return true; /* of the rules of a space */
    for (size_t i = 0; (family = lth_family_at(i)) != NULL; ++i) {
        for (size_t k = 0; (a = lth_family_argument(family, k)) != NULL; ++k) {
            if (strlen(a->name) == length && memcmp(a->name, name, length) == 0 && a->choices &&
                strstr(a->choices, "FILE"))
                return true;
        }
    }
    return false;
}

/* Those of "ssk(text, matrix=FILE)" and of "from=FILE, sites=1,2". */
static int compare_inside(const written *w, const char *flag, const char *text) {
    static const char separators[] = "(),=[] \t+*|";
    int code = EXIT_DONE;
    for (const char *at = text; *at && !code;) {
        size_t length = strcspn(at, separators);
        const char *value = at + length + (at[length] != 0);
        bool given = length > 0 && at[length] == '=' && names_a_file(at, length);
        at = value;
        if (!given) continue;
        bool quoted = *value == '"';
        value += quoted;
        char *path = strndup(value, strcspn(value, quoted ? "\"" : ",) "));
        if (path) code = compare(w, flag, path);
        free(path);
    }
    return code;
}

static bool is_expression(const option *o) {
    return o->kind == OPTION_TEXT &&
           (strcmp(o->value, "EXPR") == 0 || strcmp(o->value, "RULES") == 0);
}

/* ---- All that is read ---- */

/* "NAME=FILE" of --array. */
static int compare_pairs(const written *w, const option *o, const list *pairs) {
    int code = EXIT_DONE;
    if (strcmp(o->value, "NAME=FILE") != 0) return code;
    for (size_t i = 0; i < pairs->count && !code; ++i)
        code = compare(w, o->name, strchr(pairs->at[i], '=') + 1);
    return code;
}

static int compare_files(const written *w, const option *o, const list *files) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < files->count && !code; ++i) code = compare(w, o->name, files->at[i]);
    return code;
}

static int compare_option(const written *w, const option *o, const options *given) {
    const void *field = (const char *)given + o->offset;
    if (o->kind == OPTION_PAIRS) return compare_pairs(w, o, field);
    if (o->kind == OPTION_FILES) return compare_files(w, o, field);
    if (o->kind != OPTION_FILE && !is_expression(o)) return EXIT_DONE;
    const char *text = *(const char *const *)field;
    if (!text) return EXIT_DONE;
    return is_expression(o) ? compare_inside(w, o->name, text) : compare(w, o->name, text);
}

/* A campaign is a folder of files that are read. */
static int compare_argument(const written *w, const char *path) {
    static const char *const names[] = {"design.tsv", "rows.tsv", "model"};
    int code = compare(w, NULL, path);
    for (size_t i = 0; i < sizeof names / sizeof *names && !code && w->command->run == run_design;
         ++i) {
        char inside[4096];
        snprintf(inside, sizeof inside, "%s/%s", path, names[i]);
        code = compare(w, NULL, inside);
    }
    return code;
}

static int compare_all(const written *w, const options *given) {
    int code = EXIT_DONE;
    for (size_t i = w->command->run == run_design; i < given->argument_count && !code; ++i)
        code = compare_argument(w, given->arguments[i]); /* the first of design is an action */
    for (const option *o = option_table; o->name && !code; ++o)
        if (takes_option(w->command, o)) code = compare_option(w, o, given);
    return code;
}

/* ---- All that is written ---- */

static const char *output_of(const option *o, const options *given) {
    if (o->kind != OPTION_OUTPUT) return NULL;
    const char *path = *(const char *const *)((const char *)given + o->offset);
    return path && !is_standard(path) ? path : NULL;
}

/* Two outputs at one place, where there may be no file yet. */
static int compare_outputs(const written *w, const option *before, const options *given) {
    struct stat file, other;
    bool exists = has_content(w->path, STDOUT_FILENO, &file),
         device = !exists && !access(w->path, F_OK);
    for (const option *o = option_table; o < before && !device; ++o) {
        const char *path = output_of(o, given);
        if (!path) continue;
        bool same = exists ? has_content(path, STDOUT_FILENO, &other) &&
                                 file.st_dev == other.st_dev && file.st_ino == other.st_ino
                           : strcmp(path, w->path) == 0;
        if (same)
            return usage_error(w->command, "--%s and --%s name the same file", o->name, w->flag);
    }
    return EXIT_DONE;
}

int check_files_differ(const options *given) {
    written w = {.command = given->command};
    if (given->help || given->version || !given->command) return EXIT_DONE;
    int code = has_content("-", STDOUT_FILENO, &w.file) ? compare_all(&w, given) : EXIT_DONE;
    for (const option *o = option_table; o->name && !code; ++o) {
        w.flag = o->name;
        w.path = output_of(o, given);
        if (!w.path) continue;
        code = compare_outputs(&w, o, given);
        if (!code && has_content(w.path, STDOUT_FILENO, &w.file)) code = compare_all(&w, given);
    }
    return code;
}

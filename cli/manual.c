/* Help, the man page and the completion of the shell, made from the tables in options.c. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "output.h"

enum { WIDTH = 79, HELP_COLUMN = 27 };

static const char scope[] =
    "luthier learns from strings with kernels: how alike two rows of a table are, by an expression "
    "such as normalize(ssk(text, order=5)), whose hyperparameters are learned by gradient.";

static const char exit_codes[] = "0 done, 1 failed, 2 wrong usage, 3 bad input, 130 interrupted";

static const struct {
    const char *name, *help;
} environment[] = {
    {"LTH_ISA", "the instruction set to use when --isa is not given"},
    {"NO_COLOR", "when set and not empty, no colours are printed"},
};

/* ---- --help ---- */

/* After `used` characters of the line, and in lines below where choices are many. Returns how much
 * of the last one is used. */
static int print_value(const char *value, int used) {
    int indent = used + 1;
    used += printf(" ");
    for (size_t length; *value; value += length) {
        length = strcspn(value, "|");
        length += value[length] == '|';
        if (used + (int)length > WIDTH) used = printf("\n%*s", indent, "") - 1;
        used += printf("%.*s", (int)length, value);
    }
    return used;
}

static void print_option(const option *o) {
    int used = o->letter ? printf("  -%c, --%s", o->letter, o->name) : printf("  --%s", o->name);
    if (o->value) used = print_value(o->value, used);
    bool fits = used < HELP_COLUMN;
    printf("%s%*s", fits ? "" : "\n", fits ? HELP_COLUMN - 1 - used : HELP_COLUMN - 1, "");
    putchar(' ');
    print_wrapped(o->help, HELP_COLUMN, WIDTH);
}

static void print_options(const command *c, bool common, const char *title) {
    bool any = false;
    for (const option *o = option_table; o->name; ++o) {
        if (is_common(o) != common || (c && !takes_option(c, o))) continue;
        if (!any) printf("\n%s\n", title);
        any = true;
        print_option(o);
    }
}

static void print_examples(const char *examples) {
    printf("\nExamples\n");
    while (*examples) {
        size_t length = strcspn(examples, "\n");
        printf("  %.*s\n", (int)length, examples);
        examples += length + (examples[length] == '\n');
    }
}

static void print_command_help(const command *c) {
    printf("usage: luthier %s %s\n\n", c->name, c->arguments);
    print_wrapped(c->details, 0, WIDTH);
    print_options(c, false, "Options");
    print_options(c, true, "Common options");
    print_examples(c->examples);
}

void print_help(const command *c) {
    if (c && !is_hidden(c)) {
        print_command_help(c);
        return;
    }
    printf("usage: luthier COMMAND [options]\n\n");
    print_wrapped(scope, 0, WIDTH);
    printf("\nCommands\n");
    for (c = commands; c->name; ++c)
        if (!is_hidden(c)) printf("  %-10s %s\n", c->name, c->summary);
    print_options(NULL, true, "Common options");
    printf("\nResults go to standard output, messages to standard error.\n");
    printf("Exit codes: %s.\n", exit_codes);
    printf("luthier COMMAND --help says more about a command.\n");
}

int run_help(const options *o) {
    const command *asked = NULL;
    for (const command *c = commands; c->name && o->argument_count; ++c)
        if (!is_hidden(c) && strcmp(c->name, o->arguments[0]) == 0) asked = c;
    if (o->argument_count && !asked)
        return usage_error(NULL, "unknown command \"%s\"", o->arguments[0]);
    print_help(asked);
    return EXIT_DONE;
}

/* ---- The man page ---- */

/* Text as roff wants it: minus signs, backslashes and quotes escaped, no dot opening a line. */
static void print_roff(const char *text) {
    bool line_start = true;
    for (const char *c = text; *c; ++c) {
        if (line_start && (*c == '.' || *c == '\'')) fputs("\\&", stdout);
        line_start = *c == '\n';
        switch (*c) {
        case '-': fputs("\\-", stdout); break;
        case '\\': fputs("\\e", stdout); break;
        case '\'': fputs("\\(aq", stdout); break;
        default: putchar(*c);
        }
    }
}

static void print_roff_option(const option *o) {
    printf(".TP\n");
    if (o->letter) printf("\\fB\\-%c\\fR, ", o->letter);
    printf("\\fB\\-\\-");
    print_roff(o->name);
    printf("\\fR");
    if (o->value) printf(" \\fI%s\\fR", o->value);
    putchar('\n');
    print_roff(o->help);
    putchar('\n');
}

static void print_roff_command(const command *c) {
    printf(".SS luthier %s ", c->name);
    print_roff(c->arguments);
    putchar('\n');
    print_roff(c->details);
    putchar('\n');
    for (const option *o = option_table; o->name; ++o)
        if (!is_common(o) && takes_option(c, o)) print_roff_option(o);
}

static void print_roff_families(void) {
    const lth_family *family;
    for (size_t i = 0; (family = lth_family_at(i)) != NULL; ++i) {
        printf(".TP\n\\fB");
        print_roff(family->usage);
        printf("\\fR\n");
        print_roff(family->help);
        putchar('\n');
    }
}

int run_man(const options *unused) {
    (void)unused;
    printf(".TH LUTHIER 1 \"\" \"luthier %s\" \"User Commands\"\n", lth_version());
    printf(".SH NAME\nluthier \\- kernels over strings\n");
    printf(".SH SYNOPSIS\n\\fBluthier\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n");
    printf(".SH DESCRIPTION\n");
    print_roff(scope);
    printf("\n.SH COMMANDS\n");
    for (const command *c = commands; c->name; ++c)
        if (!is_hidden(c)) print_roff_command(c);
    printf(".SH COMMON OPTIONS\n");
    for (const option *o = option_table; o->name; ++o)
        if (is_common(o)) print_roff_option(o);
    printf(".SH KERNELS\n");
    print_roff_families();
    printf(".SH EXIT STATUS\n%s.\n.SH ENVIRONMENT\n", exit_codes);
    for (size_t i = 0; i < sizeof environment / sizeof *environment; ++i) {
        printf(".TP\n\\fB%s\\fR\n", environment[i].name);
        print_roff(environment[i].help);
        putchar('\n');
    }
    printf(".SH EXAMPLES\n.nf\n");
    for (const command *c = commands; c->name; ++c) {
        if (is_hidden(c)) continue;
        print_roff(c->examples);
        putchar('\n');
    }
    printf(".fi\n");
    return EXIT_DONE;
}

/* ---- Completion for bash ---- */

static void print_option_words(const command *c) {
    for (const option *o = option_table; o->name; ++o) {
        if (!takes_option(c, o)) continue;
        if (o->letter) printf("-%c ", o->letter);
        printf("--%s ", o->name);
    }
}

/* Of "zero|constant|COL" the words. */
static void print_choices(const char *value) {
    while (*value) {
        size_t length = strcspn(value, "|");
        if (strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789") == length)
            printf("%.*s ", (int)length, value);
        value += length + (value[length] == '|');
    }
}

static void print_family_words(void) {
    const lth_family *family;
    for (size_t i = 0; (family = lth_family_at(i)) != NULL; ++i)
        if (isalpha((unsigned char)*family->name)) printf("%s ", family->name);
}

static bool wants_file(const option *o) {
    return o->kind == OPTION_FILE || o->kind == OPTION_OUTPUT || o->kind == OPTION_FILES;
}

/* What may follow an option: a file, a column, a kernel, its choices, or what only the user knows.
 */
static void print_value_case(const option *o) {
    if (wants_file(o)) {
        printf("COMPREPLY=($(compgen -f -- \"$word\"));");
    } else if (strncmp(o->value, "COL", 3) == 0) {
        printf("_luthier_columns;");
    } else if (strcmp(o->value, "EXPR") == 0) {
        printf("_luthier_kernel;");
    } else if (o->kind == OPTION_CHOICE || o->kind == OPTION_TEXT) {
        printf("COMPREPLY=($(compgen -W '");
        print_choices(o->value);
        printf("' -- \"$word\"));");
    }
}

static void print_value_cases(void) {
    for (const option *o = option_table; o->name; ++o) {
        if (o->kind == OPTION_FLAG) continue;
        printf("    ");
        if (o->letter) printf("-%c|", o->letter);
        printf("--%s) ", o->name);
        print_value_case(o);
        printf(" return ;;\n");
    }
}

/* The end of a word is completed: after a comma another column, after a bracket another kernel. */
static void print_helpers(void) {
    printf("_luthier_end() {\n"
           "  local start=${word%%\"${word##*[$1]}\"} IFS=$'\\n'\n"
           "  COMPREPLY=($(IFS=' ' compgen -P \"$start\" -W \"$2\" -- \"${word#\"$start\"}\"))\n"
           "  compopt -o nospace 2> /dev/null\n"
           "}\n"
           "_luthier_columns() {\n" /* compgen expands its words: nothing else of a header */
           "  local file\n"
           "  for file in \"${COMP_WORDS[@]:2}\"; do\n"
           "    [[ $file == *.[tc]sv && -r $file ]] || continue\n"
           "    _luthier_end , \"$(head -n 1 \"$file\" | tr -c A-Za-z0-9_.- ' ')\"\n"
           "    return\n"
           "  done\n"
           "}\n"
           "_luthier_kernel() {\n"
           "  word=${word#[\\'\\\"]}\n"
           "  _luthier_end '(,+* |' '");
    print_family_words();
    printf("'\n}\n");
}

/* Those of a command whose first argument is a choice: "new|ask|tell DIR". */
static void print_actions(const command *c) {
    char words[128];
    snprintf(words, sizeof words, "%.*s", (int)strcspn(c->arguments, " "), c->arguments);
    print_choices(words);
}

int run_completion(const options *unused) {
    (void)unused;
    printf("# completion for luthier: bash, and zsh after autoload bashcompinit && bashcompinit\n");
    print_helpers();
    printf("_luthier() {\n"
           "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "  local command=${COMP_WORDS[1]} options='' names=''\n"
           "  COMPREPLY=()\n"
           "  [[ $word == = ]] && word=''\n"
           "  [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
           "  if ((COMP_CWORD == 1)); then\n"
           "    COMPREPLY=($(compgen -W '");
    for (const command *c = commands; c->name; ++c)
        if (!is_hidden(c)) printf("%s ", c->name);
    printf("--help --version' -- \"$word\"))\n    return\n  fi\n  case $before in\n");
    print_value_cases();
    printf("  esac\n  case $command in\n");
    for (const command *c = commands; c->name; ++c) {
        if (is_hidden(c)) continue;
        printf("    %s) options='", c->name);
        print_option_words(c);
        putchar('\'');
        if (c->run == run_kernels) {
            printf(" names='");
            print_family_words();
            putchar('\'');
        }
        if (c->run == run_design) {
            printf("; ((COMP_CWORD == 2)) && names='");
            print_actions(c);
            putchar('\'');
        }
        printf(" ;;\n");
    }
    printf("  esac\n"
           "  if [[ $word == -* ]]; then\n"
           "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
           "  elif [[ $names ]]; then\n"
           "    COMPREPLY=($(compgen -W \"$names\" -- \"$word\"))\n"
           "  else\n"
           "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
           "  fi\n"
           "}\n"
           "complete -o filenames -F _luthier luthier\n");
    return EXIT_DONE;
}

/* Makes the product reviews that `luthier demo` shows: a table with columns id, product, text and
 * score, or with --c the same table as a C header.
 *
 * Every review has a remark that decides the score and an aside that does not. A negation stands in
 * one of the two, with up to four words between it and what it denies: "the strap is not what I
 * would call good" against "the bag is not heavy, and the strap is good". Each deciding word is
 * used plain and denied equally often, and the negation is there either way. So single words tell
 * how strong the praise or blame is, but not whether it is denied: only the order and the distance
 * of words do.
 *
 * Scores go from 0 to 10. Each has noise that no model can know: -1, 0, 0 or 1, of variance 0.5. */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define TEXT_SIZE 256

enum { ROUNDS = 30 }; /* reviews = ROUNDS * 2 (plain, denied) * deciding words */

/* In remarks and asides % stands for the negation or its opposite, ~ for a filler, @ for a part of
 * the product. */
typedef struct manner {
    const char *denying, *affirming; /* what % becomes; the opposite may be nothing */
    const char *fillers[4];
    const char *asides[3];
} manner;

typedef struct remark {
    const char *text;
    int plain, denied; /* scores */
    int manner;
} remark;

typedef struct product {
    const char *name, *parts[3];
} product;

static const manner manners[] = {
    {"not",
     "",
     {"", "really", "in my opinion", "what I would call"},
     {"it is % heavy", "it is % blue", "it is % new"}},
    {"hardly",
     "",
     {"", "ever", "in daily use", "what I would call"},
     {"it is % heavy", "it is % blue", "it is % new"}},
    {"never",
     "",
     {"", "really", "even slightly", "for a single day"},
     {"I % read the manual", "I % use it outdoors", "I % lend it out"}},
    {"no",
     "every",
     {"way", "real sense", "practical way", "sense of the word"},
     {"it suits % room", "it suits % taste", "it comes in % colour"}},
};

static const remark remarks[] = {
    {"the @ is % ~ good", 8, 4, 0},
    {"the @ is % ~ useless", 1, 5, 0},
    {"the @ is % ~ reliable", 9, 4, 1},
    {"the @ is % ~ bad", 2, 6, 1},
    {"I was % ~ happy with the @", 8, 3, 2},
    {"I was % ~ disappointed by the @", 2, 6, 2},
    {"the @ is in % ~ worth the money", 9, 3, 3},
    {"the @ is in % ~ a mistake", 1, 5, 3},
};

static const product products[] = {
    {"lamp", {"switch", "cable", "lamp"}},
    {"kettle", {"handle", "switch", "kettle"}},
    {"backpack", {"strap", "handle", "backpack"}},
    {"radio", {"sound", "switch", "radio"}},
};

static uint64_t state = 20;

/* splitmix64: the same table everywhere. */
static size_t random_below(size_t bound) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (size_t)((z ^ (z >> 31)) % bound);
}

static void append(char text[TEXT_SIZE], const char *more) {
    size_t used = strlen(text);
    snprintf(text + used, TEXT_SIZE - used, "%s", more);
}

/* Fill in a pattern word by word; a part that becomes nothing takes its blank with it. */
static void append_pattern(char text[TEXT_SIZE], const char *pattern, const manner *m, bool denied,
                           const product *p) {
    for (const char *c = pattern; *c; ++c) {
        const char one[2] = {*c, 0};
        const char *word = *c == '%'   ? (denied ? m->denying : m->affirming)
                           : *c == '~' ? m->fillers[random_below(COUNT(m->fillers))]
                           : *c == '@' ? p->parts[random_below(COUNT(p->parts))]
                                       : one;
        append(text, word);
        if (!*word && c[1] == ' ') ++c;
    }
}

static void make_review(char text[TEXT_SIZE], const remark *r, bool denied, const product *p) {
    static const char *const joints[] = {", and ", "; "};
    const manner *m = &manners[r->manner];
    const char *aside = m->asides[random_below(COUNT(m->asides))];
    bool remark_first = random_below(2);
    text[0] = 0;
    append_pattern(text, remark_first ? r->text : aside, m, remark_first == denied, p);
    append(text, joints[random_below(COUNT(joints))]);
    append_pattern(text, remark_first ? aside : r->text, m, remark_first != denied, p);
    append(text, ".");
    text[0] = (char)toupper((unsigned char)text[0]);
}

static char texts[ROUNDS * 2 * COUNT(remarks)][TEXT_SIZE];

static bool is_new(size_t row) {
    for (size_t i = 0; i < row; ++i)
        if (strcmp(texts[i], texts[row]) == 0) return false;
    return true;
}

static int noise(void) {
    return (int)random_below(2) + (int)random_below(2) - 1;
}

static void print_line(bool as_c, const char *line) {
    printf(as_c ? "    \"" : "");
    for (const char *c = line; *c; ++c) {
        if (as_c && *c == '\t')
            printf("\\t");
        else
            putchar(*c);
    }
    printf(as_c ? "\\n\"\n" : "\n");
}

int main(int argc, char **argv) {
    bool as_c = argc == 2 && strcmp(argv[1], "--c") == 0;
    if (argc > 1 && !as_c) {
        fprintf(stderr, "usage: make_reviews [--c]\n");
        return 2;
    }
    if (as_c) printf("static const char reviews_tsv[] =\n");
    print_line(as_c, "id\tproduct\ttext\tscore");
    for (size_t row = 0; row < COUNT(texts); ++row) {
        const remark *r = &remarks[row % COUNT(remarks)];
        bool denied = (row / COUNT(remarks)) % 2;
        const product *p = &products[random_below(COUNT(products))];
        do make_review(texts[row], r, denied, p);
        while (!is_new(row));
        char line[TEXT_SIZE + 64];
        snprintf(line, sizeof line, "%zu\t%s\t%.*s\t%d", row + 1, p->name, TEXT_SIZE, texts[row],
                 (denied ? r->denied : r->plain) + noise());
        print_line(as_c, line);
    }
    if (as_c) printf("    ;\n");
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}

/* The semantic kernel: distances in WordNet by hand, its formula, its cache, models without the
 * dictionary, damaged files. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "data/wordnet.h"
#include "failing_allocator.h"
#include "fixture.h"
#include "gp_support.h"
#include "kernel/core/encode.h"

/* ---- A dictionary --------------------------------------------------------------------------
 *
 *          entity                 move
 *          /    \                  |
 *       animal  thing            travel
 *       /    \      \            /    \
 *     dog   cat     saw,tool   run    go
 *     /               |
 *  puppy(hound)     ripsaw (an instance)
 */
static const struct {
    const char *name, *text;
} files[] = {
    {"noun.exc", "geese goose\noxen ox\nmice mouse\n"},
    {"index.noun", "  1 a licence\n"
                   "animal n 1 2 @ ~ 1 0 00000200  \n"
                   "cat n 2 1 @ 2 1 00000500 00000800\n"
                   "dog n 1 2 @ ~ 1 1 00000400\n"
                   "entity n 1 1 ~ 1 0 00000100\n"
                   "goose n 1 1 @ 1 0 00000500\n"
                   "hound n 1 1 @ 1 0 00000600\n"
                   "puppy n 1 1 @ 1 0 00000600\n"
                   "ripsaw n 1 1 @i 1 0 00000800\n"
                   "saw n 1 2 @ ~ 1 0 00000700\n"
                   "thing n 1 2 @ ~ 1 0 00000300\n"
                   "tool n 1 2 @ ~ 1 0 00000700\n"},
    {"data.noun", "  1 a licence\n"
                  "00000100 03 n 01 entity 0 002 ~ 00000200 n 0000 ~ 00000300 n 0000 | that is\n"
                  "00000200 05 n 01 animal 0 001 @ 00000100 n 0000 | lives  \n"
                  "00000300 06 n 01 thing 0 001 @ 00000100 n 0000 | lies\n"
                  "00000400 05 n 01 dog 0 002 @ 00000200 n 0000 + 00000300 v 0101 | barks\n"
                  "00000500 05 n 02 cat 0 goose 0 001 @ 00000200 n 0000 | purrs\n"
                  "00000600 05 n 02 puppy 0 hound 0 001 @ 00000400 n 0000 | a dog\n"
                  "00000700 06 n 02 saw 0 tool 0 001 @ 00000300 n 0000 | cuts\n"
                  "00000800 06 n 01 ripsaw 0 001 @i 00000700 n 0000 | rips\n"},
    {"verb.exc", "ran run\nwent go\nsaw see\n"},
    {"index.verb", "go v 1 1 @ 1 1 00000400\n"
                   "move v 1 1 ~ 1 1 00000100\n"
                   "run v 1 1 @ 1 1 00000300\n"
                   "travel v 1 2 @ ~ 1 1 00000200\n"},
    {"data.verb", "00000100 38 v 01 move 0 000 01 + 02 00 | change place\n"
                  "00000200 38 v 01 travel 0 001 @ 00000100 v 0000 01 + 02 00 | far\n"
                  "00000300 38 v 01 run 0 001 @ 00000200 v 0000 01 + 02 00 | fast\n"
                  "00000400 38 v 01 go 0 001 @ 00000200 v 0000 01 + 02 00 | away\n"},
};
enum { FILES = sizeof files / sizeof *files };

static char folder[] = "test_semantic.XXXXXX";

static const char *in_folder(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text, size_t length) {
    support_write(in_folder(name), text, length);
}

static void write_dictionary(void) {
    for (size_t i = 0; i < FILES; i++)
        write_file(files[i].name, files[i].text, strlen(files[i].text));
}

/* A file of the cache, or NULL. */
static char *cache_file(void) {
    DIR *dir = opendir(in_folder("cache/luthier"));
    char *found = NULL;
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        char name[300];
        snprintf(name, sizeof name, "cache/luthier/%s", entry->d_name);
        if (entry->d_name[0] != '.') found = strdup(in_folder(name));
    }
    if (dir) closedir(dir);
    return found;
}

static void clear_cache(void) {
    char *file;
    while ((file = cache_file())) {
        unlink(file);
        free(file);
    }
    rmdir(in_folder("cache/luthier"));
    rmdir(in_folder("cache"));
}

static int set_up(void **state) {
    (void)state;
    char here[200], cache[256];
    if (!mkdtemp(folder) || !getcwd(here, sizeof here)) return -1;
    write_dictionary();
    snprintf(cache, sizeof cache, "%s/%s/cache", here, folder);
    return setenv("WNSEARCHDIR", folder, 1) || setenv("XDG_CACHE_HOME", cache, 1);
}

static int tear_down(void **state) {
    (void)state;
    clear_cache();
    for (size_t i = 0; i < FILES; i++) unlink(in_folder(files[i].name));
    return rmdir(folder);
}

/* ---- Distances ------------------------------------------------------------------------------ */

static lth__symbols *vocabulary(const char *const *words, size_t count) {
    lth__symbols *symbols = lth__symbols_create();
    assert_non_null(symbols);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(lth__symbols_intern(symbols, words[i], strlen(words[i])), i);
    return symbols;
}

/* -1 = not near. */
static int distance(const lth__neighbours *n, size_t a, size_t b) {
    for (uint64_t i = n->start[a]; i < n->start[a + 1]; i++)
        if (n->word[i] == b) return n->distance[i];
    return -1;
}

static void test_distances(void **state) {
    (void)state;
    static const char *const words[] = {"dog",   "cat",   "puppy", "hound",  "entity", "saw",
                                        "tool",  "geese", "dogs",  "run",    "went",   "ran",
                                        "moves", "zebra", "tools", "ripsaw", "running"};
    enum {
        DOG,
        CAT,
        PUPPY,
        HOUND,
        ENTITY,
        SAW,
        TOOL,
        GEESE,
        DOGS,
        RUN,
        WENT,
        RAN,
        MOVES,
        ZEBRA,
        TOOLS,
        RIPSAW,
        RUNNING,
        WORDS
    };
    static const struct {
        size_t a, b;
        int distance;
    } wanted[] = {
        {DOG, CAT, 2},      {DOG, PUPPY, 1},  {PUPPY, HOUND, 0},   {PUPPY, CAT, 3},
        {PUPPY, ENTITY, 3}, {DOG, ENTITY, 2}, {DOG, TOOL, 4},      {PUPPY, TOOL, -1}, /* 5 links */
        {CAT, RIPSAW, 0}, /* its second meaning, by way of an instance */
        {CAT, TOOL, 1},     {CAT, GEESE, 0},  {GEESE, RIPSAW, -1}, {DOG, DOGS, 0},
        {DOGS, CAT, 2},     {SAW, TOOL, 0}, /* the noun: the list of verb exceptions takes nothing
                                               from it */
        {TOOL, TOOLS, 0},   {RUN, WENT, 2},   {RAN, RUN, 0},       {RAN, MOVES, 2},
        {RUN, DOG, -1},     {ZEBRA, DOG, -1}, {RUNNING, RUN, -1}, /* no rule makes run of running */
    };
    lth__symbols *symbols = vocabulary(words, WORDS);
    lth__neighbours n = {0};
    lth_error err = {0};
    assert_int_equal(lth__wordnet_neighbours(NULL, folder, symbols, WORDS, NULL, 4, &n, &err),
                     LTH_OK);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_int_equal(distance(&n, wanted[i].a, wanted[i].b), wanted[i].distance);
        assert_int_equal(distance(&n, wanted[i].b, wanted[i].a), wanted[i].distance);
    }
    for (size_t w = 0; w < WORDS; w++) {
        assert_int_equal(distance(&n, w, w), -1);
        for (uint64_t i = n.start[w]; i + 1 < n.start[w + 1]; i++)
            assert_true(n.word[i] < n.word[i + 1]);
    }
    lth__neighbours_free(&n);
    /* Less far; and words that are to be left out. */
    bool skip[WORDS] = {[CAT] = true};
    assert_int_equal(lth__wordnet_neighbours(NULL, folder, symbols, WORDS, skip, 1, &n, &err),
                     LTH_OK);
    assert_int_equal(distance(&n, DOG, PUPPY), 1);
    assert_int_equal(distance(&n, DOG, ENTITY), -1);
    assert_int_equal(distance(&n, CAT, TOOL), -1);
    assert_int_equal(distance(&n, TOOL, CAT), -1);
    lth__neighbours_free(&n);
    assert_int_equal(lth__wordnet_neighbours(NULL, folder, symbols, WORDS, skip, 20, &n, &err),
                     LTH_EARG);
    lth__symbols_free(symbols);
}

/* Paths of the real dictionary, counted by hand, where it is installed. */
static void test_real_dictionary(void **state) {
    (void)state;
    static const char *const words[] = {"canine", "feline", "lorry", "truck",
                                        "wolves", "wheat",  "corn"};
    if (access("/usr/share/wordnet/data.noun", R_OK) != 0) skip();
    lth__symbols *symbols = vocabulary(words, 7);
    lth__neighbours n = {0};
    lth_error err = {0};
    assert_int_equal(
        lth__wordnet_neighbours(NULL, "/usr/share/wordnet", symbols, 7, NULL, 4, &n, &err), LTH_OK);
    assert_int_equal(distance(&n, 0, 1), 2); /* canine, carnivore, feline */
    assert_int_equal(distance(&n, 2, 3), 1); /* a lorry is a truck */
    assert_int_equal(distance(&n, 4, 0), 1); /* wolf, canine */
    assert_int_equal(distance(&n, 5, 6), 2); /* wheat, cereal, corn */
    lth__neighbours_free(&n);
    lth__symbols_free(symbols);
}

/* ---- The kernel ----------------------------------------------------------------------------- */

static void test_values(void **state) {
    (void)state;
    const char *const texts[] = {"dog dog zebra", "puppy", "Cat, zebra", ""};
    /* Words: dog, zebra, puppy, cat and the comma; zebra is in two of the four texts, others in
     * one. P: dog-puppy 1/2, dog-cat 1/3, puppy-cat 1/4. */
    double rare = log(5.0 / 2) + 1, common = log(5.0 / 3) + 1, d = 2 * rare;
    double f[4][5] = {{d, common, d / 2, d / 3, 0},
                      {rare / 2, 0, rare, rare / 4, 0},
                      {rare / 3, common, rare / 4, rare, rare},
                      {0}};
    double wanted[16] = {0};
    for (size_t i = 0; i < 16; i++)
        for (size_t k = 0; k < 5; k++) wanted[i] += f[i / 4][k] * f[i % 4][k];
    for (int again = 0; again < 2; again++) { /* computed, then from the cache */
        fixture x = fixture_open("semantic(text, least=0.2)", NULL);
        double *K = fixture_gram(&x, fixture_encode(&x, texts, 4), NULL), diagonal[4];
        fixture_check_near(K, wanted, 16, 1e-14, 0);
        assert_int_equal(lth_gram_diagonal(x.kernel, x.items[0], diagonal, NULL), LTH_OK);
        for (size_t i = 0; i < 4; i++) assert_true(fabs(diagonal[i] - wanted[5 * i]) < 1e-13);
        free(K);
        fixture_close(&x);
    }
    clear_cache();
}

/* The nearest only; rare words are nobody's neighbours; words of later tables stand for themselves.
 */
static void test_arguments(void **state) {
    (void)state;
    const char *const texts[] = {"dog", "cat", "puppy"}, *const later[] = {"hound", "dog hound"};
    fixture f = fixture_open("semantic(text, weighting=presence)", NULL);
    double *K = fixture_gram(&f, fixture_encode(&f, texts, 3), NULL), w = log(2) + 1;
    fixture_check_near(K, (double[]){1.25 * w * w, 0, w * w, 0, w * w, 0, w * w, 0, 1.25 * w * w},
                       9, 1e-14, 0);
    free(K);
    K = fixture_gram(&f, f.items[0], fixture_encode(&f, later, 2));
    fixture_check_near(K, (double[]){0, 1.25 * w * w, 0, 0, 0, w * w}, 6, 1e-14, 0);
    free(K);
    fixture_close(&f);
    clear_cache();
    const char *const more[] = {"dog dog", "puppy", "dog"};
    f = fixture_open("semantic(text, min_count=2)", NULL);
    K = fixture_gram(&f, fixture_encode(&f, more, 3), NULL);
    double v = log(4.0 / 3) + 1;
    fixture_check_near(K, (double[]){4 * v * v, 0, 2 * v * v, 0, 0, 0, 2 * v * v, 0, v * v}, 9,
                       1e-14, 0);
    free(K);
    fixture_close(&f);
    clear_cache();
}

/* ---- The cache ------------------------------------------------------------------------------ */

static double dog_and_puppy(void) {
    const char *const texts[] = {"dog", "puppy"};
    fixture f = fixture_open("normalize(semantic(text))", NULL);
    double *K = fixture_gram(&f, fixture_encode(&f, texts, 2), NULL), value = K[1];
    free(K);
    fixture_close(&f);
    return value;
}

static void test_cache(void **state) {
    (void)state;
    assert_true(fabs(dog_and_puppy() - 0.8) < 1e-15);
    char *path = cache_file();
    assert_non_null(path);
    /* Every damage is noticed: the block is computed anew, and written again. */
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char good[1000], bad[1000], now[1000];
    size_t size = fread(good, 1, sizeof good, file);
    fclose(file);
    assert_true(size > 40 && size < sizeof good);
    for (size_t i = 0; i < 2 * size; i++) {
        size_t length = i < size ? size : i - size;
        memcpy(bad, good, size);
        if (i < size) bad[i] = (char)(bad[i] ^ 0x41);
        support_write(path, bad, length);
        assert_true(fabs(dog_and_puppy() - 0.8) < 1e-15);
        file = fopen(path, "r");
        assert_true(file && fread(now, 1, sizeof now, file) == size && fclose(file) == 0);
        assert_memory_equal(good, now, size);
    }
    /* It is read: distance 1 made 0 is believed, with the sum that belongs to it. */
    enum { HEAD = 40, CHECKSUM = 32 };
    good[size - 1] = good[size - 2] = 0;
    uint64_t sum = crc32(0, (const unsigned char *)good + HEAD, (unsigned)(size - HEAD));
    memcpy(good + CHECKSUM, &sum, sizeof sum);
    support_write(path, good, size);
    assert_true(fabs(dog_and_puppy() - 1) < 1e-15);
    free(path);
    clear_cache();
    /* A place that cannot be written is no error. */
    write_file("cache", "", 0);
    assert_true(fabs(dog_and_puppy() - 0.8) < 1e-15);
    unlink(in_folder("cache"));
    char *cache = strdup(getenv("XDG_CACHE_HOME")), *home = strdup(getenv("HOME"));
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_true(fabs(dog_and_puppy() - 0.8) < 1e-15);
    setenv("XDG_CACHE_HOME", cache, 1);
    setenv("HOME", home, 1);
    free(cache);
    free(home);
    assert_null(cache_file());
}

/* Without the dictionary the cache does not serve: it belongs to these files. */
static void test_changed_dictionary(void **state) {
    (void)state;
    assert_true(fabs(dog_and_puppy() - 0.8) < 1e-15);
    static const char closer[] = "dog n 1 2 @ ~ 1 1 00000400\npuppy n 1 1 @ 1 0 00000400\n";
    write_file("index.noun", closer, sizeof closer - 1);
    assert_true(fabs(dog_and_puppy() - 1) < 1e-15);
    write_dictionary();
    clear_cache();
}

/* ---- Models --------------------------------------------------------------------------------- */

static void test_model(void **state) {
    (void)state;
    write_file("t.tsv", "text\ty\ndog\t1\npuppy\t2\ncat\t3\nzebra\t4\n",
               strlen("text\ty\ndog\t1\npuppy\t2\ncat\t3\nzebra\t4\n"));
    lth_ctx *ctx = NULL;
    lth_table *table = NULL;
    lth_gp *gp = NULL, *loaded = NULL;
    lth_error err = {0};
    const char *const targets[] = {"y"};
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.learn = false;
    assert_int_equal(lth_ctx_create(NULL, &ctx, &err), LTH_OK);
    assert_int_equal(lth_table_read(ctx, in_folder("t.tsv"), NULL, &table, &err), LTH_OK);
    assert_int_equal(lth_gp_fit(ctx, "linear(semantic(text, least=0.2))", table, targets, 1,
                                &options, &gp, &err),
                     LTH_OK);
    assert_int_equal(lth_gp_save(gp, in_folder("m"), &err), LTH_OK);
    double mean[4], sd[4], mean2[4], sd2[4];
    assert_int_equal(lth_gp_predict(gp, table, false, mean, sd, &err), LTH_OK);
    setenv("WNSEARCHDIR", "/nowhere", 1);
    assert_int_equal(lth_gp_load(ctx, in_folder("m"), &loaded, &err), LTH_OK);
    assert_int_equal(lth_gp_predict(loaded, table, false, mean2, sd2, &err), LTH_OK);
    assert_memory_equal(mean, mean2, sizeof mean);
    assert_memory_equal(sd, sd2, sizeof sd);
    setenv("WNSEARCHDIR", folder, 1);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    lth_table_free(table);
    lth_ctx_free(ctx);
    unlink(in_folder("t.tsv"));
    unlink(in_folder("m"));
    clear_cache();
}

/* What a model gives is checked. */
static void test_restored(void **state) {
    (void)state;
    const char *const texts[] = {"dog puppy"};
    /* words, entries, starts, neighbours, distances */
    struct block {
        uint64_t head[5];
        uint32_t word[2];
        uint8_t distance[2];
    } good = {{2, 2, 0, 1, 2}, {1, 0}, {1, 1}};
    enum { SIZE = 5 * 8 + 2 * 4 + 2 };
    for (int damage = 0; damage < 8; damage++) {
        fixture f = fixture_open("semantic(text)", NULL);
        struct block block = good;
        size_t size = SIZE;
        if (damage == 1) block.head[0] = 1;
        if (damage == 2) block.head[1] = UINT64_MAX / 4;
        if (damage == 3) block.head[3] = 3;
        if (damage == 4) block.word[1] = 2;
        if (damage == 5) block.distance[0] = 20;
        if (damage == 6) size--;
        if (damage == 7) size = 0;
        lth__feature_space *space = &f.encoder->spaces[0];
        space->restored = true;
        space->kept = size > 0 ? lth__alloc(size, 1) : NULL;
        space->kept_size = size;
        if (size > 0) memcpy(space->kept, &block, size);
        lth_table *table = NULL;
        lth_items *items = NULL;
        lth_error err = {0};
        assert_int_equal(lth_table_from_texts(f.ctx, "text", texts, NULL, 1, &table, &err), LTH_OK);
        lth_status status = lth_encode(f.encoder, table, &items, &err);
        assert_int_equal(status, damage == 0 ? LTH_OK : LTH_EFORMAT);
        if (damage > 0)
            assert_string_equal(err.message, "the model is damaged: its neighbouring words");
        else
            assert_true(items->features[0].weight[1] == items->features[0].weight[0]);
        lth_items_free(items);
        lth_table_free(table);
        fixture_close(&f);
    }
}

/* ---- Mistakes ------------------------------------------------------------------------------- */

static void check_file(const char *name, const char *text, size_t line, const char *message) {
    static const char *const words[] = {"dog", "puppy"};
    lth__symbols *symbols = vocabulary(words, 2);
    lth__neighbours n = {0};
    lth_error err = {0};
    char path[300];
    write_file(name, text, strlen(text));
    assert_int_equal(lth__wordnet_neighbours(NULL, folder, symbols, 2, NULL, 4, &n, &err),
                     LTH_EFORMAT);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_string_equal(err.file, line > 0 ? path : folder);
    assert_int_equal(err.line, line);
    assert_string_equal(err.message, message);
    lth__symbols_free(symbols);
    write_dictionary();
}

static void test_damaged_files(void **state) {
    (void)state;
    const char *const index = "this is no line of WordNet's: LEMMA POS COUNT ... OFFSET ...";
    const char *const data =
        "this is no line of WordNet's: OFFSET FILE TYPE WORDS ... POINTERS ...";
    check_file("index.noun", "  l\ndog n\n", 2, index);
    check_file("index.noun", "dog n x 1 @ 1 1 00000400\n", 1, index);
    check_file("index.noun", "dog n 2 1 @ 1 1 00000400\n", 1, index);
    check_file("index.noun", "dog n 1 999999999 @ 1 1 00000400\n", 1, index);
    check_file("index.noun", "dog n 1 1 @ 1 1 0000040x\n", 1, index);
    check_file("index.noun", "dog n 1 1 @ 1 1 1111111111\n", 1, index);
    check_file("index.noun", "dog n 1 1 @ 1 1 00000401\n", 0,
               "index.noun names meaning 00000401, which data.noun does not have");
    check_file("data.verb", "  l\n\n00000100 38 v zz move 0 000\n", 3, data);
    check_file("data.verb", "00000100 38 v 02 move 0 000\n", 1, data);
    check_file("data.verb", "00000100\n", 1, data);
    check_file("data.verb", "00000100 38 v 01 move 0 001 @ 00000200 v\n", 1,
               "this is no line of WordNet's: a pointer is cut");
    check_file("data.verb", "00000100 38 v 01 move 0 000\n00000100 38 v 01 go 0 000\n", 2,
               "this is no line of WordNet's: its offset does not come after the one before");
    check_file("data.verb", "00000100 38 v 01 move 0 001 @ 00000200 v 0000 | x\n", 0,
               "data.verb names meaning 00000200, which data.verb does not have");
}

static void test_no_dictionary(void **state) {
    (void)state;
    const char *const texts[] = {"dog"};
    setenv("WNSEARCHDIR", "/nowhere", 1);
    fixture f = fixture_open("semantic(text)", NULL);
    lth_table *table = NULL;
    lth_items *items = NULL;
    lth_error err = {0};
    assert_int_equal(lth_table_from_texts(f.ctx, "text", texts, NULL, 1, &table, &err), LTH_OK);
    assert_int_equal(lth_encode(f.encoder, table, &items, &err), LTH_EIO);
    assert_string_equal(err.file, "/nowhere/noun.exc");
    assert_string_equal(
        err.message,
        "cannot open: No such file or directory; the semantic kernel needs WordNet 3.0: "
        "install the package wordnet-base, or set WNSEARCHDIR to the "
        "folder of its files");
    setenv("WNSEARCHDIR", folder, 1);
    assert_int_equal(lth_encode(f.encoder, table, &items, &err), LTH_OK);
    lth_items_free(items);
    lth_table_free(table);
    fixture_close(&f);
    clear_cache();
}

static void test_mistakes(void **state) {
    (void)state;
    static const struct {
        const char *kernel;
        size_t column;
        const char *message;
    } mistakes[] = {
        {"semantic(text, least=0)", 22, "least of semantic is a number from 0.05 to 1"},
        {"semantic(text, least=1.1)", 22, "least of semantic is a number from 0.05 to 1"},
        {"semantic(text, least=$a=0.5)", 22, "least of semantic is a number from 0.05 to 1"},
        {"semantic(text, units=chars)", 22, "units of semantic is one of words|tokens"},
        {"semantic(bow(text))", 10, "semantic works on a column, not on a kernel: "},
    };
    lth_ctx *ctx = NULL;
    assert_int_equal(lth_ctx_create(NULL, &ctx, NULL), LTH_OK);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        lth_kernel *kernel = NULL;
        lth_error err = {0};
        assert_int_equal(lth_kernel_parse(ctx, mistakes[i].kernel, &kernel, &err), LTH_EFORMAT);
        assert_int_equal(err.column, mistakes[i].column);
        assert_memory_equal(err.message, mistakes[i].message, strlen(mistakes[i].message));
    }
    lth_ctx_free(ctx);
}

/* ---- Each place fails ------------------------------------------------------------------------ */

typedef struct use {
    lth_ctx *ctx;
    const lth_table *table;
} use;

/* With no cache, and with the one that was made. A cache that cannot be written is none. */
static lth_status use_all(void *user, lth_error *err) {
    const use *u = user;
    double K[9];
    lth_status status = LTH_OK;
    for (int round = 0; round < 2 && status == LTH_OK; round++) {
        lth_kernel *kernel = NULL;
        lth_encoder *encoder = NULL;
        lth_items *items = NULL;
        status = lth_kernel_parse(u->ctx, "semantic(text)", &kernel, err);
        if (status == LTH_OK) status = lth_encoder_create(u->ctx, kernel, &encoder, err);
        if (status == LTH_OK) status = lth_encode(encoder, u->table, &items, err);
        if (status == LTH_OK) status = lth_gram(kernel, items, NULL, K, 3, err);
        if (status == LTH_OK) assert_true(K[0] > 0 && K[1] > 0);
        lth_items_free(items);
        lth_encoder_free(encoder);
        lth_kernel_free(kernel);
    }
    clear_cache();
    return status;
}

static void test_each_place_fails(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_table(ctx, "text\na dog ran\ncats and dogs\ngeese saw\n");
    write_dictionary();
    clear_cache();
    fail_each(use_all, &(use){ctx, table}, true, 20);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances),     cmocka_unit_test(test_real_dictionary),
        cmocka_unit_test(test_values),        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_cache),         cmocka_unit_test(test_changed_dictionary),
        cmocka_unit_test(test_model),         cmocka_unit_test(test_restored),
        cmocka_unit_test(test_damaged_files), cmocka_unit_test(test_no_dictionary),
        cmocka_unit_test(test_mistakes),      cmocka_unit_test(test_each_place_fails),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

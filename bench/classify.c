/* Row 19: text classification by words without a Gram matrix, against scikit-learn: the ten most
 * frequent topics of Reuters-21578, ModApte split, from table to predicted labels. Row 20: features
 * of some rows against the kernel machine, on texts that are made. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"
#include "process.h"
#include "workload.h"

static const char what[] = "ten topics of Reuters-21578 by words, one core, against scikit-learn";

typedef struct peer {
    char name[80];
    double seconds, micro, macro;
} peer;

static bool read_peer(const plan *p, peer *out) {
    FILE *file = p->svm_peer ? fopen(p->svm_peer, "r") : NULL;
    if (!file) return false;
    bool ok = fscanf(file, "%79[^\t]\t%lf\t%lf\t%lf", out->name, &out->seconds, &out->micro,
                     &out->macro) == 4;
    fclose(file);
    return ok;
}

/* ---- The table ---- */

static const char *const topics[] = {"earn",  "acq",      "money-fx", "grain", "crude",
                                     "trade", "interest", "ship",     "wheat", "corn"};
enum { TOPICS = sizeof topics / sizeof *topics };

/* Topics of a comma-separated list, as bits. */
static unsigned topics_in(const char *list, size_t length) {
    unsigned found = 0;
    for (const char *end = list + length; list <= end;) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        size_t size = (size_t)((comma ? comma : end) - list);
        for (unsigned t = 0; t < TOPICS; t++)
            found |= (unsigned)(strlen(topics[t]) == size && !memcmp(topics[t], list, size)) << t;
        list += size + 1;
    }
    return found;
}

/* A table with the columns split, topics (of the ten), text. */
static void write_topics(const lth_table *all, const char *path) {
    static const char *const names[] = {"split", "topics", "text"};
    FILE *file = fopen(path, "w");
    if (!file) die("cannot write %s", path);
    fputs("split\ttopics\ttext\n", file);
    for (size_t i = 0; i < lth_table_rows(all); i++) {
        for (size_t c = 0; c < 3; c++) {
            size_t length;
            const char *cell = lth_table_cell(all, i, lth_table_find(all, names[c]), &length);
            unsigned found = c == 1 ? topics_in(cell, length) : 0;
            const char *comma = "";
            for (unsigned t = 0; t < TOPICS; t++) {
                if (!(found >> t & 1)) continue;
                fprintf(file, "%s%s", comma, topics[t]);
                comma = ",";
            }
            if (c != 1) fwrite(cell, 1, length, file);
            fputc(c < 2 ? '\t' : '\n', file);
        }
    }
    if (fclose(file) != 0) die("cannot write %s", path);
}

/* ---- Quality ---- */

typedef struct quality {
    double micro, macro;
} quality;

/* Of predictions, a line for each row with its number and labels. */
static quality judge(const lth_table *all, const char *path) {
    double hits[TOPICS] = {0}, both[TOPICS] = {0}, hit = 0, sum = 0;
    size_t split = lth_table_find(all, "split"), column = lth_table_find(all, "topics"), length;
    FILE *file = fopen(path, "r");
    char line[4096];
    if (!file || !fgets(line, sizeof line, file)) die("cannot read %s", path);
    for (size_t i = 0; i < lth_table_rows(all); i++) {
        if (memcmp(lth_table_cell(all, i, split, &length), "test", 4) != 0) continue;
        const char *tab = fgets(line, sizeof line, file) ? strchr(line, '\t') : NULL;
        if (!tab) die("%s is too short", path);
        unsigned predicted = topics_in(tab + 1, strcspn(tab + 1, "\t\n"));
        const char *cell = lth_table_cell(all, i, column, &length);
        unsigned truth = topics_in(cell, length);
        for (unsigned t = 0; t < TOPICS; t++) {
            hits[t] += predicted >> t & truth >> t & 1;
            both[t] += (predicted >> t & 1) + (truth >> t & 1);
        }
    }
    fclose(file);
    quality q = {0};
    for (unsigned t = 0; t < TOPICS; t++) {
        q.macro += both[t] > 0 ? 2 * hits[t] / both[t] / TOPICS : 0;
        hit += hits[t];
        sum += both[t];
    }
    q.micro = sum > 0 ? 2 * hit / sum : 0;
    return q;
}

/* ---- The row ---- */

void measure_classification(const plan *p, report *r) {
    char path[4096], table[4096], model[4096], labels[4096];
    snprintf(path, sizeof path, "%s/reuters_modapte.tsv.gz", p->data);
    snprintf(table, sizeof table, "%s/topics.tsv", p->folder);
    snprintf(model, sizeof model, "%s/topics", p->folder);
    snprintf(labels, sizeof labels, "%s/labels.tsv", p->folder);
    peer other;
    if (access(path, R_OK) != 0 || !read_peer(p, &other)) {
        skip(r, 19, what, "scikit-learn or reuters_modapte.tsv.gz is not there, or was not asked");
        return;
    }
    lth_ctx *ctx;
    lth_table *all;
    lth_error err = {0};
    must(lth_ctx_create(NULL, &ctx, &err), &err);
    must(lth_table_read(ctx, path, NULL, &all, &err), &err);
    write_topics(all, table);
    const char *const kernel = "normalize(tfidf(text, units=tokens, weighting=log, min_count=5))";
    const char *fit[] = {p->program,    "fit",      table,  "--where",
                         "split=train", "--model",  "svm",  "--target",
                         "topics",      "--kernel", kernel, "--class-weights",
                         "balanced",    "-o",       model,  "--threads",
                         "1",           "--quiet",  NULL};
    const char *predict[] = {p->program, "predict", model,       table, "--where", "split=test",
                             "-o",       labels,    "--threads", "1",   "--quiet", NULL};
    double best = INFINITY;
    for (int i = 0; i < 3; i++) {
        double seconds = run_process((char *const *)fit).seconds;
        best = fmin(best, seconds + run_process((char *const *)predict).seconds);
    }
    quality q = judge(all, labels);
    bool as_good = q.micro >= other.micro && q.macro >= other.macro;
    found(r, 19, what, AT_MOST, as_good ? best / other.seconds : INFINITY, 1.5, "x",
          "%.2f s, micro F1 %.4f, macro F1 %.4f; %s %.2f s, %.4f, %.4f", best, q.micro, q.macro,
          other.name, other.seconds, other.micro, other.macro);
    lth_table_free(all);
    lth_ctx_free(ctx);
}

/* ---- Features of some rows ---- */

enum { TRAIN = 3000, HELD = 1000, CLASSES = 3, WORDS = 5 };

/* Texts in which a class has words of its own, among others that all have. */
static void write_classes(const char *path) {
    texts common = random_words(TRAIN + HELD, WORDS, 30);
    FILE *file = fopen(path, "w");
    if (!file) die("cannot write %s", path);
    fputs("split\tclass\ttext\n", file);
    for (size_t i = 0; i < common.count; i++) {
        size_t class = i % CLASSES, own = i * i % 41, other = i * 7 % 41;
        fprintf(file, "%s\tc%zu\t%.*s own%zu_%zu own%zu_%zu\n", i < TRAIN ? "train" : "test", class,
                (int)common.length[i], common.text[i], class, own, i % 4 ? class : i % 5 % CLASSES,
                other);
    }
    free_texts(&common);
    if (fclose(file) != 0) die("cannot write %s", path);
}

/* The share of test rows whose class is right. */
static double accuracy_of(const lth_table *all, const char *path) {
    size_t right = 0, length;
    FILE *file = fopen(path, "r");
    char line[256];
    if (!file || !fgets(line, sizeof line, file)) die("cannot read %s", path);
    for (size_t i = TRAIN; i < lth_table_rows(all); i++) {
        const char *tab = fgets(line, sizeof line, file) ? strchr(line, '\t') : NULL;
        if (!tab) die("%s is too short", path);
        const char *class = lth_table_cell(all, i, lth_table_find(all, "class"), &length);
        right += strcspn(tab + 1, "\t\n") == length && memcmp(tab + 1, class, length) == 0;
    }
    fclose(file);
    return (double)right / HELD;
}

void measure_features(const plan *p, report *r) {
    char table[4096], model[4096], labels[4096];
    snprintf(table, sizeof table, "%s/classes.tsv", p->folder);
    snprintf(model, sizeof model, "%s/classes", p->folder);
    snprintf(labels, sizeof labels, "%s/classes.labels", p->folder);
    write_classes(table);
    lth_ctx *ctx;
    lth_table *all;
    lth_error err = {0};
    must(lth_ctx_create(NULL, &ctx, &err), &err);
    must(lth_table_read(ctx, table, NULL, &all, &err), &err);
    const char *fit[] = {p->program,
                         "fit",
                         table,
                         "--where",
                         "split=train",
                         "--model",
                         "svm",
                         "--target",
                         "class",
                         "--kernel",
                         "normalize(ssk(text, order=2))",
                         "-o",
                         model,
                         "--threads",
                         "1",
                         "--quiet",
                         "--solver",
                         "kernel",
                         NULL};
    const char *predict[] = {p->program, "predict", model,       table, "--where", "split=test",
                             "-o",       labels,    "--threads", "1",   "--quiet", NULL};
    double best[2] = {INFINITY, INFINITY}, accuracy[2] = {0};
    for (int i = 0; i < 6; i++) {
        fit[16] = i % 2 ? "--features" : "--solver";
        fit[17] = i % 2 ? "500" : "kernel";
        best[i % 2] = fmin(best[i % 2], run_process((char *const *)fit).seconds);
        run_process((char *const *)predict);
        accuracy[i % 2] = accuracy_of(all, labels);
    }
    bool as_good = accuracy[1] >= 0.98 * accuracy[0];
    found(r, 20, "features of a sixth of 3,000 rows against the kernel machine, one core", AT_MOST,
          as_good ? best[1] / best[0] : INFINITY, 1, "x",
          "fit in %.2f s, accuracy %.4f; kernel machine %.2f s, %.4f", best[1], accuracy[1],
          best[0], accuracy[0]);
    lth_table_free(all);
    lth_ctx_free(ctx);
}

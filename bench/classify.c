/* Row 19: text classification by words without a Gram matrix, against scikit-learn: the ten most
 * frequent topics of Reuters-21578, ModApte split, from table to predicted labels. */
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
        unsigned predicted = topics_in(tab + 1, strcspn(tab + 1, "\n"));
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

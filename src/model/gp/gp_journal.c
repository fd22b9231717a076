/* The journal of a fit: evaluations that need not be made again. */
#include "model/gp/gp_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/text.h"
#include "engine/cluster.h"

static const char magic[8] = "LTHJRNL1";

enum { FRAME = 16, FIRST = 3 }; /* bytes before a frame's own; numbers before theta */

/* An evaluation of before, not asked for yet. */
typedef struct entry {
    double *numbers;
    size_t count;
    bool used;
} entry;

struct lth__journal {
    const lth_ctx *ctx;
    char *path;
    int file;
    off_t end;     /* of the last whole frame                      */
    bool broken;   /* it can no longer be written                  */
    size_t search; /* from 1                                       */
    bool first;    /* no evaluation of this search has been made   */
    size_t known;  /* evaluations that were found                  */
    entry *entries;
    size_t count, capacity;
};

static lth_status refuse(const lth__journal *j, lth_error *err, const char *why) {
    return lth__fail_at(err, LTH_EFORMAT, j->path, 0, 0, "%s; it stays as it is", why);
}

static lth_status fail_system(const lth__journal *j, lth_error *err, const char *what) {
    return lth__fail_at(err, LTH_EIO, j->path, 0, 0, "cannot %s: %s", what, strerror(errno));
}

/* ---- Whose journal it is ---- */

/* FNV-1a: told apart are rows, not enemies. */
static int hash_bytes(void *user, const void *bytes, size_t size) {
    uint64_t *hash = user;
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return 0;
}

/* Of the rows as a model file has them, with the vectors of their words, and of the targets. */
static lth_status hash_rows(const lth_gp *gp, uint64_t *out, lth_error *err) {
    *out = 0xcbf29ce484222325u;
    for (size_t t = 0; t < gp->target_count; t++)
        hash_bytes(out, (double[]){gp->targets[t].shift, gp->targets[t].scale}, 2 * sizeof(double));
    lth__saver s = lth__saver_open();
    if (s.ok) {
        lth__saver_put_fields(&s, gp->encoder, gp->items);
        lth__saver_put_gaps(&s, "y", gp->latents, gp->rows, gp->unwarped ? gp->unwarped : gp->y);
        lth__gp_save_known(gp, &s);
    }
    return lth__saver_close(&s, &(lth__model_to){.write = hash_bytes, .user = out}, err);
}

static void put_list(lth__string *to, const char *what, const char *const *texts, size_t count) {
    for (size_t i = 0; i < count; i++) lth__string_format(to, "%s %s\n", what, texts[i]);
}

static void put_options(lth__string *to, const lth_gp *gp, const lth_gp_options *o,
                        const lth_gp_plan *plan) {
    const lth_ctx_options *c = &gp->ctx.options;
    const char *device = lth_ctx_device(&gp->ctx);
    lth__string_format(to, "instructions %s\nprecision %d\ndropping %d\ndevice %s\nseed %llu\n",
                       lth_ctx_isa(&gp->ctx), (int)c->precision, (int)c->dropping,
                       device ? device : "none", (unsigned long long)c->seed);
    lth__string_format(to, "max-iter %zu\nrestarts %zu\nmean %d\nunscaled %d\nnoise %a %d\n",
                       o->max_iter, o->restarts, (int)o->zero_mean, (int)o->unscaled, o->noise,
                       (int)o->noise_held);
    put_list(to, "fix", o->fix, o->fix_count);
    put_list(to, "prior", o->prior, o->prior_count);
    lth__string_format(to, "likelihood %d\nposterior %d\ninducing %zu\nlearn-rows %zu\nbound %d\n",
                       (int)o->likelihood, (int)plan->posterior, o->inducing, plan->learn_rows,
                       (int)o->bound);
    lth__string_format(to, "tolerance %a\nprobes %zu\nstore %d\n", o->tolerance, o->probes,
                       (int)plan->store);
    if (o->coregion > 0) lth__string_format(to, "coregion %zu\n", o->coregion);
    if (gp->warp) lth__string_format(to, "warp %s\n", gp->warp->name);
    if (gp->likelihood == &lth__censored)
        lth__string_format(to, "lower %a\nupper %a\n", gp->lower, gp->upper);
}

/* A line for each thing, so that what differs can be told. */
static lth_status identify(const lth_gp *gp, const lth_gp_options *options, const lth_gp_plan *plan,
                           lth__string *to, lth_error *err) {
    uint64_t rows;
    LTH_TRY(hash_rows(gp, &rows, err));
    size_t length = lth_kernel_print(gp->kernel, NULL, 0); /* 0 = out of memory */
    char *kernel = lth__calloc(length + 1, 1);
    to->failed |= length == 0 || !kernel || lth_kernel_print(gp->kernel, kernel, length + 1) == 0;
    lth__string_format(to, "luthier %s\nkernel %s\nrows %zu %016llx\n", lth_version(),
                       kernel ? kernel : "", gp->rows, (unsigned long long)rows);
    put_options(to, gp, options, plan);
    lth__free(kernel);
    return to->failed ? lth__fail_memory(err, 0) : LTH_OK;
}

static size_t line_length(const char *text, size_t length) {
    const char *end = memchr(text, '\n', length);
    return end ? (size_t)(end - text) : length;
}

/* The first line in which the two differ is the reason. */
static lth_status compare(const lth__journal *j, const char *found, size_t found_length,
                          const lth__string *wanted, lth_error *err) {
    const char *own = wanted->bytes;
    size_t length = wanted->length;
    if (found_length == length && memcmp(found, own, length) == 0) return LTH_OK;
    for (;;) {
        size_t a = line_length(found, found_length), b = line_length(own, length);
        bool same = a == b && memcmp(found, own, a) == 0;
        if (!same || a == found_length || b == length) {
            char why[200];
            snprintf(why, sizeof why,
                     "this is the journal of another fit: it has \"%.*s\" where this one has "
                     "\"%.*s\"",
                     a > 64 ? 64 : (int)a, found, b > 64 ? 64 : (int)b, own);
            return refuse(j, err, why);
        }
        found += a + 1, found_length -= a + 1;
        own += b + 1, length -= b + 1;
    }
}

/* ---- Frames ---- */

static uint32_t crc_of(const void *bytes, size_t size) {
    return (uint32_t)crc32_z(0, bytes, size);
}

static bool write_all(int file, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(file, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes += written, size -= (size_t)written;
    }
    return true;
}

/* A frame, after `before` (the magic, or NULL). What was written in part is taken back. */
static lth_status append(lth__journal *j, const char *before, const void *bytes, size_t size,
                         lth_error *err) {
    size_t lead = before ? sizeof magic : 0, whole = lead + FRAME + size;
    uint64_t length = size;
    uint32_t sums[2] = {crc_of(&length, sizeof length), crc_of(bytes, size)};
    char *frame = lth__alloc(whole, 1);
    if (!frame) return lth__fail_memory(err, whole);
    if (before) memcpy(frame, before, lead);
    memcpy(frame + lead, &length, sizeof length);
    memcpy(frame + lead + sizeof length, sums, sizeof sums);
    memcpy(frame + lead + FRAME, bytes, size);
    lth_status status = LTH_OK;
    if (write_all(j->file, frame, whole)) {
        j->end += (off_t)whole;
    } else {
        status = fail_system(j, err, "write");
        if (ftruncate(j->file, j->end) != 0) j->broken = true;
    }
    lth__free(frame);
    return status;
}

/* After a loss of power the end of a file may be zeros. */
static bool is_blank(const char *bytes, size_t size) {
    while (size > 0 && bytes[size - 1] == 0) size--;
    return size == 0;
}

/* The frame at *at of the file's bytes; *out NULL = there is no whole one. */
static lth_status take_frame(const lth__journal *j, const char *bytes, size_t size, size_t *at,
                             const char **out, size_t *out_size, lth_error *err) {
    uint64_t length;
    uint32_t sums[2];
    *out = NULL;
    if (size - *at < FRAME) return LTH_OK;
    memcpy(&length, bytes + *at, sizeof length);
    memcpy(sums, bytes + *at + sizeof length, sizeof sums);
    const char *inside = bytes + *at + FRAME;
    size_t left = size - *at - FRAME;
    if (crc_of(&length, sizeof length) != sums[0])
        return is_blank(inside - 1, left + 1) ? LTH_OK : refuse(j, err, "the journal is damaged");
    if (length > left) return LTH_OK;
    if (crc_of(inside, length) != sums[1])
        return is_blank(inside + length - 1, left - length + 1)
                   ? LTH_OK
                   : refuse(j, err, "the journal is damaged");
    *out = inside;
    *out_size = length;
    *at += FRAME + length;
    return LTH_OK;
}

/* ---- Opening ---- */

static lth_status add_entry(lth__journal *j, const char *bytes, size_t size, lth_error *err) {
    entry e = {.count = size / sizeof(double), .numbers = lth__alloc(size / 8, sizeof(double))};
    if (!e.numbers) return lth__fail_memory(err, size);
    if (!lth__reserve((void **)&j->entries, &j->capacity, j->count + 1, sizeof *j->entries)) {
        lth__free(e.numbers);
        return lth__fail_memory(err, 0);
    }
    memcpy(e.numbers, bytes, e.count * sizeof(double));
    j->entries[j->count++] = e;
    return LTH_OK;
}

/* What the file has, up to a frame that was not finished. */
static lth_status read_frames(lth__journal *j, const char *bytes, size_t size,
                              const lth__string *identity, lth_error *err) {
    size_t known = size < sizeof magic ? size : sizeof magic, at = known, length;
    const char *inside;
    if (is_blank(bytes, size)) return LTH_OK;
    if (memcmp(bytes, magic, known) != 0) return refuse(j, err, "this is not a journal");
    LTH_TRY(take_frame(j, bytes, size, &at, &inside, &length, err));
    if (!inside) return LTH_OK; /* its very beginning was not finished */
    LTH_TRY(compare(j, inside, length, identity, err));
    for (;;) {
        j->end = (off_t)at;
        LTH_TRY(take_frame(j, bytes, size, &at, &inside, &length, err));
        if (!inside) return LTH_OK;
        LTH_TRY(add_entry(j, inside, length, err));
    }
}

static lth_status read_file(lth__journal *j, const lth__string *identity, lth_error *err) {
    struct stat found;
    if (fstat(j->file, &found) != 0) return fail_system(j, err, "read");
    if (!S_ISREG(found.st_mode)) return refuse(j, err, "this is not a file");
    size_t size = (size_t)found.st_size, got = 0;
    char *bytes = lth__alloc(size + 1, 1);
    if (!bytes) return lth__fail_memory(err, size);
    lth_status status = LTH_OK;
    while (status == LTH_OK && got < size) {
        ssize_t more = pread(j->file, bytes + got, size - got, (off_t)got);
        if (more > 0) got += (size_t)more;
        if (more == 0 || (more < 0 && errno != EINTR)) status = fail_system(j, err, "read");
    }
    if (status == LTH_OK) status = read_frames(j, bytes, size, identity, err);
    lth__free(bytes);
    return status;
}

static lth_status open_file(lth__journal *j, const lth__string *identity, lth_error *err) {
    j->file = open(j->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (j->file < 0) return fail_system(j, err, "open");
    if (flock(j->file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return refuse(j, err, "another fit is writing it");
    LTH_TRY(read_file(j, identity, err));
    if (ftruncate(j->file, j->end) != 0) return fail_system(j, err, "write");
    if (j->end > 0) return LTH_OK;
    return append(j, magic, identity->bytes, identity->length, err);
}

lth_status lth__journal_open(const lth_gp *gp, const lth_gp_options *options,
                             const lth_gp_plan *plan, lth__journal **out, lth_error *err) {
    lth__journal *j = lth__calloc(1, sizeof *j);
    lth__string identity = {0};
    if (!j) return lth__fail_memory(err, sizeof *j);
    *j = (lth__journal){.ctx = &gp->ctx, .file = -1};
    j->path = lth__strndup(options->journal, strlen(options->journal));
    lth_status status = j->path ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK) status = identify(gp, options, plan, &identity, err);
    if (status == LTH_OK && lth__cluster_reads(gp->ctx.cluster))
        status = open_file(j, &identity, err);
    lth__string_free(&identity);
    status = lth__cluster_agree(gp->ctx.cluster, status, err);
    if (status == LTH_OK)
        *out = j;
    else
        lth__journal_close(j);
    return status;
}

void lth__journal_close(lth__journal *j) {
    if (!j) return;
    if (j->known > 0)
        lth__log(j->ctx, LTH_LOG_INFO, "%s: %zu evaluations were known", j->path, j->known);
    if (j->file >= 0) close(j->file);
    for (size_t i = 0; i < j->count; i++) lth__free(j->entries[i].numbers);
    lth__free(j->entries);
    lth__free(j->path);
    lth__free(j);
}

/* ---- Evaluations ---- */

void lth__journal_search(lth__journal *j) {
    if (!j) return;
    j->search++;
    j->first = true;
}

/* The numbers of an evaluation, in their order. */
typedef struct layout {
    size_t params, carried;
    double *carry; /* the posterior's */
} layout;

static layout layout_of(const lth_gp *gp) {
    layout l = {.params = lth__gp_param_count(gp)};
    if (gp->posterior->carried) l.carry = gp->posterior->carried(gp, &l.carried);
    return l;
}

static size_t count_of(const layout *l) {
    return FIRST + 2 * l->params + 1 + l->carried;
}

/* Search, theta and jitter: the key. */
static void put_key(const lth__journal *j, lth_gp *gp, const layout *l, double *numbers) {
    numbers[0] = (double)j->search;
    for (size_t p = 0; p < l->params; p++) numbers[FIRST + p] = *lth__gp_value(gp, p);
    numbers[FIRST + l->params] = gp->jitter;
}

/* The next evaluation of before at this key: the same one may be asked for twice. */
static entry *find(lth__journal *j, const layout *l, const double *numbers) {
    size_t theta = (l->params + 1) * sizeof *numbers;
    for (size_t i = 0; i < j->count; i++) {
        entry *e = &j->entries[i];
        if (e->used || e->count != count_of(l) || e->numbers[0] != numbers[0]) continue;
        if (memcmp(e->numbers + FIRST, numbers + FIRST, theta) == 0) return e;
    }
    return NULL;
}

/* What the numbers of an evaluation say; of a rank that has no journal, those of the first. */
static lth_status recall(lth__journal *j, entry *e, const layout *l, double *numbers,
                         double *evidence, double *gradient, lth_error *err) {
    const double *after = numbers + FIRST + l->params + 1;
    size_t size = count_of(l) * sizeof *numbers;
    if (e) {
        memcpy(numbers, e->numbers, size);
        e->used = true;
        j->known++;
    }
    LTH_TRY(lth__cluster_share(j->ctx->cluster, LTH_OK, 0, numbers, size, err));
    *evidence = numbers[2];
    memcpy(gradient, after, l->params * sizeof *gradient);
    if (l->carried > 0) memcpy(l->carry, after + l->params, l->carried * sizeof *l->carry);
    return numbers[1] == 0 ? LTH_OK : LTH_ENUMERIC;
}

static void write_down(lth__journal *j, const double *numbers, size_t count) {
    lth_error why = {0};
    if (j->broken || append(j, NULL, numbers, count * sizeof *numbers, &why) == LTH_OK) return;
    j->broken = true;
    lth__log(j->ctx, LTH_LOG_WARNING, "%s: %s; the fit goes on without its journal", j->path,
             why.message);
}

/* The first evaluation of a search is made in any case: posteriors make ready for those to come,
 * and it shows whether this machine comes to the same numbers. */
static lth_status check(const lth__journal *j, const entry *e, const double *numbers,
                        lth_error *err) {
    if (memcmp(e->numbers, numbers, e->count * sizeof *numbers) == 0) return LTH_OK;
    return refuse(j, err, "this machine comes to other numbers than the journal has");
}

static lth_status evaluate(lth__journal *j, lth_gp *gp, lth__gram *gram, double *numbers,
                           double *evidence, double *gradient, lth_error *err) {
    layout l = layout_of(gp);
    put_key(j, gp, &l, numbers);
    entry *known = find(j, &l, numbers);
    bool is_known = known && !j->first;
    j->first = false;
    LTH_TRY(lth__cluster_share(j->ctx->cluster, LTH_OK, 0, &is_known, sizeof is_known, err));
    if (is_known) return recall(j, known, &l, numbers, evidence, gradient, err);
    lth_status status = lth__gp_evidence(gp, gram, evidence, gradient, err);
    if (status != LTH_OK && status != LTH_ENUMERIC) return status;
    double *after = numbers + FIRST + l.params + 1;
    bool none = status == LTH_ENUMERIC;
    numbers[1] = none;
    numbers[2] = none ? 0 : *evidence;
    for (size_t p = 0; p < l.params; p++) after[p] = none ? 0 : gradient[p];
    if (l.carried > 0) memcpy(after + l.params, l.carry, l.carried * sizeof *l.carry);
    if (known) {
        known->used = true;
        LTH_TRY(check(j, known, numbers, err));
    } else if (j->file >= 0) {
        write_down(j, numbers, count_of(&l));
    }
    return status;
}

lth_status lth__journal_evidence(lth__journal *j, lth_gp *gp, lth__gram *gram, double *evidence,
                                 double *gradient, lth_error *err) {
    if (!j) return lth__gp_evidence(gp, gram, evidence, gradient, err);
    layout l = layout_of(gp);
    double *numbers = lth__alloc(count_of(&l), sizeof *numbers);
    if (!numbers) return lth__fail_memory(err, count_of(&l) * sizeof *numbers);
    lth_status status = evaluate(j, gp, gram, numbers, evidence, gradient, err);
    lth__free(numbers);
    return status;
}

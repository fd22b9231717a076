/* The folder of a campaign:
 *
 *     design.tsv   settings
 *     rows.tsv     all rows, with what was expected of them and what came out
 *     model        the last model; when it is lost it is fitted again
 *     lock         held by the process that changes something
 *
 * Each is written beside and renamed, so that a crash leaves the old one or the new one. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/durable.h"
#include "base/file.h"
#include "design/campaign.h"

static char *path_of(const lth_design *d, const char *name) {
    lth__string path = {0};
    lth__string_format(&path, "%s/%s", d->folder, name);
    char *out = path.failed ? NULL : lth__strndup(path.bytes, path.length);
    lth__string_free(&path);
    return out;
}

static lth__campaign_stamp stamp_of(const char *path) {
    struct stat found;
    lth__campaign_stamp stamp = {0};
    if (stat(path, &found) != 0) return stamp;
    stamp.device = found.st_dev;
    stamp.file = found.st_ino;
    stamp.size = found.st_size;
    stamp.time = (long long)found.st_mtim.tv_sec * 1000000000 + found.st_mtim.tv_nsec;
    return stamp;
}

static bool same_stamp(const lth__campaign_stamp *a, const lth__campaign_stamp *b) {
    return a->device == b->device && a->file == b->file && a->size == b->size && a->time == b->time;
}

/* ---- Writing ---- */

static lth_status save_text(lth_design *d, const char *name, const lth__string *text,
                            lth__campaign_stamp *stamp, lth_error *err) {
    char *path = text->failed ? NULL : path_of(d, name);
    if (!path) return lth__fail_memory(err, 0);
    lth_status status = lth__durable_write(path, (lth__bytes){text->bytes, text->length}, err);
    if (status == LTH_OK) status = lth__durable_settle(d->folder, err);
    if (status == LTH_OK) *stamp = stamp_of(path);
    lth__free(path);
    return status;
}

lth_status lth__campaign_save_settings(lth_design *d, lth_error *err) {
    if (!d->folder) return LTH_OK;
    lth__string text = {0};
    lth__string_format(&text, "setting\tvalue\n");
    for (size_t i = 0; i < d->setting_count; i++)
        lth__string_format(&text, "%s\t%s\n", d->settings[i].name, d->settings[i].value);
    lth_status status = save_text(d, "design.tsv", &text, &d->settings_stamp, err);
    lth__string_free(&text);
    return status;
}

static void append_cell(lth__string *text, const char *cell, size_t length, bool first) {
    if (!first) lth__string_append(text, "\t", 1);
    lth__string_append(text, cell, length);
}

lth_status lth__campaign_save_rows(lth_design *d, const lth__campaign_rows *rows, lth_error *err) {
    if (!d->folder) return LTH_OK;
    lth__string text = {0};
    size_t columns = lth_table_columns(rows->table);
    for (size_t j = 0; j < columns; j++) {
        const char *name = lth_table_column_name(rows->table, j);
        append_cell(&text, name, strlen(name), j == 0);
    }
    lth__string_append(&text, "\n", 1);
    for (size_t i = 0; i < rows->count; i++) {
        for (size_t j = 0; j < columns; j++) {
            size_t length;
            const char *cell = lth_table_cell(rows->table, i, j, &length);
            append_cell(&text, cell, length, j == 0);
        }
        lth__string_append(&text, "\n", 1);
    }
    lth_status status = save_text(d, "rows.tsv", &text, &d->rows_stamp, err);
    lth__string_free(&text);
    return status;
}

/* ---- A new one ---- */

static lth_status refuse(const char *folder, lth_error *err) {
    return lth__fail_at(err, LTH_EARG, folder, 0, 0,
                        "is there already, and not empty; a campaign begins with a new folder");
}

static bool has_head_alone(const char *path) {
    FILE *file;
    int c;
    if (lth__file_open(path, &file, NULL) != LTH_OK) return false;
    do c = fgetc(file);
    while (c != EOF && c != '\n');
    bool alone = (c == EOF || fgetc(file) == EOF) && !ferror(file);
    fclose(file);
    return alone;
}

/* Empty, or with what is left of a campaign whose beginning was cut short: rows.tsv without rows.
 */
static lth_status check_unused(const char *folder, const char *rows, lth_error *err) {
    DIR *open = opendir(folder);
    if (!open) return lth__fail_at(err, LTH_EIO, folder, 0, 0, "cannot open: %s", strerror(errno));
    bool unused = true;
    const struct dirent *entry;
    while (unused && (errno = 0, entry = readdir(open)) != NULL) {
        const char *name = entry->d_name;
        unused = strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
                 (strcmp(name, "rows.tsv") == 0 && has_head_alone(rows));
    }
    int number = unused ? errno : 0;
    closedir(open);
    if (number)
        return lth__fail_at(err, LTH_EIO, folder, 0, 0, "cannot read: %s", strerror(number));
    return unused ? LTH_OK : refuse(folder, err);
}

/* Settings come last: what has them is a campaign. */
static lth_status write_both(lth_design *d, lth_error *err) {
    LTH_TRY(lth__campaign_save_rows(d, &d->rows, err));
    return lth__campaign_save_settings(d, err);
}

lth_status lth__campaign_write_new(lth_design *d, lth_error *err) {
    if (!d->folder) return LTH_OK;
    char *rows = path_of(d, "rows.tsv");
    if (!rows) return lth__fail_memory(err, 0);
    lth_status status = lth__durable_folder(d->folder, err);
    int lock = status == LTH_OK ? open(d->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    bool alone = lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    if (status == LTH_OK) lth__durable_sweep(d->folder);
    if (status == LTH_OK)
        status = alone ? check_unused(d->folder, rows, err) : refuse(d->folder, err);
    if (status == LTH_OK) status = write_both(d, err);
    if (lock >= 0) close(lock);
    lth__free(rows);
    return status;
}

/* ---- Its model ---- */

/* With a note of the rows that it is of, which a crash in between makes out of date. */
lth_status lth__campaign_save_model(lth_design *d, lth_error *err) {
    char *path = d->folder ? path_of(d, "model") : NULL, of[32];
    if (d->folder && !path) return lth__fail_memory(err, 0);
    lth_status status = d->folder ? lth_model_save(d->model, path, err) : LTH_OK;
    lth__free(path);
    LTH_TRY(status);
    for (size_t i = 0; i < d->setting_count; i++)
        if (strcmp(d->settings[i].name, "fitted") == 0)
            d->settings[i] = d->settings[--d->setting_count];
    snprintf(of, sizeof of, "%llu", (unsigned long long)d->fitted);
    LTH_TRY(lth__campaign_set(d, "fitted", of, err));
    return lth__campaign_save_settings(d, err);
}

/* ---- Reading ---- */

/* A file that the campaign cannot do without. */
static lth_status read_file(lth_design *d, const char *name, lth__campaign_stamp *stamp,
                            const char *lost, lth_table **out, lth_error *err) {
    char *path = path_of(d, name);
    if (!path) return lth__fail_memory(err, 0);
    lth_table_options options;
    lth_table_options_init(&options);
    options.format = LTH_TABLE_TSV;
    *stamp = stamp_of(path);
    bool missing = access(path, F_OK) != 0 && errno == ENOENT;
    lth_status status = missing ? lth__fail_at(err, LTH_EIO, path, 0, 0, "is not there: %s", lost)
                                : lth_table_read(d->ctx, path, &options, out, err);
    lth__free(path);
    return status;
}

static lth_status read_settings(lth_design *d, lth_error *err) {
    lth_table *table = NULL;
    LTH_TRY(read_file(d, "design.tsv", &d->settings_stamp,
                      "no campaign was begun in this folder, or its settings are lost", &table,
                      err));
    size_t name = lth_table_find(table, "setting"), value = lth_table_find(table, "value");
    lth_status status = LTH_OK;
    if (name == LTH_NONE || value == LTH_NONE)
        status = lth__fail_at(err, LTH_EFORMAT, lth_table_name(table), 1, 0,
                              "this file is damaged: its columns are not setting and value");
    d->setting_count = 0;
    for (size_t i = 0; i < lth_table_rows(table) && status == LTH_OK; i++) {
        size_t lengths[2];
        const char *texts[] = {lth_table_cell(table, i, name, &lengths[0]),
                               lth_table_cell(table, i, value, &lengths[1])};
        char *key = lth__strndup(texts[0], lengths[0]), *to = lth__strndup(texts[1], lengths[1]);
        status = key && to ? lth__campaign_set(d, key, to, err) : lth__fail_memory(err, 0);
        lth__free(key);
        lth__free(to);
    }
    if (status == LTH_OK) status = lth__campaign_read_settings(d, lth_table_name(table), err);
    lth_table_free(table);
    return status;
}

static lth_status read_rows(lth_design *d, lth_error *err) {
    lth_table *table = NULL;
    lth__campaign_rows rows = {0};
    LTH_TRY(read_file(d, "rows.tsv", &d->rows_stamp,
                      "what was measured is lost; take it from a backup, or begin a new campaign "
                      "and tell it the results",
                      &table, err));
    lth_status status = lth__campaign_take(d, table, &rows, err);
    lth_table_free(table);
    if (status == LTH_OK) lth__campaign_replace(d, &rows);
    return status;
}

/* It can be fitted again, so that whatever is wrong with the file is only told. */
static lth_status read_model(lth_design *d, lth_error *err) {
    lth_model_free(d->model);
    d->model = NULL;
    if (d->fitted == 0) return LTH_OK;
    char *path = path_of(d, "model");
    if (!path) return lth__fail_memory(err, 0);
    lth_error why = {0};
    lth_status status = lth_model_load(d->ctx, path, &d->model, &why);
    if (status != LTH_OK && status != LTH_ENOMEM && status != LTH_ECANCELED) {
        lth__log(d->ctx, LTH_LOG_WARNING, "%s: %s; the model will be fitted again", path,
                 why.message);
        d->fitted = 0;
        status = LTH_OK;
    } else if (status != LTH_OK && err) {
        *err = why;
    }
    lth__free(path);
    return status;
}

lth_status lth__campaign_load(lth_design *d, lth_error *err) {
    return read_settings(d, err);
}

lth_status lth__campaign_load_rows(lth_design *d, lth_error *err) {
    LTH_TRY(read_rows(d, err));
    return read_model(d, err);
}

/* ---- The lock ---- */

/* What another process has changed since. */
static lth_status refresh(lth_design *d, lth_error *err) {
    char *settings = path_of(d, "design.tsv"), *rows = path_of(d, "rows.tsv");
    bool known = settings && rows, changed = false;
    if (known) {
        lth__campaign_stamp now[] = {stamp_of(settings), stamp_of(rows)};
        changed = !same_stamp(&now[0], &d->settings_stamp) || !same_stamp(&now[1], &d->rows_stamp);
    }
    lth__free(settings);
    lth__free(rows);
    if (!known) return lth__fail_memory(err, 0);
    if (!changed) return LTH_OK;
    LTH_TRY(read_settings(d, err));
    return lth__campaign_load_rows(d, err);
}

static lth_status take_lock(const lth_design *d, int file, const char *path, lth_error *err) {
    const double patience = 5; /* seconds */
    double began = lth__seconds();
    while (flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return LTH_OK; /* a disk without locks */
        if (lth__seconds() - began > patience)
            return lth__fail_at(err, LTH_EIO, path, 0, 0,
                                "another process is changing this campaign; try again when it is "
                                "done");
        LTH_TRY(lth__tell(d->ctx, "", 0, 0, err));
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000000}, NULL);
    }
    return LTH_OK;
}

lth_status lth__campaign_lock(lth_design *d, int *lock, lth_error *err) {
    *lock = -1;
    if (!d->folder) return LTH_OK;
    char *path = path_of(d, "lock");
    if (!path) return lth__fail_memory(err, 0);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    lth_status status =
        file >= 0 ? take_lock(d, file, path, err)
                  : lth__fail_at(err, LTH_EIO, path, 0, 0, "cannot write: %s", strerror(errno));
    lth__free(path);
    if (status == LTH_OK) lth__durable_sweep(d->folder);
    if (status == LTH_OK) status = refresh(d, err);
    if (status == LTH_OK)
        *lock = file;
    else if (file >= 0)
        close(file);
    return status;
}

void lth__campaign_unlock(int lock) {
    if (lock >= 0) close(lock);
}

#include "data/zarr.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/durable.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/json_read.h"

enum { MOST_BYTES_OF_JSON = 1 << 26, MOST_TILE_BYTES = 1 << 30 };

struct lth__zarr {
    char *path;
    lth__zarr_shape shape;
    json_t *texts; /* an object */
};

/* ---- Names ---- */

/* FOLDER/NAME; NULL = out of memory. */
static char *join(const char *folder, const char *name) {
    size_t size = strlen(folder) + strlen(name) + 2;
    char *file = lth__alloc(size, 1);
    if (file) snprintf(file, size, "%s/%s", folder, name);
    return file;
}

static char *name_tile(const lth__zarr *z, size_t i, size_t j) {
    char name[64];
    snprintf(name, sizeof name, "%zu.%zu", i, j);
    return join(z->path, name);
}

/* A number without sign and leading zeros; what follows it, or NULL. */
static const char *parse_index(const char *text, size_t below, size_t *out) {
    size_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && value < below; at++)
        value = 10 * value + (size_t)(*at - '0');
    bool plain = at > text && (*text != '0' || at == text + 1);
    *out = value;
    return plain && value < below ? at : NULL;
}

/* Whether a file is a tile of the array, by its name. */
static bool parse_tile(const lth__zarr_shape *s, const char *name, size_t *i, size_t *j) {
    const char *at = parse_index(name, lth__zarr_down(s), i);
    if (!at || *at != '.') return false;
    at = parse_index(at + 1, lth__zarr_across(s), j);
    return at && *at == 0;
}

size_t lth__zarr_down(const lth__zarr_shape *s) {
    return (s->rows + s->tile_rows - 1) / s->tile_rows;
}

size_t lth__zarr_across(const lth__zarr_shape *s) {
    return (s->cols + s->tile_cols - 1) / s->tile_cols;
}

size_t lth__zarr_tile_bytes(const lth__zarr_shape *s) {
    return s->tile_rows * s->tile_cols * s->width;
}

static lth_status check_byte_order(lth_error *err) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    (void)err;
    return LTH_OK;
#else
    return lth__fail(err, LTH_EUNSUPPORTED, "Zarr arrays need a little-endian machine");
#endif
}

/* ---- Making one ---- */

static json_t *describe(const lth__zarr_shape *s) {
    return json_pack("{s:i, s:[I,I], s:[I,I], s:s, s:n, s:s, s:s, s:n, s:s}", "zarr_format", 2,
                     "shape", (json_int_t)s->rows, (json_int_t)s->cols, "chunks",
                     (json_int_t)s->tile_rows, (json_int_t)s->tile_cols, "dtype",
                     s->width == 4 ? "<f4" : "<f8", "compressor", "fill_value", "NaN", "order", "C",
                     "filters", "dimension_separator", ".");
}

static json_t *collect(const lth__zarr_text *texts) {
    json_t *object = json_object();
    for (; object && texts->name; texts++) {
        if (json_object_set_new(object, texts->name, json_string(texts->text)) == 0) continue;
        json_decref(object);
        object = NULL;
    }
    return object;
}

/* `object` is consumed; NULL = out of memory. */
static lth_status create_json(const char *folder, const char *name, json_t *object,
                              lth_error *err) {
    char *text = object ? json_dumps(object, JSON_INDENT(4)) : NULL;
    json_decref(object);
    if (!text) return lth__fail_memory(err, 0);
    char *file = join(folder, name);
    lth_status status = file ? lth__durable_create(file, (lth__bytes){text, strlen(text)}, err)
                             : lth__fail_memory(err, 0);
    lth__free(file);
    free(text);
    return status;
}

static lth_status fail_read(const char *file, int number, lth_error *err) {
    return lth__fail_at(err, LTH_EIO, file, 0, 0, "cannot read: %s", strerror(number));
}

/* The next entry; NULL at the end, and with `status` when there is no reading on. */
static const struct dirent *next_entry(DIR *open, const char *path, lth_status *status,
                                       lth_error *err) {
    errno = 0;
    const struct dirent *entry = *status == LTH_OK ? readdir(open) : NULL;
    if (!entry && *status == LTH_OK && errno != 0) *status = fail_read(path, errno, err);
    return entry;
}

/* A folder that a process left before there was an array in it has nothing but .z... */
static lth_status check_folder(const char *path, lth_error *err) {
    DIR *open = opendir(path);
    if (!open) return lth__fail_at(err, LTH_EIO, path, 0, 0, "cannot open: %s", strerror(errno));
    lth_status status = LTH_OK;
    for (const struct dirent *entry; (entry = next_entry(open, path, &status, err)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strncmp(name, ".z", 2) == 0)
            continue;
        status = lth__fail_at(err, LTH_EFORMAT, path, 0, 0,
                              "is a folder with other files in it, such as %.60s, and not a Zarr "
                              "array",
                              name);
    }
    closedir(open);
    return status;
}

static lth_status check_is_array(const char *path, bool *out, lth_error *err) {
    char *name = join(path, ".zarray");
    if (!name) return lth__fail_memory(err, 0);
    int number = access(name, F_OK) == 0 ? 0 : errno;
    lth__free(name);
    *out = number == 0;
    if (number == 0 || number == ENOENT || number == ENOTDIR) return LTH_OK;
    return fail_read(path, number, err);
}

/* .zarray comes last: what has one is whole. So does each step get to the disk before the next. */
lth_status lth__zarr_create(const char *path, const lth__zarr_shape *shape,
                            const lth__zarr_text *texts, lth_error *err) {
    LTH_TRY(check_byte_order(err));
    bool there;
    LTH_TRY(lth__durable_folder(path, err));
    LTH_TRY(check_is_array(path, &there, err));
    if (there) return LTH_OK;
    LTH_TRY(check_folder(path, err));
    LTH_TRY(create_json(path, ".zattrs", collect(texts), err));
    LTH_TRY(lth__durable_settle(path, err));
    LTH_TRY(create_json(path, ".zarray", describe(shape), err));
    return lth__durable_settle(path, err);
}

/* ---- Opening ---- */

static lth_status read_text(const char *file, lth__string *out, lth_error *err) {
    FILE *stream;
    LTH_TRY(lth__file_open(file, &stream, err));
    char bytes[4096];
    size_t got;
    errno = 0;
    while (out->length < MOST_BYTES_OF_JSON && (got = fread(bytes, 1, sizeof bytes, stream)) > 0)
        lth__string_append(out, bytes, got);
    int number = errno;
    bool failed = ferror(stream) != 0;
    fclose(stream);
    if (failed) return fail_read(file, number, err);
    return out->failed ? lth__fail_memory(err, out->length) : LTH_OK;
}

static lth_status read_json(const char *folder, const char *name, json_t **out, lth_error *err) {
    lth__string text = {0};
    char *file = join(folder, name);
    if (!file) return lth__fail_memory(err, 0);
    lth_status status = read_text(file, &text, err);
    if (status == LTH_OK) {
        json_error_t why = {.line = -1};
        status = lth__json_read(text.length ? text.bytes : "", text.length, JSON_REJECT_DUPLICATES,
                                out, &why, err);
        if (status == LTH_EFORMAT)
            status = lth__fail_at(err, LTH_EFORMAT, file, why.line > 0 ? (size_t)why.line : 0,
                                  why.column > 0 ? (size_t)why.column : 0, "JSON: %s", why.text);
        else if (status == LTH_OK && !json_is_object(*out)) {
            json_decref(*out);
            *out = NULL;
            status = lth__fail_at(err, LTH_EFORMAT, file, 0, 0, "is not a JSON object");
        }
    }
    lth__string_free(&text);
    lth__free(file);
    return status;
}

/* What luthier needs of an array is what it writes itself. */
static lth_status fail_array(const char *path, lth_error *err, const char *key, const json_t *found,
                             const char *wanted) {
    char *text = found ? json_dumps(found, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    lth__fail_at(err, LTH_EFORMAT, path, 0, 0, ".zarray: \"%s\" is %.80s; %s is needed", key,
                 text ? text : "missing", wanted);
    free(text);
    return LTH_EFORMAT;
}

static bool is_text(const json_t *value, const char *wanted) {
    const char *text = json_string_value(value);
    return text && strcmp(text, wanted) == 0;
}

static lth_status check_layout(const char *path, const json_t *array, lth_error *err) {
    const json_t *found = json_object_get(array, "zarr_format");
    if (!json_is_integer(found) || json_integer_value(found) != 2)
        return fail_array(path, err, "zarr_format", found, "2");
    found = json_object_get(array, "compressor");
    if (!json_is_null(found)) return fail_array(path, err, "compressor", found, "null");
    found = json_object_get(array, "filters");
    if (found && !json_is_null(found) && json_array_size(found) > 0)
        return fail_array(path, err, "filters", found, "null");
    found = json_object_get(array, "order");
    if (!is_text(found, "C")) return fail_array(path, err, "order", found, "\"C\"");
    found = json_object_get(array, "fill_value");
    if (!is_text(found, "NaN")) return fail_array(path, err, "fill_value", found, "\"NaN\"");
    found = json_object_get(array, "dimension_separator");
    if (found && !is_text(found, "."))
        return fail_array(path, err, "dimension_separator", found, "\".\"");
    return LTH_OK;
}

/* Two numbers, each of which some 32 bits can hold. */
static lth_status take_pair(const char *path, const json_t *array, const char *key, size_t *first,
                            size_t *second, lth_error *err) {
    const json_t *found = json_object_get(array, key);
    json_int_t a = 0, b = 0;
    if (json_array_size(found) == 2) {
        a = json_integer_value(json_array_get(found, 0));
        b = json_integer_value(json_array_get(found, 1));
    }
    if (a < 1 || b < 1 || a >= UINT32_MAX || b >= UINT32_MAX)
        return fail_array(path, err, key, found, "a pair of numbers above 0");
    *first = (size_t)a;
    *second = (size_t)b;
    return LTH_OK;
}

static lth_status take_shape(const char *path, const json_t *array, lth__zarr_shape *s,
                             lth_error *err) {
    LTH_TRY(check_layout(path, array, err));
    const json_t *type = json_object_get(array, "dtype");
    s->width = is_text(type, "<f8") ? 8 : is_text(type, "<f4") ? 4 : 0;
    if (s->width == 0) return fail_array(path, err, "dtype", type, "\"<f8\" or \"<f4\"");
    LTH_TRY(take_pair(path, array, "shape", &s->rows, &s->cols, err));
    LTH_TRY(take_pair(path, array, "chunks", &s->tile_rows, &s->tile_cols, err));
    if (s->tile_rows > MOST_TILE_BYTES / 8 / s->tile_cols)
        return fail_array(path, err, "chunks", json_object_get(array, "chunks"),
                          "at most a gigabyte");
    return LTH_OK;
}

lth_status lth__zarr_open(const char *path, lth__zarr **out, lth_error *err) {
    LTH_TRY(check_byte_order(err));
    struct stat found;
    if (stat(path, &found) != 0)
        return lth__fail_at(err, LTH_EIO, path, 0, 0, "cannot open: %s", strerror(errno));
    bool there;
    LTH_TRY(check_is_array(path, &there, err));
    if (!there)
        return lth__fail_at(err, LTH_EFORMAT, path, 0, 0, "is not a Zarr array: it has no .zarray");
    lth__zarr *z = lth__calloc(1, sizeof *z);
    if (!z) return lth__fail_memory(err, sizeof *z);
    z->path = lth__strndup(path, strlen(path));
    json_t *array = NULL;
    lth_status status =
        z->path ? read_json(path, ".zarray", &array, err) : lth__fail_memory(err, 0);
    if (status == LTH_OK) status = take_shape(path, array, &z->shape, err);
    if (status == LTH_OK) status = read_json(path, ".zattrs", &z->texts, err);
    json_decref(array);
    if (status == LTH_OK)
        *out = z;
    else
        lth__zarr_close(z);
    return status;
}

void lth__zarr_close(lth__zarr *z) {
    if (!z) return;
    json_decref(z->texts);
    lth__free(z->path);
    lth__free(z);
}

const char *lth__zarr_path(const lth__zarr *z) {
    return z->path;
}

const lth__zarr_shape *lth__zarr_shape_of(const lth__zarr *z) {
    return &z->shape;
}

const char *lth__zarr_text_of(const lth__zarr *z, const char *name) {
    return json_string_value(json_object_get(z->texts, name));
}

/* ---- Tiles ---- */

static lth_status fail_size(const lth__zarr *z, const char *file, size_t size, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, file, 0, 0,
                        "the tile has %zu bytes, not %zu: it is damaged; remove it and go on with "
                        "--resume",
                        size, lth__zarr_tile_bytes(&z->shape));
}

static lth_status check_size(const lth__zarr *z, int folder, const char *name, lth_error *err) {
    struct stat found = {0};
    int number = fstatat(folder, name, &found, 0) == 0 ? 0 : errno;
    if (number == 0 && S_ISREG(found.st_mode) &&
        (size_t)found.st_size == lth__zarr_tile_bytes(&z->shape))
        return LTH_OK;
    char *file = join(z->path, name);
    if (!file) return lth__fail_memory(err, 0);
    lth_status status =
        number ? fail_read(file, number, err) : fail_size(z, file, (size_t)found.st_size, err);
    lth__free(file);
    return status;
}

lth_status lth__zarr_list(const lth__zarr *z, bool *there, size_t *count, lth_error *err) {
    DIR *open = opendir(z->path);
    if (!open) return lth__fail_at(err, LTH_EIO, z->path, 0, 0, "cannot open: %s", strerror(errno));
    size_t found = 0, across = lth__zarr_across(&z->shape), i, j;
    lth_status status = LTH_OK;
    for (const struct dirent *entry; (entry = next_entry(open, z->path, &status, err)) != NULL;) {
        if (!parse_tile(&z->shape, entry->d_name, &i, &j)) continue;
        status = check_size(z, dirfd(open), entry->d_name, err);
        if (there) there[i * across + j] = true;
        found++;
    }
    closedir(open);
    if (status == LTH_OK) *count = found;
    return status;
}

/* As floats; a number that none can hold is an error. */
static lth_status narrow(const lth__zarr *z, const double *values, float **out, lth_error *err) {
    size_t count = z->shape.tile_rows * z->shape.tile_cols;
    float *floats = lth__alloc(count, sizeof *floats);
    if (!floats) return lth__fail_memory(err, count * sizeof *floats);
    bool fits = true;
    for (size_t k = 0; k < count; k++) {
        floats[k] = (float)values[k];
        fits &= !isinf(floats[k]);
    }
    if (fits) {
        *out = floats;
        return LTH_OK;
    }
    lth__free(floats);
    return lth__fail(err, LTH_ENUMERIC, "a value of the kernel is too large for f32; use f64");
}

lth_status lth__zarr_write(const lth__zarr *z, size_t i, size_t j, const double *values,
                           lth_error *err) {
    float *floats = NULL;
    if (z->shape.width == 4) LTH_TRY(narrow(z, values, &floats, err));
    lth__bytes bytes = {values, lth__zarr_tile_bytes(&z->shape)};
    if (floats) bytes.data = floats;
    char *file = name_tile(z, i, j);
    lth_status status = file ? lth__durable_write(file, bytes, err) : lth__fail_memory(err, 0);
    lth__free(file);
    lth__free(floats);
    return status;
}

/* Floats were read into the far half of their place: widened from the front, no double is written
 * over a float still to be read. */
static void widen(double *values, size_t count) {
    const char *raw = (const char *)values + count * sizeof(float);
    for (size_t k = 0; k < count; k++) {
        float value;
        memcpy(&value, raw + k * sizeof value, sizeof value);
        values[k] = value;
    }
}

static lth_status read_tile(const lth__zarr *z, const char *name, double *values, lth_error *err) {
    size_t bytes = lth__zarr_tile_bytes(&z->shape), count = z->shape.tile_rows * z->shape.tile_cols;
    char *raw = (char *)values + count * sizeof *values - bytes;
    FILE *stream;
    LTH_TRY(lth__file_open(name, &stream, err));
    setvbuf(stream, NULL, _IONBF, 0);
    errno = 0;
    size_t got = fread(raw, 1, bytes, stream);
    int number = errno;
    bool failed = ferror(stream) != 0, more = got == bytes && fgetc(stream) != EOF;
    fclose(stream);
    if (failed) return fail_read(name, number, err);
    if (got < bytes || more) return fail_size(z, name, got + more, err);
    if (z->shape.width == 4) widen(values, count);
    return LTH_OK;
}

lth_status lth__zarr_read(const lth__zarr *z, size_t i, size_t j, double *values, lth_error *err) {
    char *file = name_tile(z, i, j);
    lth_status status = file ? read_tile(z, file, values, err) : lth__fail_memory(err, 0);
    lth__free(file);
    return status;
}

/* The safetensors layout: a header length (8 bytes, little-endian), a JSON header, padded with
 * spaces so that the data begin at a multiple of 8, and the data of the arrays without holes:
 *     {"__metadata__": {KEY: TEXT, ...}, NAME: {"dtype": "F64", "shape": [2, 3],
 *                                               "data_offsets": [BEGIN, END]}, ...}
 * Arrays with wide elements come first, so that each is aligned to its element.
 *
 * Beside the caller's, there are three texts: format "luthier", version "1", and the checksum
 * "crc32:" with eight hexadecimal digits. That is the CRC-32 of, in this order:
 * - each other text, sorted by key: key, NUL, text, NUL;
 * - each array, as in the file: name, NUL, dtype, NUL, rank and dimensions as 64-bit numbers;
 * - all data. */
#include "model/common/tensors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/file.h"
#include "base/parallel.h"
#include "base/team.h"
#include "base/text.h"
#include "data/json_read.h"

enum { MAX_RANK = 3, PREFIX = 8, ALIGNMENT = 8, MAX_HEADER = 100000000 };

static const char metadata_name[] = "__metadata__";
static const char format_name[] = "luthier", version_name[] = "1";

static const struct {
    const char *name;
    size_t width;
} dtypes[] = {
    [LTH__U8] = {"U8", 1},   [LTH__U32] = {"U32", 4}, [LTH__U64] = {"U64", 8},
    [LTH__F32] = {"F32", 4}, [LTH__F64] = {"F64", 8},
};

/* ---- What both ways need -------------------------------------------------------------------- */

static lth_status check_byte_order(lth_error *err) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    (void)err;
    return LTH_OK;
#else
    return lth__fail(err, LTH_EUNSUPPORTED, "model files need a little-endian machine");
#endif
}

/* Bytes of the data, or false when they could not be counted. */
static bool data_size(const lth__tensor *tensor, size_t *out) {
    size_t bytes = dtypes[tensor->dtype].width;
    for (size_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] > PTRDIFF_MAX) return false;
        if (__builtin_mul_overflow(bytes, tensor->shape[i], &bytes)) return false;
        if (bytes > PTRDIFF_MAX) return false;
    }
    *out = bytes;
    return true;
}

static uLong crc_text(uLong crc, const char *text) {
    return crc32_z(crc, (const Bytef *)text, strlen(text) + 1);
}

static uLong crc_number(uLong crc, uint64_t number) {
    return crc32_z(crc, (const Bytef *)&number, sizeof number);
}

static int compare_keys(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static lth_status crc_metadata(uLong *crc, json_t *metadata, lth_error *err) {
    size_t count = 0, most = json_object_size(metadata);
    const char *key, **keys = lth__alloc(most, sizeof *keys);
    if (keys == NULL) return lth__fail_memory(err, most * sizeof *keys);
    json_t *text;
    json_object_foreach(metadata, key, text) {
        if (strcmp(key, "checksum") != 0) keys[count++] = key;
    }
    qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < count; i++) {
        *crc = crc_text(*crc, keys[i]);
        *crc = crc_text(*crc, json_string_value(json_object_get(metadata, keys[i])));
    }
    lth__free(keys);
    return LTH_OK;
}

static uLong crc_description(uLong crc, const lth__tensor *tensor) {
    crc = crc_text(crc, tensor->name);
    crc = crc_text(crc, dtypes[tensor->dtype].name);
    crc = crc_number(crc, tensor->rank);
    for (size_t i = 0; i < tensor->rank; i++) crc = crc_number(crc, tensor->shape[i]);
    return crc;
}

/* A CRC takes longer than writing a file to memory: of large arrays threads take pieces. */
enum { PIECES = 64, MOST_MEMBERS = 16 };
static const size_t large = (size_t)1 << 24;

typedef struct pieces {
    const Bytef *data;
    size_t bytes, each; /* of all but the last, which may have fewer */
    atomic_size_t next;
    uLong crc[PIECES];
} pieces;

static size_t piece_bytes(const pieces *p, size_t index) {
    size_t first = index * p->each;
    return first + p->each < p->bytes ? p->each : p->bytes - first;
}

static void crc_pieces(void *user, unsigned member) {
    (void)member;
    pieces *p = user;
    for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < PIECES;)
        p->crc[i] = crc32_z(0, p->data + i * p->each, piece_bytes(p, i));
}

static uLong crc_large(uLong crc, const void *data, size_t bytes) {
    pieces p = {.data = data, .bytes = bytes, .each = (bytes + PIECES - 1) / PIECES};
    unsigned members = lth__cpu_count();
    lth__team_run(members < MOST_MEMBERS ? members : MOST_MEMBERS, 0, crc_pieces, &p);
    for (size_t i = 0; i < PIECES; i++)
        crc = crc32_combine(crc, p.crc[i], (z_off_t)piece_bytes(&p, i));
    return crc;
}

static uLong crc_data(uLong crc, const lth__tensor *tensor) {
    size_t bytes = 0;
    data_size(tensor, &bytes);
    if (bytes >= large) return crc_large(crc, tensor->data, bytes);
    return bytes > 0 ? crc32_z(crc, tensor->data, bytes) : crc;
}

static lth_status make_checksum(json_t *metadata, const lth__tensor *tensors, size_t count,
                                char out[16], lth_error *err) {
    uLong crc = crc32_z(0, NULL, 0);
    LTH_TRY(crc_metadata(&crc, metadata, err));
    for (size_t i = 0; i < count; i++) crc = crc_description(crc, &tensors[i]);
    for (size_t i = 0; i < count; i++) crc = crc_data(crc, &tensors[i]);
    snprintf(out, 16, "crc32:%08" PRIx32, (uint32_t)crc);
    return LTH_OK;
}

/* ---- Collecting what to write ---------------------------------------------------------------- */

typedef struct keyed_text {
    const char *key, *value;
} keyed_text;

struct lth__tensors_writer {
    lth__pool strings;
    keyed_text *texts;
    lth__tensor *tensors; /* as in the file */
    size_t text_count, text_capacity, count, capacity;
};

lth__tensors_writer *lth__tensors_writer_create(void) {
    return lth__calloc(1, sizeof(lth__tensors_writer));
}

void lth__tensors_writer_free(lth__tensors_writer *w) {
    if (w == NULL) return;
    lth__pool_free(&w->strings);
    lth__free(w->texts);
    lth__free(w->tensors);
    lth__free(w);
}

static const char *keep(lth__tensors_writer *w, const char *string) {
    return lth__pool_strndup(&w->strings, string, strlen(string));
}

bool lth__tensors_put_text(lth__tensors_writer *w, const char *key, const char *value) {
    keyed_text kept = {keep(w, key), keep(w, value)};
    if (kept.key == NULL || kept.value == NULL) return false;
    if (!lth__reserve((void **)&w->texts, &w->text_capacity, w->text_count + 1, sizeof kept))
        return false;
    w->texts[w->text_count++] = kept;
    return true;
}

bool lth__tensors_put(lth__tensors_writer *w, const lth__tensor *tensor) {
    lth__tensor kept = *tensor;
    kept.name = keep(w, tensor->name);
    if (kept.name == NULL) return false;
    if (!lth__reserve((void **)&w->tensors, &w->capacity, w->count + 1, sizeof kept)) return false;
    /* Behind all that are as wide or wider. */
    size_t at = w->count++;
    for (; at > 0 && dtypes[w->tensors[at - 1].dtype].width < dtypes[kept.dtype].width; at--)
        w->tensors[at] = w->tensors[at - 1];
    w->tensors[at] = kept;
    return true;
}

/* ---- Making the header ----------------------------------------------------------------------- */

/* Set a key of an object to a value, which is taken over; a key there may be only once. */
static lth_status set_once(json_t *object, const char *key, json_t *value, lth_error *err) {
    lth_status status = LTH_OK;
    size_t length = strlen(key);
    if (lth__utf8_check(key, length) < length)
        status = lth__fail(err, LTH_EARG, "a name in a model file must be UTF-8");
    else if (json_object_get(object, key) != NULL)
        status = lth__fail(err, LTH_EARG, "\"%s\" is put into the model file twice", key);
    if (status == LTH_OK)
        return json_object_set_new(object, key, value) == 0 ? LTH_OK : lth__fail_memory(err, 0);
    json_decref(value);
    return status;
}

static lth_status set_text(json_t *metadata, const char *key, const char *value, lth_error *err) {
    size_t length = strlen(value);
    if (lth__utf8_check(value, length) < length)
        return lth__fail(err, LTH_EARG, "the text \"%s\" of a model file must be UTF-8", key);
    return set_once(metadata, key, json_stringn(value, length), err);
}

/* The checksum comes last: here it only takes its place, so that no text can. */
static lth_status fill_metadata(const lth__tensors_writer *w, json_t *metadata, lth_error *err) {
    LTH_TRY(set_text(metadata, "format", format_name, err));
    LTH_TRY(set_text(metadata, "version", version_name, err));
    LTH_TRY(set_text(metadata, "checksum", "", err));
    for (size_t i = 0; i < w->text_count; i++)
        LTH_TRY(set_text(metadata, w->texts[i].key, w->texts[i].value, err));
    return LTH_OK;
}

static lth_status add_tensor(json_t *header, const lth__tensor *tensor, size_t *position,
                             lth_error *err) {
    size_t bytes, end;
    if (tensor->rank > MAX_RANK || !data_size(tensor, &bytes) ||
        __builtin_add_overflow(*position, bytes, &end) || end > PTRDIFF_MAX ||
        (bytes > 0 && tensor->data == NULL))
        return lth__fail(err, LTH_EARG, "the shape of the array \"%s\" does not fit its data",
                         tensor->name);
    json_t *shape = json_array();
    for (size_t i = 0; i < tensor->rank; i++)
        if (json_array_append_new(shape, json_integer((json_int_t)tensor->shape[i])) != 0) {
            json_decref(shape);
            return lth__fail_memory(err, 0);
        }
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtypes[tensor->dtype].name, "shape",
                              shape, "data_offsets", (json_int_t)*position, (json_int_t)end);
    *position = end;
    return set_once(header, tensor->name, entry, err);
}

static int append_json(const char *bytes, size_t length, void *string) {
    lth__string_append(string, bytes, length);
    return 0;
}

static lth_status print_header(const json_t *header, lth__string *out, lth_error *err) {
    if (json_dump_callback(header, append_json, out, JSON_COMPACT) != 0)
        return lth__fail_memory(err, 0);
    size_t past = (PREFIX + out->length) % ALIGNMENT;
    if (past > 0) lth__string_append(out, "       ", ALIGNMENT - past);
    if (out->failed) return lth__fail_memory(err, out->length);
    if (out->length > MAX_HEADER)
        return lth__fail(err, LTH_EARG, "the names and texts of a model file exceed 100 MB");
    return LTH_OK;
}

static lth_status fill_header(const lth__tensors_writer *w, json_t *header, lth__string *out,
                              lth_error *err) {
    json_t *metadata = json_object();
    LTH_TRY(set_once(header, metadata_name, metadata, err));
    LTH_TRY(fill_metadata(w, metadata, err));
    size_t position = 0;
    for (size_t i = 0; i < w->count; i++)
        LTH_TRY(add_tensor(header, &w->tensors[i], &position, err));
    char checksum[16];
    LTH_TRY(make_checksum(metadata, w->tensors, w->count, checksum, err));
    if (json_object_set_new(metadata, "checksum", json_string(checksum)) != 0)
        return lth__fail_memory(err, 0);
    return print_header(header, out, err);
}

static lth_status make_header(const lth__tensors_writer *w, lth__string *out, lth_error *err) {
    json_t *header = json_object();
    if (header == NULL) return lth__fail_memory(err, 0);
    lth_status status = fill_header(w, header, out, err);
    json_decref(header);
    return status;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bool write_all(const lth__tensors_writer *w, const lth__string *header, lth_write_fn *write,
                      void *user) {
    unsigned char prefix[PREFIX];
    for (size_t i = 0; i < PREFIX; i++)
        prefix[i] = (unsigned char)((uint64_t)header->length >> (8 * i) & 255);
    if (write(user, prefix, PREFIX) || write(user, header->bytes, header->length)) return false;
    for (size_t i = 0; i < w->count; i++) {
        size_t bytes = 0;
        data_size(&w->tensors[i], &bytes);
        if (bytes > 0 && write(user, w->tensors[i].data, bytes)) return false;
    }
    return true;
}

lth_status lth__tensors_write_to(lth__tensors_writer *w, lth_write_fn *write, void *user,
                                 lth_error *err) {
    LTH_TRY(check_byte_order(err));
    lth__string header = {0};
    lth_status status = make_header(w, &header, err);
    if (status == LTH_OK && !write_all(w, &header, write, user))
        status = lth__fail(err, LTH_EIO, "cannot write: the function that takes the bytes failed");
    lth__string_free(&header);
    return status;
}

/* An output that remembers by itself what failed. */
static int write_output(void *user, const void *bytes, size_t size) {
    return lth_output_write(user, bytes, size, NULL) != LTH_OK;
}

lth_status lth__tensors_write(lth__tensors_writer *w, const char *path, lth_error *err) {
    lth_output *out;
    LTH_TRY(lth_output_open(path, &out, err));
    lth_status status = lth__tensors_write_to(w, write_output, out, err);
    if (status == LTH_OK || status == LTH_EIO) status = lth_output_commit(out, err);
    lth_output_free(out);
    return status;
}

/* ---- Reading the header ---------------------------------------------------------------------- */

struct lth__tensors {
    const lth__relay *relay; /* while it is read: NULL = by this process    */
    char *path;
    unsigned char *bytes;    /* the file; arrays point into it              */
    size_t size, data_start; /* of the file; where its header ends          */
    json_t *header;          /* owns the names and the texts                */
    json_t *metadata;        /* inside the header                           */
    lth__tensor *tensors;
    size_t count;
};

static lth_status refuse(const lth__tensors *t, const char *why, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, t->path, 0, 0, "%s", why);
}

/* By the process that reads. */
static lth_status read_own(const lth__tensors *t, FILE *stream, void *out, size_t count,
                           lth_error *err) {
    errno = 0;
    if (fread(out, 1, count, stream) == count) return LTH_OK;
    if (ferror(stream))
        return lth__fail_at(err, LTH_EIO, t->path, 0, 0, "cannot read: %s", strerror(errno));
    return refuse(t, "the file ends early", err);
}

static lth_status read_bytes(const lth__tensors *t, FILE *stream, void *out, size_t count,
                             lth_error *err) {
    lth_status status = stream != NULL ? read_own(t, stream, out, count, err) : LTH_OK;
    return lth__relay_share(t->relay, status, out, count, err);
}

static lth_status parse_header(lth__tensors *t, lth_error *err) {
    const char *text = (const char *)t->bytes + PREFIX;
    size_t length = t->data_start - PREFIX;
    if (length == 0 || text[0] != '{') return refuse(t, "not a luthier model", err);
    json_error_t why;
    lth_status status = lth__json_read(text, length, JSON_REJECT_DUPLICATES, &t->header, &why, err);
    if (status != LTH_EFORMAT) return status;
    return lth__fail_at(err, LTH_EFORMAT, t->path, 0, 0, "the header is not JSON at its byte %d",
                        why.position);
}

static lth_status read_header(lth__tensors *t, FILE *stream, lth_error *err) {
    unsigned char prefix[PREFIX];
    if (t->size < PREFIX) return refuse(t, "not a luthier model", err);
    LTH_TRY(read_bytes(t, stream, prefix, PREFIX, err));
    uint64_t length = 0;
    for (size_t i = 0; i < PREFIX; i++) length |= (uint64_t)prefix[i] << (8 * i);
    if (length > t->size - PREFIX)
        return refuse(t, "not a luthier model, or one that was cut off", err);
    if (length > MAX_HEADER) return refuse(t, "the header is longer than 100 MB", err);
    t->data_start = PREFIX + (size_t)length;
    LTH_TRY(lth__memory_check(t->size, "the model", "", err));
    t->bytes = lth__alloc(t->size, 1);
    if (t->bytes == NULL) return lth__fail_memory(err, t->size);
    memcpy(t->bytes, prefix, PREFIX);
    LTH_TRY(read_bytes(t, stream, t->bytes + PREFIX, (size_t)length, err));
    return parse_header(t, err);
}

static lth_status check_version(const lth__tensors *t, lth_error *err) {
    const char *version = lth__tensors_text(t, "version");
    if (version != NULL && strcmp(version, version_name) == 0) return LTH_OK;
    if (version == NULL || version[0] < '1' || version[0] > '9' ||
        version[strspn(version, "0123456789")] != '\0')
        return refuse(t, "the version of the model file is not a number", err);
    return lth__fail_at(err, LTH_EFORMAT, t->path, 0, 0,
                        "made by a newer luthier: version %s; this one reads %s", version,
                        version_name);
}

/* Before the arrays: those of a newer version may be described in ways not known here. */
static lth_status take_metadata(lth__tensors *t, lth_error *err) {
    t->metadata = json_object_get(t->header, metadata_name);
    const char *format = lth__tensors_text(t, "format");
    if (format == NULL || strcmp(format, format_name) != 0)
        return refuse(t, "not a luthier model", err);
    LTH_TRY(check_version(t, err));
    const char *key;
    json_t *value;
    json_object_foreach(t->metadata, key, value) {
        if (!json_is_string(value)) return refuse(t, "the metadata are not all texts", err);
    }
    return LTH_OK;
}

/* ---- Reading the arrays ---------------------------------------------------------------------- */

/* A list of at most `most` counts; false if it is anything else. */
static bool take_counts(const json_t *list, size_t most, size_t *out, size_t *count) {
    if (!json_is_array(list) || json_array_size(list) > most) return false;
    *count = json_array_size(list);
    for (size_t i = 0; i < *count; i++) {
        const json_t *number = json_array_get(list, i);
        if (!json_is_integer(number)) return false;
        json_int_t value = json_integer_value(number);
        if (value < 0 || (uint64_t)value > SIZE_MAX) return false;
        out[i] = (size_t)value;
    }
    return true;
}

static bool take_dtype(const json_t *value, lth__dtype *out) {
    const char *name = json_string_value(value);
    for (size_t i = 0; name != NULL && i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(name, dtypes[i].name) == 0) {
            *out = (lth__dtype)i;
            return true;
        }
    return false;
}

/* The array an entry describes, whose data must begin at *position of the data; NULL, or what is
 * wrong with it. */
static const char *take_tensor(const lth__tensors *t, const json_t *entry, lth__tensor *tensor,
                               size_t *position) {
    size_t offsets[2], offset_count, bytes;
    if (json_object_size(entry) != 3) return "not described by dtype, shape and data_offsets";
    if (!take_dtype(json_object_get(entry, "dtype"), &tensor->dtype)) return "unknown dtype";
    if (!take_counts(json_object_get(entry, "shape"), MAX_RANK, tensor->shape, &tensor->rank))
        return "the shape is not a list of at most 3 counts";
    if (!take_counts(json_object_get(entry, "data_offsets"), 2, offsets, &offset_count) ||
        offset_count != 2)
        return "the data_offsets are not two counts";
    for (size_t i = tensor->rank; i < MAX_RANK; i++) tensor->shape[i] = 1;

    if (!data_size(tensor, &bytes)) return "too large";
    if (offsets[0] != *position) return "the data do not begin where those before them end";
    if (offsets[1] < offsets[0] || offsets[1] - offsets[0] != bytes)
        return "the data have not the size of the shape";
    if (offsets[1] > t->size - t->data_start) return "the data end after the file";
    if ((t->data_start + *position) % dtypes[tensor->dtype].width != 0)
        return "the data are not aligned";
    tensor->data = t->bytes + t->data_start + *position;
    *position = offsets[1];
    return NULL;
}

static lth_status take_tensors(lth__tensors *t, lth_error *err) {
    size_t most = json_object_size(t->header), position = 0;
    t->tensors = lth__calloc(most, sizeof *t->tensors);
    if (t->tensors == NULL) return lth__fail_memory(err, most * sizeof *t->tensors);
    const char *name;
    json_t *entry;
    json_object_foreach(t->header, name, entry) {
        if (entry == t->metadata) continue;
        lth__tensor *tensor = &t->tensors[t->count++];
        tensor->name = name;
        const char *wrong = take_tensor(t, entry, tensor, &position);
        /* By number: a name that nobody has checked is better not shown on a terminal. */
        if (wrong != NULL)
            return lth__fail_at(err, LTH_EFORMAT, t->path, 0, 0, "array %zu: %s", t->count, wrong);
    }
    if (position == t->size - t->data_start) return LTH_OK;
    return refuse(t, "the file goes on after its arrays", err);
}

static lth_status check_checksum(const lth__tensors *t, lth_error *err) {
    const char *given = lth__tensors_text(t, "checksum");
    if (given == NULL) return refuse(t, "the checksum is missing", err);
    char made[16];
    LTH_TRY(make_checksum(t->metadata, t->tensors, t->count, made, err));
    return strcmp(given, made) == 0 ? LTH_OK : refuse(t, "damaged: the checksum is wrong", err);
}

/* The header is checked before the data are read, so that a large file of another kind is refused
 * for what it is, not for its size. */
static lth_status read_stream(lth__tensors *t, FILE *stream, lth_error *err) {
    LTH_TRY(read_header(t, stream, err));
    LTH_TRY(take_metadata(t, err));
    LTH_TRY(take_tensors(t, err));
    LTH_TRY(lth__memory_check(t->size, "the model", "use a machine with more memory", err));
    LTH_TRY(read_bytes(t, stream, t->bytes + t->data_start, t->size - t->data_start, err));
    return check_checksum(t, err);
}

/* A regular file and its size. */
static lth_status open_file(lth__tensors *t, FILE **out, lth_error *err) {
    struct stat info;
    LTH_TRY(lth__file_open(t->path, out, err));
    if (fstat(fileno(*out), &info) != 0)
        return lth__fail_at(err, LTH_EIO, t->path, 0, 0, "cannot read: %s", strerror(errno));
    t->size = (size_t)info.st_size;
    return LTH_OK;
}

static lth_status read_file(lth__tensors *t, lth_error *err) {
    FILE *stream = NULL;
    lth_status status = lth__relay_reads(t->relay) ? open_file(t, &stream, err) : LTH_OK;
    status = lth__relay_share(t->relay, status, &t->size, sizeof t->size, err);
    if (status == LTH_OK) status = read_stream(t, stream, err);
    if (stream != NULL) fclose(stream);
    return status;
}

static lth_status read_memory(lth__tensors *t, const void *bytes, lth_error *err) {
    /* Without bytes there can be no stream, and none is needed to see that. */
    FILE *stream = t->size > 0 ? fmemopen((void *)(uintptr_t)bytes, t->size, "rb") : NULL;
    if (stream == NULL && t->size > 0) return lth__fail_memory(err, t->size);
    lth_status status = read_stream(t, stream, err);
    if (stream != NULL) fclose(stream);
    return status;
}

/* From a file, or with `path` NULL from memory. */
static lth_status read_any(const lth__relay *relay, const char *path, const void *bytes,
                           size_t size, lth__tensors **out, lth_error *err) {
    LTH_TRY(check_byte_order(err));
    lth__tensors *t = lth__calloc(1, sizeof *t);
    if (t == NULL) return lth__fail_memory(err, sizeof *t);
    const char *name = path != NULL ? path : "";
    t->path = lth__strndup(name, strlen(name));
    t->size = size;
    t->relay = relay;
    lth_status status = t->path == NULL ? lth__fail_memory(err, strlen(name) + 1)
                        : path != NULL  ? read_file(t, err)
                                        : read_memory(t, bytes, err);
    if (status != LTH_OK) {
        lth__tensors_free(t);
        return status;
    }
    t->relay = NULL;
    *out = t;
    return LTH_OK;
}

lth_status lth__tensors_read(const lth__relay *relay, const char *path, lth__tensors **out,
                             lth_error *err) {
    return read_any(relay, path, NULL, 0, out, err);
}

lth_status lth__tensors_read_from(const void *bytes, size_t size, lth__tensors **out,
                                  lth_error *err) {
    return read_any(NULL, NULL, bytes, size, out, err);
}

void lth__tensors_free(lth__tensors *t) {
    if (t == NULL) return;
    json_decref(t->header);
    lth__free(t->tensors);
    lth__free(t->bytes);
    lth__free(t->path);
    lth__free(t);
}

/* ---- Looking up ------------------------------------------------------------------------------ */

const char *lth__tensors_text(const lth__tensors *t, const char *key) {
    return json_string_value(json_object_get(t->metadata, key));
}

const lth__tensor *lth__tensors_find(const lth__tensors *t, const char *name) {
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->tensors[i].name, name) == 0) return &t->tensors[i];
    return NULL;
}

lth_status lth__tensors_get(const lth__tensors *t, const char *name, lth__dtype dtype, size_t rank,
                            const lth__tensor **out, lth_error *err) {
    const lth__tensor *found = lth__tensors_find(t, name);
    if (found == NULL)
        return lth__fail_at(err, LTH_EFORMAT, t->path, 0, 0, "the array \"%s\" is missing", name);
    if (found->dtype != dtype)
        return lth__fail_at(err, LTH_EFORMAT, t->path, 0, 0,
                            "the array \"%s\" has the type %s, not %s", name,
                            dtypes[found->dtype].name, dtypes[dtype].name);
    if (found->rank != rank)
        return lth__fail_at(err, LTH_EFORMAT, t->path, 0, 0,
                            "the array \"%s\" has %zu dimensions, not %zu", name, found->rank,
                            rank);
    *out = found;
    return LTH_OK;
}

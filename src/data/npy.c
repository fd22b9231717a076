/* NumPy's .npy files: a magic text, a version, a header that is a Python dictionary
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 * padded so that the data begin at a multiple of 64, and the data. */
#include "data/npy.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "luthier.h"

enum { MAX_RANK = 3, MAX_HEADER = 65536, ALIGNMENT = 64 };
/* A header may promise anything: more than this is allocated only after this much was read. */
enum { TRUSTED_VALUES = 8 << 20, VALUES_AT_ONCE = 1 << 20 };

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/* The number of values, or false when their bytes as doubles could not be counted. */
static bool count_values(const size_t *shape, size_t rank, size_t *out) {
    size_t count = 1;
    for (size_t i = 0; i < rank; i++)
        if (shape[i] == 0) count = 0;
    for (size_t i = 0; i < rank && count > 0; i++) {
        if (shape[i] > PTRDIFF_MAX / sizeof(double) / count) return false;
        count *= shape[i];
    }
    *out = count;
    return true;
}

static lth_status check_byte_order(lth_error *err) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    (void)err;
    return LTH_OK;
#else
    return lth__fail(err, LTH_EUNSUPPORTED, ".npy files need a little-endian machine");
#endif
}

/* ---- Writing -------------------------------------------------------------------------------- */

/* The whole of the header, magic and all, in `out`; its length. */
static size_t make_header(const size_t *shape, size_t rank, char out[4 * ALIGNMENT]) {
    const size_t start = sizeof magic + 4;
    char text[3 * ALIGNMENT];
    int used = snprintf(text, sizeof text, "{'descr': '<f8', 'fortran_order': False, 'shape': (");
    for (size_t i = 0; i < rank; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%zu", i ? ", " : "", shape[i]);
    used += snprintf(text + used, sizeof text - (size_t)used, "%s), }", rank == 1 ? "," : "");

    size_t total = (start + (size_t)used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t length = total - start;
    memset(out, ' ', total);
    memcpy(out, magic, sizeof magic);
    out[6] = 1;
    out[7] = 0;
    out[8] = (char)(length & 255);
    out[9] = (char)(length >> 8);
    memcpy(out + start, text, (size_t)used);
    out[total - 1] = '\n';
    return total;
}

lth_status lth_npy_write(const char *path, const double *data, const size_t *shape, size_t rank,
                         lth_error *err) {
    LTH_TRY(check_byte_order(err));
    if (!path || !shape || rank < 1 || rank > MAX_RANK)
        return lth__fail(err, LTH_EARG, "an array needs a path, a shape and 1 to 3 dimensions");
    size_t count;
    if (!count_values(shape, rank, &count) || (count > 0 && !data))
        return lth__fail(err, LTH_EARG, "the shape of the array does not fit its data");

    char header[4 * ALIGNMENT];
    size_t length = make_header(shape, rank, header);
    lth_output *out;
    LTH_TRY(lth_output_open(path, &out, err));
    lth_status status = lth_output_write(out, header, length, err);
    if (status == LTH_OK) status = lth_output_write(out, data, count * sizeof *data, err);
    if (status == LTH_OK) status = lth_output_commit(out, err);
    lth_output_free(out);
    return status;
}

/* ---- Reading the header --------------------------------------------------------------------- */

static void skip_space(const char **at) {
    while (**at == ' ' || **at == '\n') ++*at;
}

static bool skip_char(const char **at, char wanted) {
    skip_space(at);
    if (**at != wanted) return false;
    ++*at;
    return true;
}

static bool skip_word(const char **at, const char *wanted) {
    skip_space(at);
    size_t length = strlen(wanted);
    if (strncmp(*at, wanted, length) != 0) return false;
    *at += length;
    return true;
}

/* 'text' in single or double quotes, without escapes. */
static bool take_string(const char **at, const char **text, size_t *length) {
    skip_space(at);
    char quote = **at;
    if (quote != '\'' && quote != '"') return false;
    const char *end = strchr(*at + 1, quote);
    if (!end) return false;
    *text = *at + 1;
    *length = (size_t)(end - *text);
    *at = end + 1;
    return true;
}

static bool is_text(const char *text, size_t length, const char *wanted) {
    return length == strlen(wanted) && memcmp(text, wanted, length) == 0;
}

static bool take_size(const char **at, size_t *out) {
    size_t value = 0;
    const char *start = *at;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(value, (size_t)10, &value) ||
            __builtin_add_overflow(value, (size_t)(**at - '0'), &value))
            return false;
    *out = value;
    return *at > start;
}

/* A tuple of sizes. Those past MAX_RANK are only counted. */
static bool take_shape(const char **at, lth__npy *a) {
    if (!skip_char(at, '(')) return false;
    for (;;) {
        size_t size;
        if (skip_char(at, ')')) return true;
        if (!take_size(at, &size)) return false;
        if (a->rank < MAX_RANK) a->shape[a->rank] = size;
        a->rank++;
        if (!skip_char(at, ',')) return skip_char(at, ')');
    }
}

static lth_status take_type(const char *file, const char **at, lth__npy *a, lth_error *err) {
    const char *text = "";
    size_t length = 0;
    bool simple = take_string(at, &text, &length);
    if (simple && is_text(text, length, "<f8")) a->width = 8;
    if (simple && is_text(text, length, "<f4")) a->width = 4;
    if (a->width) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, file, 0, 0,
                        "the values are of type \"%.*s\"; \"<f8\" or \"<f4\" is needed",
                        simple && length < 32 ? (int)length : 0, text);
}

static lth_status fail_header(const char *file, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, file, 0, 0, "the .npy header is malformed");
}

/* One "'key': value" of the header; each of the three keys once. */
static lth_status take_entry(const char *file, const char **at, lth__npy *a, unsigned *seen,
                             lth_error *err) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    const char *key;
    size_t length;
    unsigned which = 0;
    if (!take_string(at, &key, &length) || !skip_char(at, ':')) return fail_header(file, err);
    while (which < 3 && !is_text(key, length, keys[which])) which++;
    if (which == 3 || (*seen & 1u << which)) return fail_header(file, err);
    *seen |= 1u << which;
    if (which == 0) return take_type(file, at, a, err);
    if (which == 2) return take_shape(at, a) ? LTH_OK : fail_header(file, err);
    if (skip_word(at, "True"))
        return lth__fail_at(err, LTH_EFORMAT, file, 0, 0,
                            "the array is in Fortran order; C order is needed");
    return skip_word(at, "False") ? LTH_OK : fail_header(file, err);
}

static lth_status parse_header(const char *file, const char *text, lth__npy *a, lth_error *err) {
    unsigned seen = 0;
    if (!skip_char(&text, '{')) return fail_header(file, err);
    while (!skip_char(&text, '}')) {
        LTH_TRY(take_entry(file, &text, a, &seen, err));
        if (!skip_char(&text, ',')) {
            if (!skip_char(&text, '}')) return fail_header(file, err);
            break;
        }
    }
    skip_space(&text);
    if (*text != '\0' || seen != 7) return fail_header(file, err);
    if (a->rank < 1 || a->rank > MAX_RANK)
        return lth__fail_at(err, LTH_EFORMAT, file, 0, 0,
                            "the array has %zu dimensions; 1 to 3 are read", a->rank);
    if (!count_values(a->shape, a->rank, &a->count))
        return lth__fail_at(err, LTH_EFORMAT, file, 0, 0, "the array is too large");
    for (size_t i = a->rank; i < MAX_RANK; i++) a->shape[i] = 1;
    return LTH_OK;
}

/* The next `count` bytes of the header, all of them. */
static lth_status header_bytes(lth__input *in, void *bytes, size_t count, lth_error *err) {
    size_t got;
    LTH_TRY(lth__input_bytes(in, bytes, count, &got, err));
    if (got == count) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, lth__input_name(in), 0, 0,
                        "the file ends inside the .npy header");
}

static lth_status read_header(lth__input *in, lth__npy *a, lth_error *err) {
    const char *file = lth__input_name(in);
    unsigned char start[8], size[4] = {0};
    LTH_TRY(header_bytes(in, start, sizeof start, err));
    if (memcmp(start, magic, sizeof magic) != 0)
        return lth__fail_at(err, LTH_EFORMAT, file, 0, 0, "not a .npy file");
    if (start[6] < 1 || start[6] > 3)
        return lth__fail_at(err, LTH_EFORMAT, file, 0, 0,
                            "the .npy format has version %u; 1 to 3 are read", start[6]);
    LTH_TRY(header_bytes(in, size, start[6] == 1 ? 2 : 4, err));
    size_t length = size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 | (size_t)size[3] << 24;
    if (length > MAX_HEADER) return fail_header(file, err);

    char *text = lth__alloc(length + 1, 1);
    if (!text) return lth__fail_memory(err, length + 1);
    lth_status status = header_bytes(in, text, length, err);
    if (status == LTH_OK) {
        text[length] = '\0';
        status = strlen(text) == length ? parse_header(file, text, a, err) : fail_header(file, err);
    }
    lth__free(text);
    return status;
}

/* ---- Reading the data ----------------------------------------------------------------------- */

/* Up to `count` values. Floats go into the far half of their place first: widened from the front,
 * no double is written over a float still to be read. */
static lth_status read_values(lth__npy *n, double *out, size_t count, size_t *got, lth_error *err) {
    size_t bytes;
    char *raw = (char *)out + count * (sizeof *out - n->width);
    LTH_TRY(lth__input_bytes(n->in, raw, count * n->width, &bytes, err));
    *got = bytes / n->width;
    if (n->width == sizeof *out) return LTH_OK;
    for (size_t i = 0; i < *got; i++) {
        float value;
        memcpy(&value, raw + i * sizeof value, sizeof value);
        out[i] = value;
    }
    return LTH_OK;
}

lth_status lth__npy_open(const lth__relay *relay, const char *path, lth__npy *n, lth_error *err) {
    *n = (lth__npy){0};
    LTH_TRY(check_byte_order(err));
    LTH_TRY(lth__input_open(relay, path, &n->in, err));
    return read_header(n->in, n, err);
}

lth_status lth__npy_next(lth__npy *n, double *out, size_t count, lth_error *err) {
    size_t got;
    LTH_TRY(read_values(n, out, count, &got, err));
    n->done += got;
    if (got == count) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, lth__input_name(n->in), 0, 0,
                        "the file ends after %zu of %zu values", n->done, n->count);
}

lth_status lth__npy_end(lth__npy *n, lth_error *err) {
    const char *ahead;
    size_t left;
    LTH_TRY(lth__input_peek(n->in, 1, &ahead, &left, err));
    if (left == 0) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, lth__input_name(n->in), 0, 0,
                        "the file goes on after its %zu values", n->count);
}

void lth__npy_close(lth__npy *n) {
    lth__input_close(n->in);
    n->in = NULL;
}

static lth_status grow(double **data, size_t count, lth_error *err) {
    size_t bytes = count * sizeof **data;
    LTH_TRY(lth__memory_check(bytes, "the array", "use a machine with more memory", err));
    double *larger = lth__realloc(*data, count, sizeof **data);
    if (!larger) return lth__fail_memory(err, bytes);
    *data = larger;
    return LTH_OK;
}

static lth_status read_data(lth__npy *n, double **data, lth_error *err) {
    size_t room = n->count < TRUSTED_VALUES ? n->count : TRUSTED_VALUES;
    *data = lth__alloc(room, sizeof **data);
    if (!*data) return lth__fail_memory(err, room * sizeof **data);
    while (n->done < n->count) {
        if (n->done == room) {
            room = n->count;
            LTH_TRY(grow(data, room, err));
        }
        size_t left = room - n->done;
        LTH_TRY(
            lth__npy_next(n, *data + n->done, left < VALUES_AT_ONCE ? left : VALUES_AT_ONCE, err));
    }
    return lth__npy_end(n, err);
}

lth_status lth_npy_read(const char *path, double **data, size_t shape[3], size_t *rank,
                        lth_error *err) {
    if (!path || !data || !shape || !rank)
        return lth__fail(err, LTH_EARG, "a path and places for data, shape and rank are needed");
    lth__npy n;
    double *values = NULL;
    lth_status status = lth__npy_open(NULL, path, &n, err);
    if (status == LTH_OK) status = read_data(&n, &values, err);
    lth__npy_close(&n);
    if (status != LTH_OK) {
        lth__free(values);
        return status;
    }
    *data = values;
    memcpy(shape, n.shape, sizeof n.shape);
    *rank = n.rank;
    return LTH_OK;
}

void lth_npy_free(double *data) {
    lth__free(data);
}

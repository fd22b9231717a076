/* Statuses, their texts, and filling in the reason of a failure. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/text.h"

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)

const char *lth_version(void) {
    return QUOTE(LTH_VERSION_MAJOR) "." QUOTE(LTH_VERSION_MINOR) "." QUOTE(LTH_VERSION_PATCH);
}

const char *lth_status_text(lth_status status) {
    switch (status) {
#define STATUS_CASE(name, value, text)                                                             \
    case LTH_##name: return text;
        LTH_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

/* vsnprintf() that cuts between characters, not inside one. */
static void format_cut(char *out, size_t size, const char *format, va_list args) {
    int length = vsnprintf(out, size, format, args);
    if (length < 0) {
        out[0] = '\0';
    } else if ((size_t)length >= size) {
        out[lth__utf8_check(out, size - 1)] = '\0';
    }
}

LTH_PRINTF(3, 4)
static void print_cut(char *out, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    format_cut(out, size, format, args);
    va_end(args);
}

/* Built apart from *err, since the arguments may point into it when a reason is made longer. */
LTH_PRINTF(6, 0)
static lth_status fail_with(lth_error *err, lth_status status, const char *file, size_t line,
                            size_t column, const char *format, va_list args) {
    if (err == NULL) return status;
    lth_error made = {.status = status, .line = line, .column = column};
    if (file != NULL) print_cut(made.file, sizeof made.file, "%s", file);
    format_cut(made.message, sizeof made.message, format, args);
    *err = made;
    return status;
}

lth_status lth__fail(lth_error *err, lth_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fail_with(err, status, NULL, 0, 0, format, args);
    va_end(args);
    return status;
}

lth_status lth__fail_at(lth_error *err, lth_status status, const char *file, size_t line,
                        size_t column, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fail_with(err, status, file, line, column, format, args);
    va_end(args);
    return status;
}

lth_status lth__fail_memory(lth_error *err, size_t bytes) {
    size_t refused = lth__memory_refused();
    if (refused > bytes) bytes = refused;
    if (bytes == 0) return lth__fail(err, LTH_ENOMEM, "out of memory");
    if (bytes < 100000) return lth__fail(err, LTH_ENOMEM, "out of memory: %zu bytes wanted", bytes);
    return lth__fail(err, LTH_ENOMEM, "out of memory: %.1f MB wanted", (double)bytes / 1e6);
}

#define _GNU_SOURCE /* memmem */
/* Any text, cut in every way: the units, put together again, are the text less its white space. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "data/units.h"
#include "harness.h"

/* Units stand in the text in their order, and chars and bytes leave nothing out. */
static void check(const char *text, size_t length, lth__units units, const lth__symbols *symbols,
                  const lth__symbol *items, size_t count) {
    size_t at = 0, covered = 0;
    for (size_t i = 0; i < count; i++) {
        size_t size;
        const char *unit = lth__symbols_text(symbols, items[i], &size);
        if (size == 0) abort();
        const char *found = memmem(text + at, length - at, unit, size);
        if (!found) abort();
        at = (size_t)(found - text) + size;
        covered += size;
    }
    if ((units == LTH__CHARS || units == LTH__BYTES) && covered != length) abort();
}

static void split(const char *text, size_t length, lth__units units, bool lower) {
    lth__symbols *symbols = lth__symbols_create();
    lth__symbol *items = NULL;
    size_t count = 0, capacity = 0;
    if (symbols && lth__units_split(text, length, units, lower, symbols, &items, &count, &capacity,
                                    NULL) == LTH_OK) {
        if (!lower) check(text, length, units, symbols, items, count);
        if (units == LTH__BYTES && count != length) abort();
    }
    lth__free(items);
    lth__symbols_free(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    bool valid = size == 0 || lth__utf8_check(text, size) == size;
    for (int lower = 0; lower < 2; lower++) {
        split(text, size, LTH__BYTES, lower);
        for (int units = LTH__WORDS; valid && units < LTH__BYTES; units++)
            split(text, size, (lth__units)units, lower);
    }
    return 0;
}

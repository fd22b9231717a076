/* Any bytes as one of the files of a Gram matrix on disk: .zarray, .zattrs or a tile, as the first
 * byte says. What opens can be read, or tells why not. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { SIDE = 64, MOST = 4096 };

static const harness_file files[] = {
    {".zarray",
     "{\"zarr_format\":2,\"shape\":[2,2],\"chunks\":[2,2],\"dtype\":\"<f8\",\"order\":\"C\","
     "\"compressor\":null,\"fill_value\":\"NaN\",\"filters\":null}"},
    {".zattrs", "{\"kernel\":\"rbf(f1)\",\"precision\":\"f64\",\"symmetric\":\"yes\","
                "\"isa\":\"portable\",\"made_by\":\"luthier\"}"},
    {"0.0", "12345678abcdefgh12345678ABCDEFGH"},
};
enum { FILES = sizeof files / sizeof *files };

static void check_error(const lth_error *err) {
    if (!err->message[0] || err->status == LTH_OK) abort();
}

static void read_store(const char *folder) {
    static double K[SIDE * SIDE];
    lth_store *store = NULL;
    lth_error err = {0};
    if (lth_store_open(folder, &store, &err) != LTH_OK) {
        check_error(&err);
        return;
    }
    const lth_store_info *info = lth_store_described(store);
    size_t rows = info->rows < SIDE ? info->rows : SIDE,
           cols = info->cols < SIDE ? info->cols : SIDE;
    if (info->tile_rows <= MOST / info->tile_cols &&
        lth_store_read(store, 0, rows, 0, cols, K, SIDE, &err) != LTH_OK)
        check_error(&err);
    lth_store_free(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    read_store(harness_folder(files, FILES, data, size));
    return 0;
}

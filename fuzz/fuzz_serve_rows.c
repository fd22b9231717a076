/* Any bytes as the body of a request: what is accepted has a text in each cell; what is refused is
 * refused with a status and a reason. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "serve/serve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    serve_column at[] = {{.name = "text"}, {.name = "f1", .kind = LTH_COLUMN_NUMBERS}};
    serve_columns columns = {.at = at, .count = 2};
    serve_rows rows;
    problem why = {0};
    if (!read_rows(&columns, (const char *)data, size, &rows, &why)) {
        if (why.status < 400 || why.status > 599 || !why.text[0]) abort();
        return 0;
    }
    if (why.status || (rows.single && rows.count != 1)) abort();
    for (size_t i = 0; i < rows.count * columns.count; ++i)
        if (!rows.text[i] || strlen(rows.text[i]) != rows.length[i]) abort();
    free_rows(&rows);
    return 0;
}

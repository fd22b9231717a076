/* luthier gram: Gram matrices, their gradients, and every order of a string kernel. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json.h"
#include "ranks.h"
#include "session.h"

typedef struct job {
    session session;
    const options *options;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *rows, *cols; /* cols NULL = rows against themselves */
    size_t row_count, column_count, orders, parameters;
    double *values, *gradients;
    lth_gram_store_options store;
} job;

static bool is_stream(const char *path) {
    return path && strcmp(path, "-") == 0;
}

static int check_store_usage(const options *o) {
    const command *c = o->command;
    const char *of_stores = o->resume        ? "resume"
                            : o->part        ? "part"
                            : o->tile        ? "tile"
                            : o->values >= 0 ? "values"
                                             : NULL;
    if (!is_store(o->output) && of_stores)
        return usage_error(c, "--%s goes with -o K.zarr", of_stores);
    const char *of_arrays = o->per_order ? "per-order" : o->gradients ? "gradients" : NULL;
    if (is_store(o->output) && of_arrays)
        return usage_error(c, "--%s goes with -o K.npy", of_arrays);
    return EXIT_DONE;
}

/* "3/64" */
static int parse_part(const options *o, lth_gram_store_options *out) {
    char *end;
    if (!o->part) return EXIT_DONE;
    const char *slash = strchr(o->part, '/');
    out->part = strtoul(o->part, &end, 10);
    bool good = slash && end == slash && isdigit((unsigned char)*o->part) &&
                isdigit((unsigned char)slash[1]);
    out->parts = good ? strtoul(slash + 1, &end, 10) : 0;
    if (good && !*end && out->part >= 1 && out->part <= out->parts && out->parts <= 1000000)
        return EXIT_DONE;
    return usage_error(o->command, "--part wants I/N, such as 3/64, not \"%s\"", o->part);
}

static int fill_store_options(job *j) {
    const options *o = j->options;
    lth_gram_store_options_init(&j->store);
    j->store.resume = o->resume;
    j->store.tile = (size_t)o->tile;
    j->store.values = o->values == 1 ? LTH_F32 : LTH_F64;
    return parse_part(o, &j->store);
}

static int check_usage(const options *o) {
    const command *c = o->command;
    if (!o->kernel) return usage_error(c, "gram wants --kernel EXPR");
    if (!o->output && !o->gradients) return usage_error(c, "gram wants -o FILE");
    if (o->per_order && !o->output) return usage_error(c, "--per-order wants -o FILE");
    if (is_stream(o->gradients))
        return usage_error(c, "--gradients - would mix with the parameters' names on standard "
                              "output; give a file");
    if (is_stream(o->output) && (o->gradients || o->json))
        return usage_error(c, "-o - would mix with what %s prints on standard output; give a file",
                           o->gradients ? "--gradients" : "--json");
    list tables = tables_from(o, 0);
    if (names_stdin(&tables) && is_stream(o->against))
        return usage_error(c, "only one of TABLE and --against can be standard input");
    if (o->against && o->array.count > 0)
        return usage_error(c, "--array goes with TABLE alone, not with --against");
    return check_store_usage(o);
}

/* A store that is there is an error, unless it is gone on with; and said before all is read. */
static int check_store(job *j) {
    const char *path = j->options->output;
    struct stat found;
    int number = stat(path, &found) == 0 ? 0 : errno;
    if (number == ENOENT || number == ENOTDIR) return check_output(path);
    if (j->store.resume || j->options->part) return EXIT_DONE;
    lth_error err = {.status = LTH_EARG};
    snprintf(err.file, sizeof err.file, "%s", path);
    if (number)
        snprintf(err.message, sizeof err.message, "cannot read: %s", strerror(number));
    else
        snprintf(err.message, sizeof err.message,
                 "is there already; --resume goes on with it, nothing overwrites it");
    return session_fail(&j->session, &err);
}

static int check_outputs(job *j) {
    int code = EXIT_DONE;
    if (is_store(j->options->output)) return check_store(j);
    if (j->options->output) code = session_check_binary_output(&j->session, j->options->output);
    if (!code && j->options->gradients)
        code = session_check_binary_output(&j->session, j->options->gradients);
    return code;
}

static int check_kernel(job *j) {
    const options *o = j->options;
    j->orders = o->per_order ? lth_kernel_orders(j->kernel) : 1;
    if (!j->orders)
        return usage_error(o->command, "--per-order wants a kernel that is one string kernel and "
                                       "nothing else, such as ssk(text)");
    return session_check_vectors(&j->session, j->kernel);
}

/* The first table also says which parameters the kernel has. */
static int make_encoder(job *j, const char *path, const lth_table *table) {
    lth_error err = {0};
    int code = session_resolve_kernel(&j->session, path, table, &j->kernel);
    if (code) return code;
    j->parameters = lth_kernel_params(j->kernel);
    if (lth_encoder_create(j->session.ctx, j->kernel, &j->encoder, &err) == LTH_OK)
        return EXIT_DONE;
    return session_fail(&j->session, &err);
}

static int encode_tables(job *j, list paths, lth_items **out) {
    const char *path = paths.at[0];
    lth_table *table = NULL;
    lth_error err = {0};
    int code = session_read_tables(&j->session, &paths, j->kernel, NULL, &table);
    if (!code && !j->encoder) code = make_encoder(j, path, table);
    if (!code && lth_encode(j->encoder, table, out, &err) != LTH_OK)
        code = session_fail_input(&j->session, &err, path);
    lth_table_free(table);
    return code;
}

static int load(job *j) {
    int code = session_parse_plain_kernel(&j->session, j->options->kernel, &j->kernel);
    if (!code) code = check_kernel(j);
    if (!code) code = encode_tables(j, tables_from(j->options, 0), &j->rows);
    const char *against = j->options->against;
    if (!code && against) code = encode_tables(j, (list){&against, 1}, &j->cols);
    if (!code) code = session_read_vectors(&j->session, j->kernel, j->encoder);
    if (code) return code;
    j->row_count = lth_items_count(j->rows);
    j->column_count = lth_items_count(j->cols ? j->cols : j->rows);
    return EXIT_DONE;
}

static int compute_values(job *j) {
    int code = session_allocate(&j->session, "the Gram matrix", j->orders, j->row_count,
                                j->column_count, &j->values);
    if (code) return code;
    lth_error err = {0};
    double start = seconds_now();
    lth_status status =
        j->options->per_order
            ? lth_gram_orders(j->kernel, j->rows, j->cols, j->values, &err)
            : lth_gram(j->kernel, j->rows, j->cols, j->values, j->column_count, &err);
    if (status != LTH_OK) return session_fail(&j->session, &err);
    double seconds = seconds_now() - start;
    unsigned threads = lth_ctx_threads(j->session.ctx);
    session_note(&j->session, "%zu x %zu rows, %s, %u thread%s, %.3g s, %.3g cell-orders/s",
                 j->row_count, j->column_count, lth_ctx_isa(j->session.ctx), threads,
                 threads == 1 ? "" : "s", seconds,
                 lth_gram_cell_orders(j->kernel, j->rows, j->cols) / seconds);
    return EXIT_DONE;
}

/* ---- On disk ---- */

static void say_interrupted(job *j) {
    lth_store *store = NULL;
    if (lth_store_open(j->options->output, &store, NULL) != LTH_OK) return;
    const lth_store_info *info = lth_store_described(store);
    session_say(&j->session, "%s has %zu of %zu tiles; --resume goes on", j->options->output,
                info->tiles - info->missing, info->tiles);
    lth_store_free(store);
}

static int store_values(job *j) {
    lth_error err = {0};
    double start = seconds_now();
    j->session.bar.unit = "tiles,";
    j->session.resumable = true;
    lth_status status =
        lth_gram_store(j->kernel, j->rows, j->cols, j->options->output, &j->store, &err);
    if (status == LTH_OK) {
        session_note(&j->session, "%zu x %zu rows, %.3g s", j->row_count, j->column_count,
                     seconds_now() - start);
        return EXIT_DONE;
    }
    int code = session_fail(&j->session, &err);
    if (was_interrupted()) say_interrupted(j);
    return code;
}

static int compute_gradients(job *j) {
    int code = session_allocate(&j->session, "the gradient", j->parameters, j->row_count,
                                j->column_count, &j->gradients);
    if (code) return code;
    lth_error err = {0};
    double start = seconds_now();
    if (lth_gram_gradients(j->kernel, j->rows, j->cols, j->gradients, &err) != LTH_OK)
        return session_fail(&j->session, &err);
    session_note(&j->session, "gradients by %zu parameters, %.3g s", j->parameters,
                 seconds_now() - start);
    return EXIT_DONE;
}

static int write_arrays(job *j) {
    const options *o = j->options;
    const size_t shape[] = {j->orders, j->row_count, j->column_count};
    const size_t gradient_shape[] = {j->parameters, j->row_count, j->column_count};
    int code = session_check_interrupt(&j->session);
    if (!code && j->values)
        code = o->per_order ? session_write_npy(&j->session, o->output, j->values, shape, 3)
                            : session_write_npy(&j->session, o->output, j->values, shape + 1, 2);
    if (!code && o->gradients)
        code = session_write_npy(&j->session, o->gradients, j->gradients, gradient_shape, 3);
    return code;
}

static int print_json(const job *j) {
    char *kernel = kernel_text(j->kernel);
    if (!kernel) return out_of_memory();
    json_writer w = {.to = stdout};
    json_begin_result(&w, NULL);
    json_put_count(&w, "rows", j->row_count);
    json_put_count(&w, "columns", j->column_count);
    json_put_text(&w, "kernel", kernel);
    json_begin_list(&w, "parameters");
    for (size_t i = 0; i < j->parameters; ++i)
        json_put_text(&w, NULL, lth_kernel_param(j->kernel, i)->path);
    json_end(&w);
    json_end(&w);
    free(kernel);
    return EXIT_DONE;
}

static int print_summary(const job *j) {
    if (j->options->json) return print_json(j);
    if (!j->options->gradients) return EXIT_DONE;
    for (size_t i = 0; i < j->parameters; ++i) puts(lth_kernel_param(j->kernel, i)->path);
    return EXIT_DONE;
}

static int run_job(job *j) {
    int code = check_outputs(j);
    if (!code) code = load(j);
    if (!code && j->options->output)
        code = is_store(j->options->output) ? store_values(j) : compute_values(j);
    if (!code && j->options->gradients) code = compute_gradients(j);
    if (!code) code = write_arrays(j);
    if (!code) code = print_summary(j);
    return code;
}

int run_gram(const options *o) {
    int code = check_usage(o);
    if (code) return code;
    job j = {.options = o};
    code = fill_store_options(&j);
    if (!code) code = session_open(&j.session, o);
    if (!code) code = run_job(&j);
    code = ranks_end(&j.session, code);
    free(j.values);
    free(j.gradients);
    lth_items_free(j.rows);
    lth_items_free(j.cols);
    lth_encoder_free(j.encoder);
    lth_kernel_free(j.kernel);
    session_close(&j.session);
    return code;
}

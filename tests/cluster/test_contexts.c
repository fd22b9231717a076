/* Several contexts of a process in one cluster: all but the last are freed without waiting for the
 * other ranks, and a rank that has left has left them all.
 *
 *     ranks -n 3 test_contexts
 */
#include <luthier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int is_good, const char *what) {
    if (is_good) return;
    fprintf(stderr, "test_contexts: %s\n", what);
    _Exit(1);
}

static lth_status create(lth_ctx **out, lth_error *err) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.cluster = "mpi";
    return lth_ctx_create(&options, out, err);
}

static lth_ctx *made(void) {
    lth_ctx *ctx = NULL;
    lth_error err = {0};
    check(create(&ctx, &err) == LTH_OK, err.message);
    return ctx;
}

/* The ranks make contexts together, but free them one here and one there, in no common order. */
static void free_at_any_time(void) {
    enum { ROUNDS = 12 };
    lth_ctx *kept = made(), *contexts[ROUNDS];
    unsigned ranks, rank = lth_ctx_rank(kept, &ranks), freed = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        contexts[i] = made();
        if (i % ranks == rank) lth_ctx_free(contexts[freed++]);
    }
    while (freed < ROUNDS) lth_ctx_free(contexts[freed++]);
    check(lth_ctx_leave(kept, NULL, NULL) == LTH_OK, "not all leave in peace");
    lth_ctx_free(kept);
}

/* The last rank gives up while the others want to make a context. */
static void leave_for_all(void) {
    lth_ctx *first = made(), *second = made(), *none = NULL;
    unsigned ranks, rank = lth_ctx_rank(first, &ranks);
    lth_error why = {.status = LTH_EIO, .message = "no luck"}, err = {0};
    lth_status status = rank == ranks - 1 ? lth_ctx_leave(second, &why, &err) : create(&none, &err);
    check(status == LTH_EIO && strcmp(err.message, "no luck") == 0, "the reason is not told");
    check(create(&none, &err) == LTH_ECANCELED, "a cluster that was left is joined");
    check(none == NULL, "a context of nobody");
    check(lth_ctx_leave(first, &why, NULL) == LTH_OK, "left twice");
    lth_ctx_free(first);
    lth_ctx_free(second);
}

int main(void) {
    free_at_any_time();
    leave_for_all();
    free_at_any_time(); /* and all begin again */
    return 0;
}

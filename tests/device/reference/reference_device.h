/* The reference device: all that engine/device.h asks of a plug-in, in host memory and by plain
 * loops. It is there to be read, and to run the device side of the library where there is no GPU.
 *
 * It has four GPUs. It aborts with a message where the library misuses them: memory of one GPU used
 * through a handle of another, memory that is gone or too small, host memory where device memory is
 * wanted, one handle used by two threads at a time, and memory that is left when a handle is
 * closed. New memory is full of NaN, so that a result that was not written shows.
 *
 * Three variables of the environment are read when a GPU is opened:
 *
 *     LTH_REFERENCE_MEMORY       bytes that each GPU has, for all of its handles together
 *     LTH_REFERENCE_ALLOCATIONS  how often each GPU gives memory from now on, before it fails
 *     LTH_REFERENCE_LOSES        1: from the first call on that is made from a place of the source
 * where none was lost yet, all is lost until a GPU is opened again
 */
#ifndef LTH_REFERENCE_DEVICE_H
#define LTH_REFERENCE_DEVICE_H

#include <stdatomic.h>

#include "engine/device.h"

struct lth__device_strings {
    int gpu;
    size_t count, longest;
    size_t *start;     /* on the device, as are */
    uint32_t *symbols; /* these */
};

/* One of them. */
typedef struct lth__ref_string {
    const uint32_t *symbol;
    size_t length;
} lth__ref_string;
lth__ref_string lth__ref_string_at(const lth__device_strings *s, size_t item);

/* For the longest loops, all of whose numbers are of one thread: no sanitizer for threads need see
 * them. */
#define LTH__REF_UNWATCHED __attribute__((noinline, no_sanitize("thread")))

struct lth__device {
    int gpu;
    atomic_bool busy;
    /* A plain number: the thread sanitizer then sees two threads that use the handle in turns,
     * without anything that orders them. */
    unsigned long uses;
};

/* From here to the end of a function of the table, the handle is this thread's. */
#define LTH__REF_USE(d)                                                                            \
    __attribute__((cleanup(lth__ref_leave))) lth__device *in_use_ = lth__ref_enter(d)
/* The same of one that may fail, and fails when the GPU is lost. */
#define LTH__REF_DO(d)                                                                             \
    LTH__REF_USE(d);                                                                               \
    if (lth__ref_is_lost()) return lth__ref_fail(err, LTH_EIO, "GPU %d is lost", (d)->gpu)
bool lth__ref_is_lost(void);
lth__device *lth__ref_enter(lth__device *d);
void lth__ref_leave(lth__device **d);

lth_status lth__ref_fail(lth_error *err, lth_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void lth__ref_abort(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory of the handle's GPU. */
lth_status lth__ref_get(lth__device *d, size_t bytes, void **out, lth_error *err);
lth_status lth__ref_put(lth__device *d, const void *from, size_t bytes, void **out, lth_error *err);
void lth__ref_drop(lth__device *d, void *memory);

/* Aborts unless there are so many bytes, or numbers, of this GPU's memory. NULL is not checked. */
void lth__ref_check(const lth__device *d, const void *memory, size_t bytes, const char *what);
void lth__ref_check_numbers(const lth__device *d, const double *X, size_t count, const char *what);
void lth__ref_check_panel(const lth__device *d, const double *K, size_t ld, const lth__panel *p,
                          const char *what);
/* Aborts when something was made on another GPU; and when this is memory of a GPU. */
void lth__ref_check_gpu(const lth__device *d, int gpu, const char *what);
void lth__ref_check_host(const void *memory, const char *what);

/* The parts of the table. */
lth_status lth__ref_open(int index, lth__device **out, lth_error *err);
void lth__ref_close(lth__device *d);
void lth__ref_describe(lth__device *d, char *text, size_t capacity, size_t *free_bytes,
                       size_t *total_bytes);
lth_status lth__ref_strings(lth__device *d, const uint32_t *symbols, const size_t *start,
                            size_t count, lth__device_strings **out, lth_error *err);
void lth__ref_strings_free(lth__device *d, lth__device_strings *s);
lth_status lth__ref_ssk(lth__device *d, const lth__device_ssk *job, lth_error *err);
lth_status lth__ref_smo(lth__device *d, const lth__device_smo *job, lth_error *err);
lth_status lth__ref_la(lth__device *d, const lth__device_la *job, lth_error *err);
lth_status lth__ref_trees(lth__device *d, const lth__device_forest *forest, lth__device_trees **out,
                          lth_error *err);
void lth__ref_trees_free(lth__device *d, lth__device_trees *t);
lth_status lth__ref_sstk(lth__device *d, const lth__device_sstk *job, lth_error *err);
lth_status lth__ref_wrap(lth__device *d, const lth__device_wrapper *w, double *K, size_t ld,
                         lth_error *err);
lth_status lth__ref_wrap_pull(lth__device *d, const lth__device_wrapper *w, double *K, double *W,
                              size_t ld, double *row, double *col, double *theta, lth_error *err);
lth_status lth__ref_features(lth__device *d, const lth__device_bags *rows,
                             const lth__device_bags *cols, lth__device_features **out,
                             lth_error *err);
void lth__ref_features_free(lth__device *d, lth__device_features *f);
lth_status lth__ref_sparse(lth__device *d, const lth__device_sparse *job, lth_error *err);
lth_status lth__ref_ordered(lth__device *d, const lth__device_nodes *rows,
                            const lth__device_nodes *cols, lth__device_ordered **out,
                            lth_error *err);
void lth__ref_ordered_free(lth__device *d, lth__device_ordered *t);
lth_status lth__ref_ptk(lth__device *d, const lth__device_ptk *job, lth_error *err);
void lth__ref_set_matrices(lth__device_table *t);

#endif

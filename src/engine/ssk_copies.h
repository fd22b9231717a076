/* Copies of the sweep of ssk_sweep.h for groups of so many levels: the compiler allots registers
 * well in functions of this size. Included once for each instruction set and precision. */
#include "engine/ssk_sweep.h"

typedef void sweep_fn(const strip *x);

typedef struct copy {
    sweep_fn *run;
    int rows; /* at once */
} copy;

/* By levels. The groups of a chain do the same number of rows at once. */
typedef struct copies {
    copy alone[LTH__MOST_LEVELS + 1], head[LTH__MOST_LEVELS + 1], tail[LTH__MOST_LEVELS + 1];
    int most_alone, most_chained;
} copies;

/* As many rows as leave the Q and the sums of all levels in registers. */
#define ROWS(from, way, at, levels)                                                                \
    ((way) != ALONG_NOTHING                                     ? ((levels) <= 3 ? 2 : 1)          \
     : (from) != FROM_SYMBOLS && (at) == ALONE && (levels) <= 4 ? 4                                \
                                                                : 2)

/* Which there are. A chain is balanced, and longer than one group: so its groups have at least half
 * of the most levels. Derivatives need twice the registers. */
#ifdef LTH_FEW_ORDERS /* builds that check rather than hurry */
#define VALUE_ALONE(M, ...) M(0, __VA_ARGS__) M(1, __VA_ARGS__) M(2, __VA_ARGS__)
#define VALUE_CHAINED(M, ...) M(1, __VA_ARGS__) M(2, __VA_ARGS__)
#define SLOPE_ALONE VALUE_ALONE
#define SLOPE_CHAINED VALUE_CHAINED
enum { VALUE_MOST_ALONE = 2, VALUE_MOST_CHAINED = 2, SLOPE_MOST_ALONE = 2, SLOPE_MOST_CHAINED = 2 };
#else
#define SLOPE_ALONE(M, ...)                                                                        \
    M(0, __VA_ARGS__)                                                                              \
    M(1, __VA_ARGS__) M(2, __VA_ARGS__) M(3, __VA_ARGS__) M(4, __VA_ARGS__) M(5, __VA_ARGS__)
#define VALUE_ALONE(M, ...)                                                                        \
    SLOPE_ALONE(M, __VA_ARGS__) M(6, __VA_ARGS__) M(7, __VA_ARGS__) M(8, __VA_ARGS__)
#define VALUE_CHAINED(M, ...)                                                                      \
    M(4, __VA_ARGS__)                                                                              \
    M(5, __VA_ARGS__) M(6, __VA_ARGS__) M(7, __VA_ARGS__) M(8, __VA_ARGS__)
#define SLOPE_CHAINED(M, ...) M(2, __VA_ARGS__) M(3, __VA_ARGS__)
enum { VALUE_MOST_ALONE = 8, VALUE_MOST_CHAINED = 8, SLOPE_MOST_ALONE = 5, SLOPE_MOST_CHAINED = 3 };
#endif

#define COPY(name, levels, from, way, at)                                                          \
    static __attribute__((noinline)) void name(const strip *x) {                                   \
        sweep(levels, ROWS(from, way, at, levels), from, way, at, x);                              \
    }
#define COPY_ALONE(n, set, from, way) COPY(set##_alone_##n, n, from, way, ALONE)
#define COPY_CHAINED(n, set, from, way)                                                            \
    COPY(set##_head_##n, n, from, way, HEAD)                                                       \
    COPY(set##_tail_##n, n, from, way, TAIL)
#define ALONE_AT(n, set, from, way) [n] = {set##_alone_##n, ROWS(from, way, ALONE, n)},
#define HEAD_AT(n, set, from, way) [n] = {set##_head_##n, ROWS(from, way, HEAD, n)},
#define TAIL_AT(n, set, from, way) [n] = {set##_tail_##n, ROWS(from, way, TAIL, n)},
#define COPIES(set, from, way, KIND)                                                               \
    KIND##_ALONE(COPY_ALONE, set, from, way)                                                       \
        KIND##_CHAINED(COPY_CHAINED, set, from, way) static const copies set = {                   \
            .alone = {KIND##_ALONE(ALONE_AT, set, from, way)},                                     \
            .head = {KIND##_CHAINED(HEAD_AT, set, from, way)},                                     \
            .tail = {KIND##_CHAINED(TAIL_AT, set, from, way)},                                     \
            .most_alone = KIND##_MOST_ALONE,                                                       \
            .most_chained = KIND##_MOST_CHAINED,                                                   \
    };

COPIES(symbols_value, FROM_SYMBOLS, ALONG_NOTHING, VALUE)
COPIES(symbols_gap, FROM_SYMBOLS, ALONG_GAP, SLOPE)
COPIES(stored_value, FROM_STORED, ALONG_NOTHING, VALUE)
COPIES(stored_gap, FROM_STORED, ALONG_GAP, SLOPE)
COPIES(stored_slope, FROM_STORED, ALONG_SLOPE, SLOPE)

/* A sweep over four rows overlaps the loads of its similarities with arithmetic. */
#define COPY_DIRECT(n, set, from, way) COPY(set##_##n, n, from, way, ALONE)
#define DIRECT_AT(n, set, from, way) [n] = set##_##n,
#ifdef LTH_FEW_ORDERS
#define DIRECT VALUE_ALONE
#else
#define DIRECT(M, ...)                                                                             \
    M(0, __VA_ARGS__)                                                                              \
    M(1, __VA_ARGS__) M(2, __VA_ARGS__) M(3, __VA_ARGS__) M(4, __VA_ARGS__)
#endif
DIRECT(COPY_DIRECT, quads_value, FROM_QUADS, ALONG_NOTHING)
static sweep_fn *const quads_value[] = {DIRECT(DIRECT_AT, quads_value, FROM_QUADS, ALONG_NOTHING)};
enum { DIRECT_LEVELS = sizeof quads_value / sizeof *quads_value };

/* The engine: hot loops over plain arrays. It knows nothing of tables or expressions.
 *
 * An instruction set brings one table of functions for each precision. A vector lane is a pair of
 * strings: `lanes` pairs of similar lengths are compared at once, their symbols interleaved:
 *
 *     s:  s0[0] s1[0] s2[0] ... | s0[1] s1[1] s2[1] ... | ...     position, then lane
 *
 * Shorter strings are padded at the end: with LTH__PAD_S and LTH__PAD_T, which are equal to
 * nothing, or with symbols whose similarities are 0.
 */
#ifndef LTH_ENGINE_H
#define LTH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/smo.h"
#include "luthier.h"

#define LTH__PAD_S UINT32_MAX
#define LTH__PAD_T (UINT32_MAX - 1)

enum {
    LTH__MAX_LANES = 16,
    LTH__MAX_ORDER = 64,
    LTH__MOST_LEVELS = 8, /* of a sweep */
    LTH__SHORT = 48,      /* symbols of a string that is short */
    LTH__ROW_STEP = 4, /* rows done at once, at most: s and quads are padded to a multiple of it */
};

/* How the similarity of s[j] and t[k] is found. */
typedef enum lth__match {
    LTH__MATCH_EXACT, /* 1 where the symbols are equal */
    LTH__MATCH_TABLE, /* table[s[j] + t[k]]: s holds offsets of rows, t columns; each lane its own s
                       */
    LTH__MATCH_QUADS  /* all lanes share s: table[(j / 4 * slots + t[k]) * 4 + j % 4]; s is not read
                       */
} lth__match;

/* A group of pairs to compare. `table` holds reals of the precision at hand. */
typedef struct lth__ssk_job {
    size_t order;
    double gap;
    size_t rows, cols; /* longest s and longest t of the group */
    const uint32_t *s, *t;
    lth__match match;
    const void *table;
    const void *slope; /* derivative of the table along which the tangent goes; NULL = along gap */
    size_t slots;
    void *scratch; /* at least ssk_scratch() bytes, 64-byte aligned */
    /* Asked now and then whether to stop, which leaves no result; NULL = go on. */
    bool (*stops)(const void *user);
    const void *user;
} lth__ssk_job;

/* Some symbols in their order, of which the first `shared` are those of the pattern before. */
enum { LTH__MOST_UNITS = 4 };
typedef struct lth__pattern {
    uint32_t unit[LTH__MOST_UNITS], units, shared;
} lth__pattern;

/* Patterns against the texts t of a group, as in an lth__ssk_job of that order. */
typedef struct lth__pattern_job {
    const lth__pattern *pattern;
    size_t count;
    size_t order;
    double gap;
    size_t cols;
    const uint32_t *t;
    void *scratch; /* patterns_scratch(cols) bytes, 64-byte aligned */
} lth__pattern_job;

/* One pair of long strings, without padding. `table` NULL = exact matching; otherwise
 * table[s[j] + t[k]], s holding offsets of rows. */
typedef struct lth__ssk_wave {
    size_t order;
    double gap;
    size_t rows, cols;
    const uint32_t *s, *t;
    uint32_t pad_s, pad_t; /* symbols that match nothing */
    const void *table;
    void *scratch;                   /* wave_scratch() bytes, 64-byte aligned */
    bool (*stops)(const void *user); /* as above */
    const void *user;
} lth__ssk_wave;

/* A group of pairs of short strings, LTH__SHORT symbols at most, with S = D w_s w_t for
 * similarities, or exp(-decay D) w_s w_t. `table` has D, as it is looked up for lth__ssk_job; with
 * QUADS it begins at row 0. Weights and their slopes are reals of the precision at hand,
 * [position][lane]. */
typedef struct lth__ssk_short {
    size_t order;
    double gap;
    size_t rows,
        cols; /* longest s and longest t; tables and weights of s are padded to LTH__ROW_STEP */
    const uint32_t *s, *t;
    lth__match match; /* TABLE or QUADS */
    const void *table;
    size_t slots;
    bool decays;
    double decay;
    const void *row_weight, *col_weight; /* w; NULL = 1                        */
    const void *row_slope, *col_slope;   /* dlog w / drarity; NULL = none wanted */
    const double *nu;                    /* [order]; for slopes                  */
    void *scratch;                       /* ssk_short_scratch() bytes            */
} lth__ssk_short;

/* Derivatives of sum_i nu_i k_i. */
enum { LTH__SHORT_BY_GAP, LTH__SHORT_BY_DECAY, LTH__SHORT_BY_RARITY, LTH__SHORT_SLOPES };

/* Receives d/dS of row j: row[k * lanes + lane], as double. */
typedef void lth__ssk_emit(void *user, size_t j, const double *row);

/* One instruction set at one precision. */
typedef struct lth__lanes {
    size_t lanes, real_size;

    /* Scratch bytes for a job; only its shape (order, rows, cols, match) is read. */
    size_t (*ssk_scratch)(const lth__ssk_job *job, bool tangent);

    /* value[i * lanes + lane] = k_(i+1) of that pair, for match = 1. With `tangent` not NULL also
     * its derivative by gap, or along job->slope. A pair gets the same bits whatever is in the
     * other lanes. False when it was told to stop. */
    bool (*ssk)(const lth__ssk_job *job, double *value, double *tangent);

    /* The same for short strings, with slope[d * lanes + lane] or NULL. A string gets the same bits
     * whatever longer ones are beside it. */
    size_t (*ssk_short_scratch)(const lth__ssk_short *job, bool slopes);
    void (*ssk_short)(const lth__ssk_short *job, double *value, double *slope);

    /* value[i * lanes + lane] = k_n of pattern i with that text, by exact matching and for match =
     * 1, where n is its number of symbols: the same bits as from ssk(). */
    size_t (*patterns_scratch)(size_t cols);
    void (*patterns)(const lth__pattern_job *job, double *value);

    /* The same as ssk() for one pair: value[i], tangent[i]. */
    size_t (*wave_scratch)(const lth__ssk_wave *job, bool tangent);
    bool (*ssk_wave)(const lth__ssk_wave *job, double *value, double *tangent);

    /* Interleaves `slots` reals of four rows for LTH__MATCH_QUADS: out[4 * v + r] = row[r][v]. */
    void (*make_quads)(const void *const row[LTH__ROW_STEP], size_t slots, void *out);

    /* The reverse pass: with weight[i * lanes + lane] on k_(i+1), d/dS of every position pair, a
     * row at a time, last row first. Scratch: ssk_reverse_scratch(). */
    size_t (*ssk_reverse_scratch)(const lth__ssk_job *job);
    bool (*ssk_reverse)(const lth__ssk_job *job, const double *weight, lth__ssk_emit *emit,
                        void *user);

    /* y_rows += T x_cols and y_cols += T^T x_rows for a tile T of a symmetric matrix, each cell
     * read once. */
    void (*add_symmetric)(size_t rows, size_t cols, const float *T, size_t ld, const double *x_rows,
                          const double *x_cols, double *y_rows, double *y_cols);

    /* Does `count` fused multiply-adds on every lane of a dozen registers; returns how many in all.
     */
    double (*fma_work)(size_t count);
} lth__lanes;

/* Two sequences of letters, to be compared window by window. What equals nothing is
 * LTH__NO_ROW_LETTER in one and LTH__NO_LETTER in the other, which has LTH__LETTER_PAD of them
 * before and after it. */
typedef struct lth__gapped_job {
    size_t width, least; /* of a window; the fewest equal letters that count */
    const uint8_t *row, *col;
    size_t rows, cols; /* their lengths, at least `width`  */
    uint8_t *scratch;  /* cols + 2 LTH__LETTER_PAD         */
    /* For weights: the row may be a piece of a longer one, which has so many windows. */
    size_t before, windows;
} lth__gapped_job;

enum {
    LTH__NO_ROW_LETTER = 254,
    LTH__NO_LETTER = 255,
    LTH__LETTER_PAD = 64, /* the bytes of the widest vector */
    LTH__MOST_WIDTH = 20,
    LTH__WORTHS = 16,
};

/* count[e - least] += pairs of windows, one of each sequence, with e letters equal at the same
 * place. */
typedef void lth__gapped_count(const lth__gapped_job *job, uint64_t *count);

/* The same where windows have weights: weight[d] of one whose middle is d/2 letters from that of
 * its sequence. A pair of windows counts as often as their weights multiplied. */
typedef void lth__gapped_weigh(const lth__gapped_job *job, const uint64_t *weight, uint64_t *count);

/* The sum of worth[e] over all pairs of windows, for windows of fewer than LTH__WORTHS letters. */
typedef uint64_t lth__gapped_sum(const lth__gapped_job *job, const uint8_t *worth);

/* ---- Sequences of letters ---- */

/* Local alignments of one sequence with `lanes` others. Letters of the others lie as the strings
 * above do, with LTH__ALIGN_PAD more before and after them: the last of the `slots` letters, whose
 * factors with all are 0, and which fills up shorter ones. Tables are quads: [letter of the shared
 * one / 4][letter of another][the first % 4]. */
typedef struct lth__align_job {
    size_t rows, cols; /* letters of the shared sequence, and of the longest other */
    bool mirrored;     /* the others are x, not y                                  */
    const uint32_t *shared, *letter;
    const double *factor, *score;    /* the second for slopes only                    */
    size_t slots;                    /* letters there are, LTH__ALIGN_LETTERS at most */
    double open, extend;             /* factors of what is skipped                    */
    void *scratch;                   /* align_scratch() bytes, 64-byte aligned        */
    bool (*stops)(const void *user); /* as of lth__ssk_job */
    const void *user;
} lth__align_job;

enum { LTH__ALIGN_BEYOND = 2, LTH__ALIGN_PAD = 1, LTH__ALIGN_LETTERS = 68 };
#define LTH__ALIGN_LEVEL 780

/* A site of aligned rows and as many columns as are compared at once; what a column has beyond the
 * last is compared as well. */
enum { LTH__SITE_COLS = 128 };

typedef struct lth__site_job {
    size_t rows;
    const uint32_t *row, *col; /* their letters                                              */
    double apart;              /* what two letters count that are not the same, without ...  */
    const double *profile;     /* [letter of a row][column]: what these letters count        */
} lth__site_job;

/* Loops over letters, in doubles. */
typedef struct lth__letters {
    size_t lanes;
    size_t (*align_scratch)(const lth__align_job *job, bool slopes);

    /* sum[lane] 2^(780 level[lane]) = Z; a level of LTH__ALIGN_BEYOND: it cannot be said. With
     * `slope` not NULL means over alignments: slope[lane] of their scores of pairs,
     * slope[lanes + lane] of runs, slope[2 lanes + lane] of letters skipped after the first. */
    void (*align)(const lth__align_job *job, double *sum, int *level, double *slope);

    void (*site_add)(const lth__site_job *job,
                     double *sum); /* sum[row][column] += what it counts */
    double (*site_dot)(const lth__site_job *job, const double *weight); /* by weight[row][column] */
} lth__letters;

typedef struct lth__engine {
    const char *name;
    bool (*usable)(void);
    const lth__lanes *lanes[2]; /* by lth_precision */
    lth__gapped_count *gapped;
    lth__gapped_weigh *gapped_weigh;
    lth__gapped_sum *gapped_sum; /* NULL = it has none that is faster */
    const lth__letters *letters;
    lth__smo_solve *smo_solve;
    lth__add_rows *add_rows;
} lth__engine;

/* The best engine of this CPU, or the one named; NULL if it is unknown or cannot run here. */
const lth__engine *lth__engine_find(const char *name);

/* ---- Strings with few common symbols, one pair at a time ---- */

/* gap^d for every distance d at hand (0^0 = 1), and its derivative by gap, or along job->slope. */
typedef struct lth__powers {
    const double *value, *slope;
} lth__powers;

/* A place where the strings match. */
typedef struct lth__meeting {
    uint32_t j, k;
} lth__meeting;

enum { LTH__MAX_MEETINGS = 24 };

/* k_1 .. k_order of a pair that matches in `count` <= LTH__MAX_MEETINGS places, which are ascending
 * in j, then k; `tangent` may be NULL. Distances up to |s| + |t|. */
void lth__ssk_meetings(size_t order, lth__powers powers, const lth__meeting *meeting, size_t count,
                       double *value, double *tangent);

/* Positions of s and t whose symbol the other string has too; the rest cannot match and only widens
 * gaps, so it is left out and the gaps are kept as distances. */
typedef struct lth__sparse_pair {
    size_t order;
    size_t s_count, t_count;
    const uint32_t *s_position, *t_position; /* ascending */
    const uint32_t *s_symbol, *t_symbol;
    lth__powers powers;              /* up to the longest string         */
    double *scratch;                 /* lth__ssk_sparse_scratch() doubles */
    bool (*stops)(const void *user); /* as of lth__ssk_job */
    const void *user;
} lth__sparse_pair;

size_t lth__ssk_sparse_scratch(size_t order, size_t t_count, bool tangent);
/* False when it was told to stop. */
bool lth__ssk_sparse(const lth__sparse_pair *pair, double *value, double *tangent);

#endif

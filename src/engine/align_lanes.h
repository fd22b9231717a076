/* Sums over all local alignments (kernel/string/local_alignment.h), of one sequence with `LANES`
 * others at a time. Included after the vector vocabulary of an instruction set, doubles alone.
 *
 * With X' = X / o and Y' = Y / o a cell is five multiplications or multiply-adds:
 *
 *     M = f (1 + all at the corner)      E = M + o X'      all = E + o Y'
 *     X' of the next i = e X' + M        Y' of the next j = e Y' + E
 *
 * The sequence that is shared goes by rows, the others go along them. They are y, or where the job
 * is mirrored x: then X' goes along and Y' down. Either way a cell comes about by the same
 * operations, and the sums of M by the letters of x, so that Z has the same bits. Two rows are done
 * at once, the second a column behind the first: so none waits for the other.
 *
 * The derivatives are a pass backwards. With D the weight of all that follows a cell by a pair, and
 * xh, yh, zh of what follows it by a run of x, of y, or of one and then the other, over o, o, o o:
 *
 *     a = 1/Z + D + o (xh + yh + o zh)
 *     xh <- e xh + D      yh <- e yh + D      zh <- e zh + xh (along y)      D <- f a
 *
 * which is the same with x and y exchanged. Then the mean score is sum M a s, the mean number of
 * pairs sum M a, and that of runs sum M o (xh + yh + 2 o zh). All letters between the first and the
 * last pair are in pairs or skipped, so that i + j of where alignments begin and end says how many
 * these are.
 *
 * Of the cells of a band of rows M is kept for it, and nothing else; it is made again from what was
 * saved where the band begins. A row waits for another only by what lies in memory, and the sums
 * fill the registers: so one goes after the other.
 *
 * A lane whose sum is about to leave the range of numbers goes on at 2^-780 times of it; backwards
 * it is the other way round, so that products are as they should be. What it loses by that is below
 * 2^-242, where an alignment that begins anew is 1. A second time there is no way on: the caller is
 * told.
 */
#include <string.h>

#include "base/copied.h"
#include "engine/engine.h"

enum { STEP = 2, SKEW = LTH__ALIGN_PAD, STATE = 3 };

static const double raised_from = 0x1p400, raised_by = 0x1p-780, most_sum = 0x1p900;

/* ---- Memory ---- */

enum { CELLS_TO_ASK = 1 << 20 }; /* vectors, from one question whether to stop to the next */

typedef struct align_plan {
    size_t width;        /* columns, with one before and one after them    */
    size_t blocks;       /* of STEP rows                                   */
    size_t height;       /* blocks of a band                               */
    size_t bands;        /* of them                                        */
    size_t state, cells; /* vectors of a state, and of a block's cells     */
    size_t profile;      /* vectors of a table, for each letter of the shared one a row */
    size_t asking;       /* blocks from one question whether to stop to the next        */
} align_plan;

static align_plan plan_align(const lth__align_job *job) {
    enum { BAND_BYTES = 4 * 1024 * 1024, SAVED_BYTES = 8 * 1024 * 1024 };
    size_t width = job->cols + 2 * SKEW;
    align_plan p = {.width = width,
                    .blocks = (job->rows + STEP - 1) / STEP,
                    .state = STATE * width,
                    .cells = STEP * width,
                    .asking = CELLS_TO_ASK / (STEP * width) + 1,
                    .profile = (job->slots + 3) / 4 * 4 * width};
    p.height = BAND_BYTES / (p.cells * sizeof(vec)) + 1;
    /* As many bands as blocks of one take the least memory; where it is little, more of them. */
    size_t most = SAVED_BYTES / (p.state * sizeof(vec)) + 1;
    while (p.height * p.height < p.blocks && p.height * most < p.blocks) p.height++;
    if (p.height > p.blocks) p.height = p.blocks;
    p.bands = p.height == 0 ? 0 : (p.blocks + p.height - 1) / p.height;
    return p;
}

typedef struct align_room {
    vec *factor, *score; /* profiles: [letter][column]     */
    vec *state;
    vec *one;           /* of each block: its level       */
    vec *saved, *cells; /* of each band, and of one of them */
} align_room;

static align_room lay_out_align(const align_plan *p, vec *at, bool slopes) {
    align_room m = {.factor = at, .score = at + p->profile};
    m.state = m.score + (slopes ? p->profile : 0);
    m.one = m.state + p->state;
    m.saved = m.one + p->blocks;
    m.cells = m.saved + p->bands * p->state;
    return m;
}

static size_t align_scratch(const lth__align_job *job, bool slopes) {
    align_plan p = plan_align(job);
    size_t vectors = p.profile + p.state + p.blocks;
    if (slopes) vectors += p.profile + p.bands * p.state + p.height * p.cells;
    return vectors * sizeof(vec);
}

/* Of so many cells, which are not few. */
static bool stops_after(const lth__align_job *job, size_t cells) {
    return job->stops && cells > CELLS_TO_ASK / 16 && job->stops(job->user);
}

/* What the table has of the shared letters with those of all lanes, four letters at a time. */
static void look_up_letters(const lth__align_job *job, const double *table, size_t width,
                            vec *restrict out) {
    bool used[LTH__ALIGN_LETTERS / 4 + 1] = {0};
    for (size_t i = 0; i < job->rows; i++) used[job->shared[i] / 4] = true;
    used[(job->slots - 1) / 4] = true; /* of the last row, if it is empty */
    for (size_t a = 0; a < job->slots; a += 4, table += 4 * job->slots, out += 4 * width) {
        if (stops_after(job, 4 * width)) return;
        for (size_t k = 0; used[a / 4] && k < width; k++) {
            vec four[4];
            v_quads(table, job->letter + k * LANES, four);
            for (size_t r = 0; r < 4; r++) out[r * width + k] = four[r];
        }
    }
}

/* Of the r-th row of a block: what a profile has of its letter, from column 0 on. */
LTH__COPIED const vec *row_of(const lth__align_job *job, const vec *profile, size_t width,
                              size_t block, size_t r) {
    size_t row = block * STEP + r;
    size_t letter = row < job->rows ? job->shared[row] : job->slots - 1;
    return profile + letter * width + SKEW;
}

/* ---- Forwards ---- */

typedef struct align_weights {
    vec open, extend;
    vec one;   /* an alignment without any pair, by lane           */
    vec total; /* of M in the rows so far; mirrored about it       */
} align_weights;

static align_weights begin_weights(const lth__align_job *job) {
    return (align_weights){.open = v_set1(job->open),
                           .extend = v_set1(job->extend),
                           .one = v_set1(1),
                           .total = v_zero()};
}

/* Of each column: the next of the chain that goes down, 1 + all, and its sum of M. */
static void begin_state(size_t width, vec *state) {
    for (size_t k = 0; k < width; k++) {
        state[STATE * k] = state[STATE * k + 2] = v_zero();
        state[STATE * k + 1] = v_set1(1);
    }
}

/* A block of rows; M is kept where asked for: [row][column]. */
LTH__COPIED void advance(const bool mirrored, const bool keeps, const lth__align_job *job,
                         const vec *profile, size_t block, align_weights *w, vec *restrict state,
                         vec *restrict cells) {
    const size_t width = job->cols + 2 * SKEW;
    const vec *factor[STEP] = {row_of(job, profile, width, block, 0),
                               row_of(job, profile, width, block, 1) - 1};
    const vec o = w->open, e = w->extend, one = w->one;
    vec along[STEP] = {v_zero(), v_zero()}, corner[STEP] = {one, one}, above = one;
    vec passed = v_zero(), column = v_zero(); /* from the first row to the second */
    vec sum[STEP] = {v_zero(), v_zero()};
    for (size_t step = 0; step < job->cols + SKEW; step++, state += STATE) {
        vec *from = state + STATE, all[STEP], down[STEP] = {from[0], passed}, add = column;
        if (mirrored) column = from[2];
#pragma GCC unroll 2
        for (int r = STEP - 1; r >= 0; r--) {
            vec M = factor[r][step] * corner[r];
            vec X = mirrored ? along[r] : down[r], Y = mirrored ? down[r] : along[r];
            vec E = v_fma(o, X, M);
            all[r] = v_fma(o, Y, E) + one;
            along[r] = v_fma(e, along[r], mirrored ? M : E);
            down[r] = v_fma(e, down[r], mirrored ? E : M);
            sum[mirrored ? 0 : r] += M;
            if (mirrored) *(r == 1 ? &add : &column) += M;
            if (keeps) cells[(size_t)r * (width - 1) + SKEW + step] = M;
        }
        passed = down[0];
        corner[1] = above;
        above = all[0];
        corner[0] = from[1];
        state[0] = down[1];
        state[1] = all[1];
        if (mirrored) state[2] = add;
    }
    w->total = w->total + sum[0] + sum[1];
}

/* From one level to another: the same in most lanes, and in most blocks in all of them. */
static bool multiply(vec by, size_t count, vec *v) {
    bool same = true;
    for (size_t lane = 0; lane < LANES; lane++) same &= by[lane] == 1;
    for (size_t k = 0; !same && k < count; k++) v[k] *= by;
    return !same;
}

static vec total_of(const lth__align_job *job, const align_weights *w, const vec *state) {
    if (!job->mirrored) return w->total;
    vec total = v_zero();
    for (size_t k = 0; k < job->cols; k++) total += state[STATE * (k + SKEW) + 2];
    return total;
}

/* Lanes that are about to leave the range go on at another level. */
static vec choose_level(const align_weights *w) {
    vec one = w->one;
    for (size_t lane = 0; lane < LANES; lane++) {
        if (w->total[lane] > raised_from) one[lane] = raised_by;
    }
    return one;
}

static bool stops_at(const lth__align_job *job, const align_plan *p, size_t block) {
    return job->stops && block % p->asking == p->asking - 1 && job->stops(job->user);
}

/* Blocks first .. last - 1, for the first time or again; `cells` may be NULL. */
LTH__COPIED void advance_all(const bool mirrored, const lth__align_job *job, const align_plan *p,
                             const align_room *m, size_t first, size_t last, bool again,
                             align_weights *w, vec *state, vec *cells) {
    for (size_t b = first; b < last && !stops_at(job, p, b); b++) {
        if (!again) m->one[b] = choose_level(w);
        vec by = m->one[b] / w->one;
        if (multiply(by, p->state, state)) w->total *= by;
        w->one = m->one[b];
        if (cells)
            advance(mirrored, true, job, m->factor, b, w, state, cells + (b - first) * p->cells);
        else
            advance(mirrored, false, job, m->factor, b, w, state, NULL);
    }
}

static void put_sums(const lth__align_job *job, const align_weights *w, const vec *state,
                     double *sum, int *level) {
    v_store_double(sum, total_of(job, w, state));
    for (size_t lane = 0; lane < LANES; lane++) {
        level[lane] = w->one[lane] < 1;
        if (!(sum[lane] < most_sum)) level[lane] = LTH__ALIGN_BEYOND;
    }
}

LTH__COPIED void align_values(const bool mirrored, const lth__align_job *job, double *sum,
                              int *level) {
    const align_plan p = plan_align(job);
    const align_room m = lay_out_align(&p, job->scratch, false);
    align_weights w = begin_weights(job);
    look_up_letters(job, job->factor, p.width, m.factor);
    begin_state(p.width, m.state);
    advance_all(mirrored, job, &p, &m, 0, p.blocks, false, &w, m.state, NULL);
    put_sums(job, &w, m.state, sum, level);
}

/* ---- Backwards ---- */

typedef struct align_sums {
    vec score, pairs, runs; /* of M a s, M a, M (xh + yh + 2 o zh)  */
    vec places;             /* of i + j: ends less beginnings       */
} align_sums;

/* A row. Of each column: the weight of the run that goes down, and f a of the row below. */
LTH__COPIED void retreat(const lth__align_job *job, const align_room *m, size_t row,
                         const align_weights *w, vec end, const vec *restrict M, align_sums *sums) {
    const size_t width = job->cols + 2 * SKEW;
    const vec *factor = m->factor + job->shared[row] * width + SKEW;
    const vec *score = m->score + job->shared[row] * width + SKEW;
    const vec o = w->open, e = w->extend;
    vec *restrict state = m->state + 2 * job->cols;
    vec along = v_zero(), both = v_zero(), D = v_zero();
    vec scores = sums->score, pairs = sums->pairs, runs = sums->runs;
    vec ends = v_zero(), ends_after = v_zero(), begins = v_zero(), begins_after = v_zero();
    for (size_t j = job->cols; j-- > 0;) {
        state -= 2;
        vec down = state[0], skips = v_fma(o, both, down + along);
        vec a = v_fma(o, skips, D + end), pair = M[j] * a, new = factor[j] * a;
        scores = v_fma(score[j], pair, scores);
        pairs += pair;
        runs = v_fma(M[j], v_fma(o, both, skips), runs);
        both = v_fma(e, both, down);
        along = v_fma(e, along, D);
        state[0] = v_fma(e, down, D);
        D = state[1];
        state[1] = new;
        /* A sum of sums has each column as often as there are columns from it on. */
        ends += M[j];
        begins += new;
        ends_after += ends;
        begins_after += begins;
    }
    vec first = v_set1((real)row - 1); /* a column counts one more than its number */
    vec weight = v_fma(first, ends, ends_after) * end;
    weight -= v_fma(first, begins, begins_after) * w->one;
    *sums = (align_sums){scores, pairs, runs, sums->places + weight};
}

/* Rows of a block, but for one that is none. */
LTH__COPIED void retreat_block(const lth__align_job *job, const align_room *m, size_t block,
                               const align_weights *w, vec end, const vec *cells,
                               align_sums *sums) {
    const size_t width = job->cols + 2 * SKEW;
    for (size_t r = STEP; r-- > 0;) {
        size_t row = block * STEP + r;
        if (row < job->rows) retreat(job, m, row, w, end, cells + r * width + SKEW, sums);
    }
}

/* What ends at a cell weighs 1/Z, at the level of the block. */
static vec end_weight(const double *sum, vec one, vec final) {
    vec end = v_zero();
    for (size_t lane = 0; lane < LANES; lane++)
        end[lane] = sum[lane] > 0 ? final[lane] / one[lane] / sum[lane] : 0;
    return end;
}

/* All rows, with what is saved where a band begins, and the cells of the last one. */
LTH__COPIED align_weights go_forwards(const bool mirrored, const lth__align_job *job,
                                      const align_plan *p, const align_room *m) {
    align_weights w = begin_weights(job);
    begin_state(p->width, m->state);
    for (size_t band = 0; band < p->bands; band++) {
        size_t first = band * p->height;
        bool last = band + 1 == p->bands;
        memcpy(m->saved + band * p->state, m->state, p->state * sizeof(vec));
        advance_all(mirrored, job, p, m, first, last ? p->blocks : first + p->height, false, &w,
                    m->state, last ? m->cells : NULL);
    }
    return w;
}

LTH__COPIED void go_back(const bool mirrored, const lth__align_job *job, const align_plan *p,
                         const align_room *m, const double *sum, align_sums *sums) {
    const vec final = m->one[p->blocks - 1];
    vec level = final;
    memset(m->state, 0, p->state * sizeof(vec));
    for (size_t band = p->bands; band-- > 0;) {
        size_t first = band * p->height, end = first + p->height;
        align_weights w = begin_weights(job);
        if (end > p->blocks) end = p->blocks;
        if (first > 0) w.one = m->one[first - 1]; /* as it was when the state was saved */
        if (band + 1 < p->bands)
            advance_all(mirrored, job, p, m, first, end, true, &w, m->saved + band * p->state,
                        m->cells);
        for (size_t b = end; b-- > first && !stops_at(job, p, b);) {
            multiply(level / m->one[b], 2 * p->width, m->state);
            w.one = level = m->one[b];
            retreat_block(job, m, b, &w, end_weight(sum, level, final),
                          m->cells + (b - first) * p->cells, sums);
        }
    }
}

static void put_slopes(const lth__align_job *job, const align_sums *s, double *slope) {
    const vec two = v_set1(2);
    vec runs = v_set1(job->open) * s->runs;
    vec skipped = s->places + two - two * s->pairs - runs;
    v_store_double(slope, s->score);
    v_store_double(slope + LANES, runs);
    v_store_double(slope + 2 * LANES, skipped);
}

LTH__COPIED void align_slopes(const bool mirrored, const lth__align_job *job, double *sum,
                              int *level, double *slope) {
    const align_plan p = plan_align(job);
    const align_room m = lay_out_align(&p, job->scratch, true);
    align_sums sums = {v_zero(), v_zero(), v_zero(), v_zero()};
    look_up_letters(job, job->factor, p.width, m.factor);
    look_up_letters(job, job->score, p.width, m.score);
    align_weights w = go_forwards(mirrored, job, &p, &m);
    put_sums(job, &w, m.state, sum, level);
    go_back(mirrored, job, &p, &m, sum, &sums);
    put_slopes(job, &sums, slope);
}

/* ---- Both ---- */

/* A function for each way: the compiler allots registers well in functions of this size. */
#define ALIGN_FOR(name, mirrored)                                                                  \
    static __attribute__((noinline)) void name##_values(const lth__align_job *job, double *sum,    \
                                                        int *level) {                              \
        align_values(mirrored, job, sum, level);                                                   \
    }                                                                                              \
    static __attribute__((noinline)) void name##_slopes(const lth__align_job *job, double *sum,    \
                                                        int *level, double *slope) {               \
        align_slopes(mirrored, job, sum, level, slope);                                            \
    }
ALIGN_FOR(plain, false)
ALIGN_FOR(mirrored, true)

static void align(const lth__align_job *job, double *sum, int *level, double *slope) {
    if (slope)
        (job->mirrored ? mirrored_slopes : plain_slopes)(job, sum, level, slope);
    else
        (job->mirrored ? mirrored_values : plain_values)(job, sum, level);
}

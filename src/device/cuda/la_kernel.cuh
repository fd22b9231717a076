// Local alignments on a GPU: the sums of kernel/string/local_alignment.h.
//
// `lanes` neighbouring threads, a group, share a pair of sequences. Each owns up to C columns of the table (letters of t), whose
// sums it keeps in registers, and walks down the rows (letters of s), one step behind its left neighbour. From that it receives
// what goes along a row. With runs that are skipped divided by their first factor, X = open X' and Y = open Y', a cell takes six
// operations:
//
//     M = f + f A_corner   X' = extend X' + M_above   E = M + open X'   A = E + open Y'   Y' = extend Y' + E   Z += M
//
// and, beside these, the same for alignments times their score, runs and skipped letters.
//
// The sums of a lane have a level: they stand for 2^(256 level) times as much. Its largest A is between 2^-128 and 2^128 after
// each row, or less at level 0. Columns that are far apart by the costs of a gap and by scores need more range than that: then C
// is 1, and each cell has its own level.
#pragma once

#include "pairs.cuh"

namespace luthier {

constexpr int la_threads = 256;
enum { weight, score, runs, skipped, all_sums }; // alignments: all, and times what they have

struct Alignment {
    double factor, score; // of two letters
};

struct LaJob : Pairs {
    uint32_t lanes;
    double theta[LTH__ALIGN_PARAMS];
    double open, extend;    // factors
    uint64_t letters;       // bits of those that there are: they are numbered by these
    uint32_t stride;        // their number, and one for what is past the end
    uint32_t copies;        // of the table in a block's memory, so that lanes do not wait for each other
    const Alignment *table; // [stride][stride]
    const lth__device_self *row_self, *col_self; // by item
    double *boundary;                            // see Boundary
    uint64_t longest_row;
    double *partial; // [block][parameters]
};

// 2^-256 to the power `levels`, which is 0 or more.
inline __device__ double lowered(int levels) { return levels > 3 ? 0 : __hiloint2double((1023 - 256 * levels) << 20, 0); }

// What goes along a row from one lane to the next.
template <int SUMS> struct Carry {
    double skip_y[SUMS], all[SUMS]; // Y', and A of the last column
    int level;

    __device__ void clear() {
#pragma unroll
        for (int q = 0; q < SUMS; q++) skip_y[q] = all[q] = 0;
        level = 0;
    }
    __device__ void scale(double by) {
#pragma unroll
        for (int q = 0; q < SUMS; q++) {
            skip_y[q] *= by;
            all[q] *= by;
        }
    }
    __device__ Carry from_left(uint32_t lanes) const {
        constexpr unsigned everyone = 0xffffffffu;
        Carry x;
#pragma unroll
        for (int q = 0; q < SUMS; q++) {
            x.skip_y[q] = __shfl_up_sync(everyone, skip_y[q], 1, int(lanes));
            x.all[q] = __shfl_up_sync(everyone, all[q], 1, int(lanes));
        }
        x.level = __shfl_up_sync(everyone, level, 1, int(lanes));
        return x;
    }
};

// What goes along each row from one pass to the next.
template <int SUMS> struct Boundary {
    double *at;
    static constexpr int each = 2 * SUMS + 1;

    __device__ Carry<SUMS> load(uint32_t row) const {
        const double *from = at + uint64_t(row) * each;
        Carry<SUMS> x;
#pragma unroll
        for (int q = 0; q < SUMS; q++) {
            x.skip_y[q] = from[q];
            x.all[q] = from[SUMS + q];
        }
        x.level = int(from[2 * SUMS]);
        return x;
    }
    __device__ void store(uint32_t row, const Carry<SUMS> &x) const {
        double *to = at + uint64_t(row) * each;
#pragma unroll
        for (int q = 0; q < SUMS; q++) {
            to[q] = x.skip_y[q];
            to[SUMS + q] = x.all[q];
        }
        to[2 * SUMS] = x.level;
    }
};

// Z and what goes with it, of a lane or of all.
template <int SUMS> struct Total {
    double sum[SUMS];
    int level;

    __device__ void clear() {
#pragma unroll
        for (int q = 0; q < SUMS; q++) sum[q] = 0;
        level = 0;
    }
    __device__ void raise(int to) {
        if (to <= level) return;
#pragma unroll
        for (int q = 0; q < SUMS; q++) sum[q] *= lowered(to - level);
        level = to;
    }
    __device__ void add(const double *more, int at) {
        raise(at);
#pragma unroll
        for (int q = 0; q < SUMS; q++) sum[q] += lowered(level - at) * more[q];
    }
    // Over a group, in an order that does not depend on the run.
    __device__ void reduce(uint32_t lanes) {
        constexpr unsigned everyone = 0xffffffffu;
        for (uint32_t other = 1; other < lanes; other *= 2) {
            double more[SUMS];
#pragma unroll
            for (int q = 0; q < SUMS; q++) more[q] = __shfl_xor_sync(everyone, sum[q], int(other));
            int at = __shfl_xor_sync(everyone, level, int(other));
            add(more, at);
        }
    }
};

// The columns of a lane.
template <int SUMS, int C> struct Strip {
    double pair[C][SUMS], skip_x[C][SUMS], all[C][SUMS]; // M, X' and A of the row above
    double corner[SUMS];                                 // A of the column to the left, likewise
    double sum[SUMS];                                    // of M, since the level changed
    int level;

    __device__ void clear() {
#pragma unroll
        for (int c = 0; c < C; c++) {
#pragma unroll
            for (int q = 0; q < SUMS; q++) pair[c][q] = skip_x[c][q] = all[c][q] = 0;
        }
#pragma unroll
        for (int q = 0; q < SUMS; q++) corner[q] = sum[q] = 0;
        level = 0;
    }

    __device__ void flush(Total<SUMS> &total) {
        total.add(sum, level);
#pragma unroll
        for (int q = 0; q < SUMS; q++) sum[q] = 0;
    }

    __device__ void change_level(int to, double by, Total<SUMS> &total) {
        flush(total);
#pragma unroll
        for (int c = 0; c < C; c++) {
#pragma unroll
            for (int q = 0; q < SUMS; q++) {
                pair[c][q] *= by;
                skip_x[c][q] *= by;
                all[c][q] *= by;
            }
        }
#pragma unroll
        for (int q = 0; q < SUMS; q++) corner[q] *= by;
        level = to;
    }

    // At the higher of the two levels.
    __device__ void meet(Carry<SUMS> &left, Total<SUMS> &total) {
        if (left.level > level) change_level(left.level, lowered(left.level - level), total);
        if (left.level < level) left.scale(lowered(level - left.level));
        left.level = level;
    }

    // At the level that suits the largest A, of which this is the upper half.
    __device__ void settle(int largest, Carry<SUMS> &right, Total<SUMS> &total) {
        int exponent = (largest >> 20) - 1023, up = exponent >= 128 ? 1 : 0;
        if (exponent < -128 && level > 0) up = -min(min(level, 3), (127 - exponent) / 256);
        if (up != 0) {
            double by = __hiloint2double((1023 - 256 * up) << 20, 0);
            change_level(level + up, by, total);
            right.scale(by);
        }
        right.level = level;
    }

    // `seed` is what an alignment that begins here weighs. `along` has Y', and leaves with that of the next column.
    __device__ void cell(int c, const Alignment &letters, double seed, double open, double extend, double *before, double *along) {
        double M[SUMS], X[SUMS], above = skip_x[c][weight], left = along[weight];
#pragma unroll
        for (int q = 0; q < SUMS; q++) {
            X[q] = fma(extend, q == skipped ? skip_x[c][q] + above : skip_x[c][q], pair[c][q]);
            M[q] = q == weight  ? fma(letters.factor, before[q], seed)
                   : q == score ? fma(letters.score, M[weight], letters.factor * before[q])
                                : letters.factor * before[q];
        }
#pragma unroll
        for (int q = 0; q < SUMS; q++) {
            double ended = fma(open, q == runs ? X[q] + X[weight] : X[q], M[q]);
            before[q] = all[c][q];
            all[c][q] = fma(open, q == runs ? along[q] + left : along[q], ended);
            along[q] = fma(extend, q == skipped ? along[q] + left : along[q], ended);
            pair[c][q] = M[q];
            skip_x[c][q] = X[q];
            sum[q] += M[q];
        }
    }
};

// The factors of letters, and their scores where these are needed, in a block's memory.
template <int SUMS> struct Letters {
    static constexpr int numbers = SUMS > 1 ? 2 : 1;

    static __device__ void fill(const LaJob &job, double *table) {
        for (uint32_t i = threadIdx.x; i < job.stride * job.stride * job.copies; i += la_threads) {
            const Alignment &x = job.table[i / job.copies];
            table[numbers * i] = x.factor;
            if constexpr (SUMS > 1) table[2 * i + 1] = x.score;
        }
    }
    static __device__ Alignment at(const double *table, uint32_t index) {
        if constexpr (SUMS > 1) {
            double2 both = reinterpret_cast<const double2 *>(table)[index];
            return {both.x, both.y};
        } else {
            return {table[index], 0};
        }
    }
};

inline __device__ uint32_t number_of(const LaJob &job, uint32_t letter) {
    return uint32_t(__popcll(job.letters & ((uint64_t(1) << letter) - 1)));
}

// What is known without any sum: 0 of an empty sequence, 1 of two that are the same.
inline __device__ bool is_known(const Pair &x, uint32_t lane, uint32_t lanes, double *k) {
    bool differs = x.rows != x.cols;
    for (uint32_t i = lane; !differs && i < x.rows; i += lanes) differs = x.s[i] != x.t[i];
    unsigned those = __ballot_sync(0xffffffffu, differs), first = threadIdx.x % 32 - lane;
    bool same = (those >> first & (0xffffffffu >> (32 - lanes))) == 0;
    bool empty = x.rows == 0 || x.cols == 0;
    *k = empty ? 0 : 1;
    return empty || same;
}

template <int SUMS>
__device__ double finish(const LaJob &job, const Pair &x, const Total<SUMS> &total, double *slope) {
    const double *theta = job.theta, power = theta[LTH__ALIGN_POWER], Z = total.sum[weight];
    const lth__device_self &a = job.row_self[job.panel.first_row + x.r], &b = job.col_self[job.panel.first_col + x.c];
    double log_sum = log(Z) + total.level * 256 * 0.69314718055994530942;
    double ratio = log_sum - (a.log_sum + b.log_sum) / 2, k = exp(power * ratio);
    if constexpr (SUMS > 1) {
        double gaps = total.sum[runs] / Z, more = total.sum[skipped] / Z;
        double own[LTH__ALIGN_POWER];
        own[LTH__ALIGN_BETA] =
            total.sum[score] / Z - theta[LTH__ALIGN_OPEN] * gaps - theta[LTH__ALIGN_EXTEND] * more;
        own[LTH__ALIGN_OPEN] = -theta[LTH__ALIGN_BETA] * gaps;
        own[LTH__ALIGN_EXTEND] = -theta[LTH__ALIGN_BETA] * more;
#pragma unroll
        for (int p = 0; p < LTH__ALIGN_POWER; p++) slope[p] = k * power * (own[p] - (a.slope[p] + b.slope[p]) / 2);
        slope[LTH__ALIGN_POWER] = k * ratio;
    }
    return k;
}

// All rows of one pass: `used` columns to a lane.
template <int SUMS, int C>
__device__ void run_pass(const LaJob &job, const double *table, const Pair &pair, uint32_t rows, uint32_t pass, bool last,
                         uint32_t used, const Boundary<SUMS> &boundary, Total<SUMS> &total) {
    const uint32_t lanes = job.lanes, lane = threadIdx.x & (lanes - 1), copy = threadIdx.x % job.copies;
    const double open = job.open, extend = job.extend;
    uint32_t column[C];
#pragma unroll
    for (int c = 0; c < C; c++) {
        uint32_t k = (pass * lanes + lane) * used + uint32_t(c);
        column[c] = (k < pair.cols ? number_of(job, pair.t[k]) : job.stride - 1) * job.copies + copy;
    }
    Strip<SUMS, C> strip;
    Carry<SUMS> right, coming;
    strip.clear();
    right.clear();
    coming.clear();
    const bool continues = pass > 0 && lane == 0;
    if (continues && pair.rows > 0) coming = boundary.load(0);
    uint32_t letter = lane == 0 && pair.rows > 0 ? pair.s[0] : 0;
    for (uint32_t step = 0; step < rows + lanes - 1; step++) {
        Carry<SUMS> along = right.from_left(lanes);
        const uint32_t row = step - lane, next = row + 1; // past the end where it has not begun
        const uint32_t at = number_of(job, letter) * job.stride * job.copies;
        if (next < pair.rows) letter = pair.s[next];
        if (lane == 0) {
            along = coming;
            if (continues && next < pair.rows) coming = boundary.load(next);
        }
        if (row >= pair.rows) continue;
        strip.meet(along, total);
        const int seed_level = min(strip.level, 3); // less than 2^-768 is as good as nothing
        double before[SUMS];
#pragma unroll
        for (int q = 0; q < SUMS; q++) {
            before[q] = strip.corner[q];
            strip.corner[q] = along.all[q];
        }
        int largest = 0;
#pragma unroll
        for (int c = 0; c < C; c++) {
            if (c > 0 && uint32_t(c) >= used) break;
            const Alignment letters = Letters<SUMS>::at(table, at + column[c]);
            const double seed = __hiloint2double(__double2hiint(letters.factor) - (seed_level << 28), __double2loint(letters.factor));
            strip.cell(c, letters, seed, open, extend, before, along.skip_y);
            largest = max(largest, __double2hiint(strip.all[c][weight]));
#pragma unroll
            for (int q = 0; q < SUMS; q++) along.all[q] = strip.all[c][q];
        }
        right = along;
        strip.settle(largest, right, total);
        if (!last && lane == lanes - 1) boundary.store(row, right);
    }
    strip.flush(total);
    __syncwarp(); // the first lane reads in the next pass what the last one wrote
}

template <int SUMS, int C> __global__ void __launch_bounds__(la_threads, SUMS > 1 ? 1 : 2) la_kernel(const LaJob job) {
    constexpr unsigned everyone = 0xffffffffu;
    extern __shared__ double2 memory[];
    __shared__ double totals[LTH__ALIGN_PARAMS][la_threads / 32];
    double *table = reinterpret_cast<double *>(memory);
    Letters<SUMS>::fill(job, table);
    __syncthreads();

    const uint32_t me = threadIdx.x, lanes = job.lanes, lane = me & (lanes - 1);
    const uint64_t group = (uint64_t(blockIdx.x) * la_threads + me) / lanes;
    const uint64_t groups = uint64_t(gridDim.x) * la_threads / lanes, turns = (job.pairs + groups - 1) / groups;
    const Boundary<SUMS> boundary{job.boundary + group * job.longest_row * Boundary<SUMS>::each};
    double pulled[LTH__ALIGN_PARAMS] = {};
    for (uint64_t turn = 0; turn < turns; turn++) {
        Pair pair = find_pair(job, turn * groups + group);
        double k, slope[LTH__ALIGN_PARAMS] = {};
        const bool known = is_known(pair, lane, lanes, &k);
        if (known) pair.rows = pair.cols = 0;
        if (!__any_sync(everyone, pair.wanted)) continue;
        const uint32_t rows = __reduce_max_sync(everyone, pair.rows), cols = __reduce_max_sync(everyone, pair.cols);
        const uint32_t passes = (cols + lanes * C - 1) / (lanes * C);
        const uint32_t used = passes > 0 ? (cols + lanes * passes - 1) / (lanes * passes) : 0;
        Total<SUMS> total;
        total.clear();
        for (uint32_t pass = 0; pass < passes; pass++)
            run_pass<SUMS, C>(job, table, pair, rows, pass, pass + 1 == passes, used, boundary, total);
        total.reduce(lanes);
        if (!pair.wanted || lane != 0) continue;
        if (!known) k = finish(job, pair, total, slope);
        if (job.K) {
            job.K[pair.r * job.ld + pair.c] = k;
            if (pair.both) job.K[pair.c * job.ld + pair.r] = k;
        }
        if constexpr (SUMS > 1) {
            double w = weight_of(job, pair);
#pragma unroll
            for (int p = 0; p < LTH__ALIGN_PARAMS; p++) pulled[p] += w * slope[p];
        }
    }
    if constexpr (SUMS > 1) {
        for (int p = 0; p < LTH__ALIGN_PARAMS; p++) {
            double s = pulled[p];
            for (int other = 16; other > 0; other /= 2) s += __shfl_xor_sync(everyone, s, other);
            if (me % 32 == 0) totals[p][me / 32] = s;
        }
        __syncthreads();
        if (me < LTH__ALIGN_PARAMS) {
            double s = 0;
            for (int w = 0; w < la_threads / 32; w++) s += totals[me][w];
            job.partial[uint64_t(blockIdx.x) * LTH__ALIGN_PARAMS + me] = s;
        }
    }
}

} // namespace luthier

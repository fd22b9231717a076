// The string kernel on a GPU.
//
// `lanes` neighbouring threads, a group, share a pair of strings. Each owns C columns of the table (symbols of t), whose
// state it keeps in registers, and walks down the rows (symbols of s), one step behind its left neighbour. From that it
// receives the row's symbol and the sums Q that travel along a row:
//
//     at cell (j, k):  A_0 = S,  A_i = S P_i[k],  k_(i+1) += A_i,  P_i[k] = gap P_i[k] + Q_i,  Q_i = gap Q_i + A_(i-1)
//
// A string t longer than lanes * C is done in several passes; the Q that leave the last column of a pass wait in memory
// for the next. Rows and columns past the end of a string match nothing, which changes no sum, so all groups of a warp run as
// long as the longest.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "ssk.cuh"

namespace luthier {


constexpr uint32_t no_row = UINT32_MAX, no_column = UINT32_MAX - 1;

template <typename T, int N, int C, bool SOFT, int ALONG> struct Table {
    static constexpr bool tangent = ALONG != along_nothing;
    static constexpr int M = N > 1 ? N - 1 : 1; // orders that have a state

    T P[M][C], dP[tangent ? M : 1][C];
    T Q[M], dQ[tangent ? M : 1];
    T sum[N], dsum[tangent ? N : 1];

    __device__ void clear_state() {
#pragma unroll
        for (int i = 0; i < M; i++) {
            Q[i] = 0;
            if constexpr (tangent) dQ[i] = 0;
#pragma unroll
            for (int c = 0; c < C; c++) {
                P[i][c] = 0;
                if constexpr (tangent) dP[i][c] = 0;
            }
        }
    }

    __device__ void clear_sums() {
#pragma unroll
        for (int i = 0; i < N; i++) {
            sum[i] = 0;
            if constexpr (tangent) dsum[i] = 0;
        }
    }

    // One cell, where the symbols match with similarity S and slope dS.
    __device__ void cell(int c, bool equal, T S, T dS, T gap) {
        T A = SOFT ? S : (equal ? T(1) : T(0)), dA = SOFT ? dS : T(0);
        sum[0] += A;
        if constexpr (tangent && ALONG == along_slope) dsum[0] += dA;
#pragma unroll
        for (int i = 1; i < N; i++) {
            T p = P[i - 1][c], q = Q[i - 1];
            T next = SOFT ? S * p : (equal ? p : T(0)); // choosing is done beside the arithmetic
            sum[i] += next;
            P[i - 1][c] = gap * p + q;
            Q[i - 1] = gap * q + A;
            if constexpr (tangent) {
                T dp = dP[i - 1][c], dq = dQ[i - 1];
                T dnext = SOFT ? S * dp : (equal ? dp : T(0));
                if constexpr (ALONG == along_slope) dnext += dS * p;
                dsum[i] += dnext;
                if constexpr (ALONG == along_gap) {
                    dP[i - 1][c] = (gap * dp + dq) + p;
                    dQ[i - 1] = (gap * dq + dA) + q;
                } else {
                    dP[i - 1][c] = gap * dp + dq;
                    dQ[i - 1] = gap * dq + dA;
                }
                dA = dnext;
            }
            A = next;
        }
    }
};

// The Q of all rows, between two passes: coalesced over groups.
template <typename T, int N, bool TANGENT> struct Boundary {
    T *at;
    uint64_t groups;
    static constexpr int each = (N - 1) * (TANGENT ? 2 : 1);

    __device__ T &of(uint32_t row, int i) const { return at[(uint64_t(row) * each + i) * groups]; }
};

// What a lane has summed so far goes to its totals.
template <typename T, int N, int C, bool SOFT, int ALONG>
__device__ void flush(Table<T, N, C, SOFT, ALONG> &x, double *value, double *slope) {
#pragma unroll
    for (int i = 0; i < N; i++) {
        value[i] += double(x.sum[i]);
        if constexpr (x.tangent) slope[i] += double(x.dsum[i]);
    }
    x.clear_sums();
}

template <typename T, int N, int C, bool SOFT, int ALONG>
__global__ void __launch_bounds__(block_threads) ssk_kernel(const Job<T> job) {
    using State = Table<T, N, C, SOFT, ALONG>;
    constexpr bool tangent = State::tangent;
    constexpr unsigned all = 0xffffffffu;
    constexpr int ahead = N <= 8 ? 3 : 1; // rows whose sums are fetched before they are needed
    // Steps after which sums go to the totals: many small terms would be lost in a large sum. Where symbols only match
    // or not, few terms of a double are not 0, and room for totals would cost a tenth of the time.
    constexpr uint32_t flush_after = sizeof(T) == 4 ? 32 : SOFT ? 256 : 0;
    __shared__ uint32_t columns[C][block_threads];
    __shared__ T fetched[ahead + 1][N > 1 ? (N - 1) * (tangent ? 2 : 1) : 1][block_threads];
    __shared__ double totals[tangent ? N + 1 : 1][block_threads / 32];

    const uint32_t me = threadIdx.x, lanes = job.lanes, lane = me & (lanes - 1);
    const uint64_t group = (uint64_t(blockIdx.x) * block_threads + me) / lanes;
    const uint64_t groups = uint64_t(gridDim.x) * block_threads / lanes;
    const Boundary<T, N, tangent> boundary{job.boundary + group, groups};
    const uint64_t turns = (job.pairs + groups - 1) / groups;
    const T gap = job.gap;

    double pulled[tangent ? N + 1 : 1] = {};
    State x;
    for (uint64_t turn = 0; turn < turns; turn++) {
        const Pair pair = find_pair(job, turn * groups + group);
        if (!__any_sync(all, pair.wanted)) continue;
        const uint32_t rows = __reduce_max_sync(all, pair.rows);
        const uint32_t width = lanes * C;
        const uint32_t passes = __reduce_max_sync(all, (pair.cols + width - 1) / width);
        double value[N] = {}, slope[tangent ? N : 1] = {};
        x.clear_sums();
        for (uint32_t pass = 0; pass < passes; pass++) {
            for (int c = 0; c < C; c++) {
                uint32_t k = (pass * lanes + lane) * C + uint32_t(c);
                columns[c][me] = k < pair.cols ? pair.t[k] : SOFT ? job.stride - 1 : no_column;
            }
            x.clear_state();
            uint32_t symbol = SOFT ? job.stride - 1 : no_row;
            uint32_t coming = pair.rows > 0 && lane == 0 ? pair.s[0] : symbol;
            const bool continues = pass > 0 && lane == 0;
            auto fetch = [&](uint32_t row) {
                if constexpr (N > 1) {
                    if (continues && row < pair.rows) {
#pragma unroll
                        for (int i = 0; i < boundary.each; i++)
                            __pipeline_memcpy_async(&fetched[row % (ahead + 1)][i][me], &boundary.of(row, i), sizeof(T));
                    }
                    if (pass > 0) __pipeline_commit();
                }
            };
            for (uint32_t row = 0; row < ahead; row++) fetch(row);
            for (uint32_t step = 0; step < rows + lanes - 1; step++) {
                // What the left neighbour had a step ago; the first lane begins the row.
                symbol = __shfl_up_sync(all, symbol, 1, int(lanes));
                if constexpr (N > 1) {
#pragma unroll
                    for (int i = 0; i < N - 1; i++) {
                        x.Q[i] = __shfl_up_sync(all, x.Q[i], 1, int(lanes));
                        if constexpr (tangent) x.dQ[i] = __shfl_up_sync(all, x.dQ[i], 1, int(lanes));
                    }
                }
                if (lane == 0) {
                    symbol = coming;
                    coming = step + 1 < pair.rows ? pair.s[step + 1] : SOFT ? job.stride - 1 : no_row;
                    if constexpr (N > 1) {
#pragma unroll
                        for (int i = 0; i < N - 1; i++) {
                            x.Q[i] = 0;
                            if constexpr (tangent) x.dQ[i] = 0;
                        }
                    }
                }
                if constexpr (N > 1) {
                    if (pass > 0) {
                        fetch(step + ahead);
                        __pipeline_wait_prior(ahead);
                        if (continues && step < pair.rows) {
#pragma unroll
                            for (int i = 0; i < N - 1; i++) {
                                x.Q[i] = fetched[step % (ahead + 1)][i][me];
                                if constexpr (tangent) x.dQ[i] = fetched[step % (ahead + 1)][N - 1 + i][me];
                            }
                        }
                    }
                }
                const T *table = nullptr, *slopes = nullptr;
                if constexpr (SOFT) {
                    table = job.table + uint64_t(symbol) * job.stride;
                    if constexpr (ALONG == along_slope) slopes = job.slope + uint64_t(symbol) * job.stride;
                }
#pragma unroll
                for (int c = 0; c < C; c++) {
                    uint32_t t = columns[c][me];
                    T S = 0, dS = 0;
                    if constexpr (SOFT) {
                        S = table[t];
                        if constexpr (ALONG == along_slope) dS = slopes[t];
                    }
                    x.cell(c, symbol == t, S, dS, gap);
                }
                if constexpr (flush_after > 0) {
                    if (step % flush_after == flush_after - 1) flush(x, value, slope);
                }
                if constexpr (N > 1) {
                    uint32_t row = step - (lanes - 1);
                    if (lane == lanes - 1 && pass + 1 < passes && step + 1 >= lanes && row < pair.rows) {
#pragma unroll
                        for (int i = 0; i < N - 1; i++) {
                            boundary.of(row, i) = x.Q[i];
                            if constexpr (tangent) boundary.of(row, N - 1 + i) = x.dQ[i];
                        }
                    }
                }
            }
            __syncwarp(); // the first lane reads in the next pass what the last one wrote
        }
        flush(x, value, slope);
        for (uint32_t other = 1; other < lanes; other *= 2) {
#pragma unroll
            for (int i = 0; i < N; i++) {
                value[i] += __shfl_xor_sync(all, value[i], int(other));
                if constexpr (tangent) slope[i] += __shfl_xor_sync(all, slope[i], int(other));
            }
        }
        if (pair.wanted && lane == 0) {
            store<T, N>(job, pair, value);
            if constexpr (tangent) {
                store_tangents<T, N>(job, pair, slope);
                double w = weight_of(job, pair), along = 0;
#pragma unroll
                for (int i = 0; i < N; i++) {
                    pulled[i] += w * value[i];
                    if (i < int(job.order)) along += job.nu[i] * slope[i];
                }
                pulled[N] += w * along;
            }
        }
    }
    if constexpr (tangent) {
        if (!job.partial) return;
        for (int i = 0; i <= N; i++) {
            double s = pulled[i];
            for (int other = 16; other > 0; other /= 2) s += __shfl_xor_sync(all, s, other);
            if (me % 32 == 0) totals[i][me / 32] = s;
        }
        __syncthreads();
        if (me <= N) {
            double s = 0;
            for (int w = 0; w < block_threads / 32; w++) s += totals[me][w];
            job.partial[uint64_t(blockIdx.x) * (LTH__DEVICE_ORDERS + 1) + (me == N ? LTH__DEVICE_ORDERS : me)] = s;
        }
    }
}

} // namespace luthier

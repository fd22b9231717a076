// Local alignments of many pairs: which go into one launch, and how many threads share a pair.
#include <algorithm>
#include <map>

#include "device.cuh"
#include "la_kernel.cuh"

namespace luthier {

namespace {

constexpr size_t boundary_limit = size_t(4) << 30; // bytes for what waits between passes
constexpr double past_the_end = 0x1p-200;          // a factor that makes no difference to any sum

struct LaVariant {
    int columns, sums;
    double step; // what a step costs beside its columns, in columns
    const void *kernel;
};

template <int SUMS, int C> LaVariant variant(double step) {
    return {C, SUMS, step, reinterpret_cast<const void *>(&la_kernel<SUMS, C>)};
}

class LaLauncher {
  public:
    LaLauncher(lth__device *d, const lth__device_la &job, lth_error *error) : d(d), job(job), err(error) {}

    lth_status run() {
        if (job.W) std::fill(job.sums, job.sums + LTH__ALIGN_PARAMS, 0.0);
        if (job.panel.rows == 0 || job.panel.cols == 0) return LTH_OK;
        choose_variant();
        LTH_DO(list_items());
        LTH_DO(put_scores());
        LTH_DO(row_self.put(job.row_self, job.rows->count, err));
        LTH_DO(col_self.put(job.col_self, job.cols->count, err));
        for (const auto &c : classes) LTH_DO(launch(c.first, c.second));
        return LTH_OK;
    }

  private:
    lth__device *d;
    const lth__device_la &job;
    lth_error *err;
    LaVariant kernel{};
    uint64_t letters = 0;
    uint32_t stride = 0, copies = 0, longest_row = 0;
    std::vector<uint32_t> rows;                        // of the panel, by length
    std::map<uint32_t, std::vector<uint32_t>> classes; // columns, by the lanes that suit their length
    Room<Alignment> table;
    Room<lth__device_self> row_self, col_self;

    // Where two neighbours in a strip, or in two, can differ by more than a double's range and yet matter both, cells have
    // levels of their own.
    bool is_steep(int columns) const {
        const double *theta = job.theta;
        double most = 0;
        for (int i = 0; i < LTH__DEVICE_LETTERS * LTH__DEVICE_LETTERS; i++) most = std::max(most, std::fabs(job.score[i]));
        return theta[LTH__ALIGN_BETA] * (theta[LTH__ALIGN_OPEN] + 2 * columns * (theta[LTH__ALIGN_EXTEND] + most)) > 500;
    }

    // As many columns as there are registers for.
    void choose_variant() {
        kernel = job.W ? variant<all_sums, 6>(1) : variant<1, 12>(3);
        if (is_steep(kernel.columns)) kernel = job.W ? variant<all_sums, 1>(1) : variant<1, 1>(3);
    }

    // The time of all pairs with such a column, in some unit; too few pairs leave threads without work.
    double cost_of(uint32_t lanes, double pairs, double mean_rows, double cols) const {
        double passes = std::max(1.0, std::ceil(cols / (kernel.columns * double(lanes))));
        double used = std::ceil(cols / (passes * lanes)), threads = double(d->processors) * 512;
        return passes * (used + kernel.step) * (mean_rows + lanes - 1) * std::max(pairs * lanes, threads);
    }

    uint32_t lanes_for(uint32_t length, double pairs, double mean_rows) const {
        uint32_t best = 32;
        for (uint32_t lanes = 16; lanes > 0; lanes /= 2)
            if (cost_of(lanes, pairs, mean_rows, length) < cost_of(best, pairs, mean_rows, length)) best = lanes;
        return best;
    }

    lth_status list_items() {
        const lth__panel &p = job.panel;
        rows = by_length(job.rows, p.first_row, p.rows);
        double units = 0;
        for (uint32_t r : rows) {
            longest_row = std::max(longest_row, job.rows->length[r]);
            units += job.rows->length[r];
        }
        double pairs = double(p.rows) * double(p.cols), mean = units / double(p.rows);
        for (uint32_t c : by_length(job.cols, p.first_col, p.cols))
            classes[lanes_for(job.cols->length[c], pairs, mean)].push_back(c);
        return LTH_OK;
    }

    // Of the letters that there are, and of what is past the end.
    lth_status put_scores() {
        std::vector<int> used;
        letters = job.rows->letters | job.cols->letters;
        for (int a = 0; a < LTH__DEVICE_LETTERS; a++)
            if (letters >> a & 1) used.push_back(a);
        stride = uint32_t(used.size()) + 1;
        std::vector<Alignment> all(size_t(stride) * stride, Alignment{past_the_end, 0});
        for (size_t a = 0; a < used.size(); a++) {
            for (size_t b = 0; b < used.size(); b++) {
                double score = job.score[used[a] * LTH__DEVICE_LETTERS + used[b]];
                all[a * stride + b] = {std::exp(job.theta[LTH__ALIGN_BETA] * score), score};
            }
        }
        LTH_DO(choose_copies());
        return table.put(all.data(), all.size(), err);
    }

    size_t table_bytes() const { return size_t(stride) * stride * copies * (kernel.sums > 1 ? 16 : 8); }

    // A copy for each of the lanes that are served at once, where two blocks have room for them.
    lth_status choose_copies() {
        int of_block = 0, of_all = 0;
        CU_TRY(cudaDeviceGetAttribute(&of_block, cudaDevAttrMaxSharedMemoryPerBlockOptin, d->index));
        CU_TRY(cudaDeviceGetAttribute(&of_all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, d->index));
        size_t most = size_t(std::min(of_block, of_all / 2)) - 2048;
        copies = kernel.sums > 1 ? 8 : 16;
        while (copies > 1 && table_bytes() > most) copies /= 2;
        CU_TRY(cudaFuncSetAttribute(kernel.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(table_bytes())));
        return LTH_OK;
    }

    lth_status launch(uint32_t lanes, const std::vector<uint32_t> &cols) {
        PairLists lists;
        LTH_DO(lists.make(job, rows, cols, err));
        LaJob j{};
        static_cast<Pairs &>(j) = lists.pairs_of(job);
        j.lanes = lanes;
        j.shift = uint32_t(double(cols.size()) * 0.618); // so that no group has the long ones alone
        std::copy(job.theta, job.theta + LTH__ALIGN_PARAMS, j.theta);
        j.open = std::exp(-job.theta[LTH__ALIGN_BETA] * job.theta[LTH__ALIGN_OPEN]);
        j.extend = std::exp(-job.theta[LTH__ALIGN_BETA] * job.theta[LTH__ALIGN_EXTEND]);
        j.letters = letters;
        j.stride = stride;
        j.copies = copies;
        j.table = table;
        j.row_self = row_self;
        j.col_self = col_self;
        j.longest_row = longest_row;

        int resident = 0;
        CU_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel.kernel, la_threads, table_bytes()));
        uint64_t groups_per_block = la_threads / lanes;
        uint64_t blocks = std::min(uint64_t(std::max(resident, 1)) * uint64_t(d->processors),
                                   (j.pairs + groups_per_block - 1) / groups_per_block);
        uint32_t longest_col = 0;
        for (uint32_t c : cols) longest_col = std::max(longest_col, job.cols->length[c]);
        Room<double> boundary, partial;
        if (longest_col > uint32_t(kernel.columns) * lanes) {
            uint64_t each = uint64_t(longest_row) * uint64_t(2 * kernel.sums + 1) * groups_per_block; // for a block
            uint64_t most = boundary_limit / sizeof(double) / std::max(each, uint64_t(1));
            blocks = std::min(blocks, std::max(most, uint64_t(1)));
            LTH_DO(boundary.get(each * blocks, err));
        }
        j.boundary = boundary;
        if (job.W) LTH_DO(partial.get(blocks * LTH__ALIGN_PARAMS, err));
        j.partial = partial;
        void *arguments[] = {&j};
        CU_TRY(cudaLaunchKernel(kernel.kernel, dim3(unsigned(blocks)), dim3(la_threads), arguments, table_bytes(), nullptr));
        return job.W ? add_partials(partial, blocks) : LTH_OK;
    }

    lth_status add_partials(const double *partial, uint64_t blocks) {
        std::vector<double> host(blocks * LTH__ALIGN_PARAMS);
        CU_TRY(cudaMemcpy(host.data(), partial, host.size() * sizeof(double), cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < host.size(); i++) job.sums[i % LTH__ALIGN_PARAMS] += host[i];
        return LTH_OK;
    }
};

} // namespace

lth_status la(lth__device *d, const lth__device_la *job, lth_error *err) { return LaLauncher(d, *job, err).run(); }

} // namespace luthier

// The string kernel of many pairs: which go into one launch, and in which shape.
#include <algorithm>
#include <map>
#include <utility>

#include "device.cuh"
#include "ssk.cuh"

namespace luthier {

namespace {

constexpr size_t boundary_limit = size_t(4) << 30; // bytes for sums between passes

const Variants *const all_variants[] = {&ssk_variants_1, &ssk_variants_2, &ssk_variants_3,  &ssk_variants_4, &ssk_variants_5,
                                        &ssk_variants_6, &ssk_variants_8, &ssk_variants_12, &ssk_variants_16};

// Lanes to a pair, and columns to a lane.
struct Shape {
    Variant variant;
    uint32_t lanes;
    bool operator<(const Shape &o) const {
        return std::make_pair(variant.columns, lanes) < std::make_pair(o.variant.columns, o.lanes);
    }
};

// The time of all pairs with such a column, in some unit: a step costs its columns and something for the shuffles, and
// too few pairs leave threads without work.
double cost_of(const Shape &s, double pairs, double rows, double cols, double threads) {
    double width = s.variant.columns * double(s.lanes), passes = std::max(1.0, std::ceil(cols / width));
    double between = passes > 1 ? 1 + 0.5 / s.lanes : 1;
    return passes * between * (s.variant.columns + 2) * (rows + s.lanes - 1) * std::max(pairs * s.lanes, threads);
}

class Launcher {
  public:
    Launcher(lth__device *d, const lth__device_ssk &job, lth_error *error) : d(d), job(job), err(error) {}

    lth_status run() {
        LTH_DO(choose_variants());
        LTH_DO(list_items());
        if (job.value_sums) std::fill(job.value_sums, job.value_sums + job.order, 0.0);
        if (job.tangent_sum) *job.tangent_sum = 0;
        for (const auto &c : classes) {
            if (job.precision == LTH_F32)
                LTH_DO(launch<float>(c.first, c.second));
            else
                LTH_DO(launch<double>(c.first, c.second));
        }
        return LTH_OK;
    }

  private:
    lth__device *d;
    const lth__device_ssk &job;
    lth_error *err;
    std::vector<Variant> variants;
    int compiled_order = 0; // at least job.order
    std::vector<uint32_t> rows; // of the panel, by length
    uint32_t longest_row = 0;
    std::map<Shape, std::vector<uint32_t>> classes; // columns, by the shape that suits their length

    bool pulls() const { return job.W || job.tangents; }

    lth_status choose_variants() {
        const Variants *found = nullptr;
        for (const Variants *v : all_variants)
            if (!found && v->order >= int(job.order)) found = v;
        if (!found || job.order == 0) return fail(err, LTH_EUNSUPPORTED, "a GPU compares orders 1 to %d", LTH__DEVICE_ORDERS);
        compiled_order = found->order;
        int along = !pulls() ? along_nothing : job.slope ? along_slope : along_gap;
        for (const auto &shape : found->shapes) variants.push_back(shape[job.precision][job.table != nullptr][along]);
        return LTH_OK;
    }

    Shape shape_for(uint32_t length, double pairs, double mean) const {
        Shape best{};
        double least = -1, threads = double(d->processors) * 1024;
        for (const Variant &v : variants) {
            for (uint32_t lanes = 1; lanes <= 32; lanes *= 2) {
                double cost = cost_of({v, lanes}, pairs, mean, length, threads);
                if (least < 0 || cost < least) least = cost, best = {v, lanes};
            }
        }
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
        double mean = rows.empty() ? 0 : units / double(rows.size());
        std::vector<uint32_t> cols = job.only_diagonal ? rows : by_length(job.cols, p.first_col, p.cols);
        double pairs = double(rows.size()) * (job.only_diagonal ? 1 : double(cols.size()));
        if (p.symmetric && !job.only_diagonal) pairs -= double(p.rows) * double(p.rows) / 2;
        uint32_t last = UINT32_MAX;
        std::vector<uint32_t> *to = nullptr;
        for (uint32_t c : cols) {
            uint32_t length = job.cols->length[c];
            if (length != last) to = &classes[shape_for(length, pairs, mean)];
            last = length;
            to->push_back(c);
        }
        return LTH_OK;
    }

    template <typename T> lth_status launch(const Shape &shape, const std::vector<uint32_t> &cols) {
        PairLists lists;
        LTH_DO(lists.make(job, job.only_diagonal ? cols : rows, cols, err));
        Job<T> j{};
        static_cast<Pairs &>(j) = lists.pairs_of(job);
        if (job.only_diagonal) {
            j.only_diagonal = true;
            j.symmetric = false;
            j.pairs = cols.size();
            j.ld = 1;
        }
        j.lanes = shape.lanes;
        j.order = job.order;
        j.gap = T(job.gap);
        j.table = static_cast<const T *>(job.table);
        j.slope = static_cast<const T *>(job.slope);
        j.stride = uint32_t(job.stride);
        std::copy(job.nu, job.nu + LTH__DEVICE_ORDERS, j.nu);
        j.planes = job.planes;
        j.tangents = job.tangents;
        if (j.pairs == 0) return LTH_OK;

        const void *kernel = shape.variant.kernel;
        int resident = 0;
        CU_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, block_threads, 0));
        uint64_t groups_per_block = block_threads / shape.lanes;
        uint64_t blocks = std::min(uint64_t(std::max(resident, 1)) * uint64_t(d->processors),
                                   (j.pairs + groups_per_block - 1) / groups_per_block);
        uint32_t longest_col = 0;
        for (uint32_t c : cols) longest_col = std::max(longest_col, job.cols->length[c]);
        Room<T> boundary;
        if (longest_col > uint32_t(shape.variant.columns) * shape.lanes) {
            uint64_t each = uint64_t(longest_row) * uint64_t(compiled_order - 1) * (pulls() ? 2 : 1); // for a group
            uint64_t most = boundary_limit / sizeof(T) / std::max(each * groups_per_block, uint64_t(1));
            blocks = std::min(blocks, std::max(most, uint64_t(1)));
            LTH_DO(boundary.get(each * groups_per_block * blocks, err));
        }
        j.boundary = boundary;
        Room<double> partial;
        size_t sums = LTH__DEVICE_ORDERS + 1;
        if (job.W) {
            LTH_DO(partial.get(blocks * sums, err));
            CU_TRY(cudaMemset(partial, 0, blocks * sums * sizeof(double)));
        }
        j.partial = partial;
        void *arguments[] = {&j};
        CU_TRY(cudaLaunchKernel(kernel, dim3(unsigned(blocks)), dim3(block_threads), arguments, 0, nullptr));
        if (!job.W) return LTH_OK;
        std::vector<double> host(blocks * sums);
        CU_TRY(cudaMemcpy(host.data(), partial, host.size() * sizeof(double), cudaMemcpyDeviceToHost));
        for (uint64_t b = 0; b < blocks; b++) {
            for (unsigned i = 0; i < job.order; i++) job.value_sums[i] += host[b * sums + i];
            *job.tangent_sum += host[b * sums + LTH__DEVICE_ORDERS];
        }
        return LTH_OK;
    }
};

} // namespace

lth_status make_strings(lth__device *, const uint32_t *symbols, const size_t *start, size_t count,
                        lth__device_strings **out, lth_error *err) {
    lth__device_strings *s = new lth__device_strings;
    s->count = count;
    std::vector<uint64_t> begin(count + 1);
    for (size_t i = 0; i <= count; i++) begin[i] = start[i] - start[0];
    for (size_t i = 0; i < count; i++) s->length.push_back(uint32_t(begin[i + 1] - begin[i]));
    for (size_t k = start[0]; k < start[count]; k++)
        if (symbols[k] < 64) s->letters |= uint64_t(1) << symbols[k];
    for (size_t i = 0; i < count; i++) s->order.push_back(uint32_t(i));
    std::stable_sort(s->order.begin(), s->order.end(),
                     [s](uint32_t a, uint32_t b) { return s->length[a] > s->length[b]; });
    s->place.resize(count);
    for (size_t i = 0; i < count; i++) s->place[s->order[i]] = uint32_t(i);
    lth_status status = s->symbols.put(symbols + start[0], begin[count], err);
    if (status == LTH_OK) status = s->start.put(begin.data(), count + 1, err);
    if (status != LTH_OK) {
        delete s;
        return status;
    }
    *out = s;
    return LTH_OK;
}

void free_strings(lth__device *, lth__device_strings *s) { delete s; }

lth_status ssk(lth__device *d, const lth__device_ssk *job, lth_error *err) { return Launcher(d, *job, err).run(); }

} // namespace luthier

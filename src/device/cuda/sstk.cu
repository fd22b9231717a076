// Subset tree kernels of many pairs of trees.
//
// Delta of two subtrees is kept in a table that has a square block for each production: its members by its members. It is
// filled by rising height of the first, since Delta needs the children's; the reverse sweep goes down again. Its sums, and those
// over trees, are added as they come, so their last digits may differ from run to run.
#include <algorithm>

#include "device.cuh"

// One side's trees: subtrees sorted by production.
struct Bags {
    luthier::Room<uint64_t> start;
    luthier::Room<uint32_t> subtree;
    luthier::Room<double> weight;
};

struct lth__device_trees {
    size_t subtrees = 0, productions = 0;
    uint64_t cells = 0;
    std::vector<std::pair<size_t, size_t>> levels; // places in `by_height` where each height begins, and how many
    luthier::Room<uint32_t> production, child, place, by_height, members; // place: of a subtree among its production's members
    luthier::Room<uint32_t> member;                                       // subtrees, production by production
    luthier::Room<uint64_t> first_child, base, first_member;              // base: where a production's block begins
    Bags rows, cols;
    bool same = false;
};

namespace luthier {

namespace {

constexpr int threads = 128;

// What kernels see of it.
struct Forest {
    const uint32_t *production, *child, *place, *members, *member;
    const uint64_t *first_child, *base, *first_member;
    const double *decay, *alpha;
    const uint32_t *owner;
    double *delta, *adjoint;

    __device__ uint64_t cell(uint32_t x, uint32_t y) const { // of subtrees with the same production
        uint32_t p = production[x];
        return base[p] + uint64_t(place[x]) * members[p] + place[y];
    }
    __device__ double inner(uint32_t x, uint32_t y) const { return production[x] == production[y] ? delta[cell(x, y)] : 0; }
};

__global__ void fill_level(Forest f, const uint32_t *level) {
    uint32_t x = level[blockIdx.x], p = f.production[x];
    uint64_t children = f.first_child[x + 1] - f.first_child[x];
    double decay = f.decay[p], alpha = f.alpha[p];
    for (uint32_t k = threadIdx.x; k < f.members[p]; k += threads) {
        uint32_t y = f.member[f.first_member[p] + k];
        double d = decay;
        for (uint64_t m = 0; m < children; m++)
            d *= alpha + f.inner(f.child[f.first_child[x] + m], f.child[f.first_child[y] + m]);
        f.delta[f.cell(x, y)] = d;
    }
}

struct Side {
    const uint64_t *start;
    const uint32_t *subtree;
    const double *weight;
};

// Calls visit(x, y, how often) for all subtrees of two trees that have the same production.
template <typename Visit> __device__ void meet(const Forest &f, const Side &a, uint64_t i, const Side &b, uint64_t j, Visit visit) {
    uint64_t s = a.start[i], s_end = a.start[i + 1], t = b.start[j], t_end = b.start[j + 1];
    while (s < s_end && t < t_end) {
        uint32_t p = f.production[a.subtree[s]], q = f.production[b.subtree[t]];
        if (p < q) {
            s++;
        } else if (q < p) {
            t++;
        } else {
            uint64_t t_next = t;
            for (; s < s_end && f.production[a.subtree[s]] == p; s++)
                for (t_next = t; t_next < t_end && f.production[b.subtree[t_next]] == p; t_next++)
                    visit(a.subtree[s], b.subtree[t_next], a.weight[s] * b.weight[t_next]);
            t = t_next;
        }
    }
}

__global__ void values(Forest f, Side rows, Side cols, lth__panel panel, double *K, uint64_t ld) {
    uint64_t c = blockIdx.x * uint64_t(threads) + threadIdx.x;
    if (c >= panel.cols) return;
    for (uint64_t r = blockIdx.y; r < panel.rows; r += gridDim.y) {
        bool inside = panel.symmetric && c < panel.rows;
        if (inside && r > c) continue;
        double sum = 0;
        meet(f, rows, panel.first_row + r, cols, panel.first_col + c,
             [&](uint32_t x, uint32_t y, double times) { sum += times * f.delta[f.cell(x, y)]; });
        K[r * ld + c] = sum;
        if (inside) K[c * ld + r] = sum;
    }
}

__global__ void weigh_pairs(Forest f, Side rows, Side cols, lth__panel panel, const double *W, uint64_t ld) {
    uint64_t c = blockIdx.x * uint64_t(threads) + threadIdx.x;
    if (c >= panel.cols) return;
    for (uint64_t r = blockIdx.y; r < panel.rows; r += gridDim.y) {
        double w = W[r * ld + c];
        if (w == 0) continue;
        meet(f, rows, panel.first_row + r, cols, panel.first_col + c,
             [&](uint32_t x, uint32_t y, double times) { atomicAdd(&f.adjoint[f.cell(x, y)], w * times); });
    }
}

// The weights of Delta at one height go to decay, alpha and the children's Delta. No division: factors may be 0.
__global__ void pull_level(Forest f, const uint32_t *level, double *decay_sums, double *alpha_sums) {
    uint32_t x = level[blockIdx.x], p = f.production[x];
    uint64_t children = f.first_child[x + 1] - f.first_child[x];
    double decay = f.decay[p], alpha = f.alpha[p], by_decay = 0, by_alpha = 0;
    for (uint32_t k = threadIdx.x; k < f.members[p]; k += threads) {
        uint32_t y = f.member[f.first_member[p] + k];
        const uint32_t *a = f.child + f.first_child[x], *b = f.child + f.first_child[y];
        double weight = f.adjoint[f.cell(x, y)], all = 1;
        if (weight == 0) continue;
        for (uint64_t m = 0; m < children; m++) all *= alpha + f.inner(a[m], b[m]);
        by_decay += weight * all;
        for (uint64_t m = 0; m < children; m++) {
            double others = 1;
            for (uint64_t n = 0; n < children; n++)
                if (n != m) others *= alpha + f.inner(a[n], b[n]);
            by_alpha += weight * decay * others;
            if (f.production[a[m]] == f.production[b[m]]) atomicAdd(&f.adjoint[f.cell(a[m], b[m])], weight * decay * others);
        }
    }
    by_decay = block_sum<threads>(by_decay);
    by_alpha = block_sum<threads>(by_alpha);
    if (threadIdx.x == 0) {
        atomicAdd(&decay_sums[f.owner[p]], by_decay);
        atomicAdd(&alpha_sums[f.owner[p]], by_alpha);
    }
}

lth_status put_bags(const lth__device_bags &from, const uint32_t *production, Bags *to, lth_error *err) {
    std::vector<uint64_t> start(from.count + 1);
    std::vector<std::pair<uint32_t, double>> all;
    for (size_t i = 0; i < from.count; i++) {
        size_t begin = all.size();
        start[i] = begin;
        for (size_t k = from.start[i]; k < from.start[i + 1]; k++) all.emplace_back(from.feature[k], from.weight[k]);
        std::sort(all.begin() + long(begin), all.end(), [production](const auto &a, const auto &b) {
            return std::make_pair(production[a.first], a.first) < std::make_pair(production[b.first], b.first);
        });
    }
    start[from.count] = all.size();
    std::vector<uint32_t> subtree;
    std::vector<double> weight;
    for (const auto &x : all) subtree.push_back(x.first), weight.push_back(x.second);
    LTH_DO(to->start.put(start.data(), start.size(), err));
    LTH_DO(to->subtree.put(subtree.data(), subtree.size(), err));
    return to->weight.put(weight.data(), weight.size(), err);
}

lth_status fill_trees(const lth__device_forest *from, lth__device_trees *t, lth_error *err) {
    size_t n = from->subtrees, productions = from->productions;
    t->subtrees = n;
    t->productions = productions;
    std::vector<uint32_t> place(n), members(productions, 0), height(n, 0), by_height(n), member(n);
    std::vector<uint64_t> first(from->first_child, from->first_child + n + 1), base(productions), first_member(productions + 1, 0);
    for (size_t s = 0; s < n; s++) {
        place[s] = members[from->production[s]]++;
        for (size_t k = first[s]; k < first[s + 1]; k++) height[s] = std::max(height[s], height[from->child[k]] + 1);
        by_height[s] = uint32_t(s);
    }
    for (size_t p = 0; p < productions; p++) {
        base[p] = t->cells;
        t->cells += uint64_t(members[p]) * members[p];
        first_member[p + 1] = first_member[p] + members[p];
    }
    for (size_t s = 0; s < n; s++) member[first_member[from->production[s]] + place[s]] = uint32_t(s);
    std::stable_sort(by_height.begin(), by_height.end(), [&](uint32_t a, uint32_t b) { return height[a] < height[b]; });
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || height[by_height[i]] != height[by_height[i - 1]]) t->levels.emplace_back(i, 0);
        t->levels.back().second++;
    }
    LTH_DO(t->production.put(from->production, n, err));
    LTH_DO(t->first_child.put(first.data(), n + 1, err));
    LTH_DO(t->child.put(from->child, first[n], err));
    LTH_DO(t->place.put(place.data(), n, err));
    LTH_DO(t->members.put(members.data(), productions, err));
    LTH_DO(t->member.put(member.data(), n, err));
    LTH_DO(t->base.put(base.data(), productions, err));
    LTH_DO(t->first_member.put(first_member.data(), productions + 1, err));
    LTH_DO(t->by_height.put(by_height.data(), n, err));
    LTH_DO(put_bags(from->rows, from->production, &t->rows, err));
    t->same = from->rows.start == from->cols.start;
    return t->same ? LTH_OK : put_bags(from->cols, from->production, &t->cols, err);
}

lth_status make_trees(lth__device *, const lth__device_forest *from, lth__device_trees **out, lth_error *err) {
    lth__device_trees *t = new lth__device_trees;
    lth_status status = fill_trees(from, t, err);
    if (status == LTH_OK)
        *out = t;
    else
        delete t;
    return status;
}

void free_trees(lth__device *, lth__device_trees *t) { delete t; }

Side side_of(const Bags &b) { return {b.start, b.subtree, b.weight}; }

lth_status pull(const lth__device_sstk *job, const Forest &f, Side rows, Side cols, dim3 grid, lth_error *err) {
    const lth__device_trees *t = job->trees;
    Room<double> sums;
    LTH_DO(sums.get(2 * job->owners, err));
    CU_TRY(cudaMemset(sums, 0, 2 * job->owners * sizeof(double)));
    CU_TRY(cudaMemset(f.adjoint, 0, t->cells * sizeof(double)));
    weigh_pairs<<<grid, threads>>>(f, rows, cols, job->panel, job->W, job->ld);
    for (size_t k = t->levels.size(); k-- > 0;)
        pull_level<<<unsigned(t->levels[k].second), threads>>>(f, t->by_height + t->levels[k].first, sums, sums + job->owners);
    CU_TRY(cudaGetLastError());
    CU_TRY(cudaMemcpy(job->decay_sums, sums, job->owners * sizeof(double), cudaMemcpyDeviceToHost));
    CU_TRY(cudaMemcpy(job->alpha_sums, sums + job->owners, job->owners * sizeof(double), cudaMemcpyDeviceToHost));
    return LTH_OK;
}

lth_status sstk(lth__device *, const lth__device_sstk *job, lth_error *err) {
    const lth__device_trees *t = job->trees;
    Room<double> decay, alpha, delta, adjoint;
    Room<uint32_t> owner;
    LTH_DO(decay.put(job->decay, t->productions, err));
    LTH_DO(alpha.put(job->alpha, t->productions, err));
    LTH_DO(owner.put(job->owner, t->productions, err));
    LTH_DO(delta.get(t->cells, err));
    if (job->W) LTH_DO(adjoint.get(t->cells, err));
    Forest f = {t->production, t->child, t->place, t->members, t->member, t->first_child,
                t->base,       t->first_member, decay, alpha, owner, delta, adjoint};
    for (const auto &level : t->levels) fill_level<<<unsigned(level.second), threads>>>(f, t->by_height + level.first);
    const lth__panel &p = job->panel;
    if (p.rows == 0 || p.cols == 0) return LTH_OK;
    Side rows = side_of(t->rows), cols = side_of(t->same ? t->rows : t->cols);
    dim3 grid(unsigned((p.cols + threads - 1) / threads), unsigned(std::min<size_t>(p.rows, 65535)));
    if (job->K) values<<<grid, threads>>>(f, rows, cols, p, job->K, job->ld);
    CU_TRY(cudaGetLastError());
    if (job->W) LTH_DO(pull(job, f, rows, cols, grid, err));
    CU_TRY(cudaDeviceSynchronize()); // before the tables go
    return LTH_OK;
}

} // namespace

void set_trees(lth__device_table *t) {
    t->trees = on<make_trees>;
    t->trees_free = on<free_trees>;
    t->sstk = on<sstk>;
}

} // namespace luthier

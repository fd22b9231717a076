// Partial tree kernels of many pairs of trees (kernel/tree/ptk.c).
//
// A warp has a pair of trees. Their nodes are sorted by height: what two nodes of one height need of their children is there
// when all lower ones are done. The table of Delta has a place for each two nodes with the same key, those of a node of the row
// together; lanes share the places of one height. Derivatives go along as tangents, so all sums come in a fixed order.
#include <algorithm>
#include <unordered_map>

#include "device.cuh"

namespace luthier {

namespace {

constexpr int warps = 4, threads = 32 * warps;
constexpr size_t room_limit = size_t(8) << 30; // bytes for tables

// Nodes of all trees of a side, each tree's from the lowest to the highest. Nodes of one key are a bucket.
struct Forest {
    const uint64_t *start;             // of a tree: its nodes, and its children and buckets in arrays as long
    const uint32_t *buckets, *heights; // how many a tree has
    const uint32_t *label, *key;
    const uint32_t *first, *children, *child; // of a node: its children, within the tree
    const uint32_t *child_key, *child_place;
    const uint32_t *bucket_key, *bucket_start, *member;
    const uint32_t *level; // the first node of each height
};

struct Side {
    size_t count = 0;
    uint32_t most_nodes = 0, most_children = 0;
    Room<uint64_t> start;
    Room<uint32_t> buckets, heights, label, key, first, children, child, child_key, child_place;
    Room<uint32_t> bucket_key, bucket_start, member, level;
    std::vector<std::pair<uint32_t, uint32_t>> most; // by key: how many nodes a tree has of it at most

    Forest forest() const {
        return {start,     buckets,     heights,    label,        key,    first, children, child,
                child_key, child_place, bucket_key, bucket_start, member, level};
    }
};

// A tree's part of it. What has one entry more than nodes is kept one place further for each tree before.
struct Tree {
    uint32_t nodes, buckets, heights;
    const uint32_t *label, *key, *first, *children, *child, *child_key, *child_place;
    const uint32_t *bucket_key, *bucket_start, *member, *level;
};

__device__ Tree tree_of(const Forest &f, uint64_t item) {
    uint64_t at = f.start[item];
    return {uint32_t(f.start[item + 1] - at),
            f.buckets[item],
            f.heights[item],
            f.label + at,
            f.key + at,
            f.first + at,
            f.children + at,
            f.child + at,
            f.child_key + at,
            f.child_place + at,
            f.bucket_key + at,
            f.bucket_start + at + item,
            f.member + at,
            f.level + at + item};
}

struct PtkJob {
    Forest rows, cols;
    lth__panel panel;
    double decay, gap;
    const double *table;
    uint64_t stride;
    double *K;
    const double *W;
    uint64_t ld;
    uint32_t *offsets; // [warp][2 * most_nodes + 1]
    uint64_t offsets_each;
    double *numbers; // [warp]: tables of Delta, then room for lists of children
    uint64_t numbers_each, table_size;
    double *partial; // [block][parameters]
};

// A number, and its derivatives by decay and gap.
template <bool TANGENT> struct Number {
    double value, by_decay, by_gap;
    __device__ Number() : value(0), by_decay(0), by_gap(0) {}
};

template <bool TANGENT> __device__ Number<TANGENT> load(const double *at, uint64_t apart) {
    Number<TANGENT> x;
    x.value = at[0];
    if constexpr (TANGENT) x.by_decay = at[apart], x.by_gap = at[2 * apart];
    return x;
}

template <bool TANGENT> __device__ void keep(double *at, uint64_t apart, const Number<TANGENT> &x) {
    at[0] = x.value;
    if constexpr (TANGENT) at[apart] = x.by_decay, at[2 * apart] = x.by_gap;
}

template <bool TANGENT> __device__ void add(Number<TANGENT> &x, const Number<TANGENT> &y) {
    x.value += y.value;
    if constexpr (TANGENT) x.by_decay += y.by_decay, x.by_gap += y.by_gap;
}

// gap x + y
template <bool TANGENT> __device__ Number<TANGENT> skip(double gap, const Number<TANGENT> &x, const Number<TANGENT> &y) {
    Number<TANGENT> z;
    z.value = gap * x.value + y.value;
    if constexpr (TANGENT) {
        z.by_decay = gap * x.by_decay + y.by_decay;
        z.by_gap = gap * x.by_gap + x.value + y.by_gap;
    }
    return z;
}

// x (1 + y)
template <bool TANGENT> __device__ Number<TANGENT> join(const Number<TANGENT> &x, const Number<TANGENT> &y) {
    Number<TANGENT> z;
    double one = 1 + y.value;
    z.value = x.value * one;
    if constexpr (TANGENT) {
        z.by_decay = x.by_decay * one + x.value * y.by_decay;
        z.by_gap = x.by_gap * one + x.value * y.by_gap;
    }
    return z;
}

// A warp's pair. `at`: by node of a, where its Delta with the bucket of b that has its key begin; `members`: where that bucket does.
template <bool TANGENT> struct Pairing {
    const PtkJob &job;
    Tree a, b;
    uint32_t lane, *at, *members;
    double *delta, *P; // P: of lanes side by side

    __device__ void lay_out() {
        constexpr unsigned all = 0xffffffffu;
        uint32_t used = 0;
        for (uint32_t base = 0; base < a.nodes; base += 32) {
            uint32_t i = base + lane, count = 0, before;
            if (i < a.nodes) count = find_bucket(a.key[i], &members[i]);
            before = count;
            for (int other = 1; other < 32; other *= 2) {
                uint32_t x = __shfl_up_sync(all, before, other);
                if (lane >= uint32_t(other)) before += x;
            }
            if (i < a.nodes) at[i] = used + before - count;
            used += __shfl_sync(all, before, 31);
        }
        if (lane == 0) at[a.nodes] = used;
        __syncwarp();
    }

    __device__ uint32_t find_bucket(uint32_t key, uint32_t *begin) const {
        uint32_t first = 0, last = b.buckets;
        while (first < last) {
            uint32_t middle = (first + last) / 2;
            if (b.bucket_key[middle] < key)
                first = middle + 1;
            else
                last = middle;
        }
        if (first == b.buckets || b.bucket_key[first] != key) return 0;
        *begin = b.bucket_start[first];
        return b.bucket_start[first + 1] - *begin;
    }

    // The node of a whose places place t is among, of those first .. last - 1.
    __device__ uint32_t owner(uint32_t t, uint32_t first, uint32_t last) const {
        while (first + 1 < last) {
            uint32_t middle = (first + last) / 2;
            if (at[middle] <= t)
                first = middle;
            else
                last = middle;
        }
        return first;
    }

    __device__ bool has(const uint32_t *keys, uint32_t count, uint32_t key) const {
        bool found = false;
        for (uint32_t v = 0; v < count; v++) found |= keys[v] == key;
        return found;
    }

    // P is 0 until a child matches, and only shrinks where none does.
    __device__ Number<TANGENT> compare_children(uint32_t i, uint32_t j) const {
        Number<TANGENT> sum;
        uint32_t m = a.children[i], n = b.children[j];
        const uint32_t *s = a.child + a.first[i], *keys = a.child_key + a.first[i];
        const uint32_t *other_keys = b.child_key + b.first[j], *other_place = b.child_place + b.first[j];
        bool begun = false;
        for (uint32_t u = 0; u < m; u++) {
            Number<TANGENT> Q, none;
            bool matches = has(other_keys, n, keys[u]);
            uint32_t place = at[s[u]];
            for (uint32_t v = 0; v < n && (matches || begun); v++) {
                double *here = P + uint64_t(v) * 32 * (TANGENT ? 3 : 1);
                Number<TANGENT> p = begun ? load<TANGENT>(here, 32) : none, A;
                if (other_keys[v] == keys[u]) {
                    A = join(load<TANGENT>(delta + place + other_place[v], job.table_size), p);
                    add(sum, A);
                }
                keep(here, 32, skip(job.gap, p, Q));
                Q = skip(job.gap, Q, A);
            }
            begun |= matches;
        }
        return sum;
    }

    __device__ Number<TANGENT> compare_nodes(uint32_t i, uint32_t j) const {
        Number<TANGENT> k;
        double sigma = 1, gap = job.gap;
        if (a.key[i] == LTH__DEVICE_SOFT) sigma = job.table[a.label[i] * job.stride + b.label[j]];
        if (sigma == 0) return k;
        Number<TANGENT> children = compare_children(i, j);
        double all = gap * gap + children.value;
        k.value = job.decay * sigma * all;
        if constexpr (TANGENT) {
            k.by_decay = sigma * all + job.decay * sigma * children.by_decay;
            k.by_gap = job.decay * sigma * (2 * gap + children.by_gap);
        }
        return k;
    }

    // This lane's share of the sum.
    __device__ Number<TANGENT> compare() {
        Number<TANGENT> sum;
        lay_out();
        for (uint32_t h = 0; h < a.heights; h++) {
            uint32_t first = a.level[h], last = a.level[h + 1];
            for (uint32_t t = at[first] + lane; t < at[last]; t += 32) {
                uint32_t i = owner(t, first, last), j = b.member[members[i] + t - at[i]];
                Number<TANGENT> x = compare_nodes(i, j);
                keep(delta + t, job.table_size, x);
                add(sum, x);
            }
            __syncwarp();
        }
        return sum;
    }
};

__device__ double warp_sum(double x) {
    for (int other = 16; other > 0; other /= 2) x += __shfl_xor_sync(0xffffffffu, x, other);
    return x;
}

template <bool TANGENT> __global__ void __launch_bounds__(threads) compare_all(const PtkJob job) {
    const uint32_t lane = threadIdx.x % 32;
    const uint64_t warp = uint64_t(blockIdx.x) * warps + threadIdx.x / 32, all = uint64_t(gridDim.x) * warps;
    const lth__panel &p = job.panel;
    uint32_t *at = job.offsets + warp * job.offsets_each;
    double *numbers = job.numbers + warp * job.numbers_each, by_decay = 0, by_gap = 0;
    for (uint64_t pair = warp; pair < p.rows * p.cols; pair += all) {
        uint64_t r = pair / p.cols, c = pair % p.cols;
        bool mirrored = p.symmetric && c < p.rows && r != c;
        if (mirrored && c < r) continue; // the other one stands for both
        Tree a = tree_of(job.rows, p.first_row + r), b = tree_of(job.cols, p.first_col + c);
        Pairing<TANGENT> x{job, a, b, lane, at, at + job.offsets_each / 2 + 1, numbers,
                           numbers + job.table_size * (TANGENT ? 3 : 1) + lane};
        Number<TANGENT> k = x.compare();
        double value = warp_sum(k.value);
        if (lane == 0 && job.K) {
            job.K[r * job.ld + c] = value;
            if (mirrored) job.K[c * job.ld + r] = value;
        }
        if constexpr (TANGENT) {
            double w = job.W[r * job.ld + c] * (mirrored ? 2 : 1);
            by_decay += w * k.by_decay;
            by_gap += w * k.by_gap;
        }
        __syncwarp();
    }
    if constexpr (TANGENT) {
        by_decay = block_sum<threads>(by_decay);
        by_gap = block_sum<threads>(by_gap);
        if (threadIdx.x == 0) {
            job.partial[blockIdx.x * LTH__PTK_PARAMS + LTH__PTK_DECAY] = by_decay;
            job.partial[blockIdx.x * LTH__PTK_PARAMS + LTH__PTK_GAP] = by_gap;
        }
    }
}

// ---- Trees ----

// The arrays of a side in host memory.
class Builder {
  public:
    explicit Builder(const lth__device_nodes &nodes) : from(nodes) {}

    lth_status put(Side *to, lth_error *err) {
        size_t nodes = from.start[from.count] - from.start[0];
        for (auto *x : {&label, &key, &place, &first, &children, &child, &child_key, &child_place, &bucket_key, &member})
            x->resize(nodes);
        for (auto *x : {&bucket_start, &level}) x->resize(nodes + from.count);
        for (size_t i = 0; i <= from.count; i++) start.push_back(from.start[i] - from.start[0]);
        for (size_t i = 0; i < from.count; i++) add_tree(i);
        to->count = from.count;
        to->most_nodes = most_nodes;
        to->most_children = most_children;
        to->most.assign(most.begin(), most.end());
        std::sort(to->most.begin(), to->most.end());
        LTH_DO(to->start.put(start.data(), start.size(), err));
        LTH_DO(put(to->buckets, buckets, err));
        LTH_DO(put(to->heights, heights, err));
        LTH_DO(put(to->label, label, err));
        LTH_DO(put(to->key, key, err));
        LTH_DO(put(to->first, first, err));
        LTH_DO(put(to->children, children, err));
        LTH_DO(put(to->child, child, err));
        LTH_DO(put(to->child_key, child_key, err));
        LTH_DO(put(to->child_place, child_place, err));
        LTH_DO(put(to->bucket_key, bucket_key, err));
        LTH_DO(put(to->bucket_start, bucket_start, err));
        LTH_DO(put(to->member, member, err));
        return put(to->level, level, err);
    }

  private:
    using Numbers = std::vector<uint32_t>;
    const lth__device_nodes &from;
    std::vector<uint64_t> start;
    Numbers buckets, heights, label, key, place, first, children, child, child_key, child_place;
    Numbers bucket_key, bucket_start, member, level;
    Numbers height, order, number, stack; // of one tree; number: of a node in post-order
    std::unordered_map<uint32_t, uint32_t> most;
    uint32_t most_nodes = 0, most_children = 0;

    static lth_status put(Room<uint32_t> &to, const Numbers &x, lth_error *err) { return to.put(x.data(), x.size(), err); }

    // Heights and children of nodes in post-order: the last ones that have no parent yet.
    void walk(size_t base, uint32_t nodes, Numbers *post_child, Numbers *post_first) {
        height.assign(nodes, 0);
        stack.clear();
        for (uint32_t i = 0; i < nodes; i++) {
            uint32_t count = from.children[base + i];
            post_first->push_back(uint32_t(post_child->size()));
            for (auto k = stack.end() - count; k != stack.end(); ++k) {
                post_child->push_back(*k);
                height[i] = std::max(height[i], height[*k] + 1);
            }
            stack.resize(stack.size() - count);
            stack.push_back(i);
        }
    }

    void add_tree(size_t item) {
        size_t base = start[item];
        uint32_t nodes = uint32_t(start[item + 1] - base);
        Numbers post_child, post_first;
        walk(base, nodes, &post_child, &post_first);
        order.resize(nodes);
        number.resize(nodes);
        for (uint32_t i = 0; i < nodes; i++) order[i] = i;
        std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) { return height[x] < height[y]; });
        for (uint32_t i = 0; i < nodes; i++) number[order[i]] = i;
        uint32_t used = 0, levels = 0, *levels_at = level.data() + base + item;
        for (uint32_t i = 0; i < nodes; i++) {
            size_t post = order[i];
            if (i == 0 || height[post] != height[order[i - 1]]) levels_at[levels++] = i;
            label[base + i] = from.label[base + post];
            key[base + i] = from.key[base + post];
            first[base + i] = used;
            children[base + i] = from.children[base + post];
            most_children = std::max(most_children, children[base + i]);
            for (uint32_t k = 0; k < children[base + i]; k++) child[base + used++] = number[post_child[post_first[post] + k]];
        }
        levels_at[levels] = nodes;
        heights.push_back(levels);
        most_nodes = std::max(most_nodes, nodes);
        fill_buckets(base, item, nodes);
        for (uint32_t k = 0; k < used; k++) {
            child_key[base + k] = key[base + child[base + k]];
            child_place[base + k] = place[base + child[base + k]];
        }
    }

    void fill_buckets(size_t base, size_t item, uint32_t nodes) {
        uint32_t used = 0, *starts = bucket_start.data() + base + item;
        for (uint32_t i = 0; i < nodes; i++) order[i] = i;
        std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) { return key[base + x] < key[base + y]; });
        for (uint32_t i = 0; i < nodes; i++) {
            uint32_t k = key[base + order[i]];
            if (i == 0 || k != key[base + order[i - 1]]) {
                bucket_key[base + used] = k;
                starts[used++] = i;
            }
            member[base + i] = order[i];
            place[base + order[i]] = i - starts[used - 1];
            most[k] = std::max(most[k], place[base + order[i]] + 1);
        }
        starts[used] = nodes;
        buckets.push_back(used);
    }
};

// At least as many places as any two trees need.
uint64_t places(const Side &rows, const Side &cols) {
    uint64_t all = 0;
    auto a = rows.most.begin(), b = cols.most.begin();
    while (a != rows.most.end() && b != cols.most.end()) {
        if (a->first < b->first)
            ++a;
        else if (b->first < a->first)
            ++b;
        else
            all += uint64_t(a++->second) * (b++)->second;
    }
    return std::min(all, uint64_t(rows.most_nodes) * cols.most_nodes);
}

} // namespace

} // namespace luthier

struct lth__device_ordered {
    luthier::Side rows, cols;
    bool same = false;
    uint64_t places = 0;
};

namespace luthier {

namespace {

lth_status make_ordered(lth__device *, const lth__device_nodes *rows, const lth__device_nodes *cols, lth__device_ordered **out,
                        lth_error *err) {
    lth__device_ordered *t = new lth__device_ordered;
    t->same = rows == cols;
    lth_status status = Builder(*rows).put(&t->rows, err);
    if (status == LTH_OK && !t->same) status = Builder(*cols).put(&t->cols, err);
    t->places = places(t->rows, t->same ? t->rows : t->cols);
    if (status == LTH_OK)
        *out = t;
    else
        delete t;
    return status;
}

void free_ordered(lth__device *, lth__device_ordered *t) { delete t; }

template <bool TANGENT> lth_status launch(lth__device *d, const lth__device_ptk *job, PtkJob j, lth_error *err) {
    const Side &rows = job->trees->rows, &cols = job->trees->same ? rows : job->trees->cols;
    constexpr uint64_t each = TANGENT ? 3 : 1;
    int resident = 0;
    CU_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, compare_all<TANGENT>, threads, 0));
    j.table_size = job->trees->places;
    j.numbers_each = each * (j.table_size + 32 * uint64_t(cols.most_children));
    j.offsets_each = 2 * uint64_t(rows.most_nodes) + 1;
    uint64_t bytes = warps * (j.numbers_each * sizeof(double) + j.offsets_each * sizeof(uint32_t));
    uint64_t blocks = std::min(uint64_t(std::max(resident, 1)) * uint64_t(d->processors),
                               (j.panel.rows * j.panel.cols + warps - 1) / warps);
    blocks = std::max(std::min(blocks, uint64_t(room_limit) / std::max(bytes, uint64_t(1))), uint64_t(1));
    Room<double> numbers, partial;
    Room<uint32_t> offsets;
    LTH_DO(numbers.get(blocks * warps * j.numbers_each, err));
    LTH_DO(offsets.get(blocks * warps * j.offsets_each, err));
    LTH_DO(partial.get(blocks * LTH__PTK_PARAMS, err));
    j.numbers = numbers;
    j.offsets = offsets;
    j.partial = partial;
    compare_all<TANGENT><<<unsigned(blocks), threads>>>(j);
    CU_TRY(cudaGetLastError());
    if constexpr (TANGENT) {
        std::vector<double> host(blocks * LTH__PTK_PARAMS);
        CU_TRY(cudaMemcpy(host.data(), partial, host.size() * sizeof(double), cudaMemcpyDeviceToHost));
        for (int p = 0; p < LTH__PTK_PARAMS; p++) job->sums[p] = 0;
        for (size_t i = 0; i < host.size(); i++) job->sums[i % LTH__PTK_PARAMS] += host[i];
    }
    return LTH_OK;
}

lth_status ptk(lth__device *d, const lth__device_ptk *job, lth_error *err) {
    const lth__device_ordered *t = job->trees;
    for (int p = 0; job->W && p < LTH__PTK_PARAMS; p++) job->sums[p] = 0;
    if (job->panel.rows == 0 || job->panel.cols == 0) return LTH_OK;
    PtkJob j = {};
    j.rows = t->rows.forest();
    j.cols = t->same ? j.rows : t->cols.forest();
    j.panel = job->panel;
    j.decay = job->theta[LTH__PTK_DECAY];
    j.gap = job->theta[LTH__PTK_GAP];
    j.table = job->table;
    j.stride = job->stride;
    j.K = job->K;
    j.W = job->W;
    j.ld = job->ld;
    return job->W ? launch<true>(d, job, j, err) : launch<false>(d, job, j, err);
}

} // namespace

void set_ordered(lth__device_table *t) {
    t->ordered = on<make_ordered>;
    t->ordered_free = on<free_ordered>;
    t->ptk = on<ptk>;
}

} // namespace luthier

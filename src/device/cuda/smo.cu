// Quadratic problems of support vector machines: one block of threads solves one problem, pair by pair, with the second-order
// choice of Fan, Chen and Lin (2005); all problems of a grid are one launch.
//
// Row t of a problem belongs to thread t % threads, which alone reads and writes its numbers: they lie in the multiprocessor's own
// memory as far as there is room. What all threads need to know of the pair (i, j) its owners put into shared memory, so a
// step waits twice: for the i, and for the j.
//
// Slopes and gains are compared in single precision, as integers of the same order, which a warp compares at once; what they
// are is in double precision. Of equals the first row is taken. A launch takes a bounded number of steps, so that the host can be
// asked whether to go on.
#include "device.cuh"

namespace luthier {

namespace {

#ifndef SMO_THREADS
#define SMO_THREADS 1024
#endif
constexpr int threads = SMO_THREADS, warps = threads / 32;
constexpr unsigned all_lanes = 0xffffffffu;
constexpr double flat = 1e-12; // the least curvature along a pair
constexpr size_t most_steps = 100000000;
constexpr int launch_steps = 20000;

struct Group {
    double lo[LTH__SMO_SIDES], hi[LTH__SMO_SIDES];
};

struct Task {
    const uint32_t *row;
    const double *y; // by row of K
    unsigned n, near; // bytes of shared memory
    double linear, epsilon, tolerance;
    bool relative, begun, done;
    Group group[LTH__SMO_DEVICE_GROUPS];
    double *F, *beta;     // [row], [group][row]
    double level[LTH__SMO_DEVICE_GROUPS];
    float *diagonal;
    uint8_t *can;         // [group][row]
    size_t steps;
};

// Whether a beta can go up and down, and on which side of 0 it lies, where its slope changes.
enum Can : uint8_t { can_up = 1, can_down = 2, below = 4, above = 8 };

__device__ inline uint8_t what_can(double beta, double lo, double hi) {
    return (beta < hi ? can_up : 0) | (beta > lo ? can_down : 0) | (beta < 0 ? below : 0) | (beta > 0 ? above : 0);
}

__device__ inline double up_slope(uint8_t can, double epsilon) { return can & below ? -epsilon : epsilon; }
__device__ inline double down_slope(uint8_t can, double epsilon) { return can & above ? epsilon : -epsilon; }

// Integers in the order of the numbers.
__device__ inline unsigned key_of(float x) {
    unsigned bits = __float_as_uint(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ inline float number_of(unsigned key) {
    return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

// What a warp found, and then the block.
struct Rising {
    unsigned key[warps], at[warps], most[warps];
    double slope[warps], room[warps];
    float self[warps];
};
struct Falling {
    unsigned gain[warps], at[warps];
    double slope[warps], room[warps];
    float curvature[warps];
};
struct Found {
    unsigned at;
    double slope, room, widest;
    float self;
};
struct Partner {
    unsigned at, gain;
    double slope, room;
    float curvature;
};

// The numbers of one problem, near or far.
struct State {
    double *F, *beta[LTH__SMO_DEVICE_GROUPS];
    float *diagonal;
    uint8_t *can[LTH__SMO_DEVICE_GROUPS];
    const uint32_t *row;
};

template <int groups> __device__ State place(const Task &t, char *memory) {
    State s;
    size_t room = t.near, n = t.n;
    auto near = [&](size_t bytes) -> char * {
        bytes = (bytes + 15) / 16 * 16;
        if (bytes > room) return nullptr;
        char *at = memory;
        memory += bytes;
        room -= bytes;
        return at;
    };
    char *at = near(8 * n);
    s.F = at ? reinterpret_cast<double *>(at) : t.F;
    at = near(groups * n);
    uint8_t *can = at ? reinterpret_cast<uint8_t *>(at) : t.can;
    at = near(4 * n);
    s.diagonal = at ? reinterpret_cast<float *>(at) : t.diagonal;
    at = near(4 * n);
    s.row = at ? reinterpret_cast<uint32_t *>(at) : t.row;
    at = near(groups * 8 * n);
    double *beta = at ? reinterpret_cast<double *>(at) : t.beta;
    for (int g = 0; g < groups; g++) {
        s.can[g] = can + g * n;
        s.beta[g] = beta + g * n;
    }
    return s;
}

template <int groups> __device__ void load(const Task &t, const State &s, const float *K, size_t ld) {
    for (unsigned r = threadIdx.x; r < t.n; r += threads) {
        size_t at = t.row[r];
        int side = !(t.y[at] > 0);
        if (s.row != t.row) const_cast<uint32_t *>(s.row)[r] = t.row[r];
        s.diagonal[r] = K[at * ld + at];
        for (int g = 0; g < groups; g++) {
            double beta = t.beta[g * size_t(t.n) + r];
            s.beta[g][r] = beta;
            s.can[g][r] = what_can(beta, t.group[g].lo[side], t.group[g].hi[side]);
        }
        if (t.begun) {
            s.F[r] = t.F[r];
            continue;
        }
        double F = -t.linear * t.y[at];
        for (unsigned c = 0; c < t.n; c++) {
            double beta = 0;
            for (int g = 0; g < groups; g++) beta += t.beta[g * size_t(t.n) + c];
            if (beta != 0) F += beta * double(K[size_t(t.row[c]) * ld + at]);
        }
        s.F[r] = F;
    }
}

// F += step (K_i - K_j), then who can rise at the least slope, in each group.
template <int groups>
__device__ void move(const Task &t, const State &s, const float *Ki, const float *Kj, double step, Rising *out) {
    unsigned least[groups], most[groups], at[groups];
    for (int g = 0; g < groups; g++) {
        least[g] = at[g] = 0xffffffffu;
        most[g] = 0;
    }
    for (unsigned r = threadIdx.x; r < t.n; r += threads) {
        size_t c = s.row[r];
        double F = s.F[r];
        if (step != 0) s.F[r] = F = F + step * (double(__ldg(Ki + c)) - double(__ldg(Kj + c)));
        for (int g = 0; g < groups; g++) {
            uint8_t can = s.can[g][r];
            unsigned up = can & can_up ? key_of(float(F + up_slope(can, t.epsilon))) : 0xffffffffu;
            unsigned down = can & can_down ? key_of(float(F + down_slope(can, t.epsilon))) : 0;
            if (up < least[g]) {
                least[g] = up;
                at[g] = r;
            }
            if (down > most[g]) most[g] = down;
        }
    }
    for (int g = 0; g < groups; g++) {
        unsigned key = __reduce_min_sync(all_lanes, least[g]);
        unsigned first = __reduce_min_sync(all_lanes, least[g] == key ? at[g] : 0xffffffffu);
        unsigned top = __reduce_max_sync(all_lanes, most[g]);
        int warp = threadIdx.x / 32;
        bool any = first != 0xffffffffu;
        if (any ? at[g] == first : threadIdx.x % 32 == 0) {
            out[g].key[warp] = key;
            out[g].at[warp] = first;
            out[g].most[warp] = top;
            if (any) {
                double beta = s.beta[g][first], hi = t.group[g].hi[!(t.y[s.row[first]] > 0)];
                out[g].slope[warp] = s.F[first] + up_slope(s.can[g][first], t.epsilon);
                out[g].room[warp] = t.epsilon > 0 && beta < 0 && hi > 0 ? -beta : hi - beta;
                out[g].self[warp] = s.diagonal[first];
            }
        }
    }
}

__device__ Found found(const Rising &r) {
    unsigned lane = threadIdx.x % 32, own = lane < warps ? r.key[lane] : 0xffffffffu;
    unsigned at = lane < warps ? r.at[lane] : 0xffffffffu;
    unsigned key = __reduce_min_sync(all_lanes, own);
    unsigned first = __reduce_min_sync(all_lanes, own == key ? at : 0xffffffffu);
    unsigned top = __reduce_max_sync(all_lanes, lane < warps ? r.most[lane] : 0);
    Found f = {first, 0, 0, -1, 0};
    if (first == 0xffffffffu || top == 0) return f;
    int warp = first % threads / 32;
    f.slope = r.slope[warp];
    f.room = r.room[warp];
    f.self = r.self[warp];
    f.widest = double(number_of(top)) - f.slope;
    return f;
}

// Whose fall, with the rise of i, lowers the sum most.
__device__ void partners(const Task &t, const State &s, int g, const float *Ki, const Found &i, Falling *out) {
    unsigned best = 0, at = 0xffffffffu;
    float curve = 0;
    for (unsigned r = threadIdx.x; r < t.n; r += threads) {
        uint8_t can = s.can[g][r];
        float k = __ldg(Ki + s.row[r]);
        float slope = float(s.F[r] + down_slope(can, t.epsilon) - i.slope);
        float curvature = fmaxf(i.self + s.diagonal[r] - 2 * k, float(flat));
        unsigned gain = can & can_down && slope > 0 ? __float_as_uint(fminf(slope * slope / curvature, 3e38f)) : 0;
        if (gain > best) {
            best = gain;
            at = r;
            curve = k;
        }
    }
    unsigned top = __reduce_max_sync(all_lanes, best);
    unsigned first = __reduce_min_sync(all_lanes, best == top ? at : 0xffffffffu);
    int warp = threadIdx.x / 32;
    if (first != 0xffffffffu ? at == first : threadIdx.x % 32 == 0) {
        out->gain[warp] = first != 0xffffffffu ? top : 0;
        out->at[warp] = first;
        if (first != 0xffffffffu) {
            double beta = s.beta[g][first], lo = t.group[g].lo[!(t.y[s.row[first]] > 0)];
            out->slope[warp] = s.F[first] + down_slope(s.can[g][first], t.epsilon) - i.slope;
            out->room[warp] = t.epsilon > 0 && beta > 0 && lo < 0 ? beta : beta - lo;
            out->curvature[warp] = float(fmax(double(i.self) + double(s.diagonal[first]) - 2 * double(curve), flat));
        }
    }
}

__device__ Partner partner(const Falling &f) {
    unsigned lane = threadIdx.x % 32, own = lane < warps ? f.gain[lane] : 0;
    unsigned top = __reduce_max_sync(all_lanes, own);
    unsigned first = __reduce_min_sync(all_lanes, lane < warps && own == top ? f.at[lane] : 0xffffffffu);
    Partner p = {first, top, 0, 0, 1};
    if (first == 0xffffffffu) {
        p.gain = 0;
        return p;
    }
    int warp = first % threads / 32;
    p.slope = f.slope[warp];
    p.room = f.room[warp];
    p.curvature = f.curvature[warp];
    return p;
}

// A beta that has no more room comes to lie on its end exactly: its bound, or 0.
__device__ void shift(const Task &t, const State &s, int g, unsigned at, double by, bool ends) {
    int side = !(t.y[s.row[at]] > 0);
    double lo = t.group[g].lo[side], hi = t.group[g].hi[side], beta = s.beta[g][at];
    double bound = by > 0 ? hi : lo;
    bool crosses = t.epsilon > 0 && (by > 0 ? beta < 0 && hi > 0 : beta > 0 && lo < 0);
    beta = !ends ? beta + by : crosses ? 0 : bound;
    s.beta[g][at] = beta;
    s.can[g][at] = what_can(beta, lo, hi);
}

// F where rows are between their bounds; or in the middle of where it may be.
template <int groups> __device__ void find_levels(Task &t, const State &s) {
    for (int g = 0; g < groups; g++) {
        double sum = 0, count = 0, least = INFINITY, most = -INFINITY;
        for (unsigned r = threadIdx.x; r < t.n; r += threads) {
            uint8_t can = s.can[g][r];
            double up = s.F[r] + up_slope(can, t.epsilon), down = s.F[r] + down_slope(can, t.epsilon);
            if (can & can_up && can & can_down && up == down) {
                sum += up;
                count++;
            }
            if (can & can_up) least = fmin(least, up);
            if (can & can_down) most = fmax(most, down);
        }
        sum = block_sum<threads>(sum);
        count = block_sum<threads>(count);
        __shared__ double ends[2][threads];
        __syncthreads();
        ends[0][threadIdx.x] = least;
        ends[1][threadIdx.x] = most;
        __syncthreads();
        if (threadIdx.x > 0) continue;
        for (int k = 0; k < threads; k++) {
            least = fmin(least, ends[0][k]);
            most = fmax(most, ends[1][k]);
        }
        t.level[g] = count > 0 ? sum / count : isinf(least) ? most : isinf(most) ? least : least / 2 + most / 2;
    }
}

template <int groups> __global__ void __launch_bounds__(threads) descend(Task *tasks, const float *K, size_t ld) {
    extern __shared__ double memory[];
    __shared__ Rising rising[groups];
    __shared__ Falling falling[groups];
    Task &t = tasks[blockIdx.x];
    if (t.done) return;
    State s = place<groups>(t, reinterpret_cast<char *>(memory));
    load<groups>(t, s, K, ld);
    __syncthreads();
    const float *Ki = K, *Kj = K;
    double step = 0;
    int steps = 0;
    bool done = false;
    for (;; steps++) {
        move<groups>(t, s, Ki, Kj, step, rising);
        __syncthreads();
        Found i[groups];
        double widest = -1, apart = 1;
        for (int g = 0; g < groups; g++) {
            i[g] = found(rising[g]);
            widest = fmax(widest, i[g].widest);
        }
        if (groups > 1 && t.relative)
            apart = fmax(fabs(i[0].slope + i[0].widest / 2 - i[groups - 1].slope - i[groups - 1].widest / 2) / 2, 1e-6);
        done = !(widest > t.tolerance * apart);
        if (done || steps >= launch_steps) break;
        for (int g = 0; g < groups; g++)
            if (i[g].widest > 0) partners(t, s, g, K + s.row[i[g].at] * ld, i[g], &falling[g]);
        __syncthreads();
        int group = 0;
        Partner j = {0, 0, 0, 0, 1};
        for (int g = 0; g < groups; g++) {
            if (!(i[g].widest > 0)) continue;
            Partner p = partner(falling[g]);
            if (p.gain <= j.gain) continue;
            j = p;
            group = g;
        }
        done = j.gain == 0;
        if (done) break;
        unsigned rises = i[group].at;
        double up = i[group].room, down = j.room;
        step = fmin(j.slope / double(j.curvature), fmin(up, down));
        if (threadIdx.x == rises % threads) shift(t, s, group, rises, step, step == up);
        if (threadIdx.x == j.at % threads) shift(t, s, group, j.at, -step, step == down);
        Ki = K + s.row[rises] * ld;
        Kj = K + s.row[j.at] * ld;
    }
    __syncthreads();
    for (unsigned r = threadIdx.x; r < t.n; r += threads) {
        if (s.F != t.F) t.F[r] = s.F[r];
        for (int g = 0; g < groups; g++)
            if (s.beta[g] != t.beta + g * size_t(t.n)) t.beta[g * size_t(t.n) + r] = s.beta[g][r];
    }
    if (done) find_levels<groups>(t, s);
    if (threadIdx.x > 0) return;
    t.steps += steps;
    t.begun = true;
    t.done = done;
}

// ---- The host's side ----

struct Rooms {
    Room<uint32_t> rows;
    Room<double> y, F, beta;
    Room<float> diagonal;
    Room<uint8_t> can;
    Room<Task> tasks;
};

lth_status upload_problems(const lth__device_smo *job, Rooms &rooms, std::vector<Task> &tasks, lth_error *err) {
    std::vector<uint32_t> rows;
    std::vector<size_t> start;
    for (size_t i = 0; i < job->sets; i++) {
        start.push_back(rows.size());
        rows.insert(rows.end(), job->set[i], job->set[i] + job->set_count[i]);
    }
    size_t cells = 0, betas = 0;
    for (size_t p = 0; p < job->problems; p++) {
        size_t n = job->set_count[job->problem[p].set];
        cells += n;
        betas += n * job->problem[p].groups;
    }
    LTH_DO(rooms.rows.put(rows.data(), rows.size(), err));
    LTH_DO(rooms.y.put(job->y, job->targets * job->rows, err));
    LTH_DO(rooms.F.get(cells, err));
    LTH_DO(rooms.diagonal.get(cells, err));
    LTH_DO(rooms.beta.get(betas, err));
    LTH_DO(rooms.can.get(betas, err));
    CU_TRY(cudaMemsetAsync(rooms.beta, 0, betas * sizeof(double)));
    int device = 0, near = 0;
    CU_TRY(cudaGetDevice(&device));
    CU_TRY(cudaDeviceGetAttribute(&near, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    size_t room = size_t(near) - 28 * 1024; // what the kernel has of its own
    cells = betas = 0;
    for (size_t p = 0; p < job->problems; p++) {
        const lth__device_smo_problem &o = job->problem[p];
        size_t n = job->set_count[o.set], want = n * (16 + 9 * o.groups) + 128;
        Task t = {};
        t.row = rooms.rows + start[o.set];
        t.y = rooms.y + o.target * job->rows;
        t.n = unsigned(n);
        t.near = unsigned(want < room ? want : room);
        t.linear = o.linear;
        t.epsilon = o.epsilon;
        t.tolerance = o.tolerance;
        t.relative = o.relative;
        for (size_t g = 0; g < o.groups; g++) {
            for (int side = 0; side < LTH__SMO_SIDES; side++) {
                t.group[g].lo[side] = o.lo[g][side];
                t.group[g].hi[side] = o.hi[g][side];
            }
        }
        t.F = rooms.F + cells;
        t.diagonal = rooms.diagonal + cells;
        t.beta = rooms.beta + betas;
        t.can = rooms.can + betas;
        if (o.from) CU_TRY(cudaMemcpy(t.beta, o.from, n * o.groups * sizeof(double), cudaMemcpyHostToDevice));
        cells += n;
        betas += n * o.groups;
        tasks.push_back(t);
    }
    return rooms.tasks.put(tasks.data(), tasks.size(), err);
}

template <int groups> lth_status launch(const lth__device_smo *job, Rooms &rooms, size_t bytes, size_t problems, lth_error *err) {
    CU_TRY(cudaFuncSetAttribute(descend<groups>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
    descend<groups><<<unsigned(problems), threads, bytes>>>(rooms.tasks, job->K, job->ld);
    return check(cudaGetLastError(), "smo", err);
}

// All problems have as many groups as the first.
lth_status smo(lth__device *, const lth__device_smo *job, lth_error *err) {
    if (job->problems == 0) return LTH_OK;
    Rooms rooms;
    std::vector<Task> tasks;
    LTH_DO(upload_problems(job, rooms, tasks, err));
    size_t bytes = 0;
    for (const Task &t : tasks) bytes = t.near > bytes ? t.near : bytes;
    for (bool done = false; !done;) {
        if (job->goes_on && !job->goes_on(job->user)) return fail(err, LTH_ECANCELED, "canceled");
        LTH_DO(job->problem[0].groups > 1 ? launch<2>(job, rooms, bytes, tasks.size(), err)
                                          : launch<1>(job, rooms, bytes, tasks.size(), err));
        CU_TRY(cudaMemcpy(tasks.data(), rooms.tasks, tasks.size() * sizeof(Task), cudaMemcpyDeviceToHost));
        done = true;
        for (const Task &t : tasks) done = done && (t.done || t.steps >= most_steps);
    }
    for (size_t p = 0; p < job->problems; p++) {
        lth__device_smo_problem &o = job->problem[p];
        const Task &t = tasks[p];
        CU_TRY(cudaMemcpyAsync(o.beta, t.beta, size_t(t.n) * o.groups * sizeof(double), cudaMemcpyDeviceToHost));
        for (size_t g = 0; g < o.groups; g++) o.level[g] = t.level[g];
        o.steps = t.steps;
        o.unfinished = !t.done;
    }
    CU_TRY(cudaDeviceSynchronize());
    return LTH_OK;
}

} // namespace

void set_smo(lth__device_table *t) { t->smo = on<smo>; }

} // namespace luthier

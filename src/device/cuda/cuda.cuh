// Errors and memory of the CUDA plug-in.
#pragma once

#include <cuda_runtime.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "engine/device.h"

namespace luthier {

inline lth_status fail(lth_error *err, lth_status status, const char *format, ...) {
    if (!err) return status;
    *err = {};
    err->status = status;
    va_list args;
    va_start(args, format);
    std::vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return status;
}

inline lth_status check(cudaError_t code, const char *what, lth_error *err) {
    if (code == cudaSuccess) return LTH_OK;
    cudaGetLastError(); // an error that does not stick is done with
    lth_status status = code == cudaErrorMemoryAllocation ? LTH_ENOMEM : LTH_EUNSUPPORTED;
    return fail(err, status, "the GPU failed (%s): %s", what, cudaGetErrorString(code));
}

#define CU_TRY(call)                                                                                                   \
    do {                                                                                                               \
        lth_status status_ = check(call, #call, err);                                                                  \
        if (status_ != LTH_OK) return status_;                                                                         \
    } while (0)
#define LTH_DO(call)                                                                                                   \
    do {                                                                                                               \
        lth_status status_ = (call);                                                                                   \
        if (status_ != LTH_OK) return status_;                                                                         \
    } while (0)

inline lth_status out_of_memory(size_t bytes, lth_error *err) {
    cudaGetLastError();
    size_t free_bytes = 0, total = 0;
    cudaMemGetInfo(&free_bytes, &total);
    return fail(err, LTH_ENOMEM, "out of GPU memory: %zu MiB are needed, %zu of %zu MiB are free", bytes >> 20,
                free_bytes >> 20, total >> 20);
}

// The sum over the threads of a block, in an order that does not depend on the run.
template <int threads> __device__ double block_sum(double x) {
    __shared__ double part[threads / 32];
    for (int other = 16; other > 0; other /= 2) x += __shfl_xor_sync(0xffffffffu, x, other);
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
    __syncthreads();
    double sum = 0;
    for (int i = 0; i < threads / 32; i++) sum += part[i];
    return sum;
}

// Memory comes and goes in the order of the calling thread's work, without waiting for it; what is in nobody's use is
// taken back when it does not suffice.
inline lth_status get_memory(size_t bytes, void **out, lth_error *err) {
    for (int again = 0; again < 2; again++) {
        if (cudaMallocAsync(out, bytes > 0 ? bytes : 1, nullptr) == cudaSuccess) return LTH_OK;
        cudaGetLastError();
        if (again == 0) cudaDeviceSynchronize();
    }
    *out = nullptr;
    return out_of_memory(bytes, err);
}

inline void drop_memory(void *memory) {
    if (memory) cudaFreeAsync(memory, nullptr);
}

// Device memory that frees itself.
template <typename T> class Room {
  public:
    Room() = default;
    Room(const Room &) = delete;
    Room &operator=(const Room &) = delete;
    Room(Room &&other) noexcept : at_(other.at_) { other.at_ = nullptr; }
    ~Room() { drop_memory(at_); }

    lth_status get(size_t count, lth_error *err) {
        drop_memory(at_);
        at_ = nullptr;
        void *memory;
        LTH_DO(get_memory(count * sizeof(T), &memory, err));
        at_ = static_cast<T *>(memory);
        return LTH_OK;
    }
    lth_status put(const T *from, size_t count, lth_error *err) {
        LTH_DO(get(count, err));
        if (count > 0) CU_TRY(cudaMemcpy(at_, from, count * sizeof(T), cudaMemcpyHostToDevice));
        return LTH_OK;
    }
    operator T *() const { return at_; }

  private:
    T *at_ = nullptr;
};

} // namespace luthier

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

// Device memory that frees itself.
template <typename T> class Room {
  public:
    Room() = default;
    Room(const Room &) = delete;
    Room &operator=(const Room &) = delete;
    Room(Room &&other) noexcept : at_(other.at_) { other.at_ = nullptr; }
    ~Room() { cudaFree(at_); }

    lth_status get(size_t count, lth_error *err) {
        cudaFree(at_);
        at_ = nullptr;
        cudaError_t code = cudaMalloc(&at_, count > 0 ? count * sizeof(T) : 1);
        if (code == cudaSuccess) return LTH_OK;
        at_ = nullptr;
        cudaGetLastError();
        size_t free_bytes = 0, total = 0;
        cudaMemGetInfo(&free_bytes, &total);
        return fail(err, LTH_ENOMEM, "out of GPU memory: %zu MiB are needed, %zu of %zu MiB are free",
                    count * sizeof(T) >> 20, free_bytes >> 20, total >> 20);
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

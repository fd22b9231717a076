// The string kernels for one order, which the build gives as ORDER: every order is compiled by itself.
#include "ssk_kernel.cuh"

namespace luthier {

namespace {

// Columns whose states fit into `numbers` doubles or floats.
constexpr int columns_in(int numbers, int along) {
    int states = (ORDER > 1 ? ORDER - 1 : 1) * (along == along_nothing ? 1 : 2), columns = numbers / states;
    return columns > 25 ? 25 : columns < 1 ? 1 : columns;
}

// As many as there are registers for without spilling; measured on an H200.
template <typename T> constexpr int wide(int along) { return columns_in(sizeof(T) == 8 ? 88 : 120, along); }
template <typename T> constexpr int middle(int along) { return columns_in(sizeof(T) == 8 ? 80 : 120, along); }
template <typename T> constexpr int narrow(int along) {
    int columns = middle<T>(along);
    return columns > 8 ? 8 : columns > 4 ? 4 : columns;
}

template <typename T, int C, bool SOFT, int ALONG> Variant variant() {
    return {C, reinterpret_cast<const void *>(&ssk_kernel<T, ORDER, C, SOFT, ALONG>)};
}

} // namespace

#define NAME(order) NAME_(order)
#define NAME_(order) ssk_variants_##order
#define ALONG(columns, T, soft, along) variant<T, columns<T>(along), soft, along>()
#define VARIANTS(columns, T)                                                                                           \
    {                                                                                                                  \
        {ALONG(columns, T, false, along_nothing), ALONG(columns, T, false, along_gap), {}}, {                          \
            ALONG(columns, T, true, along_nothing), ALONG(columns, T, true, along_gap),                                \
                ALONG(columns, T, true, along_slope)                                                                   \
        }                                                                                                              \
    }

extern const Variants NAME(ORDER) = {ORDER,
                                     {{VARIANTS(wide, double), VARIANTS(wide, float)},
                                      {VARIANTS(middle, double), VARIANTS(middle, float)},
                                      {VARIANTS(narrow, double), VARIANTS(narrow, float)}}};

} // namespace luthier

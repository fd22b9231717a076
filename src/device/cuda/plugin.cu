// The table of the CUDA plug-in: devices and their memory.
#include "device.cuh"

#include <cstdlib>

namespace luthier {

namespace {

// Memory that is freed stays at hand up to this size: asking the system each time takes milliseconds.
constexpr uint64_t kept_bytes = uint64_t(1) << 30;

lth_status keep_memory(int index, lth_error *err) {
    cudaMemPool_t pool;
    uint64_t bytes = kept_bytes;
    CU_TRY(cudaDeviceGetDefaultMemPool(&pool, index));
    CU_TRY(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes));
    return LTH_OK;
}

lth_status open_device(int index, lth__device **out, lth_error *err) {
    int count = 0, driver = 0, runtime = 0, pools = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    cudaDriverGetVersion(&driver);
    if (code == cudaErrorInsufficientDriver && driver > 0) {
        cudaRuntimeGetVersion(&runtime);
        return fail(err, LTH_EUNSUPPORTED, "the GPU's driver is too old: it is for CUDA %d.%d, the plug-in for %d.%d",
                    driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    }
    if (code != cudaSuccess || count == 0) return fail(err, LTH_EUNSUPPORTED, "this machine has no GPU that CUDA can use");
    if (index < 0 || index >= count)
        return fail(err, LTH_EARG, "there is no GPU %d: this machine has %d, counted from 0", index, count);
    cudaDeviceProp about;
    CU_TRY(cudaSetDevice(index));
    CU_TRY(cudaGetDeviceProperties(&about, index));
    CU_TRY(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, index));
    if (!pools) return fail(err, LTH_EUNSUPPORTED, "%s, as this system offers it, has no memory pools", about.name);
    if (about.major < 8)
        return fail(err, LTH_EUNSUPPORTED, "%s is too old: compute capability %d.%d, where 8.0 is needed", about.name,
                    about.major, about.minor);
    LTH_DO(keep_memory(index, err));
    lth__device *d = new lth__device;
    d->index = index;
    d->processors = about.multiProcessorCount;
    std::snprintf(d->name, sizeof d->name, "%s", about.name);
    code = cudaStreamCreateWithFlags(&d->copies, cudaStreamNonBlocking);
    if (code == cudaSuccess) code = cudaEventCreateWithFlags(&d->computed, cudaEventDisableTiming);
    if (code != cudaSuccess) {
        delete d;
        return check(code, "start", err);
    }
    *out = d;
    return LTH_OK;
}

void close_device(lth__device *d) {
    if (!d) return;
    if (d->blas) cublasDestroy(d->blas);
    if (d->solver) cusolverDnDestroy(d->solver);
    cudaEventDestroy(d->computed);
    cudaStreamDestroy(d->copies);
    delete d;
}

void describe(lth__device *d, char *text, size_t capacity, size_t *free_bytes, size_t *total_bytes) {
    std::snprintf(text, capacity, "%s", d->name);
    if (cudaMemGetInfo(free_bytes, total_bytes) != cudaSuccess) *free_bytes = *total_bytes = 0;
}

lth_status alloc(lth__device *, size_t bytes, void **out, lth_error *err) { return get_memory(bytes, out, err); }

void release(lth__device *, void *memory) { drop_memory(memory); }

lth_status upload(lth__device *, void *to, const void *from, size_t bytes, lth_error *err) {
    CU_TRY(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
    return LTH_OK;
}

lth_status download(lth__device *, void *to, const void *from, size_t bytes, lth_error *err) {
    CU_TRY(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
    return LTH_OK;
}

lth_status finish(lth__device *, lth_error *err) {
    CU_TRY(cudaDeviceSynchronize());
    return LTH_OK;
}

// Behind the work that makes the panel, beside that of other handles.
lth_status download_panel(lth__device *d, double *to, size_t to_ld, const double *from, size_t from_ld, size_t rows,
                          size_t cols, lth_error *err) {
    CU_TRY(cudaEventRecord(d->computed, nullptr));
    CU_TRY(cudaStreamWaitEvent(d->copies, d->computed, 0));
    if (to_ld == cols && from_ld == cols) // without gaps: quicker than row by row
        CU_TRY(cudaMemcpyAsync(to, from, rows * cols * sizeof(double), cudaMemcpyDeviceToHost, d->copies));
    else
        CU_TRY(cudaMemcpy2DAsync(to, to_ld * sizeof(double), from, from_ld * sizeof(double), cols * sizeof(double), rows,
                                 cudaMemcpyDeviceToHost, d->copies));
    CU_TRY(cudaStreamSynchronize(d->copies));
    return LTH_OK;
}

// Products of blocks of 2,048 come near the GPU's peak, and a panel of 100,000 columns is 1.6 GB.
constexpr size_t usual_panel_rows = 2048;

size_t panel_rows() {
    const char *asked = std::getenv("LTH_PANEL_ROWS");
    long rows = asked ? std::atol(asked) : 0;
    return rows > 0 ? size_t(rows) : usual_panel_rows;
}

} // namespace

} // namespace luthier

extern "C" __attribute__((visibility("default"))) const lth__device_table *lth__device_table_get(void) {
    static lth__device_table table;
    table.version = LTH__DEVICE_VERSION;
    table.name = "cuda";
    table.panel_rows = luthier::panel_rows();
    table.open = luthier::open_device;
    table.close = luthier::on<luthier::close_device>;
    table.describe = luthier::on<luthier::describe>;
    table.alloc = luthier::on<luthier::alloc>;
    table.release = luthier::on<luthier::release>;
    table.upload = luthier::on<luthier::upload>;
    table.download = luthier::on<luthier::download>;
    table.download_panel = luthier::on<luthier::download_panel>;
    table.finish = luthier::on<luthier::finish>;
    table.strings = luthier::on<luthier::make_strings>;
    table.strings_free = luthier::on<luthier::free_strings>;
    table.ssk = luthier::on<luthier::ssk>;
    table.la = luthier::on<luthier::la>;
    luthier::set_trees(&table);
    luthier::set_sparse(&table);
    luthier::set_ordered(&table);
    luthier::set_elementwise(&table);
    luthier::set_linear_algebra(&table);
    luthier::set_smo(&table);
    return &table;
}

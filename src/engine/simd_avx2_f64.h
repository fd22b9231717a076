/* Vector vocabulary: AVX2 with FMA, 4 doubles. */
#include <immintrin.h>
#include <stdint.h>

#define LANES 4
typedef double real;
typedef __m256d vec;
typedef __m256d mask;

static inline vec v_zero(void) {
    return _mm256_setzero_pd();
}
static inline vec v_set1(real x) {
    return _mm256_set1_pd(x);
}
static inline vec v_fma(vec a, vec b, vec c) {
    return _mm256_fmadd_pd(a, b, c);
}
static inline mask v_equal(const uint32_t *s, const uint32_t *t) {
    __m128i equal =
        _mm_cmpeq_epi32(_mm_loadu_si128((const void *)s), _mm_loadu_si128((const void *)t));
    return _mm256_castsi256_pd(_mm256_cvtepi32_epi64(equal));
}
static inline vec v_keep(mask m, vec x) {
    return _mm256_and_pd(m, x);
}
static inline vec v_gather(const real *table, const uint32_t *s, const uint32_t *t) {
    __m128i index =
        _mm_add_epi32(_mm_loadu_si128((const void *)s), _mm_loadu_si128((const void *)t));
    return _mm256_i32gather_pd(table, index, sizeof(real));
}
/* out[r][lane] = quads[4 * t[lane] + r]: four loads and a transposition. */
static inline void v_quads(const real *quads, const uint32_t *t, vec out[4]) {
    vec w[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) w[i] = _mm256_load_pd(quads + 4 * (size_t)t[i]);
    vec a = _mm256_unpacklo_pd(w[0], w[1]), b = _mm256_unpackhi_pd(w[0], w[1]);
    vec c = _mm256_unpacklo_pd(w[2], w[3]), d = _mm256_unpackhi_pd(w[2], w[3]);
    out[0] = _mm256_permute2f128_pd(a, c, 0x20);
    out[1] = _mm256_permute2f128_pd(b, d, 0x20);
    out[2] = _mm256_permute2f128_pd(a, c, 0x31);
    out[3] = _mm256_permute2f128_pd(b, d, 0x31);
}
/* Every lane moves up by one; the first becomes x. */
static inline vec v_shift_in(vec v, real x) {
    return _mm256_blend_pd(_mm256_permute4x64_pd(v, 0x90), _mm256_set1_pd(x), 1);
}
/* The last lane. */
static inline real v_last(vec v) {
    return v[3];
}
static inline vec v_load_double(const double *p) {
    return _mm256_loadu_pd(p);
}
static inline vec v_load_float(const float *p) {
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}
static inline void v_store_double(double *p, vec x) {
    _mm256_storeu_pd(p, x);
}

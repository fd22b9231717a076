/* Vector vocabulary: AVX2 with FMA, 8 floats. */
#include <immintrin.h>
#include <stdint.h>

#define LANES 8
typedef float real;
typedef __m256 vec;
typedef __m256 mask;

static inline vec v_zero(void) {
    return _mm256_setzero_ps();
}
static inline vec v_set1(real x) {
    return _mm256_set1_ps(x);
}
static inline vec v_fma(vec a, vec b, vec c) {
    return _mm256_fmadd_ps(a, b, c);
}
static inline mask v_equal(const uint32_t *s, const uint32_t *t) {
    __m256i a = _mm256_loadu_si256((const void *)s), b = _mm256_loadu_si256((const void *)t);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}
static inline vec v_keep(mask m, vec x) {
    return _mm256_and_ps(m, x);
}
static inline vec v_gather(const real *table, const uint32_t *s, const uint32_t *t) {
    __m256i a = _mm256_loadu_si256((const void *)s), b = _mm256_loadu_si256((const void *)t);
    return _mm256_i32gather_ps(table, _mm256_add_epi32(a, b), sizeof(real));
}
/* out[r][lane] = quads[4 * t[lane] + r]: eight short loads and a transposition. */
static inline void v_quads(const real *quads, const uint32_t *t, vec out[4]) {
    vec w[4]; /* lanes i and i + 4, four rows each */
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        w[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_load_ps(quads + 4 * (size_t)t[i])),
                                    _mm_load_ps(quads + 4 * (size_t)t[i + 4]), 1);
    }
    vec a = _mm256_unpacklo_ps(w[0], w[1]), b = _mm256_unpackhi_ps(w[0], w[1]);
    vec c = _mm256_unpacklo_ps(w[2], w[3]), d = _mm256_unpackhi_ps(w[2], w[3]);
    out[0] = _mm256_shuffle_ps(a, c, 0x44);
    out[1] = _mm256_shuffle_ps(a, c, 0xee);
    out[2] = _mm256_shuffle_ps(b, d, 0x44);
    out[3] = _mm256_shuffle_ps(b, d, 0xee);
}
/* Every lane moves up by one; the first becomes x. */
static inline vec v_shift_in(vec v, real x) {
    vec moved = _mm256_permutevar8x32_ps(v, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
    return _mm256_blend_ps(moved, _mm256_set1_ps(x), 1);
}
/* The last lane. */
static inline real v_last(vec v) {
    return v[7];
}
static inline vec v_load_double(const double *p) {
    return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(p + 4)),
                           _mm256_cvtpd_ps(_mm256_loadu_pd(p)));
}
static inline vec v_load_float(const float *p) {
    return _mm256_loadu_ps(p);
}
static inline void v_store_double(double *p, vec x) {
    _mm256_storeu_pd(p, _mm256_cvtps_pd(_mm256_castps256_ps128(x)));
    _mm256_storeu_pd(p + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)));
}

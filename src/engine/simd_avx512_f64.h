/* Vector vocabulary: AVX-512, 8 doubles. */
#include <immintrin.h>
#include <stdint.h>

#define LANES 8
typedef double real;
typedef __m512d vec;
typedef __mmask8 mask;

static inline vec v_zero(void) {
    return _mm512_setzero_pd();
}
static inline vec v_set1(real x) {
    return _mm512_set1_pd(x);
}
static inline vec v_fma(vec a, vec b, vec c) {
    return _mm512_fmadd_pd(a, b, c);
}
static inline mask v_equal(const uint32_t *s, const uint32_t *t) {
    return _mm256_cmpeq_epi32_mask(_mm256_loadu_si256((const void *)s),
                                   _mm256_loadu_si256((const void *)t));
}
static inline vec v_keep(mask m, vec x) {
    return _mm512_maskz_mov_pd(m, x);
}
static inline vec v_gather(const real *table, const uint32_t *s, const uint32_t *t) {
    __m256i index =
        _mm256_add_epi32(_mm256_loadu_si256((const void *)s), _mm256_loadu_si256((const void *)t));
    return _mm512_i32gather_pd(index, table, sizeof(real));
}
/* out[r][lane] = quads[4 * t[lane] + r]: eight short loads and a transposition. */
static inline void v_quads(const real *quads, const uint32_t *t, vec out[4]) {
    vec w[4]; /* lanes i and i + 4, four rows each */
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        w[i] = _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_load_pd(quads + 4 * (size_t)t[i])),
                                  _mm256_load_pd(quads + 4 * (size_t)t[i + 4]), 1);
    }
    vec a = _mm512_unpacklo_pd(w[0], w[1]), b = _mm512_unpackhi_pd(w[0], w[1]);
    vec c = _mm512_unpacklo_pd(w[2], w[3]), d = _mm512_unpackhi_pd(w[2], w[3]);
    const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    const __m512i high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    out[0] = _mm512_permutex2var_pd(a, low, c);
    out[1] = _mm512_permutex2var_pd(b, low, d);
    out[2] = _mm512_permutex2var_pd(a, high, c);
    out[3] = _mm512_permutex2var_pd(b, high, d);
}
/* Every lane moves up by one; the first becomes x. */
static inline vec v_shift_in(vec v, real x) {
    __m512i first = _mm512_castpd_si512(_mm512_set1_pd(x));
    return _mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(v), first, 7));
}
/* The last lane. */
static inline real v_last(vec v) {
    return v[7];
}
static inline vec v_load_double(const double *p) {
    return _mm512_loadu_pd(p);
}
static inline vec v_load_float(const float *p) {
    return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}
static inline void v_store_double(double *p, vec x) {
    _mm512_storeu_pd(p, x);
}

/* Vector vocabulary: AVX-512, 16 floats. */
#include <immintrin.h>
#include <stdint.h>

#define LANES 16
typedef float real;
typedef __m512 vec;
typedef __mmask16 mask;

static inline vec v_zero(void) {
    return _mm512_setzero_ps();
}
static inline vec v_set1(real x) {
    return _mm512_set1_ps(x);
}
static inline vec v_fma(vec a, vec b, vec c) {
    return _mm512_fmadd_ps(a, b, c);
}
static inline mask v_equal(const uint32_t *s, const uint32_t *t) {
    return _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(s), _mm512_loadu_si512(t));
}
static inline vec v_keep(mask m, vec x) {
    return _mm512_maskz_mov_ps(m, x);
}
static inline vec v_gather(const real *table, const uint32_t *s, const uint32_t *t) {
    __m512i index = _mm512_add_epi32(_mm512_loadu_si512(s), _mm512_loadu_si512(t));
    return _mm512_i32gather_ps(index, table, sizeof(real));
}
/* out[r][lane] = quads[4 * t[lane] + r]: sixteen short loads and a transposition. */
static inline void v_quads(const real *quads, const uint32_t *t, vec out[4]) {
    vec w[4]; /* lanes i, i + 4, i + 8, i + 12, four rows each */
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        w[i] = _mm512_castps128_ps512(_mm_load_ps(quads + 4 * (size_t)t[i]));
        w[i] = _mm512_insertf32x4(w[i], _mm_load_ps(quads + 4 * (size_t)t[i + 4]), 1);
        w[i] = _mm512_insertf32x4(w[i], _mm_load_ps(quads + 4 * (size_t)t[i + 8]), 2);
        w[i] = _mm512_insertf32x4(w[i], _mm_load_ps(quads + 4 * (size_t)t[i + 12]), 3);
    }
    vec a = _mm512_unpacklo_ps(w[0], w[1]), b = _mm512_unpackhi_ps(w[0], w[1]);
    vec c = _mm512_unpacklo_ps(w[2], w[3]), d = _mm512_unpackhi_ps(w[2], w[3]);
    out[0] = _mm512_shuffle_ps(a, c, 0x44);
    out[1] = _mm512_shuffle_ps(a, c, 0xee);
    out[2] = _mm512_shuffle_ps(b, d, 0x44);
    out[3] = _mm512_shuffle_ps(b, d, 0xee);
}
/* Every lane moves up by one; the first becomes x. */
static inline vec v_shift_in(vec v, real x) {
    __m512i first = _mm512_castps_si512(_mm512_set1_ps(x));
    return _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(v), first, 15));
}
/* The last lane. */
static inline real v_last(vec v) {
    return v[15];
}
static inline vec v_load_double(const double *p) {
    __m256 low = _mm512_cvtpd_ps(_mm512_loadu_pd(p)),
           high = _mm512_cvtpd_ps(_mm512_loadu_pd(p + 8));
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}
static inline vec v_load_float(const float *p) {
    return _mm512_loadu_ps(p);
}
static inline void v_store_double(double *p, vec x) {
    _mm512_storeu_pd(p, _mm512_cvtps_pd(_mm512_castps512_ps256(x)));
    _mm512_storeu_pd(p + 8, _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)));
}

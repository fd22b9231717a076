/* Vector vocabulary: SVE where its vectors have 256 bits, 4 doubles. */
#include <arm_sve.h>
#include <stddef.h>
#include <stdint.h>

#define LANES 4
typedef double real;
typedef svfloat64_t vec __attribute__((arm_sve_vector_bits(256)));
typedef svbool_t mask __attribute__((arm_sve_vector_bits(256)));

static inline vec v_zero(void) {
    return svdup_f64(0);
}
static inline vec v_set1(real x) {
    return svdup_f64(x);
}
static inline vec v_fma(vec a, vec b, vec c) {
    return svmla_f64_x(svptrue_b64(), c, a, b);
}
static inline mask v_equal(const uint32_t *s, const uint32_t *t) {
    svbool_t all = svptrue_b64();
    return svcmpeq_u64(all, svld1uw_u64(all, s), svld1uw_u64(all, t));
}
static inline vec v_keep(mask m, vec x) {
    return svsel_f64(m, x, svdup_f64(0));
}
static inline vec v_gather(const real *table, const uint32_t *s, const uint32_t *t) {
    svbool_t all = svptrue_b64();
    svuint64_t index = svadd_u64_x(all, svld1uw_u64(all, s), svld1uw_u64(all, t));
    return svld1_gather_u64index_f64(all, table, index);
}
/* out[r][lane] = quads[4 * t[lane] + r]: four loads and a transposition. */
static inline void v_quads(const real *quads, const uint32_t *t, vec out[4]) {
    vec w[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) w[i] = svld1_f64(svptrue_b64(), quads + 4 * (size_t)t[i]);
    vec a = svzip1_f64(w[0], w[2]), b = svzip2_f64(w[0], w[2]);
    vec c = svzip1_f64(w[1], w[3]), d = svzip2_f64(w[1], w[3]);
    out[0] = svzip1_f64(a, c);
    out[1] = svzip2_f64(a, c);
    out[2] = svzip1_f64(b, d);
    out[3] = svzip2_f64(b, d);
}
/* Every lane moves up by one; the first becomes x. */
static inline vec v_shift_in(vec v, real x) {
    return svinsr_n_f64(v, x);
}
/* The last lane. */
static inline real v_last(vec v) {
    return svlastb_f64(svptrue_b64(), v);
}
static inline vec v_load_double(const double *p) {
    return svld1_f64(svptrue_b64(), p);
}
static inline vec v_load_float(const float *p) {
    svbool_t all = svptrue_b64();
    svuint64_t wide = svld1uw_u64(all, (const uint32_t *)(const void *)p);
    return svcvt_f64_f32_x(all, svreinterpret_f32_u64(wide));
}
static inline void v_store_double(double *p, vec x) {
    svst1_f64(svptrue_b64(), p, x);
}

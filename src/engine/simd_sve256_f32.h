/* Vector vocabulary: SVE where its vectors have 256 bits, 8 floats. */
#include <arm_sve.h>
#include <stddef.h>
#include <stdint.h>

#define LANES 8
typedef float real;
typedef svfloat32_t vec __attribute__((arm_sve_vector_bits(256)));
typedef svbool_t mask __attribute__((arm_sve_vector_bits(256)));

static inline vec v_zero(void) {
    return svdup_f32(0);
}
static inline vec v_set1(real x) {
    return svdup_f32(x);
}
static inline vec v_fma(vec a, vec b, vec c) {
    return svmla_f32_x(svptrue_b32(), c, a, b);
}
static inline mask v_equal(const uint32_t *s, const uint32_t *t) {
    svbool_t all = svptrue_b32();
    return svcmpeq_u32(all, svld1_u32(all, s), svld1_u32(all, t));
}
static inline vec v_keep(mask m, vec x) {
    return svsel_f32(m, x, svdup_f32(0));
}
static inline vec v_gather(const real *table, const uint32_t *s, const uint32_t *t) {
    svbool_t all = svptrue_b32();
    svuint32_t index = svadd_u32_x(all, svld1_u32(all, s), svld1_u32(all, t));
    return svld1_gather_u32index_f32(all, table, index);
}
/* out[r][lane] = quads[4 * t[lane] + r]: eight short loads and a transposition. */
static inline void v_quads(const real *quads, const uint32_t *t, vec out[4]) {
    const svbool_t all = svptrue_b32(), low = svptrue_pat_b32(SV_VL4);
    vec w[4]; /* two lanes, four rows each */
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        svfloat32_t first = svld1rq_f32(all, quads + 4 * (size_t)t[2 * i]);
        w[i] = svsel_f32(low, first, svld1rq_f32(all, quads + 4 * (size_t)t[2 * i + 1]));
    }
    vec a = svuzp1_f32(w[0], w[1]), b = svuzp2_f32(w[0], w[1]);
    vec c = svuzp1_f32(w[2], w[3]), d = svuzp2_f32(w[2], w[3]);
    out[0] = svuzp1_f32(a, c);
    out[1] = svuzp1_f32(b, d);
    out[2] = svuzp2_f32(a, c);
    out[3] = svuzp2_f32(b, d);
}
/* Every lane moves up by one; the first becomes x. */
static inline vec v_shift_in(vec v, real x) {
    return svinsr_n_f32(v, x);
}
/* The last lane. */
static inline real v_last(vec v) {
    return svlastb_f32(svptrue_b32(), v);
}
static inline vec v_load_double(const double *p) {
    svbool_t all = svptrue_b64();
    svfloat32_t low = svcvt_f32_f64_x(all, svld1_f64(all, p)); /* in every second place */
    return svuzp1_f32(low, svcvt_f32_f64_x(all, svld1_f64(all, p + 4)));
}
static inline vec v_load_float(const float *p) {
    return svld1_f32(svptrue_b32(), p);
}
static inline void v_store_double(double *p, vec x) {
    svbool_t all = svptrue_b64();
    svst1_f64(all, p, svcvt_f64_f32_x(all, svzip1_f32(x, x)));
    svst1_f64(all, p + 4, svcvt_f64_f32_x(all, svzip2_f32(x, x)));
}

/* Vector vocabulary: NEON, which every 64-bit ARM has, 4 floats. */
#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#define LANES 4
typedef float real;
typedef float32x4_t vec;
typedef uint32x4_t mask;

static inline vec v_zero(void) {
    return vdupq_n_f32(0);
}
static inline vec v_set1(real x) {
    return vdupq_n_f32(x);
}
static inline vec v_fma(vec a, vec b, vec c) {
    return vfmaq_f32(c, a, b);
}
static inline mask v_equal(const uint32_t *s, const uint32_t *t) {
    return vceqq_u32(vld1q_u32(s), vld1q_u32(t));
}
static inline vec v_keep(mask m, vec x) {
    return vreinterpretq_f32_u32(vandq_u32(m, vreinterpretq_u32_f32(x)));
}
static inline vec v_gather(const real *table, const uint32_t *s, const uint32_t *t) {
    vec v = vld1q_dup_f32(table + (s[0] + t[0]));
    v = vld1q_lane_f32(table + (s[1] + t[1]), v, 1);
    v = vld1q_lane_f32(table + (s[2] + t[2]), v, 2);
    return vld1q_lane_f32(table + (s[3] + t[3]), v, 3);
}
/* out[r][lane] = quads[4 * t[lane] + r]: four loads and a transposition. */
static inline void v_quads(const real *quads, const uint32_t *t, vec out[4]) {
    vec w[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) w[i] = vld1q_f32(quads + 4 * (size_t)t[i]);
    vec a = vzip1q_f32(w[0], w[2]), b = vzip2q_f32(w[0], w[2]);
    vec c = vzip1q_f32(w[1], w[3]), d = vzip2q_f32(w[1], w[3]);
    out[0] = vzip1q_f32(a, c);
    out[1] = vzip2q_f32(a, c);
    out[2] = vzip1q_f32(b, d);
    out[3] = vzip2q_f32(b, d);
}
/* Every lane moves up by one; the first becomes x. */
static inline vec v_shift_in(vec v, real x) {
    return vextq_f32(vdupq_n_f32(x), v, 3);
}
/* The last lane. */
static inline real v_last(vec v) {
    return vgetq_lane_f32(v, 3);
}
static inline vec v_load_double(const double *p) {
    return vcvt_high_f32_f64(vcvt_f32_f64(vld1q_f64(p)), vld1q_f64(p + 2));
}
static inline vec v_load_float(const float *p) {
    return vld1q_f32(p);
}
static inline void v_store_double(double *p, vec x) {
    vst1q_f64(p, vcvt_f64_f32(vget_low_f32(x)));
    vst1q_f64(p + 2, vcvt_high_f64_f32(x));
}

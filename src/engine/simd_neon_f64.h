/* Vector vocabulary: NEON, which every 64-bit ARM has, 2 doubles. */
#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#define LANES 2
typedef double real;
typedef float64x2_t vec;
typedef uint64x2_t mask;

static inline vec v_zero(void) {
    return vdupq_n_f64(0);
}
static inline vec v_set1(real x) {
    return vdupq_n_f64(x);
}
static inline vec v_fma(vec a, vec b, vec c) {
    return vfmaq_f64(c, a, b);
}
static inline mask v_equal(const uint32_t *s, const uint32_t *t) {
    int32x2_t equal = vreinterpret_s32_u32(vceq_u32(vld1_u32(s), vld1_u32(t)));
    return vreinterpretq_u64_s64(vmovl_s32(equal));
}
static inline vec v_keep(mask m, vec x) {
    return vreinterpretq_f64_u64(vandq_u64(m, vreinterpretq_u64_f64(x)));
}
static inline vec v_gather(const real *table, const uint32_t *s, const uint32_t *t) {
    return vcombine_f64(vld1_f64(table + (s[0] + t[0])), vld1_f64(table + (s[1] + t[1])));
}
/* out[r][lane] = quads[4 * t[lane] + r]: four loads and a transposition. */
static inline void v_quads(const real *quads, const uint32_t *t, vec out[4]) {
    const real *a = quads + 4 * (size_t)t[0], *b = quads + 4 * (size_t)t[1];
    vec a_low = vld1q_f64(a), a_high = vld1q_f64(a + 2);
    vec b_low = vld1q_f64(b), b_high = vld1q_f64(b + 2);
    out[0] = vzip1q_f64(a_low, b_low);
    out[1] = vzip2q_f64(a_low, b_low);
    out[2] = vzip1q_f64(a_high, b_high);
    out[3] = vzip2q_f64(a_high, b_high);
}
/* Every lane moves up by one; the first becomes x. */
static inline vec v_shift_in(vec v, real x) {
    return vzip1q_f64(vdupq_n_f64(x), v);
}
/* The last lane. */
static inline real v_last(vec v) {
    return vgetq_lane_f64(v, 1);
}
static inline vec v_load_double(const double *p) {
    return vld1q_f64(p);
}
static inline vec v_load_float(const float *p) {
    return vcvt_f64_f32(vld1_f32(p));
}
static inline void v_store_double(double *p, vec x) {
    vst1q_f64(p, x);
}

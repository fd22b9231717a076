/* Vector vocabulary: 16 bytes by the compiler's own vectors, on any CPU. REAL is double or float,
 * and EQUAL an integer of the same size. */
#include <stddef.h>
#include <stdint.h>

#define LANES (16 / sizeof(REAL))
typedef REAL real;
typedef REAL vec __attribute__((vector_size(16)));
typedef EQUAL mask __attribute__((vector_size(16)));

static inline vec v_zero(void) {
    return (vec){0};
}
static inline vec v_set1(real x) {
    return x - (vec){0};
}
static inline vec v_fma(vec a, vec b, vec c) {
    return a * b + c;
}
static inline mask v_equal(const uint32_t *s, const uint32_t *t) {
    mask m = {0};
    for (size_t lane = 0; lane < LANES; lane++) m[lane] = s[lane] == t[lane] ? -1 : 0;
    return m;
}
static inline vec v_keep(mask m, vec x) {
    return (vec)(m & (mask)x);
}
static inline vec v_gather(const real *table, const uint32_t *s, const uint32_t *t) {
    vec v = {0};
    for (size_t lane = 0; lane < LANES; lane++) v[lane] = table[s[lane] + t[lane]];
    return v;
}
/* out[r][lane] = quads[4 * t[lane] + r]. */
static inline void v_quads(const real *quads, const uint32_t *t, vec out[4]) {
    for (size_t r = 0; r < 4; r++) {
        vec v = {0};
        for (size_t lane = 0; lane < LANES; lane++) v[lane] = quads[4 * (size_t)t[lane] + r];
        out[r] = v;
    }
}
/* Every lane moves up by one; the first becomes x. */
static inline vec v_shift_in(vec v, real x) {
    for (size_t lane = LANES - 1; lane > 0; lane--) v[lane] = v[lane - 1];
    v[0] = x;
    return v;
}
/* The last lane. */
static inline real v_last(vec v) {
    return v[LANES - 1];
}
static inline vec v_load_double(const double *p) {
    vec v = {0};
    for (size_t lane = 0; lane < LANES; lane++) v[lane] = (real)p[lane];
    return v;
}
static inline vec v_load_float(const float *p) {
    vec v = {0};
    for (size_t lane = 0; lane < LANES; lane++) v[lane] = (real)p[lane];
    return v;
}
static inline void v_store_double(double *p, vec x) {
    for (size_t lane = 0; lane < LANES; lane++) p[lane] = (double)x[lane];
}

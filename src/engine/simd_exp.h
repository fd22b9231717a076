/* exp() of a vector of numbers up to 0, within about a unit in the last place; 0 where the result
 * would be too small for a normal number. Included after the vector vocabulary.
 *
 * exp(x) = 2^n exp(r) with n = round(x / log 2), |r| <= log(2) / 2. The polynomials interpolate
 * (exp(r) - 1 - r) / r^2 at Chebyshev's points; what they leave out is below 2e-17 and 2e-8 of
 * exp(r).
 */
#include "base/copied.h"

enum { EXP_IS_DOUBLE = sizeof(real) == sizeof(double) };

LTH__COPIED vec v_exp(vec x) {
    typedef __typeof__(x < x) integers;
    static const double of_doubles[] = {
        1,
        1,
        0x1.0000000000001p-1,
        0x1.5555555555556p-3,
        0x1.5555555553d63p-5,
        0x1.11111111109b3p-7,
        0x1.6c16c1788bd90p-10,
        0x1.a01a01a7c41d5p-13,
        0x1.a019b90d2ae7ap-16,
        0x1.71de0dae63bb3p-19,
        0x1.289185613a3d6p-22,
        0x1.af38a9b0ec855p-26,
    };
    static const double of_floats[] = {
        1, 1, 0.5, 0.1666657699, 0.041666554617, 0.0083631790527, 0.0013926183588};
    enum { TERMS = EXP_IS_DOUBLE ? 12 : 7, MANTISSA = EXP_IS_DOUBLE ? 52 : 23 };
    const double *c = EXP_IS_DOUBLE ? of_doubles : of_floats;
    /* Added to a small number it leaves that rounded in the lowest bits. */
    const vec magic = v_set1((real)(EXP_IS_DOUBLE ? 0x1.8p52 : 0x1.8p23));
    const vec least = v_set1((real)(EXP_IS_DOUBLE ? -708 : -87));
    /* The first part of log 2 has so few bits that n times it is exact. */
    const vec log2_high = v_set1((real)(EXP_IS_DOUBLE ? 0x1.62e42feep-1 : 0.693359375));
    const vec log2_low = v_set1((real)(EXP_IS_DOUBLE ? 0x1.a39ef35793c76p-33 : -2.12194440e-4));

    vec shifted = v_fma(x, v_set1((real)1.4426950408889634), magic), n = shifted - magic;
    vec r = v_fma(-n, log2_high, x);
    r = v_fma(-n, log2_low, r);
    vec y = v_set1((real)c[TERMS - 1]);
#pragma GCC unroll 12
    for (int i = TERMS - 2; i >= 0; i--) y = v_fma(y, r, v_set1((real)c[i]));
    const integers kept = x > least;
    integers power = ((integers)shifted << MANTISSA) & kept; /* n, where exponents are */
    return (vec)(((integers)y + power) & kept);
}

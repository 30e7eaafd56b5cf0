// Elementary functions on f32 vectors. The bounds in ulps are against the exact value and are held
// by tests/kernels/simd_math_test.cpp on every instruction set. NaN in gives NaN out.
//
// Polynomials are minimax fits in relative error. fma rounds once everywhere, which the
// compensated products rely on.
#pragma once

#include "lamella/kernels/cpu/simd.h"

namespace lamella::cpu::LAMELLA_ISA {

inline constexpr float kInf = __builtin_huge_valf();

// c[0] + c[1] x + ...
template <int N>
inline F poly(F x, const float (&c)[N]) {
  F y = set1(c[N - 1]);
  for (int i = N - 2; i >= 0; --i) y = fma(y, x, set1(c[i]));
  return y;
}

// e^r = 1 + r + r^2 P(r) for |r| <= ln(2) / 2.
inline constexpr float kExpPoly[] = {0x1.fffffcp-2f, 0x1.55548ap-3f, 0x1.555916p-5f, 0x1.123fc6p-7f,
                                     0x1.6a1aaep-10f};
// ln 2 = kLn2Hi + kLn2Lo, with kLn2Hi times a whole number up to 2^13 exact.
inline constexpr float kLn2Hi = 0x1.62e4p-1f, kLn2Lo = 0x1.7f7d1cp-20f;
inline constexpr float kLog2e = 0x1.715476p+0f;

// x = n ln 2 + r.
inline F exp_reduce(F x, F& n) {
  n = round_even(x * set1(kLog2e));
  return fma(n, set1(-kLn2Lo), fma(n, set1(-kLn2Hi), x));
}

// <= 1.1 ulp, also where the result is subnormal (there: of the smallest subnormal).
inline F exp(F x) {
  x = max(set1(-105.0f), min(set1(90.0f), x));
  F n;
  const F r = exp_reduce(x, n);
  return scale2(fma(fma(poly(r, kExpPoly), r, set1(1.0f)), r, set1(1.0f)), n);
}

// <= 1.5 ulp.
inline F exp2(F x) {
  x = max(set1(-151.0f), min(set1(129.0f), x));
  const F n = round_even(x), r = (x - n) * set1(0x1.62e43p-1f);
  return scale2(fma(fma(poly(r, kExpPoly), r, set1(1.0f)), r, set1(1.0f)), n);
}

// <= 2 ulp.
inline F expm1(F x) {
  const F bounded = max(set1(-105.0f), min(set1(90.0f), x));
  F n;
  const F r = exp_reduce(bounded, n);
  const F tail = fma(poly(r, kExpPoly) * r, r, r);  // e^r - 1
  const F p = scale2(set1(1.0f), n);
  const F small = select(equal(n, zero()), tail, fma(p, tail, p - set1(1.0f)));
  const F y = select(less(set1(40.0f), bounded), exp(bounded), small);
  return select(equal(x, zero()), x, y);
}

// log(1 + f) = f - f^2 / 2 + f^3 P(f) for 1 + f in [sqrt(1/2), sqrt(2)].
inline constexpr float kLogPoly[] = {0x1.555546p-2f,  -0x1.000006p-2f, 0x1.99a4f6p-3f,
                                     -0x1.555cccp-3f, 0x1.23322ep-3f,  -0x1.fc07c2p-4f,
                                     0x1.e72882p-4f,  -0x1.dfp-4f,     0x1.14ca46p-4f};

// x = 2^e (1 + f); subnormal x too. Values for x <= 0, infinity and NaN are put right by log_ends.
inline F log_reduce(F x, F& e) {
  const M subnormal = less(x, set1(0x1p-126f));
  F m;
  split(select(subnormal, x * set1(0x1p25f), x), m, e);
  e = e - select(subnormal, set1(25.0f), zero());
  return m - set1(1.0f);
}
inline F log_ends(F x, F y) {
  y = select(equal(x, zero()), set1(-kInf), y);
  y = select(less(x, zero()), set1(__builtin_nanf("")), y);
  return select(equal(x, set1(kInf)) | is_nan(x), x, y);
}

// <= 1.5 ulp.
inline F log(F x) {
  F e;
  const F f = log_reduce(x, e), f2 = f * f;
  F y = fma(f2, set1(-0.5f), f2 * f * poly(f, kLogPoly));
  y = fma(e, set1(kLn2Lo), y) + f;
  return log_ends(x, fma(e, set1(kLn2Hi), y));
}

// <= 2 ulp; exact for powers of two.
inline F log2(F x) {
  F e;
  const F f = log_reduce(x, e), f2 = f * f;
  const F lo = fma(f2, set1(-0.5f), f2 * f * poly(f, kLogPoly));
  // (f + lo) log2(e), with log2(e) = kLog2e + 2e-8.
  const F hi = f * set1(kLog2e);
  const F rest = fma(f, set1(kLog2e), -hi) + fma(lo, set1(kLog2e), (f + lo) * set1(1.9259630e-8f));
  return log_ends(x, e + (hi + rest));
}

// <= 3 ulp.
inline F log1p(F x) {
  const F t = x + set1(1.0f);
  const F lost = x - (t - set1(1.0f));
  F y = log(t);
  y = y + select(less(zero(), t) & less(t, set1(kInf)), lost / t, zero());
  return select(less(abs(x), set1(0x1p-24f)), x, y);
}

// max(x, 0) + log1p(e^-|x|), <= 3 ulp.
inline F softplus(F x) {
  const F y = max(zero(), x) + log1p(exp(-abs(x)));
  return select(is_nan(x), x, y);
}

// tanh x = x + x^3 P(x^2) for |x| <= 0.625. <= 2 ulp.
inline constexpr float kTanhPoly[] = {-0x1.555554p-2f, 0x1.111064p-3f,  -0x1.b9ee0ep-5f,
                                      0x1.63858ap-6f,  -0x1.0bd748p-7f, 0x1.1871aep-9f};
inline F tanh(F x) {
  const F a = abs(x), x2 = x * x;
  const F small = fma(x * x2, poly(x2, kTanhPoly), x);
  const F large = set1(1.0f) - set1(2.0f) / (exp(a + a) + set1(1.0f));
  return select(less(a, set1(0.625f)), small, copysign(large, x));
}

// <= 3 ulp.
inline F sigmoid(F x) {
  const F e = exp(-abs(x)), d = set1(1.0f) + e;
  return select(less(x, zero()), e, set1(1.0f)) / d;
}

// x sigmoid(x), so NaN for -infinity. <= 4 ulp; below -87 within 1e-42.
inline F silu(F x) {
  const F e = exp(-abs(x)), d = set1(1.0f) + e;
  return select(less(x, zero()), x * e, x) / d;
}

// erfc(y / sqrt 2) e^(y^2 / 2) for y in [0, 14.6]: a polynomial in (y - 3) / (y + 3), over y + 3.
inline constexpr float kErfcPoly[] = {0x1.754a76p+0f,  -0x1.04c72ap+0f, 0x1.d71386p-2f,
                                      -0x1.832d0ap-4f, -0x1.56d5f8p-6f, 0x1.c8bd86p-7f,
                                      0x1.0ca398p-9f,  -0x1.0eac52p-9f, -0x1.00a328p-11f,
                                      0x1.134c66p-12f, 0x1.c8df16p-14f};
// e^(-(s + lo)) with s >= 0 and a tiny lo, which goes into the reduced argument.
inline F exp_minus(F s, F lo) {
  F n;
  const F r = exp_reduce(max(set1(-105.0f), -s), n) - lo;
  return scale2(fma(fma(poly(r, kExpPoly), r, set1(1.0f)), r, set1(1.0f)), n);
}
// erfc(y / sqrt 2), where s + lo = y^2 / 2. What 1 / (y + 3) and t round off goes into the
// exponent, as d log P / dt is about -0.7; and w e^r = w + w (e^r - 1), with what w rounds off.
inline F erfc_from(F y, F s, F lo) {
  const F d = y + set1(3.0f), inverse = set1(1.0f) / d, from = y - set1(3.0f), t = from * inverse;
  const F of_inverse = fma(-inverse, d, set1(1.0f)) - (y - (d - set1(3.0f))) * inverse;
  const F of_t = fma(t, of_inverse, fma(from, inverse, -t));
  const F lost = fma(set1(-0.7f), of_t, of_inverse) - lo;
  const F p = poly(t, kErfcPoly), w = inverse * p, w_lo = fma(inverse, p, -w);
  const F x = max(set1(-105.0f), -s), n = round_even(x * set1(kLog2e));
  const F r = fma(n, set1(-kLn2Hi), x) + fma(n, set1(-kLn2Lo), lost);
  const F grown = fma(poly(r, kExpPoly), r, set1(1.0f)) * r;
  return scale2(w + fma(w, grown, w_lo), n);
}

// erf x = x + x P(x^2) for |x| <= 0.9. <= 2 ulp.
inline constexpr float kErfPoly[] = {0x1.06eba8p-3f,  -0x1.812744p-2f, 0x1.ce2e54p-4f,
                                     -0x1.b81524p-6f, 0x1.550a44p-8f,  -0x1.aca386p-11f,
                                     0x1.651096p-14f};
inline F erf(F x) {
  const F y = min(set1(10.0f), abs(x)), s = y * y;
  const F small = fma(x, poly(s, kErfPoly), x);
  const F tail = erfc_from(y * set1(0x1.6a09e6p+0f), s, fma(y, y, -s));
  return select(less(y, set1(0.9f)), small, copysign(set1(1.0f) - tail, x));
}

// x Phi(x) = x erfc(-x / sqrt 2) / 2, so NaN for -infinity. <= 3.7 ulp; below -13 within 1e-43.
inline F gelu(F x) {
  const F y = min(set1(14.5f), abs(x)), half = y * set1(0.5f), s = y * half;
  const F tail = set1(0.5f) * erfc_from(y, s, fma(y, half, -s));
  const F phi = select(less(x, zero()), tail, set1(1.0f) - tail);
  const F z = x * set1(0x1.6a09e6p-1f);
  const F erf_z = fma(z, poly(z * z, kErfPoly), z);
  return x * select(less(y, set1(0.7f)), fma(set1(0.5f), erf_z, set1(0.5f)), phi);
}

// x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), so NaN for -infinity. <= 4 ulp; below -9.9 within
// 1e-42. The exponent is kept in two parts: it reaches 100, and its error is the result's.
inline F gelu_tanh(F x) {
  constexpr double kLinear = 1.5957691216057308, kCubic = 0.071354816272600249;
  const F c1 = set1(static_cast<float>(kLinear)), c3 = set1(static_cast<float>(kCubic));
  const F c1_lo = set1(static_cast<float>(kLinear - static_cast<float>(kLinear)));
  const F c3_lo = set1(static_cast<float>(kCubic - static_cast<float>(kCubic)));
  const F a = min(set1(12.0f), abs(x));
  const F a2 = a * a, a2_lo = fma(a, a, -a2);
  const F p = c3 * a2, p_lo = fma(c3, a2, -p) + fma(c3, a2_lo, c3_lo * a2);
  const F s = c1 + p, from_p = s - c1, s_lo = (c1 - (s - from_p)) + (p - from_p) + (p_lo + c1_lo);
  const F w = a * s, w_lo = fma(a, s, -w) + a * s_lo;
  const F e = exp_minus(w, w_lo), d = set1(1.0f) + e;
  return select(less(x, zero()), x * e, x) / d;
}

// sin and cos of (quadrant + r) quarter turns, from reduce_turns; |error| <= 1e-7.
inline constexpr float kSinPoly[] = {0x1.921fb6p+0f, -0x1.4abbcep-1f, 0x1.466bbap-4f,
                                     -0x1.32ca3p-8f, 0x1.4baa2p-13f};
inline constexpr float kCosPoly[] = {1.0f, -0x1.3bd3ccp+0f, 0x1.03c1dap-2f, -0x1.55c4e8p-6f,
                                     0x1.d99992p-11f};
// Puts sin and cos of r into the quadrant it was reduced from.
inline void place_quadrant(F quadrant, F s, F c, F& sin, F& cos) {
  const M one = equal(quadrant, set1(1.0f)), two = equal(quadrant, set1(2.0f));
  const M three = equal(quadrant, set1(3.0f)), odd = one | three;
  sin = select(odd, c, s);
  cos = select(odd, s, c);
  sin = select(two | three, -sin, sin);
  cos = select(one | two, -cos, cos);
}
inline void sin_cos_turns(F quadrant, F r, F& sin, F& cos) {
  const F r2 = r * r;
  place_quadrant(quadrant, r * poly(r2, kSinPoly), poly(r2, kCosPoly), sin, cos);
}

// sin and cos of |x| <= kMaxAngle, <= 1 ulp: x = q pi/2 + r, where pi/2 = kHalfPiHi + kHalfPiLo and
// kHalfPiHi has 33 bits, so that its product with q is exact. sin r = r + r^3 P(r^2), cos r = 1 -
// r^2 / 2 + r^4 P(r^2), with what r, r^2 and the first difference lose carried along.
inline constexpr float kMaxAngle = 0x1p19f;
inline constexpr double kHalfPiHi = 0x1.921fb544p+0, kHalfPiLo = 0x1.0b4611a626331p-34;
inline constexpr float kSinRadians[] = {-0x1.555556p-3f, 0x1.111108p-7f, -0x1.a00f12p-13f,
                                        0x1.6cb8p-19f};
inline constexpr float kCosRadians[] = {0x1.555556p-5f, -0x1.6c16b8p-10f, 0x1.a010c4p-16f,
                                        -0x1.2417ep-22f};
inline void sin_cos(F x, F& sin, F& cos) {
  constexpr double kTwoOverPi = 0.63661977236758134308;
  F quadrant, r_lo;
  const F r = reduce_half_pi(x, kTwoOverPi, kHalfPiHi, kHalfPiLo, quadrant, r_lo);
  const F r2 = r * r, r2_lo = fma(r, r, -r2);
  const F half = r2 * set1(0.5f), near = set1(1.0f) - half;
  const F s = r + fma(r * r2, poly(r2, kSinRadians), r_lo * near);
  const F lost = fma(-r, r_lo, fma(r2_lo, set1(-0.5f), (set1(1.0f) - near) - half));
  const F c = near + fma(r2 * r2, poly(r2, kCosRadians), lost);
  place_quadrant(quadrant, s, c, sin, cos);
  sin = select(equal(x, zero()), x, sin);
}

}  // namespace lamella::cpu::LAMELLA_ISA

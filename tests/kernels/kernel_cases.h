// Shared by the tests of CPU kernels: machines to run on, random values, error in ulps.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "lamella/base/numeric.h"
#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/elem.h"
#include "lamella/kernels/cpu/isa.h"

namespace lamella::cpu {

inline const float kNan = std::numeric_limits<float>::quiet_NaN();
inline const float kInfinity = std::numeric_limits<float>::infinity();

// Calls fn(isa) for each instruction set of this machine.
template <class Fn>
void for_each_isa(Fn fn) {
  for (const Isa isa : usable_isas()) {
    SCOPED_TRACE(std::string(name(isa)));
    fn(isa);
  }
}

struct Random {
  std::mt19937_64 bits;
  explicit Random(uint64_t seed) : bits(seed) {}
  double uniform(double lo = -1, double hi = 1) {
    return lo + (hi - lo) * static_cast<double>(bits() >> 11) * 0x1p-53;
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(n)); }
  std::vector<float> floats(int64_t n, double lo = -1, double hi = 1) {
    std::vector<float> x(static_cast<size_t>(n));
    for (float& v : x) v = static_cast<float>(uniform(lo, hi));
    return x;
  }
};

// Spacing of floats at x (of the smallest normal below that, down to the smallest subnormal).
inline double ulp(double x) {
  int exponent;
  std::frexp(std::fabs(x) < 0x1p-126 ? 0x1p-126 : x, &exponent);
  return std::ldexp(1.0, exponent - 24);
}

// How far y is from the exact value, in ulps; 0 where both are NaN or the same infinity.
inline double ulp_error(float y, double exact) {
  if (std::isnan(exact) || std::isnan(y)) return std::isnan(exact) && std::isnan(y) ? 0 : 1e30;
  if (std::isinf(y) || std::isinf(exact)) {
    const float rounded = static_cast<float>(exact);
    return y == rounded ? 0 : std::isinf(y) && std::fabs(exact) > 3.4028e38 ? 1 : 1e30;
  }
  return std::fabs(y - exact) / ulp(exact);
}

template <class T>
std::vector<T> narrowed(const std::vector<float>& x) {
  std::vector<T> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    if constexpr (sizeof(T) == sizeof(float)) {
      y[i] = x[i];
    } else {
      y[i] = T::from(x[i]);
    }
  }
  return y;
}

template <class T>
constexpr Elem elem_of() {
  if constexpr (std::is_same_v<T, float>) return Elem::f32;
  if constexpr (std::is_same_v<T, f16>) return Elem::f16;
  if constexpr (std::is_same_v<T, bf16>) return Elem::bf16;
}
template <class T>
constexpr double kUnit = std::is_same_v<T, float> ? 0x1p-24
                         : std::is_same_v<T, f16> ? 0x1p-11
                                                  : 0x1p-8;

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace lamella::cpu

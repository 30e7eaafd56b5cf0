// Arithmetic on the numbers behind sizes: exact or a UserError, and bounds that saturate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "lamella/base/error.h"
#include "lamella/ir/dim.h"

namespace lamella::dim_math {

inline constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

inline int64_t checked_add(int64_t a, int64_t b) {
  int64_t r;
  CHECK_USER(!__builtin_add_overflow(a, b, &r), "size: ", a, " + ", b, " overflows 64 bits");
  return r;
}
inline int64_t checked_mul(int64_t a, int64_t b) {
  int64_t r;
  CHECK_USER(!__builtin_mul_overflow(a, b, &r), "size: ", a, " * ", b, " overflows 64 bits");
  return r;
}

// Every value is a 64-bit integer or an error, so bounds may saturate at the ends of 64 bits.
inline int64_t saturating_add(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return a < 0 ? kMin : kMax;
  return r;
}
inline int64_t saturating_mul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return (a < 0) != (b < 0) ? kMin : kMax;
  return r;
}
inline int64_t saturating_negate(int64_t a) { return a == kMin ? kMax : -a; }

// No bound stays no bound (kMin below, kMax above).
inline DimRange range_sum(DimRange a, DimRange b) {
  return {a.low == kMin || b.low == kMin ? kMin : saturating_add(a.low, b.low),
          a.high == kMax || b.high == kMax ? kMax : saturating_add(a.high, b.high)};
}
inline DimRange range_product(DimRange a, DimRange b) {
  const int64_t p[] = {saturating_mul(a.low, b.low), saturating_mul(a.low, b.high),
                       saturating_mul(a.high, b.low), saturating_mul(a.high, b.high)};
  return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
}

// b != 0, and not kMin / -1.
inline int64_t floor_div(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}
inline int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + ((a % b != 0) && ((a < 0) == (b < 0)));
}
inline int64_t floor_mod(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// A number that divides both, where 0 is divided by everything; never negative.
inline int64_t gcd(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  uint64_t y = b < 0 ? 0 - static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
  while (y != 0) x = std::exchange(y, x % y);
  return x > static_cast<uint64_t>(kMax) ? int64_t{1} << 62 : static_cast<int64_t>(x);
}

// The value of one expression that is neither symbol nor sum. UserError on overflow or division by
// zero.
int64_t apply(DimKind kind, const int64_t* args, double factor);

}  // namespace lamella::dim_math

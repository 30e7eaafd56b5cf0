#include "lamella/base/special.h"

#include <math.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace lamella {
namespace {

constexpr double kPi = std::numbers::pi, kInfinity = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

// Winitzki's approximation, good to 1 in 500; its square roots cancel near 0, where the series does
// better.
double first_guess(double x) {
  if (x < 0.02) return std::sqrt(kPi) / 2 * (x + kPi / 12 * x * x * x);
  constexpr double kA = 0.147;
  const double l = std::log1p(-x * x), half = 2 / (kPi * kA) + l / 2;
  return std::sqrt(std::sqrt(half * half - l / kA) - half);
}

}  // namespace

double inverse_erf(double x) {
  const double size = std::fabs(x);
  if (!(size < 1)) return size == 1 ? std::copysign(kInfinity, x) : kNan;
  double y = first_guess(size);
  // Halley's steps triple the digits. Beyond the middle the error is that of 1 - erf, which does
  // not cancel.
  for (int step = 0; step < 3; ++step) {
    const double error = size < 0.5 ? std::erf(y) - size : (1 - size) - std::erfc(y);
    const double newton = error * (std::sqrt(kPi) / 2) * std::exp(y * y);
    y -= newton / (1 + y * newton);
  }
  return std::copysign(y, x);
}

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double digamma_of(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x == -kInfinity) return kNan;
  double sum = 0;
  if (x < 0) {
    const double part = x - std::floor(x);
    if (part == 0) return kNan;
    sum = -kPi / std::tan(kPi * part);
    x = 1 - x;
  }
  for (; x < 10; ++x) sum -= 1 / x;
  // Bernoulli numbers B(2n) / 2n of the asymptotic series.
  constexpr double kSeries[] = {1.0 / 12,  -1.0 / 120,       1.0 / 252, -1.0 / 240,
                                1.0 / 132, -691.0 / 32760.0, 1.0 / 12};
  const double square = 1 / (x * x);
  double power = 1;
  for (double term : kSeries) {
    power *= square;
    sum -= term * power;
  }
  return sum + (std::log(x) - 0.5 / x);
}

double trigamma_of(double x) {
  if (x == -kInfinity) return kNan;
  if (x <= 0) {
    const double part = x - std::floor(x);
    if (part == 0) return kInfinity;
    const double s = std::sin(kPi * part);
    return kPi * kPi / (s * s) - trigamma_of(1 - x);
  }
  double sum = 0;
  for (; x < 10; ++x) sum += 1 / (x * x);
  // Bernoulli numbers B(2n).
  constexpr double kSeries[] = {1.0 / 6,  -1.0 / 30,       1.0 / 42, -1.0 / 30,
                                5.0 / 66, -691.0 / 2730.0, 7.0 / 6};
  const double square = 1 / (x * x);
  double power = 1 / x;
  for (double term : kSeries) {
    power *= square;
    sum += term * power;
  }
  return sum + (1 / x + 0.5 * square);
}

}  // namespace lamella

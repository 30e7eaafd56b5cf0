#include "lamella/base/special.h"

#include <math.h>

#include <array>
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

constexpr int kMaxOrder = 20;

double factorial(int n) { return std::tgamma(n + 1.0); }

// The n-th derivative of cot(pi x), over pi^n: a polynomial in c = cot(pi x), since c' = -(1 +
// c^2).
double cotangent_derivative(int n, double x) {
  const double c = 1 / std::tan(kPi * x);
  std::array<double, kMaxOrder + 2> p{0, 1}, q{};
  for (int order = 0; order < n; ++order) {
    q.fill(0);
    for (int i = 1; i <= order + 1; ++i) {
      q[size_t(i) - 1] -= i * p[size_t(i)];
      q[size_t(i) + 1] -= i * p[size_t(i)];
    }
    p = q;
  }
  double y = 0;
  for (int i = n + 1; i >= 0; --i) y = y * c + p[size_t(i)];
  return y;
}

// The polygamma of order n >= 1 without its sign, for x > 0: terms of the sum of n! / x^(n + 1),
// then the asymptotic series.
double size_of_polygamma(int n, double x) {
  double sum = 0;
  const double f = factorial(n);
  for (; x < 15 + 2 * n; ++x) sum += f * std::pow(x, -n - 1);
  // Bernoulli numbers B(2k) over (2k)!.
  constexpr double kSeries[] = {1.0 / 12,           -1.0 / 720,     1.0 / 30240,
                                -1.0 / 1209600,     1.0 / 47900160, -691.0 / 1307674368000.0,
                                1.0 / 74724249600.0};
  double term = factorial(n - 1) * std::pow(x, -n);
  double series = term + term * n / (2 * x);
  int next = n;  // term is (next - 1)! / x^next
  for (double b : kSeries) {
    term *= next / x, ++next;
    term *= next / x, ++next;
    series += b * term;
  }
  return sum + series;
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

double polygamma_of(double n, double x) {
  n = std::nearbyint(n);
  if (!(n >= 0 && n <= kMaxOrder) || x != x || x == -kInfinity) return kNan;
  const int order = static_cast<int>(n);
  if (order == 0) return digamma_of(x);
  const bool is_even = order % 2 == 0;
  if (x > 0) return (is_even ? -1 : 1) * size_of_polygamma(order, x);
  const double part = x - std::floor(x);
  if (part == 0) return is_even ? kNan : kInfinity;
  return -size_of_polygamma(order, 1 - x) -
         std::pow(kPi, n + 1) * cotangent_derivative(order, part);
}

}  // namespace lamella

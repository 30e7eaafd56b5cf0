// fft, rfft and irfft: their gradients are one another.
#include "lamella/ops/signal/fft.h"

#include <cmath>

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/logical_or.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/pad.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/signal/irfft.h"
#include "lamella/ops/signal/rfft.h"

namespace lamella {
namespace {

constexpr double kTwoPi = 6.28318530717958647692;

// y[2k], y[2k + 1] += (re, im) of w exp(sign 2 pi i jk / n).
void add_turned(double re, double im, int64_t j, int64_t k, int64_t n, double sign, double* y) {
  const double angle = sign * kTwoPi * static_cast<double>(j * k % n) / static_cast<double>(n);
  const double c = std::cos(angle), s = std::sin(angle);
  y[2 * k] += re * c - im * s;
  y[2 * k + 1] += re * s + im * c;
}

void require_pairs(TypeCx& cx) {
  cx.require_float(0);
  cx.check(cx.in(0).rank() >= 2 && compare(cx.shape(0).last(), 2) != Equal::no,
           "takes pairs (real, imaginary) along the last axis; got ", cx.in(0));
  cx.require_equal(cx.shape(0).last(), 2, "last axis and the size of a pair");
}

Dim half_of(Dim n) { return floordiv(n, 2) + 1; }

// x divided by a size.
Value divided(Value x, Dim n) {
  return x / cast(reshape_to(x.graph->sizes({n}), Shape{}), {.to = x.dtype()});
}

int64_t rows_of(const RefTensor& x, int64_t row) { return row == 0 ? 0 : x.numel() / row; }

}  // namespace

void Fft::type(TypeCx& cx, const Attrs&) {
  require_pairs(cx);
  cx.out(cx.in(0).dtype, cx.shape(0));
}

void Fft::eval(EvalCx& cx, const Attrs& a) {
  const RefTensor& x = cx.in(0);
  RefTensor& y = cx.out(0);
  const int64_t n = x.shape[x.rank() - 2];
  const double factor = a.inverse && a.scaled ? 1 / static_cast<double>(n) : 1;
  for (int64_t row = 0; row < rows_of(x, 2 * n); ++row) {
    const double* from = x.f.data() + 2 * n * row;
    for (int64_t k = 0; k < n; ++k)
      for (int64_t j = 0; j < n; ++j)
        add_turned(from[2 * j] * factor, from[2 * j + 1] * factor, j, k, n, a.inverse ? 1 : -1,
                   y.f.data() + 2 * n * row);
  }
}

void Fft::vjp(VjpCx& cx, const Attrs& a) {
  const Value g = cx.grad();
  const Value dx = fft(g, {.inverse = !a.inverse, .scaled = false});
  cx.set(0, a.inverse && a.scaled ? divided(dx, g.shape()[-2]) : dx);
}

void Rfft::type(TypeCx& cx, const NoAttrs&) {
  cx.require_float(0);
  cx.check(cx.in(0).rank() >= 1, "takes a last axis; got ", cx.in(0));
  cx.require_at_least(cx.shape(0).last(), 1, "length");
  Shape y = cx.shape(0);
  y.dims.back() = half_of(y.dims.back());
  y.dims.push_back(2);
  cx.out(cx.in(0).dtype, std::move(y));
}

void Rfft::eval(EvalCx& cx, const NoAttrs&) {
  const RefTensor& x = cx.in(0);
  RefTensor& y = cx.out(0);
  const int64_t n = x.shape.back(), half = n / 2 + 1;
  for (int64_t row = 0; row < rows_of(x, n); ++row)
    for (int64_t k = 0; k < half; ++k)
      for (int64_t j = 0; j < n; ++j)
        add_turned(x.f[static_cast<size_t>(row * n + j)], 0, j, k, n, -1,
                   y.f.data() + 2 * half * row);
}

// The real part of the transform back of g, other frequencies 0.
void Rfft::vjp(VjpCx& cx, const NoAttrs&) {
  const Value g = cx.grad();
  const Dim n = cx.in(0).shape().last();
  const size_t rank = g.shape().rank();
  Pad::Attrs zeros;
  for (size_t i = 0; i < rank; ++i) {
    zeros.before.dims.push_back(0);
    zeros.after.dims.push_back(i + 2 == rank ? n - half_of(n) : Dim(0));
  }
  const Value dx = fft(pad(g, zeros), {.inverse = true, .scaled = false});
  cx.set(0, reshape_to(slice_axis(dx, static_cast<int64_t>(rank) - 1, 0, 1), cx.in(0).shape()));
}

void Irfft::type(TypeCx& cx, const Attrs& a) {
  require_pairs(cx);
  cx.require_at_least(a.n, 1, "n");
  cx.require_equal(cx.shape(0)[-2], half_of(a.n), "frequencies and n / 2 + 1");
  Shape y = cx.shape(0);
  y.dims.pop_back();
  y.dims.back() = a.n;
  cx.out(cx.in(0).dtype, std::move(y));
}

void Irfft::eval(EvalCx& cx, const Attrs&) {
  const RefTensor& x = cx.in(0);
  RefTensor& y = cx.out(0);
  const int64_t n = y.shape.back(), half = n / 2 + 1;
  for (int64_t row = 0; row < rows_of(y, n); ++row)
    for (int64_t k = 0; k < half; ++k) {
      const bool alone = k == 0 || 2 * k == n;
      const double re = x.f[static_cast<size_t>(2 * (row * half + k))],
                   im = alone ? 0 : x.f[static_cast<size_t>(2 * (row * half + k) + 1)];
      for (int64_t j = 0; j < n; ++j) {
        const double angle = kTwoPi * static_cast<double>(j * k % n) / static_cast<double>(n);
        const double real = re * std::cos(angle) - im * std::sin(angle);
        y.f[static_cast<size_t>(row * n + j)] += real * (alone ? 1 : 2) / static_cast<double>(n);
      }
    }
}

// Frequencies that stand for two count twice.
void Irfft::vjp(VjpCx& cx, const Attrs& a) {
  const Value g = cx.grad();
  const Dim half = half_of(a.n);
  const Value k = iota_of(cx.graph(), half);
  const Value n = reshape_to(cx.graph().sizes({a.n}), Shape{});
  const Value alone = logical_or(equal(k, scalar_like(k, 0)), equal(k * 2.0, n));
  const Value weight = where(alone, scalar_like(g, 1), scalar_like(g, 2));
  cx.set(0, divided(rfft(g) * reshape_to(weight, {half, 1}), a.n));
}

namespace {

void add_fft_literals(Samples& s) {
  using Attrs = Fft::Attrs;
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/signal_samples.py";
  s.expect(source, {In{.shape = {2, 6, 2}, .dtype = kF32, .values = {1.75, -1.875, 0.375, 0, -1.125,
    0.125, 0.625, -1, 0.25, -1.5, 1.75, -2, -0.375, -0.5, -1.75, -0.5, 0.5, -2, -2, -1.125, -1.5,
    1.25, -1.625, 0.5}}}, Attrs{.inverse = false}, {Expect{{2, 6, 2}, {3.625, -6.25, 5.76434209,
    1.19406986, 2.07475953, -1.1875, -1.875, -0.25, 1.42524047, -1.1875, -0.514342089, -3.56906986,
    -6.75, -2.375, -3.24310797, -0.623797632, 1.76105716, 0.590303983, 4, -0.125, -2.13605716,
    -3.09030398, 4.11810797, 2.62379763}}});
  s.expect(source, {In{.shape = {2, 7, 2}, .dtype = kF32, .values = {1.25, 2, -1.5, 1.5, 2, 0.5,
    -0.5, -1.25, -1.75, 1.375, 1.125, -0.375, 0, -2, -0.25, 1.875, -0.125, 1.875, -0.5, -0.75, 1, 0,
    -0.5, -0.875, 0.625, 1.125, 0.875, 2}}}, Attrs{.inverse = true}, {Expect{{2, 7, 2},
    {0.0892857143, 0.25, -0.114851424, 0.252926892, -1.10278649, -0.106107701, 0.967889466,
    0.340619611, 0.475119401, 0.373839115, 0.3500441, 0.699415011, 0.585299233, 0.189307071,
    0.160714286, 0.75, 0.1836269, 0.538303659, -0.0321900547, -0.218605922, -0.460544483,
    0.102904097, 0.186529942, -0.442258345, -0.0300290619, 0.255552915, -0.258107528,
    0.889103595}}});
  // clang-format on
  // golden:end
}

}  // namespace

void Fft::samples(Samples& s) {
  for (int64_t n : {1, 2, 8, 15, 67, 90, 131})
    for (bool inverse : {false, true})
      s.add({In{.shape = {2, n, 2}}}, Attrs{inverse, n != 8}).length = n;
  s.add({In{.shape = {0, 4, 2}}}, Attrs{});
  s.add({In{.shape = {3, 0, 2}}}, Attrs{});
  s.bad({In{.shape = {4}}}, Attrs{}, "takes pairs");
  s.bad({In{.shape = {4, 3}}}, Attrs{}, "takes pairs");
  add_fft_literals(s);
}

void Rfft::samples(Samples& s) {
  for (int64_t n : {1, 2, 9, 16, 71, 134}) s.add({In{.shape = {2, n}}}).length = n;
  s.add({In{.shape = {0, 4}}});
  s.bad({In{.shape = {}}}, NoAttrs{}, "takes a last axis");
  s.bad({In{.shape = {2, 0}}}, NoAttrs{}, "length");
  s.expect("NumPy 2.4.6 fft.rfft", {In{.shape = {5}, .dtype = kF32, .values = {1, -2, 0.5, 3, 2}}},
           NoAttrs{}, {Expect{{3, 2}, {4.5, 0, -1.83155948, 5.2736892, 2.08155948, -0.02650028}}});
}

void Irfft::samples(Samples& s) {
  for (int64_t n : {1, 2, 9, 16, 71, 134})
    s.add({In{.shape = {2, n / 2 + 1, 2}}}, Attrs{n}).length = n;
  s.add({In{.shape = {0, 3, 2}}}, Attrs{4});
  s.bad({In{.shape = {3, 2}}}, Attrs{6}, "frequencies and n / 2 + 1");
  s.bad({In{.shape = {3, 3}}}, Attrs{4}, "takes pairs");
  s.expect("NumPy 2.4.6 fft.irfft",
           {In{.shape = {3, 2}, .dtype = kF32, .values = {4.5, 1, -2, 5, 2, -0.5}}}, Attrs{5},
           {Expect{{5}, {0.9, -1.77898317, 0.42864538, 3.160209, 1.79012879}}});
}

}  // namespace lamella

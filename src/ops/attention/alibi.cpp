#include "lamella/ops/attention/alibi.h"

#include <bit>
#include <cmath>

#include "lamella/ops/math/abs.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {
namespace {

constexpr int64_t kMaxHeads = 1 << 20;

}  // namespace

std::vector<double> Alibi::slopes(int64_t heads, double max_bias) {
  const double n = static_cast<double>(std::bit_floor(static_cast<uint64_t>(heads)));
  std::vector<double> out;
  for (double h = 0; h < static_cast<double>(heads); ++h)
    out.push_back(std::exp2(-max_bias * (h < n ? h + 1 : h - n + 0.5) / n));
  return out;
}

void Alibi::type(TypeCx& cx, const Attrs& a) {
  cx.check(a.to.is_float(), "gives a floating-point tensor; got ", a.to);
  cx.check(a.heads >= 1 && a.heads <= kMaxHeads, "heads is out of range; got ", a.heads,
           "; want 1 to ", kMaxHeads);
  cx.check(std::isfinite(a.max_bias), "max_bias is not finite");
  for (Dim d : {a.queries, a.keys}) cx.require_at_least(d, 0, "negative size");
  cx.out(a.to, {a.heads, a.queries, a.keys});
}

Value Alibi::expand(const Args& args, const Attrs& a) {
  Graph& g = args.graph();
  const std::vector<double> slope = slopes(a.heads, a.max_bias);
  const Value first = reshape_to(g.sizes({a.keys - a.queries}), Shape{});
  const Value p = reshape_to(iota_of(g, a.queries), {1, a.queries, 1}) + first;
  const Value distance = abs(p - reshape_to(iota_of(g, a.keys), {1, 1, a.keys}));
  const Value slope_of =
      g.constant(Tensor::from(kF64, {a.heads, 1, 1}, std::span<const double>(slope)));
  return cast(-(cast(distance, {.to = kF64}) * slope_of), {.to = a.to});
}

void Alibi::samples(Samples& s) {
  for (DType to : {kF32, kF16, kF64}) s.add({}, Attrs{6, 3, 5, 8, to});
  s.add({}, Attrs{1, 4, 4});
  s.add({}, Attrs{2, 0, 4});
  s.bad({}, Attrs{0, 2, 2}, "heads is out of range");
  s.bad({}, Attrs{1, 2, 2, 8, kI32}, "floating-point");
  s.bad({}, Attrs{1, -1, 2}, "negative size");
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
  s.expect(source, {}, Attrs{.heads = 4, .queries = 3, .keys = 5, .max_bias = 8}, {Expect{{4, 3, 5},
    {-0.5, -0.25, -0, -0.25, -0.5, -0.75, -0.5, -0.25, -0, -0.25, -1, -0.75, -0.5, -0.25, -0,
    -0.125, -0.0625, -0, -0.0625, -0.125, -0.1875, -0.125, -0.0625, -0, -0.0625, -0.25, -0.1875,
    -0.125, -0.0625, -0, -0.03125, -0.015625, -0, -0.015625, -0.03125, -0.046875, -0.03125,
    -0.015625, -0, -0.015625, -0.0625, -0.046875, -0.03125, -0.015625, -0, -0.0078125, -0.00390625,
    -0, -0.00390625, -0.0078125, -0.01171875, -0.0078125, -0.00390625, -0, -0.00390625, -0.015625,
    -0.01171875, -0.0078125, -0.00390625, -0}}});
  s.expect(source, {}, Attrs{.heads = 6, .queries = 2, .keys = 3, .max_bias = 8}, {Expect{{6, 2, 3},
    {-0.25, -0, -0.25, -0.5, -0.25, -0, -0.0625, -0, -0.0625, -0.125, -0.0625, -0, -0.015625, -0,
    -0.015625, -0.03125, -0.015625, -0, -0.00390625, -0, -0.00390625, -0.0078125, -0.00390625, -0,
    -0.5, -0, -0.5, -1, -0.5, -0, -0.125, -0, -0.125, -0.25, -0.125, -0}}});
  s.expect(source, {}, Attrs{.heads = 3, .queries = 4, .keys = 3, .max_bias = 4}, {Expect{{3, 4, 3},
    {-0.25, -0.5, -0.75, -0, -0.25, -0.5, -0.25, -0, -0.25, -0.5, -0.25, -0, -0.0625, -0.125,
    -0.1875, -0, -0.0625, -0.125, -0.0625, -0, -0.0625, -0.125, -0.0625, -0, -0.5, -1, -1.5, -0,
    -0.5, -1, -0.5, -0, -0.5, -1, -0.5, -0}}});
  // clang-format on
  // golden:end
}

}  // namespace lamella

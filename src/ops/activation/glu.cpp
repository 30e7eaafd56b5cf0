#include "lamella/ops/activation/glu.h"

#include "lamella/ops/math/gelu.h"
#include "lamella/ops/math/relu.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/math/silu.h"
#include "lamella/ops/shape/split.h"

namespace lamella {
namespace {

constexpr Value (*kGates[])(Value) = {
    [](Value x) { return sigmoid(x); }, [](Value x) { return silu(x); },
    [](Value x) { return gelu(x); },    [](Value x) { return gelu(x, {Approximate::tanh}); },
    [](Value x) { return relu(x); },    [](Value x) { return x; },
};
static_assert(std::size(kGates) == EnumNames<Gate>::names.size());

}  // namespace

void Glu::type(TypeCx& cx, const Attrs& a) {
  cx.require_float(0);
  Shape y = cx.shape(0);
  const int64_t axis = cx.axis(a.axis, y.rank());
  const Dim half = floordiv(y[axis], 2);
  cx.require_equal(half * 2, y[axis], "size of two halves and of x");
  y[axis] = half;
  cx.out(cx.in(0).dtype, std::move(y));
}

Value Glu::expand(const Args& args, const Attrs& a) {
  const Value x = widened(args[0]);
  const Dim half = floordiv(x.shape()[a.axis], 2);
  const Values halves = split(x, {.sizes = {half, half}, .axis = a.axis});
  const Value gate = halves[a.gate_first ? 0 : 1], value = halves[a.gate_first ? 1 : 0];
  return narrowed(value * kGates[static_cast<size_t>(a.gate)](gate), args[0].dtype());
}

void Glu::samples(Samples& s) {
  for (Gate gate :
       {Gate::sigmoid, Gate::silu, Gate::gelu, Gate::gelu_tanh, Gate::relu, Gate::none}) {
    s.add({In{.shape = {3, 10}}}, Attrs{gate});
    s.add({In{.shape = {2, 6, 3}}}, Attrs{gate, 1, true});
  }
  s.add({In{.shape = {2}}}, Attrs{});
  s.add({In{.shape = {0, 4}}}, Attrs{});
  s.bad({In{.shape = {2, 3}}}, Attrs{}, "size of two halves");
  s.bad({In{.shape = {}}}, Attrs{}, "axis out of range");
  s.bad({In{.shape = {2}, .dtype = kI32}}, Attrs{}, "float");
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
  s.expect(source, {In{.shape = {4, 8}, .dtype = kF32, .values = {-1.6875, 1.9375, 0.0625, -0.6875,
    0.5625, 0.8125, -1.5625, 0.0625, 0.6875, -0.0625, 1.0625, -1.9375, 1.8125, 0.6875, -0.1875,
    1.6875, 1.9375, 1.0625, -1.1875, -0.5625, 0.3125, 0.9375, -1.0625, -0.8125, -0.4375, -0.3125,
    -0.9375, 0.3125, 2.0625, 0.4375, 1.9375, -1.1875}}}, Attrs{.gate = Gate::sigmoid}, {Expect{{4,
    4}, {-1.07498947, 1.34199384, 0.0108305129, -0.354488692, 0.591018828, -0.0415881599,
    0.481590714, -1.63504676, 1.11889727, 0.763506542, -0.30498799, -0.172888884, -0.38815201,
    -0.189894741, -0.819447408, 0.0730332365}}});
  s.expect(source, {In{.shape = {2, 3}, .dtype = kF32, .values = {0.25, 0.125, -1.75, -1.25, -1.125,
    0.125}}}, Attrs{.gate = Gate::sigmoid, .axis = 0, .gate_first = true}, {Expect{{1, 3},
    {-0.702720626, -0.597610545, 0.0185058998}}});
  s.expect(source, {In{.shape = {2, 6}, .dtype = kF32, .values = {-1.3125, -1.8125, -0.8125,
    -0.0625, -0.1875, 2.0625, -0.4375, -1.8125, -0.1875, -1.8125, 1.3125, -1.4375}}}, Attrs{.gate =
    Gate::silu}, {Expect{{2, 3}, {0.0397343038, 0.154038206, -1.48676082, 0.11128226, -1.87441445,
    0.0517318838}}});
  s.expect(source, {In{.shape = {2, 3}, .dtype = kF32, .values = {-0.25, -1.375, 0.125, 1.75,
    -0.125, -0.25}}}, Attrs{.gate = Gate::silu, .axis = 0, .gate_first = true}, {Expect{{1, 3},
    {-0.191547781, 0.0346866476, -0.0166002929}}});
  s.expect(source, {In{.shape = {4, 8}, .dtype = kF32, .values = {-0.9375, -0.8125, 0.4375, -0.6875,
    -1.3125, 1.9375, -1.5625, -0.0625, 0.4375, -1.6875, 0.8125, 1.3125, -1.5625, -0.3125, 0.0625,
    2.0625, -1.5625, 1.3125, -0.5625, 1.5625, 0.6875, -0.9375, 0.6875, 0.1875, -0.3125, 1.8125,
    1.4375, 1.0625, 1.5625, -0.3125, -1.1875, 0.6875}}}, Attrs{.gate = Gate::gelu}, {Expect{{4, 4},
    {0.116495543, -1.53275048, -0.0403902208, 0.0204136939, -0.0403902208, 0.198982766,
    0.0266559754, 2.65402736, -0.810085708, -0.214410056, -0.291630855, 0.168271198, -0.459431092,
    -0.21372223, -0.200602167, 0.550858281}}});
  s.expect(source, {In{.shape = {2, 3}, .dtype = kF32, .values = {1.75, 0.25, -1, 1.375, 1.75,
    -1.25}}}, Attrs{.gate = Gate::gelu, .axis = 0, .gate_first = true}, {Expect{{1, 3}, {2.30985765,
    0.261934017, 0.198319067}}});
  s.expect(source, {In{.shape = {2, 6}, .dtype = kF32, .values = {0.4375, 1.8125, 1.9375, -0.9375,
    -0.5625, 1.9375, 1.4375, 1.3125, -0.5625, 1.0625, 0.9375, 1.0625}}}, Attrs{.gate = Gate::relu},
    {Expect{{2, 3}, {0, 0, 3.75390625, 1.52734375, 1.23046875, -0.59765625}}});
  s.expect(source, {In{.shape = {2, 3}, .dtype = kF32, .values = {1, 0, 1.375, -1.625, 0.5,
    -1.25}}}, Attrs{.gate = Gate::relu, .axis = 0, .gate_first = true}, {Expect{{1, 3}, {-1.625, 0,
    -1.71875}}}).grad = false;
  s.expect(source, {In{.shape = {2, 6}, .dtype = kF32, .values = {-0.1875, 2.0625, -1.9375, -1.1875,
    0.9375, -0.9375, 0.3125, 0.6875, -1.5625, 0.9375, 0.8125, 1.4375}}}, Attrs{.gate = Gate::none},
    {Expect{{2, 3}, {0.22265625, 1.93359375, 1.81640625, 0.29296875, 0.55859375, -2.24609375}}});
  s.expect(source, {In{.shape = {2, 3}, .dtype = kF32, .values = {-0.5, 1.125, 0.625, -0.25, -0.25,
    0.375}}}, Attrs{.gate = Gate::none, .axis = 0, .gate_first = true}, {Expect{{1, 3}, {0.125,
    -0.28125, 0.234375}}});
  s.expect(source, {In{.shape = {2, 6}, .dtype = kF32, .values = {1.3125, 0.6875, 0.9375, -1.9375,
    1.6875, -1.9375, 1.6875, 0.8125, -1.9375, -1.8125, 0.5625, -0.1875}}}, Attrs{.gate =
    Gate::gelu_tanh}, {Expect{{2, 3}, {-0.0669292139, 1.10697854, -0.0478065814, -0.107007119,
    0.325893258, 0.154625734}}});
  s.expect(source, {In{.shape = {2, 3}, .dtype = kF32, .values = {2, -1.875, -2, -0.125, 1.125,
    -0.375}}}, Attrs{.gate = Gate::gelu_tanh, .axis = 0, .gate_first = true}, {Expect{{1, 3},
    {-0.244324712, -0.0641260849, 0.0170258647}}});
  // clang-format on
  // golden:end
}

}  // namespace lamella

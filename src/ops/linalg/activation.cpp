#include "lamella/ops/linalg/activation.h"

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/erf.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/math/gelu.h"
#include "lamella/ops/math/greater.h"
#include "lamella/ops/math/relu.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/math/silu.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/expand.h"

namespace lamella {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440, kSqrt2OverPi = 0.79788456080286535588,
                 kInvSqrt2Pi = 0.39894228040143267794, kCubic = 0.044715;

Value silu_slope(Value x) {
  const Value s = sigmoid(x);
  return s * ((1.0 - s) * x + 1.0);
}

// Normal integral plus x times the normal density.
Value gelu_slope(Value x) {
  return (erf(x * kSqrtHalf) + 1.0) * 0.5 + x * exp(square(x) * -0.5) * kInvSqrt2Pi;
}

Value gelu_tanh_slope(Value x) {
  const Value x2 = square(x);
  const Value t = tanh(x * (x2 * kCubic + 1.0) * kSqrt2OverPi);
  return (t + 1.0) * 0.5 + x * (1.0 - square(t)) * (x2 * (3 * kCubic) + 1.0) * (kSqrt2OverPi / 2);
}

struct Rule {
  Value (*apply)(Value);
  Value (*slope)(Value);
};
constexpr Rule kRules[] = {
    {[](Value x) { return x; }, [](Value x) { return full(*x.graph, x.shape(), x.dtype(), 1); }},
    {[](Value x) { return silu(x); }, silu_slope},
    {[](Value x) { return gelu(x, {Approximate::none}); }, gelu_slope},
    {[](Value x) { return gelu(x, {Approximate::tanh}); }, gelu_tanh_slope},
    {[](Value x) { return relu(x); },
     [](Value x) { return cast(greater(x, scalar_like(x, 0)), {.to = x.dtype()}); }},
};
static_assert(std::size(kRules) == EnumNames<Activation>::names.size());

}  // namespace

Value activate(Value x, Activation activation) {
  return kRules[static_cast<size_t>(activation)].apply(x);
}

Value activation_slope(Value x, Activation activation) {
  return kRules[static_cast<size_t>(activation)].slope(x);
}

}  // namespace lamella

#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Prelu {
  static constexpr Info info{
      .name = "prelu",
      .inputs = "x, slope",
      .outputs = "y",
      .doc = "x where x is not negative, else slope * x; slope broadcasts to the sizes of x.",
      .ulps = 1,
      .traits = kElementwise};
  static void type(TypeCx& cx, const NoAttrs&) {
    check_operands(cx, Operands::floats);
    const Shape &x = cx.shape(0), y = cx.broadcast(x, cx.shape(1));
    cx.check(y.rank() == x.rank(), "slope has more axes than x; got ", cx.in(0), " and ", cx.in(1));
    for (size_t i = 0; i < x.rank(); ++i)
      cx.require_equal(y.dims[i], x.dims[i], str("sizes of slope and x at axis ", i));
    cx.out(cx.in(0).dtype, x);
  }
  static Value expand(const Args& args, const NoAttrs&) {
    const Value x = args[0];
    return where(less(x, scalar_like(x, 0)), x * args[1], x);
  }
  static void samples(Samples& s) {
    s.add({In{.shape = {3, 5}}, In{.shape = {3, 5}}});
    s.add({In{.shape = {2, 3, 7}}, In{.shape = {3, 1}}});
    s.add({In{.shape = {4, 33}}, In{.shape = {}}});
    s.add({In{.shape = {}}, In{.shape = {}}});
    s.add({In{.shape = {0, 3}}, In{.shape = {1, 3}}});
    s.bad({In{.shape = {3}}, In{.shape = {4}}}, NoAttrs{}, "do not broadcast");
    s.bad({In{.shape = {1}}, In{.shape = {4}}}, NoAttrs{}, "slope and x");
    s.bad({In{.shape = {4}}, In{.shape = {2, 4}}}, NoAttrs{}, "more axes than x");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {-1.03125, 1.03125, 2.15625,
      2.03125, 2.90625, 3.71875, 2.15625, -1.15625, 2.15625, 1.28125, -1.34375, -0.40625, -3.90625,
      -2.28125, -2.90625, 3.15625, 3.46875, 2.03125}}, In{.shape = {}, .dtype = kF32, .values =
      {0.25}}}, NoAttrs{}, {Expect{{2, 9}, {-0.2578125, 1.03125, 2.15625, 2.03125, 2.90625, 3.71875,
      2.15625, -0.2890625, 2.15625, 1.28125, -0.3359375, -0.1015625, -0.9765625, -0.5703125,
      -0.7265625, 3.15625, 3.46875, 2.03125}}});
    s.expect(source, {In{.shape = {2, 3, 3}, .dtype = kF32, .values = {3.59375, -2.09375, 2.59375,
      2.15625, 3.40625, 1.90625, -2.96875, -3.90625, -3.84375, 3.84375, -2.40625, 2.78125, -0.65625,
      2.90625, 1.53125, -3.46875, -0.46875, 1.40625}}, In{.shape = {3, 1}, .dtype = kF32, .values =
      {0.5, 0.125, 0.75}}}, NoAttrs{}, {Expect{{2, 3, 3}, {3.59375, -1.046875, 2.59375, 2.15625,
      3.40625, 1.90625, -2.2265625, -2.9296875, -2.8828125, 3.84375, -1.203125, 2.78125,
      -0.08203125, 2.90625, 1.53125, -2.6015625, -0.3515625, 1.40625}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Prelu> prelu;

}  // namespace lamella

#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/clamp.h"
#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct ClampedSwiglu {
  static constexpr Info info{
      .name = "clamped_swiglu",
      .inputs = "gate, up",
      .outputs = "y",
      .doc =
          "g * sigmoid(alpha * g) * (u + 1) with g = min(gate, limit) and u = min(max(up, -limit), "
          "limit), with broadcasting: the gated unit of gpt-oss.",
      .ulps = 16,
      .ulps_per_length = 1,
      .traits = kElementwise};
  struct Attrs {
    double alpha = 1.702, limit = 7;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("alpha", &Attrs::alpha), f("limit", &Attrs::limit); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    check_operands(cx, Operands::floats);
    cx.check(a.limit >= 0, "negative limit; got ", a.limit);
    cx.out(cx.in(0).dtype, cx.broadcast(cx.shape(0), cx.shape(1)));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value g = clamp(widened(args[0]), {.high = a.limit}),
                u = clamp(widened(args[1]), {.low = -a.limit, .high = a.limit});
    return narrowed(g * sigmoid(g * a.alpha) * (u + 1.0), args[0].dtype());
  }
  static void samples(Samples& s) {
    add_broadcast_samples(s, {-9, 9}, {-9, 9}, Attrs{});
    s.add({In{.shape = {3, 5}}, In{.shape = {3, 5}}}, Attrs{1, 1.5});
    s.bad({In{.shape = {3}}, In{.shape = {3}}}, Attrs{1, -1}, "negative limit");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {3, 6}, .dtype = kF32, .values = {-5.25, -5.25, 1.5, -4.5, -10.5,
      -8.25, 3.75, 3, 9, -4.5, 6, -1.5, 5.25, 12, 9.75, -9, 1.5, -10.5}}, In{.shape = {6}, .dtype =
      kF32, .values = {-11, -8, 0.5, 8, 11, 1}}}, Attrs{.alpha = 1.702, .limit = 7}, {Expect{{3, 6},
      {0.00414586396, 0.00414586396, 2.0874933, -0.0169760334, -1.45546777e-06, -1.31624771e-05,
      -22.4620192, -17.8915721, 10.4999297, -0.0169760334, 47.9982372, -0.216675603, -31.4958541,
      -41.9997188, 10.4999297, -1.60254239e-05, 11.1332976, -3.63866942e-07}}}).grad = false;
    s.expect(source, {In{.shape = {3, 6}, .dtype = kF32, .values = {-6.75, -0.75, 0.75, -3.75, 8.25,
      -9.75, -4.5, 11.25, -2.25, 4.5, 7.5, -12, -11.25, -7.5, -11.25, -11.25, -3.75, 12}}, In{.shape
      = {6}, .dtype = kF32, .values = {-11, -8, 0.5, 8, 11, 1}}}, Attrs{.alpha = 1, .limit = 1.5},
      {Expect{{3, 6}, {0.00394709714, 0.120307988, 0.764076037, -0.215412843, 3.06590429,
      -0.00113667968, 0.0247206209, -0.613180857, -0.321804444, 3.06590429, 3.06590429,
      -0.00014746019, 7.31650976e-05, 0.00207291989, -0.000219495293, -0.000365825488, -0.215412843,
      2.45272343}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<ClampedSwiglu> clamped_swiglu;

}  // namespace lamella

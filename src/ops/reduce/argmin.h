#pragma once

#include "lamella/ops/reduce/argmax.h"

namespace lamella {

struct Argmin {
  static constexpr Info info{
      .name = "argmin",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "Position (i64) of the least element along axis: the first of equal ones (`last`: the "
          "last), or the first NaN. An error where the axis is empty.",
      .traits = kNoGrad};
  using Attrs = Argmax::Attrs;
  static void type(TypeCx& cx, const Attrs& a) { Argmax::type(cx, a); }
  static void eval(EvalCx& cx, const Attrs& a) { Argmax::eval_position(cx, a, is_less); }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    s.add({In{.shape = {3, 35}}}, Attrs{});
    s.add({In{.shape = {2, 7, 5}, .domain = {0, 3}}}, Attrs{1, true, true});
    s.add({In{.shape = {4, 35}, .domain = {0, 3, true}}}, Attrs{-1, false, true});
    s.add({In{.shape = {4, 3}}}, Attrs{0});
    s.add({In{.shape = {0, 3}}}, Attrs{1});
    s.bad({In{.shape = {3, 0}}}, Attrs{}, "the axis is empty");
    s.bad({In{.shape = {3}}}, Attrs{1}, "axis out of range");
    s.bad({In{.shape = {3}, .dtype = kBool}}, Attrs{}, "takes numbers");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {3, 3}, .dtype = kF32, .values = {1, 3, 3, 0, NAN, NAN, -1, -2,
      -2}}}, Attrs{}, {Expect{{3}, {0, 1, 1}}});
    s.expect(source, {In{.shape = {3, 3}, .dtype = kF32, .values = {1, 3, 3, 0, NAN, NAN, -1, -2,
      -2}}}, Attrs{.last = true}, {Expect{{3}, {0, 2, 2}}});
    // clang-format on
    // golden:end
  }

 private:
  // x[i] < x[j], with NaN below every number.
  static bool is_less(const RefTensor& x, size_t i, size_t j) {
    if (x.holds_floats() && (std::isnan(x.f[i]) || std::isnan(x.f[j])))
      return std::isnan(x.f[i]) && !std::isnan(x.f[j]);
    return Argmax::is_greater(x, j, i);
  }
};
inline constexpr Call<Argmin> argmin;

}  // namespace lamella

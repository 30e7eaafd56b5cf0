#pragma once

#include "lamella/ops/math/less.h"
#include "lamella/ops/random/uniform.h"

namespace lamella {

struct Bernoulli {
  static constexpr Info info{
      .name = "bernoulli",
      .inputs = "key, p",
      .outputs = "y",
      .doc =
          "True with probability p, element by element: u < p with u = uniform(key) of the sizes "
          "and the type of p. Never where p <= 0 or NaN, always where p >= 1.",
      .traits = kNoGrad | kRandom};
  static void type(TypeCx& cx, const NoAttrs&) {
    require_key(cx, 0);
    cx.require_float(1);
    cx.out(kBool, cx.shape(1));
  }
  static Value expand(const Args& args, const NoAttrs&) {
    return less(uniform(args[0], {.shape = args[1].shape(), .to = args[1].dtype()}), args[1]);
  }
  static void samples(Samples& s) {
    const auto key = [](double a, double b) {
      return In{.shape = {2}, .dtype = kI64, .values = {a, b}};
    };
    s.add({key(1, 2), In{.shape = {3, 35}, .domain = {0, 1}}});
    s.add({key(-7, 9), In{.shape = {}, .domain = {0, 1}}});
    s.add({key(0, 0), In{.shape = {0, 3}}});
    s.bad({In{.shape = {3}, .dtype = kI64}, In{.shape = {2}}}, NoAttrs{}, "length of the key");
    s.bad({key(0, 0), In{.shape = {2}, .dtype = kI32}}, NoAttrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2}, .dtype = kI64, .values = {1, 2}}, In{.shape = {17}, .dtype =
      kF32, .values = {0.875, 0.375, 0.375, 1, 0.25, 0.5, 0.75, 1, 1, 0.375, 0.625, 0.125, 1, 0.5,
      0.5, 0.25, 0.25}}}, NoAttrs{}, {Expect{{17}, {0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0,
      0}}});
    s.expect(source, {In{.shape = {2}, .dtype = kI64, .values = {7, 9}}, In{.shape = {18}, .dtype =
      kF32, .values = {0, 0.5, 0, 0.125, 0, 0.5, 0.625, 0.625, 0.5, 0.875, 0, 0.625, 0.375, 0.5, 0,
      0.125, 0.5, 0.25}}}, NoAttrs{}, {Expect{{18}, {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0,
      0, 0}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Bernoulli> bernoulli;

}  // namespace lamella

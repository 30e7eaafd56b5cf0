#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/log.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/random/uniform.h"
#include "lamella/ops/reduce/argmax.h"

namespace lamella {

struct Categorical {
  static constexpr Info info{
      .name = "categorical",
      .inputs = "key, logits",
      .outputs = "y",
      .doc =
          "For each row along the last axis a position (i64), with probability softmax(logits): "
          "that of the greatest logits - log(-log(u)) with u = (k + 1/2) / 2^32 of one random word "
          "k an element (Gumbel). -infinity is never taken beside another logit.",
      .traits = kNoGrad | kRandom};
  static void type(TypeCx& cx, const NoAttrs&) {
    require_key(cx, 0);
    cx.require_float(1);
    cx.check(cx.shape(1).rank() >= 1, "wants logits of rank 1 or more; got ", cx.in(1));
    Shape y = cx.shape(1);
    cx.require_at_least(y.last(), 1, "a row of logits is empty");
    y.dims.pop_back();
    cx.out(kI64, std::move(y));
  }
  static Value expand(const Args& args, const NoAttrs&) {
    const Value u = uniform(
        args[0], {.shape = args[1].shape(), .to = kF64, .low = 0x1p-33, .high = 1 + 0x1p-33});
    return argmax(cast(args[1], {.to = kF64}) - log(-log(u)));
  }
  static void samples(Samples& s) {
    const auto key = [](double a, double b) {
      return In{.shape = {2}, .dtype = kI64, .values = {a, b}};
    };
    s.add({key(1, 2), In{.shape = {33, 7}}});
    s.add({key(-7, 9), In{.shape = {2, 3, 5}, .domain = {-30, 30}}});
    s.add({key(3, 4), In{.shape = {9}}});
    s.add({key(0, 0), In{.shape = {0, 3}}});
    s.bad({In{.shape = {3}, .dtype = kI64}, In{.shape = {2}}}, NoAttrs{}, "length of the key");
    s.bad({key(0, 0), In{.shape = {2, 0}}}, NoAttrs{}, "a row of logits is empty");
    s.bad({key(0, 0), In{.shape = {}}}, NoAttrs{}, "rank 1 or more");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2}, .dtype = kI64, .values = {1, 2}}, In{.shape = {17, 3}, .dtype
      = kF32, .values = {-1, -3.75, 0.75, -2, 3, 1.75, -2.75, 2.25, -2.25, -2.25, -3.25, -1.25, 1.5,
      -3.25, -3.5, -0.5, 3.5, -1, -0.25, 3.5, 2.25, 2.5, -3.75, 3.5, 0.75, -3, -0.25, -1.5, -2, 3,
      -3.25, -2.25, -1.5, -1.25, 3.25, -3.25, -3.75, -4, 1, 1, -0.25, -1, -2, -1.25, -2, -0.75, -2,
      2.25, -0.5, -3.25, 2.75}}}, NoAttrs{}, {Expect{{17}, {0, 1, 1, 2, 0, 1, 1, 2, 0, 2, 2, 1, 2,
      0, 0, 2, 2}}});
    s.expect(source, {In{.shape = {2}, .dtype = kI64, .values = {7, 9}}, In{.shape = {18, 3}, .dtype
      = kF32, .values = {2, 2.75, -3, 3, 3, -3.5, 2.5, -0.25, 4, -2, 0, -1.5, 0.25, -4, -4, 0, 3.25,
      4, 2.5, -2.75, 1, -2.75, 2.25, -0.25, -2.25, 4, 2.5, 1.25, 1.75, -2, -2.5, -1, 2, 2, 0.5,
      3.75, 1.75, 4, -3, 1.5, 2.75, -4, -1, 1.75, 2.75, 3.25, 4, -2.25, -3.75, -2.5, 1.25, 2.75, -4,
      1.25}}}, NoAttrs{}, {Expect{{18}, {1, 1, 2, 0, 0, 1, 0, 1, 1, 0, 2, 2, 1, 1, 2, 1, 2, 0}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Categorical> categorical;

}  // namespace lamella

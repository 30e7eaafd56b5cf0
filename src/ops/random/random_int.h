#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/floor.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/random/uniform.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

struct RandomInt {
  static constexpr Info info{
      .name = "random_int",
      .inputs = "key",
      .outputs = "y",
      .doc =
          "Whole numbers from low up to high, without high: low + floor(u * (high - low)) with u = "
          "uniform(key) of 32 bits, so high - low is 2^32 at most.",
      .traits = kNoGrad | kRandom};
  struct Attrs {
    Shape shape = {};
    int64_t low = 0, high = 2;
    DType to = kI64;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("shape", &Attrs::shape), f("low", &Attrs::low), f("high", &Attrs::high),
          f("to", &Attrs::to);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    require_key(cx, 0);
    cx.check(a.to == kI32 || a.to == kI64, "gives i32 or i64; got ", a.to);
    const double width = static_cast<double>(a.high) - static_cast<double>(a.low);
    cx.check(a.low < a.high && width <= 0x1p32, "wants low < high, 2^32 apart at most; got ", a.low,
             " and ", a.high);
    for (Dim d : a.shape) cx.require_at_least(d, 0, "negative size");
    cx.out(a.to, a.shape);
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value u = uniform(args[0], {.shape = a.shape, .to = kF64});
    const Value step = cast(floor(u * static_cast<double>(a.high - a.low)), {.to = a.to});
    return step + reshape_to(cast(args.graph().sizes({a.low}), {.to = a.to}), Shape{});
  }
  static void samples(Samples& s) {
    const auto key = [](double a, double b) {
      return In{.shape = {2}, .dtype = kI64, .values = {a, b}};
    };
    s.add({key(1, 2)}, Attrs{{3, 35}, -5, 9});
    s.add({key(-7, 9)}, Attrs{{131}, 0, int64_t{1} << 31, kI32});
    s.add({key(0, 0)}, Attrs{{}});
    s.add({key(0, 0)}, Attrs{{0, 3}});
    s.bad({In{.shape = {3}, .dtype = kI64}}, Attrs{{2}}, "length of the key");
    s.bad({key(0, 0)}, Attrs{{2}, 3, 3}, "low < high");
    s.bad({key(0, 0)}, Attrs{{2}, 0, 3, kF32}, "i32 or i64");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2}, .dtype = kI64, .values = {1, 2}}}, Attrs{.shape = {17}, .low
      = -3, .high = 9}, {Expect{{17}, {7, 3, -1, -3, 5, 7, 0, -3, 3, 1, 4, 2, 7, 1, 3, 5, 7}}});
    s.expect(source, {In{.shape = {2}, .dtype = kI64, .values = {7, 9}}}, Attrs{.shape = {18}, .low
      = -3, .high = 9}, {Expect{{18}, {3, 3, 6, -3, 5, 5, -2, 3, 5, 8, 2, 0, -2, 8, 4, 2, 6, 3}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<RandomInt> random_int;

}  // namespace lamella

#pragma once

#include "lamella/ops/random/uniform.h"
#include "lamella/ops/reduce/argsort.h"

namespace lamella {

struct Permutation {
  static constexpr Info info{
      .name = "permutation",
      .inputs = "key",
      .outputs = "y",
      .doc =
          "0, 1, ... length - 1 (i64) in random order: the positions that sort one random word of "
          "32 bits an element; of equal words the first comes first.",
      .traits = kNoGrad | kRandom};
  struct Attrs {
    Dim length = 0;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("length", &Attrs::length); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    require_key(cx, 0);
    cx.require_at_least(a.length, 0, "negative length");
    cx.out(kI64, Shape{a.length});
  }
  static Value expand(const Args& args, const Attrs& a) {
    return argsort(uniform(args[0], {.shape = {a.length}, .to = kF64}));
  }
  static void samples(Samples& s) {
    const auto key = [](double a, double b) {
      return In{.shape = {2}, .dtype = kI64, .values = {a, b}};
    };
    s.add({key(1, 2)}, Attrs{131});
    s.add({key(-7, 9)}, Attrs{1});
    s.add({key(0, 0)}, Attrs{0});
    s.bad({In{.shape = {3}, .dtype = kI64}}, Attrs{2}, "length of the key");
    s.bad({key(0, 0)}, Attrs{-1}, "negative length");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2}, .dtype = kI64, .values = {1, 2}}}, Attrs{.length = 17},
      {Expect{{17}, {3, 7, 2, 6, 9, 13, 11, 14, 1, 8, 10, 4, 15, 16, 5, 12, 0}}});
    s.expect(source, {In{.shape = {2}, .dtype = kI64, .values = {7, 9}}}, Attrs{.length = 18},
      {Expect{{18}, {3, 6, 12, 11, 15, 10, 17, 1, 7, 0, 14, 8, 4, 5, 2, 16, 9, 13}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Permutation> permutation;

}  // namespace lamella

#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct BitXor : Binary<BitXor, Operands::ints> {
  static constexpr Info info{.name = "bit_xor",
                             .inputs = "a, b",
                             .outputs = "y",
                             .doc = "Bit by bit exclusive or of integers, with broadcasting.",
                             .traits = kElementwise | kCommutative | kNoGrad};
  static int64_t apply(int64_t a, int64_t b, DType) { return a ^ b; }
  static void samples(Samples& s) {
    s.types(kIntTypes);
    add_broadcast_samples(s, {-100, 100}, {-100, 100});
    s.bad({In{.shape = {2}, .dtype = kF32}, In{.shape = {2}, .dtype = kF32}}, NoAttrs{},
          "element type");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {4}, .dtype = kI8, .values = {12, -1, -128, 77}}, In{.shape = {4},
      .dtype = kI8, .values = {10, 85, 127, -2}}}, NoAttrs{}, {Expect{{4}, {6, -86, -1, -77}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<BitXor> bit_xor;

}  // namespace lamella

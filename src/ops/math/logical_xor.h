#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct LogicalXor : Binary<LogicalXor, Operands::bools> {
  static constexpr Info info{.name = "logical_xor",
                             .inputs = "a, b",
                             .outputs = "y",
                             .doc = "Is just one of a and b true? Both bool, with broadcasting.",
                             .traits = kElementwise | kCommutative | kNoGrad};
  static int64_t apply(int64_t a, int64_t b, DType) { return a != b; }
  static void samples(Samples& s) {
    s.types(kBoolTypes);
    add_broadcast_samples(s, {0, 1}, {0, 1});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {4}, .dtype = kBool, .values = {0, 0, 1, 1}}, In{.shape = {4},
      .dtype = kBool, .values = {0, 1, 0, 1}}}, NoAttrs{}, {Expect{{4}, {0, 1, 1, 0}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<LogicalXor> logical_xor;

}  // namespace lamella

#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct ShiftLeft : Binary<ShiftLeft, Operands::ints> {
  static constexpr Info info{
      .name = "shift_left",
      .inputs = "a, b",
      .outputs = "y",
      .doc =
          "a with its bits moved up by b, with broadcasting; what leaves the type is lost. A shift "
          "by the width or more, or by a negative number, gives 0.",
      .traits = kElementwise | kNoGrad};
  static int64_t apply(int64_t a, int64_t b, DType) {
    return as_u64(b) < 64 ? as_i64(as_u64(a) << as_u64(b)) : 0;
  }
  static void samples(Samples& s) {
    s.types(kIntTypes);
    add_broadcast_samples(s, {-100, 100}, {-2, 66});
    s.bad({In{.shape = {2}, .dtype = kF32}, In{.shape = {2}, .dtype = kF32}}, NoAttrs{},
          "element type");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {5}, .dtype = kI32, .values = {1, -3, 2147483647, 5, 7}},
      In{.shape = {5}, .dtype = kI32, .values = {31, 2, 1, 0, 32}}}, NoAttrs{}, {Expect{{5},
      {-2147483648, -12, -2, 5, 0}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<ShiftLeft> shift_left;

}  // namespace lamella

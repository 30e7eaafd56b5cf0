#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct ShiftRight : Binary<ShiftRight, Operands::ints> {
  static constexpr Info info{
      .name = "shift_right",
      .inputs = "a, b",
      .outputs = "y",
      .doc =
          "a with its bits moved down by b, with broadcasting: of signed types the sign fills up, "
          "of unsigned ones 0. A shift by the width or more, or by a negative number, leaves only "
          "what fills up.",
      .traits = kElementwise | kNoGrad};
  static int64_t apply(int64_t a, int64_t b, DType dtype) {
    if (dtype == kU64) return as_u64(b) < 64 ? as_i64(as_u64(a) >> as_u64(b)) : 0;
    return a >> (as_u64(b) < 64 ? b : 63);
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
      In{.shape = {5}, .dtype = kI32, .values = {31, 2, 1, 0, 32}}}, NoAttrs{}, {Expect{{5}, {0, -1,
      1073741823, 5, 0}}});
    s.expect(source, {In{.shape = {3}, .dtype = kU8, .values = {255, 128, 3}}, In{.shape = {3},
      .dtype = kU8, .values = {1, 7, 9}}}, NoAttrs{}, {Expect{{3}, {127, 1, 0}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<ShiftRight> shift_right;

}  // namespace lamella

#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct LogicalOr : Binary<LogicalOr, Operands::bools> {
  static constexpr Info info{.name = "logical_or",
                             .inputs = "a, b",
                             .outputs = "y",
                             .doc = "a or b, both bool, with broadcasting.",
                             .traits = kElementwise | kCommutative | kNoGrad};
  static int64_t apply(int64_t a, int64_t b, DType) { return a || b; }
  static void value(ValueCx& cx, const NoAttrs&) {
    value_of_binary(cx, [](Dim a, Dim b) { return dim_max(a, b); });
  }
  static void samples(Samples& s) {
    s.types(kBoolTypes);
    add_broadcast_samples(s, {0, 1}, {0, 1});
    expect_vector(s, "truth table", {literal(kBool, {0, 0, 1, 1}), literal(kBool, {0, 1, 0, 1})},
                  {0, 1, 1, 1});
    s.bad({In{.shape = {2}, .dtype = kF32}, In{.shape = {2}, .dtype = kF32}}, NoAttrs{},
          "does not take this element type");
  }
};
inline constexpr Call<LogicalOr> logical_or;

}  // namespace lamella

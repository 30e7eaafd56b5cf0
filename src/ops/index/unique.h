#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct Unique {
  static constexpr Info info{
      .name = "unique",
      .inputs = "x",
      .outputs = "y, first, inverse, counts",
      .doc =
          "The different elements of x (row-major), or the different slices along axis; for each "
          "the position where it first stands (first, i64), and how often it stands (counts, i64); "
          "for each element or slice of x which one it is (inverse, i64). Ascending, slices by "
          "their first difference, or in the order of their first places. NaN equals NaN and comes "
          "last.",
      .traits = kNoGrad};
  struct Attrs {
    std::optional<int64_t> axis = {};
    bool sorted = true;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("axis", &Attrs::axis), f("sorted", &Attrs::sorted); }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static void eval(EvalCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Unique> unique;

}  // namespace lamella

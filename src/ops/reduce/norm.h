#pragma once

#include "lamella/ops/reduce/reduction.h"

namespace lamella {

struct Norm {
  static constexpr Info info{
      .name = "norm",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "(sum of |x|^p)^(1/p) over the axes (all without axes); for p = infinity the greatest "
          "|x|, for -infinity the least, for 0 the number of elements that are not 0. Where the "
          "norm is 0, so is the gradient.",
      .ulps = 8,
      .ulps_per_length = 0.5};
  struct Attrs {
    double p = 2;
    std::vector<int64_t> axes = {};
    bool keep = false;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("p", &Attrs::p), f("axes", &Attrs::axes), f("keep", &Attrs::keep);
    }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static Value expand(const Args& args, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Norm> norm;

}  // namespace lamella

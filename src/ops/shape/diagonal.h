#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct Diagonal {
  static constexpr Info info{
      .name = "diagonal",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "The elements whose index along the second axis is that along the first plus offset; "
          "they become the last axis. Empty where there are none."};
  struct Attrs {
    int64_t offset = 0, first = 0, second = 1;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("offset", &Attrs::offset), f("first", &Attrs::first), f("second", &Attrs::second);
    }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static Value expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Diagonal> diagonal;

}  // namespace lamella

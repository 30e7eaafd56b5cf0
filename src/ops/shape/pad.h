#pragma once

#include "lamella/ops/op.h"

namespace lamella {

// What stands beyond the ends of a padded axis.
enum class PadMode : int { constant, edge, reflect, wrap };
template <>
struct EnumNames<PadMode> {
  static constexpr std::array<std::string_view, 4> names{"constant", "edge", "reflect", "wrap"};
};

struct Pad {
  static constexpr Info info{
      .name = "pad",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "x with `before` and `after` more elements at the ends of each axis; negative numbers "
          "cut off. constant: these are `value`. edge: the first or last element again. reflect: "
          "mirrored at the first or last element, which is not repeated, as often as needed. wrap: "
          "as if x were repeated. An empty axis can only be padded with a constant."};
  struct Attrs {
    Shape before = {}, after = {};
    PadMode mode = PadMode::constant;
    double value = 0;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("before", &Attrs::before), f("after", &Attrs::after), f("mode", &Attrs::mode),
          f("value", &Attrs::value);
    }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static Value expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Pad> pad;

}  // namespace lamella

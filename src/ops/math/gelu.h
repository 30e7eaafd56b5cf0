#pragma once

#include "lamella/ops/math/erf.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/operators.h"

namespace lamella {

// How gelu finds the normal distribution's integral.
enum class Approximate : int { none, tanh };
template <>
struct EnumNames<Approximate> {
  static constexpr std::array<std::string_view, 2> names{"none", "tanh"};
};

struct Gelu {
  static constexpr Info info{.name = "gelu",
                             .inputs = "x",
                             .outputs = "y",
                             .doc =
                                 "x times the normal distribution's integral up to x: x/2 * (1 + "
                                 "erf(x / sqrt 2)); or its approximation "
                                 "x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))).",
                             .ulps = 8,
                             // Relative to gelu(|x|): the formula cancels for negative x.
                             .ulps_per_length = 1,
                             .traits = kElementwise};
  struct Attrs {
    Approximate approximate = Approximate::none;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("approximate", &Attrs::approximate); }
  };
  static void type(TypeCx& cx, const Attrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = args[0];
    if (a.approximate == Approximate::none) return x * 0.5 * (erf(x * 0.7071067811865476) + 1.0);
    return x * 0.5 * (tanh((x + x * square(x) * 0.044715) * 0.7978845608028654) + 1.0);
  }
  static void samples(Samples& s) {
    for (Approximate approximate : {Approximate::none, Approximate::tanh})
      add_unary_samples(s, {-4, 4}, Attrs{approximate});
  }
};
inline constexpr Call<Gelu> gelu;

}  // namespace lamella

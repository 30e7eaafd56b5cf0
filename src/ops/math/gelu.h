#pragma once

#include "lamella/ops/math/cast.h"
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
    const Value x = widened(args[0]);
    const Value inner = a.approximate == Approximate::none
                            ? erf(x * 0.7071067811865476)
                            : tanh((x + x * square(x) * 0.044715) * 0.7978845608028654);
    return narrowed(x * 0.5 * (inner + 1.0), args[0].dtype());
  }
  static void samples(Samples& s) {
    const std::vector<double> x{-4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.0, -0.5,
                                0.0,  0.5,  1.0,  1.5,  2.0,  2.5,  3.0,  3.5},
        erf{-0.00012668496733247986, -0.0008142017766243376, -0.004049694094890287,
            -0.015524163314440348,   -0.04550026389635844,   -0.10021080190328713,
            -0.15865525393145707,    -0.15426876936299344,   0.0,
            0.34573123063700656,     0.8413447460685429,     1.399789198096713,
            1.9544997361036416,      2.4844758366855597,     2.99595030590511,
            3.4991857982233756},
        tanh{-7.024594819227126e-05, -0.0006161976553737403, -0.0036373920817729943,
             -0.015084266089998577,  -0.04540230591222494,   -0.10042842301976707,
             -0.15880800939172324,   -0.15428599017485606,   0.0,
             0.34571400982514394,    0.8411919906082768,     1.3995715769802328,
             1.954597694087775,      2.484915733910001,      2.996362607918227,
             3.499383802344626};
    s.expect("CPython 3.11 math: x erfc(-x / sqrt 2) / 2",
             {In{.shape = {2, 8}, .dtype = kF32, .values = x}}, Attrs{}, {Expect{{2, 8}, erf}});
    s.expect("CPython 3.11 math, the approximation of the doc",
             {In{.shape = {4, 4}, .dtype = kF32, .values = x}}, Attrs{Approximate::tanh},
             {Expect{{4, 4}, tanh}});
    for (Approximate approximate : {Approximate::none, Approximate::tanh})
      add_unary_samples(s, {-4, 4}, Attrs{approximate});
  }
};
inline constexpr Call<Gelu> gelu;

}  // namespace lamella

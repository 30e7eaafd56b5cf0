#pragma once

#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Silu {
  static constexpr Info info{.name = "silu",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "x * sigmoid(x).",
                             .ulps = 6,
                             .traits = kElementwise};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& x, const NoAttrs&) { return x[0] * sigmoid(x[0]); }
  static void samples(Samples& s) {
    add_unary_samples(s, {-6, 6});
    const std::vector<double> x{-4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.0, -0.5,
                                0.0,  0.5,  1.0,  1.5,  2.0,  2.5,  3.0,  3.5},
        y{-0.07194483984836623, -0.10259280762974712, -0.14227761953270035,
          -0.18964545005310887, -0.2384058440442351,  -0.2736382857095345,
          -0.2689414213699951,  -0.1887703343990727,  0.0,
          0.3112296656009273,   0.7310585786300049,   1.2263617142904655,
          1.7615941559557646,   2.3103545499468914,   2.8577223804672998,
          3.3974071923702525};
    for (std::vector<int64_t> shape : {std::vector<int64_t>{2, 8}, {4, 1, 4}})
      s.expect("CPython 3.11 math: x / (1 + exp(-x))", {In{.shape = shape, .values = x}}, NoAttrs{},
               {Expect{shape, y}});
  }
};
inline constexpr Call<Silu> silu;

}  // namespace lamella

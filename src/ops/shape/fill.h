#pragma once

#include "lamella/ops/shape/expand.h"

namespace lamella {

struct Fill {
  static constexpr Info info{.name = "fill",
                             .inputs = "",
                             .outputs = "y",
                             .doc = "A tensor of these sizes whose every element is `value`.",
                             .traits = kNoGrad};
  struct Attrs {
    Shape shape = {};
    double value = 0;
    DType to = kF32;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("shape", &Attrs::shape), f("value", &Attrs::value), f("to", &Attrs::to);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(a.to.is_float() || a.to.is_int() || a.to.is_bool(), "gives bool or numbers; got ",
             a.to);
    for (Dim d : a.shape) cx.require_at_least(d, 0, "negative size");
    cx.out(a.to, a.shape);
  }
  static Value expand(const Args& args, const Attrs& a) {
    return full(args.graph(), a.shape, a.to, a.value);
  }
  static void samples(Samples& s) {
    for (DType to : {kF32, kF16, kI64, kBool}) s.add({}, Attrs{{5, 3}, 1, to});
    s.add({}, Attrs{{}, 2.5});
    s.add({}, Attrs{{0, 4}});
    s.bad({}, Attrs{{2, -1}}, "negative size");
    s.bad({}, Attrs{{32}, 0, find_dtype("q8_0")}, "gives bool or numbers");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {}, Attrs{.shape = {2, 3, 3}, .value = 2.5}, {Expect{{2, 3, 3}, {2.5, 2.5, 2.5,
      2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5}}});
    s.expect(source, {}, Attrs{.shape = {16}, .value = -1, .to = kI8}, {Expect{{16}, {-1, -1, -1,
      -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Fill> fill;

}  // namespace lamella

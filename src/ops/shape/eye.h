#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

struct Eye {
  static constexpr Info info{.name = "eye",
                             .inputs = "",
                             .outputs = "y",
                             .doc = "A matrix of 0 with 1 where column - row is offset.",
                             .traits = kNoGrad};
  struct Attrs {
    Dim rows = 0, columns = 0;
    int64_t offset = 0;
    DType to = kF32;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("rows", &Attrs::rows), f("columns", &Attrs::columns), f("offset", &Attrs::offset),
          f("to", &Attrs::to);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(a.to.is_float() || a.to.is_int() || a.to.is_bool(), "gives bool or numbers; got ",
             a.to);
    cx.check(std::abs(static_cast<double>(a.offset)) < 0x1p40, "offset out of range; got ",
             a.offset);
    for (Dim d : {a.rows, a.columns}) cx.require_at_least(d, 0, "negative size");
    cx.out(a.to, Shape{a.rows, a.columns});
  }
  static Value expand(const Args& args, const Attrs& a) {
    Graph& g = args.graph();
    const Value column = reshape_to(iota_of(g, a.columns), {1, a.columns});
    const Value row = reshape_to(iota_of(g, a.rows), {a.rows, 1});
    const Value is_one = equal(column, row + static_cast<double>(a.offset));
    return a.to.is_bool() ? is_one : cast(is_one, {.to = a.to});
  }
  static void samples(Samples& s) {
    for (DType to : {kF32, kF16, kI64, kBool}) s.add({}, Attrs{5, 3, 0, to});
    s.add({}, Attrs{3, 7, -2});
    s.add({}, Attrs{0, 4});
    s.bad({}, Attrs{-1, 3}, "negative size");
    s.bad({}, Attrs{2, 2, 0, find_dtype("q8_0")}, "gives bool or numbers");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {}, Attrs{.rows = 4, .columns = 5, .offset = 1}, {Expect{{4, 5}, {0, 1, 0, 0,
      0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1}}});
    s.expect(source, {}, Attrs{.rows = 5, .columns = 4, .offset = -2, .to = kI32}, {Expect{{5, 4},
      {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Eye> eye;

}  // namespace lamella

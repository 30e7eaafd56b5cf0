#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Cast {
  static constexpr Info info{.name = "cast",
                             .inputs = "x",
                             .outputs = "y",
                             .doc =
                                 "x as another element type. To a float: the nearest value, ties "
                                 "to even. Float to integer: towards "
                                 "zero, beyond the range to its nearest end, NaN to 0. Integer to "
                                 "integer: wraps. To bool: x != 0.",
                             .ulps = 0.5,
                             .traits = kElementwise};
  struct Attrs {
    DType to = kF32;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("to", &Attrs::to); }
  };

  static void type(TypeCx& cx, const Attrs& a) {
    const auto plain = [](DType t) { return t.is_float() || t.is_int() || t.is_bool(); };
    cx.check(cx.in(0).is_tensor() && plain(cx.in(0).dtype) && !a.to.is_none() && plain(a.to),
             "is between bool, integers and floats (pack and unpack are for encodings); got ",
             cx.in(0), " to ", a.to);
    cx.out(a.to, cx.shape(0));
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    const RefTensor& x = cx.in(0);
    RefTensor& y = cx.out(0);
    for (size_t i = 0; i < std::max(x.f.size(), x.i.size()); ++i) {
      if (x.holds_floats() && y.holds_floats())
        y.f[i] = round_float(a.to, x.f[i]);
      else if (x.holds_floats())
        y.i[i] = saturate(a.to, x.f[i]);
      else if (y.holds_floats())
        y.f[i] = to_float(a.to, x.dtype, x.i[i]);
      else
        y.i[i] = wrap_int(a.to, x.i[i]);
    }
  }
  static void value(ValueCx& cx, const Attrs& a) {
    const ShapeValue* x = cx.known(0);
    if (!x) return;
    if (a.to == kI64 || a.to == kI32) cx.set(0, *x);
    if (a.to.is_bool()) {
      ShapeValue y;
      for (Dim d : *x) y.push_back(1 - dim_equal(d, 0));
      cx.set(0, std::move(y));
    }
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    const DType from = cx.in(0).dtype();
    if (from.is_float() && a.to.is_float()) cx.set(0, Call<Cast>{}(cx.grad(), {.to = from}));
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    for (DType to : {kF32, kF16, kBF16, kI32, kI64, kU8, kBool}) {
      s.add({In{.shape = {3, 17}, .domain = {0, 100}}}, Attrs{to}).grad = false;
      s.add({In{.shape = {}, .domain = {0, 3}}}, Attrs{to}).grad = false;
      s.add({In{.shape = {0, 2}}}, Attrs{to});
    }
    s.add({In{.shape = {2, 3}, .dtype = kF32}}, Attrs{kF64});
    const std::string doc = "this op's doc";
    expect_vector(s, doc, {literal(kF32, {2.9, -2.9, NAN, INFINITY, -INFINITY, 3e9})},
                  {2, -2, 0, 2147483647, -2147483648.0, 2147483647}, Attrs{kI32});
    expect_vector(s, doc, {literal(kF32, {-1, 255.5, 300, 7.5})}, {0, 255, 255, 7}, Attrs{kU8});
    expect_vector(s, doc, {literal(kI32, {255, -1, 300, 128})}, {-1, -1, 44, -128}, Attrs{kI8});
    expect_vector(s, doc, {literal(kF32, {0, -0.0, 0.1, NAN})}, {0, 0, 1, 1}, Attrs{kBool});
    expect_vector(s, "NumPy 2.4.6 astype(float16)", {literal(kF32, {2049, 2051, 65520, 1e-8, 0.1})},
                  {2048, 2052, INFINITY, 0, 0.0999755859375}, Attrs{kF16});
    s.bad({In{.shape = {32}, .dtype = find_dtype("q8_0")}}, Attrs{kF32}, "pack and unpack");
    s.bad({In{.shape = {32}, .dtype = kF32}}, Attrs{find_dtype("q8_0")}, "pack and unpack");
  }

 private:
  static int64_t saturate(DType to, double x) {
    if (to.is_bool()) return x != 0;
    if (std::isnan(x)) return 0;
    const bool is_signed = to.is(DTypeKind::sint);
    const int bits = to.info().bits - is_signed;
    if (x >= std::ldexp(1.0, bits)) return bits == 64 ? -1 : as_i64((uint64_t{1} << bits) - 1);
    if (x <= (is_signed ? -std::ldexp(1.0, bits) : 0.0))
      return is_signed ? as_i64(~uint64_t{0} << bits) : 0;
    return is_signed ? static_cast<int64_t>(x) : as_i64(static_cast<uint64_t>(x));
  }
  // Rounds once, also where an integer has more digits than f64.
  static double to_float(DType to, DType from, int64_t x) {
    if (to == kF32) return from == kU64 ? static_cast<float>(as_u64(x)) : static_cast<float>(x);
    return round_float(to, from == kU64 ? static_cast<double>(as_u64(x)) : static_cast<double>(x));
  }
};
inline constexpr Call<Cast> cast;

// x as f32 where its type holds fewer digits: for formulas whose constants and sums such a type
// would round.
inline Value widened(Value x) {
  return x.dtype().is_float() && x.dtype().bytes() < 4 ? cast(x, {.to = kF32}) : x;
}
// The result of a formula over widened values, in the type that it is due in.
inline Value narrowed(Value y, DType to) { return y.dtype() == to ? y : cast(y, {.to = to}); }

}  // namespace lamella

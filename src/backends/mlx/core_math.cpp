// Elementwise ops as mlx::core calls, where these have the op's meaning at the type: float64 is not
// among the types of exp and its like, which MLX computes in float32, and integers are not divided.
#include <mlx/ops.h>

#include <cmath>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/mlx/core_row.h"
#include "lamella/ops/math/abs.h"
#include "lamella/ops/math/acos.h"
#include "lamella/ops/math/acosh.h"
#include "lamella/ops/math/add.h"
#include "lamella/ops/math/asin.h"
#include "lamella/ops/math/asinh.h"
#include "lamella/ops/math/atan.h"
#include "lamella/ops/math/atan2.h"
#include "lamella/ops/math/atanh.h"
#include "lamella/ops/math/bit_and.h"
#include "lamella/ops/math/bit_not.h"
#include "lamella/ops/math/bit_or.h"
#include "lamella/ops/math/bit_xor.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/ceil.h"
#include "lamella/ops/math/cos.h"
#include "lamella/ops/math/cosh.h"
#include "lamella/ops/math/div.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/erf.h"
#include "lamella/ops/math/erfinv.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/math/exp2.h"
#include "lamella/ops/math/expm1.h"
#include "lamella/ops/math/floor.h"
#include "lamella/ops/math/fmod.h"
#include "lamella/ops/math/greater.h"
#include "lamella/ops/math/greater_equal.h"
#include "lamella/ops/math/is_inf.h"
#include "lamella/ops/math/is_nan.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/less_equal.h"
#include "lamella/ops/math/log.h"
#include "lamella/ops/math/log10.h"
#include "lamella/ops/math/log1p.h"
#include "lamella/ops/math/log2.h"
#include "lamella/ops/math/logical_and.h"
#include "lamella/ops/math/logical_not.h"
#include "lamella/ops/math/logical_or.h"
#include "lamella/ops/math/logical_xor.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/minimum.h"
#include "lamella/ops/math/mod.h"
#include "lamella/ops/math/mul.h"
#include "lamella/ops/math/neg.h"
#include "lamella/ops/math/not_equal.h"
#include "lamella/ops/math/pow.h"
#include "lamella/ops/math/relu.h"
#include "lamella/ops/math/round.h"
#include "lamella/ops/math/rsqrt.h"
#include "lamella/ops/math/shift_left.h"
#include "lamella/ops/math/shift_right.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/math/sign.h"
#include "lamella/ops/math/sin.h"
#include "lamella/ops/math/sinh.h"
#include "lamella/ops/math/sqrt.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/math/sub.h"
#include "lamella/ops/math/tan.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/math/trunc.h"
#include "lamella/ops/math/where.h"

namespace lamella::on_mlx {
namespace {

using Unary = mx::array (*)(const mx::array&, mx::StreamOrDevice);
using Binary = mx::array (*)(const mx::array&, const mx::array&, mx::StreamOrDevice);

template <Unary kFn>
Arrays unary(LowerCx& cx) {
  return {kFn(cx.in(0), cx.stream)};
}
template <Binary kFn>
Arrays binary(LowerCx& cx) {
  return {kFn(cx.in(0), cx.in(1), cx.stream)};
}

// Functions that MLX computes in float32 whatever the type.
bool up_to_f32(const Graph& g, const Node& n) { return is_up_to_f32(g.type(n.inputs[0]).dtype); }
// Where MLX's float32 on the CPU is off by a dozen ulps: erf, and exp far from 0.
bool is_narrow(const Graph& g, const Node& n) {
  const DType t = g.type(n.inputs[0]).dtype;
  return t == kF16 || t == kBF16;
}
bool is_float(const Graph& g, const Node& n) { return g.type(n.inputs[0]).dtype.is_float(); }

mx::array number(LowerCx& cx, const mx::array& like, int value) {
  return mx::astype(mx::array(value), like.dtype(), cx.stream);
}

Arrays relu_row(LowerCx& cx) { return {mx::maximum(cx.in(0), number(cx, cx.in(0), 0), cx.stream)}; }

Arrays sign_row(LowerCx& cx) {
  const mx::array &x = cx.in(0), y = mx::sign(x, cx.stream);
  if (!mx::issubdtype(x.dtype(), mx::floating)) return {y};
  return {mx::where(mx::isnan(x, cx.stream), x, y, cx.stream)};
}

Arrays round_row(LowerCx& cx) { return {mx::round(cx.in(0), 0, cx.stream)}; }

// Is the amount negative, or the width or more?
mx::array leaves_width(LowerCx& cx) {
  const mx::array& b = cx.in(1);
  const mx::array width = number(cx, b, static_cast<int>(b.itemsize() * 8));
  return mx::logical_or(mx::less(b, number(cx, b, 0), cx.stream),
                        mx::greater_equal(b, width, cx.stream), cx.stream);
}

Arrays shift_left_row(LowerCx& cx) {
  const mx::array out = leaves_width(cx), zero = number(cx, cx.in(0), 0);
  const mx::array amount = mx::where(out, zero, cx.in(1), cx.stream);
  return {mx::where(out, zero, mx::left_shift(cx.in(0), amount, cx.stream), cx.stream)};
}

// What fills up is what a shift by all bits but one leaves, of signed types; of others nothing.
Arrays shift_right_row(LowerCx& cx) {
  const mx::array &a = cx.in(0), out = leaves_width(cx);
  const bool is_signed = mx::issubdtype(a.dtype(), mx::signedinteger);
  const mx::array most = number(cx, a, static_cast<int>(a.itemsize() * 8) - 1);
  const mx::array y = mx::right_shift(a, mx::where(out, most, cx.in(1), cx.stream), cx.stream);
  return {is_signed ? y : mx::where(out, number(cx, a, 0), y, cx.stream)};
}

Arrays where_row(LowerCx& cx) { return {mx::where(cx.in(0), cx.in(1), cx.in(2), cx.stream)}; }

// 2 ^ x.
Arrays exp2_row(LowerCx& cx) { return {mx::power(number(cx, cx.in(0), 2), cx.in(0), cx.stream)}; }

// Of magnitudes, the rest that has the sign of b is the rest; it gets the sign of a.
Arrays fmod_row(LowerCx& cx) {
  const mx::array& a = cx.in(0);
  const mx::array rest =
      mx::remainder(mx::abs(a, cx.stream), mx::abs(cx.in(1), cx.stream), cx.stream);
  return {mx::where(mx::less(a, number(cx, a, 0), cx.stream), mx::negative(rest, cx.stream), rest,
                    cx.stream)};
}

// What is rounded twice is not among them.
bool casts_alike(const Graph& g, const Node& n) {
  const DType from = g.type(n.inputs[0]).dtype, to = n.outputs[0].dtype;
  if (to.is_bool() || from.is_bool() || to.is_int()) return true;
  if (from.is_int()) return to == kF32 || to == kF64 || from.bytes() <= 2;
  const bool is_wider = to == kF64 || (to == kF32 && from != kF64);
  return to.is_float() && (is_wider || from == kF32 || from == to);
}

// Float to integer: MLX leaves what is out of range to the processor.
Arrays saturated(LowerCx& cx, const mx::array& x) {
  const DType to = cx.node().outputs[0].dtype;
  const bool is_signed = to.is(DTypeKind::sint);
  const int bits = to.info().bits - is_signed;
  const mx::Dtype wide = x.dtype() == mx::float64 ? mx::float64 : mx::float32;
  const mx::array v = mx::astype(x, wide, cx.stream);
  const mx::array above = mx::array(std::ldexp(1.0, bits), wide),
                  below = mx::array(is_signed ? -std::ldexp(1.0, bits) : 0.0, wide);
  const mx::array is_high = mx::greater_equal(v, above, cx.stream),
                  is_low = mx::less_equal(v, below, cx.stream);
  const mx::array is_odd = mx::logical_or(mx::isnan(v, cx.stream),
                                          mx::logical_or(is_high, is_low, cx.stream), cx.stream);
  const mx::array inside = mx::where(is_odd, mx::array(0.0, wide), v, cx.stream);
  const Tensor most(to, {}), least(to, {});
  store_int(to, most.data(), static_cast<int64_t>(~uint64_t{0} >> (64 - bits)));
  store_int(to, least.data(), is_signed ? static_cast<int64_t>(~uint64_t{0} << bits) : 0);
  const auto constant = [&](const Tensor& t) { return wrap(to, {}, t.data(), t.storage()); };
  const mx::array y = mx::astype(inside, cx.out_dtype(0), cx.stream);
  return {mx::where(is_high, constant(most), mx::where(is_low, constant(least), y, cx.stream),
                    cx.stream)};
}

Arrays cast_row(LowerCx& cx) {
  const mx::array& x = cx.in(0);
  const mx::Dtype to = cx.out_dtype(0);
  if (to == mx::bool_) return {mx::not_equal(x, number(cx, x, 0), cx.stream)};
  if (mx::issubdtype(x.dtype(), mx::floating) && mx::issubdtype(to, mx::integer))
    return saturated(cx, x);
  return {mx::astype(x, to, cx.stream)};
}

}  // namespace

std::span<const CoreRow> core_math_rows() {
  static constexpr CoreRow kRows[] = {
      {&op<Abs>, "mlx::core::abs", unary<mx::abs>},
      {&op<Acos>, "mlx::core::arccos", unary<mx::arccos>, up_to_f32},
      {&op<Acosh>, "mlx::core::arccosh", unary<mx::arccosh>, up_to_f32},
      {&op<Add>, "mlx::core::add", binary<mx::add>},
      {&op<Asin>, "mlx::core::arcsin", unary<mx::arcsin>, up_to_f32},
      {&op<Asinh>, "mlx::core::arcsinh", unary<mx::arcsinh>, up_to_f32},
      {&op<Atan>, "mlx::core::arctan", unary<mx::arctan>, up_to_f32},
      {&op<Atan2>, "mlx::core::arctan2", binary<mx::arctan2>, up_to_f32},
      {&op<Atanh>, "mlx::core::arctanh", unary<mx::arctanh>, up_to_f32},
      {&op<BitAnd>, "mlx::core::bitwise_and", binary<mx::bitwise_and>},
      {&op<BitNot>, "mlx::core::bitwise_invert", unary<mx::bitwise_invert>},
      {&op<BitOr>, "mlx::core::bitwise_or", binary<mx::bitwise_or>},
      {&op<BitXor>, "mlx::core::bitwise_xor", binary<mx::bitwise_xor>},
      {&op<Cast>, "mlx::core::astype", cast_row, casts_alike},
      {&op<Ceil>, "mlx::core::ceil", unary<mx::ceil>},
      {&op<Cos>, "mlx::core::cos", unary<mx::cos>, up_to_f32},
      {&op<Cosh>, "mlx::core::cosh", unary<mx::cosh>, up_to_f32},
      {&op<Div>, "mlx::core::divide", binary<mx::divide>, is_float},
      {&op<Equals>, "mlx::core::equal", binary<mx::equal>},
      {&op<Erfinv>, "mlx::core::erfinv", unary<mx::erfinv>, up_to_f32},
      {&op<Erf>, "mlx::core::erf", unary<mx::erf>, is_narrow},
      {&op<Erf>, "mlx::core::erf", unary<mx::erf>, up_to_f32, kOnGpu},
      {&op<Exp>, "mlx::core::exp", unary<mx::exp>, is_narrow},
      {&op<Exp>, "mlx::core::exp", unary<mx::exp>, up_to_f32, kOnGpu},
      {&op<Exp2>, "mlx::core::power", exp2_row, up_to_f32},
      {&op<Expm1>, "mlx::core::expm1", unary<mx::expm1>, up_to_f32},
      {&op<Floor>, "mlx::core::floor", unary<mx::floor>},
      {&op<Fmod>, "mlx::core::remainder", fmod_row, is_float},
      {&op<Greater>, "mlx::core::greater", binary<mx::greater>},
      {&op<GreaterEqual>, "mlx::core::greater_equal", binary<mx::greater_equal>},
      {&op<IsInf>, "mlx::core::isinf", unary<mx::isinf>},
      {&op<IsNan>, "mlx::core::isnan", unary<mx::isnan>},
      {&op<Less>, "mlx::core::less", binary<mx::less>},
      {&op<LessEqual>, "mlx::core::less_equal", binary<mx::less_equal>},
      {&op<Log>, "mlx::core::log", unary<mx::log>, up_to_f32},
      {&op<Log10>, "mlx::core::log10", unary<mx::log10>, up_to_f32},
      {&op<Log1p>, "mlx::core::log1p", unary<mx::log1p>, up_to_f32},
      {&op<Log2>, "mlx::core::log2", unary<mx::log2>, up_to_f32},
      {&op<LogicalAnd>, "mlx::core::logical_and", binary<mx::logical_and>},
      {&op<LogicalNot>, "mlx::core::logical_not", unary<mx::logical_not>},
      {&op<LogicalOr>, "mlx::core::logical_or", binary<mx::logical_or>},
      {&op<LogicalXor>, "mlx::core::logical_xor", binary<mx::logical_xor>},
      {&op<Maximum>, "mlx::core::maximum", binary<mx::maximum>},
      {&op<Minimum>, "mlx::core::minimum", binary<mx::minimum>},
      {&op<Mod>, "mlx::core::remainder", binary<mx::remainder>, is_float},
      {&op<Mul>, "mlx::core::multiply", binary<mx::multiply>},
      {&op<Neg>, "mlx::core::negative", unary<mx::negative>},
      {&op<NotEqual>, "mlx::core::not_equal", binary<mx::not_equal>},
      {&op<Pow>, "mlx::core::power", binary<mx::power>, up_to_f32},
      {&op<Relu>, "mlx::core::maximum", relu_row},
      {&op<Round>, "mlx::core::round", round_row},
      {&op<Rsqrt>, "mlx::core::rsqrt", unary<mx::rsqrt>, up_to_f32},
      {&op<ShiftLeft>, "mlx::core::left_shift", shift_left_row},
      {&op<ShiftRight>, "mlx::core::right_shift", shift_right_row},
      {&op<Sigmoid>, "mlx::core::sigmoid", unary<mx::sigmoid>, up_to_f32},
      {&op<Sign>, "mlx::core::sign", sign_row},
      {&op<Sin>, "mlx::core::sin", unary<mx::sin>, up_to_f32},
      {&op<Sinh>, "mlx::core::sinh", unary<mx::sinh>, up_to_f32},
      {&op<Sqrt>, "mlx::core::sqrt", unary<mx::sqrt>, is_float},
      {&op<Square>, "mlx::core::square", unary<mx::square>},
      {&op<Sub>, "mlx::core::subtract", binary<mx::subtract>},
      {&op<Tan>, "mlx::core::tan", unary<mx::tan>, up_to_f32},
      {&op<Tanh>, "mlx::core::tanh", unary<mx::tanh>, up_to_f32},
      {&op<Trunc>, "mlx::core::trunc", unary<mx::trunc>},
      {&op<Where>, "mlx::core::where", where_row},
  };
  return kRows;
}

}  // namespace lamella::on_mlx

// Products and look-ups of weights in MLX's own packed forms, as mlx::core calls. Sums and decoded
// values are f32: in narrow types MLX would round them as it goes.
#include <mlx/ops.h>

#include "lamella/backends/mlx/core_row.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/linalg/grouped_matmul.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/quant/unpack.h"

namespace lamella::on_mlx {
namespace {

// A weight that is given (not computed), in a form that MLX holds.
bool is_packed(const Graph& g, const Node& n, size_t i) {
  const Type& w = g.type(n.inputs[i]);
  const std::optional<MlxForm> form = mlx_form(w.dtype);
  if (!form || w.rank() < 1 || !is_given(g, n, i)) return false;
  const Dim k = w.shape.last();
  return k.is_const() && k.value() > 0 && k.value() % form->group == 0;
}

MlxPacked packed_of(LowerCx& cx, size_t i) {
  const Tensor& w = cx.given(i);
  return cx.is_weight(i) ? cx.run.reencoded.of(w, cx.in(i), cx.stream)
                         : packed(w, cx.in(i), cx.stream);
}

mx::array f32(LowerCx& cx, const mx::array& x) { return mx::astype(x, mx::float32, cx.stream); }

// Its values, [..., k].
mx::array decoded(LowerCx& cx, const MlxPacked& w) {
  const bool is_affine = w.biases.has_value();
  const std::optional<mx::array> biases =
      is_affine ? std::optional(f32(cx, *w.biases)) : std::nullopt;
  return mx::dequantize(w.words, is_affine ? f32(cx, w.scales) : w.scales, biases, w.form.group,
                        w.form.bits, std::string(w.form.mode), std::nullopt, mx::float32,
                        cx.stream);
}

bool is_packed_product(const Graph& g, const Node& n) {
  const auto& a = n.attrs.as<Matmul::Attrs>();
  const Type &x = g.type(n.inputs[0]), &w = g.type(n.inputs[1]);
  return x.dtype == kF32 && x.rank() >= 1 && w.rank() == 2 && a.transpose_w &&
         a.compute == Compute::exact && is_packed(g, n, 1);
}

Arrays product_row(LowerCx& cx) {
  const mx::array& x = cx.in(0);
  const mx::Shape shape = cx.out_shape(0);
  // MLX's product of no rows ends the process.
  if (x.size() == 0 || cx.given(1).shape()[0] == 0)
    return {mx::zeros(shape, mx::float32, cx.stream)};
  const MlxPacked w = packed_of(cx, 1);
  const mx::array rows =
      mx::reshape(x, {static_cast<int>(x.size()) / x.shape(-1), x.shape(-1)}, cx.stream);
  const mx::array y = mx::quantized_matmul(rows, w.words, w.scales, w.biases, true, w.form.group,
                                           w.form.bits, std::string(w.form.mode), cx.stream);
  return {mx::reshape(y, shape, cx.stream)};
}

bool is_packed_grouped(const Graph& g, const Node& n) {
  return g.type(n.inputs[0]).dtype == kF32 && g.type(n.inputs[1]).rank() == 3 &&
         n.attrs.as<GroupedMatmul::Attrs>().transpose_w && is_packed(g, n, 1);
}

// A block format's experts would have to be brought into the form one by one.
bool is_own_grouped(const Graph& g, const Node& n) {
  return is_packed_grouped(g, n) && g.type(n.inputs[1]).dtype.info().format->n_planes > 1;
}

Arrays grouped_row(LowerCx& cx) {
  const mx::array& x = cx.in(0);
  const mx::Shape shape = cx.out_shape(0);
  const Tensor& given = cx.given(1);
  const mx::array at = cx.checked_below(cx.in(2), given.shape()[0]);
  if (x.size() == 0 || at.size() == 0 || given.numel() == 0)
    return {mx::zeros(shape, mx::float32, cx.stream)};
  const MlxPacked w = packed_of(cx, 1);
  const int slots = static_cast<int>(at.size()), k = x.shape(-1),
            n_rows = static_cast<int>(x.size()) / k;
  const auto indices = [&](const mx::array& i) {
    return mx::reshape(mx::astype(i, mx::uint32, cx.stream), {slots}, cx.stream);
  };
  // Each token's row serves all its slots, or each slot has its own.
  const mx::array rows = mx::repeat(mx::arange(0, n_rows, 1, cx.stream), slots / n_rows, cx.stream);
  const mx::array y =
      mx::gather_qmm(mx::reshape(x, {n_rows, 1, k}, cx.stream), w.words, w.scales, w.biases,
                     indices(rows), indices(at), true, w.form.group, w.form.bits,
                     std::string(w.form.mode), std::nullopt, false, cx.stream);
  return {mx::reshape(y, shape, cx.stream)};
}

bool is_packed_look_up(const Graph& g, const Node& n) {
  const Type& w = g.type(n.inputs[0]);
  return n.attrs.as<Gather::Attrs>().axis == 0 && w.rank() == 2 && is_packed(g, n, 0);
}

Arrays look_up_row(LowerCx& cx) {
  const mx::Shape shape = cx.out_shape(0);
  const int64_t n_rows = cx.given(0).shape()[0];
  const mx::array at = cx.checked_given(1, n_rows);
  if (at.size() == 0 || n_rows == 0) return {mx::zeros(shape, mx::float32, cx.stream)};
  const mx::array flat = mx::reshape(at, {static_cast<int>(at.size())}, cx.stream);
  MlxPacked w = packed_of(cx, 0);
  const auto take = [&](const mx::array& part) { return mx::take(part, flat, 0, cx.stream); };
  w.words = take(w.words), w.scales = take(w.scales);
  if (w.biases) w.biases = take(*w.biases);
  return {mx::reshape(decoded(cx, w), shape, cx.stream)};
}

bool is_packed_tensor(const Graph& g, const Node& n) {
  return g.type(n.inputs[0]).rank() == 2 && is_packed(g, n, 0);
}

Arrays unpack_row(LowerCx& cx) {
  const mx::array nothing = mx::zeros(cx.out_shape(0), cx.out_dtype(0), cx.stream);
  if (nothing.size() == 0) return {nothing};
  return {mx::astype(decoded(cx, packed_of(cx, 0)), cx.out_dtype(0), cx.stream)};
}

}  // namespace

std::span<const CoreRow> core_packed_rows() {
  static constexpr CoreRow kRows[] = {
      {&op<Gather>, "mlx::core::dequantize", look_up_row, is_packed_look_up, kReencodes},
      {&op<GroupedMatmul>, "mlx::core::gather_qmm", grouped_row, is_own_grouped, kReencodes},
      {&op<Matmul>, "mlx::core::quantized_matmul", product_row, is_packed_product, kReencodes},
      {&op<Unpack>, "mlx::core::dequantize", unpack_row, is_packed_tensor, kReencodes},
  };
  return kRows;
}

}  // namespace lamella::on_mlx

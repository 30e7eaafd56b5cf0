// Rows made of kernel sources: products and look-ups of block formats on a GPU, from the file's own
// bytes.
#include <mlx/backend/metal/metal.h>
#include <mlx/fast.h>
#include <mlx/ops.h>

#include <functional>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/mlx/core_kernel.h"
#include "lamella/base/text.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/linalg/grouped_matmul.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/quant/unpack.h"

namespace lamella::on_mlx {
namespace {

// MLX keeps what it has compiled by name alone, on disk too: the name says what the source is.
mx::fast::CustomKernelFunction compiled(const KernelCall& call) {
  const Dialect dialect = mx::metal::is_available() ? Dialect::metal : Dialect::cuda;
  const std::string header = gpu_prelude(dialect) + (call.format ? gpu_decoder(*call.format) : "");
  const std::string body =
      gpu_constants(call.constants) + gpu_places(dialect) + std::string(call.kernel.body);
  const std::string name = str("lamella_", call.format ? call.format->name : "", "_",
                               call.kernel.name, "_", std::hash<std::string>{}(header + body));
  return dialect == Dialect::metal ? mx::fast::metal_kernel(name, call.inputs, {"y"}, body, header)
                                   : mx::fast::cuda_kernel(name, call.inputs, {"y"}, body, header);
}

}  // namespace

mx::array run_kernel(LowerCx& cx, const KernelCall& call, const Arrays& inputs, mx::Shape shape,
                     int groups_x, int groups_y) {
  const int threads = call.kernel.threads;
  return compiled(call)(inputs, {std::move(shape)}, {mx::float32},
                        {groups_x * threads, groups_y, 1}, {threads, 1, 1}, {}, std::nullopt, false,
                        cx.stream)[0];
}

namespace {

// From that many rows on, a tile of shared memory serves the rows better.
constexpr int kManyRows = 17;

int quotient_up(int a, int b) { return (a + b - 1) / b; }

// A float type's eights are whole only where its rows are.
const GpuFormat* format_of(const Type& w, size_t rank = 2) {
  const GpuFormat* f = gpu_format(w.dtype);
  if (!f || w.rank() != rank) return nullptr;
  const Dim k = w.shape.last();
  if (!k.is_const() || k.value() == 0) return nullptr;
  return f->is_plain && k.value() % f->block != 0 ? nullptr : f;
}

bool is_kernel_product(const Graph& g, const Node& n) {
  const auto& a = n.attrs.as<Matmul::Attrs>();
  return a.transpose_w && g.type(n.inputs[0]).dtype == kF32 && n.outputs[0].dtype == kF32 &&
         g.type(n.inputs[0]).rank() >= 1 && format_of(g.type(n.inputs[1])) &&
         (a.compute == Compute::exact || g.type(n.inputs[1]).dtype == kBF16);
}

// With both operands rounded, MLX's own product, whose result is rounded as well.
mx::array rounded_product(LowerCx& cx, const mx::array& rows) {
  const mx::array y = mx::matmul(mx::astype(rows, mx::bfloat16, cx.stream),
                                 mx::swapaxes(cx.in(1), 0, 1, cx.stream), cx.stream);
  return mx::astype(y, mx::float32, cx.stream);
}

mx::array product_of(LowerCx& cx, const GpuFormat& format, const mx::array& x, int n) {
  const int m = x.shape(0);
  const bool rounds = cx.attrs<Matmul::Attrs>().compute == Compute::bf16;
  if (m >= kManyRows && rounds) return rounded_product(cx, x);
  if (m >= kManyRows && format.is_plain) {
    const mx::array w = mx::astype(cx.in(1), mx::float32, cx.stream);
    return mx::matmul(x, mx::swapaxes(w, 0, 1, cx.stream), cx.stream);
  }
  const mx::array rows =
      rounds ? mx::astype(mx::astype(x, mx::bfloat16, cx.stream), mx::float32, cx.stream) : x;
  mx::array w = cx.in(1);
  if (format.is_plain) w = mx::view(w, mx::uint8, cx.stream);
  if (m >= kManyRows)
    return run_kernel(cx, {kGemm, &format, {{"N", n}}, {"x", "w"}}, {rows, w}, {m, n},
                      quotient_up(n, kGemmTile), quotient_up(m, kGemmTile));
  const int at_once = m % 8 == 0 ? 8 : m % 4 == 0 ? 4 : m % 2 == 0 ? 2 : 1;
  return run_kernel(cx, {kGemv, &format, {{"N", n}, {"ROWS", at_once}}, {"x", "w"}}, {rows, w},
                    {m, n}, quotient_up(n, kGemvColumns), m / at_once);
}

Arrays product_row(LowerCx& cx) {
  const mx::Shape shape = cx.out_shape(0);
  const Type& w = cx.type(1);
  const int n = static_cast<int>(cx.value(w.shape[0])), k = static_cast<int>(w.shape[1].value());
  const mx::array& x = cx.in(0);
  if (x.size() == 0 || n == 0) return {mx::zeros(shape, mx::float32, cx.stream)};
  const mx::array rows = mx::reshape(x, {static_cast<int>(x.size()) / k, k}, cx.stream);
  return {mx::reshape(product_of(cx, *format_of(w), rows, n), shape, cx.stream)};
}

bool is_kernel_grouped(const Graph& g, const Node& n) {
  return n.attrs.as<GroupedMatmul::Attrs>().transpose_w && g.type(n.inputs[0]).dtype == kF32 &&
         n.outputs[0].dtype == kF32 && format_of(g.type(n.inputs[1]), 3);
}

Arrays grouped_row(LowerCx& cx) {
  const mx::Shape shape = cx.out_shape(0);
  const Type& type = cx.type(1);
  const int n_matrices = static_cast<int>(cx.value(type.shape[0])),
            n = static_cast<int>(cx.value(type.shape[1])),
            k = static_cast<int>(type.shape[2].value());
  const mx::array at = mx::astype(cx.checked_below(cx.in(2), n_matrices), mx::int32, cx.stream);
  const mx::array& x = cx.in(0);
  if (x.size() == 0 || at.size() == 0 || n == 0 || n_matrices == 0)
    return {mx::zeros(shape, mx::float32, cx.stream)};
  const GpuFormat* format = format_of(type, 3);
  const int slots = static_cast<int>(at.size()), per = x.ndim() == 2 ? at.shape(1) : 1;
  const mx::array w = format->is_plain ? mx::view(cx.in(1), mx::uint8, cx.stream) : cx.in(1);
  const mx::array rows = mx::reshape(x, {static_cast<int>(x.size()) / k, k}, cx.stream);
  const mx::array y = run_kernel(cx, {kGrouped, format, {{"N", n}, {"PER", per}}, {"x", "w", "at"}},
                                 {rows, w, mx::reshape(at, {slots}, cx.stream)}, {slots, n},
                                 quotient_up(n, kGemvColumns), slots);
  return {mx::reshape(y, shape, cx.stream)};
}

bool is_kernel_look_up(const Graph& g, const Node& n) {
  const Type& w = g.type(n.inputs[0]);
  return n.attrs.as<Gather::Attrs>().axis == 0 && w.dtype.is_block() && format_of(w) &&
         n.outputs[0].dtype == kF32;
}

mx::array look_up(LowerCx& cx, const Type& w, const mx::array& at, int k) {
  const int n = at.shape(0);
  return run_kernel(cx, {kLookUp, format_of(w, w.rank()), {{"K", k}}, {"w", "at"}}, {cx.in(0), at},
                    {n, k}, n, 1);
}

Arrays look_up_row(LowerCx& cx) {
  const mx::Shape shape = cx.out_shape(0);
  const Type& w = cx.type(0);
  const int n_rows = static_cast<int>(cx.value(w.shape[0]));
  const mx::array at = mx::astype(cx.checked_given(1, n_rows), mx::int32, cx.stream);
  const int n = static_cast<int>(at.size()), k = static_cast<int>(w.shape[1].value());
  if (n == 0 || n_rows == 0) return {mx::zeros(shape, mx::float32, cx.stream)};
  const mx::array y = look_up(cx, w, mx::reshape(at, {n}, cx.stream), k);
  return {mx::reshape(y, shape, cx.stream)};
}

bool is_kernel_unpack(const Graph& g, const Node& n) {
  const Type& x = g.type(n.inputs[0]);
  return x.dtype.is_block() && x.rank() >= 1 && format_of(x, x.rank());
}

Arrays unpack_row(LowerCx& cx) {
  const mx::Shape shape = cx.out_shape(0);
  const int k = shape.back();
  int n = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) n *= shape[static_cast<int>(i)];
  if (n == 0) return {mx::zeros(shape, cx.out_dtype(0), cx.stream)};
  const mx::array y = look_up(cx, cx.type(0), mx::arange(0, n, 1, cx.stream), k);
  return {mx::astype(mx::reshape(y, shape, cx.stream), cx.out_dtype(0), cx.stream)};
}

}  // namespace

// Only over long sums: the product that MLX rounds to bf16 is then closer than its terms.
bool rounds_on_gpu(const Graph& g, const Node& n, Phase phase) {
  constexpr int64_t kLong = 1024;
  if (phase != Phase::bulk || !n.is(op<Matmul>) || !is_kernel_product(g, n)) return false;
  const Type& w = g.type(n.inputs[1]);
  return w.dtype == kBF16 && w.shape[1].value() >= kLong;
}

std::span<const CoreRow> core_kernel_rows() {
  static constexpr CoreRow kRows[] = {
      {&op<Gather>, "kernel look_up", look_up_row, is_kernel_look_up, kKernel},
      {&op<GroupedMatmul>, "kernel grouped", grouped_row, is_kernel_grouped, kKernel},
      {&op<Matmul>, "kernel product", product_row, is_kernel_product, kKernel},
      {&op<Unpack>, "kernel look_up", unpack_row, is_kernel_unpack, kKernel},
  };
  return kRows;
}

}  // namespace lamella::on_mlx

// Rows whose kernels compute in f64 inside: a GPU's arrays hold no f64, but most GPUs compute in
// it.
#include <mlx/fast.h>
#include <mlx/ops.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "lamella/backends/mlx/core_row.h"
#include "lamella/backends/mlx/gpu_wide.h"
#include "lamella/base/error.h"
#include "lamella/ops/linalg/cholesky.h"
#include "lamella/ops/linalg/det.h"
#include "lamella/ops/linalg/solve.h"
#include "lamella/ops/linalg/triangular_solve.h"
#include "lamella/ops/math/digamma.h"
#include "lamella/ops/math/lgamma.h"
#include "lamella/ops/math/polygamma.h"
#include "lamella/ops/math/trigamma.h"
#include "lamella/ops/random/categorical.h"
#include "lamella/ops/random/truncated_normal.h"

namespace lamella::on_mlx {
namespace {

struct Output {
  std::string name;
  mx::Dtype dtype;
  mx::Shape shape;
};

struct WideCall {
  const GpuKernel& kernel;
  std::string first;  // lines in front of the body
  std::vector<std::string> inputs;
  std::vector<Output> outputs;
};

// MLX keeps what it has compiled by name: the name says what the source is.
Arrays run(LowerCx& cx, const WideCall& call, const Arrays& inputs, int n_groups) {
  const std::string header = gpu_prelude(Dialect::cuda) + gpu_wide_prelude() + call.first;
  const std::string body = gpu_places(Dialect::cuda) + std::string(call.kernel.body);
  const std::string name =
      str("lamella_wide_", call.kernel.name, "_", std::hash<std::string>{}(header + body));
  std::vector<std::string> names;
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> dtypes;
  for (const Output& o : call.outputs) {
    names.push_back(o.name);
    shapes.push_back(o.shape);
    dtypes.push_back(o.dtype);
  }
  const auto kernel = mx::fast::cuda_kernel(name, call.inputs, names, body, header);
  return kernel(inputs, shapes, dtypes, {n_groups * kWideThreads, 1, 1}, {kWideThreads, 1, 1}, {},
                std::nullopt, false, cx.stream);
}

int groups_over(size_t n) { return static_cast<int>((n + kWideThreads - 1) / kWideThreads); }

bool takes_f32(const Graph& g, const Node& n) {
  return is_up_to_f32(g.type(n.inputs[n.inputs.size() - 1]).dtype);
}

mx::array flat_f32(LowerCx& cx, const mx::array& x) {
  return mx::reshape(mx::astype(x, mx::float32, cx.stream), {static_cast<int>(x.size())},
                     cx.stream);
}

// `function` of the inputs, elementwise.
Arrays elementwise(LowerCx& cx, std::string_view function) {
  const mx::Shape shape = cx.out_shape(0);
  const mx::array nothing = mx::zeros(shape, cx.out_dtype(0), cx.stream);
  if (nothing.size() == 0) return {nothing};
  const bool is_binary = cx.n_inputs() == 2;
  Arrays inputs;
  for (size_t i = 0; i < cx.n_inputs(); ++i)
    inputs.push_back(flat_f32(cx, mx::broadcast_to(cx.in(i), shape, cx.stream)));
  std::vector<std::string> names{"x"};
  if (is_binary) names.emplace_back("x2");
  const int n = static_cast<int>(nothing.size());
  const Arrays y = run(cx,
                       {is_binary ? kWideBinary : kWideUnary,
                        gpu_function(function),
                        names,
                        {{"y", mx::float32, {n}}}},
                       inputs, groups_over(nothing.size()));
  return {mx::reshape(mx::astype(y[0], cx.out_dtype(0), cx.stream), shape, cx.stream)};
}

Arrays lgamma_row(LowerCx& cx) { return elementwise(cx, "log_gamma"); }
Arrays digamma_row(LowerCx& cx) { return elementwise(cx, "digamma_of"); }
Arrays trigamma_row(LowerCx& cx) { return elementwise(cx, "trigamma_of"); }
Arrays polygamma_row(LowerCx& cx) { return elementwise(cx, "polygamma_of"); }

mx::array key_of(LowerCx& cx) { return mx::view(cx.in(0), mx::uint32, cx.stream); }

bool draws_f32(const Graph&, const Node& n) { return is_up_to_f32(n.outputs[0].dtype); }

Arrays truncated_normal_row(LowerCx& cx) {
  const auto& a = cx.attrs<TruncatedNormal::Attrs>();
  const mx::Shape shape = cx.out_shape(0);
  const mx::array nothing = mx::zeros(shape, cx.out_dtype(0), cx.stream);
  if (nothing.size() == 0) return {nothing};
  const double root = std::sqrt(2.0), low = std::erf(a.low / root), high = std::erf(a.high / root);
  std::vector<int64_t> halves;
  for (uint64_t bits : {std::bit_cast<uint64_t>(low), std::bit_cast<uint64_t>(high - low),
                        std::bit_cast<uint64_t>(a.mean),
                        std::bit_cast<uint64_t>(root * a.deviation), uint64_t{nothing.size()}}) {
    halves.push_back(static_cast<int64_t>(bits & 0xffffffff));
    halves.push_back(static_cast<int64_t>(bits >> 32));
  }
  const mx::array limits = cx.run.memory.give(
      Tensor::from(kU32, {static_cast<int64_t>(halves.size())}, std::span<const int64_t>(halves)));
  const int n = static_cast<int>(nothing.size());
  const Arrays y = run(cx, {kTruncated, "", {"key", "limits"}, {{"y", mx::float32, {n}}}},
                       {key_of(cx), limits}, groups_over(nothing.size()));
  return {mx::reshape(mx::astype(y[0], cx.out_dtype(0), cx.stream), shape, cx.stream)};
}

Arrays categorical_row(LowerCx& cx) {
  const mx::array& logits = cx.in(1);
  const mx::Shape shape = cx.out_shape(0);
  const mx::array nothing = mx::zeros(shape, mx::int64, cx.stream);
  if (nothing.size() == 0) return {nothing};
  const int n_rows = static_cast<int>(nothing.size());
  const mx::array rows = mx::reshape(mx::astype(logits, mx::float32, cx.stream),
                                     {n_rows, logits.shape(-1)}, cx.stream);
  const Arrays y = run(cx, {kCategorical, "", {"key", "logits"}, {{"y", mx::int64, {n_rows}}}},
                       {key_of(cx), rows}, n_rows);
  return {mx::reshape(y[0], shape, cx.stream)};
}

// Matrices of [..., rows, columns] for each of the systems that `batch` counts: [systems, rows,
// columns].
mx::array matrices(LowerCx& cx, const mx::array& x, mx::Shape batch, int n_systems) {
  batch.push_back(x.shape(-2)), batch.push_back(x.shape(-1));
  return mx::reshape(mx::broadcast_to(x, batch, cx.stream), {n_systems, x.shape(-2), x.shape(-1)},
                     cx.stream);
}

// What holds n f64 a system.
Output workspace(int n_systems, int64_t n) {
  CHECK_USER(n < int64_t{1} << 30, "mlx: a matrix is too large for a GPU; got ", n,
             " numbers of work");
  return {"work", mx::uint32, {n_systems, static_cast<int>(2 * n)}};
}

Arrays det_row(LowerCx& cx) {
  const mx::array& a = cx.in(0);
  const mx::Shape shape = cx.out_shape(0);
  const mx::array ones = mx::ones(shape, mx::float32, cx.stream);
  const int n = a.shape(-1), n_systems = static_cast<int>(ones.size());
  if (n_systems == 0 || n == 0) return {ones};
  const Arrays y = run(
      cx,
      {kDet, "", {"a"}, {{"y", mx::float32, {n_systems}}, workspace(n_systems, int64_t{n} * n)}},
      {matrices(cx, a, shape, n_systems)}, n_systems);
  return {mx::reshape(y[0], shape, cx.stream)};
}

// a x = b by a kernel whose work is `n_work` numbers a system.
Arrays system_row(LowerCx& cx, const GpuKernel& kernel, std::string first, int64_t n_work) {
  const mx::array &a = cx.in(0), &b = cx.in(1);
  const mx::Shape shape = cx.out_shape(0), batch(shape.begin(), shape.end() - 2);
  const mx::array nothing = mx::zeros(shape, mx::float32, cx.stream);
  // (Without right sides a singular matrix is one still.)
  mx::Shape one_column = b.shape();
  one_column.back() = 1;
  const mx::array right = b.shape(-1) > 0 ? b : mx::zeros(one_column, mx::float32, cx.stream);
  const int n = a.shape(-1), k = right.shape(-1);
  int n_systems = 1;
  for (int32_t size : batch) n_systems *= size;
  if (n_systems == 0 || n == 0) return {nothing};
  const Arrays y =
      run(cx,
          {kernel,
           std::move(first),
           {"a", "b"},
           {{"y", mx::float32, {n_systems, n, k}},
            workspace(n_systems, n_work),
            {"bad", mx::int32, {n_systems}}}},
          {matrices(cx, a, batch, n_systems), matrices(cx, right, batch, n_systems)}, n_systems);
  cx.check_matrices(y[2], planned::Status::singular);
  return {nothing.size() == 0 ? nothing : mx::reshape(y[0], shape, cx.stream)};
}

Arrays solve_row(LowerCx& cx) {
  const int64_t n = cx.in(0).shape(-1), k = cx.in(1).shape(-1);
  return system_row(cx, kSolve, "", n * (n + std::max<int64_t>(k, 1)));
}

Arrays triangular_row(LowerCx& cx) {
  const auto& how = cx.attrs<TriangleAttrs>();
  const GpuConstant constants[] = {
      {"UPPER", how.upper}, {"TRANSPOSE", how.transpose}, {"UNIT", how.unit_diagonal}};
  const int64_t n = cx.in(0).shape(-1), k = cx.in(1).shape(-1);
  return system_row(cx, kTriangular, gpu_constants(constants), n * std::max<int64_t>(k, 1));
}

Arrays cholesky_row(LowerCx& cx) {
  const mx::array& a = cx.in(0);
  const mx::Shape shape = cx.out_shape(0), batch(shape.begin(), shape.end() - 2);
  if (a.size() == 0) return {a};
  const int n = a.shape(-1), n_systems = static_cast<int>(a.size()) / (n * n);
  const GpuConstant upper[] = {{"UPPER", cx.attrs<Cholesky::Attrs>().upper}};
  const Arrays y = run(cx,
                       {kCholesky,
                        gpu_constants(upper),
                        {"a"},
                        {{"y", mx::float32, {n_systems, n, n}},
                         workspace(n_systems, int64_t{n} * n),
                         {"bad", mx::int32, {n_systems}}}},
                       {matrices(cx, a, batch, n_systems)}, n_systems);
  cx.check_matrices(y[2], planned::Status::not_positive_definite);
  return {mx::reshape(y[0], shape, cx.stream)};
}

}  // namespace

std::span<const CoreRow> core_wide_rows() {
  constexpr uint32_t kNeeds = kKernel | kF64Kernel;
  static constexpr CoreRow kRows[] = {
      {&op<Categorical>, "kernel categorical", categorical_row, takes_f32, kNeeds},
      {&op<Cholesky>, "kernel cholesky", cholesky_row, takes_f32, kNeeds},
      {&op<Det>, "kernel det", det_row, takes_f32, kNeeds},
      {&op<Digamma>, "kernel digamma", digamma_row, takes_f32, kNeeds},
      {&op<Lgamma>, "kernel lgamma", lgamma_row, takes_f32, kNeeds},
      {&op<Polygamma>, "kernel polygamma", polygamma_row, takes_f32, kNeeds},
      {&op<Solve>, "kernel solve", solve_row, takes_f32, kNeeds},
      {&op<TriangularSolve>, "kernel triangular_solve", triangular_row, takes_f32, kNeeds},
      {&op<Trigamma>, "kernel trigamma", trigamma_row, takes_f32, kNeeds},
      {&op<TruncatedNormal>, "kernel truncated_normal", truncated_normal_row, draws_f32, kNeeds},
  };
  return kRows;
}

}  // namespace lamella::on_mlx

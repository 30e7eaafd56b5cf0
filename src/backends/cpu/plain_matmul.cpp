#include "lamella/backends/cpu/plain_matmul.h"

#include <type_traits>
#include <vector>

#include "lamella/backends/cpu/operands.h"
#include "lamella/base/numeric.h"
#include "lamella/ops/linalg/grouped_matmul.h"
#include "lamella/ops/linalg/matmul.h"

namespace lamella::cpu {
namespace {

// One product, its operands by their strides in elements.
struct Product {
  const std::byte *x, *w;
  std::byte* y;
  int64_t n, k, x_step, w_row, w_step;
  bool round_bf16;
};

float rounded(float v, bool round) { return round ? static_cast<float>(bf16::from(v)) : v; }

// Row i of y. T: as stored; Sum: what products and sums are made in (integers wrap).
template <class T, class Sum>
void multiply_row(const Product& p, int64_t x_at, int64_t w_at, int64_t y_at) {
  const T *x = reinterpret_cast<const T*>(p.x) + x_at, *w = reinterpret_cast<const T*>(p.w) + w_at;
  T* y = reinterpret_cast<T*>(p.y) + y_at;
  for (int64_t j = 0; j < p.n; ++j) {
    Sum sum{};
    for (int64_t i = 0; i < p.k; ++i) {
      Sum a = static_cast<Sum>(x[i * p.x_step]),
          b = static_cast<Sum>(w[j * p.w_row + i * p.w_step]);
      if constexpr (std::is_same_v<Sum, float>)
        a = rounded(a, p.round_bf16), b = rounded(b, p.round_bf16);
      sum += a * b;
    }
    if constexpr (requires { T::from(0.0); })
      y[j] = T::from(static_cast<double>(sum));
    else
      y[j] = static_cast<T>(sum);
  }
}

struct TypeRow {
  DType dtype;
  void (*row)(const Product&, int64_t, int64_t, int64_t);
};
const TypeRow kTypes[] = {
    {kF32, multiply_row<float, float>},       {kF16, multiply_row<f16, float>},
    {kBF16, multiply_row<bf16, float>},       {kF64, multiply_row<double, double>},
    {kI8, multiply_row<int8_t, uint64_t>},    {kI16, multiply_row<int16_t, uint64_t>},
    {kI32, multiply_row<int32_t, uint64_t>},  {kI64, multiply_row<int64_t, uint64_t>},
    {kU8, multiply_row<uint8_t, uint64_t>},   {kU16, multiply_row<uint16_t, uint64_t>},
    {kU32, multiply_row<uint32_t, uint64_t>}, {kU64, multiply_row<uint64_t, uint64_t>},
};

const TypeRow* row_of(DType t) {
  for (const TypeRow& row : kTypes)
    if (row.dtype == t) return &row;
  return nullptr;
}

}  // namespace

bool plain_matmul_accepts(const Graph& g, const Node& n, const void*) {
  const DType x = type_of_input(g, n, 0).dtype, w = type_of_input(g, n, 1).dtype;
  const bool rounds = n.attrs.as<Matmul::Attrs>().compute == Compute::bf16;
  return x == w && x == n.outputs[0].dtype && row_of(x) && !(rounds && x == kF64);
}

planned::Status launch_plain_matmul(const planned::StepCx& cx) {
  const auto& a = cx.attrs<Matmul::Attrs>();
  const planned::Operand &x = cx.in(0), &w = cx.in(1), &y = cx.out(0);
  const size_t wr = w.rank;
  Product p{x.data,     w.data,     y.data,
            y.size(-1), x.size(-1), x.strides[x.rank - 1],
            0,          0,          a.compute == Compute::bf16};
  p.w_row = w.strides[a.transpose_w ? wr - 2 : wr - 1];
  p.w_step = w.strides[a.transpose_w ? wr - 1 : wr - 2];
  // The axes of y before n: batch axes, then rows of x (none for a vector x).
  const bool has_rows = x.rank >= 2;
  const size_t outer = y.rank - 1, batch = has_rows ? outer - 1 : outer;
  std::vector<int64_t> x_step(outer, 0), w_step(outer, 0);
  const size_t x_batch = has_rows ? x.rank - 2 : 0;
  for (size_t d = 0; d < x_batch; ++d)
    if (x.shape[d] != 1) x_step[batch - x_batch + d] = x.strides[d];
  for (size_t d = 0; d + 2 < wr; ++d)
    if (w.shape[d] != 1) w_step[batch - (wr - 2) + d] = w.strides[d];
  if (has_rows) x_step[outer - 1] = x.strides[x.rank - 2];
  int64_t n_rows = 1;
  for (size_t d = 0; d < outer; ++d) n_rows *= y.shape[d];
  const TypeRow& type = *row_of(y.dtype);
  device_of(cx).pool->run_ranges(n_rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t rest = r, x_at = 0, w_at = 0;
      for (size_t d = outer; d-- > 0;) {
        const int64_t i = rest % y.shape[d];
        rest /= y.shape[d];
        x_at += i * x_step[d];
        w_at += i * w_step[d];
      }
      type.row(p, x_at, w_at, r * p.n);
    }
  });
  return {};
}

bool plain_grouped_accepts(const Graph& g, const Node& n, const void*) {
  const DType x = type_of_input(g, n, 0).dtype, w = type_of_input(g, n, 1).dtype;
  return x == w && x.is_float() && row_of(x);
}

planned::Status launch_plain_grouped(const planned::StepCx& cx) {
  const bool transposed = cx.attrs<lamella::GroupedMatmul::Attrs>().transpose_w;
  const planned::Operand &x = cx.in(0), &w = cx.in(1), &expert = cx.in(2), &y = cx.out(0);
  const int64_t slots = expert.size(1), n_rows = expert.numel(), experts = w.size(0);
  const int32_t* chosen = expert.as<const int32_t>();
  for (int64_t r = 0; r < n_rows; ++r)
    if (chosen[r] < 0 || chosen[r] >= experts)
      return {planned::Status::index_out_of_range, r, chosen[r]};
  Product p{x.data, w.data, y.data, y.size(-1), x.size(-1), 1, 0, 0, false};
  p.w_row = transposed ? p.k : 1;
  p.w_step = transposed ? 1 : p.n;
  const TypeRow& type = *row_of(y.dtype);
  device_of(cx).pool->run_ranges(n_rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r)
      type.row(p, (x.rank == 3 ? r : r / slots) * p.k, chosen[r] * p.n * p.k, r * p.n);
  });
  return {};
}

}  // namespace lamella::cpu

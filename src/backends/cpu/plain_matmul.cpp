#include "lamella/backends/cpu/plain_matmul.h"

#include <algorithm>
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

template <class T>
T rounded(T v, bool round) {
  return round ? static_cast<T>(static_cast<float>(bf16::from(static_cast<double>(v)))) : v;
}

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
      if constexpr (std::is_floating_point_v<Sum>)
        a = rounded(a, p.round_bf16), b = rounded(b, p.round_bf16);
      sum += a * b;
    }
    if constexpr (requires { T::from(0.0); })
      y[j] = T::from(static_cast<double>(sum));
    else
      y[j] = static_cast<T>(sum);
  }
}

// Row i of y where types differ: in f64, each operand as it is stored.
struct Mixed {
  DType x, w, y;

  static double at(DType t, const std::byte* p, int64_t i) {
    return load_double(t, p + i * t.bytes());
  }
  void row(const Product& p, int64_t x_at, int64_t w_at, int64_t y_at) const {
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < p.k; ++i)
        sum += rounded(at(x, p.x, x_at + i * p.x_step), p.round_bf16) *
               rounded(at(w, p.w, w_at + j * p.w_row + i * p.w_step), p.round_bf16);
      store_double(y, p.y + (y_at + j) * y.bytes(), sum);
    }
  }
};

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
  const DType y = n.outputs[0].dtype;
  return (x == w && x == y && row_of(x)) || (x.is_float() && w.is_float() && y.is_float());
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
  const Mixed mixed{x.dtype, w.dtype, y.dtype};
  const TypeRow* type = x.dtype == w.dtype && x.dtype == y.dtype ? row_of(y.dtype) : nullptr;
  device_of(cx).pool->run_ranges(n_rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t rest = r, x_at = 0, w_at = 0;
      for (size_t d = outer; d-- > 0;) {
        const int64_t i = rest % y.shape[d];
        rest /= y.shape[d];
        x_at += i * x_step[d];
        w_at += i * w_step[d];
      }
      if (type)
        type->row(p, x_at, w_at, r * p.n);
      else
        mixed.row(p, x_at, w_at, r * p.n);
    }
  });
  return {};
}

planned::Status check_experts(const int32_t* chosen, int64_t n_rows, int64_t n_experts) {
  for (int64_t r = 0; r < n_rows; ++r)
    if (chosen[r] < 0 || chosen[r] >= n_experts)
      return {planned::Status::index_out_of_range, r, chosen[r]};
  return {};
}

bool plain_grouped_accepts(const Graph& g, const Node& n, const void*) {
  const DType x = type_of_input(g, n, 0).dtype, w = type_of_input(g, n, 1).dtype;
  return x == w && x.is_float() && row_of(x);
}

planned::Status launch_plain_grouped(const planned::StepCx& cx) {
  const bool transposed = cx.attrs<lamella::GroupedMatmul::Attrs>().transpose_w;
  const planned::Operand &x = cx.in(0), &w = cx.in(1), &expert = cx.in(2), &y = cx.out(0);
  const int64_t slots = expert.size(1), n_rows = expert.numel();
  const int32_t* chosen = expert.as<const int32_t>();
  if (const planned::Status bad = check_experts(chosen, n_rows, w.size(0));
      bad.code != planned::Status::ok)
    return bad;
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

namespace {

// y[j] of one row of x with the encoded matrix that begins at row `first` of w: as `transpose`
// says, row j of it holds what x is multiplied by, or what x[j] multiplies.
struct Decoded {
  quant::BlockPtr planes;
  const quant::Format& format;
  int64_t columns;  // of an encoded row
  bool transpose;

  std::vector<float> row(int64_t i) const {
    quant::BlockPtr at = planes;
    for (int p = 0; p < format.n_planes; ++p) {
      const size_t plane = static_cast<size_t>(p);
      at[plane] += i * format.blocks(columns) * format.planes[plane].block_bytes;
    }
    std::vector<float> values(static_cast<size_t>(columns));
    quant::decode_row(format, at, columns, values.data());
    return values;
  }
  // Both as f64, dense.
  void multiply(const std::vector<double>& x, int64_t first, std::vector<double>& y) const {
    std::fill(y.begin(), y.end(), 0.0);
    const size_t n_rows = transpose ? y.size() : x.size();
    for (size_t r = 0; r < n_rows; ++r) {
      const std::vector<float> w = row(first + static_cast<int64_t>(r));
      for (size_t c = 0; c < w.size(); ++c) {
        const double v = static_cast<double>(w[c]);
        (transpose ? y[r] : y[c]) += transpose ? x[c] * v : x[r] * v;
      }
    }
  }
};

Decoded decoded(const planned::Operand& w, bool transpose) {
  return {planes_of(w), *w.dtype.info().format, w.size(-1), transpose};
}

// Row `from` of x times the matrix at row `first` of w, to row `to` of y; dense rows.
void multiply_decoded(const planned::Operand& x, int64_t from, const Decoded& w, int64_t first,
                      const planned::Operand& y, int64_t to) {
  std::vector<double> in(static_cast<size_t>(x.size(-1))), out(static_cast<size_t>(y.size(-1)));
  const std::byte* read = x.data + from * x.size(-1) * x.dtype.bytes();
  for (double& v : in) {
    v = load_double(x.dtype, read);
    read += x.dtype.bytes();
  }
  w.multiply(in, first, out);
  std::byte* write = y.data + to * y.size(-1) * y.dtype.bytes();
  for (double v : out) {
    store_double(y.dtype, write, v);
    write += y.dtype.bytes();
  }
}

bool is_decoded(const Graph& g, const Node& n, size_t rank) {
  const Type &x = type_of_input(g, n, 0), &w = type_of_input(g, n, 1);
  return x.dtype.is_float() && n.outputs[0].dtype.is_float() && w.dtype.is_block() &&
         w.rank() == rank;
}

}  // namespace

bool decoded_matmul_accepts(const Graph& g, const Node& n, const void*) {
  return is_decoded(g, n, 2) && n.attrs.as<Matmul::Attrs>().compute == Compute::exact;
}

planned::Status launch_decoded_matmul(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &w = cx.in(1), &y = cx.out(0);
  if (y.numel() == 0) return {};
  const Decoded matrix = decoded(w, cx.attrs<Matmul::Attrs>().transpose_w);
  device_of(cx).pool->run_ranges(y.numel() / y.size(-1), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) multiply_decoded(x, r, matrix, 0, y, r);
  });
  return {};
}

bool decoded_grouped_accepts(const Graph& g, const Node& n, const void*) {
  return is_decoded(g, n, 3);
}

planned::Status launch_decoded_grouped(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(0), &w = cx.in(1), &expert = cx.in(2), &y = cx.out(0);
  const int64_t slots = expert.size(1), n_rows = expert.numel();
  const int32_t* chosen = expert.as<const int32_t>();
  if (const planned::Status bad = check_experts(chosen, n_rows, w.size(0));
      bad.code != planned::Status::ok)
    return bad;
  if (y.numel() == 0) return {};
  const Decoded matrix = decoded(w, cx.attrs<lamella::GroupedMatmul::Attrs>().transpose_w);
  device_of(cx).pool->run_ranges(n_rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r)
      multiply_decoded(x, x.rank == 3 ? r : r / slots, matrix, chosen[r] * w.size(1), y, r);
  });
  return {};
}

}  // namespace lamella::cpu

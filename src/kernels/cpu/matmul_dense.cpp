// Cuts a batched product into tiles of y, copies the operands of a tile into panels without
// strides, and multiplies those.
#include "lamella/kernels/cpu/matmul_dense.h"

#include <algorithm>
#include <type_traits>

#include "lamella/base/numeric.h"
#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/matmul_kernels.h"
#include "lamella/kernels/cpu/scratch.h"

namespace lamella::cpu {
namespace {

constexpr int64_t kRows = 192, kColumns = 64;  // of a tile of y

// What elements T are in panels and sums.
template <class T>
struct Arithmetic {
  using Panel = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                            std::type_identity<T>>::type;
};
template <>
struct Arithmetic<f16> {
  using Panel = float;
};
template <>
struct Arithmetic<bf16> {
  using Panel = float;
};

// Tile [row0, row0 + rows) x [col0, col0 + cols) of one product.
struct Tile {
  const void *a, *b;
  void* y;
  int64_t row0, rows, col0, cols;
};

// c[rows][64] += a[rows][256] * b[n][64]: the plain meaning, for what has no kernel.
// Small integers are multiplied as unsigned: promoted to int, the products of uint16_t would
// overflow.
template <class T>
void multiply_plain(const T* a, const T* b, int64_t n, int64_t rows, T* c) {
  for (int64_t i = 0; i < rows; ++i) {
    T* out = c + i * kColumns;
    for (int64_t k = 0; k < n; ++k) {
      using Product = std::conditional_t<std::is_integral_v<T>, decltype(T{} + 0u), T>;
      const Product factor = a[i * kSpan + k];
      const T* row = b + k * kColumns;
      for (int64_t j = 0; j < kColumns; ++j) out[j] = static_cast<T>(out[j] + factor * row[j]);
    }
  }
}

template <class T>
void run_tile(const DenseMatmul& job, const Tile& tile, DensePanelKernel kernel,
              std::byte* memory) {
  using P = typename Arithmetic<T>::Panel;
  auto* a = reinterpret_cast<P*>(memory);
  P* b = a + kRows * kSpan;
  P* c = b + kSpan * kColumns;
  const int64_t padded = round_up(tile.rows, kDensePadding);
  std::fill(c, c + padded * kColumns, P{});
  const T* from_a = static_cast<const T*>(tile.a) + tile.row0 * job.a.row_stride;
  const T* from_b = static_cast<const T*>(tile.b) + tile.col0 * job.b.col_stride;
  for (int64_t k0 = 0; k0 < job.k; k0 += kSpan) {
    const int64_t n = std::min<int64_t>(kSpan, job.k - k0);
    for (int64_t i = 0; i < padded; ++i) {
      const T* row = from_a + i * job.a.row_stride + k0 * job.a.col_stride;
      for (int64_t k = 0; k < n; ++k) {
        a[i * kSpan + k] = i < tile.rows ? static_cast<P>(row[k * job.a.col_stride]) : P{};
      }
    }
    for (int64_t k = 0; k < n; ++k) {
      const T* row = from_b + (k0 + k) * job.b.row_stride;
      for (int64_t j = 0; j < tile.cols; ++j) {
        b[k * kColumns + j] = static_cast<P>(row[j * job.b.col_stride]);
      }
      std::fill(b + k * kColumns + tile.cols, b + (k + 1) * kColumns, P{});
    }
    if constexpr (std::is_same_v<P, float>) {
      kernel(a, b, n, padded, c);
    } else {
      multiply_plain(a, b, n, tile.rows, c);
    }
  }
  for (int64_t i = 0; i < tile.rows; ++i) {
    T* y = static_cast<T*>(tile.y) + (tile.row0 + i) * job.y_row_stride + tile.col0;
    for (int64_t j = 0; j < tile.cols; ++j) {
      if constexpr (std::is_class_v<T>) {
        y[j] = T::from(c[i * kColumns + j]);
      } else {
        y[j] = static_cast<T>(c[i * kColumns + j]);
      }
    }
  }
}

using RunTile = void (*)(const DenseMatmul&, const Tile&, DensePanelKernel, std::byte*);
struct Row {
  Elem elem;
  RunTile run;
};
constexpr Row kRunTile[] = {
    {Elem::i8, run_tile<int8_t>},    {Elem::i16, run_tile<int16_t>},
    {Elem::i32, run_tile<int32_t>},  {Elem::i64, run_tile<int64_t>},
    {Elem::u8, run_tile<uint8_t>},   {Elem::u16, run_tile<uint16_t>},
    {Elem::u32, run_tile<uint32_t>}, {Elem::u64, run_tile<uint64_t>},
    {Elem::f16, run_tile<f16>},      {Elem::bf16, run_tile<bf16>},
    {Elem::f32, run_tile<float>},    {Elem::f64, run_tile<double>},
};

// The product `index` of the batch.
Tile product_at(const DenseMatmul& job, int64_t index) {
  int64_t a = 0, b = 0, y = 0;
  for (int axis = job.batch_axes - 1; axis >= 0; --axis) {
    const int64_t at = index % job.batch[axis];
    index /= job.batch[axis];
    a += at * job.a.batch_strides[axis];
    b += at * job.b.batch_strides[axis];
    y += at * job.y_batch_strides[axis];
  }
  const int64_t size = elem_bytes(job.elem);
  return {.a = static_cast<const uint8_t*>(job.a.data) + a * size,
          .b = static_cast<const uint8_t*>(job.b.data) + b * size,
          .y = static_cast<uint8_t*>(job.y) + y * size,
          .row0 = 0,
          .rows = 0,
          .col0 = 0,
          .cols = 0};
}

}  // namespace

Status matmul_dense(const DenseMatmul& job, ThreadPool& pool, Isa isa) {
  int64_t n_products = 1;
  for (int axis = 0; axis < job.batch_axes; ++axis) n_products *= job.batch[axis];
  if (n_products == 0 || job.m == 0 || job.n == 0) return {};
  const auto* row = std::find_if(std::begin(kRunTile), std::end(kRunTile),
                                 [&](const Row& r) { return r.elem == job.elem; });
  const DensePanelKernel kernel = LAMELLA_BY_ISA(isa, kMatmul).dense_panel;
  constexpr int64_t panel_bytes = 8 * (kRows * (kSpan + kColumns) + kSpan * kColumns);
  const Scratch scratch(panel_bytes * pool.size());
  if (!scratch.ok()) return {.code = Status::Code::no_memory};
  const int64_t row_tiles = ceil_div(job.m, kRows), col_tiles = ceil_div(job.n, kColumns);
  pool.run(n_products * row_tiles * col_tiles, [&](int64_t task, int worker) {
    Tile tile = product_at(job, task / (row_tiles * col_tiles));
    tile.row0 = task / col_tiles % row_tiles * kRows;
    tile.rows = std::min(kRows, job.m - tile.row0);
    tile.col0 = task % col_tiles * kColumns;
    tile.cols = std::min(kColumns, job.n - tile.col0);
    row->run(job, tile, kernel, scratch.at<std::byte>(worker * panel_bytes));
  });
  return {};
}

}  // namespace lamella::cpu

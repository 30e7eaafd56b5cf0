// From panels of products to rows of y: bias, activation, gate, residual, for one instruction set.
#pragma once

#include "lamella/kernels/cpu/matmul_kernels.h"
#include "lamella/kernels/cpu/simd_math.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

inline constexpr int64_t kMostColumns = 64;  // of a panel

template <Activation activation>
F activate(F x) {
  if constexpr (activation == Activation::silu) return silu(x);
  if constexpr (activation == Activation::gelu_erf) return gelu(x);
  if constexpr (activation == Activation::gelu_tanh) return gelu_tanh(x);
  return x;
}

// Columns [col0, col0 + n) of row `row`, from products and, for a gated pair, second products.
template <Activation activation>
void finish_row(const MatmulJob& job, int64_t row, int64_t col0, int64_t n, const float* products,
                const float* gated) {
  float* y = job.y + row * job.y_stride + col0;
  const float* residual = job.residual ? job.residual + row * job.residual_stride + col0 : nullptr;
  for_lanes(
      n, [&](int64_t i, int lanes) __attribute__((always_inline)) {
        F x = load_lanes(products + i, lanes);
        if (job.bias) x = x + load_lanes(job.bias + col0 + i, lanes);
        x = activate<activation>(x);
        if (gated) {
          F up = load_lanes(gated + i, lanes);
          if (job.gated_bias) up = up + load_lanes(job.gated_bias + col0 + i, lanes);
          x = x * up;
        }
        if (residual) x = x + load_lanes(residual + i, lanes);
        store_lanes(y + i, x, lanes);
      });
}

using FinishRow = void (*)(const MatmulJob&, int64_t, int64_t, int64_t, const float*, const float*);
inline constexpr FinishRow kFinishRow[] = {
    finish_row<Activation::none>, finish_row<Activation::silu>, finish_row<Activation::gelu_erf>,
    finish_row<Activation::gelu_tanh>};

// 16 rows of x from row `row` on, as [16][kMostColumns].
void gather_rows(const EpilogueArgs& a, Transpose16 transpose, const float* c, int64_t row,
                 float* out) {
  const float* tile = c + row / a.tile_rows * kPanelRows * a.tile_rows + row % a.tile_rows;
  for (int64_t col = 0; col < a.n; col += 16) {
    transpose(tile + col * a.tile_rows, a.tile_rows, out + col, kMostColumns);
  }
}

void epilogue(const EpilogueArgs& a, Transpose16 transpose) {
  const FinishRow finish = kFinishRow[static_cast<int>(a.job->activation)];
  if (a.tile_rows == 0) {
    for (int64_t row = 0; row < a.m; ++row) {
      finish(*a.job, a.row0 + row, a.col0, a.n, a.c + row * a.ldc,
             a.c_gated ? a.c_gated + row * a.ldc : nullptr);
    }
    return;
  }
  alignas(64) float products[16 * kMostColumns], gated[16 * kMostColumns];
  for (int64_t row = 0; row < a.m; row += 16) {
    gather_rows(a, transpose, a.c, row, products);
    if (a.c_gated) gather_rows(a, transpose, a.c_gated, row, gated);
    for (int64_t i = 0; i < 16 && row + i < a.m; ++i) {
      finish(*a.job, a.row0 + row + i, a.col0, a.n, products + i * kMostColumns,
             a.c_gated ? gated + i * kMostColumns : nullptr);
    }
  }
}

}  // namespace

extern const EpilogueKernel kEpilogue;
const EpilogueKernel kEpilogue = epilogue;

}  // namespace lamella::cpu::LAMELLA_ISA

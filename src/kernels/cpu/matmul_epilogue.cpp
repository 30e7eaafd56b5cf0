// From panels of products to rows of y: bias, activation, gate, residual.
#include <algorithm>
#include <cmath>

#include "lamella/kernels/cpu/matmul_kernels.h"

namespace lamella::cpu {
namespace {

float activate(Activation activation, float x) {
  switch (activation) {
    case Activation::silu:
      return x / (1.0f + std::exp(-x));
    case Activation::gelu_erf:
      return 0.5f * x * (1.0f + std::erf(x * 0.70710678f));
    case Activation::gelu_tanh:
      return 0.5f * x * (1.0f + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
    default:
      return x;
  }
}

void finish_row(const MatmulJob& job, int64_t row, int64_t col0, int64_t n, float* values,
                float* gated) {
  if (job.bias) {
    for (int64_t i = 0; i < n; ++i) values[i] += job.bias[col0 + i];
  }
  if (job.activation != Activation::none) {
    for (int64_t i = 0; i < n; ++i) values[i] = activate(job.activation, values[i]);
  }
  if (gated && job.gated_bias) {
    for (int64_t i = 0; i < n; ++i) gated[i] += job.gated_bias[col0 + i];
  }
  if (gated) {
    for (int64_t i = 0; i < n; ++i) values[i] *= gated[i];
  }
  float* y = job.y + row * job.y_stride + col0;
  if (job.residual) {
    const float* residual = job.residual + row * job.residual_stride + col0;
    for (int64_t i = 0; i < n; ++i) y[i] = values[i] + residual[i];
  } else {
    std::copy(values, values + n, y);
  }
}

}  // namespace

void run_epilogue(const EpilogueArgs& a) {
  constexpr int64_t kColumns = 64;
  float values[kColumns], gated[kColumns];
  for (int64_t row = 0; row < a.m; ++row) {
    for (int64_t col = 0; col < a.n; col += kColumns) {
      const int64_t n = std::min(kColumns, a.n - col);
      const int64_t step = a.lanes_are_rows ? a.ldc : 1;
      const int64_t at = a.lanes_are_rows ? col * a.ldc + row : row * a.ldc + col;
      for (int64_t i = 0; i < n; ++i) values[i] = a.c[at + i * step];
      if (a.c_gated) {
        for (int64_t i = 0; i < n; ++i) gated[i] = a.c_gated[at + i * step];
      }
      finish_row(*a.job, a.row0 + row, a.col0 + col, n, values, a.c_gated ? gated : nullptr);
    }
  }
}

}  // namespace lamella::cpu

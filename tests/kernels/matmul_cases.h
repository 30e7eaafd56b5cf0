// Shared by the tests of matrix products: matrices in every encoding with their exact values, and
// the error of a product.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "lamella/base/numeric.h"
#include "lamella/kernels/cpu/matmul.h"

namespace lamella::cpu {

// A matrix in some encoding, with its exact values.
struct Matrix {
  const quant::Format* format = nullptr;
  Elem element = Elem::f32;
  int64_t rows = 0, cols = 0;
  std::vector<uint8_t> bytes{};
  std::vector<float> values{};
  std::vector<float> magnitudes{};  // |values|, before a minimum cancels: |scale code| + |min|

  quant::BlockPtr planes() const {
    quant::BlockPtr at{};
    const uint8_t* first = bytes.data() + 1;  // nothing is aligned
    if (!format) return {first};
    for (int p = 0; p < format->n_planes; ++p) {
      at[p] = first + quant::plane_offset(*format, p, rows, cols);
    }
    return at;
  }
  quant::MutableBlockPtr mutable_planes() {
    quant::MutableBlockPtr at{};
    for (int p = 0; p < quant::kMaxPlanes; ++p) at[p] = const_cast<uint8_t*>(planes()[p]);
    return at;
  }
  Weights weights() const { return {.format = format, .element = element, .planes = planes()}; }
  // From row `row` on.
  Activations activations(int64_t row = 0) const {
    Activations x{.format = format, .element = element, .planes = planes(), .row_stride = cols};
    if (!format) {
      x.planes[0] += row * cols * (element == Elem::f32 ? 4 : 2);
    } else {
      for (int p = 0; p < format->n_planes; ++p) {
        x.planes[p] += row * format->blocks(cols) * format->planes[p].block_bytes;
      }
    }
    return x;
  }
};

// Random bytes for a block until its values are ordinary numbers.
inline void random_block(const quant::Format& format, std::mt19937& rng, uint8_t* bytes) {
  float values[quant::kMaxBlock];
  while (true) {
    for (int i = 0; i < format.block_bytes(); ++i) bytes[i] = static_cast<uint8_t>(rng());
    format.decode({bytes}, values);
    const bool ordinary = std::all_of(values, values + format.block, [](float v) {
      return std::isfinite(v) && std::fabs(v) < 100;
    });
    if (ordinary) return;
  }
}

// |scale code| + |min| of each element of a row.
inline void row_magnitudes(const quant::Format& format, quant::BlockPtr at, int64_t cols,
                           float* magnitudes) {
  int8_t codes[quant::kMaxBlock];
  float scale[quant::kMaxBlock], min[quant::kMaxBlock] = {};
  if (!format.unpack) {
    quant::decode_row(format, at, cols, magnitudes);
    for (int64_t i = 0; i < cols; ++i) magnitudes[i] = std::fabs(magnitudes[i]);
    return;
  }
  for (int64_t i = 0; i < cols; ++i) {
    const int64_t in_block = i % format.block, group = in_block / format.group;
    if (in_block == 0) {
      format.unpack(at, codes, scale, min);
      for (int p = 0; p < format.n_planes; ++p) at[p] += format.planes[p].block_bytes;
    }
    magnitudes[i] = std::fabs(scale[group] * codes[in_block]) + std::fabs(min[group]);
  }
}

// The values of what is encoded.
inline void decode(Matrix& m) {
  for (int64_t row = 0; row < m.rows; ++row) {
    quant::BlockPtr at = m.planes();
    for (int p = 0; p < m.format->n_planes; ++p) {
      at[p] += row * m.format->blocks(m.cols) * m.format->planes[p].block_bytes;
    }
    quant::decode_row(*m.format, at, m.cols, m.values.data() + row * m.cols);
    row_magnitudes(*m.format, at, m.cols, m.magnitudes.data() + row * m.cols);
  }
}

inline Matrix random_matrix(const quant::Format* format, Elem element, int64_t rows, int64_t cols,
                            int seed) {
  Matrix m{.format = format, .element = element, .rows = rows, .cols = cols};
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  m.values.resize(rows * cols);
  m.magnitudes.resize(rows * cols);
  for (float& v : m.values) v = normal(rng);
  if (!format) {
    m.bytes.resize(rows * cols * 4 + 1);
    for (int64_t i = 0; i < rows * cols; ++i) {
      uint8_t* at = m.bytes.data() + 1;
      if (element == Elem::f32) {
        std::memcpy(at + i * 4, &m.values[i], 4);
      } else if (element == Elem::f16) {
        const f16 narrow = f16::from(m.values[i]);
        std::memcpy(at + i * 2, &narrow, 2);
        m.values[i] = static_cast<float>(narrow);
      } else {
        const bf16 narrow = bf16::from(m.values[i]);
        std::memcpy(at + i * 2, &narrow, 2);
        m.values[i] = static_cast<float>(narrow);
      }
    }
    m.magnitudes = m.values;
    for (float& v : m.magnitudes) v = std::fabs(v);
    return m;
  }
  m.bytes.resize(quant::plane_offset(*format, format->n_planes, rows, cols) + 1);
  for (int64_t row = 0; row < rows; ++row) {
    quant::MutableBlockPtr to = m.mutable_planes();
    for (int p = 0; p < format->n_planes; ++p) {
      to[p] += row * format->blocks(cols) * format->planes[p].block_bytes;
    }
    if (format->encode) {
      quant::encode_row(*format, m.values.data() + row * cols, cols, to);
    } else {
      for (int64_t b = 0; b < format->blocks(cols); ++b) {
        random_block(*format, rng, to[0] + b * format->block_bytes());
      }
    }
  }
  decode(m);
  return m;
}

// What products of bf16 see of a matrix.
inline Matrix rounded(Matrix m) {
  for (float& v : m.values) v = static_cast<float>(bf16::from(v));
  for (size_t i = 0; i < m.values.size(); ++i) m.magnitudes[i] = std::fabs(m.values[i]);
  return m;
}

struct Job {
  const Matrix* w;
  MatmulJob more{};  // bias, activation and so on
};

// y of each job, [m][n].
inline std::vector<std::vector<float>> multiply(const Matrix& x, int64_t first, int64_t m,
                                                std::vector<Job> jobs, Phase phase, Isa isa,
                                                ThreadPool& pool, bool bf16 = false) {
  std::vector<std::vector<float>> results;
  std::vector<MatmulJob> list;
  for (Job& job : jobs) {
    results.emplace_back(m * job.w->rows + 1, NAN);
    job.more.w = job.w->weights();
    job.more.n = job.w->rows;
    job.more.y = results.back().data();
    job.more.y_stride = job.w->rows;
    list.push_back(job.more);
  }
  const MatmulCall call{.isa = isa,
                        .phase = phase,
                        .m = m,
                        .k = x.cols,
                        .bf16 = bf16,
                        .x = x.activations(first),
                        .jobs = list};
  std::vector<std::byte> workspace(matmul_workspace(call, pool.size()) + 64);
  auto* aligned = workspace.data() + (64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64);
  std::memset(workspace.data(), 0xff, workspace.size());  // NaN
  matmul(call, aligned, pool);
  for (auto& y : results) {
    EXPECT_TRUE(std::isnan(y.back())) << "wrote behind y";
    y.pop_back();
  }
  return results;
}

inline std::vector<float> multiply(const Matrix& x, int64_t first, int64_t m, const Matrix& w,
                                   Phase phase, Isa isa, ThreadPool& pool) {
  return multiply(x, first, m, {{&w}}, phase, isa, pool)[0];
}

// Largest error in units of eps * sum |x| |w|.
inline double worst_error(const Matrix& x, const Matrix& w, const std::vector<float>& y) {
  double worst = 0;
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < w.rows; ++j) {
      double sum = 0, scale = 0;
      for (int64_t k = 0; k < x.cols; ++k) {
        const double xv = x.values[i * x.cols + k];
        sum += xv * w.values[j * w.cols + k];
        scale += std::fabs(xv) * w.magnitudes[j * w.cols + k];
      }
      const double error = std::fabs(y[i * w.rows + j] - sum);
      if (!(error <= 0)) worst = std::max(worst, error / (scale * 0x1p-24));
      if (std::isnan(error)) return INFINITY;
    }
  }
  return worst;
}

inline constexpr Phase kPhases[] = {Phase::bulk, Phase::decode};

// Ulps of sum |x| |w|, |w| before minimums cancel: a few for each of the sums.
inline constexpr double kUlps = 8;

}  // namespace lamella::cpu

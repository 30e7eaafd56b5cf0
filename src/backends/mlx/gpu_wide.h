// Source of the kernels that compute in f64 inside, for a GPU that can (Metal's cannot): special
// functions, draws by exact words, linear systems. The words of gpu_prelude stand in front.
#pragma once

#include <string>

#include "lamella/backends/mlx/gpu_source.h"

namespace lamella::on_mlx {

// Functions in f64, and the words of Philox4x32-10 by a key u32[4]: behind gpu_prelude(cuda).
std::string gpu_wide_prelude();

inline constexpr int kWideThreads = 256;  // in a group of every kernel here

// y f32[n] = F(x), F(x, x2) of f32[n], a group for each kWideThreads elements. Constants stand in
// front of a body; here it is `function` as well, F's name.
extern const GpuKernel kWideUnary, kWideBinary;
std::string gpu_function(std::string_view name);
// y f32[n] = limits[2] + limits[3] erfinv(limits[0] + limits[1] u) of words of `key` u32[4]; u =
// (word + 1/2) / 2^32. Limits are four f64 and n as u64, in u32[10].
extern const GpuKernel kTruncated;
// y i64[rows] by logits f32[rows, n] and words of `key`. A group a row.
extern const GpuKernel kCategorical;
// Linear systems, one a group, in f64 that lies in work u32[systems, ...]. bad i32[systems] is 1
// where there is no answer.
// a f32[systems, n, n] to y f32[systems], work 2 n n.
extern const GpuKernel kDet;
// a, b f32[systems, n, k] to y, work 2 n (n + k), bad.
extern const GpuKernel kSolve;
// The same of a triangle: UPPER, TRANSPOSE, UNIT; work 2 n k.
extern const GpuKernel kTriangular;
// a to y [systems, n, n], work 2 n n, bad: UPPER.
extern const GpuKernel kCholesky;

}  // namespace lamella::on_mlx

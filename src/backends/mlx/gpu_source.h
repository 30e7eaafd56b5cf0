// Source of the kernels that MLX compiles for a GPU: products and look-ups of block formats, from
// the file's own bytes. One body each, in a dialect that macros make CUDA or Metal.
#pragma once

#include <span>
#include <string>

#include "lamella/backends/mlx/gpu_format.h"

namespace lamella::on_mlx {

// What a prelude defines: types u8 u16 u32 u64 schar; FN (a function of the device), TABLE (its
// constants), GLOBAL, LOCAL and SHARED (address spaces), BARRIER, WARP_SUM(x) over 32 threads,
// f32(bits) and f16(bits), load_eight(x, at, k, v).
enum class Dialect { cuda, metal };
std::string gpu_prelude(Dialect dialect);
// The first lines of a body: group_at (3 numbers) and local_at, the thread's place.
std::string gpu_places(Dialect dialect);

// Behind a prelude: the format's constants and `decode`.
std::string gpu_decoder(const GpuFormat& format);

// A kernel's body. Inputs and outputs are named there; x_shape are the sizes of x. In front of it
// stand constants, in upper case: nothing but what is multiplied lies in memory.
struct GpuKernel {
  std::string_view name;
  std::string_view body;
  int threads = 0;  // in a group
};
struct GpuConstant {
  std::string_view name;
  int value = 0;
};
std::string gpu_constants(std::span<const GpuConstant> constants);

// y[m, N] of x f32[m, k] and w. Groups along N, then along m.
inline constexpr int kGemvColumns = 8, kGemmTile = 64;
// ROWS of x a group: 1, 2, 4 or 8, a divisor of m.
extern const GpuKernel kGemv, kGemm;
// y f32[n, K], rows `at` i32[n] of w. A group a row.
extern const GpuKernel kLookUp;
// y[slots, N] of x f32[slots / PER, k] and the matrices `at` i32[slots] of w. Groups along N as of
// kGemv, then a group a slot.
extern const GpuKernel kGrouped;
// y f32[tokens, HEADS, DIM] of x, of which TURNED elements are turned by the angles whose cosines
// and sines are `c` and `s` f32[tokens, TURNED / 2]; the halves of a pair lie APART. Groups over
// the elements.
extern const GpuKernel kRope;

}  // namespace lamella::on_mlx

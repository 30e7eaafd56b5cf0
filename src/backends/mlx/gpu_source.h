// Source of the kernels that MLX compiles for a GPU: products and look-ups of block formats from
// the file's own bytes, and what stands between a decoder's products. One body each, in a dialect
// that macros make CUDA or Metal.
#pragma once

#include <span>
#include <string>

#include "lamella/backends/mlx/gpu_format.h"

namespace lamella::on_mlx {

// What a prelude defines: types u8 u16 u32 u64 schar; FN (a function of the device), TABLE (its
// constants), GLOBAL, LOCAL and SHARED (address spaces), BARRIER, UNROLLED, UNROLLED_BY_8,
// WARP_SUM(x) over 32 threads, EXP TANH ERF SQRT INF, f32(bits) and f16(bits), two_words and
// four_words (at multiples of their size), load_four and store_eight. Elements of any type: get,
// put, load_eight, load_lane.
enum class Dialect { cuda, metal };
std::string gpu_prelude(Dialect dialect);
// Its last part, which is the same in every dialect.
std::string gpu_elements();
// The first lines of a body: group_at (3 numbers), groups (how many) and local_at, the thread's
// place.
std::string gpu_places(Dialect dialect);

// Behind a prelude: the format's constants and `decode`.
std::string gpu_decoder(const GpuFormat& format);

// A kernel's body. Inputs and outputs are named there; x_shape are the sizes of x. In front of it
// stand constants, in upper case: nothing but what is computed with lies in memory.
struct GpuKernel {
  std::string_view name;
  std::string_view body;
  int threads = 0;  // in a group
};
struct GpuConstant {
  std::string_view name;
  int value = 0;  // of a float, its bits
};
std::string gpu_constants(std::span<const GpuConstant> constants);
std::string gpu_body(const GpuKernel& kernel);

// Products y0[m, N0] of x[m, K] and w0, by formats.
inline constexpr int kGemvColumns = 8, kGatedColumns = 4, kGemmTile = 64;
// One or more matrices of one x: w0, w1, ... make y0, y1, ... behind the lines of gpu_parts. Groups
// along N0 (G0 of them), N1, ..., then along m: ROWS of x a group, 1, 2, 4 or 8, a divisor of m.
extern const GpuKernel kGemv;
std::string gpu_parts(size_t n);
// ACTIVATION(x w0) * (x w1), in such groups.
extern const GpuKernel kGated;
// Groups along N0 and m.
extern const GpuKernel kGemm;
// y0[n, K], rows `at` i32[n] of w0. A group a row.
extern const GpuKernel kLookUp;
// y0[N0, K] of w0. Groups over the eights, in any two axes.
extern const GpuKernel kUnpack;
// y0[slots, N0] of x f32[slots / PER, K] and the matrices `at` i32[slots] of w0. Groups along N0 as
// of kGemv, then a group a slot.
extern const GpuKernel kGrouped;

// y[rows, N] of x; with HAS_RESIDUAL, of sum = x + residual. EPS; HAS_WEIGHT.
extern const GpuKernel kNorm;
// y[tokens, HEADS, DIM] of x, of which TURNED elements are turned by the angles whose cosines and
// sines are turns f32[positions, TURNED / 2, 2], at `at` i32[tokens]; the halves of a pair lie
// APART. Groups over the elements.
extern const GpuKernel kRope;
// x[tokens, WIDTH] into the pages of `state`, PAGE rows each; q_start, table (SLOTS a sequence) and
// kv_len as of kv_append. y[1] is what later kernels take, to run behind this one.
extern const GpuKernel kAppend;
// y[KV_HEADS, positions, DIM] of the pages `table` of one sequence. Groups: positions, KV_HEADS.
extern const GpuKernel kPageRows;
// Attention over pages, q[tokens, KV_HEADS * GROUP, DIM] and v[.., DIM_V]: groups tokens * KV_HEADS
// * GROUP / HEADS_AT, and parts of the keys. IS_WHOLE: one part, y[tokens, heads, DIM_V]. Else y
// and rest (f32, a part behind a row of heads) are what kMerge makes y of, a group a row.
extern const GpuKernel kAttend, kMerge;
// ACTIVATION(x) * up, both [m, n]: groups of 2048 elements.
extern const GpuKernel kGate;
// By how many inputs n0, n1, ... there are, one first: y i32[10 of each], their sizes. One group.
inline constexpr int kNumbersInOne = 10, kMostNumbers = 320;
std::span<const GpuKernel> gpu_numbers();

}  // namespace lamella::on_mlx

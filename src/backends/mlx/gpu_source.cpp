#include "lamella/backends/mlx/gpu_source.h"

#include "lamella/base/error.h"

namespace lamella::on_mlx {
namespace {

constexpr const char* kCuda = R"(
#include <cuda_fp16.h>
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char schar;
#define FN __device__ __forceinline__
#define TABLE __device__ const
#define GLOBAL
#define LOCAL
#define SHARED __shared__
#define BARRIER __syncthreads()
#define MUL(a, b) __fmul_rn(a, b)
#define SUB(a, b) __fsub_rn(a, b)
FN float f32(u32 bits) { return __uint_as_float(bits); }
FN float f16(u32 bits) { return __half2float(__ushort_as_half((u16)bits)); }
FN float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
#define WARP_SUM(x) warp_sum(x)
FN void load_eight(const float* x, int at, int k, float* v) {
  if (at + 8 <= k && (u64)(x + at) % 16 == 0) {
    const float4 a = *(const float4*)(x + at), b = *(const float4*)(x + at + 4);
    v[0] = a.x; v[1] = a.y; v[2] = a.z; v[3] = a.w;
    v[4] = b.x; v[5] = b.y; v[6] = b.z; v[7] = b.w;
  } else {
    for (int j = 0; j < 8; ++j) v[j] = at + j < k ? x[at + j] : 0.0f;
  }
}
)";

constexpr const char* kMetal = R"(
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef char schar;
#define FN inline
#define TABLE constant
#define GLOBAL device
#define LOCAL thread
#define SHARED threadgroup
#define BARRIER threadgroup_barrier(mem_flags::mem_threadgroup)
#define MUL(a, b) ((a) * (b))
#define SUB(a, b) ((a) - (b))
FN float f32(u32 bits) { return as_type<float>(bits); }
FN float f16(u32 bits) { return float(as_type<half>(u16(bits))); }
#define WARP_SUM(x) simd_sum(x)
FN void load_eight(const device float* x, int at, int k, thread float* v) {
  for (int j = 0; j < 8; ++j) v[j] = at + j < k ? x[at + j] : 0.0f;
}
)";

// Numbers at their formats' alignments.
constexpr const char* kReading = R"(
struct eight { u32 lo, hi; };
FN u32 u16_at(const GLOBAL u8* b) { return b[0] | (u32)b[1] << 8; }
FN u32 u32_at(const GLOBAL u8* b, int align) {
  if (align >= 4) return *(const GLOBAL u32*)b;
  if (align == 2) return ((const GLOBAL u16*)b)[0] | (u32)((const GLOBAL u16*)b)[1] << 16;
  return u16_at(b) | u16_at(b + 2) << 16;
}
FN eight eight_at(const GLOBAL u8* b, int align) {
  eight e;
  e.lo = u32_at(b, align);
  e.hi = u32_at(b + 4, align);
  return e;
}
FN int byte_of(eight e, int j) { return (j < 4 ? e.lo : e.hi) >> j % 4 * 8 & 255; }
FN u32 two_of(eight e, int j) { return (j < 2 ? e.lo : e.hi) >> j % 2 * 16 & 0xffff; }
FN float f16_at(const GLOBAL u8* b) { return f16(u16_at(b)); }
FN int i8(int bits) { return bits < 128 ? bits : bits - 256; }
FN int k_scale(const GLOBAL u8* b, int g) {
  return g < 4 ? b[g] & 63 : (b[4 + g] & 15) | b[g - 4] >> 6 << 4;
}
FN int k_min(const GLOBAL u8* b, int g) {
  return g < 4 ? b[4 + g] & 63 : b[4 + g] >> 4 | b[g] >> 6 << 4;
}
FN u32 eight_signs(u32 seven) {
  u32 odd = seven ^ seven >> 4;
  odd ^= odd >> 2;
  odd ^= odd >> 1;
  return seven | (odd & 1) << 7;
}
#define eights(entry, sign, c)                          \
  for (int j = 0; j < 8; ++j) {                         \
    const int value = values[(entry) >> 2 * j & 3];     \
    (c)[j] = (sign) >> j & 1 ? -value : value;          \
  }
#define fours(entry, sign, c)                           \
  for (int j = 0; j < 4; ++j) {                         \
    const int value = values[(entry) >> 3 * j & 7];     \
    (c)[j] = (sign) >> j & 1 ? -value : value;          \
  }
#define trits(entry, minus, c)                          \
  for (int j = 0; j < 8; ++j)                           \
    (c)[j] = 8 * (((entry) >> 2 * j & 3) - 1) + ((minus) ? -1 : 1);
)";

// A warp takes two rows of w, its threads eight elements of both at a time, for ROWS rows of x.
constexpr const char* kGemvBody = R"(
const int k = x_shape[1], lane = local_at % 32, first = group_at.y * ROWS;
const int row = (group_at.x * 4 + local_at / 32) * 2, n_taken = row + 1 < N ? 2 : row < N ? 1 : 0;
const u64 row_bytes = (u64)((k + BLOCK - 1) / BLOCK) * BYTES;
float sum[2][ROWS];
for (int r = 0; r < ROWS; ++r) sum[0][r] = sum[1][r] = 0.0f;
for (int unit = lane; n_taken > 0 && unit * 8 < k; unit += 32) {
  float a[8], v[2][8];
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 8; ++j) v[i][j] = 0.0f;
    if (i < n_taken) decode(w + (row + i) * row_bytes, unit, k, v[i]);
  }
  for (int r = 0; r < ROWS; ++r) {
    load_eight(x + (u64)(first + r) * k, unit * 8, k, a);
    for (int j = 0; j < 8; ++j) {
      sum[0][r] += v[0][j] * a[j];
      sum[1][r] += v[1][j] * a[j];
    }
  }
}
for (int r = 0; r < ROWS; ++r)
  for (int i = 0; i < 2; ++i) {
    const float total = WARP_SUM(sum[i][r]);
    if (lane == 0 && i < n_taken) y[(u64)(first + r) * N + row + i] = total;
  }
)";

// A group makes a tile of y, 64 by 64, a thread 4 by 4 of it; 32 elements along k lie in shared
// memory at a time.
constexpr const char* kGemmBody = R"(
const int k = x_shape[1], n = N, m = x_shape[0];
const int column = group_at.x * 64, first = group_at.y * 64;
const u64 row_bytes = (u64)((k + BLOCK - 1) / BLOCK) * BYTES;
SHARED float xs[32][68];
SHARED float ws[32][68];
float sum[4][4];
for (int i = 0; i < 4; ++i)
  for (int j = 0; j < 4; ++j) sum[i][j] = 0.0f;
const int line = local_at / 4, part = local_at % 4, down = local_at / 16 * 4,
          along = local_at % 16 * 4;
for (int at = 0; at < k; at += 32) {
  const int unit = at / 8 + part;
  float v[8];
  for (int j = 0; j < 8; ++j) v[j] = 0.0f;
  if (column + line < n && unit * 8 < k) decode(w + (column + line) * row_bytes, unit, k, v);
  for (int j = 0; j < 8; ++j) ws[part * 8 + j][line] = v[j];
  for (int j = 0; j < 8; ++j) v[j] = 0.0f;
  if (first + line < m) load_eight(x + (u64)(first + line) * k, unit * 8, k, v);
  for (int j = 0; j < 8; ++j) xs[part * 8 + j][line] = v[j];
  BARRIER;
  for (int q = 0; q < 32; ++q)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) sum[i][j] += xs[q][down + i] * ws[q][along + j];
  BARRIER;
}
for (int i = 0; i < 4; ++i)
  for (int j = 0; j < 4; ++j)
    if (first + down + i < m && column + along + j < n)
      y[(u64)(first + down + i) * n + column + along + j] = sum[i][j];
)";

constexpr const char* kLookUpBody = R"(
const int k = K;
const u64 row_bytes = (u64)((k + BLOCK - 1) / BLOCK) * BYTES;
for (int unit = local_at; unit * 8 < k; unit += 64) {
  float v[8];
  decode(w + at[group_at.x] * row_bytes, unit, k, v);
  for (int j = 0; j < 8; ++j)
    if (unit * 8 + j < k) y[(u64)group_at.x * k + unit * 8 + j] = v[j];
}
)";

constexpr const char* kGroupedBody = R"(
const int k = x_shape[1], n = N, slot = group_at.y;
const int lane = local_at % 32, row = (group_at.x * 4 + local_at / 32) * 2;
const u64 row_bytes = (u64)((k + BLOCK - 1) / BLOCK) * BYTES;
const GLOBAL u8* own = w + (u64)at[slot] * n * row_bytes;
float sum[2];
sum[0] = sum[1] = 0.0f;
for (int unit = lane; unit * 8 < k; unit += 32) {
  float a[8], v[8];
  load_eight(x + (u64)(slot / PER) * k, unit * 8, k, a);
  for (int i = 0; i < 2; ++i) {
    if (row + i >= n) continue;
    decode(own + (row + i) * row_bytes, unit, k, v);
    for (int j = 0; j < 8; ++j) sum[i] += v[j] * a[j];
  }
}
for (int i = 0; i < 2; ++i) {
  const float total = WARP_SUM(sum[i]);
  if (lane == 0 && row + i < n) y[(u64)slot * n + row + i] = total;
}
)";

constexpr const char* kRopeBody = R"(
const int e = group_at.x * 256 + local_at;
if (e < x_shape[0] * HEADS * DIM) {
  const int i = e % DIM, token = e / (HEADS * DIM);
  if (i >= TURNED) {
    y[e] = x[e];
  } else {
    const bool is_second = i / APART % 2 == 1;
    const int pair = token * (TURNED / 2) + (APART == 1 ? i / 2 : i % APART);
    y[e] = is_second ? x[e - APART] * s[pair] + x[e] * c[pair]
                     : x[e] * c[pair] - x[e + APART] * s[pair];
  }
}
)";

}  // namespace

std::string gpu_prelude(Dialect dialect) { return dialect == Dialect::cuda ? kCuda : kMetal; }

std::string gpu_places(Dialect dialect) {
  return dialect == Dialect::cuda
             ? "const uint3 group_at = blockIdx; const int local_at = threadIdx.x;\n"
             : "const uint3 group_at = threadgroup_position_in_grid;\n"
               "const int local_at = thread_position_in_threadgroup.x;\n";
}

std::string gpu_constants(std::span<const GpuConstant> constants) {
  std::string out;
  for (const GpuConstant& c : constants)
    out += str("constexpr int ", c.name, " = ", c.value, ";\n");
  return out;
}

std::string gpu_decoder(const GpuFormat& f) {
  std::string out = kReading + gpu_table(f.table);
  out += str("#define BLOCK ", f.block, "\n#define BYTES ", f.bytes, "\n");
  out +=
      "// Elements 8 unit to 8 unit + 7 of a row of k; 0 behind its end.\n"
      "FN void decode(const GLOBAL u8* row, int unit, int k, LOCAL float* v) {\n"
      "  const GLOBAL u8* b = row + (u64)(unit / (BLOCK / 8)) * BYTES;\n"
      "  const int u = unit % (BLOCK / 8);\n";
  if (f.is_plain)
    out += str("  (void)u;\n  ", f.unit, "\n");
  else
    out += str("  int c[8];\n  float s, m = 0.0f;\n  (void)u;\n  ", f.unit,
               "\n  for (int j = 0; j < 8; ++j) v[j] = SUB(MUL(s, (float)c[j]), m);\n");
  out +=
      "  if (unit * 8 + 8 > k)\n"
      "    for (int j = 0; j < 8; ++j)\n"
      "      if (unit * 8 + j >= k) v[j] = 0.0f;\n}\n";
  return out;
}

const GpuKernel kGemv{"gemv", kGemvBody, 128};
const GpuKernel kGemm{"gemm", kGemmBody, 256};
const GpuKernel kLookUp{"look_up", kLookUpBody, 64};
const GpuKernel kGrouped{"grouped", kGroupedBody, 128};
const GpuKernel kRope{"rope", kRopeBody, 256};

}  // namespace lamella::on_mlx

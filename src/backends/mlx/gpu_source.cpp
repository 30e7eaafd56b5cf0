#include "lamella/backends/mlx/gpu_source.h"

#include "lamella/base/error.h"

namespace lamella::on_mlx {
namespace {

constexpr const char* kCuda = R"(
#include <cuda_bf16.h>
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
#define UNROLLED _Pragma("unroll")
#define UNROLLED_BY_8 _Pragma("unroll 8")
#define INF f32(0x7f800000u)
#define MUL(a, b) __fmul_rn(a, b)
#define SUB(a, b) __fsub_rn(a, b)
#define EXP(x) expf(x)
#define TANH(x) tanhf(x)
#define ERF(x) erff(x)
#define SQRT(x) sqrtf(x)
FN float f32(u32 bits) { return __uint_as_float(bits); }
FN float f16(u32 bits) { return __half2float(__ushort_as_half((u16)bits)); }
FN float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
#define WARP_SUM(x) warp_sum(x)
FN void two_words(const void* b, u32* q) {
  const uint2 t = *(const uint2*)b;
  q[0] = t.x; q[1] = t.y;
}
FN void four_words(const void* b, u32* q) {
  const uint4 t = *(const uint4*)b;
  q[0] = t.x; q[1] = t.y; q[2] = t.z; q[3] = t.w;
}
FN void load_four(const float* p, float* v) {
  const float4 t = *(const float4*)p;
  v[0] = t.x; v[1] = t.y; v[2] = t.z; v[3] = t.w;
}
FN void load_four(const __half* p, float* v) {
  u32 q[2];
  two_words(p, q);
  v[0] = f16(q[0]); v[1] = f16(q[0] >> 16); v[2] = f16(q[1]); v[3] = f16(q[1] >> 16);
}
FN void load_four(const __nv_bfloat16* p, float* v) {
  u32 q[2];
  two_words(p, q);
  v[0] = f32(q[0] << 16); v[1] = f32(q[0] & 0xffff0000u);
  v[2] = f32(q[1] << 16); v[3] = f32(q[1] & 0xffff0000u);
}
FN void store_eight(float* p, const float* v) {
  ((float4*)p)[0] = make_float4(v[0], v[1], v[2], v[3]);
  ((float4*)p)[1] = make_float4(v[4], v[5], v[6], v[7]);
}
FN void store_eight(__nv_bfloat16* p, const float* v) {
  __nv_bfloat162 t[4];
  for (int j = 0; j < 4; ++j) t[j] = __floats2bfloat162_rn(v[2 * j], v[2 * j + 1]);
  *(uint4*)p = *(const uint4*)t;
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
#define UNROLLED _Pragma("unroll")
#define UNROLLED_BY_8 _Pragma("unroll 8")
#define INF f32(0x7f800000u)
#define MUL(a, b) ((a) * (b))
#define SUB(a, b) ((a) - (b))
#define EXP(x) metal::precise::exp(x)
#define TANH(x) metal::precise::tanh(x)
#define SQRT(x) metal::precise::sqrt(x)
FN float f32(u32 bits) { return as_type<float>(bits); }
FN float f16(u32 bits) { return float(as_type<half>(u16(bits))); }
#define WARP_SUM(x) simd_sum(x)
FN void two_words(const device void* b, thread u32* q) {
  for (int j = 0; j < 2; ++j) q[j] = ((const device u32*)b)[j];
}
FN void four_words(const device void* b, thread u32* q) {
  for (int j = 0; j < 4; ++j) q[j] = ((const device u32*)b)[j];
}
template <class T>
FN void load_four(const device T* p, thread float* v) {
  for (int j = 0; j < 4; ++j) v[j] = float(p[j]);
}
template <class T>
FN void store_eight(device T* p, const thread float* v) {
  for (int j = 0; j < 8; ++j) p[j] = T(v[j]);
}
// Abramowitz and Stegun 7.1.26, within 1.5e-7.
FN float ERF(float x) {
  const float t = 1.0f / (1.0f + 0.3275911f * metal::fabs(x));
  const float tail = t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f +
                     t * (-1.453152027f + t * 1.061405429f)))) * EXP(-x * x);
  return x < 0 ? tail - 1.0f : 1.0f - tail;
}
)";

// Elements whatever their type. `overwrite` is of a state, which MLX hands over as an input.
constexpr const char* kElements = R"(
template <class T>
FN float get(const GLOBAL T* p, u64 i) { return float(p[i]); }
template <class T>
FN void put(GLOBAL T* p, u64 i, float v) { p[i] = T(v); }
template <class T>
FN void overwrite(const GLOBAL T* p, u64 i, float v) { ((GLOBAL T*)p)[i] = T(v); }
// Elements `at` to at + 7 of a row of k that begins at a multiple of 16 bytes if k is one of 8.
template <class T>
FN void load_eight(const GLOBAL T* x, int at, int k, LOCAL float* v) {
  if (k % 8 == 0) {
    load_four(x + at, v);
    load_four(x + at + 4, v + 4);
  } else {
    for (int j = 0; j < 8; ++j) v[j] = at + j < k ? get(x, at + j) : 0.0f;
  }
}
// The same of what is written.
template <class T>
FN void store_part(GLOBAL T* y, int at, int k, const LOCAL float* v) {
  if (k % 8 == 0) {
    store_eight(y + at, v);
  } else {
    for (int j = 0; j < 8; ++j)
      if (at + j < k) put(y, at + j, v[j]);
  }
}
// The elements of a row of SIZE that a lane of 32 has, EACH of them; 0 behind the row's end.
template <int SIZE, int EACH, class T>
FN void load_lane(const GLOBAL T* row, int lane, LOCAL float* v) {
  if (SIZE % 32 == 0 && EACH % 4 == 0) {
    for (int c = 0; c < EACH; c += 4) load_four(row + lane * EACH + c, v + c);
  } else {
    for (int c = 0; c < EACH; ++c)
      v[c] = lane * EACH + c < SIZE ? get(row, lane * EACH + c) : 0.0f;
  }
}
// 1: silu, 2: gelu, 3: its approximation by tanh, 4: relu.
FN float activate(float x, int kind) {
  if (kind == 1) return x / (1.0f + EXP(-x));
  if (kind == 2) return 0.5f * x * (1.0f + ERF(x * 0.70710678f));
  if (kind == 3) return 0.5f * x * (1.0f + TANH(0.79788456f * (x + 0.044715f * x * x * x)));
  return x > 0.0f ? x : 0.0f;
}
)";

// Numbers at their formats' alignments.
constexpr const char* kReading = R"(
struct eight { u32 lo, hi; };
FN u32 u16_at(const GLOBAL u8* b) { return *(const GLOBAL u16*)b; }
FN u32 u32_at(const GLOBAL u8* b, int align) {
  if (align >= 4) return *(const GLOBAL u32*)b;
  if (align == 2) return ((const GLOBAL u16*)b)[0] | (u32)((const GLOBAL u16*)b)[1] << 16;
  return b[0] | (u32)b[1] << 8 | (u32)b[2] << 16 | (u32)b[3] << 24;
}
FN eight eight_at(const GLOBAL u8* b, int align) {
  eight e;
  if (align >= 8) {
    u32 q[2];
    two_words(b, q);
    e.lo = q[0];
    e.hi = q[1];
  } else {
    e.lo = u32_at(b, align);
    e.hi = u32_at(b + 4, align);
  }
  return e;
}
FN int byte_of(eight e, int j) { return (j < 4 ? e.lo : e.hi) >> j % 4 * 8 & 255; }
FN eight shifted(eight e, int by, u32 mask) {
  e.lo = e.lo >> by & mask;
  e.hi = e.hi >> by & mask;
  return e;
}
FN float f16_at(const GLOBAL u8* b) { return f16(u16_at(b)); }
FN int i8(int bits) { return bits < 128 ? bits : bits - 256; }
// Of group g of a block that begins with two f16 and twelve bytes of scales and minima.
FN void k_header(const GLOBAL u8* b, int g, LOCAL float* s, LOCAL float* m) {
  u32 h[4];
  four_words(b, h);
  const int at = g % 4 * 8;
  const u32 low = h[1] >> at & 255, less = h[2] >> at & 255, both = h[3] >> at & 255;
  const u32 scale = g < 4 ? low & 63 : (both & 15) | low >> 6 << 4,
            least = g < 4 ? less & 63 : both >> 4 | less >> 6 << 4;
  *s = f16(h[0] & 0xffff) * (float)scale;
  *m = f16(h[0] >> 16) * (float)least;
}
FN u32 eight_signs(u32 seven) {
  u32 odd = seven ^ seven >> 4;
  odd ^= odd >> 2;
  odd ^= odd >> 1;
  return seven | (odd & 1) << 7;
}
#define eights(entry, sign, c)                          \
  for (int j = 0; j < 8; ++j) {                         \
    const int value = value_at((entry) >> 2 * j & 3);   \
    (c)[j] = (sign) >> j & 1 ? -value : value;          \
  }
#define fours(entry, sign, c)                           \
  for (int j = 0; j < 4; ++j) {                         \
    const int value = value_at((entry) >> 3 * j & 7);   \
    (c)[j] = (sign) >> j & 1 ? -value : value;          \
  }
#define trits(entry, minus, c)                          \
  for (int j = 0; j < 8; ++j)                           \
    (c)[j] = 8 * (((entry) >> 2 * j & 3) - 1) + ((minus) ? -1 : 1);
)";

// The sums of ROWS rows of x with the two rows of weights at p, over a warp's threads: UNROLL times
// eight elements of each at a time. What codes have in common is multiplied once for the eight.
constexpr const char* kDot = R"(
float sum[2][ROWS];
for (int r = 0; r < ROWS; ++r) sum[0][r] = sum[1][r] = 0.0f;
constexpr int whole = K / 8 / (32 * UNROLL) * (32 * UNROLL);
for (int start = lane; start * 8 < K; start += start < whole ? 32 * UNROLL : 32) {
  UNROLLED
  for (int step = 0; step < UNROLL; ++step) {
    const int unit = start + step * 32;
    if (step > 0 && start >= whole) continue;
    float a[8];
#if IS_PLAIN
    float v[2][8];
    decode(p[0], unit, K, v[0]);
    decode(p[1], unit, K, v[1]);
#else
    int c[2][8];
    float s[2], m[2];
    codes(p[0], unit, c[0], s, m);
    codes(p[1], unit, c[1], s + 1, m + 1);
#endif
    UNROLLED
    for (int r = 0; r < ROWS; ++r) {
      load_eight(x + (u64)(first + r) * K, unit * 8, K, a);
#if IS_PLAIN
      for (int j = 0; j < 8; ++j) {
        sum[0][r] += v[0][j] * a[j];
        sum[1][r] += v[1][j] * a[j];
      }
#else
      float by[2], all = 0.0f;
      by[0] = by[1] = 0.0f;
      for (int j = 0; j < 8; ++j) {
        by[0] += (float)c[0][j] * a[j];
        by[1] += (float)c[1][j] * a[j];
        if (HAS_MINIMUM) all += a[j];
      }
      for (int i = 0; i < 2; ++i) {
        sum[i][r] += s[i] * by[i];
        if (HAS_MINIMUM) sum[i][r] -= m[i] * all;
      }
#endif
    }
  }
}
)";

// The sequence that a token belongs to, and the row of the state that has its position.
constexpr const char* kPlaces = R"(
int own = 0;
while (q_start[own + 1] <= token) ++own;
const int length = kv_len[own], position = length - q_start[own + 1] + token;
const GLOBAL int* pages = table + own * SLOTS;
)";

// A warp takes two rows of w.
constexpr const char* kGemvBody = R"(
const int lane = local_at % 32, first = group_at.y * ROWS, row = (group * 4 + local_at / 32) * 2;
if (row >= n) return;
const u64 row_bytes = (u64)((K + BLOCK - 1) / BLOCK) * BYTES;
const GLOBAL u8* p[2];
p[0] = w + row * row_bytes;
p[1] = row + 1 < n ? p[0] + row_bytes : p[0];
DOT
for (int r = 0; r < ROWS; ++r)
  for (int i = 0; i < 2; ++i) {
    const float total = WARP_SUM(sum[i][r]);
    if (lane == 0 && row + i < n) put(y, (u64)(first + r) * n + row + i, total);
  }
)";

// A warp takes a row of both matrices.
constexpr const char* kGatedBody = R"(
const int lane = local_at % 32, first = group_at.y * ROWS, row = group_at.x * 4 + local_at / 32;
if (row >= N0) return;
const u64 row_bytes = (u64)((K + BLOCK - 1) / BLOCK) * BYTES;
const GLOBAL u8* p[2];
p[0] = (const GLOBAL u8*)w0 + row * row_bytes;
p[1] = (const GLOBAL u8*)w1 + row * row_bytes;
DOT
for (int r = 0; r < ROWS; ++r) {
  const float gate = WARP_SUM(sum[0][r]), up = WARP_SUM(sum[1][r]);
  if (lane == 0) put(y0, (u64)(first + r) * N0 + row, activate(gate, ACTIVATION) * up);
}
)";

// A group makes a tile of y, 64 by 64, a thread 4 by 4 of it; 32 elements along k lie in shared
// memory at a time.
constexpr const char* kGemmBody = R"(
const GLOBAL u8* w = (const GLOBAL u8*)w0;
const int m = x_shape[0], column = group_at.x * 64, first = group_at.y * 64;
const u64 row_bytes = (u64)((K + BLOCK - 1) / BLOCK) * BYTES;
SHARED float xs[32][68];
SHARED float ws[32][68];
float sum[4][4];
for (int i = 0; i < 4; ++i)
  for (int j = 0; j < 4; ++j) sum[i][j] = 0.0f;
const int line = local_at / 4, part = local_at % 4, down = local_at / 16 * 4,
          along = local_at % 16 * 4;
for (int at = 0; at < K; at += 32) {
  const int unit = at / 8 + part;
  float v[8];
  for (int j = 0; j < 8; ++j) v[j] = 0.0f;
  if (column + line < N0 && unit * 8 < K) decode(w + (column + line) * row_bytes, unit, K, v);
  for (int j = 0; j < 8; ++j) ws[part * 8 + j][line] = v[j];
  for (int j = 0; j < 8; ++j) v[j] = 0.0f;
  if (first + line < m && unit * 8 < K) load_eight(x + (u64)(first + line) * K, unit * 8, K, v);
  for (int j = 0; j < 8; ++j) xs[part * 8 + j][line] = v[j];
  BARRIER;
  for (int q = 0; q < 32; ++q)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) sum[i][j] += xs[q][down + i] * ws[q][along + j];
  BARRIER;
}
for (int i = 0; i < 4; ++i)
  for (int j = 0; j < 4; ++j)
    if (first + down + i < m && column + along + j < N0)
      put(y0, (u64)(first + down + i) * N0 + column + along + j, sum[i][j]);
)";

constexpr const char* kLookUpBody = R"(
const GLOBAL u8* w = (const GLOBAL u8*)w0;
const u64 row_bytes = (u64)((K + BLOCK - 1) / BLOCK) * BYTES;
for (int unit = local_at; unit * 8 < K; unit += 64) {
  float v[8];
  decode(w + at[group_at.x] * row_bytes, unit, K, v);
  for (int j = 0; j < 8; ++j)
    if (unit * 8 + j < K) put(y0, (u64)group_at.x * K + unit * 8 + j, v[j]);
}
)";

// A thread decodes eight elements.
constexpr const char* kUnpackBody = R"(
const u64 row_bytes = (u64)((K + BLOCK - 1) / BLOCK) * BYTES;
constexpr int units = (K + 7) / 8;
const u64 at = ((u64)group_at.y * groups.x + group_at.x) * 256 + local_at;
const u64 row = at / units;
const int unit = (int)(at % units);
if (row < N0) {
  float v[8];
  decode((const GLOBAL u8*)w0 + row * row_bytes, unit, K, v);
  if (K % 8 == 0)
    store_eight(y0 + row * K + unit * 8, v);
  else
    for (int j = 0; j < 8; ++j)
      if (unit * 8 + j < K) put(y0, row * K + unit * 8 + j, v[j]);
}
)";

constexpr const char* kGroupedBody = R"(
const int slot = group_at.y, lane = local_at % 32, row = (group_at.x * 4 + local_at / 32) * 2;
const u64 row_bytes = (u64)((K + BLOCK - 1) / BLOCK) * BYTES;
const GLOBAL u8* own = (const GLOBAL u8*)w0 + (u64)at[slot] * N0 * row_bytes;
float sum[2];
sum[0] = sum[1] = 0.0f;
for (int unit = lane; unit * 8 < K; unit += 32) {
  float a[8], v[8];
  load_eight(x + (u64)(slot / PER) * K, unit * 8, K, a);
  for (int i = 0; i < 2; ++i) {
    if (row + i >= N0) continue;
    decode(own + (row + i) * row_bytes, unit, K, v);
    for (int j = 0; j < 8; ++j) sum[i] += v[j] * a[j];
  }
}
for (int i = 0; i < 2; ++i) {
  const float total = WARP_SUM(sum[i]);
  if (lane == 0 && row + i < N0) put(y0, (u64)slot * N0 + row + i, total);
}
)";

}  // namespace

std::string gpu_prelude(Dialect dialect) {
  return str(dialect == Dialect::cuda ? kCuda : kMetal, kElements);
}
std::string gpu_elements() { return kElements; }

std::string gpu_places(Dialect dialect) {
  return dialect == Dialect::cuda
             ? "const uint3 group_at = blockIdx; const dim3 groups = gridDim;\n"
               "const int local_at = threadIdx.x;\n"
             : "const uint3 group_at = threadgroup_position_in_grid;\n"
               "const uint3 groups = threadgroups_per_grid;\n"
               "const int local_at = thread_position_in_threadgroup.x;\n";
}

std::string gpu_constants(std::span<const GpuConstant> constants) {
  std::string out;
  // Macros, so that a body can leave out lines.
  for (const GpuConstant& c : constants)
    out += str("#undef ", c.name, "\n#define ", c.name, " (", c.value, ")\n");
  return out;
}

std::string gpu_decoder(const GpuFormat& f) {
  const auto says = [&](std::string_view what) { return f.unit.find(what) != f.unit.npos; };
  std::string out = kReading + gpu_table(f.table);
  out +=
      str("#define BLOCK ", f.block, "\n#define BYTES ", f.bytes, "\n#define IS_PLAIN ",
          f.is_plain ? 1 : 0, "\n#define HAS_MINIMUM ", says("m = ") || says("&m") ? 1 : 0, "\n");
  const std::string place =
      "  const GLOBAL u8* b = row + (u64)(unit / (BLOCK / 8)) * BYTES;\n"
      "  const int u = unit % (BLOCK / 8);\n  (void)u;\n";
  if (!f.is_plain)
    out += str("// Codes 8 unit to 8 unit + 7 of a row, their scale and minimum.\n",
               "FN void codes(const GLOBAL u8* row, int unit, LOCAL int* c, LOCAL float* scale, ",
               "LOCAL float* least) {\n", place, "  float s, m = 0.0f;\n  ", f.unit,
               "\n  *scale = s;\n  *least = m;\n}\n");
  out +=
      "// Elements 8 unit to 8 unit + 7 of a row of k; 0 behind its end.\n"
      "FN void decode(const GLOBAL u8* row, int unit, int k, LOCAL float* v) {\n";
  if (f.is_plain)
    out += str(place, "  ", f.unit, "\n");
  else
    out +=
        "  int c[8];\n  float s, m;\n  codes(row, unit, c, &s, &m);\n"
        "  for (int j = 0; j < 8; ++j) v[j] = SUB(MUL(s, (float)c[j]), m);\n";
  out +=
      "  if (k % 8 != 0 && unit * 8 + 8 > k)\n"
      "    for (int j = 0; j < 8; ++j)\n"
      "      if (unit * 8 + j >= k) v[j] = 0.0f;\n}\n";
  return out;
}

// Lines that bodies share, by the name that stands for them there.
std::string gpu_body(const GpuKernel& kernel) {
  constexpr std::pair<std::string_view, std::string_view> kShared[] = {{"DOT\n", kDot},
                                                                       {"PLACES\n", kPlaces}};
  std::string out(kernel.body);
  for (const auto& [name, lines] : kShared) {
    const size_t at = out.find(name);
    if (at != std::string::npos) out.replace(at, name.size(), lines);
  }
  return out;
}

std::string gpu_parts(size_t n) {
  std::string out =
      "int group = group_at.x, n = N0;\nauto w = (const GLOBAL u8*)w0;\nauto y = y0;\n";
  for (size_t i = 1; i < n; ++i)
    out += str("if (group >= G", i - 1, ") {\n  group -= G", i - 1, ";\n  n = N", i,
               ";\n  w = (const GLOBAL u8*)w", i, ";\n  y = y", i, ";\n");
  return out + std::string(n - 1, '}') + "\n";
}

const GpuKernel kGemv{"gemv", kGemvBody, 128};
const GpuKernel kGated{"gated", kGatedBody, 128};
const GpuKernel kGemm{"gemm", kGemmBody, 256};
const GpuKernel kLookUp{"look_up", kLookUpBody, 64};
const GpuKernel kUnpack{"unpack", kUnpackBody, 256};
const GpuKernel kGrouped{"grouped", kGroupedBody, 128};

}  // namespace lamella::on_mlx

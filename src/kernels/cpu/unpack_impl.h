// Weights of any format as codes and scales, through Format::unpack and Format::decode.
//
// Included by one file an instruction set. Everything depends on that file's own type U, so that no
// code compiled for one instruction set is shared with another.
#pragma once

#include <cstdint>
#include <cstring>

#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/matmul_kernels.h"

namespace lamella::cpu {

// One span of one row of weights: value = scales[part] * (codes - offset) - mins[part].
template <class U>
struct RowSpan {
  alignas(64) uint8_t codes[kSpan];
  alignas(64) float scales[kSpanParts];
  alignas(64) float mins[kSpanParts];
};

// Asks for n bytes.
template <class U>
LAMELLA_INLINE inline void prefetch(const uint8_t* at, int64_t n) {
  for (int64_t i = 0; i < n; i += 64) __builtin_prefetch(at + i, 0, 2);
}

template <class U>
quant::BlockPtr block_at(const WeightView& w, int64_t row, int64_t block) {
  quant::BlockPtr at{};
  for (int p = 0; p < w.format->n_planes; ++p) {
    at[p] = w.planes[p] + row * w.row_bytes[p] + block * w.format->planes[p].block_bytes;
  }
  return at;
}

// Blocks beyond the row have code 0 and scale 0.
template <class U>
void unpack_generic(const WeightView& w, int64_t row, int64_t span, int offset, uint8_t* codes,
                    float* scales, float* mins) {
  const quant::Format& format = *w.format;
  const int per_span = kSpan / format.block, groups = format.block / format.group;
  const int parts = format.group / 16;
  int8_t raw[quant::kMaxBlock];
  float scale[quant::kMaxBlock / 16], min[quant::kMaxBlock / 16] = {};
  for (int b = 0; b < per_span; ++b) {
    const int64_t block = span * per_span + b;
    uint8_t* out = codes + b * format.block;
    if (block >= w.n_blocks) {
      std::memset(out, 0, format.block);
      std::memset(scale, 0, sizeof scale);
      std::memset(min, 0, sizeof min);
    } else {
      format.unpack(block_at<U>(w, row, block), raw, scale, min);
      for (int i = 0; i < format.block; ++i) out[i] = static_cast<uint8_t>(raw[i] + offset);
    }
    for (int part = 0; part < groups * parts; ++part) {
      scales[b * groups * parts + part] = scale[part / parts];
      mins[b * groups * parts + part] = min[part / parts];
    }
  }
}

// Elements [begin, begin + n) of a row as f32; n is at most kSpan, begin a multiple of it.
template <class U>
void decode_values(const WeightView& w, int64_t row, int64_t begin, int64_t n, float* out) {
  if (!w.format) {
    const int64_t size = w.element == Elem::f32 ? 4 : 2;
    const uint8_t* at = w.planes[0] + row * w.row_bytes[0] + begin * size;
    if (w.element == Elem::f32) {
      std::memcpy(out, at, static_cast<size_t>(n) * 4);
    } else if (w.element == Elem::f16) {
      U::widen_f16(at, n, out);
    } else {
      U::widen_bf16(at, n, out);
    }
    return;
  }
  const quant::Format& format = *w.format;
  float last[quant::kMaxBlock];
  for (int64_t i = 0; i < n; i += format.block) {
    const bool whole = i + format.block <= n;
    format.decode(block_at<U>(w, row, (begin + i) / format.block), whole ? out + i : last);
    if (!whole) std::memcpy(out + i, last, static_cast<size_t>(n - i) * 4);
  }
}

}  // namespace lamella::cpu

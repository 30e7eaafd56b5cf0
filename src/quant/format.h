// A block format: how numbers are stored in blocks that share scales. One row of the table in
// formats.cpp.
//
// Every format has one *integer view*: inside a block, element i has the value
//     scale[i / group] * codes[i] - min[i / group]          (min only where has_min)
// computed in f32, one rounding a product and one a difference. From `unpack`, which gives codes,
// scales and minimums, everything else follows: the f32 decode, the reference, the generic GEMM and
// GEMV, the gather.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lamella::quant {

inline constexpr int kMaxPlanes = 4;
inline constexpr int kMaxBlock = 256;

// One of the byte arrays that an encoded tensor consists of. GGUF formats have one plane.
struct Plane {
  std::string_view name;  // "blocks", "codes", "scales", "sums"
  int block_bytes = 0;    // bytes that one block takes in this plane
};

// Pointers to one block's bytes, one a plane. Any alignment.
using BlockPtr = std::array<const uint8_t*, kMaxPlanes>;
using MutableBlockPtr = std::array<uint8_t*, kMaxPlanes>;

struct Format {
  static constexpr uint32_t kNoGguf = ~0u;

  std::string_view name;         // "q4_k"
  uint32_t gguf_type = kNoGguf;  // type id in GGUF files
  int block = 0;                 // elements a block, along the last axis; a multiple of group
  int group = 0;                 // elements that share one scale (and minimum)
  bool has_min = false;
  int8_t min_code = 0, max_code = 0;  // range of the codes
  int n_planes = 1;
  std::array<Plane, kMaxPlanes> planes{};

  // The integer view of one block: codes[block], scale[block / group], min[block / group] (may be
  // null when !has_min). Takes any bytes. Null where values are no codes (fp8): decode is all.
  void (*unpack)(const BlockPtr& bytes, int8_t* codes, float* scale, float* min) = nullptr;
  // One block to f32, bit-exact with the reference decoder of the format.
  void (*decode)(const BlockPtr& bytes, float* values) = nullptr;
  // `block` f32 values to one block by the plain reference method; null where there is none.
  void (*encode)(const float* values, const MutableBlockPtr& bytes) = nullptr;

  // Bytes of one block over all planes.
  constexpr int block_bytes() const {
    int sum = 0;
    for (int i = 0; i < n_planes; ++i) sum += planes[i].block_bytes;
    return sum;
  }
  // Blocks in a row of k elements; the last one may be partial (its tail decodes to padding that
  // nobody reads).
  constexpr int64_t blocks(int64_t k) const { return (k + block - 1) / block; }
};

// The table, in the order of formats.cpp.
std::span<const Format> formats();

// The format of that name or GGUF type id; null when there is none.
const Format* find_format(std::string_view name);
const Format* find_gguf_format(uint32_t gguf_type);

// Byte offset of plane `plane` in a buffer that holds n_rows rows of k elements: planes follow one
// another, each starts at a multiple of 64. With plane == n_planes: the size of the whole buffer.
int64_t plane_offset(const Format& format, int plane, int64_t n_rows, int64_t k);

// Decodes elements [0, k) of one row whose planes start at `row`.
void decode_row(const Format& format, const BlockPtr& row, int64_t k, float* values);

// Encodes k values to one row; a partial last block is filled up with zeros. `format.encode` must
// not be null.
void encode_row(const Format& format, const float* values, int64_t k, const MutableBlockPtr& row);

}  // namespace lamella::quant

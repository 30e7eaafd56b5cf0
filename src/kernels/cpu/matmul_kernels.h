// What matmul.cpp and the kernels of one instruction set agree on. Not for users.
//
// x is prepared once for a call, in the order that the kernels read; weights are read as they are.
// Work is cut into spans of 256 elements of k. Positions beyond k have codes 0 and values 0.
#pragma once

#include <array>
#include <cstdint>

#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/matmul.h"
#include "lamella/quant/format.h"

namespace lamella::cpu {

inline constexpr int kSpan = 256;       // elements of k unpacked at a time
inline constexpr int kSpanParts = 16;   // parts of a span: 16 elements
inline constexpr int kPanelRows = 48;   // rows of weights unpacked at a time (bulk)
inline constexpr int kTileRows = 64;    // rows of x side by side in a tile (bulk)
inline constexpr int kChunkRows = 256;  // rows of x prepared at a time (bulk)
// Products of bf16: where x is longer than fits half a second-level cache, so many panels of a task
// take turns at a block of it, and may then share more rows of x.
inline constexpr int kMostPanels = 4, kMostSharedRows = 512;
inline constexpr int64_t kBlockBytes = int64_t{1} << 20;
inline constexpr int kDecodeRows = 32;  // rows of x prepared at a time (decode)

// Bytes of weights that decode asks for ahead, into the second-level cache. The processor's own
// prefetch ends with each page of 4 KiB; less than two pages ahead gains nothing.
inline constexpr int64_t kAhead = 16384;
// The same where a few rows of x read several runs of rows at once.
inline constexpr int64_t kAheadInRuns = 1024;

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// The weights' planes with their row sizes.
struct WeightView {
  const quant::Format* format = nullptr;
  Elem element = Elem::f32;
  std::array<const uint8_t*, quant::kMaxPlanes> planes{};
  std::array<int64_t, quant::kMaxPlanes> row_bytes{};
  int64_t k = 0;
  int64_t n_blocks = 0;  // in a row
};

// How a kernel with a lane for each scale of a row cuts it into units: a span with a lane a part of
// 16, or two spans with a lane a group of 32.
struct UnitOrder {
  int n_spans = 1;
  // Of n vectors, vector v has the elements n i + v of each lane; else:
  bool dealt = false;
  std::array<uint8_t, 2 * kSpan / 4> fours{};  // which four elements lie at each place of four
  std::array<uint8_t, 16> lanes{};             // the part, or group, of each lane
};

// What a kernel wants of x. Equal wishes share one preparation.
struct XWish {
  bool encoded = false;
  bool bf16 = false;                 // values rounded, in pairs
  int tile_rows = kTileRows;         // rows side by side in a tile (bulk; decode of bf16)
  int offset = 0;                    // what the kernel's codes of weights have been raised by
  int fold = 0;                      // elements whose integer sum gets one scale (bulk)
  bool sums = false;                 // the weights have minimums
  int chain = 1;                     // code vectors summed before they are scaled (decode)
  bool pairs = false;                // scales and sums side by side, for groups of 32 (decode)
  int vector = 0;                    // bytes of codes in a vector (decode)
  const UnitOrder* units = nullptr;  // in place of these three (decode)
  bool operator==(const XWish&) const = default;
};

// x for decode: [row][span], or in units.
struct DecodeX {
  int64_t n_spans = 0;
  int8_t* codes = nullptr;    // [256]
  int32_t* starts = nullptr;  // [64 / chain]: -offset * sum of the codes in the lane
  float* scales = nullptr;    // [16], one a part; or pairs: 8 scales, 8 sums
  float* sums = nullptr;      // [16]: scale * sum of the codes of the part
  float* values = nullptr;    // [256]: not encoded
  uint16_t* pairs = nullptr;  // rounded to bf16: [tile][span][128][tile_rows][2]
  // [unit][row]: codes; scales[16] of the lanes; if there is an offset, starts[16]; if there are
  // minimums, sums[16].
  int64_t n_units = 0;
  std::byte* units = nullptr;
};

// x for bulk: tiles of `tile_rows` rows, lanes = rows. In a tile that has `width` rows (padded to
// 16):
struct BulkX {
  int64_t n_spans = 0;
  int tile_rows = kTileRows;
  int n_scales = 0;           // scales in a span: 1 or 8
  int n_folds = 0;            // 256 / fold
  int8_t* codes = nullptr;    // [span][64][width][4]
  int32_t* starts = nullptr;  // [span][n_folds][width]: -offset * sum of the codes
  float* scales = nullptr;    // [span][n_scales][width]
  float* sums = nullptr;      // [span][n_folds][width]; times the scale if n_scales is 8
  float* values = nullptr;    // [span][256][width]: not encoded
  uint16_t* pairs = nullptr;  // [span][128][width][2]: rounded to bf16
};

// One span of rows of weights as codes: value = scales[part] * (code - offset) - mins[part], a part
// being 16 elements, or 32 where the kernel's wish is for pairs.
struct UnpackedRows {
  uint8_t* codes;  // [n_rows][256]
  float* scales;   // [n_rows][16]
  float* mins;     // [n_rows][16]; not written where the format has none
};
using UnpackRows = void (*)(const WeightView& w, int64_t row, int n_rows, int64_t span,
                            const UnpackedRows& out);

// Rows [row, row + n_rows) of the weights times all rows of x.
struct DecodeArgs {
  const WeightView* w;
  int64_t row;
  int64_t n_rows;
  const DecodeX* x;
  int64_t m;  // at most kDecodeRows
  float* c;   // [m][ldc], column = weight row - row
  int64_t ldc;
  int64_t ahead_in_runs = 0;  // 0: the processor's own prefetch does better
};

struct BulkArgs {
  const WeightView* w;
  UnpackRows unpack;  // of encoded weights, and what it raises codes by (tiles)
  int offset;
  bool pairs;
  int64_t row;
  int n_rows;  // at most kPanelRows; by tiles, at most kMostPanels times that
  const BulkX* x;
  int64_t m;                     // rows of x in all
  int64_t tile_begin, tile_end;  // tiles to do
  float* c;                      // [panel][tile - tile_begin][kPanelRows][tile_rows]
  // The rows that the same worker will most likely multiply next; null: not known.
  const WeightView* next_w = nullptr;
  int64_t next_row = 0, next_rows = 0;
};

struct MatmulKernel {
  XWish wish;  // .fold and .sums follow from the formats: filled by wish_of
  void (*decode)(const DecodeArgs&) = nullptr;
  void (*bulk)(const BulkArgs&) = nullptr;
  UnpackRows unpack = nullptr;  // encoded weights
};

// 16 x 16 numbers of 32 bits; strides in numbers.
using Transpose16 = void (*)(const void* in, int64_t in_stride, void* out, int64_t out_stride);

// n values rounded to bf16, to the nearest even; n is a multiple of 32.
using RoundBf16 = void (*)(const float* x, int64_t n, uint16_t* out);

// Products of bf16. The unpacking is that of avx512. Decode takes weights of bf16 only, some rows
// at a time.
struct Bf16Unit {
  int tile_rows = kTileRows;
  void (*bulk)(const BulkArgs&) = nullptr;
  int decode_tile_rows = 1, decode_rows = 8;
  void (*decode)(const DecodeArgs&) = nullptr;
  RoundBf16 round = nullptr;
};
extern const Bf16Unit kAvx512Bf16Unit, kAmxUnit;
// Null: none.
const Bf16Unit* bf16_unit(Isa isa);

// Integer products by tiles, the same bits as avx512's, for weights whose scales are at least 128
// elements apart and that have no minimums: with more scales the conversions would cost more than
// the products.
using BulkKernel = void (*)(const BulkArgs&);
extern const BulkKernel kAmxInt8;
inline constexpr int kAmxTileRows = 16;  // of x in a tile, of bytes and of bf16

// What preparing x takes from the instruction set.
struct Movers {
  Transpose16 transpose = nullptr;
  RoundBf16 round = nullptr;  // where the wish is for bf16
};

// y rows from a panel of products. c is [tile][kPanelRows][tile_rows] (bulk) or [m][ldc] (decode).
struct EpilogueArgs {
  const MatmulJob* job;
  int64_t row0, m;  // rows of y
  int64_t col0, n;  // columns of y
  const float* c;
  const float* c_gated;  // null: no second product
  int64_t ldc;           // decode
  int tile_rows;         // 0: decode
};

using EpilogueKernel = void (*)(const EpilogueArgs& args, Transpose16 transpose);
LAMELLA_TABLE(EpilogueKernel, kEpilogue)

// c[rows][64] += a[rows][kSpan] * b[n][64], n at most kSpan; rows is a multiple of kDensePadding.
using DensePanelKernel = void (*)(const float* a, const float* b, int64_t n, int64_t rows,
                                  float* c);
inline constexpr int64_t kDensePadding = 12;

// The kernels of one instruction set.
struct MatmulKernels {
  MatmulKernel (*encoded)(const quant::Format& w);
  MatmulKernel exact;
  DensePanelKernel dense_panel = nullptr;
  Transpose16 transpose = nullptr;
};

LAMELLA_TABLE(MatmulKernels, kMatmul)

// Adds what follows from the formats alone.
XWish wish_of(const MatmulKernel& kernel, const quant::Format* w, const quant::Format* x);

// Preparation. Sizes in bytes for m rows, and the views of a buffer of that size.
int64_t decode_x_bytes(const XWish& wish, int64_t m, int64_t k);
int64_t bulk_x_bytes(const XWish& wish, int64_t m, int64_t k, const quant::Format* x);
DecodeX decode_x_view(const XWish& wish, int64_t m, int64_t k, std::byte* buffer);
BulkX bulk_x_view(const XWish& wish, int64_t m, int64_t k, const quant::Format* x,
                  std::byte* buffer);
// Fills the part of rows [begin, end) of m; x row 0 is row `first` of the activations. For bulk,
// begin is a multiple of 16.
void prepare_decode(const XWish& wish, const Activations& x, int64_t first, int64_t begin,
                    int64_t end, int64_t m, int64_t k, const DecodeX& view, const Movers& movers);
void prepare_bulk(const XWish& wish, const Activations& x, int64_t first, int64_t begin,
                  int64_t end, int64_t m, int64_t k, const BulkX& view, const Movers& movers);

}  // namespace lamella::cpu

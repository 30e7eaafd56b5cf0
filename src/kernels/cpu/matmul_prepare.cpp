// Brings x into the order that the kernels read it in.
#include <algorithm>
#include <cstring>

#include "lamella/base/numeric.h"
#include "lamella/kernels/cpu/matmul_kernels.h"

namespace lamella::cpu {
namespace {

template <class T>
T load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// Hands out consecutive arrays of a buffer, each at a multiple of 64 bytes.
class Arrays {
 public:
  explicit Arrays(std::byte* buffer) : buffer_(buffer) {}
  template <class T>
  T* take(bool wanted, int64_t n) {
    if (!wanted) return nullptr;
    const int64_t at = size_;
    size_ += round_up(n * static_cast<int64_t>(sizeof(T)), 64);
    return buffer_ ? reinterpret_cast<T*>(buffer_ + at) : nullptr;
  }
  int64_t size() const { return size_; }

 private:
  std::byte* buffer_;
  int64_t size_ = 0;
};

// Bytes of a row's unit: codes, scales, starts, sums.
int64_t unit_bytes(const XWish& wish) {
  return wish.units->n_spans * kSpan + 64 * (1 + (wish.offset ? 1 : 0) + (wish.sums ? 1 : 0));
}

DecodeX decode_arrays(const XWish& wish, int64_t m, int64_t k, Arrays& arrays) {
  DecodeX x;
  x.n_spans = ceil_div(k, kSpan);
  if (wish.units) {
    x.n_units = ceil_div(x.n_spans, wish.units->n_spans);
    x.units = arrays.take<std::byte>(true, m * x.n_units * unit_bytes(wish));
    return x;
  }
  const int64_t n = m * x.n_spans;
  x.codes = arrays.take<int8_t>(wish.encoded, n * kSpan);
  x.starts = arrays.take<int32_t>(wish.encoded && wish.offset, n * (kSpan / 4 / wish.chain));
  x.scales = arrays.take<float>(wish.encoded, n * kSpanParts);
  x.sums = arrays.take<float>(wish.encoded && wish.sums && !wish.pairs, n * kSpanParts);
  x.values = arrays.take<float>(!wish.encoded && !wish.bf16, n * kSpan);
  x.pairs = arrays.take<uint16_t>(wish.bf16, round_up(m, wish.tile_rows) * x.n_spans * kSpan);
  return x;
}

BulkX bulk_arrays(const XWish& wish, int64_t m, int64_t k, const quant::Format* x_format,
                  Arrays& arrays) {
  BulkX x;
  x.n_spans = ceil_div(k, kSpan);
  x.tile_rows = wish.tile_rows;
  const int64_t n = round_up(m, 16) * x.n_spans;
  if (wish.encoded) {
    x.n_scales = kSpan / x_format->block;
    x.n_folds = kSpan / wish.fold;
  }
  x.codes = arrays.take<int8_t>(wish.encoded, n * kSpan);
  x.starts = arrays.take<int32_t>(wish.encoded && wish.offset, n * x.n_folds);
  x.scales = arrays.take<float>(wish.encoded, n * x.n_scales);
  x.sums = arrays.take<float>(wish.encoded && wish.sums, n * x.n_folds);
  x.values = arrays.take<float>(!wish.encoded && !wish.bf16, n * kSpan);
  x.pairs = arrays.take<uint16_t>(wish.bf16, n * kSpan);
  return x;
}

// One span of one encoded row in natural order.
struct EncodedSpan {
  alignas(16) int8_t codes[kSpan];
  int sums[kSpanParts];      // one a part
  float scales[kSpanParts];  // one a part
};

template <int kBlock>
void read_block(const Activations& x, int64_t index, int at, EncodedSpan& out) {
  constexpr int kParts = kBlock / 16;
  std::memcpy(out.codes + at * kBlock, x.planes[0] + index * kBlock, kBlock);
  const float scale = load<float>(x.planes[1] + index * 4);
  for (int p = 0; p < kParts; ++p) {
    out.scales[at * kParts + p] = scale;
    out.sums[at * kParts + p] = load<int16_t>(x.planes[2] + (index * kParts + p) * 2);
  }
}

template <int kBlock>
void read_blocks(const Activations& x, int64_t row, int64_t span, int64_t n_blocks,
                 EncodedSpan& out) {
  constexpr int kPerSpan = kSpan / kBlock;
  const int64_t index = row * n_blocks + span * kPerSpan, left = n_blocks - span * kPerSpan;
  if (left >= kPerSpan) {
    for (int b = 0; b < kPerSpan; ++b) read_block<kBlock>(x, index + b, b, out);
    return;
  }
  std::memset(&out, 0, sizeof out);
  for (int b = 0; b < left; ++b) read_block<kBlock>(x, index + b, b, out);
}

void read_span(const Activations& x, int64_t row, int64_t span, int64_t k, EncodedSpan& out) {
  if (x.format->block == 32) {
    read_blocks<32>(x, row, span, x.format->blocks(k), out);
  } else {
    read_blocks<256>(x, row, span, x.format->blocks(k), out);
  }
}

// Elements [begin, begin + n) of one row as f32; begin is a multiple of kSpan.
void read_values(const Activations& x, int64_t row, int64_t k, int64_t begin, int64_t n,
                 float* out) {
  if (x.format) {
    quant::BlockPtr at{};
    for (int p = 0; p < x.format->n_planes; ++p) {
      const int64_t block = row * x.format->blocks(k) + begin / x.format->block;
      at[p] = x.planes[p] + block * x.format->planes[p].block_bytes;
    }
    quant::decode_row(*x.format, at, n, out);
    return;
  }
  const int64_t at = row * x.row_stride + begin;
  if (x.element == Elem::f32) {
    std::memcpy(out, x.planes[0] + at * 4, static_cast<size_t>(n) * 4);
  } else if (x.element == Elem::f16) {
    for (int64_t i = 0; i < n; ++i) {
      out[i] = static_cast<float>(load<f16>(x.planes[0] + (at + i) * 2));
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      out[i] = static_cast<float>(load<bf16>(x.planes[0] + (at + i) * 2));
    }
  }
}

// One row rounded to bf16, zeros from k on, in pairs of elements among those of a tile.
void prepare_pairs(const XWish& wish, const Activations& x, int64_t x_row, int64_t row, int64_t k,
                   RoundBf16 round, const DecodeX& view) {
  alignas(64) float values[kSpan];
  alignas(64) uint16_t rounded[kSpan];
  const int64_t width = wish.tile_rows, tile = row / width, lane = row % width;
  uint16_t* out = view.pairs + tile * width * view.n_spans * kSpan + lane * 2;
  for (int64_t span = 0; span < view.n_spans; ++span, out += width * kSpan) {
    const int64_t n = std::min<int64_t>(k - span * kSpan, kSpan);
    read_values(x, x_row, k, span * kSpan, n, values);
    std::fill(values + n, values + kSpan, 0.0f);
    round(values, kSpan, rounded);
    for (int64_t p = 0; p < kSpan / 2; ++p) std::memcpy(out + p * width * 2, rounded + p * 2, 4);
  }
}

// -offset * sum of four codes for each lane of the vectors, those of a chain added up.
void decode_starts(const XWish& wish, const int8_t* codes, int32_t* starts) {
  int32_t quads[kSpan / 4];
  for (int i = 0; i < kSpan / 4; ++i) {
    const int8_t* c = codes + i * 4;
    quads[i] = -wish.offset * (c[0] + c[1] + c[2] + c[3]);
  }
  const int lanes = wish.vector / 4;
  for (int i = 0; i < kSpan / 4; i += lanes * wish.chain) {
    for (int lane = 0; lane < lanes; ++lane) {
      int start = quads[i + lane];
      for (int c = 1; c < wish.chain; ++c) start += quads[i + c * lanes + lane];
      *starts++ = start;
    }
  }
}

void prepare_decode_span(const XWish& wish, const EncodedSpan& span, const DecodeX& view,
                         int64_t at) {
  int8_t* codes = view.codes + at * kSpan;
  std::memcpy(codes, span.codes, kSpan);
  if (wish.offset) decode_starts(wish, codes, view.starts + at * (kSpan / 4 / wish.chain));
  float* scales = view.scales + at * kSpanParts;
  if (wish.pairs) {
    for (int g = 0; g < 8; ++g) {
      scales[g] = span.scales[2 * g];
      const auto sum = static_cast<float>(span.sums[2 * g] + span.sums[2 * g + 1]);
      scales[8 + g] = wish.sums ? scales[g] * sum : 0.0f;
    }
    return;
  }
  std::memcpy(scales, span.scales, sizeof span.scales);
  if (wish.sums) {
    float* sums = view.sums + at * kSpanParts;
    for (int p = 0; p < kSpanParts; ++p) {
      sums[p] = span.scales[p] * static_cast<float>(span.sums[p]);
    }
  }
}

// Codes of lanes of 4 n: vector v takes those from v on, n apart.
template <int n>
void deal(const UnitOrder& order, const EncodedSpan* spans, int8_t* codes) {
  for (int lane = 0; lane < 16; ++lane) {
    const int first = order.lanes[lane] * n * 4;
    const int8_t* from = spans[first / kSpan].codes + first % kSpan;
    int8_t four[n][4];
    for (int v = 0; v < n; ++v) {
      for (int i = 0; i < 4; ++i) four[v][i] = from[i * n + v];
    }
    for (int v = 0; v < n; ++v) std::memcpy(codes + v * 64 + lane * 4, four[v], 4);
  }
}

void prepare_unit(const XWish& wish, const EncodedSpan* spans, std::byte* to) {
  const UnitOrder& order = *wish.units;
  auto* codes = reinterpret_cast<int8_t*>(to);
  if (order.dealt && order.n_spans == 2) {
    deal<8>(order, spans, codes);
  } else if (order.dealt) {
    deal<4>(order, spans, codes);
  } else {
    for (int i = 0; i < order.n_spans * kSpan / 4; ++i) {
      const int four = order.fours[i];
      std::memcpy(codes + 4 * i, spans[four / 64].codes + four % 64 * 4, 4);
    }
  }
  // Lanes in natural order.
  float scale[16];
  int sum[16];
  for (int i = 0; i < 16; ++i) {
    const int part = i * order.n_spans;
    const EncodedSpan& span = spans[part / kSpanParts];
    const int at = part % kSpanParts;
    scale[i] = span.scales[at];
    sum[i] = order.n_spans == 1 ? span.sums[at] : span.sums[at] + span.sums[at + 1];
  }
  auto* scales = reinterpret_cast<float*>(codes + order.n_spans * kSpan);
  auto* starts = reinterpret_cast<int32_t*>(scales + 16);
  auto* sums = scales + (wish.offset ? 32 : 16);
  for (int i = 0; i < 16; ++i) {
    scales[i] = scale[order.lanes[i]];
    if (wish.offset) starts[i] = -wish.offset * sum[order.lanes[i]];
    if (wish.sums) sums[i] = scales[i] * static_cast<float>(sum[order.lanes[i]]);
  }
}

void prepare_units(const XWish& wish, const Activations& x, int64_t x_row, int64_t row, int64_t m,
                   int64_t k, const DecodeX& view) {
  const int n_spans = wish.units->n_spans;
  EncodedSpan spans[2];
  for (int64_t unit = 0; unit < view.n_units; ++unit) {
    for (int s = 0; s < n_spans; ++s) {
      if (unit * n_spans + s < view.n_spans) {
        read_span(x, x_row, unit * n_spans + s, k, spans[s]);
      } else {
        std::memset(&spans[s], 0, sizeof spans[s]);
      }
    }
    prepare_unit(wish, spans, view.units + (unit * m + row) * unit_bytes(wish));
  }
}

// Where lane `lane` of a tile finds its numbers.
struct TileLane {
  int64_t rows_before;  // rows in earlier tiles
  int64_t width;        // rows of this tile, padded
  int64_t lane;
  // Start of a span's array of `n` numbers a row.
  int64_t span(int64_t n_spans, int64_t index, int64_t n) const {
    return (rows_before * n_spans + width * index) * n;
  }
};

// Rows of x from `first` on, of which m are wanted, on their way into tiles.
struct BulkSource {
  const Activations* x;
  int64_t first, m, k;
  Movers movers;
};

// Scales and sums of 16 rows.
void prepare_bulk_scales(const XWish& wish, const EncodedSpan* rows, const TileLane& tile,
                         int64_t index, const BulkX& view, Transpose16 transpose) {
  constexpr int64_t kStride = sizeof(EncodedSpan) / 4;
  alignas(64) float scale[kSpanParts][16];
  transpose(rows->scales, kStride, scale, 16);
  float* scales = view.scales + tile.span(view.n_spans, index, view.n_scales) + tile.lane;
  for (int i = 0; i < view.n_scales; ++i) {
    std::memcpy(scales + i * tile.width, scale[i * kSpanParts / view.n_scales], sizeof scale[0]);
  }
  if (!wish.offset && !wish.sums) return;
  alignas(64) int32_t part[kSpanParts][16];
  transpose(rows->sums, kStride, part, 16);
  const int64_t folds = tile.span(view.n_spans, index, view.n_folds) + tile.lane;
  const int n_parts = wish.fold / 16;
  for (int f = 0; f < view.n_folds; ++f) {
    int32_t sum[16] = {};
    for (int p = f * n_parts; p < (f + 1) * n_parts; ++p) {
      for (int i = 0; i < 16; ++i) sum[i] += part[p][i];
    }
    const int64_t at = folds + f * tile.width;
    for (int i = 0; i < 16 && wish.offset; ++i) view.starts[at + i] = -wish.offset * sum[i];
    for (int i = 0; i < 16 && wish.sums; ++i) {
      const float factor = view.n_scales == 1 ? 1.0f : scale[f * n_parts][i];
      view.sums[at + i] = factor * static_cast<float>(sum[i]);
    }
  }
}

// One span of 16 rows from `row` on, zeros from m on; tile.lane is that of the first.
void prepare_bulk_encoded(const XWish& wish, const BulkSource& source, int64_t row,
                          const TileLane& tile, int64_t index, const BulkX& view) {
  const Transpose16 transpose = source.movers.transpose;
  EncodedSpan spans[16];
  for (int i = 0; i < 16; ++i) {
    if (row + i < source.m) {
      read_span(*source.x, source.first + row + i, index, source.k, spans[i]);
    } else {
      std::memset(&spans[i], 0, sizeof spans[i]);
    }
  }
  int8_t* codes = view.codes + tile.span(view.n_spans, index, kSpan) + tile.lane * 4;
  for (int at = 0; at < kSpan; at += 64) {
    transpose(spans[0].codes + at, sizeof(EncodedSpan) / 4, codes + at * tile.width, tile.width);
  }
  prepare_bulk_scales(wish, spans, tile, index, view, transpose);
}

void prepare_bulk_values(const BulkSource& source, int64_t row, const TileLane& tile, int64_t index,
                         const BulkX& view) {
  alignas(64) float values[16][kSpan];
  const int64_t n = std::min<int64_t>(source.k - index * kSpan, kSpan);
  for (int i = 0; i < 16; ++i) {
    const int64_t known = row + i < source.m ? n : 0;
    if (known > 0) {
      read_values(*source.x, source.first + row + i, source.k, index * kSpan, n, values[i]);
    }
    std::fill(values[i] + known, values[i] + kSpan, 0.0f);
  }
  const int64_t to = tile.span(view.n_spans, index, kSpan);
  const Transpose16 transpose = source.movers.transpose;
  if (view.pairs) {
    alignas(64) uint16_t rounded[16][kSpan];
    source.movers.round(values[0], 16 * kSpan, rounded[0]);
    for (int at = 0; at < kSpan; at += 32) {
      transpose(rounded[0] + at, kSpan / 2, view.pairs + to + at * tile.width + tile.lane * 2,
                tile.width);
    }
    return;
  }
  float* out = view.values + to + tile.lane;
  for (int at = 0; at < kSpan; at += 16) {
    transpose(values[0] + at, kSpan, out + at * tile.width, tile.width);
  }
}

}  // namespace

int64_t decode_x_bytes(const XWish& wish, int64_t m, int64_t k) {
  Arrays arrays(nullptr);
  decode_arrays(wish, m, k, arrays);
  return arrays.size();
}

int64_t bulk_x_bytes(const XWish& wish, int64_t m, int64_t k, const quant::Format* x) {
  Arrays arrays(nullptr);
  bulk_arrays(wish, m, k, x, arrays);
  return arrays.size();
}

DecodeX decode_x_view(const XWish& wish, int64_t m, int64_t k, std::byte* buffer) {
  Arrays arrays(buffer);
  return decode_arrays(wish, m, k, arrays);
}

BulkX bulk_x_view(const XWish& wish, int64_t m, int64_t k, const quant::Format* x,
                  std::byte* buffer) {
  Arrays arrays(buffer);
  return bulk_arrays(wish, m, k, x, arrays);
}

void prepare_decode(const XWish& wish, const Activations& x, int64_t first, int64_t begin,
                    int64_t end, int64_t m, int64_t k, const DecodeX& view, const Movers& movers) {
  for (int64_t row = begin; row < end; ++row) {
    if (wish.bf16) {
      prepare_pairs(wish, x, first + row, row, k, movers.round, view);
      continue;
    }
    if (!wish.encoded) {
      float* out = view.values + row * view.n_spans * kSpan;
      read_values(x, first + row, k, 0, k, out);
      std::fill(out + k, out + view.n_spans * kSpan, 0.0f);
      continue;
    }
    if (wish.units) {
      prepare_units(wish, x, first + row, row, m, k, view);
      continue;
    }
    EncodedSpan span;
    for (int64_t i = 0; i < view.n_spans; ++i) {
      read_span(x, first + row, i, k, span);
      prepare_decode_span(wish, span, view, row * view.n_spans + i);
    }
  }
}

void prepare_bulk(const XWish& wish, const Activations& x, int64_t first, int64_t begin,
                  int64_t end, int64_t m, int64_t k, const BulkX& view, const Movers& movers) {
  const BulkSource source{.x = &x, .first = first, .m = m, .k = k, .movers = movers};
  for (int64_t row = begin; row < end; row += 16) {
    const int64_t rows_before = row / wish.tile_rows * wish.tile_rows;
    const TileLane tile{.rows_before = rows_before,
                        .width = std::min<int64_t>(round_up(m - rows_before, 16), wish.tile_rows),
                        .lane = row - rows_before};
    for (int64_t i = 0; i < view.n_spans; ++i) {
      if (wish.encoded) {
        prepare_bulk_encoded(wish, source, row, tile, i, view);
      } else {
        prepare_bulk_values(source, row, tile, i, view);
      }
    }
  }
}

}  // namespace lamella::cpu

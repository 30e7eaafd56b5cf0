// Products by AMX tiles: of values rounded to bf16, and of codes.
//
// Of bf16: a tile of weights is 16 rows of 32 elements as they lie in the
// panel; a tile of x is 16 pairs of elements of 16 rows, as prepared; products come out with lanes
// = rows of x.
#include "lamella/kernels/cpu/gemm_bf16_impl.h"
#include "lamella/kernels/cpu/gemv_amx_impl.h"
#include "lamella/kernels/cpu/tiles_amx.h"

namespace lamella::cpu {
namespace {

struct Amx {
  static constexpr int kRows = 16, kTileRows = 16;  // what a tile reads lies together

  using Scope = TileScope;

  // Tiles 0 to 2 are sums, of weights' rows 0, 16 and 32 with 16 rows of x; 3 to 5 hold weights, 6
  // x. All loads of a step come before its products: where another thread shares the core, only
  // two instructions that write tiles are in flight at a time, and a load behind a product waits
  // for the whole of it. x comes from L2, so it is asked for two steps ahead, into the next tile.
  // (Tile numbers are literals of the instructions.)
  template <int kWeights>
  static void multiply_tiles(const TileProduct& t) {
    constexpr int64_t c_stride = kTileRows * 4, w_stride = kSpan * 2, x_stride = kTileRows * 4;
    constexpr int64_t kStep = kTileRows * 32;  // elements of x
    float *c1 = t.c + 16 * kTileRows, *c2 = t.c + 32 * kTileRows;
    if (t.fresh) {
      _tile_zero(0);
      if constexpr (kWeights > 1) _tile_zero(1);
      if constexpr (kWeights > 2) _tile_zero(2);
    } else {
      _tile_loadd(0, t.c, c_stride);
      if constexpr (kWeights > 1) _tile_loadd(1, c1, c_stride);
      if constexpr (kWeights > 2) _tile_loadd(2, c2, c_stride);
    }
    const uint16_t *w = t.w, *x = t.x;
    for (int left = t.n_steps; left > 0; --left, w += 32, x += kStep) {
      _tile_loadd(6, x, x_stride);
      _tile_loadd(3, w, w_stride);
      if constexpr (kWeights > 1) _tile_loadd(4, w + 16 * kSpan, w_stride);
      if constexpr (kWeights > 2) _tile_loadd(5, w + 32 * kSpan, w_stride);
      const uint16_t* ahead = left > 2 ? x + 2 * kStep : t.next_x + (2 - left) * kStep;
      for (int line = 0; line < 16; ++line) _mm_prefetch(ahead + line * 32, _MM_HINT_T0);
      _tile_dpbf16ps(0, 3, 6);
      if constexpr (kWeights > 1) _tile_dpbf16ps(1, 4, 6);
      if constexpr (kWeights > 2) _tile_dpbf16ps(2, 5, 6);
    }
    _tile_stored(0, t.c, c_stride);
    if constexpr (kWeights > 1) _tile_stored(1, c1, c_stride);
    if constexpr (kWeights > 2) _tile_stored(2, c2, c_stride);
  }

  static void multiply(const TileProduct& t) {
    static constexpr void (*kMultiply[])(const TileProduct&) = {
        multiply_tiles<1>, multiply_tiles<2>, multiply_tiles<3>};
    kMultiply[t.n_rows / 16 - 1](t);
  }
};

}  // namespace

namespace {

// A panel of codes, one span.
struct CodePanel {
  alignas(64) uint8_t codes[kPanelRows][kSpan];
  alignas(64) float scales[kPanelRows][kSpanParts];
  alignas(64) float mins[kPanelRows][kSpanParts];  // of no use here
};

using Sums = int32_t[kPanelRows][16];

// Sums of a fold, for 48 rows of weights and 16 of x. A tile of weights is 16 rows of 64 codes.
void multiply_fold(const uint8_t* w, const int8_t* x, int64_t x_stride, int n_steps, Sums& sums) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  for (int step = 0; step < n_steps; ++step, w += 64, x += 16 * x_stride) {
    _tile_loadd(6, x, x_stride);
    _tile_loadd(3, w, kSpan);
    _tile_loadd(4, w + 16 * kSpan, kSpan);
    _tile_loadd(5, w + 32 * kSpan, kSpan);
    _tile_dpbusd(0, 3, 6);
    _tile_dpbusd(1, 4, 6);
    _tile_dpbusd(2, 5, 6);
  }
  _tile_stored(0, sums[0], 64);
  _tile_stored(1, sums[16], 64);
  _tile_stored(2, sums[32], 64);
}

// 16 rows of x, one span: sums are scaled and added to c, in the order of multiply_tile.
struct SpanOfX {
  const int8_t* codes;
  const int32_t* starts;  // null: 0
  const float* scales;
  int64_t width;
  int n_folds;
};

void multiply_lanes(const CodePanel& panel, int n_rows, const SpanOfX& x, float* c) {
  alignas(64) Sums sums[2];
  const int fold = kSpan / x.n_folds;
  __m512i start[2];
  for (int f = 0; f < x.n_folds; ++f) {
    multiply_fold(panel.codes[0] + f * fold, x.codes + f * fold * x.width, x.width * 4, fold / 64,
                  sums[f]);
    start[f] = x.starts ? _mm512_loadu_si512(x.starts + f * x.width) : _mm512_setzero_si512();
  }
  const __m512 scale = _mm512_loadu_ps(x.scales);
  for (int r = 0; r < n_rows; ++r, c += kTileRows) {
    __m512 part = _mm512_setzero_ps();
    for (int f = 0; f < x.n_folds; ++f) {
      const __m512i sum = _mm512_add_epi32(_mm512_load_si512(sums[f][r]), start[f]);
      part = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum),
                             _mm512_set1_ps(panel.scales[r][f * fold / 16]), part);
    }
    _mm512_storeu_ps(c, _mm512_fmadd_ps(part, scale, _mm512_loadu_ps(c)));
  }
}

void bulk_int8(const BulkArgs& a) {
  const TileScope scope;
  CodePanel panel;
  std::memset(panel.codes[a.n_rows], 0, static_cast<size_t>(kPanelRows - a.n_rows) * kSpan);
  clear_products<Avx512>(a);
  const BulkX& x = *a.x;
  for (int64_t span = 0; span < x.n_spans; ++span) {
    a.unpack(*a.w, a.row, a.n_rows, span, {panel.codes[0], panel.scales[0], panel.mins[0]});
    for (int64_t tile = a.tile_begin; tile < a.tile_end; ++tile) {
      const int64_t width = std::min<int64_t>(round_up(a.m - tile * kTileRows, 16), kTileRows);
      const int64_t at = tile * kTileRows * x.n_spans + width * span;
      for (int64_t lane = 0; lane < width; lane += 16) {
        multiply_lanes(panel, a.n_rows,
                       {.codes = x.codes + at * kSpan + lane * 4,
                        .starts = x.starts ? x.starts + at * x.n_folds + lane : nullptr,
                        .scales = x.scales + at * x.n_scales + lane,
                        .width = width,
                        .n_folds = x.n_folds},
                       a.c + (tile - a.tile_begin) * kPanelRows * kTileRows + lane);
      }
    }
  }
}

}  // namespace

constinit const BulkKernel kAmxInt8 = bulk_int8;

constinit const Bf16Unit kAmxUnit = {.tile_rows = Amx::kTileRows,
                                     .bulk = bulk_bf16<Amx>,
                                     .decode_tile_rows = kTile,
                                     .decode_rows = DecodePanel::kRows,
                                     .decode = decode_bf16_tiles,
                                     .round = round_bf16};

}  // namespace lamella::cpu

// Products of values rounded to bf16 by AMX tiles: a tile of weights is 16 rows of 32 elements as
// they lie in the panel; a tile of x is 16 pairs of elements of 16 rows, as prepared; products come
// out with lanes = rows of x.
#include "lamella/kernels/cpu/gemm_bf16_impl.h"
#include "lamella/kernels/cpu/gemv_amx_impl.h"
#include "lamella/kernels/cpu/tiles_amx.h"

namespace lamella::cpu {
namespace {

struct Amx {
  static constexpr int kRows = 16, kTileRows = kAmxTileRows;  // what a tile reads lies together

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

  static void multiply_tile(const TileProduct& t) {
    static constexpr void (*kMultiply[])(const TileProduct&) = {
        multiply_tiles<1>, multiply_tiles<2>, multiply_tiles<3>};
    kMultiply[t.n_rows / 16 - 1](t);
  }
};

}  // namespace

constinit const Bf16Unit kAmxUnit = {.tile_rows = Amx::kTileRows,
                                     .bulk = bulk_panels<Bf16Panels<Amx>>,
                                     .decode_tile_rows = kTile,
                                     .decode_rows = DecodePanel::kRows,
                                     .decode = decode_bf16_tiles,
                                     .round = round_bf16};

}  // namespace lamella::cpu

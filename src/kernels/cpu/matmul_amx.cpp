// Products of bf16 by AMX tiles. A tile of weights is 16 rows of 32 elements as they lie in the
// panel; a tile of x is 16 pairs of elements of 16 rows, as prepared; products come out with lanes
// = rows of x.
#include "lamella/kernels/cpu/gemm_bf16_impl.h"
#include "lamella/kernels/cpu/tiles_amx.h"

namespace lamella::cpu {
namespace {

struct Amx {
  static constexpr int kRows = 16, kTileRows = 16;  // what a tile reads lies together

  using Scope = TileScope;

  // Tiles 0 to 2 are sums, of weights' rows 0, 16 and 32 with 16 rows of x; 3 to 5 hold weights, 6
  // and 7 x in turn. Measured: a tile that is loaded waits for the last product that reads it, so
  // x, which comes from L2, needs two, while weights come from L1; 2 x 2 sums ran at half the rate.
  // (Tile numbers are literals of the instructions.)
  template <int kWeights, bool kOdd>
  static void multiply_step(const uint16_t* w, const uint16_t* x) {
    constexpr int64_t w_stride = kSpan * 2, x_stride = kTileRows * 4;
    if constexpr (kOdd) {
      _tile_loadd(7, x, x_stride);
    } else {
      _tile_loadd(6, x, x_stride);
    }
    _tile_loadd(3, w, w_stride);
    if constexpr (kOdd) {
      _tile_dpbf16ps(0, 3, 7);
    } else {
      _tile_dpbf16ps(0, 3, 6);
    }
    if constexpr (kWeights > 1) {
      _tile_loadd(4, w + 16 * kSpan, w_stride);
      if constexpr (kOdd) {
        _tile_dpbf16ps(1, 4, 7);
      } else {
        _tile_dpbf16ps(1, 4, 6);
      }
    }
    if constexpr (kWeights > 2) {
      _tile_loadd(5, w + 32 * kSpan, w_stride);
      if constexpr (kOdd) {
        _tile_dpbf16ps(2, 5, 7);
      } else {
        _tile_dpbf16ps(2, 5, 6);
      }
    }
  }

  template <int kWeights>
  static void multiply_tiles(const uint16_t* w, int n_steps, const uint16_t* x, float* c) {
    constexpr int64_t c_stride = kTileRows * 4;
    float *c1 = c + 16 * kTileRows, *c2 = c + 32 * kTileRows;
    _tile_loadd(0, c, c_stride);
    if constexpr (kWeights > 1) _tile_loadd(1, c1, c_stride);
    if constexpr (kWeights > 2) _tile_loadd(2, c2, c_stride);
    int step = 0;
    for (; step + 2 <= n_steps; step += 2, w += 64, x += kTileRows * 64) {
      multiply_step<kWeights, false>(w, x);
      multiply_step<kWeights, true>(w + 32, x + kTileRows * 32);
    }
    if (step < n_steps) multiply_step<kWeights, false>(w, x);
    _tile_stored(0, c, c_stride);
    if constexpr (kWeights > 1) _tile_stored(1, c1, c_stride);
    if constexpr (kWeights > 2) _tile_stored(2, c2, c_stride);
  }

  // One tile of x.
  static void multiply(const Bf16Panel& panel, int n_rows, int n_steps, const uint16_t* x,
                       int64_t /*width*/, float* c) {
    using Multiply = void (*)(const uint16_t*, int, const uint16_t*, float*);
    static constexpr Multiply kMultiply[] = {multiply_tiles<1>, multiply_tiles<2>,
                                             multiply_tiles<3>};
    kMultiply[n_rows / 16 - 1](panel[0], n_steps, x, c);
  }
};

}  // namespace

constinit const Bf16Unit kAmxUnit = {
    .tile_rows = Amx::kTileRows, .bulk = bulk_bf16<Amx>, .round = round_bf16};

}  // namespace lamella::cpu

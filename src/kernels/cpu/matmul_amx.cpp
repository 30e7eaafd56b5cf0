// Products of bf16 by AMX tiles. A tile of weights is 16 rows of 32 elements as they lie in the
// panel; a tile of x is 16 pairs of elements of 16 rows, as prepared; products come out with lanes
// = rows of x.
#include "lamella/kernels/cpu/gemm_bf16_impl.h"

namespace lamella::cpu {
namespace {

// Eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

struct Amx {
  static constexpr int kRows = 16;

  // Tiles are a thread's, and cost its switches while they are in use.
  struct Scope {
    Scope() {
      static constexpr TileConfig kConfig;
      _tile_loadconfig(&kConfig);
    }
    ~Scope() { _tile_release(); }
  };

  // Tiles 0 to 5 are sums: of weights' rows 0, 16 and 32 with the first and second 16 rows of x. 6
  // holds weights, 7 holds x. Either is loaded again rather than kept: six sums need five operands.
  template <int kWeights, int kLanes>
  static void multiply_tiles(const uint16_t* w, int n_steps, const uint16_t* x, int64_t width,
                             float* c, int64_t ldc) {
    const int64_t c_stride = ldc * 4, x_stride = width * 4;
    constexpr int64_t w_stride = kSpan * 2;
    float *c1 = c + 16 * ldc, *c2 = c + 32 * ldc;
    _tile_loadd(0, c, c_stride);
    if constexpr (kLanes > 1) _tile_loadd(1, c + 16, c_stride);
    if constexpr (kWeights > 1) _tile_loadd(2, c1, c_stride);
    if constexpr (kWeights > 1 && kLanes > 1) _tile_loadd(3, c1 + 16, c_stride);
    if constexpr (kWeights > 2) _tile_loadd(4, c2, c_stride);
    if constexpr (kWeights > 2 && kLanes > 1) _tile_loadd(5, c2 + 16, c_stride);
    for (int step = 0; step < n_steps; ++step, w += 32, x += width * 32) {
      _tile_loadd(6, w, w_stride);
      _tile_loadd(7, x, x_stride);
      _tile_dpbf16ps(0, 6, 7);
      if constexpr (kLanes > 1) {
        _tile_loadd(7, x + 32, x_stride);
        _tile_dpbf16ps(1, 6, 7);
      }
      if constexpr (kWeights > 1) {
        _tile_loadd(6, w + 16 * kSpan, w_stride);
        if constexpr (kLanes > 1) {
          _tile_dpbf16ps(3, 6, 7);
          _tile_loadd(7, x, x_stride);
        }
        _tile_dpbf16ps(2, 6, 7);
      }
      if constexpr (kWeights > 2) {
        _tile_loadd(6, w + 32 * kSpan, w_stride);
        _tile_dpbf16ps(4, 6, 7);
        if constexpr (kLanes > 1) {
          _tile_loadd(7, x + 32, x_stride);
          _tile_dpbf16ps(5, 6, 7);
        }
      }
    }
    _tile_stored(0, c, c_stride);
    if constexpr (kLanes > 1) _tile_stored(1, c + 16, c_stride);
    if constexpr (kWeights > 1) _tile_stored(2, c1, c_stride);
    if constexpr (kWeights > 1 && kLanes > 1) _tile_stored(3, c1 + 16, c_stride);
    if constexpr (kWeights > 2) _tile_stored(4, c2, c_stride);
    if constexpr (kWeights > 2 && kLanes > 1) _tile_stored(5, c2 + 16, c_stride);
  }

  static void multiply(const Bf16Panel& panel, int n_rows, int n_steps, const uint16_t* x,
                       int64_t width, float* c, int64_t ldc) {
    using Multiply = void (*)(const uint16_t*, int, const uint16_t*, int64_t, float*, int64_t);
    static constexpr Multiply kMultiply[3][2] = {{multiply_tiles<1, 1>, multiply_tiles<1, 2>},
                                                 {multiply_tiles<2, 1>, multiply_tiles<2, 2>},
                                                 {multiply_tiles<3, 1>, multiply_tiles<3, 2>}};
    const auto& by_lanes = kMultiply[n_rows / 16 - 1];
    int64_t lane = 0;
    for (; lane + 32 <= width; lane += 32) {
      by_lanes[1](panel[0], n_steps, x + lane * 2, width, c + lane, ldc);
    }
    if (lane < width) by_lanes[0](panel[0], n_steps, x + lane * 2, width, c + lane, ldc);
  }
};

}  // namespace

constinit const Bf16Unit kAmxUnit = {.bulk = bulk_bf16<Amx>, .round = round_bf16};

}  // namespace lamella::cpu

// The loops that measure AMX: four sums in turn, of operands that stay in their tiles.
#include "lamella/kernels/cpu/limits_impl.h"
#include "lamella/kernels/cpu/tiles_amx.h"

namespace lamella::cpu {
namespace {

void clear_tiles() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
}

}  // namespace

int64_t bf16_tiles_amx(int64_t rounds) {
  const TileScope scope;
  clear_tiles();
  const int64_t n = rounds / 16;  // a tile takes as long as 16 vectors
  for (int64_t i = 0; i < n; ++i) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  return n * 4 * 16 * 16 * 32;
}

int64_t int8_tiles_amx(int64_t rounds) {
  const TileScope scope;
  clear_tiles();
  const int64_t n = rounds / 16;
  for (int64_t i = 0; i < n; ++i) {
    _tile_dpbssd(0, 4, 5);
    _tile_dpbssd(1, 4, 5);
    _tile_dpbssd(2, 4, 5);
    _tile_dpbssd(3, 4, 5);
  }
  return n * 4 * 16 * 16 * 64;
}

}  // namespace lamella::cpu

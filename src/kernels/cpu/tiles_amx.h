// Tile registers as they are used here: eight tiles of 16 rows of 64 bytes. For files compiled for
// AMX only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace lamella::cpu {
namespace {

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Tiles are a thread's, and cost its switches while they are in use.
struct TileScope {
  TileScope() {
    static constexpr TileConfig kConfig;
    _tile_loadconfig(&kConfig);
  }
  ~TileScope() { _tile_release(); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

}  // namespace
}  // namespace lamella::cpu

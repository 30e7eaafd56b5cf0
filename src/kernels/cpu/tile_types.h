// Parts of the elementwise engine that do not depend on the instruction set: operations in f64 and
// in 64-bit integers, casts, loads and stores.
#pragma once

#include "lamella/kernels/cpu/tiles.h"

namespace lamella::cpu {

// The operation in f64, i64 or u64; null where that type does not have it.
TileFn tile_fn(TileType type, TileOp op);

// To registers of tile_type(to).
TileFn tile_cast(TileType from, Elem to);

// Elements of memory in one or two dimensions, the inner one first.
struct TilePiece {
  int64_t n, stride;
  int64_t rows = 1, row_stride = 0;
};

// Loads a piece's elements into a register, side by side; stores them from one.
using TileLoad = void (*)(const TileTable&, const void* from, const TilePiece&, void* to);
using TileStore = void (*)(const TileTable&, const void* from, void* to, const TilePiece&);
TileLoad tile_load(Elem elem, TileType type);
TileStore tile_store(TileType type, Elem elem);

}  // namespace lamella::cpu

// Elementwise programs: a few operations over broadcast operands, run tile by tile in the L1 cache.
//
// A tile of every input is loaded into a register (kTile values of the register's type), the steps
// run register to register, and the outputs are stored. An output may lie on an input with the same
// strides; outputs must not overlap themselves.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/isa.h"
#include "lamella/kernels/cpu/tile_ops.h"

namespace lamella::cpu {

inline constexpr int kTile = 512;
inline constexpr int kTileRegisters = 32;

// A register and the elements it is loaded from or stored to. Its type is tile_type(elem); bool is
// loaded to and stored from any type.
struct TilePort {
  Elem elem = Elem::f32;
  uint8_t reg = 0;
  TileType type = TileType::f32;
};

struct TileConstant {
  uint8_t reg = 0;
  TileType type = TileType::f32;
  double f = 0;   // f32, f64
  int64_t i = 0;  // i64, u64 (its bits)
};

// reg dst = op(reg a, reg b, reg c), all of `type`; a cast gives tile_type(elem).
struct TileStep {
  TileOp op = TileOp::copy;
  TileType type = TileType::f32;
  uint8_t dst = 0, a = 0, b = 0, c = 0;
  Elem elem = Elem::f32;  // of a cast
};

// Registers of inputs and constants are written by no step; a step may write a register that it
// reads.
struct TileProgram {
  std::vector<TilePort> inputs, outputs;
  std::vector<TileConstant> constants;
  std::vector<TileStep> steps;
};

// Empty when the program can run, else what is wrong with it: a register or type out of range, an
// operation that its type does not have.
std::string_view find_fault(const TileProgram& program);

// One operand's memory: strides in elements, one a dimension of the shape; 0 repeats it.
struct TileOperand {
  void* data = nullptr;  // inputs are only read
  std::span<const int64_t> strides;
};

// Runs a faultless program over every index of `shape`: operands are its inputs, then its outputs.
// At most 16 dimensions remain after neighbours that lie alike in all operands are merged.
void run_tiles(const TileProgram& program, std::span<const int64_t> shape,
               std::span<const TileOperand> operands, ThreadPool& pool, Isa isa);

// What each instruction set offers: f32 operations over whole vectors (n is rounded up to a
// multiple of 16), and the conversion of narrow floats.
struct TileTable {
  TileFns ops;
  void (*load_f16)(const void* from, float* to, int64_t n);
  void (*load_bf16)(const void* from, float* to, int64_t n);
  void (*store_f16)(const float* from, void* to, int64_t n);
  void (*store_bf16)(const float* from, void* to, int64_t n);
};
LAMELLA_TABLE(TileTable, kTileTable)

}  // namespace lamella::cpu

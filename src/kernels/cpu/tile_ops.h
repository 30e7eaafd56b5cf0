// Operations of the elementwise engine (tiles.h) and what they mean.
#pragma once

#include <cstdint>
#include <string_view>

#include "lamella/kernels/cpu/elem.h"

namespace lamella::cpu {

// What registers hold. Integers and bool are computed in 64 bits: as i64, or as u64 where division,
// order, shifts or conversion shall be those of u64. After an operation that may leave the range of
// a narrower type, a `cast` to it wraps.
enum class TileType : uint8_t { f32, f64, i64, u64 };
inline constexpr int kTileTypes = 4;

// The type of registers that hold values of `e`.
constexpr TileType tile_type(Elem e) {
  if (e == Elem::f64) return TileType::f64;
  if (is_float(e)) return TileType::f32;
  return e == Elem::u64 ? TileType::u64 : TileType::i64;
}

enum class TileOp : uint8_t {
  add,
  sub,
  mul,
  div,
  mod,
  fmod,
  pow,
  atan2,
  polygamma,
  minimum,
  maximum,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
  logical_xor,
  logical_not,
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shift_left,
  shift_right,
  select,
  copy,
  neg,
  abs,
  sign,
  square,
  relu,
  floor,
  ceil,
  round,
  trunc,
  is_nan,
  is_inf,
  sqrt,
  rsqrt,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  asinh,
  acosh,
  atanh,
  sinh,
  cosh,
  tanh,
  erf,
  erfinv,
  lgamma,
  digamma,
  trigamma,
  sigmoid,
  silu,
  gelu,
  gelu_tanh,
  softplus,
  cast,
};
inline constexpr int kTileOps = static_cast<int>(TileOp::cast) + 1;

// Truth is "not 0" on input and 1 or 0 on output, in the type of the operation.
//   div        integers truncate; by zero 0; the least integer over -1 is itself
//   mod        a - b floor(a / b), the sign of b; integers modulo zero: 0
//   fmod       a - b trunc(a / b), the sign of a; integers modulo zero: 0
//   pow        integers wrap; a negative power is 0 unless a is 1 or -1
//   minimum, maximum   NaN where either is NaN
//   shifts     by 64 or more, or by a negative number: all bits go (i64 >>: the sign stays)
//   select     c ? a : b with operands (c, a, b)
//   round      halves to even
//   cast       to the type of `elem` of the step. Float to integer: towards zero, beyond the range
//              to its nearest end, NaN to 0. Integer to integer: wraps. To bool: x != 0. To a
//              float: the nearest value, rounded once.
struct TileOpInfo {
  TileOp op;
  std::string_view name;
  int arity;
  bool ints;  // also on i64 and u64
};
const TileOpInfo& info(TileOp op);

// dst[i] = op(a[i], b[i], c[i]) over [0, n); arrays of the step's type.
using TileFn = void (*)(void* dst, const void* a, const void* b, const void* c, int64_t n);
using TileFns = TileFn[kTileOps];  // null: not defined

}  // namespace lamella::cpu

#include "lamella/kernels/cpu/tile_ops.h"

#include <algorithm>
#include <iterator>

namespace lamella::cpu {
namespace {

constexpr bool kInts = true;
constexpr TileOpInfo kInfo[] = {
    {TileOp::add, "add", 2, kInts},
    {TileOp::sub, "sub", 2, kInts},
    {TileOp::mul, "mul", 2, kInts},
    {TileOp::div, "div", 2, kInts},
    {TileOp::mod, "mod", 2, kInts},
    {TileOp::fmod, "fmod", 2, kInts},
    {TileOp::pow, "pow", 2, kInts},
    {TileOp::atan2, "atan2", 2, false},
    {TileOp::polygamma, "polygamma", 2, false},
    {TileOp::minimum, "minimum", 2, kInts},
    {TileOp::maximum, "maximum", 2, kInts},
    {TileOp::equal, "equal", 2, kInts},
    {TileOp::not_equal, "not_equal", 2, kInts},
    {TileOp::less, "less", 2, kInts},
    {TileOp::less_equal, "less_equal", 2, kInts},
    {TileOp::greater, "greater", 2, kInts},
    {TileOp::greater_equal, "greater_equal", 2, kInts},
    {TileOp::logical_and, "logical_and", 2, kInts},
    {TileOp::logical_or, "logical_or", 2, kInts},
    {TileOp::logical_xor, "logical_xor", 2, kInts},
    {TileOp::logical_not, "logical_not", 1, kInts},
    {TileOp::bit_and, "bit_and", 2, kInts},
    {TileOp::bit_or, "bit_or", 2, kInts},
    {TileOp::bit_xor, "bit_xor", 2, kInts},
    {TileOp::bit_not, "bit_not", 1, kInts},
    {TileOp::shift_left, "shift_left", 2, kInts},
    {TileOp::shift_right, "shift_right", 2, kInts},
    {TileOp::select, "select", 3, kInts},
    {TileOp::copy, "copy", 1, kInts},
    {TileOp::neg, "neg", 1, kInts},
    {TileOp::abs, "abs", 1, kInts},
    {TileOp::sign, "sign", 1, kInts},
    {TileOp::square, "square", 1, kInts},
    {TileOp::relu, "relu", 1, kInts},
    {TileOp::floor, "floor", 1, false},
    {TileOp::ceil, "ceil", 1, false},
    {TileOp::round, "round", 1, false},
    {TileOp::trunc, "trunc", 1, false},
    {TileOp::is_nan, "is_nan", 1, false},
    {TileOp::is_inf, "is_inf", 1, false},
    {TileOp::sqrt, "sqrt", 1, false},
    {TileOp::rsqrt, "rsqrt", 1, false},
    {TileOp::exp, "exp", 1, false},
    {TileOp::exp2, "exp2", 1, false},
    {TileOp::expm1, "expm1", 1, false},
    {TileOp::log, "log", 1, false},
    {TileOp::log2, "log2", 1, false},
    {TileOp::log10, "log10", 1, false},
    {TileOp::log1p, "log1p", 1, false},
    {TileOp::sin, "sin", 1, false},
    {TileOp::cos, "cos", 1, false},
    {TileOp::tan, "tan", 1, false},
    {TileOp::asin, "asin", 1, false},
    {TileOp::acos, "acos", 1, false},
    {TileOp::atan, "atan", 1, false},
    {TileOp::asinh, "asinh", 1, false},
    {TileOp::acosh, "acosh", 1, false},
    {TileOp::atanh, "atanh", 1, false},
    {TileOp::sinh, "sinh", 1, false},
    {TileOp::cosh, "cosh", 1, false},
    {TileOp::tanh, "tanh", 1, false},
    {TileOp::erf, "erf", 1, false},
    {TileOp::erfinv, "erfinv", 1, false},
    {TileOp::lgamma, "lgamma", 1, false},
    {TileOp::digamma, "digamma", 1, false},
    {TileOp::trigamma, "trigamma", 1, false},
    {TileOp::sigmoid, "sigmoid", 1, false},
    {TileOp::silu, "silu", 1, false},
    {TileOp::gelu, "gelu", 1, false},
    {TileOp::gelu_tanh, "gelu_tanh", 1, false},
    {TileOp::softplus, "softplus", 1, false},
    {TileOp::cast, "cast", 1, kInts},
};
static_assert(std::size(kInfo) == kTileOps);

constexpr bool in_order() {
  for (int i = 0; i < kTileOps; ++i) {
    if (static_cast<int>(kInfo[i].op) != i) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

const TileOpInfo& info(TileOp op) { return kInfo[static_cast<int>(op)]; }

}  // namespace lamella::cpu

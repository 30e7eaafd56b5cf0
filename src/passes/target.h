// What passes may know of a back end: which nodes it runs as they are, and how it wants their
// operands. A value.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lamella/ir/graph.h"

namespace lamella {

// Arithmetic may differ between the two within an op's bound, never by the number of rows or
// threads.
enum class Phase : int { bulk, decode };
template <>
struct EnumNames<Phase> {
  static constexpr std::array<std::string_view, 2> names{"bulk", "decode"};
};

struct Target {
  using NodeQuery = std::function<bool(const Graph&, uint32_t node)>;

  std::string name;  // "cpu"
  std::string isa;   // "avx512"
  Phase phase = Phase::bulk;
  // What weights of integer products become where wider blocks are asked for.
  std::string_view wide_blocks = "int8_b128_f32";
  // A row runs this node as it is. Composites that no row claims are expanded.
  NodeQuery claims;
  // Some row runs nodes of this op (under conditions): worth fusing into it.
  std::function<bool(const Op&)> has_row;
  // The encoding in which the row of this node wants its activation (input 0); none: as it is;
  // bf16: the row rounds both operands (compute: bf16).
  std::function<DType(const Graph&, uint32_t node)> activation_encoding;
  // The row of this node reads input i through any strides.
  std::function<bool(const Graph&, uint32_t node, size_t input)> takes_strides;
  // This node may be a step of an elementwise region.
  NodeQuery fits_region;
};

}  // namespace lamella

// The text form of a graph, which parse.h reads back:
//
//   graph main {
//     symbol tokens in [1, 4096] % 64
//     %0 = input {name="x", type=f32[tokens, 64]}
//     %1 = constant {value=f32[1] (0.5)}
//     %2:2 = top_k(%0, _) {k=2} : (f32[tokens, 2], i64[tokens, 2]) @"router"
//     %3 = save softmax(%2.0) : f32[tokens, 2]
//     return y=%3
//     state cache=%4 -> %7
//   }
//
// Attributes at their defaults are left out, `_` is an absent input, `save` makes hidden outputs,
// `new [n]` names the symbols that a node introduces, `@` gives the origin. Sub-graphs stand where
// the attribute's value does.
#pragma once

#include <limits>
#include <string>

#include "lamella/ir/graph.h"

namespace lamella {

struct PrintOptions {
  bool types = true;
  bool origins = true;
  // Constants of more bytes are shown as "..." (for people: such a text is not read back).
  size_t max_constant_bytes = std::numeric_limits<size_t>::max();
};

std::string print(const Graph& graph, const PrintOptions& options = {});

// One node as it stands in that text, without indent.
std::string print_node(const Graph& graph, uint32_t node, const PrintOptions& options = {});

}  // namespace lamella

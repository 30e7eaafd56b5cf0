// The passes, one a file. Each keeps the graph's meaning within the ops' bounds, and its inputs,
// states and outputs.
#pragma once

#include "lamella/ir/graph.h"
#include "lamella/passes/pipeline.h"
#include "lamella/passes/target.h"

namespace lamella {

// Nodes whose inputs are constants become constants (up to 64 KiB); values that are known sizes
// become `sizes`.
Graph fold_constants(Graph graph, const Target& target);
// Applies the rules of rules/, each node until none fits.
Graph canonicalise(Graph graph, const Target& target);
// Equal nodes become one.
Graph eliminate_common(Graph graph, const Target& target);
// Recognises what the target has rows for: matmul epilogues, QKV, gated MLP, residual + norm.
Graph fuse(Graph graph, const Target& target);
// Composites that no row claims become their formulas, outermost first; where a row would take a
// node with 16-bit inputs in f32, these are cast.
Graph expand_unclaimed(Graph graph, const Target& target);
// Chains of elementwise nodes become regions.
Graph form_regions(Graph graph, const Target& target);
// Weights of integer products become the target's `wide_blocks`, where that is asked for.
Graph requantize_weights(Graph graph, const Target& target);
// Puts a pack in front of the nodes whose rows want their activation encoded.
Graph pack_activations(Graph graph, const Target& target);
// Operand orders under which no copy is needed.
Graph choose_layouts(Graph graph, const Target& target);
// Program order: the readers of a state's old value before its writer.
Graph schedule(Graph graph, const Target& target);

// For each node: does it depend on parameters and constants alone, and on at least one parameter?
std::vector<bool> weight_only_nodes(const Graph& graph);

// Splits off what depends only on parameters.
Lowered hoist_weight_only(Graph graph);

}  // namespace lamella

// The examples as a table, and numbers for their weights and inputs from a formula that the
// reference values in tests/golden/examples were made with, too.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/ir/graph.h"
#include "lamella/runtime/program.h"
#include "lamella/runtime/weights.h"

namespace lamella::examples {

// A symbol of a graph, and its value.
struct Size {
  std::string name;
  int64_t value = 0;
};

// Where the numbers of an input lie, when not in [-1, 1).
struct Range {
  std::string_view input;
  double low = -1, high = 1;
};

struct Example {
  std::string_view name, what;
  Graph (*small)();
  Graph (*full)();          // of the size of a published model
  std::vector<Size> sizes;  // what it is run at unless told
  std::vector<Range> ranges;
  std::string (*read)(const TensorMap& outputs) = nullptr;  // what the outputs say, in a line
};

std::vector<Example> all_examples();

// Numbers in [-1, 1) with 24 bits each: number i is the top of SplitMix64 at FNV-1a(name) + i.
std::vector<double> formula_numbers(std::string_view name, int64_t n);
// Sets the parameters of the graph. Matrices and kernels lie within +-sqrt(6 / inputs of an
// output), so that values keep their size from layer to layer; biases within +-0.1; the rest
// about 1.
void set_formula_weights(const Graph& graph, Weights& weights);
// Inputs and states at these sizes. UserError for a symbol without a size.
TensorMap formula_inputs(const Graph& graph, const Example& example, std::span<const Size> sizes);
TensorMap formula_states(const Graph& graph, std::span<const Size> sizes);

// The sizes as a program's report wants them.
DimBinding binding_of(const Graph& graph, std::span<const Size> sizes);

}  // namespace lamella::examples

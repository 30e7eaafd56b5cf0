#include "lamella/cli/step.h"

#include <algorithm>

namespace lamella::cli {

DimBinding bind_step(const Graph& graph, int64_t context, const StepSizes& sizes) {
  const int64_t page = graph.type(graph.states()[0].in).shape[1].value();
  const auto pages = [&](int64_t positions) { return (positions + page - 1) / page; };
  const std::pair<std::string_view, int64_t> values[] = {
      {"tokens", sizes.tokens * sizes.sequences},
      {"seqs", sizes.sequences},
      {"max_pages", pages(context)},
      {"pages", pages(sizes.length) * sizes.sequences},
      {"rows", sizes.sequences},
  };
  DimBinding binding(graph.dims()->n_symbols());
  for (const auto& [name, value] : values)
    if (const auto dim = graph.dims()->find_symbol(name)) binding[dim->expr()->symbol] = value;
  return binding;
}

Roofline roofline(const Graph& graph, const NodeReport& node, const cpu::MachineLimits& limits) {
  const Node& n = graph.nodes()[node.node];
  Roofline r;
  r.int8 = !n.inputs.empty() && !n.inputs[0].absent() && graph.type(n.inputs[0]).dtype.is_block() &&
           n.op->flops != nullptr;
  const double compute = node.flops / (r.int8 ? limits.int8_ops : limits.f32_flops);
  const double read = node.bytes / limits.read_bytes;
  r.memory = read > compute;
  r.seconds = std::max(read, compute);
  return r;
}

std::vector<int32_t> some_tokens(int64_t n, int64_t vocabulary) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < n; ++i)
    tokens.push_back(static_cast<int32_t>((300 + i * 7) % vocabulary));
  return tokens;
}

}  // namespace lamella::cli
